//! Metrics of calls of tools. Outputs have the shapes of replies and of agents.

use super::*;

fn with(options: Value) -> Value {
    json!({"metric": "tool_calls", "with": options})
}

/// The score of calls against expected ones.
fn of(options: Value, expected: Value, made: Value) -> Score {
    let mut scorer = with(options);
    scorer["value"] = expected;
    score(scorer, json!({"text": "", "tool_calls": made, "stop_reason": "call"}))
}

fn figure(options: Value, expected: Value, made: Value) -> f64 {
    of(options.clone(), expected, made).number().unwrap_or_else(|| panic!("{options}"))
}

/// TG-30: the oracles of the specification: `ref [a(x=1), b], out [b, a(x=1,y=2)]`.
#[test]
fn calls_match_by_order_arguments_and_part() {
    let expected = json!([{"name": "a", "arguments": {"x": 1}}, {"name": "b"}]);
    let made =
        json!([{"id": "1", "name": "b", "arguments": {}}, {"id": "2", "name": "a", "arguments": {"x": 1, "y": 2}}]);
    let figure = |options: Value| figure(options, expected.clone(), made.clone());
    assert_eq!(figure(json!({})), 1.0);
    assert_eq!(figure(json!({"match": "any", "arguments": "equal", "part": "f1"})), 0.5);
    assert_eq!(figure(json!({"match": "ordered", "part": "recall"})), 0.5);
    assert_eq!(figure(json!({"match": "exact"})), 0.0);
    assert_eq!(figure(json!({"arguments": "equal", "ignore": ["y"]})), 1.0);
    assert_eq!(figure(json!({"tools": ["b"], "match": "exact"})), 1.0);
    assert_eq!(figure(json!({"arguments": "ignore", "match": "exact", "part": "precision"})), 0.0);
    assert_eq!(figure(json!({"arguments": "equal", "part": "precision"})), 0.5);
}

/// TG-30: the largest matching, where taking the first partner that fits would find one pair less:
/// `ref [a, a(x=1)], out [a(x=1), a]`.
#[test]
fn matching_is_not_greedy() {
    let expected = json!([{"name": "a"}, {"name": "a", "arguments": {"x": 1}}]);
    let made = json!([{"name": "a", "arguments": {"x": 1}}, {"name": "a", "arguments": {}}]);
    assert_eq!(figure(json!({"part": "recall"}), expected, made), 1.0);
}

/// TG-30: an empty reference is met by no call alone; without a reference nothing is compared.
#[test]
fn no_call_may_be_expected() {
    let call = json!([{"name": "a", "arguments": {}}]);
    assert_eq!(figure(json!({}), json!([]), json!([])), 1.0);
    let unexpected = of(json!({"part": "recall"}), json!([]), call.clone());
    assert_eq!((unexpected.number(), reason(&unexpected)), (Some(0.0), "a({}) is not expected"));
    assert_eq!(figure(json!({"part": "precision"}), call.clone(), json!([])), 0.0);
    assert!(matches!(
        score_of(with(json!({})), &sample(json!({}), None), json!({"tool_calls": []})),
        Score::NotApplicable { .. }
    ));
    let mut scorer = with(json!({}));
    scorer["value"] = json!([]);
    assert_eq!(number(scorer.clone(), json!("A text calls nothing.")), 1.0);
    // Nothing is known of the calls of an output that holds no list of them.
    for (output, problem) in [
        (json!({"answer": 1}), "the output is an object without `tool_calls`"),
        (
            json!({"text": "hi", "tool_calls": "what"}),
            "the output is an object whose `tool_calls` is a text, not a list of calls",
        ),
        (json!({"text": "hi", "tool_calls": 7}), "the output is a number, not a list of calls"),
    ] {
        let score = score(scorer.clone(), output);
        assert_eq!((score.is_unscored(), reason(&score)), (true, problem));
    }
}

/// TG-30: references may be OpenAI-shaped, a JSON text or names alone; numbers are equal by value, texts are not numbers.
#[test]
fn references_have_several_forms() {
    let made = json!([{"name": "a", "arguments": {"x": 1, "city": "Paris", "near": {"km": 10.0, "by": "foot"}}}]);
    let same = |options: Value, expected: Value| figure(options, expected, made.clone());
    let openai = json!([{"id": "c", "type": "function", "function": {"name": "a", "arguments": "{\"x\": 1.0}"}}]);
    assert_eq!(same(json!({}), openai), 1.0);
    assert_eq!(same(json!({}), json!("[{\"name\": \"a\", \"args\": {\"x\": 1}}]")), 1.0);
    assert_eq!(same(json!({}), json!(["a"])), 1.0);
    assert_eq!(same(json!({}), json!([{"name": "a", "arguments": {"x": "1"}}])), 0.0);
    assert_eq!(same(json!({}), json!([{"name": "a", "arguments": {"near": {"km": 10}}}])), 1.0);
    assert_eq!(
        same(
            json!({"arguments": "equal"}),
            json!([{"name": "a", "arguments": {"x": 1, "city": "Paris", "near": {"km": 10}}}])
        ),
        0.0
    );
    assert_eq!(same(json!({"ignore_case": true}), json!([{"name": "a", "arguments": {"city": "PARIS"}}])), 1.0);
    assert_eq!(same(json!({"rel": 0.1}), json!([{"name": "a", "arguments": {"x": 1.1}}])), 1.0);
    assert_eq!(same(json!({"abs": 0.05}), json!([{"name": "a", "arguments": {"x": 1.1}}])), 0.0);
    let schema =
        json!([{"name": "a", "arguments": {"x": {"type": "integer", "minimum": 1}, "city": {"pattern": "^P"}}}]);
    assert_eq!(same(json!({"arguments": "schema"}), schema), 1.0);
    assert!(
        of(json!({"arguments": "schema"}), json!([{"name": "a", "arguments": {"x": {"type": 7}}}]), made.clone())
            .is_unscored()
    );
    for broken in [json!("a text"), json!([{"tool": "a"}]), json!(7)] {
        assert!(of(json!({}), broken.clone(), made.clone()).is_unscored(), "{broken}");
    }
    assert!(build(&spec(with(json!({"rel": -1})))).is_err());
}

/// TG-30: the reason names the first difference.
#[test]
fn reasons_name_the_first_difference() {
    let told = |options: Value, expected: Value, made: Value| reason(&of(options, expected, made)).to_owned();
    let refund = json!([{"name": "refund", "arguments": {"id": "A1"}}]);
    assert_eq!(told(json!({}), refund.clone(), json!([])), "no call was made; expected refund({\"id\":\"A1\"})");
    assert_eq!(told(json!({}), refund.clone(), json!([{"name": "x", "arguments": {}}])), "`refund` was not called");
    assert_eq!(
        told(json!({}), refund.clone(), json!([{"name": "refund", "arguments": {"id": "A2"}}])),
        "`refund`: its `id` is \"A2\", expected \"A1\""
    );
    assert_eq!(
        told(json!({}), refund.clone(), json!([{"name": "refund", "arguments": null, "raw": "{A1"}])),
        "`refund`: its arguments are no object"
    );
    let both = json!([{"name": "a"}, {"name": "b"}]);
    let turned = json!([{"name": "b", "arguments": {}}, {"name": "a", "arguments": {}}]);
    assert_eq!(told(json!({"match": "ordered"}), both.clone(), turned.clone()), "b({}) was made out of order");
    assert_eq!(told(json!({"match": "exact"}), both.clone(), turned), "call 1 is b({}), expected a({})");
    assert_eq!(
        told(json!({"match": "exact"}), both, json!([{"name": "a", "arguments": {}}])),
        "b({}) is missing at the end"
    );
    assert_eq!(
        told(
            json!({"part": "f1"}),
            json!(["a"]),
            json!([{"name": "a", "arguments": {}}, {"name": "c", "arguments": {}}])
        ),
        "c({}) is not expected"
    );
}

/// TG-31: the share of calls that name an offered tool and fit its schema; without calls nothing is said.
#[test]
fn calls_must_fit_the_offered_tools() {
    let offered = json!({
        "metric": "valid_calls",
        "with": {"tools": {"get": {"type": "object", "required": ["id"]}, "put": {"input": {"type": "object"}, "about": "x"}}},
    });
    let made = json!({"tool_calls": [
        {"name": "get", "arguments": {"id": 1}},
        {"name": "get", "arguments": {}},
        {"name": "put", "arguments": null, "raw": "{"},
        {"name": "gte", "arguments": {"id": 1}},
    ]});
    let found = score(offered.clone(), made.clone());
    assert_eq!((found.number(), reason(&found)), (Some(0.25), "`get`: $: \"id\" is a required property"));
    assert!(matches!(score(offered.clone(), json!({"text": "Hi", "tool_calls": []})), Score::NotApplicable { .. }));
    assert!(matches!(score(offered, json!("Hi")), Score::NotApplicable { .. }));
    let counts = json!({"metric": "valid_calls"});
    assert!(score(counts.clone(), made.clone()).is_unscored());
    let mut agent = made;
    agent["unknown_calls"] = json!(1);
    agent["invalid_calls"] = json!(2);
    assert_eq!(number(counts, agent), 0.25);
}

/// TG-32: the state at the end is compared as any JSON value; the count of a number is the number.
#[test]
fn end_state_and_turns_are_scored() {
    let output = json!({"turns": 7, "state": {"orders": {"A1": {"status": "refunded", "total": 10.0}}}});
    let expected = json!({"A1": {"total": 10, "status": "refunded"}});
    let state = json!({"metric": "json_field", "output": "$.state.orders", "reference": "expected"});
    assert_eq!(
        score_of(state.clone(), &sample(json!({"expected": expected}), None), output.clone()).number(),
        Some(1.0)
    );
    assert_eq!(score_of(state, &sample(json!({"expected": {}}), None), output.clone()).number(), Some(0.0));
    assert_eq!(number(json!({"metric": "count", "output": "$.turns"}), output), 7.0);
    assert_eq!(number(json!({"metric": "count"}), json!([1, 2])), 2.0);
}
