//! Adapters of the drift statistics.

use super::Adapter;

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[];
