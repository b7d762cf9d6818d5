//! Ids of a suite, made of names in a source.

use std::collections::BTreeSet;

/// Maximum length of an id in characters.
const MAX_ID: usize = 80;

/// Ids that are taken in one map of a suite.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// A valid id that nothing else has: the first free of `wish`, `wish#2`, `wish#3` ….
    pub fn take(&mut self, wish: &str, fallback: &str) -> String {
        let id = valid_id(wish, fallback);
        let mut candidates = std::iter::once(id.clone()).chain((2_u64..).map(|number| format!("{id}#{number}")));
        candidates.find(|candidate| self.0.insert(candidate.clone())).unwrap_or(id)
    }

    /// Takes exactly this id; returns false if something else has it.
    pub fn claim(&mut self, id: &str) -> bool {
        self.0.insert(id.to_owned())
    }
}

/// A name as an id: letters, digits and `-_.`; everything else becomes one `-`.
pub(crate) fn valid_id(name: &str, fallback: &str) -> String {
    let mut id = String::new();
    for char in name.chars().take(4 * MAX_ID) {
        if char.is_alphanumeric() || matches!(char, '_' | '.') {
            id.push(char);
        } else if !id.ends_with('-') {
            id.push('-');
        }
    }
    let id: String = id.trim_matches(|char| matches!(char, '-' | '.')).chars().take(MAX_ID).collect();
    if id.is_empty() { fallback.to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-01: names are made valid and unique.
    #[test]
    fn ids_are_valid_and_unique() {
        let mut names = Names::default();
        assert_eq!(names.take("Say {{x}}: now!", "prompt"), "Say-x-now");
        assert_eq!(names.take("Say x now", "prompt"), "Say-x-now#2");
        assert_eq!(names.take("  ", "prompt"), "prompt");
        assert_eq!(names.take("", "prompt"), "prompt#2");
    }
}
