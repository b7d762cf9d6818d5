//! Programs and services: started without a shell, ended with everything they have started.
//!
//! Read `program` first: one process, its environment, its output and its end. On top of it stand `jsonl_process` (one process
//! for many requests, line by line), `services` (servers that run as long as a run) and `command_model` (a model behind a
//! program). `tool_call` calls tools of an agent whose program keeps state. `external_call` asks services and programs for steps and scorers, over HTTP or as a process.
//! `host_functions` are functions of this process in the place of a program that answers line by line.

pub(crate) mod command_model;
pub(crate) mod external_call;
pub(crate) mod host_functions;
pub(crate) mod jsonl_process;
pub(crate) mod program;
pub(crate) mod services;
pub(crate) mod tool_call;
