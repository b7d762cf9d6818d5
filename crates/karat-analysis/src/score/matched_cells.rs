//! Pairs the cells of two systems on one sample, trial by trial, before trials are reduced.
//!
//! If both systems have the same number of trials, each trial is paired with the trial of the same number, and each side
//! is reduced over the trials that both have: values of one side only carry no information on the difference. Otherwise
//! the trials of each side are reduced first and count as one. A side is a run, or a pinned run.
//!
//! Where several judges grade, both sides count the same judges: a judge that failed on one side would move the difference by
//! what it grades higher or lower than the others.

use std::borrow::Cow;

use karat_types::PlanHeader;

use crate::score::consensus::merge_grades;
use crate::score::judged::JudgedEntry;
use crate::score::observations::FigureValue;
use crate::score::reduce::Reduce;
use crate::score::table::{ScoreTable, State, reduce_trials};

/// The number of cells (or pairs of cells) that should have a score, and of those that lack one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MissingCount {
    /// A judgment that failed counts as its part of a cell.
    pub(crate) n: f64,
    pub(crate) due: usize,
}

impl MissingCount {
    /// Adds another count.
    pub(crate) fn add(&mut self, other: Self) {
        self.n += other.n;
        self.due += other.due;
    }

    /// The share without a score; 0 if none is due.
    pub(crate) fn share(self) -> f64 {
        self.n / self.due.max(1) as f64
    }

    /// The number as shown: `3`, or `4.5` where judgments of several judges failed.
    pub(crate) fn number_text(self) -> String {
        let text = format!("{:.1}", self.n);
        text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
    }
}

/// The cells of one sample and system in one metric.
#[derive(Clone)]
pub(crate) struct SampleCells<'a> {
    /// State and value of each trial.
    each: Cow<'a, [(State, f64)]>,
    /// State and value of all trials combined.
    whole: (State, f64),
    /// The rule that reduces trials to one value.
    rule: Reduce,
    /// The grades of several judges.
    judged: Option<JudgedCells<'a>>,
}

/// The grades of several judges of the cells of one sample and system.
#[derive(Clone, Copy)]
struct JudgedCells<'a> {
    plan: &'a PlanHeader,
    metric: usize,
    entry: JudgedEntry<'a>,
}

impl<'a> JudgedCells<'a> {
    /// The judges with a grade: id, number and mean grade.
    fn grades(self) -> impl Iterator<Item = (&'a str, u16, f64)> {
        let known = self.entry.means.iter().zip(&self.plan.judges).enumerate().filter(|(_, (mean, _))| !mean.is_nan());
        known.map(|(at, (mean, judge))| (judge.id.as_str(), at as u16, *mean))
    }

    /// The merged grade of the judges that another side has, too.
    fn shared_with(self, other: JudgedCells<'_>) -> (State, f64) {
        let has = |id: &str| other.grades().any(|(its, ..)| its == id);
        let shared: Vec<(u16, f64)> =
            self.grades().filter(|(id, ..)| has(id)).map(|(_, at, mean)| (at, mean)).collect();
        let merged = merge_grades(self.plan, self.metric, &shared);
        merged.map_or((State::Unscored, 0.0), |value| (State::Value, value))
    }

    /// Returns true if the same judges graded all cells of both sides.
    fn has_judges_of(self, other: JudgedCells<'_>) -> bool {
        self.entry.complete && other.entry.complete && self.grades().map(|it| it.0).eq(other.grades().map(|it| it.0))
    }
}

impl<'a> SampleCells<'a> {
    /// The cells at (metric, sample, system) of the table's plan, with the values that enter figures.
    pub(crate) fn for_figures(table: &'a ScoreTable, plan: &'a PlanHeader, place: (usize, usize, usize)) -> Self {
        let (metric, sample, system) = place;
        let value = table.figure_value(metric, sample, system).map(FigureValue::for_sums);
        Self::at(table, plan, place, (value, table.figure_trials(metric, sample, system)))
    }

    /// The same cells with the values that they show: for whatever is said of a single sample or cell.
    pub(crate) fn for_showing(table: &'a ScoreTable, plan: &'a PlanHeader, place: (usize, usize, usize)) -> Self {
        let (metric, sample, system) = place;
        let value = table.shown_value(metric, sample, system);
        Self::at(table, plan, place, (value, table.shown_trials(metric, sample, system)))
    }

    fn at(
        table: &'a ScoreTable,
        plan: &'a PlanHeader,
        (metric, sample, system): (usize, usize, usize),
        (value, each): (Option<f64>, &'a [(State, f64)]),
    ) -> Self {
        let rule = plan.metrics.get(metric).and_then(|spec| Reduce::of_metric(plan, spec)).unwrap_or(Reduce::Mean);
        let trials = plan.systems.get(system).map_or(1, |it| it.trials);
        let each = each.get(..trials as usize).unwrap_or_default();
        let judged = table.judges_of(metric, sample, system);
        let judged = judged.map(|entry| JudgedCells { plan, metric, entry });
        let whole = (table.state(metric, sample, system), value.unwrap_or_default());
        Self { judged, ..Self::new(whole, Cow::Borrowed(each), rule) }
    }

    /// From the combined state and each trial.
    pub(crate) fn new(whole: (State, f64), each: Cow<'a, [(State, f64)]>, rule: Reduce) -> Self {
        match each.len() {
            0 | 1 => Self { each: Cow::Owned(vec![whole]), whole, rule: Reduce::Mean, judged: None },
            _ => Self { each, whole, rule, judged: None },
        }
    }

    /// Its trials, if there are several.
    pub(crate) fn trials(&self) -> Option<&[(State, f64)]> {
        (self.each.len() > 1).then_some(&*self.each)
    }

    /// State and value of all trials combined.
    pub(crate) fn combine_trials(&self) -> (State, f64) {
        self.whole
    }

    /// The rule that reduces its trials.
    pub(crate) fn rule(&self) -> Reduce {
        self.rule
    }

    /// Its combined value, if it has one.
    pub(crate) fn value(&self) -> Option<f64> {
        (self.whole.0 == State::Value).then_some(self.whole.1)
    }

    /// The cells that should have a score and those that failed. All count as failed if too few are left for the rule.
    /// Cells without a result yet do not count.
    pub(crate) fn missing(&self) -> MissingCount {
        let count = |is: fn(State) -> bool| self.each.iter().filter(|(state, _)| is(*state)).count();
        let (failed, scored) = (count(State::is_failure), count(|state| state == State::Value));
        let due = failed + scored;
        let n = if self.whole.0.is_failure() { due } else { failed };
        MissingCount { n: (n as f64 + self.judged.map_or(0.0, |it| it.entry.lost)).min(due as f64), due }
    }

    /// Replaces each failed score by `end`, an end of the scale. With a majority rule any score is replaced, since the
    /// missing ones could decide it.
    #[must_use]
    pub(crate) fn fill_missing(mut self, end: f64) -> Self {
        if !self.each.iter().any(|(state, _)| state.is_failure()) {
            return self;
        }
        let any = self.rule == Reduce::Majority;
        let is_open = |state: State| state.is_failure() || any && state == State::Value;
        self.each.to_mut().iter_mut().filter(|(state, _)| is_open(*state)).for_each(|it| *it = (State::Value, end));
        self.whole = reduce_trials(&self.each, self.rule);
        self
    }
}

/// A pair of cells that should both have a score.
struct DuePair {
    before: Option<f64>,
    after: Option<f64>,
    /// The reason why a score is missing; `Value` if both exist.
    why: State,
}

/// The pairs of cells to which the metric applies on both sides.
pub(crate) struct MatchedCells {
    due: Vec<DuePair>,
    /// The reduction rules of the two sides.
    rules: [Reduce; 2],
    /// Judgments that failed on either side of pairs with a score, in cells.
    lost_judgments: f64,
}

impl MatchedCells {
    /// Pairs the cells of a baseline with those of a candidate.
    pub(crate) fn of(baseline: SampleCells<'_>, candidate: SampleCells<'_>) -> Self {
        let lost = [&baseline, &candidate].map(|it| it.judged.map_or(0.0, |it| it.entry.lost)).iter().sum::<f64>();
        let pairs = Self::without_judgments(baseline, candidate);
        let scored = pairs.n() - pairs.missing_reasons().count();
        Self { lost_judgments: lost.min(scored as f64), ..pairs }
    }

    fn without_judgments(baseline: SampleCells<'_>, candidate: SampleCells<'_>) -> Self {
        if let (Some(before), Some(after)) = (baseline.judged, candidate.judged)
            && baseline.whole.0 == State::Value
            && candidate.whole.0 == State::Value
            && !before.has_judges_of(after)
        {
            let due = due_pair(before.shared_with(after), after.shared_with(before));
            return Self { due: due.into_iter().collect(), rules: [Reduce::Mean, Reduce::Mean], lost_judgments: 0.0 };
        }
        // Each side decides by its own trials how many of k pass.
        let of_trials = !baseline.rule.counts_passes() && !candidate.rule.counts_passes();
        if of_trials && baseline.each.len() == candidate.each.len() {
            let both = baseline.each.iter().zip(candidate.each.iter());
            let due = both.filter_map(|(before, after)| due_pair(*before, *after)).collect();
            return Self { due, rules: [baseline.rule, candidate.rule], lost_judgments: 0.0 };
        }
        Self {
            due: due_pair(baseline.whole, candidate.whole).into_iter().collect(),
            rules: [Reduce::Mean, Reduce::Mean],
            lost_judgments: 0.0,
        }
    }

    /// The values of baseline and candidate over the cells that both have; `None` without any, or with too few for the
    /// rule.
    pub(crate) fn values(&self) -> Option<(f64, f64)> {
        let both = self.due.iter().filter_map(|it| it.before.zip(it.after));
        let (before, after): (Vec<f64>, Vec<f64>) = both.unzip();
        self.rules[0].of(&before).zip(self.rules[1].of(&after))
    }

    /// Number of pairs that should have a score on both sides.
    pub(crate) fn n(&self) -> usize {
        self.due.len()
    }

    /// The pairs without a score, with the judgments that failed on either side of the others.
    pub(crate) fn missing(&self) -> MissingCount {
        MissingCount { n: self.missing_reasons().count() as f64 + self.lost_judgments, due: self.n() }
    }

    /// Judgments that failed on either side of pairs with a score, in cells.
    pub(crate) fn lost_judgments(&self) -> f64 {
        self.lost_judgments
    }

    /// The reason for each pair without a score. All pairs count if too few are left for the rule.
    pub(crate) fn missing_reasons(&self) -> impl Iterator<Item = State> {
        let none = self.values().is_none();
        let why = move |it: &DuePair| if none && it.why == State::Value { State::Unscored } else { it.why };
        self.due.iter().map(why).filter(|why| *why != State::Value)
    }

    /// The smallest and largest possible difference if missing scores could be anything between `lo` and `hi`; `None`
    /// without pairs.
    pub(crate) fn extremes(&self, (lo, hi): (f64, f64)) -> Option<(f64, f64)> {
        let [before, after] = self.rules;
        let filled = |rule: Reduce, side: fn(&DuePair) -> Option<f64>, end| {
            let known: Vec<f64> = self.due.iter().filter_map(side).collect();
            rule.extreme(&known, self.due.len() - known.len(), end)
        };
        let change = |from, to| Some(filled(after, |it| it.after, to)? - filled(before, |it| it.before, from)?);
        change(hi, lo).zip(change(lo, hi))
    }
}

/// `None` if the metric does not apply on both sides.
fn due_pair(before: (State, f64), after: (State, f64)) -> Option<DuePair> {
    let states = [before.0, after.0];
    if states.iter().any(|it| matches!(it, State::NotApplicable | State::Skipped)) {
        return None;
    }
    let worst = [State::Error, State::Unscored, State::Absent].into_iter().find(|state| states.contains(state));
    let value = |(state, value)| (state == State::Value).then_some(value);
    Some(DuePair { before: value(before), after: value(after), why: worst.unwrap_or(State::Value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::consensus::has_several_judges;
    use crate::testing::example;

    /// DC-06: a judge that graded one side only moves nothing; without a judge of both sides there is no pair.
    #[test]
    fn both_sides_count_the_same_judges() {
        let plan = example().plan();
        let metric = plan.metrics.iter().position(|metric| has_several_judges(&plan, metric)).unwrap();
        let side = |means: &'static [f64], merged| SampleCells {
            judged: Some(JudgedCells { plan: &plan, metric, entry: JudgedEntry { means, complete: true, lost: 0.0 } }),
            ..SampleCells::new((State::Value, merged), Vec::new().into(), Reduce::Mean)
        };
        let both = || side(&[5.0, 6.0], 5.5);
        let first = || side(&[5.0, f64::NAN], 5.0);
        let second = || side(&[f64::NAN, 6.0], 6.0);
        assert_eq!(MatchedCells::of(both(), first()).values(), Some((5.0, 5.0)));
        assert_eq!(MatchedCells::of(second(), both()).values(), Some((6.0, 6.0)));
        assert_eq!(MatchedCells::of(both(), both()).values(), Some((5.5, 5.5)));
        let none = MatchedCells::of(first(), second());
        assert_eq!((none.values(), none.missing_reasons().count()), (None, 1));
    }
}
