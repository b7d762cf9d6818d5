//! Calibration of judges against people: agreement by dimension with its threshold, bias, and the sets that differ most.

use karat_analysis::{CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm, CalibrationVerdict, Finding};
use karat_page::block::verdict::Verdict;
use karat_page::block::{Bar, Bars, Block, Cell, Column, Head};
use karat_page::number::{self, Estimate, Scale, Unit};

use crate::blocks::build::{count, difference, figure, table, table_if_any, texts, value};
use crate::shared::calibration_round::CalibrationRound;
use crate::shared::scales::{self, bare_scale};
use crate::wording::calibration::{agreement_value, cautions, judge_verdict, open_note, unscored_note};

/// Number of sets listed, the largest differences first.
const SETS: usize = 15;

pub(crate) fn blocks(found: &Calibration) -> Vec<Block> {
    [Some(agreement(found)), Some(dimensions(found)), sets(found)].into_iter().flatten().collect()
}

/// Every dimension with its judge.
fn each(found: &Calibration) -> impl Iterator<Item = (&CalibratedJudge, &CalibratedDimension)> {
    found.judges.iter().flat_map(|judge| judge.dimensions.iter().map(move |dimension| (judge, dimension)))
}

fn agreement(found: &Calibration) -> Block {
    let (name, scale) = match found.agreement {
        CalibrationForm::BeyondChance => {
            ("ICC(2,1) from 20 sets on scales, else Krippendorff's α", Scale::score(-1.0, 1.0))
        }
        CalibrationForm::WithinShare => ("1 − mean absolute difference / range", scales::shares()),
        CalibrationForm::Icc => ("ICC(2,1)", Scale::score(-1.0, 1.0)),
        CalibrationForm::Alpha => ("Krippendorff's α", Scale::score(-1.0, 1.0)),
    };
    let several = found.judges.len() > 1;
    let bar = |(judge, dimension): (&CalibratedJudge, &CalibratedDimension)| {
        let name =
            if several { format!("{} {}", judge.judge, dimension.dimension) } else { dimension.dimension.clone() };
        Bar { name, estimate: scales::estimate_or_none(&scale, dimension.decisive(found.agreement)), ..Bar::default() }
    };
    let bars: Vec<Bar> = each(found).map(bar).collect();
    let thresholds: Vec<f64> = each(found).map(|(_, dimension)| dimension.threshold).collect();
    let threshold = thresholds.first().filter(|first| thresholds.iter().all(|it| (it - **first).abs() <= 0.0));
    let version = found.prompt_version.as_deref().map_or_else(String::new, |it| format!(", prompt version {it}"));
    let mut head = Head::new(format!("Calibration of {}", found.scorer), "Do the judges grade as people do?")
        .with_n(found.sets)
        .with_note(format!(
            "Agreement: {name}{version}; {} labelled samples, {} labels without a cell.",
            number::count(found.samples),
            number::count(found.unmatched)
        ))
        .when_empty("No human label matches an output of this run.", "karat calibrate SUITE");
    head.notes.extend(found.judges.iter().map(|judge| format!("{}: {}.", judge.judge, judge_verdict(found, judge))));
    let threshold = threshold.map(|it| (*it, "threshold".to_owned()));
    Block::Bars(Bars { head, scale, bars, threshold })
}

fn dimensions(found: &Calibration) -> Block {
    let rows = each(found).map(|(judge, dimension)| {
        let verdict = match dimension.verdict {
            Some(CalibrationVerdict::Pass) => Cell::Verdict(Verdict::Pass),
            Some(CalibrationVerdict::Fail) => Cell::Verdict(Verdict::Fail),
            Some(CalibrationVerdict::Undecided) | None => Cell::Verdict(Verdict::Undecided),
        };
        let note = [unscored_note(found, dimension), open_note(dimension)].into_iter().filter(|it| !it.is_empty());
        let decided = dimension.reason.iter().map(|reason| format!("the threshold was decided: {reason}"));
        let notes: Vec<String> = note.chain(cautions(dimension)).chain(decided).collect();
        vec![
            Cell::text(&judge.judge),
            Cell::text(&dimension.dimension),
            count(Some(dimension.labelled)),
            count(Some(dimension.unscored)),
            share_of_agreement(found, dimension),
            figure(dimension.icc.as_ref(), &coefficient()),
            figure(dimension.alpha.as_ref(), &coefficient()),
            difference(dimension.bias.as_ref(), &bare_scale()),
            value(dimension.mean_abs_difference.as_ref().map(Finding::value), &bare_scale()),
            value(Some(dimension.threshold), &Scale::of(Unit::Score)),
            verdict,
            Cell::Words(notes.join("; ")),
        ]
    });
    let mut columns = texts(["Judge", "Dimension"]);
    columns.extend(
        [
            "Labelled",
            "Unscored",
            "1 − mean abs. difference / range",
            "ICC(2,1)",
            "α",
            "Bias (judge − people)",
            "Mean abs. difference",
            "Must exceed",
        ]
        .map(Column::number),
    );
    columns.extend(texts(["Verdict", "Notes"]));
    table(Head::new("Calibration by dimension", "Where do judge and people part?"), columns, rows)
}

/// Returns the share of agreement. If it decides the verdict, it has enough digits to tell it from the threshold.
fn share_of_agreement(found: &Calibration, dimension: &CalibratedDimension) -> Cell {
    match (found.agreement, &dimension.within_share) {
        (CalibrationForm::WithinShare, Some(share)) => Cell::Text(agreement_value(share, dimension.threshold)),
        (_, share) => figure(share.as_ref(), &Scale::score(0.0, 1.0)),
    }
}

/// Returns the judges of a round compared with each other; `None` for one judge.
pub(crate) fn between_judges(round: &CalibrationRound) -> Option<Block> {
    let rows = round.judges.iter().flat_map(|judges| &judges.metrics).flat_map(|(metric, found)| {
        found.pairs.iter().map(move |pair| {
            vec![
                Cell::text(metric),
                Cell::text(format!("{} and {}", pair.judges.0, pair.judges.1)),
                difference(Some(&pair.bias), &bare_scale()),
                figure(Some(&pair.mean_abs_difference), &bare_scale()),
                figure(pair.icc.as_ref(), &coefficient()),
                figure(pair.alpha.as_ref(), &coefficient()),
                Cell::Count(pair.bias.n()),
            ]
        })
    });
    let mut columns = texts(["Metric", "Judges"]);
    columns.extend(["Bias (first − second)", "Mean abs. difference", "ICC(2,1)", "α", "n"].map(Column::number));
    table_if_any(Head::new("Judges compared with each other", "Do the judges mean the same?"), columns, rows)
}

fn coefficient() -> Scale {
    Scale::score(-1.0, 1.0)
}

fn sets(found: &Calibration) -> Option<Block> {
    let mut sets: Vec<(&str, &str, &karat_analysis::SetDelta, f64)> = each(found)
        .flat_map(|(judge, dimension)| {
            let of = move |set| (judge.judge.as_str(), dimension.dimension.as_str(), set);
            dimension.deltas.iter().map(of)
        })
        .filter_map(|(judge, dimension, set)| Some((judge, dimension, set, set.delta?.abs())))
        .filter(|(.., size)| *size > 0.0)
        .collect();
    sets.sort_by(|a, b| b.3.total_cmp(&a.3));
    let rows = sets.into_iter().take(SETS).map(|(judge, dimension, set, _)| {
        let difference = set.delta.map_or_else(Default::default, |it| Estimate::point(it, 1));
        vec![
            Cell::text(&set.sample),
            Cell::text(judge),
            Cell::text(dimension),
            value(Some(set.people), &bare_scale()),
            value(set.judge, &bare_scale()),
            Cell::Difference(difference, bare_scale()),
        ]
    });
    let mut columns = texts(["Sample", "Judge", "Dimension"]);
    columns.extend(["People", "Judge's grade", "Difference"].map(Column::number));
    let head = Head::new("Largest differences between judge and people", "Which outputs do I read?");
    table_if_any(head, columns, rows)
}
