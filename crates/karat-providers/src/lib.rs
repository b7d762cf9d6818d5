//! Models behind one call: wire codecs, one transport, capture, redaction, retries, concurrency limits, and offline
//! models.
//!
//! A call goes this way, live and in replay alike:
//!
//! ```text
//! ChatRequest ─► codec.body ─► bytes ─► transport (retried) ─► bytes ─► secrets removed ─► codec.parse ─► Reply
//!                               └──────────── captured ────────────┘            └─ the same for stored bytes: `parse`
//! ```
//!
//! Codecs do no I/O: a new one is a file with a [`Codec`], a line in `hosts.rs` and a test. Offline models (`scripted`,
//! `stub`) answer with bytes in OpenAI's form, so nothing behind them can tell the difference.

mod anthropic;
mod capture;
mod codec;
mod connect;
mod exchange;
mod failure;
mod hosts;
mod openai;
mod options;
mod providers;
mod retry;
mod scripted;
mod stub;
mod tape;
mod transport;
mod usage;

pub use codec::{Codec, Unreadable, parse};
pub use connect::ProviderError;
pub use exchange::{Call, Exchange};
pub use hosts::catalog;
pub use providers::{Providers, Settings};
pub use retry::Backoff;
pub use tape::{Player, Recorder, TapeError};
