//! The calls that a cell needs: exact where their input exists, else bounded.

use std::sync::Arc;

use karat_scoring::judge::JudgeInput;
use karat_scoring::scorer::{CellView, Origin, ScoresSoFar};
use karat_types::{Action, AgentSpec, Ask, Key, Machine, ModelSpec, Request, ResponseFacts, Turn, Usage, UserSpec};
use serde_json::Value;

use super::context::{EstimateContext, KnownOutput, PlannedCell};
use super::sums::{CallSum, NeededCalls, Recipient};
use crate::call::vectors::vector_key;
use crate::plan::cascade::CascadePlace;
use crate::plan::ready::{ReadyJudge, ReadyScorer, ReadyStep, ReadySystem};
use crate::plan::tokens;
use crate::reuse::resolver::first_asks;
use crate::rows::row::Row;
use crate::steps::{DEFAULT_MAX_TOKENS, Reason};

/// Expected tokens of the answer of a service or program.
const UNKNOWN_ANSWER: u64 = 1_000;

/// Least tokens that a reply is expected to have: a word, or a grade as JSON.
const LEAST_REPLY: u64 = 16;

/// Expected tokens of a prompt beside an output that does not exist yet.
const UNKNOWN_PROMPT: u64 = 500;

impl EstimateContext<'_> {
    /// The calls of the steps from `first` on, and what is known of the output after them.
    pub fn step_calls(
        &self,
        place: &PlannedCell<'_>,
        first: usize,
        mut known: KnownOutput,
    ) -> Result<(Vec<NeededCalls>, KnownOutput), Reason> {
        let mut needed = Vec::with_capacity(place.keys.len() + self.systems.judges.len());
        for (step, key) in place.system.chain.iter().zip(place.keys).skip(first) {
            let (who, sum, length) = match (&step.model, external_recipient(step)) {
                (Some(model), _) => {
                    let (sum, length) = self.model_step_sum(place.row, place.system, step, &known)?;
                    (Recipient::Model(model.clone()), sum, length)
                }
                (None, Some(who)) => {
                    let requests = match &known {
                        KnownOutput::Length(..) => 1,
                        KnownOutput::Output(_) | KnownOutput::Nothing => {
                            first_asks(place.row, place.system, step, known.output())?.len() as u64
                        }
                    };
                    let sum = CallSum { calls: exactly(requests), ..CallSum::default() };
                    (who, sum, exactly(requests * UNKNOWN_ANSWER))
                }
                (None, None) => continue,
            };
            let usage_history = &self.usage_history;
            let known_of =
                |model: &Arc<ModelSpec>| usage_history.step_usage(&model.id, &place.system.variant, &step.step.spec.id);
            let likely = step.model.as_ref().and_then(known_of);
            let (least, most) = likely.map_or(length, |likely| likely.output);
            known = KnownOutput::Length(least, most);
            let fee = usage_history.step_fee(&place.system.variant, &step.step.spec.id);
            let user = self.user_calls(place.row, step);
            needed.push(NeededCalls { key: Some(*key), who, sum, likely, fee });
            needed.extend(user);
        }
        Ok((needed, known))
    }

    /// The calls of a cell with nothing cached.
    pub fn all_calls(&self, place: &PlannedCell<'_>, start: KnownOutput) -> Vec<NeededCalls> {
        let Ok((mut needed, known)) = self.step_calls(place, 0, start) else { return Vec::new() };
        let judges = self.systems.judges.iter().filter(|judge| judge.is_asked(place.row.sample.row, place.at));
        let seed = self.plan.header.run.seed;
        let asked = judges.filter(|judge| judge.machine.may_ask(&place.row.shown, seed));
        let asked = asked.filter(|judge| is_expected(place, judge) != Some(false));
        needed.extend(asked.map(|judge| self.judgment_calls(place, &known, judge, None)));
        needed.extend(self.needed_texts(place.row, &known, |_| false));
        needed
    }

    /// The texts of a cell that need a vector, unless `is_known` says that of their key.
    pub fn needed_texts(&self, row: &Row, known: &KnownOutput, is_known: impl Fn(Key) -> bool) -> Vec<NeededCalls> {
        let (placeholder, facts) = (placeholder_output(1), ResponseFacts::default());
        let view = CellView {
            sample: &row.shown,
            output: known.output().unwrap_or(&placeholder),
            latency_ms: 0.0,
            facts: &facts,
            cost: None,
            usage: Usage::default(),
            so_far: ScoresSoFar::default(),
            joined: None,
            origin: Origin::default(),
        };
        let mut needed = Vec::new();
        let scorers = if matches!(known, KnownOutput::Nothing) { &[][..] } else { &self.systems.scorers };
        let texts = |ready: &ReadyScorer| match known {
            KnownOutput::Output(_) => ready.scorer.embed(&view)?.ok(),
            KnownOutput::Length(..) | KnownOutput::Nothing => ready.scorer.embed_ahead(&view),
        };
        for texts in scorers.iter().filter_map(texts) {
            let model = self.plan.header.embedders.iter().find(|model| model.id == texts.model).cloned();
            let Some(model) = model.map(Arc::new) else { continue };
            let key_of = |text: &str| vector_key(&model, texts.dimensions, text);
            let mut add = |key: Option<Key>, calls, (least, most): (u64, u64)| {
                let sum = CallSum { calls, input: (least, most), ..CallSum::default() };
                let who = Recipient::Texts(model.clone());
                needed.push(NeededCalls { key, who, sum, likely: None, fee: None });
            };
            let whole = match known {
                KnownOutput::Length(least, most) => {
                    add(None, (0, 1), (*least, *most));
                    None
                }
                KnownOutput::Output(_) | KnownOutput::Nothing => Some(&texts.output),
            };
            for text in whole.into_iter().chain(&texts.references) {
                let key = key_of(text);
                if !is_known(key) {
                    add(Some(key), exactly(1), exactly(tokens::estimate_tokens(text)));
                }
            }
        }
        needed
    }

    /// The calls of one step, with the minimum and maximum length of its output.
    fn model_step_sum(
        &self,
        row: &Row,
        system: &ReadySystem,
        step: &ReadyStep,
        known: &KnownOutput,
    ) -> Result<(CallSum, (u64, u64)), Reason> {
        let model = step.model.as_deref();
        let max_tokens = max_tokens(step.step.spec.parameters.max_tokens, model);
        let reasks = u64::from(step.step.spec.parse.as_ref().map_or(0, |parse| parse.reask));
        let after = |output: Option<&Value>| {
            let asks = first_asks(row, system, step, output)?;
            let files = &self.resolver.recorded_files;
            let media = |ask: &Ask| match &ask.request {
                Request::Chat(request) if request.has_media() => files.media_tokens(request, model),
                _ => 0,
            };
            Ok::<_, Reason>((asks.len() as u64, asks.iter().map(|ask| prompt_tokens(ask) + media(ask)).sum::<u64>()))
        };
        let (calls, input, sure) = match known {
            KnownOutput::Length(least, most) => {
                let after = |tokens| after(Some(&placeholder_output(tokens))).ok();
                let range_with = |tokens| after(tokens).unwrap_or((1, UNKNOWN_PROMPT + tokens));
                let (least, most) = (range_with(*least), range_with(*most));
                ((least.0, most.0), (least.1, most.1), after(0).map_or(0, |(_, tokens)| tokens))
            }
            KnownOutput::Output(_) | KnownOutput::Nothing => {
                let (calls, tokens) = after(known.output())?;
                (exactly(calls), exactly(tokens), tokens)
            }
        };
        if let Some(agent) = step.step.spec.action.as_agent() {
            return Ok(agent_sum(agent, (calls, input, sure), u64::from(max_tokens)));
        }
        let most = 1 + reasks;
        let output = (calls.0 * u64::from(max_tokens), calls.1 * u64::from(max_tokens));
        let sum = CallSum {
            calls: (calls.0, calls.1 * most),
            input: (input.0, (input.1 + reasks * output.1) * most),
            output: (calls.0 * least_reply(max_tokens.into()), output.1 * most),
            sure,
            is_guess: true,
        };
        Ok((sum, (calls.0 * least_reply(max_tokens.into()), output.1)))
    }

    /// The calls of the model that plays the user of an agent.
    fn user_calls(&self, row: &Row, step: &ReadyStep) -> Option<NeededCalls> {
        let agent = step.step.spec.action.as_agent()?;
        let Some(UserSpec::Model { turns, text, .. }) = &agent.user else { return None };
        let (turns, model) = (u64::from((*turns).min(agent.limits.turns)), step.user.clone()?);
        let reply = u64::from(max_tokens(None, Some(&model)));
        let prompt = UNKNOWN_PROMPT + tokens::estimate_tokens(text) + row_tokens(row);
        let sum = CallSum {
            calls: (0, turns),
            input: (0, turns * (prompt + turns * reply)),
            output: (0, turns * reply),
            sure: 0,
            is_guess: true,
        };
        Some(NeededCalls { key: None, who: Recipient::Model(model), sum, likely: None, fee: None })
    }

    pub fn judgment_calls(
        &self,
        place: &PlannedCell<'_>,
        known: &KnownOutput,
        judge: &ReadyJudge,
        key: Option<Key>,
    ) -> NeededCalls {
        let sum = judge_sum(place, judge, known, self.plan.header.run.seed);
        let scorer = self.plan.header.scorers.get(usize::from(judge.scorer)).map_or("", |scorer| scorer.id.as_str());
        let sum = if is_expected(place, judge).is_none() { sum.or_none() } else { sum };
        let likely = self.usage_history.judgment_usage(scorer, &judge.model.id);
        NeededCalls { key, who: Recipient::Judge(judge.model.clone()), sum, likely, fee: None }
    }
}

/// Returns whether a judge is expected to be asked about a cell: always without a cascade. `None` if only the first score
/// can tell.
pub(super) fn is_expected(place: &PlannedCell<'_>, judge: &ReadyJudge) -> Option<bool> {
    let Some(cascade) = &judge.cascade else { return Some(true) };
    cascade.expects(CascadePlace { sample: &place.row.shown, system: place.at, trial: place.trial })
}

/// The calls of an agent: one turn, or as many as it may take, each with all turns before it and the results of their
/// calls.
fn agent_sum(
    agent: &AgentSpec,
    (calls, input, sure): ((u64, u64), (u64, u64), u64),
    max_tokens: u64,
) -> (CallSum, (u64, u64)) {
    let turns = u64::from(agent.limits.turns).max(1);
    let earlier = turns * (turns - 1) / 2 * (max_tokens + UNKNOWN_ANSWER);
    let most_input = turns * input.1 + earlier;
    // The turn that reaches the limit is still asked for.
    let bound = |most: u64| agent.limits.tokens.map_or(most, |tokens| most.min(2 * tokens.max(input.1 + max_tokens)));
    let sum = CallSum {
        calls: (calls.0.min(1), turns),
        input: (input.0, bound(most_input)),
        output: (least_reply(max_tokens), bound(turns * max_tokens)),
        sure,
        is_guess: true,
    };
    (sum, (least_reply(max_tokens), max_tokens + turns * UNKNOWN_ANSWER))
}

/// The recipient of a step that calls no model.
fn external_recipient(step: &ReadyStep) -> Option<Recipient> {
    let kind = match step.step.spec.action {
        Action::Http(_) => "http",
        Action::Command(_) => "command",
        Action::Prompt(_) | Action::Agent(_) | Action::Recorded(_) => return None,
    };
    Some(Recipient::Outside { kind, metered: step.step.meters_cost(), cost: Default::default() })
}

/// A placeholder for an output that does not exist yet: a text of so many tokens. Prompts that look into the output
/// find nothing in it.
fn placeholder_output(tokens: u64) -> Value {
    Value::from(" the".repeat(usize::try_from(tokens).unwrap_or_default()))
}

fn judge_sum(place: &PlannedCell<'_>, judge: &ReadyJudge, known: &KnownOutput, seed: u64) -> CallSum {
    let row = place.row;
    let others = judge.partners.of(row.sample.row, place.at).len();
    let reply = judge.machine.reply_tokens();
    let (calls, input, sure) = match known {
        KnownOutput::Output(output) => {
            let input = JudgeInput { sample: &row.shown, output, seed };
            // The other outputs of pairs are assumed to be as long as this one.
            match judge.machine.against(input, &vec![Some(&**output); others]).poll(Vec::new()) {
                Turn::Ask(asks) => {
                    let tokens = asks.iter().map(prompt_tokens).sum();
                    (asks.len() as u64, exactly(tokens), tokens)
                }
                Turn::Done(_) => (0, (0, 0), 0),
            }
        }
        KnownOutput::Nothing => (0, (0, 0), 0),
        KnownOutput::Length(least, most) => {
            let pieces = judge.machine.expected_calls(&row.shown, seed);
            // A pair shows two outputs; an output judged in pieces is shown in pieces and once as a whole.
            let times = if judge.is_of_pairs() || pieces > 1 { 2 } else { 1 };
            let rubric = pieces * judge.rubric_tokens;
            let rounds = judge.rounds * others.max(1) as u64;
            let shown = shown_tokens(row, judge);
            let input = |length: &u64, examples: u64| rounds * (times * length + rubric + shown + examples);
            (rounds * pieces, (input(least, 0), input(most, pieces * judge.example_tokens)), rounds * rubric)
        }
    };
    let (output, most) = (calls * reply, 1 + judge.reasks);
    CallSum {
        calls: (calls, calls * most),
        input: (input.0, (input.1 + judge.reasks * output) * most),
        output: (calls * least_reply(reply), output * most),
        sure,
        is_guess: true,
    }
}

/// The least tokens that a reply of at most so many is expected to have.
fn least_reply(max_tokens: u64) -> u64 {
    max_tokens.min(LEAST_REPLY)
}

/// An exact count as minimum and maximum.
fn exactly(tokens: u64) -> (u64, u64) {
    (tokens, tokens)
}

fn max_tokens(asked: Option<u32>, model: Option<&ModelSpec>) -> u32 {
    let bound = model.and_then(|model| model.max_output);
    let asked = asked.or(model.and_then(|model| model.parameters.max_tokens)).or(bound).unwrap_or(DEFAULT_MAX_TOKENS);
    bound.map_or(asked, |bound| asked.min(bound))
}

fn prompt_tokens(ask: &Ask) -> u64 {
    match &ask.request {
        Request::Chat(request) | Request::SimulatedUser(request) => {
            let words = request.messages.iter().map(|message| 4 + tokens::estimate_tokens(&message.text()));
            let calls = request.messages.iter().flat_map(|message| &message.tool_calls);
            let calls = calls.map(|call| 8 + tokens::estimate_tokens(&call.arguments_text()));
            let tools = request.tools.iter().map(|tool| {
                let about = tool.about.as_deref().unwrap_or_default();
                8 + tokens::estimate_tokens(about) + tokens::estimate_tokens(&tool.input.to_string())
            });
            words.sum::<u64>() + calls.sum::<u64>() + tools.sum::<u64>()
        }
        Request::File { .. } | Request::Http(_) | Request::Command(_) | Request::Tool { .. } => 0,
    }
}

/// Tokens of what the rubric reads of a row: of nested names the inner ones, since an outer one may only be asked for.
fn shown_tokens(row: &Row, judge: &ReadyJudge) -> u64 {
    let names = judge.machine.reads();
    let has_inner = |name: &String| {
        names.iter().any(|other| other.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(['.', '['])))
    };
    let value_of = |name: &String| {
        let mut parts = name.split(['.', '[', ']']).filter(|part| !part.is_empty());
        let value = match parts.next() {
            Some("input") => row.shown.input.as_ref(),
            Some("reference") => row.shown.reference.as_ref(),
            Some("sample") => parts.next().and_then(|column| row.shown.columns.get(column)),
            _ => None,
        };
        parts.try_fold(value?, |value, part| match value {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            value => value.get(part),
        })
    };
    if names.iter().any(|name| name == "sample") {
        return row_tokens(row);
    }
    names.iter().filter(|name| !has_inner(name)).filter_map(value_of).map(value_tokens).sum()
}

fn value_tokens(value: &Value) -> u64 {
    value.as_str().map_or_else(|| tokens::estimate_tokens(&value.to_string()), tokens::estimate_tokens)
}

fn row_tokens(row: &Row) -> u64 {
    row.sample.columns.values().map(|value| tokens::estimate_tokens(&value.to_string())).sum()
}
