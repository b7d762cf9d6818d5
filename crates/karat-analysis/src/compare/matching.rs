//! Pairs two sides: samples by id, systems and metrics by name.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::mean;
use karat_stats::interval::Level;
use karat_text::kind::capitalize;
use karat_types::{Key, MetricSpec, PlanHeader, ScorerKind, Threshold};

use super::significance::TestedMetric;
use super::{CompareError, CompareOptions, KEPT, Kind, LeftOut, NotCompared, PairedFigures, Side, SideSummary};
use crate::figures::contrast::GatedChange;
use crate::figures::cost::Spend;
use crate::figures::groups::{CellCounts, system_id};
use crate::figures::looks::{Look, system_content};
use crate::findings::Findings;
use crate::infer::pairs::resampling;
use crate::score::instrument::metric_change;
use crate::score::instrument::metric_names::matches_pattern;
use crate::score::instrument::served_models::{by_asked, name_changes};
use crate::score::matched_cells::{MatchedCells, SampleCells};
use crate::score::observations::Aggregate;
use crate::score::scales::steps;
use crate::score::table::{ScoreTable, State};

/// Samples, by position on each side.
pub(super) struct MatchedSamples {
    pub(super) matched: Vec<(usize, usize)>,
    pub(super) only_baseline: Vec<usize>,
    pub(super) only_candidate: Vec<usize>,
    /// Ids of samples whose content differs between the sides.
    pub(super) changed: BTreeSet<String>,
}

impl MatchedSamples {
    /// Pairs samples by id. `changed` are ids of samples whose content differs between the sides.
    pub(super) fn of(baseline: &Findings, candidate: &Findings, changed: &BTreeSet<String>) -> Self {
        let mut candidates: BTreeMap<&str, usize> =
            (0..candidate.samples()).map(|at| (candidate.sample_id(at), at)).collect();
        let (mut matched, mut only_baseline, mut changed_ids) = (Vec::new(), Vec::new(), BTreeSet::new());
        for at in 0..baseline.samples() {
            let id = baseline.sample_id(at);
            match candidates.remove(id) {
                Some(_) if changed.contains(id) => {
                    changed_ids.insert(id.to_owned());
                }
                Some(partner) => matched.push((at, partner)),
                None => only_baseline.push(at),
            }
        }
        let mut only_candidate: Vec<usize> = candidates.into_values().collect();
        only_candidate.sort_unstable();
        Self { matched, only_baseline, only_candidate, changed: changed_ids }
    }
}

/// The indices of a metric in both plans.
#[derive(Clone, Copy)]
pub(super) struct MetricPair<'a> {
    spec: &'a MetricSpec,
    baseline: usize,
    candidate: usize,
}

impl<'a> MetricPair<'a> {
    /// The candidate's definition of the metric.
    pub(super) fn spec(&self) -> &'a MetricSpec {
        self.spec
    }
}

/// The scores of a metric on both sides.
struct Paired {
    figures: PairedFigures,
    left_out: LeftOut,
    bounds: Bounds,
}

/// Mean differences if all missing scores were at one end of the range.
#[derive(Default)]
struct Bounds {
    lowest: Vec<f64>,
    highest: Vec<f64>,
}

impl Bounds {
    /// Adds the pairs of systems of a sample.
    fn add(&mut self, pairs: &[MatchedCells], range: (f64, f64)) {
        let (lowest, highest): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(|pair| pair.extremes(range)).unzip();
        self.lowest.extend(mean(&lowest));
        self.highest.extend(mean(&highest));
    }

    /// The bounds, extended to include the difference of the remaining cells, which can lie outside if one side's score
    /// is known. `None` if no score is missing.
    fn around_difference(&self, difference: Option<f64>, left_out: LeftOut) -> Option<(f64, f64)> {
        let (lo, hi) = mean(&self.lowest).zip(mean(&self.highest)).filter(|_| left_out.cells.missing() > 0)?;
        Some(difference.map_or((lo, hi), |it| (lo.min(it), hi.max(it))))
    }
}

impl LeftOut {
    /// Counts the pairs of systems of a sample. `compared` is false if none of them has both scores.
    fn add(&mut self, pairs: &[MatchedCells], compared: bool) {
        self.cells.due += pairs.iter().map(|it| it.n() as u64).sum::<u64>();
        self.cells.judgments += pairs.iter().map(MatchedCells::lost_judgments).sum::<f64>();
        let reasons: Vec<State> = pairs.iter().flat_map(MatchedCells::missing_reasons).collect();
        for reason in &reasons {
            match reason {
                State::Error => self.cells.errors += 1,
                State::Absent => self.cells.open += 1,
                _ => self.cells.unscored += 1,
            }
        }
        if compared {
            return;
        }
        self.n += 1;
        // The worst reason among several systems counts.
        match [State::Error, State::Unscored, State::Absent].into_iter().find(|state| reasons.contains(state)) {
            Some(State::Error) => self.errors += 1,
            Some(State::Unscored) => self.unscored += 1,
            Some(_) => self.open += 1,
            None => self.not_applicable += 1,
        }
    }
}

/// Two sides with their pairs of systems and samples.
pub(super) struct Matching<'a> {
    pub(super) baseline: &'a Side<'a>,
    pub(super) candidate: &'a Side<'a>,
    pub(super) pairs: &'a [(usize, usize)],
    pub(super) samples: &'a MatchedSamples,
}

impl<'a> Matching<'a> {
    /// The requested metrics of both sides, in the candidate's order.
    pub(super) fn metrics(&self, options: &CompareOptions) -> Result<Vec<MetricPair<'a>>, CompareError> {
        let (baseline_plan, candidate_plan) = (&self.baseline.findings.plan, &self.candidate.findings.plan);
        let is_asked =
            |name: &str| options.metrics.is_empty() || options.metrics.iter().any(|it| matches_pattern(it, name));
        let asked = candidate_plan.metrics.iter().enumerate().filter(|(_, spec)| is_asked(&spec.name));
        let pairs: Vec<MetricPair<'a>> = asked
            .filter_map(|(at, spec)| {
                Some(MetricPair { spec, baseline: baseline_plan.metric(&spec.name)?, candidate: at })
            })
            .collect();
        let names = |specs: &[MetricSpec]| specs.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        let is_unmet = |asked: &&String| pairs.iter().all(|it| !matches_pattern(asked, &it.spec.name));
        let unmet: Vec<&str> = options.metrics.iter().filter(is_unmet).map(String::as_str).collect();
        if pairs.is_empty() || !unmet.is_empty() {
            return Err(CompareError::NoMetric {
                baseline: names(&baseline_plan.metrics),
                candidate: names(&candidate_plan.metrics),
                asked: if options.metrics.is_empty() { "every one".to_owned() } else { unmet.join(", ") },
            });
        }
        match options.margins.keys().find(|name| pairs.iter().all(|it| it.spec.name != **name)) {
            Some(metric) => Err(CompareError::UnknownMargin {
                metric: metric.clone(),
                known: pairs.iter().map(|it| it.spec.name.as_str()).collect::<Vec<_>>().join(", "),
            }),
            None => Ok(pairs),
        }
    }

    /// Tests every metric with a score on both sides, and lists the others.
    pub(super) fn test_all(
        &self,
        metrics: &[MetricPair<'a>],
        options: &CompareOptions,
    ) -> (Vec<TestedMetric<'a>>, Vec<NotCompared>) {
        let (mut tested, mut not_compared) = (Vec::new(), Vec::new());
        for metric in metrics {
            match self.test_metric(*metric, options) {
                Ok(test) => tested.push(test),
                Err(reason) => not_compared.push(NotCompared { metric: metric.spec.name.clone(), reason }),
            }
        }
        (tested, not_compared)
    }

    /// Tests the paired scores of a metric, or returns the reason why that is impossible.
    fn test_metric(&self, metric: MetricPair<'a>, options: &CompareOptions) -> Result<TestedMetric<'a>, String> {
        let kind = self.kind(metric);
        let aggregate = Aggregate::parse(&metric.spec.aggregate).unwrap_or(Aggregate::Mean);
        let mut paired = self.paired_scores(metric, aggregate);
        let resampling = resampling(&self.candidate.findings.plan, options.seed);
        let plan = &self.candidate.findings.plan;
        let questions = plan.metrics.len().max(1) * plan.systems.len().max(1);
        let look = self.look(&metric.spec.name);
        let finest =
            Level::from_alpha(options.level.alpha() / (questions as f64 * look.factor())).unwrap_or(options.level);
        let test = paired.figures.test(kind, aggregate, &resampling).with_draws(options.seed, finest);
        if test.n() == 0 {
            return Err(match paired.left_out.missing() {
                0 => "no sample has it on both sides".to_owned(),
                lost => format!("no sample has a score on both sides ({lost} lack one)"),
            });
        }
        let bounds = paired.bounds.around_difference(test.difference(), paired.left_out);
        let bounds = bounds.filter(|_| aggregate == Aggregate::Mean);
        let tested = TestedMetric {
            spec: metric.spec,
            unit: self.candidate.findings.plan.unit_of(metric.spec),
            kind,
            aggregate,
            test,
            baseline: paired.figures.baseline,
            candidate: paired.figures.candidate,
            left_out: paired.left_out,
            bounds,
            margin: options.margins.get(&metric.spec.name).copied().or_else(|| self.declared_margin(metric.spec)),
            instrument_change: self.instrument_change(metric.spec),
            look,
            gated: self.gate_level(metric.candidate),
        };
        match tested.has_figures() {
            true => Ok(tested),
            false => Err("its scores are too large for their difference to be represented".to_owned()),
        }
    }

    /// The level and the number of tests of the gates, if one of them decides this change by interval.
    fn gate_level(&self, metric: usize) -> Option<(Level, u64)> {
        let findings = self.candidate.findings;
        let turned: Vec<(usize, usize)> = self.pairs.iter().map(|(base, other)| (*other, *base)).collect();
        let is_same = |it: &&GatedChange| it.metric == metric && [self.pairs, &turned].contains(&it.pairs.as_slice());
        let gated = std::ptr::eq(self.baseline.findings, findings).then(|| findings.gated.iter().find(is_same));
        gated.flatten().map(|it| (it.level, it.tests))
    }

    /// The number of this look at the compared systems.
    fn look(&self, metric: &str) -> Look {
        let content = |findings: &Findings, systems: Vec<usize>| -> Vec<Key> {
            systems.into_iter().map(|system| system_content(&findings.plan, system)).collect()
        };
        let (before, after): (Vec<usize>, Vec<usize>) = self.pairs.iter().copied().unzip();
        let both = content(self.baseline.findings, before).into_iter();
        let both = both.chain(content(self.candidate.findings, after)).collect();
        let look = self.candidate.findings.looks.at(&both, metric);
        // Of a whole run only the part that both sides have is compared.
        Look { pilot: look.pilot || self.baseline.findings.looks.is_pilot, ..look }
    }

    /// The kind of a metric's numbers: pass/fail if both sides are, else by the scale of the rubric's dimension.
    fn kind(&self, metric: MetricPair<'_>) -> Kind {
        let (baseline, candidate) = (&self.baseline.findings.table, &self.candidate.findings.table);
        if baseline.is_binary(metric.baseline) && candidate.is_binary(metric.candidate) {
            return Kind::Binary;
        }
        match steps(&self.candidate.findings.plan, metric.spec) {
            Some(_) => Kind::Ordinal,
            None => Kind::Score,
        }
    }

    /// The paired scores of the common samples; pairs of systems have equal weight.
    fn paired_scores(&self, metric: MetricPair<'_>, aggregate: Aggregate) -> Paired {
        let (baseline_table, candidate_table) = (&self.baseline.findings.table, &self.candidate.findings.table);
        let mut paired = Paired {
            figures: PairedFigures::within(
                aggregate.max_change(metric.spec.range),
                baseline_table.observations(metric.baseline),
                candidate_table.observations(metric.candidate),
            ),
            left_out: LeftOut::default(),
            bounds: Bounds::default(),
        };
        let range =
            metric.spec.range.filter(|range| self.spec_before(metric).is_some_and(|it| it.range == Some(*range)));
        for (baseline_sample, candidate_sample) in &self.samples.matched {
            let pairs = self.matched_cells(metric, *baseline_sample, *candidate_sample);
            let both: Vec<(usize, (f64, f64))> =
                pairs.iter().enumerate().filter_map(|(pair, cells)| Some((pair, cells.values()?))).collect();
            paired.left_out.add(&pairs, !both.is_empty());
            if let Some(range) = range {
                paired.bounds.add(&pairs, range);
            }
            let cluster = baseline_table.cluster(*baseline_sample);
            for (pair, (before, after)) in both {
                let Some((from, to)) = self.pairs.get(pair) else { continue };
                let then = baseline_table.labels(metric.baseline, *baseline_sample, *from);
                let now = candidate_table.labels(metric.candidate, *candidate_sample, *to);
                let labels = then.zip(now).map(<[_; 2]>::from);
                paired.figures.push_pair([before, after], labels, (*candidate_sample, pair), cluster);
            }
        }
        if aggregate == Aggregate::Mean {
            paired.figures.reduce_to_samples();
        }
        paired
    }

    /// Calls `visit` with each common sample and pair of systems that have scores on both sides: the sample's position in the
    /// candidate, the pair, and the scores of baseline and candidate.
    pub(super) fn each_change(&self, metric: MetricPair<'_>, visit: &mut dyn FnMut(usize, (usize, usize), (f64, f64))) {
        for (baseline_sample, candidate_sample) in &self.samples.matched {
            let places = (metric, *baseline_sample, *candidate_sample);
            let cells = self.cells_by(places, SampleCells::for_showing);
            for (pair, values) in self.pairs.iter().zip(cells.iter().map(MatchedCells::values)) {
                if let Some((before, after)) = values {
                    visit(*candidate_sample, *pair, (before, after));
                }
            }
        }
    }

    /// The baseline's definition of the metric.
    fn spec_before(&self, metric: MetricPair<'_>) -> Option<&MetricSpec> {
        self.baseline.findings.plan.metrics.get(metric.baseline)
    }

    /// The cells of a sample under each pair of systems, with the values that enter figures.
    fn matched_cells(
        &self,
        metric: MetricPair<'_>,
        baseline_sample: usize,
        candidate_sample: usize,
    ) -> Vec<MatchedCells> {
        self.cells_by((metric, baseline_sample, candidate_sample), SampleCells::for_figures)
    }

    /// The cells at a metric, baseline sample and candidate sample under each pair of systems.
    fn cells_by(
        &self,
        (metric, baseline_sample, candidate_sample): (MetricPair<'_>, usize, usize),
        cells_of: fn(&'a ScoreTable, &'a PlanHeader, (usize, usize, usize)) -> SampleCells<'a>,
    ) -> Vec<MatchedCells> {
        let cells = |side: &'a Side<'a>, at| cells_of(&side.findings.table, &side.findings.plan, at);
        let pair = |(from, to): &(usize, usize)| {
            let before = cells(self.baseline, (metric.baseline, baseline_sample, *from));
            MatchedCells::of(before, cells(self.candidate, (metric.candidate, candidate_sample, *to)))
        };
        self.pairs.iter().map(pair).collect()
    }

    /// Describes the change of instrument that affects a metric, if any.
    fn instrument_change(&self, spec: &MetricSpec) -> Option<String> {
        let (baseline, candidate) = (self.baseline.findings, self.candidate.findings);
        measure_change(&spec.name, &baseline.plan, &candidate.plan)
            .or_else(|| metric_change(&baseline.instruments, candidate.measured_run(), spec))
    }

    fn declared_margin(&self, spec: &MetricSpec) -> Option<Threshold> {
        self.candidate.findings.plan.scorers.get(spec.scorer)?.margin
    }

    /// Cost of one more sample under both sides, in dollars at list price.
    pub(super) fn cost_per_sample(&self) -> Option<f64> {
        let cost_of = |side: &Side<'_>, system: usize| {
            let spend = &side.findings.systems.get(system)?.spend;
            let trials = f64::from(side.findings.plan.systems.get(system)?.trials);
            Some(trials * spend.next_cell_usd()?)
        };
        let each =
            self.pairs.iter().map(|(from, to)| Some(cost_of(self.baseline, *from)? + cost_of(self.candidate, *to)?));
        each.sum()
    }

    pub(super) fn summary(&self, side: &Side<'_>, only: &[usize]) -> SideSummary {
        let system_of = |(from, to): &(usize, usize)| if std::ptr::eq(side, self.baseline) { *from } else { *to };
        let (mut spend, mut tally) = (Spend::default(), CellCounts::default());
        let groups = self.pairs.iter().filter_map(|pair| side.findings.systems.get(system_of(pair)));
        groups.for_each(|group| {
            spend += group.spend;
            tally += group.tally;
        });
        SideSummary {
            label: side.label.clone(),
            cost_per_cell_usd: spend.per_cell_usd(),
            latency_ms: tally.mean_latency_ms(),
            systems: self.pairs.iter().map(|pair| system_id(&side.findings.plan, system_of(pair))).collect(),
            n_only: only.len() as u64,
            only: only.iter().take(KEPT).map(|at| side.findings.sample_id(*at).to_owned()).collect(),
        }
    }

    pub(super) fn warnings(&self, tested: &[TestedMetric<'_>]) -> Vec<String> {
        let (baseline_plan, candidate_plan) = (&self.baseline.findings.plan, &self.candidate.findings.plan);
        let sides = [("baseline", self.baseline, true), ("candidate", self.candidate, false)];
        let mut warnings: Vec<String> =
            sides.into_iter().flat_map(|(role, side, first)| self.missing_cells_warnings(role, side, first)).collect();
        if baseline_plan.suite != candidate_plan.suite {
            warnings.push(format!(
                "The suites differ: {} and {}. Metrics are matched by name only.",
                baseline_plan.suite, candidate_plan.suite
            ));
        }
        if baseline_plan.dataset.hash != candidate_plan.dataset.hash {
            warnings.push(self.dataset_warning());
        }
        let changes: BTreeSet<&String> = tested.iter().filter_map(|it| it.instrument_change.as_ref()).collect();
        warnings.extend(changes.into_iter().map(|change| format!("{}.", capitalize(change))));
        warnings.extend(self.renamed_models());
        warnings.extend(tested.iter().filter(|it| it.has_void_margin()).map(|it| {
            format!(
                "The margin of {} is a percentage of the baseline's figure, which is 0, so it has no margin.",
                it.spec.name
            )
        }));
        if tested.iter().filter_map(TestedMetric::clusters).min() == Some(1) {
            warnings.push(
                "All samples belong to one cluster, so the variation between clusters is unknown and every metric is undecided."
                    .to_owned(),
            );
        }
        let most = |lost: fn(&LeftOut) -> u64| tested.iter().map(|it| lost(&it.left_out)).max().unwrap_or_default();
        let is_partial = tested.iter().any(|it| it.left_out.is_partial());
        let (what, lost) = match is_partial {
            true => ("Pairs of cells", most(|it| it.cells.missing())),
            false => ("Samples", most(LeftOut::missing)),
        };
        if lost > 0 {
            warnings.push(format!(
                "{what} without a score on one side are left out: up to {lost} per metric. A system that fails on hard samples looks better than it is."
            ));
        }
        warnings
    }

    /// The warning about another dataset: the versions of both sides, and the samples that are not compared.
    fn dataset_warning(&self) -> String {
        let name = |side: &Side<'_>| dataset_name(&side.findings.plan);
        let left_out = match self.samples.changed.len() {
            0 => "samples are matched by id".to_owned(),
            n => format!("samples are matched by id, {n} with other content are left out"),
        };
        format!(
            "The datasets differ: {} in the baseline, {} in the candidate; {left_out}. Unread columns may differ.",
            name(self.baseline),
            name(self.candidate)
        )
    }

    /// Warnings about models under test whose reported names differ between the sides.
    fn renamed_models(&self) -> BTreeSet<String> {
        let names = |side: &Side<'a>, system: usize| Some(by_asked(&side.findings.systems.get(system)?.answered_as));
        let of_pair = |(from, to): &(usize, usize)| {
            Some(name_changes(&names(self.baseline, *from)?, &names(self.candidate, *to)?))
        };
        let say = |(asked, then, now)| {
            format!(
                "The model `{asked}` reported {then} in the baseline and {now} in the candidate: a difference may come from the \
                 provider. Set its `model` to the dated name."
            )
        };
        self.pairs.iter().filter_map(of_pair).flatten().map(say).collect()
    }

    /// Warnings about open and failed cells of a side.
    fn missing_cells_warnings(&self, role: &str, side: &Side<'_>, first: bool) -> Vec<String> {
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
                "The {role} ({}) is unfinished: {open} of {planned} cells have no result. Resume its run before relying on this comparison.",
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

/// The version of a plan's dataset, with the first digits of its hash.
pub(super) fn dataset_name(plan: &PlanHeader) -> String {
    let hash: String = plan.dataset.hash.chars().take(8).collect();
    match &plan.dataset.version {
        Some(version) => format!("version {version} ({hash})"),
        None => format!("version {hash}"),
    }
}

/// The note that a metric is measured differently on the two sides, so that its difference has no meaning.
fn measure_change(name: &str, baseline: &PlanHeader, candidate: &PlanHeader) -> Option<String> {
    let (before, after) = (measure_description(name, baseline)?, measure_description(name, candidate)?);
    (before != after).then(|| {
        format!(
            "the metric {name} is measured differently: {before} in the baseline, {after} in the candidate; its difference has no meaning"
        )
    })
}

/// Describes a metric's scorer, scale and aggregate.
fn measure_description(name: &str, plan: &PlanHeader) -> Option<String> {
    let spec = plan.metric(name).and_then(|at| plan.metrics.get(at))?;
    let by = match plan.scorers.get(spec.scorer).map(|scorer| &scorer.kind) {
        Some(ScorerKind::Metric { metric, .. }) => metric.clone(),
        Some(ScorerKind::Rubric(_)) => "a rubric".to_owned(),
        None => format!("all of {}", plan.checks().map(|check| check.name.as_str()).collect::<Vec<_>>().join(", ")),
    };
    let scale = spec.range.map_or("without bounds".to_owned(), |(lo, hi)| format!("from {lo} to {hi}"));
    Some(format!("{by} {scale} ({})", spec.aggregate))
}
