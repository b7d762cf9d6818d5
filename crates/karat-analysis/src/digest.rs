//! The digest of a window: what the days that end on one day came to (BR-14).

use std::collections::BTreeSet;

use karat_stats::describe::{extent, median};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use crate::drift::{date_of, day_number};
use crate::history::{Day, History, said_of_judges};

/// What a window of days came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// The suite.
    pub suite: String,
    /// The first day.
    pub since: String,
    /// The last day.
    pub until: String,
    /// Calendar days.
    pub window: u32,
    /// Days with a score, ascending.
    pub days: Vec<Day>,
    /// Days without one.
    pub missing: Vec<String>,
    /// Of the days' composites.
    pub composite: Option<Middle>,
    /// Median over days by axis, in the rubric's order.
    pub axes: Vec<(String, f64)>,
    /// Models that judged.
    pub judges: Vec<String>,
    /// Their prompt versions.
    pub prompt_versions: Vec<String>,
    /// What the reader must know.
    pub warnings: Vec<String>,
}

/// Median and extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Middle {
    /// Median.
    pub median: f64,
    /// Lowest.
    pub min: f64,
    /// Highest.
    pub max: f64,
}

/// Sums up the `window` days that end on `as_of`. `None` where that is no date.
pub fn digest(suite: &str, history: &History, as_of: &str, window: u32) -> Option<Digest> {
    let last = day_number(as_of)?;
    let wanted: Vec<String> =
        (0..window.max(1)).rev().map(|back| date_of(last.saturating_sub_unsigned(back))).collect();
    let days: Vec<Day> = history.days().into_iter().filter(|day| wanted.contains(&day.date)).collect();
    let missing = wanted.iter().filter(|date| !days.iter().any(|day| day.date == **date)).cloned().collect();
    let composites: Vec<f64> = days.iter().map(Day::value).collect();
    let composite = median(&composites).zip(extent(&composites));
    let axes = names(history).into_iter().filter_map(|axis| {
        let values: Vec<f64> = days.iter().filter_map(|day| day.axis(&axis)).collect();
        Some((axis, median(&values)?))
    });
    let all = |of: fn(&Day) -> &BTreeSet<String>| -> Vec<String> {
        days.iter().flat_map(|day| of(day).iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let (judges, prompt_versions) = (all(|day| &day.judges), all(|day| &day.prompt_versions));
    Some(Digest {
        suite: suite.to_owned(),
        since: wanted.first().cloned().unwrap_or_default(),
        until: as_of.to_owned(),
        window: window.max(1),
        missing,
        composite: composite.map(|(median, (min, max))| Middle { median, min, max }),
        axes: axes.collect(),
        warnings: said_of_judges(&days, "the window"),
        judges,
        prompt_versions,
        days,
    })
}

/// The axes in the order in which rows have them.
fn names(history: &History) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (axis, _) in history.rows().flat_map(|row| &row.axes) {
        if !names.contains(axis) {
            names.push(axis.clone());
        }
    }
    names
}

/// `karat.digest/1`: `{schema, suite, since, until, window, coverage{days, of}, missing[], composite{median, min, max}?,
/// axes{}, days[{date, composite, axes{}, samples, judges[]}], judges[], prompt_versions[], warnings[]}`.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let day = |day: &Day| {
            let axes: serde_json::Map<String, serde_json::Value> =
                self.axes.iter().filter_map(|(axis, _)| Some((axis.clone(), json!(day.axis(axis)?)))).collect();
            json!({
                "date": day.date, "composite": day.value(), "axes": axes, "samples": day.samples(), "judges": day.judges,
            })
        };
        let axes: serde_json::Map<String, serde_json::Value> =
            self.axes.iter().map(|(axis, median)| (axis.clone(), json!(median))).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", "karat.digest/1")?;
        map.serialize_entry("suite", &self.suite)?;
        map.serialize_entry("since", &self.since)?;
        map.serialize_entry("until", &self.until)?;
        map.serialize_entry("window", &self.window)?;
        map.serialize_entry("coverage", &json!({ "days": self.days.len(), "of": self.window }))?;
        map.serialize_entry("missing", &self.missing)?;
        if let Some(Middle { median, min, max }) = self.composite {
            map.serialize_entry("composite", &json!({ "median": median, "min": min, "max": max }))?;
        }
        map.serialize_entry("axes", &axes)?;
        map.serialize_entry("days", &self.days.iter().map(day).collect::<Vec<_>>())?;
        map.serialize_entry("judges", &self.judges)?;
        map.serialize_entry("prompt_versions", &self.prompt_versions)?;
        map.serialize_entry("warnings", &self.warnings)?;
        map.end()
    }
}
