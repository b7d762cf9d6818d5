//! One grade of routed members out of several pieces (CL-14).
//!
//! A member without a sure place is shown with several pieces, and a judge that names it where its evidence is not takes
//! points off for nothing. So what each named member costs is told apart, and counts as the list as a whole would be
//! graded: not at all where another piece bears the member out, else once.
//!
//! Piece *p* shows *n* members, names *h* of them in `all` findings, and grades *d* below the best of a scale with range *R*.
//! A named member costs *u* = min(*d*/*h*, *R*/*n*) there, and the rest *d* − *hu* is about all of its members. With *w* = 1/*k*
//! for a member that *k* pieces show, and *W* the sum of *w* over a piece:
//!
//! grade = best − Σ over pieces ((*d* − *hu*)·*W* + Σ over its named members that stand of *u*·*n*·*w*) / Σ *W*

use karat_types::{Better, DiagnosticSpec, Dimension, FindingFold};
use serde_json::Value;

use super::case::Piece;
use super::reply::Reading;
use super::setup::Aspect;
use super::unite::{Finding, Said, texts};

/// A piece's members, and what its judge names among them.
pub(super) struct Burden {
    shown: usize,
    named: Vec<Named>,
}

/// A member that a piece's judge names.
struct Named {
    /// 1/k where k pieces show it.
    weight: f64,
    /// Whether every piece that shows it names it.
    stands: bool,
}

/// What each piece's judge names among its members.
pub(super) fn burdens(specs: &[DiagnosticSpec], pieces: &[Piece], readings: &[Reading]) -> Vec<Burden> {
    let all: Vec<&DiagnosticSpec> = specs.iter().filter(|spec| spec.chunks == FindingFold::All).collect();
    let judged = pieces.iter().zip(readings);
    let marked: Vec<Vec<(&Value, bool)>> = judged.map(|(piece, reading)| marked(&all, piece, reading)).collect();
    let burdens = marked.iter().map(|members| {
        let named = members.iter().filter(|(_, is_named)| *is_named).map(|(member, _)| {
            let seen = marked.iter().flat_map(|other| other.iter().find(|(known, _)| known == member));
            let named_by: Vec<bool> = seen.map(|(_, is_named)| *is_named).collect();
            Named { weight: 1.0 / named_by.len() as f64, stands: !named_by.contains(&false) }
        });
        Burden { shown: members.len(), named: named.collect() }
    });
    burdens.collect()
}

/// The members of a piece, each with whether its judge names it.
fn marked<'a>(all: &[&DiagnosticSpec], piece: &'a Piece, reading: &Reading) -> Vec<(&'a Value, bool)> {
    let items = |spec: &&DiagnosticSpec| reading.diagnostics.get(&spec.name).and_then(Value::as_array).cloned();
    let found: Vec<Finding> = all
        .iter()
        .flat_map(|spec| items(spec).unwrap_or_default().into_iter().map(|item| Finding::new(spec, &item)))
        .collect();
    let names = |member: &Value| {
        texts(member).into_iter().map(Said::new).any(|text| found.iter().any(|finding| finding.is_about(&text)))
    };
    // The call beside the pieces shows every member, and is asked for nothing about where they come from.
    let judged = piece.routed.iter().filter(|_| piece.aspect != Aspect::Once);
    judged.map(|member| (member, !found.is_empty() && names(member))).collect()
}

/// The grade of all members; `graded` holds each piece's burden, grade and *W*. `None` where no member that several pieces
/// show is named, so that the mean of the pieces says the same, or where there are no members.
pub(super) fn grade(dimension: &Dimension, graded: &[(&Burden, f64, f64)]) -> Option<f64> {
    let is_shared = |burden: &Burden| burden.named.iter().any(|named| named.weight < 1.0);
    let total: f64 = graded.iter().map(|(_, _, weight)| weight).sum();
    if total <= 0.0 || !graded.iter().any(|(burden, ..)| is_shared(burden)) {
        return None;
    }
    let (lo, hi) = dimension.scale.bounds();
    let best = if dimension.better == Better::Lower { lo } else { hi };
    let lost = graded.iter().map(|(burden, value, weight)| burden.loss((best - value).abs(), hi - lo, *weight));
    let share = lost.sum::<f64>() / total;
    let made = if dimension.better == Better::Lower { lo + share } else { hi - share };
    Some(made.clamp(lo, hi))
}

impl Burden {
    /// What a piece that grades `shortfall` below the best takes off, times its weight.
    fn loss(&self, shortfall: f64, range: f64, weight: f64) -> f64 {
        let (shown, named) = (self.shown as f64, self.named.len() as f64);
        if named < 1.0 {
            return shortfall * weight;
        }
        let each = (shortfall / named).min(range / shown);
        let standing: f64 = self.named.iter().filter(|it| it.stands).map(|it| it.weight).sum();
        (shortfall - named * each) * weight + each * shown * standing
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

    fn burden(shown: usize, named: &[(f64, bool)]) -> Burden {
        Burden {
            shown,
            named: named.iter().map(|(weight, stands)| Named { weight: *weight, stands: *stands }).collect(),
        }
    }

    fn assert_grade(graded: &[(&Burden, f64, f64)], expected: f64) {
        let made = grade(&dimension(), graded).unwrap();
        assert!((made - expected).abs() < 1e-12, "{made}");
    }

    /// CL-14: five pieces with four members each, and one member that all are shown. Where one piece bears it out it costs
    /// nothing; where none does it costs what one of 21 costs.
    #[test]
    fn a_member_of_all_pieces_counts_once_or_not_at_all() {
        let (refuted, silent, invented) = (burden(5, &[(0.2, false)]), burden(5, &[]), burden(5, &[(0.2, true)]));
        let mut borne_out = vec![(&refuted, 8.0, 4.2); 4];
        borne_out.push((&silent, 10.0, 4.2));
        assert_grade(&borne_out, 10.0);
        assert_grade(&[(&invented, 8.0, 4.2); 5], 10.0 * 20.0 / 21.0);
    }

    /// What a judge takes off beyond its named members stays off.
    #[test]
    fn other_faults_stay() {
        let (refuted, silent) = (burden(5, &[(0.5, false)]), burden(5, &[]));
        assert_grade(&[(&refuted, 4.0, 4.5), (&silent, 6.0, 4.5)], (6.0 + 6.0) / 2.0);
        let own = burden(4, &[(1.0, true)]);
        assert_eq!(grade(&dimension(), &[(&own, 7.5, 4.0), (&silent, 10.0, 4.0)]), None);
        assert_eq!(grade(&dimension(), &[(&refuted, 5.0, 0.0)]), None);
    }
}
