//! Karat: engine
