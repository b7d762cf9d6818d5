//! One grade for the routed members of several pieces.
//!
//! A member without a certain place is shown with several pieces, and a judge that names it in a piece without its evidence
//! deducts points wrongly. So the cost of each named member is separated from the rest and counted as the whole list would
//! be graded: not at all where another piece confirms the member, else once.
//!
//! Piece *p* shows *n* members, names *h* of them in `all` findings, and grades *d* below the best of a scale with range *R*.
//! A named member costs *u* = min(*d*/*h*, *R*/*n*) there, and the rest *d* − *hu* is about all of its members. With *w* = 1/*k*
//! for a member that *k* pieces show, and *W* the sum of *w* over a piece:
//!
//! grade = best − Σ over pieces ((*d* − *hu*)·*W* + Σ over its members that every piece showing them names, of *u*·*n*·*w*) / Σ *W*
//!
//! This differs from a mean only for a judge that counts: each piece's grade is the share of members that it does not name,
//! *d* = *R*·*h*/*n*, within half a tenth of the scale. Other grades do not show the cost of a member (a judge that grades all
//! pieces alike deducts nothing for it), so the grade stays between the lowest and the highest of its pieces.

use std::collections::BTreeSet;

use karat_types::{Better, Dimension, FindingMerge};

use crate::judge::chunks::merge_findings::PieceFindings;
use crate::judge::chunks::routed_members::RoutedMembers;

/// The largest distance of a counting judge's grade from the share it counts, as a part of the scale: half a point of ten.
const ROUNDED: f64 = 0.05;

/// A piece's members, and what its judge names among them.
pub(crate) struct PieceMembers {
    shown: usize,
    named: Vec<NamedMember>,
}

/// A member that a piece's judge names.
struct NamedMember {
    /// 1/k where k pieces show it.
    weight: f64,
    /// True if every piece that shows it names it.
    named_by_all: bool,
}

/// The members of each piece, and those that its judge names.
pub(crate) fn members_of_pieces(
    members: &RoutedMembers,
    pieces: usize,
    findings: &[PieceFindings],
) -> Vec<PieceMembers> {
    let mut named = vec![BTreeSet::new(); pieces];
    for findings in findings.iter().filter(|findings| findings.spec.chunks == FindingMerge::All) {
        named.iter_mut().zip(findings.named_members()).for_each(|(members, of_kind)| members.extend(of_kind));
    }
    let everywhere = members.named_everywhere(&named);
    let pieces = named.iter().enumerate().map(|(piece, named)| {
        let shown = members.members_of_piece(piece);
        let named = shown.intersection(named).map(|member| NamedMember {
            weight: 1.0 / members.pieces_of(*member) as f64,
            named_by_all: everywhere.contains(member),
        });
        PieceMembers { shown: shown.len(), named: named.collect() }
    });
    pieces.collect()
}

/// The grade of all members; `graded` holds each piece's members, grade and *W*. `None` where no member that several pieces
/// show is named, so that the mean of the pieces says the same, or where there are no members.
pub(crate) fn grade(dimension: &Dimension, graded: &[(&PieceMembers, f64, f64)]) -> Option<f64> {
    let is_shared = |members: &PieceMembers| members.named.iter().any(|named| named.weight < 1.0);
    let total: f64 = graded.iter().map(|(_, _, weight)| weight).sum();
    if total <= 0.0 || !graded.iter().any(|(members, ..)| is_shared(members)) {
        return None;
    }
    let (lo, hi) = dimension.scale.bounds();
    let best = if dimension.better == Better::Lower { lo } else { hi };
    let lost = graded.iter().map(|(members, value, weight)| members.loss((best - value).abs(), hi - lo, *weight));
    let share = lost.sum::<f64>() / total;
    let grade = if dimension.better == Better::Lower { lo + share } else { hi - share };
    let counts = graded.iter().all(|(members, value, _)| members.grade_is_share((best - value).abs(), hi - lo));
    let grades = || graded.iter().map(|(_, value, _)| *value);
    let (least, most) = if counts { (lo, hi) } else { (grades().fold(hi, f64::min), grades().fold(lo, f64::max)) };
    Some(grade.clamp(least, most))
}

impl PieceMembers {
    /// True if a piece's shortfall is the share of the scale that its judge names of its members.
    fn grade_is_share(&self, shortfall: f64, range: f64) -> bool {
        let share = self.named.len() as f64 / self.shown.max(1) as f64;
        self.shown == 0 || (shortfall - share * range).abs() <= ROUNDED * range
    }

    /// The weighted loss of a piece that grades `shortfall` below the best.
    fn loss(&self, shortfall: f64, range: f64, weight: f64) -> f64 {
        let (shown, named) = (self.shown as f64, self.named.len() as f64);
        if named < 1.0 {
            return shortfall * weight;
        }
        let each = (shortfall / named).min(range / shown);
        let deducted: f64 = self.named.iter().filter(|it| it.named_by_all).map(|it| it.weight).sum();
        (shortfall - named * each) * weight + each * shown * deducted
    }
}

#[cfg(test)]
mod tests {
    use karat_types::Scale;

    use super::*;

    fn dimension() -> Dimension {
        let scale = Scale::Range { lo: 0.0, hi: 10.0, step: None };
        serde_json::from_value(serde_json::json!({"name": "accuracy", "scale": scale, "weight": 1})).unwrap()
    }

    fn members(shown: usize, named: &[(f64, bool)]) -> PieceMembers {
        PieceMembers {
            shown,
            named: named
                .iter()
                .map(|(weight, stands)| NamedMember { weight: *weight, named_by_all: *stands })
                .collect(),
        }
    }

    fn assert_grade(graded: &[(&PieceMembers, f64, f64)], expected: f64) {
        let grade = grade(&dimension(), graded).unwrap();
        assert!((grade - expected).abs() < 1e-12, "{grade}");
    }

    /// CL-14: five pieces with four members each, and one member that all are shown. Where one piece bears it out it costs
    /// nothing; where none does it costs what one of 21 costs.
    #[test]
    fn a_member_of_all_pieces_counts_once_or_not_at_all() {
        let (refuted, silent, invented) = (members(5, &[(0.2, false)]), members(5, &[]), members(5, &[(0.2, true)]));
        let mut borne_out = vec![(&refuted, 8.0, 4.2); 4];
        borne_out.push((&silent, 10.0, 4.2));
        assert_grade(&borne_out, 10.0);
        assert_grade(&[(&invented, 8.0, 4.2); 5], 10.0 * 20.0 / 21.0);
    }

    /// CL-14: a judge that gives every piece the same grade gives the whole that grade, whatever it names; no judge's grade of
    /// the whole is outside of those of the pieces, unless it counts.
    #[test]
    fn a_grade_that_is_no_count_stays_within_its_pieces() {
        let (many, few) = (members(6, &[(0.2, false), (0.2, true)]), members(3, &[(0.2, false)]));
        for value in [0.0, 2.0, 4.0, 9.0, 10.0] {
            assert_eq!(grade(&dimension(), &[(&many, value, 4.4), (&few, value, 1.4)]), Some(value), "{value}");
        }
        let grade = grade(&dimension(), &[(&many, 2.0, 4.4), (&few, 3.0, 1.4)]).unwrap();
        assert!((2.0..=3.0).contains(&grade), "{grade}");
    }

    /// Points that a judge deducts beyond its named members stay deducted.
    #[test]
    fn other_faults_stay() {
        let (refuted, silent) = (members(5, &[(0.5, false)]), members(5, &[]));
        assert_grade(&[(&refuted, 4.0, 4.5), (&silent, 6.0, 4.5)], (6.0 + 6.0) / 2.0);
        let own = members(4, &[(1.0, true)]);
        assert_eq!(grade(&dimension(), &[(&own, 7.5, 4.0), (&silent, 10.0, 4.0)]), None);
        assert_eq!(grade(&dimension(), &[(&refuted, 5.0, 0.0)]), None);
    }
}
