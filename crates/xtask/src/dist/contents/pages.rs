//! Man pages and completions. The program that was built writes them, so they are those of its own flags.

use std::path::Path;
use std::process::Command;

use crate::dist::description::{MAN_FOLDER, SHELLS};
use crate::dist::packaging::archive::Member;
use crate::dist::program::output;

/// Returns the man pages and completions of a program. `scratch` is a folder that may be filled.
///
/// # Errors
/// The program cannot be started on this machine, or fails.
pub fn pages(program: &Path, scratch: &Path) -> Result<Vec<Member>, String> {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(["completions"]).args(arguments).current_dir(scratch);
        output(&mut command).map_err(|error| {
            format!("{error}. The program writes its man pages itself: build on a machine that can start it")
        })
    };
    let mut pages = Vec::new();
    for shell in SHELLS {
        pages.push(Member::file(shell.archive, ask(&[shell.name])?));
    }
    ask(&["--man", MAN_FOLDER])?;
    let folder = scratch.join(MAN_FOLDER);
    let problem = |error: std::io::Error| format!("reading the man pages in {}: {error}", folder.display());
    for entry in std::fs::read_dir(&folder).map_err(problem)? {
        let entry = entry.map_err(problem)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        pages.push(Member::file(format!("{MAN_FOLDER}/{name}"), std::fs::read(entry.path()).map_err(problem)?));
    }
    Ok(pages)
}
