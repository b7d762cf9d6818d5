//! Karat: store
