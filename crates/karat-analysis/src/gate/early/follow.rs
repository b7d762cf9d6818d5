//! Follows the gates and the race of a run, unit by unit.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use karat_stats::compare::multiplicity::StepRule;
use karat_stats::sequential::{
    Basis, ClaimVerdict, Claims, DecidedBy as Evidence, MIN_CLUSTERS, MIN_UNITS, MissingScores,
};
use karat_types::{
    Correction, DecidedBy, EarlyRule, EarlyVerdict, Gate, GateBasis, GateRules, Key, OpenGate, PlanHeader, RowError,
    RunRows, STOP_SCHEMA, SampleRecord, StopEarlySpec, StopRecord, StopRule, StopSpan, StoppedClaim, unit_key,
};
use serde_json::Value;

use super::claims::{FollowedClaim, Scale};
use super::gates::{FollowedGate, open_gates, percentile, system_sets};
use super::population::{Place, Populations};
use super::race::FollowedRace;
use super::scores::UnitScores;
use crate::gate::References;
use crate::gate::case::BoundKind;
use crate::gate::partner::{Partner, find_partner};
use crate::score::prefix::span::CellSpan;
use crate::system_id;

/// Follows the gates and the race of a run; see [`StopRule`].
pub struct EarlyStop {
    plan: Arc<PlanHeader>,
    spec: StopEarlySpec,
    rules: GateRules,
    references: References,
    gates: Vec<FollowedGate>,
    populations: Populations,
    course: Option<Course>,
}

/// The course of a run.
struct Course {
    claims: Vec<FollowedClaim>,
    statistics: Claims,
    race: Option<FollowedRace>,
    open: Vec<OpenGate>,
    purposes: Vec<Purpose>,
    /// Errored and unjudged cells by system.
    failed: Vec<u64>,
    /// Units and samples so far.
    units: u64,
    samples: u64,
    /// The state when everything was decided.
    stopped: Option<(u64, u64)>,
}

/// A purpose of cells.
struct Purpose {
    kind: PurposeKind,
    compiled: CellSpan,
    span: StopSpan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PurposeKind {
    /// A claim, by index.
    Claim(usize),
    /// A gate that is decided at the end.
    End,
    /// A system's place in the race.
    Race(usize),
    /// Systems that no gate names run as long as the others.
    UngatedSystem,
}

impl EarlyStop {
    /// A rule for a plan with `run.stop_early`; `None` for other plans, and for those of earlier versions whose rule decided
    /// nothing.
    ///
    /// # Errors
    /// Gates that cannot be read.
    pub fn new(plan: &Arc<PlanHeader>, rules: &GateRules, references: References) -> Result<Option<Self>, String> {
        let decides = |spec: &StopEarlySpec| spec.rule != EarlyRule::Asymptotic;
        let Some(spec) = plan.run.stop_early.clone().filter(decides) else { return Ok(None) };
        let gates = (0..rules.gates.len()).map(|at| FollowedGate::of(plan, rules, at));
        let gates = gates.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        Ok(Some(Self {
            plan: plan.clone(),
            spec,
            rules: rules.clone(),
            references,
            gates,
            populations: Populations::default(),
            course: None,
        }))
    }

    fn alpha(&self) -> f64 {
        // 1 - 0.95 is not 0.05 in binary, and is shown.
        ((1.0 - self.rules.policy.confidence) * 1e12).round() / 1e12
    }

    fn min_units(&self) -> u64 {
        let usual = if self.plan.dataset.clustered { MIN_CLUSTERS } else { MIN_UNITS };
        self.spec.min.unwrap_or(usual)
    }

    fn gate(&self, followed: &FollowedGate) -> &Gate {
        &self.rules.gates[followed.gate]
    }

    /// The references of a set of systems, or the reason why a change cannot be followed.
    fn partners(&self, gate: &Gate, systems: &[usize]) -> Result<Vec<(usize, Partner<'_>)>, String> {
        let partner = |system: &usize| Ok((*system, find_partner(&self.plan, &self.references, gate, *system)?));
        systems.iter().map(partner).collect()
    }

    /// The claim at a place, or the reason why it is decided at the end.
    fn claim(
        &self,
        (at, set, group): (usize, usize, &Option<Value>),
        (metric, bound, threshold): (usize, BoundKind, karat_types::Threshold),
        place: &Place,
    ) -> Result<FollowedClaim, String> {
        let followed = &self.gates[at];
        let gate = self.gate(followed);
        let systems = &followed.sets[set];
        let population = self.populations.at(place);
        let mut size = threshold.value;
        if bound.is_change() {
            let partners = self.partners(gate, systems)?;
            let is_pinned = partners.iter().all(|(_, partner)| matches!(partner, Partner::Pinned(..)));
            let pinned = self.populations.pinned.get(&(place.clone(), metric)).copied().unwrap_or_default();
            if is_pinned && pinned.n * 2 < population.samples() {
                return Err("what it compares with has fewer than half of its samples".to_owned());
            }
            if threshold.percent {
                let reference = (is_pinned && pinned.n > 0).then(|| pinned.sum / pinned.n as f64);
                let of = threshold.from_figure(reference);
                size = of.ok_or("its percentage is of a figure that is known at the end only")?;
            }
        }
        let spec = self.plan.metrics.get(metric).ok_or("its metric is unknown")?;
        let scale = match percentile(&spec.aggregate) {
            Some(share) => Scale::WithinBound(share),
            None => {
                let (lo, hi) = spec.range.ok_or("its metric has no range")?;
                Scale::Scores(lo, hi)
            }
        };
        let trials = |system: &usize| self.plan.systems.get(*system).map_or(1, |it| u64::from(it.trials));
        Ok(FollowedClaim {
            gate: at,
            set,
            group: group.clone(),
            metric,
            bound,
            written: threshold.value,
            size,
            scale,
            planned: population.samples() * systems.iter().map(trials).sum::<u64>(),
            units: population.units(),
            largest: population.largest(),
            n: 0,
            missing: Default::default(),
            lacking: Default::default(),
            last: None,
            why: None,
        })
    }

    fn span_of(&self, at: usize, set: usize, group: &Option<Value>) -> StopSpan {
        let followed = &self.gates[at];
        let gate = self.gate(followed);
        let systems = followed.sets[set].clone();
        let partners = self.partners(gate, &systems).unwrap_or_default();
        let others = partners.into_iter().filter_map(|(_, partner)| match partner {
            Partner::System(other) => Some(other),
            Partner::Pinned(..) => None,
        });
        StopSpan {
            partners: others.collect::<BTreeSet<_>>().into_iter().collect(),
            systems,
            condition: gate.condition.clone(),
            group: group.as_ref().map(|value| (gate.per.clone(), value.clone())),
            last: None,
        }
    }

    /// The places of all claims, in an order that does not depend on that of the rows.
    fn places(&self) -> Vec<(usize, usize, Option<Value>, Place)> {
        let mut places = Vec::new();
        for (at, followed) in self.gates.iter().enumerate() {
            for set in 0..followed.sets.len() {
                if followed.is_whole() {
                    places.push((at, set, None, (at, set, String::new())));
                    continue;
                }
                let here = self.populations.some.keys().filter(|(gate, of, _)| (*gate, *of) == (at, set));
                places.extend(here.map(|place| (at, set, serde_json::from_str(&place.2).ok(), place.clone())));
            }
        }
        places
    }

    fn begin(&self) -> Result<Course, String> {
        let mut open = open_gates(&self.plan, &self.rules);
        let mut purposes = Vec::new();
        let mut claims = Vec::new();
        let mut ends: Vec<StopSpan> = Vec::new();
        for gate in open.iter().filter_map(|open| self.rules.gates.iter().find(|gate| gate.id == open.gate)) {
            let (systems, partners) = ((0..self.plan.systems.len()).collect(), Vec::new());
            let whole = StopSpan { systems, partners, condition: None, group: None, last: None };
            let systems = system_sets(&self.plan, gate).into_iter().flatten().collect::<Vec<_>>();
            let is_of_systems = gate.against.is_none() && matches!(gate.subject, karat_types::Subject::Metric(_));
            ends.push(if is_of_systems { StopSpan { systems, ..whole } } else { whole });
        }
        for (at, set, group, place) in self.places() {
            let followed = &self.gates[at];
            for metric in &followed.metrics {
                for (bound, threshold) in &followed.bounds {
                    let span = self.span_of(at, set, &group);
                    match self.claim((at, set, &group), (*metric, *bound, *threshold), &place) {
                        Ok(claim) if claim.units == 0 => {}
                        Ok(claim) => {
                            purposes.push((PurposeKind::Claim(claims.len()), span));
                            claims.push(claim);
                        }
                        Err(why) => {
                            let found = OpenGate { gate: self.gate(followed).id.clone(), why };
                            if !open.contains(&found) {
                                open.push(found);
                            }
                            ends.push(span);
                        }
                    }
                }
            }
        }
        purposes.extend(ends.into_iter().map(|span| (PurposeKind::End, span)));
        let alone = |system: usize| {
            let (systems, partners) = (vec![system], Vec::new());
            StopSpan { systems, partners, condition: None, group: None, last: None }
        };
        let all = 0..self.plan.systems.len();
        let limits = (self.min_units(), self.alpha());
        let race = self.spec.race.as_ref();
        let race = race.map(|name| FollowedRace::of(&self.plan, name, &self.populations.all, limits)).transpose()?;
        if race.is_some() {
            purposes.extend(all.clone().map(|system| (PurposeKind::Race(system), alone(system))));
        }
        let named: BTreeSet<usize> =
            purposes.iter().flat_map(|(_, span)| span.systems.iter().chain(&span.partners).copied()).collect();
        let company: Vec<usize> = all.filter(|system| !named.contains(system)).collect();
        if !company.is_empty() {
            // Nothing to decide: such a run goes to its end.
            let kind = if purposes.is_empty() { PurposeKind::End } else { PurposeKind::UngatedSystem };
            purposes.push((kind, StopSpan { systems: company, ..alone(0) }));
        }
        let specs: Vec<_> = claims
            .iter()
            .map(|claim: &FollowedClaim| {
                let basis = match self.gate(&self.gates[claim.gate]).decide {
                    GateBasis::Point => Basis::Dataset,
                    GateBasis::Interval => Basis::Population,
                };
                claim.spec(basis, self.spec.rule, self.alpha())
            })
            .collect();
        let correction = match self.rules.policy.correction {
            Correction::Holm => StepRule::Holm,
            Correction::Bh => StepRule::BenjaminiHochberg,
            Correction::None => StepRule::Alone,
        };
        let statistics = Claims::new(&specs, self.alpha(), correction, self.min_units())
            .map_err(|error| format!("`run.stop_early`: {error}"))?;
        let compiled = purposes.into_iter().map(|(kind, span)| {
            Ok::<_, String>(Purpose { kind, compiled: CellSpan::compile(&self.plan, &span)?, span })
        });
        Ok(Course {
            claims,
            statistics,
            race,
            open,
            purposes: compiled.collect::<Result<_, _>>()?,
            failed: vec![0; self.plan.systems.len()],
            units: 0,
            samples: 0,
            stopped: None,
        })
    }

    /// Adds a unit's scores to the claims that are open, and decides.
    fn add_scores(&self, course: &mut Course, unit: Key, scores: &UnitScores) -> Result<(), String> {
        for (failed, counts) in course.failed.iter_mut().zip(&scores.counts) {
            *failed += counts.errors + counts.unjudged;
        }
        // By id, so that sums do not depend on the order of rows.
        let mut samples: Vec<(usize, &SampleRecord)> = scores.samples.iter().enumerate().collect();
        samples.sort_by(|(_, one), (_, other)| one.id.cmp(&other.id));
        let mut missing = vec![MissingScores::Few; course.claims.len()];
        for (at, claim) in course.claims.iter_mut().enumerate() {
            if course.statistics.decisions()[at].is_some() {
                continue;
            }
            let followed = &self.gates[claim.gate];
            let gate = self.gate(followed);
            let systems = &followed.sets[claim.set];
            let partners =
                if claim.bound.is_change() { self.partners(gate, systems).unwrap_or_default() } else { Vec::new() };
            let (mut sum, mut n, mut is_in_unit) = (0.0, 0, false);
            for (sample, record) in samples.iter().copied() {
                if claim.group.is_some() && followed.group(gate, record)? != claim.group {
                    continue;
                }
                let mut here = Vec::with_capacity(systems.len());
                for system in systems {
                    if followed.holds(&self.plan, record, *system)? {
                        here.push(*system);
                    }
                }
                if here.is_empty() {
                    continue;
                }
                is_in_unit = true;
                let found = match claim.bound.is_change() {
                    false => scores.figure(claim.metric, sample, &here),
                    true => {
                        let partners = partners.iter().filter(|(system, _)| here.contains(system));
                        scores.change(claim.metric, sample, &partners.cloned().collect::<Vec<_>>())
                    }
                };
                claim.missing.add(found.missing);
                claim.lacking.add(found.lacking);
                if let Some(value) = found.value {
                    (sum, n) = (sum + claim.scale_score(value).clamp(0.0, 1.0), n + 1);
                }
            }
            if is_in_unit {
                claim.n += n;
                course.statistics.add(at, sum, n).map_err(|error| format!("`run.stop_early`: {error}"))?;
            }
            let over = systems.iter().find_map(|system| self.exit_is_certain(&course.failed, *system));
            claim.why = claim.why.take().or(over);
            missing[at] = claim.missing_scores(self.rules.policy.max_unscored);
        }
        course.statistics.look(&missing);
        for (claim, decision) in course.claims.iter_mut().zip(course.statistics.decisions()) {
            if decision.is_some() {
                claim.last.get_or_insert(unit);
            }
        }
        if let Some(race) = &mut course.race {
            race.add(unit, scores)?;
        }
        Ok(())
    }

    /// The reason why the run fails because of a system's failed cells, whatever comes.
    fn exit_is_certain(&self, failed: &[u64], system: usize) -> Option<String> {
        let failed = failed.get(system).copied().filter(|failed| *failed > 0)?;
        let trials = self.plan.systems.get(system).map_or(1, |it| u64::from(it.trials));
        let planned = self.populations.all.samples() * trials;
        let limit = self.rules.policy.max_errors;
        (failed as f64 > limit * planned as f64).then(|| {
            format!(
                "{failed} of the {planned} planned cells of {} failed, and the policy allows {:.1} %, so the run fails",
                system_id(&self.plan, system),
                limit * 100.0
            )
        })
    }

    fn stopped_claim(&self, course: &Course, at: usize) -> Option<StoppedClaim> {
        let (claim, statistics) = (course.claims.get(at)?, course.statistics.claims().get(at)?);
        let decision = course.statistics.decisions().get(at)?;
        let followed = &self.gates[claim.gate];
        let gate = self.gate(followed);
        let units = decision.map_or(statistics.units(), |decision| decision.units);
        let ends = course.statistics.ends(at)?;
        let (verdict, by) = match decision {
            // The figures of all units give the verdict.
            Some(decision) if units == claim.units && decision.verdict != ClaimVerdict::Undecided => {
                (None, DecidedBy::End)
            }
            None => (None, DecidedBy::End),
            Some(decision) => {
                let verdict = match decision.verdict {
                    ClaimVerdict::Pass => EarlyVerdict::Pass,
                    ClaimVerdict::Fail => EarlyVerdict::Fail,
                    ClaimVerdict::Undecided => EarlyVerdict::Undecided,
                };
                let by = match decision.by {
                    Evidence::Certain => DecidedBy::Certain,
                    Evidence::Bound => DecidedBy::Bound,
                };
                (Some(verdict), by)
            }
        };
        let systems = &followed.sets[claim.set];
        Some(StoppedClaim {
            gate: gate.id.clone(),
            metric: self.plan.metrics.get(claim.metric)?.name.clone(),
            bound: claim.bound.name().to_owned(),
            threshold: claim.written,
            share: claim.share(),
            system: (gate.per != "run").then(|| systems.first().map(|system| system_id(&self.plan, *system))).flatten(),
            group: claim.group.as_ref().map(|value| (gate.per.clone(), value.clone())),
            verdict,
            by,
            units,
            population: claim.units,
            n: claim.n,
            mean: statistics.mean().map(|mean| claim.in_unit(mean)),
            p_pass: decision.map_or(statistics.p_pass(), |decision| decision.p_pass),
            p_fail: decision.map_or(statistics.p_fail(), |decision| decision.p_fail),
            lower: claim.in_unit(ends.lower),
            upper: claim.in_unit(ends.upper),
            level: self.rules.policy.confidence,
            why: claim.why.clone().filter(|_| verdict == Some(EarlyVerdict::Undecided)),
        })
    }
}

impl Course {
    fn is_open(&self, purpose: &Purpose) -> bool {
        match purpose.kind {
            PurposeKind::Claim(at) => self.claims.get(at).is_some_and(|claim| claim.last.is_none()),
            PurposeKind::End => true,
            PurposeKind::Race(system) => self.race.as_ref().is_some_and(|race| race.is_open(system)),
            PurposeKind::UngatedSystem => self.stopped.is_none(),
        }
    }

    fn last(&self, purpose: &Purpose, stop: Option<Key>) -> Option<Key> {
        match purpose.kind {
            PurposeKind::Claim(at) => self.claims.get(at)?.last,
            PurposeKind::End => None,
            PurposeKind::Race(system) => self.race.as_ref()?.last.get(system).copied().flatten(),
            PurposeKind::UngatedSystem => stop,
        }
    }
}

impl StopRule for EarlyStop {
    fn add_row(&mut self, sample: &SampleRecord) -> Result<(), String> {
        let cluster = self.plan.dataset.clustered.then(|| unit_key(self.plan.run.seed, sample.unit()));
        self.populations.all.add(cluster);
        for (at, followed) in self.gates.iter().enumerate() {
            let gate = &self.rules.gates[followed.gate];
            let group = followed.group(gate, sample)?;
            for (set, systems) in followed.sets.iter().enumerate() {
                let mut is_in = false;
                for system in systems {
                    is_in |= followed.holds(&self.plan, sample, *system)?;
                }
                if !is_in {
                    continue;
                }
                let place = (at, set, group.as_ref().map(Value::to_string).unwrap_or_default());
                if followed.bounds.iter().any(|(bound, _)| bound.is_change()) {
                    for (metric, values) in pinned_values(&self.plan, &self.references, gate, followed, systems, sample)
                    {
                        let scores = self.populations.pinned.entry((place.clone(), metric)).or_default();
                        scores.sum += values;
                        scores.n += 1;
                    }
                }
                if !followed.is_whole() {
                    self.populations.some.entry(place).or_default().add(cluster);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), String> {
        self.course = Some(self.begin()?);
        Ok(())
    }

    fn purposes(&self, sample: &SampleRecord) -> Result<Vec<Vec<u32>>, String> {
        let mut by_system = vec![Vec::new(); self.plan.systems.len()];
        let purposes = self.course.iter().flat_map(|course| &course.purposes).enumerate();
        for (at, purpose) in purposes {
            for (system, found) in by_system.iter_mut().enumerate() {
                if purpose.compiled.covers(&self.plan, sample, system)? {
                    found.push(at as u32);
                }
            }
        }
        Ok(by_system)
    }

    fn is_open(&self, purpose: u32) -> bool {
        let Some(course) = &self.course else { return true };
        course.purposes.get(purpose as usize).is_some_and(|purpose| course.is_open(purpose))
    }

    fn add_unit(&mut self, unit: Key, rows: &dyn RunRows, ordinals: &[Range<u64>]) -> Result<(), RowError> {
        let Some(mut course) = self.course.take() else { return Ok(()) };
        let is_needed = |sample: &SampleRecord, system: usize| {
            let mut open = course.purposes.iter().filter(|purpose| course.is_open(purpose));
            open.any(|purpose| purpose.compiled.covers(&self.plan, sample, system).unwrap_or(true))
        };
        let scores = UnitScores::read(&self.plan, rows, ordinals, is_needed);
        course.units += 1;
        course.samples += ordinals.len() as u64;
        let added = scores.and_then(|scores| self.add_scores(&mut course, unit, &scores).map_err(RowError));
        let only_ungated = |purpose: &Purpose| purpose.kind == PurposeKind::UngatedSystem || !course.is_open(purpose);
        if course.stopped.is_none() && course.purposes.iter().all(only_ungated) {
            course.stopped = Some((course.units, course.samples));
            for purpose in &mut course.purposes {
                if purpose.kind == PurposeKind::UngatedSystem {
                    purpose.span.last = Some(unit);
                }
            }
        }
        self.course = Some(course);
        added
    }

    fn is_decided(&self) -> bool {
        self.course.as_ref().is_some_and(|course| course.stopped.is_some())
    }

    fn record(&self) -> StopRecord {
        let all = &self.populations.all;
        let mut record = StopRecord {
            schema: STOP_SCHEMA.to_owned(),
            rule: self.spec.rule,
            min: self.min_units(),
            seed: self.plan.run.seed,
            alpha: self.alpha(),
            clustered: self.plan.dataset.clustered,
            units: all.units(),
            samples: all.samples(),
            stopped_after: 0,
            stopped_after_samples: 0,
            open: Vec::new(),
            claims: Vec::new(),
            race: Vec::new(),
            spans: Vec::new(),
        };
        let Some(course) = &self.course else { return record };
        (record.stopped_after, record.stopped_after_samples) = course.stopped.unwrap_or((course.units, course.samples));
        record.open.clone_from(&course.open);
        record.claims = (0..course.claims.len()).filter_map(|at| self.stopped_claim(course, at)).collect();
        record.race = course.race.as_ref().map(|race| race.drops(&self.plan)).unwrap_or_default();
        let span =
            |purpose: &Purpose| StopSpan { last: course.last(purpose, purpose.span.last), ..purpose.span.clone() };
        record.spans = course.purposes.iter().map(span).collect();
        record
    }
}

/// The pinned scores of a sample by metric: the mean over the systems that have one.
fn pinned_values(
    plan: &PlanHeader,
    references: &References,
    gate: &Gate,
    followed: &FollowedGate,
    systems: &[usize],
    sample: &SampleRecord,
) -> Vec<(usize, f64)> {
    let value = |metric: usize| {
        let name = &plan.metrics.get(metric)?.name;
        let values = systems.iter().filter_map(|system| match find_partner(plan, references, gate, *system).ok()? {
            Partner::Pinned(pinned, at) => pinned.value(at, name, &sample.id),
            Partner::System(_) => None,
        });
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| (metric, values.iter().sum::<f64>() / values.len() as f64))
    };
    followed.metrics.iter().filter_map(|metric| value(*metric)).collect()
}
