//! MAP: to be written.

pub(crate) mod prompt_values;
pub(crate) mod request;
pub(crate) mod round_prompt;

