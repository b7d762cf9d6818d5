//! A judgment in several rounds: votes of one judge, and a pair in both orders.
//!
//! | scorer | rounds | one score of several |
//! |---|---|---|
//! | `votes: k` | k, with lists in other orders | choices: what most say, ties by mean; numbers: mean |
//! | `versus`, `orders: both` | each vote twice, each output first once | mean of 1 (preferred), ½, 0 |
//!
//! | `versus: all` | the rounds of a pair for each other output | mean over the other outputs |
//!
//! A vote that *could not be read* is left out and noted; half a pair says nothing, so a pair needs both its orders. Of a
//! tournament the readable pairs stay in `rounds` where another pair could not be read. A vote that *failed*, because its
//! call gave no reply, is an error of the whole, so that it is asked for again. One that was *not asked*, because the run
//! stops, never comes here: then there is no judgment.

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
    opponent: u16,
    swapped: bool,
    /// The prefix of its ids.
    prefix: String,
    /// `None` where no call is needed: then there is a verdict.
    machine: Option<RoundMachine>,
    verdict: Option<Verdict>,
}

/// The verdict of a round.
#[derive(Debug)]
struct CastVote {
    opponent: u16,
    swapped: bool,
    verdict: Verdict,
}

impl JudgeMachine {
    pub(super) fn new(setup: Arc<CompiledRubric>, input: JudgeInput<'_>, others: &[Option<&Value>]) -> Self {
        let others = if setup.is_tournament { others } else { others.get(..1).unwrap_or(&[None]) };
        if !setup.is_tournament || others.iter().all(Option::is_none) {
            let only = others.first().copied().flatten();
            if let Some(verdict) = settle_incomplete_pair(&setup, input, only) {
                return Self { setup, rounds: Vec::new(), asked: Vec::new(), settled: Some(Box::new(verdict)) };
            }
        }
        let rounds = others.iter().enumerate().flat_map(|(at, other)| pair_rounds(&setup, input, at, *other)).collect();
        Self { rounds, asked: Vec::new(), settled: None, setup }
    }
}

/// The rounds of one pair, or of a single output.
fn pair_rounds(setup: &Arc<CompiledRubric>, input: JudgeInput<'_>, at: usize, other: Option<&Value>) -> Vec<VoteRound> {
    let (other, opponent) = (other.filter(|_| setup.is_pair), u16::try_from(at).unwrap_or(u16::MAX));
    if let Some(verdict) = settle_incomplete_pair(setup, input, other) {
        let verdict = other.is_some().then_some(verdict);
        let prefix = String::new();
        let settled = |verdict| VoteRound { opponent, swapped: false, prefix, machine: None, verdict: Some(verdict) };
        return verdict.map(settled).into_iter().collect();
    }
    let orders: &[bool] = if setup.is_pair && setup.orders == PairOrders::Both { &[false, true] } else { &[false] };
    let rounds = (0..setup.votes).flat_map(|vote| orders.iter().map(move |swapped| (vote, *swapped)));
    let rounds = rounds.map(|(vote, swapped)| {
        let prefix = round_prefix(u32::from(opponent), vote, swapped);
        let machine = RoundMachine::new(Arc::clone(setup), RoundInput { input, other, vote, swapped });
        VoteRound { opponent, swapped, prefix, machine: Some(machine), verdict: None }
    });
    rounds.collect()
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
            let Some(machine) = round.machine.as_mut().filter(|_| round.verdict.is_none()) else { continue };
            match machine.poll(given) {
                Turn::Done(mut verdict) => {
                    verdict.unread.iter_mut().for_each(|id| id.insert_str(0, &round.prefix));
                    round.verdict = Some(verdict);
                }
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
        let cast = rounds.into_iter().filter_map(|round| {
            let verdict = round.verdict?;
            Some(CastVote { opponent: round.opponent, swapped: round.swapped, verdict })
        });
        Turn::Done(merge_verdicts(&self.setup, cast.collect()))
    }
}

/// The verdicts of all rounds as one.
fn merge_verdicts(setup: &CompiledRubric, mut verdicts: Vec<CastVote>) -> Verdict {
    if verdicts.len() < 2 && !setup.is_pair {
        return verdicts.pop().map(|vote| vote.verdict).unwrap_or_default();
    }
    verdicts.iter_mut().filter(|vote| vote.swapped).for_each(|vote| invert_scores(&mut vote.verdict));
    let errors = || verdicts.iter().filter_map(|vote| vote.verdict.error.as_ref());
    let unread = errors().filter(|error| error.code == CellError::UNREADABLE).count();
    let failed = errors().count() - unread;
    let error = match errors().find(|error| error.code != CellError::UNREADABLE) {
        Some(error) => Some(failure_of(error, failed, verdicts.len(), setup.is_pair)),
        None => errors().next().filter(|_| setup.is_pair || unread == verdicts.len()).cloned(),
    };
    let mut notes: Vec<Note> = verdicts.iter_mut().flat_map(|vote| std::mem::take(&mut vote.verdict.notes)).collect();
    let seed = verdicts.first().map_or(0, |vote| vote.verdict.shuffle_seed);
    if let Some(error) = error {
        let unread = verdicts.iter_mut().flat_map(|vote| std::mem::take(&mut vote.verdict.unread)).collect();
        // Games against other outputs count, though the judgment as a whole does not.
        let half = |vote: &CastVote| vote.verdict.error.is_some().then_some(vote.opponent);
        let halves: Vec<u16> = verdicts.iter().filter_map(half).collect();
        verdicts.retain(|vote| setup.is_tournament && !halves.contains(&vote.opponent));
        return Verdict {
            shuffle_seed: seed,
            notes: count_notes(notes),
            rounds: verdict_rounds(&verdicts),
            unread,
            ..Verdict::without_scores(setup.names(), error)
        };
    }
    if unread > 0 {
        let text = format!("{unread} of {} votes could not be read and are left out", verdicts.len());
        notes.push(note(NoteKind::Lenience, text));
    }
    verdicts.retain(|vote| vote.verdict.error.is_none());
    let scores = mean_over_opponents(setup, &verdicts);
    let rounds = verdict_rounds(&verdicts);
    let rung = verdicts.iter().filter_map(|vote| vote.verdict.rung).max();
    let reasoning = join_reasonings(setup, &verdicts);
    let mut caps: Vec<String> = verdicts.iter().flat_map(|vote| vote.verdict.caps.clone()).collect();
    caps.sort_unstable();
    caps.dedup();
    let first = verdicts.into_iter().next().map(|vote| vote.verdict).unwrap_or_default();
    Verdict { scores, reasoning, caps, rung, rounds, notes: count_notes(notes), ..first }
}

/// The error of a judgment of which some votes failed, or some comparisons of a pair.
fn failure_of(first: &CellError, failed: usize, of: usize, is_pair: bool) -> CellError {
    if failed == of {
        return first.clone();
    }
    let what = if is_pair { "comparisons" } else { "votes" };
    CellError::new(first.code.as_str(), format!("{failed} of {of} {what} failed: {}", first.message))
}

fn verdict_rounds(verdicts: &[CastVote]) -> Vec<VerdictRound> {
    let rounds = verdicts.iter().map(|vote| {
        let numbers = vote.verdict.scores.iter().filter_map(|(name, score)| Some((name.clone(), score.number()?)));
        VerdictRound { opponent: vote.opponent, swapped: vote.swapped, scores: numbers.collect() }
    });
    rounds.collect()
}

/// The scores of a judgment: of each pair, then their mean, however many votes a pair has.
fn mean_over_opponents(setup: &CompiledRubric, verdicts: &[CastVote]) -> Vec<(String, Score)> {
    let pairs = verdicts.chunk_by(|a, b| a.opponent == b.opponent).map(|pair| merge_scores(setup, pair));
    let pairs: Vec<Vec<(String, Score)>> = pairs.collect();
    let [first, _, ..] = &pairs[..] else { return pairs.into_iter().next().unwrap_or_default() };
    let scores = first.iter().enumerate().map(|(at, (name, _))| {
        let of_pairs: Vec<&Score> = pairs.iter().filter_map(|pair| Some(&pair.get(at)?.1)).collect();
        (name.clone(), merge_votes(&of_pairs, true, &Scale::Range { lo: 0.0, hi: 1.0, step: None }))
    });
    scores.collect()
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
fn merge_scores(setup: &CompiledRubric, verdicts: &[CastVote]) -> Vec<(String, Score)> {
    let said = |name: &str| -> Vec<&Score> {
        let scores = verdicts.iter().flat_map(|vote| &vote.verdict.scores);
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
            (Some(made), Some(given)) if verdicts.iter().any(|vote| !vote.verdict.caps.is_empty()) => {
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
fn join_reasonings(setup: &CompiledRubric, verdicts: &[CastVote]) -> String {
    let explained = verdicts.iter().enumerate().filter(|(_, vote)| !vote.verdict.reasoning.is_empty());
    let lines = explained.map(|(at, vote)| {
        let place = match (setup.is_pair, vote.swapped) {
            (true, false) => "shown first".to_owned(),
            (true, true) => "shown second".to_owned(),
            (false, _) => format!("vote {}", at + 1),
        };
        let pair = if setup.is_tournament { format!("pair {}, ", vote.opponent + 1) } else { String::new() };
        format!("{pair}{place}: {}", vote.verdict.reasoning)
    });
    lines.collect::<Vec<_>>().join("\n")
}
