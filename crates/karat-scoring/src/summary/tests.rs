//! The dimensions against values worked out by hand, the corpus on disk, gates, and judges.

use std::collections::BTreeMap;

use karat_types::{CallError, CallErrorCode, Clock, FinishReason, Moment};
use serde_json::{Value, json};

use super::*;
use crate::{Completion, Prompt};

fn summary(value: Value) -> Summary {
    serde_json::from_value(value).unwrap()
}

fn scored(dimension: &str, reference: Value, candidate: Value) -> DimensionScore {
    of(Fidelity::default(), dimension, reference, candidate)
}

fn of(fidelity: Fidelity, dimension: &str, reference: Value, candidate: Value) -> DimensionScore {
    let side = |value: Value| summary(json!({dimension: value}));
    fidelity.score("s", &side(reference), &side(candidate)).dimension(dimension).unwrap().clone()
}

fn words(n: usize) -> String {
    (0..n).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ")
}

/// SU-02: the title is Jaccard of words, × 0.7 beyond a ratio of 0.5 or 2, not at it.
#[test]
fn title_by_hand() {
    let title = |reference: &str, candidate: &str| scored("title", json!(reference), json!(candidate)).score;
    assert_eq!(title("Fix the login loop", "fix login LOOP!"), 3.0 / 4.0);
    assert_eq!(title("", ""), 1.0);
    assert_eq!(title("", "x"), 0.0);
    assert_eq!(title("x", ""), 0.0);
    assert_eq!(title("!?", "..."), 1.0);
    assert_eq!(title(&words(4), &words(2)), 0.5);
    assert_eq!(title(&words(5), &words(2)), 0.4 * 0.7);
    assert_eq!(title(&words(2), &words(4)), 0.5);
    assert_eq!(title(&words(2), &words(5)), 0.4 * 0.7);
    let reason = scored("title", json!(words(2)), json!(words(5))).reason;
    assert_eq!(reason, "jaccard 0.400 (2 of 5 words shared), × 0.7 for length: 5 words against 2");
}

/// SU-02: the summary is Jaccard of words, × 0.5 below a ratio of 0.3 and × 0.8 above 3, not at them.
#[test]
fn summary_by_hand() {
    let text =
        |reference: usize, candidate: usize| scored("summary", json!(words(reference)), json!(words(candidate))).score;
    assert_eq!(text(10, 3), 0.3);
    assert_eq!(text(10, 2), 0.2 * 0.5);
    assert_eq!(text(2, 6), 2.0 / 6.0);
    assert_eq!(text(2, 7), 2.0 / 7.0 * 0.8);
    assert_eq!(text(4, 4), 1.0);
    assert_eq!((text(0, 0), text(0, 1), text(1, 0)), (1.0, 0.0, 0.0));
}

/// SU-02: words are runs of Unicode letters and digits, lower-cased, each counted once.
#[test]
fn words_are_unicode() {
    let title = |reference: &str, candidate: &str| scored("title", json!(reference), json!(candidate)).score;
    assert_eq!(title("Ärger mit Öl", "ÄRGER-MIT_ÖL"), 1.0);
    assert_eq!(title("登录 循环 2024", "登录, 循环: 2024"), 1.0);
    assert_eq!(title("ΟΔΟΣ", "οδος"), 1.0);
    assert_eq!(title("٤٢ ошибок", "ошибок ٤٢"), 1.0);
    assert_eq!(title("a a a b", "b a"), 1.0);
    assert_eq!(title("½ x", "x"), 1.0);
}

/// SU-02: F1 of the bullets with a partner at Jaccard ≥ 0.3; recall and precision are in the reason.
#[test]
fn key_actions_by_hand() {
    let actions = |reference: Value, candidate: Value| scored("key_actions", reference, candidate);
    let found = actions(json!(["add a test", "fix the cookie"]), json!(["Fix the cookie", "rename files", "add test"]));
    assert_eq!(found.reason, "recall 1.000 (2 of 2), precision 0.667 (2 of 3)");
    assert_eq!(found.score, 2.0 * 1.0 * (2.0 / 3.0) / (1.0 + 2.0 / 3.0));
    // Shared 3 of 10 words is 0.3 exactly and matches; 2 of 7 does not.
    assert_eq!(actions(json!([words(10)]), json!([words(3)])).score, 1.0);
    assert_eq!(actions(json!([words(7)]), json!([words(2)])).score, 0.0);
    assert_eq!(actions(json!([]), json!([])).score, 1.0);
    assert_eq!(actions(json!([]), json!(["x"])).score, 0.0);
    assert_eq!(actions(json!(["x"]), json!([])).score, 0.0);
}

/// SU-02: outcomes are equal after trimming and lower-casing.
#[test]
fn outcome_by_hand() {
    let outcome = |reference: &str, candidate: &str| scored("outcome", json!(reference), json!(candidate)).score;
    assert_eq!(outcome("success", " Success\n"), 1.0);
    assert_eq!(outcome("success", "successful"), 0.0);
    assert_eq!((outcome("", ""), outcome("failed", ""), outcome("", "failed")), (1.0, 0.0, 0.0));
}

fn moments(of: &[(i64, &str)]) -> Value {
    of.iter().map(|(seq, kind)| json!({"seq": seq, "type": kind})).collect()
}

/// SU-02: 0.6 · (1 − |Δcount| / larger count) + 0.4 · overlap of types.
#[test]
fn moments_by_hand() {
    let moments = |reference: &[(i64, &str)], candidate: &[(i64, &str)]| {
        scored("aha_moments", moments(reference), moments(candidate))
    };
    let found = moments(&[(1, "Insight"), (5, "fix")], &[(9, "insight")]);
    assert_eq!(found.score, 0.6 * 0.5 + 0.4 * 0.5);
    assert_eq!(found.reason, "count 0.500 (1 against 2), overlap of types 0.500");
    assert_eq!(moments(&[(1, "a")], &[(7, "A")]).score, 1.0);
    assert_eq!(moments(&[], &[]).score, 1.0);
    assert_eq!(moments(&[], &[(1, "a")]).score, 0.5);
    assert_eq!(moments(&[(1, "a")], &[]).score, 0.0);
}

/// SU-02: positions instead of types, where wanted, with a tolerance.
#[test]
fn moments_by_position() {
    let by = |tolerance| Fidelity::new(Weights::default(), MomentOverlap::Position { tolerance }).unwrap();
    let score = |tolerance| {
        let (reference, candidate) = (moments(&[(10, "a"), (20, "a")]), moments(&[(12, "b"), (20, "b")]));
        of(by(tolerance), "aha_moments", reference, candidate)
    };
    assert_eq!(score(0).score, 0.6 + 0.4 * (1.0 / 3.0));
    assert_eq!(score(1).score, 0.6 + 0.4 * (1.0 / 3.0));
    assert_eq!(score(2).score, 1.0);
    assert!(score(2).reason.ends_with("overlap of positions 1.000"), "{}", score(2).reason);
    // One position matches one other only.
    let (one, two) = (moments(&[(10, "a")]), moments(&[(9, "a"), (11, "a")]));
    assert_eq!(of(by(5), "aha_moments", one, two).score, 0.6 * 0.5 + 0.4 * 0.5);
}

/// SU-03: the weights must sum to 1, each 0 or more; the overall is their weighted sum.
#[test]
fn weights_are_checked() {
    assert!(Weights::default().check().is_ok());
    let heavy = Weights { title: 0.3, ..Weights::default() };
    assert!(heavy.check().unwrap_err().to_string().contains("sum to 1"));
    let negative = Weights { title: -0.1, summary: 0.6, ..Weights::default() };
    assert!(matches!(negative.check(), Err(WeightsError::Negative { dimension: "title", .. })));
    assert!(Fidelity::new(Weights { title: f64::NAN, ..Weights::default() }, MomentOverlap::Type).is_err());
    let all = summary(json!({"title": "a b", "summary": "c", "key_actions": ["d"], "outcome": "failed"}));
    let wrong = Summary { outcome: "success".into(), title: "a".into(), ..all.clone() };
    let score = Fidelity::default().score("s", &all, &wrong);
    assert!((score.overall - (0.2 * 0.5 + 0.3 + 0.3 + 0.1)).abs() < 1e-12);
    assert_eq!(Fidelity::default().score("s", &all, &all).overall, 1.0);
}

/// SU-02: the dimensions stand in one order, and each has its reason.
#[test]
fn dimensions_have_an_order_and_reasons() {
    let score =
        Fidelity::default().score("s", &Summary::default(), &summary(json!({"title": "x", "aha_moments": null})));
    let names: Vec<&str> = score.dimensions.iter().map(|found| found.dimension.as_str()).collect();
    assert_eq!(names, DIMENSIONS);
    assert!(score.dimensions.iter().all(|found| !found.reason.is_empty()));
}

fn corpus() -> Vec<ReferenceSession> {
    ["s-1", "s-2"].map(|name| ReferenceSession::new(name, summary(json!({"title": "a", "outcome": "failed"})))).into()
}

/// SU-04: means, extremes, and a session without a candidate as zeros that count.
#[test]
fn a_corpus_counts_what_is_missing() {
    let candidates = BTreeMap::from([("s-1".to_owned(), summary(json!({"title": "b", "outcome": "failed"})))]);
    let report = Fidelity::default().score_corpus(&corpus(), &candidates, Moment(7));
    assert_eq!((report.scored_at, report.corpus_size), (Moment(7), 2));
    assert_eq!(
        [report.overall_mean, report.overall_min, report.overall_max].map(|it| format!("{it:.12}")),
        [0.4, 0.0, 0.8].map(|it| format!("{it:.12}"))
    );
    assert_eq!((report.dimension_means["title"], report.dimension_means["outcome"]), (0.0, 0.5));
    assert!(report.sessions[1].dimensions.iter().all(|found| found.reason == MISSING_CANDIDATE));
    let empty = Fidelity::default().score_corpus(&[], &candidates, Moment(0));
    assert_eq!((empty.corpus_size, empty.overall_mean, empty.dimension_means.len()), (0, 0.0, 0));
}

/// SU-05: what fails is said with its mean and its gate; equal passes.
#[test]
fn gates_say_what_failed() {
    let candidates = BTreeMap::from([("s-1".to_owned(), summary(json!({"title": "b", "outcome": "failed"})))]);
    let report = Fidelity::default().score_corpus(&corpus(), &candidates, Moment(0));
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
