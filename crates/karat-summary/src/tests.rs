//! The corpus on disk, gates, and judges.

use std::collections::BTreeMap;

use karat_scoring::{Completion, Prompt};
use karat_types::{CallError, CallErrorCode, Clock, FinishReason, Moment};
use serde_json::{Value, json};

use super::*;

fn summary(value: Value) -> Summary {
    serde_json::from_value(value).unwrap()
}

fn corpus() -> Vec<ReferenceSession> {
    ["s-1", "s-2"].map(|name| ReferenceSession::new(name, summary(json!({"title": "a", "outcome": "failed"})))).into()
}

/// SU-04: means, extremes, and a session without a candidate as zeros that count.
#[test]
fn a_corpus_counts_what_is_missing() {
    let candidates = BTreeMap::from([("s-1".to_owned(), summary(json!({"title": "b", "outcome": "failed"})))]);
    let report = score_corpus(&Fidelity::default(), &corpus(), &candidates, Moment(7));
    assert_eq!((report.scored_at, report.corpus_size), (Moment(7), 2));
    assert_eq!(
        [report.overall_mean, report.overall_min, report.overall_max].map(|it| format!("{it:.12}")),
        [0.4, 0.0, 0.8].map(|it| format!("{it:.12}"))
    );
    assert_eq!((report.dimension_means["title"], report.dimension_means["outcome"]), (0.0, 0.5));
    assert!(report.sessions[1].dimensions.iter().all(|found| found.reason == MISSING_CANDIDATE));
    let empty = score_corpus(&Fidelity::default(), &[], &candidates, Moment(0));
    assert_eq!((empty.corpus_size, empty.overall_mean, empty.dimension_means.len()), (0, 0.0, 0));
}

/// SU-05: what fails is said with its mean and its gate; equal passes.
#[test]
fn gates_say_what_failed() {
    let candidates = BTreeMap::from([("s-1".to_owned(), summary(json!({"title": "b", "outcome": "failed"})))]);
    let report = score_corpus(&Fidelity::default(), &corpus(), &candidates, Moment(0));
    let gates: Gates =
        serde_json::from_value(json!({"min_overall": 0.7, "min_dimensions": {"outcome": 0.5, "title": 0.6}})).unwrap();
    assert!(gates.check().is_ok());
    assert_eq!(gates.failed_gates(&report), ["overall_mean 0.400 < gate 0.700", "title_mean 0.000 < gate 0.600"]);
    assert!(Gates::default().failed_gates(&report).is_empty());
    let held = report.clone().with_gates(&gates);
    assert_eq!(serde_json::to_value(&held).unwrap()["gates_failed"][0], "overall_mean 0.400 < gate 0.700");
    assert!(serde_json::to_value(&report).unwrap().get("gates_failed").is_none());
    let unknown = Gates { min_dimensions: BTreeMap::from([("titel".into(), 0.5)]), ..Gates::default() };
    assert!(unknown.check().unwrap_err().to_string().contains("`titel`"));
    assert!(Gates { min_overall: Some(70.0), ..Gates::default() }.check().is_err());
}

/// A folder below the system's temporary one, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("karat-summary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// F119: the prompt of a judge can be read without asking anyone, with a reference and without.
#[test]
fn prompts_can_be_built() {
    let summary = |title: &str| Summary { title: title.to_owned(), ..Summary::default() };
    let build = |reference: Option<&Summary>| {
        build_judge_prompt(reference, &summary("Mended the login"), &JudgeOptions::default()).unwrap()
    };
    let (paired, absolute) = (build(Some(&summary("Fix the endless redirect"))), build(None));
    assert!(paired.contains("Mended the login") && paired.contains("Fix the endless redirect"), "{paired}");
    assert!(absolute.contains("Mended the login") && !absolute.contains("endless"), "{absolute}");
    assert!(absolute.contains("\"overall\""), "it shows the form of the reply: {absolute}");
}

/// SU-01, F119: folders in the order of their names, uncurated ones left out; not curated and broken are told apart.
#[test]
fn corpora_are_read_from_folders() {
    let folder = Folder::new("corpus");
    for (name, own) in [("b", "of the file"), ("a", "")] {
        let text = format!(r#"{{"name": "{own}", "notes": "why", "reference": {{"title": "t"}}}}"#);
        folder.write(&format!("{name}/reference.json"), &text);
    }
    folder.write("uncurated/log.txt", "");
    folder.write("README.md", "");
    let names: Vec<String> = load_corpus(&folder.0).unwrap().into_iter().map(|session| session.name).collect();
    assert_eq!(names, ["a", "of the file"]);
    assert_eq!(load_session(&folder.0, "uncurated").unwrap(), None);
    assert_eq!(load_session(&folder.0, "nowhere").unwrap(), None);
    assert!(matches!(load_session(&folder.0, "../a"), Err(LoadError::Name(_))));
    folder.write("broken/reference.json", r#"{"name": "x"}"#);
    let error = load_corpus(&folder.0).unwrap_err().to_string();
    assert!(error.contains("broken") && error.contains("missing field `reference`"), "{error}");
}

/// SU-01: candidates are one file, or a folder of them by the session's name.
#[test]
fn candidates_are_files_or_folders() {
    let folder = Folder::new("candidates");
    folder.write("s-1.json", r#"{"title": "one"}"#);
    folder.write("s-2/summary.json", r#"{"title": "two", "key_actions": null}"#);
    folder.write("s-3/notes.txt", "");
    let found = load_candidates(&folder.0).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["s-1", "s-2"]);
    assert_eq!(load_candidate(folder.0.join("s-1.json")).unwrap().title, "one");
    folder.write("s-4.json", "{");
    assert!(matches!(load_candidates(&folder.0), Err(LoadError::Broken { .. })));
    assert!(matches!(load_candidate(folder.0.join("s-9.json")), Err(LoadError::Unreadable { .. })));
}

fn reply() -> Value {
    json!({
        "dimensions": [
            {"dimension": "title", "score": 0.9, "reason": "Names it."},
            {"dimension": "outcome", "score": 1.0000005, "reason": "Right."},
        ],
        "overall": 0.85, "rationale": "Good enough.", "suggestions": ["Say why.", "Be shorter."],
    })
}

fn judged(text: String, reference: Option<&Summary>) -> Result<JudgeResult, JudgeError> {
    let mut judge = CompleterJudge::new(|_: &Prompt<'_>| {
        Ok(Completion {
            model_used: "haiku-4-5".into(),
            prompt_tokens: 640,
            completion_tokens: 120,
            ..Completion::text(text.clone())
        })
    });
    judge.score("s-1", reference, &summary(json!({"title": "Fix login"})))
}

/// SU-06: paired with a reference, absolute without; absent dimensions count 0; the overall is the judge's own.
#[test]
fn a_judge_scores_with_and_without_a_reference() {
    for (reference, mode) in [(Some(Summary::default()), "paired"), (None, "absolute")] {
        let result = judged(reply().to_string(), reference.as_ref()).unwrap();
        assert_eq!((result.mode.as_str(), result.overall), (mode, 0.85));
        assert_eq!(result.suggestions, ["Say why.", "Be shorter."]);
        assert_eq!(
            (result.model_used.as_str(), result.prompt_tokens, result.completion_tokens),
            ("haiku-4-5", 640, 120)
        );
        let score = result.to_session_score();
        assert_eq!(score.overall, 0.85);
        assert_eq!(score.dimensions.iter().map(|it| it.score).collect::<Vec<_>>(), [0.9, 0.0, 0.0, 1.0, 0.0]);
        let report = CorpusReport::of(vec![score], Moment(0));
        assert_eq!(report.dimension_means["title"], 0.9);
    }
}

/// SU-06: a fence or prose around one object is fine, no object is an error, a judge on a scale to 10 has no score.
#[test]
fn replies_are_read_strictly() {
    let fenced = format!("Here it is:\n```json\n{}\n```\nDone.", reply());
    assert_eq!(judged(fenced, None).unwrap().overall, 0.85);
    let error = judged("I would say 8 of 10.".into(), None).unwrap_err();
    assert_eq!((error.code.as_str(), error.name.as_str()), ("parse", "s-1"));
    let mut to_ten = reply();
    to_ten["dimensions"][0]["score"] = json!(9);
    let error = judged(to_ten.to_string(), None).unwrap_err().to_string();
    assert!(error.contains("`title` is 9, but must be a number from 0 to 1"), "{error}");
}

/// SU-06: options reach the prompt and the completer.
#[test]
fn options_reach_the_model() {
    let mut seen = (String::new(), None);
    let options = JudgeOptions { model_hint: Some("opus".into()), include_suggestions: false, max_rationale_chars: 5 };
    let mut judge = CompleterJudge::new(|prompt: &Prompt<'_>| {
        seen = (prompt.text(), prompt.model_hint.map(str::to_owned));
        Ok(Completion::text(reply().to_string()))
    })
    .with_options(options);
    let result = judge.score("s-1", None, &Summary::default()).unwrap();
    assert_eq!((result.rationale.as_str(), result.suggestions.len()), ("Good ", 0));
    drop(judge);
    assert!(seen.0.contains("at most 5 characters") && !seen.0.contains("suggestions"), "{}", seen.0);
    assert_eq!(seen.1.as_deref(), Some("opus"));
}

/// SU-07: a call that fails is an error with its code; a truncated reply is never taken for complete.
#[test]
fn failures_are_reported() {
    let candidate = Summary::default();
    let timeout = CallError { code: CallErrorCode::Timeout, message: "no answer in 30 s".into(), status: None };
    let mut silent = CompleterJudge::new(move |_: &Prompt<'_>| Err::<Completion, _>(timeout.clone()));
    assert_eq!(silent.score("s", None, &candidate).unwrap_err().code, "timeout");
    let cut = reply().to_string()[..60].to_owned();
    let mut short = CompleterJudge::new(move |_: &Prompt<'_>| {
        Ok(Completion { finish: FinishReason::Length, ..Completion::text(cut.clone()) })
    });
    assert_eq!(short.score("s", None, &candidate).unwrap_err().code, "parse");
}

/// A clock that goes on by 250 ms whenever it is read.
struct Ticking(std::sync::atomic::AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Moment {
        Moment(self.0.fetch_add(250, std::sync::atomic::Ordering::Relaxed))
    }
}

/// SU-07: one line a judgment, with model, time and tokens.
#[test]
fn a_judgment_is_one_line() {
    let clock = std::sync::Arc::new(Ticking(0.into()));
    let mut judge = CompleterJudge::new(|_: &Prompt<'_>| Ok(Completion::text(reply().to_string()))).with_clock(clock);
    let line = judge.score("s\n1", None, &Summary::default()).unwrap().to_string();
    assert_eq!(
        line,
        "judgment name=\"s\\n1\" mode=absolute overall=0.850 title=0.900 summary=0.000 key_actions=0.000 outcome=1.000 \
         aha_moments=0.000 model=\"\" duration_ms=250 prompt_tokens=0 completion_tokens=0"
    );
}

/// SU-07: a judge may be anything, a rule as well as a model.
#[test]
fn own_judges_are_judges() {
    struct Terse;
    impl Judge for Terse {
        fn score(&mut self, name: &str, _: Option<&Summary>, candidate: &Summary) -> Result<JudgeResult, JudgeError> {
            let overall = if candidate.summary.len() < 200 { 1.0 } else { 0.0 };
            Ok(serde_json::from_value(json!({"name": name, "mode": "absolute", "dimensions": [], "overall": overall}))
                .unwrap())
        }
    }
    let judges: Vec<Box<dyn Judge>> = vec![
        Box::new(Terse),
        Box::new(CompleterJudge::new(|_: &Prompt<'_>| Ok(Completion::text(reply().to_string())))),
    ];
    let overalls = judges.into_iter().map(|mut judge| judge.score("s", None, &Summary::default()).unwrap().overall);
    assert_eq!(overalls.collect::<Vec<_>>(), [1.0, 0.85]);
}
