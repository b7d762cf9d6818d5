//! A provider that speaks OpenAI's chat completions and Anthropic's messages on loopback, as well or as badly as asked.

mod behaviour;
mod echo;
mod protocol;
mod script;
mod server;

pub use behaviour::Behaviour;
pub use echo::Echo;
pub use script::{Received, Script};
pub use server::{FakeProvider, Memory};
