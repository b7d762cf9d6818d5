//! From the readings of all pieces to one verdict.

use karat_text::similar::Folded;
use karat_types::{Cap, ChunkFold, DiagnosticSpec, Dimension, FieldType, Note, Score};
use serde_json::{Map, Value};

use super::case::{Case, Piece};
use super::reply::{Grade, Reading};
use super::setup::Setup;
use super::verdict::{Verdict, counted};
use super::{caps, overall};

/// Similarity from which two findings of different pieces are one.
const SAME_FINDING: f64 = 0.85;

/// Under which the diagnostics say why only a part of a reply counts.
const DEGRADED: &str = "degraded";

/// The verdict of a judgment whose pieces were all read.
pub(super) fn verdict(setup: &Setup, case: &Case, readings: Vec<Reading>, notes: Vec<Note>) -> Verdict {
    let rubric = &setup.rubric;
    let holding: Vec<&Cap> = case.caps.iter().filter_map(|at| setup.caps.get(*at)).map(|(cap, _)| cap).collect();
    let weights: Vec<f64> = case.pieces.iter().map(|piece| piece.weight).collect();
    let graded: Vec<Score> = rubric
        .dimensions
        .iter()
        .enumerate()
        .map(|(at, dimension)| {
            let grades: Vec<&Grade> = readings.iter().filter_map(|reading| reading.grades.get(at)).collect();
            caps::enforce(holding.iter().copied(), &dimension.name, grade(dimension.chunks, &grades, &weights))
        })
        .collect();
    let by_dimension: Vec<(&Dimension, &Score)> = rubric.dimensions.iter().zip(&graded).collect();
    let composite = rubric.overall.as_ref().map(|spec| {
        let given: Vec<&Grade> = readings.iter().filter_map(|reading| reading.overall.as_ref()).collect();
        let given = (!given.is_empty()).then(|| grade(ChunkFold::Weighted, &given, &weights));
        let score = overall::overall(spec, &by_dimension, given.as_ref());
        (spec.id.clone(), caps::enforce(holding.iter().copied(), &spec.id, score))
    });
    let names = rubric.dimensions.iter().map(|dimension| dimension.name.clone());
    Verdict {
        diagnostics: diagnostics(setup, &case.pieces, &readings),
        caps: holding.iter().map(|cap| cap.id.clone()).collect(),
        rung: readings.iter().map(|reading| reading.rung).max(),
        shuffle_seed: case.shuffle_seed,
        mode: case.mode,
        reasoning: reasoning(&readings),
        notes: counted(notes.into_iter().chain(readings.into_iter().flat_map(|reading| reading.notes))),
        scores: names.zip(graded).chain(composite).collect(),
        error: None,
    }
}

/// One score of the grades of all pieces. A piece without a number leaves the whole without one.
fn grade(fold: ChunkFold, grades: &[&Grade], weights: &[f64]) -> Score {
    let Some(values) = grades.iter().map(|grade| grade.value).collect::<Option<Vec<f64>>>() else {
        return Score::unscored("the judge's reply holds no valid score for it");
    };
    let value = match fold {
        ChunkFold::Weighted => weighted(&values, weights),
        ChunkFold::Min => values.iter().copied().reduce(f64::min),
        ChunkFold::Max => values.iter().copied().reduce(f64::max),
    };
    let reasons: Vec<&str> = grades.iter().filter_map(|grade| grade.reason.as_deref()).collect();
    match value {
        None => Score::unscored("the judge graded nothing"),
        Some(value) if reasons.is_empty() => Score::value(value),
        Some(value) => Score::because(value, reasons.join(" / ")),
    }
}

/// Σwx/Σw; a single value is itself, bit for bit.
fn weighted(values: &[f64], weights: &[f64]) -> Option<f64> {
    if let [only] = values {
        return Some(*only);
    }
    let total: f64 = weights.iter().take(values.len()).sum();
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    (total > 0.0).then_some(sum / total)
}

fn reasoning(readings: &[Reading]) -> String {
    match readings {
        [only] => only.rationale.clone(),
        several => {
            let parts = several.iter().enumerate();
            let parts =
                parts.map(|(at, reading)| format!("[part {} of {}] {}", at + 1, several.len(), reading.rationale));
            parts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The findings of all readings; where a reply counts only in part, `degraded` says why.
fn diagnostics(setup: &Setup, pieces: &[Piece], readings: &[Reading]) -> Map<String, Value> {
    let mut found = findings(setup, pieces, readings);
    let degraded: Vec<&str> = readings.iter().filter_map(|reading| reading.degraded.as_deref()).collect();
    if !degraded.is_empty() {
        found.insert(DEGRADED.to_owned(), degraded.join("; ").into());
    }
    found
}

fn findings(setup: &Setup, pieces: &[Piece], readings: &[Reading]) -> Map<String, Value> {
    if let [only] = readings {
        return only.diagnostics.clone();
    }
    let lists = setup.rubric.diagnostics.iter().map(|spec| {
        let found: Vec<&[Value]> = readings
            .iter()
            .map(|reading| reading.diagnostics.get(&spec.name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice))
            .collect();
        (spec.name.clone(), Value::Array(unite(spec, pieces, &found)))
    });
    let breakdowns = setup.rubric.breakdowns.iter().map(|spec| {
        let tables: Vec<&Value> = readings.iter().filter_map(|reading| reading.diagnostics.get(&spec.name)).collect();
        let weights: Vec<f64> = pieces.iter().map(|piece| piece.weight).collect();
        (spec.name.clone(), mean_table(&tables, &weights))
    });
    lists.chain(breakdowns).collect()
}

/// The findings of all pieces, equal ones once. An `all` finding stands only where every piece that could see it names it:
/// a claim that was sent to some pieces only is judged by those.
fn unite(spec: &DiagnosticSpec, pieces: &[Piece], found: &[&[Value]]) -> Vec<Value> {
    let read: Vec<Vec<Finding>> =
        found.iter().map(|items| items.iter().map(|item| Finding::new(spec, item)).collect()).collect();
    let routed: Vec<Vec<Folded>> =
        pieces.iter().map(|piece| piece.routed.iter().map(|item| Folded::new(&words(item))).collect()).collect();
    let names = |piece: usize, finding: &Finding| {
        read.get(piece).is_some_and(|known| known.iter().any(|other| other.is(finding)))
    };
    let sees = |piece: usize, finding: &Finding| {
        routed.get(piece).is_some_and(|shown| shown.iter().any(|it| it.is_similar(&finding.text, SAME_FINDING)))
    };
    let mut kept: Vec<&Finding> = Vec::new();
    let mut united = Vec::new();
    for (items, findings) in found.iter().zip(&read) {
        for (item, finding) in items.iter().zip(findings) {
            let known = kept.iter().any(|other| other.is(finding));
            let sent: Vec<usize> = (0..found.len()).filter(|piece| sees(*piece, finding)).collect();
            let judges = if sent.is_empty() { (0..found.len()).collect() } else { sent };
            let stands = !spec.all_chunks || judges.into_iter().all(|piece| names(piece, finding));
            if !known && stands {
                kept.push(finding);
                united.push(item.clone());
            }
        }
    }
    match spec.max {
        Some(max) => united.into_iter().take(max as usize).collect(),
        None => united,
    }
}

/// A finding as it is compared: its texts by similarity, positions in lists exactly, words such as a severity not at all.
struct Finding {
    text: Folded,
    positions: Vec<Value>,
}

impl Finding {
    fn new(spec: &DiagnosticSpec, item: &Value) -> Self {
        let fields = |wanted: fn(&FieldType) -> bool| {
            spec.fields.iter().filter(move |(_, kind)| wanted(kind)).filter_map(|(name, _)| item.get(name))
        };
        let texts: Vec<String> = fields(FieldType::is_text).map(words).collect();
        let text = if texts.is_empty() { words(item) } else { texts.join(" | ") };
        let positions = fields(|kind| matches!(kind, FieldType::IndexOf(_) | FieldType::Integer | FieldType::Number));
        Self { text: Folded::new(&text), positions: positions.cloned().collect() }
    }

    fn is(&self, other: &Self) -> bool {
        self.positions == other.positions && self.text.is_similar(&other.text, SAME_FINDING)
    }
}

/// All texts and numbers of a value.
fn words(item: &Value) -> String {
    match item {
        Value::Object(members) => members.values().map(words).collect::<Vec<_>>().join(" | "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
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
            weighted(&values, &weights).map_or(Value::Null, Value::from)
        }
    }
}
