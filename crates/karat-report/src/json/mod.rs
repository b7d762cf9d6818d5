//! JSON: report.json with its file of cells, and one document for each command that has `--json`.
//!
//! `report/` writes report.json, which is streamed. The other files hold one small document each and serialize a type of
//! `karat-analysis` under a `schema` field.

mod agreement;
mod calibration;
mod comparison;
mod digest;
mod gates;
mod history;
mod report;

use serde::Serialize;

pub use self::agreement::agreement;
pub use self::calibration::calibration;
pub use self::comparison::comparison;
pub use self::digest::digest;
pub use self::gates::gates;
pub use self::history::{history, history_lines};
pub use self::report::{
    CELLS_FILE, CellsFile, INLINE_CELLS, INLINE_OUTPUT, is_inline, lay_out, render, starts_alike, write,
    write_beside_cells, write_cells,
};

use crate::RenderError;

/// Returns a small document as indented JSON that ends in a line break.
fn pretty<T: Serialize>(document: &T) -> Result<String, RenderError> {
    let mut text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(text)
}
