//! The suite's own keys, its gates and its settings.

use super::dataset::DATASET;
use super::registry::MODEL;
use super::scorer::SCORER;
use super::step::STEP;
use super::{ANY, Kind, Object, POSITIVE, Shape, TEXTS, may, must};

pub(crate) static SUITE: Object = Object::new(
    "suite",
    &[
        may("schema", Shape::Words(&["karat.suite/1"]), "Format version."),
        must("name", Shape::Text, "Id of the suite."),
        may("about", Shape::Text, "One line for reports."),
        may(
            "params",
            Shape::Map(&Shape::Any),
            "Parameters: name to default, or { path: FILE }; null = required. Set with -p.",
        ),
        must("dataset", Shape::Object(&DATASET), "The samples."),
        may(
            "registry",
            Shape::List(&Shape::File),
            "Registry files that extend the built-in registry. They run nothing.",
        ),
        may("models", Shape::List(&Shape::Short(&MODEL, "id")), "The models that run: ids of the registry or entries."),
        may(
            "judges",
            Shape::List(&Shape::Short(&MODEL, "id")),
            "The judges of every rubric scorer; an empty list turns them off.",
        ),
        must("variants", Shape::Map(&Shape::List(&Shape::Object(&STEP))), "Pipelines under test: id to list of steps."),
        may("sweep", Shape::Map(&Shape::List(&Shape::Any)), "Address to list of values; each becomes a variant."),
        may(
            "services",
            Shape::Map(&Shape::Object(&SERVICE)),
            "Processes that are started for a run and stopped after it.",
        ),
        may("scorers", Shape::Map(&Shape::Object(&SCORER)), "Scorers by id; the id is the metric's name."),
        may(
            "analyses",
            Shape::List(&Shape::Short(&ANALYSIS, "analysis")),
            "Findings beyond those that are always there.",
        ),
        may("baseline", Shape::File, "A pinned run, or a folder with one pinned file a sample."),
        may("gates", Shape::List(&Shape::Object(&GATE)), "Rules over findings."),
        may("policy", Shape::Object(&POLICY), "How gates bind."),
        may("statistics", Shape::Object(&STATISTICS), "How figures get their intervals."),
        may("run", Shape::Object(&RUN), "Execution settings."),
        may("privacy", Shape::Object(&PRIVACY), "What must not be kept."),
        may("schedules", Shape::Map(&Shape::Object(&SCHEDULE)), "When a server runs this suite."),
        may("alerts", Shape::Map(&Shape::Object(&ALERT)), "Who is told."),
    ],
)
.foreign(&[
    ("tests", "dataset.rows"),
    ("prompts", "variants"),
    ("providers", "models"),
    ("defaultTest", "scorers"),
    ("description", "about"),
    ("evaluateOptions", "run"),
    ("extends", "registry, params and presets"),
]);

/// A file with just the keys that `--policy` reads.
pub(crate) static POLICY_FILE: Object = Object::new(
    "policy file",
    &[
        may("gates", Shape::List(&Shape::Object(&GATE)), "Rules over findings."),
        may("policy", Shape::Object(&POLICY), "How gates bind."),
    ],
);

static SERVICE: Object = Object::new(
    "service",
    &[
        must("command", TEXTS, "The program and its arguments."),
        may("ready", Shape::Text, "Path that answers when the service is ready."),
        may("version", Shape::Text, "Declared version, part of identity."),
        may("env", Shape::Map(&Shape::Text), "Environment of the process."),
    ],
);

static ANALYSIS: Object = Object::new(
    "analysis",
    &[
        must("analysis", Shape::Text, "Registered name."),
        may("id", Shape::Text, "Key under `analyses`; the name without it."),
        may("with", Shape::With(Kind::Analysis), "Its options."),
    ],
);

static GATE: Object = Object::new(
    "gate",
    &[
        may("metric", Shape::Text, "A metric, or several by `*`."),
        may("finding", Shape::Text, "A path under `analyses`."),
        may("id", Shape::Text, "Name of the gate; its metric without it."),
        may("where", Shape::Expression, "Which rows it looks at."),
        may("per", Shape::Text, "system, run, sample, or a column."),
        may("against", Shape::Text, "baseline, previous, variant:ID, model:ID or run:ID."),
        may("min", Shape::Share, "At least this."),
        may("max", Shape::Share, "At most this."),
        may(
            "max_drop",
            Shape::Share,
            "At most this much lower than the baseline; 5% is relative, 0.05 in the metric's unit.",
        ),
        may("max_rise", Shape::Share, "At most this much higher than the baseline."),
        may("decide", Shape::Words(&["point", "interval"]), "By the figure, or by its interval."),
        may("anchor", Shape::Words(&["human"]), "Which judgments count."),
        may("on_fail", Shape::Words(&["fail", "review"]), "What a failure means."),
        may("on_undecided", Shape::Words(&["warn", "fail"]), "What an open question means."),
    ],
)
.one_of(&["metric", "finding"]);

static POLICY: Object = Object::new(
    "policy",
    &[
        may("enforce", Shape::Words(&["always", "on_request"]), "Whether gates bind without --gate."),
        may("undecided", Shape::Words(&["warn", "fail"]), "What an open question means."),
        may("max_unscored", Shape::Fraction(0.0, 1.0), "Share of judgments that may be unscored."),
        may("max_errors", Shape::Fraction(0.0, 1.0), "Share of a system's cells that may be errors."),
        may("confidence", Shape::Fraction(0.5, 0.9999), "Confidence of intervals."),
        may("correction", Shape::Words(&["holm", "bh", "none"]), "Correction for many comparisons."),
        may("strict", Shape::Boolean, "Whether a review fails."),
    ],
);

static RUN: Object = Object::new(
    "run",
    &[
        may("trials", Shape::Integer(1), "Repetitions of a cell."),
        may("max_concurrency", Shape::Integer(1), "Cells in flight."),
        may("timeout", Shape::Duration, "Timeout of one attempt."),
        may("cell_timeout", Shape::Duration, "Time that the calls of one cell may take together, up to its output."),
        may("retries", Shape::Integer(0), "Attempts after the first."),
        may("budget_usd", POSITIVE, "Money that the run may spend."),
        may("max_calls", Shape::Integer(0), "Calls that the run may make."),
        may("seed", Shape::Integer(0), "Seed of everything random."),
        may(
            "cache",
            Shape::WordOr(&["reuse", "off"], &Shape::Object(&CACHE)),
            "Which results of earlier runs are taken over: reuse, off, or { max_age: 7d }.",
        ),
        may(
            "layout",
            Shape::Words(&["folder", "flat"]),
            "How the report's files lie: a folder a run, or results/RUN.json and reports/RUN.md.",
        ),
        may("call_log", Shape::Template, "A file that lists every call."),
        may(
            "capture",
            Shape::Words(&["full", "responses", "hash"]),
            "What is kept of calls: everything; replies and hashes of requests and documents; hashes only.",
        ),
        may("stdout", Shape::Words(&["report", "row"]), "What `-o -` prints as JSON: the report, or a row a judgment."),
        may(
            "cell_line",
            Shape::Placeholders(karat_types::CELL_LINE_FIELDS),
            "Format of a progress line that is printed for each cell, with the placeholders {done}, {total}, {sample}, \
             {model}, {variant}, {trial}, {status} and {duration_ms}.",
        ),
        may("stop_early", Shape::Boolean, "Stop as soon as every gate is decided."),
    ],
)
.foreign(&[
    ("repeat", "trials"),
    ("epochs", "trials"),
    ("concurrency", "max_concurrency"),
    ("max_budget", "budget_usd"),
]);

static STATISTICS: Object = Object::new(
    "statistics",
    &[
        may("interval", Shape::Words(&["auto", "bootstrap"]), "By formula where there is one, or by bootstrap."),
        may(
            "resamples",
            Shape::Integer(100),
            "Resamples of a bootstrap, also of that by which `compare` tests figures that are no means.",
        ),
    ],
);

static CACHE: Object =
    Object::new("cache", &[must("max_age", Shape::Duration, "Results may be at most this much older than the run.")]);

static PRIVACY: Object = Object::new(
    "privacy",
    &[
        may("sensitive", Shape::Boolean, "Turns the rest on."),
        may(
            "redact",
            Shape::List(&Shape::Words(&["email", "phone", "card", "iban", "api_key"])),
            "What is blacked out.",
        ),
        may("patterns", Shape::Map(&Shape::Text), "Own patterns: name to regular expression."),
        may("keep_content", Shape::Boolean, "Whether texts are kept at all."),
    ],
);

static SCHEDULE: Object = Object::new(
    "schedule",
    &[
        must("cron", Shape::Text, "When, as a cron expression."),
        must("zone", Shape::Text, "Time zone of the expression."),
        may("days", Shape::Integer(1), "Days of data that each run looks at."),
        may("params", ANY, "Parameters of these runs."),
        may("missed", Shape::Words(&["once", "skip", "all"]), "What happens with missed times."),
        may("keep", Shape::Duration, "How long its runs are kept."),
        may("budget_usd", POSITIVE, "Money that one run may spend."),
        may("report", TEXTS, "Formats that are written."),
    ],
);

static ALERT: Object = Object::new(
    "alert",
    &[
        must("send", Shape::Words(&["webhook", "slack", "teams", "email"]), "How."),
        may("with", Shape::With(Kind::Free), "Options of the sink."),
        must("events", Shape::List(&Shape::Words(EVENTS)), "About what."),
        may("examples", Shape::Integer(0), "Examples in a message."),
        may("quiet", Shape::Duration, "No second message of the same kind within this time."),
    ],
);

const EVENTS: &[&str] = &["gate_failed", "undecided", "drift", "judge_moved", "run_failed", "budget_stopped"];
