//! The objects of schedules, incidents, messages and traces.

use serde_json::{Value, json};

/// All objects of a kind.
pub(super) fn list(of: &str) -> Value {
    json!({ "type": "object", "properties": { "items": items(of) }, "required": ["items"] })
}

/// A page of objects.
pub(super) fn page(of: &str) -> Value {
    let next = json!({ "type": ["string", "null"], "description": "The `cursor` of the next page" });
    json!({ "type": "object", "properties": { "items": items(of), "next": next }, "required": ["items", "next"] })
}

fn items(of: &str) -> Value {
    json!({ "type": "array", "items": { "$ref": format!("#/components/schemas/{of}") } })
}

/// An object all of whose fields are there.
fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn time_or_null() -> Value {
    json!({ "type": ["string", "null"], "format": "date-time" })
}

pub(super) fn schedule() -> Value {
    object(json!({
        "suite": text(), "path": text(), "schedule": text(), "cron": text(), "zone": text(), "next": time_or_null(),
        "last": { "anyOf": [{ "$ref": "#/components/schemas/Firing" }, { "type": "null" }] },
        "paused_since": time_or_null(),
        "late_since": {
            "type": ["string", "null"], "format": "date-time",
            "description": "A due time that passed and was neither run nor skipped",
        },
        "skipped": count(), "last_done": time_or_null(),
    }))
}

/// A due time.
pub(super) fn firing() -> Value {
    let state = json!({ "enum": ["fired", "done", "failed", "skipped"] });
    object(json!({ "schedule": text(), "due": time(), "run": text(), "state": state, "note": text() }))
}

pub(super) fn incident() -> Value {
    object(json!({
        "id": text(), "suite": text(), "alert": text(), "state": { "enum": ["open", "acknowledged", "closed"] },
        "event": text(), "system": { "type": ["string", "null"] }, "subject": text(), "summary": text(), "run": text(),
        "occurrences": count(), "opened_at": time_or_null(), "closed_at": time_or_null(),
    }))
}

/// A message of an alert.
pub(super) fn message() -> Value {
    object(json!({
        "id": text(), "suite": text(), "alert": text(), "incident": text(),
        "state": { "enum": ["pending", "sent", "dead"] }, "attempts": count(), "next_at": time_or_null(),
        "error": text(), "created_at": time(),
    }))
}

/// A dataset of traces.
pub(super) fn trace_dataset() -> Value {
    object(json!({
        "name": text(), "rows": count(), "days": count(), "first": text(), "last": text(), "bytes": count(),
    }))
}

/// The fate of rows that were sent.
pub(super) fn added_traces() -> Value {
    let rejected = object(json!({ "line": count(), "reason": text() }));
    object(json!({
        "accepted": count(), "duplicates": count(), "sampled_out": count(),
        "rejected": { "type": "array", "items": rejected },
    }))
}
