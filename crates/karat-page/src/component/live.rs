//! A run while it runs: figures that the script replaces as events come, and the last finished cells.
//!
//! Every place that changes has its room from the start, so nothing moves. Without script the page shows the state at
//! the time of loading.

use maud::{Markup, html};

use crate::component::table::link;
use crate::number::{count, usd};
use crate::text::visible::{line, short_name};

/// Rows of finished cells.
pub const ROWS: usize = 20;

/// The progress of a run.
#[derive(Debug, Clone, Default)]
pub struct LiveRun {
    /// Its id.
    pub run: String,
    /// Finished cells.
    pub done: u64,
    /// Cells of the plan.
    pub planned: u64,
    /// Cells that ended in an error.
    pub errors: u64,
    /// Cells with a score that is unscored.
    pub unscored: u64,
    /// Cells whose output came from an earlier run.
    pub cached: u64,
    /// Finished cells per second.
    pub per_second: Option<f64>,
    /// Range of the seconds that the rest may take.
    pub remaining: Option<[f64; 2]>,
    /// Dollars paid.
    pub spent: f64,
    /// Dollars that may be paid.
    pub budget: Option<f64>,
    /// Errors by code.
    pub codes: Vec<(String, u64)>,
}

/// The addresses that the page of a running run uses.
#[derive(Debug, Clone)]
pub struct LiveLinks {
    /// Its stream of events; empty where nothing is live.
    pub events: String,
    /// The address that cancels it, if this server can.
    pub cancel: Option<String>,
    /// The page of a cell, up to its number.
    pub cell: String,
    /// The page itself, to load again.
    pub page: String,
}

impl LiveRun {
    /// Returns the texts that change, by the name of their place.
    pub fn texts(&self) -> [(&'static str, String); 8] {
        let share = self.done.saturating_mul(100).checked_div(self.planned).unwrap_or(100);
        let remaining = self.remaining.map_or_else(|| "not known yet".to_owned(), range);
        let speed = self.per_second.map_or_else(|| "shown when further cells have finished".to_owned(), speed);
        let budget = self.budget.map_or_else(|| "no budget".to_owned(), |budget| format!("of {}", usd(Some(budget))));
        let summary =
            format!("{share} % done, {} of {} cells; remaining: {remaining}", count(self.done), count(self.planned));
        [
            ("done", count(self.done)),
            ("planned", format!("of {} cells, {} cached", count(self.planned), count(self.cached))),
            ("remaining", remaining),
            ("speed", speed),
            ("spent", usd(Some(self.spent))),
            ("budget", budget),
            ("failures", self.failures()),
            ("summary", summary),
        ]
    }

    /// Errors by code, and what is unscored.
    fn failures(&self) -> String {
        let mut parts: Vec<String> =
            self.codes.iter().map(|(code, cells)| format!("{} {}", line(code), count(*cells))).collect();
        if self.unscored > 0 {
            parts.push(format!("unscored {}", count(self.unscored)));
        }
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

/// The texts of one finished cell, in the order of the columns.
pub fn cell_texts(sample: &str, system: &str, result: &str) -> [String; 3] {
    [short_name(sample), short_name(system), line(result).into_owned()]
}

fn speed(per_second: f64) -> String {
    match per_second {
        fast if fast >= 10.0 => format!("{} cells/s", count(fast.round() as u64)),
        slow if slow >= 1.0 => format!("{slow:.1} cells/s"),
        slow => format!("{:.1} cells/min", slow * 60.0),
    }
}

/// A range of seconds in one unit.
fn range([least, most]: [f64; 2]) -> String {
    let (size, unit) = match most {
        short if short < 90.0 => (1.0, "s"),
        long if long < 5400.0 => (60.0, "min"),
        _ => (3600.0, "h"),
    };
    let (least, most) = ((least / size).floor(), (most / size).ceil().max(1.0));
    if least < most { format!("{least:.0} to {most:.0} {unit}") } else { format!("{most:.0} {unit}") }
}

/// The panel of a running run. `last` are the cells that finished last, newest first.
pub fn panel(run: &LiveRun, links: &LiveLinks, last: &[(u64, [String; 3])]) -> Markup {
    let texts = run.texts();
    let text = |name: &str| texts.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text.as_str());
    let card = |label: &str, value: &'static str, note: Option<&'static str>, test: Option<&'static str>| {
        html! {
            li.card data-testid=[test] {
                span.label { (label) }
                span.value.text data-live=(value) { (text(value)) }
                @if let Some(note) = note { span.note data-live=(note) { (text(note)) } }
            }
        }
    };
    html! {
        k-live data-events=[Some(&links.events).filter(|events| !events.is_empty())] data-cell=(links.cell) data-cancel=[links.cancel.as_deref()] {
            p.live-state {
                span.verdict { span.glyph aria-hidden="true" { "●" } "running" }
                " · " (link("Load again", &links.page))
                // Last: nothing stands behind it that its text could move.
                " · " span.soft data-live="connection" { "as of the time of loading" }
            }
            progress data-testid="progress" aria-label="Finished cells" value=(run.done) max=(run.planned.max(1)) {}
            ul.cards.live-cards {
                (card("Done", "done", Some("planned"), None))
                (card("Remaining", "remaining", Some("speed"), None))
                (card("Spent", "spent", Some("budget"), Some("cost-so-far")))
            }
            p.live-failures { span.label { "Errors by code: " } span data-live="failures" { (text("failures")) } }
            @if links.cancel.is_some() {
                div.chips.live-cancel.needs-script {
                    button type="button" data-testid="cancel" data-ask="" { "Cancel the run" }
                    span hidden data-question="" {
                        "Stop after the calls in flight? "
                        button type="button" data-confirm="" { "Stop the run" } " "
                        button type="button" data-keep="" { "Keep it running" }
                    }
                    span.soft data-live="cancelled" role="status" {}
                }
            }
            div.wide tabindex="0" role="region" aria-label="Last finished cells" {
                table.live-cells {
                    caption { "The last " (ROWS) " finished cells" }
                    thead { tr { th scope="col" { "Cell" } th scope="col" { "Sample" } th scope="col" { "System" } th scope="col" { "Result" } } }
                    tbody {
                        @for at in 0..ROWS {
                            @let cell = last.get(at);
                            tr {
                                td {
                                    @match cell {
                                        Some((cell, _)) => a href={ (links.cell) (cell) } { (cell) },
                                        None => "\u{a0}",
                                    }
                                }
                                @for column in 0..3 { td { (cell.map_or("", |(_, texts)| texts[column].as_str())) } }
                            }
                        }
                    }
                }
            }
            p.hidden-text aria-live="polite" data-live-region="" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F74, DB-17: the remaining time is a range in one unit, and unknown money or speed is said to be.
    #[test]
    fn the_rest_is_a_range_in_one_unit() {
        assert_eq!(range([3.2, 8.1]), "3 to 9 s");
        assert_eq!(range([100.0, 290.0]), "1 to 5 min");
        assert_eq!(range([7000.0, 9000.0]), "1 to 3 h");
        assert_eq!(range([0.0, 0.0]), "0 to 1 s");
        assert_eq!([speed(0.05), speed(2.34), speed(1234.0)], ["3.0 cells/min", "2.3 cells/s", "1,234 cells/s"]);
        let texts = LiveRun { planned: 10, ..LiveRun::default() }.texts();
        assert!(
            texts.contains(&("remaining", "not known yet".to_owned()))
                && texts.iter().filter(|(_, text)| text == "not known yet").count() == 1
                && texts.contains(&("failures", "none".to_owned()))
        );
    }
}
