//! The description of the API for programs: OpenAPI 3.1, from the table of routes and the schemas of its types.
//!
//! The document is written to `schemas/openapi.json` by `cargo xtask generate`, and served at `/openapi.json`.

use std::borrow::Cow;

use http::Method;
use karat_app::schema_settings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::problem::ProblemDocument;
use crate::route::{Content, Operation, Route, Routes};

/// Parts of paths and their meanings.
const PATH_PARTS: [(&str, &str); 4] = [
    ("run", "Id of a run, the unique beginning of one, or `latest`"),
    ("suite", "Name of a suite that the server follows"),
    ("task", "Name of a task for people, which is its newest version, or `NAME@VERSION`"),
    ("id", "Id of a schedule, an incident or a message"),
];

/// Objects that no type of this crate holds: what their description names is there, beside others.
macro_rules! described {
    ($($name:ident $schema:tt)*) => {
        $(
            pub(crate) struct $name;

            impl JsonSchema for $name {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($schema)
                }
            }
        )*
    };
}

described! {
    Estimate { "type": "object", "description": "What `karat plan --json` prints", "required": ["suite", "cells"] }
    Report { "type": "object", "description": "`report.json`: see report.schema.json", "required": ["schema"] }
    Document { "type": "object", "required": ["openapi", "paths"] }
    Spans { "type": "object", "description": "`ExportTraceServiceRequest` of OTLP" }
    PartialSuccess { "type": "object", "description": "`ExportTraceServiceResponse` of OTLP" }
    RpcStatus { "type": "object", "description": "`google.rpc.Status`" }
    Health {
        "type": "object",
        "properties": {
            "status": { "enum": ["ok", "degraded", "down"] },
            "checks": { "type": "object", "description": "The reasons; only with a token" },
            "last_run": { "type": "object" },
        },
        "required": ["status"],
    }
    TraceDataset {
        "type": "object",
        "properties": {
            "name": { "type": "string" }, "rows": { "type": "integer", "minimum": 0 },
            "days": { "type": "integer", "minimum": 0 }, "first": { "type": "string" }, "last": { "type": "string" },
            "bytes": { "type": "integer", "minimum": 0 },
        },
        "required": ["name", "rows", "days", "first", "last", "bytes"],
    }
    AnnotationTask {
        "type": "object",
        "properties": {
            "task": { "type": "string" }, "version": { "type": "integer", "minimum": 1 },
            "questions": { "type": "array", "items": { "$ref": "#/components/schemas/AnnotationQuestion" } },
            "guidelines": { "type": "string" }, "items": { "type": "object" }, "labels": { "type": "object" },
            "people": { "type": "array", "items": { "type": "object" } },
            "with_owner": { "type": "array", "items": { "type": "object" } },
            "adjudication": { "type": "array", "items": { "type": "object" } }, "closed": { "type": ["object", "null"] },
        },
        "required": [
            "task", "version", "questions", "guidelines", "items", "labels", "people", "with_owner", "adjudication",
            "closed",
        ],
    }
    AnnotationAgreement {
        "type": "object",
        "properties": {
            "task": { "type": "string" }, "version": { "type": "integer", "minimum": 1 },
            "questions": { "type": "array", "items": { "type": "object" } },
        },
        "required": ["task", "version", "questions"],
    }
    AnnotationItem {
        "type": "object",
        "properties": {
            "task": { "type": "object" }, "closed": { "type": "boolean" }, "item": { "type": ["object", "null"] },
            "progress": { "type": "object" }, "recent": { "type": "array", "items": { "type": "object" } },
        },
        "required": ["task", "closed", "item", "progress", "recent"],
    }
    AnnotationState {
        "type": "object",
        "properties": {
            "item": { "type": "string" },
            "state": { "enum": ["open", "counted", "extra", "submitted", "lost", "closed", "skip", "flag"] },
        },
        "required": ["item", "state"],
    }
    AnnotationDecided {
        "type": "object", "properties": { "stored": { "type": "boolean" } }, "required": ["stored"],
    }
    ClosedAnnotationTask {
        "type": "object",
        "properties": {
            "task": { "type": "string" }, "version": { "type": "integer", "minimum": 1 },
            "closed_by": { "type": "string" }, "closed_at": { "type": "string" },
            "open": { "type": "integer", "minimum": 0 },
        },
        "required": ["task", "version", "closed_by", "closed_at", "open"],
    }
}

/// The document.
pub(super) fn describe(routes: &Routes) -> Value {
    let settings = schema_settings().with(|it| it.definitions_path = "/components/schemas".into());
    let mut requests = settings.clone().for_deserialize().into_generator();
    let mut answers = settings.for_serialize().into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for (route, operation) in routes.operations() {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        entry[route.method.as_str().to_lowercase()] = describe_operation(route, operation, &mut requests, &mut answers);
    }
    let problem = answers.subschema_for::<ProblemDocument>();
    let mut schemas = answers.take_definitions(true);
    schemas.extend(requests.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Karat",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs evaluation suites and shows their results. Errors are problem documents (RFC 9457).",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "Problem": {
                    "description": "The request was refused or failed; `type` says why, `hint` what to do.",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    })
}

fn describe_operation(
    route: &Route,
    operation: &Operation,
    requests: &mut SchemaGenerator,
    answers: &mut SchemaGenerator,
) -> Value {
    let in_path = PATH_PARTS.iter().filter(|(name, _)| route.path.contains(&format!("{{{name}}}")));
    let mut parameters: Vec<Value> = in_path
        .map(|(name, meaning)| {
            let schema = json!({ "type": "string", "minLength": 1 });
            json!({ "name": name, "in": "path", "required": true, "schema": schema, "description": meaning })
        })
        .collect();
    parameters.extend(operation.parameters.iter().map(|it| {
        json!({
            "name": it.name, "in": it.place, "required": it.is_required, "schema": it.schema,
            "description": it.meaning,
        })
    }));
    if route.method == Method::POST && !route.is_ingest {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "schema": { "type": "string", "minLength": 1, "maxLength": 257, "pattern": "^([!#-~]{1,255}|\"[!#-~]{1,255}\")$" },
            "description": "The same request with the same key gets the same answer for seven days",
        }));
    }
    let mut responses: Map<String, Value> = Map::new();
    for answer in &operation.answers {
        let mut described = json!({ "description": answer.meaning });
        if let Some(content) = &answer.content {
            described["content"] = describe_content(content, answers);
        }
        responses.insert(answer.status.to_owned(), described);
    }
    responses.insert("default".to_owned(), json!({ "$ref": "#/components/responses/Problem" }));
    let mut described = json!({
        "summary": operation.summary,
        "operationId": operation.id,
        "parameters": parameters,
        "responses": responses,
        // No token is needed until one was created.
        "security": match route.role {
            Some(_) if !route.is_open => json!([{ "token": [] }, {}]),
            _ => json!([]),
        },
    });
    if let Some(role) = route.role.filter(|_| !route.is_open) {
        described["description"] = format!("Needs the role `{role}`.").into();
    }
    if let Some((body, is_required)) = &operation.body {
        let content = describe_content(body, requests);
        described["requestBody"] = json!({ "required": is_required, "content": content });
    }
    described
}

fn describe_content(content: &Content, generator: &mut SchemaGenerator) -> Value {
    let is_body = generator.contract().is_deserialize();
    let describe = |kind: &&'static str| {
        let schema = match *kind {
            "application/json" => json!({ "schema": (content.schema)(generator) }),
            // A schema here would be one of each event, and events differ.
            "text/event-stream" => json!({}),
            _ if is_body => json!({ "schema": { "type": "string", "format": "binary" } }),
            _ => json!({ "schema": { "type": "string" } }),
        };
        ((*kind).to_owned(), schema)
    };
    content.kinds.iter().map(describe).collect::<Map<String, Value>>().into()
}
