//! Every operation of the API: its route, its parameters, its answers.

/// An operation.
pub(super) struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub id: &'static str,
    pub summary: &'static str,
    pub parameters: &'static [Parameter],
    /// The schema of the body, and whether it must be there.
    pub body: Option<(&'static str, bool)>,
    pub answers: &'static [Answer],
    pub security: Security,
}

/// A parameter of the query or the head.
pub(super) struct Parameter {
    pub name: &'static str,
    pub place: &'static str,
    pub meaning: &'static str,
    /// Its schema as JSON.
    pub schema: &'static str,
}

/// An answer that is no problem.
pub(super) struct Answer {
    pub status: &'static str,
    pub meaning: &'static str,
    pub kinds: &'static [&'static str],
    /// The schema of its JSON.
    pub schema: &'static str,
}

/// The role that may ask.
#[derive(Clone, Copy)]
pub(super) enum Security {
    Nothing,
    /// A token, once one was created.
    Token,
}

const JSON: &[&str] = &["application/json"];
const TEXT: &str = r#"{"type": "string"}"#;

const fn query(name: &'static str, meaning: &'static str, schema: &'static str) -> Parameter {
    Parameter { name, place: "query", meaning, schema }
}

const fn ok(meaning: &'static str, schema: &'static str) -> Answer {
    Answer { status: "200", meaning, kinds: JSON, schema }
}

const ACCEPTED: Answer = Answer { status: "202", meaning: "The run waits for its turn", kinds: JSON, schema: "Run" };
const NOT_MODIFIED: Answer =
    Answer { status: "304", meaning: "The caller has the present answer", kinds: &[], schema: "" };

const fn read(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    answers: &'static [Answer],
) -> Operation {
    Operation { method: "get", path, id, summary, parameters, body: None, answers, security: Security::Token }
}

const fn start(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    body: Option<(&'static str, bool)>,
    answers: &'static [Answer],
) -> Operation {
    Operation { method: "post", path, id, summary, parameters: &[], body, answers, security: Security::Token }
}

const fn open(path: &'static str, id: &'static str, summary: &'static str, answers: &'static [Answer]) -> Operation {
    let security = Security::Nothing;
    Operation { method: "get", path, id, summary, parameters: &[], body: None, answers, security }
}

/// All operations.
pub(super) const OPERATIONS: &[Operation] = &[
    start(
        "/eval/plan",
        "plan",
        "Show what a run would do and cost; makes no API calls, stores nothing",
        Some(("RunRequest", true)),
        &[ok("The estimate", "Estimate")],
    ),
    start("/eval/run", "run", "Start a run", Some(("RunRequest", true)), &[ACCEPTED]),
    read(
        "/eval/runs",
        "listRuns",
        "Runs, newest first",
        &[
            query("suite", "Runs of this suite", TEXT),
            query(
                "status",
                "Runs with this status",
                r#"{"enum": ["queued", "running", "completed", "failed", "cancelled", "interrupted", "budget_stopped"]}"#,
            ),
            query("trigger", "Runs with this origin: `cli`, `api`, or `schedule:ID`", TEXT),
            query("since", "Runs of this day or later", r#"{"type": "string", "format": "date"}"#),
            query("limit", "Runs of a page", r#"{"type": "integer", "minimum": 1, "maximum": 200, "default": 50}"#),
            query("cursor", "`next` of an earlier page", r#"{"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}"#),
        ],
        &[ok("A page of runs", "RunPage"), NOT_MODIFIED],
    ),
    read("/eval/runs/{run}", "getRun", "One run", &[], &[ok("The run", "Run"), NOT_MODIFIED]),
    read(
        "/eval/runs/{run}/events",
        "followRun",
        "What happens in a run, as server-sent events",
        &[
            query(
                "cells",
                "Cells that come as events",
                r#"{"enum": ["none", "failed", "all", "latest"], "default": "none"}"#,
            ),
            Parameter {
                name: "Last-Event-ID",
                place: "header",
                meaning: "Only what came behind this event",
                schema: r#"{"type": "string", "pattern": "^[0-9]{1,15}$"}"#,
            },
        ],
        &[
            Answer {
                status: "200",
                meaning: "The events, until the run ends",
                kinds: &["text/event-stream"],
                schema: "",
            },
            Answer { status: "204", meaning: "The run has ended, and nothing is new", kinds: &[], schema: "" },
        ],
    ),
    read(
        "/eval/runs/{run}/report",
        "getReport",
        "The report of a run",
        &[
            query(
                "format",
                "The form of the report",
                r#"{"enum": ["json", "md", "html", "junit", "cells", "csv", "comment"], "default": "json"}"#,
            ),
            query("canonical", "Leave out what differs between equal runs", r#"{"enum": ["0", "1"], "default": "0"}"#),
        ],
        &[
            Answer {
                status: "200",
                meaning: "What `karat report` writes",
                kinds: &[
                    "application/json",
                    "text/markdown",
                    "text/html",
                    "application/xml",
                    "application/x-ndjson",
                    "text/csv",
                ],
                schema: "Report",
            },
            NOT_MODIFIED,
        ],
    ),
    start(
        "/eval/runs/{run}/cancel",
        "cancelRun",
        "Stop a run after its calls in flight; their results are kept",
        None,
        &[
            Answer { status: "202", meaning: "The run ends soon", kinds: JSON, schema: "Run" },
            ok("The run has ended", "Run"),
        ],
    ),
    start("/eval/runs/{run}/resume", "resumeRun", "Continue a run", Some(("Limits", false)), &[ACCEPTED]),
    start(
        "/eval/runs/{run}/retry",
        "retryRun",
        "Re-run the failed cells of a run",
        Some(("Limits", false)),
        &[ACCEPTED],
    ),
    read("/suites", "listSuites", "Suites that can be run", &[], &[ok("The suites", "SuiteList"), NOT_MODIFIED]),
    read(
        "/metrics",
        "metrics",
        "Figures for Prometheus",
        &[],
        &[Answer { status: "200", meaning: "The figures", kinds: &["text/plain"], schema: "" }, NOT_MODIFIED],
    ),
    open(
        "/livez",
        "livez",
        "The process answers",
        &[Answer { status: "200", meaning: "It does", kinds: &["text/plain"], schema: "" }],
    ),
    open(
        "/healthz",
        "healthz",
        "The server can do its work",
        &[ok("It can", "Health"), Answer { status: "503", meaning: "It cannot", kinds: JSON, schema: "Health" }],
    ),
    open("/openapi.json", "openapi", "This document", &[ok("The document", "Document"), NOT_MODIFIED]),
];
