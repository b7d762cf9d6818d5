//! Text from samples, models, judges and people, made harmless.
//!
//! - `visible`: characters that a reader cannot see become marks; every string from outside passes it.
//! - `markdown`: Markdown of a model, without its HTML, images and foreign links.
//! - `diff`: two texts word by word.
//!
//! Escaping is maud's: nothing here builds markup from a string except `markdown`, which writes through
//! pulldown-cmark's escaping.

pub mod diff;
pub mod markdown;
pub mod visible;
