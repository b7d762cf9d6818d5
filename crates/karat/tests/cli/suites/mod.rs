//! Suites: what they may say, and what they ask for.

mod bad_input;
mod checks;
mod contracts;
mod dated_documents;
mod judges;
mod known_complaints;
mod mistakes;
mod named_models;
mod openai_provider;
mod privacy;
mod services_and_programs;
mod short_suite;
mod tournament;
