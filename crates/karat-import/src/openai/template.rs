//! Templates of OpenAI: texts with `{{item.x}}` and `{{sample.output_text}}`.

use std::sync::LazyLock;

use regex::Regex;

use super::rows::Columns;
use crate::text::escape::literal;

/// A mark of a template and its content.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{\{\s*([^{}]*?)\s*\}\}").ok());

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A path within the item: `a.b` of `{{item.a.b}}`.
    Item(String),
    /// The whole output as text.
    OutputText,
    /// A path within the output that is read as JSON; "" is all of it.
    OutputJson(String),
    /// Another reference, as written.
    Other(String),
}

/// Takes a template apart.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for found in MARK.iter().flat_map(|mark| mark.captures_iter(text)) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        if whole.start() > at {
            pieces.push(Piece::Text(text[at..whole.start()].to_owned()));
        }
        pieces.push(reference(name.as_str()));
        at = whole.end();
    }
    if at < text.len() || pieces.is_empty() {
        pieces.push(Piece::Text(text[at..].to_owned()));
    }
    pieces
}

fn reference(name: &str) -> Piece {
    let below = |root: &str| {
        let rest = name.strip_prefix(root)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then(|| rest.trim_start_matches('.').to_owned())
    };
    if name == "sample.output_text" {
        return Piece::OutputText;
    }
    if let Some(path) = below("sample.output_json") {
        return Piece::OutputJson(path);
    }
    match below("item") {
        Some(path) if !path.is_empty() && is_path(&path) => Piece::Item(path),
        _ => Piece::Other(name.to_owned()),
    }
}

/// True of names with dots and brackets; anything else is code of a template.
fn is_path(path: &str) -> bool {
    path.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '[' | ']' | '"' | '\''))
}

/// The template as one of a suite that reads the row, and the output as `output`.
///
/// # Errors
/// The first reference that a suite does not have.
pub(super) fn translate(text: &str, columns: &Columns) -> Result<String, String> {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Ok(literal(&text)),
            Piece::Item(path) => Ok(format!("{{{{ {} }}}}", columns.expression(&path))),
            Piece::OutputText => Ok("{{ output }}".to_owned()),
            Piece::OutputJson(path) if path.is_empty() => Ok("{{ output }}".to_owned()),
            Piece::OutputJson(path) => Err(format!("sample.output_json.{path}")),
            Piece::Other(name) => Err(name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-05: marks are read with and without spaces; everything else is text.
    #[test]
    fn templates_come_apart() {
        let cases: [(&str, Vec<Piece>); 6] = [
            ("", vec![Piece::Text(String::new())]),
            ("{{sample.output_text}}", vec![Piece::OutputText]),
            ("{{ sample.output_json.a[0] }}", vec![Piece::OutputJson("a[0]".into())]),
            ("Q: {{item.a.b}}!", vec![Piece::Text("Q: ".into()), Piece::Item("a.b".into()), Piece::Text("!".into())]),
            ("{{ item.x | upper }}", vec![Piece::Other("item.x | upper".into())]),
            ("{{items.x}} {", vec![Piece::Other("items.x".into()), Piece::Text(" {".into())]),
        ];
        for (text, expected) in cases {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }

    /// IO-01, IO-05: references are translated, and marks of the source's text are escaped.
    #[test]
    fn templates_are_translated() {
        let columns = Columns::default();
        let translated = translate("{% x %} {{item.question}} {{sample.output_text}}", &columns);
        assert_eq!(translated.unwrap(), "{{ \"{%\" }} x %} {{ sample.question }} {{ output }}");
        assert_eq!(translate("{{sample.model}}", &columns).unwrap_err(), "sample.model");
    }
}
