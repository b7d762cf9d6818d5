//! The two computed notations of a suite: **templates** (text with `{{ }}`) and **expressions** (the code inside the braces).
//!
//! Both are compiled once and evaluated often, from any thread. An undefined name is an error that names it. Nothing is
//! escaped; inside a text a list or an object is written as JSON, and null as nothing. Loops and recursion are bounded, and a
//! template can neither include a file nor see anything but its [`Context`].
//!
//! Map: this file has the public types; `context` the names and values, `engine` the minijinja set-up, `json` conversions,
//! `filters` and `fences` the own filters, `address` what encodes values in addresses, `inserting` a fast path for templates
//! of plain text, `error` the messages; `limits` bounds what is compiled and `growth` what is made, `types` refuses texts beside numbers, with the checks that
//! `instrument` and `types/operands` write into the source; all on the tokens of `code`.
//!
//! ```
//! use karat_text::template::{Context, Expression, Template};
//! use serde_json::json;
//!
//! let context = Context::new().with("sample", &json!({"title": "Tides", "tags": ["sea", "moon"]}));
//! let template = Template::compile("{{ sample.title }}: {{ sample.tags }}")?;
//! assert_eq!(template.reads(), ["sample.tags", "sample.title"]);
//! assert_eq!(template.render(&context)?, r#"Tides: ["sea","moon"]"#);
//!
//! // One lone `{{ }}` keeps its type.
//! assert_eq!(Template::compile("{{ sample.tags }}")?.value(&context)?, json!(["sea", "moon"]));
//! assert!(Expression::compile("sample.tags | length == 2")?.is_true(&context)?);
//! # Ok::<(), karat_text::template::TemplateError>(())
//! ```

mod address;
mod code;
mod context;
mod engine;
mod error;
mod fences;
mod filters;
mod growth;
mod inserting;
mod instrument;
mod json;
mod limits;
#[cfg(test)]
mod tests;
mod types;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use address::Address;
pub use code::Comparison;
pub use context::{Context, Source};
use engine::{CodeExpression, TextTemplate};
pub use error::TemplateError;
use fences::Fences;
pub use filters::conversation_text;
use inserting::PlainInsertion;
pub use json::{from_json, text, value as to_json};

/// The name under which each environment knows its one template.
const NAME: &str = "template";

/// A compiled text with `{{ }}`. Cheap to clone.
#[derive(Clone)]
pub struct Template(Arc<Compiled>);

struct Compiled {
    source: String,
    reads: Vec<String>,
    form: Form,
    /// The same, where it only inserts.
    inserting: Option<PlainInsertion>,
}

enum Form {
    /// No `{{ }}` in it at all.
    Plain(String),
    /// Text with holes.
    Text(Box<TextTemplate>),
    /// One lone `{{ }}`: its value keeps its type.
    Lone(Expression),
}

impl Template {
    /// Compiles a template. One newline at the very end, as files have it, is not part of the text.
    ///
    /// # Errors
    /// A syntax error with its line and byte range, or a filter, test or function that does not exist.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        let text = source.strip_suffix('\n').map_or(source, |text| text.strip_suffix('\r').unwrap_or(text));
        let (form, reads) = if !["{{", "{%", "{#"].iter().any(|opening| text.contains(opening)) {
            (Form::Plain(text.to_owned()), Vec::new())
        } else if let Some(expression) = lone(text).and_then(|inner| Expression::compile(inner).ok()) {
            let reads = expression.reads().to_vec();
            (Form::Lone(expression), reads)
        } else {
            let template = engine::template(NAME, source, false)?;
            let reads = template.reads.clone();
            (Form::Text(Box::new(template)), reads)
        };
        let inserting = PlainInsertion::of(text, &reads);
        Ok(Self(Arc::new(Compiled { source: source.to_owned(), reads, form, inserting })))
    }

    /// Compiles a template of an address, whose values [`Address`] encodes.
    pub(crate) fn compile_address(source: &str) -> Result<Self, TemplateError> {
        let text = source.strip_suffix('\n').unwrap_or(source);
        let template = engine::template(NAME, text, true)?;
        let reads = template.reads.clone();
        let form = Form::Text(Box::new(template));
        Ok(Self(Arc::new(Compiled { source: text.to_owned(), reads, form, inserting: None })))
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The names it may read, sorted: `sample.title`, `input`, `output.claims`. A name that is looked into with `[ ]`
    /// stands without what follows, since that is only known later.
    pub fn reads(&self) -> &[String] {
        &self.0.reads
    }

    /// The text for one context.
    ///
    /// # Errors
    /// An undefined name (with the nearest known one as a hint), a filter that cannot work with its value, or a template
    /// that runs too long.
    pub fn render(&self, context: &Context) -> Result<String, TemplateError> {
        match self.insert_texts(context) {
            Some(text) => Ok(text),
            None => fences::render_with_code(|fences| self.text(context, fences), |text| vec![text.clone()]),
        }
    }

    /// The texts of the templates of one call, whose fences share a code.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_together<'a>(
        templates: impl IntoIterator<Item = &'a Self> + Clone,
        context: &Context,
    ) -> Result<Vec<String>, TemplateError> {
        if let Some(texts) = templates.clone().into_iter().map(|it| it.insert_texts(context)).collect() {
            return Ok(texts);
        }
        let render = |fences: &Arc<Fences>| templates.clone().into_iter().map(|it| it.text(context, fences)).collect();
        fences::render_with_code(render, Vec::clone)
    }

    /// The text of a template that only inserts texts.
    fn insert_texts(&self, context: &Context) -> Option<String> {
        self.0.inserting.as_ref()?.text(context)
    }

    fn text(&self, context: &Context, fences: &Arc<Fences>) -> Result<String, TemplateError> {
        match &self.0.form {
            Form::Plain(text) => Ok(text.clone()),
            Form::Lone(expression) => expression.render_fenced(context, fences).map(|value| text(&value)),
            Form::Text(template) => self.render_text(template, context, fences),
        }
    }

    fn render_text(
        &self,
        template: &TextTemplate,
        context: &Context,
        fences: &Arc<Fences>,
    ) -> Result<String, TemplateError> {
        growth::start();
        let mut sink = growth::Sink::default();
        let rendered = template
            .environment
            .get_template(NAME)
            .and_then(|compiled| compiled.render_captured_to(context.root(fences), &mut sink).map(drop));
        match rendered {
            Ok(()) => Ok(sink.into_text()),
            Err(error) => Err(TemplateError::at_run_time(&error, &self.0.source, &template.insertions, context)),
        }
    }

    /// The value for one context: of the expression where the template is one lone `{{ }}`, else the text.
    ///
    /// # Errors
    /// As [`Template::render`]; also a number that JSON cannot hold.
    pub fn value(&self, context: &Context) -> Result<Value, TemplateError> {
        match self.insert_texts(context) {
            Some(text) => Ok(Value::String(text)),
            None => fences::render_with_code(|fences| self.render_typed(context, fences), |value| vec![text(value)]),
        }
    }

    /// The values of the templates of one call, whose fences share a code.
    ///
    /// # Errors
    /// As [`Template::value`].
    pub fn values_together<'a>(
        templates: impl IntoIterator<Item = &'a Self> + Clone,
        context: &Context,
    ) -> Result<Vec<Value>, TemplateError> {
        let values =
            |fences: &Arc<Fences>| templates.clone().into_iter().map(|it| it.render_typed(context, fences)).collect();
        fences::render_with_code(values, |values: &Vec<Value>| values.iter().map(text).collect())
    }

    fn render_typed(&self, context: &Context, fences: &Arc<Fences>) -> Result<Value, TemplateError> {
        match &self.0.form {
            Form::Lone(expression) => expression.render_fenced(context, fences),
            _ => self.text(context, fences).map(Value::String),
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.0.source).finish()
    }
}

/// Returns the text between the braces if the source may be one lone `{{ }}`.
fn lone(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    Some(inner.strip_suffix(['-', '+']).unwrap_or(inner))
}

/// A compiled expression. Cheap to clone.
#[derive(Clone)]
pub struct Expression(Arc<CompiledExpression>);

struct CompiledExpression {
    source: String,
    code: CodeExpression,
}

impl Expression {
    /// Compiles an expression such as `sample.durationMinutes < 30`.
    ///
    /// # Errors
    /// A syntax error with its line and byte range, or a filter, test or function that does not exist.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        Ok(Self(Arc::new(CompiledExpression { source: source.to_owned(), code: engine::expression(source)? })))
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The names it may read, sorted.
    pub fn reads(&self) -> &[String] {
        &self.0.code.reads
    }

    /// The texts that it compares names with.
    pub fn comparisons(&self) -> Vec<Comparison> {
        code::comparisons(&self.0.source)
    }

    /// Its value for one context.
    ///
    /// # Errors
    /// An undefined name, a filter that cannot work with its value, or a number that JSON cannot hold.
    pub fn eval(&self, context: &Context) -> Result<Value, TemplateError> {
        fences::render_with_code(|fences| self.render_fenced(context, fences), |value| vec![text(value)])
    }

    fn render_fenced(&self, context: &Context, fences: &Arc<Fences>) -> Result<Value, TemplateError> {
        let result = self.raw(context, fences)?;
        json::value(&result).map_err(|problem| self.problem(problem))
    }

    /// True if it holds: false, 0, null, and empty texts, lists and objects do not.
    ///
    /// # Errors
    /// As [`Expression::eval`]; also a text that says whether something holds, or a number: `"false"` is not a false.
    pub fn is_true(&self, context: &Context) -> Result<bool, TemplateError> {
        let holds = |fences: &Arc<Fences>| {
            let value = self.raw(context, fences)?;
            types::truth(&value, self.0.source.trim()).map_err(TemplateError::of_mismatch)
        };
        fences::render_with_code(holds, |_| Vec::new())
    }

    fn raw(&self, context: &Context, fences: &Arc<Fences>) -> Result<minijinja::Value, TemplateError> {
        growth::start();
        let CodeExpression { expression, insertions, .. } = &self.0.code;
        let result = expression
            .eval(context.root(fences))
            .map_err(|error| TemplateError::at_run_time(&error, &self.0.source, insertions, context))?;
        if result.is_undefined() {
            Err(TemplateError::undefined_value(self.0.source.trim(), context))
        } else {
            Ok(result)
        }
    }

    fn problem(&self, problem: String) -> TemplateError {
        TemplateError { message: format!("`{}` {problem}", self.0.source.trim()), line: None, span: None, hint: None }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.0.source).finish()
    }
}
