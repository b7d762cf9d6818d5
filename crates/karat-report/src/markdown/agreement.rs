//! Document of `karat agree`: agreement of raters.

use karat_analysis::agree::{MetricRaters, RunAgreement};
use karat_analysis::{Finding, JudgePair};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, DifferenceScale, NONE, count};
use crate::wording::agreement::{coefficient, coefficients, side_notes};

/// Returns the agreement as Markdown.
pub fn agreement(agreed: &RunAgreement) -> String {
    let mut page = Page::default();
    page.heading(1, Inline::plain("Agreement"));
    page.paragraph(
        Inline::plain("Run ")
            .and_code(&agreed.run)
            .and("; raters: ")
            .then(Inline::list(agreed.raters.iter().map(Inline::code))),
    );
    for metric in &agreed.metrics {
        page.heading(2, Inline::code(&metric.metric));
        page.paragraph(Inline::text(coefficients(metric)).and("."));
        pairs(&mut page, metric);
    }
    page.list(side_notes(agreed).into_iter().map(Inline::text));
    page.paragraph(Inline::plain(
        "How these numbers were made: differences are first minus second, with t intervals over samples; shares have \
         Wilson's interval; κ is quadratic on a scale; α has a percentile bootstrap over samples (1,000, seed 1) from 10 \
         on, ICC its F interval; where samples hold several items, both use the jackknife of whole samples (Fisher z, t) from \
         3 to 49.",
    ));
    page.finish()
}

fn pairs(page: &mut Page, metric: &MetricRaters) {
    let heads = [
        Column::left(Inline::plain("Raters")),
        Column::right(Inline::plain("n")),
        Column::right(Inline::plain("Bias")),
        Column::right(Inline::plain("Mean abs. difference")),
        Column::right(Inline::plain("RMS")),
        Column::right(Inline::plain("Limits")),
        Column::right(Inline::plain("Equal")),
        Column::right(Inline::plain("Within 1")),
        Column::right(Inline::plain("κ")),
        Column::right(Inline::plain("AC")),
        Column::right(Inline::plain("Pearson")),
        Column::right(Inline::plain("Spearman")),
        Column::right(Inline::plain("Kendall")),
        Column::right(Inline::plain("CCC")),
    ];
    let maybe = |finding: &Option<Finding>| Inline::text(finding.as_ref().map_or(NONE.to_owned(), coefficient));
    let row = |pair: &JudgePair| {
        let limits = pair.limits.as_ref().map_or(NONE.to_owned(), |(lower, upper)| {
            format!(
                "{} to {}",
                figures::signed_value(metric, lower.value()),
                figures::signed_value(metric, upper.value())
            )
        });
        vec![
            Inline::code(&pair.judges.0).and(" and ").and_code(&pair.judges.1),
            Inline::text(count(pair.bias.n())),
            Inline::text(figures::difference_with_method(metric, &pair.bias)),
            Inline::text(figures::value_with_interval(&DifferenceScale(metric), &pair.mean_abs_difference)),
            Inline::text(figures::value(metric, pair.rms_difference.value())),
            Inline::text(limits),
            Inline::text(coefficient(&pair.exact)),
            maybe(&pair.within_one),
            maybe(&pair.kappa),
            maybe(&pair.ac),
            maybe(&pair.pearson),
            maybe(&pair.spearman),
            maybe(&pair.kendall),
            maybe(&pair.concordance),
        ]
    };
    page.table(&heads, metric.agreement.pairs.iter().map(row));
}
