//! Markdown of a model: raw HTML is text, an image is a link, and a link shows where it leads.

use maud::{Markup, PreEscaped, Render};
use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::visible;

/// Deepest nesting of quotes and lists; browsers move what is nested deeper than about 500 elements.
const DEEPEST: usize = 24;

/// Converts Markdown to HTML. Headings become bold paragraphs: a text has no say in the outline of the page.
pub fn render(text: &str) -> Markup {
    let text = visible::lines(text);
    let parser = Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut writer = Writer { open: Vec::new(), depth: 0, is_table_head: false, events: Vec::new() };
    parser.for_each(|event| writer.push(event));
    let mut html = String::with_capacity(text.len() * 2);
    pulldown_cmark::html::push_html(&mut html, writer.events.into_iter());
    PreEscaped(html)
}

struct Writer<'a> {
    /// The markup that closes each open element; `None` where pulldown-cmark's own does.
    open: Vec<Option<String>>,
    depth: usize,
    is_table_head: bool,
    events: Vec<Event<'a>>,
}

impl<'a> Writer<'a> {
    fn push(&mut self, event: Event<'a>) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => self.events.push(Event::Text(html)),
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            other => self.events.push(other),
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        let nests = matches!(tag, Tag::BlockQuote(_) | Tag::List(_) | Tag::Item);
        self.depth += usize::from(nests);
        match tag {
            Tag::HtmlBlock => self.replace("<p>", "</p>"),
            Tag::Heading { level, .. } => {
                let size = if level <= HeadingLevel::H2 { "<p class=\"heading\"><strong>" } else { "<p><strong>" };
                self.replace(size, "</strong></p>");
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.link(&dest_url, "image: "),
            _ if nests && self.depth > DEEPEST => self.replace("", ""),
            // Alignment would be a `style` attribute.
            Tag::Table(columns) => {
                // Wide tables scroll, also by keyboard.
                self.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">".to_owned());
                self.open.push(None);
                self.events.push(Event::Start(Tag::Table(vec![Alignment::None; columns.len()])));
            }
            Tag::TableCell if self.is_table_head => self.replace("<th scope=\"col\">", "</th>"),
            other => {
                self.is_table_head |= matches!(other, Tag::TableHead);
                self.open.push(None);
                self.events.push(Event::Start(other));
            }
        }
    }

    fn end(&mut self, end: TagEnd) {
        if matches!(end, TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) {
            self.depth = self.depth.saturating_sub(1);
        }
        self.is_table_head &= end != TagEnd::TableHead;
        match self.open.pop() {
            Some(Some(close)) => self.raw(close),
            _ => {
                self.events.push(Event::End(end));
                if end == TagEnd::Table {
                    self.raw("</div>".to_owned());
                }
            }
        }
    }

    fn replace(&mut self, open: &str, close: &str) {
        self.raw(open.to_owned());
        self.open.push(Some(close.to_owned()));
    }

    fn raw(&mut self, html: String) {
        if !html.is_empty() {
            self.events.push(Event::InlineHtml(CowStr::from(html)));
        }
    }

    fn link(&mut self, address: &str, kind: &str) {
        let escaped = |text: &str| text.render().into_string();
        match visible::host(address).filter(|_| visible::safe_href(address).is_some()) {
            Some(host) => {
                let close = format!("</a> <span class=\"host\">({})</span>", escaped(host));
                let open = format!("<a href=\"{}\" rel=\"noopener noreferrer\">{kind}", escaped(address));
                self.replace(&open, &close);
            }
            None => {
                let close = format!(" <span class=\"host\">({})</span>", escaped(&visible::short_name(address)));
                self.replace(kind, &close);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-51: raw HTML of a model is text, images are links, links name their host and other schemes are none.
    #[test]
    fn markdown_has_no_markup_of_its_own() {
        let text = "# Hi\n\n<img src=x onerror=alert(1)> ![cat](https://a.test/c.png) [x](javascript:alert(1)) [y](http://b.test/?q=\"z\")";
        let html = render(text).into_string();
        let parts = [
            "<p class=\"heading\"><strong>Hi</strong></p>",
            "<p>&lt;img src=x onerror=alert(1)&gt; ",
            "<a href=\"https://a.test/c.png\" rel=\"noopener noreferrer\">image: cat</a> <span class=\"host\">(a.test)</span>",
            " x <span class=\"host\">(javascript:alert(1))</span>",
            " <a href=\"http://b.test/?q=&quot;z&quot;\" rel=\"noopener noreferrer\">y</a> <span class=\"host\">(b.test)</span></p>",
        ];
        for part in parts {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let html = render(&format!("{} deep", ">".repeat(5_000))).into_string();
        assert_eq!(html.matches("<blockquote>").count(), DEEPEST);
        assert!(html.contains("deep"));
    }
}
