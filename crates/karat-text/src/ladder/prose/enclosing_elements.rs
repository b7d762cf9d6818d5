//! Finds elements beside an answer, such as `<plan>…</plan>` and fences of thoughts. A value there is meant only where its
//! element is one for answers, or one of HTML.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ladder::candidates::CodeFence;
use crate::ladder::reasoning_blocks;

/// Bytes that a tag may have.
const LONGEST: usize = 120;

/// Words in the names of elements that hold answers.
const ANSWER: [&str; 34] = [
    "answer",
    "json",
    "verdict",
    "result",
    "output",
    "respon",
    "reply",
    "evaluat",
    "assess",
    "judg",
    "scor",
    "grad",
    "rating",
    "review",
    "final",
    "function",
    "tool",
    "call",
    "invoke",
    "param",
    "argument",
    "solution",
    "box",
    "assistant",
    "object",
    "data",
    "report",
    "feedback",
    "message",
    "content",
    "submi",
    "conclusion",
    "decision",
    "structured",
];

/// HTML elements that only lay out their content.
const LAYOUT: [&str; 40] = [
    "a",
    "article",
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "html",
    "i",
    "item",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "root",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strong",
    "table",
    "td",
    "text",
    "tr",
    "u",
    "ul",
];

/// The spans of elements beside the answer.
pub(crate) struct EnclosingElements(Vec<Range<usize>>);

impl EnclosingElements {
    /// Those of a text whose thoughts are blanked out, with its fences.
    pub fn of(text: &str, fences: &[CodeFence<'_>]) -> Self {
        let fences = fences.iter().filter(|fence| reasoning_blocks::is_name(fence.info)).map(CodeFence::span);
        Self(elements(text).into_iter().chain(fences).collect())
    }

    /// True if a stretch lies in one of them.
    pub fn contain(&self, stretch: &Range<usize>) -> bool {
        self.0.iter().any(|aside| aside.start <= stretch.start && stretch.end <= aside.end)
    }
}

/// The outermost elements that are neither for answers nor for layout. One that is never closed goes to the end, where its tag
/// begins a line that holds no other words.
fn elements(text: &str) -> Vec<Range<usize>> {
    let mut closing: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, _) in text.match_indices("</") {
        if let Some((name, _)) = tag(&text[at + 2..]) {
            closing.entry(name).or_default().push(at);
        }
    }
    let mut elements: Vec<Range<usize>> = Vec::new();
    let mut end = 0;
    for (at, _) in text.match_indices('<') {
        let Some((name, length)) = tag(&text[at + 1..]).filter(|(name, _)| at >= end && is_aside(name)) else {
            continue;
        };
        let after = at + 1 + length;
        let closed = closing.get(name).and_then(|places| places.get(places.partition_point(|place| *place < after)));
        let closed = closed.copied().or_else(|| stands_alone(text, at, after).then_some(text.len()));
        if let Some(closed) = closed {
            end = closed;
            elements.push(at..closed);
        }
    }
    elements
}

/// The name of a tag and its length up to `>`, of the text after its `<` or `</`.
fn tag(text: &str) -> Option<(&str, usize)> {
    let head = &text[..text.floor_char_boundary(LONGEST)];
    let head = &head[..head.find('>')?];
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    let name = &head[..head.find(|c| !is_name(c)).unwrap_or(head.len())];
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !head.ends_with('/') && !head.contains('<');
    let is_whole = head.len() == name.len() || head[name.len()..].starts_with([' ', '=']);
    (is_tag && is_whole).then_some((name, head.len() + 1))
}

fn is_aside(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !LAYOUT.contains(&name.as_str()) && !ANSWER.iter().any(|part| name.contains(part))
}

/// True if a tag begins a line, and nothing but the value or the end of the line follows.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].trim_end_matches([' ', '\t']);
    let after = text[end..].trim_start_matches([' ', '\t']);
    (before.is_empty() || before.ends_with('\n'))
        && (after.is_empty() || after.starts_with(['\n', '\r', '{', '[', '`']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_elements_of_other_names_are_asides() {
        let is_aside = |text: &str| {
            let at = text.find('{').unwrap();
            EnclosingElements::of(text, &crate::ladder::candidates::fences(text)).contain(&(at..at + 2))
        };
        for text in [
            "<plan>{}</plan>",
            "<plan>\nI begin. {}",
            "<notes to=\"me\">a {} b</notes>",
            "<details><summary>x</summary>{}</details>",
            "<internal>{}",
            "```thinking\n{}\n```",
        ] {
            assert!(is_aside(text), "{text}");
        }
        for text in [
            "<json_output>{}</json_output>",
            "<finalAnswer>{}",
            "<pre><code class=\"language-json\">{}</code></pre>",
            "<plan>a</plan> {}",
            "The page lacks a <nav> element. {}",
            "<function=submit>{}</function>",
            "<br/> {} <hr>",
            "1 < 2 {} > 1",
            "```json\n{}\n```",
        ] {
            assert!(!is_aside(text), "{text}");
        }
    }
}
