//! Runs: their money, their failures, and what later runs reuse.

mod batches;
pub mod budgets;
mod concurrent_runs;
mod costs;
mod estimates;
mod faults;
mod interruption;
mod outputs;
mod recording;
mod reuse;
mod scale;
mod several_models;
mod stored_runs;
