//! Tests with a server: `twins.rs` runs the tests of files on it, `losses.rs` has what only a server meets.

mod losses;
mod twins;
