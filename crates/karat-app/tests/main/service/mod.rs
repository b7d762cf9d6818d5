//! Continuous evaluation with a simulated clock and a real receiver.

mod delivery;
mod due_runs;
mod night;
mod world;
