//! A scorer of the suite, resolved.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Better, ModelSpec, Parameters, Rubric, Threshold};

/// One named scorer: a metric by its registered name, or a rubric for judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorerSpec {
    /// Its id; its metrics are `id` or `id.dimension`.
    pub id: String,
    /// One line for reports about what it measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Metric or rubric.
    pub kind: ScorerKind,
    /// Path of what is scored within the output.
    pub output: String,
    /// Path of what it is scored against: within the row, or the role `reference` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A literal to score against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Bounds that make the score pass or fail for its cell.
    #[serde(default)]
    pub bound: Bound,
    /// The rule that reduces trials to one score.
    pub reduce: String,
    /// The rule that aggregates samples to one figure.
    pub aggregate: String,
    /// Direction, where it is not the metric's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// The smallest difference that matters: what `compare` calls equivalent lies within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Threshold>,
    /// The cheaper scorer that goes first, if the judges are asked about part of the cells only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cascade: Option<CascadeSpec>,
    /// True if it is the first judge of a cascade: the plan made it, and the suite did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_first_judge: bool,
}

impl ScorerSpec {
    /// A scorer of whole outputs against the role `reference`, its means reused trials and samples.
    pub fn new(id: impl Into<String>, kind: ScorerKind) -> Self {
        Self {
            id: id.into(),
            about: None,
            kind,
            output: "$".to_owned(),
            reference: None,
            value: None,
            bound: Bound::default(),
            reduce: "mean".to_owned(),
            aggregate: "mean".to_owned(),
            better: None,
            margin: None,
            cascade: None,
            is_first_judge: false,
        }
    }

    /// Returns true if it is one side of a cascade, so that not each of its scores is a grade of its judges.
    pub fn is_in_cascade(&self) -> bool {
        self.cascade.is_some() || self.is_first_judge
    }
}

/// A cascade: a cheaper scorer scores all cells, and the judges only those where it is unsure and a random sample of the
/// others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CascadeSpec {
    /// Id of the scorer that goes first.
    pub first: String,
    /// Share of the sure cells that are drawn, if there are many.
    pub share: f64,
    /// The cells that the first scorer is unsure about.
    #[serde(default)]
    pub unsure: UnsureRule,
    /// Share of sure cells of each system in the suite's last run; all cells where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sure: Vec<f64>,
}

impl CascadeSpec {
    /// The share of sure cells that are drawn without a `share`.
    pub const SHARE: f64 = 0.1;

    /// The least share.
    pub const MIN_SHARE: f64 = 0.05;

    /// The sure cells of a system that are drawn at least, on average: an estimate from fewer answers is unreliable.
    pub const FLOOR: f64 = 60.0;

    /// π = min(1, max(share, 60/N_sure)): the probability with which a sure cell of a system is drawn. `cells` is the
    /// number of the system's cells.
    pub fn probability(&self, system: usize, cells: u64) -> f64 {
        let sure = self.sure.get(system).copied().unwrap_or(1.0) * cells as f64;
        self.share.max(Self::FLOOR / sure.max(1.0)).min(1.0)
    }
}

/// The rule by which a cell's first score is unsure. A cell without a first score always is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnsureRule {
    /// Its votes differ, it contradicts a check, or it lies within a tenth of the range from a bound.
    #[default]
    Standard,
    /// None but those without a first score.
    Never,
    /// An expression over `first` and `sample`.
    Where(String),
}

/// The kind of a scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScorerKind {
    /// A registered deterministic metric and its options.
    Metric {
        /// Registered name.
        metric: String,
        /// Its options.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        with: Map<String, Value>,
    },
    /// A rubric, graded by judges.
    Rubric(Box<RubricScorer>),
}

/// A rubric and how it is put to judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricScorer {
    /// The rubric, read and checked.
    pub rubric: Rubric,
    /// Registry ids of its judges.
    pub judges: Vec<String>,
    /// The rule that joins several judges.
    pub consensus: Consensus,
    /// Call settings.
    pub parameters: Parameters,
    /// Timeout of one attempt in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Votes of each judge per output.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub votes: u32,
    /// The system that outputs are compared with: then the judge says which of two is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
    /// Pairs that are compared in each sample, with [`Versus::All`]; all of them without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_per_sample: Option<u32>,
    /// The orders in which a pair is shown.
    #[serde(default, skip_serializing_if = "PairOrders::is_both")]
    pub orders: PairOrders,
    /// Expression over the row; where it does not hold, the scorer does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_where: Option<String>,
    /// Labelled examples that may be shown: rows of the labels file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Value>,
    /// The names that the rubric's templates and expressions read.
    #[serde(default)]
    pub reads: Vec<String>,
}

fn once() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_once(votes: &u32) -> bool {
    *votes == 1
}

/// The other side of a pair: the same sample's output of another system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Versus {
    /// Of this variant, by the same model where it calls one.
    Variant(String),
    /// Of this model, in the same variant.
    Model(String),
    /// Of every other system: a tournament.
    All,
}

impl Versus {
    /// From `variant:ID`, `model:ID` or `all`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "all" {
            return Some(Self::All);
        }
        let (kind, id) = text.split_once(':')?;
        match (kind, id.trim()) {
            (_, "") => None,
            ("variant", id) => Some(Self::Variant(id.to_owned())),
            ("model", id) => Some(Self::Model(id.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Versus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variant(id) => write!(f, "variant:{id}"),
            Self::Model(id) => write!(f, "model:{id}"),
            Self::All => f.write_str("all"),
        }
    }
}

/// The orders in which a pair is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairOrders {
    /// Each pair twice, each output first once: what a judge gives to a place cancels out.
    #[default]
    Both,
    /// The judged output first.
    One,
}

impl PairOrders {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_both(&self) -> bool {
        *self == Self::Both
    }
}

impl RubricScorer {
    /// The number of rounds per output, judge and other output: votes × orders of a pair.
    pub fn rounds(&self) -> u32 {
        let orders = if self.versus.is_some() && self.orders == PairOrders::Both { 2 } else { 1 };
        self.votes.max(1) * orders
    }

    /// Returns true if other runs may find a judge's grades: those of a program only under a rubric with a version.
    pub fn is_reusable(&self, judge: &ModelSpec) -> bool {
        !judge.is_program() || self.rubric.version.is_some()
    }
}

/// The rule that joins several judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Consensus {
    /// The rule.
    pub method: ConsensusMethod,
    /// A cell is flagged where the population variance of any dimension is above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag_variance: Option<f64>,
    /// With fewer judges a warning is given.
    pub min_judges: u32,
    /// Weight by judge in the mean; 1 where nothing is said.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
}

impl Default for Consensus {
    fn default() -> Self {
        Self { method: ConsensusMethod::Mean, flag_variance: None, min_judges: 1, weights: BTreeMap::new() }
    }
}

/// A consensus rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsensusMethod {
    /// Mean of the judges.
    Mean,
    /// Median of the judges.
    Median,
    /// The value that most give; ties by mean.
    Majority,
}

/// Bounds of a score.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Bound {
    /// At least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// At most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The test must not hold.
    #[serde(default)]
    pub not: bool,
}

impl Bound {
    /// Returns true if there is any bound.
    pub fn is_some(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.not
    }

    /// Returns true if a score passes: it lies within `min` and `max` (ends included), or without these is at least 1; with
    /// `not`, whether it does not.
    pub fn passes(&self, score: f64) -> bool {
        let holds = if self.min.is_none() && self.max.is_none() {
            score >= 1.0
        } else {
            self.min.is_none_or(|min| score >= min) && self.max.is_none_or(|max| score <= max)
        };
        holds != self.not
    }

    /// Returns true if there is no bound, so that a plan need not hold it.
    pub fn is_none(&self) -> bool {
        !self.is_some()
    }
}

/// Traits of a registered metric that suites, plans and scorers go by. The list of metrics sets them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricTraits {
    /// The names of its figures, where it has several, in the order in which the scorer yields them.
    pub dimensions: &'static [&'static str],
    /// The options of which one stands in place of a reference, where it says nothing without something to compare with.
    pub reference_unless: Option<&'static [&'static str]>,
    /// Lowest and highest value, where it has them.
    pub range: Option<(f64, f64)>,
    /// Direction.
    pub better: Better,
    /// True if it only takes the values 0 and 1.
    pub binary: bool,
    /// True if it may say true or false instead of a number.
    pub verdicts: bool,
    /// True if it depends on time or price.
    pub volatile: bool,
    /// True if it asks a service or a program.
    pub outside: bool,
    /// True if it compares vectors, which a model makes of texts.
    pub embeds: bool,
    /// True if it joins cells with the rows of the file that its option `from` names: then templates among its options are
    /// those of the join.
    pub joins: bool,
    /// The option and its value under which it counts something: then it has no range, and less is better.
    pub counts_when: Option<(&'static str, &'static str)>,
    /// True if it finds texts by their words where its option `similar` is below 1.
    pub by_words: bool,
}

impl MetricTraits {
    /// One number without bounds, of which more is better.
    pub const NUMBER: Self = Self {
        dimensions: &[],
        reference_unless: None,
        range: None,
        better: Better::Higher,
        binary: false,
        verdicts: false,
        volatile: false,
        outside: false,
        embeds: false,
        joins: false,
        counts_when: None,
        by_words: false,
    };
}

impl Default for MetricTraits {
    fn default() -> Self {
        Self::NUMBER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SL-20: a share of the sure cells, but 60 at least, and no more than all; of the last run's where there is one.
    #[test]
    fn the_probability_of_a_draw_has_a_floor() {
        let cascade = |share, sure: &[f64]| CascadeSpec {
            first: "first".to_owned(),
            share,
            unsure: UnsureRule::Standard,
            sure: sure.to_vec(),
        };
        let found = [
            cascade(0.1, &[]).probability(0, 10_000),
            cascade(0.1, &[]).probability(0, 200),
            cascade(0.5, &[]).probability(0, 100),
            cascade(0.1, &[]).probability(0, 50),
            cascade(0.1, &[1.0, 0.5]).probability(1, 200),
            cascade(0.1, &[0.0]).probability(0, 200),
        ];
        let expected = [0.1, 0.3, 0.6, 1.0, 0.6, 1.0];
        assert!(found.iter().zip(expected).all(|(found, pi)| (found - pi).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn a_bound_includes_its_ends_and_not_turns_it() {
        let bound = |min, max, not| Bound { min, max, not };
        let between = bound(Some(0.5), Some(0.8), false);
        assert_eq!([0.4, 0.5, 0.8, 0.9].map(|score| between.passes(score)), [false, true, true, false]);
        assert_eq!([0.0, 1.0].map(|score| bound(None, None, true).passes(score)), [true, false]);
        assert!(!bound(Some(0.5), None, true).passes(0.6) && Bound::default().passes(1.0));
    }
}
