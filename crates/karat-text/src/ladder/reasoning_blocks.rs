//! Finds the reasoning that a model writes before its answer.

use std::borrow::Cow;
use std::ops::Range;

/// Names of the tags between which models think.
const NAMES: [&str; 17] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reasoningcontent",
    "analysis",
    "scratchpad",
    "reflection",
    "draft",
    "antthinking",
    "seedthink",
    "innermonologue",
    "monologue",
    "deliberation",
    "preliminary",
    "cot",
];

/// Words that make a longer name one of thoughts: `thought_process`, `chain-of-thought`, `inner_thoughts`.
const WORDS: [&str; 5] = ["think", "thinking", "thought", "thoughts", "reasoning"];

/// Between which brackets a tag stands. In square ones names beyond the first two are headings more often than tags.
const BRACKETS: [(&str, &str); 4] = [("<", ">"), ("[", "]"), ("◁", "▷"), ("&lt;", "&gt;")];
const IN_SQUARE_BRACKETS: usize = 2;

/// Bytes that a tag may have.
const LONGEST: usize = 80;

/// Marks before a channel in which a model thinks, and what ends it.
const CHANNELS: [&str; 3] = ["<|channel|>analysis", "<|channel|>commentary", "<unused94>"];
const CHANNEL_ENDS: [&str; 4] = ["<|channel|>final", "<|end|>", "<|return|>", "<unused95>"];

/// The text with its thoughts blanked out, so that what remains keeps its lines and columns. Thoughts that are never
/// closed go to the end; those that were never opened begin with the text.
pub(super) fn blank_reasoning(text: &str) -> Cow<'_, str> {
    let thoughts = reasoning_spans(text);
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

/// True if a fence of this mark holds thoughts.
pub(super) fn is_name(mark: &str) -> bool {
    NAMES.contains(&mark.to_ascii_lowercase().as_str())
}

/// Returns the spans of reasoning, in order, not overlapping.
fn reasoning_spans(text: &str) -> Vec<Range<usize>> {
    let mut thoughts: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut quotes = Quotes::default();
    let mut at = 0;
    while let Some(start) = text[at..].find(['<', '[', '◁', '&']).map(|found| at + found) {
        let Some((mark, length)) = mark(&text[start..]) else {
            at = start + text[start..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        at = start + length;
        match (mark, open) {
            (ReasoningMark::Closes | ReasoningMark::Ends, Some(opened)) => {
                thoughts.push(opened..at);
                open = None;
            }
            (ReasoningMark::Closes, None) if thoughts.is_empty() && !quotes.contain(text, start) => {
                thoughts.push(0..at)
            }
            (ReasoningMark::Opens, None) if !quotes.contain(text, start) => open = Some(start),
            _ => {}
        }
    }
    thoughts.extend(open.map(|opened| opened..text.len()));
    thoughts
}

/// The effect of a mark.
#[derive(Debug, Clone, Copy)]
enum ReasoningMark {
    Opens,
    /// It closes them; where none were opened, they began with the text.
    Closes,
    /// It closes what is open, and is nothing elsewhere.
    Ends,
}

/// The mark that a text begins with, and its length: `<think>`, `</ think >`, `<think time="2">`, `[THINK]`,
/// `<|begin_of_thought|>`, `&lt;think&gt;`, a channel.
fn mark(text: &str) -> Option<(ReasoningMark, usize)> {
    let begins = |marks: &[&str]| marks.iter().find(|mark| text.starts_with(**mark)).map(|mark| mark.len());
    if let Some(length) = begins(&CHANNELS) {
        return Some((ReasoningMark::Opens, length));
    }
    if let Some(length) = begins(&CHANNEL_ENDS) {
        return Some((ReasoningMark::Ends, length));
    }
    let (open, close) = BRACKETS.iter().find(|(open, _)| text.starts_with(open))?;
    let within = &text[open.len()..text.floor_char_boundary(LONGEST)];
    let within = &within[..within.find(close)?];
    let known = if *open == "[" { &NAMES[..IN_SQUARE_BRACKETS] } else { &NAMES[..] };
    let mark = tag(within, known)?;
    Some((mark, open.len() + within.len() + close.len()))
}

/// The content of a tag's brackets: a name, with a slash, with `begin of` or `end of`, with attributes.
fn tag(within: &str, known: &[&str]) -> Option<ReasoningMark> {
    let is_edge = |c: char| c == ' ' || c == '|' || c == '｜';
    let within = within.trim_matches(is_edge);
    let (closes, named) = within.strip_prefix('/').map_or((false, within), |named| (true, named));
    let named = named.trim_start_matches(is_edge);
    let named =
        named.split_once(' ').filter(|(_, attributes)| attributes.contains('=')).map_or(named, |(name, _)| name);
    let is_between = |c: char| is_edge(c) || matches!(c, '_' | '▁' | '-' | ':');
    let words: Vec<String> = named.split(is_between).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mark, words) = match words.as_slice() {
        ["begin" | "start", words @ ..] => (ReasoningMark::Opens, words),
        ["end", words @ ..] => (ReasoningMark::Closes, words),
        words if closes => (ReasoningMark::Closes, words),
        words => (ReasoningMark::Opens, words),
    };
    let name = if words.len() < named.split(is_between).count() {
        words.strip_prefix(&["of"]).unwrap_or(words)
    } else {
        words
    };
    let is_named = !named.contains(' ') && known.len() > IN_SQUARE_BRACKETS && name.iter().any(|it| WORDS.contains(it));
    (is_named || known.contains(&name.concat().as_str())).then_some(mark)
}

/// Walks along a text and knows whether it is within double quotes, where a tag is content. Every line begins outside.
#[derive(Default)]
struct Quotes {
    at: usize,
    quoted: bool,
    escaped: bool,
}

impl Quotes {
    /// True if a place, which lies after those asked for before, is within quotes.
    fn contain(&mut self, text: &str, at: usize) -> bool {
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
        assert_eq!(blank_reasoning("<think>a\nb</think> {}").trim(), "{}");
        assert_eq!(blank_reasoning("<think>a\nb</think> {}").find('{'), Some(19));
        assert_eq!(blank_reasoning("half a thought</Thinking>\n7").trim(), "7");
        assert_eq!(blank_reasoning("7 <reasoning>and so on").trim(), "7");
        assert_eq!(
            blank_reasoning("<think>1</think> a <think>2</think> b").split_whitespace().collect::<Vec<_>>(),
            ["a", "b"]
        );
        for text in [
            "[THINK]1[/THINK] {}",
            "< think >1</ think > {}",
            "<think time=\"2\">1</think> {}",
            "<draft>1</draft> {}",
            "<|channel|>analysis<|message|>1<|end|> {}",
            "<｜begin▁of▁thinking｜>1<｜end▁of▁thinking｜> {}",
            "<|begin_of_thought|>1<|end_of_thought|> {}",
            "<|START_THINKING|>1<|END_THINKING|> {}",
            "[BEGIN THINK]1[END THINK] {}",
            "◁think▷1◁/think▷ {}",
            "<seed:think>1</seed:think> {}",
            "<reasoning_content>1</reasoning_content> {}",
            "&lt;think&gt;1&lt;/think&gt; {}",
            "<thought_process>1</thought_process> {}",
            "<chain-of-thought>1</chain-of-thought> {}",
            "<inner_thoughts>1</inner_thoughts> {}",
        ] {
            assert_eq!(blank_reasoning(text).trim(), "{}", "{text}");
        }
        let channels = "<|channel|>analysis<|message|>1<|channel|>final<|message|>{}<|end|>";
        assert_eq!(blank_reasoning(channels).trim(), "<|message|>{}<|end|>");
        for kept in [
            "a < think of > b",
            "[analysis] {}",
            "{} <|end|>",
            "{\"a\": \"no <think> here\"}",
            "1 < 2 > 1",
            "<thinker>x</thinker>",
            "a </b> c",
            "&lt;b&gt; & ◁ [thinking of {}]",
        ] {
            assert_eq!(blank_reasoning(kept), kept);
        }
    }
}
