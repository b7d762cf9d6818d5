//! Sections of a page in order, and the list of links to them.

use karat_page::component::shell::{NavLink, section};
use karat_page::{Document, Markup, html};

/// Sections of a page under construction.
#[derive(Debug, Default)]
pub(super) struct Sections {
    links: Vec<NavLink>,
    bodies: Vec<Markup>,
}

impl Sections {
    /// Adds a section, unless it is empty.
    pub fn add(&mut self, id: &str, title: &str, lead: Option<&str>, content: &Markup) {
        if !content.0.is_empty() {
            self.links.push(NavLink::new(title, format!("#{id}")));
            self.bodies.push(section(id, title, lead, content));
        }
    }

    /// Returns the page.
    pub fn document(self, name: &str, title: impl Into<String>) -> Document {
        let body = html! { @for body in &self.bodies { (body) } };
        let sections = if self.links.len() > 1 { self.links } else { Vec::new() };
        Document { sections, ..Document::new(name, title, body) }
    }
}

/// A disclosure that is closed until a reader opens it.
pub(super) fn disclosure(summary: &str, content: &Markup) -> Markup {
    html! { details { summary { (summary) } (content) } }
}

/// A disclosure that stays folded on paper, too: it is long, and tells nothing that is not said above it in short.
pub(super) fn long_disclosure(summary: &str, content: &Markup) -> Markup {
    html! { details.fold { summary { (summary) } (content) } }
}

/// A list of remarks; nothing if there are none.
pub(super) fn remarks(lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            ul.remarks { @for line in lines { li { (karat_page::text::visible::Words(line)) } } }
        }
    }
}
