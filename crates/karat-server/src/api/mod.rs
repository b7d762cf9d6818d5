//! The HTTP API: JSON for programs, in the words of `karat run --json` and `report.json`.
//!
//! [`routes`] is the table of the API: for each endpoint its role, its description, the types of its body and its answers, and
//! its handler. The router, the admission and the description for programs read it.
//!
//! - `body`: what a request says; unknown names are errors. `openapi`: the description of the API.
//! - `listing`: lists and their pages. `run_object`: a run as it is answered, and its cancellation; `run_list`: pages of runs.
//! - `start`: plans, starts and continues runs.
//! - `suites`: the suites that can be run. `health`: whether the server works. `metrics`: figures for Prometheus.
//! - `service/`: schedules, incidents and messages. `traces`: calls of models that applications report.
//! - `report`: reports in every format. `events`: what happens in a run, as it happens.

mod body;
mod events;
mod health;
mod listing;
mod metrics;
mod openapi;
mod report;
mod run_list;
mod run_object;
mod service;
mod start;
mod suites;
pub(crate) mod traces;

use axum::response::{IntoResponse, Response};
use http::header;
use karat_app::{
    AdjudicationRequest, App, CreatedTask, DraftRequest, FiringLine, IncidentLine, LabelRequest, MessageLine,
    NextRequest, ReasonRequest, Role, RunRequest, ScheduleLine, SuiteLine, TaskLine,
};
use karat_types::ReportFormat;
use serde_json::{Value, json};

pub(crate) use run_object::RunObject;

use crate::api::body::Nothing;
use crate::api::listing::{List, Page};
use crate::api::openapi::{
    AnnotationAgreement, AnnotationDecided, AnnotationItem, AnnotationState, AnnotationTask, ClosedAnnotationTask,
    Document, Estimate, Health, PartialSuccess, Report, RpcStatus, Spans, TraceDataset,
};
use crate::api::service::annotations::{self, person_handler};
use crate::api::service::{incidents, outbox, schedules, suspects};
use crate::route::{Parameter, Route, Routes};

const JSON: &[&str] = &["application/json"];
const TEXT: &[&str] = &["text/plain"];
const LINES: &[&str] = &["application/x-ndjson"];
const PROTOCOL: &[&str] = &["application/json", "application/x-protobuf"];
const REPORTS: &[&str] =
    &["application/json", "text/markdown", "text/html", "application/xml", "application/x-ndjson", "text/csv"];

const WAITS: &str = "The run waits for its turn";
const STATE_FOR_PERSON: &str = "The state of the item for the person";

/// The table of the API.
pub(crate) fn routes() -> Vec<Route> {
    use Role::{Annotate, Ingest, Read, Run};
    let runs = [
        Route::post(
            "/eval/plan",
            Run,
            ("plan", "Show what a run would do and cost; makes no API calls, stores nothing"),
            start::plan,
        )
        .with_body::<RunRequest>()
        .with_json::<Estimate>("The estimate"),
        Route::post("/eval/run", Run, ("run", "Start a run"), start::run)
            .with_body::<RunRequest>()
            .with_accepted::<RunObject>(WAITS),
        with_page(
            Route::get("/eval/runs", Read, ("listRuns", "Runs, newest first"), run_list::list)
                .with_query("suite", "Runs of this suite", text())
                .with_query(
                    "status",
                    "Runs with this status",
                    one_of(&["queued", "running", "completed", "failed", "cancelled", "interrupted", "budget_stopped"]),
                )
                .with_query("trigger", "Runs with this origin: `cli`, `api`, or `schedule:ID`", text())
                .with_query("since", "Runs of this day or later", json!({ "type": "string", "format": "date" })),
        )
        .with_json::<Page<RunObject>>("A page of runs"),
        Route::get("/eval/runs/{run}", Read, ("getRun", "One run"), run_object::one).with_json::<RunObject>("The run"),
        Route::get(
            "/eval/runs/{run}/events",
            Read,
            ("followRun", "What happens in a run, as server-sent events"),
            events::events,
        )
        .with_query("cells", "Cells that come as events", choice(&["none", "failed", "all", "latest"]))
        .with_parameter(Parameter {
            name: "Last-Event-ID",
            place: "header",
            meaning: "Only what came behind this event",
            schema: json!({ "type": "string", "pattern": "^[0-9]{1,15}$" }),
            is_required: false,
        })
        .with_answer::<Value>("200", "The events, until the run ends", &["text/event-stream"])
        .with_empty_answer("204", "The run has ended, and nothing is new"),
        Route::get("/eval/runs/{run}/report", Read, ("getReport", "The report of a run"), report::report)
            .with_query(
                "format",
                "The form of the report",
                json!({ "enum": ReportFormat::NAMES, "default": ReportFormat::Json.name() }),
            )
            .with_query("canonical", "Leave out what differs between equal runs", choice(&["0", "1"]))
            .with_answer::<Report>("200", "What `karat report` writes", REPORTS)
            .with_tag(),
        Route::post(
            "/eval/runs/{run}/cancel",
            Run,
            ("cancelRun", "Stop a run after its calls in flight; their results are kept"),
            run_object::cancel,
        )
        .with_accepted::<RunObject>("The run ends soon")
        .with_json::<RunObject>("The run has ended"),
        Route::post("/eval/runs/{run}/resume", Run, ("resumeRun", "Continue a run"), start::resume)
            .with_body::<start::Limits>()
            .with_accepted::<RunObject>(WAITS),
        Route::post("/eval/runs/{run}/retry", Run, ("retryRun", "Re-run the failed cells of a run"), start::retry)
            .with_body::<start::Limits>()
            .with_accepted::<RunObject>(WAITS),
    ];
    let service = [
        Route::get(
            "/schedules",
            Read,
            ("listSchedules", "Schedules of the suites that the server follows"),
            schedules::list,
        )
        .with_json::<List<ScheduleLine>>("The schedules"),
        Route::post(
            "/schedules/{suite}/{id}/run",
            Run,
            ("runSchedule", "Run a due time of a schedule, by default the last; each is run once"),
            schedules::run,
        )
        .with_body::<schedules::WantedDue>()
        .with_accepted::<FiringLine>(WAITS),
        Route::post(
            "/schedules/{suite}/{id}/pause",
            Run,
            ("pauseSchedule", "Skip the due times of a schedule from now on"),
            schedules::pause,
        )
        .with_body::<Nothing>()
        .with_json::<ScheduleLine>("The schedule"),
        Route::post(
            "/schedules/{suite}/{id}/resume",
            Run,
            ("resumeSchedule", "Follow a paused schedule again"),
            schedules::resume,
        )
        .with_body::<Nothing>()
        .with_json::<ScheduleLine>("The schedule"),
        with_page(
            Route::get("/incidents", Read, ("listIncidents", "Incidents, newest first"), incidents::list).with_query(
                "state",
                "Incidents in this state",
                one_of(&["open", "acknowledged", "closed"]),
            ),
        )
        .with_json::<Page<IncidentLine>>("A page of incidents"),
        Route::post("/incidents/{id}/ack", Run, ("ackIncident", "End the reminders of an incident"), incidents::ack)
            .with_body::<Nothing>()
            .with_json::<IncidentLine>("The incident"),
        Route::post(
            "/incidents/{id}/close",
            Run,
            ("closeIncident", "Close an incident; the next bad run opens a new one"),
            incidents::close,
        )
        .with_body::<Nothing>()
        .with_json::<IncidentLine>("The incident"),
        with_page(
            Route::get(
                "/outbox",
                Read,
                ("listMessages", "Messages of alerts without their content, newest first"),
                outbox::list,
            )
            .with_query("state", "Messages in this state", one_of(&["pending", "sent", "dead"])),
        )
        .with_json::<Page<MessageLine>>("A page of messages"),
        Route::post(
            "/outbox/{id}/retry",
            Run,
            ("retryMessage", "Send a message that was not sent, with all of its attempts"),
            outbox::retry,
        )
        .with_body::<Nothing>()
        .with_json::<MessageLine>("The message"),
        Route::get("/traces", Read, ("listTraces", "Datasets of traces that applications have sent"), traces::list)
            .for_traces()
            .with_json::<List<TraceDataset>>("The datasets"),
        Route::post(
            "/traces",
            Ingest,
            ("addTraces", "Add rows to a dataset of traces, a line of JSON each"),
            traces::add_lines,
        )
        .for_traces()
        .with_parameter(Parameter { is_required: true, ..dataset_name("dataset", "query", "Name of the dataset") })
        .with_body_of::<Nothing>(LINES, false)
        .with_json::<traces::Added>("The number of rows by their fate"),
        Route::post(
            "/v1/traces",
            Ingest,
            (
                "addSpans",
                "Add calls of models, as exporters of OpenTelemetry send them; errors are those of its protocol",
            ),
            traces::add_spans,
        )
        .for_traces()
        .with_any_query()
        .with_parameter(dataset_name("x-karat-dataset", "header", "Name of the dataset instead of that of the service"))
        .with_body_of::<Spans>(PROTOCOL, true)
        .with_answer::<PartialSuccess>("200", "What was rejected", PROTOCOL)
        .with_answer::<RpcStatus>("400", "The request cannot be read", PROTOCOL)
        .with_answer::<RpcStatus>("429", "More arrives than is written", PROTOCOL)
        .with_answer::<RpcStatus>("503", "The disk refuses", PROTOCOL),
        Route::post(
            "/suites/{suite}/suspects",
            Run,
            ("createSuspectsTask", "Make a task for people of the items that may be wrong"),
            suspects::create,
        )
        .with_body::<Nothing>()
        .with_json::<CreatedTask>("The task, or the one that is there"),
        Route::get("/suites", Read, ("listSuites", "Suites that can be run"), suites::suites)
            .with_json::<List<SuiteLine>>("The suites"),
        Route::get("/metrics", Read, ("metrics", "Figures for Prometheus"), metrics::metrics)
            .with_answer::<String>("200", "The figures", TEXT)
            .with_tag(),
        Route::get("/livez", Read, ("livez", "The process answers"), health::livez)
            .for_everybody()
            .with_answer::<String>("200", "It does", TEXT),
        Route::get("/healthz", Read, ("healthz", "The server can do its work"), health::healthz)
            .for_everybody()
            .with_answer::<Health>("200", "It can", JSON)
            .with_answer::<Health>("503", "It cannot", JSON),
        Route::get("/openapi.json", None, ("openapi", "This document"), document).with_json::<Document>("The document"),
    ];
    let people = [
        Route::get("/annotations", Run, ("listAnnotationTasks", "Tasks for people, newest first"), annotations::list)
            .with_json::<List<TaskLine>>("The tasks"),
        Route::post(
            "/annotations",
            Run,
            ("createAnnotationTask", "Make a task of the outputs of a run"),
            annotations::create,
        )
        .with_body::<annotations::WantedTask>()
        .with_json::<CreatedTask>("The task; the same request gives the same one"),
        Route::get(
            "/annotations/{task}",
            Run,
            ("getAnnotationTask", "Progress, people, flags and disagreements of a task"),
            annotations::one,
        )
        .with_json::<AnnotationTask>("The owner's view"),
        Route::get(
            "/annotations/{task}/agreement",
            Run,
            ("getAnnotationAgreement", "How far people agree, by question"),
            annotations::agreement,
        )
        .with_json::<AnnotationAgreement>("The figures"),
        Route::get(
            "/annotations/{task}/export",
            Run,
            ("exportAnnotations", "The labels of a task as a file"),
            annotations::export,
        )
        .with_query("form", "Form of the file", choice(&["labels", "jsonl", "csv"]))
        .with_query("settled", "One settled value of each item", choice(&["false", "true"]))
        .with_query("audit", "Every event", choice(&["false", "true"]))
        .with_query("pseudonyms", "People as a1, a2 and so on", choice(&["false", "true"]))
        .with_answer::<String>("200", "The file", &["application/x-ndjson", "text/csv"])
        .with_tag(),
        of_person(
            Route::post(
                "/annotations/{task}/next",
                Annotate,
                ("nextAnnotation", "Hold a place of an item for ten minutes, and get the item"),
                person_handler(App::next_annotation),
            )
            .with_body::<NextRequest>(),
        )
        .with_json::<AnnotationItem>("The task, the item or none, and the person's own progress"),
        of_person(
            Route::post(
                "/annotations/{task}/draft",
                Annotate,
                ("draftAnnotation", "Keep answers that are not submitted, and renew the place"),
                person_handler(App::save_draft),
            )
            .with_body::<DraftRequest>(),
        )
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        of_person(
            Route::post(
                "/annotations/{task}/labels",
                Annotate,
                ("submitAnnotation", "Submit a label"),
                person_handler(App::submit_label),
            )
            .with_body::<LabelRequest>(),
        )
        .with_json::<AnnotationState>("The fate of the label"),
        of_person(
            Route::post(
                "/annotations/{task}/skip",
                Annotate,
                ("skipAnnotation", "Give the place of an item to another person"),
                person_handler(App::skip_item),
            )
            .with_body::<ReasonRequest>(),
        )
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        of_person(
            Route::post(
                "/annotations/{task}/flag",
                Annotate,
                ("flagAnnotation", "Give an item to the owner of the task"),
                person_handler(App::flag_item),
            )
            .with_body::<ReasonRequest>(),
        )
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        of_person(
            Route::post(
                "/annotations/{task}/undo",
                Annotate,
                ("undoAnnotation", "Take back a label: the person's last one, or that of an item"),
                person_handler(annotations::undo),
            )
            .with_body::<annotations::WantedUndo>(),
        )
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        of_person(
            Route::post(
                "/annotations/{task}/adjudicate",
                Run,
                ("adjudicateAnnotation", "Decide an item, hand it out again, or exclude a person"),
                annotations::adjudicate,
            )
            .with_body_of::<AdjudicationRequest>(JSON, true),
        )
        .with_json::<AnnotationDecided>("The labels without names, and the decision"),
        of_person(
            Route::post(
                "/annotations/{task}/close",
                Run,
                ("closeAnnotationTask", "Close a task for good"),
                annotations::close,
            )
            .with_body::<Nothing>(),
        )
        .with_json::<ClosedAnnotationTask>("The end of the task"),
    ];
    runs.into_iter().chain(service).chain(people).collect()
}

/// The route of a list that comes in pages.
fn with_page(route: Route) -> Route {
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 });
    let cursor = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$" });
    route.with_query("limit", "Rows of a page", limit).with_query("cursor", "`next` of an earlier page", cursor)
}

/// The route of a change that a person makes.
fn of_person(route: Route) -> Route {
    let name = json!({ "type": "string", "minLength": 1, "maxLength": 64 });
    route.with_query("as", "Name of the person; a token of the role `annotate` names its own", name)
}

fn dataset_name(name: &'static str, place: &'static str, meaning: &'static str) -> Parameter {
    let schema = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$" });
    Parameter { name, place, meaning, schema, is_required: false }
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn one_of(values: &[&str]) -> Value {
    json!({ "enum": values })
}

/// One of these values, by default the first.
fn choice(values: &[&str]) -> Value {
    json!({ "enum": values, "default": values[0] })
}

/// The description of the API for programs, indented.
pub fn description() -> String {
    let mut text = serde_json::to_string_pretty(&openapi::describe(&Routes::new(routes()))).unwrap_or_default();
    text.push('\n');
    text
}

/// `GET /openapi.json`. Everybody may read it.
async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], description()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// SV-02: the document names each object that it refers to, and every operation once.
    #[test]
    fn every_reference_leads_to_an_object() {
        let document: Value = serde_json::from_str(&description()).unwrap();
        let text = document.to_string();
        for part in text.split("#/components/").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(&format!("/components/{pointer}")).is_some(), "{pointer}");
        }
        let routes = routes();
        let ids: BTreeSet<_> = routes.iter().filter_map(|route| Some(route.operation.as_ref()?.id)).collect();
        assert_eq!(ids.len(), routes.len());
    }
}
