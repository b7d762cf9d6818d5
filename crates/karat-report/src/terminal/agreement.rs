//! The agreement of raters for a terminal.

use std::fmt::Write as _;

use karat_analysis::agree::RunAgreement;

use crate::shared::visible::excerpt;
use crate::wording::agreement::{coefficients, pair_sentence, side_notes};

/// Length of an id on one line, in characters.
const WIDTH: usize = 100;

/// Returns the agreement for a terminal, without control sequences.
pub fn agreement(agreed: &RunAgreement) -> String {
    let mut text =
        format!("run {}; raters: {}\n", excerpt(&agreed.run, WIDTH), excerpt(&agreed.raters.join(", "), WIDTH));
    for metric in &agreed.metrics {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{}: {}", excerpt(&metric.metric, WIDTH), coefficients(metric));
        for pair in &metric.agreement.pairs {
            let _ = writeln!(text, "  {}", excerpt(&pair_sentence(metric, pair), 4 * WIDTH));
        }
    }
    side_notes(agreed).into_iter().for_each(|line| text.push_str(&format!("\n{line}\n")));
    text
}
