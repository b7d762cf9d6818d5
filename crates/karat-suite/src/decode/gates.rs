//! Gates and their policy, decoded. They are applied by later parts of the product; the plan does not hold them.

use serde::Serialize;

use super::Decoder;
use crate::check::share;
use crate::names;
use crate::nearest::suggestion;
use crate::node::Node;

/// A bound of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// The number; a percentage as a share.
    pub value: f64,
    /// Whether it was written as a percentage. Of `max_drop` and `max_rise` such a bound is relative to the baseline.
    pub percent: bool,
}

/// What a gate compares with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The pinned baseline.
    Baseline,
    /// The run before.
    Previous,
    /// A variant of the same run.
    Variant(String),
    /// A model of the same run.
    Model(String),
    /// A stored run.
    Run(String),
}

/// Whether a gate decides by the figure or by its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decide {
    /// By the figure.
    #[default]
    Point,
    /// By its interval.
    Interval,
}

/// What a gate looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A metric, or several by `*`.
    Metric(String),
    /// A path under `analyses`.
    Finding(String),
}

/// A rule over findings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// Its id; the name of its subject without one.
    pub id: String,
    /// What it looks at.
    pub subject: Subject,
    /// Expression over `sample`, `model` and `variant`: which rows.
    pub condition: Option<String>,
    /// `system`, `run`, `sample`, or a column.
    pub per: String,
    /// What it compares with.
    pub against: Option<Against>,
    /// At least this.
    pub min: Option<Threshold>,
    /// At most this.
    pub max: Option<Threshold>,
    /// At most this much lower than what it compares with.
    pub max_drop: Option<Threshold>,
    /// At most this much higher than what it compares with.
    pub max_rise: Option<Threshold>,
    /// How it decides.
    pub decide: Decide,
    /// Whether only human-anchored judgments count.
    pub human_anchor: bool,
    /// Whether a failure is only a review.
    pub review: bool,
    /// Whether an open question fails, where it is not the policy's affair.
    pub undecided_fails: Option<bool>,
}

/// A correction for many comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Holm's step-down.
    #[default]
    Holm,
    /// Benjamini and Hochberg.
    Bh,
    /// None.
    None,
}

/// How gates bind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Policy {
    /// Whether gates bind only with `--gate`.
    pub on_request: bool,
    /// Whether an open question fails.
    pub undecided_fails: bool,
    /// Share of judgments that may be unscored.
    pub max_unscored: f64,
    /// Share of a system's cells that may be errors.
    pub max_errors: f64,
    /// Confidence of intervals.
    pub confidence: f64,
    /// Correction for many comparisons.
    pub correction: Correction,
    /// Whether a review fails.
    pub strict: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            on_request: false,
            undecided_fails: false,
            max_unscored: 0.05,
            max_errors: 0.0,
            confidence: 0.95,
            correction: Correction::Holm,
            strict: false,
        }
    }
}

impl Decoder<'_> {
    /// The gates of a suite.
    pub fn gates(&mut self, node: Option<&Node>) -> Vec<Gate> {
        let mut gates: Vec<Gate> = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(gate) = self.gate(item) else { continue };
            if gates.iter().any(|earlier| earlier.id == gate.id) {
                self.problems
                    .error(&item.place, format!("two gates have the id `{}`", gate.id))
                    .hint("give one of them an `id` of its own");
            }
            gates.push(gate);
        }
        gates
    }

    fn gate(&mut self, node: &Node) -> Option<Gate> {
        let subject = match (node.text_of("metric"), node.text_of("finding")) {
            (Some(metric), _) => Subject::Metric(metric.to_owned()),
            (None, Some(finding)) => Subject::Finding(finding.to_owned()),
            (None, None) => return None,
        };
        let (Subject::Metric(name) | Subject::Finding(name)) = &subject;
        let threshold = |key: &str| {
            let (value, percent) = node.given(key).and_then(share)?;
            Some(Threshold { value, percent })
        };
        let gate = Gate {
            id: node.text_of("id").unwrap_or(name).to_owned(),
            condition: self.gate_condition(node),
            per: node.text_of("per").unwrap_or("system").to_owned(),
            against: self.against(node),
            min: threshold("min"),
            max: threshold("max"),
            max_drop: threshold("max_drop"),
            max_rise: threshold("max_rise"),
            decide: if node.text_of("decide") == Some("interval") { Decide::Interval } else { Decide::Point },
            human_anchor: node.text_of("anchor") == Some("human"),
            review: node.text_of("on_fail") == Some("review"),
            undecided_fails: node.text_of("on_undecided").map(|word| word == "fail"),
            subject,
        };
        if ["min", "max", "max_drop", "max_rise"].iter().all(|key| node.given(key).is_none()) {
            self.problems.error(&node.place, "a gate needs a bound").hint("one of min, max, max_drop, max_rise");
        }
        Some(gate)
    }

    fn gate_condition(&mut self, node: &Node) -> Option<String> {
        let condition = node.given("where")?;
        let text = condition.text()?;
        let inlined = self.params.inline_expression(text, &condition.place, &mut self.problems);
        let expression = karat_text::template::Expression::compile(&inlined).ok()?;
        names::check(expression.reads(), text, &condition.place, names::GATE, &mut self.pending, &mut self.problems);
        Some(inlined)
    }

    fn against(&mut self, node: &Node) -> Option<Against> {
        let at = node.given("against")?;
        let text = at.text()?;
        let against = match text.split_once(':') {
            None if text == "baseline" => Some(Against::Baseline),
            None if text == "previous" => Some(Against::Previous),
            Some(("variant", id)) => Some(Against::Variant(id.to_owned())),
            Some(("model", id)) => Some(Against::Model(id.to_owned())),
            Some(("run", id)) => Some(Against::Run(id.to_owned())),
            _ => None,
        };
        if against.is_none() {
            let known = ["baseline", "previous", "variant:ID", "model:ID", "run:ID"];
            self.problems.error(&at.place, format!("`against` cannot be `{text}`")).maybe_hint(suggestion(text, known));
        }
        against
    }
}

/// How gates bind.
pub(crate) fn policy(node: Option<&Node>) -> Policy {
    let standard = Policy::default();
    let Some(node) = node else { return standard };
    let number = |key: &str| node.given(key).and_then(share).map(|(number, _)| number);
    Policy {
        on_request: node.text_of("enforce") == Some("on_request"),
        undecided_fails: node.text_of("undecided") == Some("fail"),
        max_unscored: number("max_unscored").unwrap_or(standard.max_unscored),
        max_errors: number("max_errors").unwrap_or(standard.max_errors),
        confidence: number("confidence").unwrap_or(standard.confidence),
        correction: match node.text_of("correction") {
            Some("bh") => Correction::Bh,
            Some("none") => Correction::None,
            _ => Correction::Holm,
        },
        strict: node.given("strict").and_then(Node::boolean).unwrap_or(standard.strict),
    }
}
