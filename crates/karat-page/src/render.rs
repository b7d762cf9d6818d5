//! A block to a panel.

use maud::{Markup, html};

use crate::block::{Block, Head, TextForm};
use crate::chart::{curve, grid, rows};
use crate::component::{cards, excerpts, highlight, state, table, transcript};
use crate::number::count;
use crate::text::markdown;
use crate::text::visible::{Words, line};

/// Renders a block as a panel with its heading.
pub fn render(block: &Block) -> Markup {
    let head = block.head();
    let unit = head.unit.clone().or_else(|| unit_name(block));
    html! {
        article.panel data-testid="panel" data-block=(block.kind()) data-analysis=[head.analysis.as_deref().map(line)] {
            (heading(head, unit.as_deref()))
            @if is_empty(block) { (state::empty(&head.empty)) } @else { (content(block)) }
            @if !head.notes.is_empty() {
                ul.notes { @for note in &head.notes { li { (Words(note)) } } }
            }
        }
    }
}

/// Renders blocks one after the other.
pub fn render_all(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (render(block)) } }
}

fn heading(head: &Head, unit: Option<&str>) -> Markup {
    html! {
        header {
            h3 { (line(&head.title)) }
            @if !head.question.is_empty() { p.question { (Words(&head.question)) } }
            @if unit.is_some() || head.n.is_some() {
                p.facts {
                    @if let Some(n) = head.n { span { "n = " (count(n)) } }
                    @if let Some(unit) = unit { span { (line(unit)) } }
                }
            }
        }
    }
}

fn unit_name(block: &Block) -> Option<String> {
    let scale = match block {
        Block::Bars(it) => &it.scale,
        Block::Forest(it) => &it.scale,
        Block::Histogram(it) => &it.scale,
        Block::Series(it) => &it.scale,
        Block::Radar(it) => &it.scale,
        Block::Stack(it) => &it.scale,
        _ => return None,
    };
    scale.unit_name()
}

/// Returns true if a block has nothing to show but its head.
pub fn is_empty(block: &Block) -> bool {
    match block {
        Block::Stats(it) => it.stats.is_empty(),
        Block::Table(it) => it.rows.rows.is_empty(),
        Block::Bars(it) => it.bars.is_empty(),
        Block::Forest(it) => it.rows.is_empty(),
        Block::Matrix(it) => it.rows.is_empty() || it.columns.is_empty(),
        Block::Curve(it) => it.lines.iter().all(|it| it.points.is_empty()),
        Block::Scatter(it) => it.points.is_empty(),
        Block::Histogram(it) => it.values.is_empty(),
        Block::Series(it) => it.dates.is_empty() || it.lines.is_empty(),
        Block::Radar(it) => it.axes.is_empty(),
        Block::Stack(it) => it.dates.is_empty() || it.parts.is_empty(),
        Block::Excerpts(it) => it.items.is_empty(),
        Block::Text(it) => it.text.is_empty(),
        Block::Transcript(it) => it.messages.is_empty(),
    }
}

fn content(block: &Block) -> Markup {
    match block {
        Block::Stats(it) => cards::render(&it.stats),
        Block::Table(it) => table::interactive(it),
        Block::Bars(it) => rows::bars::render(it),
        Block::Forest(it) => rows::forest::render(it),
        Block::Matrix(it) => grid::render(it),
        Block::Curve(it) => curve::lines::render(it),
        Block::Scatter(it) => curve::scatter::render(it),
        Block::Histogram(it) => curve::histogram::render(it),
        Block::Series(it) => curve::series::render(it),
        Block::Radar(it) => curve::radar::render(it),
        Block::Stack(it) => curve::stack::render(it),
        Block::Excerpts(it) => excerpts::render(it),
        Block::Text(it) => match it.form {
            TextForm::Markdown => html! { div.prose-block dir="auto" { (markdown::render(&it.text)) } },
            TextForm::Plain => html! { div.text-block dir="auto" { (highlight::render(&it.text, &it.highlights)) } },
        },
        Block::Transcript(it) => transcript::render(&it.messages),
    }
}
