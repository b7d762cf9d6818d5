//! Where in a reply the scores stand.

use karat_types::{ReplyShape, Rubric};
use serde_json::{Map, Value};

use super::escape;

/// A place where scores stand.
#[derive(Debug)]
pub(super) struct Places<'a> {
    scores: Scores<'a>,
    pointer: String,
    found: usize,
    expected: bool,
}

#[derive(Debug, Clone, Copy)]
enum Scores<'a> {
    Fields(&'a Map<String, Value>),
    List(&'a [Value]),
}

/// A score as it stands in the reply.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub value: &'a Value,
    pub reason: Option<&'a str>,
    pub pointer: String,
}

impl<'a> Places<'a> {
    /// The best place within a reply; `None` when it is no object.
    pub fn of(rubric: &Rubric, reply: &'a Value) -> Option<Self> {
        reply.as_object().and_then(|object| Self::within(rubric, object, ""))
    }

    /// The place where most dimensions stand; the one that the rubric asks for when in doubt.
    pub fn within(rubric: &Rubric, object: &'a Map<String, Value>, prefix: &str) -> Option<Self> {
        let expected = |name: &str, is_list: bool| match rubric.reply {
            ReplyShape::Flat => name.is_empty(),
            ReplyShape::Nested => name == "scores" && !is_list,
            ReplyShape::List => name == "dimensions" && is_list,
        };
        let whole = ("", Scores::Fields(object));
        let nested = object.iter().filter_map(|(key, value)| match value {
            Value::Object(members) => Some((key.as_str(), Scores::Fields(members))),
            Value::Array(items) => Some((key.as_str(), Scores::List(items))),
            _ => None,
        });
        let is_breakdown = |name: &str| rubric.breakdowns.iter().any(|breakdown| breakdown.name == name);
        let places =
            std::iter::once(whole).chain(nested.filter(|(name, _)| !is_breakdown(name))).map(|(name, scores)| {
                let pointer = if name.is_empty() { prefix.to_owned() } else { format!("{prefix}/{}", escape(name)) };
                let found = rubric.dimensions.iter().filter(|dimension| scores.get(&dimension.name).is_some()).count();
                Self { scores, pointer, found, expected: expected(name, matches!(scores, Scores::List(_))) }
            });
        places.reduce(
            |best, other| if (other.found, other.expected) > (best.found, best.expected) { other } else { best },
        )
    }

    /// How many dimensions stand there.
    pub fn found(&self) -> usize {
        self.found
    }

    /// The pointer to the place.
    pub fn pointer(&self) -> String {
        self.pointer.clone()
    }

    /// What to note when the scores stand elsewhere than they should.
    pub fn moved(&self) -> Option<String> {
        let place = if self.pointer.is_empty() { "the top".to_owned() } else { format!("`{}`", self.pointer) };
        (!self.expected && self.found > 0).then(|| format!("the scores stood at {place}"))
    }

    /// The score of a dimension.
    pub fn get(&self, name: &str) -> Option<Place<'a>> {
        let (step, value, reason) = self.scores.get(name)?;
        Some(Place { value, reason, pointer: format!("{}/{step}", self.pointer) })
    }
}

impl<'a> Scores<'a> {
    /// Pointer step, value and reason of a score.
    fn get(self, name: &str) -> Option<(String, &'a Value, Option<&'a str>)> {
        match self {
            Self::Fields(members) => {
                let (key, value) = member(members, name)?;
                match value.as_object().and_then(score) {
                    Some((field, score)) => Some((format!("{}/{field}", escape(key)), score, reason(value))),
                    None => Some((escape(key), value, None)),
                }
            }
            Self::List(items) => {
                let named = |item: &Value| {
                    let names = ["dimension", "name", "id"].iter().filter_map(|field| item.get(field)?.as_str());
                    names.into_iter().any(|candidate| fold(candidate) == fold(name))
                };
                let at = items.iter().position(named)?;
                let item = items.get(at)?;
                let (field, score) = item.as_object().and_then(score)?;
                Some((format!("{at}/{field}"), score, reason(item)))
            }
        }
    }
}

/// Names under which a score stands beside its reason.
pub(super) const SCORE: [&str; 4] = ["score", "value", "grade", "rating"];

fn score(members: &Map<String, Value>) -> Option<(&'static str, &Value)> {
    SCORE.into_iter().find_map(|field| Some((field, members.get(field)?)))
}

fn reason(item: &Value) -> Option<&str> {
    let fields = ["reason", "rationale", "reasoning", "explanation"];
    fields.iter().find_map(|field| item.get(field)?.as_str()).map(str::trim).filter(|text| !text.is_empty())
}

/// A member by name; where there is none, the only one whose name differs in case and punctuation alone.
pub(super) fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<(&'a str, &'a Value)> {
    if let Some((key, value)) = members.get_key_value(name) {
        return Some((key, value));
    }
    let mut alike = members.iter().filter(|(key, _)| fold(key) == fold(name));
    let (key, value) = alike.next()?;
    alike.next().is_none().then_some((key.as_str(), value))
}

/// A name without case and punctuation: `topic_coverage` and `topicCoverage` are one.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
