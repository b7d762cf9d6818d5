//! Markdown as CommonMark has it, with tables and front matter: headings, blocks as they were written, links.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Block, Document, html};

/// The document of a Markdown text. Its title is that of the front matter, else the first heading of the first level.
pub(super) fn document(text: &str) -> Document {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let events: Vec<(Event<'_>, Range<usize>)> = Parser::new_ext(text, options).into_offset_iter().collect();
    let mut document = Document::default();
    let mut first_heading = None;
    let mut depth = 0_usize;
    for (at, (event, place)) in events.iter().enumerate() {
        match event {
            Event::Start(tag) if depth == 0 => {
                depth = 1;
                let raw = &text[place.clone()];
                match tag {
                    Tag::MetadataBlock(_) => document.title = declared_title(raw),
                    Tag::Heading { level, .. } => {
                        let block = Block { text: words(&events[at..]), heading: Some(*level as u8), is_apart: false };
                        if *level == HeadingLevel::H1 {
                            first_heading.get_or_insert_with(|| block.text.clone());
                        }
                        document.blocks.push(block);
                    }
                    Tag::HtmlBlock => document.blocks.extend(html::document(raw).blocks),
                    Tag::CodeBlock(_) => document.blocks.push(Block { is_apart: true, ..unchanged_text(raw) }),
                    _ => document.blocks.push(unchanged_text(raw)),
                }
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    document.title = document.title.or(first_heading);
    document.blocks.retain(|block| !block.text.is_empty());
    // Rendering to HTML first decides what a link is: reference links, raw HTML, code, images.
    let mut page = String::with_capacity(text.len());
    pulldown_cmark::html::push_html(&mut page, events.into_iter().map(|(event, _)| event));
    document.links = html::document(&page).links;
    document
}

/// A block of the text, unchanged.
fn unchanged_text(raw: &str) -> Block {
    let text = raw.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n");
    Block { text, ..Block::default() }
}

/// The words of the heading that the events begin with.
fn words(events: &[(Event<'_>, Range<usize>)]) -> String {
    let within = events.iter().take_while(|(event, _)| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = within.filter_map(|(event, _)| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        Event::SoftBreak | Event::HardBreak => Some(" "),
        _ => None,
    });
    words.collect::<String>().trim().to_owned()
}

/// The `title` of front matter, in YAML or TOML.
fn declared_title(front_matter: &str) -> Option<String> {
    let value = front_matter.lines().find_map(|line| {
        let rest = line.strip_prefix("title")?.trim_start();
        Some(rest.strip_prefix([':', '='])?.trim())
    })?;
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let title = quoted.unwrap_or(value);
    (!title.is_empty()).then(|| title.to_owned())
}
