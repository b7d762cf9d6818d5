//! Calls: what steps and judges ask for, and what comes back.
//!
//! - `machine.rs` is the contract of steps and judges: a state machine that asks and is answered. Read it first.
//! - `request.rs` is what a machine may ask for, `reply.rs` the reply or error that answers it.
//! - `served_name.rs` is the model name that a provider reports.

mod machine;
mod reply;
mod request;
mod served_name;

pub use machine::{Answer, Ask, AskId, Machine, Turn};
pub use reply::{CallError, CallErrorCode, FinishReason, Reply, Usage};
pub use request::{
    ChatRequest, CommandRequest, EnvTemplate, EnvTemplatePart, FilePath, HttpRequest, Message, Parameters, Protocol,
    ReplyFormat, Request, Role,
};
pub use served_name::ServedName;
