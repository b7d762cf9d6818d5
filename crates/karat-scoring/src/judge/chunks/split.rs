//! Cutting what a judge sees into pieces, each judged by a call of its own.
//!
//! Where one value may be cut and the judge's window is too small for all of it, it is cut; members of a list with a
//! `route` go to the pieces that hold their evidence ([`crate::judge::chunks::evidence`]), and those that have none anywhere to every piece. Every
//! character of a document and every member of a list stands in at least one piece; an overlap is weighed once. What the
//! rubric judges `once` gets a call of its own, which sees everything but the value that was cut.

use std::ops::Range;

use karat_text::chunking::chunk;
use karat_text::chunking::tokens::Tokenizer;
use karat_types::{CellError, ShowChunk};
use serde_json::Value;

use crate::judge::chunks::evidence::Evidence;
use crate::judge::prompt::prompt_values::{Content, ShownMember};
use crate::judge::rubric::compiled::{Aspect, CompiledRubric};

/// Share of the judge's window that prompt and reply may fill before a document is cut, where the rubric names none.
const WINDOW_SHARE: f64 = 0.8;

/// A document is not cut into pieces with fewer tokens: no judge could grade them.
const SMALLEST_PIECE: u64 = 200;

/// Tokens by which two codes of a fence may differ.
const NONCE_SPREAD: u64 = 8;

/// The content of one call.
#[derive(Debug)]
pub(crate) struct Cut {
    pub contents: Vec<Content>,
    /// The part of the rubric that the call asks for.
    pub aspect: Aspect,
    pub weight: Weight,
    /// The bytes of the document that it shows, where a document is cut.
    pub span: Option<Range<usize>>,
}

/// The weight of a call among all. Over all calls, either adds up to what there is to judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weight {
    /// Of the cut value: bytes or members that no call before it shows.
    pub length: f64,
    /// Of routed members: one that is shown in `k` pieces counts `1/k` in each.
    pub members: f64,
}

/// The contents of each call. `times` says when each stretch of the document was said; `prompt` is the text of a prompt
/// with the given contents, `steady` that of one which depends neither on the output nor on the seed.
pub(crate) fn split(
    setup: &CompiledRubric,
    contents: Vec<Content>,
    times: &Value,
    prompt: impl Fn(&[Content]) -> Result<String, CellError>,
    steady: impl Fn(&[Content]) -> Result<String, CellError>,
) -> Result<Vec<Cut>, CellError> {
    let chunked = setup.chunked_position().and_then(|at| Some((at, setup.items.get(at)?.spec.chunk?)));
    let Some((at, chunk)) = chunked else { return Ok(vec![whole(contents)]) };
    match contents.get(at) {
        Some(Content::Text(text)) => {
            let room = token_budget(setup, &contents, (at, text), chunk, prompt, steady)?;
            let smaller = |room: Option<u32>| room.into_iter().chain(chunk.tokens).min();
            match smaller(room.map(|room| room.whole)) {
                Some(bound) if !fits(text, bound as usize) => {
                    let size = smaller(room.map(|room| room.piece)).unwrap_or(bound);
                    by_tokens(setup, &contents, at, size, times)
                }
                _ => Ok(vec![whole(contents)]),
            }
        }
        Some(Content::List(members)) => match chunk.items {
            Some(items) if members.len() > items as usize => Ok(by_items(&contents, at, members, items, chunk)),
            _ => Ok(vec![whole(contents)]),
        },
        Some(Content::Absent) | None => Ok(vec![whole(contents)]),
    }
}

fn whole(contents: Vec<Content>) -> Cut {
    Cut { contents, aspect: Aspect::Full, weight: Weight { length: 1.0, members: 1.0 }, span: None }
}

/// Tokens that a text may have beside everything else.
#[derive(Debug, Clone, Copy)]
struct TokenBudget {
    /// Up to which it is shown whole.
    whole: u32,
    /// Of a piece, where it is not.
    piece: u32,
}

/// The room of the text at `at`; `None` when the judge's window sets no bound: it is not known, or large enough for as
/// many tokens as there are bytes.
fn token_budget(
    setup: &CompiledRubric,
    contents: &[Content],
    (at, text): (usize, &str),
    chunk: ShowChunk,
    prompt: impl Fn(&[Content]) -> Result<String, CellError>,
    steady: impl Fn(&[Content]) -> Result<String, CellError>,
) -> Result<Option<TokenBudget>, CellError> {
    let Some(window) = setup.window else { return Ok(None) };
    let mut rest = contents.to_vec();
    if let Some(content) = rest.get_mut(at) {
        *content = Content::Text(String::new());
    }
    let (beside, reply) = (prompt(&rest)?, setup.reply_tokens());
    let share = (window as f64 * chunk.window.unwrap_or(WINDOW_SHARE)) as u64;
    if (beside.len() + text.len()) as u64 + reply <= share {
        return Ok(None);
    }
    let overhead = count(&beside) as u64;
    let whole = share.saturating_sub(overhead + reply);
    if whole < SMALLEST_PIECE {
        let message = format!(
            "the judge's context window of {window} tokens leaves no room for a piece: everything else has about \
             {overhead} tokens and the reply may have {reply}; use a judge with a larger window"
        );
        return Err(CellError::new(CellError::CONTEXT, message));
    }
    let mut has_output = false;
    for (content, item) in rest.iter_mut().zip(&setup.items).filter(|(_, item)| item.is_of_output()) {
        has_output |= item.spec.chunk.is_none();
        content.clear();
    }
    let marks = 1 + 2 * setup.items.len() as u64;
    let fixed = count(&steady(&rest)?) as u64 + marks * NONCE_SPREAD;
    let without_output = share.saturating_sub(fixed + reply);
    let piece = if has_output { half(whole, without_output) } else { whole.min(without_output) };
    let tokens = |room: u64| u32::try_from(room).unwrap_or(u32::MAX);
    Ok(Some(TokenBudget { whole: tokens(whole), piece: tokens(piece) }))
}

/// The size of a piece that leaves half of the room to what comes from the output; less, by halves, where that needs more.
/// This way all outputs of one sample are judged by the same pieces, unless one is so long that there is no room for it.
fn half(room: u64, without_output: u64) -> u64 {
    let halves = std::iter::successors(Some(without_output / 2), |size| Some(size / 2));
    let fitting = halves.take_while(|size| *size >= SMALLEST_PIECE).find(|size| *size <= room);
    fitting.unwrap_or(room)
}

fn by_tokens(
    setup: &CompiledRubric,
    contents: &[Content],
    at: usize,
    size: u32,
    times: &Value,
) -> Result<Vec<Cut>, CellError> {
    let Some((Content::Text(text), item)) = contents.get(at).zip(setup.items.get(at)) else { return Ok(Vec::new()) };
    let overlap = item.spec.chunk.map_or(0, |chunk| chunk.overlap);
    let pieces = chunk::by_tokens(text, size, overlap, None).pieces;
    let spans: Vec<Range<usize>> = pieces.iter().map(|piece| piece.start..piece.end).collect();
    let lengths = new_bytes(text, &spans)?;
    let mut cuts: Vec<Cut> = pieces
        .into_iter()
        .zip(lengths)
        .map(|(piece, length)| {
            let mut contents = contents.to_vec();
            contents[at] = Content::Text(piece.text);
            let (aspect, weight) = (setup.aspect_of_pieces(), Weight { length: length as f64, members: 0.0 });
            Cut { contents, aspect, weight, span: Some(piece.start..piece.end) }
        })
        .collect();
    let evidence = Evidence::new(text, &spans, times);
    let routed = setup.items.iter().enumerate().filter(|(_, it)| it.spec.route.as_ref() == Some(&item.spec.name));
    for (list, _) in routed {
        let Some(Content::List(members)) = contents.get(list) else { continue };
        let placed: Vec<Vec<usize>> = members.iter().map(|member| evidence.pieces_of(&member.value)).collect();
        for (index, cut) in cuts.iter_mut().enumerate() {
            let shown = members.iter().zip(&placed).filter(|(_, pieces)| pieces.contains(&index));
            cut.weight.members += shown.clone().map(|(_, pieces)| 1.0 / pieces.len() as f64).sum::<f64>();
            cut.contents[list] = Content::List(shown.map(|(member, _)| member.clone()).collect());
        }
    }
    if setup.aspect_of_pieces() == Aspect::Parts {
        let mut contents = contents.to_vec();
        contents[at] = Content::Absent;
        cuts.push(Cut { contents, aspect: Aspect::Once, weight: Weight { length: 0.0, members: 0.0 }, span: None });
    }
    Ok(cuts)
}

/// For each span, the bytes that none before it covers. Together they are the whole text.
///
/// # Errors
/// Where a character stands in no span.
fn new_bytes(text: &str, spans: &[Range<usize>]) -> Result<Vec<usize>, CellError> {
    let (mut covered, mut lengths) = (0, Vec::with_capacity(spans.len()));
    for span in spans {
        if span.start > covered {
            return Err(coverage_error(covered, span.start));
        }
        lengths.push(span.end.saturating_sub(covered));
        covered = covered.max(span.end);
    }
    if covered == text.len() { Ok(lengths) } else { Err(coverage_error(covered, text.len())) }
}

fn coverage_error(from: usize, to: usize) -> CellError {
    let message = format!("cutting the document left bytes {from} to {to} to no judge; this is a bug in karat");
    CellError::new("coverage", message)
}

fn by_items(contents: &[Content], at: usize, members: &[ShownMember], size: u32, chunk: ShowChunk) -> Vec<Cut> {
    let positions: Vec<Value> = (0..members.len()).map(Value::from).collect();
    let pieces = chunk::by_items(&positions, size, chunk.overlap, None).pieces;
    let cuts = pieces.iter().map(|piece| {
        let mut contents = contents.to_vec();
        contents[at] = Content::List(members[piece.start..piece.end].to_vec());
        let members = piece.items.len() as f64;
        Cut { contents, aspect: Aspect::Full, weight: Weight { length: members, members }, span: None }
    });
    cuts.collect()
}

/// A list cut in the middle, its weight by members; `None` where there is no list with two members to cut.
pub(crate) fn halve_list(setup: &CompiledRubric, contents: &[Content], weight: Weight) -> Option<[Cut; 2]> {
    let at = setup.chunked_position()?;
    let Content::List(members) = contents.get(at)? else { return None };
    let middle = members.len() / 2;
    if middle == 0 {
        return None;
    }
    let half = |members: &[ShownMember], of: usize| {
        let mut contents = contents.to_vec();
        contents[at] = Content::List(members.to_vec());
        let share = members.len() as f64 / of as f64;
        let weight = Weight { length: weight.length * share, members: weight.members * share };
        Cut { contents, aspect: Aspect::Full, weight, span: None }
    };
    let (first, second) = members.split_at(middle);
    Some([half(first, members.len()), half(second, members.len())])
}

/// True if a text has at most so many tokens of the plan's tokenizer.
pub(crate) fn fits(text: &str, tokens: usize) -> bool {
    Tokenizer::plan().fits(text, tokens)
}

/// Tokens of a text by the plan's tokenizer.
pub(crate) fn count(text: &str) -> usize {
    Tokenizer::plan().count(text)
}
