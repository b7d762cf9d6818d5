//! The calls that a cell needs: exactly where what they read is there, else bounded.

use std::sync::Arc;

use karat_scoring::judge::JudgeInput;
use karat_types::{Action, Ask, Key, Machine, ModelSpec, Request, Turn};
use serde_json::Value;

use super::ground::{Ground, Known, Place};
use super::sums::{Needed, Sum, Who};
use crate::made::Why;
use crate::resolver::first_asks;
use crate::row::Row;
use crate::steps::DEFAULT_MAX_TOKENS;
use crate::systems::{ReadyJudge, ReadyStep, ReadySystem};
use crate::tokens;

/// Tokens that the answer of a service or program is expected to have.
const UNKNOWN_ANSWER: u64 = 1_000;

/// Tokens that a prompt is expected to have beside an output that it looks into and that does not exist yet.
const UNKNOWN_PROMPT: u64 = 500;

impl Ground<'_> {
    /// The calls of the steps from `first` on, and what is then known of the output.
    pub fn steps(&self, place: &Place<'_>, first: usize, mut known: Known) -> Result<(Vec<Needed>, Known), Why> {
        let mut needed = Vec::with_capacity(place.keys.len() + self.systems.judges.len());
        for (step, key) in place.system.chain.iter().zip(place.keys).skip(first) {
            let (who, sum, length) = match (&step.model, outside(step)) {
                (Some(model), _) => {
                    let (sum, length) = self.step(place.row, place.system, step, &known)?;
                    (Who::Model(model.clone()), sum, length)
                }
                (None, Some(who)) => {
                    let requests = match &known {
                        Known::Length(..) => 1,
                        Known::Output(_) | Known::Nothing => {
                            first_asks(place.row, place.system, step, known.output())?.len() as u64
                        }
                    };
                    let sum = Sum { calls: certain(requests), ..Sum::default() };
                    (who, sum, certain(requests * UNKNOWN_ANSWER))
                }
                (None, None) => continue,
            };
            let lengths = &self.lengths;
            let known_of =
                |model: &Arc<ModelSpec>| lengths.of_step(&model.id, &place.system.variant, &step.step.spec.id);
            let likely = step.model.as_ref().and_then(known_of);
            let (least, most) = likely.map_or(length, |likely| likely.output);
            known = Known::Length(least, most);
            let fee = lengths.fee_of_step(&place.system.variant, &step.step.spec.id);
            needed.push(Needed { key: Some(*key), who, sum, likely, fee });
        }
        Ok((needed, known))
    }

    /// The calls of a cell of which nothing is there.
    pub fn all(&self, place: &Place<'_>, start: Known) -> Vec<Needed> {
        let Ok((mut needed, known)) = self.steps(place, 0, start) else { return Vec::new() };
        let judges = self.systems.judges.iter().filter(|judge| judge.is_asked(place.at));
        needed.extend(judges.map(|judge| self.judgment(place.row, &known, judge, None)));
        needed
    }

    /// Calls of one step with the least and greatest length of its output.
    fn step(&self, row: &Row, system: &ReadySystem, step: &ReadyStep, known: &Known) -> Result<(Sum, (u64, u64)), Why> {
        let model = step.model.as_deref();
        let max_tokens = max_tokens(step.step.spec.parameters.max_tokens, model);
        let reasks = u64::from(step.step.spec.parse.as_ref().map_or(0, |parse| parse.reask));
        let after = |output: Option<&Value>| {
            let asks = first_asks(row, system, step, output)?;
            Ok::<_, Why>((asks.len() as u64, asks.iter().map(prompt_tokens).sum::<u64>()))
        };
        let (calls, input, sure) = match known {
            Known::Length(least, most) => {
                let after = |tokens| after(Some(&stand_in(tokens))).ok();
                let of = |tokens| after(tokens).unwrap_or((1, UNKNOWN_PROMPT + tokens));
                let (least, most) = (of(*least), of(*most));
                ((least.0, most.0), (least.1, most.1), after(0).map_or(0, |(_, tokens)| tokens))
            }
            Known::Output(_) | Known::Nothing => {
                let (calls, tokens) = after(known.output())?;
                (certain(calls), certain(tokens), tokens)
            }
        };
        let most = 1 + reasks;
        let output = (calls.0 * u64::from(max_tokens), calls.1 * u64::from(max_tokens));
        let sum = Sum {
            calls: (calls.0, calls.1 * most),
            input: (input.0, (input.1 + reasks * output.1) * most),
            output: (output.0.div_ceil(10), output.1 * most),
            sure,
        };
        Ok((sum, (output.0.div_ceil(10), output.1)))
    }

    pub fn judgment(&self, row: &Row, known: &Known, judge: &ReadyJudge, key: Option<Key>) -> Needed {
        let sum = judge_sum(row, judge, known, self.plan.header.run.seed);
        let scorer = self.plan.header.scorers.get(usize::from(judge.scorer)).map_or("", |scorer| scorer.id.as_str());
        let likely = self.lengths.of_judgment(scorer, &judge.model.id);
        Needed { key, who: Who::Judge(judge.model.clone()), sum, likely, fee: None }
    }
}

/// What a step asks that calls no model.
fn outside(step: &ReadyStep) -> Option<Who> {
    let kind = match step.step.spec.action {
        Action::Http(_) => "http",
        Action::Command(_) => "command",
        Action::Prompt(_) | Action::Recorded(_) => return None,
    };
    Some(Who::Outside { kind, metered: step.step.meters_cost(), cost: Default::default() })
}

/// An output that does not exist yet, as a text of so many tokens. Prompts that look into an output find nothing in it.
fn stand_in(tokens: u64) -> Value {
    Value::from(" the".repeat(usize::try_from(tokens).unwrap_or_default()))
}

fn judge_sum(row: &Row, judge: &ReadyJudge, known: &Known, seed: u64) -> Sum {
    let output = u64::from(max_tokens(judge.max_tokens, Some(&judge.model)));
    let (calls, input, sure) = match known {
        Known::Output(output) => {
            let input = JudgeInput { sample: &row.shown, output, seed };
            // The other output of a pair is taken to be as long as this one.
            match judge.machine.against(input, Some(&**output)).poll(Vec::new()) {
                Turn::Ask(asks) => {
                    let tokens = asks.iter().map(prompt_tokens).sum();
                    (asks.len() as u64, certain(tokens), tokens)
                }
                Turn::Done(_) => (0, (0, 0), 0),
            }
        }
        Known::Nothing => (0, (0, 0), 0),
        Known::Length(least, most) => {
            let pieces = judge.machine.expected_calls(&row.shown, seed);
            // A pair shows two outputs; one that is judged in pieces is shown to them and once as a whole.
            let times = if judge.partners.is_some() || pieces > 1 { 2 } else { 1 };
            let beside = pieces * judge.rubric_tokens + row_tokens(row);
            let input = |length: &u64| judge.rounds * (times * length + beside);
            (judge.rounds * pieces, (input(least), input(most)), judge.rounds * pieces * judge.rubric_tokens)
        }
    };
    let (output, most) = (calls * output, 1 + judge.reasks);
    Sum {
        calls: (calls, calls * most),
        input: (input.0, (input.1 + judge.reasks * output) * most),
        output: (output.div_ceil(10), output * most),
        sure,
    }
}

/// What is known exactly, as least and most.
fn certain(tokens: u64) -> (u64, u64) {
    (tokens, tokens)
}

fn max_tokens(asked: Option<u32>, model: Option<&ModelSpec>) -> u32 {
    let bound = model.and_then(|model| model.max_output);
    let asked = asked.or(model.and_then(|model| model.parameters.max_tokens)).or(bound).unwrap_or(DEFAULT_MAX_TOKENS);
    bound.map_or(asked, |bound| asked.min(bound))
}

fn prompt_tokens(ask: &Ask) -> u64 {
    match &ask.request {
        Request::Chat(request) => request.messages.iter().map(|message| 4 + tokens::estimated(&message.content)).sum(),
        Request::File { .. } | Request::Http(_) | Request::Command(_) => 0,
    }
}

fn row_tokens(row: &Row) -> u64 {
    row.sample.columns.values().map(|value| tokens::estimated(&value.to_string())).sum()
}
