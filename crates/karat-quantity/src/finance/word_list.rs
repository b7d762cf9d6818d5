//! Word lists as data: the files in `words/`, each with named sections of words that semicolons separate.

use std::ops::Deref;
use std::sync::LazyLock;

/// A list that is read from its file on first use.
pub(crate) type LazyWords = LazyLock<WordList>;

/// The words of one section, sorted.
pub(crate) struct WordList(Vec<&'static str>);

impl WordList {
    /// Reads the section `name` of `file`, in any case. A test checks that every section exists.
    pub(crate) fn read(file: &'static str, name: &str) -> Self {
        let is_header = |line: &str| line.starts_with('[');
        let mut lines = file.lines().skip_while(|line| !is_section(line, name));
        lines.next();
        let lines = lines.take_while(|line| !is_header(line)).filter(|line| !line.starts_with('#'));
        let words = lines.flat_map(|line| line.split(';')).map(str::trim).filter(|word| !word.is_empty());
        let mut words: Vec<&str> = words.collect();
        words.sort_unstable();
        Self(words)
    }

    pub(crate) fn contains(&self, word: &str) -> bool {
        self.0.binary_search(&word).is_ok()
    }
}

impl Deref for WordList {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn is_section(line: &str, name: &str) -> bool {
    let inside = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.eq_ignore_ascii_case(name))
}

/// Declares one static per section of a file in `words/`, under the section's name in capitals.
macro_rules! word_lists {
    ($file:literal: $($list:ident),* $(,)?) => {
        $(
            static $list: $crate::finance::word_list::LazyWords = std::sync::LazyLock::new(|| {
                let file = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/words/", $file));
                $crate::finance::word_list::WordList::read(file, stringify!($list))
            });
        )*

        /// Every declared section exists and has words, and the file has no other section.
        #[cfg(test)]
        #[test]
        fn word_lists_match_their_file() {
            let file = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/words/", $file));
            let declared = [$((stringify!($list), $list.len())),*];
            for (name, words) in declared {
                assert!(words > 0, "{name} has no words in {}", $file);
            }
            assert_eq!(file.lines().filter(|line| line.starts_with('[')).count(), declared.len(), "{}", $file);
        }
    };
}

pub(crate) use word_lists;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_at_the_next_header() {
        let file = "# Note\n[first]\nb; a c\nd\n\n# Note; of the second\n[second]\ne\n";
        let words = |name| WordList::read(file, name).to_vec();
        assert_eq!(words("FIRST"), ["a c", "b", "d"]);
        assert_eq!(words("second"), ["e"]);
        assert!(words("third").is_empty());
    }
}
