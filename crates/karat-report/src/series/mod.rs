//! The page of a dated suite: `SeriesView` to blocks and sections, the same for report.html and the live dashboard.
//!
//! - `links` has the addresses of a live page, and the state that its address names; a file has neither.
//! - `scales`: how numbers are written; `stats`: the cards at the top; `trend`, `profile`: the charts.
//! - `table`: the rows; `details`: what is shown of a chosen row; `about`: rules, weights, caps and pinned grades.
//! - `choices`: what is shown and, live, the form that chooses it.
//!
//! [`sections`] is the whole page; [`document`] puts it into a shell.

mod about;
mod choices;
mod details;
mod links;
mod profile;
mod scales;
mod stats;
mod table;
mod trend;

use karat_analysis::series::SeriesView;
use karat_page::component::linked::{self, Linked};
use karat_page::component::shell::{NavLink, section};
use karat_page::{Block, Document, Markup, html, render};

pub use links::{SeriesLinks, SeriesState, Sort};
pub use table::sorted_by;

/// A section of the page.
#[derive(Debug, Clone)]
pub struct SeriesSection {
    /// Its anchor.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// Its content.
    pub content: Markup,
}

/// The page as sections: figures, cards with their charts, rules.
pub fn sections(view: &SeriesView, links: &SeriesLinks, state: &SeriesState) -> Vec<SeriesSection> {
    let title = |title: &str| title.to_owned();
    let figures = html! {
        (choices::render(view, links))
        (stats::cards(view, links))
        @if !view.warnings.is_empty() { (choices::warnings(&view.warnings)) }
    };
    let mut sections = vec![
        SeriesSection { id: "figures", title: title("Is it slipping?"), content: figures },
        SeriesSection { id: "cards", title: title("Day by day"), content: cards(view, links, state) },
    ];
    let about = about::blocks(view);
    if !about.is_empty() {
        let content = html! { @for block in &about { (render(block)) } };
        sections.push(SeriesSection { id: "rules", title: title("How to read it"), content });
    }
    sections
}

/// The page in a shell.
pub fn document(view: &SeriesView, links: &SeriesLinks, state: &SeriesState) -> Document {
    let sections = sections(view, links, state);
    let body = html! {
        @for notice in &state.notices { p.state role="status" { (karat_page::text::visible::Words(notice)) } }
        @for it in &sections { (section(it.id, &it.title, None, &it.content)) }
    };
    Document {
        lead: Some(choices::lead(view)),
        breadcrumbs: links.breadcrumbs(&view.suite),
        sections: sections.iter().map(|it| NavLink::new(&it.title, format!("#{}", it.id))).collect(),
        ..Document::new("page-series", &view.suite, body)
    }
}

fn cards(view: &SeriesView, links: &SeriesLinks, state: &SeriesState) -> Markup {
    if view.cards.is_empty() {
        return render(&Block::Table(table::empty(view)));
    }
    let trend = trend::block(view);
    let histogram = profile::histogram(view);
    let charts = html! {
        (render(&trend))
        div.pair {
            @if let Some(radar) = profile::radar(view) { (render(&radar)) }
            (render(&histogram))
        }
        (render(&profile::stack(view)))
    };
    linked::render(&Linked {
        chips: table::chips(view, links, state),
        search: links.search(state, &table::column_names(view)),
        charts,
        table: table::cards(view, state),
        details: details::of(view, links, state),
    })
}
