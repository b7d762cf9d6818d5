//! Rankings in several spaces.

use super::*;

/// RG-04: one space, or the union of each space's top k.
#[test]
fn retrieval_by_space() {
    let row = sample(json!({"evidence": {"text": ["c1"], "table": ["t1"]}}), None);
    let candidates = json!({"text": [{"id": "c9"}, {"id": "c1"}], "table": ["t1"], "page": ["p1"]});
    let run = |metric: &str, with: Value| {
        score_of(
            json!({"metric": metric, "output": "$.candidates", "reference": "evidence", "with": with}),
            &row,
            json!({"candidates": candidates}),
        )
    };
    assert_eq!(run("hit_rate", json!({"k": 1, "space": "text"})).number(), Some(0.0));
    assert_eq!(run("hit_rate", json!({"k": 1})).number(), Some(1.0));
    assert_eq!(run("recall", json!({"k": 1})).number(), Some(0.5));
    assert_eq!(run("recall", json!({"k": 2})).number(), Some(1.0));
    assert!(matches!(run("recall", json!({"space": "page"})), Score::NotApplicable { .. }));
}

/// RG-04: figures over several spaces, by hand: what is ranked is c9 t1 p1 c1 t2 c1 c8, and c1, c2, t1 are relevant.
#[test]
fn several_spaces_are_ranked_as_one_list() {
    let gold = json!({"text": ["c1", "c2"], "table": ["t1"], "page": []});
    let found =
        json!({"text": ["c9", "c1", "c1", "c8"], "table": ["t1", {"id": "t2"}], "page": ["p1"], "other": ["c2"]});
    let figure = |metric: &str, with: Value, gold: &Value, found: &Value| {
        score(json!({"metric": metric, "value": gold, "with": with}), found.clone()).number()
    };
    let log2 = f64::log2;
    let ndcg = (1.0 / log2(3.0) + 1.0 / log2(5.0)) / (1.0 + 1.0 / log2(3.0) + 1.0 / log2(4.0));
    for (metric, with, expected) in [
        ("hit_rate", json!({"k": 10}), 1.0),
        ("hit_rate", json!({"k": 1}), 1.0),
        ("hit_rate", json!({"k": 1, "space": "text"}), 0.0),
        ("recall", json!({"k": 10}), 2.0 / 3.0),
        ("recall", json!({"k": 1}), 1.0 / 3.0),
        ("recall", json!({"k": 10, "space": "text"}), 1.0 / 2.0),
        ("precision", json!({"k": 10}), 2.0 / 30.0),
        ("precision", json!({"k": 1}), 1.0 / 3.0),
        ("precision", json!({"k": 10, "space": "text"}), 1.0 / 10.0),
        ("precision", json!({"space": "text"}), 1.0 / 4.0),
        ("mrr", json!({}), 1.0 / 2.0),
        ("mrr", json!({"space": "text"}), 1.0 / 2.0),
        ("ndcg", json!({"k": 10}), ndcg),
        ("ndcg", json!({"k": 10, "space": "text"}), (1.0 / log2(3.0)) / (1.0 + 1.0 / log2(3.0))),
    ] {
        let value = figure(metric, with.clone(), &gold, &found).unwrap();
        assert!((value - expected).abs() < 1e-12, "{metric} {with}: {value}, not {expected}");
    }
    assert_eq!(figure("recall", json!({"space": "page"}), &gold, &found), None, "nothing of it is relevant");
    assert_eq!(figure("recall", json!({"k": 10}), &gold, &json!({})), Some(0.0), "nothing was returned");
    assert_eq!(figure("hit_rate", json!({"k": 10}), &gold, &Value::Null), Some(0.0));
    let none = figure("ndcg", json!({"k": 10}), &gold, &json!({})).unwrap();
    assert!(none == 0.0 && none.is_sign_positive(), "{none}");
}

/// RG-04: a space that is null or holds documents without an id takes nothing from what another space found; such a
/// document is no hit and keeps its place.
#[test]
fn a_gap_in_one_space_costs_no_hit_in_another() {
    let gold = json!({"text": ["c1"], "table": [], "page": ["p2"]});
    let recall = |space: Option<&str>, found: Value| {
        let with = json!({"k": 2, "space": space});
        score(json!({"metric": "recall", "value": gold, "with": with}), found)
    };
    for page in [json!(null), json!([]), json!([{"page": 2}]), json!([null]), json!([""]), json!("p1")] {
        let found = json!({"text": ["c1"], "page": page});
        assert_eq!(recall(None, found.clone()).number(), Some(0.5), "{found}");
        assert_eq!(recall(Some("text"), found.clone()).number(), Some(1.0), "{found}");
        assert_eq!(recall(Some("page"), found.clone()).number(), Some(0.0), "{found}");
    }
    assert_eq!(recall(Some("text"), json!({"text": [null, "c1"]})).number(), Some(1.0));
    assert_eq!(recall(Some("text"), json!({"text": [null, {"page": 2}, "c1"]})).number(), Some(0.0), "its place is 3");
    let unreadable = recall(None, json!({"text": ["c1"], "page": "p1"}));
    assert!(reason(&unreadable).contains("no list of documents in every space"));
}

/// RG-04: graded relevance under any of its names, by hand; a grade that is no number is told.
#[test]
fn documents_may_be_graded() {
    let found = json!(["d9", "d1", "d1", "", "d3", null, "d2"]);
    let ndcg = |key: &str, gain: &str| {
        let gold: Vec<Value> =
            [("d1", 3), ("d2", 2), ("d3", 1), ("d4", 2)].map(|(id, grade)| json!({"id": id, key: grade})).into();
        score(json!({"metric": "ndcg", "value": gold, "with": {"k": 5, "gain": gain}}), found.clone()).number().unwrap()
    };
    let log2 = f64::log2;
    let linear = (3.0 / log2(3.0) + 1.0 / log2(6.0)) / (3.0 + 2.0 / log2(3.0) + 2.0 / log2(4.0) + 1.0 / log2(5.0));
    let exponential = (7.0 / log2(3.0) + 1.0 / log2(6.0)) / (7.0 + 3.0 / log2(3.0) + 3.0 / log2(4.0) + 1.0 / log2(5.0));
    for key in ["grade", "relevance", "gain", "rel"] {
        assert!((ndcg(key, "linear") - linear).abs() < 1e-12, "{key}");
        assert!((ndcg(key, "exponential") - exponential).abs() < 1e-12, "{key}");
    }
    let wrong = json!({"metric": "ndcg", "value": [{"id": "d1", "grade": "high"}]});
    assert!(score(wrong, found.clone()).is_unscored());
}

/// RG-04: candidates are ids, or objects with an id by any of its usual names.
#[test]
fn candidates_have_ids_by_any_name() {
    let metric = json!({"metric": "mrr", "value": ["a"]});
    for candidates in [
        json!(["b", "a"]),
        json!([{"id": "b"}, {"id": "a", "chunk_id": "x"}]),
        json!([{"chunk_id": "b", "score": 0.9}, {"chunk_id": "a", "table_id": "t"}]),
        json!([{"table_id": "b"}, {"table_id": "a"}]),
    ] {
        assert_eq!(score(metric.clone(), candidates.clone()).number(), Some(0.5), "{candidates}");
    }
    assert_eq!(score(metric, json!([{"name": "a"}])).number(), Some(0.0));
}
