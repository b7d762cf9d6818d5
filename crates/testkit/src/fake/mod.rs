//! A provider that speaks OpenAI's chat completions and Anthropic's messages on loopback, as well or as badly as asked.

mod behaviour;
mod echo;
mod protocol;
mod received;
mod script;
mod server;

pub use behaviour::Behaviour;
pub use echo::Echo;
pub use received::Received;
pub use script::Script;
pub use server::{FakeProvider, Memory};
