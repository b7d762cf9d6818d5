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
        ("precision", json!({"k": 10}), 2.0 / 20.0),
        ("precision", json!({"k": 1}), 1.0 / 2.0),
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
    assert_eq!(figure("hit_rate", json!({"k": 10}), &gold, &Value::Null), None, "nothing says what was returned");
    let none = figure("ndcg", json!({"k": 10}), &gold, &json!({})).unwrap();
    assert!(none == 0.0 && none.is_sign_positive(), "{none}");
}

/// RG-04: a space that is null or holds documents without an id takes nothing from what another space found; such a
/// document is not a hit and keeps its place.
#[test]
fn a_gap_in_one_space_costs_no_hit_in_another() {
    let gold = json!({"text": ["c1"], "table": [], "page": ["p2"]});
    let recall = |space: Option<&str>, found: Value| {
        let with = json!({"k": 2, "space": space});
        score(json!({"metric": "recall", "value": gold, "with": with}), found)
    };
    for page in [json!(null), json!([]), json!([{"page": 2}]), json!([null]), json!([""]), json!("p1")] {
        let found = json!({"text": ["c1"], "page": &page});
        assert_eq!(recall(None, found.clone()).number(), Some(0.5), "{found}");
        assert_eq!(recall(Some("text"), found.clone()).number(), Some(1.0), "{found}");
        let alone = recall(Some("page"), found.clone());
        assert_eq!(
            (alone.number(), alone.is_unscored()),
            if page.is_null() { (None, true) } else { (Some(0.0), false) }
        );
    }
    assert_eq!(recall(Some("text"), json!({"text": [null, "c1"]})).number(), Some(1.0));
    assert_eq!(recall(Some("text"), json!({"text": [null, {"page": 2}, "c1"]})).number(), Some(0.0), "its place is 3");
    let unreadable = recall(None, json!({"text": ["c1"], "page": "p1"}));
    assert!(reason(&unreadable).contains("not a list of documents in every space"));
}

/// RG-04: graded relevance under any of its names, by hand; a grade that is not a number is told.
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

/// F17: a list that a cell of a CSV file keeps as text is read as a list, as JSON and as Python writes it; where the text may
/// be several documents in another form, there is no score.
#[test]
fn lists_kept_as_text_are_lists() {
    let of = |metric: &str, relevant: Value, found: Value| {
        let row = sample(json!({"found": found}), Some(relevant));
        let output = row.columns["found"].clone();
        score_from(Origin::Record, json!({"metric": metric}), &row, output)
    };
    for metric in ["hit_rate", "recall", "mrr", "map", "ndcg"] {
        for relevant in [r#"["d2"]"#, "['d2']", r#" ["d2"] "#, r#"[{"id": "d2", "grade": 2}]"#, r#"{"d2": 1}"#, "d2"] {
            for (found, place) in [(r#"["d2", "d1"]"#, 1), ("['d1', 'd2']", 2), (r#"[{"id": "d1"}, {"id": "d2"}]"#, 2)]
            {
                let score = of(metric, json!(relevant), json!(found)).number().unwrap();
                let at_second = match metric {
                    "mrr" | "map" => 0.5,
                    "ndcg" => 1.0 / f64::log2(3.0),
                    _ => 1.0,
                };
                let wanted = if place == 1 { 1.0 } else { at_second };
                assert!((score - wanted).abs() < 1e-12, "{metric} {relevant} {found}: {score}");
            }
        }
        assert!(matches!(of(metric, json!("[]"), json!(["d1"])), Score::NotApplicable { .. }));
        for relevant in ["d2; d3", "d2, d3", "d2|d3", "d2\nd3", "[d2, d3]", "['d2"] {
            let score = of(metric, json!(relevant), json!(["d1", "d2"]));
            assert_eq!(score.is_unscored(), relevant != "['d2", "{metric} {relevant}: {score:?}");
        }
        assert!(of(metric, json!(["d2"]), json!("d2; d1")).is_unscored());
        assert_eq!(of(metric, json!("Smith, J. 2020"), json!(["Smith, J. 2020"])).number(), Some(1.0));
    }
    let spaces =
        of("recall", json!(r#"{"text": ["c1"], "page": ["p1"]}"#), json!(r#"{"text": ["c1"], "page": ["p2"]}"#));
    assert_eq!(spaces.number(), Some(0.5));
}

/// F17: the same for lists of texts, citations, speakers and calls, and for alternatives of which one must match.
#[test]
fn other_metrics_read_lists_kept_as_text() {
    let of = |scorer: Value, reference: &str, output: &str| {
        score_from(Origin::Record, scorer, &sample(json!({}), Some(json!(reference))), json!(output))
    };
    let texts = of(json!({"metric": "set_f1"}), r#"["a", "b"]"#, "['b', 'a']");
    assert_eq!(texts.number(), Some(1.0));
    let page = of(json!({"metric": "citation_recall"}), r#"[{"page": 2}]"#, r#"[{"page": 2}]"#);
    assert_eq!(page.number(), Some(1.0));
    let speaker = of(json!({"metric": "attribution"}), r#"["Ana Ruiz"]"#, r#"["Ana Ruiz"]"#);
    assert_eq!(speaker.number(), Some(1.0));
    let quote = of(json!({"metric": "quote_match"}), r#"{"text": "Sales rose", "page": 4}"#, "We saw that sales rose.");
    assert_eq!(quote.number(), Some(1.0));
    assert_eq!(of(json!({"metric": "count"}), "", r#"["a", "b", "c"]"#).number(), Some(3.0));
    assert_eq!(score(json!({"metric": "json_field", "reference": "r"}), json!(["a"])).number(), None);
    let row = sample(json!({"r": r#"["a", 1.0]"#}), None);
    let field = json!({"metric": "json_field", "reference": "r"});
    assert_eq!(score_of(field, &row, json!(["a", 1])).number(), Some(1.0));
    for metric in ["exact", "label", "contains", "token_f1", "rouge", "bleu", "chrf", "levenshtein", "jaccard"] {
        let scorer =
            json!({"metric": metric, "with": if metric == "contains" { json!({"need": "any"}) } else { json!({}) }});
        let several = of(scorer.clone(), r#"["Paris it is", "Lutetia"]"#, "Paris it is");
        assert!(several.is_unscored(), "{metric}: {several:?}");
        assert!(reason(&several).contains("looks like a list"), "{several:?}");
    }
    // A list that is the expected text stays one.
    assert_eq!(of(json!({"metric": "exact"}), "[1, 2]", "[1, 2]").number(), Some(1.0));
    assert_eq!(of(json!({"metric": "exact"}), r#"["a"]"#, "b").number(), Some(0.0));
    assert_eq!(of(json!({"metric": "contains"}), "[1, 2]", "It is [1, 2].").number(), Some(1.0));
}

/// F2: a part that a service leaves out is unscored with the reason, for every metric; so is one that a record does not
/// name. A model was asked for it, and an empty list is an answer.
#[test]
fn a_part_that_is_left_out_is_unscored() {
    let row = sample(json!({}), Some(json!(["d1"])));
    let scorers = ["hit_rate", "recall", "precision", "mrr", "map", "ndcg", "citation_match", "citation_precision"];
    let others = ["citation_recall", "attribution", "set_f1", "count", "label", "exact", "contains", "json_field"];
    let texts = ["rouge", "bleu", "token_f1", "quote_match", "length", "levenshtein"];
    for metric in scorers.into_iter().chain(others).chain(texts) {
        let scorer = json!({"metric": metric, "output": "$.part"});
        for (output, origin) in [
            (json!({"answer": "x", "part": null}), Origin::Service),
            (json!({"answer": "x"}), Origin::Service),
            (json!({"answer": "x"}), Origin::Record),
        ] {
            let score = score_from(origin, scorer.clone(), &row, output.clone());
            assert!(score.is_unscored(), "{metric} {output}: {score:?}");
            assert!(reason(&score).ends_with("$.part"), "{score:?}");
        }
        let asked = score_from(Origin::Model, scorer.clone(), &row, json!({"answer": "x"}));
        assert_eq!(asked.number(), Some(0.0), "{metric}");
        let nested = json!({"metric": metric, "output": "$.part.ids[*]"});
        assert!(score_from(Origin::Service, nested, &row, json!({"part": null})).is_unscored(), "{metric}");
    }
    let empty = score_from(Origin::Service, json!({"metric": "recall", "output": "$.part"}), &row, json!({"part": []}));
    assert_eq!(empty.number(), Some(0.0));
    let space = json!({"metric": "hit_rate", "output": "$.part", "with": {"space": "page"}, "value": {"page": ["p1"]}});
    let without = score_from(Origin::Service, space, &row, json!({"part": {"text": ["c1"]}}));
    assert_eq!(reason(&without), "the output has no space `page`");
    // A row that asks for none of it has no such score, whatever is left out.
    let unasked = sample(json!({"evidence": {"text": [], "page": []}}), None);
    let ranking = json!({"metric": "hit_rate", "output": "$.part", "reference": "evidence"});
    let score = score_from(Origin::Service, ranking, &unasked, json!({"answer": "x"}));
    assert_eq!(score, Score::not_applicable("no document is relevant"));
    // Speakers may stand in the text instead.
    let speakers = |answer: &str| {
        let scorer = json!({"metric": "attribution", "output": "$.speakers", "value": ["Ana Ruiz"],
                            "with": {"text": "{{ output.answer }}"}});
        score_from(Origin::Service, scorer, &row, json!({"answer": answer, "speakers": null}))
    };
    assert_eq!(speakers("Ana Ruiz said so.").number(), Some(1.0));
    assert!(speakers("Sales rose.").is_unscored());
}
