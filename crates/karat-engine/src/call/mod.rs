//! One call of a model, service or program: reserved, made, durable, and only then answered.
//!
//! - `drive` takes a step or judge to its end and answers its requests; `executor` makes the calls. `tally` is what
//!   the calls came to.
//! - `settlement` turns an ended call into its cost, its record and its notes.
//! - `paid` finds the replies that this or another run has paid for.
//! - `batch` collects calls for batch APIs, and answers those that a batch has brought.
//! - `conversations` calls programs that keep state for an agent, and watches its limits.
//! - `vectors` collects texts of many cells for scorers that compare embeddings.
//! - `log` hands calls to the call log.
//!
//! Read `drive` and `executor` first; the latter reserves through `budget::claim`.

pub(crate) mod batch;
pub(crate) mod conversations;
pub(crate) mod drive;
pub(crate) mod executor;
pub(crate) mod log;
pub(crate) mod paid;
pub(crate) mod settlement;
pub(crate) mod tally;
pub(crate) mod vectors;
