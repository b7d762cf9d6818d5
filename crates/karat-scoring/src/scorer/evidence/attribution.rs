//! `attribution`: checks that a statement is ascribed to the people who made it, and to no one else.
//!
//! Everybody who is named must be right: the reference's own by name and role, or one who is accepted. No more speakers
//! may be named than the reference has, so that a list of everybody passes nothing.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::citation::{Need, is_same};
use super::speaker::{Speaker, named_in};
use crate::scorer::Origin;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options, Structure, applies_if_scored};
use crate::scorer::output::text::test;

/// Options of `attribution`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Attribution {
    /// The speakers that must be named: one of the reference's (any), or every one (all).
    need: Need,
    /// Further speakers that are right, such as those who answer in a chunk of a transcript: names, or objects with `name`.
    accept: Vec<Value>,
    /// Chunks with `answer_speakers`: who answers in every one of them that is cited is right, too.
    chunks: Vec<Value>,
    /// The citations that name chunks: by `chunk_id`, or by every one of doc type, quarter and page.
    citations: Vec<Value>,
    /// A text that is looked through for names where the output has none.
    text: Option<String>,
    /// Other speakers whose names are looked for in a text, beside the right ones.
    among: Vec<Value>,
}

impl Options for Attribution {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Attribution {
    /// The speakers accepted beside those of the reference. A citation of several chunks accepts who answers in any of them; several
    /// citations accept only those who answer in all of them, so that citing everything accepts no one.
    fn accepted_speakers(&self) -> Vec<Speaker> {
        let answering = |citation: &Value| -> Vec<Speaker> {
            let cited = self.chunks.iter().filter(|chunk| names(citation, chunk));
            cited.filter_map(|chunk| chunk.get("answer_speakers")?.as_array()).flat_map(|it| Speaker::all(it)).collect()
        };
        let cited = self.citations.iter().map(answering).filter(|speakers| !speakers.is_empty());
        let shared = cited.reduce(|mut shared, speakers| {
            shared.retain(|speaker| speakers.contains(speaker));
            shared
        });
        Speaker::all(&self.accept).into_iter().chain(shared.unwrap_or_default()).collect()
    }

    /// The speakers that the output names, each once: in a list, alone, or else within a text.
    fn named_speakers(&self, output: &Value, right: &[Speaker]) -> Vec<Speaker> {
        let listed = match output {
            Value::Array(speakers) => Speaker::all(speakers),
            single => {
                let speakers = single.as_str().map(|text| self.speakers_in_text(text, right)).unwrap_or_default();
                if speakers.is_empty() { Speaker::read(single).into_iter().collect() } else { speakers }
            }
        };
        let all = match &self.text {
            Some(text) if listed.is_empty() => self.speakers_in_text(text, right),
            _ => listed,
        };
        let mut named: Vec<Speaker> = Vec::new();
        for speaker in all {
            match named.iter_mut().find(|it| it.name == speaker.name && !it.contradicts(&speaker)) {
                Some(same) if same.role.is_none() => *same = speaker,
                Some(_) => {}
                None => named.push(speaker),
            }
        }
        named
    }

    /// The speakers that a text names.
    fn speakers_in_text(&self, text: &str, right: &[Speaker]) -> Vec<Speaker> {
        let known: Vec<Speaker> = right.iter().cloned().chain(Speaker::all(&self.among)).collect();
        named_in(text, &known)
    }
}

/// True if a citation names a chunk.
fn names(citation: &Value, chunk: &Value) -> bool {
    let same = |key: &str| {
        let (one, other) = (citation.get(key)?, chunk.get(key)?);
        (!one.is_null() && !other.is_null()).then(|| is_same(one, other))
    };
    match same("chunk_id") {
        Some(same) => same,
        None => ["doc_type", "quarter", "page"].iter().all(|key| same(key) == Some(true)),
    }
}

impl Metric for Attribution {
    fn structure(&self) -> Structure {
        Structure::Both
    }

    fn reads_elsewhere(&self) -> bool {
        self.text.is_some()
    }

    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let gold = match given.reference {
            Value::Array(gold) => Speaker::all(gold),
            single => Speaker::read(single).into_iter().collect(),
        };
        let accepted = self.accepted_speakers();
        let right: Vec<Speaker> = gold.iter().chain(&accepted).cloned().collect();
        if right.is_empty() {
            return Score::not_applicable("the reference names no speaker");
        }
        let named = self.named_speakers(given.output, &right);
        if named.is_empty() {
            if given.output.is_null() && given.cell.origin != Origin::Model {
                return Score::unscored("the answer leaves out its speakers, and its text names none");
            }
            return Score::value_because(0.0, "the answer names no speaker");
        }
        let is_right = |speaker: &Speaker| {
            right.iter().any(|wanted| speaker.is_wanted(wanted))
                && !gold.iter().any(|wanted| speaker.contradicts(wanted))
        };
        if let Some(other) = named.iter().find(|speaker| !is_right(speaker)) {
            return Score::value_because(
                0.0,
                match gold.iter().find(|wanted| wanted.name == other.name) {
                    Some(wanted) => format!("it names {other}, not {wanted}"),
                    None => format!("it names {other}, who did not say it"),
                },
            );
        }
        let most = gold.len().max(1);
        if named.len() > most {
            let named: Vec<&str> = named.iter().map(|speaker| speaker.written.as_str()).collect();
            return Score::value_because(0.0, format!("it names {}, but {most} of them said it", named.join(", ")));
        }
        let missing = gold.iter().find(|wanted| !named.iter().any(|speaker| speaker.is_wanted(wanted)));
        match missing.filter(|_| self.need == Need::All) {
            Some(missing) => Score::value_because(0.0, format!("it does not name {missing}")),
            None => test(true),
        }
    }
}
