//! From the readings of all pieces to one verdict.

use karat_types::{Cap, ChunkMerge, Dimension, Note, Score};
use serde_json::{Map, Value};

use super::coverage;
use super::split::Weight;
use crate::judge::chunks::member_grades;
use crate::judge::chunks::member_grades::PieceMembers;
use crate::judge::chunks::merge_findings::PieceFindings;
use crate::judge::chunks::routed_members::RoutedMembers;
use crate::judge::reply::{Grade, Reading};
use crate::judge::round::prepare::{Piece, PreparedRound};
use crate::judge::rubric::compiled::{Aspect, CompiledRubric};
use crate::judge::rubric::{caps, overall};
use crate::judge::verdict::{Verdict, count_notes};

/// Under which the diagnostics say why only a part of a reply counts.
const DEGRADED: &str = "degraded";

/// The verdict of a judgment whose pieces were all read.
pub(crate) fn verdict(
    setup: &CompiledRubric,
    round: &PreparedRound,
    readings: Vec<Reading>,
    notes: Vec<Note>,
) -> Verdict {
    let rubric = &setup.rubric;
    let holding: Vec<&Cap> = round.caps.iter().filter_map(|at| setup.caps.get(*at)).map(|(cap, _)| cap).collect();
    let members = RoutedMembers::new(&round.pieces);
    let findings = findings_by_kind(setup, &members, &round.pieces, &readings);
    let piece_members = member_grades::members_of_pieces(&members, round.pieces.len(), &findings);
    let diagnostics = diagnostics(setup, &members, &findings, &round.pieces, &readings);
    let is_degraded = readings.iter().any(|reading| reading.degraded.is_some());
    let listed = |name: &str| diagnostics.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let graded: Vec<Score> = scores(setup, &piece_members, &round.pieces, &readings)
        .zip(&setup.shares)
        .map(|(score, share)| share.as_ref().map_or(score, |share| share.score(listed(&share.list), is_degraded)))
        .zip(&rubric.dimensions)
        .map(|(score, dimension)| caps::enforce(holding.iter().copied(), &dimension.name, score))
        .collect();
    let by_dimension: Vec<(&Dimension, &Score)> = rubric.dimensions.iter().zip(&graded).collect();
    let composite = rubric.overall.as_ref().map(|spec| {
        let weighed = readings.iter().zip(&round.pieces);
        let given: Vec<(&Grade, Weight)> =
            weighed.filter_map(|(reading, piece)| Some((reading.overall.as_ref()?, piece.weight))).collect();
        let given = (!given.is_empty()).then(|| grade(ChunkMerge::Weighted, &given));
        let score = overall::overall(spec, &by_dimension, given.as_ref());
        (spec.id.clone(), caps::enforce(holding.iter().copied(), &spec.id, score))
    });
    let names = rubric.dimensions.iter().map(|dimension| dimension.name.clone());
    Verdict {
        diagnostics,
        caps: holding.iter().map(|cap| cap.id.clone()).collect(),
        rung: readings.iter().map(|reading| reading.rung).max(),
        shuffle_seed: round.shuffle_seed,
        mode: round.mode,
        reasoning: reasoning(&round.pieces, &readings),
        notes: count_notes(notes.into_iter().chain(readings.into_iter().flat_map(|reading| reading.notes))),
        scores: names.zip(graded).chain(composite).collect(),
        rounds: Vec::new(),
        error: None,
        unread: Vec::new(),
    }
}

/// The score of each dimension, of all pieces.
fn scores(
    setup: &CompiledRubric,
    piece_members: &[PieceMembers],
    pieces: &[Piece],
    readings: &[Reading],
) -> impl Iterator<Item = Score> {
    setup.rubric.dimensions.iter().map(move |dimension| {
        let graded: Vec<(&PieceMembers, &Grade, Weight)> = piece_members
            .iter()
            .zip(pieces)
            .zip(readings)
            .filter_map(|((members, piece), reading)| {
                let asked = &setup.view(piece.aspect).rubric.dimensions;
                let at = asked.iter().position(|known| known.name == dimension.name)?;
                Some((members, reading.grades.get(at)?, piece.weight))
            })
            .collect();
        let grades: Vec<(&Grade, Weight)> = graded.iter().map(|(_, grade, weight)| (*grade, *weight)).collect();
        match (dimension.chunks, grade(dimension.chunks, &grades)) {
            (ChunkMerge::Members, Score::Value { value, reason, .. }) => {
                let numbers =
                    graded.iter().filter_map(|(members, it, weight)| Some((*members, it.value?, weight.members)));
                let grade = member_grades::grade(dimension, &numbers.collect::<Vec<_>>());
                Score::value(grade.unwrap_or(value)).with_reason(reason)
            }
            (_, score) => score,
        }
    })
}

/// One score of the grades of all pieces. A piece without a number leaves the whole without one.
fn grade(merge: ChunkMerge, grades: &[(&Grade, Weight)]) -> Score {
    let Some(values) = grades.iter().map(|(grade, _)| grade.value).collect::<Option<Vec<f64>>>() else {
        return Score::unscored("the judge's reply holds no valid score for it");
    };
    let by = |weight: fn(&Weight) -> f64| -> Vec<f64> { grades.iter().map(|(_, it)| weight(it)).collect() };
    let lengths = by(|weight| weight.length);
    let value = match merge {
        ChunkMerge::Weighted | ChunkMerge::Once => weighted_mean(&values, &lengths),
        ChunkMerge::Members => {
            weighted_mean(&values, &by(|weight| weight.members)).or_else(|| weighted_mean(&values, &lengths))
        }
        ChunkMerge::Min => values.iter().copied().reduce(f64::min),
        ChunkMerge::Max => values.iter().copied().reduce(f64::max),
    };
    let reasons: Vec<&str> = grades.iter().filter_map(|(grade, _)| grade.reason.as_deref()).collect();
    match value {
        None => Score::unscored("the judge graded nothing"),
        Some(value) if reasons.is_empty() => Score::value(value),
        Some(value) => Score::value_because(value, reasons.join(" / ")),
    }
}

/// Σwx/Σw, which no rounding moves beyond the values; a single one is itself, bit for bit.
fn weighted_mean(values: &[f64], weights: &[f64]) -> Option<f64> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    if values.len() == 1 {
        return Some(least);
    }
    let total: f64 = weights.iter().take(values.len()).sum();
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    (total > 0.0).then(|| (sum / total).clamp(least, most))
}

fn reasoning(pieces: &[Piece], readings: &[Reading]) -> String {
    if let [only] = readings {
        return only.rationale.clone();
    }
    let count = pieces.iter().filter(|piece| piece.aspect != Aspect::Once).count();
    let parts = pieces.iter().zip(readings).enumerate().map(|(at, (piece, reading))| match piece.aspect {
        Aspect::Once => format!("[beside the parts] {}", reading.rationale),
        _ => format!("[part {} of {count}] {}", at + 1, reading.rationale),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The findings of all readings; where a reply counts only in part, `degraded` says why.
fn diagnostics(
    setup: &CompiledRubric,
    members: &RoutedMembers,
    findings: &[PieceFindings],
    pieces: &[Piece],
    readings: &[Reading],
) -> Map<String, Value> {
    let mut diagnostics = match readings {
        [only] => only.diagnostics.clone(),
        _ => merged_findings(setup, members, findings, pieces, readings),
    };
    let degraded: Vec<&str> = readings.iter().filter_map(|reading| reading.degraded.as_deref()).collect();
    if !degraded.is_empty() {
        diagnostics.insert(DEGRADED.to_owned(), degraded.join("; ").into());
    }
    if let Some(coverage) = coverage::of(setup, members, pieces, readings) {
        diagnostics.entry(coverage::NAME).or_insert(coverage);
    }
    diagnostics
}

/// The findings of each piece, by kind.
fn findings_by_kind<'a>(
    setup: &'a CompiledRubric,
    members: &RoutedMembers,
    pieces: &[Piece],
    readings: &'a [Reading],
) -> Vec<PieceFindings<'a>> {
    let kinds = setup.rubric.diagnostics.iter().map(|spec| {
        let asked = |piece: &Piece| setup.view(piece.aspect).rubric.diagnostics.iter().any(|it| it.name == spec.name);
        let items = pieces.iter().zip(readings).map(|(piece, reading)| {
            let items = reading.diagnostics.get(&spec.name).and_then(Value::as_array);
            asked(piece).then(|| items.map_or(&[][..], Vec::as_slice))
        });
        PieceFindings::new(spec, members, items)
    });
    kinds.collect()
}

/// The findings of several pieces as one.
fn merged_findings(
    setup: &CompiledRubric,
    members: &RoutedMembers,
    findings: &[PieceFindings],
    pieces: &[Piece],
    readings: &[Reading],
) -> Map<String, Value> {
    let lists = findings.iter().map(|findings| {
        let share = setup.shares.iter().flatten().find(|share| share.list == findings.spec.name);
        let counts = |finding: &Value| share.is_some_and(|share| share.holds(finding).unwrap_or(false));
        (findings.spec.name.clone(), Value::Array(findings.merge(members, counts)))
    });
    let breakdowns = setup.rubric.breakdowns.iter().map(|spec| {
        let tables: Vec<&Value> = readings.iter().filter_map(|reading| reading.diagnostics.get(&spec.name)).collect();
        let weights: Vec<f64> = pieces.iter().map(|piece| piece.weight.length).collect();
        (spec.name.clone(), mean_table(&tables, &weights))
    });
    lists.chain(breakdowns).collect()
}

/// The weighted mean of each number; a null (not applicable) is left out.
fn mean_table(tables: &[&Value], weights: &[f64]) -> Value {
    match tables.first() {
        Some(Value::Object(members)) => {
            let means = members.keys().map(|key| {
                let inner: Vec<&Value> = tables.iter().map(|table| table.get(key).unwrap_or(&Value::Null)).collect();
                (key.clone(), mean_table(&inner, weights))
            });
            Value::Object(means.collect())
        }
        _ => {
            let numbers = tables.iter().zip(weights).filter_map(|(value, weight)| Some((value.as_f64()?, *weight)));
            let (values, weights): (Vec<f64>, Vec<f64>) = numbers.unzip();
            weighted_mean(&values, &weights).map_or(Value::Null, Value::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-14: equal grades of all pieces are the grade of the whole, whatever the pieces weigh.
    #[test]
    fn a_mean_lies_within_its_values() {
        let weights = [0.1, 0.2, 1.0 / 3.0, 0.7, 1e-9, 12.3];
        assert_eq!(weighted_mean(&[10.0; 6], &weights), Some(10.0));
        assert_eq!(weighted_mean(&[0.1; 6], &weights), Some(0.1));
        assert_eq!((weighted_mean(&[], &[]), weighted_mean(&[1.0, 2.0], &[0.0, 0.0])), (None, None));
        assert_eq!(weighted_mean(&[1.0, 4.0], &[2.0, 1.0]), Some(2.0));
    }
}
