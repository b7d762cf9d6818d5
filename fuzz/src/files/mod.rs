//! Files.

pub mod import;
pub mod inspect;
pub mod rows;
#[cfg(feature = "whole")]
pub mod store;
#[cfg(feature = "whole")]
pub mod suite;
