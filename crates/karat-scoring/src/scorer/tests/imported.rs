//! Metrics and options that other tools' checks need.

use std::fmt;

use serde_json::json;

use super::*;

/// IO-01: `prefix` is met where the output begins with any of the references, under the other options.
#[test]
fn a_prefix_is_the_beginning_under_the_same_options() {
    let exact = |value: Value, with: Value, output: &str| {
        let mut options = json!({ "prefix": true });
        options.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        number(json!({"metric": "exact", "value": value, "with": options}), json!(output))
    };
    assert!(is(exact(json!("Paris"), json!({}), "Paris, France"), 1.0));
    assert!(is(exact(json!("Paris"), json!({}), "In Paris"), 0.0));
    assert!(is(exact(json!(["Rome", "Paris"]), json!({}), "Paris, France"), 1.0));
    assert!(is(exact(json!("PARIS"), json!({"ignore_case": true, "trim": true}), "  paris!"), 1.0));
    assert!(is(exact(json!("PARIS"), json!({"ignore_case": true}), "  paris!"), 0.0));
    assert!(is(exact(json!("New York"), json!({"normalize": true}), "New\n York is"), 1.0));
    // The JSON of an output that is not text.
    assert!(is(number(json!({"metric": "exact", "value": "{\"a\"", "with": {"prefix": true}}), json!({"a": 1})), 1.0));
}

/// IO-01: `need: any` takes one phrase of a list reference; `either` and `squad` are the fuzzy match of openai/evals.
#[test]
fn contains_takes_one_of_a_list_and_either_direction() {
    let found = |value: Value, with: Value, output: &str| {
        number(json!({"metric": "contains", "value": value, "with": with}), json!(output))
    };
    let any = json!({"need": "any"});
    assert!(is(found(json!(["tea", "milk"]), any.clone(), "milk only"), 1.0));
    assert!(is(found(json!(["tea", "milk"]), json!({}), "milk only"), 0.0));
    assert!(is(found(json!(["tea", "coffee"]), any.clone(), "milk only"), 0.0));
    let both = json!({"metric": "contains", "value": ["tea", "milk"], "with": {"need": "any", "all": ["sugar"]}});
    assert!(is(number(both.clone(), json!("milk and sugar")), 1.0) && is(number(both, json!("milk")), 0.0));
    let row = sample(json!({}), Some(json!(["tea", ""])));
    assert_eq!(score_of(json!({"metric": "contains", "with": any}), &row, json!("x")).number(), Some(0.0));

    let fuzzy = json!({"either": true, "squad": true, "need": "any"});
    assert!(is(found(json!(["the Eiffel Tower."]), fuzzy.clone(), "Eiffel"), 1.0));
    assert!(is(found(json!(["Eiffel"]), fuzzy.clone(), "It is the EIFFEL tower!"), 1.0));
    assert!(is(found(json!(["Louvre", "Orsay"]), fuzzy.clone(), "Eiffel"), 0.0));
    assert!(is(found(json!(["Louvre"]), fuzzy.clone(), ""), 0.0));
    assert!(is(found(json!(["the"]), fuzzy, "Eiffel"), 0.0));
    assert!(is(found(json!("Eiffel Tower"), json!({"either": true}), "Eiffel"), 1.0));
    assert!(is(found(json!("Eiffel Tower"), json!({}), "Eiffel"), 0.0));
}

/// IO-01: edits are counted to the nearest reference; the default unit stays a share.
#[test]
fn levenshtein_counts_edits() {
    let edits = |value: Value| json!({"metric": "levenshtein", "value": value, "with": {"unit": "edits"}});
    assert!(is(number(edits(json!("kitten")), json!("sitting")), 3.0));
    assert!(is(number(edits(json!(["kitten", "sittin"])), json!("sitting")), 1.0));
    assert!(is(number(edits(json!("")), json!("abc")), 3.0));
    assert!(is(number(json!({"metric": "levenshtein", "value": "abcd"}), json!("abcx")), 0.75));
    assert_eq!(catalog()["levenshtein"].traits.counts_when, Some(("unit", "edits")));
}

/// IO-01: `amid: true` looks for a value within the text, `amid: false` takes the whole text, and the schema `true` takes
/// any JSON but no plain text.
#[test]
fn json_is_found_amid_a_text_or_must_be_all_of_it() {
    let holds = |with: Value, output: &str| number(json!({"metric": "json_schema", "with": with}), json!(output));
    let prose = r#"Sure [1]: the answer is {"n": 3}, or not."#;
    assert!(is(holds(json!({"schema": true, "amid": true}), prose), 1.0));
    assert!(is(holds(json!({"schema": true, "amid": true}), "no {json} here [at all"), 0.0));
    assert!(is(holds(json!({"schema": {"required": ["n"], "type": "object"}, "amid": true}), prose), 1.0));
    assert!(is(holds(json!({"schema": {"required": ["m"], "type": "object"}, "amid": true}), prose), 0.0));
    assert!(is(holds(json!({"schema": true, "amid": false}), prose), 0.0));
    assert!(is(holds(json!({"schema": true, "amid": false}), " {\"n\": 3}\n"), 1.0));
    assert!(is(holds(json!({"schema": true, "amid": false}), "```json\n{}\n```"), 0.0));
    assert!(is(holds(json!({"schema": true}), "plain words"), 0.0));
    assert!(is(holds(json!({"schema": true}), "```json\n{}\n```"), 1.0));
    // As before: a schema may be about the text itself.
    assert!(is(holds(json!({"schema": {"type": "string"}}), "plain words"), 1.0));
    let not_json = score(json!({"metric": "json_schema", "with": {"schema": true, "amid": false}}), json!("hello"));
    assert!(reason(&not_json).starts_with("the text is not JSON"), "{not_json:?}");
}

fn checks(of: Value, output: &str) -> Score {
    score(json!({"metric": "checks", "with": {"of": of}}), json!(output))
}

/// IO-01: the mean weighs scores of items without a bound, and 1 or 0 of those with one; weight 0 counts nothing.
#[test]
fn checks_are_a_weighted_mean() {
    let of = json!([
        {"metric": "contains", "value": "cat", "weight": 3},
        {"metric": "contains", "value": "dog", "not": true},
        {"metric": "levenshtein", "value": "the cat", "weight": 2},
        {"metric": "length", "max": 3, "weight": 2, "id": "short"},
        {"metric": "contains", "value": "never", "weight": 0},
    ]);
    let found = checks(of.clone(), "the cat");
    assert!(is(found.number().unwrap(), 6.0 / 8.0), "{found:?}");
    assert_eq!(reason(&found), "failed or below 1: short");
    let found = checks(of, "the dog");
    let ratio = 1.0 - 3.0 / 7.0;
    assert!(is(found.number().unwrap(), 2.0 * ratio / 8.0), "{found:?}");
    assert_eq!(reason(&found), "failed or below 1: contains, not contains, levenshtein (0.57), short");
    let set = json!([
        {"metric": "contains", "value": "dog"},
        {"metric": "checks", "min": "50%", "with": {"of": [
            {"metric": "contains", "value": "cat"}, {"metric": "contains", "value": "dog"},
        ]}},
    ]);
    assert!(is(checks(set, "the cat").number().unwrap(), 0.5));
}

/// IO-01: an item that does not apply is left out, one without a decision leaves the whole unscored.
#[test]
fn checks_without_a_decision_have_no_mean() {
    let no_reference = json!({"metric": "exact"});
    let passes = json!({"metric": "contains", "value": "cat"});
    assert_eq!(checks(json!([no_reference, passes]), "cat"), Score::value(1.0));
    assert!(matches!(checks(json!([no_reference]), "cat"), Score::NotApplicable { .. }));
    let long = checks(json!([{"metric": "length"}, passes]), "the cat");
    assert!(reason(&long).contains("length: its score is 7") && long.is_unscored(), "{long:?}");
    let unheard = json!([{"metric": "length", "weight": 0}, passes]);
    assert_eq!(checks(unheard, "the cat"), Score::value(1.0));
}

/// IO-01: lists that cannot be used are refused before any cell, with the check.
#[test]
fn checks_that_cannot_be_used_say_why() {
    let refused = |of: Value| build(&spec(json!({"metric": "checks", "with": {"of": of}}))).err().unwrap().to_string();
    for (of, part) in [
        (json!([]), "names no check"),
        (json!([{"metric": "contians", "value": "x"}]), "check 1 of `of` (contians): there is no metric"),
        (json!([{"metric": "exact", "value": "x", "weight": -1}]), "`weight` is -1, but must be at least 0"),
        (json!([{"metric": "exact", "value": "x", "weight": 0}]), "weight 0"),
        (json!([{"metric": "exact", "value": "x", "min": "high"}]), "`min` is \"high\""),
        (json!([{"metric": "http", "with": {"url": "http://localhost"}}]), "make it a scorer of the suite"),
        (json!([{"metric": "exact", "vlaue": "x"}]), "unknown field `vlaue`"),
    ] {
        let said = refused(of);
        assert!(said.contains(part), "{said}");
    }
}

/// Rows by the join's file and trial path.
struct Rows(Value);

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

impl JoinedRows for Rows {
    fn row(&self, join: &RowJoin) -> Result<Value, String> {
        match join.from.as_str() {
            "none.jsonl" => Err("there is no row \"s1\" of none.jsonl".to_owned()),
            _ => Ok(self.0.clone()),
        }
    }
}

fn given_of(scorer: Value, row: Value) -> Score {
    let rows = Rows(row);
    let cell = CellView {
        sample: &sample(json!({}), None),
        output: &json!("the cat"),
        latency_ms: 0.0,
        facts: &ResponseFacts::default(),
        cost: None,
        usage: Usage::default(),
        so_far: ScoresSoFar::default(),
        joined: Some(&rows),
        origin: Origin::default(),
    };
    build(&spec(scorer)).unwrap().score(&cell).remove(0)
}

/// IO-01: another tool's score is taken as it stands; null and an absent row are unscored, an absent member is not
/// applicable.
#[test]
fn a_given_score_stands_in_the_row() {
    let given = |row: Value| {
        let with = json!({"from": "scores.jsonl", "by": "{{ sample.id }}", "path": "scores.tone", "reason": "why"});
        given_of(json!({"metric": "given", "with": with}), row)
    };
    assert_eq!(given(json!({"scores": {"tone": 0.4}})), Score::value(0.4));
    assert_eq!(given(json!({"scores": {"tone": 7}, "why": "calm"})), Score::value_because(7.0, "calm"));
    assert_eq!(given(json!({"scores": {"tone": true}})), Score::verdict(true));
    assert_eq!(given(json!({"scores": {"tone": false}})).number(), Some(0.0));
    let null = given(json!({"scores": {"tone": null}}));
    assert!(null.is_unscored() && reason(&null) == "the score at `$.scores.tone` is null", "{null:?}");
    for absent in [json!({"scores": {}}), json!({})] {
        assert!(matches!(given(absent.clone()), Score::NotApplicable { .. }), "{absent}");
    }
    let text = given(json!({"scores": {"tone": "good"}}));
    assert!(text.is_unscored() && reason(&text).contains("\"good\", not a number"), "{text:?}");
    let no_row = json!({"metric": "given", "with": {"from": "none.jsonl", "path": "x"}});
    assert_eq!(given_of(no_row.clone(), json!({})), Score::unscored("there is no row \"s1\" of none.jsonl"));
    assert!(score(no_row, json!("x")).is_unscored());
    assert!(build(&spec(json!({"metric": "given", "with": {"from": "a", "path": "a..b"}}))).is_err());
}

/// IO-10: an output of which nothing says how long it took has no latency, and not 0.
#[test]
fn an_unknown_time_is_no_latency() {
    assert!(matches!(given_of(json!({"metric": "latency"}), json!({})), Score::NotApplicable { .. }));
}

/// IO-01: a given score within a list of checks is joined like one of its own.
#[test]
fn checks_may_hold_a_given_score() {
    let given = json!({"metric": "given", "with": {"from": "scores.jsonl", "by": "{{ sample.id }}", "path": "tone"}});
    let of = json!([given, {"metric": "contains", "value": "cat"}]);
    let list = json!({"metric": "checks", "with": {"of": of}});
    assert_eq!(given_of(list.clone(), json!({"tone": 0.5})).number(), Some(0.75));
    let joins = build(&spec(list)).unwrap().joins();
    assert_eq!(joins.iter().map(|join| join.from.as_str()).collect::<Vec<_>>(), ["scores.jsonl"]);
}
