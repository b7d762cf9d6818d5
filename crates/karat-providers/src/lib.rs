//! Karat: providers
