//! F5: a text beside a number is an error, and so is a text that would be a truth value by accident.

use serde_json::json;

use crate::template::*;

fn context() -> Context {
    let sample = json!({
        "n": "5", "m": "10", "flag": "false", "name": "Oslo", "empty": "", "count": 7, "list": [1, 2], "tags": ["a", "b"],
        "years": ["2024", "2025"], "day": "2026-01-02", "yes": true, "nothing": null, "big": 1267650600228229401496703205376_u128,
    });
    Context::new().with("sample", &sample).with("variant", "v1")
}

fn holds(source: &str) -> Result<bool, String> {
    let error = |error: TemplateError| format!("{}; {}", error.message, error.hint.unwrap_or_default());
    Expression::compile(source).unwrap().is_true(&context()).map_err(error)
}

fn render(source: &str) -> Result<String, String> {
    let error = |error: TemplateError| format!("{}; {}", error.message, error.hint.unwrap_or_default());
    Template::compile(source).unwrap().render(&context()).map_err(error)
}

/// F5: every comparison of a text with a number is refused, with the column and the way out.
#[test]
fn texts_beside_numbers_are_refused() {
    for source in [
        "sample.n > 3",
        "sample.n<3",
        "3 <= sample.n",
        "sample.n >= 3",
        "sample.n == 5",
        "sample.n != 5",
        "sample.n > sample.count",
        "sample.n in [5, 6]",
        "sample.n not in [5, 6]",
        "5 in sample.n",
        "sample.count in sample.years",
        "sample.n + 1 > 3",
        "1 < sample.n < 9",
        "sample.name > 3",
        "sample.yes and sample.n > 3",
        "not sample.n > 3",
        "(sample.n) > (3)",
        "[sample.n > 3][0]",
        "{'a': sample.n > 3}.a",
        "sample.n is gt 3",
        "sample.n is eq(5)",
        "sample.n is in [5]",
        "sample.n is odd",
        "sample.n is divisibleby 5",
        "['5'] | select('gt', 3) | list",
        "sample.n * 2 > 3",
        "(1 if sample.n > 3 else 2)",
        "sample.n - 1",
        "-1 + sample.n",
        "sample.n / 2",
        "sample.n ** 2",
        "2 % sample.n",
        "sample.big > sample.n",
    ] {
        let told = holds(source).unwrap_err();
        assert!(
            told.contains("the text \"5\"") || told.contains("the text \"Oslo\"") || told.contains("\"2024\""),
            "{source}: {told}"
        );
        assert!(told.contains("| int`"), "{source}: {told}");
    }
    assert_eq!(
        holds("sample.n > 3").unwrap_err(),
        "`>` has `sample.n` (the text \"5\") beside the number 3; cells of a CSV file are texts: write `sample.n | int` (or \
         `float`) for a number"
    );
    for source in [
        "{% if sample.n > 3 %}x{% endif %}",
        "{% for i in [1] if sample.n > 3 %}x{% endfor %}",
        "a {{ sample.n + 1 }}",
        "{% if false %}{% elif sample.n > 3 %}x{% endif %}",
        "{% set x = sample.n > 3 %}{{ x }}",
        "{% with x = sample.n + 1 %}{{ x }}{% endwith %}",
        "{% macro f(a, b=sample.n > 3) %}{{ b }}{% endmacro %}{{ f(1) }}",
        "{% filter replace('a', 'b' if sample.n > 3 else 'c') %}a{% endfilter %}",
    ] {
        assert!(render(source).unwrap_err().contains("`sample.n` (the text \"5\")"), "{source}");
    }
}

/// F5: conversions, texts beside texts and numbers beside numbers are as before.
#[test]
fn what_can_be_compared_is() {
    for source in [
        "sample.n | int > 3",
        "(sample.n | int) + 1 == 6",
        "3 < sample.n | float < 9",
        "sample.n == \"5\"",
        "sample.n in [\"5\", \"6\"]",
        "sample.name == 'Oslo'",
        "'sl' in sample.name",
        "'a' in sample.tags",
        "sample.count > 3",
        "sample.count in [7, 8]",
        "sample.count not in sample.list",
        "sample.day >= '2026-01-01'",
        "sample.name != 'Rome'",
        "sample.nothing is none",
        "sample.n is string and sample.count is number",
        "sample.count is odd",
        "-sample.count + 8 == 1",
        "sample.count is gt -1",
        "sample.list[0] + sample.list[1] == 3",
        "sample.n ~ 1 == '51'",
        "'x' * 3 == 'xxx'",
        "sample.name * 2 == 'OsloOslo'",
        "sample.name + '!' == 'Oslo!'",
        "2 ** 3 ** 1 == 8",
        "10 - 2 - 3 == 5",
        "7 // 2 * 2 + 7 % 2 == sample.count",
        "sample.big == 2 ** 100",
        "sample.big > 1e30",
        "not sample.nothing",
        "sample.name is not in ['Rome']",
        "'c' if false else 'd'",
        "sample.yes == true",
        "sample.n is not none",
        "(sample.list + [3]) | length == 3",
        "variant == 'v1' and sample.count > 3 or false",
        "sample.tags | select('eq', 'a') | list | length == 1",
        "sample.list | map('string') | list == ['1', '2']",
    ] {
        assert_eq!(holds(source), Ok(true), "{source}");
    }
    let loops =
        "{% for i in sample.list if i > 1 %}{{ loop.index + 1 }}{% if not loop.last %}, {% endif %}{% endfor %}";
    assert_eq!(render(loops), Ok("2".to_owned()));
    assert_eq!(
        render("{% set x = sample.count + 1 %}{% set y = x ~ '!' %}{{ y }} {{ 1 if x > 3 else 0 }}"),
        Ok("8! 1".to_owned())
    );
    assert_eq!(render("a\n{{ sample.count\n+ 1 }} {{ [1, 2][1:] }} {{ {'a': 1 + 1}.a }}"), Ok("a\n8 [2] 2".to_owned()));
}

/// F5: two texts are in the order of their letters only where that is the order of the numbers that they are.
#[test]
fn numbers_written_as_texts_have_no_order() {
    assert!(
        holds("sample.n < sample.m").unwrap_err().contains("compared letter by letter; cells of a CSV file are texts")
    );
    assert!(holds("sample.m < '9.5'").unwrap_err().contains("letter by letter"));
    assert_eq!(holds("sample.n < '7'"), Ok(true));
    assert_eq!(holds("'20260101' < '20260201'"), Ok(true));
    assert!(holds("sample.n + sample.m").unwrap_err().contains("`+` would join `sample.n` (the text \"5\")"));
}

/// F5: words and digits are not truth values; other texts are true unless they are empty.
#[test]
fn texts_are_not_taken_for_truth() {
    for source in [
        "sample.flag",
        "not sample.flag",
        "sample.flag and true",
        "true and sample.flag",
        "sample.flag or 'x'",
        "1 if sample.flag else 2",
        "sample.n",
        "sample.yes and (sample.name and sample.flag)",
        "sample.flag is true",
        "sample.flag == true",
        "sample.flag | upper",
        "['no'] | select | list | length == 1",
        "[sample] | selectattr('flag') | list",
        "'Off'",
        "'0.0'",
        "' YES '",
    ] {
        let told = holds(source).unwrap_err();
        assert!(told.contains("| bool`") || told.contains("| int`"), "{source}: {told}");
    }
    assert_eq!(
        holds("sample.flag").unwrap_err(),
        "`sample.flag` (the text \"false\") is taken as a truth value, and every text but the empty one is true; write \
         `sample.flag | bool` to ask for its value"
    );
    assert!(render("{% if sample.flag %}x{% endif %}").unwrap_err().contains("`sample.flag` (the text \"false\")"));
    assert!(render("{{ 'x' if sample.n else 'y' }} ").unwrap_err().contains("write `sample.n | int`"));
    for (source, expected) in [
        ("sample.name", true),
        ("sample.empty", false),
        ("not sample.empty", true),
        ("sample.name and sample.yes", true),
        ("sample.empty or sample.count", true),
        ("sample.flag | bool", false),
        ("sample.n | bool", true),
        ("'0' | bool", false),
        ("sample.flag != ''", true),
        ("sample.flag == 'false'", true),
        ("sample.nothing or sample.tags", true),
        ("sample.flag | length", true),
        ("sample.empty | bool", false),
        ("sample.yes is true", true),
    ] {
        assert_eq!(holds(source), Ok(expected), "{source}");
    }
    assert_eq!(render("{{ sample.name or 'none' }}, {{ sample.empty or 'none' }} "), Ok("Oslo, none ".to_owned()));
}

/// F5: a text that is not a number is told as such, and white space around one does not matter.
#[test]
fn conversions_say_what_they_cannot_read() {
    let told = holds("sample.name | int > 3").unwrap_err();
    assert_eq!(told, "`int` needs a number, and \"Oslo\" is none; write `int(default=0)` for rows without one");
    assert_eq!(holds("' 5 ' | int == 5 and '5.5 ' | float == 5.5 and 'x' | int(default=0) == 0"), Ok(true));
}

/// F5: an undefined name is told as before, and its place is that of the author's source.
#[test]
fn errors_keep_their_place() {
    let error = Template::compile("{{ sample.count + 1 }} {% if sample.titel > 3 %}x{% endif %}")
        .unwrap()
        .render(&context())
        .unwrap_err();
    assert_eq!(error.message, "`sample.titel` is undefined");
    let source = "x {{ sample.count + 1 }} {{ sample.n > 3 }}";
    let error = Template::compile(source).unwrap().render(&context()).unwrap_err();
    assert_eq!(error.span.map(|span| &source[span]), Some("sample.n > 3"));
}

/// F6: numbers of any length are inserted, compared and kept with all their digits.
#[test]
fn long_numbers_keep_their_digits() {
    let text = r#"{"i": 1267650600228229401496703205376, "l": 1234567890123456789012345678901234567890123, "n": -9223372036854775809, "d": 3.14159265358979323846}"#;
    let numbers = karat_types::json::parse(text).unwrap();
    let context = Context::new().with("sample", &numbers).with_json("again", &numbers);
    let render = |source: &str| Template::compile(source).unwrap().render(&context).unwrap();
    let shown = "1267650600228229401496703205376 1234567890123456789012345678901234567890123 -9223372036854775809 3.14159265358979323846";
    assert_eq!(render("{{ sample.i }} {{ sample.l }} {{ again.n }} {{ again.d }}"), shown);
    assert_eq!(render("{{ sample }} "), format!("{} ", serde_json::to_string(&numbers).unwrap()));
    assert_eq!(Template::compile("{{ sample }}").unwrap().value(&context).unwrap(), numbers);
    let holds = |source: &str| Expression::compile(source).unwrap().is_true(&context).unwrap();
    assert!(holds("sample.l == again.l and sample.l != sample.i and sample.d > 3 and sample.d < 3.2 and sample.l > 1"));
    assert!(holds(
        "sample.i + 1 == 1267650600228229401496703205377 and sample.d * 2 > 6.28 and sample.d | float > 3.1"
    ));
}
