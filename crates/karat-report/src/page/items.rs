//! The page of a test set: what it can still show, its items by difficulty and discrimination, those that need attention with
//! their evidence, and rows that repeat each other.

use karat_analysis::Finding;
use karat_analysis::items::{FlagKind, ItemAnalysis, TestItem};
use karat_page::block::{Block, Cell, Column, Filter, Head, Row, Rows, Scatter, ScatterPoint, Stat, Stats, Table};
use karat_page::component::table::link;
use karat_page::number::{Estimate, Scale, Unit, count_noun, percent};
use karat_page::render;
use karat_page::text::diff;
use karat_page::text::visible::line;
use karat_page::{Document, Markup, html};

use super::links::Links;
use super::sections::{Sections, disclosure, remarks};
use crate::wording::items::{best_line, detectable_line, reliability_line};

/// Items with a flag that the table has.
const ROWS: usize = 1_000;

/// Clusters of repeated rows that are shown.
const CLUSTERS: usize = 50;

/// Rows of a cluster that are shown.
const MEMBERS: usize = 10;

/// A row that repeats another.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedRow {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Likeness to the row that is kept, up to 1.
    pub similarity: f64,
}

/// Rows that repeat each other.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedRows {
    /// The first of them, with a likeness of 1 to itself.
    pub kept: RepeatedRow,
    /// The others.
    pub members: Vec<RepeatedRow>,
}

/// Returns the page of a test set.
pub fn items(analysis: &ItemAnalysis, repeated: &[RepeatedRows], links: &Links) -> Document {
    let mut sections = Sections::default();
    sections.add("set", "The set", None, &set(analysis));
    sections.add("plot", "Items", None, &render(&plot(analysis)));
    sections.add("flagged", "Items that need attention", None, &flagged_items(analysis, links));
    sections.add("duplicates", "Rows that repeat each other", None, &duplicates(repeated, links));
    let mut notes = vec![format!(
        "{} of {}, by {}",
        count_noun(analysis.systems.len() as u64, "system"),
        count_noun(analysis.runs.len() as u64, "run"),
        analysis.metric
    )];
    notes.extend(analysis.systems.iter().map(|system| {
        let family = if system.has_family { format!(", family {}", system.family) } else { String::new() };
        format!("{}: {}{family}", system.id, count_noun(system.items, "item"))
    }));
    notes.extend(analysis.notes.iter().cloned());
    sections.add("provenance", "How these numbers were made", None, &remarks(&notes));
    let page = sections.document("page-items", format!("Test set of {}", line(&analysis.suite)));
    let lead = format!("{} by {}", count_noun(analysis.items.len() as u64, "item"), analysis.metric);
    Document { lead: Some(lead), ..page }
}

fn estimate(found: &Finding) -> Estimate {
    Estimate { value: Some(found.value()), interval: found.interval(), n: found.n(), ..Estimate::default() }
}

fn set(analysis: &ItemAnalysis) -> Markup {
    let headroom = &analysis.headroom;
    let share = |key: &str, label: &str, found: &Option<Finding>, flag: FlagKind| Stat {
        key: key.to_owned(),
        label: label.to_owned(),
        estimate: found.as_ref().map_or_else(|| Estimate::missing("the metric has no range"), estimate),
        scale: Scale { unit: Unit::Share, ..Scale::default() },
        href: (analysis.count(flag) > 0).then(|| "#flagged".to_owned()),
        ..Stat::default()
    };
    let reliability = match (&headroom.reliability, &headroom.no_reliability) {
        (Some(found), _) => estimate(found),
        (None, why) => Estimate::missing(why.clone().unwrap_or_default()),
    };
    let suspects = analysis.suspects().count() as u64;
    let stats = vec![
        Stat {
            key: "suspects".to_owned(),
            label: "May be wrong".to_owned(),
            estimate: Estimate::point(suspects as f64, analysis.items.len() as u64),
            scale: Scale::of(Unit::Count),
            ..Stat::default()
        },
        share("saturated", "Saturated", &headroom.saturated, FlagKind::Saturated),
        share("never-solved", "Never solved", &headroom.never_solved, FlagKind::NeverSolved),
        Stat {
            key: "reliability".to_owned(),
            label: "Reliability".to_owned(),
            estimate: reliability,
            scale: Scale::score(-1.0, 1.0),
            ..Stat::default()
        },
    ];
    let mut lines: Vec<String> = best_line(analysis).map(|it| format!("Best system: {it}.")).into_iter().collect();
    lines.push(format!("Reliability: {}.", reliability_line(analysis)));
    lines.extend(detectable_line(analysis).map(|it| format!("Detectable difference: {it}.")));
    let head = Head::new("What can the set still show?", "How many items say nothing, and do the others agree?");
    html! { (render(&Block::Stats(Stats { head, stats }))) div data-testid="headroom" { (remarks(&lines)) } }
}

/// The group of an item in the plot.
fn group(item: &TestItem) -> usize {
    match item {
        _ if item.is_suspect() => 1,
        _ if item.has(FlagKind::Saturated) => 2,
        _ if !item.flags.is_empty() => 3,
        _ => 0,
    }
}

fn plot(analysis: &ItemAnalysis) -> Block {
    let point = |item: &TestItem| {
        let (x, y) = (item.difficulty.as_ref()?.value(), item.discrimination.as_ref()?.value());
        Some(ScatterPoint { name: item.id.clone(), x, y, group: group(item), key: Some(item.id.clone()) })
    };
    let points: Vec<ScatterPoint> = analysis.items.iter().filter_map(point).collect();
    let without = analysis.items.len() - points.len();
    let mut head = Head::new("Which items tell systems apart?", "Good items are neither solved by all nor by none, and high up.")
        .with_n(points.len() as u64)
        .when_empty_because(
            "No item has a difficulty and a discrimination: the latter takes eight systems of which two differ on the item.",
        );
    if without > 0 {
        head =
            head.with_note(format!("{} without a discrimination are not shown.", count_noun(without as u64, "item")));
    }
    Block::Scatter(Scatter {
        head,
        axes: ("difficulty".to_owned(), "discrimination".to_owned()),
        x: Scale::score(0.0, 1.0),
        y: Scale::score(-1.0, 1.0),
        groups: ["no flag", "may be wrong", "saturated", "other flag"].map(str::to_owned).to_vec(),
        points,
        mark: Some((0.0, "no connection".to_owned())),
    })
}

fn flagged_items(analysis: &ItemAnalysis, links: &Links) -> Markup {
    let items: Vec<&TestItem> = analysis.items.iter().filter(|item| !item.flags.is_empty()).collect();
    let value = |found: &Option<Finding>, why: &str, scale: Scale| match found {
        Some(found) => Cell::Value(estimate(found), scale),
        None => Cell::Missing(why.to_owned()),
    };
    let row = |item: &&TestItem| {
        let name = match links.sample(&item.id) {
            Some(href) => Cell::Link { text: item.id.clone(), href },
            None => Cell::text(item.id.clone()),
        };
        let kinds: Vec<&str> = item.flags.iter().map(|flag| flag.flag.name()).collect();
        let evidence: Vec<&str> = item.flags.iter().map(|flag| flag.evidence.as_str()).collect();
        let advice = item.flags.first().map_or("", |flag| flag.advice);
        Row {
            key: Some(item.id.clone()),
            flags: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            ..Row::of(vec![
                name,
                Cell::text(kinds.join(", ")),
                value(&item.difficulty, "no range", Scale::score(0.0, 1.0)),
                value(
                    &item.discrimination,
                    item.no_discrimination.as_deref().unwrap_or("n/a"),
                    Scale::score(-1.0, 1.0),
                ),
                Cell::Words(evidence.join("; ")),
                Cell::Words(advice.to_owned()),
            ])
        }
    };
    let filter = |kind: FlagKind| Filter {
        key: kind.name().to_owned(),
        label: kind.name().replace('-', " "),
        count: analysis.count(kind) as u64,
    };
    let filters = FlagKind::ALL.into_iter().map(filter).filter(|filter| filter.count > 0).collect();
    let head = Head::new("Which items need attention, and why?", "The most suspicious first.")
        .with_n(items.len() as u64)
        .when_empty_because("No item has a flag.");
    let rows = Rows {
        caption: "Items with a flag".to_owned(),
        columns: vec![
            Column::text("Item"),
            Column::text("Flags"),
            Column::number("Difficulty"),
            Column::number("Discrimination"),
            Column::text("Evidence"),
            Column::text("What to do"),
        ],
        rows: items.iter().take(ROWS).map(row).collect(),
        left_out: items.len().saturating_sub(ROWS) as u64,
        all_by: Some("karat dataset items --format csv".to_owned()),
    };
    render(&Block::Table(Table { head, rows, filters, can_search: true }))
}

fn duplicates(repeated: &[RepeatedRows], links: &Links) -> Markup {
    let name = |id: &str| match links.sample(id) {
        Some(href) => link(id, &href),
        None => html! { bdi { (line(id)) } },
    };
    html! {
        @for cluster in repeated.iter().take(CLUSTERS) {
            @let title = format!("{} is like {}", line(&cluster.kept.id), count_noun(cluster.members.len() as u64, "other row"));
            div data-testid="cluster" {
                (disclosure(&title, &html! {
                    @for member in cluster.members.iter().take(MEMBERS) {
                        p { (name(&cluster.kept.id)) " and " (name(&member.id)) ": " (percent(member.similarity)) " of their phrases are the same" }
                        (diff::render(&cluster.kept.text, &member.text))
                    }
                    @if cluster.members.len() > MEMBERS { p.left-out { (count_noun((cluster.members.len() - MEMBERS) as u64, "more row")) } }
                }))
            }
        }
        @if repeated.len() > CLUSTERS {
            p.left-out data-testid="left-out" { (count_noun((repeated.len() - CLUSTERS) as u64, "more cluster")) "; " code { "karat dataset dedup --report" } " lists all." }
        }
    }
}

#[cfg(test)]
mod tests {
    use karat_analysis::items::{ItemOptions, analyse_items};
    use karat_analysis::testing::Sketch;
    use serde_json::json;

    use super::*;

    /// BC-08: the page shows the set, each flagged item with evidence and advice, and repeated rows with their difference;
    /// ids with markup are texts.
    #[test]
    fn the_page_shows_items_with_their_evidence() {
        let mut run = Sketch::new(3, 1, 4).metric("range", json!([0.0, 1.0])).fill(0.0).value(1, 0, 1.0).run();
        run.samples[0].id = "<b>\n0".to_owned();
        let analysis = analyse_items(&[&run], &ItemOptions::default()).unwrap();
        let row = |id: &str, text: &str| RepeatedRow { id: id.to_owned(), text: text.to_owned(), similarity: 0.9 };
        let repeated = [RepeatedRows { kept: row("a", "one two"), members: vec![row("<i>", "one three")] }];
        let page = items(&analysis, &repeated, &Links::live("r")).to_file();
        for part in [
            "data-testid=\"page-items\"",
            "never-solved",
            "is above 5 % of the scale",
            "data-testid=\"cluster\"",
            "<del>",
            "#flagged",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<b>\n0") && !page.contains("<i>"));
    }
}
