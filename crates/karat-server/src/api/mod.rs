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

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use http::header;
use karat_app::{
    AdjudicationRequest, CreatedTask, DraftRequest, FiringLine, IncidentLine, LabelRequest, MessageLine, NextRequest,
    ReasonRequest, Role, RunRequest, ScheduleLine, SuiteLine, TaskLine,
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
use crate::route::{Parameter, Route, Routes, get, post};

const JSON: &[&str] = &["application/json"];
const TEXT: &[&str] = &["text/plain"];
const LINES: &[&str] = &["application/x-ndjson"];
const PROTOCOL: &[&str] = &["application/json", "application/x-protobuf"];

/// The media types of reports, that of the default first.
static REPORTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut types = vec![ReportFormat::Json.media_type()];
    for of_format in ReportFormat::ALL.map(ReportFormat::media_type) {
        let of_format = of_format.split(';').next().unwrap_or_default();
        if !types.contains(&of_format) {
            types.push(of_format);
        }
    }
    types
});

const WAITS: &str = "The run waits for its turn";
const STATE_FOR_PERSON: &str = "The state of the item for the person";

/// The table of the API.
pub(crate) fn routes() -> Vec<Route> {
    use Role::{Annotate, Ingest, Read, Run};
    let runs = [
        post("/eval/plan", Run, "plan", start::plan)
            .with_summary("Show what a run would do and cost; makes no API calls, stores nothing")
            .with_body::<RunRequest>()
            .with_json::<Estimate>("The estimate"),
        post("/eval/run", Run, "run", start::run)
            .with_summary("Start a run")
            .with_body::<RunRequest>()
            .with_accepted::<RunObject>(WAITS),
        get("/eval/runs", Read, "listRuns", run_list::list)
            .with_summary("Runs, newest first")
            .with_query("suite", "Runs of this suite", text())
            .with_query(
                "status",
                "Runs with this status",
                one_of(&["queued", "running", "completed", "failed", "cancelled", "interrupted", "budget_stopped"]),
            )
            .with_query("trigger", "Runs with this origin: `cli`, `api`, or `schedule:ID`", text())
            .with_query("since", "Runs of this day or later", json!({ "type": "string", "format": "date" }))
            .in_pages()
            .with_json::<Page<RunObject>>("A page of runs"),
        get("/eval/runs/{run}", Read, "getRun", run_object::one)
            .with_summary("One run")
            .with_json::<RunObject>("The run"),
        get("/eval/runs/{run}/events", Read, "followRun", events::events)
            .with_summary("What happens in a run, as server-sent events")
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
        get("/eval/runs/{run}/report", Read, "getReport", report::report)
            .with_summary("The report of a run")
            .with_query(
                "format",
                "The form of the report",
                json!({ "enum": ReportFormat::NAMES, "default": ReportFormat::Json.name() }),
            )
            .with_query("canonical", "Leave out what differs between equal runs", choice(&["0", "1"]))
            .with_answer::<Report>("200", "What `karat report` writes", &REPORTS)
            .with_tag(),
        post("/eval/runs/{run}/cancel", Run, "cancelRun", run_object::cancel)
            .with_summary("Stop a run after its calls in flight; their results are kept")
            .with_accepted::<RunObject>("The run ends soon")
            .with_json::<RunObject>("The run has ended"),
        post("/eval/runs/{run}/resume", Run, "resumeRun", start::resume)
            .with_summary("Continue a run")
            .with_body::<start::Limits>()
            .with_accepted::<RunObject>(WAITS),
        post("/eval/runs/{run}/retry", Run, "retryRun", start::retry)
            .with_summary("Re-run the failed cells of a run")
            .with_body::<start::Limits>()
            .with_accepted::<RunObject>(WAITS),
    ];
    let service = [
        get("/schedules", Read, "listSchedules", schedules::list)
            .with_summary("Schedules of the suites that the server follows")
            .with_json::<List<ScheduleLine>>("The schedules"),
        post("/schedules/{suite}/{id}/run", Run, "runSchedule", schedules::run)
            .with_summary("Run a due time of a schedule, by default the last; each is run once")
            .with_body::<schedules::WantedDue>()
            .with_accepted::<FiringLine>(WAITS),
        post("/schedules/{suite}/{id}/pause", Run, "pauseSchedule", schedules::pause)
            .with_summary("Skip the due times of a schedule from now on")
            .with_body::<Nothing>()
            .with_json::<ScheduleLine>("The schedule"),
        post("/schedules/{suite}/{id}/resume", Run, "resumeSchedule", schedules::resume)
            .with_summary("Follow a paused schedule again")
            .with_body::<Nothing>()
            .with_json::<ScheduleLine>("The schedule"),
        get("/incidents", Read, "listIncidents", incidents::list)
            .with_summary("Incidents, newest first")
            .with_query("state", "Incidents in this state", one_of(&["open", "acknowledged", "closed"]))
            .in_pages()
            .with_json::<Page<IncidentLine>>("A page of incidents"),
        post("/incidents/{id}/ack", Run, "ackIncident", incidents::ack)
            .with_summary("End the reminders of an incident")
            .with_body::<Nothing>()
            .with_json::<IncidentLine>("The incident"),
        post("/incidents/{id}/close", Run, "closeIncident", incidents::close)
            .with_summary("Close an incident; the next bad run opens a new one")
            .with_body::<Nothing>()
            .with_json::<IncidentLine>("The incident"),
        get("/outbox", Read, "listMessages", outbox::list)
            .with_summary("Messages of alerts without their content, newest first")
            .with_query("state", "Messages in this state", one_of(&["pending", "sent", "dead"]))
            .in_pages()
            .with_json::<Page<MessageLine>>("A page of messages"),
        post("/outbox/{id}/retry", Run, "retryMessage", outbox::retry)
            .with_summary("Send a message that was not sent, with all of its attempts")
            .with_body::<Nothing>()
            .with_json::<MessageLine>("The message"),
        get("/traces", Read, "listTraces", traces::list)
            .with_summary("Datasets of traces that applications have sent")
            .for_traces()
            .with_json::<List<TraceDataset>>("The datasets"),
        post("/traces", Ingest, "addTraces", traces::add_lines)
            .with_summary("Add rows to a dataset of traces, a line of JSON each")
            .for_traces()
            .with_parameter(Parameter { is_required: true, ..dataset_name("dataset", "query", "Name of the dataset") })
            .with_body_of::<Nothing>(LINES, false)
            .with_json::<traces::Added>("The number of rows by their fate"),
        post("/v1/traces", Ingest, "addSpans", traces::add_spans)
            .with_summary(
                "Add calls of models, as exporters of OpenTelemetry send them; errors are those of its protocol",
            )
            .for_traces()
            .with_any_query()
            .with_parameter(dataset_name(
                "x-karat-dataset",
                "header",
                "Name of the dataset instead of that of the service",
            ))
            .with_body_of::<Spans>(PROTOCOL, true)
            .with_answer::<PartialSuccess>("200", "What was rejected", PROTOCOL)
            .with_answer::<RpcStatus>("400", "The request cannot be read", PROTOCOL)
            .with_answer::<RpcStatus>("429", "More arrives than is written", PROTOCOL)
            .with_answer::<RpcStatus>("503", "The disk refuses", PROTOCOL),
        post("/suites/{suite}/suspects", Run, "createSuspectsTask", suspects::create)
            .with_summary("Make a task for people of the items that may be wrong")
            .with_body::<Nothing>()
            .with_json::<CreatedTask>("The task, or the one that is there"),
        get("/suites", Read, "listSuites", suites::suites)
            .with_summary("Suites that can be run")
            .with_json::<List<SuiteLine>>("The suites"),
        get("/metrics", Read, "metrics", metrics::metrics)
            .with_summary("Figures for Prometheus")
            .with_answer::<String>("200", "The figures", TEXT)
            .with_tag(),
        get("/livez", Read, "livez", health::livez)
            .with_summary("The process answers")
            .for_everybody()
            .with_answer::<String>("200", "It does", TEXT),
        get("/healthz", Read, "healthz", health::healthz)
            .with_summary("The server can do its work")
            .for_everybody()
            .with_answer::<Health>("200", "It can", JSON)
            .with_answer::<Health>("503", "It cannot", JSON),
        get("/openapi.json", None, "openapi", document)
            .with_summary("This document")
            .with_json::<Document>("The document"),
    ];
    let people = [
        get("/annotations", Run, "listAnnotationTasks", annotations::list)
            .with_summary("Tasks for people, newest first")
            .with_json::<List<TaskLine>>("The tasks"),
        post("/annotations", Run, "createAnnotationTask", annotations::create)
            .with_summary("Make a task of the outputs of a run")
            .with_body::<annotations::WantedTask>()
            .with_json::<CreatedTask>("The task; the same request gives the same one"),
        get("/annotations/{task}", Run, "getAnnotationTask", annotations::one)
            .with_summary("Progress, people, flags and disagreements of a task")
            .with_json::<AnnotationTask>("The owner's view"),
        get("/annotations/{task}/agreement", Run, "getAnnotationAgreement", annotations::agreement)
            .with_summary("How far people agree, by question")
            .with_json::<AnnotationAgreement>("The figures"),
        get("/annotations/{task}/export", Run, "exportAnnotations", annotations::export)
            .with_summary("The labels of a task as a file")
            .with_query("form", "Form of the file", choice(&["labels", "jsonl", "csv"]))
            .with_query("settled", "One settled value of each item", choice(&["false", "true"]))
            .with_query("audit", "Every event", choice(&["false", "true"]))
            .with_query("pseudonyms", "People as a1, a2 and so on", choice(&["false", "true"]))
            .with_answer::<String>("200", "The file", &["application/x-ndjson", "text/csv"])
            .with_tag(),
        post(
            "/annotations/{task}/next",
            Annotate,
            "nextAnnotation",
            person_handler(|app, task, person, asked| app.tasks().next(task, person, asked)),
        )
        .with_summary("Hold a place of an item for ten minutes, and get the item")
        .with_body::<NextRequest>()
        .of_person()
        .with_json::<AnnotationItem>("The task, the item or none, and the person's own progress"),
        post(
            "/annotations/{task}/draft",
            Annotate,
            "draftAnnotation",
            person_handler(|app, task, person, asked| app.tasks().save_draft(task, person, asked)),
        )
        .with_summary("Keep answers that are not submitted, and renew the place")
        .with_body::<DraftRequest>()
        .of_person()
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        post(
            "/annotations/{task}/labels",
            Annotate,
            "submitAnnotation",
            person_handler(|app, task, person, asked| app.tasks().submit(task, person, asked)),
        )
        .with_summary("Submit a label")
        .with_body::<LabelRequest>()
        .of_person()
        .with_json::<AnnotationState>("The fate of the label"),
        post(
            "/annotations/{task}/skip",
            Annotate,
            "skipAnnotation",
            person_handler(|app, task, person, asked| app.tasks().skip(task, person, asked)),
        )
        .with_summary("Give the place of an item to another person")
        .with_body::<ReasonRequest>()
        .of_person()
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        post(
            "/annotations/{task}/flag",
            Annotate,
            "flagAnnotation",
            person_handler(|app, task, person, asked| app.tasks().flag(task, person, asked)),
        )
        .with_summary("Give an item to the owner of the task")
        .with_body::<ReasonRequest>()
        .of_person()
        .with_json::<AnnotationState>(STATE_FOR_PERSON),
        post("/annotations/{task}/undo", Annotate, "undoAnnotation", person_handler(annotations::undo))
            .with_summary("Take back a label: the person's last one, or that of an item")
            .with_body::<annotations::WantedUndo>()
            .of_person()
            .with_json::<AnnotationState>(STATE_FOR_PERSON),
        post("/annotations/{task}/adjudicate", Run, "adjudicateAnnotation", annotations::adjudicate)
            .with_summary("Decide an item, hand it out again, or exclude a person")
            .with_body_of::<AdjudicationRequest>(JSON, true)
            .of_person()
            .with_json::<AnnotationDecided>("The labels without names, and the decision"),
        post("/annotations/{task}/close", Run, "closeAnnotationTask", annotations::close)
            .with_summary("Close a task for good")
            .with_body::<Nothing>()
            .of_person()
            .with_json::<ClosedAnnotationTask>("The end of the task"),
    ];
    runs.into_iter().chain(service).chain(people).collect()
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
