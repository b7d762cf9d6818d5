//! The message of a run that stopped calling a model or service because it refused every call (D13, D14, D31).

use karat_engine::RefusingTarget;
use karat_providers::RERUN;
use karat_report::count_noun;

/// The message, if there are such models and services. Its advice always works: cells that failed are no results, so a new
/// run makes them.
pub(crate) fn refusal_message(refusing: &[RefusingTarget]) -> Option<String> {
    let lines: Vec<String> = refusing.iter().map(stopped_line).collect();
    (!lines.is_empty()).then(|| format!("{}\nfix the cause and {RERUN}", lines.join("\n")))
}

fn stopped_line(refusing: &RefusingTarget) -> String {
    let RefusingTarget { name, error, has_answered, calls, left } = refusing;
    let which = if *has_answered { "last" } else { "first" };
    let (calls, cells) = (count_noun(*calls, "call"), count_noun(*left, "cell"));
    let are = if *left == 1 { "is" } else { "are" };
    // The advice of each error ends with what the last line says for all of them.
    let error = error.strip_suffix(&format!(", then {RERUN}")).unwrap_or(error);
    format!("{name} refused its {which} {calls} and is not called any more: {cells} {are} left unfinished.\n{error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D14: calls and cells add up, and the advice is said once.
    #[test]
    fn the_advice_is_said_once() {
        let refusing = |name: &str, advice: &str, has_answered| RefusingTarget {
            name: name.to_owned(),
            error: format!("model {name}: cannot be reached; {advice}"),
            has_answered,
            calls: 10,
            left: 6,
        };
        let message = refusal_message(&[
            refusing("a", &format!("check `base_url`, then {RERUN}"), false),
            refusing("b", "check the key in KEY", true),
        ]);
        assert_eq!(
            message.as_deref(),
            Some(
                "a refused its first 10 calls and is not called any more: 6 cells are left unfinished.\n\
                 model a: cannot be reached; check `base_url`\n\
                 b refused its last 10 calls and is not called any more: 6 cells are left unfinished.\n\
                 model b: cannot be reached; check the key in KEY\n\
                 fix the cause and run the suite again: finished cells are reused"
            )
        );
    }
}
