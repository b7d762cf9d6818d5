//! Renders findings in every report format. One folder a format: `terminal/`, `markdown/`, `page/` (HTML), `json/`,
//! in each, one file a topic; `formats/` has those of one file, and the list of all. `tsv.rs` writes histories.
//!
//! `shared/` has what every format uses: its input ([`Report`]), numbers as text, and harmless forms of texts from
//! outside. `wording/` has sentences that several formats show, `outputs/` the texts of single cells,
//! `blocks/` the mapping of analysis outcomes to the panels of pages, `page/` the pages of a run and of a comparison,
//! `series/` that of a dated suite. Start with `shared/report.rs`, then `terminal/mod.rs`
//! or `markdown/mod.rs`, which list their sections in order.
//!
//! Nothing here computes a statistic: a number in a report is a count or comes from a
//! [`Finding`](karat_analysis::Finding). Texts from datasets, models and providers are hostile until a format has
//! escaped them. Rendering a stored run twice gives identical bytes (invariant 9, reports are deterministic).

pub mod blocks;
mod formats;
pub mod json;
pub mod markdown;
mod outputs;
pub mod page;
pub mod series;
mod shared;
pub mod terminal;
pub mod tsv;
mod wording;

pub use formats::{csv, whole_cells, write};
pub use karat_page::number::{Scale, count, count_noun, millis, usd};
pub use shared::calibration_round::CalibrationRound;
pub use shared::figures::unit_named;
pub use shared::reliability_curve;
pub use shared::report::{Cells, Context, Failure, Outputs, RenderError, Report, ShownOutputs};
pub use shared::scales::{scale_named, scale_of};
pub use shared::visible::{escape_json, visible, visible_name};
