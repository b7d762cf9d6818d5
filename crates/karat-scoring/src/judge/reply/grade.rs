//! One score: a number on a scale, or a word with a value.

use karat_text::kind::kind;
use karat_types::{AbsentDimension, InvalidReplyRule, OutOfRangeScore, Scale};
use serde_json::Value;

use super::Remarks;
use karat_quantity::digit;

/// The largest distance of two numbers that count as equal: the error of 0.1 × 3 in binary, and nothing that a judge meant.
const ROUNDING: f64 = 1e-12;

/// Reads the scores of one dimension.
pub(super) struct ScoreReader<'a> {
    pub name: &'a str,
    pub scale: &'a Scale,
    pub invalid: &'a InvalidReplyRule,
}

impl ScoreReader<'_> {
    /// The number of a score; `None` where there is a problem.
    pub fn read(&self, value: &Value, pointer: &str, remarks: &mut Remarks) -> Option<f64> {
        match self.number(value, remarks) {
            Ok(number) => match self.scale {
                // A zero has no sign.
                Scale::Range { lo, hi, step } => self.on_scale(number + 0.0, (*lo, *hi), *step, pointer, remarks),
                Scale::Choices(_) => Some(number),
            },
            Err(message) => {
                remarks.problem(pointer, format!("`{}` {message}", self.name));
                None
            }
        }
    }

    /// The number of a score that is not there.
    pub fn absent(&self, pointer: &str, remarks: &mut Remarks) -> Option<f64> {
        match self.invalid.absent {
            AbsentDimension::Reject => {
                remarks.problem(pointer, format!("`{}` is missing", self.name));
                None
            }
            AbsentDimension::Lowest => {
                let (lowest, _) = self.scale.bounds();
                remarks.lenience(format!("`{}` was missing and counts as {lowest}", self.name));
                Some(lowest)
            }
        }
    }

    fn number(&self, value: &Value, remarks: &mut Remarks) -> Result<f64, String> {
        match (self.scale, value) {
            (Scale::Choices(choices), _) => self.choice(choices, value, remarks),
            (_, Value::Number(number)) => number
                .as_f64()
                .filter(|number| number.is_finite())
                .ok_or_else(|| format!("is {number}, which is not a score")),
            (_, Value::String(text)) => match self.number_in(text.trim()) {
                Some(number) => {
                    remarks.lenience(format!("`{}` was written as {text:?}", self.name));
                    Ok(number)
                }
                None => Err(format!("is {text:?}, which is not a number {}", self.scale)),
            },
            (_, other) => Err(format!("is {}, but must be a number {}", kind(other), self.scale)),
        }
    }

    /// A number in a text: plain, or as a share of the scale's highest value where the lowest is no matter.
    fn number_in(&self, text: &str) -> Option<f64> {
        let plain = |text: &str| {
            let text: String = text.trim().chars().map(in_ascii).collect();
            let is_decimal = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+'));
            text.parse::<f64>().ok().filter(|number| is_decimal && number.is_finite())
        };
        let (lo, hi) = self.scale.bounds();
        let is = |number: f64, other: f64| (number - other).abs() <= ROUNDING;
        if let Some(number) = plain(text) {
            return Some(number);
        }
        if let Some((number, of)) = text.split_once('/').or_else(|| text.split_once(" out of ")) {
            return plain(number).filter(|_| plain(of).is_some_and(|of| is(of, hi)));
        }
        let percent = plain(text.strip_suffix('%')?)?;
        match (is(lo, 0.0), is(hi, 1.0), is(hi, 100.0)) {
            (true, true, _) => Some(percent / 100.0),
            (true, _, true) => Some(percent),
            _ => None,
        }
    }

    fn choice(&self, choices: &[(String, f64)], value: &Value, remarks: &mut Remarks) -> Result<f64, String> {
        let words = || choices.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        let wrong = || format!("is {}, but must be one of {}", short(value), words());
        if let Some((_, worth)) = value.as_str().and_then(|text| choices.iter().find(|(word, _)| word == text)) {
            return Ok(*worth);
        }
        let fitting: Vec<f64> = match value {
            Value::String(text) => {
                let text = text.trim().trim_end_matches('.').to_lowercase();
                choices.iter().filter(|(word, _)| word.to_lowercase() == text).map(|(_, worth)| *worth).collect()
            }
            Value::Bool(truth) => {
                let same: &[&str] = if *truth { &["true", "yes", "pass"] } else { &["false", "no", "fail"] };
                choices
                    .iter()
                    .filter(|(word, _)| same.contains(&word.to_lowercase().as_str()))
                    .map(|(_, worth)| *worth)
                    .collect()
            }
            Value::Number(number) => {
                let number = number.as_f64().ok_or_else(wrong)?;
                let worth = |worth: f64| (worth - number).abs() <= ROUNDING;
                choices.iter().filter(|(_, value)| worth(*value)).map(|(_, worth)| *worth).collect()
            }
            _ => Vec::new(),
        };
        match fitting.as_slice() {
            [worth] => {
                remarks.lenience(format!("`{}` was written as {}", self.name, short(value)));
                Ok(*worth)
            }
            _ => Err(wrong()),
        }
    }

    fn on_scale(
        &self,
        number: f64,
        (lo, hi): (f64, f64),
        step: Option<f64>,
        pointer: &str,
        remarks: &mut Remarks,
    ) -> Option<f64> {
        let nearest = step.map_or(number, |step| lo + ((number - lo) / step).round() * step).clamp(lo, hi);
        let distance = (number - nearest).abs();
        let fits = distance <= ROUNDING.max(if step.is_some() { 0.0 } else { self.invalid.tolerance });
        match (fits, self.invalid.out_of_range) {
            (true, _) => {
                if distance > ROUNDING {
                    remarks.lenience(format!("`{}` was {number} and counts as {nearest}", self.name));
                }
                Some(nearest)
            }
            (false, OutOfRangeScore::Clamp) => {
                remarks.lenience(format!("`{}` was {number} and was moved to {nearest}", self.name));
                Some(nearest)
            }
            (false, OutOfRangeScore::Reject) => {
                remarks.problem(pointer, format!("`{}` is {number}, but must be a number {}", self.name, self.scale));
                None
            }
        }
    }
}

/// A digit of another script as the one that a computer reads.
fn in_ascii(character: char) -> char {
    digit(character).and_then(|digit| char::from_digit(digit, 10)).unwrap_or(character)
}

fn short(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}
