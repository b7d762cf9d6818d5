//! Templates with environment variables: `${NAME}` and `${NAME:-default}`.
//!
//! A plan keeps the name, never the value: a template renders to a [`EnvTemplate`] whose variables are filled in where
//! the text is used. Text from a row is never read as a variable.
//!
//! ```
//! use karat_text::env_template::{GapTemplate, fill};
//! use karat_text::template::Context;
//!
//! let template = GapTemplate::compile("Bearer ${TOKEN:-none} for {{ name }}")?;
//! let text = template.render(&Context::new().with("name", "${HOME}"))?;
//! assert_eq!(fill(&text, |name| (name == "TOKEN").then(|| "t".to_owned())), Ok("Bearer t for ${HOME}".to_owned()));
//! # Ok::<(), karat_text::template::TemplateError>(())
//! ```

use karat_types::{EnvTemplate, EnvTemplatePart};

use crate::template::{Address, Context, Template, TemplateError};

/// A reference to a variable of the environment within a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableReference<'a> {
    /// Name of the variable.
    pub name: &'a str,
    /// The default where it is not set.
    pub default: Option<&'a str>,
    /// Byte at which it begins.
    pub start: usize,
    /// Byte behind its end.
    pub end: usize,
}

/// The first reference in a text.
pub fn next(text: &str) -> Option<VariableReference<'_>> {
    let mut from = 0;
    while let Some(found) = text[from..].find("${") {
        let start = from + found;
        let end = start + text[start..].find('}')?;
        let inner = &text[start + 2..end];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        if is_name {
            return Some(VariableReference { name, default, start, end: end + 1 });
        }
        from = start + 2;
    }
    None
}

/// Splits a text into plain parts and variables.
pub fn parts(text: &str) -> EnvTemplate {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(reference) = next(rest) {
        push_text(&mut parts, &rest[..reference.start]);
        let default = reference.default.map(str::to_owned);
        parts.push(EnvTemplatePart::Variable { name: reference.name.to_owned(), default });
        rest = &rest[reference.end..];
    }
    push_text(&mut parts, rest);
    EnvTemplate(parts)
}

fn push_text(parts: &mut Vec<EnvTemplatePart>, text: &str) {
    if !text.is_empty() {
        parts.push(EnvTemplatePart::Text(text.to_owned()));
    }
}

/// Returns the text with its variables filled in. An empty value counts as unset.
///
/// # Errors
/// The name of a variable that is unset and has no default.
pub fn fill(text: &EnvTemplate, lookup: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    for part in &text.0 {
        match part {
            EnvTemplatePart::Text(text) => filled.push_str(text),
            EnvTemplatePart::Variable { name, default } => {
                let value = lookup(name).filter(|value| !value.is_empty());
                filled.push_str(&value.or_else(|| default.clone()).ok_or_else(|| name.clone())?);
            }
        }
    }
    Ok(filled)
}

/// A template whose text may name environment variables, beside `{{ }}` and `{% %}`, never within them.
#[derive(Debug, Clone)]
pub struct GapTemplate {
    pieces: Vec<TemplatePiece>,
    reads: Vec<String>,
    is_address: bool,
}

#[derive(Debug, Clone)]
enum TemplatePiece {
    Template(Template),
    Gap(EnvTemplatePart),
}

impl GapTemplate {
    /// Compiles the text between the variables.
    ///
    /// # Errors
    /// A part that is not a template by itself.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        Self::of_pieces(source, Template::compile, false)
    }

    /// Compiles an address: each value is encoded for its place, and cannot change the rest.
    ///
    /// # Errors
    /// As [`GapTemplate::compile`].
    pub fn compile_address(source: &str) -> Result<Self, TemplateError> {
        Self::of_pieces(source, Template::compile_address, true)
    }

    fn of_pieces(
        source: &str,
        compile: fn(&str) -> Result<Template, TemplateError>,
        is_address: bool,
    ) -> Result<Self, TemplateError> {
        let pieces = parts(source).0.into_iter().map(|part| match part {
            EnvTemplatePart::Text(text) => compile(&text).map(TemplatePiece::Template),
            gap @ EnvTemplatePart::Variable { .. } => Ok(TemplatePiece::Gap(gap)),
        });
        let pieces = pieces.collect::<Result<Vec<_>, TemplateError>>()?;
        let mut reads: Vec<String> = pieces.iter().flat_map(TemplatePiece::reads).cloned().collect();
        reads.sort_unstable();
        reads.dedup();
        Ok(Self { pieces, reads, is_address })
    }

    /// The names that it may read, sorted.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }

    /// Renders the text for one context; its variables stay unfilled.
    ///
    /// # Errors
    /// As [`Template::render`]; also a value that would change the rest of an address.
    pub fn render(&self, context: &Context) -> Result<EnvTemplate, TemplateError> {
        let mut address = self.is_address.then(Address::default);
        let parts = self.pieces.iter().map(|piece| match piece {
            TemplatePiece::Template(template) => template
                .render(context)
                .map(|text| EnvTemplatePart::Text(address.as_mut().map(|address| address.add(&text)).unwrap_or(text))),
            TemplatePiece::Gap(gap) => {
                address.iter_mut().for_each(Address::add_variable);
                Ok(gap.clone())
            }
        });
        let parts = parts.collect::<Result<_, _>>().map(EnvTemplate)?;
        let refusal = address.and_then(|address| address.check().err());
        match refusal {
            Some(message) => Err(TemplateError { message, line: None, span: None, hint: None }),
            None => Ok(parts),
        }
    }
}

impl TemplatePiece {
    fn reads(&self) -> &[String] {
        match self {
            Self::Template(template) => template.reads(),
            Self::Gap(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        fill(&parts(text), |name| (name == "HOME").then(|| "/h".to_owned()))
    }

    #[test]
    fn gaps_are_filled_or_named() {
        assert_eq!(filled("${HOME}/x/${DIR:-data}").as_deref(), Ok("/h/x/data"));
        assert_eq!(filled("${DIR}"), Err("DIR".to_owned()));
        assert_eq!(filled("$HOME ${not a name} ${"), Ok("$HOME ${not a name} ${".to_owned()));
        assert_eq!(parts("a ${B:-} c").with_placeholders(), "a ${B} c");
    }

    /// RG-15: what stands in a row never reads the environment.
    #[test]
    fn rendered_content_opens_no_gap() {
        let template = GapTemplate::compile("{{ a }} ${HOME}").unwrap();
        let text = template.render(&Context::new().with("a", "${HOME}")).unwrap();
        assert_eq!(text.0.len(), 2);
        assert_eq!(fill(&text, |_| Some("/h".to_owned())), Ok("${HOME} /h".to_owned()));
    }

    /// F21: a value arrives as it is, wherever it stands in an address, and never changes the rest of it.
    #[test]
    fn values_are_encoded_for_their_place_in_an_address() {
        let address = |source: &str, value: &serde_json::Value| {
            let template = GapTemplate::compile_address(source).unwrap();
            let context = Context::new().with("q", value).with("base", &json!("http://h:1/v1"));
            let text = template.render(&context).map_err(|error| error.message)?;
            Ok::<_, String>(fill(&text, |_| Some("http://env/x?key=1".to_owned())).unwrap())
        };
        for (source, value, expected) in [
            ("http://h/ask?q={{ q }}", json!("R&D costs"), "http://h/ask?q=R%26D%20costs"),
            ("http://h/ask?q={{ q }}", json!("1+1"), "http://h/ask?q=1%2B1"),
            (
                "http://h/ask?q={{ q }}&n=2",
                json!("Is #5 50% = \n?"),
                "http://h/ask?q=Is%20%235%2050%25%20%3D%20%0A%3F&n=2",
            ),
            ("http://h/ask?q={{q}}", json!("größer"), "http://h/ask?q=gr%C3%B6%C3%9Fer"),
            ("http://h/ask?q={{ q | urlencode }}", json!("R&D"), "http://h/ask?q=R%26D"),
            ("http://h/ask?q={{ (q | urlencode) if q else '' }}", json!("R&D"), "http://h/ask?q=R%26D"),
            ("http://h/ask?q={{ 'x=' ~ q }}", json!("R&D"), "http://h/ask?q=x%3DR%26D"),
            ("http://h/ask?q={% set v = q ~ '!' %}{{ v }}", json!("&"), "http://h/ask?q=%26%21"),
            ("http://h/ask?{{ q | urlencode }}", json!({"a": "x y", "b": 2}), "http://h/ask?a=x%20y&b=2"),
            ("http://h/ask{{ q | safe }}", json!("?a=1&b=2"), "http://h/ask?a=1&b=2"),
            ("http://h/ask?q={{ q }}", json!(7), "http://h/ask?q=7"),
            ("http://h/ask?q={{ q }}", json!(true), "http://h/ask?q=true"),
            ("http://h/ask?q={{ q }}", json!(null), "http://h/ask?q="),
            ("http://h/ask?q={{ q }}", json!(["a", "b"]), "http://h/ask?q=%5B%22a%22%2C%22b%22%5D"),
            ("http://h/{{ q }}/notes", json!("a/../b?c"), "http://h/a%2F..%2Fb%3Fc/notes"),
            ("http://h/x-{{ q }}", json!(".."), "http://h/x-.."),
            ("http://{{ q }}.example.org/a", json!("shop"), "http://shop.example.org/a"),
            ("http://{{ q }}/a", json!("127.0.0.1:80"), "http://127.0.0.1:80/a"),
            ("http://{{ q }}.example.org/a", json!("evil.org/"), "http://evil.org%2F.example.org/a"),
            ("http://user:{{ q }}@h/a", json!("p@ss/word"), "http://user:p%40ss%2Fword@h/a"),
            ("{{ q }}", json!("http://h/a?b=c&d#e"), "http://h/a?b=c&d#e"),
            ("{{ q }}/ask?q={{ q }}", json!("http://h"), "http://h/ask?q=http%3A%2F%2Fh"),
            ("{{ base }}/{{ q }}", json!("a b"), "http://h:1/v1/a%20b"),
            ("{{ q }}&more=1", json!("http://h/a?b=c"), "http://h/a?b=c&more=1"),
            ("${BASE}&q={{ q }}", json!("&"), "http://env/x?key=1&q=%26"),
            (
                "http://h/a?key=${KEY}&q={{ q }}",
                json!("&${KEY}"),
                "http://h/a?key=http://env/x?key=1&q=%26%24%7BKEY%7D",
            ),
            ("http://h/a?x=1{% for v in q %}&t={{ v }}{% endfor %}", json!(["a&b", "c"]), "http://h/a?x=1&t=a%26b&t=c"),
            ("http://h/a?q={{ q }}", json!("\u{2}e26\u{3}"), "http://h/a?q=%02e26%03"),
        ] {
            assert_eq!(address(source, &value).as_deref(), Ok(expected), "{source} {value}");
        }
        for source in [
            "http://h/a?q={{ (q | urlencode) ~ 'x' }}",
            "http://h/a?q={{ q | safe | upper }}",
            "http://h/a?q={% set v %}{{ q }}{% endset %}{{ v }}",
            "http://h/a?q={% filter upper %}{{ q }}{% endfilter %}",
        ] {
            assert!(GapTemplate::compile_address(source).is_err(), "{source}");
        }
        for (source, value, expected) in [
            ("http://h/a/{{ q }}/b", json!(".."), "`..` cannot be a part"),
            ("http://h/a/{{ q }}", json!("."), "`.` cannot be a part"),
            ("http://h/a/.{{ q }}/b", json!("."), "`..` cannot be a part"),
            ("http://h/a/{{ q | safe }}/b", json!("%2E%2e"), "`%2E%2e` cannot be a part"),
            ("{{ q }}/ask", json!("http://h/a?b=c"), "which has a query, so `/ask` would be part of that"),
            ("{{ q }}&x=1", json!("http://h/a#b"), "which has a fragment"),
        ] {
            let error = address(source, &value).unwrap_err();
            assert!(error.contains(expected), "{source}: {error}");
        }
    }

    #[test]
    fn a_gap_within_code_is_no_template() {
        assert!(GapTemplate::compile("{{ a ~ '${HOME}' }}").is_err());
    }
}
