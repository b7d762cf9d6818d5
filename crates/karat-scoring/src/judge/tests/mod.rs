//! Judges from rubric to verdict. The rubrics are those of the presets, in their decoded form.

mod chunked;
mod contract;
mod corpus;
mod counted;
mod injections;
mod planted;
mod quoted;
mod replies;
mod rounds;
mod rubrics;

use std::collections::VecDeque;
use std::sync::Arc;

use karat_types::{
    Answer, CallError, CallErrorCode, ChatRequest, FinishReason, Machine, ModelSpec, NoteKind, Reply, Request, Role,
    RubricScorer, Sample, Turn,
};
use serde_json::{Map, Value, json};

use super::*;

/// A judge model with the given window, as the registry has it.
fn model(extra: Value) -> ModelSpec {
    let mut spec = json!({"id": "the-judge", "provider": "the-provider", "model": "the-model-name"});
    if let (Some(spec), Some(extra)) = (spec.as_object_mut(), extra.as_object()) {
        spec.extend(extra.clone());
    }
    serde_json::from_value(spec).unwrap()
}

fn scorer(rubric: Value, labels: Value) -> RubricScorer {
    let scorer =
        json!({"rubric": rubric, "judges": ["the-judge"], "consensus": {}, "parameters": {}, "labels": labels});
    serde_json::from_value(scorer).unwrap()
}

fn sample(id: &str, columns: Value, reference: Option<Value>) -> Sample {
    let Value::Object(columns) = columns else { panic!("columns are an object") };
    Sample {
        row: 0,
        id: id.into(),
        input: None,
        reference,
        cluster: None,
        date: None,
        columns,
        metadata: Map::new(),
        only: None,
    }
}

fn reply(text: impl Into<String>, finish: FinishReason) -> Result<Arc<Reply>, CallError> {
    Ok(Arc::new(Reply::new(text, finish)))
}

fn stop(text: impl Into<String>) -> Result<Arc<Reply>, CallError> {
    reply(text, FinishReason::Stop)
}

/// A judgment driven by canned answers, in the order of the asks.
struct Driven {
    verdict: Verdict,
    asked: Vec<(String, ChatRequest)>,
}

impl Driven {
    fn new(mut machine: JudgeMachine, answers: impl IntoIterator<Item = Result<Arc<Reply>, CallError>>) -> Self {
        let mut answers: VecDeque<_> = answers.into_iter().collect();
        let (mut asked, mut taken) = (Vec::new(), Vec::new());
        loop {
            match machine.poll(std::mem::take(&mut taken)) {
                Turn::Done(verdict) => return Self { verdict, asked },
                Turn::Ask(asks) => {
                    assert!(!asks.is_empty(), "an empty turn");
                    for ask in asks {
                        let Request::Chat(request) = ask.request else { panic!("a judge asks for chat only") };
                        let outcome = answers.pop_front().expect("no answer left");
                        asked.push((ask.id.to_string(), request));
                        taken.push(Answer { id: ask.id, outcome });
                    }
                }
            }
        }
    }

    fn ids(&self) -> Vec<&str> {
        self.asked.iter().map(|(id, _)| id.as_str()).collect()
    }

    fn score(&self, name: &str) -> &Score {
        &self.verdict.scores.iter().find(|(known, _)| known == name).unwrap().1
    }

    fn number(&self, name: &str) -> f64 {
        self.score(name).number().unwrap_or_else(|| panic!("{name}: {:?}", self.score(name)))
    }

    fn notes(&self, kind: NoteKind) -> Vec<&str> {
        self.verdict.notes.iter().filter(|note| note.kind == kind).map(|note| note.text.as_str()).collect()
    }

    fn error(&self) -> &str {
        self.verdict.error.as_ref().map_or("", |error| error.message.as_str())
    }
}

/// The one request of the claims judge.
fn request(machine: &mut JudgeMachine) -> ChatRequest {
    let Turn::Ask(asks) = machine.poll(Vec::new()) else { panic!("a call is expected") };
    let Request::Chat(request) = &asks[0].request else { panic!("a chat is expected") };
    request.clone()
}

fn text(request: &ChatRequest) -> String {
    request.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

/// CL-15: a call that fails leaves the judgment unscored, with the error.
#[test]
fn a_failed_call_is_unscored_with_its_error() {
    let claims = rubrics::Claims::new();
    let error = CallError { code: CallErrorCode::Timeout, message: "no answer in 120 s".into(), status: None };
    let driven = Driven::new(claims.machine(), [Err(error)]);
    assert_eq!(driven.verdict.error.as_ref().unwrap().code, "timeout");
    assert!(driven.verdict.scores.iter().all(|(_, score)| score.is_unscored()));
    assert_eq!(driven.verdict.scores.len(), 5);
}

/// A rubric that needs a reference does not apply to a row without one, and costs no call.
#[test]
fn a_missing_reference_is_not_applicable() {
    let mut rubric = rubrics::summary();
    rubric["reference"] = json!("required");
    let judge = RubricJudge::new(&scorer(rubric, json!([])), &model(json!({}))).unwrap();
    let sample = sample("s", json!({}), None);
    let driven = Driven::new(judge.machine(JudgeInput { sample: &sample, output: &json!({}), seed: 1 }), []);
    assert_eq!(driven.score("title"), &Score::not_applicable("no reference"));
    assert!(driven.verdict.error.is_none());
}

/// RG-08: where a required value is empty, nothing is judged and nobody is asked; where it says anything, the judge is.
#[test]
fn missing_required_values_make_no_call() {
    let mut rubric = rubrics::summary();
    rubric["show"] = json!([
        {"name": "context", "value": "{{ output.sources }}", "as": "json", "required": true},
        {"name": "answer", "value": "{{ output.answer }}"}
    ]);
    let judge = RubricJudge::new(&scorer(rubric, json!([])), &model(json!({}))).unwrap();
    let sample = sample("s", json!({}), None);
    let machine = |sources: &Value| {
        let output = json!({"answer": "It rose.", "sources": sources});
        judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 })
    };
    for sources in [json!(null), json!([]), json!({}), json!(" "), json!([null, "", {"text": ""}])] {
        let driven = Driven::new(machine(&sources), []);
        assert_eq!(driven.score("title"), &Score::not_applicable("there is no context"), "{sources}");
        assert!(driven.asked.is_empty() && driven.verdict.error.is_none());
    }
    for sources in [json!(["Revenue rose."]), json!({"c1": "Revenue rose."}), json!("Revenue rose.")] {
        assert!(matches!(machine(&sources).poll(Vec::new()), Turn::Ask(_)), "{sources}");
    }
}

/// A plan counts a judge only where its sample lets it ask: what the output decides is not known before.
#[test]
fn a_sample_alone_may_say_that_nobody_is_asked() {
    let may_ask = |show: Value, reference: &str, condition: Option<&str>, columns: Value| {
        let mut rubric = rubrics::summary();
        (rubric["show"], rubric["reference"]) = (show, json!(reference));
        let scorer = RubricScorer { only_where: condition.map(str::to_owned), ..scorer(rubric, json!([])) };
        let judge = RubricJudge::new(&scorer, &model(json!({}))).unwrap();
        let sample = sample("s", columns, None);
        let driven = |output: &Value| {
            let mut machine = judge.machine(JudgeInput { sample: &sample, output, seed: 1 });
            matches!(machine.poll(Vec::new()), Turn::Ask(_))
        };
        let outputs = [json!({"answer": "It rose.", "sources": ["A"]}), json!({"answer": "It rose."})];
        let said = judge.may_ask(&sample, 1);
        assert!(said || !outputs.iter().any(driven), "it would be asked");
        said
    };
    let value = |text: &str| json!([{"name": "need", "value": text, "required": true}]);
    let of_sample = value("{{ sample.need | default('') }}");
    assert!(may_ask(of_sample.clone(), "hidden", None, json!({"need": "loud"})));
    assert!(!may_ask(of_sample, "hidden", None, json!({})));
    assert!(may_ask(value("{{ output.sources }}"), "hidden", None, json!({})));
    assert!(!may_ask(value("{{ output.sources }}"), "required", None, json!({})));
    let of_both = value("{{ output.sources }} {{ sample.n }}");
    assert!(!may_ask(of_both.clone(), "hidden", Some("sample.n > 1"), json!({"n": 1})));
    assert!(may_ask(of_both, "hidden", Some("sample.n > 1"), json!({"n": 2})));
    assert!(may_ask(value("{{ output.sources }}"), "hidden", Some("output.sources | length > 1"), json!({})));
}

/// SU-06: paired where the row has a reference, absolute where not; the mode is part of the verdict.
#[test]
fn an_optional_reference_is_shown_where_there_is_one() {
    let judge = RubricJudge::new(&scorer(rubrics::summary(), json!([])), &model(json!({}))).unwrap();
    for (reference, mode) in [(None, Mode::Absolute), (Some(json!("THE-REFERENCE")), Mode::Paired)] {
        let sample = sample("s", json!({}), reference.clone());
        let mut machine = judge.machine(JudgeInput { sample: &sample, output: &json!({"title": "t"}), seed: 1 });
        let prompt = text(&request(&mut machine));
        assert_eq!(prompt.contains("THE-REFERENCE") && prompt.contains("<<<REFERENCE "), reference.is_some());
        let driven = Driven::new(
            judge.machine(JudgeInput { sample: &sample, output: &json!({}), seed: 1 }),
            [stop(rubrics::summary_reply().to_string())],
        );
        assert_eq!(driven.verdict.mode, mode);
    }
}

#[test]
fn broken_rubrics_are_refused_when_compiled() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut rubric = rubrics::claims();
        change(&mut rubric);
        RubricJudge::new(&scorer(rubric, json!([])), &model(json!({}))).unwrap_err().to_string()
    };
    assert!(refused(&|rubric| rubric["dimensions"] = json!([])).contains("no dimension"));
    assert!(refused(&|rubric| rubric["show"][0]["value"] = json!("{{ sample.")).contains("`show.title`"));
    assert!(refused(&|rubric| rubric["show"][4]["route"] = json!("nowhere")).contains("route"));
    assert!(refused(&|rubric| rubric["show"][2]["chunk"] = json!({})).contains("only one can be cut"));
    assert!(
        refused(&|rubric| rubric["prompt"] = json!({"system": "{{ ask }}", "user": "{{ sections }}"}))
            .contains("{{ dimensions }}")
    );
}

/// A column that the row does not have is an error of the judgment, naming the column.
#[test]
fn an_undefined_column_is_unscored() {
    let claims = rubrics::Claims::new();
    let sample = sample("s", json!({"title": "t"}), None);
    let judge = claims.judge();
    let driven = Driven::new(judge.machine(JudgeInput { sample: &sample, output: &claims.output, seed: 1 }), []);
    assert_eq!(driven.verdict.error.as_ref().unwrap().code, "template");
    assert!(driven.error().contains("sample.channelName"), "{}", driven.error());
}

/// PE-17, CL-17: identity is content: the judge model is apart, labels count only where they are shown.
#[test]
fn identity_is_content() {
    let of = |rubric: Value, labels: Value, judge: Value| {
        RubricJudge::new(&scorer(rubric, labels), &model(judge)).unwrap().identity()
    };
    let base = of(rubrics::claims(), json!([]), json!({}));
    assert_eq!(base, of(rubrics::claims(), json!([]), json!({"context_window": 8000})));
    assert_ne!(base, of(rubrics::claims(), rubrics::labels(), json!({})));
    let mut bumped = rubrics::claims();
    bumped["version"] = json!("v2");
    assert_ne!(base, of(bumped, json!([]), json!({})));
    let mut without = rubrics::claims();
    without["examples"] = json!(0);
    assert_eq!(of(without.clone(), json!([]), json!({})), of(without, rubrics::labels(), json!({})));
}

#[test]
fn reads_are_those_of_all_templates() {
    let judge = rubrics::Claims::new().judge();
    let expected =
        ["output.claims", "sample.channelName", "sample.description", "sample.title", "sample.transcript.fullText"];
    assert_eq!(judge.reads(), expected);
    assert_eq!(judge.dimensions(), ["completeness", "accuracy", "topicCoverage", "atomicity", "overallScore"]);
}
