//! The description of the API for programs: OpenAPI 3.1 (SV-02). A test holds it to the routes, another to the answers.
//!
//! - `operations`: every route with its parameters and answers. `schemas`: the objects.
//!
//! The document is written to `schemas/openapi.json` by `cargo xtask generate`, and served at `/openapi.json`.

mod operations;
mod schemas;

use axum::response::{IntoResponse, Response};
use http::{Uri, header};
use serde_json::{Map, Value, json};

use crate::api::openapi::operations::{OPERATIONS, Operation, Parameter, Security};
use crate::api::query::Query;
use crate::problem::Problem;

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
    let in_path = path.contains("{run}").then(|| {
        json!({
            "name": "run", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 },
            "description": "Id of a run, the unique beginning of one, or `latest`",
        })
    });
    let mut described: Vec<Value> = in_path.into_iter().chain(parameters.iter().map(parameter)).collect();
    if operation.method == "post" {
        described.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!#-~]{1,255}$" },
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
                    ((*kind).to_owned(), json!({ "schema": schema }))
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
    if let Some((schema, required)) = body {
        described["requestBody"] =
            json!({ "required": required, "content": { "application/json": { "schema": reference(schema) } } });
    }
    described
}

fn parameter(parameter: &Parameter) -> Value {
    let Parameter { name, place, meaning, schema } = parameter;
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    json!({ "name": name, "in": place, "required": false, "schema": schema, "description": meaning })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-02: the document names each object that it refers to, and every operation once.
    #[test]
    fn every_reference_leads_to_an_object() {
        let document = whole();
        let text = document.to_string();
        for part in text.split("#/components/").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(&format!("/components/{pointer}")).is_some(), "{pointer}");
        }
        let ids: std::collections::BTreeSet<_> = OPERATIONS.iter().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), OPERATIONS.len());
        for operation in OPERATIONS {
            for parameter in operation.parameters {
                assert!(serde_json::from_str::<Value>(parameter.schema).is_ok(), "{}", parameter.name);
            }
        }
    }
}
