//! `karat init`.

use karat_app::counted;
use std::path::PathBuf;

use karat_types::Exit;

use super::Edge;
use crate::args::InitArgs;
use crate::failure::Failure;

pub fn init(edge: &Edge<'_>, args: &InitArgs) -> Result<Exit, Failure> {
    let folder = PathBuf::from(args.dir.as_deref().unwrap_or(&args.preset));
    let written = edge.app.init(&args.preset, &folder, args.force)?;
    let lines: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    edge.printer.data(&lines.join("\n"))?;
    if !edge.quiet {
        edge.printer.say(&format!(
            "{} written. Next: `karat run {}`",
            counted(lines.len() as u64, "file"),
            folder.display()
        ));
    }
    Ok(Exit::Pass)
}
