//! Karat: analysis
