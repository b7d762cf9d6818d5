//! Markdown: headings, lines, links. Front matter and fences around code are no text.

use super::{Block, Document};

/// The document of a Markdown text.
pub(super) fn document(text: &str) -> Document {
    let mut document = Document::default();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut is_code = false;
    for line in without_front_matter(text).lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        match heading(line).filter(|_| !is_code) {
            Some(heading) => {
                close(&mut paragraph, &mut document);
                if document.title.is_none() && line.starts_with("# ") {
                    document.title = Some(heading.to_owned());
                }
                document.blocks.push(Block { text: heading.to_owned(), is_heading: true });
            }
            None if line.trim().is_empty() => close(&mut paragraph, &mut document),
            None => paragraph.push(line),
        }
    }
    close(&mut paragraph, &mut document);
    document
}

fn close(paragraph: &mut Vec<&str>, document: &mut Document) {
    if !paragraph.is_empty() {
        document.blocks.push(Block { text: std::mem::take(paragraph).join("\n"), is_heading: false });
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
