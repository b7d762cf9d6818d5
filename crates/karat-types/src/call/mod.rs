//! Calls: what steps and judges ask for, and what comes back.
//!
//! - `machine.rs` is the contract of steps and judges: a state machine that asks and is answered. Read it first.
//! - `request.rs` is what a machine may ask for, `reply.rs` the reply or error that answers it.
//! - `file_path.rs` is a path that may come from data.
//! - `message.rs` holds the turns of a chat request, `tool.rs` the tools that it offers.
//! - `served_name.rs` is the model name that a provider reports.

mod file_path;
mod machine;
mod message;
mod reply;
mod request;
mod served_name;
mod tool;

pub use file_path::FilePath;
pub use machine::{Answer, Ask, AskId, Machine, Turn};
pub use message::{Blob, Content, Media, MediaSource, Message, Part, RawTurn, Role, ToolCall};
pub use reply::{Billing, CallError, CallErrorCode, FinishReason, Reply, Usage};
pub use request::{
    ChatRequest, CommandRequest, EnvTemplate, EnvTemplatePart, FileRow, FileTrial, HttpRequest, Parameters, Protocol,
    ReplyFormat, Request, ToolRequest, host_function,
};
pub use served_name::ServedName;
pub use tool::{ToolChoice, ToolDefinition};
