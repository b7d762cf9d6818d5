//! Calls to models, services and programs: wire codecs, one HTTP client, retries, limits, secrets, recordings, and models that
//! need no network.
//!
//! A call takes this path, live and in replay:
//!
//! ```text
//! ChatRequest ─► codec.body ─► bytes ─► transport (retried) ─► bytes ─► secrets removed ─► codec.parse ─► Reply
//!                               └──────────── captured ────────────┘            └─ the same for stored bytes: `parse`
//! ```
//!
//! Reading order: `registry` (entry point: [`Providers`]), `attempt` (the retry loop), `limiter` (rates and slots), `http`,
//! `process`, `codec`, `capture`, `scripted`, `batch` (calls in bulk, answered within a day). Offline models (`scripted`, `stub`) answer with bytes in OpenAI's form, so the
//! rest of the path does not distinguish them.

mod answer;
mod attempt;
mod batch;
mod capture;
mod codec;
mod http;
mod limiter;
mod options;
mod process;
mod registry;
mod scripted;

pub use crate::answer::billing::read_bill;
pub use crate::answer::failure::FailedBill;
pub use crate::answer::failure::RERUN;
pub use crate::answer::json::UnreadableReply;
pub use crate::attempt::exchange::{
    Call, Exchange, ExchangeWithSlot, FailedAttempt, FailedAttempts, Payer, ProgramRun,
};
pub use crate::attempt::refused_settings::unapplied_settings;
pub use crate::attempt::retry::Backoff;
pub use crate::batch::{BatchApi, BatchError, BatchLine, BatchResult, BatchStatus, RemoteBatch, has_batch_api};
pub use crate::capture::recorder::Recorder;
pub use crate::capture::replay::{RecordingError, RecordingPlayer, text_or_hex};
pub use crate::codec::openai::embeddings::without_vectors;
pub use crate::codec::protocol::Codec;
pub use crate::http::descriptors::{open_files, raise_open_files};
pub use crate::http::env_headers::EnvHeader;
pub use crate::http::hooks::{HookAnswer, HookClient, HookError};
pub use crate::http::proxies::{NamedProxy, proxies, unused_proxy};
pub use crate::process::external_call::{ExternalCall, parse_external_reply};
pub use crate::process::host_functions::{Host, HostAnswer, HostFunctions};
pub use crate::process::program::end_processes;
pub use crate::process::services::{ServiceError, Services};
pub use crate::registry::environment_report::{
    ProviderEnvironment, address_notes, probe_address, provider_environments,
};
pub use crate::registry::error::ProviderError;
pub use crate::registry::hosts::{HttpProvider, catalog, http_providers, makes_embeddings};
pub use crate::registry::outside::ExternalTexts;
pub use crate::registry::places::check_texts;
pub use crate::registry::providers::Providers;
pub use crate::registry::reply::{parse, parse_answer};
pub use crate::registry::settings::Settings;
pub use limiter::{Gate, LimiterPool, QueueEntry, SlotGuard};
