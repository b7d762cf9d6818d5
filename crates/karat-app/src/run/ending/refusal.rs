//! The message of a run that stopped calling a model or service because it refused every call (D13, D14).

use karat_engine::RefusingTarget;
use karat_report::count_noun;

/// The advice that always works; cells that failed are no results, so a new run makes them.
const RERUN: &str = "fix the cause and run the suite again: finished cells are reused";

/// The message, if there are such models and services.
pub(crate) fn refusal_message(refusing: &[RefusingTarget]) -> Option<String> {
    let stopped = refusing.iter().map(|RefusingTarget { name, error, left }| {
        let cells = count_noun(*left, "cell");
        let verb = if *left == 1 { "was" } else { "were" };
        format!("{name} refused its first calls and was not called any more: {cells} {verb} not tried.\n{error}")
    });
    let lines: Vec<String> = stopped.collect();
    (!lines.is_empty()).then(|| format!("{}\n{RERUN}", lines.join("\n")))
}
