//! What a reasoning model thinks aloud before it answers.

use std::borrow::Cow;
use std::ops::Range;

/// Names of the tags between which models think.
const NAMES: [&str; 8] =
    ["think", "thinking", "thought", "thoughts", "reasoning", "analysis", "scratchpad", "reflection"];

/// The text with its thoughts blanked out, so that what remains keeps its lines and columns. Thoughts that are never
/// closed go to the end; those that were never opened begin with the text.
pub(super) fn blanked(text: &str) -> Cow<'_, str> {
    let thoughts = thoughts(text);
    if thoughts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut blanked = String::with_capacity(text.len());
    let mut from = 0;
    for thought in thoughts {
        blanked.push_str(&text[from..thought.start]);
        blanked.extend(text[thought.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        from = thought.end;
    }
    blanked.push_str(&text[from..]);
    Cow::Owned(blanked)
}

/// Where thoughts stand, in order, not overlapping.
fn thoughts(text: &str) -> Vec<Range<usize>> {
    let mut thoughts: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut quotes = Quotes::default();
    let mut at = 0;
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        let Some((closes, length)) = tag(&text[start..]) else {
            at = start + 1;
            continue;
        };
        at = start + length;
        match (closes, open) {
            (true, Some(opened)) => {
                thoughts.push(opened..at);
                open = None;
            }
            (true, None) if thoughts.is_empty() && !quotes.hold(text, start) => thoughts.push(0..at),
            (false, None) if !quotes.hold(text, start) => open = Some(start),
            _ => {}
        }
    }
    thoughts.extend(open.map(|opened| opened..text.len()));
    thoughts
}

/// Whether the tag that a text begins with closes, and its length.
fn tag(text: &str) -> Option<(bool, usize)> {
    let inner = text.strip_prefix('<')?;
    let (closes, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
    let length = inner.bytes().take_while(u8::is_ascii_alphabetic).count();
    let name = &inner[..length];
    let is_known = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    (is_known && inner[length..].starts_with('>')).then_some((closes, text.len() - inner.len() + length + 1))
}

/// Walks along a text and knows whether it is within double quotes, where a tag is content. Every line begins outside.
#[derive(Default)]
struct Quotes {
    at: usize,
    quoted: bool,
    escaped: bool,
}

impl Quotes {
    /// Whether a place, which lies after those asked for before, is within quotes.
    fn hold(&mut self, text: &str, at: usize) -> bool {
        for byte in text[self.at..at].bytes() {
            match byte {
                b'\n' => self.quoted = false,
                b'"' if !self.escaped => self.quoted = !self.quoted,
                _ => {}
            }
            self.escaped = byte == b'\\' && !self.escaped;
        }
        self.at = at;
        self.quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_blanked_and_places_kept() {
        assert_eq!(blanked("<think>a\nb</think> {}").trim(), "{}");
        assert_eq!(blanked("<think>a\nb</think> {}").find('{'), Some(19));
        assert_eq!(blanked("half a thought</Thinking>\n7").trim(), "7");
        assert_eq!(blanked("7 <reasoning>and so on").trim(), "7");
        assert_eq!(blanked("<think>1</think> a <think>2</think> b").split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
        for kept in ["{\"a\": \"no <think> here\"}", "1 < 2 > 1", "<thinker>x</thinker>", "a </b> c"] {
            assert_eq!(blanked(kept), kept);
        }
    }
}
