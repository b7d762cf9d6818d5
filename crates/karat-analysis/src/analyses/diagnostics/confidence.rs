//! Tests whether stated confidence predicts errors.

use karat_stats::calibration::calibration;
use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::infer::finding::{Finding, finite};

/// Number of bins of the reliability curve.
const BINS: usize = 10;

/// Options of the confidence analysis.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfidenceOptions {
    /// Path of the confidence, 0 to 1, within an item.
    pub value: String,
    /// Lowest confidence of the bucket `low`.
    #[serde(default)]
    pub low: f64,
    /// Lowest confidence of the bucket `medium`.
    #[serde(default = "medium")]
    pub medium: f64,
    /// Lowest confidence of the bucket `high`, which reaches to 1.
    #[serde(default = "high")]
    pub high: f64,
    /// Error rate above which a bucket is bad: a number, or a text such as `50%`.
    #[serde(default = "half", deserialize_with = "share")]
    #[schemars(with = "serde_json::Value")]
    pub recommend_above: f64,
    /// Lists of diagnostics that name items: the first one defines errors, all together define findings of any kind.
    #[serde(default)]
    pub errors: Vec<String>,
}

fn medium() -> f64 {
    0.6
}

fn high() -> f64 {
    0.8
}

fn half() -> f64 {
    0.5
}

/// A number, or a text in percent.
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let percent = |text: &str| Some(text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0);
    let share = value.as_f64().or_else(|| value.as_str().and_then(percent));
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| de::Error::custom("must be from 0 to 1, or such as `50%`"))
}

/// An item with its confidence and its verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stated {
    pub confidence: f64,
    pub is_error: bool,
    pub has_any: bool,
}

/// Numbers of items without a usable confidence, and of errors without an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unstated {
    pub missing: u64,
    pub out_of_range: u64,
    pub unlocated: u64,
}

/// The items of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bucket {
    /// Lowest and highest confidence; the highest is excluded, except for the bucket that reaches 1.
    pub range: (f64, f64),
    /// Items.
    pub total: u64,
    /// Number of items that are errors.
    pub errors: u64,
    /// `errors / total`; null without items.
    pub error_rate: Option<f64>,
    /// Number of items with any finding.
    pub any_error: u64,
}

/// The three buckets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Buckets {
    /// The most confident.
    pub high: Bucket,
    /// The middle bucket.
    pub medium: Bucket,
    /// The least confident.
    pub low: Bucket,
}

impl Buckets {
    /// Each with its name, the most confident first.
    pub fn by_name(&self) -> [(&'static str, Bucket); 3] {
        [("high", self.high), ("medium", self.medium), ("low", self.low)]
    }
}

/// One bin of the reliability curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CurveBin {
    /// Lower edge, excluded but for the first bin.
    pub lower: f64,
    /// Upper edge.
    pub upper: f64,
    /// Items.
    pub count: usize,
    /// Mean confidence; null without items.
    pub mean_confidence: Option<f64>,
    /// Share of items without an error; null without items.
    pub accuracy: Option<f64>,
}

/// The threshold that separates correct from wrong items best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BestThreshold {
    /// Items with at least this confidence are kept.
    pub threshold: f64,
    /// F1 of keeping the correct items.
    pub f1: f64,
    /// Items kept.
    pub kept: u64,
}

/// The relation of confidence and errors.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Confidence {
    /// The buckets of confidence.
    pub buckets: Buckets,
    /// Items without a confidence.
    pub missing: u64,
    /// Number of items whose confidence is not a number from 0 to 1; excluded from buckets.
    pub out_of_range: u64,
    /// Number of errors without an item; excluded from buckets.
    pub unlocated: u64,
    /// The recommended threshold: most items below it are errors. Null if none helps or none is needed.
    pub recommended_threshold: Option<f64>,
    /// The recommendation in words.
    pub notes: String,
    /// Confidence against the share of correct items.
    pub reliability: Vec<CurveBin>,
    /// Expected calibration error over the bins; null without items.
    pub ece: Option<Finding>,
    /// Null if no item is correct.
    pub best_threshold: Option<BestThreshold>,
}

impl ConfidenceOptions {
    /// Checks that the edges rise from 0 to 1.
    pub(super) fn check(&self) -> Result<(), String> {
        let edges = [0.0, self.low, self.medium, self.high, 1.0];
        if edges.is_sorted() {
            return Ok(());
        }
        Err(format!("the edges {}, {}, {} must be in ascending order from 0 to 1", self.low, self.medium, self.high))
    }

    /// The figures of items with a confidence, and of those without.
    pub(super) fn figures(&self, items: &[Stated], unstated: Unstated) -> Confidence {
        let bucket = |lo: f64, hi: f64| {
            let inside = |item: &&Stated| item.confidence >= lo && (item.confidence < hi || hi >= 1.0);
            let items: Vec<&Stated> = items.iter().filter(inside).collect();
            let (total, errors) = (items.len() as u64, items.iter().filter(|item| item.is_error).count() as u64);
            Bucket {
                range: (lo, hi),
                total,
                errors,
                error_rate: finite(errors as f64 / total as f64),
                any_error: items.iter().filter(|item| item.has_any).count() as u64,
            }
        };
        let buckets = Buckets {
            high: bucket(self.high, 1.0),
            medium: bucket(self.medium, self.high),
            low: bucket(self.low, self.medium),
        };
        let (recommended_threshold, notes) = self.recommend(&buckets, unstated.unlocated);
        let (confidences, right): (Vec<f64>, Vec<bool>) =
            items.iter().map(|item| (item.confidence, !item.is_error)).unzip();
        let calibration = calibration(&confidences, &right, BINS).ok();
        let ece = calibration.as_ref().and_then(|found| found.summary.as_ref()).map(|summary| summary.ece);
        Confidence {
            buckets,
            missing: unstated.missing,
            out_of_range: unstated.out_of_range,
            unlocated: unstated.unlocated,
            recommended_threshold,
            notes,
            reliability: calibration.iter().flat_map(|found| found.bins.iter().map(curve_bin)).collect(),
            ece: ece.and_then(|ece| Finding::point(ece, items.len(), "ECE over 10 bins of equal width")),
            best_threshold: best_threshold(items),
        }
    }

    /// The upper edge of the highest bad bucket; `None` if even the most confident items are bad.
    fn recommend(&self, buckets: &Buckets, unlocated: u64) -> (Option<f64>, String) {
        let is_bad = |bucket: &Bucket| bucket.error_rate.is_some_and(|rate| rate > self.recommend_above);
        let limit = format!("{} %", self.recommend_above * 100.0);
        let raise = |name: &str, bucket: &Bucket| {
            let rate = bucket.error_rate.unwrap_or_default() * 100.0;
            let notes = format!(
                "{rate:.0} % of the items with {name} confidence are errors (above {limit}): keep items from {} on",
                bucket.range.1
            );
            (Some(bucket.range.1), notes)
        };
        let is_empty = buckets.by_name().iter().all(|(_, bucket)| bucket.total == 0);
        match () {
            () if is_empty => {
                (None, "no recommendation: no item judged for errors has a confidence from 0 to 1".to_owned())
            }
            () if is_bad(&buckets.high) => {
                (None, format!("no threshold helps: more than {limit} of the items with high confidence are errors"))
            }
            () if is_bad(&buckets.medium) => raise("medium", &buckets.medium),
            () if is_bad(&buckets.low) => raise("low", &buckets.low),
            () if unlocated > 0 => (
                None,
                format!(
                    "no bucket has more than {limit} errors, but errors without an item belong to no bucket: {unlocated}"
                ),
            ),
            () => (None, format!("no threshold is needed: no bucket has more than {limit} errors")),
        }
    }
}

fn curve_bin(bin: &karat_stats::calibration::ReliabilityBin) -> CurveBin {
    CurveBin {
        lower: bin.lower,
        upper: bin.upper,
        count: bin.count,
        mean_confidence: bin.mean_confidence,
        accuracy: bin.accuracy,
    }
}

/// The threshold with the best F1 for keeping correct items; the lowest of equals.
fn best_threshold(items: &[Stated]) -> Option<BestThreshold> {
    let mut sorted: Vec<&Stated> = items.iter().collect();
    sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let right_ones = sorted.iter().filter(|item| !item.is_error).count() as f64;
    let (mut right, mut best) = (0.0, None::<BestThreshold>);
    for (at, item) in sorted.iter().enumerate() {
        right += if item.is_error { 0.0 } else { 1.0 };
        let is_last_of_equals = sorted.get(at + 1).is_none_or(|next| next.confidence < item.confidence);
        let kept = (at + 1) as u64;
        let f1 = 2.0 * right / (kept as f64 + right_ones);
        if is_last_of_equals && right > 0.0 && best.is_none_or(|best| f1 >= best.f1) {
            best = Some(BestThreshold { threshold: item.confidence, f1, kept });
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options() -> ConfidenceOptions {
        serde_json::from_value(json!({"value": "confidence", "recommend_above": "50%"})).unwrap()
    }

    fn items(of: &[(f64, u32, u32)]) -> Vec<Stated> {
        let one = |&(confidence, total, errors): &(f64, u32, u32)| {
            (0..total).map(move |at| Stated { confidence, is_error: at < errors, has_any: at < errors + 1 })
        };
        of.iter().flat_map(one).collect()
    }

    /// SP-07: buckets are [0.8, 1], [0.6, 0.8) and [0, 0.6); an empty one has no rate.
    #[test]
    fn buckets_have_half_open_edges() {
        let found = options().figures(
            &items(&[(1.0, 2, 0), (0.8, 2, 1), (0.79, 1, 0), (0.6, 1, 0)]),
            Unstated { missing: 3, out_of_range: 1, unlocated: 0 },
        );
        let high = found.buckets.high;
        assert_eq!((high.total, high.errors, high.error_rate, high.any_error), (4, 1, Some(0.25), 3));
        assert_eq!((found.buckets.medium.total, found.buckets.low.total), (2, 0));
        assert_eq!((found.buckets.low.error_rate, found.missing, found.out_of_range), (None, 3, 1));
    }

    /// SP-07: the recommendation is the upper edge of the highest bad bucket; none helps if the highest is bad; half is
    /// not above 50 %.
    #[test]
    fn the_threshold_follows_the_worst_bucket() {
        let recommended = |of: &[(f64, u32, u32)]| {
            let found = options().figures(&items(of), Unstated::default());
            (found.recommended_threshold, found.notes)
        };
        assert_eq!(recommended(&[(0.9, 4, 0), (0.7, 4, 3), (0.3, 4, 4)]).0, Some(0.8));
        assert_eq!(recommended(&[(0.9, 4, 0), (0.7, 4, 2), (0.3, 4, 3)]).0, Some(0.6));
        let (none, notes) = recommended(&[(0.9, 4, 3), (0.3, 4, 4)]);
        assert_eq!(none, None);
        assert!(notes.starts_with("no threshold helps"), "{notes}");
        assert!(recommended(&[(0.9, 4, 2)]).1.starts_with("no threshold is needed"));
        assert!(recommended(&[]).1.starts_with("no recommendation"));
    }

    /// SP-07: with errors that name no item the notes do not claim that no threshold is needed.
    #[test]
    fn errors_without_an_item_are_reported() {
        let unlocated = Unstated { unlocated: 4, ..Unstated::default() };
        let found = options().figures(&items(&[(0.9, 4, 0)]), unlocated);
        assert_eq!((found.unlocated, found.recommended_threshold), (4, None));
        assert!(found.notes.ends_with("errors without an item belong to no bucket: 4"), "{}", found.notes);
        assert_eq!(options().figures(&items(&[(0.3, 4, 3)]), unlocated).recommended_threshold, Some(0.6));
    }

    /// SP-07: ECE by hand, and the threshold with the best F1.
    #[test]
    fn calibration_by_hand() {
        let found = options().figures(&items(&[(0.9, 10, 1), (0.5, 10, 8)]), Unstated::default());
        // |0.9 − 0.9| · ½ + |0.5 − 0.2| · ½
        assert!((found.ece.unwrap().value() - 0.15).abs() < 1e-12);
        let best = found.best_threshold.unwrap();
        assert_eq!((best.threshold, best.kept), (0.9, 10));
        assert!((best.f1 - 18.0 / 21.0).abs() < 1e-12);
        assert_eq!(found.reliability.len(), 10);
        assert_eq!(options().figures(&items(&[(0.9, 1, 1)]), Unstated::default()).best_threshold, None);
        assert_eq!(options().figures(&[], Unstated::default()).ece, None);
    }

    #[test]
    fn edges_and_shares_are_checked() {
        let parse = |value: serde_json::Value| serde_json::from_value::<ConfidenceOptions>(value);
        assert!(parse(json!({"value": "c", "recommend_above": "500%"})).is_err());
        assert!(parse(json!({"value": "c", "low": 0.7})).unwrap().check().is_err());
    }
}
