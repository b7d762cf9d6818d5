//! Section and document on the agreement of judges with people (CL-13).

use karat_analysis::{CalibratedDimension, Calibration, CalibrationForm, CalibrationVerdict};

use crate::markdown::page::{Column, Inline, Page, columns};
use crate::shared::calibration_round::CalibrationRound;
use crate::shared::figures::count;
use crate::shared::report::Report;
use crate::wording::calibration::{
    agreement_value, bias_value, cautions, coefficient_or_none, judge_verdict, open_note, round_line, unscored_note,
};

/// Returns rounds of calibration as Markdown, the newest last.
pub fn calibration(rounds: &[CalibrationRound]) -> String {
    let mut page = Page::default();
    page.heading(1, Inline::plain("Calibration"));
    page.list(rounds.iter().map(|round| Inline::text(round_line(round))));
    for round in rounds {
        page.heading(2, Inline::plain("Round ").and_text(round.number.to_string()));
        tables(&mut page, &round.calibration, 3);
        between_judges(&mut page, round);
    }
    page.paragraph(Inline::plain(
        "How these numbers were made: each judge graded every labelled output again, with examples from other samples \
         only; agreement is 1 − mean |judge − people| / range of the scale, with a t interval over clusters of samples; \
         differences are judge minus people; where samples hold several \
         outputs, or fall into clusters, ICC and α use the jackknife of whole ones (Fisher z, t) from 3 to 49 of them, and a \
         percentile bootstrap (1,000, seed 1) beyond; for independent outputs, ICC has its F interval and α the bootstrap from 10 on. Beyond chance, \
         a judge passes with its whole interval above the threshold, and fails with all of it below; below 20 sets nothing is decided.",
    ));
    page.finish()
}

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let Some(found) = report.findings.calibration().filter(|found| found.sets > 0) else { return };
    page.heading(2, Inline::plain("Calibration"));
    tables(page, found, 3);
}

fn tables(page: &mut Page, found: &Calibration, level: usize) {
    page.paragraph(
        Inline::plain("Scorer ")
            .and_code(&found.scorer)
            .and(", prompt version ")
            .and_text(found.prompt_version.as_deref().unwrap_or("none"))
            .and("; labelled sets: ")
            .and_text(count(found.sets))
            .and(", of samples: ")
            .and_text(count(found.samples))
            .and("; labels without a cell: ")
            .and_text(count(found.unmatched))
            .and("."),
    );
    let heads = [
        Column::left(Inline::plain("Dimension")),
        Column::right(Inline::plain("1 − mean abs. difference / range")),
        Column::right(Inline::plain("ICC(2,1)")),
        Column::right(Inline::plain("α")),
        Column::right(Inline::plain("Bias (judge − people)")),
        Column::right(Inline::plain("Unscored")),
        Column::right(Inline::plain("Must exceed")),
        Column::left(Inline::plain("Verdict")),
    ];
    for judge in &found.judges {
        page.heading(level, Inline::code(&judge.judge).and(": ").and_text(judge_verdict(found, judge)));
        let rows = judge.dimensions.iter().map(|it| {
            vec![
                Inline::code(&it.dimension),
                Inline::text(share(found, it)),
                Inline::text(coefficient_or_none(it.icc.as_ref())),
                Inline::text(coefficient_or_none(it.alpha.as_ref())),
                Inline::text(bias_value(it.bias.as_ref())),
                Inline::text(count(it.unscored)),
                Inline::text(it.threshold.to_string()),
                Inline::plain(match it.verdict {
                    None => "none: stopped",
                    Some(CalibrationVerdict::Pass) if it.needs_caution() => "pass, with caution",
                    Some(CalibrationVerdict::Pass) => "pass",
                    Some(CalibrationVerdict::Undecided) => "undecided",
                    Some(CalibrationVerdict::Fail) => "**fail**",
                }),
            ]
        });
        page.table(&heads, rows);
        let uncovered = judge.dimensions.iter().filter(|it| !it.covered && it.labelled > 0);
        page.list(uncovered.map(|it| Inline::code(&it.dimension).and(": ").and_text(unscored_note(found, it))));
        let open = judge.dimensions.iter().filter(|it| it.open.is_some());
        page.list(open.map(|it| Inline::code(&it.dimension).and(": ").and_text(open_note(it))));
        let cautions = judge.dimensions.iter().flat_map(|it| cautions(it).map(move |caution| (it, caution)));
        page.list(cautions.map(|(it, caution)| Inline::code(&it.dimension).and(": caution: ").and_text(caution)));
        let decided = judge.dimensions.iter().filter_map(|it| Some((it, it.reason.as_ref()?)));
        page.list(decided.map(|(it, reason)| {
            Inline::plain("The threshold of ").and_code(&it.dimension).and(" was decided: ").and_text(reason)
        }));
    }
}

/// Returns the share of agreement. If it decides the verdict, it has enough digits to tell it from the threshold.
fn share(found: &Calibration, dimension: &CalibratedDimension) -> String {
    match (found.agreement, &dimension.within_share) {
        (CalibrationForm::WithinShare, Some(share)) => agreement_value(share, dimension.threshold),
        (_, share) => coefficient_or_none(share.as_ref()),
    }
}

/// Writes the second table: judges compared with each other.
fn between_judges(page: &mut Page, round: &CalibrationRound) {
    let Some(judges) = round.judges.as_ref().filter(|found| !found.metrics.is_empty()) else { return };
    page.heading(3, Inline::plain("Judges compared with each other"));
    let rows = judges.metrics.iter().flat_map(|(metric, found)| {
        found.pairs.iter().map(move |pair| {
            vec![
                Inline::code(metric).and(": ").and_code(&pair.judges.0).and(" and ").and_code(&pair.judges.1),
                Inline::text(bias_value(Some(&pair.bias))),
                Inline::text(coefficient_or_none(Some(&pair.mean_abs_difference))),
                Inline::text(coefficient_or_none(pair.icc.as_ref())),
                Inline::text(coefficient_or_none(pair.alpha.as_ref())),
                Inline::text(count(pair.bias.n())),
            ]
        })
    });
    page.table(&columns(&["Judges", "Bias (first − second)", "Mean abs. difference", "ICC(2,1)", "α", "n"]), rows);
}
