//! Early stops: the order of units, and the record that is stored of a stop.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EarlyRule, Key, SampleRecord};

/// The place of a unit in the seeded order: ascending `blake3("karat.order/1" ‖ 0 ‖ seed (u64, LE) ‖ 0 ‖ unit)`, of which
/// 16 bytes are kept. The order depends on no row's position, so the same rows in another order are run alike.
pub fn unit_key(seed: u64, unit: &str) -> Key {
    let parts: [&[u8]; 5] = [b"karat.order/1", &[0], &seed.to_le_bytes(), &[0], unit.as_bytes()];
    let hash = blake3::hash(&parts.concat());
    let mut key = [0; 16];
    key.copy_from_slice(&hash.as_bytes()[..16]);
    Key(key)
}

impl SampleRecord {
    /// The name of its unit: its cluster, or the sample itself.
    pub fn unit(&self) -> &str {
        self.cluster.as_deref().unwrap_or(&self.id)
    }
}

/// The schema of [`StopRecord`].
pub const STOP_SCHEMA: &str = "karat.stop/1";

/// The record that is stored of a run that may stop early, once it has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopRecord {
    /// [`STOP_SCHEMA`].
    pub schema: String,
    /// The rule.
    pub rule: EarlyRule,
    /// Units before a bound may decide.
    pub min: u64,
    /// Seed of the order.
    pub seed: u64,
    /// Largest probability of a wrong pass, and of a wrong fail, over all claims.
    pub alpha: f64,
    /// True if units are clusters.
    pub clustered: bool,
    /// Units of the plan.
    pub units: u64,
    /// Samples of the plan.
    pub samples: u64,
    /// Units that figures rest on; all of them if the run went to its end.
    pub stopped_after: u64,
    /// Samples of these units.
    pub stopped_after_samples: u64,
    /// Gates that cannot be decided early, each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenGate>,
    /// The claims.
    pub claims: Vec<StoppedClaim>,
    /// The systems that the race dropped, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub race: Vec<DroppedSystem>,
    /// The cells that enter figures: those that at least one span covers.
    pub spans: Vec<StopSpan>,
}

impl StopRecord {
    /// Returns whether units were left.
    pub fn is_stopped(&self) -> bool {
        self.stopped_after < self.units
    }

    /// The name of its units, in the plural.
    pub fn unit_name(&self) -> &'static str {
        if self.clustered { "clusters" } else { "samples" }
    }

    /// `61 of 200 samples`.
    pub fn course(&self) -> String {
        format!("{} of {} {}", self.stopped_after, self.units, self.unit_name())
    }
}

/// A gate that no rule decides early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGate {
    /// Its id.
    pub gate: String,
    /// The reason.
    pub why: String,
}

/// A system that cannot be the best.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedSystem {
    /// The system.
    pub system: String,
    /// Units that it took.
    pub dropped_after: u64,
    /// The system that beat it.
    pub by: String,
}

/// The verdict of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlyVerdict {
    /// The bound is met.
    Pass,
    /// The bound is not met.
    Fail,
    /// No score of the other units can give it a verdict.
    Undecided,
}

/// The evidence of a claim's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecidedBy {
    /// No outcome of the other units can change it.
    Certain,
    /// The bound on the probability of a wrong verdict.
    Bound,
    /// All units.
    End,
}

/// A claim: a bound of a gate, for one system and one group of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoppedClaim {
    /// The gate's id.
    pub gate: String,
    /// The metric.
    pub metric: String,
    /// `min`, `max`, `max_drop` or `max_rise`.
    pub bound: String,
    /// The bound as written in the gate.
    pub threshold: f64,
    /// Of a percentile, the share of samples that must keep the bound. Then the mean and the ends are such shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The system; `None` for the whole run.
    pub system: Option<String>,
    /// Column and value, if the gate is evaluated per column.
    pub group: Option<(String, Value)>,
    /// The verdict; `None` if the figures of the whole run give it.
    pub verdict: Option<EarlyVerdict>,
    /// The evidence of the verdict.
    pub by: DecidedBy,
    /// Units of the claim that were used.
    pub units: u64,
    /// Units of the claim in the plan.
    pub population: u64,
    /// Scored samples, or pairs, that the mean is of.
    pub n: u64,
    /// The mean, in the metric's unit: of the scores, or of their changes.
    pub mean: Option<f64>,
    /// The anytime p-value of "the bound is not met".
    pub p_pass: f64,
    /// The anytime p-value of "the bound is met".
    pub p_fail: f64,
    /// The ends of the confidence sequence, in the metric's unit.
    pub lower: f64,
    /// See `lower`.
    pub upper: f64,
    /// Confidence level of the ends.
    pub level: f64,
    /// The reason, if it is undecided because of missing scores or failed cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Cells that one purpose needs: of some systems, up to a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopSpan {
    /// Indices of the systems.
    pub systems: Vec<usize>,
    /// Indices of the systems that these are compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partners: Vec<usize>,
    /// The gate's condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Column and value of the gate's group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<(String, Value)>,
    /// The last unit that counts; `None` if all do.
    pub last: Option<Key>,
}

/// A stop as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredStop {
    /// The record.
    pub record: StopRecord,
    /// True if the run was continued to its end, so that all its cells enter figures.
    pub to_end: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SL-01: the order is that of the hash over seed and unit, as specified.
    #[test]
    fn the_order_is_that_of_the_hash() {
        let mut bytes = b"karat.order/1\0".to_vec();
        bytes.extend_from_slice(&7_u64.to_le_bytes());
        bytes.extend_from_slice(b"\0q1");
        assert_eq!(unit_key(7, "q1").0, blake3::hash(&bytes).as_bytes()[..16]);
        assert_ne!(unit_key(7, "q1"), unit_key(8, "q1"));
    }
}
