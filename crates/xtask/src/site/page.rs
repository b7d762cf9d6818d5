//! One HTML page as a reader of links sees it: a browser's tokenizer, without a tree.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};

/// The role of an address in its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A reader follows it.
    Link,
    /// The browser loads it with the page: a script, a style, an image, a frame.
    Resource,
}

/// An address in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The address as it stands there, without entities.
    pub address: String,
    /// Its role.
    pub role: Role,
    /// The line of its element, from 1.
    pub line: u64,
}

/// A page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub references: Vec<Reference>,
    /// The ids that a fragment can name.
    pub ids: HashSet<String>,
    /// The address that relative addresses begin at (`<base href>`), if it has one.
    pub base: Option<String>,
    /// The content of its `<style>` elements.
    pub style: String,
    /// Its content security policy (`<meta http-equiv>`), if it has one.
    pub policy: Option<String>,
}

impl Page {
    /// Reads a page.
    pub fn read(html: &str) -> Self {
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(html));
        let tokenizer = Tokenizer::new(Reader::default(), html5ever::tokenizer::TokenizerOpts::default());
        // The sink stops at nothing, so one call reads all of the input.
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        tokenizer.sink.page.into_inner()
    }
}

#[derive(Default)]
struct Reader {
    page: RefCell<Page>,
    is_style: Cell<bool>,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return self.open(&tag, line),
            Token::TagToken(tag) if &*tag.name == "style" => self.is_style.set(false),
            Token::CharacterTokens(text) if self.is_style.get() => self.page.borrow_mut().style.push_str(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Reader {
    fn open(&self, tag: &Tag, line: u64) -> TokenSinkResult<()> {
        let attribute = |name: &str| {
            let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
            found.map(|attribute| attribute.value.to_string())
        };
        let mut page = self.page.borrow_mut();
        page.ids.extend(attribute("id"));
        let mut add = |address: Option<String>, role| {
            page.references.extend(address.map(|address| Reference { address: address.trim().to_owned(), role, line }));
        };
        let name = &*tag.name;
        match name {
            "a" | "area" => add(attribute("href"), Role::Link),
            "form" => add(attribute("action"), Role::Link),
            // `rel="canonical"`, `next` and so on are followed by nobody before a click.
            "link" if is_link_only(attribute("rel").as_deref()) => add(attribute("href"), Role::Link),
            "link" => add(attribute("href"), Role::Resource),
            "script" | "img" | "iframe" | "source" | "video" | "audio" | "embed" | "input" | "track" => {
                add(attribute("src"), Role::Resource);
                for part in attribute("srcset").iter().flat_map(|set| set.split(',')) {
                    add(part.split_whitespace().next().map(str::to_owned), Role::Resource);
                }
            }
            "object" => add(attribute("data"), Role::Resource),
            // `image` and `use` of an SVG drawing.
            "image" | "use" => add(attribute("href").or_else(|| attribute("xlink:href")), Role::Resource),
            _ => {}
        }
        match name {
            "a" => page.ids.extend(attribute("name")),
            "base" => page.base = attribute("href"),
            "meta"
                if attribute("http-equiv").is_some_and(|kind| kind.eq_ignore_ascii_case("content-security-policy")) =>
            {
                page.policy = attribute("content");
            }
            _ => {}
        }
        self.is_style.set(name == "style");
        match name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "iframe" => TokenSinkResult::RawData(RawKind::Rawtext),
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// Returns true for a `rel` whose address no browser loads with the page.
fn is_link_only(rel: Option<&str>) -> bool {
    const LINKS: [&str; 6] = ["canonical", "next", "prev", "alternate", "license", "author"];
    rel.is_some_and(|rel| rel.split_whitespace().all(|word| LINKS.contains(&word.to_ascii_lowercase().as_str())))
}
