//! Tests of an output, and their checks.

use serde_json::{Map, Value, json};

use super::super::Item;

/// A step from a JSON value to a part of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// A test of an output.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    /// Holds of every output.
    True,
    Check(Item),
    Member(Member),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
    /// At least so many of them hold.
    Several(usize, Vec<Test>),
}

/// A test of a part of the output's JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub path: Vec<Step>,
    /// The schema of the part.
    pub schema: Value,
    /// The part without which the code fails, whether or not the test is negated.
    pub needs: Need,
}

/// A part of the output's JSON that code reads from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Need {
    pub path: Vec<Step>,
    pub schema: Value,
}

impl Need {
    /// A part that is there: nothing is read of null.
    pub fn of_something(path: Vec<Step>) -> Self {
        Self { path, schema: json!({"not": {"type": "null"}}) }
    }

    fn to_test(&self) -> Test {
        Test::Member(Member { path: self.path.clone(), schema: self.schema.clone(), needs: self.clone() })
    }
}

impl Test {
    /// The test that holds where this one does not. Code that cannot read the output's JSON fails in both cases.
    pub fn not(self) -> Self {
        if let Some(opposite) = self.opposite() {
            return opposite;
        }
        let mut needs = Vec::new();
        self.collect_needs(&mut needs);
        let not = Self::Not(Box::new(self));
        if needs.is_empty() {
            return not;
        }
        let needed = needs.iter().map(Need::to_test);
        Self::All(needed.chain(std::iter::once(not)).collect())
    }

    /// The test of which this one is the negation.
    fn opposite(&self) -> Option<Self> {
        let is_need = |test: &Self| matches!(test, Self::Member(it) if it.needs.to_test() == *test);
        match self {
            Self::Not(inner) => Some((**inner).clone()),
            Self::All(tests) => match tests.split_last()? {
                (Self::Not(inner), needs) if !needs.is_empty() && needs.iter().all(is_need) => {
                    Some(Self::All(needs.iter().cloned().chain(std::iter::once((**inner).clone())).collect()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The parts of the output's JSON without which the code fails.
    pub fn needs(&self) -> Vec<Self> {
        let mut needs = Vec::new();
        self.collect_needs(&mut needs);
        needs.iter().map(Need::to_test).collect()
    }

    fn collect_needs(&self, needs: &mut Vec<Need>) {
        match self {
            Self::True | Self::Check(_) => {}
            Self::Member(member) if needs.contains(&member.needs) => {}
            Self::Member(member) => needs.push(member.needs.clone()),
            Self::Not(test) => test.collect_needs(needs),
            Self::All(tests) | Self::Any(tests) | Self::Several(_, tests) => {
                tests.iter().for_each(|test| test.collect_needs(needs));
            }
        }
    }

    /// Returns true if no output passes that is not JSON.
    pub fn requires_json(&self) -> bool {
        match self {
            Self::True | Self::Check(_) | Self::Not(_) => false,
            Self::Member(_) => true,
            Self::All(tests) => tests.iter().any(Self::requires_json),
            Self::Any(tests) | Self::Several(_, tests) => tests.iter().all(Self::requires_json),
        }
    }

    /// The check; `None` of a test that holds of everything, which stands for a mistake.
    pub fn into_item(self) -> Option<Item> {
        Some(match self {
            Self::True => return None,
            Self::Check(item) => item,
            Self::Member(member) => member.into_item(),
            Self::Not(test) => {
                let item = test.into_item()?;
                let is_negated = item.0.get("not") == Some(&json!(true));
                item.set("not", !is_negated)
            }
            Self::All(tests) => {
                let mut tests: Vec<Self> = tests.into_iter().filter(|test| *test != Self::True).collect();
                match tests.len() {
                    1 => tests.pop()?.into_item()?,
                    count => checks(tests, count)?,
                }
            }
            Self::Any(tests) => match phrases(&tests) {
                Some(item) => item,
                None => checks(tests, 1)?,
            },
            Self::Several(count, tests) => checks(tests, count)?,
        })
    }
}

/// At least `count` of the tests, as one check.
fn checks(tests: Vec<Test>, count: usize) -> Option<Item> {
    let items = tests.into_iter().map(|test| Some(Value::Object(test.into_item()?.0))).collect::<Option<Vec<_>>>()?;
    let share = count as f64 / items.len() as f64;
    // A share that is not a decimal number is rounded down, so that so many reach it.
    let min = if share >= 1.0 { 1.0 } else { (1e9 * share).floor() / 1e9 };
    (!items.is_empty()).then(|| Item::new("checks").with("of", items).min(min))
}

/// One `contains` with several phrases, where all tests are one with the same options.
fn phrases(tests: &[Test]) -> Option<Item> {
    let mut phrases = Vec::new();
    let mut common: Option<Map<String, Value>> = None;
    for test in tests {
        let Test::Check(Item(map)) = test else { return None };
        let mut rest = map.clone();
        phrases.push(rest.shift_remove("value")?);
        if rest.get("metric") != Some(&json!("contains")) || common.as_ref().is_some_and(|known| *known != rest) {
            return None;
        }
        common = Some(rest);
    }
    common.map(|rest| Item(rest).with("any", phrases))
}

impl Member {
    /// The check that the output is JSON with a part of this schema.
    fn into_item(self) -> Item {
        let whole = self.path.into_iter().rev().fold(self.schema, |inner, step| match step {
            Step::Name(name) => json!({"type": "object", "required": [name], "properties": {name: inner}}),
            Step::Index(index) => {
                let mut items = vec![json!(true); index];
                items.push(inner);
                json!({"type": "array", "minItems": index + 1, "prefixItems": items})
            }
        });
        Item::new("json_schema").with("schema", whole).with("amid", false)
    }
}
