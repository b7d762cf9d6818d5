//! What changed in the diagnostics of two sides (SP-08).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Side;
use crate::analyses::{Evaluation, Outcome, SpanFigures};
use crate::finding::finite;

/// A composite that moved by at least this much is a regression or an improvement.
const NOTABLE: f64 = 3.0;
/// Samples that are listed of each kind; all are counted.
const LISTED: usize = 50;

/// Two numbers and their difference; null where a side has none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Of the baseline.
    pub before: Option<f64>,
    /// Of the candidate.
    pub after: Option<f64>,
    /// `after − before`.
    pub change: Option<f64>,
}

/// A sample whose composite moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// Its id.
    pub sample: String,
    /// The composite.
    #[serde(flatten)]
    pub score: Change,
}

/// What changed in one `diagnostics` analysis that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticsChange {
    /// The analysis's id.
    pub id: String,
    /// Mean of the composite. Whether the change is more than chance is said by the metric's own test.
    pub avg_score: Change,
    /// By category and score, over what both sides assessed.
    pub categories: BTreeMap<String, BTreeMap<String, Change>>,
    /// Confusions among the candidate's top ones only.
    pub new_confusions: Vec<Map<String, Value>>,
    /// Confusions among the baseline's top ones only.
    pub resolved_confusions: Vec<Map<String, Value>>,
    /// By section and kind: findings for each item of the section.
    pub section_error_rates: BTreeMap<String, BTreeMap<String, Change>>,
    /// Samples that lost at least 3 points, the worst first.
    pub regressions: Vec<Moved>,
    /// Samples that gained at least 3 points, the best first.
    pub improvements: Vec<Moved>,
    /// Samples with a score before and none after.
    pub new_errors: Vec<String>,
    /// Samples with a score after and none before.
    pub fixed_errors: Vec<String>,
}

/// Every `diagnostics` analysis that both sides have under one id.
pub(super) fn changes(baseline: &Side<'_>, candidate: &Side<'_>) -> Vec<DiagnosticsChange> {
    let ids = candidate.findings.analyses.iter().map(|it| it.id.as_str());
    ids.filter_map(|id| Some(change_of(id, &view(baseline, id)?, &view(candidate, id)?))).collect()
}

/// The figures and evaluations of a side: of all its run's systems, or of one.
struct View<'a> {
    figures: &'a SpanFigures,
    evaluations: Vec<&'a Evaluation>,
}

/// The analysis as a side has it; `None` for several, but not all, systems: there are no figures for these together.
fn view<'a>(side: &Side<'a>, id: &str) -> Option<View<'a>> {
    let Outcome::Diagnostics(found) = &side.findings.analyses.iter().find(|it| it.id == id)?.outcome else {
        return None;
    };
    let ids = side.ids();
    let of_side = |it: &&Evaluation| it.system.as_ref().is_none_or(|system| ids.contains(system));
    let figures = if side.systems.len() == side.findings.plan.systems.len() {
        &found.all
    } else {
        let [only] = ids.as_slice() else { return None };
        found.systems.get(only)?
    };
    Some(View { figures, evaluations: found.all.evaluations.iter().filter(of_side).collect() })
}

fn change(before: Option<f64>, after: Option<f64>) -> Change {
    Change { before, after, change: before.zip(after).and_then(|(before, after)| finite(after - before)) }
}

fn change_of(id: &str, before: &View<'_>, after: &View<'_>) -> DiagnosticsChange {
    let mut moved = moved(before, after);
    moved.sort_by(|a, b| {
        a.score.change.unwrap_or(0.0).total_cmp(&b.score.change.unwrap_or(0.0)).then_with(|| a.sample.cmp(&b.sample))
    });
    let by = |moved: &Moved| moved.score.change.unwrap_or(0.0);
    let regressions = moved.iter().filter(|it| by(it) <= -NOTABLE).take(LISTED).cloned().collect();
    let improvements = moved.iter().rev().filter(|it| by(it) >= NOTABLE).take(LISTED).cloned().collect();
    DiagnosticsChange {
        id: id.to_owned(),
        avg_score: change(before.figures.avg_score, after.figures.avg_score),
        categories: categories(before.figures, after.figures),
        new_confusions: confusions_only_in(after.figures, before.figures),
        resolved_confusions: confusions_only_in(before.figures, after.figures),
        section_error_rates: sections(before.figures, after.figures),
        regressions,
        improvements,
        new_errors: without_score(after, before),
        fixed_errors: without_score(before, after),
    }
}

fn categories(before: &SpanFigures, after: &SpanFigures) -> BTreeMap<String, BTreeMap<String, Change>> {
    let both = before
        .avg_category_scores
        .iter()
        .filter_map(|(name, old)| Some((name, old, after.avg_category_scores.get(name)?)));
    let scores = both.map(|(name, old, new)| {
        let score = |(score, value): (&String, &Option<f64>)| {
            (score.clone(), change(*value, new.scores.get(score).copied().flatten()))
        };
        (name.clone(), old.scores.iter().map(score).collect())
    });
    scores.collect()
}

fn confusions_only_in(one: &SpanFigures, other: &SpanFigures) -> Vec<Map<String, Value>> {
    let is_new = |fields: &&Map<String, Value>| other.top_taxonomy_errors.iter().all(|known| known.fields != **fields);
    one.top_taxonomy_errors.iter().map(|it| &it.fields).filter(is_new).cloned().collect()
}

fn sections(before: &SpanFigures, after: &SpanFigures) -> BTreeMap<String, BTreeMap<String, Change>> {
    let rate = |figures: &SpanFigures, section: &str, kind: &str| {
        let errors = figures.errors_by_section.get(section)?.get(kind)?;
        let items = figures.spans_by_section.get(section)?;
        finite(*errors as f64 / *items as f64)
    };
    let of = |section: &String, kinds: &BTreeMap<String, u64>| {
        let of_kind = |kind: &String| (kind.clone(), change(rate(before, section, kind), rate(after, section, kind)));
        kinds.keys().map(of_kind).collect()
    };
    after.errors_by_section.iter().map(|(section, kinds)| (section.clone(), of(section, kinds))).collect()
}

/// The mean composite by sample; `None` where nothing scored it.
fn by_sample<'a>(view: &View<'a>) -> BTreeMap<&'a str, Option<f64>> {
    let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for evaluation in &view.evaluations {
        scores.entry(&evaluation.sample).or_default().extend(evaluation.score);
    }
    scores.into_iter().map(|(sample, scores)| (sample, karat_stats::describe::mean(&scores))).collect()
}

fn moved(before: &View<'_>, after: &View<'_>) -> Vec<Moved> {
    let (before, after) = (by_sample(before), by_sample(after));
    let both = before.iter().filter_map(|(sample, old)| Some((sample, (*old)?, (*after.get(sample)?)?)));
    both.map(|(sample, old, new)| Moved { sample: (*sample).to_owned(), score: change(Some(old), Some(new)) }).collect()
}

/// Samples of both that have no score in `one` but in `other`.
fn without_score(one: &View<'_>, other: &View<'_>) -> Vec<String> {
    let (one, other) = (by_sample(one), by_sample(other));
    let lost = one.iter().filter(|(sample, score)| score.is_none() && other.get(*sample).is_some_and(Option::is_some));
    lost.take(LISTED).map(|(sample, _)| (*sample).to_owned()).collect()
}
