//! report.html: report.md as one self-contained page with charts, without scripts and without external resources.
//!
//! The text comes from [`crate::markdown`], but for the inputs and outputs of cells, which `outputs` puts side by side. Raw HTML in it is shown as text, and links may only lead to web pages.

mod chart;
mod outputs;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::markdown::{self, Parts};
use crate::shared::report::{RenderError, Report};

const STYLE: &str = include_str!("style.css");

/// Returns the report as a page.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let Parts { opening, gates, figures, details } = markdown::parts(report);
    let charts = chart::all(report);
    let outputs = outputs::section(report)?;
    let after = format!("{}{charts}{}{outputs}{}", body(&gates), body(&figures), body(&details));
    let (words, contents) = with_contents(&format!("{}{CONTENTS}{after}", body(&opening)));
    let title = format!("{}: evaluation report", report.findings.plan.suite);
    Ok(whole(&title, &words.replacen(CONTENTS, &contents, 1)))
}

/// Returns a document of another command, given as Markdown, as a page without charts.
pub fn page(title: &str, markdown: &str) -> String {
    let (words, contents) = with_contents(&body(markdown));
    let first = words.find("<h2").unwrap_or(words.len());
    let (head, rest) = words.split_at(first);
    whole(title, &format!("{head}{contents}{rest}"))
}

/// Puts the content into a page that loads nothing.
fn whole(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{content}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Place of the list of sections. Content cannot hold it: its characters are escaped there.
const CONTENTS: &str = "<!--contents-->";

/// Converts Markdown to HTML in which only Karat's own markup is markup.
fn body(text: &str) -> String {
    let mut links = Vec::new();
    let events =
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).filter_map(|event| match event {
            Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => None,
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                links.push(is_web(dest_url));
                is_web(dest_url).then_some(event)
            }
            Event::End(TagEnd::Link) => links.pop().unwrap_or(false).then_some(event),
            other => Some(other),
        });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    // Wide tables scroll, also by keyboard.
    html.replace("<table>", "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>")
        .replace("</table>", "</table></div>")
        .replace("<th>", "<th scope=\"col\">")
        .replace("<th style", "<th scope=\"col\" style")
}

/// Adds an anchor to every section, and returns the page and a list of links to them. Raw HTML was turned into text,
/// so every `<h2` is a heading of this page.
fn with_contents(html: &str) -> (String, String) {
    let (mut page, mut links) = (String::with_capacity(html.len()), String::new());
    for (at, part) in html.split("<h2>").enumerate() {
        if at > 0 {
            let title = part.split("</h2>").next().unwrap_or_default();
            links.push_str(&format!("<li><a href=\"#s{at}\">{title}</a></li>\n"));
            page.push_str(&format!("<h2 id=\"s{at}\">"));
        }
        page.push_str(part);
    }
    (page, format!("<nav aria-label=\"Contents\">\n<ul>\n{links}</ul>\n</nav>\n"))
}

fn is_web(link: &CowStr<'_>) -> bool {
    link.starts_with("https://") || link.starts_with("http://") || link.starts_with('#')
}

/// Escapes a text for an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_markup_becomes_text() {
        let html = body("<script>alert(1)</script>\n\n[a](javascript:x) [b](https://b) ![c](https://c) <b>d</b>");
        assert!(!html.contains("<script") && !html.contains("javascript") && !html.contains("<img"), "{html}");
        assert!(html.contains("<a href=\"https://b\">b</a>") && html.contains("&lt;b&gt;d"), "{html}");
    }

    /// CL-19: the page links to its sections, wide tables scroll by keyboard, and columns have headers.
    #[test]
    fn a_page_links_to_its_sections() {
        let html = body("## One `x`\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n## Two <h2>\n");
        assert!(html.contains("tabindex=\"0\"") && html.matches("<th scope=\"col\"").count() == 2, "{html}");
        let (page, contents) = with_contents(&html);
        assert!(page.contains("<h2 id=\"s1\">One") && page.contains("<h2 id=\"s2\">Two &lt;h2&gt;</h2>"), "{page}");
        assert!(contents.contains("<a href=\"#s1\">One <code>x</code></a>") && contents.matches("<li>").count() == 2);
    }
}
