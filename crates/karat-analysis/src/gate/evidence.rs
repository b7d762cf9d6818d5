//! The evidence of a case: the observations behind its finding, kept until the level of its interval is known.

use std::hash::{DefaultHasher, Hasher};

use karat_stats::compare::differences;
use karat_stats::inference::Change;
use karat_stats::interval::Level;
use karat_types::{GateBasis, Policy};

use super::References;
use super::case::{BoundKind, GateCase, Target};
use super::partner::{Partner, find_partner, reference_name, system_pairs};
use super::path;
use crate::figures::looks::{Look, system_content};
use crate::findings::Findings;
use crate::infer::cascaded;
use crate::infer::change::{Kind, PairedScores, PairedTest, UnpairedSide, unpaired_change};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::infer::resampled::Resampled;
use crate::score::matched_cells::{MatchedCells, MissingCount, SampleCells};
use crate::score::observations::{Aggregate, Observations};

/// The inputs of all decisions.
#[derive(Clone, Copy)]
pub(super) struct GateContext<'a> {
    pub(super) findings: &'a Findings,
    pub(super) references: &'a References,
    pub(super) policy: &'a Policy,
    /// The value that replaces failed scores; `None` leaves them out.
    pub(super) missing: Option<f64>,
}

/// The evidence of one case.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The current figure.
    pub(super) observed: Option<f64>,
    /// The figure it is compared with.
    pub(super) reference: Option<f64>,
    /// Cells that should have a score, and those whose scorer failed or that have no output.
    pub(super) unscored: MissingCount,
    /// Pairs of cells that should have a score on both sides of a change, and those that lack one.
    pub(super) lacking: MissingCount,
    /// The data that are compared with the threshold.
    pub(super) basis: Basis,
    /// The number of the look at a change between systems of the run.
    pub(super) look: Option<Look>,
    /// A remark for the reader.
    pub(super) remark: Option<String>,
    /// The difference between the instruments of both sides, because of which a change decides nothing.
    pub(super) instrument_change: Option<String>,
}

/// The data that are compared with the threshold.
#[derive(Debug, Default)]
pub(super) enum Basis {
    /// Nothing.
    #[default]
    None,
    /// Nothing, with the reason.
    Missing(String),
    /// Observations and the rule that turns them into a figure.
    Observed(Observations, Measure),
    /// A paired change.
    Change(Box<PairedTest>),
    /// Observations of a cascade, of which the mean of these samples is asked.
    OfDataset(Observations, Measure),
    /// A figure, or its change on the same samples, with its resamples.
    Resampled(Resampled),
    /// A finished figure, whose interval cannot be adjusted.
    Point(Finding),
    /// The difference of two figures of unrelated samples.
    Unpaired(Unpaired),
}

impl Basis {
    /// The finding with its interval at a level.
    pub(super) fn finding_at(&self, level: Level) -> Option<Finding> {
        match self {
            Self::None | Self::Missing(_) => None,
            Self::Observed(observed, measure) => measure.at_level(level).figure(observed),
            Self::OfDataset(observed, measure) => measure.at_level(level).dataset_figure(observed),
            Self::Change(test) => test.finding(level),
            Self::Resampled(drawn) => drawn.finding_at(level),
            Self::Point(finding) => Some(finding.clone()),
            Self::Unpaired(it) => unpaired_change(it.now, it.before, it.rates, level),
        }
    }

    /// Observations by their rule, resampled if it asks for a bootstrap.
    fn of(observed: Observations, measure: Measure) -> Self {
        match measure.resample(&observed) {
            Some(drawn) => Self::Resampled(drawn),
            None => Self::Observed(observed, measure),
        }
    }

    /// Observations by their rule; of a cascade with the interval that a gate asks for.
    fn by_gate(observed: Observations, measure: Measure, decide: GateBasis) -> Self {
        match (&observed.cascade, decide) {
            (Some(_), GateBasis::Point) => Self::OfDataset(observed, measure),
            (None, GateBasis::Interval) if observed.design.is_some() => {
                Self::of(observed, Measure { population: true, ..measure })
            }
            _ => Self::of(observed, measure),
        }
    }

    /// Returns true if its interval decides whatever the gate asks for: part of its cells are estimated.
    pub(super) fn is_estimated(&self) -> bool {
        match self {
            Self::Observed(observed, _) | Self::OfDataset(observed, _) => observed.cascade.is_some(),
            _ => false,
        }
    }

    /// The smallest α for which there is an interval.
    pub(super) fn min_alpha(&self) -> f64 {
        match self {
            Self::Resampled(drawn) => drawn.min_alpha(),
            _ => SMALLEST,
        }
    }

    /// A digest of the threshold and the values compared with it; equal for cases that repeat each other.
    pub(super) fn digest(&self, threshold: f64) -> u64 {
        let mut digest = DefaultHasher::new();
        let mut numbers = |numbers: &[f64]| numbers.iter().for_each(|number| digest.write_u64(number.to_bits()));
        numbers(&[threshold]);
        match self {
            Self::None | Self::Missing(_) => {}
            Self::Observed(observed, _) | Self::OfDataset(observed, _) => {
                numbers(&observed.values);
                observed.clusters.iter().for_each(|it| digest.write_u32(*it));
                observed.strata.chunk_by(u32::eq).for_each(|stratum| digest.write_usize(stratum.len()));
            }
            Self::Change(test) => {
                let change = test.mean_change();
                numbers(change.map(Change::differences).unwrap_or_default());
                change.and_then(Change::clusters).iter().for_each(|it| digest.write_usize(it.len()));
            }
            Self::Resampled(drawn) => {
                numbers(&[drawn.value]);
                drawn.drawn.iter().for_each(|drawn| numbers(drawn.replicates()));
            }
            Self::Point(found) => {
                let (lo, hi) = found.interval().unwrap_or_default();
                numbers(&[found.value(), lo, hi]);
            }
            Self::Unpaired(it) => {
                let ends = [Some(it.now.value), it.now.se, Some(it.before.value), it.before.se];
                numbers(&ends.map(Option::unwrap_or_default));
            }
        }
        digest.finish()
    }
}

/// Two figures of different samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unpaired {
    now: UnpairedSide,
    before: UnpairedSide,
    /// True for pass rates.
    rates: bool,
}

/// The smallest p-value distinguished from 0.
const SMALLEST: f64 = 1e-15;

impl GateContext<'_> {
    /// The evidence of a case.
    pub(super) fn evidence_for(&self, case: &GateCase<'_>) -> Evidence {
        if case.gate.human_anchor {
            return self.anchored_evidence(case);
        }
        let (evidence, moved) = match case.target {
            Target::Finding(name) => (self.finding_evidence(case, name), None),
            Target::Metric(metric) if case.bound.is_change() => {
                (self.change_evidence(case, metric), self.moved_judge(metric))
            }
            Target::Metric(metric) => (self.figure_evidence(case, metric), self.moved_judge(metric)),
        };
        let instrument_change = evidence.instrument_change.or(moved);
        Evidence { instrument_change, ..evidence }
    }

    /// The reason why the judge of a metric, or of a check that `pass` counts, no longer grades as it did.
    fn moved_judge(&self, metric: usize) -> Option<String> {
        let plan = &self.findings.plan;
        let own = plan.metrics.get(metric)?.scorer;
        let scorers: Vec<usize> = match plan.scorers.get(own) {
            Some(_) => vec![own],
            None => plan.checks().map(|check| check.scorer).collect(),
        };
        let moved = |scorer: usize| self.references.moved_judges.get(&plan.scorers.get(scorer)?.id);
        scorers.into_iter().find_map(moved).cloned()
    }

    /// The cells of a case, as (sample, system).
    pub(super) fn cells<'c>(&'c self, case: &'c GateCase<'_>) -> impl Iterator<Item = (usize, usize)> + 'c {
        let samples = match case.unit.sample {
            Some(sample) => sample..sample + 1,
            None => 0..self.findings.samples(),
        };
        let in_group = move |sample: usize| match (&case.unit.group, &case.scope.groups) {
            (Some((group, _)), Some((of, _))) => of.get(sample) == Some(group),
            _ => true,
        };
        samples
            .filter(move |sample| in_group(*sample))
            .flat_map(|sample| case.unit.systems.iter().map(move |system| (sample, *system)))
            .filter(|(sample, system)| case.scope.holds(*sample, *system))
    }

    fn observations(&self, case: &GateCase<'_>, metric: usize) -> (Observations, MissingCount) {
        let table = &self.findings.table;
        let mut observed = self.empty_observations(case, metric);
        let mut unscored = MissingCount::default();
        for (sample, system) in self.cells(case) {
            unscored.add(self.sample_cells(case, metric, (sample, system)).missing());
            if let Some(value) = self.own_cells(case, metric, (sample, system)).value() {
                observed.push_labelled(value, table.labels(metric, sample, system), system, table.cluster(sample));
                observed.push_place(sample, system, system);
            }
        }
        (observed, unscored)
    }

    /// Empty observations of a case. One sample has its own grades, and no estimate.
    fn empty_observations(&self, case: &GateCase<'_>, metric: usize) -> Observations {
        let table = &self.findings.table;
        let is_part = case.unit.group.is_some() || case.gate.condition.is_some();
        match case.unit.sample {
            Some(_) => Observations { design: None, ..table.observations(metric) },
            None => Observations { is_part, ..table.placed_observations(metric) },
        }
    }

    /// The same context with every missing score replaced by the one that suits the case best; `None` for metrics
    /// without a range, and for figures of labels.
    pub(super) fn with_best_scores(&self, case: &GateCase<'_>) -> Option<Self> {
        let Target::Metric(metric) = case.target else { return None };
        let (lo, hi) = self.findings.plan.metrics.get(metric)?.range?;
        let of_labels = self.measure(case, metric)?.aggregate.uses_labels();
        let best = if case.bound.is_least() { hi } else { lo };
        (!of_labels).then_some(Self { missing: Some(best), ..*self })
    }

    /// The rule of a case's figure, as in reports. One sample has a single value, which is not aggregated.
    fn measure(&self, case: &GateCase<'_>, metric: usize) -> Option<Measure> {
        let measure = self.findings.measures.get(metric).copied()?;
        let aggregate = if case.unit.sample.is_some() { Aggregate::Mean } else { measure.aggregate };
        Some(Measure { aggregate, ..measure })
    }

    fn figure_evidence(&self, case: &GateCase<'_>, metric: usize) -> Evidence {
        let Some(measure) = self.measure(case, metric) else { return Evidence::default() };
        if let Some(why) = self.ungraded_reason(case, metric, &[]) {
            return Evidence { basis: Basis::Missing(why), ..Evidence::default() };
        }
        let (observed, unscored) = self.observations(case, metric);
        let figure = measure.figure(&observed);
        let refusal = self.cascade_refusal(&observed);
        let basis = match &figure {
            None => Basis::Missing(self.missing_score_reason(case)),
            Some(_) => Basis::by_gate(observed, measure, case.gate.decide),
        };
        let observed = figure.map(|it| it.value());
        Evidence { observed, unscored, basis, instrument_change: refusal, ..Evidence::default() }
    }

    /// The change from the reference, paired by sample if at least half of the samples have a partner.
    fn change_evidence(&self, case: &GateCase<'_>, metric: usize) -> Evidence {
        let Some(measure) = self.measure(case, metric) else { return Evidence::default() };
        let name = self.findings.plan.metrics.get(metric).map_or("", |metric| metric.name.as_str());
        let (observed, unscored) = self.observations(case, metric);
        let figure = measure.figure(&observed);
        let evidence = Evidence { observed: figure.as_ref().map(Finding::value), unscored, ..Evidence::default() };
        let missing = |why: String, evidence: Evidence| Evidence { basis: Basis::Missing(why), ..evidence };
        let Some(now) = figure else { return missing(self.missing_score_reason(case), evidence) };
        let mut partners = Vec::new();
        for &system in &case.unit.systems {
            match find_partner(&self.findings.plan, self.references, case.gate, system) {
                Ok(partner) => partners.push((system, partner)),
                Err(why) if case.unit.systems.len() == 1 => return missing(why, evidence),
                Err(_) => {}
            }
        }
        if let Some(why) = self.ungraded_reason(case, metric, &partners) {
            return missing(why, Evidence { observed: None, ..evidence });
        }
        let spec = self.findings.plan.metrics.get(metric);
        let pinned = partners.iter().filter_map(|(_, partner)| partner.as_pinned());
        let samples = || self.cells(case).map(|(sample, _)| self.findings.sample_id(sample));
        let mut changes =
            pinned.filter_map(|pinned| pinned.instrument_change(self.findings.measured_run(), spec?, samples()));
        let change = changes.next().or_else(|| self.cascade_refusal(&observed));
        let evidence = Evidence { instrument_change: change, ..evidence };
        let look = self.look(&partners, name);
        let evidence = Evidence { look, ..evidence };
        let pairs = self.paired_results(case, metric, name, &partners);
        if pairs.len() * 2 >= observed.len() && pairs.can_compare(measure.aggregate) {
            let remark = (pairs.len() < observed.len())
                .then(|| format!("compared on the {} of {} results that both have", pairs.len(), observed.len()));
            return pairs.evidence(measure, case.gate.decide, Evidence { remark, ..evidence });
        }
        let reference = match &partners[..] {
            _ if case.unit.sample.is_some() || case.unit.group.is_some() => None,
            [(_, Partner::Pinned(pinned, at))] if case.unit.systems.len() == 1 => pinned.metric(*at, name).cloned(),
            [(_, Partner::Pinned(pinned, _)), ..] => pinned.overall(name).cloned(),
            _ => None,
        };
        match reference {
            Some(before) if before.has_values() && pairs.len() == 0 => {
                let what = reference_name(case.gate);
                missing(format!("{what} has no sample with a score here, so there is nothing to compare"), evidence)
            }
            Some(before) if before.value.is_some() => {
                let why = if measure.aggregate.uses_labels() { "no labels are pinned" } else { "the samples differ" };
                let remark = before.has_values().then(|| format!("{why}: compared unpaired"));
                let is_clustered = now.effective_clusters().is_some();
                let rates = measure.binary && measure.aggregate == Aggregate::Mean && !is_clustered;
                let own = UnpairedSide { value: now.value(), n: now.n(), se: now.se(), df: now.df() };
                let then = before.value.map(|value| UnpairedSide { value, n: before.n, se: before.se, df: None });
                let basis =
                    then.map_or(Basis::None, |then| Basis::Unpaired(Unpaired { now: own, before: then, rates }));
                Evidence { reference: before.value, basis, remark, ..evidence }
            }
            _ => missing(format!("{} has no result for this metric", reference_name(case.gate)), evidence),
        }
    }

    /// The number of this look at the change between systems of the run; `None` if it is from another run.
    fn look(&self, partners: &[(usize, Partner<'_>)], metric: &str) -> Option<Look> {
        let pairs = system_pairs(partners)?;
        let systems = pairs.into_iter().flat_map(|(base, other)| [base, other]);
        let content = systems.map(|system| system_content(&self.findings.plan, system)).collect();
        Some(self.findings.looks.at(&content, metric))
    }

    /// The systems that a case compares within the run, as (base, other) in order: of all samples, by interval.
    pub(super) fn compared_systems(&self, case: &GateCase<'_>) -> Option<Vec<(usize, usize)>> {
        let is_part = case.unit.sample.is_some() || case.unit.group.is_some() || case.gate.condition.is_some();
        if is_part || !case.bound.is_change() || case.gate.decide != GateBasis::Interval || case.gate.human_anchor {
            return None;
        }
        let partner = |system: &usize| {
            find_partner(&self.findings.plan, self.references, case.gate, *system).ok().map(|it| (*system, it))
        };
        let partners: Vec<_> = case.unit.systems.iter().filter_map(partner).collect();
        let mut pairs = system_pairs(&partners)?;
        pairs.sort_unstable();
        Some(pairs)
    }

    /// Returns true if the figure of a case is an estimate of a cascade.
    pub(super) fn is_estimated(&self, case: &GateCase<'_>) -> bool {
        let Target::Metric(metric) = case.target else { return false };
        case.unit.sample.is_none() && self.findings.table.cascade(metric).is_some_and(|it| it.is_estimated())
    }

    /// The reason why an estimate of a cascade decides nothing.
    fn cascade_refusal(&self, observed: &Observations) -> Option<String> {
        cascaded::refusal(observed.cascade.as_ref()?, self.policy.max_unscored)
    }

    /// The reason why a gate on a single sample has no grade to look at: a cascade's judges did not grade the sample, here
    /// or on the other side of a change.
    fn ungraded_reason(&self, case: &GateCase<'_>, metric: usize, partners: &[(usize, Partner<'_>)]) -> Option<String> {
        let table = &self.findings.table;
        case.unit.sample.filter(|_| table.cascade(metric).is_some_and(|it| it.is_estimated()))?;
        if partners.iter().any(|(_, partner)| partner.as_pinned().is_some()) {
            return Some("scores of single samples in a pinned run of a cascade may be estimates".to_owned());
        }
        let others = |own: usize| {
            let partners = partners.iter().filter(move |(of, _)| *of == own);
            partners.filter_map(|(_, partner)| match partner {
                Partner::System(other) => Some(*other),
                Partner::Pinned(..) => None,
            })
        };
        let mut places = self.cells(case).flat_map(|(sample, own)| {
            std::iter::once((sample, own)).chain(others(own).map(move |other| (sample, other)))
        });
        places.any(|(sample, system)| !table.is_graded(metric, sample, system)).then(|| {
            "the cascade's judges did not grade this sample, and an estimate decides nothing about a single one"
                .to_owned()
        })
    }

    fn missing_score_reason(&self, case: &GateCase<'_>) -> String {
        match &case.gate.condition {
            Some(condition) if self.cells(case).next().is_none() => format!("no cell matches `where: {condition}`"),
            _ if self.cells(case).next().is_none() => "there are no cells".to_owned(),
            _ => "no cell has a score".to_owned(),
        }
    }

    fn paired_results(
        &self,
        case: &GateCase<'_>,
        metric: usize,
        name: &str,
        partners: &[(usize, Partner<'_>)],
    ) -> Pairs {
        let table = &self.findings.table;
        let mut pairs = Pairs::of(self.empty_observations(case, metric));
        for (sample, system) in self.cells(case) {
            let Some((_, partner)) = partners.iter().find(|(own, _)| *own == system) else { continue };
            let own = self.own_cells(case, metric, (sample, system));
            let (before, labels) = match partner {
                Partner::Pinned(pinned, at) => {
                    (pinned.sample_cells(*at, name, self.findings.sample_id(sample), own.rule()), None)
                }
                Partner::System(other) => {
                    (self.sample_cells(case, metric, (sample, *other)), table.labels(metric, sample, *other))
                }
            };
            let cells = MatchedCells::of(before, own);
            pairs.lost.add(cells.missing());
            if let Some((before, now)) = cells.values() {
                let own = table.labels(metric, sample, system);
                pairs.push((now, own), (before, labels), (sample, system), table.cluster(sample));
                pairs.now.push_change(sample, system, system, before);
            }
        }
        pairs
    }

    /// The cells of a case, with failed scores replaced if requested.
    fn own_cells(&self, case: &GateCase<'_>, metric: usize, place: (usize, usize)) -> SampleCells<'_> {
        let own = self.sample_cells(case, metric, place);
        self.missing.into_iter().fold(own, SampleCells::fill_missing)
    }

    fn sample_cells(&self, case: &GateCase<'_>, metric: usize, (sample, system): (usize, usize)) -> SampleCells<'_> {
        let (table, plan, place) = (&self.findings.table, &self.findings.plan, (metric, sample, system));
        match case.unit.sample {
            Some(_) => SampleCells::for_showing(table, plan, place),
            None => SampleCells::for_figures(table, plan, place),
        }
    }

    fn finding_evidence(&self, case: &GateCase<'_>, name: &str) -> Evidence {
        let found = match path::finding(self.findings, name) {
            Ok(found) => found,
            Err(why) => return Evidence { basis: Basis::Missing(why), ..Evidence::default() },
        };
        if case.bound.is_change() {
            let why = "a finding has no baseline: use `min` or `max`".to_owned();
            return Evidence { observed: Some(found.value()), basis: Basis::Missing(why), ..Evidence::default() };
        }
        Evidence { observed: Some(found.value()), basis: Basis::Point(found), ..Evidence::default() }
    }

    /// The human-anchored figure of the metric, from the analysis `human_anchor`.
    fn anchored_evidence(&self, case: &GateCase<'_>) -> Evidence {
        let missing = |why: &str| Evidence { basis: Basis::Missing(why.to_owned()), ..Evidence::default() };
        if matches!(case.bound, BoundKind::MaxDrop | BoundKind::MaxRise) {
            return missing("a human-anchored figure has no baseline: use `min` or `max`");
        }
        let Target::Metric(metric) = case.target else { return missing("only metrics are human-anchored") };
        let name = self.findings.plan.metrics.get(metric).map_or("", |metric| metric.name.as_str());
        let system = case.unit.system.as_deref();
        match path::anchored_finding(self.findings, name, system) {
            Some(found) => {
                // A gate by interval asks of outputs like these, a point is of these.
                let found = if case.gate.decide == GateBasis::Interval { found.for_population() } else { found };
                Evidence { observed: Some(found.value()), basis: Basis::Point(found), ..Evidence::default() }
            }
            None => missing(
                "there is no human-anchored figure of this metric: it needs labels, in the scorer's `labels` file or of a closed \
                 annotation task that asks its rubric",
            ),
        }
    }
}

/// A value with its labels, if its scorer names some.
type LabelledValue = (f64, Option<(u32, u32)>);

/// Current and earlier results on the same samples.
struct Pairs {
    scores: PairedScores,
    now: Observations,
    before: Observations,
    lost: MissingCount,
}

impl Pairs {
    fn of(empty: Observations) -> Self {
        // The cells of a cascade are those of this run.
        let before = Observations { cascade: None, ..empty.clone() };
        let scores = PairedScores::default().with_design(empty.design.clone());
        Self { scores, now: empty, before, lost: MissingCount::default() }
    }

    fn push(&mut self, now: LabelledValue, before: LabelledValue, (sample, system): (usize, usize), cluster: u32) {
        self.scores.push_pair([before.0, now.0], (sample, system), cluster);
        self.now.push_labelled(now.0, now.1, system, cluster);
        self.before.push_labelled(before.0, before.1, system, cluster);
    }

    fn len(&self) -> usize {
        self.now.len()
    }

    /// Returns true if there is something to compare: pinned results have no labels, and so no figure of labels.
    fn can_compare(&self, aggregate: Aggregate) -> bool {
        self.len() > 0 && (!aggregate.uses_labels() || self.before.labels.len() == self.len())
    }

    /// Means are compared by the mean difference, other figures by the change of the figure.
    fn evidence(self, measure: Measure, decide: GateBasis, evidence: Evidence) -> Evidence {
        let value = |observed: &Observations| measure.figure(observed).map(|found| found.value());
        let (observed, reference) = (value(&self.now), value(&self.before));
        let lacking = self.lost;
        let basis = match measure.aggregate {
            Aggregate::Mean if self.now.cascade.is_none() => {
                Basis::Change(Box::new(self.scores.of_range(measure.max_change()).test(Kind::of(measure.binary))))
            }
            Aggregate::Mean => {
                let values = differences(&self.now.values, &self.before.values);
                let changes = Observations { values, labels: Vec::new(), ..self.now };
                let widest = measure.max_change().map(|widest| (-widest, widest));
                Basis::by_gate(changes, Measure { binary: false, range: widest, ..measure }, decide)
            }
            _ => measure.change(&self.now, &self.before).map_or(Basis::None, Basis::Resampled),
        };
        Evidence { observed, reference, basis, lacking, ..evidence }
    }
}
