//! The one configuration of minijinja that every template and expression shares.

use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior};

use super::instrument::{Insertions, instrument};
use super::{TemplateError, address, code, filters, growth, json, limits, types};

/// Instructions that one rendering may run: far above any prompt, far below a hang.
const FUEL: u64 = 5_000_000;

/// Nesting that one rendering may have.
const RECURSION: usize = 100;

static BASE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(write);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    environment.set_debug(true);
    environment.remove_global("debug");
    filters::add(&mut environment);
    growth::add(&mut environment);
    types::add(&mut environment);
    environment
});

fn write(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &minijinja::Value) -> Result<(), minijinja::Error> {
    match json::json_text(value) {
        Some(Ok(text)) => growth::count(text.len()).and_then(|()| out.write_str(&text).map_err(Into::into)),
        Some(Err(problem)) => Err(minijinja::Error::new(minijinja::ErrorKind::BadSerialization, problem)),
        None => match value.kind() {
            ValueKind::Bool => out.write_str(if value.is_true() { "true" } else { "false" }).map_err(Into::into),
            _ => {
                growth::count(value.as_str().map_or(0, str::len))?;
                minijinja::escape_formatter(out, state, value)
            }
        },
    }
}

/// A template that compiled.
pub(super) struct TextTemplate {
    /// An environment that holds it, and nothing else.
    pub environment: Environment<'static>,
    /// The names that it reads.
    pub reads: Vec<String>,
    /// The difference between the compiled source and the author's.
    pub insertions: Insertions,
}

/// Compiles a template, which may be that of an address.
pub(super) fn template(name: &'static str, source: &str, is_address: bool) -> Result<TextTemplate, TemplateError> {
    limits::check_length(source)?;
    let blocks = code::blocks(source);
    limits::check_chains(source, &blocks)?;
    let mut environment = BASE.clone();
    if is_address {
        address::check(source, &blocks)?;
        address::prepare(&mut environment);
    }
    let reads = {
        environment.add_template_owned(name, source.to_owned()).map_err(|error| {
            limits::unclosed_statement(source, &blocks)
                .unwrap_or_else(|| TemplateError::at_compile_time(&error, source))
        })?;
        let template =
            environment.get_template(name).map_err(|error| TemplateError::at_compile_time(&error, source))?;
        reads(template.undeclared_variables(true))
    };
    limits::check_names(source, &blocks, &BASE)?;
    let mut insertions = Insertions::default();
    if let Some((written, inserted)) = instrument(source, &blocks) {
        environment
            .add_template_owned(name, written)
            .map_err(|error| TemplateError::at_compile_time(&error, source))?;
        insertions = inserted;
    }
    Ok(TextTemplate { environment, reads, insertions })
}

/// An expression that compiled.
pub(super) struct CodeExpression {
    pub expression: minijinja::Expression<'static, 'static>,
    /// The names that it reads.
    pub reads: Vec<String>,
    /// The difference between the compiled source and the author's.
    pub insertions: Insertions,
}

/// Compiles an expression.
pub(super) fn expression(source: &str) -> Result<CodeExpression, TemplateError> {
    limits::check_length(source)?;
    let blocks = [code::expression(source)];
    limits::check_chains(source, &blocks)?;
    let compile = |written: String| {
        BASE.compile_expression_owned(written).map_err(|error| TemplateError::at_compile_time(&error, source))
    };
    let mut expression = compile(source.to_owned())?;
    limits::check_names(source, &blocks, &BASE)?;
    let reads = reads(expression.undeclared_variables(true));
    let mut insertions = Insertions::default();
    if let Some((written, inserted)) = instrument(source, &blocks) {
        expression = compile(written)?;
        insertions = inserted;
    }
    Ok(CodeExpression { expression, reads, insertions })
}

fn reads(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().filter(|name| !is_function(name)).collect();
    names.sort_unstable();
    names
}

fn is_function(name: &str) -> bool {
    BASE.globals().any(|(global, _)| global == name)
}
