//! Adapters of the agreement statistics.

use super::Adapter;

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[];
