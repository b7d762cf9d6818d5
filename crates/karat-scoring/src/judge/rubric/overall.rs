//! The composite of the dimensions.

use karat_types::{Dimension, Overall, OverallMethod, Score};

/// The overall of dimension scores, each with its dimension; `given` is what the judge says it is.
///
/// A dimension that does not apply is left out; one that is
/// unscored makes the overall unscored.
pub(crate) fn overall(overall: &Overall, scores: &[(&Dimension, &Score)], given: Option<&Score>) -> Score {
    if overall.method == OverallMethod::Given {
        return match given {
            Some(Score::Value { value, reason, .. }) => {
                Score::value(overall.round_value(*value)).with_reason(reason.clone())
            }
            Some(other) => other.clone(),
            None => Score::unscored("the judge did not give it"),
        };
    }
    if let Some((dimension, _)) = scores.iter().find(|(_, score)| score.is_unscored()) {
        return Score::unscored(format!("`{}` is unscored", dimension.name));
    }
    let values: Vec<(f64, f64)> =
        scores.iter().filter_map(|(dimension, score)| Some((score.number()?, dimension.weight))).collect();
    match overall.of(&values) {
        Some(value) => Score::value(value),
        None => Score::not_applicable("no dimension applies"),
    }
}
