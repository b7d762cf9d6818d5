//! The composite over days.

use karat_analysis::drift::Incident as DriftIncident;
use karat_analysis::series::{SeriesDay, SeriesView};
use karat_page::block::{Incident, Series, SeriesLine, SeriesPoint};
use karat_page::{Block, Head};

use super::scales;

pub(super) fn block(view: &SeriesView) -> Block {
    let days = &view.days;
    let name = scales::metric_name(view);
    let line = |name: String, of: &dyn Fn(&SeriesDay) -> Option<f64>| {
        let points = days.iter().map(|day| SeriesPoint { value: of(day), interval: None });
        SeriesLine { name, points: points.collect(), ..SeriesLine::default() }
    };
    let median = line(format!("{}-day median", view.short_window), &|day| day.median);
    let pinned = line("pinned".to_owned(), &|day| day.baseline);
    let has = |line: &SeriesLine| line.points.iter().any(|point| point.value.is_some());
    let mut lines = vec![line(name.to_owned(), &|day| day.value)];
    if has(&median) {
        lines.push(SeriesLine { is_smooth: true, ..median });
    }
    if has(&pinned) {
        lines.push(SeriesLine { is_hollow: true, ..pinned });
    }
    let band: Vec<Option<(f64, f64)>> = days.iter().map(|day| day.usual).collect();
    let is_many = view.cards.len() > days.iter().filter(|day| day.cards > 0).count();
    let marked: Vec<usize> = days.iter().enumerate().filter(|(_, day)| day.is_superseded).map(|(at, _)| at).collect();
    let mut head = Head::new("Trend", format!("Is the {name} slipping?")).with_n(view.cards.len() as u64);
    if is_many {
        head = head.with_note("A point is the mean of the day's cards.");
    }
    if view.earlier_days > 0 {
        head = head.with_note(format!("{} earlier days with cards are in the table only.", view.earlier_days));
    }
    Block::Series(Series {
        head,
        scale: scales::composite(view),
        dates: days.iter().map(|day| day.date.clone()).collect(),
        lines,
        threshold: view.gate.as_ref().map(|gate| (gate.bound, gate.id.clone())),
        band: band.iter().any(Option::is_some).then(|| (band, usual_range(view))),
        incidents: incidents(view),
        marked: (!marked.is_empty()).then(|| (marked, "graded again, or changed after an alert".to_owned())),
        is_linked: true,
    })
}

fn usual_range(view: &SeriesView) -> String {
    let long = view.drift.as_ref().map_or(30, |drift| drift.drift.long_window);
    format!("usual range, the median of {long} days ± the distance that counts as drift")
}

/// The incidents on the calendar; an open one goes on to its end.
fn incidents(view: &SeriesView) -> Vec<Incident> {
    let Some(drift) = &view.drift else { return Vec::new() };
    let last = view.days.len().saturating_sub(1);
    // The last one may be known better than the series alone tells: alerts and closings are stored.
    let known = drift.drift.incident.as_ref();
    let computed = drift.past.incidents.iter().filter(|it| known.is_none_or(|known| it.opened < known.opened));
    let all: Vec<&DriftIncident> = computed.chain(known).collect();
    let first_date = view.days.first().map(|day| day.date.as_str()).unwrap_or_default();
    let at = |date: &str| view.days.iter().position(|day| day.date.as_str() >= date).unwrap_or(last);
    let shown = all.into_iter().filter(|it| it.closed.as_deref().is_none_or(|closed| closed >= first_date));
    let incident = |it: &DriftIncident| {
        let label = match (&it.closed, &it.closed_by_hand) {
            (None, _) => "incident, still open".to_owned(),
            (Some(_), None) => "incident".to_owned(),
            (Some(_), Some(why)) => format!("incident, closed by hand: {why}"),
        };
        Incident { from: at(&it.opened), to: it.closed.as_deref().map_or(last, at), label }
    };
    shown.filter(|it| view.days.last().is_some_and(|day| it.opened <= day.date)).map(incident).collect()
}
