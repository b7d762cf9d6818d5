//! Picks the value that a reply means out of several.

use std::ops::Range;

use serde_json::Value;

use crate::ladder::prose::enclosing_elements::EnclosingElements;
use crate::ladder::prose::value_context::{
    announces_an_example, announces_the_final, is_hypothetical, may_announce_a_form, takes_back,
};
use crate::ladder::{Found, LadderError};

/// A value, where it stands, and how much it is what is looked for.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub span: Range<usize>,
    pub found: Found,
    /// 0 for what is not looked for.
    pub rank: usize,
    /// True if it is the content of a code fence.
    pub is_fenced: bool,
}

impl Candidate {
    /// True if the words after it give one of its scores anew, and differently.
    pub fn is_taken_back(&self, text: &str) -> bool {
        self.rank > 0 && takes_back(&text[self.span.end..], &self.found.value)
    }

    /// True if a stretch after it begins the same again: it names one of its keys.
    pub fn is_repeated(&self, text: &str, stretch: Range<usize>) -> bool {
        let again = &text[stretch.clone()];
        let keys = || self.found.value.as_object().into_iter().flat_map(serde_json::Map::keys);
        self.rank > 0
            && stretch.start >= self.span.end
            && keys().any(|key| key.len() > 2 && again.contains(key.as_str()))
    }
}

/// Picks one of at least one candidate: of several of the highest rank that differ the last, if it is announced as
/// the final one, else the one that stands in a fence and is not introduced as a form. Ranked ones in asides do not count.
///
/// # Errors
/// [`LadderError::Aside`] where all of them stand in asides;
/// [`LadderError::Several`] where neither tells them apart, or where one of a lower rank is announced in place of them;
/// [`LadderError::Example`] where the line before it says that it is one; [`LadderError::Hypothetical`] where it stands in a
/// sentence that says that it is not meant.
pub(crate) fn choose(
    text: &str,
    asides: &EnclosingElements,
    mut candidates: Vec<Candidate>,
) -> Result<Candidate, LadderError> {
    if candidates.iter().all(|it| it.rank == 0) {
        let meant = candidates.iter().position(|it| is_substantial(&it.found.value)).unwrap_or(0);
        return Ok(candidates.swap_remove(meant));
    }
    candidates.retain(|it| !asides.contain(&it.span));
    let highest = candidates.iter().map(|it| it.rank).max().unwrap_or(0);
    if highest == 0 {
        return Err(LadderError::Aside);
    }
    let chosen = best_meant(text, candidates, highest)?;
    if announces_an_example(text, chosen.span.start) {
        return Err(LadderError::Example);
    }
    if is_hypothetical(text, chosen.span.start) {
        return Err(LadderError::Hypothetical);
    }
    Ok(chosen)
}

/// The candidate of the highest rank that is meant.
fn best_meant(text: &str, mut candidates: Vec<Candidate>, highest: usize) -> Result<Candidate, LadderError> {
    let replaces = |it: &Candidate, best: &Candidate| {
        (1..highest).contains(&it.rank)
            && it.span.start >= best.span.end
            && it.found.value != best.found.value
            && announces_the_final(text, it.span.start)
    };
    let last = candidates.iter().filter(|it| it.rank == highest).max_by_key(|it| it.span.start);
    if last.is_some_and(|last| candidates.iter().any(|it| replaces(it, last))) {
        return Err(LadderError::Several(candidates.iter().filter(|it| it.rank > 0).count()));
    }
    candidates.retain(|it| it.rank == highest);
    if are_equal(&candidates) {
        return Ok(candidates.swap_remove(0));
    }
    let mut starts: Vec<usize> = candidates.iter().map(|it| it.span.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let announced: Vec<usize> = starts.iter().copied().filter(|start| announces_the_final(text, *start)).collect();
    if let [only] = announced[..]
        && Some(&only) == starts.last()
    {
        let at = candidates.iter().position(|it| it.span.start == only).unwrap_or(0);
        return Ok(candidates.swap_remove(at));
    }
    candidates.retain(|it| it.is_fenced);
    let shows_a_form = candidates.iter().any(|it| may_announce_a_form(text, it.span.start));
    if !announced.is_empty() || candidates.is_empty() || shows_a_form || !are_equal(&candidates) {
        return Err(LadderError::Several(starts.len()));
    }
    let mut fenced = candidates.swap_remove(0);
    fenced.found = fenced.found.noting("the fenced object counts, and not another that stood beside it");
    Ok(fenced)
}

/// True if all say the same.
fn are_equal(candidates: &[Candidate]) -> bool {
    candidates.windows(2).all(|pair| pair[0].found.value == pair[1].found.value)
}

/// True if a value in prose is likely meant: `[1]` is often a citation, `{}` a turn of phrase.
pub(crate) fn is_substantial(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array() || item.is_string()),
        _ => true,
    }
}
