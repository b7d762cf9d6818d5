//! Runs in CI: `workflow` for those that `karat ci` writes, `action` for the published action.

mod action;
mod workflow;
