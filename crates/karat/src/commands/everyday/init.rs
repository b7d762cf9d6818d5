//! `karat init`.

use std::path::PathBuf;

use karat_app::{count_noun, preset_names};
use karat_types::Exit;

use crate::args::InitArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn init(context: &CommandContext<'_>, args: &InitArgs) -> Result<Exit, Failure> {
    let folder = PathBuf::from(args.dir.as_deref().unwrap_or(&args.preset));
    let written = context.app.init(&args.preset, &folder, args.force)?;
    let lines: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    context.printer.text(&lines.join("\n"))?;
    if !context.quiet {
        let folder = folder.display().to_string();
        // The bare name of a preset would run the preset, not the folder.
        let own = if preset_names().contains(&folder.as_str()) { "./" } else { "" };
        let files = count_noun(lines.len() as u64, "file");
        context.printer.say(&format!("wrote {files}; run the suite with `karat run {own}{folder}`"));
    }
    Ok(Exit::Pass)
}
