//! One file a family of statistics: each maps the input of a vector to the result of `karat-stats`, `karat-scoring` or, of bills,
//! `karat-providers`.

pub mod agreement;
pub mod billing;
pub mod classify;
pub mod compare;
pub mod correction;
pub mod describe;
pub mod drift;
pub mod inference;
pub mod power;
pub mod preference;
pub mod retrieval;
pub mod text;
