mod evidence;
#[allow(clippy::float_cmp, reason = "figures of few checks are exact")]
mod imported;
mod retrieval;
mod scripts;
#[allow(clippy::float_cmp, reason = "figures of few calls are exact")]
mod tools;

use std::sync::Arc;

use serde_json::json;

use super::*;

fn sample(columns: Value, reference: Option<Value>) -> Sample {
    let Value::Object(columns) = columns else { panic!("columns are an object") };
    Sample {
        row: 0,
        id: Arc::from("s1"),
        input: None,
        reference,
        cluster: None,
        date: None,
        columns,
        metadata: Default::default(),
        only: None,
    }
}

fn spec(scorer: Value) -> ScorerSpec {
    let with = scorer.get("with").cloned().unwrap_or_else(|| json!({}));
    let field = |name: &str| scorer.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(json!({
        "id": "it", "kind": {"metric": {"metric": scorer["metric"], "with": with}},
        "output": scorer.get("output").cloned().unwrap_or_else(|| json!("$")),
        "reference": field("reference"), "value": scorer.get("value"), "reduce": "mean", "aggregate": "mean",
    }))
    .unwrap()
}

fn score_of(scorer: Value, sample: &Sample, output: Value) -> Score {
    score_from(Origin::Model, scorer, sample, output)
}

fn score_from(origin: Origin, scorer: Value, sample: &Sample, output: Value) -> Score {
    let figures = catalog()[scorer["metric"].as_str().unwrap()].traits.dimensions.len().max(1);
    let built = build(&spec(scorer)).unwrap();
    let usage = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    let earlier = [
        ("half", json!({}), Score::value(0.5)),
        ("one", json!({}), Score::value(1.0)),
        ("na", json!({}), Score::not_applicable("x")),
        ("failed", json!({}), Score::unscored("it broke")),
        ("short", json!({"max": 60}), Score::value(4000.0)),
        ("good", json!({"min": 0.4}), Score::value(0.5)),
        ("clean", json!({"not": true}), Score::value(0.0)),
    ];
    let metrics = earlier.clone().map(|(name, bound, _)| {
        let binary = bound != json!({});
        let metric = json!({"name": name, "scorer": 0, "aggregate": "mean", "binary": binary, "bound": bound});
        serde_json::from_value(metric).unwrap()
    });
    let scores: Vec<(u16, Score)> = (0..).zip(earlier.map(|(.., score)| score)).collect();
    let facts = ResponseFacts { latency_ms: [("llm".to_owned(), 7.5)].into(), ..ResponseFacts::default() };
    let cell = CellView {
        sample,
        output: &output,
        latency_ms: 12.5,
        facts: &facts,
        cost: Money::from_usd(0.25),
        usage,
        so_far: ScoresSoFar { metrics: &metrics, scores: &scores },
        joined: None,
        origin,
    };
    let mut scores = built.score(&cell);
    assert_eq!(scores.len(), figures);
    scores.remove(0)
}

/// The score against a literal.
fn score(scorer: Value, output: Value) -> Score {
    score_of(scorer, &sample(json!({}), None), output)
}

fn number(scorer: Value, output: Value) -> f64 {
    let found = score(scorer.clone(), output);
    found.number().unwrap_or_else(|| panic!("{scorer}: {found:?}"))
}

fn reason(score: &Score) -> &str {
    match score {
        Score::Value { reason, .. } => reason.as_deref().unwrap_or_default(),
        Score::NotApplicable { na } => na,
        Score::Unscored { unscored } => unscored,
    }
}

fn is(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9
}

/// Every metric of the catalogue scores, within its declared range.
#[test]
fn every_metric_scores_within_its_range() {
    let cases = [
        (json!({"metric": "exact", "value": "a"}), json!("a"), 1.0),
        (json!({"metric": "exact", "value": ["b", "A"], "with": {"ignore_case": true}}), json!("a"), 1.0),
        (json!({"metric": "exact", "value": {"a": 1}}), json!({"a": 1.0}), 1.0),
        (json!({"metric": "contains", "value": "sorry", "with": {"ignore_case": true}}), json!("Sorry!"), 1.0),
        (json!({"metric": "contains", "with": {"all": ["a", "b"]}}), json!("a c"), 0.0),
        (json!({"metric": "contains", "with": {"any": ["x", "c"]}}), json!("a c"), 1.0),
        (json!({"metric": "regex", "value": r"\b4711\b"}), json!("Order 4711."), 1.0),
        (json!({"metric": "levenshtein", "value": "abcd"}), json!("abcx"), 0.75),
        (json!({"metric": "jaccard", "value": "a b c"}), json!("b c d"), 0.5),
        (json!({"metric": "token_f1", "value": "Paris"}), json!("in Paris, France"), 0.5),
        (
            json!({"metric": "rouge", "value": "the cat sat down", "with": {"type": "rouge1", "part": "recall"}}),
            json!("the cat sat"),
            0.75,
        ),
        (json!({"metric": "bleu", "value": "the cat sat on the mat"}), json!("the cat sat on the mat"), 100.0),
        (json!({"metric": "exact", "value": "the U.S.A.", "with": {"squad": true}}), json!("USA"), 1.0),
        (json!({"metric": "rouge", "value": "東京タワー", "with": {"tokens": "unicode"}}), json!("東京タワー"), 1.0),
        (json!({"metric": "rouge", "value": "東京タワー", "with": {"tokens": "ascii"}}), json!("東京タワー"), 0.0),
        (json!({"metric": "rouge", "value": "東京タワー"}), json!("東京タワー"), 1.0),
        (json!({"metric": "bleu", "value": "我买了三本书", "with": {"tokenizer": "zh"}}), json!("我买了三本书"), 100.0),
        (json!({"metric": "chrf", "value": "the cat sat"}), json!("the cat sat"), 100.0),
        (json!({"metric": "length", "with": {"unit": "words"}}), json!("one two"), 2.0),
        (json!({"metric": "length", "with": {"unit": "tokens"}}), json!("hello world"), 2.0),
        (
            json!({"metric": "json_schema", "with": {"schema": {"required": ["a"]}}}),
            json!("```json\n{\"a\": 1}\n```"),
            1.0,
        ),
        (json!({"metric": "json_schema", "with": {"schema": {"required": ["a"]}}}), json!({}), 0.0),
        (json!({"metric": "json_field", "value": true, "output": "$.ok"}), json!({"ok": true}), 1.0),
        (json!({"metric": "json_field", "value": true, "output": "$.ok"}), json!("{\"ok\": false}"), 0.0),
        (
            json!({"metric": "numeric", "value": 49.9, "with": {"currency": "EUR"}}),
            json!("You paid €49.90 twice."),
            1.0,
        ),
        (json!({"metric": "numeric", "value": 9, "with": {"abs": 0.5}}), json!("About 9.4"), 1.0),
        (json!({"metric": "count", "output": "$.a"}), json!({"a": [1, 2]}), 2.0),
        (json!({"metric": "count", "output": "$.a[*].b"}), json!({"a": [{"b": 1}, {}]}), 1.0),
        (
            json!({"metric": "set_f1", "value": [{"text": "A"}, {"text": "B"}], "with": {"by": "text", "part": "recall"}}),
            json!([{"text": "a"}]),
            0.5,
        ),
        (json!({"metric": "label", "value": "Yes"}), json!(" yes "), 1.0),
        (json!({"metric": "summary", "value": {"title": "a b", "seq": 1}}), json!({"title": "b"}), 0.5),
        (json!({"metric": "hit_rate", "value": ["d7"], "with": {"k": 2}}), json!(["d1", "d7"]), 1.0),
        (
            json!({"metric": "recall", "value": ["d7", "d9"], "with": {"k": 2}}),
            json!([{"id": "d1"}, {"id": "d7"}]),
            0.5,
        ),
        (json!({"metric": "precision", "value": ["d7"], "with": {"k": 2}}), json!(["d1", "d7"]), 0.5),
        (json!({"metric": "mrr", "value": ["d7"]}), json!(["d1", "d7"]), 0.5),
        (json!({"metric": "map", "value": ["d7"]}), json!(["d1", "d7"]), 0.5),
        (json!({"metric": "ndcg", "value": {"d7": 3, "d1": 0}, "with": {"gain": "exponential"}}), json!(["d7"]), 1.0),
        (
            json!({"metric": "citation_match", "value": [{"page": 3, "slide": null}], "with": {"keys": ["page", "slide"]}}),
            json!([{"page": "3"}]),
            1.0,
        ),
        (json!({"metric": "citation_precision", "value": [{"page": 3}]}), json!([{"page": 3}, {"page": 4}]), 0.5),
        (json!({"metric": "citation_recall", "value": [{"page": 3}, {"page": 9}]}), json!([{"page": 3}]), 0.5),
        (json!({"metric": "attribution", "value": [{"name": "Ada", "role": "CFO"}]}), json!(["Ada (CFO)"]), 1.0),
        (json!({"metric": "attribution", "value": ["Jos\u{e9}"]}), json!(["Jose\u{301}"]), 1.0),
        (json!({"metric": "citation_match", "value": [{"page": 2}]}), json!([{"page": "2.0"}]), 1.0),
        (json!({"metric": "citation_match", "value": [{"table": "1.1"}]}), json!([{"table": "1.10"}]), 0.0),
        (json!({"metric": "numeric_contested", "value": 5}), json!("5, not 6"), 1.0),
        (
            json!({"metric": "quote_match", "value": {"text": "we are on track"}}),
            json!("He said: \"We are, on track.\""),
            1.0,
        ),
        (
            json!({"metric": "quote_match", "value": "we are on track", "with": {"similar": 0.8}}),
            json!("Yes, we're on track."),
            1.0,
        ),
        (json!({"metric": "checks", "with": {"of": [{"metric": "length", "max": 1}]}}), json!("a"), 1.0),
        (
            json!({"metric": "assert", "value": [{"metric": "contains", "value": "a"}, {"metric": "length", "max": 1}]}),
            json!("ab"),
            0.0,
        ),
        (json!({"metric": "combine", "with": {"of": ["half", "one"]}}), json!(""), 0.75),
        (json!({"metric": "combine", "with": {"of": ["half", "one"], "how": "min"}}), json!(""), 0.5),
        (json!({"metric": "combine", "with": {"of": ["half", "na"], "how": "sum"}}), json!(""), 0.5),
        (json!({"metric": "tool_calls", "value": ["a", "b"], "with": {"part": "recall"}}), json!([{"name": "b"}]), 0.5),
        (json!({"metric": "valid_calls", "with": {"tools": {"a": {}}}}), json!([{"name": "a"}, {"name": "b"}]), 0.5),
        (json!({"metric": "latency"}), json!(""), 12.5),
        (json!({"metric": "cost"}), json!(""), 0.25),
        (json!({"metric": "tokens"}), json!(""), 120.0),
        (json!({"metric": "tokens", "with": {"of": "output"}}), json!(""), 20.0),
    ];
    let catalog = catalog();
    for (scorer, output, expected) in &cases {
        let value = number(scorer.clone(), output.clone());
        assert!(is(value, *expected), "{scorer}: {value}");
        let entry = &catalog[scorer["metric"].as_str().unwrap()].traits;
        assert!(entry.range.is_none_or(|(lo, hi)| (lo..=hi).contains(&value)), "{scorer}: {value}");
        assert!(!entry.binary || is(value, 0.0) || is(value, 1.0), "{scorer}: {value}");
    }
    let missing: Vec<_> =
        catalog.keys().filter(|name| !cases.iter().any(|(scorer, ..)| scorer["metric"] == **name)).collect();
    let missing: Vec<_> =
        missing.into_iter().filter(|name| !["command", "given", "http", "similarity"].contains(*name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// F11: null, blank text and, where a member must match, a list without members are no reference; blank members do not
/// count.
#[test]
fn an_empty_reference_is_none() {
    let matching = [
        ("exact", json!({})),
        ("exact", json!({"prefix": true})),
        ("exact", json!({"squad": true, "prefix": true})),
        ("contains", json!({})),
        ("contains", json!({"need": "any"})),
        ("label", json!({})),
        ("token_f1", json!({})),
        ("levenshtein", json!({})),
        ("levenshtein", json!({"unit": "edits"})),
        ("jaccard", json!({})),
        ("rouge", json!({})),
        ("bleu", json!({})),
        ("chrf", json!({})),
        ("quote_match", json!({})),
        ("hit_rate", json!({})),
        ("recall", json!({})),
        ("precision", json!({})),
        ("mrr", json!({})),
        ("map", json!({})),
        ("ndcg", json!({})),
    ];
    let is_na = |scorer: &Value, reference: &Value, output: Value| {
        let found = score_of(scorer.clone(), &sample(json!({}), Some(reference.clone())), output);
        assert!(matches!(found, Score::NotApplicable { .. }), "{scorer} {reference}: {found:?}");
    };
    for (metric, with) in &matching {
        let scorer = json!({"metric": metric, "with": with});
        for reference in [json!(null), json!(""), json!(" \n"), json!([]), json!(["", null, " "])] {
            is_na(&scorer, &reference, json!("two words"));
            is_na(&scorer, &reference, json!(""));
            is_na(&scorer, &reference, json!([]));
        }
    }
    for metric in ["regex", "numeric", "json_field", "set_f1", "tool_calls", "citation_match", "attribution"] {
        let scorer = json!({"metric": metric});
        for reference in [json!(null), json!(""), json!("\t ")] {
            is_na(&scorer, &reference, json!("x"));
        }
    }
    // A blank member is left out, and the others decide.
    let several = |metric: &str, reference: Value, output: Value| {
        score_of(json!({"metric": metric}), &sample(json!({}), Some(reference)), output).number()
    };
    for metric in ["exact", "contains", "label", "token_f1", "jaccard"] {
        assert_eq!(several(metric, json!(["", "Paris"]), json!("Paris")), Some(1.0), "{metric}");
        assert_eq!(several(metric, json!(["", "Paris"]), json!("")), Some(0.0), "{metric}");
    }
    assert_eq!(several("label", json!(["a", "b"]), json!("B")), Some(1.0));
    assert_eq!(several("recall", json!(["", "d1", null]), json!(["d1"])), Some(1.0));
    assert_eq!(several("set_f1", json!(["", "a"]), json!(["a"])), Some(1.0));
    // An empty list is an answer where the output is a list: nothing to find, no call to make.
    assert_eq!(several("set_f1", json!([]), json!([])), Some(1.0));
    assert_eq!(several("set_f1", json!([]), json!(["a"])), Some(0.0));
    assert_eq!(several("tool_calls", json!([]), json!([])), Some(1.0));
    assert_eq!(several("json_field", json!([]), json!([])), Some(1.0));
    assert_eq!(several("exact", json!(["a", ""]), json!(["a", ""])), Some(1.0));
    // SQuAD asks questions without an answer.
    let squad = json!({"metric": "exact", "with": {"squad": true}});
    for (reference, output, value) in
        [(json!(""), "", 1.0), (json!([]), "", 1.0), (json!([]), "x", 0.0), (json!(["x", ""]), "", 1.0)]
    {
        let found = score_of(squad.clone(), &sample(json!({}), Some(reference)), json!(output));
        assert_eq!(found.number(), Some(value));
    }
    // What the suite itself says is meant.
    assert_eq!(score(json!({"metric": "exact", "value": ""}), json!("")).number(), Some(1.0));
    let refused = build(&spec(json!({"metric": "exact", "value": "", "with": {"prefix": true}}))).err().unwrap();
    assert!(refused.to_string().contains("the reference is empty, and every text begins with that"), "{refused}");
}

/// F6: integers beyond 64 bits are compared with all their digits.
#[test]
fn long_integers_are_compared_digit_by_digit() {
    let json = |text: &str| karat_types::json::parse(text).unwrap();
    let of = |metric: &str, reference: &str, output: Value| {
        score_of(json!({"metric": metric}), &sample(json!({}), Some(json(reference))), output).number()
    };
    let power = "1267650600228229401496703205376";
    for metric in ["exact", "contains", "label", "token_f1"] {
        assert_eq!(of(metric, power, json!(power)), Some(1.0), "{metric}");
        assert_eq!(of(metric, power, json!("1267650600228229401496703205377")), Some(0.0), "{metric}");
    }
    for metric in ["exact", "json_field"] {
        let different = json(r#"{"order": 123456789012345678901}"#);
        assert_eq!(of(metric, r#"{"order": 123456789012345678901}"#, different.clone()), Some(1.0), "{metric}");
        assert_eq!(of(metric, r#"{"order": 123456789012345678999}"#, different), Some(0.0), "{metric}");
    }
    let calls = |id: &str| json(&format!(r#"[{{"name": "refund", "arguments": {{"order": {id}}}}}]"#));
    let wanted = calls("123456789012345678999").to_string();
    assert_eq!(of("tool_calls", &wanted, calls("123456789012345678901")), Some(0.0));
    assert_eq!(of("tool_calls", &wanted, calls("123456789012345678999")), Some(1.0));
    assert_eq!(of("numeric", "-9223372036854775809", json!("-9223372036854775809")), Some(1.0));
    assert_eq!(of("numeric", "-9223372036854775809", json!("-9223372036854775808")), Some(0.0));
    assert_eq!(of("numeric", power, json!(format!("It is {power}."))), Some(1.0));
    assert_eq!(of("numeric", power, json!("It is 1267650600228229401496703205377, not 12676506002282294.")), Some(0.0));
    assert_eq!(of("set_f1", &format!("[\"{power}\"]"), json(&format!("[{power}]"))), Some(1.0));
    assert_eq!(of("set_f1", &format!("[{power}]"), json!([power])), Some(1.0));
    assert_eq!(of("recall", &format!("[{power}]"), json(&format!("[{power}]"))), Some(1.0));
    let typed = json!({"metric": "json_schema", "with": {"schema": {"properties": {"n": {"type": "integer"}}}}});
    assert_eq!(score(typed, json!(format!("{{\"n\": {power}}}"))).number(), Some(1.0));
}

/// The options of every metric are a schema that refuses unknown ones.
#[test]
fn options_are_declared() {
    for (name, entry) in catalog() {
        let validator = jsonschema::validator_for(&entry.options).unwrap();
        assert!(!validator.is_valid(&json!({"no_such_option": 1})), "{name}");
        let has_required =
            ["json_schema", "checks", "combine", "command", "given", "http", "similarity"].contains(&name);
        assert!(has_required || validator.is_valid(&json!({})), "{name}");
    }
    assert_eq!(catalog()["json_schema"].options["properties"]["schema"]["format"], "file");
    let is_volatile = |name: &str| catalog()[name].traits.volatile;
    assert!(is_volatile("latency") && is_volatile("cost") && !is_volatile("exact"));
}

/// BY-07: what a bound or `not` makes of a score is what is combined, and passes combined are a pass or a fail.
#[test]
fn bounds_hold_before_scores_are_combined() {
    let combined =
        |of: &[&str], how: &str| score(json!({"metric": "combine", "with": {"of": of, "how": how}}), json!(""));
    assert_eq!(combined(&["good", "short"], "min"), Score::verdict(false));
    assert_eq!(combined(&["good", "clean"], "product"), Score::verdict(true));
    assert_eq!(combined(&["short", "clean"], "max"), Score::verdict(true));
    assert_eq!(combined(&["good", "short"], "mean"), Score::value(0.5));
    assert_eq!(combined(&["good", "half"], "min"), Score::value(0.5));
}

/// Labels that nobody declares are told apart as they are compared: case is not a class of its own, unless it counts.
#[test]
fn a_label_has_one_name() {
    let label = |with: Value, output: &str| {
        score(json!({"metric": "label", "value": "Red", "with": with}), json!(output)).labels().unwrap()
    };
    let pair = |expected: &str, found: &str| (expected.to_owned(), found.to_owned());
    assert_eq!(label(json!({}), " RED "), pair("red", "red"));
    assert_eq!(label(json!({}), "BLUE"), pair("red", "blue"));
    assert_eq!(label(json!({"ignore_case": false}), "RED"), pair("Red", "RED"));
    assert_eq!(label(json!({"labels": ["Red", "Blue"]}), "BLUE"), pair("Red", "Blue"));
    let essay = label(json!({}), &"x".repeat(200)).1;
    assert_eq!((essay.chars().count(), essay.ends_with('…')), (81, true));
}

/// A missing or null reference is not applicable, whatever the output is.
#[test]
fn a_missing_reference_is_not_applicable() {
    for metric in ["exact", "token_f1", "numeric", "set_f1", "recall", "json_field", "citation_match"] {
        let plain = sample(json!({"gold": null}), None);
        assert_eq!(
            score_of(json!({"metric": metric}), &plain, json!(null)),
            Score::not_applicable("no reference"),
            "{metric}"
        );
        let by_path = json!({"metric": metric, "reference": "gold.value", "output": "$.nope"});
        assert_eq!(score_of(by_path, &plain, json!({})), Score::not_applicable("no reference"), "{metric}");
    }
    assert!(matches!(score(json!({"metric": "contains"}), json!("x")), Score::NotApplicable { .. }));
    let blank = sample(json!({"gold": " ", "several": ["x", ""]}), Some(json!("")));
    let found = score_of(json!({"metric": "contains"}), &blank, json!("x"));
    assert!(matches!(found, Score::NotApplicable { .. }), "{found:?}");
    let beside = json!({"metric": "contains", "reference": "gold", "with": {"all": ["x"]}});
    assert_eq!(score_of(beside, &blank, json!("x")).number(), Some(1.0));
    let golden = sample(json!({}), Some(json!("a whole sentence that nobody repeats")));
    for (with, value, expected) in [
        (json!({"any": ["x", "y"]}), json!(null), 1.0),
        (json!({"all": ["x"]}), json!(null), 1.0),
        (json!({"any": ["y"]}), json!(null), 0.0),
        (json!({"any": ["x"]}), json!("z"), 0.0),
        (json!({}), json!(null), 0.0),
    ] {
        let mut phrases = json!({"metric": "contains", "with": with});
        if !value.is_null() {
            phrases["value"] = value;
        }
        assert_eq!(score_of(phrases.clone(), &golden, json!("x")).number(), Some(expected), "{phrases}");
    }
    let several = json!({"metric": "contains", "reference": "several"});
    assert_eq!(score_of(several, &blank, json!("x")).number(), Some(1.0));
    assert!(matches!(score(json!({"metric": "recall", "value": []}), json!(["d"])), Score::NotApplicable { .. }));
}

/// The reference comes from a literal, a column or the row's role, and literals may hold templates.
#[test]
fn references_are_found() {
    let row = sample(json!({"gold": {"answers": [{"text": "a"}, {"text": "b"}], "unit": "USD"}}), Some(json!("role")));
    let from = |scorer: Value, output: Value| score_of(scorer, &row, output).number();
    assert_eq!(from(json!({"metric": "exact"}), json!("role")), Some(1.0));
    assert_eq!(from(json!({"metric": "exact", "reference": "gold.answers[1].text"}), json!("b")), Some(1.0));
    assert_eq!(from(json!({"metric": "exact", "reference": "gold.answers[*].text"}), json!("b")), Some(1.0));
    assert_eq!(from(json!({"metric": "exact", "value": "{{ sample.gold.unit }}!"}), json!("USD!")), Some(1.0));
}

/// An output that is not there or cannot be read scores lowest, with the reason.
#[test]
fn an_unreadable_output_scores_lowest() {
    let cases = [
        (json!({"metric": "exact", "value": "a", "output": "$.b"}), json!({"a": 1}), "nothing at $.b"),
        (json!({"metric": "json_field", "value": 1, "output": "$.b"}), json!("prose"), "not JSON"),
        (json!({"metric": "numeric", "value": 1}), json!("none at all"), "no number"),
        (json!({"metric": "set_f1", "value": ["a"]}), json!("prose"), "not a list"),
        (json!({"metric": "set_f1", "value": ["a"], "with": {"by": "text"}}), json!([{"claim": "a"}]), "not a list"),
        (json!({"metric": "recall", "value": ["a"]}), json!("prose"), "not a list"),
        (json!({"metric": "citation_match", "value": [{"page": 1}]}), json!([]), "no citation"),
        (
            json!({"metric": "label", "value": "yes", "with": {"labels": ["yes", "no"]}}),
            json!("Well, yes and no"),
            "expected \"yes\", found \"well, yes and no\"",
        ),
        (json!({"metric": "contains", "value": "sorry"}), json!("no"), "\"sorry\" is missing"),
    ];
    for (scorer, output, expected) in cases {
        let found = score(scorer.clone(), output);
        assert_eq!(found.number(), Some(0.0), "{scorer}");
        assert!(reason(&found).contains(expected), "{scorer}: {found:?}");
    }
}

/// A reference or an option of a row that cannot be used leaves the cell unscored.
#[test]
fn an_unusable_reference_is_unscored() {
    let row = sample(json!({"gold": "no number here", "pattern": "("}), None);
    for scorer in [
        json!({"metric": "numeric", "reference": "gold"}),
        json!({"metric": "regex", "reference": "pattern"}),
        json!({"metric": "set_f1", "reference": "gold"}),
        json!({"metric": "numeric", "value": 1, "with": {"rel": "{{ sample.nope }}"}}),
        json!({"metric": "numeric", "value": 1, "with": {"rel": "{{ sample.gold }}"}}),
    ] {
        assert!(score_of(scorer.clone(), &row, json!("1")).is_unscored(), "{scorer}");
    }
}

/// RG-05: unit and tolerance of each row come from the row.
#[test]
fn options_may_come_from_the_row() {
    let scorer = json!({
        "metric": "numeric", "reference": "gold.value",
        "with": {"unit": "{{ sample.gold.unit }}", "currency": "{{ sample.gold.currency | default(none) }}", "rel": "{{ sample.gold.rel | default(none) }}"},
    });
    let row = |gold: Value| sample(json!({"gold": gold}), None);
    let loose = row(json!({"value": 1200, "unit": "million USD", "rel": 0.01}));
    assert_eq!(score_of(scorer.clone(), &loose, json!("$1.205bn")).number(), Some(1.0));
    let strict = row(json!({"value": 1200, "unit": "million USD"}));
    assert_eq!(score_of(scorer.clone(), &strict, json!("$1.205bn")).number(), Some(0.0));
    assert!(reason(&score_of(scorer, &strict, json!("€1.2bn"))).contains("unit or currency"));
}

/// An unknown price is not free.
#[test]
fn an_unknown_price_does_not_apply() {
    let built = build(&spec(json!({"metric": "cost"}))).unwrap();
    let row = sample(json!({}), None);
    let output = json!("");
    let cell = CellView {
        sample: &row,
        output: &output,
        latency_ms: 1.0,
        facts: &ResponseFacts::default(),
        cost: None,
        usage: Usage::default(),
        so_far: ScoresSoFar::default(),
        joined: None,
        origin: Origin::default(),
    };
    assert_eq!(built.score(&cell), [Score::not_applicable("the price is unknown")]);
}

#[test]
fn scorers_that_cannot_be_made_say_why() {
    let refused = |scorer: Value| build(&spec(scorer)).err().unwrap().to_string();
    assert!(refused(json!({"metric": "exakt"})).contains("did you mean `exact`?"));
    assert!(refused(json!({"metric": "exact", "with": {"ignorecase": true}})).contains("ignorecase"));
    assert!(refused(json!({"metric": "regex", "value": "("})).contains("compiling the pattern"));
    assert!(refused(json!({"metric": "regex", "value": ""})).contains("the pattern is empty"));
    assert!(refused(json!({"metric": "exact", "output": "a..b"})).contains("not a path"));
    assert!(refused(json!({"metric": "numeric", "value": "no number"})).contains("exactly one number"));
    assert!(refused(json!({"metric": "set_f1", "with": {"similar": 0}})).contains("`similar` is 0"));
    assert!(refused(json!({"metric": "recall", "with": {"k": 0}})).contains("`k` is 0"));
    assert!(refused(json!({"metric": "numeric", "with": {"rel": -1}})).contains("negative"));
    assert!(refused(json!({"metric": "exact", "with": {"trim": "{{ sample."}})).contains("not a template"));
}

fn summary_scores(with: Value, reference: Value, output: Value) -> Result<Vec<Score>, OptionsError> {
    let mut spec = json!({"kind": {"metric": {"metric": "summary", "with": with}}, "value": reference});
    spec.as_object_mut()
        .unwrap()
        .extend(json!({"id": "m", "output": "$", "reduce": "mean", "aggregate": "mean"}).as_object().unwrap().clone());
    let scorer = build(&serde_json::from_value(spec).unwrap())?;
    let sample = Sample::new("s-01", None);
    let view = CellView {
        sample: &sample,
        output: &output,
        latency_ms: 0.0,
        facts: &ResponseFacts::default(),
        cost: None,
        usage: Usage::default(),
        so_far: ScoresSoFar::default(),
        joined: None,
        origin: Origin::default(),
    };
    Ok(scorer.score(&view))
}

/// SU-02, SU-04: five dimensions and the overall; a session without a candidate is all zeros with the reason.
#[test]
fn a_summary_has_six_figures() {
    let reference = json!({"title": "a b", "outcome": "failed"});
    let names = catalog()["summary"].traits.dimensions;
    assert_eq!(names, ["title", "summary", "key_actions", "outcome", "aha_moments", "overall"]);
    let scores = summary_scores(json!({}), reference.clone(), json!({"title": "a", "outcome": "failed"})).unwrap();
    let numbers: Vec<String> = scores.iter().map(|score| format!("{:.3}", score.number().unwrap())).collect();
    assert_eq!(numbers, ["0.500", "1.000", "1.000", "1.000", "1.000", "0.900"]);
    for absent in [json!(null), json!("")] {
        let scores = summary_scores(json!({}), reference.clone(), absent).unwrap();
        assert_eq!(scores, vec![Score::value_because(0.0, "missing_candidate"); 6]);
    }
    let broken = [
        (json!({"title": 7}), "invalid type: number, expected a string"),
        (json!(["a b", "", [], "failed", []]), "it is not an object"),
        (json!("\"a b\""), "it is not an object"),
        (json!("{\"title\": "), "EOF while parsing a value at line 1 column 10"),
    ];
    for (output, reason) in broken {
        let unread = summary_scores(json!({}), reference.clone(), output).unwrap();
        assert_eq!(unread, vec![Score::value_because(0.0, format!("broken_candidate: {reason}")); 6]);
    }
    let written = json!({"title": "a", "outcome": "failed"}).to_string();
    assert_eq!(summary_scores(json!({}), reference, json!(written)).unwrap(), scores, "JSON text is read");
    for reference in [json!("text"), json!(["a b"])] {
        assert!(summary_scores(json!({}), reference, json!({})).unwrap().iter().all(Score::is_unscored));
    }
}

/// SU-03: weights that do not sum to 1 are an error, as is a tolerance of nothing.
#[test]
fn the_options_of_summary_are_checked() {
    let refused = |with: Value| summary_scores(with, json!({}), json!({})).unwrap_err().to_string();
    assert!(refused(json!({"weights": {"title": 0.5}})).contains("sum to 1"));
    assert!(refused(json!({"weights": {"titel": 0.5}})).contains("titel"));
    assert!(refused(json!({"tolerance": 3})).contains("overlap: position"));
    let by_position = json!({"overlap": "position", "tolerance": 3});
    assert_eq!(summary_scores(by_position, json!({}), json!({})).unwrap().len(), 6);
}

/// A combination of what is not there is no score, and says why.
#[test]
fn a_combination_needs_its_parts() {
    let combined = |of: Value| score(json!({"metric": "combine", "with": {"of": of}}), json!(""));
    assert_eq!(reason(&combined(json!(["half", "later"]))), "no scorer before this one gives `later`");
    assert_eq!(reason(&combined(json!(["half", "failed"]))), "failed: it broke");
    assert_eq!(combined(json!(["na"])), Score::not_applicable("none of the scores applies"));
}

/// TG-12: metrics of text read the words of an output that may call tools; any other object is its JSON.
#[test]
fn an_output_with_calls_is_scored_by_its_words() {
    let calls = json!([{"id": "c1", "name": "get", "arguments": {"id": "A1"}}]);
    let turn = json!({"text": "Ships Monday.", "tool_calls": calls, "stop_reason": "call"});
    let contains = |value: &str| number(json!({"metric": "contains", "value": value}), turn.clone());
    assert!(is(contains("Monday"), 1.0) && is(contains("A1"), 0.0));
    assert!(is(number(json!({"metric": "exact", "value": "Ships Monday."}), turn.clone()), 1.0));
    assert!(is(number(json!({"metric": "exact", "value": turn}), turn.clone()), 1.0));
    let other = json!({"text": "Ships Monday.", "calls": calls});
    assert!(is(number(json!({"metric": "contains", "value": "A1"}), other), 1.0));
    assert!(is(number(json!({"metric": "length", "with": {"unit": "words"}}), turn), 2.0));
}
