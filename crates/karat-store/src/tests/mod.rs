//! The store as the engine, the analyses and the reports use it.

mod given;
mod reading;
