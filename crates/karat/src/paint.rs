//! Colour for messages and verdicts. Texts are made without colour; it is added by the words at the beginning or the end of
//! a line, where a terminal shows colour.

use std::borrow::Cow;

use owo_colors::{OwoColorize, Style};

/// Beginnings of messages.
const MESSAGES: &[(&str, Style)] = &[
    ("error:", Style::new().red().bold()),
    ("failed:", Style::new().red().bold()),
    ("warning:", Style::new().yellow().bold()),
    ("hint:", Style::new().cyan().bold()),
    ("note:", Style::new().cyan()),
];

/// Verdicts of gates and comparisons.
const VERDICTS: &[(&str, Style)] = &[
    ("pass", Style::new().green().bold()),
    ("passes", Style::new().green().bold()),
    ("better", Style::new().green().bold()),
    ("equivalent", Style::new().green()),
    ("fail", Style::new().red().bold()),
    ("fails", Style::new().red().bold()),
    ("worse", Style::new().red().bold()),
    ("regression", Style::new().red().bold()),
    ("BROKEN", Style::new().red().bold()),
    ("review", Style::new().yellow().bold()),
    ("undecided", Style::new().yellow()),
];

/// Returns a message with its first word in colour.
pub fn message(text: &str) -> Cow<'_, str> {
    let line = text.trim_start();
    let Some((word, style)) = MESSAGES.iter().find(|(word, _)| line.starts_with(word)) else { return text.into() };
    let (indent, rest) = (&text[..text.len() - line.len()], &line[word.len()..]);
    format!("{indent}{}{rest}", word.style(*style)).into()
}

/// Returns a summary with messages and verdicts in colour.
pub fn summary(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(line).collect();
    lines.join("\n")
}

fn line(text: &str) -> Cow<'_, str> {
    let style = |word: &str| VERDICTS.iter().find(|(verdict, _)| *verdict == word).map(|(_, style)| *style);
    let start = if text.starts_with("verdict ") { "verdict ".len() } else { text.len() - text.trim_start().len() };
    let (before, rest) = text.split_at(start);
    let word = rest.split([' ', ':', ',', ';']).next().unwrap_or_default();
    if let Some(style) = style(word).filter(|_| start > 0 || word == text) {
        return format!("{before}{}{}", word.style(style), &rest[word.len()..]).into();
    }
    // The verdict column of a table.
    match text.rsplit_once("  ") {
        Some((row, last)) => match style(last.trim_end()) {
            Some(style) => format!("{row}  {}", last.style(style)).into(),
            None => message(text),
        },
        None => message(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn verdicts_and_messages_have_colour() {
        let text =
            "verdict fail (1 of 2)\n  pass       hit: 0.9\nhit  0.9  0.8  worse\nwarning: low n\nplain better text";
        let painted = summary(text);
        assert_eq!(plain(&painted), text);
        for coloured in ["\u{1b}[31;1mfail", "\u{1b}[32;1mpass", "\u{1b}[31;1mworse", "\u{1b}[33;1mwarning:"] {
            assert!(painted.contains(coloured), "{painted:?}");
        }
        assert!(painted.ends_with("\nplain better text"));
        assert_eq!(message("errors: none"), "errors: none");
    }
}
