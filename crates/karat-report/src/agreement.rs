//! How far raters agree, for a terminal and as JSON; its Markdown is [`markdown::agreement`](crate::markdown::agreement).

use std::fmt::Write as _;

use karat_analysis::agree::{MetricRaters, RunAgreement};
use karat_analysis::{Finding, JudgePair};
use serde::Serialize;

use crate::RenderError;
use crate::figures::{self, count, percent};
use crate::visible::brief;

/// Characters of an id on one line.
const WIDTH: usize = 100;

/// The agreement for a terminal. Nothing in it can act on one.
pub fn terminal(agreed: &RunAgreement) -> String {
    let mut text = format!("run {}; raters: {}\n", brief(&agreed.run, WIDTH), brief(&agreed.raters.join(", "), WIDTH));
    for metric in &agreed.metrics {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{}: {}", brief(&metric.metric, WIDTH), panel(metric));
        for pair in &metric.agreement.pairs {
            let _ = writeln!(text, "  {}", brief(&sentence(metric, pair), 4 * WIDTH));
        }
    }
    asides(agreed).into_iter().for_each(|line| text.push_str(&format!("\n{line}\n")));
    text
}

/// The agreement as JSON (`karat.agree/1`).
///
/// # Errors
/// Never for an agreement that [`agree`](karat_analysis::agree::agree) made.
pub fn json(agreed: &RunAgreement) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        #[serde(flatten)]
        agreed: &'a RunAgreement,
    }
    let document = Document { schema: "karat.agree/1", agreed };
    let mut text = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// What is said of labels that fit nothing, and of judgments that several runs have.
pub(crate) fn asides(agreed: &RunAgreement) -> Vec<String> {
    let said = [
        ("labels that fit no cell and metric of the run", agreed.unmatched_labels),
        ("grades of labels under names that are no metric of the run, left out", agreed.unknown_grades),
        ("judgments that one run took over from another, each counted once", agreed.shared_judgments),
    ];
    said.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{what}: {}", count(n))).collect()
}

/// What all raters together say.
pub(crate) fn panel(metric: &MetricRaters) -> String {
    let found = &metric.agreement;
    let all = [
        ("α", &found.alpha),
        ("Fleiss κ", &found.fleiss),
        ("Randolph κ", &found.randolph),
        ("ICC(2,1)", &found.icc),
        ("ICC(2,k)", &found.icc_panel),
    ];
    let known = all.iter().filter_map(|(name, finding)| {
        let finding = finding.as_ref()?;
        Some(format!("{name} {}{}", coefficient(finding), of_fewer(finding, found.n)))
    });
    let known: Vec<String> = known.chain([format!("n = {}", count(found.n))]).collect();
    known.join(", ")
}

/// ` of 12`, where a figure has fewer items than there are: those that all raters graded, or two of several.
fn of_fewer(finding: &Finding, n: u64) -> String {
    if finding.n() == n { String::new() } else { format!(" of {}", count(finding.n())) }
}

/// Two raters in one sentence.
pub(crate) fn sentence(metric: &MetricRaters, pair: &JudgePair) -> String {
    let share = |finding: &Finding| percent(finding.value());
    let mut parts = vec![format!("{} equal{}", share(&pair.exact), of_fewer(&pair.exact, metric.agreement.n))];
    parts.extend(pair.within_one.as_ref().map(|within| format!("{} within 1", share(within))));
    parts.extend(pair.kappa.as_ref().map(|kappa| format!("κ {}", coefficient(kappa))));
    parts.extend(pair.ac.as_ref().map(|ac| format!("AC {}", coefficient(ac))));
    parts.extend(pair.pearson.as_ref().map(|it| format!("r {}", coefficient(it))));
    parts.extend(pair.spearman.as_ref().map(|it| format!("ρ {}", coefficient(it))));
    parts.extend(pair.kendall.as_ref().map(|it| format!("τ {}", coefficient(it))));
    parts.extend(pair.concordance.as_ref().map(|it| format!("CCC {}", coefficient(it))));
    let (first, second) = &pair.judges;
    format!(
        "{first} and {second}: {}; {first} is {} against {second}, mean absolute difference {}",
        parts.join(", "),
        figures::full_change(metric, &pair.bias),
        figures::value(metric, pair.mean_abs_difference.value())
    )
}

/// A coefficient with its interval.
pub(crate) fn coefficient(finding: &Finding) -> String {
    coefficient_to(finding, 2)
}

/// A coefficient with its interval, with so many digits behind the point.
pub(crate) fn coefficient_to(finding: &Finding, digits: usize) -> String {
    match finding.interval() {
        Some((lo, hi)) => format!("{:.digits$} ({lo:.digits$} to {hi:.digits$})", finding.value()),
        None => format!("{:.digits$}", finding.value()),
    }
    .replace('-', "−")
}
