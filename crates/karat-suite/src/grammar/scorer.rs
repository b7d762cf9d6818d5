//! Scorers.

use super::rubric::RUBRIC;
use super::step::PARAMETERS;
use super::{Kind, Object, Shape, TEXTS, may};

pub(super) static SCORER: Object = Object::new(
    "scorer",
    &[
        may("metric", Shape::Text, "A registered metric."),
        may("rubric", Shape::Short(&RUBRIC, "file"), "A rubric for judges: a file, or written here."),
        may("about", Shape::Text, "What it measures, in one line for reports."),
        may("with", Shape::With(Kind::Metric), "Options of the metric."),
        may("output", Shape::Path, "What is scored, within the output."),
        may("reference", Shape::Path, "What it is scored against, within the row."),
        may("value", Shape::Any, "A literal to score against."),
        may("min", Shape::Share, "At least this, else the cell fails."),
        may("max", Shape::Share, "At most this, else the cell fails."),
        may("not", Shape::Boolean, "The test must not hold."),
        may("reduce", Shape::Text, "How trials become one: mean, median, min, max, majority, pass@K, pass^K."),
        may("aggregate", Shape::Text, "How samples become one figure: mean, median, p50 to p99, min, max, sum, f1 (also f1_micro, f1_weighted, balanced_accuracy)."),
        may("better", Shape::Words(&["higher", "lower"]), "Direction."),
        may("margin", Shape::Share, "The smallest difference that matters: within it two systems are equivalent. `5%` is relative to the baseline."),
        may("judges", TEXTS, "Judges of this scorer."),
        may("votes", Shape::Integer(1), "Votes of each judge."),
        may("orders", Shape::Words(&["both", "one"]), "Orders of a pair."),
        may("versus", Shape::Text, "variant:ID or model:ID to compare with."),
        may("consensus", Shape::Object(&CONSENSUS), "How several judges become one."),
        may("labels", Shape::File, "Human scores."),
        may("canary", Shape::Object(&CANARY), "Frozen judgments that are judged again each run."),
        may("parameters", Shape::Open(&PARAMETERS), "Call settings of the judge."),
        may("timeout", Shape::Duration, "Timeout of one attempt."),
    ],
)
.one_of(&["metric", "rubric"])
.foreign(&[("type", "metric"), ("threshold", "min"), ("weight", "a metric `combine`")]);

/// Keys that only a scorer with a rubric may have.
pub(crate) const RUBRIC_ONLY: &[&str] =
    &["judges", "votes", "orders", "versus", "consensus", "labels", "canary", "parameters", "timeout"];

static CONSENSUS: Object = Object::new(
    "consensus",
    &[
        may("method", Shape::Words(&["mean", "median", "majority"]), "The rule."),
        may("weights", Shape::Map(&super::POSITIVE), "Weight by judge."),
        may("min_judges", Shape::Integer(1), "Where fewer judges grade a cell, its score stands with a warning."),
        may("flag_variance", super::POSITIVE, "A cell is flagged where the variance of any dimension is above this."),
    ],
);

static CANARY: Object = Object::new(
    "canary",
    &[
        super::must("source", Shape::File, "The frozen judgments."),
        may("alpha", Shape::Number(0.0, 1.0), "Level of the test."),
    ],
);
