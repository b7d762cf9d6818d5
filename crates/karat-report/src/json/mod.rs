//! JSON: `report/` writes report.json with its file of cells, which is streamed; `documents` has one small document for each
//! command that has `--json`.

mod documents;
mod report;

pub use self::documents::{agreement, calibration, comparison, digest, gates, history, history_lines};
pub use self::report::{
    CELLS_FILE, CellsFile, INLINE_CELLS, INLINE_OUTPUT, is_inline, lay_out, render, starts_alike, write,
    write_beside_cells, write_cells,
};
