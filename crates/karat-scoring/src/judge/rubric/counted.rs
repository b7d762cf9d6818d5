//! Scores that are counted: the share of the judge's findings for which a condition holds.
//!
//! The judge is never asked for such a number. It writes its findings, each with a verdict of its own, and the share follows:
//! every point of the score can be looked up.

use karat_text::template::{Context, Expression};
use karat_types::{Rubric, Score};
use serde_json::Value;

/// The name under which a condition reads the whole finding.
const FINDING: &str = "item";

/// The share that is the score of one dimension.
#[derive(Debug)]
pub(crate) struct CompiledShare {
    /// Name of the list of findings.
    pub list: String,
    /// Holds for the findings that count.
    pub condition: Expression,
}

impl CompiledShare {
    /// Tests one finding; the condition reads its fields, and the whole of it as `item`.
    ///
    /// # Errors
    /// A condition that cannot be computed.
    pub fn holds(&self, finding: &Value) -> Result<bool, String> {
        let mut context = Context::new().with(FINDING, finding);
        for (name, value) in finding.as_object().into_iter().flatten() {
            context = context.with(name, value);
        }
        self.condition.is_true(&context).map_err(|error| error.to_string())
    }

    /// The share of these findings. Without any there is nothing to count, unless a part of the reply was unreadable.
    pub fn score(&self, findings: &[Value], is_degraded: bool) -> Score {
        if findings.is_empty() && is_degraded {
            return Score::unscored(format!("the judge's reply holds no valid list `{}`", self.list));
        }
        if findings.is_empty() {
            return Score::not_applicable(format!("the list `{}` is empty", self.list));
        }
        let held: Result<Vec<bool>, String> = findings.iter().map(|finding| self.holds(finding)).collect();
        match held {
            Err(error) => Score::unscored(format!("`where` of the list `{}` cannot be computed: {error}", self.list)),
            Ok(held) => {
                let count = held.iter().filter(|held| **held).count();
                let reason =
                    format!("{count} of {} in `{}`: {}", held.len(), self.list, self.condition.source().trim());
                Score::value_because(count as f64 / held.len() as f64, reason)
            }
        }
    }
}

/// Removes the dimensions that the judge is not asked for.
pub(crate) fn drop_counted(rubric: &mut Rubric) {
    rubric.dimensions.retain(|dimension| dimension.counted.is_none());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn share(condition: &str) -> CompiledShare {
        CompiledShare { list: "claims".to_owned(), condition: Expression::compile(condition).unwrap() }
    }

    /// TG-41: a share of a list, not applicable for an empty one, never a division by zero.
    #[test]
    fn share_is_counted() {
        let verdicts = |words: &[&str]| words.iter().map(|word| json!({"verdict": word})).collect::<Vec<_>>();
        let supported = share("verdict == 'supported'");
        let score = supported.score(&verdicts(&["supported", "absent", "supported", "contradicted"]), false);
        assert_eq!(score.number(), Some(0.5));
        assert_eq!(supported.score(&verdicts(&["absent"]), false).number(), Some(0.0));
        assert_eq!(supported.score(&[], false), Score::not_applicable("the list `claims` is empty"));
        assert!(supported.score(&[], true).is_unscored());
        assert!(share("nothing == 1").score(&verdicts(&["absent"]), false).is_unscored());
        assert_eq!(share("item | length > 3").score(&[json!("long"), json!("no")], false).number(), Some(0.5));
    }
}
