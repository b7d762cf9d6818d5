//! The five dimensions, each a score in 0..=1 and the reason for it.

use std::collections::BTreeSet;

use super::{AhaMoment, Summary};
use crate::metrics::overlap::harmonic_mean;
use crate::metrics::tokenize::words::Words;

/// Bullets match from this Jaccard similarity on.
const SAME_ACTION: f64 = 0.3;
/// Weight of how many moments there are, against which ones.
const COUNT_WEIGHT: f64 = 0.6;
/// The score of moments where the reference has none.
const UNASKED_MOMENTS: f64 = 0.5;

/// The comparison of moments of insight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MomentOverlap {
    /// By their types, in lower case: |A∩B| / |A∪B|.
    #[default]
    Type,
    /// By their positions `seq`: each matches one of the other side's that lies at most `tolerance` away.
    Position {
        /// Farthest distance of two positions that match; 0 = equal ones only.
        tolerance: u64,
    },
}

/// A dimension's score and why.
pub(super) type Scored = (f64, String);

/// The scores in the order of [`DIMENSIONS`](super::DIMENSIONS).
pub(super) fn scores(reference: &Summary, candidate: &Summary, overlap: MomentOverlap) -> [Scored; 5] {
    [
        title(&reference.title, &candidate.title),
        summary(&reference.summary, &candidate.summary),
        key_actions(&reference.key_actions, &candidate.key_actions),
        outcome(&reference.outcome, &candidate.outcome),
        aha_moments(&reference.aha_moments, &candidate.aha_moments, overlap),
    ]
}

/// Jaccard similarity of the words, × 0.7 where one title has more than twice the words of the other.
fn title(reference: &str, candidate: &str) -> Scored {
    let (reference, candidate) = (Words::of(reference), Words::of(candidate));
    let (expected, given) = (reference.len(), candidate.len());
    let factor = if 2 * given < expected || given > 2 * expected { 0.7 } else { 1.0 };
    similarity(&reference, &candidate, factor)
}

/// Jaccard similarity of the words, × 0.5 where the candidate has less than 0.3 of the reference's words, × 0.8 where it
/// has more than three times as many.
fn summary(reference: &str, candidate: &str) -> Scored {
    let (reference, candidate) = (Words::of(reference), Words::of(candidate));
    let (expected, given) = (reference.len(), candidate.len());
    let factor = match () {
        () if 10 * given < 3 * expected => 0.5,
        () if given > 3 * expected => 0.8,
        () => 1.0,
    };
    similarity(&reference, &candidate, factor)
}

fn similarity(reference: &Words<'_>, candidate: &Words<'_>, factor: f64) -> Scored {
    match (reference.len(), candidate.len()) {
        (0, 0) => (1.0, "both are empty".to_owned()),
        (0, _) => (0.0, "the reference is empty, the candidate is not".to_owned()),
        (_, 0) => (0.0, "the candidate is empty".to_owned()),
        (expected, given) => {
            let overlap = candidate.overlap(reference);
            let jaccard = overlap.jaccard();
            let found = format!("jaccard {jaccard:.3} ({} of {} words shared)", overlap.shared, overlap.all);
            if factor < 1.0 {
                let reason = format!("{found}, × {factor} for length: {given} words against {expected}");
                (jaccard * factor, reason)
            } else {
                (jaccard, found)
            }
        }
    }
}

/// F1 of the bullets: recall = the reference's that have a similar one among the candidate's, precision = the other way.
fn key_actions(reference: &[String], candidate: &[String]) -> Scored {
    match (reference, candidate) {
        ([], []) => return (1.0, "both are empty".to_owned()),
        ([], _) => return (0.0, "the reference has no key action, the candidate has some".to_owned()),
        (_, []) => return (0.0, "the candidate has no key action".to_owned()),
        _ => {}
    }
    let (expected, given) = (bullets(reference), bullets(candidate));
    let (found, right) = (count_matches(&expected, &given), count_matches(&given, &expected));
    let (recall, precision) = (share(found, expected.len()), share(right, given.len()));
    let f1 = harmonic_mean(precision, recall);
    let reason = format!(
        "recall {recall:.3} ({found} of {}), precision {precision:.3} ({right} of {})",
        expected.len(),
        given.len()
    );
    (f1, reason)
}

fn bullets(texts: &[String]) -> Vec<Words<'_>> {
    texts.iter().map(|text| Words::of(text)).collect()
}

/// The number of `bullets` that have a similar one among `others`.
fn count_matches(bullets: &[Words<'_>], others: &[Words<'_>]) -> usize {
    let is_similar = |bullet: &&Words<'_>| others.iter().any(|other| bullet.overlap(other).jaccard() >= SAME_ACTION);
    bullets.iter().filter(is_similar).count()
}

/// 1 where both are equal after trimming and lower-casing.
fn outcome(reference: &str, candidate: &str) -> Scored {
    let fold = |text: &str| text.trim().to_lowercase();
    match (fold(reference), fold(candidate)) {
        (expected, given) if expected == given && expected.is_empty() => (1.0, "both are empty".to_owned()),
        (expected, given) if expected == given => (1.0, format!("{given:?} is right")),
        (expected, given) => (0.0, format!("{given:?}, but the reference says {expected:?}")),
    }
}

/// 0.6 · (1 − |Δcount| / larger count) + 0.4 · overlap.
fn aha_moments(reference: &[AhaMoment], candidate: &[AhaMoment], overlap: MomentOverlap) -> Scored {
    let (expected, given) = (reference.len(), candidate.len());
    match (expected, given) {
        (0, 0) => return (1.0, "both are empty".to_owned()),
        (0, _) => return (UNASKED_MOMENTS, format!("the reference has none, the candidate has {given}")),
        (_, 0) => return (0.0, format!("the candidate has none, the reference has {expected}")),
        _ => {}
    }
    let count = 1.0 - expected.abs_diff(given) as f64 / expected.max(given) as f64;
    let (by, overlap) = match overlap {
        MomentOverlap::Type => ("types", by_type(reference, candidate)),
        MomentOverlap::Position { tolerance } => ("positions", by_position(reference, candidate, tolerance)),
    };
    let reason = format!("count {count:.3} ({given} against {expected}), overlap of {by} {overlap:.3}");
    (COUNT_WEIGHT * count + (1.0 - COUNT_WEIGHT) * overlap, reason)
}

fn by_type(reference: &[AhaMoment], candidate: &[AhaMoment]) -> f64 {
    let kinds = |moments: &[AhaMoment]| -> BTreeSet<String> {
        moments.iter().map(|moment| moment.kind.trim().to_lowercase()).collect()
    };
    let (expected, given) = (kinds(reference), kinds(candidate));
    share(expected.intersection(&given).count(), expected.union(&given).count())
}

/// |A∩B| / |A∪B| of the positions. Two sorted lists are matched one to one, the first that is near enough, which leaves
/// no better matching.
fn by_position(reference: &[AhaMoment], candidate: &[AhaMoment], tolerance: u64) -> f64 {
    let places = |moments: &[AhaMoment]| -> Vec<i64> {
        moments.iter().map(|moment| moment.seq).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let (expected, given) = (places(reference), places(candidate));
    let (mut at, mut other, mut shared) = (0, 0, 0);
    while let (Some(a), Some(b)) = (expected.get(at), given.get(other)) {
        if a.abs_diff(*b) <= tolerance {
            (at, other, shared) = (at + 1, other + 1, shared + 1);
        } else if a < b {
            at += 1;
        } else {
            other += 1;
        }
    }
    share(shared, expected.len() + given.len() - shared)
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
