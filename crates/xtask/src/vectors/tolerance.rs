//! Comparing an expected with an actual result under a case's tolerance.

use serde_json::{Map, Value};

/// The largest difference allowed: |actual − expected| ≤ abs + rel·|expected|, with overrides per
/// field name.
pub struct Tolerance {
    default: Bound,
    fields: Vec<(String, Bound)>,
}

#[derive(Clone, Copy)]
struct Bound {
    abs: f64,
    rel: f64,
}

impl Tolerance {
    /// Reads the `tolerance` of a case; a case without one compares exactly.
    ///
    /// # Errors
    /// When a bound is not a number.
    pub fn of_case(case: &Value) -> Result<Self, String> {
        let Some(tolerance) = case.get("tolerance").and_then(Value::as_object) else {
            let default = Bound { abs: 0.0, rel: 0.0 };
            return Ok(Self { default, fields: Vec::new() });
        };
        let overrides = tolerance.get("fields").and_then(Value::as_object);
        let fields = overrides
            .into_iter()
            .flatten()
            .map(|(name, bound)| {
                let bound = bound.as_object().ok_or_else(|| format!("tolerance of {name} is not an object"))?;
                Ok((name.clone(), Bound::read(bound)?))
            })
            .collect::<Result<_, String>>()?;
        Ok(Self { default: Bound::read(tolerance)?, fields })
    }

    /// One line per difference: path, expected, actual. Fields that are not expected are ignored.
    pub fn mismatches(&self, expected: &Value, actual: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.compare("", self.default, expected, actual, &mut found);
        found
    }

    fn compare(&self, path: &str, bound: Bound, expected: &Value, actual: &Value, found: &mut Vec<String>) {
        match (expected, actual) {
            (Value::Object(expected), Value::Object(actual)) => {
                for (name, expected) in expected {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let bound = self.bound_of(name, &path).unwrap_or(bound);
                    match actual.get(name) {
                        Some(actual) => self.compare(&path, bound, expected, actual, found),
                        None => found.push(format!("{path}: expected {expected}, missing")),
                    }
                }
            }
            (Value::Array(expected), Value::Array(actual)) => {
                if expected.len() != actual.len() {
                    found.push(format!("{path}: expected {} elements, got {}", expected.len(), actual.len()));
                }
                for (i, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                    self.compare(&format!("{path}[{i}]"), bound, expected, actual, found);
                }
            }
            _ if bound.agrees(expected, actual) => {}
            _ => found.push(format!("{path}: expected {expected}, got {actual}")),
        }
    }

    fn bound_of(&self, name: &str, path: &str) -> Option<Bound> {
        let matching = self.fields.iter().find(|(field, _)| field == path || field == name);
        matching.map(|(_, bound)| *bound)
    }
}

impl Bound {
    fn read(object: &Map<String, Value>) -> Result<Self, String> {
        let number = |name: &str| match object.get(name) {
            None => Ok(0.0),
            Some(value) => value.as_f64().ok_or_else(|| format!("tolerance {name} is {value}, not a number")),
        };
        Ok(Self { abs: number("abs")?, rel: number("rel")? })
    }

    /// Integers, strings, booleans and nulls agree exactly; floats within the bound.
    fn agrees(self, expected: &Value, actual: &Value) -> bool {
        let (Value::Number(e), Value::Number(a)) = (expected, actual) else {
            return expected == actual;
        };
        let (Some(exact), Some(got)) = (e.as_f64(), a.as_f64()) else {
            return false;
        };
        let slack = if e.is_f64() { self.abs + self.rel * exact.abs() } else { 0.0 };
        (got - exact).abs() <= slack
    }
}
