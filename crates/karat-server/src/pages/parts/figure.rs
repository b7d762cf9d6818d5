//! Numbers of a run as cells of a table and as text.

use karat_app::ViewMetric;
use karat_page::block::Cell;
use karat_page::block::verdict::{Verdict, mark};
use karat_page::component::table::content;
use karat_page::number::{Estimate, Scale};
use karat_page::text::visible::line;
use karat_page::{Markup, html};
use karat_types::{Better, Moment, Score};

/// The scale of a metric from what is known of it. A share of passes is a score from 0 to 1, as in reports.
pub(in crate::pages) fn scale_of(unit: Option<&str>, range: Option<(f64, f64)>, better: Better) -> Scale {
    Scale { unit: karat_app::unit_named(unit), range, better }
}

/// The scale of a metric.
pub(in crate::pages) fn scale(metric: &ViewMetric) -> Scale {
    scale_of(metric.unit, metric.range, metric.better)
}

/// Returns pass or fail for a value of a check; the mean of trials that differ is neither.
fn verdict(metric: &ViewMetric, value: f64) -> Option<Verdict> {
    let is_check = metric.binary && metric.unit.is_none() && metric.better == Better::Higher;
    match value {
        _ if !is_check => None,
        1.0 => Some(Verdict::Pass),
        0.0 => Some(Verdict::Fail),
        _ => None,
    }
}

/// The value of a metric in a table.
pub(in crate::pages) fn value(metric: &ViewMetric, value: Option<f64>) -> Markup {
    html! {
        span data-metric=(line(&metric.name)) data-value=[value.map(|value| value.to_string())] {
            @match value {
                None => span.reason { "n/a" },
                Some(number) => @match verdict(metric, number) {
                    Some(verdict) => (mark(verdict)),
                    None => (content(&Cell::Value(Estimate::point(number, 1), scale(metric)))),
                },
            }
        }
    }
}

/// A score as text; what is not a value says so with its reason.
pub(in crate::pages) fn score(scale: &Scale, score: &Score) -> String {
    match score {
        Score::Value { value, verdict: true, .. } => (if *value > 0.0 { "pass" } else { "fail" }).to_owned(),
        Score::Value { value, .. } => scale.text(*value),
        Score::NotApplicable { na } => format!("n/a: {na}"),
        Score::Unscored { unscored } => format!("unscored: {unscored}"),
    }
}

/// The reason that a score gives for its value.
pub(in crate::pages) fn reason(score: &Score) -> Option<&str> {
    match score {
        Score::Value { reason, .. } => reason.as_deref(),
        _ => None,
    }
}

/// A moment: absolute, with the time that has passed in `title`.
pub(in crate::pages) fn moment(at: Moment, now: Moment) -> Markup {
    let whole = karat_app::rfc3339(at);
    let shown = whole.get(..16).map_or_else(|| whole.clone(), |text| text.replace('T', " "));
    html! { time datetime=(whole) title={ (ago(at, now)) " (UTC)" } { (shown) } }
}

/// The time between two moments in words.
fn ago(at: Moment, now: Moment) -> String {
    let seconds = (now.0 - at.0) / 1_000;
    match seconds {
        ..0 => "in the future".to_owned(),
        0..=59 => "just now".to_owned(),
        60..=3_599 => format!("{} min ago", seconds / 60),
        3_600..=86_399 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A time to the minute; the whole one in `datetime`.
pub(in crate::pages) fn time(at: Option<&str>) -> Markup {
    html! {
        @match at {
            None => span.soft { "–" },
            Some(at) => time datetime=(at) { (at.get(..16).unwrap_or(at).replace('T', " ")) },
        }
    }
}
