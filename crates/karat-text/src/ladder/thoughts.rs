//! What a reasoning model thinks aloud before it answers.

use std::borrow::Cow;
use std::ops::Range;

/// Names of the tags between which models think.
const NAMES: [&str; 9] =
    ["think", "thinking", "thought", "thoughts", "reasoning", "analysis", "scratchpad", "reflection", "draft"];

/// Marks before a channel in which a model thinks, and what ends it.
const CHANNELS: [&str; 2] = ["<|channel|>analysis", "<|channel|>commentary"];
const CHANNEL_ENDS: [&str; 3] = ["<|channel|>final", "<|end|>", "<|return|>"];

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
    while let Some(start) = text[at..].find(['<', '[']).map(|found| at + found) {
        let Some((mark, length)) = mark(&text[start..]) else {
            at = start + 1;
            continue;
        };
        at = start + length;
        match (mark, open) {
            (Mark::Closes | Mark::Ends, Some(opened)) => {
                thoughts.push(opened..at);
                open = None;
            }
            (Mark::Closes, None) if thoughts.is_empty() && !quotes.hold(text, start) => thoughts.push(0..at),
            (Mark::Opens, None) if !quotes.hold(text, start) => open = Some(start),
            _ => {}
        }
    }
    thoughts.extend(open.map(|opened| opened..text.len()));
    thoughts
}

/// What a mark does with thoughts.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Opens,
    /// It closes them; where none were opened, they began with the text.
    Closes,
    /// It closes what is open, and is nothing elsewhere.
    Ends,
}

/// The mark that a text begins with, and its length: `<think>`, `</ think >`, `<think time="2">`, `[THINK]`, a channel.
fn mark(text: &str) -> Option<(Mark, usize)> {
    let begins = |marks: &[&str]| marks.iter().find(|mark| text.starts_with(**mark)).map(|mark| mark.len());
    if let Some(length) = begins(&CHANNELS) {
        return Some((Mark::Opens, length));
    }
    if let Some(length) = begins(&CHANNEL_ENDS) {
        return Some((Mark::Ends, length));
    }
    let is_tag = text.starts_with('<');
    let inner = text.get(1..)?.trim_start_matches(' ');
    let (mark, inner) = inner.strip_prefix('/').map_or((Mark::Opens, inner), |inner| (Mark::Closes, inner));
    let inner = inner.trim_start_matches(' ');
    let (name, rest) = inner.split_at(inner.bytes().take_while(u8::is_ascii_alphabetic).count());
    // In brackets other names are headings more often than marks.
    let names = if is_tag { &NAMES[..] } else { &NAMES[..2] };
    if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    let end = rest.find(['>', ']', '<', '[', '\n'])?;
    let attributes = rest[..end].trim();
    let is_closed = rest[end..].starts_with(if is_tag { '>' } else { ']' });
    let is_mark = is_closed && (attributes.is_empty() || (is_tag && rest.starts_with(' ') && attributes.contains('=')));
    is_mark.then_some((mark, text.len() - rest.len() + end + 1))
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
        for text in [
            "[THINK]1[/THINK] {}",
            "< think >1</ think > {}",
            "<think time=\"2\">1</think> {}",
            "<draft>1</draft> {}",
            "<|channel|>analysis<|message|>1<|end|> {}",
        ] {
            assert_eq!(blanked(text).trim(), "{}", "{text}");
        }
        let channels = "<|channel|>analysis<|message|>1<|channel|>final<|message|>{}<|end|>";
        assert_eq!(blanked(channels).trim(), "<|message|>{}<|end|>");
        for kept in [
            "a < think of > b",
            "[analysis] {}",
            "{} <|end|>",
            "{\"a\": \"no <think> here\"}",
            "1 < 2 > 1",
            "<thinker>x</thinker>",
            "a </b> c",
        ] {
            assert_eq!(blanked(kept), kept);
        }
    }
}
