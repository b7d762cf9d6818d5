//! Documents of other commands: their Markdown as a page.

use karat_page::component::shell::section;
use karat_page::text::markdown;
use karat_page::{Document, html};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::sections::Sections;

/// A part of a document: its heading and the Markdown below it.
struct Part<'a> {
    title: String,
    body: &'a str,
}

/// Returns a document that Karat has written as Markdown, with a section for each heading of the second level.
pub fn markdown_document(title: &str, markdown: &str) -> Document {
    let (opening, parts) = split(markdown);
    let mut sections = Sections::default();
    for (at, part) in parts.iter().enumerate() {
        let body = html! { div.prose-block.wide-prose { (markdown::render(part.body)) } };
        sections.add(&format!("s{}", at + 1), &part.title, None, &body);
    }
    let page = sections.document("page-document", opening.title.clone());
    let lead = html! { div.prose-block.wide-prose { (markdown::render(opening.body)) } };
    let body = html! {
        @if !opening.body.trim().is_empty() { (section("top", title, None, &lead)) }
        (page.body)
    };
    let title = if opening.title.is_empty() { title.to_owned() } else { opening.title };
    Document { title, body, ..page }
}

/// Splits a document at its headings of the second level. The first part has the title of the document.
fn split(text: &str) -> (Part<'_>, Vec<Part<'_>>) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut headings: Vec<(HeadingLevel, String, usize, usize)> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if level <= HeadingLevel::H2 => {
                headings.push((level, String::new(), range.start, range.end));
                open = true;
            }
            Event::End(TagEnd::Heading(_)) => open = false,
            Event::Text(words) | Event::Code(words) if open => {
                if let Some((_, title, ..)) = headings.last_mut() {
                    title.push_str(&words);
                }
            }
            _ => {}
        }
    }
    let end_of = |at: usize| headings.get(at + 1).map_or(text.len(), |next| next.2);
    let body = |at: usize, from: usize| text.get(from..end_of(at)).unwrap_or_default();
    let mut opening = Part {
        title: String::new(),
        body: text.get(..headings.first().map_or(text.len(), |it| it.2)).unwrap_or_default(),
    };
    let mut parts = Vec::new();
    for (at, (level, title, _, end)) in headings.iter().enumerate() {
        let part = Part { title: title.clone(), body: body(at, *end) };
        if at == 0 && *level == HeadingLevel::H1 { opening = part } else { parts.push(part) }
    }
    (opening, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-40: a document of another command has a section for each heading, and its texts stay texts.
    #[test]
    fn headings_become_sections() {
        let text = "# Gates of `r`\n\nfirst\n\n## One `x`\n\n| a | b |\n| --- | ---: |\n| 1 | <b>2</b> |\n\n```text\n## no heading\n```\n\n## Two\n\nlast\n";
        let page = markdown_document("Gates", text);
        assert_eq!(page.title, "Gates of r");
        let titles: Vec<&str> = page.sections.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(titles, ["One x", "Two"]);
        let file = page.to_file();
        assert!(file.contains("&lt;b&gt;2") && file.contains("## no heading") && file.contains("<table>"), "{file}");
    }
}
