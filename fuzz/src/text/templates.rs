//! Templates, expressions, paths and variables of the environment.

use std::sync::LazyLock;

use karat_text::env_template::{self, GapTemplate};
use karat_text::path::Path;
use karat_text::template::{self, Context, Expression, Template, TemplateError};
use karat_types::EnvTemplatePart;
use serde_json::{Value, json};

use super::lossy;

/// Largest text that a template may make, in bytes.
const LARGEST: usize = 64 << 20;

static SAMPLE: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "id": "s1", "title": "Tides", "n": 3, "x": -0.5, "big": 9_007_199_254_740_993_u64, "none": null, "yes": true,
        "tags": ["sea", "moon", "ä€😀"], "nested": {"a": {"b": [1, [2, {"c": "d"}]]}, "a key": "v"},
        "rows": [{"kind": "text", "id": 1}, {"kind": "image", "id": 2}], "text": "one\ntwo {{ three }}",
    })
});

static CONTEXT: LazyLock<Context> =
    LazyLock::new(|| Context::new().with("sample", &*SAMPLE).with("output", "An \"answer\".").with("index", &1));

/// Compiles the text in each notation, and evaluates what compiles.
pub fn run(data: &[u8]) {
    let source = lossy(data);
    match Template::compile(&source) {
        Ok(template) => check_template(&template, &source),
        Err(error) => check_error(&error, &source),
    }
    match Expression::compile(&source) {
        Ok(expression) => {
            let value = expression.eval(&CONTEXT);
            assert_eq!(value, expression.eval(&CONTEXT), "an expression has one value");
            assert_eq!(value.is_ok(), expression.is_true(&CONTEXT).is_ok() && value.is_ok());
        }
        Err(error) => check_error(&error, &source),
    }
    check_variables(&source);
    check_path(&source);
}

fn check_template(template: &Template, source: &str) {
    assert_eq!(template.source(), source);
    assert!(template.reads().is_sorted(), "names are sorted");
    let text = template.render(&CONTEXT);
    assert_eq!(text, template.render(&CONTEXT), "a template has one text");
    assert_eq!(text.clone().map(|text| vec![text]), Template::render_together([template], &CONTEXT));
    assert_eq!(text, template.value(&CONTEXT).map(|value| template::text(&value)), "the value is the text");
    if let Ok(text) = &text {
        assert!(text.len() <= LARGEST);
        if !["{{", "{%", "{#"].iter().any(|opening| source.contains(opening)) {
            let plain = source.strip_suffix('\n').map_or(source, |text| text.strip_suffix('\r').unwrap_or(text));
            assert_eq!(text, plain, "text without braces is itself");
        }
    }
}

fn check_error(error: &TemplateError, source: &str) {
    assert!(!error.message.is_empty());
    if let Some(span) = &error.span {
        assert!(source.get(span.clone()).is_some(), "{span:?} is not a range of {source:?}");
    }
}

fn check_variables(source: &str) {
    let parts = env_template::parts(source);
    let whole: String = parts.0.iter().map(written).collect();
    assert_eq!(whole, source, "the parts of a text are the text");
    if let Ok(template) = GapTemplate::compile(source) {
        assert!(template.reads().is_sorted());
        let rendered = template.render(&CONTEXT);
        assert_eq!(rendered, template.render(&CONTEXT));
        if let Ok(rendered) = rendered {
            let _ = env_template::fill(&rendered, |name| (name.len() % 2 == 0).then(|| "value".to_owned()));
        }
    }
}

fn written(part: &EnvTemplatePart) -> String {
    match part {
        EnvTemplatePart::Text(text) => text.clone(),
        EnvTemplatePart::Variable { name, default: None } => format!("${{{name}}}"),
        EnvTemplatePart::Variable { name, default: Some(default) } => format!("${{{name}:-{default}}}"),
    }
}

fn check_path(source: &str) {
    let Ok(path) = Path::parse(source) else { return };
    let shown = path.to_string();
    assert_eq!(Path::parse(&shown).as_ref(), Ok(&path), "{shown} is another path than {source}");
    let all = path.all(&SAMPLE);
    assert_eq!(path.first(&SAMPLE), all.first().copied(), "the first of all values is the first");
    assert!(path.is_plural() || all.len() <= 1);
}
