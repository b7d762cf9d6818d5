//! Agents, and tools of prompts.

mod loops;
mod tools;
