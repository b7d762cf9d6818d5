//! Markdown: headings, lines, links, code. Front matter and fences around code are no text.

use super::{Block, Document};

/// The document of a Markdown text.
pub(super) fn document(text: &str) -> Document {
    let mut document = Document::default();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut open: Option<Fence> = None;
    for line in without_front_matter(text).lines() {
        let fence = Fence::of(line);
        if let Some(code) = open {
            if fence.is_some_and(|fence| fence.closes(code)) {
                close(&mut paragraph, true, &mut document);
                open = None;
            } else {
                paragraph.push(line);
            }
        } else if fence.is_some() {
            close(&mut paragraph, false, &mut document);
            open = fence;
        } else if let Some(heading) = heading(line) {
            close(&mut paragraph, false, &mut document);
            if document.title.is_none() && line.starts_with("# ") {
                document.title = Some(heading.to_owned());
            }
            document.blocks.push(Block { text: heading.to_owned(), is_heading: true, is_code: false });
        } else if line.trim().is_empty() {
            close(&mut paragraph, false, &mut document);
        } else {
            paragraph.push(line);
        }
    }
    close(&mut paragraph, open.is_some(), &mut document);
    document
}

fn close(paragraph: &mut Vec<&str>, is_code: bool, document: &mut Document) {
    if !paragraph.is_empty() {
        let text = std::mem::take(paragraph).join("\n");
        document.blocks.push(Block { text, is_heading: false, is_code });
    }
}

/// A line of at least three backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    /// Whether words follow, as after an opening fence.
    is_bare: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        // Backticks within the line are a span of code, no fence.
        let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
        is_fence.then_some(Self { mark, length, is_bare: rest.is_empty() })
    }

    /// Whether it ends code that another one began.
    fn closes(self, begun: Self) -> bool {
        self.is_bare && self.mark == begun.mark && self.length >= begun.length
    }
}

/// The text of a heading such as `## Local ##`.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let depth = line.len() - rest.len();
    let text = rest.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&depth) && !text.is_empty()).then_some(text)
}

fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else { return text };
    let end = rest.match_indices("\n---").find(|(at, _)| rest[at + 4..].trim_start_matches('\r').starts_with('\n'));
    end.map_or(text, |(at, _)| &rest[at + 5..])
}
