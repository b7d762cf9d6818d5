//! The network.

#[cfg(feature = "whole")]
pub mod http;
pub mod otlp;
#[cfg(feature = "whole")]
pub mod replies;
