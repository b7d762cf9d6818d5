//! HTML: the visible text by block, headings, links. A tolerant reader of pages, not a validator: whatever is between
//! `<` and `>` is a tag, scripts and styles are left out, list items begin with `- `.

use super::{Block, Document, links};

/// Elements whose content is not displayed.
const HIDDEN: &[&str] = &["script", "style", "noscript", "template", "svg"];
/// Inline elements.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "img", "kbd", "label", "mark",
    "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
];

/// Elements for code: links in them are examples, not sources.
const CODE: &[&str] = &["code", "pre", "samp", "kbd"];

/// Elements that hold a document, or a part of it.
const CONTENT: &[&str] = &["article", "main", "section"];
/// Elements around a document, the same on every page of a site.
const AROUND: &[&str] = &["nav", "header", "footer", "aside"];

/// The document of a page.
pub(super) fn document(text: &str) -> Document {
    let mut page = Page::default();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        page.text(&rest[..open]);
        rest = &rest[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        if !rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            page.text("<");
            rest = &rest[1..];
            continue;
        }
        let Some(close) = tag_end(rest) else { break };
        let tag = &rest[1..close];
        rest = &rest[close + 1..];
        let name = name(tag);
        if HIDDEN.contains(&name.as_str()) && !tag.starts_with('/') && !tag.ends_with('/') {
            rest = text_after(rest, &name);
        } else {
            page.tag(tag, &name);
        }
    }
    page.text(rest);
    page.close();
    page.document
}

/// Returns the end of the tag at the beginning of a text: its first `>` outside of quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            // A quote belongs to a value; elsewhere it is a slip of the author.
            None if matches!(c, '"' | '\'') && before == '=' => quote = Some(c),
            None if c == '>' => return Some(at),
            None => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    text.find('>')
}

/// The text after the end of an element.
fn text_after<'a>(text: &'a str, name: &str) -> &'a str {
    let is_end = |at: &usize| {
        let rest = text.as_bytes().get(at + 2..at + 2 + name.len());
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(name.as_bytes()))
    };
    let end = text.match_indices("</").map(|(at, _)| at).find(is_end);
    end.and_then(|at| Some(&text[at + text[at..].find('>')? + 1..])).unwrap_or_default()
}

#[derive(Default)]
struct Page {
    document: Document,
    block: String,
    /// The text of the block without code and link texts.
    prose: String,
    heading: Option<u8>,
    is_title: bool,
    /// Elements around that show code.
    code: Vec<String>,
    /// Elements around that say whether this is the document or the site.
    parts: Vec<String>,
    /// True if a block of code is open.
    is_code: bool,
    is_link: bool,
}

impl Page {
    fn text(&mut self, raw: &str) {
        let text = html_escape::decode_html_entities(raw);
        if self.is_code {
            self.block.push_str(&text);
            return;
        }
        collapse(&text, &mut self.block);
        match self.code.is_empty() && !self.is_link {
            true => collapse(&text, &mut self.prose),
            false => self.prose.push(' '),
        }
    }

    fn tag(&mut self, tag: &str, name: &str) {
        let is_end = tag.starts_with('/');
        if name == "a" {
            let counts = !is_end && self.code.is_empty() && !self.is_around();
            let target = attribute(tag, "href").filter(|_| counts).and_then(|url| links::web(&url));
            self.is_link = target.is_some();
            self.document.links.extend(target);
        }
        if CODE.contains(&name) {
            nest(&mut self.code, name, is_end);
        }
        if INLINE.contains(&name) {
            return;
        }
        self.close();
        if CONTENT.contains(&name) || AROUND.contains(&name) {
            nest(&mut self.parts, name, is_end);
        }
        match (name, is_end) {
            ("title", false) => self.is_title = true,
            ("pre", _) => self.is_code = !is_end,
            ("li", false) => self.block.push_str("- "),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => self.heading = name[1..].parse().ok(),
            _ => {}
        }
    }

    /// Returns whether this is the site around the document: its navigation, or text outside of every part of the
    /// document.
    fn is_around(&self) -> bool {
        let is_outside = self.parts.first().is_some_and(|part| AROUND.contains(&part.as_str()));
        is_outside || self.parts.iter().any(|part| part == "nav")
    }

    /// Ends the block that is under way.
    fn close(&mut self) {
        let text = std::mem::take(&mut self.block).trim_end().trim_start_matches('\n').to_owned();
        let prose = std::mem::take(&mut self.prose);
        let (heading, is_title) = (self.heading.take(), std::mem::take(&mut self.is_title));
        if text.is_empty() || text == "-" {
            return;
        }
        if is_title {
            self.document.title.get_or_insert(text);
        } else {
            let is_apart = self.is_code || self.is_around();
            if !is_apart {
                self.document.links.extend(links::inline(&prose).map(str::to_owned));
            }
            self.document.blocks.push(Block { text, heading, is_apart });
        }
    }
}

/// Opens an element, or ends it with all that was opened within.
fn nest(open: &mut Vec<String>, name: &str, is_end: bool) {
    match is_end {
        false => open.push(name.to_owned()),
        true => open.truncate(open.iter().rposition(|known| known == name).unwrap_or(open.len())),
    }
}

/// Appends a text with every white space in it one blank, as a page shows it.
fn collapse(text: &str, to: &mut String) {
    for (at, word) in text.split_whitespace().enumerate() {
        let begins = at > 0 || text.starts_with(char::is_whitespace);
        if begins && !to.is_empty() && !to.ends_with(' ') {
            to.push(' ');
        }
        to.push_str(word);
    }
    if text.ends_with(char::is_whitespace) && !to.is_empty() && !to.ends_with(' ') {
        to.push(' ');
    }
}

fn name(tag: &str) -> String {
    let tag = tag.trim_start_matches('/');
    tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default().to_ascii_lowercase()
}

/// The value of an attribute, in quotes or bare.
fn attribute(tag: &str, wanted: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let value = lower.match_indices(wanted).find_map(|(at, _)| {
        let is_whole = tag[..at].ends_with(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/'));
        let value = tag[at + wanted.len()..].trim_start().strip_prefix('=')?.trim_start();
        is_whole.then_some(value)
    })?;
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split_whitespace().next()?,
    };
    Some(html_escape::decode_html_entities(value.trim()).into_owned())
}
