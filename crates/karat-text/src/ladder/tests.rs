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
    assert_eq!(refused("```\n{\"b\": 2}\n```\n```json\n{\"a\": 1}\n```"), LadderError::Several(2));
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
    let error = Ladder::new(Expectation::Object).with_truncation(true).choose(text, |_| true).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
}

#[test]
fn errors_name_the_place() {
    let error = refused("Well:\n{\"a\": 1,\n \"b\": NaN}");
    assert_eq!(error.to_string(), "the reply's JSON is broken at line 3, column 7: NaN is not a JSON number");
    assert_eq!(refused("nothing").to_string(), "the reply contains no JSON");
    assert_eq!(refused("[1, 2]").to_string(), "the reply's JSON is a list, where one object is expected");
}

#[test]
fn lenience_is_noted() {
    let found = |text: &str| Ladder::new(Expectation::Object).choose(text, |_| true).unwrap().found;
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

/// Every value is listed with its place; the content of a fence once; what stands in reasoning is none.
#[test]
fn a_survey_lists_every_value() {
    let survey = |text: &str| Ladder::new(Expectation::Object).survey(text).unwrap();
    let listed = |text: &str| -> Vec<(Value, bool)> {
        survey(text).candidates.into_iter().map(|it| (it.found.value, it.is_fenced)).collect()
    };
    let (one, two) = (json!({"a": 1}), json!({"a": 2}));
    assert_eq!(listed("{\"a\": 1}"), [(one.clone(), false)]);
    assert_eq!(listed("So {\"a\": 1}\n```json\n{\"a\": 2}\n```"), [(two.clone(), true), (one.clone(), false)]);
    assert_eq!(listed("```\n{\"a\": 1}\n{a: 2}\n```"), [(one.clone(), true), (two.clone(), true)]);
    assert_eq!(listed("<think>{\"a\": 1}</think> {\"a\": 2}"), [(two.clone(), false)]);
    assert_eq!(listed("```thinking\n{\"a\": 1}\n```\n{\"a\": 2}"), [(two, false)]);
    let broken = survey("{\"a\": 1} and {\"a\": NaN}").broken;
    assert_eq!((broken.len(), broken[0].text.as_str()), (1, "{\"a\": NaN}"));
}

/// A value that is broken is repaired as a whole, not searched for smaller ones.
#[test]
fn a_broken_value_is_not_searched_for_smaller_ones() {
    let (value, rung) = object("{\"score\": 1, \"list\": [{\"a\": 1}]], \"more\": {\"b\": 2}}");
    assert_eq!(value, json!({"score": 1, "list": [{"a": 1}], "more": {"b": 2}}));
    assert_eq!(rung, Rung::Repaired);
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
        "```{} ",
        "```thinking\n{}\n```\n",
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
        (value.is_object() || value.is_array()) && is_substantial(value)
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
