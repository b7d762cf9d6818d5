//! `karat completions`: scripts for shells, and man pages.

use std::path::Path;

use karat_types::Exit;

use crate::args::CompletionsArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn completions(context: &CommandContext<'_>, args: &CompletionsArgs) -> Result<Exit, Failure> {
    if let Some(folder) = &args.man {
        return man_pages(context, folder);
    }
    if let Some(shell) = args.shell {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut crate::help::command(), "karat", &mut script);
        context.printer.data(&String::from_utf8_lossy(&script))?;
    }
    Ok(Exit::Pass)
}

/// Writes `karat.1`, `karat-run.1` and so on.
fn man_pages(context: &CommandContext<'_>, folder: &Path) -> Result<Exit, Failure> {
    let write = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(crate::help::command(), folder)
    };
    write().map_err(|error| {
        Failure::Message(format!("writing man pages into {}: {error}. Name another folder", folder.display()))
    })?;
    context.printer.text(&format!("man pages written to {}; read one with `man {0}/karat-run.1`", folder.display()))?;
    Ok(Exit::Pass)
}
