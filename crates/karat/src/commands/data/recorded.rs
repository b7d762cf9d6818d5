//! Imports whose outputs are recorded: they run at once, and cost nothing.

use std::path::{Path, PathBuf};

use karat_app::{Execution, Invocation, RunEnd};

use crate::args::{ImportArgs, OutputArgs, ProgressArgs};
use crate::commands::everyday::run;
use crate::commands::{CommandContext, run_output};
use crate::failure::Failure;

/// Returns the id of the run that holds the results; `None` leaves it to the run.
pub fn run_id(context: &CommandContext<'_>, args: &ImportArgs, name: &str) -> Result<Option<String>, Failure> {
    match &args.run_id {
        Some(id) => match context.app.runs().free_id(id)? {
            Some(id) => Ok(Some(id)),
            None => {
                let told = "it is taken, or no id: letters, digits, `-`, `_`, `.` and `:`";
                Err(Failure::Message(format!("`--run-id {id}`: {told}. Nothing was written; name another id")))
            }
        },
        None => Ok(context.app.runs().free_id(name)?),
    }
}

/// Runs a suite whose outputs are all recorded, and writes its report.
pub fn run_recorded(context: &CommandContext<'_>, suite: &str, run_id: Option<String>) -> Result<RunEnd, Failure> {
    let invocation = Invocation::of(suite);
    let plan = context.app.runs().load(&invocation)?;
    let execution = Execution { run_id, ..run_output::execution(context, false, ProgressArgs::default()) };
    let end = context.app.runs().run(plan, &invocation, execution)?;
    let output = OutputArgs { output_dir: None, format: Vec::new(), outputs: None, layout: None };
    run::finish(context, &end, &output, false)?;
    Ok(end)
}

/// Returns the folder that the suite is written into.
pub fn suite_folder(args: &ImportArgs) -> PathBuf {
    let name = args.file.file_stem().unwrap_or_default();
    args.output_dir.clone().unwrap_or_else(|| Path::new("imported").join(name))
}
