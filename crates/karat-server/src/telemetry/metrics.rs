//! Counters, gauges and histograms in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::telemetry::families::{FAMILIES, Kind};

/// Label values of one family that are kept: suites come from users.
const MOST_SERIES: usize = 2_000;

/// The figures of a server. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Arc<Mutex<BTreeMap<&'static str, BTreeMap<String, Series>>>>);

#[derive(Debug, Clone, Default)]
struct Series {
    /// The value; of a histogram, the sum.
    value: f64,
    count: u64,
    /// Observations by bucket, not cumulated.
    buckets: Vec<u64>,
}

/// Names and values of labels.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Metrics {
    /// Adds to a counter.
    pub fn add(&self, name: &'static str, labels: Labels<'_>, amount: f64) {
        self.change(name, labels, |series| series.value += amount);
    }

    /// Sets a gauge.
    pub fn set(&self, name: &'static str, labels: Labels<'_>, value: f64) {
        self.change(name, labels, |series| series.value = value);
    }

    /// Removes all gauges of a family.
    pub fn clear(&self, name: &'static str) {
        self.families().remove(name);
    }

    /// Removes the gauges of a family with this label.
    pub fn remove(&self, name: &'static str, label: (&str, &str)) {
        let own = text_of(&[label]);
        if let Some(family) = self.families().get_mut(name) {
            family.retain(|labels, _| !labels.split_inclusive("\",").any(|one| one.trim_end_matches(',') == own));
        }
    }

    /// Adds an observation to a histogram.
    pub fn observe(&self, name: &'static str, labels: Labels<'_>, value: f64) {
        let Some((_, Kind::Histogram(bounds), _)) = FAMILIES.iter().find(|family| family.0 == name) else { return };
        self.change(name, labels, |series| {
            series.buckets.resize(bounds.len(), 0);
            series.value += value;
            series.count += 1;
            let bucket = bounds.iter().position(|bound| value <= *bound);
            if let Some(bucket) = bucket.and_then(|at| series.buckets.get_mut(at)) {
                *bucket += 1;
            }
        });
    }

    fn change(&self, name: &'static str, labels: Labels<'_>, change: impl FnOnce(&mut Series)) {
        let labels = text_of(labels);
        let mut families = self.families();
        let family = families.entry(name).or_default();
        if family.len() < MOST_SERIES || family.contains_key(&labels) {
            change(family.entry(labels).or_default());
        }
    }

    /// All figures in the text format of Prometheus.
    pub fn text(&self) -> String {
        let families = self.families();
        let mut text = String::new();
        for (name, kind, meaning) in FAMILIES {
            let Some(family) = families.get(name) else { continue };
            let kind_name = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram(_) => "histogram",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP karat_{name} {meaning}.\n# TYPE karat_{name} {kind_name}");
            for (labels, series) in family {
                let _ = match kind {
                    Kind::Counter | Kind::Gauge => {
                        writeln!(text, "karat_{name}{} {}", label_block(labels), series.value)
                    }
                    Kind::Histogram(bounds) => write_histogram(&mut text, name, labels, series, bounds),
                };
            }
        }
        text
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<&'static str, BTreeMap<String, Series>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_histogram(text: &mut String, name: &str, labels: &str, series: &Series, bounds: &[f64]) -> std::fmt::Result {
    let mut sum = 0;
    let comma = if labels.is_empty() { "" } else { "," };
    for (bound, count) in bounds.iter().zip(&series.buckets) {
        sum += count;
        writeln!(text, "karat_{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {sum}")?;
    }
    writeln!(text, "karat_{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", series.count)?;
    writeln!(text, "karat_{name}_sum{} {}", label_block(labels), series.value)?;
    writeln!(text, "karat_{name}_count{} {}", label_block(labels), series.count)
}

fn label_block(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

fn text_of(labels: Labels<'_>) -> String {
    let one = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    labels.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-25: each figure has its meaning and kind; values of labels are escaped, buckets add up.
    #[test]
    fn figures_are_written_for_prometheus() {
        let metrics = Metrics::default();
        metrics.add("runs_total", &[("suite", "a\"b\\c\nd"), ("status", "completed")], 2.0);
        metrics.observe("run_duration_seconds", &[], 4.0);
        metrics.observe("run_duration_seconds", &[], 1e9);
        metrics.set("gate_state", &[("suite", "s"), ("state", "pass")], 1.0);
        metrics.remove("gate_state", ("suite", "s"));
        let text = metrics.text();
        for line in [
            "# TYPE karat_runs_total counter",
            r#"karat_runs_total{suite="a\"b\\c\nd",status="completed"} 2"#,
            r#"karat_run_duration_seconds_bucket{le="5"} 1"#,
            r#"karat_run_duration_seconds_bucket{le="+Inf"} 2"#,
            "karat_run_duration_seconds_count 2",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        assert!(!text.contains("karat_gate_state{"), "{text}");
    }
}
