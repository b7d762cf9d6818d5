//! Nothing: the features of the dependencies are what this crate is for. `Cargo.toml` says why.
