//! Agents, and tools of prompts.

mod loops;
mod protocols;
mod tools;
