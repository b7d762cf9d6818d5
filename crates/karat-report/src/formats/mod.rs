//! The formats of a report: which file writes which. Here are those that need one file; the others have folders beside this one.
//! A new format is a file here and an arm of [`write`].

pub mod csv;
mod junit;

use std::io::Write;

use karat_types::ReportFormat;

use crate::shared::report::{Cells, RenderError, Report};
use crate::{json, markdown, page};

/// Writes the report in a format. Cells, which are files of their own in a folder, are lines of a stream.
///
/// # Errors
/// Rows that cannot be read, or bytes that cannot be written.
pub fn write(report: Report<'_>, format: ReportFormat, mut out: &mut dyn Write) -> Result<(), RenderError> {
    let text = |out: &mut dyn Write, text: String| out.write_all(text.as_bytes()).map_err(RenderError::from);
    match format {
        ReportFormat::Markdown => markdown::render(report).and_then(|page| text(out, page)),
        ReportFormat::Html => page::file(report).and_then(|page| text(out, page)),
        ReportFormat::Json => json::write(report, out),
        ReportFormat::Cells => json::write_cells(whole_cells(report), "-", &mut out).map(|_| ()),
        ReportFormat::Junit => junit::write(report, out),
        ReportFormat::Csv => {
            // Without the mark, spreadsheets take UTF-8 for another encoding.
            out.write_all("\u{feff}".as_bytes())?;
            csv::write(report, out)
        }
        ReportFormat::Comment => text(out, markdown::comment(report)?),
    }
}

/// Returns the cells with their whole outputs: a file of its own has room for them.
pub fn whole_cells(report: Report<'_>) -> Cells<'_> {
    Cells { whole_outputs: true, ..report.cells() }
}
