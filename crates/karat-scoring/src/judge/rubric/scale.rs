//! Scales in words.

use karat_types::Scale;

/// The bounds of a scale as the prompt says them.
pub(crate) fn bounds(scale: &Scale) -> String {
    match scale {
        Scale::Range { lo, hi, step: None } => format!("a number from {lo} to {hi}"),
        Scale::Range { lo, hi, step: Some(step) } if is_whole(*lo) && is_one(*step) => {
            format!("a whole number from {lo} to {hi}")
        }
        Scale::Range { lo, hi, step: Some(step) } => format!("a number from {lo} to {hi} in steps of {step}"),
        Scale::Choices(choices) => {
            let words: Vec<String> = choices.iter().map(|(word, _)| format!("{word:?}")).collect();
            format!("one of {}", words.join(", "))
        }
    }
}

/// The scale of a score as it stands in the reply's form.
pub(crate) fn placeholder(of: &Scale) -> String {
    match of {
        Scale::Choices(choices) => choices.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(" | "),
        range => format!("<{}>", bounds(range)),
    }
}

fn is_whole(number: f64) -> bool {
    number.fract().abs() < f64::EPSILON
}

fn is_one(number: f64) -> bool {
    (number - 1.0).abs() < f64::EPSILON
}
