//! Numbers in texts.

use karat_quantity::{Context, DecimalMark, Quantity, Reading, Target, Tolerance, extract_with};
use rust_decimal::Decimal;

use super::pair;

/// Digits of the longest numbers that are read, before and after the decimal mark.
const MOST_WHOLE: usize = 25;
const MOST_FRACTION: usize = 20;

/// Finds the numbers of one text, and compares another one with them.
pub fn run(data: &[u8]) {
    let (text, wanted) = pair(data);
    for context in [Context::General, Context::Finance] {
        for mark in [DecimalMark::Auto, DecimalMark::Point, DecimalMark::Comma] {
            let reading = Reading { mark, context };
            let numbers = extract_with(&text, reading);
            assert_eq!(numbers, extract_with(&text, reading), "a text has one reading");
            check_places(&text, &numbers);
        }
        check_targets(&text, &wanted, context);
    }
    for number in extract_with(&text, Reading::default()) {
        check_written(number.value);
    }
}

fn check_places(text: &str, numbers: &[Quantity]) {
    let mut end = 0;
    for number in numbers {
        assert_eq!(text.get(number.span.clone()), Some(number.text.as_str()), "a number's text is where it says");
        assert!(number.span.start >= end && !number.span.is_empty(), "numbers stand one after the other");
        end = number.span.end;
        assert!(number.step > Decimal::ZERO);
        assert!(number.high.is_none_or(|high| high >= number.value), "a range is in order: {number:?}");
    }
}

/// A number that is written plainly is read as itself.
fn check_written(value: Decimal) {
    let written = value.abs().to_string();
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    if whole.len() > MOST_WHOLE || fraction.len() > MOST_FRACTION {
        return;
    }
    let reading = Reading { mark: DecimalMark::Point, ..Reading::default() };
    let [read] = extract_with(&written, reading).try_into().unwrap_or_else(|all| panic!("{written}: {all:?}"));
    assert_eq!(read.value, value.abs(), "{written}");
}

fn check_targets(text: &str, wanted: &str, context: Context) {
    let Ok(target) = Target::parse_in(wanted, context) else { return };
    let exact = target.exact(text);
    assert_eq!(exact, target.exact(text), "an answer is compared in one way");
    assert!(!exact.passed() || exact.number.is_some());
    let _ = (exact.to_string(), target.value());
    for (rel, abs) in [(Some(0.02), None), (None, Some(0.5)), (Some(0.02), Some(0.5))] {
        let Ok(tolerance) = Tolerance::new(rel, abs) else { panic!("a plain tolerance") };
        let near = target.within(text, tolerance);
        assert!(!near.passed() || near.number.is_some());
    }
    if let Ok(target) = target.unit("million").and_then(|target| target.currency("EUR")) {
        let _ = target.exact(text);
    }
}
