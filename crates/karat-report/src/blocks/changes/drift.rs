//! Drift of a daily series as blocks: cards for each system, bad days, skipped days.

use karat_analysis::drift::{Drift, DriftStatus, SystemDrifts};
use karat_page::block::verdict::Verdict;
use karat_page::block::{Block, Cell, Head, Stat};

use crate::blocks::build::{count, numbers, prose, stats, table_if_any, texts, value, word_card};
use crate::shared::scales::bare_scale;

pub(in crate::blocks) fn blocks(found: &SystemDrifts) -> Vec<Block> {
    let first = found.iter().next();
    let method = first.map_or("", |it| it.method.as_str());
    let metric = first.map_or("", |it| it.metric.as_str());
    let mut head = Head::new(format!("Drift of {metric}"), "Are the last days worse than the weeks before?");
    if let Some(first) = first {
        head = head.with_n(first.n as u64);
        head.notes.push(format!(
            "Method {method}, as of {}: the last {} days against the {} before.",
            first.as_of, first.short_window, first.long_window
        ));
    }
    head.notes.extend(found.warnings());
    let cards = stats(head, found.iter().map(card).collect());
    let alerts = found.iter().flat_map(|drift| {
        drift.alerts.iter().map(|day| {
            vec![
                Cell::text(&day.day),
                value(Some(day.short_median), &bare_scale()),
                value(Some(day.long_median), &bare_scale()),
                value(Some(day.z), &bare_scale()),
                count(Some(day.n_short as u64)),
                count(Some(day.n_long as u64)),
            ]
        })
    });
    let columns = numbers("Bad day", ["Short median", "Long median", "z", "Days (short)", "Days (long)"]);
    let alerts = table_if_any(Head::new("Bad days", "Which days are out of the band?"), columns, alerts);
    let skipped =
        found.iter().flat_map(|drift| drift.skipped.iter().map(|day| vec![Cell::text(&day.day), prose(&day.reason)]));
    let skipped =
        table_if_any(Head::new("Skipped days", "Which days have no verdict?"), texts(["Day", "Reason"]), skipped);
    [Some(cards), alerts, skipped].into_iter().flatten().collect()
}

fn card(drift: &Drift) -> Stat {
    let (words, verdict) = match drift.status {
        DriftStatus::Ok if drift.is_silent() => ("too few days for a verdict", Some(Verdict::Undecided)),
        DriftStatus::Ok => ("no drift", Some(Verdict::Pass)),
        DriftStatus::Alert => ("alert", Some(Verdict::Worse)),
        DriftStatus::NoData => ("no data", None),
    };
    let incident = drift.incident.as_ref().map(|incident| match &incident.closed {
        None => format!("an incident is open since {}", incident.opened),
        Some(closed) => format!("the last incident lasted from {} to {closed}", incident.opened),
    });
    let silent = drift.is_silent().then(|| "`karat drift` reads the days of all runs".to_owned());
    let label = drift.system.as_deref().unwrap_or("no system");
    Stat { verdict, note: incident.or(silent), ..word_card("drift", label, words) }
}
