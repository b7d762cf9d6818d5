//! `attribution`: whether a statement is ascribed to those who made it, and to nobody else.

use std::fmt;

use karat_text::similar::fold;
use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::citation::Need;
use super::registry::{Given, Metric, Needs, Options};
use super::text::test;

/// Options of `attribution`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Attribution {
    /// Whether one of the reference's speakers must be named (any), or every one (all).
    need: Need,
    /// Further speakers that are right, such as those who answer in a chunk of a transcript: names, or objects with `name`.
    accept: Vec<Value>,
    /// Chunks with `answer_speakers`: those of a chunk that a citation names are right, too.
    chunks: Vec<Value>,
    /// The citations that name chunks: by `chunk_id`, or by every one of doc type, quarter and page.
    citations: Vec<Value>,
}

/// Somebody who speaks, folded for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Speaker {
    name: String,
    role: Option<String>,
    /// As written.
    written: String,
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl Speaker {
    /// `{name, role}`, or a text: `Ada Lind`, `Ada Lind (CFO)`, `Ada Lind, CFO`.
    fn read(value: &Value) -> Option<Self> {
        let (name, role) = match value {
            Value::Object(speaker) => {
                (speaker.get("name")?.as_str()?, speaker.get("role").and_then(Value::as_str).map(str::trim))
            }
            Value::String(text) => parts(text),
            _ => return None,
        };
        let role = role.filter(|role| !role.is_empty());
        let written = role.map_or_else(|| name.trim().to_owned(), |role| format!("{} ({role})", name.trim()));
        let name = fold(name);
        (!name.is_empty()).then_some(Self { name, role: role.map(fold), written })
    }

    fn all(values: &[Value]) -> Vec<Self> {
        values.iter().filter_map(Self::read).collect()
    }

    /// Whether it is the wanted one: by name, and by role where one is wanted.
    fn is(&self, wanted: &Self) -> bool {
        self.name == wanted.name && (wanted.role.is_none() || self.role == wanted.role)
    }
}

fn parts(text: &str) -> (&str, Option<&str>) {
    let bracketed = text.trim().strip_suffix(')').and_then(|text| text.rsplit_once('('));
    match bracketed.or_else(|| text.split_once(',')) {
        Some((name, role)) => (name, Some(role.trim())),
        None => (text, None),
    }
}

impl Options for Attribution {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Attribution {
    /// Who may be named beside the reference's own.
    fn accepted(&self) -> Vec<Speaker> {
        let cited = self.chunks.iter().filter(|chunk| self.citations.iter().any(|citation| names(citation, chunk)));
        let answering = cited.filter_map(|chunk| chunk.get("answer_speakers")?.as_array());
        Speaker::all(&self.accept).into_iter().chain(answering.flat_map(|speakers| Speaker::all(speakers))).collect()
    }
}

/// Whether a citation names a chunk.
fn names(citation: &Value, chunk: &Value) -> bool {
    let same = |key: &str| {
        let (one, other) = (citation.get(key)?, chunk.get(key)?);
        (!one.is_null() && !other.is_null()).then(|| fold(&super::text::text(one)) == fold(&super::text::text(other)))
    };
    match same("chunk_id") {
        Some(same) => same,
        None => ["doc_type", "quarter", "page"].iter().all(|key| same(key) == Some(true)),
    }
}

impl Metric for Attribution {
    fn score(&self, given: &Given<'_>) -> Score {
        let gold = match given.reference {
            Value::Array(gold) => Speaker::all(gold),
            single => Speaker::read(single).into_iter().collect(),
        };
        let accepted = self.accepted();
        if gold.is_empty() && accepted.is_empty() {
            return Score::not_applicable("the reference names no speaker");
        }
        let named = match given.output {
            Value::Array(speakers) => Speaker::all(speakers),
            single => Speaker::read(single).into_iter().collect(),
        };
        if named.is_empty() {
            return Score::because(0.0, "the answer names no speaker");
        }
        let is_right = |speaker: &&Speaker| gold.iter().chain(&accepted).any(|wanted| speaker.is(wanted));
        if let Some(other) = named.iter().find(|speaker| !is_right(speaker)) {
            return Score::because(0.0, format!("it names {other}, who did not say it"));
        }
        let missing = gold.iter().find(|wanted| !named.iter().any(|speaker| speaker.is(wanted)));
        match missing.filter(|_| self.need == Need::All) {
            Some(missing) => Score::because(0.0, format!("it does not name {missing}")),
            None => test(true),
        }
    }
}
