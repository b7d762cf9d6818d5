//! The verdicts of gates for a terminal.

use karat_analysis::{Decision, Verdict, Verdicts};

use crate::shared::figures::count;
use crate::shared::visible::excerpt;
use crate::wording::gates::{SHOWN, check_name, headline, visible_checks, worst_first};

/// Length of an id or a message on one line, in characters.
const WIDTH: usize = 100;

/// Returns the verdicts on a run for a terminal, and the reasons for its failure besides gates. Without control
/// sequences.
pub fn gates(run: &str, verdicts: &Verdicts, failures: &[String]) -> String {
    let mut text = format!("run {}\n", excerpt(run, WIDTH));
    let mut lines = lines(verdicts, SHOWN, SHOWN);
    if lines.is_empty() {
        lines.push("no gate was evaluated".to_owned());
    }
    let passed = visible_checks(verdicts).into_iter().filter(|it| it.decision.verdict == Verdict::Pass).take(SHOWN);
    lines.extend(
        passed.map(|it| format!("  pass       {}: {}", it.check_name(), excerpt(&it.decision.reason, 2 * WIDTH))),
    );
    lines.extend(failures.iter().map(|failure| format!("failed: {}", excerpt(failure, 2 * WIDTH))));
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns the headline, the checks that did not pass, and the notes.
pub(super) fn lines(verdicts: &Verdicts, most: usize, notes: usize) -> Vec<String> {
    let Some(headline) = headline(verdicts) else { return Vec::new() };
    let mut lines = vec![format!("verdict {headline}")];
    let open: Vec<&Decision> = worst_first(verdicts).into_iter().filter(|it| it.verdict != Verdict::Pass).collect();
    lines.extend(open.iter().take(most).map(|decision| {
        format!(
            "  {:<9}  {}: {}",
            decision.verdict.as_str(),
            check_name(decision),
            excerpt(&decision.reason, 2 * WIDTH)
        )
    }));
    if open.len() > most {
        lines.push(format!("  … and {} more in the report", count((open.len() - most) as u64)));
    }
    lines.extend(verdicts.notes.iter().take(notes).map(|note| format!("note: {}", excerpt(note, 2 * WIDTH))));
    lines
}
