//! Calls of language models that applications report by OpenTelemetry, read into rows of a dataset.
//!
//! ```text
//! bytes ── otlp (JSON or protobuf) ──> spans ── dialect ──> fields of a call ── request ──> rows, rejected spans
//! lines of JSON ─────────────────────────────────────────────────────────────── lines ────> rows, rejected lines
//! rows ── sample ──> those that a share or a daily limit keeps ── folder ──> NAME/YYYY-MM-DD.jsonl
//! ```
//!
//! - `otlp.rs`: the messages of the protocol, in both encodings; `attributes.rs`: the values of a span
//! - `dialect/`: the attribute names of each convention; `messages.rs`: their conversations, in one form
//! - `request.rs`: rows of a request; `whole.rs`: rows of whole traces; `lines.rs`: rows that were written by hand; `row.rs`: a row
//! - `size.rs`: the size of a request before it is read
//! - `sample.rs`: the share of the traces that is kept; `folder/`: the files that keep them
//!
//! Only `folder/` reads and writes files. Nothing here reads a clock or the network.

mod attributes;
mod dialect;
pub mod folder;
mod lines;
mod messages;
pub mod otlp;
mod request;
mod row;
mod sample;
mod size;
mod whole;

pub use lines::{LineError, row_of_line};
pub use otlp::{Encoding, OtlpError};
pub use request::{Rejected, SpanRows, rows_of_request};
pub use row::{Context, Metadata, Row, Usage};
pub use sample::{Share, share_of};
pub use size::{Limits, holds_more_values};
pub use whole::rows_of_traces;
