//! A fake provider on loopback that speaks OpenAI's chat completions and Anthropic's messages, with faults on request.
//!
//! - `server.rs` accepts requests, logs them and sends answers; `received.rs` is a logged request.
//! - `script.rs` decides the `behaviour.rs` of each request; `echo.rs` is the deterministic script for most tests.
//! - `batches.rs` are the batch endpoints of both, as a script over another one.
//! - `protocol.rs` forms correct bodies of both protocols.

mod batches;
mod behaviour;
mod echo;
mod protocol;
mod received;
mod script;
mod server;

pub use batches::{BatchFaults, BatchStage, FakeBatches};
pub use behaviour::{Behaviour, Condition};
pub use echo::Echo;
pub use received::ReceivedRequest;
pub use script::Script;
pub use server::{FakeProvider, RequestLog};
