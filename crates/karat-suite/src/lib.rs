//! Karat: suite
