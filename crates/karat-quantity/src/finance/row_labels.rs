//! Reads what the label of a row, or the words before a number or list, say of the numbers there.

use std::ops::Range;

use karat_text::label::{Label, says_per_share};

use crate::chars::is_inline_space;
use crate::unit::scale::starts_with_word;

use crate::finance::word_list::word_lists;

word_lists!("row_labels.txt": LINKS, JOINTS);

/// Bytes of a line that may be a label.
const NEAR: usize = 160;

/// Reads the labels of numbers from left to right.
pub(crate) struct Labels<'a> {
    text: &'a str,
    /// Where the line of the last number begins, and where that number ends.
    line: usize,
    at: usize,
    /// The label of the last number, where that holds for a list: an amount per share, a percentage.
    last: Label,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, line: 0, at: 0, last: Label::Amount }
    }

    /// Returns the label of the number at `span`; spans must be asked for in order.
    pub(crate) fn of(&mut self, span: &Range<usize>) -> Label {
        let between = &self.text[self.at..span.start];
        let line_break = between.rfind(['\n', '\r']).map(|end| self.at + end + 1);
        self.line = line_break.unwrap_or(self.line);
        let near = self.text.ceil_char_boundary(self.line.max(self.at).max(span.start.saturating_sub(NEAR)));
        let listed = line_break.is_none() && is_joint(between);
        let row = self.row(span.start);
        let before = self.text[near..span.start].to_lowercase();
        let after = self.text[span.end..].trim_start_matches(is_inline_space);
        let label = match Label::read(row) {
            _ if says_per_share(&before) || is_per_share(after) => Label::PerShare,
            Label::Amount if listed => self.last,
            Label::Amount => match Label::read(subject(&before)) {
                percent @ Label::Percent(_) => percent,
                _ => Label::Amount,
            },
            said => said,
        };
        self.at = span.end;
        self.last = if matches!(label, Label::Count(_)) { Label::Amount } else { label };
        label
    }

    /// The first cell of the row that the place `at` is in; empty outside of tables and in that cell itself.
    fn row(&self, at: usize) -> &'a str {
        let end = self.text.floor_char_boundary(at.min(self.line + NEAR));
        let line = self.text.get(self.line..end).unwrap_or_default();
        let line = line.trim_start_matches(['|', ' ']);
        line.find(['|', '\t']).map_or("", |end| line[..end].trim())
    }
}

/// The subject of the number after a sentence's beginning: "operating margin" of "while the operating margin rose to ".
fn subject(before: &str) -> &str {
    let margin = |c: char| is_inline_space(c) || matches!(c, ':' | '=' | '*');
    let mut subject = before.trim_end_matches(margin);
    while let Some(word) = subject.rsplit(is_inline_space).next().filter(|word| LINKS.contains(word)) {
        subject = subject[..subject.len() - word.len()].trim_end_matches(margin);
    }
    subject.rsplit([',', ';', ':', '.', '(', '|']).next().unwrap_or_default()
}

/// True if two numbers of a list or comparison stand on either side: "EPS 1.89 and 2.31", "$2.31, up from $1.89".
fn is_joint(between: &str) -> bool {
    let joint = between.trim().trim_start_matches([',', ';', '(']).trim_start();
    joint.is_empty() || JOINTS.contains(joint)
}

/// True if a number is followed by "per share" and the like.
fn is_per_share(after: &str) -> bool {
    ["per", "a share", "je", "pro", "par", "por", "/"].iter().any(|word| starts_with_word(after, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: numbers take their label from their row, their list or the words before them.
    #[test]
    fn row_labels_apply_to_numbers() {
        for (text, expected) in [
            ("| Diluted EPS | 1 | 5", Label::PerShare),
            ("EPS 1 and 5", Label::PerShare),
            ("EPS was 1, revenue 5", Label::Amount),
            ("In millions, except per share data: revenue 5", Label::Amount),
            ("| Headcount | 1 | 5", Label::Count("employees")),
            ("Headcount was 5", Label::Amount),
            ("| Gross margin | 1 | 5", Label::Percent(100)),
            ("revenue 1, operating margin rose to 5", Label::Percent(100)),
            ("Operating margin: 1 and 5", Label::Percent(100)),
            ("operating margin 1, revenue 5", Label::Amount),
        ] {
            let mut labels = Labels::new(text);
            let ends = text.char_indices().filter(|(_, c)| c.is_ascii_digit());
            let last = ends.map(|(at, _)| labels.of(&(at..at + 1))).last();
            assert_eq!(last, Some(expected), "{text}");
        }
    }
}
