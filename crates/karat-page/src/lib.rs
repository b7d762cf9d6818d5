//! Pages: data to HTML and inline SVG, the same bytes for the static report and the live dashboard.
//!
//! ```text
//! outcome ─► Block (block/) ─► render ─► chart/ (SVG) or component/ (tables, texts) ─► Document (component/shell) ─► page
//!                                              └─► text/: every string from outside passes here
//! ```
//!
//! - `number`: how a number is written; read it first, it is short.
//! - `text/`: makes strings from outside harmless; Markdown of models; word diff.
//! - `block/`: what an analysis hands over: plain data. Knows no analysis and no preset.
//! - `render`: a block to a panel. `tabulate`: its numbers as a table, for documents without charts; a chart has the same one.
//! - `draw/`: axes, marks, dots, sparklines. `chart/`: one file for each chart on them.
//! - `component/`: what pages are built from beside blocks, and the shell of a page.
//! - `assets`: style, script and font, embedded and addressed by their hash.
//! - `style/`: the page that shows every component and chart in every state.
//!
//! This crate reads no store, clock, environment or file: a page is a function of its data.

pub mod assets;
pub mod block;
mod chart;
pub mod component;
mod draw;
pub mod number;
mod render;
pub mod style;
mod tabulate;
pub mod text;

pub use block::{Block, Head};
pub use component::shell::Document;
pub use maud::{Markup, PreEscaped, html};
pub use render::{is_empty, render, render_all};
pub use style::style_page;
pub use tabulate::tabulate;
