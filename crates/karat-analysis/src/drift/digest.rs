//! The digest of a window: the results of the days up to a date, by system.

use std::collections::BTreeSet;

use karat_stats::describe::{extent, median};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::drift::{date_of, day_number};
use crate::reference::history::{Day, History, judge_mix_warnings};

/// The results of a window of days.
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
    /// Each system with a judgment, by id; if there is none, one entry without a name.
    pub systems: Vec<SystemDigest>,
}

/// The results of one system in a window of days.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemDigest {
    /// Its id; `None` if nothing was judged.
    pub system: Option<String>,
    /// Days with a score, ascending.
    pub days: Vec<Day>,
    /// Days without one.
    pub missing: Vec<String>,
    /// Median and extremes of the days' composites.
    pub composite: Option<MedianAndExtremes>,
    /// Median over days by axis, in the rubric's order.
    pub axes: Vec<(String, f64)>,
    /// Models that judged.
    pub judges: Vec<String>,
    /// Their prompt versions.
    pub prompt_versions: Vec<String>,
    /// Warnings about the figures.
    pub warnings: Vec<String>,
}

/// Median and extremes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianAndExtremes {
    /// Median.
    pub median: f64,
    /// Lowest.
    pub min: f64,
    /// Highest.
    pub max: f64,
}

/// Summarises the `window` days that end on `as_of`. `None` if that is not a date.
pub fn digest(suite: &str, history: &History, as_of: &str, window: u32) -> Option<Digest> {
    let last = day_number(as_of)?;
    let wanted: Vec<String> =
        (0..window.max(1)).rev().map(|back| date_of(last.saturating_sub_unsigned(back))).collect();
    let axes = axis_names(history);
    let within = |days: Vec<Day>| days.into_iter().filter(|day| wanted.contains(&day.date)).collect::<Vec<Day>>();
    let series: Vec<(String, Vec<Day>)> =
        history.series().into_iter().map(|(system, days)| (system, within(days))).collect();
    // A system that the window knows nothing of says something only where no other does.
    let is_silent = series.iter().all(|(_, days)| days.is_empty());
    let told = series.into_iter().filter(|(_, days)| is_silent || !days.is_empty());
    let mut systems: Vec<SystemDigest> =
        told.map(|(system, days)| system_digest(Some(system), days, &wanted, &axes)).collect();
    if systems.is_empty() {
        systems.push(system_digest(None, Vec::new(), &wanted, &axes));
    }
    for system in &mut systems {
        system.warnings.extend(history.warnings());
    }
    Some(Digest {
        suite: suite.to_owned(),
        since: wanted.first().cloned().unwrap_or_default(),
        until: as_of.to_owned(),
        window: window.max(1),
        systems,
    })
}

fn system_digest(system: Option<String>, days: Vec<Day>, wanted: &[String], axes: &[String]) -> SystemDigest {
    let missing = wanted.iter().filter(|date| !days.iter().any(|day| day.date == **date)).cloned().collect();
    let composites: Vec<f64> = days.iter().map(Day::value).collect();
    let composite = median(&composites).zip(extent(&composites));
    let axes = axes.iter().filter_map(|axis| {
        let values: Vec<f64> = days.iter().filter_map(|day| day.axis(axis)).collect();
        Some((axis.clone(), median(&values)?))
    });
    let all = |of: fn(&Day) -> &BTreeSet<String>| -> Vec<String> {
        days.iter().flat_map(|day| of(day).iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let (judges, prompt_versions) = (all(|day| &day.judges), all(|day| &day.prompt_versions));
    SystemDigest {
        system,
        missing,
        composite: composite.map(|(median, (min, max))| MedianAndExtremes { median, min, max }),
        axes: axes.collect(),
        warnings: judge_mix_warnings(&days, "the window"),
        judges,
        prompt_versions,
        days,
    }
}

/// The axes in the order in which they appear in the rows.
fn axis_names(history: &History) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (axis, _) in history.rows().flat_map(|row| &row.axes) {
        if !names.contains(axis) {
            names.push(axis.clone());
        }
    }
    names
}

/// `karat.digest/1`: `{schema, suite, since, until, window, system, coverage{days, of}, missing[], composite{median,
/// min, max}?, axes{}, days[{date, composite, axes{}, samples, judges[]}], judges[], prompt_versions[], warnings[]}`,
/// all figures unrounded. With several systems the fields after `window` are repeated for each under `systems[]`.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", "karat.digest/1")?;
        map.serialize_entry("suite", &self.suite)?;
        map.serialize_entry("since", &self.since)?;
        map.serialize_entry("until", &self.until)?;
        map.serialize_entry("window", &self.window)?;
        let systems: Vec<Map<String, Value>> = self.systems.iter().map(|it| it.members(self.window)).collect();
        match systems.as_slice() {
            [one] => one.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?,
            all => map.serialize_entry("systems", all)?,
        }
        map.end()
    }
}

impl SystemDigest {
    fn members(&self, window: u32) -> Map<String, Value> {
        let day = |day: &Day| {
            let axes: Map<String, Value> =
                self.axes.iter().filter_map(|(axis, _)| Some((axis.clone(), json!(day.axis(axis)?)))).collect();
            json!({
                "date": day.date, "composite": day.value(), "axes": axes, "samples": day.samples(), "judges": day.judges,
            })
        };
        let axes: Map<String, Value> = self.axes.iter().map(|(axis, median)| (axis.clone(), json!(median))).collect();
        let composite = self
            .composite
            .map(|MedianAndExtremes { median, min, max }| json!({ "median": median, "min": min, "max": max }));
        let members = [
            ("system", json!(self.system)),
            ("coverage", json!({ "days": self.days.len(), "of": window })),
            ("missing", json!(self.missing)),
        ]
        .into_iter()
        .chain(composite.map(|composite| ("composite", composite)))
        .chain([
            ("axes", axes.into()),
            ("days", self.days.iter().map(day).collect()),
            ("judges", json!(self.judges)),
            ("prompt_versions", json!(self.prompt_versions)),
            ("warnings", json!(self.warnings)),
        ]);
        members.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
