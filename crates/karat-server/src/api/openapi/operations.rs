//! Every operation of the API: its route, its parameters, its answers.

/// An operation.
pub(super) struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub id: &'static str,
    pub summary: &'static str,
    pub parameters: &'static [Parameter],
    pub body: Option<Body>,
    pub answers: &'static [Answer],
    pub security: Security,
}

impl Operation {
    /// Returns whether it takes traces: their bodies are larger than others, and no answer is kept under a key.
    pub fn is_ingest(&self) -> bool {
        self.method == "post" && matches!(self.path, "/traces" | "/v1/traces")
    }
}

/// A body of a request.
pub(super) struct Body {
    /// The schema of its JSON.
    pub schema: &'static str,
    pub is_required: bool,
    pub kinds: &'static [&'static str],
}

/// A parameter of the query or the head.
pub(super) struct Parameter {
    pub name: &'static str,
    pub place: &'static str,
    pub meaning: &'static str,
    /// Its schema as JSON.
    pub schema: &'static str,
    pub is_required: bool,
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
const PROTOCOL: &[&str] = &["application/json", "application/x-protobuf"];
const TEXT: &str = r#"{"type": "string"}"#;

const fn query(name: &'static str, meaning: &'static str, schema: &'static str) -> Parameter {
    Parameter { name, place: "query", meaning, schema, is_required: false }
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
    body: Option<Body>,
    answers: &'static [Answer],
) -> Operation {
    Operation { method: "post", path, id, summary, parameters: &[], body, answers, security: Security::Token }
}

const fn json_body(schema: &'static str, is_required: bool) -> Option<Body> {
    Some(Body { schema, is_required, kinds: JSON })
}

/// A change without content.
const fn change(path: &'static str, id: &'static str, summary: &'static str, answers: &'static [Answer]) -> Operation {
    start(path, id, summary, json_body("Nothing", false), answers)
}

const fn open(path: &'static str, id: &'static str, summary: &'static str, answers: &'static [Answer]) -> Operation {
    let security = Security::Nothing;
    Operation { method: "get", path, id, summary, parameters: &[], body: None, answers, security }
}

/// A change of a person on a task for people.
const fn person(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    body: Option<Body>,
    answers: &'static [Answer],
) -> Operation {
    Operation { parameters: &[AS], ..start(path, id, summary, body, answers) }
}

const AS: Parameter = query(
    "as",
    "Name of the person; a token of the role `annotate` names its own",
    r#"{"type": "string", "minLength": 1, "maxLength": 64}"#,
);
const LIMIT: Parameter =
    query("limit", "Rows of a page", r#"{"type": "integer", "minimum": 1, "maximum": 200, "default": 50}"#);
const CURSOR: Parameter =
    query("cursor", "`next` of an earlier page", r#"{"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}"#);

/// All operations.
pub(super) const OPERATIONS: &[Operation] = &[
    start(
        "/eval/plan",
        "plan",
        "Show what a run would do and cost; makes no API calls, stores nothing",
        json_body("RunRequest", true),
        &[ok("The estimate", "Estimate")],
    ),
    start("/eval/run", "run", "Start a run", json_body("RunRequest", true), &[ACCEPTED]),
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
            LIMIT,
            CURSOR,
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
                is_required: false,
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
    start("/eval/runs/{run}/resume", "resumeRun", "Continue a run", json_body("Limits", false), &[ACCEPTED]),
    start(
        "/eval/runs/{run}/retry",
        "retryRun",
        "Re-run the failed cells of a run",
        json_body("Limits", false),
        &[ACCEPTED],
    ),
    read(
        "/schedules",
        "listSchedules",
        "Schedules of the suites that the server follows",
        &[],
        &[ok("The schedules", "ScheduleList"), NOT_MODIFIED],
    ),
    start(
        "/schedules/{suite}/{id}/run",
        "runSchedule",
        "Run a due time of a schedule, by default the last; each is run once",
        json_body("Due", false),
        &[Answer { status: "202", meaning: "The run waits for its turn", kinds: JSON, schema: "Firing" }],
    ),
    change(
        "/schedules/{suite}/{id}/pause",
        "pauseSchedule",
        "Skip the due times of a schedule from now on",
        &[ok("The schedule", "Schedule")],
    ),
    change(
        "/schedules/{suite}/{id}/resume",
        "resumeSchedule",
        "Follow a paused schedule again",
        &[ok("The schedule", "Schedule")],
    ),
    read(
        "/incidents",
        "listIncidents",
        "Incidents, newest first",
        &[query("state", "Incidents in this state", r#"{"enum": ["open", "acknowledged", "closed"]}"#), LIMIT, CURSOR],
        &[ok("A page of incidents", "IncidentPage"), NOT_MODIFIED],
    ),
    change("/incidents/{id}/ack", "ackIncident", "End the reminders of an incident", &[ok("The incident", "Incident")]),
    change(
        "/incidents/{id}/close",
        "closeIncident",
        "Close an incident; the next bad run opens a new one",
        &[ok("The incident", "Incident")],
    ),
    read(
        "/outbox",
        "listMessages",
        "Messages of alerts without their content, newest first",
        &[query("state", "Messages in this state", r#"{"enum": ["pending", "sent", "dead"]}"#), LIMIT, CURSOR],
        &[ok("A page of messages", "MessagePage"), NOT_MODIFIED],
    ),
    change(
        "/outbox/{id}/retry",
        "retryMessage",
        "Send a message that was not sent, with all of its attempts",
        &[ok("The message", "Message")],
    ),
    read(
        "/traces",
        "listTraces",
        "Datasets of traces that applications have sent",
        &[],
        &[ok("The datasets", "TraceList"), NOT_MODIFIED],
    ),
    Operation {
        method: "post",
        path: "/traces",
        id: "addTraces",
        summary: "Add rows to a dataset of traces, a line of JSON each",
        parameters: &[Parameter {
            name: "dataset",
            place: "query",
            meaning: "Name of the dataset",
            schema: r#"{"type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"}"#,
            is_required: true,
        }],
        body: Some(Body { schema: "Nothing", is_required: false, kinds: &["application/x-ndjson"] }),
        answers: &[ok("The number of rows by their fate", "AddedTraces")],
        security: Security::Token,
    },
    Operation {
        method: "post",
        path: "/v1/traces",
        id: "addSpans",
        summary: "Add calls of models, as exporters of OpenTelemetry send them; errors are those of its protocol",
        parameters: &[Parameter {
            name: "x-karat-dataset",
            place: "header",
            meaning: "Name of the dataset instead of that of the service",
            schema: r#"{"type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"}"#,
            is_required: false,
        }],
        body: Some(Body { schema: "Spans", is_required: true, kinds: PROTOCOL }),
        answers: &[
            Answer { status: "200", meaning: "What was rejected", kinds: PROTOCOL, schema: "PartialSuccess" },
            Answer { status: "400", meaning: "The request cannot be read", kinds: PROTOCOL, schema: "RpcStatus" },
            Answer { status: "429", meaning: "More arrives than is written", kinds: PROTOCOL, schema: "RpcStatus" },
            Answer { status: "503", meaning: "The disk refuses", kinds: PROTOCOL, schema: "RpcStatus" },
        ],
        security: Security::Token,
    },
    read(
        "/annotations",
        "listAnnotationTasks",
        "Tasks for people, newest first; role `run`",
        &[],
        &[ok("The tasks", "AnnotationTaskList"), NOT_MODIFIED],
    ),
    start(
        "/annotations",
        "createAnnotationTask",
        "Make a task of the outputs of a run; role `run`",
        json_body("AnnotationTaskRequest", true),
        &[ok("The task; the same request gives the same one", "CreatedAnnotationTask")],
    ),
    read(
        "/annotations/{task}",
        "getAnnotationTask",
        "Progress, people, flags and disagreements of a task; role `run`",
        &[],
        &[ok("The owner's view", "AnnotationTask"), NOT_MODIFIED],
    ),
    read(
        "/annotations/{task}/agreement",
        "getAnnotationAgreement",
        "How far people agree, by question; role `run`",
        &[],
        &[ok("The figures", "AnnotationAgreement"), NOT_MODIFIED],
    ),
    read(
        "/annotations/{task}/export",
        "exportAnnotations",
        "The labels of a task as a file; role `run`",
        &[
            query("form", "Form of the file", r#"{"enum": ["labels", "jsonl", "csv"], "default": "labels"}"#),
            query("settled", "One settled value of each item", r#"{"enum": ["true", "false"], "default": "false"}"#),
            query("audit", "Every event", r#"{"enum": ["true", "false"], "default": "false"}"#),
            query("pseudonyms", "People as a1, a2 and so on", r#"{"enum": ["true", "false"], "default": "false"}"#),
        ],
        &[
            Answer { status: "200", meaning: "The file", kinds: &["application/x-ndjson", "text/csv"], schema: "" },
            NOT_MODIFIED,
        ],
    ),
    person(
        "/annotations/{task}/next",
        "nextAnnotation",
        "Hold a place of an item for ten minutes, and get the item; role `annotate`",
        json_body("NextAnnotation", false),
        &[ok("The task, the item or none, and the person's own progress", "AnnotationItem")],
    ),
    person(
        "/annotations/{task}/draft",
        "draftAnnotation",
        "Keep answers that are not submitted, and renew the place; role `annotate`",
        json_body("AnnotationDraft", true),
        &[ok("The state of the item for the person", "AnnotationState")],
    ),
    person(
        "/annotations/{task}/labels",
        "submitAnnotation",
        "Submit a label; role `annotate`",
        json_body("AnnotationLabel", true),
        &[ok("The fate of the label", "AnnotationState")],
    ),
    person(
        "/annotations/{task}/skip",
        "skipAnnotation",
        "Give the place of an item to another person; role `annotate`",
        json_body("AnnotationReason", true),
        &[ok("The state of the item for the person", "AnnotationState")],
    ),
    person(
        "/annotations/{task}/flag",
        "flagAnnotation",
        "Give an item to the owner of the task; role `annotate`",
        json_body("AnnotationReason", true),
        &[ok("The state of the item for the person", "AnnotationState")],
    ),
    person(
        "/annotations/{task}/undo",
        "undoAnnotation",
        "Take back a label: the person's last one, or that of an item; role `annotate`",
        json_body("AnnotationUndo", false),
        &[ok("The state of the item for the person", "AnnotationState")],
    ),
    person(
        "/annotations/{task}/adjudicate",
        "adjudicateAnnotation",
        "Decide an item, hand it out again, or exclude a person; role `run`",
        json_body("AnnotationDecision", true),
        &[ok("The labels without names, and the decision", "AnnotationDecided")],
    ),
    person(
        "/annotations/{task}/close",
        "closeAnnotationTask",
        "Close a task for good; role `run`",
        json_body("Nothing", false),
        &[ok("The end of the task", "ClosedAnnotationTask")],
    ),
    start(
        "/suites/{suite}/suspects",
        "createSuspectsTask",
        "Make a task for people of the items that may be wrong; role `run`",
        json_body("Nothing", false),
        &[ok("The task, or the one that is there", "CreatedAnnotationTask")],
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
