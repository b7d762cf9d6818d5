//! The objects of tasks for people.

use serde_json::{Value, json};

use crate::api::openapi::service;

/// An object of which these fields are there, beside others.
fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// A body: fields of which the first ones must be there.
fn body(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn answers() -> Value {
    json!({ "type": "object", "description": "Answers by the id of their question" })
}

/// A question, as in a file of questions.
fn question() -> Value {
    let choice = body(
        &["id"],
        json!({
            "id": text(), "text": text(), "value": { "type": "number", "description": "Its worth as a score" },
        }),
    );
    let anchor = body(&["value", "text"], json!({ "value": { "type": "number" }, "text": text() }));
    let choices = json!({ "type": "array", "items": choice });
    body(
        &["id", "ask", "kind"],
        json!({
            "id": { "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" }, "ask": text(),
            "kind": { "enum": ["scale", "choice", "multi", "pairwise", "spans", "text"] },
            "required": { "type": "boolean", "default": true },
            "show_if": {
                "type": "object", "maxProperties": 1,
                "description": "An earlier question and the answer at which this one is asked",
            },
            "scale": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
            "step": { "type": "number", "exclusiveMinimum": 0 },
            "anchors": { "type": "array", "items": anchor },
            "choices": choices.clone(), "categories": choices,
            "tolerance": { "type": "number", "minimum": 0 },
            "settle": { "enum": ["majority", "median", "mean"] },
            "measurement": { "enum": ["nominal", "ordinal", "interval"] },
        }),
    )
}

/// All objects by their names.
pub(super) fn all() -> Value {
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    let list = json!({ "type": "array", "items": { "type": "object" } });
    let version = || json!({ "type": "integer", "minimum": 1 });
    json!({
        "AnnotationTaskLine": object(json!({
            "task": text(), "version": version(), "source": text(), "items": count(), "labels_per_item": count(),
            "labels": count(), "people": count(), "settled": count(), "created_at": text(),
            "closed_at": nullable("string"),
        })),
        "AnnotationTaskList": service::list("AnnotationTaskLine"),
        "AnnotationTaskRequest": body(&["run"], json!({
            "run": text(), "task": text(), "scorer": text(), "k": { "type": "integer", "minimum": 1, "maximum": 20 },
            "n": { "type": "integer", "minimum": 1 }, "per_sample": { "type": "integer", "minimum": 1 },
            "select": { "type": "string", "pattern": "^(random|uncertain|failed|stratified:.+|verdict(:.+)?)$" },
            "questions": { "type": "array", "items": { "$ref": "#/components/schemas/AnnotationQuestion" } },
            "guidelines": text(), "assign": { "type": "array", "items": { "type": "string" } }, "mask": text(), "seed": count(),
        })),
        "CreatedAnnotationTask": object(json!({
            "task": text(), "version": version(), "hash": text(), "items": count(), "is_new": { "type": "boolean" },
            "known_labels": count(),
        })),
        "AnnotationQuestion": question(),
        "AnnotationTask": object(json!({
            "task": text(), "version": version(),
            "questions": { "type": "array", "items": { "$ref": "#/components/schemas/AnnotationQuestion" } }, "guidelines": text(),
            "items": { "type": "object" }, "labels": { "type": "object" }, "people": list.clone(),
            "with_owner": list.clone(), "adjudication": list.clone(), "closed": nullable("object"),
        })),
        "AnnotationAgreement": object(json!({ "task": text(), "version": version(), "questions": list.clone() })),
        "NextAnnotation": body(&[], json!({
            "item": { "type": ["string", "null"], "description": "An item that the person saw before" },
            "except": { "type": "array", "items": { "type": "string" }, "description": "Items at hand" },
        })),
        "AnnotationItem": object(json!({
            "task": { "type": "object" }, "closed": { "type": "boolean" }, "item": nullable("object"),
            "progress": { "type": "object" }, "recent": list,
        })),
        "AnnotationDraft": body(&["item"], json!({
            "item": text(), "answers": { "type": ["object", "null"] }, "note": text(),
        })),
        "AnnotationLabel": body(&["item", "answers"], json!({
            "item": text(), "answers": answers(), "note": text(), "ms": { "type": ["integer", "null"], "minimum": 0 },
            "client": text(),
        })),
        "AnnotationReason": body(&["item", "reason"], json!({ "item": text(), "reason": text(), "note": text() })),
        "AnnotationUndo": body(&[], json!({ "item": nullable("string") })),
        "AnnotationState": object(json!({
            "item": text(),
            "state": { "enum": ["open", "counted", "extra", "submitted", "lost", "closed", "skip", "flag"] },
        })),
        "AnnotationDecision": body(&[], json!({
            "item": nullable("string"), "answers": nullable("object"), "take": nullable("integer"), "note": text(),
            "confirm": { "type": "boolean" }, "requeue": { "type": "boolean" }, "exclude": nullable("string"),
            "reason": text(),
        })),
        "AnnotationDecided": object(json!({ "stored": { "type": "boolean" } })),
        "ClosedAnnotationTask": object(json!({
            "task": text(), "version": version(), "closed_by": text(), "closed_at": text(), "open": count(),
        })),
    })
}
