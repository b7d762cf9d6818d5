use proptest::prelude::*;
use serde_json::json;

use super::*;

fn any(text: &str) -> (Value, Rung) {
    read(text, Expectation::Any).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn object(text: &str) -> (Value, Rung) {
    read(text, Expectation::Object).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn refused(text: &str) -> LadderError {
    match read(text, Expectation::Object) {
        Ok(found) => panic!("{text:?} was read as {found:?}"),
        Err(error) => error,
    }
}

fn repaired(text: &str, value: Value) {
    assert_eq!(object(text), (value, Rung::Repaired), "{text}");
}

/// BR-06: a fenced block first, then a bare object, prose around them ignored.
#[test]
fn each_rung_is_found_and_named() {
    let value = json!({"a": 1});
    assert_eq!(object("\u{feff} {\"a\": 1}\n"), (value.clone(), Rung::Direct));
    assert_eq!(object("Here: {\"b\": 2}\n```json\n{\"a\": 1}\n```\nDone {x}"), (value.clone(), Rung::Fenced));
    assert_eq!(object("```\n{\"b\": 2}\n```\n```json\n{\"a\": 1}\n```"), (value.clone(), Rung::Fenced));
    assert_eq!(object("~~~JSON5\n{\"a\": 1}\n~~~"), (value.clone(), Rung::Fenced));
    assert_eq!(object("```json {\"a\": 1} ``` and ```x```"), (value.clone(), Rung::Fenced));
    assert_eq!(object("```json\n{\"a\": 1}"), (value.clone(), Rung::Fenced));
    assert_eq!(object("My {careful} verdict: {\"a\": 1}. Thanks."), (value.clone(), Rung::Embedded));
    assert_eq!(object("Template {{\"a\": 1}}"), (value.clone(), Rung::Embedded));
    assert_eq!(object("The shape {\"a\": <number>} gives {\"a\": 1}"), (value.clone(), Rung::Embedded));
    assert_eq!(object("<think>Maybe {\"a\": 9}?</think>\n{\"a\": 1}"), (value.clone(), Rung::Embedded));
    assert_eq!(object("{a: 1,}"), (value, Rung::Repaired));
}

#[test]
fn any_value_counts_where_one_is_expected() {
    assert_eq!(any("7"), (json!(7), Rung::Direct));
    assert_eq!(any("\"{}\""), (json!("{}"), Rung::Direct));
    assert_eq!(any("As [1] shows: [{\"a\": 1}]"), (json!([{"a": 1}]), Rung::Embedded));
    assert_eq!(any("It is [1, 2]."), (json!([1, 2]), Rung::Embedded));
    assert_eq!(any("['a', 'b']"), (json!(["a", "b"]), Rung::Repaired));
    assert!(read("The score is 7.", Expectation::Any).is_err());
}

#[test]
fn common_mistakes_are_repaired() {
    repaired("{\"a\": 1,}", json!({"a": 1}));
    repaired("{'a': 'it\\'s'}", json!({"a": "it's"}));
    repaired("{'a': 'it's fine', 'b': 2}", json!({"a": "it's fine", "b": 2}));
    repaired("{a: True, b: None, c: FALSE}", json!({"a": true, "b": null, "c": false}));
    repaired("{\"a\": 1 // why\n, /* b */ \"b\": 2 # end\n}", json!({"a": 1, "b": 2}));
    repaired("{“a”: “x”, ‘b’: 2}", json!({"a": "x", "b": 2}));
    repaired("{\"a\": 1 \"b\": 2}", json!({"a": 1, "b": 2}));
    repaired("{\"a\": \"x\"\n\"b\": [1, 2]}", json!({"a": "x", "b": [1, 2]}));
    repaired("{\"a\": \"one\ntwo\"}", json!({"a": "one\ntwo"}));
    repaired("{\"a\": \"she said \"no\", then left\", \"b\": 1}", json!({"a": "she said \"no\", then left", "b": 1}));
    repaired("{\"a\": [\"x\" \"y\",], \"b\": {\"c\": true", json!({"a": ["x", "y"], "b": {"c": true}}));
    repaired("{\"a\": [1, 2}", json!({"a": [1, 2]}));
    repaired("{\"a\": 1]}", json!({"a": 1}));
    repaired("{\"a\": +1, \"b\": .5, \"c\": 5., \"d\": 1_000}", json!({"a": 1, "b": 0.5, "c": 5.0, "d": 1000}));
    repaired("{\"a\": high, \"b\": 8/10}", json!({"a": "high", "b": "8/10"}));
    repaired("{\"a\": \"\\d+ \\x41\"}", json!({"a": "\\d+ A"}));
    repaired("{\"a\": \"\"\"two \"quoted\" words\"\"\"}", json!({"a": "two \"quoted\" words"}));
    repaired("\"a\": 1, \"s\": {\"b\": 2}}", json!({"a": 1, "s": {"b": 2}}));
    repaired("\"{\\\"a\\\": 1}\"", json!({"a": 1}));
    repaired("{\\\"a\\\": \\\"x\\\\\\\"y\\\"}", json!({"a": "x\"y"}));
    repaired("{\"a\": 1; \"b\": 2}", json!({"a": 1, "b": 2}));
    repaired("```json\n{\"a\": 1,}\n```", json!({"a": 1}));
}

#[test]
fn ambiguous_replies_are_refused() {
    for text in [
        "",
        "   \n",
        "The answer is good.",
        "I {really} like it: [yes]",
        "note: this is prose",
        "{this is prose}",
        "{\"a\": NaN}",
        "{\"a\": -Infinity}",
        "{\"a\": inf}",
        "{\"a\": 1e999}",
        "{\"a\": \"never ends}",
        "{\"a\": [1, 2, ...]}",
        "{\"a\": <number>}",
        "{\"a\": two words}",
        "{\"a\": }",
        "{\"a\" 1}",
        "{\"a\" 1, \"b\": 2}",
        "[{\"a\": 1}, {\"a\": 2}]",
        "7",
        "{\"s\": {\"a\": 1}, \"r\": \"cut off in the mid",
    ] {
        refused(text);
    }
}

/// CL-06, CL-15: a reply that was cut off is not closed as if it were whole.
#[test]
fn a_truncated_reply_is_not_closed() {
    let text = "{\"a\": 1, \"b\": [\"two\"]";
    assert_eq!(object(text).1, Rung::Repaired);
    assert!(refused("{\"a\": 1, \"b\": [\"two\"").to_string().contains("more members"));
    for number in ["{\"a\": 1", "{\"a\": [7, 1", "{\"a\": {\"b\": 0."] {
        assert!(refused(number).to_string().contains("more digits"), "{}", refused(number));
    }
    let error = Ladder::new(Expectation::Object).truncated(true).climb(text).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
}

#[test]
fn errors_name_the_place() {
    let error = refused("Well:\n{\"a\": 1,\n \"b\": NaN}");
    assert_eq!(error.to_string(), "the reply's JSON is broken at line 3, column 7: NaN is no JSON number");
    assert_eq!(refused("nothing").to_string(), "the reply holds no JSON object");
    assert_eq!(refused("[1, 2]").to_string(), "the reply's JSON is a list, where one object is expected");
}

#[test]
fn lenience_is_noted() {
    let found = |text: &str| Ladder::new(Expectation::Object).climb(text).unwrap();
    assert_eq!(found("{\"a\": 1}").notes, Vec::<String>::new());
    let twice = found("{\"a\": 1, \"a\": 2}");
    assert_eq!((twice.value, twice.rung), (json!({"a": 2}), Rung::Direct));
    assert_eq!(twice.notes, ["the key \"a\" stood twice; the last one counts"]);
    assert_eq!(twice.contradictions, ["a"]);
    assert_eq!(found("{\"b\": {\"a\": 1, \"a\": 1}}").contradictions, Vec::<String>::new());
    let repaired = found("{'a': 1, 'a': 2}");
    assert_eq!(repaired.notes[0], "the key \"a\" stood twice; the last one counts");
    assert_eq!(repaired.contradictions, ["a"]);
    assert_eq!(
        found("{a: 1, b: 2,}").notes,
        ["repaired: a key without quotes (2 times)", "repaired: a trailing comma"]
    );
    assert_eq!(found("[{\"a\": 1}]").notes, ["the object stood in a list"]);
}

#[test]
fn the_preferred_value_is_taken() {
    let wanted = |value: &Value| usize::from(value.get("score").is_some());
    let ladder = Ladder::new(Expectation::Object).ranking(&wanted);
    assert_eq!(ladder.climb("First {\"draft\": 1}, then {\"score\": 2}").unwrap().value, json!({"score": 2}));
    assert_eq!(ladder.climb("Only {\"draft\": 1}").unwrap().value, json!({"draft": 1}));
}

/// BR-06: a fenced object counts before a bare one that says something else, and a note says so; of two fenced ones none.
#[test]
fn a_fenced_object_counts_before_a_bare_one() {
    let wanted = |value: &Value| usize::from(value.get("score").is_some());
    let ladder = Ladder::new(Expectation::Object).ranking(&wanted);
    let (two, nine) = (r#"{"score": 2}"#, r#"{"score": 9}"#);
    for text in [
        format!("I weigh {two}.\n```json\n{nine}\n```"),
        format!("```json\n{nine}\n```\nor so {two}"),
        format!("{two} {two}\n```\n{{\"score\": 9,}}\n```"),
        format!("```json\n{{\"shape\": 1}}\n```\n{two}\n```json\n{nine}\n```"),
    ] {
        let found = ladder.climb(&text).unwrap();
        assert_eq!(found.value, json!({"score": 9}), "{text}");
        assert!(found.notes.iter().any(|note| note.contains("fenced object counts")), "{text}: {found:?}");
    }
    assert_eq!(ladder.climb(&format!("Final: {two}\n```json\n{nine}\n```")), Err(LadderError::Several(2)));
    assert_eq!(ladder.climb(&format!("The format:\n```json\n{two}\n```\n{nine}")), Err(LadderError::Several(2)));
    assert_eq!(ladder.climb(&format!("An example:\n```json\n{two}\n```")), Err(LadderError::Example));
    let both = format!("{two}\n```json\n{two}\n```\n```json\n{nine}\n```");
    assert!(matches!(ladder.climb(&both), Err(LadderError::Several(_))));
    assert_eq!(ladder.climb(&format!("```json\n{two}\n```\nFinal: {nine}")).unwrap().value, json!({"score": 9}));
}

/// CL-15: of several that fit and differ none is taken silently; the last one is where it is announced.
#[test]
fn of_several_values_the_announced_one_counts() {
    let wanted = |value: &Value| usize::from(value.get("score").is_some());
    let ladder = Ladder::new(Expectation::Object).ranking(&wanted);
    let climb = |text: &str| ladder.climb(text).map(|found| found.value);
    let (two, nine) = (r#"{"score": 2}"#, r#"{"score": 9}"#);
    for text in [
        format!("{two}\n{nine}"),
        format!("Draft: {two}\nAgain: {nine}"),
        format!("Final: {two}\nThough one could also say {nine}"),
        format!("Final: {two}\nFinal: {nine}"),
        format!("{two}\nThis is not the final one: {nine}"),
        format!("```json\n{two}\n```\nor\n```json\n{nine}\n```"),
    ] {
        assert_eq!(climb(&text), Err(LadderError::Several(2)), "{text}");
    }
    for text in [
        format!("Draft: {two}\n\n**Final verdict:** {nine}"),
        format!("{two}\nCorrection:\n```json\n{nine}\n```"),
        format!("<think>{two}</think>{nine}"),
        format!("It may be {two}.</think>{nine}"),
        format!("{{\"type\": \"object\"}} {nine}"),
        format!("{nine}\n{nine}"),
    ] {
        assert_eq!(climb(&text), Ok(json!({"score": 9})), "{text}");
    }
    assert!(matches!(
        climb(&format!("First {two}. Final: {{\"score\": 9, \"list\": [\"a")),
        Err(LadderError::Broken { .. })
    ));
    assert_eq!(climb(&format!("{two}\nOn reflection, the score is 9.")), Err(LadderError::TakenBack));
    assert_eq!(climb(&format!("{nine}\nMy final score: 9.")), Ok(json!({"score": 9})));
    assert_eq!(climb(&format!("<think>{two}</think>")), Err(LadderError::NoJson("object")));
}

/// A broken value that is meant is repaired before a whole one that is not.
#[test]
fn a_broken_value_is_not_searched_for_smaller_ones() {
    let wanted = |value: &Value| usize::from(value.get("score").is_some());
    let ladder = Ladder::new(Expectation::Object).ranking(&wanted);
    let found = ladder.climb("{\"score\": 1, \"list\": [{\"a\": 1}]], \"more\": {\"b\": 2}}").unwrap();
    assert_eq!(found.value, json!({"score": 1, "list": [{"a": 1}], "more": {"b": 2}}));
    assert_eq!(found.rung, Rung::Repaired);
    let found = ladder.climb("{\"other\": 1} and {score: 2}").unwrap();
    assert_eq!((found.value, found.rung), (json!({"score": 2}), Rung::Repaired));
}

/// Ten megabytes of brackets, quotes and fences end quickly, without a stack overflow.
#[test]
fn hostile_lengths_are_safe() {
    for unit in [
        "[",
        "{",
        "{\"a\":",
        "{\"a\":[",
        "[1,",
        "\"",
        "{\"",
        "```",
        "```\n",
        "{a:",
        "{'",
        "\\",
        "{\"a\":\"x\" ",
        "{}",
        "[1 ",
        "<think></think>",
        "</think>",
        "{\"score\": 1} ",
    ] {
        let text = unit.repeat(2_000_000 / unit.len());
        let _ = read(&text, Expectation::Any);
        let _ = read(&text, Expectation::Object);
    }
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    assert!(read(&deep, Expectation::Any).is_ok());
    let long = json!({"text": "x".repeat(10_000_000)});
    assert_eq!(object(&format!("Look: {long} there")), (long, Rung::Embedded));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any_bool().prop_map(Value::Bool),
        (-1_000_000i64..1_000_000).prop_map(Value::from),
        (-1e6f64..1e6).prop_map(Value::from),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::bool::ANY
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,8}", "(\\PC|[\n\"'\\\\{}\\[\\]:,]){0,12}"]
}

fn json_container() -> impl Strategy<Value = Value> {
    json_value().prop_filter("a list or object that says something", |value| {
        (value.is_object() || value.is_array()) && prose::choice::is_substantial(value)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_valid_value_is_read_directly(value in json_value()) {
        prop_assert_eq!(read(&value.to_string(), Expectation::Any), Ok((value, Rung::Direct)));
    }

    #[test]
    fn any_valid_value_is_found_in_a_fence(value in json_value(), before in "[A-Za-z .,!\n]{0,30}", after in "[A-Za-z .,!\n]{0,30}") {
        let text = format!("{before}\n```json\n{value:#}\n```\n{after}");
        prop_assert_eq!(read(&text, Expectation::Any), Ok((value, Rung::Fenced)));
    }

    #[test]
    fn any_valid_value_is_found_in_prose(value in json_container(), before in "[A-Z][A-Za-z .,!:\n]{0,30}", after in "[A-Za-z .,!\n]{0,30}") {
        prop_assume!(!value.to_string().contains("```") && !value.to_string().contains("~~~"));
        let text = format!("{before} {value} {after}");
        prop_assert_eq!(read(&text, Expectation::Any), Ok((value, Rung::Embedded)));
    }

    /// Texts keep their content on the last rung, too.
    #[test]
    fn repairs_keep_texts(content in text(), key in "[a-z]{1,5}") {
        let broken = format!("{{{key}: {}, }}", Value::String(content.clone()));
        let (value, rung) = read(&broken, Expectation::Object).unwrap();
        prop_assert_eq!(value, json!({ key: content }));
        prop_assert_eq!(rung, Rung::Repaired);
    }

    #[test]
    fn prose_never_becomes_an_object(prose in "[A-Za-z0-9 .,;:!?()'\n-]{0,200}") {
        prop_assert!(read(&prose, Expectation::Object).is_err());
    }

    #[test]
    fn nothing_panics(text in "([\\[\\]{}\"':,`~\\\\]|json|null|\\PC|\n){0,80}") {
        let _ = read(&text, Expectation::Any);
        let _ = read(&text, Expectation::Object);
    }
}
