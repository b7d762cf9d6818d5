//! The cards at the top: median, mean, drift, gates, regressions. Each leads to its rows.

use karat_analysis::drift::SkippedDay;
use karat_analysis::series::{CardFilter, DriftState, SeriesDrift, SeriesView};
use karat_page::block::verdict::Verdict;
use karat_page::block::{Stat, Stats};
use karat_page::number::{Estimate, Scale, Unit, count_noun};
use karat_page::{Block, Head, Markup, render};

use super::links::SeriesLinks;
use super::scales;

pub(super) fn cards(view: &SeriesView, links: &SeriesLinks) -> Markup {
    let head = Head::new("At a glance", "");
    render(&Block::Stats(Stats { head, stats: stats(view, links) }))
}

fn stats(view: &SeriesView, links: &SeriesLinks) -> Vec<Stat> {
    let figures = &view.figures;
    let name = scales::metric_name(view);
    let of = |key: &str, label: String, finding| Stat {
        key: key.to_owned(),
        label,
        estimate: scales::estimate(finding, "no card"),
        scale: scales::composite(view),
        ..Stat::default()
    };
    vec![
        of("composite-median", format!("{name}, median"), figures.median.as_ref()),
        of("composite-mean", format!("{name}, mean"), figures.mean.as_ref()),
        drift(view),
        gate_fails(view, links),
        regressions(view, links),
    ]
}

fn count_card(key: &str, label: &str, count: u64, note: String, href: String) -> Stat {
    Stat {
        key: key.to_owned(),
        label: label.to_owned(),
        estimate: Estimate::point(count as f64, 0),
        scale: Scale::of(Unit::Count),
        note: Some(note),
        href: Some(href),
        ..Stat::default()
    }
}

fn absent(key: &str, label: &str, note: &str) -> Stat {
    Stat {
        key: key.to_owned(),
        label: label.to_owned(),
        words: Some("none".to_owned()),
        note: Some(note.to_owned()),
        ..Stat::default()
    }
}

fn gate_fails(view: &SeriesView, links: &SeriesLinks) -> Stat {
    let Some(fails) = view.figures.gate_fails else {
        return absent("gate-fails", "Gate fails", "the suite has no gate with `per: sample`");
    };
    let note = format!("of {}, by {}", count_noun(fails.of, "card"), view.rules.join("; "));
    count_card("gate-fails", "Gate fails", fails.count, note, links.filter(CardFilter::FailsGate))
}

fn regressions(view: &SeriesView, links: &SeriesLinks) -> Stat {
    let Some(regressed) = view.figures.regressions else {
        let why = view.baseline.as_deref().unwrap_or("the suite has no `baseline`");
        return absent("regressions", "Regressions", why);
    };
    let drop = view.max_drop.map(|drop| format!("; worse by more than {}", scales::composite(view).text(drop)));
    let unseen = (view.figures.pinned_unseen > 0)
        .then(|| format!("; {} pinned without a card here", view.figures.pinned_unseen));
    let note = format!("of {} pinned{}{}", regressed.of, drop.unwrap_or_default(), unseen.unwrap_or_default());
    count_card("regressions", "Regressions", regressed.count, note, links.filter(CardFilter::Regressed))
}

fn drift(view: &SeriesView) -> Stat {
    let stat = Stat { key: "drift".to_owned(), label: "Drift".to_owned(), ..Stat::default() };
    let Some(drift) = &view.drift else {
        return Stat { words: Some("unknown".to_owned()), note: Some("it could not be checked".to_owned()), ..stat };
    };
    let (words, verdict) = match drift.state() {
        DriftState::Ok => ("ok".to_owned(), None),
        DriftState::Alert(since) => (format!("alert since {since}"), Some(Verdict::Worse)),
        DriftState::Incident(since) => (format!("incident open since {since}"), Some(Verdict::Worse)),
        DriftState::NoData => ("no data".to_owned(), Some(Verdict::Undecided)),
        DriftState::Skipped => (skipped_words(&drift.drift.skipped), Some(Verdict::Undecided)),
    };
    Stat { words: Some(words), verdict, note: Some(note(view, drift)), ..stat }
}

fn skipped_words(skipped: &[SkippedDay]) -> String {
    format!("{} skipped", count_noun(skipped.len() as u64, "day"))
}

fn note(view: &SeriesView, drift: &SeriesDrift) -> String {
    let found = &drift.drift;
    let windows = format!("{} against {} days, {}", found.short_window, found.long_window, found.method.as_str());
    let z = found.z.map(|z| format!("; z {} on the last day", karat_page::number::to_digits(z, 2)));
    let silent = drift.state() != DriftState::Skipped && !found.skipped.is_empty();
    let skipped = silent.then(|| format!("; {}", skipped_words(&found.skipped)));
    let replay = drift.replay.as_ref().map(|quiet| format!("; {quiet}"));
    format!(
        "as of {}: {windows}{}{}{}",
        view.as_of,
        z.unwrap_or_default(),
        skipped.unwrap_or_default(),
        replay.unwrap_or_default()
    )
}
