//! Words and n-grams, shared by the metrics.
//!
//! `words` splits on scripts and case, `tokens` is the tokenizer of token metrics, `grams` counts n-grams, `porter` is the
//! Porter stemmer of ROUGE.

pub(crate) mod grams;
pub mod porter;
pub(crate) mod tokens;
pub(crate) mod words;
