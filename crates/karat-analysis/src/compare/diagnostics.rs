//! Changes in the diagnostics of two sides.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::compare::multiplicity::local_levels;
use karat_stats::describe::mean;
use karat_stats::interval::Level;
use serde::Serialize;
use serde_json::{Map, Value};

use super::evaluations::Evaluations;
use super::matching::Matching;
use super::{CompareOptions, Kind, PairedScores, PairedTest, Side};
use crate::analyses::{Evaluation, OrderedMap, Outcome, SpanFigures};
use crate::infer::finding::{Finding, finite};

/// Number of samples listed of each kind; all are counted.
const LISTED: usize = 50;

/// Two numbers and their difference; null if a side has none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Change {
    /// The baseline's number.
    pub before: Option<f64>,
    /// The candidate's number.
    pub after: Option<f64>,
    /// `after − before`.
    pub change: Option<f64>,
}

/// A figure of both sides on the samples that have it on both, and its test there. Without such a sample, each side's own
/// mean and no change.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TestedChange {
    /// Means over the samples of both sides.
    #[serde(flatten)]
    pub figure: Change,
    /// The same change, with the interval at the level of its decision; null without any.
    pub paired: Option<Finding>,
    /// Two-sided p-value of no difference.
    pub p: Option<f64>,
    /// The p-value corrected over all categories and sections of the analysis.
    pub p_adjusted: Option<f64>,
}

/// A sample whose composite changed notably.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedSample {
    /// Its id.
    pub sample: String,
    /// The composite.
    #[serde(flatten)]
    pub score: Change,
}

/// Changes in one `diagnostics` analysis that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticsChange {
    /// The analysis's id.
    pub id: String,
    /// Mean of the composite. The significance of the change is reported by the metric itself.
    pub avg_score: Change,
    /// By category and score.
    pub categories: OrderedMap<OrderedMap<TestedChange>>,
    /// Top confusions of the candidate only; null if a side was not assessed for confusions.
    pub new_confusions: Option<Vec<Map<String, Value>>>,
    /// Top confusions of the baseline only; null if a side was not assessed for confusions.
    pub resolved_confusions: Option<Vec<Map<String, Value>>>,
    /// Findings per sample, by section and kind, for all sections of either side.
    pub section_error_rates: OrderedMap<OrderedMap<TestedChange>>,
    /// Correct items ÷ (correct items + missing ones) of a sample, by section.
    pub found_rates: OrderedMap<TestedChange>,
    /// The smallest change of a sample's composite that is listed.
    pub notable: f64,
    /// Samples that lost at least that much, worst first.
    pub regressions: Vec<MovedSample>,
    /// Samples that gained at least that much, best first.
    pub improvements: Vec<MovedSample>,
    /// Samples with a score before and none after.
    pub new_errors: Vec<String>,
    /// Samples with a score after and none before.
    pub fixed_errors: Vec<String>,
    /// Number of evaluations beyond the first 10,000 of each side. They are included in the figures, but not in paired
    /// differences and lists.
    pub left_out: u64,
}

/// Every `diagnostics` analysis that both sides have under one id.
pub(super) fn changes(matching: &Matching<'_>, options: &CompareOptions) -> Vec<DiagnosticsChange> {
    let (from, to): (Vec<usize>, Vec<usize>) = matching.pairs.iter().copied().unzip();
    let view = |side, systems: &[usize], id: &str| DiagnosticsView::of(side, systems, &matching.samples.changed, id);
    let ids = matching.candidate.findings.analyses.iter().map(|it| it.id.as_str());
    ids.filter_map(|id| {
        let (before, after) = (view(matching.baseline, &from, id)?, view(matching.candidate, &to, id)?);
        Some(AnalysisPair { before, after }.change(id, options))
    })
    .collect()
}

/// The figures and evaluations of a side: all systems of its run, or one.
struct DiagnosticsView<'a> {
    figures: &'a SpanFigures,
    evaluations: Evaluations<'a>,
    /// The cluster of each sample whose evaluations are all listed.
    clusters: BTreeMap<&'a str, u32>,
    /// Number of evaluations that are not listed.
    left_out: u64,
    notable: f64,
}

impl<'a> DiagnosticsView<'a> {
    /// The analysis of a side, with the evaluations of the given systems. `None` for a side with several, but not all,
    /// systems: there are no figures for such a subset.
    fn of(side: &Side<'a>, systems: &[usize], changed: &BTreeSet<String>, id: &str) -> Option<Self> {
        let Outcome::Diagnostics(found) = &side.findings.analyses.iter().find(|it| it.id == id)?.outcome else {
            return None;
        };
        let ids = side.ids();
        let figures = if side.systems.len() == side.findings.plan.systems.len() {
            &found.all
        } else {
            let [only] = ids.as_slice() else { return None };
            found.systems.get(only)?
        };
        let listed = &found.all.evaluations;
        let left_out = found.all.evaluated.saturating_sub(listed.len() as u64);
        // The samples from the last listed one on may be listed incompletely.
        let last = listed.last().filter(|_| left_out > 0).map(|it| it.sample.as_str());
        let samples = (0..side.findings.samples()).map(|at| (side.findings.sample_id(at), at));
        let known = samples.take_while(|(id, _)| last != Some(*id));
        let clusters = known.map(|(id, at)| (id, side.findings.table.cluster(at))).collect();
        let evaluations = Evaluations::of(listed, side, systems, changed);
        Some(Self { figures, evaluations, clusters, left_out, notable: found.notable })
    }
}

fn change(before: Option<f64>, after: Option<f64>) -> Change {
    Change { before, after, change: before.zip(after).and_then(|(before, after)| finite(after - before)) }
}

/// One analysis of two sides.
struct AnalysisPair<'a> {
    before: DiagnosticsView<'a>,
    after: DiagnosticsView<'a>,
}

/// A tested figure before the correction.
struct PendingTest {
    group: String,
    name: String,
    figure: Change,
    test: PairedTest,
}

impl AnalysisPair<'_> {
    fn change(&self, id: &str, options: &CompareOptions) -> DiagnosticsChange {
        let (before, after) = (self.before.figures, self.after.figures);
        let (categories, sections, found_rates) = (self.categories(), self.sections(), self.found_rates());
        let (of_categories, of_sections) = (categories.len(), sections.len());
        let all = categories.into_iter().chain(sections).chain(found_rates);
        let mut tested = correct_tests(all.collect(), options);
        let mut sections = tested.split_off(of_categories);
        let found_rates = sections.split_off(of_sections);
        let (regressions, improvements) = self.notable_samples();
        DiagnosticsChange {
            id: id.to_owned(),
            avg_score: change(before.avg_score, after.avg_score),
            categories: group_changes(tested.into_iter()),
            new_confusions: confusions_only_in(after, before),
            resolved_confusions: confusions_only_in(before, after),
            section_error_rates: group_changes(sections.into_iter()),
            found_rates: found_rates.into_iter().map(|(section, _, change)| (section, change)).collect(),
            notable: self.after.notable,
            regressions,
            improvements,
            new_errors: lost_scores(&self.after, &self.before),
            fixed_errors: lost_scores(&self.before, &self.after),
            left_out: self.before.left_out + self.after.left_out,
        }
    }

    /// Every score of every category of either side.
    fn categories(&self) -> Vec<PendingTest> {
        let names =
            |view: &DiagnosticsView<'_>| name_pairs(&view.figures.avg_category_scores, |category| &category.scores);
        let pending = |(category, name): (String, String)| {
            let number = |it: &Evaluation| *it.category_scores.get(&category)?.get(&name)?;
            self.pending_test(&category, &name, number)
        };
        self.names_of_both(names).into_iter().map(pending).collect()
    }

    /// Every kind of finding in every section of either side, per sample: a count of findings per item would rise where a
    /// side has fewer items.
    fn sections(&self) -> Vec<PendingTest> {
        let names = |view: &DiagnosticsView<'_>| name_pairs(&view.figures.errors_by_section, |kinds| kinds);
        let pending = |(section, kind): (String, String)| {
            let number = |it: &Evaluation| Some(*it.errors_by_section.get(&section)?.get(&kind)? as f64);
            self.pending_test(&section, &kind, number)
        };
        self.names_of_both(names).into_iter().map(pending).collect()
    }

    /// The share of what should be found that was found, in every section where missing items are listed.
    fn found_rates(&self) -> Vec<PendingTest> {
        let evaluations = self.before.evaluations.iter().chain(self.after.evaluations.iter());
        let mut sections: Vec<&str> = Vec::new();
        for section in evaluations.flat_map(|it| it.found_by_section.names()) {
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
        let pending = |section: &str| {
            self.pending_test(section, "found", |it: &Evaluation| {
                let (found, missing) = it.found_by_section.get(section)?;
                finite(*found as f64 / (found + missing) as f64)
            })
        };
        sections.into_iter().map(pending).collect()
    }

    /// The names of the baseline, then those of the candidate only.
    fn names_of_both(&self, names: impl Fn(&DiagnosticsView<'_>) -> Vec<(String, String)>) -> Vec<(String, String)> {
        let mut all = names(&self.before);
        let new: Vec<_> = names(&self.after).into_iter().filter(|name| !all.contains(name)).collect();
        all.extend(new);
        all
    }

    fn pending_test(&self, group: &str, name: &str, number: impl Fn(&Evaluation) -> Option<f64> + Copy) -> PendingTest {
        let mut scores = PairedScores::default();
        let (mut old_means, mut new_means) = (Vec::new(), Vec::new());
        for (sample, (old, new)) in self.before.evaluations.paired_means(&self.after.evaluations, number) {
            if let Some(cluster) = self.before.clusters.get(sample) {
                scores.push(old, new, *cluster);
                old_means.push(old);
                new_means.push(new);
            }
        }
        let figure = match old_means.is_empty() {
            true => {
                let (before, after) = (self.before.evaluations.mean(number), self.after.evaluations.mean(number));
                Change { before, after, change: None }
            }
            false => change(mean(&old_means), mean(&new_means)),
        };
        PendingTest { group: group.to_owned(), name: name.to_owned(), figure, test: scores.test(Kind::Score) }
    }

    /// Samples whose composite fell, and those whose composite rose, by a notable amount, largest first.
    fn notable_samples(&self) -> (Vec<MovedSample>, Vec<MovedSample>) {
        let both = self.before.evaluations.paired_means(&self.after.evaluations, |it| it.score);
        let mut moved: Vec<(f64, MovedSample)> = both
            .into_iter()
            .map(|(sample, (old, new))| {
                (new - old, MovedSample { sample: sample.to_owned(), score: change(Some(old), Some(new)) })
            })
            .collect();
        moved.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let notable = self.after.notable;
        let kept = |(_, moved): &(f64, MovedSample)| moved.clone();
        (
            moved.iter().filter(|(by, _)| *by <= -notable).take(LISTED).map(kept).collect(),
            moved.iter().rev().filter(|(by, _)| *by >= notable).take(LISTED).map(kept).collect(),
        )
    }
}

/// Corrects the tests over all of them and gives each the interval at its own level.
fn correct_tests(pending: Vec<PendingTest>, options: &CompareOptions) -> Vec<(String, String, TestedChange)> {
    let p_values: Vec<Option<f64>> = pending.iter().map(|it| it.test.p()).collect();
    let adjusted = options.correction.adjust(&p_values);
    let levels = local_levels(&p_values, options.correction, options.level.alpha());
    let each = pending.into_iter().zip(p_values).zip(adjusted).zip(levels);
    each.map(|(((it, p), p_adjusted), alpha)| {
        let level = Level::from_alpha(alpha).unwrap_or(options.level);
        let paired = it.test.finding(level);
        (it.group, it.name, TestedChange { figure: it.figure, paired, p, p_adjusted })
    })
    .collect()
}

/// The names of groups with the names within each.
fn name_pairs<T, U>(groups: &OrderedMap<T>, within: impl Fn(&T) -> &OrderedMap<U>) -> Vec<(String, String)> {
    let named = |(group, of): (&str, &T)| {
        let names = within(of).names().map(|name| (group.to_owned(), name.to_owned()));
        names.collect::<Vec<_>>()
    };
    groups.iter().flat_map(named).collect()
}

fn group_changes<T: Default>(changes: impl Iterator<Item = (String, String, T)>) -> OrderedMap<OrderedMap<T>> {
    let mut groups: OrderedMap<OrderedMap<T>> = OrderedMap::default();
    for (group, name, change) in changes {
        *groups.entry(&group).entry(&name) = change;
    }
    groups
}

fn confusions_only_in(one: &SpanFigures, other: &SpanFigures) -> Option<Vec<Map<String, Value>>> {
    let is_new = |fields: &&Map<String, Value>| other.top_taxonomy_errors.iter().all(|known| known.fields != **fields);
    let both = one.confusions_assessed && other.confusions_assessed;
    both.then(|| one.top_taxonomy_errors.iter().map(|it| &it.fields).filter(is_new).cloned().collect())
}

/// Samples of both sides with a score in `other` but not in `one`.
fn lost_scores(one: &DiagnosticsView<'_>, other: &DiagnosticsView<'_>) -> Vec<String> {
    let (scores, others) =
        (one.evaluations.samples_with_number(|it| it.score), other.evaluations.samples_with_number(|it| it.score));
    let is_lost = |sample: &&&str| !scores.contains(**sample) && others.contains(**sample);
    one.clusters
        .keys()
        .filter(|sample| other.clusters.contains_key(**sample))
        .filter(is_lost)
        .take(LISTED)
        .map(|sample| (*sample).to_owned())
        .collect()
}
