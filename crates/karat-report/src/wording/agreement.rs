//! Sentences and figures about the agreement of raters, the same in every format.

use karat_analysis::agree::{MetricRaters, RunAgreement};
use karat_analysis::{Finding, JudgePair};

use crate::shared::figures::{self, count, percent};

/// Returns notes on labels that match nothing, and on judgments shared by several runs.
pub(crate) fn side_notes(agreed: &RunAgreement) -> Vec<String> {
    let notes = [
        ("labels that match no cell and metric of the run", agreed.unmatched_labels),
        ("grades in labels under unknown metric names, left out", agreed.unknown_grades),
        ("judgments reused between runs, each counted once", agreed.shared_judgments),
    ];
    notes.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{what}: {}", count(n))).collect()
}

/// Returns the coefficients over all raters.
pub(crate) fn coefficients(metric: &MetricRaters) -> String {
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

/// Returns ` of 12` if a figure has fewer items than there are: those that all raters graded, or two of several.
fn of_fewer(finding: &Finding, n: u64) -> String {
    if finding.n() == n { String::new() } else { format!(" of {}", count(finding.n())) }
}

/// Returns the agreement of two raters in one sentence.
pub(crate) fn pair_sentence(metric: &MetricRaters, pair: &JudgePair) -> String {
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
        figures::difference_with_method(metric, &pair.bias),
        figures::value(metric, pair.mean_abs_difference.value())
    )
}

/// Formats a coefficient with its interval.
pub(crate) fn coefficient(finding: &Finding) -> String {
    coefficient_to(finding, 2)
}

/// Formats a coefficient with its interval, with this many decimals.
pub(crate) fn coefficient_to(finding: &Finding, digits: usize) -> String {
    match finding.interval() {
        Some((lo, hi)) => format!("{:.digits$} ({lo:.digits$} to {hi:.digits$})", finding.value()),
        None => format!("{:.digits$}", finding.value()),
    }
    .replace('-', "−")
}
