//! Upper bounds under conditions: told to the judge, enforced after parsing.

use karat_text::template::{Context, Expression, TemplateError};
use karat_types::{Cap, Score};

/// Positions of the caps whose condition holds; the error names the cap.
pub(crate) fn active_caps(
    caps: &[(Cap, Expression)],
    context: &Context,
) -> Result<Vec<usize>, (String, TemplateError)> {
    let mut holding = Vec::new();
    for (at, (cap, when)) in caps.iter().enumerate() {
        if when.is_true(context).map_err(|error| (cap.id.clone(), error))? {
            holding.push(at);
        }
    }
    Ok(holding)
}

/// Lowers a score to the lowest bound that the caps set for it; the reason says which cap did and what the judge gave.
/// Enforcement never raises a score.
pub(crate) fn enforce<'a>(caps: impl IntoIterator<Item = &'a Cap>, dimension: &str, score: Score) -> Score {
    let Score::Value { value, reason, .. } = &score else { return score };
    let bound = caps
        .into_iter()
        .filter_map(|cap| cap.max.get(dimension).map(|max| (*max, cap)))
        .filter(|(max, _)| max < value)
        .min_by(|(one, _), (other, _)| one.total_cmp(other));
    let Some((max, cap)) = bound else { return score };
    let lowered = cap.lowered_reason(*value);
    let reason = match reason {
        Some(own) => format!("{own} ({lowered})"),
        None => lowered,
    };
    Score::value_because(max, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cap(id: &str, max: f64) -> Cap {
        Cap { id: id.into(), when: "true".into(), max: [("a".into(), max)].into(), say: Some("No source.".into()) }
    }

    /// BR-04: enforcement only lowers, and says what the judge gave and which rule lowered it.
    #[test]
    fn enforcement_only_lowers() {
        let caps = [cap("loose", 3.0), cap("tight", 2.0)];
        let lowered = enforce(&caps, "a", Score::value(5.0));
        assert_eq!(lowered.number(), Some(2.0));
        let Score::Value { reason, .. } = lowered else { panic!("a value") };
        assert_eq!(reason.unwrap(), "lowered from 5 by the cap `tight` (No source: a at most 2)");
        assert_eq!(enforce(&caps, "a", Score::value(1.0)), Score::value(1.0));
        assert_eq!(enforce(&caps, "b", Score::value(5.0)), Score::value(5.0));
        assert!(enforce(&caps, "a", Score::unscored("x")).is_unscored());
    }
}
