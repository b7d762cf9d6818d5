//! Cells of two systems on one sample that belong together: paired trial by trial, before they become one value.
//!
//! Where both systems have as many trials, a trial of one is paired with the same trial of the other, and each side is
//! reduced over the trials that both have: what only one side has says nothing of the difference. Else each side's trials
//! are reduced first, and count as one.

use karat_types::PlanHeader;

use crate::reduce::Reduce;
use crate::table::{ScoreTable, State};

/// Cells, or pairs of them, that should have a score, and how many of them lack one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lost {
    pub(crate) n: usize,
    pub(crate) due: usize,
}

impl Lost {
    /// Adds some more.
    pub(crate) fn add(&mut self, other: Self) {
        self.n += other.n;
        self.due += other.due;
    }

    /// The share that lacks a score; 0 of none.
    pub(crate) fn share(self) -> f64 {
        self.n as f64 / self.due.max(1) as f64
    }
}

/// A metric of a system in a table.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    table: &'a ScoreTable,
    metric: usize,
    sample: usize,
    system: usize,
    /// How its trials become one value.
    rule: Reduce,
    /// Trials that are planned.
    trials: u32,
}

impl<'a> Entry<'a> {
    /// That of a metric, sample and system of the plan whose scores the table holds.
    pub(crate) fn of(
        table: &'a ScoreTable,
        plan: &PlanHeader,
        (metric, sample, system): (usize, usize, usize),
    ) -> Self {
        let rule = plan.metrics.get(metric).and_then(|spec| Reduce::of_metric(plan, spec)).unwrap_or(Reduce::Mean);
        let trials = plan.systems.get(system).map_or(1, |it| it.trials);
        Self { table, metric, sample, system, rule, trials }
    }

    /// What its trials say; `None` where there is one only.
    fn each(&self) -> Option<&[(State, f64)]> {
        self.table.trials(self.metric, self.sample, self.system).get(..self.trials as usize).filter(|it| it.len() > 1)
    }

    /// What they say together.
    fn whole(&self) -> (State, f64) {
        let value = self.table.value(self.metric, self.sample, self.system);
        (self.table.state(self.metric, self.sample, self.system), value.unwrap_or_default())
    }

    /// Its cells that should have a score, and those of them of which something failed: all did where what is left is too
    /// little for the rule. Cells without a result yet are neither.
    pub(crate) fn lost(&self) -> Lost {
        let whole = self.whole();
        let each = self.each().unwrap_or(std::slice::from_ref(&whole));
        let count = |is: fn(State) -> bool| each.iter().filter(|(state, _)| is(*state)).count();
        let (failed, scored) = (count(State::is_failure), count(|state| state == State::Value));
        let due = failed + scored;
        Lost { n: if whole.0.is_failure() { due } else { failed }, due }
    }

    /// Its value as if each score that is missing because something failed were `end`, an end of the scale.
    pub(crate) fn filled(&self, end: f64) -> Option<f64> {
        let whole = self.whole();
        let each = self.each().unwrap_or(std::slice::from_ref(&whole));
        let known: Vec<f64> = each.iter().filter(|(state, _)| *state == State::Value).map(|(_, value)| *value).collect();
        let failed = each.iter().filter(|(state, _)| state.is_failure()).count();
        self.rule.extreme(&known, failed, end)
    }
}

/// A pair of cells that should have a score on both sides.
struct Due {
    before: Option<f64>,
    after: Option<f64>,
    /// Why it has none on both; *value* where it has.
    why: State,
}

/// The pairs of cells of two entries to which the metric applies on both sides.
pub(crate) struct Matched {
    due: Vec<Due>,
    /// How those of each side become one value.
    rules: [Reduce; 2],
}

impl Matched {
    /// Pairs the cells of a baseline with those of a candidate.
    pub(crate) fn of(baseline: Entry<'_>, candidate: Entry<'_>) -> Self {
        let trials = baseline.each().zip(candidate.each()).filter(|(before, after)| before.len() == after.len());
        match trials {
            Some((before, after)) => Self {
                due: before.iter().zip(after).filter_map(|(before, after)| due(*before, *after)).collect(),
                rules: [baseline.rule, candidate.rule],
            },
            None => Self {
                due: due(baseline.whole(), candidate.whole()).into_iter().collect(),
                rules: [Reduce::Mean, Reduce::Mean],
            },
        }
    }

    /// The values of baseline and candidate over the cells that both have; `None` without any, and for too few for the rule.
    pub(crate) fn values(&self) -> Option<(f64, f64)> {
        let both = self.due.iter().filter_map(|it| it.before.zip(it.after));
        let (before, after): (Vec<f64>, Vec<f64>) = both.unzip();
        self.rules[0].of(&before).zip(self.rules[1].of(&after))
    }

    /// Pairs of cells that should have a score on both sides.
    pub(crate) fn n(&self) -> usize {
        self.due.len()
    }

    /// Why each pair that is left out lacks a score: all do where what is left is too little for the rule.
    pub(crate) fn lost(&self) -> impl Iterator<Item = State> {
        let none = self.values().is_none();
        let why = move |it: &Due| if none && it.why == State::Value { State::Unscored } else { it.why };
        self.due.iter().map(why).filter(|why| *why != State::Value)
    }

    /// The least and the greatest difference, whatever the scores between `lo` and `hi` that are missing; `None` where no
    /// pair of cells should have some.
    pub(crate) fn extremes(&self, (lo, hi): (f64, f64)) -> Option<(f64, f64)> {
        let [before, after] = self.rules;
        let filled = |rule: Reduce, side: fn(&Due) -> Option<f64>, end| {
            let known: Vec<f64> = self.due.iter().filter_map(side).collect();
            rule.extreme(&known, self.due.len() - known.len(), end)
        };
        let change = |from, to| Some(filled(after, |it| it.after, to)? - filled(before, |it| it.before, from)?);
        change(hi, lo).zip(change(lo, hi))
    }
}

/// `None` where the metric does not apply on both sides.
fn due(before: (State, f64), after: (State, f64)) -> Option<Due> {
    let states = [before.0, after.0];
    if states.iter().any(|it| matches!(it, State::NotApplicable | State::Skipped)) {
        return None;
    }
    let worst = [State::Error, State::Unscored, State::Absent].into_iter().find(|state| states.contains(state));
    let value = |(state, value)| (state == State::Value).then_some(value);
    Some(Due { before: value(before), after: value(after), why: worst.unwrap_or(State::Value) })
}
