//! The answers of systems in place of a reference: labels that a metric compares, or short outputs that are equal.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::calibration::items::{Answer, AnsweringSystem, LabelModel, wrong_label};
use karat_text::ladder::{self, Expectation};
use karat_text::path::Path;
use karat_text::similar::fold;
use karat_types::RunRows;
use serde::Serialize;
use serde_json::Value;

use super::collect::{Collected, ItemResult, ResultPlace};
use crate::AnalysisError;
use crate::infer::finding::Finding;

/// A score from here on agrees with the reference.
const RIGHT_FROM: f64 = 0.5;

/// The share of wrong references that is assumed before anything is seen: test sets in wide use have 3.4 % (Northcutt,
/// Athalye and Mueller 2021).
const PRIOR: f64 = 0.034;

/// Probability of a wrong reference from which an item is suspect: people look at it, so one of four is worth the time.
const SUSPECT_FROM: f64 = 0.25;

/// Longer outputs are texts, and never equal by chance or agreement.
const COMPARED_CHARS: usize = 200;

/// Items whose outputs are read at most.
const READ_ITEMS: usize = 2_000;

/// A reference that systems of several families contradict with one voice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelSuspicion {
    /// The reference, its beginning.
    pub reference: String,
    /// The answer in its place.
    pub answer: String,
    /// Systems that give the answer.
    pub systems: u64,
    /// Families of these systems.
    pub families: u64,
    /// Systems that give the reference.
    pub agreeing: u64,
    /// Systems with a score of the item.
    pub of: u64,
    /// Probability that the answer is right, and the reference wrong.
    pub probability: Finding,
}

/// The answer of each system to an item: `None` for the reference.
type ItemAnswers = Vec<(usize, Option<String>)>;

/// By item: the suspicion that its reference is wrong. Says in `notes` if it could not look at all items.
pub(super) fn suspicions(
    runs: &[&dyn RunRows],
    collected: &Collected,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<LabelSuspicion>>, AnalysisError> {
    let mut found = vec![None; collected.items.len()];
    if collected.scale.is_none() {
        return Ok(found);
    }
    let groups: BTreeSet<&str> = collected.systems.iter().map(|system| system.family.as_str()).collect();
    let groups: Vec<&str> = groups.into_iter().collect();
    if groups.len() < 2 {
        notes.push("References cannot be suspected: that takes systems of two families.".to_owned());
        return Ok(found);
    }
    let doubtful: Vec<usize> = (0..collected.items.len()).filter(|item| is_contradicted(collected, *item)).collect();
    if doubtful.len() > READ_ITEMS {
        notes.push(format!(
            "Of {} items on which systems of two families fail, the first {READ_ITEMS} were looked at for wrong references.",
            doubtful.len()
        ));
    }
    let mut answers: Vec<(usize, ItemAnswers)> = Vec::new();
    for item in doubtful.into_iter().take(READ_ITEMS) {
        answers.push((item, read_answers(runs, collected, item)?));
    }
    let systems: Vec<AnsweringSystem> = (0..collected.systems.len())
        .map(|system| AnsweringSystem {
            accuracy: accuracy(collected, system),
            group: group(collected, &groups, system),
        })
        .collect();
    let coincidence = coincidence(&answers, &systems);
    let model = LabelModel { systems: &systems, coincidence, prior: PRIOR };
    for (item, answers) in &answers {
        if let Some(slot) = found.get_mut(*item) {
            *slot = suspicion(collected, *item, answers, &model);
        }
    }
    Ok(found)
}

fn group(collected: &Collected, groups: &[&str], system: usize) -> usize {
    let family = collected.systems.get(system).map_or("", |system| system.family.as_str());
    groups.iter().position(|group| *group == family).unwrap_or(usize::MAX)
}

/// Returns true if systems of two families fail on an item that has a reference, and no more agree with it.
fn is_contradicted(collected: &Collected, item: usize) -> bool {
    let (mut right, mut wrong, mut families) = (0, 0, BTreeSet::new());
    for (at, system) in collected.systems.iter().enumerate() {
        match collected.result(item, at).map(|result| result.score) {
            Some(score) if score >= RIGHT_FROM => right += 1,
            Some(_) => {
                wrong += 1;
                families.insert(&system.family);
            }
            None => {}
        }
    }
    let has_reference = collected.items.get(item).is_some_and(|item| item.reference.is_some());
    has_reference && families.len() > 1 && wrong >= right
}

/// Share of items on which a system agrees with the reference, with one more of each kind: few items prove little.
fn accuracy(collected: &Collected, system: usize) -> f64 {
    let results = collected.systems.get(system).map(|system| system.results.as_slice()).unwrap_or_default();
    let (mut right, mut all) = (0_u64, 0_u64);
    for (result, item) in results.iter().zip(&collected.items) {
        let Some(result) = result.filter(|_| item.reference.is_some()) else { continue };
        all += 1;
        right += u64::from(result.score >= RIGHT_FROM);
    }
    (right + 1) as f64 / (all + 2) as f64
}

/// Probability that two wrong answers to one item are the same, over pairs of systems of different groups; one pair of
/// either kind is added.
fn coincidence(answers: &[(usize, ItemAnswers)], systems: &[AnsweringSystem]) -> f64 {
    let group = |system: usize| systems.get(system).map(|system| system.group);
    let (mut same, mut pairs) = (1.0, 2.0);
    for (_, answers) in answers {
        let wrong: Vec<(usize, &str)> = answers.iter().filter_map(|(at, it)| Some((*at, it.as_deref()?))).collect();
        for (at, (system, answer)) in wrong.iter().enumerate() {
            for (_, beside) in wrong.iter().skip(at + 1).filter(|(other, _)| group(*other) != group(*system)) {
                pairs += 1.0;
                same += f64::from(u8::from(answer == beside));
            }
        }
    }
    same / pairs
}

fn read_answers(runs: &[&dyn RunRows], collected: &Collected, item: usize) -> Result<ItemAnswers, AnalysisError> {
    let mut answers = Vec::new();
    for system in 0..collected.systems.len() {
        let Some(result) = collected.result(item, system) else { continue };
        if result.score >= RIGHT_FROM {
            answers.push((system, None));
        } else if let Some(answer) = answer_of(runs, collected, result)? {
            answers.push((system, Some(answer)));
        }
    }
    Ok(answers)
}

/// The label or the short output of a result; `None` where it has neither.
fn answer_of(
    runs: &[&dyn RunRows],
    collected: &Collected,
    result: ItemResult,
) -> Result<Option<String>, AnalysisError> {
    if let Some(label) = result.label {
        return Ok(collected.labels.get(label).cloned());
    }
    let ResultPlace { run, ordinal } = result.place;
    let Some(rows) = runs.get(run) else { return Ok(None) };
    let output = rows.output(ordinal);
    let output = output.map_err(|source| AnalysisError::Rows { run: rows.header().id.clone(), source })?;
    let path = collected.output_paths.get(run).and_then(|path| Path::parse(path).ok());
    Ok(output.zip(path).and_then(|(output, path)| scored_text(&output, &path)))
}

/// The short answer at the path that is scored. A path into a text reads the text as JSON, as scorers do.
fn scored_text(output: &Value, path: &Path) -> Option<String> {
    match output {
        Value::String(text) if !path.is_root() => {
            let (document, _) = ladder::read(text, Expectation::Any).ok()?;
            path.first(&document).and_then(short_text)
        }
        document => path.first(document).and_then(short_text),
    }
}

/// A short answer with case, white space and punctuation at its end folded.
fn short_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => fold(text),
        other => other.to_string(),
    };
    let text = text.trim_end_matches(|end: char| ".!;,".contains(end)).trim_end();
    (!text.is_empty() && text.chars().count() <= COMPARED_CHARS).then(|| text.to_owned())
}

fn suspicion(
    collected: &Collected,
    item: usize,
    answers: &ItemAnswers,
    model: &LabelModel<'_>,
) -> Option<LabelSuspicion> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut numbered = Vec::new();
    for (system, answer) in answers {
        let other = answer.as_deref().map(|text| {
            *names.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() - 1
            })
        });
        numbered.push(Answer { system: *system, other });
    }
    let best = wrong_label(model, &numbered)?;
    if best.groups < 2 || best.probability < SUSPECT_FROM {
        return None;
    }
    Some(LabelSuspicion {
        reference: collected.items.get(item)?.reference.clone()?,
        answer: (*texts.get(best.answer)?).to_owned(),
        systems: best.systems as u64,
        families: best.groups as u64,
        agreeing: numbered.iter().filter(|answer| answer.other.is_none()).count() as u64,
        of: collected.scores(item).iter().flatten().count() as u64,
        probability: Finding::point(best.probability, numbered.len(), "one-coin model of Dawid and Skene")?,
    })
}
