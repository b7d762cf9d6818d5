//! The document around a page: head, landmarks, skip link, sections, theme switch.
//!
//! A page is one file ([`Document::to_file`]: everything inline, allowed by hash) or is served ([`Document::to_live`]:
//! style and script under hashed names, the policy in a header of the server).

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

use crate::assets;
use crate::component::table::link;
use crate::text::visible::{Words, line};

/// A link in the bar or the list of sections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NavLink {
    /// Its words.
    pub text: String,
    /// Its address.
    pub href: String,
    /// True for the page or section that is shown.
    pub is_current: bool,
}

impl NavLink {
    /// A link to another place.
    pub fn new(text: impl Into<String>, href: impl Into<String>) -> Self {
        Self { text: text.into(), href: href.into(), is_current: false }
    }
}

/// The people who work with a page, which decides what stands around it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// Readers of the dashboard.
    #[default]
    Readers,
    /// The owner of a task for people, who decides.
    Owner,
    /// People who label: nothing leads to the dashboard.
    Labellers,
}

/// A page without its shell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document {
    /// The title: the one `h1`.
    pub title: String,
    /// One line below the title.
    pub lead: Option<String>,
    /// Name for tests, such as `page-run`.
    pub name: String,
    /// The way from the start page to this one.
    pub breadcrumbs: Vec<NavLink>,
    /// The sections of the page.
    pub sections: Vec<NavLink>,
    /// Keys that act on this page beside the common ones, and what they do.
    pub keys: Vec<(String, String)>,
    /// The page.
    #[serde(with = "markup_text")]
    pub body: Markup,
    /// One line at the end.
    pub foot: Option<String>,
    /// The people who work with it.
    pub audience: Audience,
}

/// Markup as the text that it is.
mod markup_text {
    use maud::{Markup, PreEscaped};
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(markup: &Markup, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&markup.0)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Markup, D::Error> {
        String::deserialize(deserializer).map(PreEscaped)
    }
}

/// The pages that every page of the dashboard leads to: the key `g` that goes there, address, words and name.
const PAGES: [(Option<&str>, &str, &str, &str); 4] = [
    (Some("go-runs"), "/", "Runs", "page-runs"),
    (Some("go-compare"), "/compare", "Compare", "page-compare"),
    (None, "/annotate", "Annotation tasks", "page-tasks"),
    (None, "/service", "Service", "page-service"),
];

/// Keys of every page.
const KEYS: &[(&str, &str)] = &[
    ("?", "this list"),
    ("/", "search"),
    ("j k  ↓ ↑", "next and previous row"),
    ("Enter", "open or choose the row"),
    ("Esc", "close and go back"),
];

impl Document {
    /// A document with this title and body.
    pub fn new(name: impl Into<String>, title: impl Into<String>, body: Markup) -> Self {
        Self {
            title: title.into(),
            lead: None,
            name: name.into(),
            breadcrumbs: Vec::new(),
            sections: Vec::new(),
            keys: Vec::new(),
            body,
            foot: None,
            audience: Audience::Readers,
        }
    }

    /// Returns the page as one file that loads nothing.
    pub fn to_file(&self) -> String {
        let inline = assets::inline();
        let head = html! {
            meta http-equiv="Content-Security-Policy" content=(inline.policy);
            style { (PreEscaped(&inline.style)) }
            script { (PreEscaped(&inline.script)) }
        };
        self.render(&head, false)
    }

    /// Returns the page with links to its assets below `base`, such as `/assets/`.
    pub fn to_live(&self, base: &str) -> String {
        let assets = assets::live();
        let (style, script) = match self.audience {
            Audience::Readers => (&assets.style, &assets.script),
            Audience::Owner | Audience::Labellers => (&assets.annotate.0, &assets.annotate.1),
        };
        let head = html! {
            // Without one, browsers ask the server for /favicon.ico.
            link rel="icon" href="data:,";
            link rel="preload" href={ (base) (assets.font.name) } as="font" type="font/woff2" crossorigin;
            link rel="stylesheet" href={ (base) (style.name) };
            script src={ (base) (script.name) } {}
        };
        self.render(&head, true)
    }

    fn render(&self, head: &Markup, is_live: bool) -> String {
        let has_rail = !self.sections.is_empty();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    title { (line(&self.title)) " · karat" }
                    (head)
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    (self.bar(is_live && self.audience != Audience::Labellers))
                    @if has_rail {
                        nav.menu aria-label="Sections, menu" { details { summary { "Sections" } (list(&self.sections)) } }
                    }
                    div.frame.no-rail[!has_rail] {
                        @if has_rail { nav.rail aria-label="Sections" { (list(&self.sections)) } }
                        main id="main" tabindex="-1" data-testid=(line(&self.name)) {
                            div.head {
                                h1 { (line(&self.title)) }
                                @if let Some(lead) = &self.lead { p.soft { (Words(lead)) } }
                            }
                            (self.body)
                        }
                    }
                    footer.foot {
                        p { (line(self.foot.as_deref().unwrap_or("Made by karat."))) }
                    }
                    (patterns())
                }
            }
        };
        page.into_string() + "\n"
    }

    /// The bar on top: where else to go, if the page is one of the dashboard, and the way to this page.
    fn bar(&self, has_pages: bool) -> Markup {
        html! {
            header.bar {
                span.brand { "karat" }
                @if has_pages {
                    nav.pages aria-label="Pages" {
                        ul {
                            @for (go, href, words, name) in PAGES {
                                li { a data-go=[go] href=(href) aria-current=[(name == self.name).then_some("page")] { (words) } }
                            }
                        }
                    }
                }
                div.tools {
                    k-keys { (self.key_list()) }
                    k-theme {}
                }
                @if !self.breadcrumbs.is_empty() { nav.path aria-label="Path" { ol.crumbs { @for it in &self.breadcrumbs { (breadcrumb(it)) } } } }
            }
        }
    }

    fn key_list(&self) -> Markup {
        html! {
            dl {
                @for (key, what) in KEYS { dt { kbd { (key) } } dd { (what) } }
                @for (key, what) in &self.keys { dt { kbd { (line(key)) } } dd { (line(what)) } }
            }
        }
    }
}

fn breadcrumb(crumb: &NavLink) -> Markup {
    html! {
        li {
            @if crumb.is_current { span aria-current="page" { (line(&crumb.text)) } }
            @else { (link(&crumb.text, &crumb.href)) }
        }
    }
}

fn list(links: &[NavLink]) -> Markup {
    html! { ul { @for it in links { li { (link(&it.text, &it.href)) } } } }
}

/// A section of a page: its anchor, its heading and its content.
pub fn section(id: &str, title: &str, lead: Option<&str>, content: &Markup) -> Markup {
    html! {
        section.section id=(line(id)) {
            header { h2 { (line(title)) } @if let Some(lead) = lead { p.soft { (Words(lead)) } } }
            (content)
        }
    }
}

/// The pattern of missing cells, once a page: drawings refer to it.
fn patterns() -> Markup {
    html! {
        svg.hidden-text width="0" height="0" aria-hidden="true" {
            defs {
                pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.hatch-back width="6" height="6" {}
                    line.hatch-line x1="0" x2="0" y1="0" y2="6" {}
                }
            }
        }
    }
}
