//! `karat init`.

use karat_app::{count_noun, preset_names};
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
        let folder = folder.display().to_string();
        // The bare name of a preset is the preset.
        let own = if preset_names().contains(&folder.as_str()) { "./" } else { "" };
        edge.printer
            .say(&format!("{} written. Next: `karat run {own}{folder}`", count_noun(lines.len() as u64, "file")));
    }
    Ok(Exit::Pass)
}
