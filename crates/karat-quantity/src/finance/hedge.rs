//! Words that weaken a number or make it a bound: "about 5", "at most 5", "exceeded 5".

use crate::finance::word_list::{LazyWords, word_lists};
use crate::quantity::Hedge;

word_lists!("hedges.txt": ABOUT, AT_LEAST, AT_MOST, BEYOND);

/// The hedge that `before` ends with; of several the longest, so that "no more than" is not "more than".
pub(crate) fn before(before: &str) -> Option<Hedge> {
    let before = before.trim_end();
    let ends_with = |word: &str| {
        let Some(start) = before.len().checked_sub(word.len()) else { return false };
        let same = before.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(word));
        same && (!word.starts_with(char::is_alphabetic) || !before[..start].ends_with(char::is_alphanumeric))
    };
    let lists: [(&LazyWords, Hedge); 4] =
        [(&ABOUT, Hedge::About), (&AT_LEAST, Hedge::AtLeast), (&AT_MOST, Hedge::AtMost), (&BEYOND, Hedge::Beyond)];
    let words = lists.into_iter().flat_map(|(words, hedge)| words.iter().map(move |word| (*word, hedge)));
    words.filter(|(word, _)| ends_with(word)).max_by_key(|(word, _)| word.len()).map(|(_, hedge)| hedge)
}
