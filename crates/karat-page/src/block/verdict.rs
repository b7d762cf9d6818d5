//! Verdicts: a glyph and a word, always both.

use maud::{Markup, html};

use crate::text::visible::Words;

/// A verdict about a comparison, a gate or a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Better than what it is compared with.
    Better,
    /// Worse than what it is compared with.
    Worse,
    /// Different by less than the margin.
    Equivalent,
    /// Not decided by these samples.
    Undecided,
    /// Meets its gates.
    Pass,
    /// Fails a gate that asks for a review.
    Review,
    /// Fails a gate.
    Fail,
    /// Ended in an error.
    Error,
}

impl Verdict {
    /// Returns the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
            Self::Pass => "pass",
            Self::Review => "review",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }

    /// Returns the glyph.
    pub fn glyph(self) -> &'static str {
        match self {
            Self::Better => "▲",
            Self::Worse => "▼",
            Self::Equivalent => "≈",
            Self::Undecided => "?",
            Self::Pass => "✓",
            Self::Review => "?",
            Self::Fail => "✕",
            Self::Error => "!",
        }
    }

    /// All verdicts.
    pub const ALL: [Self; 8] = [
        Self::Better,
        Self::Worse,
        Self::Equivalent,
        Self::Undecided,
        Self::Pass,
        Self::Review,
        Self::Fail,
        Self::Error,
    ];
}

/// The glyph and the word of a verdict.
pub fn mark(verdict: Verdict) -> Markup {
    html! {
        span.verdict data-verdict=(verdict.word()) {
            span.glyph aria-hidden="true" { (verdict.glyph()) } (verdict.word())
        }
    }
}

/// The verdict of a page with its sentence.
pub fn verdict_line(verdict: Verdict, sentence: &str) -> Markup {
    html! {
        div.verdict-line data-testid="verdict" data-verdict=(verdict.word()) {
            (mark(verdict)) p { (Words(sentence)) }
        }
    }
}
