//! HTML: the visible text by block, headings, links. A tolerant reader of pages, not a validator: whatever is between
//! `<` and `>` is a tag, scripts and styles are left out, list items begin with `- `.

use super::{Block, Document};

/// Elements whose content nobody sees.
const HIDDEN: &[&str] = &["script", "style", "noscript", "template", "svg"];
/// Elements that stand in a line with their neighbours.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "img", "kbd", "label", "mark",
    "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
];

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
        let Some(close) = rest.find('>') else { break };
        let tag = &rest[1..close];
        rest = &rest[close + 1..];
        let name = name(tag);
        if HIDDEN.contains(&name.as_str()) && !tag.starts_with('/') && !tag.ends_with('/') {
            rest = behind(rest, &name);
        } else {
            page.tag(tag, &name);
        }
    }
    page.text(rest);
    page.close();
    page.document
}

/// What follows the end of an element.
fn behind<'a>(text: &'a str, name: &str) -> &'a str {
    let lower = text.to_ascii_lowercase();
    match lower.find(&format!("</{name}")) {
        Some(at) => text[at..].find('>').map_or("", |end| &text[at + end + 1..]),
        None => "",
    }
}

#[derive(Default)]
struct Page {
    document: Document,
    block: String,
    is_heading: bool,
    is_title: bool,
    is_code: bool,
}

impl Page {
    fn text(&mut self, raw: &str) {
        let text = unescape(raw);
        for (at, word) in text.split_whitespace().enumerate() {
            let begins = at > 0 || text.starts_with(char::is_whitespace);
            if begins && !self.block.is_empty() && !self.block.ends_with(' ') {
                self.block.push(' ');
            }
            self.block.push_str(word);
        }
        if text.ends_with(char::is_whitespace) && !self.block.is_empty() && !self.block.ends_with(' ') {
            self.block.push(' ');
        }
    }

    fn tag(&mut self, tag: &str, name: &str) {
        let is_end = tag.starts_with('/');
        if name == "a" && !is_end {
            self.document.links.extend(attribute(tag, "href").filter(|url| url.starts_with("http")));
        }
        if INLINE.contains(&name) {
            return;
        }
        self.close();
        match (name, is_end) {
            ("title", false) => self.is_title = true,
            ("pre", _) => self.is_code = !is_end,
            ("li", false) => self.block.push_str("- "),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => self.is_heading = true,
            _ => {}
        }
    }

    /// Ends the block that is under way.
    fn close(&mut self) {
        let text = std::mem::take(&mut self.block).trim_end().to_owned();
        let (is_heading, is_title) = (std::mem::take(&mut self.is_heading), std::mem::take(&mut self.is_title));
        if text.is_empty() || text == "-" {
            return;
        }
        if is_title {
            self.document.title.get_or_insert(text);
        } else {
            self.document.blocks.push(Block { text, is_heading, is_code: self.is_code });
        }
    }
}

fn name(tag: &str) -> String {
    let tag = tag.trim_start_matches('/');
    tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default().to_ascii_lowercase()
}

/// The value of an attribute, in quotes or bare.
fn attribute(tag: &str, wanted: &str) -> Option<String> {
    let at = tag.to_ascii_lowercase().find(&format!("{wanted}="))? + wanted.len() + 1;
    let rest = tag.get(at..)?.trim_start();
    let value = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next()?,
        _ => rest.split_whitespace().next()?,
    };
    Some(unescape(value))
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.char_indices().take(12).find(|(_, c)| *c == ';').map(|(end, _)| end);
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                plain.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        "ndash" => Some('–'),
        "mdash" => Some('—'),
        "hellip" => Some('…'),
        "euro" => Some('€'),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
