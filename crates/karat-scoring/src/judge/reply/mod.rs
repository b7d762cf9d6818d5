//! The form of a judge's reply, and the reading of the replies it sends.
//!
//! [`schema`] and [`form`] say what is wanted; [`read`] reads a reply and compares it with that. `choice` picks the object that is
//! the verdict; `places` finds the scores in it, `grade` reads one, `stated` compares the scale it states, `rationale` and
//! `findings` read the rest; `reasons` notes a reason that names another score. Numbers and words are
//! taken leniently only where there is no doubt (`"7"`, `"8/10"` on a scale to 10, `Pass`), and every lenience leaves a
//! note.
//!
//! Scores count where a rubric may ask for them: at the top, under `scores`, under `dimensions`, and within one of
//! `WRAPPINGS` that is all there is.

mod choice;
mod findings;
mod form;
mod grade;
mod places;
mod rationale;
mod reasons;
mod stated;

use std::collections::BTreeMap;
use std::fmt;

use karat_text::ladder::{self, Expectation, Ladder, Rung};
use karat_types::{AbsentDimension, FinishReason, Note, NoteKind, OverallMethod, Reply, Rubric, Scale};
use serde_json::{Map, Value};

use super::verdict::{count_notes, note};
use grade::ScoreReader;
use places::ScorePlaces;
use stated::ScaleObject;

pub use choice::JudgeCall;
pub(crate) use choice::code_field;
pub use form::{form, schema};

/// One thing that is wrong with a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the place in the reply; empty for the whole.
    pub pointer: String,
    /// The problem.
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
    /// The problems; empty for a valid reply.
    pub problems: Vec<Problem>,
    /// The problems of a reply that counts nevertheless, in one line.
    pub degraded: Option<String>,
}

/// Reads a reply to a call. `origins` are the original positions of the members of shown lists, by list.
///
/// # Errors
/// The problem of a reply that holds no JSON object, or none that is the judge's own for sure, or that the provider's filter or
/// the judge's refusal ended: what stands in such a reply is not a verdict.
pub fn read(
    rubric: &Rubric,
    reply: &Reply,
    origins: &BTreeMap<String, Vec<usize>>,
    call: JudgeCall<'_>,
) -> Result<Reading, Problem> {
    if reply.finish == FinishReason::Refusal {
        let message = "the judge refused, or a filter of its provider ended the reply".to_owned();
        return Err(Problem { pointer: String::new(), message });
    }
    let truncated = reply.finish == FinishReason::Length;
    let ladder = Ladder::new(Expectation::Object).with_truncation(truncated);
    let survey = ladder.survey(&reply.text).map_err(|error| Problem {
        pointer: String::new(),
        message: match reply.finish {
            FinishReason::Length => format!("{error} (the reply was cut off: it ran into its limit of tokens)"),
            _ => error.to_string(),
        },
    })?;
    let found = choice::choose(rubric, survey, origins, call)?;
    // What an unfinished reply leaves out may have been to come: it is not absent on purpose.
    let strict = found.is_unfinished.then(|| {
        let mut rubric = rubric.clone();
        rubric.invalid.absent = AbsentDimension::Reject;
        rubric
    });
    let rubric = strict.as_ref().unwrap_or(rubric);
    let opened = parse_nested_texts(rubric, &found.value);
    let mut reading = ReplyReader::new(rubric, opened.as_ref().unwrap_or(&found.value)).read(rubric, origins);
    reading.problems.extend(contradictions(rubric, &found.contradictions));
    reading.rung = found.rung;
    if found.rung != Rung::Direct {
        reading.notes.insert(0, note(NoteKind::Lenient, format!("the reply was read on the rung `{}`", found.rung)));
    }
    reading.notes.extend(found.notes.into_iter().map(|text| note(NoteKind::Lenient, text)));
    reading
        .notes
        .extend(reasons::contradictions(rubric, &reading).into_iter().map(|text| note(NoteKind::Lenience, text)));
    reading.notes = count_notes(std::mem::take(&mut reading.notes));
    Ok(reading)
}

/// Ranks a value as a verdict: the more dimensions it grades, the higher, and of the same number a valid one before others.
fn verdict_likeness(rubric: &Rubric, value: &Value, origins: &BTreeMap<String, Vec<usize>>) -> usize {
    let opened = parse_nested_texts(rubric, value);
    let reader = ReplyReader::new(rubric, opened.as_ref().unwrap_or(value));
    match count_asked(rubric, reader.object) {
        0 => 0,
        found => 2 * found + usize::from(reader.read(rubric, origins).problems.is_empty()),
    }
}

/// The number of scores in an object; of a rubric whose scores are all counted, the number of its lists.
fn count_asked(rubric: &Rubric, object: &Map<String, Value>) -> usize {
    if rubric.dimensions.is_empty() {
        return rubric.diagnostics.iter().filter(|spec| places::member(object, &spec.name).is_some()).count();
    }
    ScorePlaces::within(rubric, object, "").map_or(0, |places| places.count_scores())
}

/// Leniences and problems found while reading one part of a reply.
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
struct ReplyReader<'a> {
    object: &'a Map<String, Value>,
    places: Option<ScorePlaces<'a>>,
    /// Pointer of `object` within the reply.
    prefix: String,
    remarks: Remarks,
}

/// Names of a member around everything that a judge may put its verdict in; beside it stand texts at most.
const WRAPPINGS: [&str; 18] = [
    "answer",
    "arguments",
    "assessment",
    "data",
    "evaluation",
    "final",
    "function",
    "grading",
    "input",
    "json",
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
const REFUSALS: [&str; 4] = ["error", "failed", "refusal", "refused"];

/// Names under which it says how judging went, and what it says where there is no verdict.
const STATUS: [&str; 3] = ["status", "state", "outcome"];
const FAILED: [&str; 12] = [
    "failed",
    "failure",
    "fail",
    "error",
    "errored",
    "refused",
    "aborted",
    "cancelled",
    "canceled",
    "timeout",
    "incomplete",
    "unable",
];

/// Names under which `false` says that there is none.
const SUCCESS: [&str; 10] =
    ["success", "successful", "succeeded", "ok", "valid", "final", "complete", "completed", "judged", "evaluated"];

/// Names under which `true` says that it is not meant.
const UNREAL: [&str; 10] = [
    "draft",
    "skipped",
    "placeholder",
    "example",
    "template",
    "provisional",
    "preliminary",
    "hypothetical",
    "dummy",
    "incomplete",
];

static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'a> ReplyReader<'a> {
    fn new(rubric: &Rubric, value: &'a Value) -> Self {
        let mut remarks = Remarks::default();
        let mut object = value.as_object().unwrap_or(&NOTHING);
        let mut prefix = String::new();
        note_missing_verdict(rubric, object, &prefix, &mut remarks);
        while let Some((key, members)) = inside_wrapping(rubric, object) {
            remarks.lenience(format!("the reply stood within `{key}`"));
            object = members;
            prefix = format!("{prefix}/{}", escape(key));
            note_missing_verdict(rubric, object, &prefix, &mut remarks);
        }
        let places = ScorePlaces::within(rubric, object, &prefix);
        Self { object, places, prefix, remarks }
    }

    fn read(mut self, rubric: &Rubric, origins: &BTreeMap<String, Vec<usize>>) -> Reading {
        let grades = rubric.dimensions.iter().map(|dimension| self.grade(rubric, &dimension.name, &dimension.scale));
        let grades = grades.collect();
        if let Some(moved) = self.places.as_ref().and_then(ScorePlaces::place_note) {
            self.remarks.lenience(moved);
        }
        let overall = rubric.overall.as_ref().filter(|overall| overall.method == OverallMethod::Given);
        let overall = overall.map(|overall| self.given_overall(rubric, &overall.id));
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
        let place = self.places.as_ref().and_then(|places| places.get(rubric, name));
        let grading = ScoreReader { name, scale, invalid: &rubric.invalid };
        match place {
            Some(place) if !place.value.is_null() || place.disputed => {
                let value = match scale_problem(rubric, &place, name, scale) {
                    Some(doubt) => {
                        self.remarks.problem(&place.pointer, doubt);
                        None
                    }
                    None => grading.read(place.value, &place.pointer, &mut self.remarks),
                };
                Grade { value, reason: place.reason.map(str::to_owned) }
            }
            _ => {
                let pointer = self.places.as_ref().map_or_else(|| self.prefix.clone(), ScorePlaces::pointer);
                let value = grading.absent(&format!("{pointer}/{}", escape(name)), &mut self.remarks);
                Grade { value, reason: value.map(|_| "the judge left it out".to_owned()) }
            }
        }
    }

    /// The overall that the judge gives: on the widest of the dimensions' scales.
    fn given_overall(&mut self, rubric: &Rubric, id: &str) -> Grade {
        let bounds = rubric.dimensions.iter().map(|dimension| dimension.scale.bounds());
        let (lo, hi) =
            bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (lo, hi)| (low.min(lo), high.max(hi)));
        let scale = Scale::Range { lo, hi, step: None };
        let grading = ScoreReader { name: id, scale: &scale, invalid: &rubric.invalid };
        let pointer = format!("{}/{}", self.prefix, escape(id));
        let value = match places::member(self.object, id).filter(|(_, value)| !value.is_null()) {
            Some((_, value)) => grading.read(value, &pointer, &mut self.remarks),
            None => grading.absent(&pointer, &mut self.remarks),
        };
        Grade { value, reason: None }
    }
}

/// Returns the reason why a score cannot belong to this dimension, for any number.
fn scale_problem(rubric: &Rubric, place: &places::ScorePlace<'_>, name: &str, scale: &Scale) -> Option<String> {
    if place.disputed {
        return Some(format!("`{name}` is graded twice, with different values"));
    }
    let (lo, hi) = scale.bounds();
    let is_asked = |key: &str| is_asked_for(rubric, key);
    let beside = place.item.and_then(|members| stated::other_scale(members, ScaleObject::OneScore, scale, is_asked));
    let around = || {
        let members = place.container.filter(|members| !states_a_wider_scale(rubric, members, scale))?;
        stated::other_scale(members, ScaleObject::AllScores, scale, is_asked)
    };
    let named = || place.container.and_then(|members| stated::other_scale_of(name, members, scale, is_asked));
    let stated = beside.or_else(named).or_else(around)?;
    Some(format!("`{name}` is on another scale ({stated}), but must be a number from {lo} to {hi}"))
}

/// True if what is stated for all dimensions is the scale of most of them, and holds the given one: then it says nothing of
/// the few that have a smaller one.
fn states_a_wider_scale(rubric: &Rubric, members: &Map<String, Value>, scale: &Scale) -> bool {
    let (lo, hi) = scale.bounds();
    let is_stated = |other: &Scale| {
        stated::other_scale(members, ScaleObject::AllScores, other, |key| is_asked_for(rubric, key)).is_none()
    };
    let those: Vec<(f64, f64)> =
        rubric.dimensions.iter().map(|it| &it.scale).filter(|it| is_stated(it)).map(Scale::bounds).collect();
    2 * those.len() > rubric.dimensions.len() && those.iter().any(|(low, high)| *low <= lo && hi <= *high)
}

/// Notes scores that a reply gives twice with different values: it is unknown which one is meant.
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

/// Returns the verdict inside a wrapping member: `{"result": {…}}`, `{"name": "submit", "arguments": {…}}`.
fn inside_wrapping<'a>(rubric: &Rubric, object: &'a Map<String, Value>) -> Option<(&'a str, &'a Map<String, Value>)> {
    let mut inner =
        object.iter().filter(|(_, value)| !matches!(value, Value::String(_) | Value::Bool(_) | Value::Null));
    let (key, value) = inner.next().filter(|(key, _)| is_wrapping(rubric, key))?;
    let members = value.as_object().filter(|_| inner.next().is_none())?;
    let grades = |members| count_asked(rubric, members) > 0;
    let is_around = !grades(object) && (grades(members) || inside_wrapping(rubric, members).is_some());
    is_around.then_some((key.as_str(), members))
}

/// True if a key of the reply stands around the verdict, and is none that is asked for.
fn is_wrapping(rubric: &Rubric, key: &str) -> bool {
    !is_asked_for(rubric, key) && WRAPPINGS.contains(&places::normalize_name(key).as_str())
}

/// The members that say that there is no verdict, as problems.
fn note_missing_verdict(rubric: &Rubric, object: &Map<String, Value>, prefix: &str, remarks: &mut Remarks) {
    for (key, _) in object.iter().filter(|(key, value)| !is_asked_for(rubric, key) && says_no_verdict(key, value)) {
        remarks.problem(format!("{prefix}/{}", escape(key)), "says that there is no verdict");
    }
}

/// True if a member says that its object is not a verdict: `"error": "timeout"`, `"status": "failed"`, `"success": false`,
/// `"draft": true`.
fn says_no_verdict(key: &str, value: &Value) -> bool {
    let key = places::normalize_name(key);
    let is_one_of = |names: &[&str]| names.contains(&key.as_str());
    match value {
        Value::String(text) if is_one_of(&STATUS) => FAILED.contains(&text.trim().to_lowercase().as_str()),
        Value::Bool(false) => is_one_of(&SUCCESS),
        Value::Bool(true) if is_one_of(&UNREAL) => true,
        value => is_one_of(&REFUSALS) && says_something(value),
    }
}

/// True if a value is more than a way of saying nothing.
fn says_something(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            !matches!(text.trim().to_lowercase().as_str(), "" | "none" | "no" | "n/a" | "null" | "false")
        }
        Value::Bool(truth) => *truth,
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// The reply with the objects in it that are written as texts around the verdict (`"arguments": "{…}"`), where there are any.
fn parse_nested_texts(rubric: &Rubric, value: &Value) -> Option<Value> {
    let members = value.as_object()?;
    let open = |value: &Value| match value {
        Value::String(text) => {
            let inner = ladder::exact(text.trim()).ok().filter(Value::is_object)?;
            Some(parse_nested_texts(rubric, &inner).unwrap_or(inner))
        }
        other => parse_nested_texts(rubric, other),
    };
    let mut wrappings = members.iter().filter(|(key, _)| is_wrapping(rubric, key));
    let (key, inner) = wrappings.find_map(|(key, value)| Some((key.clone(), open(value)?)))?;
    let mut members = members.clone();
    members.insert(key, inner);
    Some(Value::Object(members))
}

/// True if a rubric asks for something under this key.
fn is_asked_for(rubric: &Rubric, key: &str) -> bool {
    key == rubric.rationale.field
        || rubric.dimensions.iter().any(|dimension| dimension.name == key)
        || rubric.diagnostics.iter().any(|diagnostic| diagnostic.name == key)
        || rubric.breakdowns.iter().any(|breakdown| breakdown.name == key)
}

/// True if something that is left out counts as empty or lowest instead of making the reply invalid.
fn allows_absence(rubric: &Rubric) -> bool {
    rubric.invalid.absent == AbsentDimension::Lowest
}

/// A key as a step of a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
