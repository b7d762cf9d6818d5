//! Texts that fill the same frame: a form with other numbers or names is another case, however alike the texts are.

use std::ops::Range;

use karat_text::similar::{ComparedWord, WordKind, differences, kinds, words};

use crate::hash::{hash_word, join, mix};

/// Different fillings from which on a place is taken as a slot of a frame and not as a variant.
const FILLINGS: usize = 3;

const DECIDES: u32 = 1;
const NEGATES: u32 = 2;

/// A word by its hash, of which the two lowest bits are set where it decides or negates. Four bytes, since the texts of all
/// candidates are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodedWord(u32);

impl ComparedWord for CodedWord {
    fn is_same(&self, other: &Self) -> bool {
        self.word() == other.word()
    }

    fn decides(&self) -> bool {
        self.0 & DECIDES != 0
    }

    fn negates(&self) -> bool {
        self.0 & NEGATES != 0
    }
}

impl CodedWord {
    fn word(self) -> u32 {
        self.0 >> 2
    }
}

/// The words of a text in order; numbers beside each other are one.
pub(crate) fn coded_words(text: &str) -> Box<[CodedWord]> {
    let words = words(text);
    let mut sequence: Vec<CodedWord> = Vec::with_capacity(words.len());
    let mut number: Option<u64> = None;
    for (word, kind) in words.iter().zip(kinds(text, &words)) {
        let own = hash_word(&text[word.place.clone()]);
        let hash = match number {
            Some(before) if word.is_number => {
                sequence.pop();
                join(before, own)
            }
            _ => own,
        };
        number = word.is_number.then_some(hash);
        let decides = if kind.decides() { DECIDES } else { 0 };
        let negates = if kind == WordKind::Negating { NEGATES } else { 0 };
        sequence.push(CodedWord(((hash >> 32) as u32 & !3) | decides | negates));
    }
    sequence.into()
}

/// The differing words of a text by their place in the text that it is compared with: word by word where as many stand in
/// their stead, else all of them for each place. `None` where one of both has no words.
fn filled_places(base: &[CodedWord], other: &[CodedWord]) -> Option<Vec<(Range<usize>, u64)>> {
    let mut places = Vec::new();
    for (old, new) in differences(base, other) {
        if old.is_empty() || new.is_empty() {
            return None;
        }
        if old.len() == new.len() {
            let pairs = old.zip(new).filter(|(old, new)| !base[*old].is_same(&other[*new]));
            places.extend(pairs.map(|(old, new)| (old..old + 1, u64::from(other[new].word()))));
        } else {
            places.push((old, other[new].iter().fold(1, |hash, word| mix(join(hash, u64::from(word.word()))))));
        }
    }
    Some(places)
}

/// The members of a cluster that fill the slots of a frame. A place of the text that stands for the cluster is a slot if at
/// least half of the members have other words there, with at least three different fillings of which none is that of more
/// than half of them. Single edits all over a text, and a word that the kept text alone has, thus make no frame. A member
/// is a filling if it differs in slots alone. Positions in `members`.
pub(crate) fn fillings(base: &[CodedWord], members: &[&[CodedWord]]) -> Vec<usize> {
    if members.len() < FILLINGS {
        return Vec::new();
    }
    let places: Vec<_> = members.iter().map(|member| filled_places(base, member)).collect();
    let filled = places.iter().flatten().flatten();
    let mut words: Vec<(usize, u64)> =
        filled.flat_map(|(place, filling)| place.clone().map(|at| (at, *filling))).collect();
    words.sort_unstable();
    let mut is_slot = vec![false; base.len()];
    for same in words.chunk_by(|one, other| one.0 == other.0) {
        let counts: Vec<usize> = same.chunk_by(|one, other| one == other).map(<[_]>::len).collect();
        let is_common = same.len() * 2 >= members.len();
        let is_varied = counts.len() >= FILLINGS && counts.iter().all(|count| count * 2 <= members.len());
        is_slot[same[0].0] = is_common && is_varied;
    }
    let is_filling = |places: &Vec<(Range<usize>, u64)>| {
        !places.is_empty() && places.iter().all(|(place, _)| place.clone().any(|at| is_slot[at]))
    };
    let framed = places.iter().enumerate().filter(|(_, places)| places.as_ref().is_some_and(is_filling));
    framed.map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use karat_text::similar::tell_apart;

    use super::*;

    fn coded(words: &[u32]) -> Vec<CodedWord> {
        words.iter().map(|word| CodedWord(word << 2)).collect()
    }

    fn filling(base: &[u32], members: &[&[u32]]) -> Vec<usize> {
        let members: Vec<Vec<CodedWord>> = members.iter().map(|member| coded(member)).collect();
        fillings(&coded(base), &members.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// BC-03, F12: another number, unit, name or direction, or a negation more, makes another case; another word does not.
    #[test]
    fn deciding_words_make_a_frame() {
        let differ = |one: &str, other: &str| tell_apart(&coded_words(one), &coded_words(other));
        let text = |number: &str, place: &str, verb: &str| {
            format!("my order {number} to {place} with the big table and four chairs {verb} late on the way to us")
        };
        let base = text("1,000.50", "Oslo", "is");
        assert!(differ(&base, &text("1,000.60", "Oslo", "is")));
        assert!(differ(&base, &text("1,000.50", "Bern", "is")));
        assert!(differ(&base, &text("1,000.50", "Oslo", "is not")));
        assert!(!differ(&base, &text("1,000.50", "Oslo", "came")));
        assert!(!differ(&base, &base.replace(" late", "")));
        let numbers: Vec<bool> = coded_words("pay 1,000 50").iter().map(ComparedWord::decides).collect();
        assert_eq!(numbers, [false, true]);
    }

    /// BC-03: three texts with different words at one place fill a frame; the same words, or words at other places, do not.
    #[test]
    fn three_fillings_make_a_frame() {
        let base = [2, 4, 6, 8];
        assert_eq!(filling(&base, &[&[2, 10, 6, 8], &[2, 12, 14, 6, 8], &[2, 16, 6, 8], &[2, 4, 6, 18]]), [0, 1, 2]);
        assert_eq!(filling(&base, &[&[2, 10, 6, 8], &[2, 10, 6, 8], &[2, 16, 6, 8]]), [0; 0]);
        assert_eq!(filling(&base, &[&[2, 4, 6, 8, 10], &[2, 4, 6, 8, 12], &[2, 4, 6, 8, 14]]), [0; 0]);
    }

    /// BC-03: two slots are filled by themselves or together; an edit elsewhere in one member is no filling.
    #[test]
    fn a_frame_may_have_several_slots() {
        let base: Vec<u32> = (0..20).map(|at| at * 2).collect();
        let filled = |name: u32, place: u32, other: Option<usize>| {
            let mut words = base.clone();
            (words[4], words[12]) = (100 + name * 2, 200 + place * 2);
            other.into_iter().for_each(|at| words[at] = 900);
            words
        };
        let mut members: Vec<Vec<u32>> = (0..16).map(|at| filled(at % 4, at / 4, None)).collect();
        members.push(filled(9, 9, Some(17)));
        let members: Vec<&[u32]> = members.iter().map(Vec::as_slice).collect();
        assert_eq!(filling(&base, &members), (0..16).collect::<Vec<usize>>());
    }

    /// BC-03: a word that the kept text alone has is not a slot, though all members differ there.
    #[test]
    fn an_edit_of_the_kept_text_is_no_slot() {
        let original: Vec<u32> = (0..30).map(|at| at * 2).collect();
        let edited = |at: usize, word: u32| {
            let mut words = original.clone();
            words[at] = word;
            words
        };
        let base = edited(7, 500);
        // Four members edit the same place, each in its own way.
        let members: Vec<Vec<u32>> =
            (0..60).map(|at| edited(if at < 4 { 7 } else { at % 30 }, 600 + at as u32 * 2)).collect();
        let members: Vec<&[u32]> = members.iter().map(Vec::as_slice).collect();
        assert_eq!(filling(&base, &members), [0; 0]);
    }
}
