//! Pure deterministic metrics: the same input gives the same score, everywhere.
//!
//! One module per family: `text` (containment, patterns, length), `edit` (edit distances), `squad`, `rouge`, `bleu`, `chrf`
//! (generated text against references), `set_f1` and `retrieval` (lists and rankings), `json` (schemas and fields),
//! `summary` (summaries of sessions); `tokenize` and `overlap` are shared. Texts are compared in Unicode code points unless a
//! function says otherwise. A metric that has no meaning for its input (no reference, no relevant document) is `None`, never 0
//! and never NaN.
//!
//! ```
//! use karat_scoring::metrics::{rouge::Rouge, squad};
//!
//! let score = Rouge::default().rouge1("the cat sat", "the cat sat down");
//! assert_eq!(score.precision, 1.0);
//! assert_eq!(score.recall, 0.75);
//! assert_eq!(squad::exact_match("The Eiffel Tower", &["eiffel tower"]), Some(true));
//! ```

pub mod bleu;
pub mod chrf;
pub mod edit;
pub mod json;
pub mod matching;
pub(crate) mod overlap;
pub mod retrieval;
pub mod rouge;
pub mod set_f1;
pub mod squad;
pub mod summary;
pub mod text;
pub mod tokenize;

pub use overlap::Overlap;
