//! The runs that a server executes.
//!
//! - `dispatcher`: takes runs from the queue of the store, and executes each on a thread of its own.
//! - `active_runs`: those that it executes now, with their signals to stop.
//! - `due_queue`: due runs that wait for a place. `background/`: finds runs that are due and sends alerts, beside requests.
//! - `measure`: counts what they do, for `/metrics`.

pub(crate) mod active_runs;
pub(crate) mod background;
pub(crate) mod dispatcher;
pub(crate) mod due_queue;
pub(crate) mod measure;
