//! Scorers.

use super::rubric::RUBRIC;
use super::step::PARAMETERS;
use super::{Kind, Object, Shape, TEXTS, may};

pub(super) static SCORER: Object = Object::new(
    "scorer",
    &[
        may("metric", Shape::Text, "Name of a built-in metric.", "label"),
        may("rubric", Shape::Short(&RUBRIC, "file"), "Rubric for judges: the path of a file, or the rubric itself.", "rubrics/quality.yaml"),
        may("about", Shape::Text, "What the scorer measures, in one line for reports.", "Whether the category is right"),
        may("with", Shape::With(Kind::Metric), "Options of the metric.", "{ ignore_case: true }"),
        may("output", Shape::Path, "Path of the value to score within the output. Default: the whole output.", "$.category"),
        may("reference", Shape::Path, "Path of the expected value within the row: a column name, not a template.", "category"),
        may("value", Shape::Any, "Expected value that is the same for every row.", "refund"),
        may("min", Shape::Share, "Lowest score with which a cell passes.", "0.8"),
        may("max", Shape::Share, "Highest score with which a cell passes.", "2000"),
        may("not", Shape::Boolean, "Passes when the test does not hold.", "true"),
        may("reduce", Shape::Text, "How the trials of a sample become one score: mean, median, min, max, majority, pass@K or pass^K.", "pass@3"),
        may("aggregate", Shape::Text, "How the scores of the samples become one figure: mean, median, p1 to p99, min, max, sum, f1, f1_micro, f1_weighted or balanced_accuracy.", "p95"),
        may("better", Shape::Words(&["higher", "lower"]), "Whether higher or lower values are better.", "lower"),
        may("margin", Shape::Share, "Smallest difference that matters: systems within it are equivalent. `5%` is relative to the baseline.", "0.02"),
        may("judges", TEXTS, "Judges of this scorer, in place of the suite's.", "[gpt-5]"),
        may("votes", Shape::Integer(1), "Number of times that each judge grades a cell.", "3"),
        may("orders", Shape::Words(&["both", "one"]), "Whether a pair is judged in both orders or in one.", "both"),
        may("versus", Shape::Text, "System to compare outputs with: `variant:ID` or `model:ID`; `all` compares every system with every other.", "all"),
        may("pairs", Shape::Object(&PAIRS), "Which pairs `versus: all` compares; without it all of them.", "{ per_sample: 4 }"),
        may("cascade", Shape::Object(&CASCADE), "Asks the judges about part of the cells: a cheaper judge or scorer grades all of them first.", "{ first: gpt-5-mini }"),
        may("consensus", Shape::Object(&CONSENSUS), "How the scores of several judges become one.", "{ method: median }"),
        may("labels", Shape::File, "File with scores by people, to calibrate the judges.", "data/labels.jsonl"),
        may("canary", Shape::Object(&CANARY), "Frozen judgments that a schedule with `task: canary` repeats, to notice a judge that changed.", "{ source: golden }"),
        may("parameters", Shape::Open(&PARAMETERS), "Call settings of the judges.", "{ temperature: 0 }"),
        may("timeout", Shape::Duration, "Time limit for one attempt of a judge's call.", "60s"),
    ],
)
.one_of(&["metric", "rubric"])
.foreign(&[("type", "metric"), ("threshold", "min"), ("weight", "a metric `combine`")]);

/// Keys that only a scorer with a rubric may have.
pub(crate) const RUBRIC_ONLY: &[&str] = &[
    "judges",
    "votes",
    "orders",
    "versus",
    "pairs",
    "cascade",
    "consensus",
    "labels",
    "canary",
    "parameters",
    "timeout",
];

static CASCADE: Object = Object::new(
    "cascade",
    &[
        super::must("first", Shape::Text, "Judge or scorer that goes first, on the same scale.", "gpt-5-mini"),
        may(
            "share",
            Shape::Fraction(0.0, 1.0),
            "Share of the other cells that are drawn at random: at least 5%, and 60 cells or all on average. Default: 10%.",
            "10%",
        ),
        may(
            "unsure",
            Shape::Expression,
            "The cells that the judges are always asked about, by `first` and `sample`. Default: votes differ, a check \
             is contradicted, or a bound is near; `false`: none.",
            "first < 0.3",
        ),
    ],
);

static CONSENSUS: Object = Object::new(
    "consensus",
    &[
        may("method", Shape::Words(&["mean", "median", "majority"]), "How the judges' scores become one.", "median"),
        may(
            "weights",
            Shape::Map(&super::POSITIVE),
            "Weight of each judge, for `mean`.",
            "{ gpt-5: 2, gpt-5-mini: 1 }",
        ),
        may("min_judges", Shape::Integer(1), "Number of judges below which a score is flagged with a warning.", "2"),
        may("flag_variance", super::POSITIVE, "Variance between judges above which a cell is flagged.", "2.0"),
    ],
);

static PAIRS: Object = Object::new(
    "pairs",
    &[may(
        "per_sample",
        Shape::Integer(1),
        "Number of pairs that are compared for each sample, drawn so that all pairs are compared equally often.",
        "4",
    )],
);

static CANARY: Object = Object::new(
    "canary",
    &[
        super::must(
            "source",
            Shape::File,
            "Folder with the frozen judgments, as `karat golden pin` writes it.",
            "golden",
        ),
        may(
            "alpha",
            Shape::Number(0.0, 1.0),
            "Accepted probability that a check takes an unchanged judge for a changed one.",
            "0.005",
        ),
    ],
);
