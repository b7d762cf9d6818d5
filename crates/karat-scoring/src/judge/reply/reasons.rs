//! Reasons that name another score than the one they stand beside: `9`, because "2 out of 10".

use karat_types::{Rubric, Scale};

use super::Reading;

/// The largest distance of two numbers that count as equal.
const TOLERANCE: f64 = 1e-9;

/// A note for each reason that names a score on the scale of its dimension, and another one than was given. A rationale stands
/// beside all scores, so it may name any of them.
pub(super) fn contradictions(rubric: &Rubric, reading: &Reading) -> Vec<String> {
    let graded = rubric.dimensions.iter().zip(&reading.grades);
    let graded: Vec<(&str, f64, f64, Option<&str>)> = graded
        .filter_map(|(dimension, grade)| {
            let Scale::Range { hi, .. } = dimension.scale else { return None };
            Some((dimension.name.as_str(), grade.value?, hi, grade.reason.as_deref()))
        })
        .collect();
    let own = graded.iter().filter_map(|(name, value, hi, reason)| {
        let other = named_score(reason.as_ref()?, *hi, &[*value])?;
        Some(format!("`{name}` is {value}, but its reason says {other}"))
    });
    let overall = reading.overall.as_ref().and_then(|overall| overall.value);
    let highest = graded.first().map(|(_, _, hi, _)| *hi);
    let is_one_scale = graded.iter().all(|(_, _, hi, _)| highest.is_some_and(|highest| is(*hi, highest)));
    let values: Vec<f64> = graded.iter().map(|(_, value, ..)| *value).chain(overall).collect();
    let named = highest.filter(|_| is_one_scale).and_then(|hi| named_score(&reading.rationale, hi, &values));
    let field = &rubric.rationale.field;
    let together = named.map(|other| match graded.as_slice() {
        [(name, value, ..)] => format!("`{name}` is {value}, but `{field}` says {other}"),
        _ => format!("`{field}` says {other}, which is none of the scores"),
    });
    own.chain(together).collect()
}

/// The first score on a scale to `highest` that a text names (`2/10`, `2 out of 10`), where none of those named is one of
/// `given`.
fn named_score(text: &str, highest: f64, given: &[f64]) -> Option<String> {
    let named: Vec<(f64, String)> = ["/", "out of"]
        .iter()
        .flat_map(|between| text.match_indices(between))
        .filter_map(|(at, between)| {
            let before = last_number(text[..at].trim_end())?;
            let after = first_number(text[at + between.len()..].trim_start())?;
            let score: f64 = before.parse().ok()?;
            let of: f64 = after.parse().ok()?;
            (is(of, highest) && score <= highest).then(|| (score, format!("{before} out of {after}")))
        })
        .collect();
    let agrees = named.iter().any(|(score, _)| given.iter().any(|given| is(*score, *given)));
    named.into_iter().next().filter(|_| !agrees).map(|(_, words)| words)
}

fn is(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

/// The number that a text ends with; a further part of a date or path is none.
fn last_number(text: &str) -> Option<&str> {
    let start =
        text.rfind(|c| !is_of_number(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let (before, number) = text.split_at(start);
    (!number.is_empty() && !before.ends_with(['/', '-'])).then_some(number)
}

/// The number that a text begins with; a full stop after it ends the sentence.
fn first_number(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let (number, after) = text.split_at(end);
    let number = number.trim_end_matches('.');
    (!number.is_empty() && !after.starts_with('/')).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reason that names the given score, another scale or a date says nothing against it.
    #[test]
    fn only_another_score_on_the_same_scale_is_named() {
        let named = |text: &str| named_score(text, 10.0, &[9.0]);
        for other in ["2 out of 10", "2/10", "I give it 2 / 10.", "A clear 2/10, no more"] {
            assert_eq!(named(other).as_deref(), Some("2 out of 10"), "{other}");
        }
        assert_eq!(named("7.5/10").as_deref(), Some("7.5 out of 10"));
        for same in [
            "9 out of 10",
            "First 2/10, then 9/10",
            "2 of 5 claims: 2/5",
            "on 1/2/10",
            "2/10/2026",
            "12/10",
            "a/10",
            "/10",
            "",
        ] {
            assert_eq!(named(same), None, "{same}");
        }
    }
}
