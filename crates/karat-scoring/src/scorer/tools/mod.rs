//! Metrics of calls of tools.
//!
//! `call` reads calls as models, agents and references write them; `arguments` compares the arguments of two calls. On these
//! stand `tool_calls` (the calls are the expected ones) and `valid_calls` (the calls fit the tools that were offered).

mod arguments;
mod call;
pub(crate) mod tool_calls;
pub(crate) mod valid_calls;
