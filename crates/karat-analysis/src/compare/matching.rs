//! What of two sides belongs together: samples by id, systems by name, metrics by name.

use std::collections::BTreeMap;

use karat_types::MetricSpec;

use super::tested::Tested;
use super::{CompareError, FEW_CLUSTERS, KEPT, NotCompared, Options, PairedScores, Side, SideSummary, kind};
use crate::findings::Findings;
use crate::groups::system_id;
use crate::table::State;

/// Samples by position on each side.
pub(super) struct Samples {
    pub(super) matched: Vec<(usize, usize)>,
    pub(super) only_baseline: Vec<usize>,
    pub(super) only_candidate: Vec<usize>,
}

impl Samples {
    pub(super) fn of(baseline: &Findings, candidate: &Findings) -> Self {
        let mut there: BTreeMap<&str, usize> =
            (0..candidate.samples()).map(|at| (candidate.sample_id(at), at)).collect();
        let (mut matched, mut only_baseline) = (Vec::new(), Vec::new());
        for at in 0..baseline.samples() {
            match there.remove(baseline.sample_id(at)) {
                Some(other) => matched.push((at, other)),
                None => only_baseline.push(at),
            }
        }
        let mut only_candidate: Vec<usize> = there.into_values().collect();
        only_candidate.sort_unstable();
        Self { matched, only_baseline, only_candidate }
    }
}

/// A metric's place in both plans.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    spec: &'a MetricSpec,
    baseline: usize,
    candidate: usize,
}

/// Everything that belongs together.
pub(super) struct Matching<'a> {
    pub(super) baseline: &'a Side<'a>,
    pub(super) candidate: &'a Side<'a>,
    pub(super) pairs: &'a [(usize, usize)],
    pub(super) samples: &'a Samples,
}

impl<'a> Matching<'a> {
    /// The metrics that both sides have and that are asked for, in the candidate's order.
    pub(super) fn metrics(&self, options: &Options) -> Result<Vec<Place<'a>>, CompareError> {
        let (then, now) = (&self.baseline.findings.plan, &self.candidate.findings.plan);
        let asked =
            |name: &str| options.metrics.is_empty() || options.metrics.iter().any(|it| crate::analyses::fits(it, name));
        let found = now
            .metrics
            .iter()
            .enumerate()
            .filter(|(_, spec)| asked(&spec.name))
            .filter_map(|(at, spec)| Some(Place { spec, baseline: then.metric(&spec.name)?, candidate: at }));
        let found: Vec<Place<'a>> = found.collect();
        let names = |specs: &[MetricSpec]| specs.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        if found.is_empty() {
            return Err(CompareError::NoMetric {
                baseline: names(&then.metrics),
                candidate: names(&now.metrics),
                asked: if options.metrics.is_empty() { "every one".to_owned() } else { options.metrics.join(", ") },
            });
        }
        match options.margins.keys().find(|name| found.iter().all(|it| it.spec.name != **name)) {
            Some(metric) => Err(CompareError::UnknownMargin {
                metric: metric.clone(),
                known: found.iter().map(|it| it.spec.name.as_str()).collect::<Vec<_>>().join(", "),
            }),
            None => Ok(found),
        }
    }

    /// The metrics that a sample has a score of on both sides, tested, and those that none has.
    pub(super) fn test_all(&self, metrics: &[Place<'a>], options: &Options) -> (Vec<Tested<'a>>, Vec<NotCompared>) {
        let (mut tested, mut not_compared) = (Vec::new(), Vec::new());
        for place in metrics {
            match self.tested(*place, options) {
                Ok(it) => tested.push(it),
                Err(reason) => not_compared.push(NotCompared { metric: place.spec.name.clone(), reason }),
            }
        }
        (tested, not_compared)
    }

    /// The paired scores of a metric, tested; or why no sample has both.
    fn tested(&self, place: Place<'a>, options: &Options) -> Result<Tested<'a>, String> {
        let (then, now) = (&self.baseline.findings.table, &self.candidate.findings.table);
        let mut scores = PairedScores::default();
        let mut left_out = 0;
        for (own, other) in &self.samples.matched {
            let both = self.pairs.iter().filter_map(|(from, to)| {
                Some((then.value(place.baseline, *own, *from)?, now.value(place.candidate, *other, *to)?))
            });
            let (mut sum, mut n) = ((0.0, 0.0), 0_u32);
            for (baseline, candidate) in both {
                sum = (sum.0 + baseline, sum.1 + candidate);
                n += 1;
            }
            if n > 0 {
                scores.push(sum.0 / f64::from(n), sum.1 / f64::from(n), then.cluster(*own));
            } else {
                left_out += u64::from(self.applies(place, *own, *other));
            }
        }
        let kind = kind(&self.candidate.findings.plan, place.spec);
        let test = scores.test(kind);
        if test.n() == 0 {
            return Err(match left_out {
                0 => "it applies to no sample on both sides".to_owned(),
                lost => format!("no sample has a score on both sides ({lost} lack one)"),
            });
        }
        Ok(Tested {
            spec: place.spec,
            kind,
            test,
            left_out,
            clusters: scores.is_clustered().then(|| scores.n_clusters()),
            margin: options.margins.get(&place.spec.name).copied().or_else(|| self.declared_margin(place.spec)),
            scores,
        })
    }

    /// Whether a score was to be expected: an n/a on either side is none that is missing.
    fn applies(&self, place: Place<'_>, own: usize, other: usize) -> bool {
        let absent = |state: State| matches!(state, State::NotApplicable | State::Skipped);
        self.pairs.iter().any(|(from, to)| {
            !absent(self.baseline.findings.table.state(place.baseline, own, *from))
                && !absent(self.candidate.findings.table.state(place.candidate, other, *to))
        })
    }

    fn declared_margin(&self, spec: &MetricSpec) -> Option<f64> {
        self.candidate.findings.plan.scorers.get(spec.scorer)?.margin
    }

    /// Dollars of one more sample under both sides, at list price.
    pub(super) fn cost_per_sample(&self) -> Option<f64> {
        let of = |side: &Side<'_>, system: usize| {
            let spend = &side.findings.systems.get(system)?.spend;
            let trials = f64::from(side.findings.plan.systems.get(system)?.trials);
            Some(trials * spend.per_cell_usd()?)
        };
        let each = self.pairs.iter().map(|(from, to)| Some(of(self.baseline, *from)? + of(self.candidate, *to)?));
        each.sum()
    }

    pub(super) fn summary(&self, side: &Side<'_>, only: &[usize]) -> SideSummary {
        let own = |(from, to): &(usize, usize)| if std::ptr::eq(side, self.baseline) { *from } else { *to };
        SideSummary {
            label: side.label.clone(),
            systems: self.pairs.iter().map(|pair| system_id(&side.findings.plan, own(pair))).collect(),
            n_only: only.len() as u64,
            only: only.iter().take(KEPT).map(|at| side.findings.sample_id(*at).to_owned()).collect(),
        }
    }

    pub(super) fn warnings(&self, tested: &[Tested<'_>]) -> Vec<String> {
        let (then, now) = (&self.baseline.findings.plan, &self.candidate.findings.plan);
        let sides = [("baseline", self.baseline, true), ("candidate", self.candidate, false)];
        let mut warnings: Vec<String> =
            sides.into_iter().flat_map(|(role, side, first)| self.incomplete(role, side, first)).collect();
        if then.suite != now.suite {
            warnings.push(format!(
                "The suites differ: {} and {}. Metrics are matched by name only.",
                then.suite, now.suite
            ));
        }
        if then.dataset.hash != now.dataset.hash {
            warnings.push("The datasets differ: samples are matched by id, whose content may have changed.".to_owned());
        }
        if let Some(few) = tested.iter().filter_map(|it| it.clusters).min().filter(|it| *it < FEW_CLUSTERS) {
            warnings.push(format!(
                "The samples fall into {few} clusters: tests on fewer than {FEW_CLUSTERS} clusters need caution."
            ));
        }
        let lost = tested.iter().map(|it| it.left_out).max().unwrap_or_default();
        if lost > 0 {
            warnings.push(format!(
                "Samples left out because one side has no score: up to {lost} a metric. What fails on hard samples looks better than it is."
            ));
        }
        warnings
    }

    /// What a side's systems lack: cells that are still open, and cells that failed.
    fn incomplete(&self, role: &str, side: &Side<'_>, first: bool) -> Vec<String> {
        let plan = &side.findings.plan;
        let systems = self.pairs.iter().map(|(from, to)| if first { *from } else { *to });
        let (mut planned, mut open, mut errors) = (0, 0, 0);
        for (system, group) in systems.filter_map(|at| Some((plan.systems.get(at)?, side.findings.systems.get(at)?))) {
            let cells = plan.dataset.rows * u64::from(system.trials);
            planned += cells;
            open += cells.saturating_sub(group.tally.cells) + group.tally.stopped;
            errors += group.tally.errors;
        }
        let mut lacks = Vec::new();
        if open > 0 {
            lacks.push(format!(
                "The {role} ({}) is unfinished: {open} of {planned} cells have no result. Resume its run before trusting this.",
                side.label
            ));
        }
        if errors > 0 {
            let all = if errors == planned { ", all of them" } else { "" };
            lacks.push(format!("The {role} ({}) has {errors} errors in {planned} cells{all}.", side.label));
        }
        lacks
    }
}
