//! Models behind one call: wire codecs, one transport, capture, redaction, retries, limits, and offline models.
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
mod attempts;
mod azure;
mod capture;
mod codec;
mod command;
mod compressed;
mod connect;
mod descriptors;
mod errands;
mod error;
mod escapes;
mod excerpt;
mod exchange;
mod failure;
mod gemini;
mod headers;
mod hosts;
mod letter;
mod limiter;
mod lines;
mod openai;
mod options;
mod outside;
mod process;
mod providers;
mod proxies;
mod recorder;
mod reply;
mod retry;
mod room;
mod scripted;
mod services;
mod settings;
mod stub;
mod surroundings;
mod tape;
mod transport;
mod usage;

pub use codec::{Codec, Unreadable};
pub use descriptors::{open_files, raise_open_files};
pub use errands::{Errand, answer};
pub use error::ProviderError;
pub use exchange::{Call, Exchange, Held, Payer, Ran, Wasted};
pub use headers::HeaderText;
pub use hosts::{HttpProvider, catalog, http_providers};
pub use limiter::{Door, Gate, Slot};
pub use outside::Outside;
pub use process::end_processes;
pub use providers::Providers;
pub use proxies::{NamedProxy, proxies, unused_proxy};
pub use recorder::Recorder;
pub use reply::parse;
pub use retry::Backoff;
pub use services::{ServiceError, Services};
pub use settings::Settings;
pub use surroundings::{Surroundings, reach, surroundings};
pub use tape::{Player, TapeError, texts};
