//! Makes test sets that can be trusted (BC-01 to BC-07).
//!
//! Nothing here reads a suite, a store or a clock: every function takes rows and texts, and returns what it found.
