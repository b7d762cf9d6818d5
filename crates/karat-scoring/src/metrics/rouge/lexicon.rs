//! Words as small numbers, and the cache of stems behind them.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::metrics::tokenize::porter;

/// Above this many words a lexicon starts anew with the next text, so that memory stays bounded.
const LARGEST: usize = 1 << 16;

/// Tokens no longer than this are not stemmed (rouge-score).
const SHORTEST_STEMMED: usize = 4;

thread_local! {
    static PLAIN: RefCell<Lexicon> = RefCell::default();
    static STEMMED: RefCell<Lexicon> = RefCell::default();
}

/// Runs `work` with this thread's lexicon of stems or of plain words. Ids are stable within one
/// call only.
pub(super) fn with_lexicon<T>(stem: bool, work: impl FnOnce(&mut Lexicon) -> T) -> T {
    let lexicon = if stem { &STEMMED } else { &PLAIN };
    lexicon.with_borrow_mut(|lexicon| {
        if lexicon.words.len() > LARGEST {
            *lexicon = Lexicon::default();
        }
        lexicon.stem = stem;
        work(lexicon)
    })
}

/// An id for every word; words of one stem share theirs when stemming.
#[derive(Default)]
pub(super) struct Lexicon {
    stem: bool,
    words: FxHashMap<Box<str>, u32>,
    stems: FxHashMap<Box<str>, u32>,
}

impl Lexicon {
    pub(super) fn id(&mut self, word: &str) -> u32 {
        if let Some(id) = self.words.get(word) {
            return *id;
        }
        let stemmed = self.stem && word.len() >= SHORTEST_STEMMED && word.is_ascii();
        let stem = if stemmed { porter::stem(word) } else { word.to_owned() };
        let next = self.stems.len() as u32;
        let id = *self.stems.entry(stem.into_boxed_str()).or_insert(next);
        self.words.insert(word.into(), id);
        id
    }
}
