//! Cutting what a judge sees into pieces, each judged by a call of its own (CL-14, BY-14).
//!
//! Where one value may be cut and the judge's window is too small for all of it, it is cut; members of a list with a
//! `route` go to the piece that their words match best, and those that match nowhere to every piece. Every character of
//! a document and every member of a list stands in at least one piece.

use std::collections::HashSet;

use karat_text::chunk;
use karat_text::similar::Folded;
use karat_text::tokens::Tokenizer;
use karat_types::{CellError, ShowChunk};
use serde_json::Value;

use super::setup::Setup;
use super::shown::{Content, Member};

/// Share of the judge's window that prompt and reply may fill before a document is cut.
const WINDOW_SHARE: f64 = 0.8;

/// A document is not cut into pieces with fewer tokens: no judge could grade them.
const SMALLEST_PIECE: u64 = 200;

/// Share of its words that a routed member must have in common with a piece to be placed there.
const PLACED: f64 = 0.5;

/// What one call shows.
#[derive(Debug)]
pub(super) struct Cut {
    pub contents: Vec<Content>,
    /// How much of the cut value it covers: bytes or members.
    pub weight: f64,
}

/// The contents of each call. `prompt` is the text of a prompt with the given contents.
pub(super) fn split(
    setup: &Setup,
    contents: Vec<Content>,
    prompt: impl Fn(&[Content]) -> Result<String, CellError>,
) -> Result<Vec<Cut>, CellError> {
    let chunked = setup.chunked().and_then(|at| Some((at, setup.items.get(at)?.spec.chunk?)));
    let Some((at, chunk)) = chunked else { return Ok(vec![whole(contents)]) };
    match contents.get(at) {
        Some(Content::Text(text)) => {
            let room = room(setup, &contents, at, text, prompt)?;
            match room.into_iter().chain(chunk.tokens).min() {
                Some(size) if !fits(text, size as usize) => Ok(by_tokens(setup, &contents, at, size, chunk)),
                _ => Ok(vec![whole(contents)]),
            }
        }
        Some(Content::List(members)) => match chunk.items {
            Some(items) if members.len() > items as usize => Ok(by_items(&contents, at, members, items, chunk)),
            _ => Ok(vec![whole(contents)]),
        },
        None => Ok(vec![whole(contents)]),
    }
}

fn whole(contents: Vec<Content>) -> Cut {
    Cut { contents, weight: 1.0 }
}

/// Tokens that the text at `at` may have beside everything else; `None` when the judge's window sets no bound: it is not
/// known, or large enough for as many tokens as there are bytes.
fn room(
    setup: &Setup,
    contents: &[Content],
    at: usize,
    text: &str,
    prompt: impl Fn(&[Content]) -> Result<String, CellError>,
) -> Result<Option<u32>, CellError> {
    let Some(window) = setup.window else { return Ok(None) };
    let mut rest = contents.to_vec();
    if let Some(content) = rest.get_mut(at) {
        *content = Content::Text(String::new());
    }
    let (rest, reply) = (prompt(&rest)?, setup.reply_tokens());
    let share = (window as f64 * WINDOW_SHARE) as u64;
    if (rest.len() + text.len()) as u64 + reply <= share {
        return Ok(None);
    }
    let overhead = count(&rest) as u64;
    let room = share.saturating_sub(overhead + reply);
    if room < SMALLEST_PIECE {
        let message = format!(
            "the judge's context window of {window} tokens leaves no room for a piece: everything else has about \
             {overhead} tokens and the reply may have {reply}; use a judge with a larger window"
        );
        return Err(CellError::new("context", message));
    }
    Ok(Some(u32::try_from(room).unwrap_or(u32::MAX)))
}

fn by_tokens(setup: &Setup, contents: &[Content], at: usize, size: u32, chunk: ShowChunk) -> Vec<Cut> {
    let Some(Content::Text(text)) = contents.get(at) else { return Vec::new() };
    let pieces = chunk::by_tokens(text, size, chunk.overlap, None).pieces;
    let vocabularies: Vec<HashSet<String>> = pieces.iter().map(|piece| vocabulary(&piece.text)).collect();
    let name = setup.items.get(at).map(|item| item.spec.name.as_str());
    let mut cuts: Vec<Cut> = pieces
        .iter()
        .map(|piece| Cut { contents: contents.to_vec(), weight: (piece.end - piece.start) as f64 })
        .collect();
    for (cut, piece) in cuts.iter_mut().zip(&pieces) {
        cut.contents[at] = Content::Text(piece.text.clone());
    }
    let routed = setup.items.iter().enumerate().filter(|(_, item)| item.spec.route.as_deref() == name);
    for (list, _) in routed {
        let Some(Content::List(members)) = contents.get(list) else { continue };
        let placed: Vec<Option<Vec<usize>>> =
            members.iter().map(|member| place(&member.value, &vocabularies)).collect();
        for (index, cut) in cuts.iter_mut().enumerate() {
            let stays = |place: &Option<Vec<usize>>| place.as_ref().is_none_or(|pieces| pieces.contains(&index));
            let kept = members.iter().zip(&placed).filter(|(_, place)| stays(place)).map(|(member, _)| member.clone());
            cut.contents[list] = Content::List(kept.collect());
        }
    }
    cuts
}

fn by_items(contents: &[Content], at: usize, members: &[Member], size: u32, chunk: ShowChunk) -> Vec<Cut> {
    let positions: Vec<Value> = (0..members.len()).map(Value::from).collect();
    let pieces = chunk::by_items(&positions, size, chunk.overlap, None).pieces;
    let cuts = pieces.iter().map(|piece| {
        let mut contents = contents.to_vec();
        contents[at] = Content::List(members[piece.start..piece.end].to_vec());
        Cut { contents, weight: piece.items.len() as f64 }
    });
    cuts.collect()
}

/// A list cut in the middle, its weight by members; `None` where there is no list with two members to cut.
pub(super) fn halves(setup: &Setup, contents: &[Content], weight: f64) -> Option<[Cut; 2]> {
    let at = setup.chunked()?;
    let Content::List(members) = contents.get(at)? else { return None };
    let middle = members.len() / 2;
    if middle == 0 {
        return None;
    }
    let half = |members: &[Member], of: usize| {
        let mut contents = contents.to_vec();
        contents[at] = Content::List(members.to_vec());
        Cut { contents, weight: weight * members.len() as f64 / of as f64 }
    };
    let (first, second) = members.split_at(middle);
    Some([half(first, members.len()), half(second, members.len())])
}

/// The pieces whose words match a member best; `None` where no piece has half of them.
fn place(member: &Value, vocabularies: &[HashSet<String>]) -> Option<Vec<usize>> {
    let words = vocabulary(&words_of(member));
    let shares: Vec<usize> =
        vocabularies.iter().map(|known| words.iter().filter(|word| known.contains(*word)).count()).collect();
    let best = shares.iter().copied().max().filter(|best| *best as f64 >= PLACED * words.len() as f64 && *best > 0)?;
    Some(shares.iter().enumerate().filter(|(_, share)| **share == best).map(|(piece, _)| piece).collect())
}

fn vocabulary(text: &str) -> HashSet<String> {
    let folded = Folded::new(text);
    folded.words().filter(|word| word.chars().any(char::is_alphanumeric)).map(str::to_owned).collect()
}

/// All texts within a value.
fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words_of).collect::<Vec<_>>().join(" "),
        Value::Object(members) => members.values().map(words_of).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// Whether a text has at most so many tokens of the plan's tokenizer.
pub(super) fn fits(text: &str, tokens: usize) -> bool {
    Tokenizer::plan().fits(text, tokens)
}

/// Tokens of a text by the plan's tokenizer.
pub(super) fn count(text: &str) -> usize {
    Tokenizer::plan().count(text)
}
