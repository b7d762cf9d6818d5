//! Karat: app
