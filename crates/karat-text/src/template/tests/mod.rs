mod bounds;
mod types;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn context() -> Context {
    let sample = json!({"title": "Tides", "url": "x", "transcript": {"fullText": "The sea."}, "tags": [], "n": 3});
    Context::new().with("sample", &sample).with("input", "What moves the sea?")
}

fn render(source: &str) -> Result<String, TemplateError> {
    Template::compile(source)?.render(&context())
}

fn value(source: &str) -> Value {
    Template::compile(source).unwrap().value(&context()).unwrap()
}

#[test]
fn text_is_rendered_without_escaping() {
    assert_eq!(render("<{{ input }}> {{ sample.n }} {{ '<b>' }}").unwrap(), "<What moves the sea?> 3 <b>");
    assert_eq!(render("no holes }} \n").unwrap(), "no holes }} ");
    assert_eq!(render("one newline is the file's\n\n").unwrap(), "one newline is the file's\n");
    assert_eq!(render("{{ input }}\n\n").unwrap(), "What moves the sea?\n");
}

#[test]
fn lists_and_objects_are_written_as_json() {
    assert_eq!(render("x {{ {'a': [1, none, true]} }}").unwrap(), "x {\"a\":[1,null,true]}");
    assert_eq!(render("x {{ sample.transcript }}").unwrap(), "x {\"fullText\":\"The sea.\"}");
    assert_eq!(render("x {{ true }}").unwrap(), "x true");
}

/// An absent value (`missing: empty`, an absent part of `take`) does not reach a prompt as a word.
#[test]
fn null_is_nothing_in_a_text() {
    assert_eq!(render("a{{ none }}b").unwrap(), "ab");
    assert_eq!(render("{{ none }}").unwrap(), "");
    assert_eq!(crate::fence::sections(&render("{{ none | fence('T') }}").unwrap())[0].1, "");
    assert_eq!(render("{{ none | tojson }} {{ [none] }}").unwrap(), "null [null]");
    assert_eq!(value("{{ none }}"), json!(null));
}

/// A value that is one lone `{{ }}` keeps its type.
#[test]
fn a_lone_hole_keeps_its_type() {
    assert_eq!(value("{{ sample.n }}"), json!(3));
    assert_eq!(value("{{- sample.tags -}}\n"), json!([]));
    assert_eq!(value("{{ sample.transcript }}"), json!({"fullText": "The sea."}));
    assert_eq!(value("{{ sample.n / 2 }}"), json!(1.5));
    assert_eq!(value("{{ sample.none | default(none) }}"), json!(null));
    assert_eq!(value("{{ sample.n }} {{ sample.n }}"), json!("3 3"));
    assert_eq!(value("{{ '}}' }}{{ '{{' }}"), json!("}}{{"));
    assert_eq!(value("n = {{ sample.n }}"), json!("n = 3"));
}

#[test]
fn reads_are_sorted_dotted_names() {
    let reads = |source: &str| Template::compile(source).unwrap().reads().to_vec();
    assert_eq!(reads("{{ sample.title }} {{ input }}"), ["input", "sample.title"]);
    assert_eq!(reads("{% for claim in output.claims %}{{ claim.text }}{% endfor %}"), ["output.claims"]);
    assert_eq!(reads("{{ sample[name] }}"), ["name", "sample"]);
    assert_eq!(reads("{{ range(3) | list }}"), Vec::<String>::new());
    assert_eq!(
        Expression::compile("sample.a.b | length > chunk.index").unwrap().reads(),
        ["chunk.index", "sample.a.b"]
    );
}

#[test]
fn an_undefined_name_is_named_with_the_nearest_known_one() {
    let error = render("Title: {{ sample.titel }}").unwrap_err();
    assert_eq!(error.message, "`sample.titel` is undefined");
    assert_eq!(error.hint.as_deref(), Some("did you mean `sample.title`?"));
    assert_eq!(error.to_string(), "`sample.titel` is undefined; did you mean `sample.title`?");
    assert_eq!(error.line, Some(1));
    assert_eq!(render("{{ inptu }}").unwrap_err().hint.as_deref(), Some("did you mean `input`?"));
    let nested = render("{{ sample.transcript.fulltext }}").unwrap_err();
    assert_eq!(nested.hint.as_deref(), Some("did you mean `sample.transcript.fullText`?"));
    assert_eq!(
        render("a {{ sample.n.x.y }}").unwrap_err().hint.as_deref(),
        Some("`sample.n` is a number, it has no members")
    );
}

#[test]
fn undefined_names_are_errors_in_conditions_too() {
    for source in ["sample.nope == 'x'", "sample.nope | length", "not sample.nope", "sample.nope"] {
        let error = Expression::compile(source).unwrap().is_true(&context()).unwrap_err();
        assert!(error.message.contains("sample.nope"), "{source}: {error}");
    }
    assert!(!Expression::compile("sample.nope is defined").unwrap().is_true(&context()).unwrap());
}

#[test]
fn syntax_errors_have_a_line_and_a_span() {
    let error = Template::compile("one\n{{ input").unwrap_err();
    assert_eq!(error.line, Some(2));
    assert!(error.message.contains("syntax error"), "{error}");
    assert!(Template::compile("{{ input | nope }}").is_err());
    // The place is one of whole characters, as those who show it expect.
    let source = "{% set a = 1 %}{{ \u{800}~ }}";
    let span = Template::compile(source).unwrap_err().span.unwrap();
    assert_eq!(source.get(span), Some("\u{800}"));
    assert!(Template::compile("{% include 'x' %}").unwrap().render(&context()).is_err());
}

#[test]
fn numbers_that_json_cannot_hold_are_refused() {
    let error = Expression::compile("1.0e308 * 10").unwrap().eval(&context()).unwrap_err();
    assert!(error.message.contains("not a JSON number"), "{error}");
}

#[test]
fn a_template_cannot_hang() {
    let loops = "{% for a in range(9999) %}".repeat(3) + "{{ a }}" + &"{% endfor %}".repeat(3);
    assert_eq!(render(&loops).unwrap_err().message, "the template runs too long and was stopped");
    let recursive = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    assert!(render(recursive).is_err());
}

#[test]
fn contexts_extend_without_changing_their_origin() {
    let outer = context();
    let inner = outer.child().with("input", "other").with("chunk", &json!({"text": "piece"}));
    let template = Template::compile("{{ input }}").unwrap();
    assert_eq!(template.render(&outer).unwrap(), "What moves the sea?");
    assert_eq!(template.render(&inner).unwrap(), "other");
    assert!(Template::compile("{{ chunk.text }}").unwrap().render(&outer).is_err());
}

/// A context that holds only what a template reads renders the same, and still knows the other names.
#[test]
fn declared_reads_are_sufficient() {
    let sample =
        json!({"title": "Tides", "transcript": {"fullText": "The sea.", "segments": [1, 2]}, "tags": [{"n": 1}]});
    let source = "{{ sample.title }} {{ sample.transcript.fullText }} {{ sample.tags[0].n }}";
    let template = Template::compile(source).unwrap();
    let context = Context::new().with_read("sample", sample.as_object().unwrap(), template.reads());
    assert_eq!(template.render(&context).unwrap(), "Tides The sea. 1");
    let error = Template::compile("{{ sample.titel }}").unwrap().render(&context).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `sample.title`?"));
    assert!(Template::compile("{{ sample.transcript.segments }}").unwrap().render(&context).is_err());
    let whole = Template::compile("{{ sample['title'] }}").unwrap();
    let context = Context::new().with_read("sample", sample.as_object().unwrap(), whole.reads());
    assert_eq!(whole.render(&context).unwrap(), "Tides");
}

#[test]
fn compiled_templates_cross_threads() {
    fn crosses<T: Send + Sync + Clone>() {}
    crosses::<Template>();
    crosses::<Expression>();
    crosses::<Context>();
}

#[test]
fn a_context_goes_over_another_one() {
    let below = Context::new().with("sample", &json!({"a": "hidden"})).with("model", &json!({"id": "m"}));
    let row = Context::new().with("input", &json!("i")).with("sample", &json!({"a": "seen"}));
    let text = Template::compile("{{ sample.a }} {{ input }} {{ model.id }}").unwrap();
    assert_eq!(text.render(&row.over(&below)).unwrap(), "seen i m");
}

/// A source of names, as a row is one.
struct Names(Value);

impl Source for Names {
    fn text(&self, path: &[Box<str>]) -> Option<&str> {
        path.iter().try_fold(&self.0, |value, name| value.get(&**name))?.as_str()
    }

    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    fn context(&self) -> Context {
        let names = self.0.as_object().unwrap();
        names.iter().fold(Context::new(), |context, (name, value)| context.with(name, value))
    }
}

/// The values of a source are rendered as if they had been converted, whatever it is and whatever stands above or below it.
#[test]
fn a_source_holds_names() {
    let names = json!({"sample": {"title": "Tides", "n": 1.0, "in": {"text": "deep"}}, "input": null});
    let below = Context::new().with("model", "m").with("input", "hidden");
    let context = Context::of(Arc::new(Names(names))).over(&below);
    let render = |source: &str| Template::compile(source).unwrap().render(&context);
    assert_eq!(render("{{ sample.title }}, {{sample.in.text}}: {{ model }}").unwrap(), "Tides, deep: m");
    assert_eq!(render("{{ sample.title }} {{ sample.n }} [{{ input }}]").unwrap(), "Tides 1.0 []");
    assert_eq!(render("{{ sample.in }}").unwrap(), r#"{"text":"deep"}"#);
    assert_eq!(render("{{ sample.titel }}").unwrap_err().hint.as_deref(), Some("did you mean `sample.title`?"));
    assert!(render("{{ sample.title.x }}").is_err() && render("{{ other }}").is_err());
    let above = context.child().with("sample", &json!({"title": "above"}));
    assert_eq!(Template::compile("{{ sample.title }}").unwrap().render(&above).unwrap(), "above");
    assert_eq!(context.names(), ["input", "sample", "model"]);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{% x".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        "[a-z {}<\\n\"é-]{0,6}"
    ]
}

fn any_hole() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("sample.title"),
        Just("sample.n"),
        Just("sample.in.text"),
        Just("input"),
        Just("other"),
        Just("true"),
        Just("sample.no"),
        Just("model"),
        Just("sample['title']"),
        Just("input | upper"),
        Just("none")
    ];
    (name, prop_oneof![Just(("{{ ", " }}")), Just(("{{", "}}")), Just(("{{- ", " -}}"))])
        .prop_map(|(name, (opening, closing))| format!("{opening}{name}{closing}"))
}

proptest! {
    /// A template that only inserts says what minijinja makes of it, or leaves it to minijinja.
    #[test]
    fn inserting_is_rendering(pieces in prop::collection::vec(prop_oneof![any_text(), any_hole()], 0..6)) {
        let source = pieces.concat();
        let Ok(template) = Template::compile(&source) else { return Ok(()) };
        let sample = json!({"title": "T{{ input }}\n", "n": 2, "in": {"text": "<&>"}});
        let context = Context::of(Arc::new(Names(json!({"sample": sample, "input": "i"})))).over(&Context::new().with("model", "m"));
        if let Some(inserted) = template.insert_texts(&context) {
            let fences = fences::render_with_code(|fences| template.text(&context, fences), |text| vec![text.clone()]);
            prop_assert_eq!(inserted, fences.unwrap());
        }
    }
}
