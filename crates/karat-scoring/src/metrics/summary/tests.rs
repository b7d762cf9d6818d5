//! The dimensions against values worked out by hand.

use serde_json::{Value, json};

use super::*;

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
