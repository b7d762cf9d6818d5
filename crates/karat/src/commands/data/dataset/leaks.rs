//! `karat dataset check --leaks` and `--against`.

use karat_app::{DatasetRequest, DatasetRows, LeakReport};
use karat_types::Exit;

use crate::args::{DatasetCheckArgs, ExecutionArgs};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn leaks(context: &CommandContext<'_>, args: &DatasetCheckArgs) -> Result<Exit, Failure> {
    let source = &args.selection.suite.suite;
    let mut reports: Vec<LeakReport> = Vec::new();
    let tests = match karat_app::is_suite_source(source) {
        true => {
            let invocation = invocation::from_selection(&args.selection, &ExecutionArgs::default())?;
            let plan = context.app.runs().load(&invocation)?;
            if args.leaks {
                reports.push(karat_app::suite_leaks(source, &plan)?);
            }
            DatasetRows::of_plan(source, &plan)
        }
        false if args.against.is_none() => {
            let told = format!("`--leaks` looks at the prompts of a suite, and {source} is a file of rows");
            return Err(Failure::Message(format!("{told}: name a suite, or another corpus with `--against FILE`")));
        }
        false => context.app.datasets().rows(&DatasetRequest::of(&**source))?,
    };
    if let Some(against) = &args.against {
        reports.push(context.app.datasets().leaks_against(&tests, &DatasetRequest::of(&**against))?);
    }
    match args.json {
        true => context.print_json(&reports)?,
        false => {
            let texts: Vec<String> = reports.iter().map(LeakReport::text).collect();
            context.printer.text(&texts.join("\n\n"))?;
        }
    }
    Ok(if reports.iter().all(LeakReport::is_clean) { Exit::Pass } else { Exit::GateFailed })
}
