//! The words in which two texts differ.

use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff};

/// Characters of a text that are compared; the rest is left out and said to be.
const COMPARED: usize = 20_000;

/// A part of two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "text", rename_all = "snake_case")]
pub enum DiffPart {
    /// In both.
    Same(String),
    /// In the first only.
    Removed(String),
    /// In the second only.
    Added(String),
}

/// The words that both texts share, those of `old` only and those of `new` only, in reading order.
pub fn word_diff(old: &str, new: &str) -> Vec<DiffPart> {
    let (old, new) = (beginning(old), beginning(new));
    // Words only, so that two line ends are not a change.
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_whitespace().collect(), new.split_whitespace().collect());
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_slices(&old, &new);
    let mut parts: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match parts.last_mut() {
            Some((tag, text)) if *tag == change.tag() => {
                text.push(' ');
                text.push_str(change.value());
            }
            _ => parts.push((change.tag(), change.value().to_owned())),
        }
    }
    let part = |(tag, text)| match tag {
        ChangeTag::Equal => DiffPart::Same(text),
        ChangeTag::Delete => DiffPart::Removed(text),
        ChangeTag::Insert => DiffPart::Added(text),
    };
    parts.into_iter().map(part).collect()
}

/// A difference as one line: `[-old-]` and `{+new+}`, and at most `context` words of what is the same on each side.
pub fn diff_text(parts: &[DiffPart], context: usize) -> String {
    let last = parts.len().saturating_sub(1);
    let shown = parts.iter().enumerate().map(|(at, part)| match part {
        DiffPart::Removed(text) => format!("[-{text}-]"),
        DiffPart::Added(text) => format!("{{+{text}+}}"),
        DiffPart::Same(text) => {
            let words: Vec<&str> = text.split(' ').collect();
            let (head, tail) = (if at == 0 { 0 } else { context }, if at == last { 0 } else { context });
            match words.len() > head + tail {
                true => {
                    let ends = [words[..head].join(" "), "…".to_owned(), words[words.len() - tail..].join(" ")];
                    let ends: Vec<String> = ends.into_iter().filter(|end| !end.is_empty()).collect();
                    ends.join(" ")
                }
                false => text.clone(),
            }
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(COMPARED).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-03: a cluster shows the words that differ, and little of what does not.
    #[test]
    fn a_difference_shows_the_words_that_changed() {
        let diff = word_diff("Where is my big order from\nlast week?", "Where is my order from last month?");
        assert_eq!(diff_text(&diff, 9), "Where is my [-big-] order from last [-week?-] {+month?+}");
        assert_eq!(diff_text(&diff, 1), "… my [-big-] order … last [-week?-] {+month?+}");
        assert_eq!(word_diff("a  b", "a\nb"), [DiffPart::Same("a b".to_owned())]);
        assert_eq!(word_diff("", ""), []);
    }
}
