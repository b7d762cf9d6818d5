//! The style page: every component and every chart in every state, with made-up data.
//!
//! - `charts`: blocks by chart and state; tests take snapshots of them.
//! - `parts`: components beside blocks; `browse`: lists of a server, and cells read whole.
//! - `data`: made-up numbers.

mod browse;
mod charts;
mod data;
mod parts;

use maud::{Markup, html};

use crate::block::Block;
use crate::component::shell::{Document, NavLink, section};
use crate::render::render;

/// Returns every chart in every state, as name of the chart, name of the state, and block.
pub fn states() -> Vec<(&'static str, &'static str, Block)> {
    charts::all()
}

/// Returns the style page.
pub fn style_page() -> Document {
    let mut sections: Vec<(String, String, Markup)> = parts::all()
        .into_iter()
        .chain(browse::all())
        .map(|(id, title, content)| (id.to_owned(), title.to_owned(), content))
        .collect();
    let states = states();
    let mut charts: Vec<&str> = states.iter().map(|(chart, ..)| *chart).collect();
    charts.dedup();
    for chart in charts {
        let panels = states.iter().filter(|(of, ..)| *of == chart);
        let content = html! { div.pair { @for (_, _, block) in panels { (render(block)) } } };
        sections.push((chart.to_lowercase().replace(' ', "-"), chart.to_owned(), content));
    }
    let links = sections.iter().map(|(id, title, _)| NavLink::new(title, format!("#{id}"))).collect();
    let body = html! { @for (id, title, content) in &sections { (section(id, title, None, content)) } };
    Document {
        lead: Some("Every component and every chart in every state, with made-up data.".to_owned()),
        breadcrumbs: vec![
            NavLink::new("Runs", "#main"),
            NavLink { is_current: true, ..NavLink::new("Style", "#main") },
        ],
        sections: links,
        foot: Some("Made-up data.".to_owned()),
        ..Document::new("page-style", "Style", body)
    }
}
