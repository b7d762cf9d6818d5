//! Texts that fill the same frame: a form with other numbers or names is another case, however alike the texts are.

/// Texts that differ in one place, from which on they are taken as fillings of a frame and not as variants.
const FILLINGS: usize = 3;

/// Returns whether two sequences of words differ in numbers alone.
pub(crate) fn differ_in_numbers(one: &[u32], other: &[u32]) -> bool {
    let mut differing = one.iter().zip(other).filter(|(one, other)| one != other).peekable();
    one.len() == other.len() && differing.peek().is_some() && differing.all(|(one, other)| one & other & 1 == 1)
}

/// The place at which a sequence has other words than the text that it is compared with, and these words. `None` where one
/// of both has no words there, or they differ in more places.
fn slot<'a>(base: &[u32], other: &'a [u32]) -> Option<((usize, usize), &'a [u32])> {
    let start = base.iter().zip(other).take_while(|(one, other)| one == other).count();
    let ends = base[start..].iter().rev().zip(other[start..].iter().rev());
    let end = ends.take_while(|(one, other)| one == other).count();
    let (old, new) = (&base[start..base.len() - end], &other[start..other.len() - end]);
    (!old.is_empty() && !new.is_empty()).then_some(((start, base.len() - end), new))
}

/// The members of a cluster that fill a place of its text with other words: at least three at the same place, all with
/// different words. Positions in `members`.
pub(crate) fn fillings(base: &[u32], members: &[&[u32]]) -> Vec<usize> {
    let mut slots: Vec<((usize, usize), &[u32], usize)> = members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| slot(base, member).map(|(place, words)| (place, words, at)))
        .collect();
    slots.sort_unstable();
    let mut found = Vec::new();
    for same in slots.chunk_by(|one, other| one.0 == other.0) {
        let are_different = same.windows(2).all(|pair| pair[0].1 != pair[1].1);
        if same.len() >= FILLINGS && are_different {
            found.extend(same.iter().map(|(_, _, at)| *at));
        }
    }
    found.sort_unstable();
    found
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
}
