//! A score is a value, *not applicable*, or *unscored*: three different things, never NaN and never a silent 0.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One scorer's result for one cell in one dimension. In JSON: `{"value": 7.5}`, `{"na": "no reference"}` or
/// `{"unscored": "the judge's reply was not JSON"}`; a value may carry the `reason` of its lowness, and that it is a
/// `verdict`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "ScoreForm")]
pub enum Score {
    /// A finite number in the metric's own unit.
    Value {
        /// The number; never NaN or infinite.
        value: f64,
        /// The reason for the number, when the scorer gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// True for a pass or fail; the value is then 1 or 0.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        verdict: bool,
    },
    /// The metric does not apply to this cell, for example because the row has no reference.
    NotApplicable {
        /// The reason. Borrowed for the program's own texts, which therefore quote no content.
        na: Cow<'static, str>,
    },
    /// The scorer failed. Counts against `max_unscored`, as a failed cell does, never as a low score.
    Unscored {
        /// The reason.
        unscored: String,
    },
}

/// A score as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoreForm {
    value: Option<f64>,
    reason: Option<String>,
    #[serde(default)]
    verdict: bool,
    na: Option<Cow<'static, str>>,
    unscored: Option<String>,
}

impl TryFrom<ScoreForm> for Score {
    type Error = &'static str;

    fn try_from(form: ScoreForm) -> Result<Self, Self::Error> {
        match form {
            ScoreForm { value: Some(value), reason, verdict, na: None, unscored: None } => {
                Ok(Self::Value { value, reason, verdict })
            }
            ScoreForm { value: None, reason: None, verdict: false, na: Some(na), unscored: None } => {
                Ok(Self::NotApplicable { na })
            }
            ScoreForm { value: None, reason: None, verdict: false, na: None, unscored: Some(unscored) } => {
                Ok(Self::Unscored { unscored })
            }
            _ => Err("a score has one of `value`, `na` and `unscored`"),
        }
    }
}

/// The beginning of the reason for a score whose output has nothing at the scorer's path.
pub const NOTHING_AT: &str = "the output has nothing at ";

/// The same for an output that is a text, and no JSON that a path could lead into.
pub const NO_JSON: &str = "the output is not JSON";

/// The beginning of the reason for a score of texts whose words the metric's own rule does not find.
pub const UNICODE_WORDS: &str = "words as Unicode defines them: ";

impl Score {
    /// A score from a number; a number that is not finite becomes *unscored*.
    pub fn value(value: f64) -> Self {
        if value.is_finite() {
            Self::Value { value, reason: None, verdict: false }
        } else {
            Self::unscored(format!("the scorer returned {value}, which is not a score"))
        }
    }

    /// A score from a number with the reason for it.
    pub fn value_because(value: f64, reason: impl Into<String>) -> Self {
        Self::value(value).with_reason(Some(reason.into()))
    }

    /// A pass (1) or a fail (0).
    pub fn verdict(passed: bool) -> Self {
        Self::Value { value: f64::from(u8::from(passed)), reason: None, verdict: true }
    }

    /// The same score with the reason for it; what is not a value has its own.
    #[must_use]
    pub fn with_reason(self, reason: Option<String>) -> Self {
        match self {
            Self::Value { value, verdict, .. } => Self::Value { value, reason, verdict },
            other => other,
        }
    }

    /// A score of 1 if both labels are equal, otherwise 0; its reason holds both, for figures over all samples.
    pub fn label_match(expected: &str, found: &str) -> Self {
        let value = if expected == found { 1.0 } else { 0.0 };
        Self::value_because(value, format!("expected {}, found {}", Value::from(expected), Value::from(found)))
    }

    /// The labels of a score made by [`Score::label_match`]: expected and found.
    pub fn labels(&self) -> Option<(String, String)> {
        let Self::Value { reason: Some(reason), .. } = self else { return None };
        let mut expected = serde_json::Deserializer::from_str(reason.strip_prefix("expected ")?).into_iter::<String>();
        let first = expected.next()?.ok()?;
        let rest = reason.strip_prefix("expected ")?.get(expected.byte_offset()..)?;
        Some((first, serde_json::from_str(rest.strip_prefix(", found ")?).ok()?))
    }

    /// Does not apply, and why.
    pub fn not_applicable(why: impl Into<Cow<'static, str>>) -> Self {
        Self::NotApplicable { na: why.into() }
    }

    /// Could not be scored, and why.
    pub fn unscored(why: impl Into<String>) -> Self {
        Self::Unscored { unscored: why.into() }
    }

    /// The number, where there is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Value { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// Returns true if the scorer said true or false.
    pub fn is_verdict(&self) -> bool {
        matches!(self, Self::Value { verdict: true, .. })
    }

    /// Returns true if the scorer failed.
    pub fn is_unscored(&self) -> bool {
        matches!(self, Self::Unscored { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PE-03, PE-04: an undefined number can never enter a mean.
    #[test]
    fn nan_becomes_unscored() {
        assert!(Score::value(f64::NAN).is_unscored());
        assert!(Score::value_because(f64::INFINITY, "x").is_unscored());
    }

    #[test]
    fn labels_are_found_again() {
        let odd = "a\", found \"b";
        assert_eq!(Score::label_match(odd, "c").labels(), Some((odd.to_owned(), "c".to_owned())));
        assert_eq!(Score::label_match("x", "x").number(), Some(1.0));
        assert_eq!((Score::value_because(0.0, "expected more").labels(), Score::value(1.0).labels()), (None, None));
    }

    #[test]
    fn json_forms_round_trip() {
        for score in
            [Score::value(7.5), Score::verdict(true), Score::not_applicable("no reference"), Score::unscored("no JSON")]
        {
            let json = serde_json::to_string(&score).unwrap();
            assert_eq!(serde_json::from_str::<Score>(&json).unwrap(), score);
        }
        assert_eq!(serde_json::to_string(&Score::value(0.5)).unwrap(), r#"{"value":0.5}"#);
        for wrong in ["{}", r#"{"value": 1, "na": "x"}"#, r#"{"na": "x", "verdict": true}"#, r#"{"value": 1, "x": 2}"#]
        {
            assert!(serde_json::from_str::<Score>(wrong).is_err(), "{wrong}");
        }
    }
}
