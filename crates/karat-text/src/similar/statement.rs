//! The one rule by which texts are taken for one: merged items, members of lists, findings of judges, rows of a dataset.
//!
//! Two statements are one if they are equal once case, spaces and punctuation are folded. From a likeness that the caller
//! asks for, they are also one if one of them holds all words of the other in their order, and what it adds decides
//! nothing: no number, unit, name, negation or direction. A word in place of another one makes another statement, however
//! alike the texts are: no list knows all opposites.
//!
//! A long text is not a statement: a word that was changed in it says little. Of such texts [`tell_apart`] only asks whether
//! deciding words stand in place of other deciding words, or a negation was added.

use std::collections::HashMap;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::lexicon::WordKind;
use super::words::{Word, kinds, words};
use super::{Folded, fold};

/// A text, ready to be compared with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    folded: Folded,
    /// Its words without marks, folded.
    words: Vec<StatementWord>,
    key: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct StatementWord {
    text: String,
    kind: WordKind,
}

impl StatementWord {
    /// True for a word that another statement may lack or have more of.
    fn is_idle(&self) -> bool {
        matches!(self.kind, WordKind::Plain | WordKind::Common | WordKind::Filler)
    }
}

impl Statement {
    /// Cuts and folds a text.
    pub fn new(text: &str) -> Self {
        let found = words(text);
        let kinds = kinds(text, &found);
        let mut statement: Vec<StatementWord> = Vec::with_capacity(found.len());
        for (word, kind) in found.iter().zip(kinds).filter(|(_, kind)| *kind != WordKind::Mark) {
            let is_after_number = statement.last().is_some_and(|before| before.kind == WordKind::Number);
            statement.push(StatementWord { text: fold_word(text, word, is_after_number), kind });
        }
        let key = statement.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let folded = Folded::new(text);
        // Signs alone are all that such a text says.
        let key = if key.is_empty() { folded.text().to_owned() } else { key };
        Self { folded, words: statement, key }
    }

    /// The text without case, spaces and punctuation: equal keys, one statement.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether both are one statement. `similar` is the least likeness of texts that are not equal; without it, or
    /// from 1 on, only equal ones are one.
    pub fn is_one_with(&self, other: &Self, similar: Option<f64>) -> bool {
        self.key == other.key
            || similar.is_some_and(|least| {
                least < 1.0 && self.folded.is_similar(&other.folded, least) && self.only_adds_words(other)
            })
    }

    /// Returns whether both may be about the same, though one is worded otherwise: no deciding word tells them apart.
    pub fn may_mean(&self, other: &Self, least: f64) -> bool {
        self.folded.is_similar(&other.folded, least) && !tell_apart(&self.words, &other.words)
    }

    /// The likeness of the texts, from 0 to 1; 1 for one statement.
    pub fn likeness(&self, other: &Self) -> f64 {
        if self.key == other.key { 1.0 } else { self.folded.similarity(&other.folded) }
    }

    /// Returns whether one of two statements holds the words of the other in their order, and adds none that decides.
    pub fn only_adds_words(&self, other: &Self) -> bool {
        let own =
            |statement: &Self| -> usize { statement.words.iter().filter(|it| it.kind != WordKind::Filler).count() };
        let (short, long) = if own(self) <= own(other) { (self, other) } else { (other, self) };
        let mut wanted = short.words.iter().filter(|it| it.kind != WordKind::Filler).peekable();
        for word in &long.words {
            wanted.next_if(|next| next.text == word.text);
        }
        wanted.peek().is_none() && long.adds_only_idle_words(short)
    }

    fn adds_only_idle_words(&self, short: &Self) -> bool {
        let mut counts: HashMap<&str, i64> = HashMap::new();
        self.words.iter().for_each(|word| *counts.entry(&word.text).or_default() += 1);
        short.words.iter().for_each(|word| *counts.entry(&word.text).or_default() -= 1);
        let is_added = |word: &&StatementWord| counts.get(word.text.as_str()).is_some_and(|count| *count > 0);
        self.words.iter().filter(is_added).all(StatementWord::is_idle)
    }
}

/// A word without case and with composed accents. Units keep their case: mW and MW are two.
fn fold_word(text: &str, word: &Word, is_after_number: bool) -> String {
    let written = &text[word.place.clone()];
    let plain = written.chars().map(|it| match it {
        '\u{2212}' | '–' | '—' => '-',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(it) - 0xfee0).unwrap_or(it),
        other => other,
    });
    let is_unit = match word.is_number {
        true => written.starts_with(|first: char| !first.is_alphabetic()),
        false => is_after_number && written.chars().count() <= 3,
    };
    if is_unit { plain.nfc().collect() } else { fold(&plain.collect::<String>()) }
}

/// A word of a text as [`tell_apart`] sees it.
pub trait ComparedWord {
    /// Returns whether both are the same word.
    fn is_same(&self, other: &Self) -> bool;

    /// Returns whether another word makes another text.
    fn decides(&self) -> bool;

    /// Returns whether it is a negation.
    fn negates(&self) -> bool;
}

impl ComparedWord for StatementWord {
    fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
    }

    fn decides(&self) -> bool {
        self.kind.decides()
    }

    fn negates(&self) -> bool {
        self.kind == WordKind::Negating
    }
}

/// Returns whether two texts differ in what decides: at a place at which they differ, deciding words stand in place of other
/// ones, or a negation stands in one of them.
pub fn tell_apart<W: ComparedWord>(one: &[W], other: &[W]) -> bool {
    let deciding = |own: Range<usize>, words: &[W], others: &[W]| -> Vec<usize> {
        let decides =
            |at: &usize| words[*at].decides() || others.iter().any(|it| it.decides() && it.is_same(&words[*at]));
        own.filter(decides).collect()
    };
    differences(one, other).into_iter().any(|(old, new)| {
        let (before, after) =
            (deciding(old.clone(), one, &other[new.clone()]), deciding(new.clone(), other, &one[old.clone()]));
        let is_equal =
            before.len() == after.len() && before.iter().zip(&after).all(|(a, b)| one[*a].is_same(&other[*b]));
        let has_both = !before.is_empty() && !after.is_empty();
        let negates = || before.iter().any(|at| one[*at].negates()) || after.iter().any(|at| other[*at].negates());
        !is_equal && (has_both || negates())
    })
}

/// Words that are looked at on either side of a difference for the place at which two texts agree again. It bounds the
/// cost of a difference, so that texts are compared in time linear in their words.
const REACH: usize = 12;

/// Words that must agree for a difference to end.
const AGREED: usize = 2;

/// A place at which two texts differ: the words of one, and those of the other in their stead.
pub type Difference = (Range<usize>, Range<usize>);

/// The places at which a text differs from the one that it is compared with, in order.
pub fn differences<W: ComparedWord>(base: &[W], other: &[W]) -> Vec<Difference> {
    let mut found = Vec::new();
    let (mut old, mut new) = (0, 0);
    loop {
        let same = base[old..].iter().zip(&other[new..]).take_while(|(one, other)| one.is_same(other)).count();
        (old, new) = (old + same, new + same);
        if old == base.len() && new == other.len() {
            return found;
        }
        let (old_end, new_end) = agreement(base, other, old, new);
        found.push((old..old_end, new..new_end));
        (old, new) = (old_end, new_end);
    }
}

/// The nearest places after a difference from which on two texts agree; the words that they have in common at their ends
/// where there are none within reach.
fn agreement<W: ComparedWord>(base: &[W], other: &[W], old: usize, new: usize) -> (usize, usize) {
    let agree = |one: usize, two: usize| match (base.get(one..one + AGREED), other.get(two..two + AGREED)) {
        (Some(one), Some(two)) => one.iter().zip(two).all(|(one, two)| one.is_same(two)),
        _ => false,
    };
    for sum in 1..=2 * REACH {
        for ahead in sum.saturating_sub(REACH)..=sum.min(REACH) {
            let (one, two) = (old + ahead, new + sum - ahead);
            if agree(one, two) {
                return (one, two);
            }
        }
    }
    let ends = base[old..].iter().rev().zip(other[new..].iter().rev());
    let end = ends.take_while(|(one, other)| one.is_same(other)).count();
    (base.len() - end, other.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_one(one: &str, other: &str, similar: Option<f64>) -> bool {
        let both = [one, other].map(Statement::new);
        assert_eq!(
            both[0].is_one_with(&both[1], similar),
            both[1].is_one_with(&both[0], similar),
            "{one:?}, {other:?}"
        );
        both[0].is_one_with(&both[1], similar)
    }

    /// F12: items that differ in a number, a unit, a name, a negation or a direction are never one, at any likeness.
    #[test]
    fn distinct_statements_stay_apart_at_any_likeness() {
        for (one, other) in [
            ("The price fell by 4 percent in the year.", "The price fell by 12 percent in the year."),
            ("The price fell by four percent.", "The price fell by twelve percent."),
            ("It takes 5 mg a day.", "It takes 5 g a day."),
            ("The plant makes 5 mW.", "The plant makes 5 MW."),
            ("It costs $5.", "It costs €5."),
            ("It grew by 5 %.", "It grew by 5 points."),
            ("It grew by 5 %.", "It grew by 5."),
            ("The ratio is 1:5.", "The ratio is 1.5."),
            ("It was -3 degrees.", "It was 3 degrees."),
            ("The dose was .5 grams.", "The dose was 5 grams."),
            ("The range is 3–4.", "The range is 34."),
            ("The value is > 5.", "The value is < 5."),
            ("Acme bought Zenith last year.", "Zenith bought Acme last year."),
            ("The talk was in Oslo.", "The talk was in Bern."),
            ("Sales fell.", "Sales fell in Germany."),
            ("Germany's sales fell in the third quarter.", "Sales fell in the third quarter."),
            ("Naps do not lower the risk of a stroke.", "Naps do lower the risk of a stroke."),
            ("Coffee doesn't help after noon.", "Coffee does help after noon."),
            ("It works without a server.", "It works with a server."),
            ("The value never rose.", "The value rose."),
            ("Revenue rose in the last quarter of the year.", "Revenue fell in the last quarter of the year."),
            ("The output of the plant expanded.", "The output of the plant contracted."),
            ("It opens before noon.", "It opens after noon."),
            ("It went from 5 to 7.", "It went from 7 to 5."),
            ("dogs bite men in the park", "men bite dogs in the park"),
            ("All patients improved over the year.", "Patients improved over the year."),
            ("Sleep may help memory.", "Sleep help memory."),
            ("Der Umsatz stieg im Jahr.", "Der Umsatz sank im Jahr."),
            ("Das Mittel wirkt nicht.", "Das Mittel wirkt."),
            ("Le prix n'a pas monté.", "Le prix a monté."),
            ("他不喜欢咖啡。", "他喜欢咖啡。"),
            ("It is written in C#.", "It is written in C."),
            ("👍", "👎"),
            ("***", "###"),
        ] {
            for similar in [None, Some(0.9), Some(0.5), Some(0.01)] {
                assert!(!are_one(one, other, similar), "{one:?} and {other:?} at {similar:?}");
            }
        }
    }

    /// F12: equal once case, spaces and punctuation are folded is one, at any likeness.
    #[test]
    fn case_spaces_and_punctuation_are_folded() {
        for (one, other) in [
            ("The moon pulls the sea.", "the  moon pulls\nthe SEA"),
            ("Sales rose by 5%", "sales rose by 5 %"),
            ("“Sleep”, he said, helps!", "Sleep he said helps"),
            ("A long-term plan", "a long term plan"),
            ("- **Sleep** helps", "Sleep helps"),
            ("It was −3 degrees", "It was -3 degrees."),
            ("J\u{f6}rg came", "Jo\u{308}rg came"),
            ("Ｓleep", "sleep"),
        ] {
            assert!(are_one(one, other, None) && are_one(one, other, Some(0.9)), "{one:?} and {other:?}");
        }
    }

    /// F12: with a likeness, a text that only adds words which decide nothing says the same.
    #[test]
    fn idle_words_may_be_added() {
        for (one, other) in [
            ("The moon pulls the sea twice a day.", "The moon pulls the sea twice a day, as is known."),
            ("Naps help people.", "However, short naps help people."),
            ("The sea pulls the moon.", "Sea pulls moon."),
        ] {
            assert!(are_one(one, other, Some(0.5)) && !are_one(one, other, None), "{one:?} and {other:?}");
            assert!(!are_one(one, other, Some(0.99)), "{one:?} and {other:?}");
        }
    }

    /// F12, BC-03: long texts are told apart by what decides where they differ, not by any other word.
    #[test]
    fn long_texts_are_told_apart_by_deciding_words() {
        let apart = |one: &str, other: &str| tell_apart(&Statement::new(one).words, &Statement::new(other).words);
        assert!(apart("my order 12 from last week is late", "my order 13 from last month is late"));
        assert!(apart("please send it to Oslo soon", "please send it to Bern soon"));
        assert!(apart("it does work today", "it does not work today"));
        assert!(!apart("where is my big order today", "where is my order now"));
        assert!(!apart("the order 12 is late", "the order is late"));
    }

    /// BC-03: words that are replaced, inserted and left out are found in their places, and what follows agrees.
    #[test]
    fn differences_end_where_texts_agree() {
        let words = |text: &str| Statement::new(text).words;
        let found = |one: &str, other: &str| differences(&words(one), &words(other));
        let base = "b c d e f g h i";
        assert_eq!(found(base, base), []);
        assert_eq!(found(base, "b c q e f g h z"), [(2..3, 2..3), (7..8, 7..8)]);
        assert_eq!(found(base, "b c q z d e f h i"), [(2..2, 2..4), (5..6, 7..7)]);
        assert_eq!(found(base, ""), [(0..8, 0..0)]);
        assert_eq!(found("", "b"), [(0..0, 0..1)]);
    }
}
