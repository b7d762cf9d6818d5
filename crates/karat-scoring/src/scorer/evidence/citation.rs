//! Metrics of citations: places that an answer names, against places that are acceptable.
//!
//! A citation and an acceptable place **agree** when the citation has every field that the place states (of `keys`, where
//! they are given), up to case and white space, and numbers by value; what the place does not state, or states as null, is not compared. Texts
//! instead of objects agree as a whole.

use karat_text::similar::fold;
use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::scorer::metric::{Metric, MetricInput, Needs, Options, Structure, applies_if_scored};
use crate::scorer::output::text::{test, text};

/// The fields that two citations have in common.
#[derive(Debug, Clone, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct Fields {
    /// The fields that are compared where the reference states them; all that it states without it.
    keys: Vec<String>,
}

/// True if a citation has a field as it is stated.
fn has(citation: &Value, (key, value): (&String, &Value)) -> bool {
    citation.get(key).is_some_and(|it| is_same(it, value))
}

/// True if two values say the same: case, white space and the form of accented letters and numbers apart.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    fold(&text(one)) == fold(&text(other)) || is_same_number(one, other)
}

/// True if both are the same number, of which one may be a text: page 2 is page 2.0. Two texts are names: table "1.1" is
/// not table "1.10".
fn is_same_number(one: &Value, other: &Value) -> bool {
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    (one.is_number() || other.is_number()) && number(one).is_some() && number(one) == number(other)
}

impl Fields {
    /// The compared fields that a gold citation states.
    fn stated_fields<'a>(&'a self, gold: &'a Map<String, Value>) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let compared = |key: &String| self.keys.is_empty() || self.keys.contains(key);
        gold.iter().filter(move |(key, value)| compared(key) && !value.is_null())
    }

    /// True if a citation agrees with an acceptable one in every field that this one states.
    fn agree(&self, citation: &Value, gold: &Value) -> bool {
        let Some(gold) = gold.as_object() else { return fold(&text(citation)) == fold(&text(gold)) };
        let mut stated = self.stated_fields(gold).peekable();
        stated.peek().is_some() && stated.all(|field| has(citation, field))
    }

    /// Counts the citations that agree with any gold, and the golds that are cited.
    fn tally(&self, citations: &[Value], gold: &[Value]) -> Tally {
        let agreeing = |citation: &&Value| gold.iter().any(|gold| self.agree(citation, gold));
        let cited = |gold: &&Value| citations.iter().any(|citation| self.agree(citation, gold));
        Tally {
            citations: citations.len(),
            right: citations.iter().filter(agreeing).count(),
            gold: gold.len(),
            cited: gold.iter().filter(cited).count(),
            difference: self.difference(citations, gold),
        }
    }

    /// In which fields the citation differs that differs in the fewest: `quarter is 2025-Q3, not 2025-Q4`.
    fn difference(&self, citations: &[Value], gold: &[Value]) -> Option<String> {
        let pairs = gold.iter().filter_map(Value::as_object);
        let pairs = pairs.flat_map(|gold| citations.iter().map(move |citation| (citation, gold)));
        let differing = pairs.map(|(citation, gold)| {
            let fields = self.stated_fields(gold).filter(|field| !has(citation, *field));
            let said = fields.map(|(key, value)| match citation.get(key).filter(|it| !it.is_null()) {
                Some(found) => format!("{key} is {}, not {}", text(found), text(value)),
                None => format!("{key} is missing, not {}", text(value)),
            });
            said.collect::<Vec<_>>()
        });
        let closest = differing.min_by_key(Vec::len)?;
        (!closest.is_empty()).then(|| closest.join(", "))
    }
}

struct Tally {
    citations: usize,
    right: usize,
    gold: usize,
    cited: usize,
    /// Where nothing agrees: how the closest citation differs.
    difference: Option<String>,
}

/// A figure of a tally; there is at least one citation and one gold.
type TallyFigure = Box<dyn Fn(&Tally) -> Score + Send + Sync>;

struct CitationMetric {
    fields: Fields,
    figure: TallyFigure,
}

impl CitationMetric {
    fn boxed_metric(fields: Fields, figure: impl Fn(&Tally) -> Score + Send + Sync + 'static) -> Box<dyn Metric> {
        Box::new(Self { fields, figure: Box::new(figure) })
    }
}

impl Metric for CitationMetric {
    fn structure(&self) -> Structure {
        Structure::Both
    }

    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let single;
        let gold = match given.reference {
            Value::Array(gold) => gold.as_slice(),
            other => {
                single = [other.clone()];
                &single
            }
        };
        if gold.is_empty() {
            return Score::not_applicable("the reference names no citation");
        }
        match given.output {
            Value::Array(citations) if !citations.is_empty() => (self.figure)(&self.fields.tally(citations, gold)),
            Value::Array(_) | Value::Null => Score::value_because(0.0, "there is no citation"),
            _ => Score::value_because(0.0, "the output is not a list of citations"),
        }
    }
}

/// Options of `citation_match`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CitationMatch {
    /// The fields that are compared where the reference states them; all that it states without it.
    keys: Vec<String>,
    /// The citations that must match: one (any), or every one of the reference's (all).
    need: Need,
}

/// The share of a list that must match.
#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Need {
    #[default]
    Any,
    All,
}

impl Options for CitationMatch {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let need = self.need;
        Ok(CitationMetric::boxed_metric(Fields { keys: self.keys }, move |tally| {
            let holds = if need == Need::Any { tally.cited > 0 } else { tally.cited == tally.gold };
            if holds {
                return test(true);
            }
            let closest = tally.difference.iter().map(|how| format!("; of the closest one {how}")).collect::<String>();
            Score::value_because(
                0.0,
                format!("{} of {} acceptable citations are there{closest}", tally.cited, tally.gold),
            )
        }))
    }
}

/// Options of `citation_precision`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(transparent)]
pub(crate) struct CitationPrecision(Fields);

impl Options for CitationPrecision {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(CitationMetric::boxed_metric(self.0, |tally| Score::value(tally.right as f64 / tally.citations as f64)))
    }
}

/// Options of `citation_recall`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(transparent)]
pub(crate) struct CitationRecall(Fields);

impl Options for CitationRecall {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(CitationMetric::boxed_metric(self.0, |tally| Score::value(tally.cited as f64 / tally.gold as f64)))
    }
}
