//! report.html: report.md as one self-contained page, with charts. No script, nothing is loaded from anywhere.
//!
//! The words are those of [`crate::markdown`]; raw HTML in them is text, and links lead to web pages or nowhere.

mod chart;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::markdown;
use crate::report::Report;

const STYLE: &str = include_str!("style.css");

/// The report as a page.
pub fn render(report: Report<'_>) -> String {
    let words = body(&markdown::render(report));
    let charts = chart::all(report);
    // The charts stand behind the summary, which is the first section.
    let second = words.match_indices("<h2").nth(1).map_or(words.len(), |(at, _)| at);
    let (summary, rest) = words.split_at(second);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{summary}{charts}{rest}</main>\n</body>\n</html>\n",
        escape(&report.findings.plan.suite)
    )
}

/// Markdown as HTML in which only Karat's own markup is markup.
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
    html.replace("<table>", "<div class=\"wide\"><table>").replace("</table>", "</table></div>")
}

fn is_web(link: &CowStr<'_>) -> bool {
    link.starts_with("https://") || link.starts_with("http://") || link.starts_with('#')
}

/// A text as it may stand in an element or an attribute.
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
    fn foreign_markup_is_text() {
        let html = body("<script>alert(1)</script>\n\n[a](javascript:x) [b](https://b) ![c](https://c) <b>d</b>");
        assert!(!html.contains("<script") && !html.contains("javascript") && !html.contains("<img"), "{html}");
        assert!(html.contains("<a href=\"https://b\">b</a>") && html.contains("&lt;b&gt;d"), "{html}");
    }
}
