//! `karat ci`: writes the workflow of a CI service.

use std::path::{Path, PathBuf};

use karat_app::CiService;
use karat_types::Exit;

use crate::args::CiCommand;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn workflow(context: &CommandContext<'_>, command: &CiCommand) -> Result<Exit, Failure> {
    let (service, args) = match command {
        CiCommand::Github(args) => (CiService::Github, args),
        CiCommand::Gitlab(args) => (CiService::Gitlab, args),
    };
    let folder = std::path::absolute(".").map_err(|error| {
        Failure::Message(format!("cannot find out the present folder: {error}. Change into another"))
    })?;
    let workflow = context.app.project().ci_workflow(service, &args.suite, &folder)?;
    if args.output.as_deref() == Some("-") {
        context.printer.data(workflow.text.trim_end())?;
        return Ok(Exit::Pass);
    }
    let target = args.output.as_ref().map_or_else(|| workflow.path.clone(), PathBuf::from);
    context.app.project().write_ci_workflow(&workflow, &target, args.force)?;
    context.printer.data(&relative_path(&target, &folder))?;
    if let Some(recording) = &workflow.recording {
        let keys = workflow.keys.join(", ");
        let recording = relative_path(recording, &folder);
        context.printer.say(&format!(
            "set these secrets in the repository: {keys}. For runs without them, as on forks, record the calls once: \
             `karat run {} --no-cache --record {recording}`, and commit the file",
            args.suite
        ));
    }
    Ok(Exit::Pass)
}

/// Returns a path relative to the present folder, if it is below it.
fn relative_path(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}
