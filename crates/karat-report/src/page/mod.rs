//! Pages: report data as a [`Document`], the same for a file and for the live dashboard.
//!
//! ```text
//! Report ─► run/ (a file a section) ┐
//!           texts/ (inputs, outputs) ├─► sections ─► Document ─► report.html, or a live page
//! RunComparison ─► comparison/ ──────┘
//! ```
//!
//! - `links`: addresses of the live dashboard; a file has none. Read it first.
//! - `file`: report.html, which has a largest size.
//! - `sections`: sections in order, with the list beside them.
//! - `run/`: the page of a run. Its panels come from [`blocks`](crate::blocks).
//! - `texts/`: chooses the cells worth reading and marks parts of their texts.
//! - `comparison/`: the page of a comparison. `items`: the page of a test set.
//! - `markdown_document`: a document of another command, written as Markdown.

mod comparison;
mod file;
mod items;
mod links;
mod markdown_document;
mod run;
mod sections;
mod texts;

pub use comparison::comparison;
pub use file::{MOST_BYTES, file};
pub use items::{RepeatedRow, RepeatedRows, items};
pub use karat_page::Document;
pub use links::Links;
pub use markdown_document::markdown_document;
pub use run::run;
pub use texts::{MarkedOutput, MarkedSources};
