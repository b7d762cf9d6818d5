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

/// Makes a text harmless in which colours (`ESC [ … m`) stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split("\u{1b}[").enumerate() {
        if at == 0 {
            out.push_str(&karat_app::visible(part));
            continue;
        }
        let codes = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        let (code, rest) = part.split_at(codes);
        let is_colour = rest.starts_with('m');
        out.push_str(if is_colour { "\u{1b}[" } else { "␛[" });
        out.push_str(code);
        out.push_str(&karat_app::visible(rest));
    }
    out
}

/// Least width at which lines are broken.
const NARROW: usize = 40;

/// Breaks long lines at words; what follows is indented. Columns (two spaces between words) stay as they are.
pub fn wrap(text: &str, width: usize) -> String {
    let width = width.max(NARROW);
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(|line| wrap_line(line, width)).collect();
    lines.join("\n")
}

fn wrap_line(line: &str, width: usize) -> Cow<'_, str> {
    let start = line.trim_start();
    let indent = line.len() - start.len();
    // The verdict of a check and its name are two columns, and the rest is a sentence.
    let is_table = start.contains("  ") && !VERDICTS.iter().any(|(word, _)| start.starts_with(word));
    if line.chars().count() <= width || is_table {
        return line.into();
    }
    let mut out = line[..indent].to_owned();
    let mut column = indent;
    for (at, word) in start.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            column = indent + 2;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.into()
}

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

    /// Field test C12: lines of a summary fit the terminal, and nothing of them is lost.
    #[test]
    fn long_lines_are_broken_at_words() {
        let long = format!("warning: {}end", "some words ".repeat(30));
        let table = format!("a  {}", "b ".repeat(60));
        let wrapped = wrap(&format!("{long}\n{table}\nshort"), 80);
        assert!(wrapped.lines().filter(|line| !line.starts_with("a  ")).all(|line| line.chars().count() <= 80));
        assert!(wrapped.contains(&table) && wrapped.ends_with("\nshort"), "{wrapped}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wrapped), words(&format!("{long} {table} short")));
    }

    /// D2: in a painted text only colours stay.
    #[test]
    fn only_colours_stay() {
        let painted = "\u{1b}[31mred\u{1b}[0m \u{1b}[2Jclear \u{1b}]0;title\u{7} \u{9b}31m\r\u{202e}";
        assert_eq!(visible(painted), "\u{1b}[31mred\u{1b}[0m ␛[2Jclear ␛]0;title␇ \u{fffd}31m␍\u{fffd}");
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
