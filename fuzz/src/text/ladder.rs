//! The JSON ladder: the value that a model meant in its reply.

use karat_text::ladder::{self, Expectation, Ladder, Rung};
use serde_json::Value;

use super::lossy;

/// Reads the text in every setting.
pub fn run(data: &[u8]) {
    let text = lossy(data);
    for expectation in [Expectation::Object, Expectation::Any] {
        for truncated in [false, true] {
            check(&text, expectation, Ladder::new(expectation).with_truncation(truncated));
        }
    }
}

fn check(text: &str, expectation: Expectation, ladder: Ladder) {
    let meant = || ladder.meant(text, |_| true).map(|meant| meant.found);
    let found = meant();
    assert_eq!(found, meant(), "a reply is read in one way");
    if let Ok(strict) = ladder::exact(text)
        && (expectation == Expectation::Any || strict.is_object())
    {
        let found = found.as_ref().unwrap_or_else(|error| panic!("{text:?} is JSON: {error}"));
        assert_eq!((&found.value, found.rung), (&strict, Rung::Direct), "a reply that is JSON is read as it is");
    }
    if let Ok(found) = &found {
        assert!(expectation == Expectation::Any || found.value.is_object(), "{:?} is not an object", found.value);
        let written = found.value.to_string();
        let again = Ladder::new(expectation)
            .meant(&written, |_| true)
            .unwrap_or_else(|error| panic!("{written}: {error}"))
            .found;
        assert_eq!((&again.value, again.rung), (&found.value, Rung::Direct), "a value survives being written");
    }
    let Ok(survey) = ladder.survey(text) else { return };
    assert!(!survey.candidates.is_empty(), "a survey has a value");
    for candidate in &survey.candidates {
        assert_eq!(candidate.span.len(), candidate.source.len(), "a value is where it says");
    }
    let values = survey.candidates.iter().map(|candidate| &candidate.found.value).collect::<Vec<&Value>>();
    if let Ok(found) = &found {
        assert!(values.contains(&&found.value), "the found value is a candidate");
    }
}
