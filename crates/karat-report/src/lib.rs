//! Karat: report
