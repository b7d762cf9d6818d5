//! D1: no template ends the process, however it is written.

use serde_json::json;

use crate::template::limits::{FILTERS, TESTS};
use crate::template::*;

fn context() -> Context {
    Context::new().with("sample", &json!({"a": {"b": 1}, "text": "x", "list": ["x", "y"]})).with("b", &json!(true))
}

/// The message of a template that must be refused, and the text at its place.
fn refusal(source: &str) -> (String, String) {
    let error = match Template::compile(source) {
        Ok(template) => template.render(&context()).unwrap_err(),
        Err(error) => error,
    };
    let at = error.span.clone().map(|span| source[span].to_owned()).unwrap_or_default();
    (error.message, at)
}

fn render(source: &str) -> String {
    Template::compile(source).unwrap().render(&context()).unwrap()
}

/// D1: a chain that overflows the stack is an error with its place.
#[test]
fn long_chains_are_refused() {
    const N: usize = 30_000;
    let chains = [
        format!("{{{{ {}b }}}}", "not ".repeat(N)),
        format!("x {{{{ {}b }}}}", "- ".repeat(N)),
        format!("x {{{{ 1{} }}}}", " + 1".repeat(N)),
        format!("{{{{ sample{} }}}}", ".a".repeat(N)),
        format!("x {{{{ sample{} }}}}", "[0]".repeat(N)),
        format!("x {{{{ sample{} }}}}", "|list".repeat(N)),
        format!("x {{{{ 'a'{} }}}}", " ~ 'a'".repeat(N)),
        format!("x {{{{ {} }}}}", "1 if b else ".repeat(N) + "0"),
        format!("x {{{{ b{} }}}}", " and b".repeat(N)),
        format!("x {{{{ [{}1] }}}}", "1 + ".repeat(N)),
    ];
    for source in &chains {
        let (message, at) = refusal(source);
        assert_eq!(message, "more than 250 operators hang together", "{}", &source[..40]);
        assert!(!at.is_empty());
        let inner = source.trim_start_matches("x ").trim_matches(['{', '}']);
        let error = Expression::compile(inner).map(drop).unwrap_err();
        assert_eq!(error.message, "more than 250 operators hang together");
    }
    let (message, at) = refusal(&format!("{{% if b %}}{}{{% endif %}}", "{% elif b %}x".repeat(N)));
    assert_eq!((message.as_str(), at.as_str()), ("more than 100 `elif` hang together", "elif"));
    let (message, _) = refusal(&format!("{{{{ b }}}}{}", "x".repeat(5 << 20)));
    assert_eq!(message, "the template has 5 MiB, and at most 4 MiB are allowed");
}

/// D1: the longest chains that are allowed fit on the stack of a thread.
#[test]
fn allowed_chains_render() {
    assert_eq!(render(&format!("{{{{ {}b }}}} ", "not ".repeat(250))), "true ");
    assert_eq!(render(&format!("x {{{{ 1{} }}}}", " + 1".repeat(250))), "x 251");
    assert_eq!(render(&format!("x {{{{ {}0 }}}}", "1 if not b else ".repeat(80))), "x 0");
    let elifs = "{% elif not b %}x".repeat(100);
    assert_eq!(render(&format!("{{% if not b %}}{elifs}{{% else %}}y{{% endif %}}")), "y");
    let numbers = vec!["-1.5"; 20_000].join(", ");
    assert_eq!(render(&format!("x {{{{ [{numbers}] | length }}}}")), "x 20000");
    let objects = vec!["{'a': [1 + 2, {'b': 1}]}"; 2_000].join(", ");
    assert_eq!(render(&format!("x {{{{ [{objects}] | length }}}}")), "x 2000");
}

/// D1: a template that makes a value larger than 64 MiB is refused, and the place is that of the author's source.
#[test]
fn large_values_are_refused() {
    let doubling = format!("{{% set a = 'xxxxxxxx' %}}{}{{{{ a }}}}", "{% set a = a ~ a %}".repeat(40));
    let within =
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
    let nested = format!("{}x{}", "{% for s in [s ~ s] %}".repeat(60), "{% endfor %}".repeat(60));
    let with =
        format!("{{% set s = 'xxxxxxxx' %}}{}x{}", "{% with s = s ~ s %}".repeat(60), "{% endwith %}".repeat(60));
    let sources = [
        doubling,
        within.to_owned(),
        format!("{{% set s = 'xxxxxxxx' %}}{nested}"),
        with,
        "{% macro m(s) %}{{ m(s ~ s) }}{% endmacro %}{{ m('xxxxxxxx') }}".to_owned(),
        "{% set l = [1] %}".to_owned() + &"{% set l = l + l %}".repeat(40) + "{{ l | length }}",
        "x {{ sample.text | indent(2000000000, true) }}".to_owned(),
        "x {{ sample.text | indent(width=2000000000) }}".to_owned(),
        "x {{ '%999999999d' | format(1) }}".to_owned(),
        "x {{ '%.*f' | format(999999999, 1.5) }}".to_owned(),
        "x {{ ('x' * 9000) | replace('x', 'x' * 9000) }}".to_owned(),
        "x {{ ('x' * 9000) | replace('', 'x' * 9000) }}".to_owned(),
        "x {{ (['x'] * 9000) | join('x' * 9000) }}".to_owned(),
        "x {{ ('x' * 9000) | join(d='x' * 9000) }}".to_owned(),
        "x {{ sample.list | batch(2000000000, 1) | list }}".to_owned(),
        "x {{ sample.list | slice(2000000000) | list }}".to_owned(),
        "x {{ sample.list | tojson(indent=2000000000) }}".to_owned(),
        "x {{ ['x'] * 90000000 }}".to_owned(),
        "x {{ ['x' * 1000000] * 1000 }}".to_owned(),
        "{% for i in range(9000) %}{{ 'x' * 9000 }}{% endfor %}".to_owned(),
        "{% set s %}{% for i in range(9000) %}{{ 'x' * 9000 }}{% endfor %}{% endset %}".to_owned(),
        format!("{{% for i in range(9000) %}}{}{{% endfor %}}", "x".repeat(9000)),
    ];
    for source in &sources {
        let (message, _) = refusal(source);
        let is_bounded = message.contains("larger than 64 MiB") || message.contains("recursion");
        assert!(is_bounded, "{}: {message}", &source[..source.len().min(60)]);
    }
    let (_, at) = refusal("{% set a = ('x' ~ 'y') %}{{ a }} {{ sample.text | indent(2000000000) }}");
    assert_eq!(at, "indent(2000000000)");
}

/// D1: lists and maps that are put into each other again and again are refused before they overflow the stack.
#[test]
fn deep_values_are_refused() {
    let loops = |body: &str| {
        format!("{{% set ns = namespace(x=[], y=1) %}}{{% for i in range(100000) %}}{body}{{% endfor %}}{{{{ ns.x }}}}")
    };
    let sources = [
        loops("{% set ns.x = [ns.x] %}"),
        loops("{% set ns.x = {'a': ns.x} %}"),
        loops("{% set ns.x = ns.x | batch(1) | list %}{% set ns.x = [ns.x] %}"),
        loops("{% set ns.x = namespace(a=ns.x) %}"),
        loops("{% for l in [[ns.x]] %}{% set ns.x = l %}{% endfor %}"),
        loops("{% set ns.x = (ns.x,) %}"),
        loops("{% set ns.x = dict(a=ns.x) %}"),
        format!("{{% set a = [] %}}{}{{{{ a }}}}", "{% set a = [a] %}".repeat(100_000)),
        format!("{{% set a = 1 %}}{}{{{{ a ~ '' }}}}", "{% set a = {'k': a} %}".repeat(100_000)),
        format!("{{% set a, b = 1, [] %}}{}{{{{ b }}}}", "{% set a, b = 1, [b] %}".repeat(100_000)),
        "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns ~ '' }}".to_owned(),
        "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a | string }}".to_owned(),
        "{% set a = namespace() %}{% set a.l = [a] %}{{ a | string }}".to_owned(),
    ];
    for source in &sources {
        let (message, _) = refusal(source);
        let is_bounded =
            message.contains("more than 128 lists or maps within each other") || message.contains("too long");
        assert!(is_bounded, "{}: {message}", &source[..source.len().min(90)]);
    }
    let source = "{% set a = namespace() %}\n{% set a.l = [a] %}";
    assert_eq!(Template::compile(source).unwrap().render(&context()).unwrap_err().line, Some(2));
    assert_eq!(
        render(
            "{% set ns = namespace(l=[]) %}{% for i in [1, 2] %}{% set ns.l = ns.l + [[i]] %}{% endfor %}{{ ns.l }}"
        ),
        "[[1],[2]]"
    );
}

/// D1: a value that holds another twice, that one a third twice, and so on, is refused wherever it gets a name; so is whatever
/// would read such a value to its end.
#[test]
fn values_that_double_are_refused() {
    let nested = |open: &str, close: &str, inner: &str| {
        format!("{{% set s = ['x'] %}}{}{inner}{}", open.repeat(60), close.repeat(60))
    };
    let macros = |grow: &str, end: &str| {
        format!(
            "{{% macro m(s, n) %}}{{% if n %}}{{{{ m({grow}, n - 1) }}}}{{% else %}}{{{{ {end} }}}}{{% endif %}}{{% endmacro %}}{{{{ m(['x'], 40) }}}}"
        )
    };
    let mut sources = vec![
        nested("{% for s in [[s, s]] %}", "{% endfor %}", "{{ s | tojson }}"),
        nested("{% with s = [s, s] %}", "{% endwith %}", "{{ s | string }}"),
        nested("{% set s = s | zip(s) | list %}", "", "x"),
        "{% for s in [['x']] recursive %}{{ loop([[s, s]]) }}{% endfor %}".to_owned(),
        "{% macro m(a, s=[[a, a], [a, a]]) %}{{ m(s) }}{% endmacro %}{{ m(['x']) }}".to_owned(),
        "{% macro n(s) %}{% call(t) m([s, s]) %}{{ n(t) }}{% endcall %}{% endmacro %}{% macro m(s) %}{{ caller([s, s]) }}{% endmacro %}{{ n(['x']) }}".to_owned(),
        // Many members that are one large text.
        "x {{ ['x' * 1000000] * 1000 == ['x' * 1000000] * 1000 }}".to_owned(),
        "x {{ ('x' * 1000000) in [['x' * 1000000] * 1000] }} {{ ['x'] in [['x' * 1000000] * 1000] }}".to_owned(),
    ];
    sources.extend(["[s, s]", "dict(a=s, b=s)"].map(|it| macros(it, "1")));
    sources.extend(["s == s"].map(|it| macros("[s, s]", it)));
    for filter in
        ["tojson", "string", "pprint", "sort", "unique | list", "upper", "trim", "escape", "max", "min", "join"]
    {
        sources.push(format!("x {{{{ [['x' * 1000000] * 1000] | {filter} | length }}}}"));
    }
    for source in &sources {
        let (message, _) = refusal(source);
        let is_bounded = ["larger than 64 MiB", "within each other", "recursion"].iter().any(|it| message.contains(it));
        assert!(is_bounded, "{}: {message}", &source[..source.len().min(90)]);
    }
    let (message, at) = refusal("{% macro m(s) %}{{ m([s, s, s, s, s, s, s, s]) }}{% endmacro %}\n{{ m([1]) }}");
    assert!(message.contains("64 MiB"), "{message} {at}");
}

/// D1: what gets a name in a block keeps its value, and white space around the block goes where it went.
#[test]
fn named_values_keep_their_form() {
    for (source, expected) in [
        ("{% for a in [1, 2] -%}  {{ a }} {%- endfor %}", "12"),
        ("{% for a, (b, c) in [(1, [2, 3])] %} {{ [a, b, c] }} {% endfor %}", " [1,2,3] "),
        ("{% for a in [] %}{{ a }}{% else %}none{% endfor %}", "none"),
        (
            "{% for a in [[1, [2]], 3] recursive %}<{% if a is iterable %}{{ loop(a) }}{% else %}{{ a }}{% endif %}>{% endfor %}",
            "<<1><<2>>><3>",
        ),
        ("{% with a = [1], b = {'k': (1, 2)} -%}  {{ a }}{{ b.k }}{% endwith %}", "[1][1,2]"),
        (
            "{% macro m(a, c, b=[1, (2, 3)]) %} {{ a }}{{ b }}{{ c is defined }} {% endmacro %}{{ m([0]) }}",
            " [0][1,[2,3]]false ",
        ),
        ("{% macro m() -%} {{ caller([1], 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}", "[1]2"),
        ("{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}", "x"),
        (
            "{% for i in [1] %}{% set s %}a {%- for b in [i] -%} {{ b }} {%- endfor -%} c{% endset %}{{ s }}{% endfor %}",
            "a1c",
        ),
    ] {
        assert_eq!(render(source), expected, "{source}");
    }
}

/// D1: the text of a block that collects it counts, also in a loop and in a macro.
#[test]
fn collected_texts_are_bounded() {
    let text = "x".repeat(40_000);
    for source in [
        format!("{{% set s %}}{{% for i in range(100000) %}}{text}{{% endfor %}}{{% endset %}}{{{{ s | length }}}}"),
        format!("{{% filter length %}}{{% for i in range(100000) %}}{text}{{% endfor %}}{{% endfilter %}}"),
        format!(
            "{{% macro m() %}}{{% for i in range(100000) %}}{text}{{% endfor %}}{{% endmacro %}}{{{{ m() | length }}}}"
        ),
        format!(
            "{{% set s %}}{{% for i in range(100000) %}}{{% raw %}}{text}{{% endraw %}}{{% endfor %}}{{% endset %}}{{{{ s | length }}}}"
        ),
        format!(
            "{{% set s %}}{text}{{% endset %}}{{% for i in range(9) %}}{{% endfor %}}{}{{{{ s | length }}}}",
            "{% set s %}{{ s }}{{ s }}{% endset %}".repeat(40)
        ),
        format!(
            "{{% macro m() %}}{text}{{% endmacro %}}{{% set s %}}{{% for i in range(100000) %}}{{{{ m() }}}}{{% endfor %}}{{% endset %}}{{{{ s | length }}}}"
        ),
    ] {
        let (message, _) = refusal(&source);
        assert!(message.contains("larger than 64 MiB"), "{}: {message}", &source[..60]);
    }
}

/// D1: collected text is written as it stands, with its white space, quotes, comments and raw parts; places stay.
#[test]
fn collected_texts_keep_their_form() {
    let collected = |text: &str| {
        render(&format!("{{% for i in [1, 2] %}}{{% set s %}}{text}{{% endset %}}<{{{{ s }}}}>{{% endfor %}}"))
    };
    for (text, once) in [
        ("a \"q\" 'r' \\ \u{e9}\t", "a \"q\" 'r' \\ \u{e9}\t"),
        (" a {{- i -}} b ", " a{i}b "),
        ("\n  a\n{%- if i %}\n b {% endif -%}\n c", "\n  a\n b c"),
        (" a {# note #} b {#- cut -#} c", " a  bc"),
        ("{% raw %} {{ a }} {% endraw %} b", " {{ a }}  b"),
        ("a {%- raw -%} {{ x }} {%- endraw -%} b", "a{{ x }}b"),
        ("", ""),
    ] {
        let expected: String = (1..=2).map(|i| format!("<{}>", once.replace("{i}", &i.to_string()))).collect();
        assert_eq!(collected(text), expected, "{text}");
    }
    let source = "{% for i in [1] %}{% set s %}\n a\n b {{ sample.none }}{% endset %}{% endfor %}";
    let error = Template::compile(source).unwrap().render(&context()).unwrap_err();
    assert_eq!((error.line, error.span.map(|span| &source[span])), (Some(3), Some("sample.none")));
}

/// D1: an assignment that can grow gives the same as without a limit.
#[test]
fn bounded_assignments_keep_their_value() {
    assert_eq!(render("{% set a = 'x' ~ 1 if b else 'y' %}{{ a }}"), "x1");
    assert_eq!(render("{% set a, c = 'x' ~ 1, 2 + 3 %}{{ a }} {{ c }}"), "x1 5");
    assert_eq!(
        render("{% with a = 'x' ~ 1, c = [1 + 1, sample.list] %}{{ a }} {{ c }}{% endwith %}"),
        "x1 [2,[\"x\",\"y\"]]"
    );
    assert_eq!(render("{% set a = 'abcd'[1 + 1:] %}{{ a }}"), "cd");
    assert_eq!(
        render(
            "{% macro m(a, c='x' ~ 'y') %}{{ a }}{{ c }}{% endmacro %}{{ m(1 + 1, c='z' ~ 1) }}{{ m({'k': 1 + 1}.k) }}"
        ),
        "2z12xy"
    );
    assert_eq!(render("{% for a in ['x' ~ 'y'] if a ~ 'z' == 'xyz' %}{{ a }}{% endfor %}"), "xy");
    assert_eq!(render("{% set t = '}}' ~ '%}' %}{{ t }}{# {% set #}{% raw %}{{ a + }}{% endraw %}"), "}}%}{{ a + }}");
    let error =
        Template::compile("{% set a = 'x' ~ 'y' %}\n{{ a }}{{ sample.none }}").unwrap().render(&context()).unwrap_err();
    assert_eq!(error.line, Some(2));
}

/// D54: an unknown filter or test is an error when the template is read, with the nearest known one.
#[test]
fn unknown_filters_and_tests_are_found() {
    let refused = |source: &str| Template::compile(source).map(drop).unwrap_err();
    let error = refused("Say {{ sample.text | uper }}");
    assert_eq!(error.to_string(), "there is no filter `uper`; did you mean `upper`?");
    assert_eq!(error.span, Some(21..25));
    assert_eq!(refused("{{ sample.text | uper }}").message, "there is no filter `uper`");
    assert_eq!(refused("{% filter uper %}x{% endfilter %}").message, "there is no filter `uper`");
    assert_eq!(refused("x{{ b is not definde }}").to_string(), "there is no test `definde`; did you mean `defined`?");
    assert!(refused("{{ b | qqqqqqqq }}").hint.unwrap().starts_with("filters: abs, attr"));
    assert!(Expression::compile("b | uper").is_err());
    assert_eq!(render("{{ 'a|uper' }} {# b | uper #}{% raw %}{{ b | uper }}{% endraw %}"), "a|uper {{ b | uper }}");
    assert_eq!(render("{{ b is not none }} {{ 'x' | upper | lower }}"), "true x");
}

/// D19, D53: a block that is not closed and a misspelt statement are named with the way out.
#[test]
fn broken_blocks_have_a_hint() {
    let hint = |source: &str| Template::compile(source).map(drop).unwrap_err().hint.unwrap_or_default();
    assert_eq!(hint("Classify {{ sample.text"), "close `{{` with `}}`");
    assert_eq!(hint("{% if b"), "close `{%` with `%}`");
    assert_eq!(hint("{% fro x in sample.list %}{% endfor %}"), "did you mean `for`?");
}

/// F59: a method, a filter without its arguments and a statement without its end are found when the template is read.
#[test]
fn mistakes_of_other_languages_are_found() {
    let told = |source: &str| Template::compile(source).map(drop).unwrap_err().to_string();
    assert_eq!(told("{{ b.upper() }}"), "values have no methods, so `.upper()` cannot be called; write `| upper`");
    assert!(told("{{ b['c'].strip() }}").ends_with("write `| trim`"));
    assert!(told("{{ b.zzz(1) }}").contains("filters: abs, attr"));
    assert_eq!(told("{{ b | replace('a') }}"), "the filter `replace` needs more arguments; write `| replace(…, …)`");
    assert_eq!(
        told("{{ b | replace('a', (1, 2), 3) }}"),
        "the filter `replace` has too many arguments; write `| replace(…, …)`"
    );
    assert!(told("x {{ b | upper('a') }}").ends_with("write `| upper` without any"));
    assert!(told("{% if b %}x").starts_with("`{% if %}` is never closed; add `{% endif %}`"));
    assert!(told("{% for a in b %}{% if a %}x{% endif %}").starts_with("`{% for %}` is never closed"));
    assert!(told("{% if b = 1 %}x{% endif %}").contains("compare with `==`"));
    assert!(Expression::compile("b = 1").unwrap_err().to_string().contains("compare with `==`"));
    for fine in [
        "{{ b | round(2) }}",
        "{{ [3, 1] | sort(reverse=true) }}",
        "{% for a in [1] %}{{ loop.cycle('x', 'y') }}{% endfor %}",
    ] {
        assert!(Template::compile(fine).is_ok(), "{fine}");
    }
}

/// F55: the texts that an expression compares names with; what filters or calculates is left out.
#[test]
fn comparisons_are_found() {
    let found = |source: &str| {
        let found = Expression::compile(source).unwrap().comparisons();
        found.into_iter().map(|it| format!("{}={}", it.name, it.text)).collect::<Vec<_>>().join(" ")
    };
    for (source, expected) in [
        ("b == 'x'", "b=x"),
        ("'x' != b.c and b.d == \"y\"", "b.c=x b.d=y"),
        ("b in ['x', 'y'] or not (b.c not in ('z',))", "b=x b=y b.c=z"),
        ("b | upper == 'X'", ""),
        ("'x' == b | upper", ""),
        ("'x' in b", ""),
        ("b[0] == 'x'", ""),
        ("b == 1", ""),
    ] {
        assert_eq!(found(source), expected, "{source}");
    }
}

/// D54: every filter and test that a hint can name exists.
#[test]
fn suggested_names_exist() {
    for name in FILTERS {
        let told = Expression::compile(&format!("b | {name}")).err().map(|error| error.message);
        assert!(told.is_none_or(|told| told.ends_with("needs more arguments")), "{name}");
    }
    for name in TESTS {
        assert!(Expression::compile(&format!("b is {name}")).is_ok(), "{name}");
    }
}
