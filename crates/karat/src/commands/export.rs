//! `karat export`.

use std::path::Path;

use karat_app::{Format, WholeFile};
use karat_types::Exit;

use super::Edge;
use crate::args::{ExportArgs, ExportFormatArg};
use crate::failure::Failure;

pub fn export(edge: &Edge<'_>, args: &ExportArgs) -> Result<Exit, Failure> {
    let format = match args.kind {
        ExportFormatArg::Jsonl => Format::Cells,
        ExportFormatArg::Csv => Format::Csv,
        ExportFormatArg::Junit => Format::Junit,
    };
    if args.output == "-" {
        edge.printer.stream(|out| edge.app.export(&args.run, format, false, out))?;
        return Ok(Exit::Pass);
    }
    let unwritable =
        |error: std::io::Error| Failure::Edge(format!("writing {}: {error}. Name another file", args.output));
    let mut out = WholeFile::create(Path::new(&args.output)).map_err(unwritable)?;
    edge.app.export(&args.run, format, false, &mut out)?;
    out.finish().map_err(unwritable)?;
    Ok(Exit::Pass)
}
