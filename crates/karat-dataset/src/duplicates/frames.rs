//! Texts that fill the same frame: a form with other numbers or names is another case, however alike the texts are.

use std::ops::Range;

use crate::hash::{join, mix};

/// Different fillings from which on a place is taken as a slot of a frame and not as a variant.
const FILLINGS: usize = 3;

/// Words that are looked at on either side of a difference for the place at which two texts agree again. It bounds the
/// cost of a difference, so that texts are compared in time linear in their words.
const REACH: usize = 12;

/// Words that must agree for a difference to end.
const AGREED: usize = 2;

/// Returns whether two sequences of words differ in numbers alone.
pub(crate) fn differ_in_numbers(one: &[u32], other: &[u32]) -> bool {
    let mut differing = one.iter().zip(other).filter(|(one, other)| one != other).peekable();
    one.len() == other.len() && differing.peek().is_some() && differing.all(|(one, other)| one & other & 1 == 1)
}

/// A place at which two sequences differ: the words of one, and those of the other in their stead.
type Difference = (Range<usize>, Range<usize>);

/// The places at which a sequence differs from the one that it is compared with, in order.
fn differences(base: &[u32], other: &[u32]) -> Vec<Difference> {
    let mut found = Vec::new();
    let (mut old, mut new) = (0, 0);
    loop {
        let same = base[old..].iter().zip(&other[new..]).take_while(|(one, other)| one == other).count();
        (old, new) = (old + same, new + same);
        if old == base.len() && new == other.len() {
            return found;
        }
        let (old_end, new_end) = agreement(base, other, old, new);
        found.push((old..old_end, new..new_end));
        (old, new) = (old_end, new_end);
    }
}

/// The nearest places after a difference from which on two sequences agree; the words that they have in common at their
/// ends where there are none within reach.
fn agreement(base: &[u32], other: &[u32], old: usize, new: usize) -> (usize, usize) {
    for sum in 1..=2 * REACH {
        for ahead in sum.saturating_sub(REACH)..=sum.min(REACH) {
            let (one, two) = (old + ahead, new + sum - ahead);
            let words = base.get(one..one + AGREED);
            if words.is_some() && words == other.get(two..two + AGREED) {
                return (one, two);
            }
        }
    }
    let ends = base[old..].iter().rev().zip(other[new..].iter().rev());
    let end = ends.take_while(|(one, other)| one == other).count();
    (base.len() - end, other.len() - end)
}

/// The differing words of a text by their place in the text that it is compared with: word by word where as many stand in
/// their stead, else all of them for each place. `None` where one of both has no words.
fn filled_places(base: &[u32], other: &[u32]) -> Option<Vec<(Range<usize>, u64)>> {
    let mut places = Vec::new();
    for (old, new) in differences(base, other) {
        if old.is_empty() || new.is_empty() {
            return None;
        }
        if old.len() == new.len() {
            let pairs = old.zip(new).filter(|(old, new)| base[*old] != other[*new]);
            places.extend(pairs.map(|(old, new)| (old..old + 1, u64::from(other[new]))));
        } else {
            places.push((old, other[new].iter().fold(1, |hash, word| mix(join(hash, u64::from(*word))))));
        }
    }
    Some(places)
}

/// The members of a cluster that fill the slots of a frame. A place of the text that stands for the cluster is a slot if at
/// least half of the members have other words there, with at least three different fillings of which none is that of more
/// than half of them. Single edits all over a text, and a word that the kept text alone has, thus make no frame. A member
/// is a filling if it differs in slots alone. Positions in `members`.
pub(crate) fn fillings(base: &[u32], members: &[&[u32]]) -> Vec<usize> {
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
    use super::*;

    /// BC-03: other numbers make another case; another word does not.
    #[test]
    fn numbers_alone_make_a_frame() {
        assert!(differ_in_numbers(&[2, 4, 7, 8], &[2, 4, 9, 8]));
        assert!(!differ_in_numbers(&[2, 4, 7], &[2, 6, 7]));
        assert!(!differ_in_numbers(&[2, 4, 7], &[2, 4, 7]));
        assert!(!differ_in_numbers(&[2, 7], &[2, 7, 4]));
    }

    /// BC-03: three texts with different words at one place fill a frame; the same words, or words at other places, do not.
    #[test]
    fn three_fillings_make_a_frame() {
        let base = [2, 4, 6, 8];
        assert_eq!(fillings(&base, &[&[2, 10, 6, 8], &[2, 12, 14, 6, 8], &[2, 16, 6, 8], &[2, 4, 6, 18]]), [0, 1, 2]);
        assert_eq!(fillings(&base, &[&[2, 10, 6, 8], &[2, 10, 6, 8], &[2, 16, 6, 8]]), [0; 0]);
        assert_eq!(fillings(&base, &[&[2, 4, 6, 8, 10], &[2, 4, 6, 8, 12], &[2, 4, 6, 8, 14]]), [0; 0]);
    }

    /// BC-03: words that are replaced, inserted and left out are found in their places, and what follows agrees.
    #[test]
    fn differences_end_where_texts_agree() {
        let base = [2, 4, 6, 8, 10, 12, 14, 16];
        assert_eq!(differences(&base, &base), []);
        assert_eq!(differences(&base, &[2, 4, 7, 8, 10, 12, 14, 17]), [(2..3, 2..3), (7..8, 7..8)]);
        assert_eq!(differences(&base, &[2, 4, 7, 9, 6, 8, 10, 14, 16]), [(2..2, 2..4), (5..6, 7..7)]);
        assert_eq!(differences(&base, &[]), [(0..8, 0..0)]);
        assert_eq!(differences(&[], &[2]), [(0..0, 0..1)]);
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
        assert_eq!(fillings(&base, &members), (0..16).collect::<Vec<usize>>());
    }

    /// BC-03: a word that the kept text alone has is no slot, though all members differ there.
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
        assert_eq!(fillings(&base, &members), [0; 0]);
    }
}
