//! Agreement of people, by question. The coefficients are those of `karat-stats`.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use karat_stats::agreement::{
    Contingency, CountTable, MarkedSpan, MarkedText, Measurement, Ratings, Weighting, cohen_kappa, gwet_ac,
    krippendorff_alpha, score_indices, span_agreement,
};
use karat_stats::bootstrap::{Resampling, bootstrap_indices};
use karat_stats::interval::{Interval, Level};
use karat_stats::numeric::seed::Seed;
use serde::Serialize;
use serde_json::{Value, json};

use super::settle::in_order;
use crate::AppError;
use crate::error::AnnotateError;
use crate::stored::Stored;
use crate::stored::labels::answers::{PAIR_ANSWERS, spans};
use crate::stored::labels::question::{MeasurementLevel, Question, QuestionKind};
use crate::stored::labels::state::TaskState;
use crate::stored::labels::task::LoadedTask;

/// Items with two labels below which there is only their number.
const LEAST_ITEMS: usize = 10;

/// Resamples of an interval.
const RESAMPLES: usize = 1_000;

/// Share of one answer above which kappa misleads.
const MOST_OF_ONE: f64 = 0.8;

/// The answers of two people and more to a question about one item: numbers by person.
type Rated = BTreeMap<String, f64>;

/// The resampling of items.
pub(crate) fn resampling() -> Resampling {
    Resampling { resamples: RESAMPLES, seed: Seed(1), threads: NonZeroUsize::MIN }
}

/// A value with its number of items, its 95 % interval and its method.
pub(crate) fn figure(value: f64, n: usize, interval: Option<Interval>, method: &str) -> Value {
    let ci = interval.map(|interval| json!([interval.lo, interval.hi]));
    let method = if ci.is_some() { format!("{method}, percentile bootstrap of items") } else { method.to_owned() };
    json!({ "value": value, "n": n, "ci": ci, "method": method })
}

/// The agreement on every question. Gold items are left out, since their answers are known.
pub(crate) fn agreement(task: &LoadedTask, state: &TaskState) -> Value {
    let questions = task.body.questions.iter().map(|question| of_question(task, state, question));
    let excluded: BTreeMap<&String, &String> = state.excluded.iter().collect();
    json!({
        "task": task.stored.name, "version": task.stored.version,
        "questions": questions.collect::<Vec<_>>(), "excluded": excluded,
    })
}

fn of_question(task: &LoadedTask, state: &TaskState, question: &Question) -> Value {
    let positions = (0..task.items.len()).filter(|at| task.items.get(*at).is_some_and(|item| item.gold.is_none()));
    let answers = positions.map(|position| {
        let labels = state.labels(position);
        let answers =
            labels.filter_map(|(person, label)| Some((person.clone(), label.body.answers.get(&question.id)?)));
        (position, answers.collect::<BTreeMap<String, &Value>>())
    });
    let answers: Vec<(usize, BTreeMap<String, &Value>)> = answers.filter(|(_, answers)| answers.len() > 1).collect();
    let mut found = json!({
        "question": question.id, "kind": question.kind, "measurement": question.level(), "items": answers.len(),
    });
    if question.kind == QuestionKind::Text {
        found["note"] = "free text has no agreement".into();
    } else if answers.len() < LEAST_ITEMS {
        found["note"] = format!("figures need {LEAST_ITEMS} items with two labels").into();
    } else if question.kind == QuestionKind::Spans {
        add_spans(&mut found, task, question, &answers);
    } else {
        add_coefficients(&mut found, question, &answers);
    }
    found
}

fn add_coefficients(found: &mut Value, question: &Question, answers: &[(usize, BTreeMap<String, &Value>)]) {
    let (rated, steps) = rate(question, answers);
    let n = rated.len();
    let (measurement, name) = match question.level() {
        MeasurementLevel::Nominal => (Measurement::Nominal, "Krippendorff's alpha (nominal)"),
        MeasurementLevel::Ordinal => (Measurement::Ordinal, "Krippendorff's alpha (ordinal)"),
        MeasurementLevel::Interval => (Measurement::Interval, "Krippendorff's alpha (interval)"),
    };
    let alpha = |drawn: &[usize]| {
        let units = drawn.iter().filter_map(|at| rated.get(*at)).map(|item| item.values().copied());
        krippendorff_alpha(&Ratings::from_units(units).ok()?, measurement).ok().flatten()
    };
    let everything: Vec<usize> = (0..n).collect();
    found["alpha"] = match alpha(&everything) {
        Some(value) => {
            let interval = bootstrap_indices(n, alpha, &resampling()).and_then(|drawn| drawn.percentile(Level::P95));
            figure(value, n, interval, name)
        }
        None => Value::Null,
    };
    let equal = |drawn: &[usize]| {
        let (mut same, mut pairs) = (0_u64, 0_u64);
        for item in drawn.iter().filter_map(|at| rated.get(*at)) {
            let values: Vec<f64> = item.values().copied().collect();
            for (at, a) in values.iter().enumerate() {
                let others = values.get(at + 1..).unwrap_or_default();
                pairs += others.len() as u64;
                same += others.iter().filter(|b| (*a - **b).abs() <= 1e-9).count() as u64;
            }
        }
        (pairs > 0).then(|| same as f64 / pairs as f64)
    };
    if let Some(share) = equal(&everything) {
        let interval = bootstrap_indices(n, equal, &resampling()).and_then(|drawn| drawn.percentile(Level::P95));
        found["share_equal"] = figure(share, n, interval, "share of pairs of people with the same answer");
    }
    let Some(steps) = steps else { return };
    let is_weighted = question.level() != MeasurementLevel::Nominal && steps.len() > 2;
    let weighting = if is_weighted { Weighting::Quadratic } else { Weighting::Identity };
    found["kappa"] = kappas(&rated, &steps, weighting);
    let all: Vec<f64> = rated.iter().flat_map(|item| item.values().copied()).collect();
    let most = steps.iter().map(|step| all.iter().filter(|value| (*value - step).abs() <= 1e-9).count()).max();
    let most = most.unwrap_or(0) as f64 / all.len().max(1) as f64;
    if most > MOST_OF_ONE {
        let indices =
            rated.iter().map(|item| score_indices("person", &item.values().copied().collect::<Vec<_>>(), &steps).ok());
        let table =
            indices.collect::<Option<Vec<_>>>().and_then(|rows| CountTable::from_ratings(rows, steps.len()).ok());
        if let Some(gwet) = table.and_then(|table| gwet_ac(&table, weighting)) {
            let name = if is_weighted { "Gwet's AC2 (quadratic)" } else { "Gwet's AC1" };
            found["ac"] = figure(gwet.coefficient, n, None, name);
        }
        let share = (100.0 * most).round();
        found["note"] =
            format!("{share} % of the answers are the same one: alpha and kappa are low even where people agree")
                .into();
    }
}

/// Cohen's κ of each two people on the items that both labelled.
fn kappas(rated: &[Rated], steps: &[f64], weighting: Weighting) -> Value {
    let people: BTreeSet<&String> = rated.iter().flat_map(|item| item.keys()).collect();
    let people: Vec<&String> = people.into_iter().collect();
    let mut found = Vec::new();
    for (at, a) in people.iter().enumerate() {
        for b in people.get(at + 1..).unwrap_or_default() {
            let shared = rated.iter().filter_map(|item| Some((*item.get(*a)?, *item.get(*b)?)));
            let (first, second): (Vec<f64>, Vec<f64>) = shared.unzip();
            let table = score_indices("first", &first, steps).ok().zip(score_indices("second", &second, steps).ok());
            let table = table.and_then(|(a, b)| Contingency::from_indices(&a, &b, steps.len()).ok());
            let kappa = table.as_ref().and_then(|table| cohen_kappa(table, weighting)).map(|kappa| kappa.kappa);
            let share = table.as_ref().and_then(Contingency::percent_agreement);
            let name = if weighting == Weighting::Identity { "Cohen's kappa" } else { "Cohen's kappa (quadratic)" };
            if !first.is_empty() {
                found.push(json!({
                    "people": [a, b], "n": first.len(), "kappa": kappa, "share_equal": share, "method": name,
                }));
            }
        }
    }
    Value::Array(found)
}

/// Answers as numbers, and all values that there are, if they are steps.
fn rate(question: &Question, answers: &[(usize, BTreeMap<String, &Value>)]) -> (Vec<Rated>, Option<Vec<f64>>) {
    let is_numeric = question.level() != MeasurementLevel::Nominal || question.kind == QuestionKind::Scale;
    let mut sets: Vec<Value> = match question.kind {
        QuestionKind::Choice => question.choices.iter().map(|choice| choice.id.clone().into()).collect(),
        QuestionKind::Pairwise => PAIR_ANSWERS.iter().map(|answer| (*answer).into()).collect(),
        _ => Vec::new(),
    };
    let mut rated = Vec::new();
    for (_, answers) in answers {
        let mut item = Rated::new();
        for (person, answer) in answers {
            let number = question.number(answer).filter(|_| is_numeric).unwrap_or_else(|| {
                let answer = in_order(answer);
                let known = sets.iter().position(|set| *set == answer);
                known.unwrap_or_else(|| {
                    sets.push(answer);
                    sets.len() - 1
                }) as f64
            });
            item.insert(person.clone(), number);
        }
        rated.push(item);
    }
    let steps = match question.steps().filter(|_| is_numeric) {
        Some(steps) => Some(steps),
        None if is_numeric => None,
        None => Some((0..sets.len()).map(|code| code as f64).collect()),
    };
    (rated, steps)
}

/// Agreement of marked characters.
fn add_spans(found: &mut Value, task: &LoadedTask, question: &Question, answers: &[(usize, BTreeMap<String, &Value>)]) {
    let category = |id: &str| question.categories.iter().position(|category| category.id == id).unwrap_or(0);
    let marked = answers.iter().map(|(position, answers)| {
        let length = task.items.get(*position).map_or(0, |item| item.text().chars().count());
        let raters = answers.values().map(|answer| {
            let spans = spans(answer).unwrap_or_default().into_iter();
            spans.map(|it| MarkedSpan { start: it.start, end: it.end, category: category(&it.category) }).collect()
        });
        MarkedText { length, raters: raters.collect() }
    });
    let texts: Vec<MarkedText> = marked.collect();
    let categories = question.categories.len();
    let of = |drawn: &[usize]| span_agreement(drawn.iter().filter_map(|at| texts.get(*at)), categories).ok().flatten();
    let everything: Vec<usize> = (0..texts.len()).collect();
    let Some(whole) = of(&everything) else { return };
    let interval = |statistic: &(dyn Fn(&[usize]) -> Option<f64> + Sync)| {
        bootstrap_indices(texts.len(), statistic, &resampling()).and_then(|drawn| drawn.percentile(Level::P95))
    };
    let share = interval(&|drawn| of(drawn).map(|it| it.share));
    found["characters"] = figure(whole.share, texts.len(), share, "share of characters with the same categories");
    let f1 = question.categories.iter().enumerate().map(|(at, category)| {
        let of_category = |drawn: &[usize]| of(drawn).and_then(|it| it.f1.get(at).copied().flatten());
        let value = of_category(&everything)
            .map(|value| figure(value, texts.len(), interval(&of_category), "F1 of marked characters"));
        json!({ "category": category.id, "f1": value })
    });
    found["f1"] = Value::Array(f1.collect());
}

/// Agreement of a person with the settled value of the others: the most that a judge can be expected to reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HumanCeiling {
    /// The question: a dimension of the rubric.
    pub dimension: String,
    /// 1 − mean |person − others| / range of the scale, from 0 to 1: the form in which judges are calibrated.
    pub agreement: f64,
    /// Its 95 % interval, by percentile bootstrap of items.
    pub ci: Option<(f64, f64)>,
    /// Items with at least two people.
    pub n: usize,
}

impl HumanCeiling {
    /// In a line: `accuracy: people among themselves 0.81 [0.76, 0.85], 40 items`.
    pub fn line(&self) -> String {
        let ci = self.ci.map(|(lo, hi)| format!(" [{lo:.2}, {hi:.2}]")).unwrap_or_default();
        format!("{}: people among themselves {:.2}{ci}, {} items", self.dimension, self.agreement, self.n)
    }
}

/// The ceiling of every question with numbers.
pub(crate) fn ceilings(task: &LoadedTask, state: &TaskState) -> Vec<HumanCeiling> {
    task.body.questions.iter().filter_map(|question| ceiling(task, state, question)).collect()
}

fn ceiling(task: &LoadedTask, state: &TaskState, question: &Question) -> Option<HumanCeiling> {
    let worths = question.choices.iter().map(|choice| choice.value);
    let worths: Vec<f64> = worths.collect::<Option<_>>()?;
    let range = match question.scale {
        Some((lo, hi)) => hi - lo,
        None => {
            let (lo, hi) = (worths.iter().copied().reduce(f64::min)?, worths.iter().copied().reduce(f64::max)?);
            hi - lo
        }
    };
    // Mean distance of each item's people to the others.
    let items = task.items.iter().enumerate().filter(|(_, item)| item.gold.is_none());
    let distances = items.filter_map(|(position, _)| {
        let answers: Vec<&Value> =
            state.labels(position).filter_map(|(_, label)| label.body.answers.get(&question.id)).collect();
        let of_person = (0..answers.len()).filter_map(|at| {
            let mut others = answers.clone();
            let own = question.number(others.remove(at))?;
            Some((own - question.number(&question.settle_answers(&others)?)?).abs())
        });
        let distances: Vec<f64> = of_person.collect();
        (!distances.is_empty()).then(|| distances.iter().sum::<f64>() / distances.len() as f64)
    });
    let distances: Vec<f64> = distances.collect();
    let agreement = |drawn: &[usize]| {
        let drawn: Vec<f64> = drawn.iter().filter_map(|at| distances.get(*at).copied()).collect();
        (!drawn.is_empty() && range > 0.0).then(|| 1.0 - drawn.iter().sum::<f64>() / drawn.len() as f64 / range)
    };
    let n = distances.len();
    let everything: Vec<usize> = (0..n).collect();
    let interval = (n >= 10).then(|| bootstrap_indices(n, agreement, &resampling())?.percentile(Level::P95)).flatten();
    Some(HumanCeiling {
        dimension: question.id.clone(),
        agreement: agreement(&everything)?,
        ci: interval.map(|interval| (interval.lo, interval.hi)),
        n,
    })
}

impl Stored<'_> {
    /// The agreement of the people of a task with each other, by question with numbers.
    ///
    /// # Errors
    /// An unknown task.
    pub fn human_ceilings(&self, task: &str) -> Result<Vec<HumanCeiling>, AppError> {
        let task = self.loaded_task(task)?;
        self.read_state(&task, |state| ceilings(&task, state))
    }

    /// The settled labels of a task, as rows that a rubric reads, and the scorer that they are for.
    pub(crate) fn settled_labels(&self, name: &str) -> Result<(String, Vec<Value>), AppError> {
        let task = self.loaded_task(name)?;
        let scorer = task.body.scorer.clone();
        let scorer = scorer.ok_or_else(|| AnnotateError::NotScored { task: task.stored.name.clone() })?;
        let rows = self.read_state(&task, |state| {
            crate::stored::labels::settle::label_rows(&task, state, true, &|name| name.to_owned())
        })?;
        match rows.is_empty() {
            true => Err(AnnotateError::NoSettled { task: task.stored.name.clone() }.into()),
            false => Ok((scorer, rows)),
        }
    }
}
