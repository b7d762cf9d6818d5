//! Continuous evaluation with a simulated clock and a real receiver.

mod canary;
mod delivery;
mod due_runs;
mod night;
mod world;
