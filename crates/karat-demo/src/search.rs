//! Ranks chunks by the words that they share with the question; rare words count more.

use serde_json::{Map, Value, json};

use crate::library::{Chunk, Library};
use crate::question::Question;

/// The ids of the best chunks of every space, best first.
pub(crate) fn candidates(library: &Library, question: &Question, filters: &Value, top: usize) -> Value {
    let mut spaces = Map::new();
    for space in ["text", "table", "page"] {
        let chunks = library.chunks.iter().filter(|chunk| chunk.space == space && passes(chunk, filters));
        let ids: Vec<&str> = rank(library, question, chunks).take(top).map(|chunk| chunk.id.as_str()).collect();
        spaces.insert(space.to_owned(), json!(ids));
    }
    Value::Object(spaces)
}

/// The best chunk that fits.
pub(crate) fn best<'a>(library: &'a Library, question: &Question, fits: impl Fn(&Chunk) -> bool) -> Option<&'a Chunk> {
    rank(library, question, library.chunks.iter().filter(|chunk| fits(chunk))).next()
}

/// Chunks that share a word with the question, best first; ties by id.
fn rank<'a>(
    library: &Library,
    question: &Question,
    chunks: impl Iterator<Item = &'a Chunk>,
) -> impl Iterator<Item = &'a Chunk> {
    let mut scored: Vec<(f64, &Chunk)> =
        chunks.map(|chunk| (score(library, question, chunk), chunk)).filter(|(score, _)| *score > 0.0).collect();
    scored.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.id.cmp(&other.id)));
    scored.into_iter().map(|(_, chunk)| chunk)
}

/// Σ over the question's words of rarity × tf / (tf + 1).
fn score(library: &Library, question: &Question, chunk: &Chunk) -> f64 {
    let all = library.chunks.len() as f64;
    let of = |word: &String| {
        let count = f64::from(*chunk.counts.get(word)?);
        let document_counts = f64::from(library.document_counts.get(word).copied().unwrap_or(1));
        Some((1.0 + all / document_counts).ln() * count / (count + 1.0))
    };
    question.words.iter().filter_map(of).sum()
}

/// Returns true if the chunk has the filters' values: equal, or one of a list.
fn passes(chunk: &Chunk, filters: &Value) -> bool {
    let wants = |(name, wanted): (&String, &Value)| {
        let own = chunk.entry.get(name).unwrap_or(&Value::Null);
        match wanted {
            Value::Null => true,
            Value::Array(several) => several.contains(own),
            single => single == own,
        }
    };
    filters.as_object().is_none_or(|filters| filters.iter().all(wants))
}
