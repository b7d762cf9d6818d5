//! The message of a run that stopped calling a model, service or program because it refused or failed every call (D13, D14,
//! D31).

use karat_engine::{RefusingTarget, TargetFault};
use karat_providers::RERUN;
use karat_report::count_noun;

/// The message, if there are such recipients. Its advice always works: cells that failed are not results, so a new run makes
/// them.
pub(crate) fn refusal_message(refusing: &[RefusingTarget]) -> Option<String> {
    let lines: Vec<String> = refusing.iter().map(stopped_line).collect();
    (!lines.is_empty()).then(|| format!("{}\nfix the cause and {RERUN}", lines.join("\n")))
}

/// The message of a run whose budget is used up by calls that failed, with what the last of them met.
pub(crate) fn failures_message(budget: &str, paid: &str, failed: &str, error: &str) -> String {
    let error = without_rerun(error);
    format!(
        "the budget of {budget} is used up: {paid} are paid, and {failed} count for calls that failed and may have been billed.\n\
         {error}\nfix the cause and {RERUN}"
    )
}

/// The advice of each error ends with what the last line says for all of them.
fn without_rerun(error: &str) -> &str {
    error.strip_suffix(&format!(", then {RERUN}")).unwrap_or(error)
}

fn stopped_line(refusing: &RefusingTarget) -> String {
    let RefusingTarget { name, error, fault, calls, left } = refusing;
    let counted = count_noun(*calls, if *fault == TargetFault::Unreadable { "judgment" } else { "call" });
    let end = match left {
        // The budget was used up before.
        0 => ", so the budget is used up by calls that may have been billed".to_owned(),
        1 => " and is not called any more: 1 cell is left unfinished".to_owned(),
        _ => format!(" and is not called any more: {} are left unfinished", count_noun(*left, "cell")),
    };
    let what = match fault {
        TargetFault::Refuses => format!("{name} refused its first {counted}"),
        TargetFault::RefusesNow => format!("{name} refused its last {counted}"),
        TargetFault::Fails => format!("{name} failed its first {counted}"),
        TargetFault::Unreadable => format!("{name} gave no reply that can be read in its first {counted}"),
    };
    format!("{what}{end}.\n{}", without_rerun(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D14: calls and cells add up, and the advice is said once.
    #[test]
    fn the_advice_is_said_once() {
        let refusing = |name: &str, advice: &str, fault, left| RefusingTarget {
            name: name.to_owned(),
            error: format!("model {name}: cannot be reached; {advice}"),
            fault,
            calls: 10,
            left,
        };
        let message = refusal_message(&[
            refusing("a", &format!("check `base_url`, then {RERUN}"), TargetFault::Refuses, 6),
            refusing("b", "check the key in KEY", TargetFault::RefusesNow, 1),
            refusing("c", "check `base_url`", TargetFault::Fails, 0),
        ]);
        assert_eq!(
            message.as_deref(),
            Some(
                "a refused its first 10 calls and is not called any more: 6 cells are left unfinished.\n\
                 model a: cannot be reached; check `base_url`\n\
                 b refused its last 10 calls and is not called any more: 1 cell is left unfinished.\n\
                 model b: cannot be reached; check the key in KEY\n\
                 c failed its first 10 calls, so the budget is used up by calls that may have been billed.\n\
                 model c: cannot be reached; check `base_url`\n\
                 fix the cause and run the suite again: finished cells are reused"
            )
        );
    }
}
