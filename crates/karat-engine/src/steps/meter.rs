//! `meter`: facts reported in an answer, or in the row of a recorded output.

use std::collections::BTreeMap;

use karat_text::path::{Path, PathError};
use karat_types::{MeterSpec, Money, Note, NoteKind, Pricing, ResponseFacts, Usage};
use serde_json::Value;

/// A [`MeterSpec`] with its paths compiled.
pub(crate) struct Meter {
    latency_ms: Vec<(String, Path)>,
    tokens: Vec<TokenPaths>,
    cost_usd: Option<Path>,
    version: Option<Path>,
    models: Option<Path>,
    prices: BTreeMap<String, Pricing>,
}

struct TokenPaths {
    each: Option<Path>,
    model: MeteredModel,
    input: Option<Path>,
    output: Option<Path>,
}

enum MeteredModel {
    Named(String),
    At(Path),
}

/// The name of the stage that is the whole step.
const TOTAL: &str = "total";

/// Limits of plausible figures: no answer takes a day, or has more tokens or costs more dollars than these.
const MOST_MS: f64 = 86_400_000.0;
const MOST_TOKENS: f64 = 1e9;
const MOST_USD: f64 = 1e6;

/// The figures that a document reports about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Metered {
    /// Times by stage, and version.
    pub facts: ResponseFacts,
    /// Time of the whole step, if it is reported.
    pub latency_ms: Option<f64>,
    /// Tokens of all models.
    pub usage: Usage,
    /// Its cost: zero if the step does not meter it, `None` if the answer does not report it in full or a price is
    /// unknown.
    pub cost: Option<Money>,
    /// The cost of the parts with a known price: the lower bound if `cost` is unknown.
    pub least: Money,
    /// The first value that should be a cost or a number of tokens and is neither, if that leaves the cost unknown.
    pub unreadable: Option<String>,
    /// Notes on values that could not be read.
    pub notes: Vec<Note>,
}

/// The cost of an answer that does not report it in full.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UnknownCost {
    /// The lower bound of the cost.
    pub least: Money,
    /// The reported value that is not an amount, with its path. Without one, the answer reports nothing, or a price is
    /// missing.
    pub unreadable: Option<String>,
}

impl Metered {
    /// The figures of a step that reports nothing.
    pub fn none() -> Self {
        Self { cost: Some(Money::ZERO), ..Self::default() }
    }

    /// Adds another answer of the same step: amounts add up, the first version stays.
    pub fn add(&mut self, more: Self) {
        self.latency_ms = match (self.latency_ms, more.latency_ms) {
            (Some(sum), Some(time)) => Some(sum + time),
            (one, other) => one.or(other),
        };
        self.facts.absorb(&more.facts);
        self.usage += more.usage;
        self.cost = self.cost.zip(more.cost).map(|(sum, cost)| sum + cost);
        self.least += more.least;
        self.unreadable = self.unreadable.take().or(more.unreadable);
        self.notes.extend(more.notes);
    }

    /// The cost, or the known part of it.
    pub fn cost_or_least(self) -> Result<Money, UnknownCost> {
        self.cost.ok_or(UnknownCost { least: self.least, unreadable: self.unreadable })
    }
}

impl Meter {
    /// Compiles the paths.
    pub fn new(spec: &MeterSpec) -> Result<Self, PathError> {
        let path = |text: &Option<String>| text.as_deref().map(Path::parse).transpose();
        let stages = spec.latency_ms.iter().map(|(stage, text)| Ok((stage.clone(), Path::parse(text)?)));
        let tokens = spec.tokens.iter().map(|tokens| {
            let model = match tokens.model.starts_with('$') {
                true => MeteredModel::At(Path::parse(&tokens.model)?),
                false => MeteredModel::Named(tokens.model.clone()),
            };
            Ok(TokenPaths {
                each: path(&tokens.each)?,
                model,
                input: path(&tokens.input)?,
                output: path(&tokens.output)?,
            })
        });
        Ok(Self {
            latency_ms: stages.collect::<Result<_, PathError>>()?,
            tokens: tokens.collect::<Result<_, PathError>>()?,
            cost_usd: path(&spec.cost_usd)?,
            version: path(&spec.version)?,
            models: path(&spec.models)?,
            prices: spec.prices.clone(),
        })
    }

    /// Reads a document. Absent values are unknown; values that are not a time, a number of tokens or an amount are
    /// noted.
    pub fn read(&self, document: &Value) -> Metered {
        let mut metered = Metered::none();
        for (stage, path) in &self.latency_ms {
            if let Ok(Some(time)) = amount(document, path, MOST_MS, &mut metered.notes) {
                if stage == TOTAL {
                    metered.latency_ms = Some(time);
                }
                metered.facts.latency_ms.insert(stage.clone(), time);
            }
        }
        let mut uses = 0;
        for tokens in &self.tokens {
            match &tokens.each {
                None => uses += u32::from(self.tokens(tokens, document, &mut metered)),
                Some(each) => {
                    for part in members(document, each) {
                        uses += u32::from(self.tokens(tokens, part, &mut metered));
                    }
                }
            }
        }
        let asked = self.cost_usd.is_some() || !self.tokens.is_empty();
        if metered.unreadable.is_some() || asked && uses == 0 {
            metered.cost = None;
        }
        if let Some(path) = &self.cost_usd {
            match amount(document, path, MOST_USD, &mut metered.notes) {
                Ok(Some(dollars)) => (metered.cost, metered.unreadable) = (Money::from_usd(dollars), None),
                Ok(None) => {}
                // A cost computed from tokens does not replace a reported one that cannot be read.
                Err(unreadable) => (metered.cost, metered.unreadable) = (None, Some(unreadable)),
            }
        }
        let version = self.version.as_ref().and_then(|path| path.first(document)).filter(|version| !version.is_null());
        metered.facts.version =
            version.map(|version| version.as_str().map_or_else(|| version.to_string(), str::to_owned));
        metered.facts.models =
            self.models.as_ref().and_then(|path| path.first(document)).map(names).unwrap_or_default();
        metered
    }

    /// Adds one use of a model. Returns whether it reports a number of tokens, even 0. A missing number leaves the cost
    /// unknown, unless such tokens are free: embeddings have no output.
    fn tokens(&self, tokens: &TokenPaths, document: &Value, metered: &mut Metered) -> bool {
        let mut count = |path: &Option<Path>| match amount(document, path.as_ref()?, MOST_TOKENS, &mut metered.notes) {
            Ok(count) => count.map(|count| count as u64),
            Err(unreadable) => {
                metered.unreadable.get_or_insert(unreadable);
                None
            }
        };
        let (input, output) = (count(&tokens.input), count(&tokens.output));
        if input.is_none() && output.is_none() {
            return false;
        }
        let usage = Usage {
            input_tokens: input.unwrap_or_default(),
            output_tokens: output.unwrap_or_default(),
            ..Usage::default()
        };
        let model = match &tokens.model {
            MeteredModel::Named(id) => Some(id.as_str()),
            MeteredModel::At(path) => path.first(document).and_then(Value::as_str),
        };
        let unsaid = |path: &Option<Path>, count: Option<u64>| u64::from(path.is_some() && count.is_none());
        let unsaid = Usage {
            input_tokens: unsaid(&tokens.input, input),
            output_tokens: unsaid(&tokens.output, output),
            ..Usage::default()
        };
        let price = model.and_then(|id| self.prices.get(id));
        let least = price.and_then(|price| price.cost(&usage));
        let cost = least.filter(|_| price.is_some_and(|price| price.cost(&unsaid) == Some(Money::ZERO)));
        metered.least += least.unwrap_or_default();
        metered.cost = metered.cost.zip(cost).map(|(sum, cost)| sum + cost);
        metered.usage += usage;
        true
    }
}

/// The members of the lists at a path, or the single value there.
fn members<'a>(document: &'a Value, path: &Path) -> impl Iterator<Item = &'a Value> {
    path.all(document).into_iter().flat_map(|found| match found {
        Value::Array(members) => members.as_slice(),
        single => std::slice::from_ref(single),
    })
}

/// The strings of an object by name.
fn names(models: &Value) -> BTreeMap<String, String> {
    let members = models.as_object().into_iter().flatten();
    members.filter_map(|(part, name)| Some((part.clone(), name.as_str()?.to_owned()))).collect()
}

/// A number from zero to `most` at a path, or the same as decimal text (`"0.01"`); `None` if the path leads nowhere.
///
/// # Errors
/// The value that is not such a number, with its path. It is noted, too.
fn amount(document: &Value, path: &Path, most: f64, notes: &mut Vec<Note>) -> Result<Option<f64>, String> {
    let Some(found) = path.first(document).filter(|value| !value.is_null()) else { return Ok(None) };
    let number = match found {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    match number.filter(|number| (0.0..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            let text = format!("`meter` found something else than a number from 0 to {most} at `{path}`");
            notes.push(Note { kind: NoteKind::Unmetered, text, count: 1 });
            Err(format!("{} at `{path}`, which is not a number from 0 to {most}", excerpt(found)))
        }
    }
}

/// Characters of an unreadable value that a message shows.
const SHOWN: usize = 60;

/// The start of a value as JSON, without control characters.
fn excerpt(value: &Value) -> String {
    let json = value.to_string();
    let mut shown: String = json.chars().filter(|char| !char.is_control()).take(SHOWN).collect();
    if shown.len() < json.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use karat_types::MeteredTokens;
    use serde_json::json;

    use super::*;

    fn meter(spec: Value) -> Meter {
        Meter::new(&serde_json::from_value(spec).unwrap()).unwrap()
    }

    /// RG-09, RG-10: times by stage, the service's version and cost come from the answer.
    #[test]
    fn an_answer_is_metered() {
        let spec = MeterSpec {
            latency_ms: [("llm".to_owned(), "$.t.llm".to_owned()), ("total".to_owned(), "$.t.all".to_owned())].into(),
            tokens: vec![MeteredTokens {
                each: None,
                model: "$.model".to_owned(),
                input: Some("$.usage.in".to_owned()),
                output: None,
            }],
            version: Some("$.commit".to_owned()),
            prices: [(
                "m".to_owned(),
                serde_json::from_value(json!({"known": {"input": 2_000_000_000_i64, "output": 4_000_000_000_i64}}))
                    .unwrap(),
            )]
            .into(),
            ..MeterSpec::default()
        };
        let answer = json!({"t": {"llm": 12.5, "all": 40}, "model": "m", "usage": {"in": 1_000}, "commit": "a1"});
        let read = Meter::new(&spec).unwrap().read(&answer);
        assert_eq!(read.latency_ms, Some(40.0));
        assert_eq!(read.facts.latency_ms.get("llm"), Some(&12.5));
        assert_eq!(read.facts.version.as_deref(), Some("a1"));
        assert_eq!((read.usage.input_tokens, read.cost), (1_000, Money::from_usd(0.002)));
        let other = Meter::new(&spec).unwrap().read(&json!({"model": "unknown", "usage": {"in": 1}}));
        assert_eq!(other.cost, None, "an unknown price is not free");
    }

    /// RG-09, RG-10: each reported use is charged at its own model's price; the models are known.
    #[test]
    fn every_use_of_a_list_counts() {
        let price = |input: i64, output: i64| {
            serde_json::from_value(json!({"known": {"input": input, "output": output}})).unwrap()
        };
        let spec = MeterSpec {
            tokens: vec![MeteredTokens {
                each: Some("$.usage".to_owned()),
                model: "$.model".to_owned(),
                input: Some("$.input_tokens".to_owned()),
                output: Some("$.output_tokens".to_owned()),
            }],
            models: Some("$.models".to_owned()),
            prices: [
                ("e".to_owned(), price(1_000_000_000, 0)),
                ("l".to_owned(), price(10_000_000_000, 10_000_000_000)),
            ]
            .into(),
            ..MeterSpec::default()
        };
        let answer = json!({
            "usage": [
                {"kind": "embedding", "model": "e", "input_tokens": 1_000},
                {"kind": "llm", "model": "l", "input_tokens": 100, "output_tokens": 100}
            ],
            "models": {"llm": "l", "text": "e", "odd": 7}
        });
        let read = Meter::new(&spec).unwrap().read(&answer);
        assert_eq!((read.usage.total(), read.cost), (1_200, Money::from_usd(0.003)));
        assert_eq!(read.facts.models, BTreeMap::from([("llm", "l"), ("text", "e")].map(|(a, b)| (a.into(), b.into()))));
        assert_eq!(Meter::new(&spec).unwrap().read(&json!({})).cost, None, "what is not said is not free");
        let odd = json!({"usage": [{"model": "e", "input_tokens": "100"}, {"model": "l", "output_tokens": 5}]});
        assert_eq!(Meter::new(&spec).unwrap().read(&odd).cost, None, "nor is what cannot be read");
        let cached = json!({"usage": [{"model": "l", "input_tokens": 0, "output_tokens": 0}]});
        assert_eq!(
            Meter::new(&spec).unwrap().read(&cached).cost,
            Some(Money::ZERO),
            "what is said to be nothing is free"
        );
        let half = json!({"usage": [{"model": "l", "input_tokens": 100}]});
        assert_eq!(Meter::new(&spec).unwrap().read(&half).cost, None, "half of what was used is not its cost");
    }

    /// RG-09: impossible figures of a service are noted, not counted.
    #[test]
    fn impossible_numbers_are_noted() {
        let meter = meter(json!({"latency_ms": {"llm": "$.a"}, "cost_usd": "$.b"}));
        let read = meter.read(&json!({"a": "fast", "b": -1}));
        assert_eq!((read.notes.len(), read.facts.is_bare(), read.cost), (2, true, None));
        assert!(meter.read(&json!({})).notes.is_empty());
        let spec = MeterSpec {
            tokens: vec![MeteredTokens {
                each: None,
                model: "m".to_owned(),
                input: Some("$.n".to_owned()),
                output: None,
            }],
            ..MeterSpec::default()
        };
        for odd in
            [json!(1e30), json!(-5), json!("-5"), json!("NaN"), json!("inf"), json!("fast"), json!([1]), json!(true)]
        {
            let read = Meter::new(&spec).unwrap().read(&json!({"n": odd}));
            assert_eq!((read.usage.input_tokens, read.cost, read.notes.len()), (0, None, 1), "{odd}");
            assert!(
                read.unreadable
                    .is_some_and(|what| what.ends_with("at `$.n`, which is not a number from 0 to 1000000000"))
            );
            let read = meter.read(&json!({"a": odd, "b": odd}));
            assert_eq!((read.facts.is_bare(), read.cost, read.notes.len()), (true, None, 2), "{odd}");
            assert!(read.unreadable.is_some_and(|what| what.starts_with(&odd.to_string())));
        }
    }

    /// FT-B2: a cost or number of tokens that is written as decimal text is that number; an absent one is unknown, not
    /// unreadable.
    #[test]
    fn decimal_text_is_read_as_the_number() {
        let dollars = meter(json!({"cost_usd": "$.usd"}));
        for (text, nano) in [("0.01", 10_000_000), (" 0.5 ", 500_000_000), ("0", 0), ("1e-3", 1_000_000)] {
            let read = dollars.read(&json!({ "usd": text }));
            assert_eq!((read.cost, read.unreadable, read.notes.len()), (Some(Money(nano)), None, 0), "{text}");
        }
        for absent in [json!({}), json!({"usd": null})] {
            let read = dollars.read(&absent);
            assert_eq!((read.cost, read.unreadable), (None, None));
        }
        let tokens = json!({"tokens": [{"model": "m", "input": "$.in", "output": "$.out"}], "cost_usd": "$.usd",
            "prices": {"m": {"known": {"input": 1_000_000_000, "output": 0}}}});
        let tokens = meter(tokens);
        let read = tokens.read(&json!({"in": "2000", "out": 0}));
        assert_eq!((read.usage.input_tokens, read.cost), (2_000, Money::from_usd(0.002)));
        let read = tokens.read(&json!({"in": "many", "out": 0, "usd": 0.25}));
        assert_eq!((read.cost, read.unreadable), (Money::from_usd(0.25), None), "the reported cost is known");
        let read = tokens.read(&json!({"in": 2000, "out": 0, "usd": -1}));
        assert_eq!(read.cost, None, "a cost that cannot be read is not replaced by a guess");
        assert!(read.unreadable.is_some());
    }
}
