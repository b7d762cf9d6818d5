//! A scorer's cascade, compiled: the cells that its judges are asked about.
//!
//! A cell is *unsure* if the first scorer gave no score, or by the cascade's rule; the judges are always asked about it. Of
//! the others each is drawn with probability π by a hash of its id, so that a rerun asks about the same cells.

use karat_text::template::{Context, Expression};
use karat_types::{
    AskedJudge, Bound, CascadeDraw, CascadeSpec, CellError, JudgeRound, Key, KeyBuilder, PlanHeader, Sample, Score,
    ScorerKind, UnsureRule, seeded_uniform,
};
use serde_json::{Map, Value};

use crate::EngineError;

/// A first score within this share of the range from a bound is unsure.
const NEAR: f64 = 0.1;

/// A pass, where the first scorer has no bound, is the better half of the range.
const MIDDLE: f64 = 0.5;

/// The reason of the scores that a judge who was not asked does not give.
pub(crate) const NOT_ASKED: &str =
    "the judge was not asked: the cascade's first score is sure, and the cell was not drawn";

/// The cascade of one scorer.
pub(crate) struct ReadyCascade {
    /// Index of the first scorer.
    pub first: u16,
    dimensions: Vec<FirstDimension>,
    unsure: Unsure,
    /// Metrics of the plan's deterministic checks.
    checks: Vec<(u16, Bound)>,
    /// π by system.
    pi: Vec<f64>,
    /// Share of the cells of a system that were unsure in the suite's last run; `None` without one.
    unsure_share: Vec<Option<f64>>,
    /// Name of each system in the ids of its cells.
    systems: Vec<String>,
    seed: u64,
}

/// A metric of the first scorer that stands for one of the judges'.
struct FirstDimension {
    /// The part of its name after the scorer's id; empty if it is the scorer's only one.
    name: String,
    metric: u16,
    range: Option<(f64, f64)>,
    /// True if a low score is good.
    lower: bool,
    bound: Bound,
}

enum Unsure {
    Standard,
    Never,
    Where(Expression),
}

/// The scores of the first scorer for a cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstScores {
    /// Scores by metric index: those of its judges one after the other, or the cell's own.
    pub scores: Vec<(u16, Score)>,
    /// The rounds of its judges.
    pub rounds: Vec<JudgeRound>,
}

/// A place in the plan, as a cascade names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CascadePlace<'a> {
    pub sample: &'a Sample,
    pub system: usize,
    pub trial: u32,
}

impl ReadyCascade {
    /// The cascade of a scorer, if it has one.
    ///
    /// # Errors
    /// The first scorer is not in the plan, or the condition cannot be compiled.
    pub fn of(plan: &PlanHeader, scorer: usize) -> Result<Option<Self>, EngineError> {
        let Some((dear, spec)) = plan.scorers.get(scorer).and_then(|it| Some((it, it.cascade.as_ref()?))) else {
            return Ok(None);
        };
        let wrong = |what: String| EngineError::Plan(format!("scorer `{}`: {what}", dear.id));
        let first = plan.scorers.iter().position(|it| it.id == spec.first);
        let first =
            first.ok_or_else(|| wrong(format!("the scorer `{}`, which goes first, is not in the plan", spec.first)))?;
        let own = plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == scorer);
        let dimensions = own.filter_map(|(at, own)| {
            let metric = plan.first_metric(at)?;
            let found = plan.metrics.get(metric)?;
            let name = own.name.strip_prefix(&dear.id).unwrap_or_default().trim_start_matches('.').to_owned();
            let lower = found.better == karat_types::Better::Lower;
            let range = scale_of(plan, scorer, &name).or(found.range);
            Some(FirstDimension { name, metric: metric as u16, range, lower, bound: own.bound })
        });
        let unsure = match &spec.unsure {
            UnsureRule::Standard => Unsure::Standard,
            UnsureRule::Never => Unsure::Never,
            UnsureRule::Where(text) => {
                Unsure::Where(Expression::compile(text).map_err(|error| wrong(format!("`unsure`: {error}")))?)
            }
        };
        let is_metric = |at: usize| plan.scorers.get(at).is_some_and(|it| matches!(it.kind, ScorerKind::Metric { .. }));
        let checks =
            plan.metrics.iter().enumerate().filter(|(_, it)| it.binary && it.scorer != first && is_metric(it.scorer));
        let cells = |system: &karat_types::System| plan.dataset.rows * u64::from(system.trials);
        let pi = plan.systems.iter().enumerate().map(|(at, system)| spec.probability(at, cells(system)));
        Ok(Some(Self {
            first: first as u16,
            dimensions: dimensions.collect(),
            unsure,
            checks: checks.map(|(at, metric)| (at as u16, metric.bound)).collect(),
            pi: pi.collect(),
            unsure_share: (0..plan.systems.len()).map(|at| unsure_share(spec, at)).collect(),
            systems: (0..plan.systems.len()).map(|at| system_name(plan, at)).collect(),
            seed: plan.run.seed,
        }))
    }

    /// The draw of a cell, given the first scores and the cell's own.
    pub fn draw(
        &self,
        place: CascadePlace<'_>,
        first: &FirstScores,
        own: &[(u16, Score)],
    ) -> Result<CascadeDraw, CellError> {
        let is_unsure = self.is_unsure(place.sample, first, own)?;
        let asked = match is_unsure {
            true => AskedJudge::Unsure,
            false if self.is_drawn(place) => AskedJudge::Drawn,
            false => AskedJudge::No,
        };
        Ok(CascadeDraw { asked, pi: self.probability(place.system) })
    }

    fn probability(&self, system: usize) -> f64 {
        self.pi.get(system).copied().unwrap_or(1.0)
    }

    /// Returns whether a cell is drawn if it is sure.
    fn is_drawn(&self, place: CascadePlace<'_>) -> bool {
        seeded_uniform("karat.cascade/1", self.seed, &self.cell_id(place)) < self.probability(place.system)
    }

    /// Returns whether the judges are expected to be asked about a cell before its first score is known: it is drawn, or
    /// belongs to as large a share as was unsure in the last run. `None` if only the first score can tell.
    pub fn expects(&self, place: CascadePlace<'_>) -> Option<bool> {
        if self.is_drawn(place) {
            return Some(true);
        }
        let share = self.unsure_share.get(place.system).copied().flatten()?;
        Some(seeded_uniform("karat.cascade.expected/1", self.seed, &self.cell_id(place)) < share)
    }

    fn cell_id(&self, place: CascadePlace<'_>) -> Vec<u8> {
        let system = self.systems.get(place.system).map_or("", String::as_str);
        [place.sample.id.as_bytes(), &[0], system.as_bytes(), &[0], place.trial.to_string().as_bytes()].concat()
    }

    fn is_unsure(&self, sample: &Sample, first: &FirstScores, own: &[(u16, Score)]) -> Result<bool, CellError> {
        let values: Vec<Option<f64>> = self.dimensions.iter().map(|it| first.value(it.metric)).collect();
        if values.iter().any(Option::is_none) {
            return Ok(true);
        }
        let known: Vec<(&FirstDimension, f64)> =
            self.dimensions.iter().zip(&values).filter_map(|(dimension, value)| Some((dimension, (*value)?))).collect();
        match &self.unsure {
            Unsure::Never => Ok(false),
            Unsure::Where(expression) => {
                let context = Context::new().with("first", &first_value(&known)).with("sample", &columns(sample));
                expression
                    .is_true(&context)
                    .map_err(|error| CellError::new("template", format!("cannot evaluate `cascade.unsure`: {error}")))
            }
            Unsure::Standard => {
                let holds = self.checks_hold(own);
                let contradicts = |(dimension, value): &(&FirstDimension, f64)| {
                    holds.zip(dimension.passes(*value)).is_some_and(|(holds, passes)| holds != passes)
                };
                Ok(first.votes_differ()
                    || known.iter().any(|(dimension, value)| dimension.is_near_bound(*value))
                    || known.iter().any(contradicts))
            }
        }
    }

    /// Returns whether all checks of the cell hold; `None` where it has none with a score.
    fn checks_hold(&self, own: &[(u16, Score)]) -> Option<bool> {
        let of = |metric: u16| own.iter().find(|(at, _)| *at == metric).and_then(|(_, score)| score.number());
        let mut held = self.checks.iter().filter_map(|(metric, bound)| {
            let value = of(*metric)?;
            Some(if bound.is_some() { bound.passes(value) } else { value >= 1.0 })
        });
        let first = held.next()?;
        Some(first && held.all(|it| it))
    }
}

impl FirstScores {
    /// The mean of the judges' scores of a metric; `None` where one of them has none.
    fn value(&self, metric: u16) -> Option<f64> {
        let scores: Vec<Option<f64>> =
            self.scores.iter().filter(|(at, _)| *at == metric).map(|(_, score)| score.number()).collect();
        let sum: Option<f64> = scores.iter().copied().sum();
        sum.filter(|_| !scores.is_empty()).map(|sum| sum / scores.len() as f64)
    }

    /// Returns whether the votes of a judge, or its judges, differ in any metric.
    fn votes_differ(&self) -> bool {
        let said = self.rounds.iter().flat_map(|round| &round.scores).copied();
        let judged = self.scores.iter().filter_map(|(at, score)| Some((*at, score.number()?)));
        let differ = |values: Vec<(u16, f64)>| {
            values.iter().any(|(at, value)| values.iter().any(|(other, it)| other == at && (it - value).abs() > 1e-9))
        };
        differ(said.collect()) || differ(judged.collect())
    }
}

impl FirstDimension {
    /// Returns whether a score is near a bound.
    fn is_near_bound(&self, value: f64) -> bool {
        let Some((lo, hi)) = self.range else { return false };
        let bounds = [self.bound.min, self.bound.max];
        bounds.into_iter().flatten().any(|bound| (value - bound).abs() <= NEAR * (hi - lo) + 1e-9)
    }

    /// Returns whether a score passes; `None` without a bound and a range.
    fn passes(&self, value: f64) -> Option<bool> {
        if self.bound.is_some() {
            return Some(self.bound.passes(value));
        }
        let (lo, hi) = self.range?;
        let share = (value - lo) / (hi - lo);
        Some(if self.lower { 1.0 - share >= MIDDLE } else { share >= MIDDLE })
    }
}

/// The scale of a rubric's dimension or composite: a bound makes the metric pass/fail, but the judges' scores are not.
fn scale_of(plan: &PlanHeader, scorer: usize, dimension: &str) -> Option<(f64, f64)> {
    let ScorerKind::Rubric(rubric) = &plan.scorers.get(scorer)?.kind else { return None };
    let dimensions = &rubric.rubric.dimensions;
    let found = match dimension {
        "" => dimensions.first(),
        name => dimensions.iter().find(|it| it.name == name),
    };
    let bounds = || dimensions.iter().map(|it| it.scale.bounds());
    let all = || bounds().reduce(|(lo, hi), (least, most)| (lo.min(least), hi.max(most)));
    found.map(|it| it.scale.bounds()).or_else(all)
}

/// The first scores as the condition reads them: a number, or an object by dimension.
fn first_value(known: &[(&FirstDimension, f64)]) -> Value {
    match known {
        [(_, only)] => Value::from(*only),
        several => Value::Object(several.iter().map(|(it, value)| (it.name.clone(), Value::from(*value))).collect()),
    }
}

fn columns(sample: &Sample) -> Value {
    let mut columns: Map<String, Value> = sample.columns.clone();
    columns.entry("id").or_insert_with(|| Value::from(&*sample.id));
    Value::Object(columns)
}

fn system_name(plan: &PlanHeader, system: usize) -> String {
    let variant = plan.system_variant(system);
    plan.system_model(system).map_or_else(|| variant.to_owned(), |model| format!("{}/{variant}", model.id))
}

fn unsure_share(spec: &CascadeSpec, system: usize) -> Option<f64> {
    spec.sure.get(system).map(|sure| (1.0 - sure).clamp(0.0, 1.0))
}

/// The key of the record of a judge who was not asked: no judgment has it, so none is found for one.
pub(crate) fn not_asked_key(judgment: Key) -> Key {
    KeyBuilder::new("karat/not-asked/1").key(judgment).finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A cascade of one metric, 1, on a scale from 0 to 10 with a bound, before a check, 0.
    fn cascade(unsure: Unsure, bound: Bound) -> ReadyCascade {
        ReadyCascade {
            first: 1,
            dimensions: vec![FirstDimension {
                name: String::new(),
                metric: 1,
                range: Some((0.0, 10.0)),
                lower: false,
                bound,
            }],
            unsure,
            checks: vec![(0, Bound::default())],
            pi: vec![0.2],
            unsure_share: vec![None],
            systems: vec!["m/v".to_owned()],
            seed: 7,
        }
    }

    fn sample(id: &str) -> Sample {
        let columns = json!({ "kind": "hard" });
        Sample {
            row: 0,
            id: id.into(),
            input: None,
            reference: None,
            cluster: None,
            date: None,
            columns: columns.as_object().unwrap().clone(),
            metadata: Map::new(),
            only: None,
        }
    }

    fn first(scores: &[f64]) -> FirstScores {
        FirstScores { scores: scores.iter().map(|score| (1, Score::value(*score))).collect(), rounds: Vec::new() }
    }

    fn is_unsure(cascade: &ReadyCascade, first: &FirstScores, check: Option<f64>) -> bool {
        let own: Vec<(u16, Score)> = check.map(|value| (0, Score::value(value))).into_iter().collect();
        cascade.is_unsure(&sample("a"), first, &own).unwrap()
    }

    /// SL-20: by default a cell is unsure without a first score, where judges or votes differ, near a bound, and where the
    /// checks say otherwise.
    #[test]
    fn the_standard_rule_of_unsure_cells() {
        let at_seven = Bound { min: Some(7.0), ..Bound::default() };
        let bounded = cascade(Unsure::Standard, at_seven);
        let near: Vec<bool> = [5.9, 6.0, 7.9, 8.0, 8.1].map(|score| is_unsure(&bounded, &first(&[score]), None)).into();
        assert_eq!(near, [false, true, true, true, false]);
        let plain = cascade(Unsure::Standard, Bound::default());
        assert!(is_unsure(&plain, &FirstScores::default(), None), "no first score");
        let failed = FirstScores { scores: vec![(1, Score::unscored("no JSON"))], rounds: Vec::new() };
        assert!(is_unsure(&plain, &failed, None));
        assert!(is_unsure(&plain, &first(&[8.0, 9.0]), None) && !is_unsure(&plain, &first(&[8.0, 8.0]), None));
        let round = |value| JudgeRound { scores: vec![(1, value)], ..JudgeRound::default() };
        let voted = |votes: [f64; 2]| FirstScores { rounds: votes.map(round).into(), ..first(&[8.0]) };
        assert!(is_unsure(&plain, &voted([8.0, 7.0]), None) && !is_unsure(&plain, &voted([8.0, 8.0]), None));
        let against: Vec<bool> = [(8.0, 1.0), (8.0, 0.0), (2.0, 0.0), (2.0, 1.0)]
            .map(|(score, check)| is_unsure(&plain, &first(&[score]), Some(check)))
            .into();
        assert_eq!(against, [false, true, false, true]);
    }

    /// SL-20: the suite's own condition, and none: a cell without a first score is unsure by any of them.
    #[test]
    fn conditions_of_unsure_cells() {
        let never = cascade(Unsure::Never, Bound::default());
        assert!(!is_unsure(&never, &first(&[5.0]), Some(1.0)) && is_unsure(&never, &FirstScores::default(), None));
        let own = |text: &str| cascade(Unsure::Where(Expression::compile(text).unwrap()), Bound::default());
        assert!(
            is_unsure(&own("first < 6"), &first(&[5.0]), None) && !is_unsure(&own("first < 5"), &first(&[5.0]), None)
        );
        assert!(is_unsure(&own("sample.kind == 'hard' and sample.id == 'a'"), &first(&[5.0]), None));
        let wrong =
            own("first.tone < 3").draw(CascadePlace { sample: &sample("a"), system: 0, trial: 0 }, &first(&[5.0]), &[]);
        assert!(wrong.unwrap_err().message.contains("cannot evaluate `cascade.unsure`"));
    }

    /// SL-20: draws depend on seed, sample, system and trial alone, and about π of the cells are drawn.
    #[test]
    fn draws_are_fixed_by_seed_and_cell() {
        let cascade = cascade(Unsure::Never, Bound::default());
        let drawn = |cascade: &ReadyCascade, trial: u32| -> Vec<bool> {
            (0..2_000)
                .map(|at| cascade.is_drawn(CascadePlace { sample: &sample(&format!("s{at}")), system: 0, trial }))
                .collect()
        };
        let (one, again) = (drawn(&cascade, 0), drawn(&cascade, 0));
        assert_eq!(one, again);
        let share = one.iter().filter(|it| **it).count() as f64 / 2_000.0;
        assert!((share - 0.2).abs() < 0.03, "{share}");
        assert_ne!(one, drawn(&cascade, 1));
        let other = ReadyCascade { seed: 8, ..self::cascade(Unsure::Never, Bound::default()) };
        assert_ne!(one, drawn(&other, 0));
        // A higher probability draws the same cells and more.
        let more = ReadyCascade { pi: vec![0.4], ..self::cascade(Unsure::Never, Bound::default()) };
        assert!(one.iter().zip(drawn(&more, 0)).all(|(few, many)| many || !few));
    }
}
