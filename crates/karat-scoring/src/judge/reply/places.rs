//! Finds the scores in a reply.

use karat_types::{ReplyShape, Rubric};
use serde_json::{Map, Value};

use super::escape;

/// A place where scores stand.
#[derive(Debug)]
pub(super) struct ScorePlaces<'a> {
    scores: Scores<'a>,
    pointer: String,
    found: usize,
    expected: bool,
    /// The places beside it that may hold scores too.
    others: Vec<Scores<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scores<'a> {
    Fields(&'a Map<String, Value>),
    List(&'a [Value]),
}

/// A score as it stands in the reply.
#[derive(Debug)]
pub(super) struct ScorePlace<'a> {
    pub value: &'a Value,
    pub reason: Option<&'a str>,
    pub pointer: String,
    /// The object that holds it and its reason, where there is one.
    pub item: Option<&'a Map<String, Value>>,
    /// The object that holds the scores of all dimensions.
    pub container: Option<&'a Map<String, Value>>,
    /// True if another score of the same dimension says something else.
    pub disputed: bool,
}

/// A score within one place: its pointer step, its value, its reason and the object that holds both.
type Entry<'a> = (String, &'a Value, Option<&'a str>, Option<&'a Map<String, Value>>);

impl<'a> ScorePlaces<'a> {
    /// The place where most dimensions stand; the one that the rubric asks for when in doubt. Scores stand in one of the
    /// forms that a rubric may ask for: at the top, under `scores`, or under `dimensions`. Whatever else names dimensions
    /// (weights, confidences, an earlier draft) grades nothing.
    pub fn within(rubric: &Rubric, object: &'a Map<String, Value>, prefix: &str) -> Option<Self> {
        let expected = |name: &str, is_list: bool| match rubric.reply {
            ReplyShape::Flat => name.is_empty(),
            ReplyShape::Nested => name == "scores" && !is_list,
            ReplyShape::List => name == "dimensions" && is_list,
        };
        let is_own = |name: &str| {
            rubric.breakdowns.iter().any(|breakdown| breakdown.name == name)
                || rubric.diagnostics.iter().any(|diagnostic| diagnostic.name == name)
        };
        let nested = ["scores", "dimensions"].into_iter().filter(|name| !is_own(name));
        let nested = nested.filter_map(|name| match member(object, name)? {
            (key, Value::Object(members)) => Some((name, key, Scores::Fields(members))),
            (key, Value::Array(items)) => Some((name, key, Scores::List(items))),
            _ => None,
        });
        let forms: Vec<(&str, &str, Scores<'a>)> =
            std::iter::once(("", "", Scores::Fields(object))).chain(nested).collect();
        let places = forms.iter().map(|(name, key, scores)| {
            let pointer = if key.is_empty() { prefix.to_owned() } else { format!("{prefix}/{}", escape(key)) };
            let found = rubric.dimensions.iter().filter(|dimension| scores.has_score(&dimension.name)).count();
            let expected = expected(name, matches!(scores, Scores::List(_)));
            Self { scores: *scores, pointer, found, expected, others: Vec::new() }
        });
        let best =
            places.reduce(
                |best, other| if (other.found, other.expected) > (best.found, best.expected) { other } else { best },
            )?;
        let others = forms.iter().map(|(_, _, scores)| *scores).filter(|scores| *scores != best.scores).collect();
        Some(Self { others, ..best })
    }

    /// The number of dimensions found there.
    pub fn count_scores(&self) -> usize {
        self.found
    }

    /// The pointer to the place.
    pub fn pointer(&self) -> String {
        self.pointer.clone()
    }

    /// The note about scores that are not where they should be.
    pub fn place_note(&self) -> Option<String> {
        let place = if self.pointer.is_empty() { "the top".to_owned() } else { format!("`{}`", self.pointer) };
        (!self.expected && self.found > 0).then(|| format!("the scores stood at {place}"))
    }

    /// The score of a dimension.
    pub fn get(&self, rubric: &Rubric, name: &str) -> Option<ScorePlace<'a>> {
        let is_other = |key: &str| key != name && rubric.dimensions.iter().any(|dimension| dimension.name == key);
        let own = self.scores.all(name, is_other);
        let (step, value, reason, item) = own.first().cloned()?;
        let elsewhere = self.others.iter().flat_map(|scores| scores.all(name, is_other));
        let graded_otherwise = own.into_iter().chain(elsewhere).any(|(_, other, ..)| other != value);
        let disputed = graded_otherwise || item.is_some_and(says_two_scores);
        let container = match self.scores {
            Scores::Fields(members) => Some(members),
            Scores::List(_) => None,
        };
        Some(ScorePlace { value, reason, pointer: format!("{}/{step}", self.pointer), item, container, disputed })
    }
}

impl<'a> Scores<'a> {
    /// True if it holds a score of a dimension.
    fn has_score(self, name: &str) -> bool {
        match self {
            Self::Fields(members) => member(members, name).is_some(),
            Self::List(_) => !self.all(name, |_| false).is_empty(),
        }
    }

    /// Every score of a dimension: a list may hold several, and an object under names that differ in case and punctuation
    /// alone, or that say that they replace it; the one that has its very name is the first. `is_other` says which keys are those of other dimensions.
    fn all(self, name: &str, is_other: impl Fn(&str) -> bool) -> Vec<Entry<'a>> {
        match self {
            Self::Fields(members) => {
                let entry = |(key, value): (&'a String, &'a Value)| match value.as_object() {
                    Some(item) => match score(item) {
                        Some((field, score)) => (format!("{}/{field}", escape(key)), score, reason(value), Some(item)),
                        None => (escape(key), value, None, None),
                    },
                    None => (escape(key), value, None, None),
                };
                let stands = member(members, name).is_some();
                let is_alike = |key: &str| normalize_name(key) == normalize_name(name) || stands && replaces(key, name);
                let alike = members.iter().filter(|(key, _)| *key != name && is_alike(key) && !is_other(key));
                members.get_key_value(name).into_iter().chain(alike).map(entry).collect()
            }
            Self::List(items) => {
                let named = |item: &Value| {
                    let names = ["dimension", "name", "id"].iter().filter_map(|field| item.get(field)?.as_str());
                    names.into_iter().any(|candidate| normalize_name(candidate) == normalize_name(name))
                };
                let entries = items.iter().enumerate().filter(|(_, item)| named(item)).filter_map(|(at, item)| {
                    let members = item.as_object()?;
                    let (field, score) = score(members)?;
                    Some((format!("{at}/{field}"), score, reason(item), Some(members)))
                });
                entries.collect()
            }
        }
    }
}

/// Names under which a score stands beside its reason.
pub(super) const SCORE: [&str; 4] = ["score", "value", "grade", "rating"];

fn score(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    SCORE.into_iter().find_map(|field| member(members, field))
}

/// Words before the name of a score that counts in place of another: `adjusted_score`, `finalGrade`.
const REPLACING: [&str; 5] = ["adjusted", "corrected", "final", "revised", "updated"];

/// True if a key says that its score counts in place of the dimension's: `corrected_facts`, `factsRevised`.
fn replaces(key: &str, name: &str) -> bool {
    let (key, name) = (normalize_name(key), normalize_name(name));
    key.strip_prefix(&name).or_else(|| key.strip_suffix(&name)).is_some_and(|word| REPLACING.contains(&word))
}

/// True if two names of a score stand in one object with different numbers; in another case they are names, too.
fn says_two_scores(members: &Map<String, Value>) -> bool {
    let named = members.iter().filter(|(key, _)| {
        let key = normalize_name(key);
        let replaced = REPLACING.iter().find_map(|word| key.strip_prefix(word));
        SCORE.contains(&replaced.unwrap_or(&key))
    });
    let mut numbers = named.filter_map(|(_, value)| match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    });
    let first = numbers.next();
    numbers.any(|number| Some(number) != first)
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
    let mut alike = members.iter().filter(|(key, _)| normalize_name(key) == normalize_name(name));
    let (key, value) = alike.next()?;
    alike.next().is_none().then_some((key.as_str(), value))
}

/// A name without case and punctuation: `topic_coverage` and `topicCoverage` are one.
pub(super) fn normalize_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
