//! The suite's own keys, its gates and its settings.

use karat_types::ReportFormat;
use karat_types::{MOST_CONCURRENCY, MOST_TRIALS};

use super::dataset::DATASET;
use super::registry::MODEL;
use super::scorer::SCORER;
use super::step::STEP;
use super::tool::TOOL;
use super::{ANY, Kind, Object, POSITIVE, Shape, TEXTS, may, must};

pub(crate) static SUITE: Object = Object::new(
    "suite",
    &[
        may("schema", Shape::Words(&["karat.suite/1"]), "Version of the suite format.", "karat.suite/1"),
        must("name", Shape::Text, "Id of the suite. Reports, stored runs and baselines refer to it.", "tickets"),
        may("about", Shape::Text, "One line about the suite, shown in reports.", "Support tickets, sorted by three models"),
        may("params", Shape::Map(&Shape::Any), "Parameters: name to default value, or `{ path: FILE }` for a file. A parameter whose default is null must be given. Set one with `-p NAME=VALUE`, read it with `{{ params.NAME }}`.", "{ style: short, tickets: { path: data/tickets.jsonl } }"),
        must("dataset", Shape::Short(&DATASET, "source"), "The test cases: a file, or where their rows come from, and which columns are id, input and reference.", "{ source: data/tickets.jsonl, id: id, reference: category }"),
        may("registry", Shape::List(&Shape::File), "Model registry files that add entries to the built-in registry.", "[models/local.yaml]"),
        may("models", Shape::List(&Shape::Short(&MODEL, "id")), "The models to test: ids and sets from the registry, or entries of your own. Each runs with each variant that calls a model.", "[gpt-5-mini, claude-haiku-4-5]"),
        may("judges", Shape::List(&Shape::Short(&MODEL, "id")), "The models that grade with rubrics. An empty list turns rubric scorers off.", "[gpt-5]"),
        must("variants", Shape::Map(&Shape::List(&Shape::Object(&STEP))), "Pipelines under test: id to list of steps.", "{ short: [{ prompt: prompts/short.md }] }"),
        may("sweep", Shape::Map(&Shape::List(&Shape::Any)), "Values to try: address of a setting to list of values. Each combination becomes a variant of its own.", "{ variants.short.0.parameters.temperature: [0, 0.7] }"),
        may("services", Shape::Map(&Shape::Object(&SERVICE)), "Programs that Karat starts before the run and stops after it.", r#"{ search: { command: [python, serve.py, --port, "{{ port }}"], ready: /health } }"#),
        may("tools", Shape::Map(&Shape::Object(&TOOL)), "Tools that prompts offer to models: name to what it is for, what it takes and what answers.", "{ get_order: { about: Looks an order up., input: { type: object, properties: { id: { type: string } } }, replies: data/orders.jsonl } }"),
        may("scorers", Shape::Map(&Shape::Object(&SCORER)), "Scorers by id. The id is the name of the metric in reports and gates.", "{ correct: { metric: label, reference: category } }"),
        may("headline", TEXTS, "Metrics that summaries show: names, in which `*` stands for any characters. Default: all that do not depend on time or price; if these are more than six, one of each scorer, judges first.", "[correct, polite]"),
        may("analyses", Shape::List(&Shape::Short(&ANALYSIS, "analysis")), "Analyses to run in addition to those in every report.", "[agreement, { analysis: slices, with: { by: [channel] } }]"),
        may("baseline", Shape::File, "A pinned run to compare with, or a folder with one pinned file per sample.", "baseline.json"),
        may("gates", Shape::List(&Shape::Object(&GATE)), "Quality gates: limits for metrics and findings.", "[{ metric: correct, min: 90% }]"),
        may("policy", Shape::Object(&POLICY), "Settings for all gates: when they bind and what an undecided one means.", "{ enforce: always, undecided: fail }"),
        may("statistics", Shape::Object(&STATISTICS), "How confidence intervals are computed.", "{ interval: bootstrap, resamples: 2000 }"),
        may("run", Shape::Object(&RUN), "Settings of the run: concurrency, timeouts, budget, seed.", "{ trials: 3, max_concurrency: 16, budget_usd: 5 }"),
        may("privacy", Shape::Object(&PRIVACY), "Content that is redacted, or not stored at all.", "{ redact: [email, phone] }"),
        may("traces", Shape::Map(&Shape::Object(&TRACES)), "The traces that a server keeps: name of a dataset, as `source: \"traces:NAME\"` reads it, to the share of it.", "{ support: { sample: 0.1, per_day: 5000, keep: 30d } }"),
        may("schedules", Shape::Map(&Shape::Object(&SCHEDULE)), "Times at which the suite runs, by `karat serve` or `karat schedule run`.", r#"{ nightly: { cron: "0 3 * * *", zone: Europe/Berlin } }"#),
        may("alerts", Shape::Map(&Shape::Object(&ALERT)), "Messages about runs, and the events that they are about.", "{ team: { send: slack, events: [gate_failed, drift] } }"),
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
        may(
            "gates",
            Shape::List(&Shape::Object(&GATE)),
            "Quality gates: limits for metrics and findings.",
            "[{ metric: correct, min: 90% }]",
        ),
        may(
            "policy",
            Shape::Object(&POLICY),
            "Settings for all gates: when they bind and what an undecided one means.",
            "{ enforce: always, undecided: fail }",
        ),
    ],
);

static SERVICE: Object = Object::new(
    "service",
    &[
        must(
            "command",
            TEXTS,
            "The program and its arguments. `{{ port }}` is a free port that Karat chooses.",
            r#"[python, serve.py, --port, "{{ port }}"]"#,
        ),
        may("ready", Shape::Text, "Path of the address to poll until the service is ready.", "/health"),
        may(
            "version",
            Shape::Text,
            "Version of the service. Results are reused only for the same version.",
            "2025-11-02",
        ),
        may(
            "env",
            Shape::Map(&Shape::Text),
            "Environment variables of the process; `${NAME}` reads one of your environment.",
            r#"{ INDEX: data/index, TOKEN: "${SEARCH_TOKEN}" }"#,
        ),
    ],
);

static ANALYSIS: Object = Object::new(
    "analysis",
    &[
        must("analysis", Shape::Text, "Name of the analysis.", "delta"),
        may(
            "id",
            Shape::Text,
            "Key of the result under `analyses` in report.json. Default: the analysis's name.",
            "variant_delta",
        ),
        may("with", Shape::With(Kind::Analysis), "Options of the analysis.", "{ over: variant, base: short }"),
    ],
);

static GATE: Object = Object::new(
    "gate",
    &[
        may("metric", Shape::Text, "Name of a metric. `*` stands for any characters: `quality.*` means every dimension of `quality`. It may read parameters: `{{ params.mode }}.overall`.", "correct"),
        may("finding", Shape::Text, "Path of a figure under `analyses` in report.json.", "variant_delta.comparisons.0.metrics.0.delta"),
        may("id", Shape::Text, "Name of the gate in reports. Default: its metric.", "no_regression"),
        may("where", Shape::Expression, "Condition on the rows that the gate looks at.", r#"sample.channel == "email""#),
        may("per", Shape::Text, "Unit that must pass: `system`, `run`, `sample`, or the name of a column. Default: `system`.", "sample"),
        may("against", Shape::Text, "What to compare with: `baseline`, `previous`, `variant:ID`, `model:ID` or `run:ID`.", "baseline"),
        may("min", Shape::Share, "Lowest value that passes.", "90%"),
        may("max", Shape::Share, "Highest value that passes.", "0.05"),
        may("max_drop", Shape::Share, "Largest decrease that passes. `5%` is relative to the baseline; `0.05` is in the unit of the metric.", "5%"),
        may("max_rise", Shape::Share, "Largest increase that passes, written like `max_drop`.", "0.02"),
        may("decide", Shape::Words(&["point", "interval"]), "`point`: the figure decides. `interval`: the gate passes if the whole confidence interval is within the limit, fails if all of it is beyond, and is undecided otherwise.", "interval"),
        may("anchor", Shape::Words(&["human"]), "Use the figure that the analysis `human_anchor` corrected with people's labels.", "human"),
        may("on_fail", Shape::Words(&["fail", "review"]), "Result of a failed gate: the run fails, or it needs a review.", "review"),
        may("on_undecided", Shape::Words(&["warn", "fail"]), "Result of a gate that the data cannot decide.", "fail"),
    ],
)
.one_of(&["metric", "finding"]);

static POLICY: Object = Object::new(
    "policy",
    &[
        may(
            "enforce",
            Shape::Words(&["always", "on_request"]),
            "Whether failed gates change the exit code always, or only with `--gate`.",
            "always",
        ),
        may("undecided", Shape::Words(&["warn", "fail"]), "Result of a gate that the data cannot decide.", "fail"),
        may(
            "max_unscored",
            Shape::Fraction(0.0, 1.0),
            "Largest share of a gate's cells that may lack a score; above it the gate is undecided. Default: 5 %.",
            "2%",
        ),
        may(
            "max_errors",
            Shape::Fraction(0.0, 1.0),
            "Largest share of a system's cells that may fail before the run fails.",
            "5%",
        ),
        may("confidence", Shape::Fraction(0.5, 0.9999), "Confidence level of intervals.", "0.95"),
        may(
            "mde",
            Shape::Map(&Shape::Share),
            "Difference that further samples are planned for, by metric; `5%` is relative to the figure. Without one, the scorer's `margin`, else a twentieth of the scale.",
            "{ quality.overall: 0.3 }",
        ),
        may("correction", Shape::Words(&["holm", "bh", "none"]), "Correction for multiple comparisons.", "holm"),
        may("strict", Shape::Boolean, "Whether a gate that needs a review fails the run.", "true"),
    ],
);

static RUN: Object = Object::new(
    "run",
    &[
        may("trials", Shape::IntegerIn(1, MOST_TRIALS as i64), "How often each cell is run.", "3"),
        may(
            "variants",
            TEXTS,
            "Variants that run where `--variants` names none; a parameter can choose them. Default: all.",
            r#"["{{ 'live' if params.endpoint else 'stored' }}"]"#,
        ),
        may(
            "max_concurrency",
            Shape::IntegerIn(1, MOST_CONCURRENCY as i64),
            "Largest number of calls in flight, over all models.",
            "16",
        ),
        may("timeout", Shape::Duration, "Time limit for one attempt of a call.", "120s"),
        may("cell_timeout", Shape::Duration, "Time limit for all calls of one cell until it has its output.", "20m"),
        may("retries", Shape::Integer(0), "Number of attempts after the first that fails.", "5"),
        may(
            "budget_usd",
            POSITIVE,
            "Largest amount in US dollars that the run may spend. Karat stops before it is exceeded.",
            "5",
        ),
        may("max_calls", Shape::Integer(0), "Largest number of calls that the run may make.", "1000"),
        may("seed", Shape::Integer(0), "Seed for everything random.", "1"),
        may(
            "cache",
            Shape::WordOr(&["reuse", "off"], &Shape::Object(&CACHE)),
            "Which results of earlier runs are reused: `reuse`, `off`, or `{ max_age: 7d }`.",
            "{ max_age: 7d }",
        ),
        may(
            "layout",
            Shape::Words(&["folder", "flat"]),
            "Layout of the report's files: one folder per run, or `results/RUN.json` and `reports/RUN.md`.",
            "folder",
        ),
        may("call_log", Shape::Template, "File to which every call is logged.", "logs/{{ run.date }}.log"),
        may(
            "capture",
            Shape::Words(&["full", "responses", "hash"]),
            "What is stored of calls: everything; replies, with hashes of requests and documents; or hashes only.",
            "responses",
        ),
        may(
            "stdout",
            Shape::Words(&["report", "row"]),
            "What `-o -` prints as JSON: the report, or one row per judgment.",
            "report",
        ),
        may(
            "cell_line",
            Shape::Placeholders(karat_types::CELL_LINE_FIELDS),
            "Format of a line that is printed for each finished cell, with the placeholders {done}, {total}, {sample}, \
             {model}, {variant}, {trial}, {status} and {duration_ms}.",
            r#""[{done}/{total}] {sample} {model}/{variant} {status}""#,
        ),
        may(
            "batch",
            Shape::Boolean,
            "Whether calls go by the batch APIs of their providers, as with `--batch`: at half the price, answered within a day.",
            "true",
        ),
        may(
            "stop_early",
            Shape::BooleanOr(&Shape::Object(&STOP_EARLY)),
            "Whether the run stops once every gate is decided: `true`, or settings of the rule.",
            "true",
        ),
    ],
)
.foreign(&[
    ("repeat", "trials"),
    ("epochs", "trials"),
    ("concurrency", "max_concurrency"),
    ("max_budget", "budget_usd"),
]);

static STOP_EARLY: Object = Object::new(
    "stop_early",
    &[
        may("rule", Shape::Words(&["betting", "e_value"]), "Rule that decides a gate early.", "betting"),
        may(
            "min",
            Shape::Integer(1),
            "Samples before a gate may be decided, or clusters if the dataset has them. Default: 30 samples, 20 clusters.",
            "50",
        ),
        may(
            "race",
            Shape::Text,
            "Metric in which systems race: those that cannot be the best are stopped.",
            "quality.overall",
        ),
    ],
);

static STATISTICS: Object = Object::new(
    "statistics",
    &[
        may(
            "interval",
            Shape::Words(&["auto", "bootstrap"]),
            "How intervals are computed: by a formula where there is one (`auto`), or always by bootstrap.",
            "bootstrap",
        ),
        may(
            "resamples",
            Shape::Integer(100),
            "Number of bootstrap resamples. Also used by `compare` for figures that are not means.",
            "2000",
        ),
    ],
);

static CACHE: Object =
    Object::new("cache", &[must("max_age", Shape::Duration, "Largest age of a result that is reused.", "7d")]);

static PRIVACY: Object = Object::new(
    "privacy",
    &[
        may("sensitive", Shape::Boolean, "Turns on every built-in redaction rule and stores no content.", "true"),
        may(
            "redact",
            Shape::List(&Shape::Words(&["email", "phone", "card", "iban", "api_key"])),
            "Built-in rules: kinds of personal data that are redacted.",
            "[email, phone, iban]",
        ),
        may(
            "patterns",
            Shape::Map(&Shape::Text),
            "Rules of your own: name to regular expression.",
            r#"{ ticket: 'TCK-\d+' }"#,
        ),
        may("keep_content", Shape::Boolean, "Whether prompts, replies and outputs are stored at all.", "false"),
    ],
);

/// The keys that a server reads of a suite when traces arrive.
pub(crate) static TRACE_KEYS: Object = Object::new(
    "suite",
    &[
        may(
            "traces",
            Shape::Map(&Shape::Object(&TRACES)),
            "The traces that a server keeps.",
            "{ support: { sample: 0.1 } }",
        ),
        may(
            "privacy",
            Shape::Object(&PRIVACY),
            "Content that is redacted, or not stored at all.",
            "{ redact: [email, phone] }",
        ),
    ],
);

static TRACES: Object = Object::new(
    "traces",
    &[
        may(
            "sample",
            Shape::Fraction(0.0, 1.0),
            "Share of the traces that is kept, by a hash of their ids. Default: all.",
            "10%",
        ),
        may(
            "per_day",
            Shape::Integer(1),
            "Rows of a day, about: the share is halved for the rest of the day whenever there are more.",
            "5000",
        ),
        may("keep", Shape::Duration, "How long the rows are kept. Default: for ever.", "30d"),
    ],
);

static SCHEDULE: Object = Object::new(
    "schedule",
    &[
        must("cron", Shape::Text, "When the suite runs: five fields, or a name such as `@daily`.", "0 3 * * *"),
        must("zone", Shape::Text, "Time zone of the cron expression.", "Europe/Berlin"),
        may("days", Shape::Integer(1), "Number of days of data that each run looks at.", "1"),
        may("params", ANY, "Parameters of these runs.", "{ style: short }"),
        may(
            "missed",
            Shape::Words(&["once", "skip", "all"]),
            "What happens with missed times: one run for all of them, none, or one for each (at most 31).",
            "once",
        ),
        may(
            "overlap",
            Shape::Words(&["skip", "queue"]),
            "What happens with a time at which the run before is not over: it is skipped, or waits.",
            "skip",
        ),
        may(
            "task",
            Shape::Words(&["run", "canary"]),
            "What is done: the suite runs, or its judges grade their `canary` again.",
            "run",
        ),
        may("budget_usd", POSITIVE, "Largest amount in US dollars that one run may spend.", "2"),
        may("report", Shape::List(&Shape::Words(&ReportFormat::NAMES)), "Formats of the report.", "[md, html]"),
    ],
);

static ALERT: Object = Object::new(
    "alert",
    &[
        must("send", Shape::Words(&["webhook", "slack", "teams"]), "Channel of the message.", "slack"),
        may(
            "with",
            Shape::With(Kind::Free),
            "Options of the channel: `url`, and `secret` of a webhook.",
            r#"{ url: "${SLACK_WEBHOOK}" }"#,
        ),
        must("events", Shape::List(&Shape::Words(EVENTS)), "Events that cause a message.", "[gate_failed, drift]"),
        may("examples", Shape::Integer(0), "Number of failed samples shown in a message.", "3"),
        may(
            "quiet",
            Shape::WordOr(&["0", "0s"], &Shape::Duration),
            "Time between reminders of an open incident; 0 for none.",
            "24h",
        ),
        may("after", Shape::Integer(1), "Number of bad runs in a row that open an incident.", "1"),
        may("clear", Shape::Integer(1), "Number of good runs in a row that close it.", "2"),
    ],
);

/// Events of alerts.
const EVENTS: &[&str] = &[
    "gate_failed",
    "undecided",
    "drift",
    "judge_moved",
    "run_failed",
    "budget_stopped",
    "schedule_missed",
    "delivery_failed",
];
