//! Expressions and their checks.

use serde_json::json;

use super::*;

fn check_as(text: &str, language: Language, root: Root) -> Option<Value> {
    let vars = json!({"city": "Rome", "n": 3}).as_object().cloned().unwrap();
    translate(Code { text, language, root, threshold: None, vars: &vars }).map(|it| Value::Object(it.item.0))
}

fn check(text: &str) -> Option<Value> {
    check_as(text, Language::JavaScript, Root::Text)
}

/// F83: expressions about the output are checks.
#[test]
fn expressions_are_checks() {
    let schema = |schema: Value| json!({"metric": "json_schema", "with": {"schema": schema, "amid": false}});
    for (code, expected) in [
        ("output.length < 50", json!({"metric": "length", "max": 49})),
        ("return output.length >= 5;", json!({"metric": "length", "min": 5})),
        ("100 > output.length", json!({"metric": "length", "max": 99})),
        ("output.includes('a b')", json!({"metric": "contains", "value": "a b"})),
        ("!output.includes(\"x\")", json!({"metric": "contains", "value": "x", "not": true})),
        (
            "output.toLowerCase().includes('x')",
            json!({"metric": "contains", "value": "x", "with": {"ignore_case": true}}),
        ),
        ("output.includes('x') || output.includes('y')", json!({"metric": "contains", "with": {"any": ["x", "y"]}})),
        (
            "output.includes('x') && output.length > 2",
            json!({"metric": "checks", "min": 1, "with": {"of": [{"metric": "contains", "value": "x"}, {"metric": "length", "min": 3}]}}),
        ),
        ("output === 'yes'", json!({"metric": "exact", "value": "yes"})),
        ("output.trim() == 'yes'", json!({"metric": "exact", "value": "yes", "with": {"trim": true}})),
        ("output.startsWith('a.')", json!({"metric": "regex", "value": "\\Aa\\."})),
        ("/^[0-9]+$/i.test(output)", json!({"metric": "regex", "value": "(?i)^[0-9]+$"})),
        ("output.includes(context.vars.city)", json!({"metric": "contains", "value": "Rome"})),
        (
            "JSON.parse(output).a.b === 'x'",
            schema(json!({"type": "object", "required": ["a"], "properties":
                {"a": {"type": "object", "required": ["b"], "properties": {"b": {"const": "x"}}}}})),
        ),
        (
            "const it = JSON.parse(output); return it['n'] > 3",
            schema(
                json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "number", "exclusiveMinimum": 3}}}),
            ),
        ),
        ("len(output) < 10", json!({"metric": "length", "max": 9})),
        ("'x' in output.lower()", json!({"metric": "contains", "value": "x", "with": {"ignore_case": true}})),
    ] {
        assert_eq!(check(code), Some(expected), "{code}");
    }
}

/// F83: other code is not guessed.
#[test]
fn other_code_is_no_check() {
    for code in [
        "",
        "output",
        "output.toLowerCase().includes('Paris')",
        "output.includes(context.vars.none)",
        "output.includes(x)",
        "output.includes(`${x}`)",
        "fetch('x')",
        "if (output) { return true }",
        "output.length < 5 } {",
        "output.search(/x/) > 0",
        "(output) => output.length",
        "1 === 1",
        // Several lines without a `return` answer nothing.
        "const it = JSON.parse(output);\nit.a === 'x'",
        // Code that every output passes is not a check.
        "output.length < 5 ? 1 : true",
        "typeof output === 'string'",
        "output.trim().split(/\\s+/).length > 0",
        "JSON.parse(output).a",
        "output.a === 'x'",
        "['a'].some(x => ['b'].some(y => score(x, y)))",
        "[].includes(output)",
        "JSON.parse(output).items.some(it => it.a === 1)",
        "/x/.test(JSON.parse(output).a)",
    ] {
        assert_eq!(check(code), None, "{code}");
    }
}

fn schema(schema: Value) -> Value {
    json!({"metric": "json_schema", "with": {"schema": schema, "amid": false}})
}

fn something() -> Value {
    json!({"not": {"type": "null"}})
}

fn of_a(inner: Value) -> Value {
    schema(json!({"type": "object", "required": ["a"], "properties": {"a": inner}}))
}

/// F83: lists, counts of words and lines, types, and the truth of members.
#[test]
fn more_expressions_are_checks() {
    let all = |of: Value| json!({"metric": "checks", "min": 1, "with": {"of": of}});
    let not = |mut check: Value| {
        check["not"] = json!(true);
        check
    };
    for (code, expected) in [
        ("output.length <= 280 ? 1 : 0", json!({"metric": "length", "max": 280})),
        ("output.includes('x') ? false : true", json!({"metric": "contains", "value": "x", "not": true})),
        ("['x', 'y'].some(it => output.includes(it))", json!({"metric": "contains", "with": {"any": ["x", "y"]}})),
        (
            "const all = ['X', 'y'];\nreturn all.every((it) => output.toLowerCase().includes(it.toLowerCase()));",
            all(json!([
                {"metric": "contains", "value": "x", "with": {"ignore_case": true}},
                {"metric": "contains", "value": "y", "with": {"ignore_case": true}}
            ])),
        ),
        (
            "const found = ['a', 'b', 'c'].filter(it => output.includes(it)); return found.length >= 2 ? 1 : 0",
            json!({"metric": "checks", "min": 0.666666666, "with": {"of": [
                {"metric": "contains", "value": "a"}, {"metric": "contains", "value": "b"}, {"metric": "contains", "value": "c"}
            ]}}),
        ),
        ("['x', 'y'].includes(JSON.parse(output).a)", of_a(json!({"enum": ["x", "y"]}))),
        ("JSON.parse(output).a == 5", of_a(json!({"enum": [5, "5"]}))),
        ("typeof JSON.parse(output).a === 'string'", of_a(json!({"type": "string"}))),
        ("JSON.parse(output).a !== undefined", all(json!([schema(something()), of_a(json!({}))]))),
        (
            "'a' in JSON.parse(output)",
            schema(json!({"anyOf": [
                {"type": "array", "contains": {"const": "a"}}, {"type": "string", "pattern": "a"},
                {"type": "object", "required": ["a"]}
            ]})),
        ),
        (
            "JSON.parse(output).a && output.length > 2",
            all(json!([of_a(json!({"not": {"enum": [null, false, 0, ""]}})), {"metric": "length", "min": 3}])),
        ),
        ("output.split('\\n').length > 1", json!({"metric": "regex", "value": "\\A(?:[^\\x{a}]*\\x{a}){1}"})),
        // Reading a member of nothing fails, whatever is asked of it.
        (
            "JSON.parse(output).a.b !== 'x'",
            all(json!([
                of_a(something()),
                not(of_a(json!({"type": "object", "required": ["b"], "properties": {"b": {"const": "x"}}})))
            ])),
        ),
        (
            "JSON.parse(output)?.a?.b !== 'x'",
            all(json!([
                schema(json!({})),
                not(of_a(json!({"type": "object", "required": ["b"], "properties": {"b": {"const": "x"}}})))
            ])),
        ),
        (
            "const it = JSON.parse(output); return output.includes('x')",
            all(json!([
                schema(json!({})), {"metric": "contains", "value": "x"}
            ])),
        ),
        (
            "const it = typeof output === 'string' ? JSON.parse(output) : output; return it.a === 'x'",
            of_a(json!({"const": "x"})),
        ),
    ] {
        assert_eq!(check(code), Some(expected), "{code}");
    }
    let python = |code| check_as(code, Language::Python, Root::Text);
    assert_eq!(
        python("any(word in output.lower() for word in ['x', 'y'])"),
        Some(json!({"metric": "contains", "with": {"ignore_case": true, "any": ["x", "y"]}}))
    );
    assert_eq!(python("'x' not in output"), Some(json!({"metric": "contains", "value": "x", "not": true})));
    assert_eq!(
        python("len(output.split()) >= 2"),
        Some(json!({"metric": "regex", "value": "\\A\\s*(?:\\S+\\s+){1}\\S"}))
    );
    assert_eq!(python("json.loads(output)['a'] == 5"), Some(of_a(json!({"const": 5}))));
}

/// F83: members of an output that is not text.
#[test]
fn members_of_outputs_are_read_where_they_are_values() {
    for root in [Root::Either, Root::Json] {
        assert_eq!(
            check_as("output.a === 'x'", Language::JavaScript, root),
            Some(of_a(json!({"const": "x"}))),
            "{root:?}"
        );
    }
    assert_eq!(check_as("JSON.parse(output).a === 'x'", Language::JavaScript, Root::Json), None);
    assert!(check_as("output.includes('x')", Language::JavaScript, Root::Either).is_some());
}

/// F83: loops within loops end.
#[test]
fn loops_within_loops_are_limited() {
    let list = "['a','b','c','d','e','f','g','h','i','j']";
    let code = format!("{}output.includes('x'){}", format!("{list}.some(a => ").repeat(8), ")".repeat(8));
    assert_eq!(check(&code), None);
}

/// F83: a score passes above 0 or from the threshold on, whatever it is computed from.
#[test]
fn scores_pass_above_nothing() {
    let graded = |text: &str, language: Language, threshold: Option<f64>| {
        let translated = translate(Code { text, language, root: Root::Text, threshold, vars: &Map::new() })?;
        Some((Value::Object(translated.item.0), translated.is_graded))
    };
    let of = |text: &str, threshold: Option<f64>| graded(text, Language::JavaScript, threshold);
    let length = |limits: Value| {
        let mut check = json!({"metric": "length"});
        check.as_object_mut().unwrap().extend(limits.as_object().cloned().unwrap());
        check
    };
    for (code, threshold, expected) in [
        ("1 / (output.length + 1)", None, json!({"min": 0})),
        ("1 / (output.length + 1) // shorter is better", Some(0.01), json!({"max": 99})),
        ("output.length", None, json!({"min": 1})),
        ("output.length < 180 ? 1 : 0.5", None, json!({"min": 0})),
        ("Math.max(0, Math.min(1, 1 - (output.length - 100) / 900));", None, json!({"max": 999})),
        ("output.length <= 100 ? 1 : output.length > 1000 ? 0 : 1 - (output.length - 100) / 900", None, json!(null)),
        ("const n = output.length;\nreturn Math.min(n / 500, 1);", Some(0.5), json!({"min": 250})),
        ("output.length / 4 <= 500", None, json!({"max": 2000})),
        ("Math.round(output.length - 2.5) >= -1", None, json!({"min": 1})),
        ("Math.max(0, output.length / output.length) >= 0", None, json!({"min": 1})),
    ] {
        let (check, is_graded) = of(code, threshold).unwrap_or_else(|| panic!("{code}"));
        assert_eq!(is_graded, !code.contains("= 500") && !code.contains(">="), "{code}");
        if !expected.is_null() {
            assert_eq!(check, length(expected), "{code}");
        }
    }
    let python = graded("max(0, len(output) - 300)", Language::Python, None);
    assert_eq!(python, Some((length(json!({"min": 301})), true)));
    // It raises an error there where JavaScript has infinity.
    let python = graded("1 / len(output)", Language::Python, None);
    assert_eq!(python, Some((length(json!({"min": 1})), true)));
    assert_eq!(of("1 / output.length", None), Some((length(json!({"min": 0})), true)));
    for code in ["Math.random()", "0 / output.length", "output.length + output.split(' ').length", "-1 * output.length"]
    {
        assert_eq!(of(code, None), None, "{code}");
    }
}

/// F83: branches and objects with `pass` are their tests; code that does not return answers nothing.
#[test]
fn bodies_of_functions_are_checks() {
    let all = |of: Value| json!({"metric": "checks", "min": 1, "with": {"of": of}});
    let contains = |text: &str| json!({"metric": "contains", "value": text});
    for (code, expected) in [
        ("// Is it polite?\nreturn output.includes('please'); // or so", contains("please")),
        ("return /^[0-9]+$/.test(output)", json!({"metric": "regex", "value": "^[0-9]+$"})),
        ("/* one */\nif (output.includes('x')) {\n  return true;\n}\nreturn false;", contains("x")),
        (
            "if (output.length > 9) return false;\nreturn output.includes('x')",
            all(json!([{"metric": "length", "min": 10, "not": true}, contains("x")])),
        ),
        (
            "const pass = output.includes('x') && output.length < 9;\nreturn { pass, score: pass ? 1 : 0, reason: 'no x' };",
            all(json!([contains("x"), {"metric": "length", "max": 8}])),
        ),
        (
            "const words = output.split(' ').length;\nreturn {\n  pass: words >= 2,\n  score: Math.min(1, words / 500),\n  reason: `${words} words`\n};",
            json!({"metric": "regex", "value": "\\A(?:[^\\x{20}]*\\x{20}){1}"}),
        ),
        // Where the output is not JSON, the code fails before it looks for `x`.
        (
            "if (JSON.parse(output).a === 1) { return true; } else { return output.includes('x'); }",
            all(json!([
                schema(something()),
                {"metric": "checks", "min": 0.5, "with": {"of": [of_a(json!({"const": 1})), contains("x")]}}
            ])),
        ),
    ] {
        assert_eq!(check(code), Some(expected), "{code}");
    }
    for code in [
        "if (output.includes('x')) { output.includes('y') }",
        "if (output.includes('x')) { return true; }",
        "return { score: 1 }",
        "return { pass: score(output) }",
        "return { ...it, pass: true }",
        "/* never ends",
        "for (const x of ['a']) { return output.includes(x) }",
    ] {
        assert_eq!(check(code), None, "{code}");
    }
}
