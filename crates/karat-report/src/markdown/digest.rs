//! The digest of a window of days: coverage, medians and one line a day for each system.

use karat_analysis::Day;
use karat_analysis::digest::{Digest, SystemDigest};

use super::page::{Column, Inline, Page};

/// Returns the digest as Markdown: composites with two decimals, axes with at most two.
pub fn digest(digest: &Digest) -> String {
    let mut page = Page::default();
    let title = Inline::plain("Digest of ").and_text(&digest.suite).and(": ").and_text(&digest.since);
    page.heading(1, title.and(" → ").and_text(&digest.until));
    let is_one = digest.systems.len() == 1;
    for system in &digest.systems {
        if !is_one {
            page.heading(2, Inline::text(system.system.as_deref().unwrap_or_default()));
        }
        one(&mut page, system, digest.window, if is_one { 2 } else { 3 });
    }
    page.finish()
}

fn one(page: &mut Page, digest: &SystemDigest, window: u32, level: usize) {
    let fixed = |value: f64| Inline::text(format!("{value:.2}"));
    let coverage = format!("{}/{window} days", digest.days.len());
    let mut facts = vec![Inline::plain("Coverage:").bold().and(" ").and_text(coverage)];
    if let Some(composite) = digest.composite {
        facts.push(Inline::plain("Composite (median):").bold().and(" ").then(fixed(composite.median)));
        let range = fixed(composite.min).and(" / ").then(fixed(composite.max));
        facts.push(Inline::plain("Composite (min/max):").bold().and(" ").then(range));
    }
    if !digest.judges.is_empty() {
        facts.push(Inline::plain("Judges:").bold().and(" ").and_text(digest.judges.join(", ")));
    }
    facts.into_iter().for_each(|fact| page.paragraph(fact));
    if digest.composite.is_some() {
        page.paragraph(Inline::plain(
            "The composite of a day comes from the latest run that judged it; golden checks do not count.",
        ));
    }
    page.list(digest.warnings.iter().map(Inline::text));
    if !digest.axes.is_empty() {
        page.heading(level, Inline::plain("Axis medians"));
        let columns = [Column::left(Inline::plain("axis")), Column::right(Inline::plain("median"))];
        page.table(&columns, digest.axes.iter().map(|(axis, median)| vec![Inline::text(axis), short(*median, 1)]));
    }
    page.heading(level, Inline::plain("Days"));
    let mut columns = vec![Column::left(Inline::plain("date")), Column::right(Inline::plain("composite"))];
    columns.extend(digest.axes.iter().map(|(axis, _)| Column::right(Inline::text(axis))));
    columns.push(Column::left(Inline::plain("judge")));
    page.table(&columns, digest.days.iter().map(|day| line(day, digest)));
    if !digest.missing.is_empty() {
        page.paragraph(Inline::plain("Days without a judgment: ").and_text(digest.missing.join(", ")).and("."));
    }
}

fn line(day: &Day, digest: &SystemDigest) -> Vec<Inline> {
    let axis = |(name, _): &(String, f64)| day.axis(name).map_or_else(Inline::default, |it| short(it, 0));
    let judges: Vec<&str> = day.judges.iter().map(String::as_str).collect();
    let first = [Inline::text(&day.date), Inline::text(format!("{:.2}", day.value()))];
    first.into_iter().chain(digest.axes.iter().map(axis)).chain([Inline::text(judges.join(", "))]).collect()
}

/// Formats a figure with as many decimals as it has, from `least` to two.
fn short(value: f64, least: usize) -> Inline {
    let precise = format!("{value:.2}");
    let decimals = precise.trim_end_matches('0').rsplit_once('.').map_or(0, |(_, decimals)| decimals.len());
    Inline::text(format!("{value:.*}", decimals.max(least)))
}
