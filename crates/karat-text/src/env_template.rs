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

use crate::template::{Context, Template, TemplateError};

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
    /// A part that is no template by itself.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        let pieces = parts(source).0.into_iter().map(|part| match part {
            EnvTemplatePart::Text(text) => Template::compile(&text).map(TemplatePiece::Template),
            gap @ EnvTemplatePart::Variable { .. } => Ok(TemplatePiece::Gap(gap)),
        });
        let pieces = pieces.collect::<Result<Vec<_>, TemplateError>>()?;
        let mut reads: Vec<String> = pieces.iter().flat_map(TemplatePiece::reads).cloned().collect();
        reads.sort_unstable();
        reads.dedup();
        Ok(Self { pieces, reads })
    }

    /// The names that it may read, sorted.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }

    /// Renders the text for one context; its variables stay unfilled.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render(&self, context: &Context) -> Result<EnvTemplate, TemplateError> {
        let parts = self.pieces.iter().map(|piece| match piece {
            TemplatePiece::Template(template) => template.render(context).map(EnvTemplatePart::Text),
            TemplatePiece::Gap(gap) => Ok(gap.clone()),
        });
        parts.collect::<Result<_, _>>().map(EnvTemplate)
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

    #[test]
    fn a_gap_within_code_is_no_template() {
        assert!(GapTemplate::compile("{{ a ~ '${HOME}' }}").is_err());
    }
}
