//! The objects of the API.

use karat_types::{MOST_CONCURRENCY, MOST_TRIALS};
use serde_json::{Value, json};

use crate::api::openapi::{people, service};

/// All objects by their names.
pub(super) fn all() -> Value {
    let mut schemas = of_runs();
    if let (Some(all), Value::Object(people)) = (schemas.as_object_mut(), people::all()) {
        all.extend(people);
    }
    schemas
}

fn of_runs() -> Value {
    json!({
        "RunRequest": run_request(),
        "Limits": limits(),
        "Run": run(),
        "RunPage": {
            "type": "object",
            "properties": {
                "items": { "type": "array", "items": { "$ref": "#/components/schemas/Run" } },
                "next": { "type": ["string", "null"], "description": "The `cursor` of the next page" },
            },
            "required": ["items", "next"],
        },
        "SuiteList": suite_list(),
        "Estimate": {
            "type": "object",
            "description": "What `karat plan --json` prints",
            "required": ["suite", "cells"],
        },
        "Report": { "type": "object", "description": "`report.json`: see report.schema.json", "required": ["schema"] },
        "Document": { "type": "object", "required": ["openapi", "paths"] },
        "Health": {
            "type": "object",
            "properties": {
                "status": { "enum": ["ok", "degraded", "down"] },
                "checks": { "type": "object", "description": "The reasons; only with a token" },
                "last_run": { "type": "object" },
            },
            "required": ["status"],
        },
        "Problem": problem(),
        "Nothing": { "type": "object", "additionalProperties": false },
        "Due": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "due": {
                    "type": ["string", "null"], "format": "date-time",
                    "description": "A due time of the schedule; the last up to now without it",
                },
            },
        },
        "Schedule": service::schedule(),
        "ScheduleList": service::list("Schedule"),
        "Firing": service::firing(),
        "Incident": service::incident(),
        "IncidentPage": service::page("Incident"),
        "Message": service::message(),
        "MessagePage": service::page("Message"),
        "TraceDataset": service::trace_dataset(),
        "TraceList": service::list("TraceDataset"),
        "AddedTraces": service::added_traces(),
        "Spans": { "type": "object", "description": "`ExportTraceServiceRequest` of OTLP" },
        "PartialSuccess": { "type": "object", "description": "`ExportTraceServiceResponse` of OTLP" },
        "RpcStatus": { "type": "object", "description": "`google.rpc.Status`" },
    })
}

fn run_request() -> Value {
    let ids = || json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "description": "The flags of `karat run`",
        "additionalProperties": false,
        "required": ["suite"],
        "properties": {
            "suite": { "type": "string", "minLength": 1, "description": "A preset, or a path below the root" },
            "params": { "type": "object", "description": "Parameters of the suite" },
            "models": ids(),
            "judges": ids(),
            "variants": ids(),
            "samples": ids(),
            "limit": { "type": ["integer", "null"], "minimum": 0, "maximum": 4_294_967_295_u32, "description": "Samples" },
            "trials": { "type": ["integer", "null"], "minimum": 1, "maximum": MOST_TRIALS },
            "as_of": { "type": ["string", "null"], "format": "date" },
            "budget_usd": { "type": ["number", "null"], "minimum": 0, "maximum": 1e9 },
            "max_calls": { "type": ["integer", "null"], "minimum": 0, "maximum": 4_294_967_295_u32 },
            "max_concurrency": { "type": ["integer", "null"], "minimum": 1, "maximum": MOST_CONCURRENCY },
            "baseline": { "type": ["string", "null"], "minLength": 1, "description": "A pinned run or a report.json below the root" },
            "gate": { "type": ["boolean", "null"], "description": "Whether gates bind" },
            "run_id": { "type": ["string", "null"], "pattern": "^[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}$" },
        },
    })
}

fn limits() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "budget_usd": { "type": ["number", "null"], "minimum": 0, "maximum": 1e9 },
            "max_calls": { "type": ["integer", "null"], "minimum": 0, "maximum": 4_294_967_295_u32 },
        },
    })
}

fn run() -> Value {
    let time = || json!({ "type": ["string", "null"], "format": "date-time" });
    let count = || json!({ "type": "integer", "minimum": 0 });
    json!({
        "type": "object",
        "properties": {
            "run_id": { "type": "string" },
            "suite": { "type": "string" },
            "status": {
                "enum": ["queued", "running", "completed", "failed", "cancelled", "interrupted", "budget_stopped"],
                "description": "A failed gate is `completed` with the verdict `fail`; `failed` is exit code 1",
            },
            "verdict": { "enum": ["pass", "fail", "undecided", null] },
            "trigger": { "type": "string" },
            "as_of": { "type": ["string", "null"], "format": "date" },
            "created_at": { "type": "string", "format": "date-time" },
            "started_at": time(),
            "completed_at": time(),
            "plan_hash": { "type": "string" },
            "cells": {
                "type": "object",
                "properties": {
                    "planned": count(), "done": count(), "errors": count(), "unscored": count(), "cached": count(),
                },
                "required": ["planned", "done", "errors", "unscored", "cached"],
            },
            "spend_usd": { "type": "number" },
            "budget_usd": { "type": ["number", "null"] },
            "exit_code": { "type": ["integer", "null"], "description": "That of the command line" },
            "problem": { "type": ["string", "null"], "description": "The failure that ended it" },
            "links": {
                "type": "object",
                "additionalProperties": { "type": "string" },
                "required": ["self", "events", "report", "page"],
            },
        },
        "required": [
            "run_id", "suite", "status", "verdict", "trigger", "as_of", "created_at", "started_at", "completed_at",
            "plan_hash", "cells", "spend_usd", "budget_usd", "exit_code", "problem", "links",
        ],
    })
}

fn suite_list() -> Value {
    json!({
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "suite": { "type": "string" },
                        "kind": { "enum": ["file", "preset"] },
                        "path": { "type": ["string", "null"] },
                    },
                    "required": ["suite", "kind", "path"],
                },
            },
        },
        "required": ["items"],
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string", "pattern": "^urn:karat:problem:[a-z-]+$" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "hint": { "type": "string", "description": "The next step" },
            "instance": { "type": "string", "description": "The request, as in `X-Request-Id`" },
            "diagnostics": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "file": { "type": "string" },
                        "line": { "type": "integer" },
                        "column": { "type": "integer" },
                        "message": { "type": "string" },
                        "hint": { "type": "string" },
                    },
                    "required": ["file", "line", "column", "message"],
                },
            },
        },
        "required": ["type", "title", "status", "instance"],
    })
}
