//! An upper bound of a rubric's dimensions under a condition.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An upper bound under a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// Its name in reports.
    pub id: String,
    /// Expression; the cap applies when it is true.
    pub when: String,
    /// Highest value by dimension.
    pub max: BTreeMap<String, f64>,
    /// The sentence for the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
}

impl Cap {
    /// The rule as a text: `No source is cited: factuality at most 2`.
    pub fn rule(&self) -> String {
        let bounds: Vec<String> =
            self.max.iter().map(|(dimension, max)| format!("{dimension} at most {max}")).collect();
        let condition = self.say.as_deref().unwrap_or(&self.id).trim().trim_end_matches('.');
        format!("{condition}: {}", bounds.join(", "))
    }

    /// The reason for a score that the cap lowered from a value: the value stands in no other place.
    pub fn lowered_reason(&self, from: f64) -> String {
        format!("lowered from {from}{}", self.ending())
    }

    /// Reads the value that a score had before the cap lowered it from the score's reason; `None` if the reason does not
    /// end as [`Cap::lowered_reason`] does, on its own or in brackets after a judge's words.
    pub fn lowered_from(&self, reason: &str) -> Option<f64> {
        let ending = self.ending();
        let bare = reason.strip_suffix(&ending).or_else(|| reason.strip_suffix(')')?.strip_suffix(&ending))?;
        let (_, value) = bare.rsplit_once("lowered from ")?;
        value.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn ending(&self) -> String {
        format!(" by the cap `{}` ({})", self.id, self.rule())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BR-04: what the judge gave before a cap lowered it can be read back, whatever the judge wrote.
    #[test]
    fn value_before_a_cap_is_read_back() {
        let cap = Cap { id: "x".into(), when: "true".into(), max: [("a".into(), 2.0)].into(), say: None };
        assert_eq!(cap.lowered_from(&cap.lowered_reason(4.5)), Some(4.5));
        assert_eq!(cap.lowered_from(&format!("lowered from 9 (too) ({})", cap.lowered_reason(4.0))), Some(4.0));
        let other = Cap { id: "y".into(), ..cap.clone() };
        let refused =
            ["", "lowered from 5", "lowered from NaN by the cap `x` (x: a at most 2)", &other.lowered_reason(3.0)];
        assert!(refused.iter().all(|reason| cap.lowered_from(reason).is_none()));
    }
}
