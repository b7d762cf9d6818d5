//! The description of the API for programs: OpenAPI 3.1 (SV-02). A test holds it to the routes, another to the answers.
//!
//! - `operations`: every route with its parameters and answers. `schemas`, `service`, `people`: the objects.
//!
//! The document is written to `schemas/openapi.json` by `cargo xtask generate`, and served at `/openapi.json`.

mod operations;
mod people;
mod schemas;
mod service;

use axum::response::{IntoResponse, Response};
use http::{Uri, header};
use serde_json::{Map, Value, json};

use crate::api::openapi::operations::{Body, OPERATIONS, Operation, Parameter, Security};
use crate::api::query::Query;
use crate::problem::Problem;

/// Parts of paths and their meanings.
const PATH_PARTS: [(&str, &str); 4] = [
    ("run", "Id of a run, the unique beginning of one, or `latest`"),
    ("suite", "Name of a suite that the server follows"),
    ("task", "Name of a task for people, which is its newest version, or `NAME@VERSION`"),
    ("id", "Id of a schedule, an incident or a message"),
];

/// The document, indented.
pub fn openapi() -> String {
    let mut text = serde_json::to_string_pretty(&whole()).unwrap_or_default();
    text.push('\n');
    text
}

/// `GET /openapi.json`. Everybody may read it.
pub(super) async fn document(uri: Uri) -> Result<Response, Problem> {
    Query::read(&uri, &[])?;
    Ok(([(header::CONTENT_TYPE, "application/json")], openapi()).into_response())
}

fn whole() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in OPERATIONS {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        entry[operation.method] = describe(operation);
    }
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
            "schemas": schemas::all(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "Problem": {
                    "description": "The request was refused or failed; `type` says why, `hint` what to do.",
                    "content": { "application/problem+json": { "schema": reference("Problem") } },
                },
            },
        },
    })
}

fn describe(operation: &Operation) -> Value {
    let Operation { path, summary, parameters, body, answers, security, .. } = operation;
    let in_path = PATH_PARTS.iter().filter(|(name, _)| path.contains(&format!("{{{name}}}"))).map(|(name, meaning)| {
        json!({
            "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 },
            "description": meaning,
        })
    });
    let mut described: Vec<Value> = in_path.chain(parameters.iter().map(parameter)).collect();
    if operation.method == "post" && !operation.is_ingest() {
        described.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "schema": { "type": "string", "minLength": 1, "maxLength": 257, "pattern": "^([!#-~]{1,255}|\"[!#-~]{1,255}\")$" },
            "description": "The same request with the same key gets the same answer for seven days",
        }));
    }
    let mut responses: Map<String, Value> = answers
        .iter()
        .map(|answer| {
            let content: Map<String, Value> = (answer.kinds.iter())
                .map(|kind| {
                    let is_json = *kind == "application/json";
                    let schema = if is_json { reference(answer.schema) } else { json!({ "type": "string" }) };
                    // A schema here would be one of each event, and events differ.
                    let described = if *kind == "text/event-stream" { json!({}) } else { json!({ "schema": schema }) };
                    ((*kind).to_owned(), described)
                })
                .collect();
            let mut described = json!({ "description": answer.meaning });
            if !content.is_empty() {
                described["content"] = Value::Object(content);
            }
            (answer.status.to_owned(), described)
        })
        .collect();
    responses.insert("default".to_owned(), json!({ "$ref": "#/components/responses/Problem" }));
    let mut described = json!({
        "summary": summary,
        "operationId": operation.id,
        "parameters": described,
        "responses": responses,
        "security": match security {
            Security::Nothing => json!([]),
            // No token is needed until one was created.
            Security::Token => json!([{ "token": [] }, {}]),
        },
    });
    if let Some(Body { schema, is_required, kinds }) = body {
        let content: Map<String, Value> = kinds
            .iter()
            .map(|kind| {
                let is_json = *kind == "application/json";
                let schema = if is_json { reference(schema) } else { json!({ "type": "string", "format": "binary" }) };
                ((*kind).to_owned(), json!({ "schema": schema }))
            })
            .collect();
        described["requestBody"] = json!({ "required": is_required, "content": content });
    }
    described
}

fn parameter(parameter: &Parameter) -> Value {
    let Parameter { name, place, meaning, schema, .. } = parameter;
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    json!({ "name": name, "in": place, "required": parameter.is_required, "schema": schema, "description": meaning })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::{Request, StatusCode};
    use tower::ServiceExt as _;

    use super::*;
    use crate::api::traces;

    /// SV-02: the document describes each route and method of the API, and none other.
    #[test]
    fn the_document_describes_the_routes() {
        let routes: Vec<_> = crate::api::routes().into_iter().chain(traces::routes()).collect();
        let described: BTreeSet<_> = OPERATIONS.iter().map(|it| (it.method.to_owned(), it.path.to_owned())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut served = BTreeSet::new();
        for (path, methods) in routes {
            // A method that no route has is refused with those that it has; no handler and no state is needed for that.
            let router = axum::Router::new().route("/", methods.with_state(crate::state::tests::idle()));
            let request = Request::delete("/").body(axum::body::Body::empty()).unwrap();
            let answer = runtime.block_on(router.oneshot(request)).unwrap();
            assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
            let allowed = answer.headers()["allow"].to_str().unwrap().to_lowercase();
            served.extend(allowed.split(',').filter(|it| *it != "head").map(|it| (it.to_owned(), path.to_owned())));
        }
        assert_eq!(served, described);
    }

    /// SV-02: the document names each object that it refers to, and every operation once.
    #[test]
    fn every_reference_leads_to_an_object() {
        let document = whole();
        let text = document.to_string();
        for part in text.split("#/components/").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(&format!("/components/{pointer}")).is_some(), "{pointer}");
        }
        let ids: BTreeSet<_> = OPERATIONS.iter().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), OPERATIONS.len());
        for operation in OPERATIONS {
            for parameter in operation.parameters {
                assert!(serde_json::from_str::<Value>(parameter.schema).is_ok(), "{}", parameter.name);
            }
        }
    }
}
