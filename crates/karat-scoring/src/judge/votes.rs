//! A judgment in several rounds: votes of one judge, and a pair in both orders (GE-04, BY-07).
//!
//! | scorer | rounds | one score of several |
//! |---|---|---|
//! | `votes: k` | k, with lists in other orders | choices: what most say, ties by mean; numbers: mean |
//! | `versus`, `orders: both` | each vote twice, each output first once | mean of 1 (preferred), ½, 0 |
//!
//! A vote that cannot be read is left out and noted; half a pair says nothing, so a pair needs both its orders.

use std::sync::Arc;

use karat_types::{Answer, Ask, AskId, CellError, Dimension, Machine, Note, NoteKind, PairOrders, Scale, Score, Turn};
use serde_json::Value;

use super::JudgeInput;
use super::prompt::round_prompt::RoundInput;
use super::round::call_labels::round_prefix;
use super::round::machine::RoundMachine;
use super::rubric::compiled::CompiledRubric;
use super::rubric::overall;
use super::verdict::{Verdict, VerdictRound, count_notes, note};

/// One judgment under way. The ids of its first round stand as they are; those of others begin with the round's name.
#[derive(Debug)]
pub struct JudgeMachine {
    setup: Arc<CompiledRubric>,
    rounds: Vec<VoteRound>,
    /// Rounds that answers are awaited for, in the order of the asks.
    asked: Vec<usize>,
    /// Settled without a call.
    settled: Option<Box<Verdict>>,
}

#[derive(Debug)]
struct VoteRound {
    swapped: bool,
    /// The prefix of its ids.
    prefix: String,
    machine: RoundMachine,
    verdict: Option<Verdict>,
}

impl JudgeMachine {
    pub(super) fn new(setup: Arc<CompiledRubric>, input: JudgeInput<'_>, other: Option<&Value>) -> Self {
        let other = other.filter(|_| setup.is_pair);
        if let Some(verdict) = settle_incomplete_pair(&setup, input, other) {
            return Self { setup, rounds: Vec::new(), asked: Vec::new(), settled: Some(Box::new(verdict)) };
        }
        let orders: &[bool] = if setup.is_pair && setup.orders == PairOrders::Both { &[false, true] } else { &[false] };
        let rounds = (0..setup.votes).flat_map(|vote| orders.iter().map(move |swapped| (vote, *swapped)));
        let rounds = rounds.map(|(vote, swapped)| {
            let prefix = round_prefix(vote, swapped);
            let machine = RoundMachine::new(Arc::clone(&setup), RoundInput { input, other, vote, swapped });
            VoteRound { swapped, prefix, machine, verdict: None }
        });
        Self { rounds: rounds.collect(), asked: Vec::new(), settled: None, setup }
    }
}

/// The verdict on a pair of which an output is missing: what is there is better than nothing.
fn settle_incomplete_pair(setup: &CompiledRubric, input: JudgeInput<'_>, other: Option<&Value>) -> Option<Verdict> {
    if !setup.is_pair {
        return None;
    }
    let Some(other) = other else {
        let score = Score::not_applicable("there is nothing to compare it with");
        return Some(Verdict::uniform(setup.names(), &score));
    };
    let (value, reason) = match (input.output.is_null(), other.is_null()) {
        (false, false) => return None,
        (true, true) => (0.5, "there is neither output"),
        (true, false) => (0.0, "there is no output"),
        (false, true) => (1.0, "there is no output to compare it with"),
    };
    Some(Verdict::uniform(setup.names(), &Score::value_because(value, reason)))
}

impl Machine for JudgeMachine {
    type Done = Verdict;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<Verdict> {
        if let Some(verdict) = self.settled.take() {
            return Turn::Done(*verdict);
        }
        let mut given: Vec<Vec<Answer>> = self.rounds.iter().map(|_| Vec::new()).collect();
        for (answer, at) in answers.into_iter().zip(std::mem::take(&mut self.asked)) {
            if let (Some(round), Some(given)) = (self.rounds.get(at), given.get_mut(at)) {
                let id = answer.id.0.strip_prefix(round.prefix.as_str()).unwrap_or(&answer.id.0);
                given.push(Answer { id: AskId::new(id), outcome: answer.outcome });
            }
        }
        let mut asks = Vec::new();
        for (at, (round, given)) in self.rounds.iter_mut().zip(given).enumerate() {
            if round.verdict.is_some() {
                continue;
            }
            match round.machine.poll(given) {
                Turn::Done(verdict) => round.verdict = Some(verdict),
                Turn::Ask(wanted) => {
                    self.asked.extend(wanted.iter().map(|_| at));
                    let named = |ask: Ask| Ask { id: AskId::new(format!("{}{}", round.prefix, ask.id)), ..ask };
                    asks.extend(wanted.into_iter().map(named));
                }
            }
        }
        if !asks.is_empty() {
            return Turn::Ask(asks);
        }
        let rounds = std::mem::take(&mut self.rounds);
        let verdicts = rounds.into_iter().filter_map(|round| Some((round.swapped, round.verdict?))).collect();
        Turn::Done(merge_verdicts(&self.setup, verdicts))
    }
}

/// The verdicts of all rounds as one.
fn merge_verdicts(setup: &CompiledRubric, mut verdicts: Vec<(bool, Verdict)>) -> Verdict {
    if verdicts.len() < 2 && !setup.is_pair {
        return verdicts.pop().map(|(_, verdict)| verdict).unwrap_or_default();
    }
    verdicts.iter_mut().filter(|(swapped, _)| *swapped).for_each(|(_, verdict)| invert_scores(verdict));
    let failed = verdicts.iter().filter(|(_, verdict)| verdict.error.is_some()).count();
    let counts_in_part = !setup.is_pair && failed < verdicts.len();
    let mut notes: Vec<Note> =
        verdicts.iter_mut().flat_map(|(_, verdict)| std::mem::take(&mut verdict.notes)).collect();
    let error = verdicts.iter().find_map(|(_, verdict)| verdict.error.clone());
    let seed = verdicts.first().map_or(0, |(_, verdict)| verdict.shuffle_seed);
    if let (Some(error), false) = (&error, counts_in_part) {
        let failed: CellError = error.clone();
        return Verdict {
            shuffle_seed: seed,
            notes: count_notes(notes),
            ..Verdict::without_scores(setup.names(), failed)
        };
    }
    if failed > 0 {
        let text = format!("{failed} of {} votes could not be read and are left out", verdicts.len());
        notes.push(note(NoteKind::Lenience, text));
    }
    verdicts.retain(|(_, verdict)| verdict.error.is_none());
    let scores = merge_scores(setup, &verdicts);
    let rounds = verdicts.iter().map(|(swapped, verdict)| {
        let numbers = verdict.scores.iter().filter_map(|(name, score)| Some((name.clone(), score.number()?)));
        VerdictRound { swapped: *swapped, scores: numbers.collect() }
    });
    let rounds = rounds.collect();
    let rung = verdicts.iter().filter_map(|(_, verdict)| verdict.rung).max();
    let reasoning = join_reasonings(setup, &verdicts);
    let mut caps: Vec<String> = verdicts.iter().flat_map(|(_, verdict)| verdict.caps.clone()).collect();
    caps.sort_unstable();
    caps.dedup();
    let first = verdicts.into_iter().next().map(|(_, verdict)| verdict).unwrap_or_default();
    Verdict { scores, reasoning, caps, rung, rounds, notes: count_notes(notes), ..first }
}

/// The verdict on a pair from the other side.
fn invert_scores(verdict: &mut Verdict) {
    for (_, score) in &mut verdict.scores {
        if let Score::Value { value, .. } = score {
            *value = 1.0 - *value;
        }
    }
}

/// A score per dimension, then the composite of these.
fn merge_scores(setup: &CompiledRubric, verdicts: &[(bool, Verdict)]) -> Vec<(String, Score)> {
    let said = |name: &str| -> Vec<&Score> {
        let scores = verdicts.iter().flat_map(|(_, verdict)| &verdict.scores);
        scores.filter(|(scored, _)| scored == name).map(|(_, score)| score).collect()
    };
    let dimensions: Vec<(&Dimension, Score)> = setup
        .rubric
        .dimensions
        .iter()
        .map(|dimension| (dimension, merge_votes(&said(&dimension.name), setup.is_pair, &dimension.scale)))
        .collect();
    let graded: Vec<(&Dimension, &Score)> = dimensions.iter().map(|(dimension, score)| (*dimension, score)).collect();
    let composite = setup.rubric.overall.as_ref().map(|spec| {
        let given = merge_votes(&said(&spec.id), setup.is_pair, &Scale::Range { lo: 0.0, hi: 0.0, step: None });
        let made = overall::overall(spec, &graded, Some(&given));
        // A cap has lowered the composite of a round: it holds for all.
        let capped = match (made.number(), given.number()) {
            (Some(made), Some(given)) if verdicts.iter().any(|(_, it)| !it.caps.is_empty()) => {
                Score::value(made.min(given))
            }
            _ => made,
        };
        (spec.id.clone(), capped)
    });
    let named: Vec<(String, Score)> =
        dimensions.iter().map(|(dimension, score)| (dimension.name.clone(), score.clone())).collect();
    named.into_iter().chain(composite).collect()
}

/// Combines the scores of several rounds for one dimension.
fn merge_votes(said: &[&Score], is_pair: bool, scale: &Scale) -> Score {
    let values: Vec<f64> = said.iter().filter_map(|score| score.number()).collect();
    let missing = said.iter().find(|score| score.number().is_none());
    match missing {
        Some(missing) if is_pair || values.is_empty() => return (*missing).clone(),
        _ if values.is_empty() => return Score::unscored("the judge said nothing of it"),
        _ => {}
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let value = match scale {
        Scale::Choices(_) if !is_pair => mean(&most_frequent(values)),
        _ => mean(&values),
    };
    Score::value(value)
}

/// The values that are said most often, each once.
fn most_frequent(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let runs: Vec<&[f64]> = values.chunk_by(|a, b| a.total_cmp(b).is_eq()).collect();
    let most = runs.iter().map(|run| run.len()).max().unwrap_or_default();
    runs.iter().filter(|run| run.len() == most).filter_map(|run| run.first().copied()).collect()
}

/// The judge's reasoning of each round.
fn join_reasonings(setup: &CompiledRubric, verdicts: &[(bool, Verdict)]) -> String {
    let explained = verdicts.iter().enumerate().filter(|(_, (_, verdict))| !verdict.reasoning.is_empty());
    let lines = explained.map(|(at, (swapped, verdict))| match (setup.is_pair, swapped) {
        (true, false) => format!("shown first: {}", verdict.reasoning),
        (true, true) => format!("shown second: {}", verdict.reasoning),
        (false, _) => format!("vote {}: {}", at + 1, verdict.reasoning),
    });
    lines.collect::<Vec<_>>().join("\n")
}
