//! A record of which piece judged which part of a cut document and of its routed lists.

use serde_json::{Map, Value, json};

use crate::judge::chunks::routed_members::RoutedMembers;
use crate::judge::reply::Reading;
use crate::judge::round::prepare::Piece;
use crate::judge::rubric::compiled::CompiledRubric;

/// The key of the record in a judgment's diagnostics.
pub(crate) const NAME: &str = "chunks";

/// The account of a document that was judged in pieces; `None` where none was cut:
///
/// `{length, judged, members, placed, parts: [{from, to, members, scores{}, findings{}}]}`. `length` and `judged` are bytes
/// of the document, `members` are those of routed lists, of which `placed` have their evidence in some pieces only. Of
/// each part: its bytes, the members that it judges (one in `k` parts counts `1/k`), its grades, and how many findings it
/// names.
pub(crate) fn of(
    setup: &CompiledRubric,
    members: &RoutedMembers,
    pieces: &[Piece],
    readings: &[Reading],
) -> Option<Value> {
    let parts: Vec<(&Piece, &Reading)> =
        pieces.iter().zip(readings).filter(|(piece, _)| piece.span.is_some()).collect();
    let length = parts.iter().filter_map(|(piece, _)| Some(piece.span.as_ref()?.end)).max()?;
    let judged: f64 = parts.iter().map(|(piece, _)| piece.weight.length).sum();
    let member_weight: f64 = parts.iter().map(|(piece, _)| piece.weight.members).sum();
    let unplaced = (0..members.len()).filter(|member| members.pieces_of(*member) == parts.len()).count();
    let listed: Vec<Value> = parts.iter().map(|(piece, reading)| part(setup, piece, reading)).collect();
    Some(json!({
        "length": length,
        "judged": judged.round() as u64,
        "members": member_weight.round() as u64,
        "placed": (member_weight.round() as u64).saturating_sub(unplaced as u64),
        "parts": listed,
    }))
}

fn part(setup: &CompiledRubric, piece: &Piece, reading: &Reading) -> Value {
    let asked = &setup.view(piece.aspect).rubric;
    let scores: Map<String, Value> = asked
        .dimensions
        .iter()
        .zip(&reading.grades)
        .map(|(dimension, grade)| (dimension.name.clone(), json!(grade.value)))
        .collect();
    let findings: Map<String, Value> = asked
        .diagnostics
        .iter()
        .map(|spec| {
            let count = reading.diagnostics.get(&spec.name).and_then(Value::as_array).map_or(0, Vec::len);
            (spec.name.clone(), json!(count))
        })
        .collect();
    let span = piece.span.clone().unwrap_or_default();
    let members = (piece.weight.members * 1000.0).round() / 1000.0;
    json!({"from": span.start, "to": span.end, "members": members, "scores": scores, "findings": findings})
}
