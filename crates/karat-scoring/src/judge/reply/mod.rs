//! What a judge must reply, and what is made of what it does reply.
//!
//! [`schema`] and [`form`] say what is wanted; [`read`] reads a reply and compares it with that. Numbers and words are
//! taken leniently only where there is no doubt (`"7"`, `"8/10"` on a scale to 10, `Pass`), and every lenience leaves a
//! note.
//!
//! Scores count where a rubric may ask for them: at the top, under `scores`, under `dimensions`, and within one of
//! `WRAPPINGS` that is all there is.

mod findings;
mod form;
mod grade;
mod places;
mod rationale;
mod stated;

use std::collections::BTreeMap;
use std::fmt;

use karat_text::ladder::{Expectation, Ladder, Rung};
use karat_types::{Absent, FinishReason, Note, NoteKind, OverallMethod, Reply, Rubric, Scale};
use serde_json::{Map, Value};

use super::verdict::{counted, note};
use grade::Grading;
use places::Places;

pub use form::{form, schema};

/// One thing that is wrong with a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the place in the reply; empty for the whole.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// A dimension's score as read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grade {
    /// The number; `None` where it could not be read.
    pub value: Option<f64>,
    /// The judge's reason for this one, where it gives one.
    pub reason: Option<String>,
}

/// A reply that holds an object: all that could be read of it, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// By dimension, in the rubric's order.
    pub grades: Vec<Grade>,
    /// The overall, where the rubric takes it from the judge.
    pub overall: Option<Grade>,
    /// The judge's words.
    pub rationale: String,
    /// Findings by name, then breakdowns by name; filled with defaults where they are wrong.
    pub diagnostics: Map<String, Value>,
    /// The ladder's rung.
    pub rung: Rung,
    /// Leniences that were used.
    pub notes: Vec<Note>,
    /// What is wrong; empty for a valid reply.
    pub problems: Vec<Problem>,
    /// What was wrong with a reply that counts nevertheless, in one line.
    pub degraded: Option<String>,
}

/// Reads a reply. `origins` are the original positions of the members of shown lists, by list.
///
/// # Errors
/// The problem of a reply that holds no JSON object, or that the provider's filter or the judge's refusal ended: what
/// stands in such a reply is nobody's verdict.
pub fn read(rubric: &Rubric, reply: &Reply, origins: &BTreeMap<String, Vec<usize>>) -> Result<Reading, Problem> {
    if reply.finish == FinishReason::Refusal {
        let message = "the judge refused, or a filter of its provider ended the reply".to_owned();
        return Err(Problem { pointer: String::new(), message });
    }
    let fitness = |value: &Value| fitness(rubric, value, origins);
    let truncated = reply.finish == FinishReason::Length;
    let ladder = Ladder::new(Expectation::Object).truncated(truncated).ranking(&fitness);
    let found = ladder.climb(&reply.text).map_err(|error| Problem {
        pointer: String::new(),
        message: match reply.finish {
            FinishReason::Length => format!("{error} (the reply was cut off: it ran into its limit of tokens)"),
            _ => error.to_string(),
        },
    })?;
    // What an unfinished reply leaves out may have been to come: it is not absent on purpose.
    let strict = found.is_unfinished.then(|| {
        let mut rubric = rubric.clone();
        rubric.invalid.absent = Absent::Reject;
        rubric
    });
    let rubric = strict.as_ref().unwrap_or(rubric);
    let mut reading = Reader::new(rubric, &found.value).read(rubric, origins);
    reading.problems.extend(contradictions(rubric, &found.contradictions));
    reading.rung = found.rung;
    if found.rung != Rung::Direct {
        reading.notes.insert(0, note(NoteKind::Lenient, format!("the reply was read on the rung `{}`", found.rung)));
    }
    reading.notes.extend(found.notes.into_iter().map(|text| note(NoteKind::Lenient, text)));
    reading.notes = counted(std::mem::take(&mut reading.notes));
    Ok(reading)
}

/// How much a value is a verdict: the more dimensions it grades, and of the same number a valid one before others.
fn fitness(rubric: &Rubric, value: &Value, origins: &BTreeMap<String, Vec<usize>>) -> usize {
    let reader = Reader::new(rubric, value);
    match reader.places.as_ref().map_or(0, Places::found) {
        0 => 0,
        found => 2 * found + usize::from(reader.read(rubric, origins).problems.is_empty()),
    }
}

/// What one part of a reply is worth, beside what was lenient or wrong about it.
#[derive(Default)]
struct Remarks {
    notes: Vec<Note>,
    problems: Vec<Problem>,
}

impl Remarks {
    fn lenience(&mut self, text: impl Into<String>) {
        self.notes.push(note(NoteKind::Lenience, text));
    }

    fn problem(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem { pointer: pointer.into(), message: message.into() });
    }
}

/// Reads the parts of a reply one after the other.
struct Reader<'a> {
    object: &'a Map<String, Value>,
    places: Option<Places<'a>>,
    /// Pointer of `object` within the reply.
    prefix: String,
    remarks: Remarks,
}

/// Names of a member around everything that a judge may put its verdict in; beside it stand texts at most.
const WRAPPINGS: [&str; 15] = [
    "answer",
    "arguments",
    "assessment",
    "data",
    "evaluation",
    "final",
    "grading",
    "judgement",
    "judgment",
    "output",
    "parameters",
    "response",
    "result",
    "review",
    "verdict",
];

/// Names under which a judge says that it did not judge.
const REFUSALS: [&str; 3] = ["error", "refusal", "refused"];

static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'a> Reader<'a> {
    fn new(rubric: &Rubric, value: &'a Value) -> Self {
        let mut remarks = Remarks::default();
        let mut object = value.as_object().unwrap_or(&NOTHING);
        let mut prefix = String::new();
        while let Some((key, members)) = wrapped(rubric, object) {
            remarks.lenience(format!("the reply stood within `{key}`"));
            object = members;
            prefix = format!("{prefix}/{}", escape(key));
        }
        for key in object.keys().filter(|key| REFUSALS.contains(&places::fold(key).as_str())) {
            if !is_asked_for(rubric, key) && says_something(object.get(key)) {
                remarks.problem(format!("{prefix}/{}", escape(key)), "says that there is no verdict");
            }
        }
        let places = Places::within(rubric, object, &prefix);
        Self { object, places, prefix, remarks }
    }

    fn read(mut self, rubric: &Rubric, origins: &BTreeMap<String, Vec<usize>>) -> Reading {
        let grades = rubric.dimensions.iter().map(|dimension| self.grade(rubric, &dimension.name, &dimension.scale));
        let grades = grades.collect();
        if let Some(moved) = self.places.as_ref().and_then(Places::moved) {
            self.remarks.lenience(moved);
        }
        let overall = rubric.overall.as_ref().filter(|overall| overall.method == OverallMethod::Given);
        let overall = overall.map(|overall| self.given(rubric, &overall.id));
        let rationale = rationale::read(&rubric.rationale, self.object, &self.prefix, &mut self.remarks);
        let mut diagnostics = findings::read(rubric, self.object, &self.prefix, origins, &mut self.remarks);
        for breakdown in &rubric.breakdowns {
            let members = findings::breakdown(rubric, breakdown, self.object, &self.prefix, &mut self.remarks);
            diagnostics.insert(breakdown.name.clone(), members);
        }
        let Remarks { notes, problems } = self.remarks;
        Reading { grades, overall, rationale, diagnostics, rung: Rung::Direct, notes, problems, degraded: None }
    }

    fn grade(&mut self, rubric: &Rubric, name: &str, scale: &Scale) -> Grade {
        let place = self.places.as_ref().and_then(|places| places.get(name));
        let grading = Grading { name, scale, invalid: &rubric.invalid };
        match place {
            Some(place) if !place.value.is_null() || place.disputed => {
                let value = match doubt(rubric, &place, name, scale) {
                    Some(doubt) => {
                        self.remarks.problem(&place.pointer, doubt);
                        None
                    }
                    None => grading.read(place.value, &place.pointer, &mut self.remarks),
                };
                Grade { value, reason: place.reason.map(str::to_owned) }
            }
            _ => {
                let pointer = self.places.as_ref().map_or_else(|| self.prefix.clone(), Places::pointer);
                let value = grading.absent(&format!("{pointer}/{}", escape(name)), &mut self.remarks);
                Grade { value, reason: value.map(|_| "the judge left it out".to_owned()) }
            }
        }
    }

    /// The overall that the judge gives: on the widest of the dimensions' scales.
    fn given(&mut self, rubric: &Rubric, id: &str) -> Grade {
        let bounds = rubric.dimensions.iter().map(|dimension| dimension.scale.bounds());
        let (lo, hi) =
            bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (lo, hi)| (low.min(lo), high.max(hi)));
        let scale = Scale::Range { lo, hi, step: None };
        let grading = Grading { name: id, scale: &scale, invalid: &rubric.invalid };
        let pointer = format!("{}/{}", self.prefix, escape(id));
        let value = match places::member(self.object, id).filter(|(_, value)| !value.is_null()) {
            Some((_, value)) => grading.read(value, &pointer, &mut self.remarks),
            None => grading.absent(&pointer, &mut self.remarks),
        };
        Grade { value, reason: None }
    }
}

/// Why a score is none of this dimension, whatever number it is.
fn doubt(rubric: &Rubric, place: &places::Place<'_>, name: &str, scale: &Scale) -> Option<String> {
    if place.disputed {
        return Some(format!("`{name}` is graded twice, with different values"));
    }
    let (lo, hi) = scale.bounds();
    let is_asked = |key: &str| is_asked_for(rubric, key);
    let stated = place.around.iter().find_map(|members| stated::other_scale(members, scale, is_asked))?;
    Some(format!("`{name}` is on another scale ({stated}), but must be a number from {lo} to {hi}"))
}

/// Scores that a reply gives twice, and differently: which one is meant nobody knows.
fn contradictions(rubric: &Rubric, keys: &[String]) -> Vec<Problem> {
    let dimensions = rubric.dimensions.iter().chain(rubric.breakdowns.iter().flat_map(|breakdown| &breakdown.scores));
    let overall = rubric.overall.iter().map(|overall| overall.id.as_str());
    let scores: Vec<&str> = dimensions.map(|dimension| dimension.name.as_str()).chain(overall).collect();
    let twice = keys.iter().filter(|key| scores.contains(&key.as_str()) || places::SCORE.contains(&key.as_str()));
    let problem = |key: &String| Problem {
        pointer: String::new(),
        message: format!("`{key}` stands twice in one object, with different values"),
    };
    twice.map(problem).collect()
}

/// What stands within a member around the verdict: `{"result": {…}}`, `{"name": "submit", "arguments": {…}}`.
fn wrapped<'a>(rubric: &Rubric, object: &'a Map<String, Value>) -> Option<(&'a str, &'a Map<String, Value>)> {
    let mut inner =
        object.iter().filter(|(_, value)| !matches!(value, Value::String(_) | Value::Bool(_) | Value::Null));
    let (key, value) = inner.next().filter(|(key, _)| is_wrapping(rubric, key))?;
    let members = value.as_object().filter(|_| inner.next().is_none())?;
    let grades = |members| Places::within(rubric, members, "").is_some_and(|places| places.found() > 0);
    let is_around = !grades(object) && (grades(members) || wrapped(rubric, members).is_some());
    is_around.then_some((key.as_str(), members))
}

/// Whether a key of the reply stands around the verdict, and is none that is asked for.
fn is_wrapping(rubric: &Rubric, key: &str) -> bool {
    !is_asked_for(rubric, key) && WRAPPINGS.contains(&places::fold(key).as_str())
}

/// Whether a value is more than a way of saying nothing.
fn says_something(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => {
            !matches!(text.trim().to_lowercase().as_str(), "" | "none" | "no" | "n/a" | "null")
        }
        Some(Value::Bool(truth)) => *truth,
        Some(Value::Object(members)) => !members.is_empty(),
        _ => false,
    }
}

/// Whether a rubric asks for something under this key.
fn is_asked_for(rubric: &Rubric, key: &str) -> bool {
    key == rubric.rationale.field
        || rubric.dimensions.iter().any(|dimension| dimension.name == key)
        || rubric.diagnostics.iter().any(|diagnostic| diagnostic.name == key)
        || rubric.breakdowns.iter().any(|breakdown| breakdown.name == key)
}

/// Whether something that is left out counts as empty or lowest instead of making the reply invalid.
fn forgives_absence(rubric: &Rubric) -> bool {
    rubric.invalid.absent == Absent::Lowest
}

/// A key as a step of a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
