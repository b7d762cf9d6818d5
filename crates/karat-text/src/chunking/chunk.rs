//! Cutting long texts and lists into pieces.
//!
//! Pieces depend on the text and the numbers alone, they follow each other without a gap, and an overlap repeats the end
//! of a piece at the beginning of the next.

use serde_json::Value;

use crate::chunking::tokens::Tokenizer;

/// The pieces of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks {
    /// In the order of the text.
    pub pieces: Vec<Piece>,
    /// Pieces beyond the allowed number; their text is in none of `pieces`.
    pub dropped: u32,
}

/// One piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text from `start` to `end`.
    pub text: String,
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// Position among the pieces, from 0.
    pub index: usize,
}

/// Cuts a text into pieces of at most `size` tokens (at least 1), each of which repeats about `overlap` tokens of the one
/// before; pieces beyond `max` are dropped and counted.
///
/// A piece ends after a sentence where one ends in its last fifth, else before white space there, else between two
/// tokens, and never within a character. It begins after a sentence where one ends in what it repeats, else before white
/// space. Tokens are counted in the whole text. An empty text has no piece.
pub fn by_tokens(text: &str, size: u32, overlap: u32, max: Option<u32>) -> Chunks {
    if text.is_empty() {
        return Chunks { pieces: Vec::new(), dropped: 0 };
    }
    if text.len() <= size as usize {
        let piece = Piece { text: text.to_owned(), start: 0, end: text.len(), index: 0 };
        return limit_pieces(vec![piece], max);
    }
    let cutter = Cutter { text, ends: Tokenizer::plan().ends(text) };
    let size = (size as usize).max(1);
    let overlap = (overlap as usize).min(size / 2);
    let (mut pieces, mut from, mut to) = (Vec::new(), 0, 0);
    loop {
        to = cutter.cut(from, to, size);
        let (start, end) = (cutter.offset(from), cutter.offset(to));
        pieces.push(Piece { text: text[start..end].to_owned(), start, end, index: pieces.len() });
        if to >= cutter.ends.len() {
            return limit_pieces(pieces, max);
        }
        from = cutter.resume(from, to, overlap);
    }
}

fn limit_pieces(mut pieces: Vec<Piece>, max: Option<u32>) -> Chunks {
    let dropped = max.map_or(0, |max| pieces.len().saturating_sub(max as usize));
    pieces.truncate(pieces.len() - dropped);
    Chunks { pieces, dropped: dropped as u32 }
}

/// Places in a text are counted in tokens: place `n` lies after the `n`th token.
struct Cutter<'a> {
    text: &'a str,
    ends: Vec<usize>,
}

impl Cutter<'_> {
    fn offset(&self, place: usize) -> usize {
        place.checked_sub(1).map_or(0, |token| self.ends[token.min(self.ends.len() - 1)])
    }

    /// Returns the end of a piece that begins at `from`, after the one that ended at `before`.
    fn cut(&self, from: usize, before: usize, size: usize) -> usize {
        let limit = from + size;
        if limit >= self.ends.len() {
            return self.ends.len();
        }
        let fifth = (limit - size / 5).max(before + 1)..=limit;
        let last = |suits: &dyn Fn(usize) -> bool| fifth.clone().rev().find(|place| suits(*place));
        last(&|place| self.is_sentence_end(place))
            .or_else(|| last(&|place| self.is_word_end(place)))
            .unwrap_or_else(|| self.character_end(before, limit))
    }

    /// Returns the start of the piece after `from..to`: before `to`, so that nothing is left out, and after `from`.
    fn resume(&self, from: usize, to: usize, overlap: usize) -> usize {
        let earliest = to.saturating_sub(overlap).max(from + 1);
        if let Some(sentence) = (earliest..to).find(|place| self.is_sentence_end(*place)) {
            return sentence;
        }
        let word = (earliest..=to.min(earliest + overlap / 5)).find(|place| self.is_word_end(*place));
        word.or_else(|| (earliest..=to).find(|place| self.is_character_end(*place))).unwrap_or(to)
    }

    fn is_character_end(&self, place: usize) -> bool {
        self.text.is_char_boundary(self.offset(place))
    }

    /// White space follows.
    fn is_word_end(&self, place: usize) -> bool {
        let at = self.offset(place);
        self.text.get(at..).is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }

    /// A sentence or paragraph ends here, and white space follows (or stands before, after a line's end).
    fn is_sentence_end(&self, place: usize) -> bool {
        let Some((before, after)) = self.text.split_at_checked(self.offset(place)) else {
            return false;
        };
        let closed = before.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»']);
        let stopped = closed.ends_with(['.', '!', '?', '…']) && after.starts_with(char::is_whitespace);
        stopped || closed.ends_with(['。', '！', '？']) || before.ends_with('\n')
    }

    /// The last place after `before` and up to `limit` that is not a place within a character; the next one where there is
    /// none.
    fn character_end(&self, before: usize, limit: usize) -> usize {
        let back = (before + 1..=limit).rev().find(|place| self.is_character_end(*place));
        back.or_else(|| (limit.max(before + 1)..self.ends.len()).find(|place| self.is_character_end(*place)))
            .unwrap_or(self.ends.len())
    }
}

/// The pieces of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemChunks {
    /// In the order of the list.
    pub pieces: Vec<ItemPiece>,
    /// Pieces beyond the allowed number.
    pub dropped: u32,
}

/// One piece of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemPiece {
    /// The members from `start` to `end`.
    pub items: Vec<Value>,
    /// Position of the first member in the list.
    pub start: usize,
    /// Position after the last.
    pub end: usize,
    /// Position among the pieces, from 0.
    pub index: usize,
}

/// Cuts a list into pieces of `size` members (at least 1), each of which repeats `overlap` members of the one before;
/// pieces beyond `max` are dropped and counted. An empty list has no piece.
pub fn by_items(items: &[Value], size: u32, overlap: u32, max: Option<u32>) -> ItemChunks {
    let size = (size as usize).max(1);
    let step = size - (overlap as usize).min(size - 1);
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < items.len() {
        let end = (start + size).min(items.len());
        pieces.push(ItemPiece { items: items[start..end].to_vec(), start, end, index: pieces.len() });
        start = if end == items.len() { end } else { start + step };
    }
    let dropped = max.map_or(0, |max| pieces.len().saturating_sub(max as usize));
    pieces.truncate(pieces.len() - dropped);
    ItemChunks { pieces, dropped: dropped as u32 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn assert_covers(text: &str, chunks: &Chunks) {
        let pieces = &chunks.pieces;
        assert_eq!(pieces.first().map(|piece| piece.start), (!text.is_empty()).then_some(0));
        assert_eq!(pieces.last().map(|piece| piece.end), (!text.is_empty()).then_some(text.len()));
        for pair in pieces.windows(2) {
            assert!(pair[1].start <= pair[0].end, "gap between pieces {} and {}", pair[0].index, pair[1].index);
            assert!(pair[1].start > pair[0].start && pair[1].end > pair[0].end, "no progress");
        }
        for piece in pieces {
            assert_eq!(piece.text, text[piece.start..piece.end]);
        }
    }

    /// CL-14: same transcript, same boundaries, at sentences.
    #[test]
    fn pieces_end_at_sentences() {
        let text = "The moon pulls the sea. The sea follows the moon. Ships wait for the tide. ".repeat(20);
        let chunks = by_tokens(&text, 50, 10, None);
        assert_covers(&text, &chunks);
        for piece in &chunks.pieces[..chunks.pieces.len() - 1] {
            assert!(piece.text.ends_with('.'), "{:?}", piece.text);
            assert!(Tokenizer::plan().count(&piece.text) <= 50);
        }
        assert_eq!(chunks, by_tokens(&text, 50, 10, None));
    }

    /// CL-06: chunks beyond the maximum are dropped and counted, never silently.
    #[test]
    fn pieces_beyond_the_maximum_are_counted() {
        let text = "word ".repeat(100);
        let all = by_tokens(&text, 10, 0, None).pieces.len();
        let some = by_tokens(&text, 10, 0, Some(3));
        assert_eq!((some.pieces.len(), some.dropped as usize), (3, all - 3));
        assert_eq!(by_items(&vec![json!(1); 10], 3, 0, Some(2)).dropped, 2);
    }

    #[test]
    fn lists_are_cut_with_overlap() {
        let items: Vec<Value> = (0..7).map(Value::from).collect();
        let spans: Vec<_> = by_items(&items, 3, 1, None).pieces.iter().map(|piece| (piece.start, piece.end)).collect();
        assert_eq!(spans, [(0, 3), (2, 5), (4, 7)]);
        assert!(by_items(&[], 3, 1, None).pieces.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pieces_cover_every_character(text in "(\\PC|[ .\n]){0,400}", size in 1u32..40, overlap in 0u32..40) {
            assert_covers(&text, &by_tokens(&text, size, overlap, None));
        }
    }
}
