//! The panel of a chosen card.

use karat_analysis::series::{SeriesCard, SeriesView};
use karat_page::component::detail::{Detail, Details};
use karat_page::number::{NONE, Scale};

use super::links::{SeriesLinks, SeriesState};
use super::scales;
use super::table::has_samples;
use crate::shared::moment::rfc3339;

pub(super) fn of(view: &SeriesView, links: &SeriesLinks, state: &SeriesState) -> Details {
    let name = scales::metric_name(view);
    let facts =
        [name, "Pinned", "Difference", "Taken by caps", "Sample", "Judge", "Prompt version", "Judged at", "Run"];
    let names = [
        Some("detail-composite"),
        Some("detail-baseline"),
        Some("detail-delta"),
        None,
        None,
        Some("detail-judge"),
        None,
        Some("detail-ran-at"),
        None,
    ];
    let mut columns = vec!["Axis", "Grade", "Pinned", "Difference"];
    if view.no_parts.is_none() {
        columns.push("Contribution");
    }
    let axes = scales::axes_in_rows(view);
    Details {
        facts: facts.map(str::to_owned).to_vec(),
        fact_names: names.map(|name| name.map(str::to_owned)).to_vec(),
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows: view.axes.iter().map(|axis| axis.name.clone()).collect(),
        rules: ("Caps".to_owned(), view.caps.iter().map(|cap| format!("{}: {}", cap.id, cap.rule)).collect()),
        link: "Trace: what the judge was sent and said".to_owned(),
        items: view.cards.iter().map(|card| detail(view, card, &axes, links)).collect(),
        shown: state.focus.as_deref().and_then(|key| view.card(key)).map(|card| card.key.clone()),
    }
}

fn detail(view: &SeriesView, card: &SeriesCard, axes: &[Scale], links: &SeriesLinks) -> Detail {
    let scale = scales::composite(view);
    let run = if card.is_golden_check { format!("{} (golden check)", card.run) } else { card.run.clone() };
    let taken = card.parts.as_ref().map(|parts| parts.taken).filter(|taken| *taken > 1e-9);
    let sample = if has_samples(view) { card.sample.clone() } else { String::new() };
    let trial = if card.trial > 0 { format!(", trial {}", card.trial + 1) } else { String::new() };
    let again = if card.is_regraded { " (graded again)" } else { "" };
    Detail {
        key: card.key.clone(),
        title: format!("{}{trial}", card.date),
        facts: vec![
            scale.text(card.composite),
            card.baseline.map(|value| scale.text(value)).unwrap_or_default(),
            card.delta().map(|delta| scale.signed_text(delta)).unwrap_or_default(),
            taken.map(|taken| scale.text(taken)).unwrap_or_default(),
            sample,
            card.judge.clone().unwrap_or_default(),
            card.prompt_version.clone().unwrap_or_default(),
            format!("{}{again}", rfc3339(card.made_at)),
            run,
        ],
        cells: axes.iter().enumerate().map(|(at, axis)| cells(view, card, at, (axis, &scale))).collect(),
        rules: card.caps.clone(),
        prose: card.notes.clone(),
        href: links.trace(card),
    }
}

fn cells(view: &SeriesView, card: &SeriesCard, at: usize, (scale, composite): (&Scale, &Scale)) -> Vec<String> {
    let axis = card.axes.get(at).copied().unwrap_or_default();
    let part = card.parts.as_ref().and_then(|parts| parts.axes.get(at));
    let pinned = axis.baseline.map(|value| scale.text(value)).unwrap_or_default();
    let delta = axis.delta().map(|delta| scale.signed_text(delta)).unwrap_or_default();
    let contribution =
        view.no_parts.is_none().then(|| part.map_or_else(|| NONE.to_owned(), |part| composite.text(*part)));
    [scale.text_or_none(axis.value), pinned, delta].into_iter().chain(contribution).collect()
}
