//! `evidence_position`: tests whether the position of evidence in a long text affects its judgment.
//!
//! A chunked judgment stores the grades and findings of each chunk (`diagnostics.chunks.parts`). Each chunk of a
//! sample's text, averaged over all cells that a judge saw it for, is compared with the other chunks of the same text:
//! `trend` is the least-squares slope over the relative position of the chunk's middle (0 = beginning, 1 = end),
//! `middle` the slope over 1 − |2·position − 1|, which shows judges that lose the middle. Findings are counted per
//! 1,000 bytes of the chunk.
//!
//! Intervals are cluster-robust over the samples' clusters, or over chunks if fewer than five texts were chunked; then
//! they apply to these texts only. A slope is a hint, not a proof: outputs may be worse at that position, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_stats::interval::Level;
use karat_types::{AnalysisSpec, FindingMerge, PlanHeader, RubricScorer, ScorerKind};
use serde::Serialize;
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, options};
use crate::figures::slope::{center_within_groups, slope};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::Observations;

/// Findings are counted per this number of bytes.
const BYTES: f64 = 1_000.0;

/// Effects of the position of evidence in chunked texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidencePosition {
    /// By judge and measure.
    pub effects: Vec<PlaceEffect>,
}

/// The effect of position on one measure of a judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlaceEffect {
    /// The judge.
    pub judge: String,
    /// Scorer and dimension, or scorer and list of findings.
    pub name: String,
    /// A grade, or findings.
    pub of: PlaceMeasure,
    /// Number of chunked texts.
    pub texts: u64,
    /// Number of their chunks: n of the slopes.
    pub pieces: u64,
    /// Mean over the chunks in the first, second and last third of their text.
    pub beginning: Option<Finding>,
    /// See `beginning`.
    pub middle_third: Option<Finding>,
    /// See `beginning`.
    pub end: Option<Finding>,
    /// Change from the beginning of a text to its end.
    pub trend: Finding,
    /// Change from both ends of a text to its middle. `None` if no text has three chunks.
    pub middle: Option<Finding>,
    /// The unit of the slopes' intervals.
    pub over: PlaceUnit,
}

/// The measure compared between chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceMeasure {
    /// The grade in a dimension.
    Grade,
    /// Findings per 1,000 bytes.
    Findings,
}

/// The unit that an interval generalises over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceUnit {
    /// Texts, by their clusters: it applies to other texts.
    Texts,
    /// Chunks: it applies to these texts only.
    Pieces,
}

/// Judge, scorer, kind and name of a measure.
type MeasureKey = (u16, u16, PlaceMeasure, String);

/// Sample, first and last byte of a chunk.
type Piece = (usize, u64, u64);

#[derive(Debug, Clone, Copy, Default)]
struct PieceScore {
    /// Relative position of the chunk's middle, 0 to 1.
    place: f64,
    sum: f64,
    times: u32,
}

struct EvidencePositionFold {
    plan: Arc<PlanHeader>,
    said: BTreeMap<MeasureKey, BTreeMap<Piece, PieceScore>>,
}

/// Runs only if a scorer shows its judges a value that may be chunked.
pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    let cut = (0..plan.scorers.len()).filter_map(|at| rubric(plan, at)).any(|it| {
        let mut shown = it.rubric.show.iter();
        shown.any(|item| item.chunk.is_some())
    });
    Ok(cut.then(|| Box::new(EvidencePositionFold { plan: plan.clone(), said: BTreeMap::new() }) as Box<dyn Analysis>))
}

fn rubric(plan: &PlanHeader, scorer: usize) -> Option<&RubricScorer> {
    match &plan.scorers.get(scorer)?.kind {
        ScorerKind::Rubric(rubric) => Some(rubric),
        ScorerKind::Metric { .. } => None,
    }
}

impl Analysis for EvidencePositionFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        for judgment in cell.row.judgments {
            let Some(account) = judgment.diagnostics.get("chunks") else { continue };
            let length = account.get("length").and_then(Value::as_f64).unwrap_or_default();
            let parts = account.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for part in parts {
                self.part((judgment.judge, judgment.scorer), cell.sample, length, part);
            }
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let level = context.measures.first().map_or(Level::P95, |it| it.level);
        let effects = self.said.iter().filter_map(|(what, pieces)| self.effect(what, pieces, context, level));
        Outcome::EvidencePosition(EvidencePosition { effects: effects.collect() })
    }
}

impl EvidencePositionFold {
    fn part(&mut self, (judge, scorer): (u16, u16), sample: usize, length: f64, part: &Value) {
        let bound = |key: &str| part.get(key).and_then(Value::as_u64);
        let (Some(from), Some(to)) = (bound("from"), bound("to")) else { return };
        let bytes = to.saturating_sub(from) as f64;
        if bytes <= 0.0 || length <= 0.0 {
            return;
        }
        let place = ((from + to) as f64 / 2.0 / length).clamp(0.0, 1.0);
        let plan = self.plan.clone();
        let about_text = |name: &str| {
            let mut lists = rubric(&plan, scorer.into()).map(|it| it.rubric.diagnostics.iter()).into_iter().flatten();
            lists.any(|it| it.name == name && it.chunks == FindingMerge::Any)
        };
        let numbers = |key: &str| part.get(key).and_then(Value::as_object).into_iter().flatten();
        let grades = numbers("scores").map(|(name, value)| (PlaceMeasure::Grade, name, value.as_f64()));
        let findings = numbers("findings")
            .filter(|(name, _)| about_text(name))
            .map(|(name, value)| (PlaceMeasure::Findings, name, value.as_f64().map(|it| it * BYTES / bytes)));
        for (of, name, value) in grades.chain(findings) {
            let Some(value) = value else { continue };
            let pieces = self.said.entry((judge, scorer, of, name.clone())).or_default();
            let said = pieces.entry((sample, from, to)).or_default();
            *said = PieceScore { place, sum: said.sum + value, times: said.times + 1 };
        }
    }

    fn effect(
        &self,
        (judge, scorer, of, name): &MeasureKey,
        pieces: &BTreeMap<Piece, PieceScore>,
        context: &FinishContext<'_>,
        level: Level,
    ) -> Option<PlaceEffect> {
        let judge = self.plan.judges.get(usize::from(*judge))?;
        let scorer = self.plan.scorers.get(usize::from(*scorer))?;
        let samples: Vec<usize> = pieces.keys().map(|(sample, ..)| *sample).collect();
        let places: Vec<f64> = pieces.values().map(|said| said.place).collect();
        let values: Vec<f64> = pieces.values().map(|said| said.sum / f64::from(said.times.max(1))).collect();
        let clusters: Vec<u32> = samples.iter().map(|sample| context.table.cluster(*sample)).collect();
        let third = |at: usize| {
            let mut observed = Observations { clustered: true, ..Observations::default() };
            for ((place, value), cluster) in places.iter().zip(&values).zip(&clusters) {
                if ((place * 3.0) as usize).min(2) == at {
                    observed.push(*value, 0, *cluster);
                }
            }
            Measure::of_mean(false, None, level).figure(&observed)
        };
        let centred = center_within_groups(&samples, &values);
        let over = |feature: fn(f64) -> f64, clusters: &[u32]| {
            let feature: Vec<f64> = places.iter().map(|place| feature(*place)).collect();
            slope(&center_within_groups(&samples, &feature), &centred, clusters, level)
        };
        let inward: fn(f64) -> f64 = |place| 1.0 - (2.0 * place - 1.0).abs();
        let by_text = over(|place| place, &clusters).filter(|it| it.interval().is_some());
        let each: Vec<u32> = (0..pieces.len() as u32).collect();
        let (clusters, unit) = match by_text {
            Some(_) => (&clusters, PlaceUnit::Texts),
            None => (&each, PlaceUnit::Pieces),
        };
        Some(PlaceEffect {
            judge: judge.id.clone(),
            name: format!("{}.{name}", scorer.id),
            of: *of,
            texts: samples.iter().collect::<BTreeSet<_>>().len() as u64,
            pieces: pieces.len() as u64,
            beginning: third(0),
            middle_third: third(1),
            end: third(2),
            trend: over(|place| place, clusters)?,
            middle: over(inward, clusters),
            over: unit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MemoryRun, judged_run};
    use crate::{Options, analyse};
    use karat_types::Score;
    use serde_json::json;

    /// `texts` samples of ten chunks, judged for two systems by a fair judge, one that is harder on the end, and one
    /// that loses the middle.
    fn run(texts: usize) -> MemoryRun {
        let mut run = judged_run(2, texts, &["fair", "tired", "hasty"], json!([]));
        let mut plan = serde_json::to_value(&*run.header.plan).unwrap();
        let rubric = &mut plan["scorers"][0]["kind"]["rubric"]["rubric"];
        rubric["show"][0]["chunk"] = json!({ "overlap": 0 });
        rubric["diagnostics"] = json!([
            { "name": "missing", "fields": [["text", "text"]] },
            { "name": "invented", "fields": [["text", "text"]], "chunks": "all" },
        ]);
        run.header.plan = Arc::new(serde_json::from_value(plan).unwrap());
        for cell in &mut run.cells {
            let (sample, system) = (cell.sample, cell.system);
            for (at, judgment) in cell.judgments.iter_mut().enumerate() {
                let part = |piece: usize| {
                    let place = (piece as f64 + 0.5) / 10.0;
                    let quality = 6.0 + ((sample * 5 + piece * 3 + system) % 7) as f64 / 10.0;
                    let less = [0.0, 2.0 * place, 2.0 * (1.0 - (2.0 * place - 1.0).abs())][at];
                    json!({
                        "from": piece * 1000, "to": (piece + 1) * 1000, "members": 2.0, "scores": {"overall": quality - less},
                        "findings": {"missing": if at == 1 { piece } else { piece * 7 % 4 }, "invented": piece},
                    })
                };
                let parts: Vec<Value> = (0..10).map(part).collect();
                let account = json!({"length": 10_000, "judged": 10_000, "members": 20, "placed": 20, "parts": parts});
                judgment.diagnostics.insert("chunks".to_owned(), account);
                judgment.scores = vec![(0, Score::value(5.0))];
            }
        }
        run
    }

    fn effects(run: &MemoryRun) -> Vec<PlaceEffect> {
        let findings = analyse(run, &Options::default()).unwrap();
        let found = findings.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::EvidencePosition(found) => Some(found.effects.clone()),
            _ => None,
        });
        found.unwrap()
    }

    fn of<'e>(effects: &'e [PlaceEffect], judge: &str, of: PlaceMeasure) -> &'e PlaceEffect {
        effects.iter().find(|it| it.judge == judge && it.of == of).unwrap()
    }

    /// BY-14: a judge that is harder on the end, or loses the middle, is detected; a fair one is not.
    #[test]
    fn position_effects_are_detected() {
        let effects = effects(&run(8));
        assert_eq!(effects.len(), 6, "findings that need every piece's word are left out");
        let grade = |judge: &str| of(&effects, judge, PlaceMeasure::Grade);
        let (fair, tired, hasty) = (grade("fair"), grade("tired"), grade("hasty"));
        assert_eq!((fair.trend.sign(), fair.middle.as_ref().unwrap().sign()), (None, None), "{fair:?}");
        assert_eq!((tired.trend.sign(), hasty.middle.as_ref().unwrap().sign()), (Some(false), Some(false)));
        assert!((tired.trend.value() + 2.0).abs() < 0.2 && hasty.trend.sign().is_none(), "{tired:?}");
        let third = |found: &Option<Finding>| found.as_ref().unwrap().value();
        assert!(third(&tired.beginning) > third(&tired.middle_third) && third(&tired.middle_third) > third(&tired.end));
        assert_eq!((tired.texts, tired.pieces, tired.trend.n(), tired.over), (8, 80, 80, PlaceUnit::Texts));
        assert_eq!(tired.trend.method(), "least squares, cluster t (CR1)");
        let missing = of(&effects, "tired", PlaceMeasure::Findings);
        assert_eq!((missing.name.as_str(), missing.trend.sign()), ("quality.missing", Some(true)));
        assert!((missing.trend.value() - 10.0).abs() < 1e-9, "one more by 1,000 bytes each tenth of the text");
    }

    /// BY-14: a single text is analysed by its chunks.
    #[test]
    fn a_single_text_is_analysed_by_its_chunks() {
        let effects = effects(&run(1));
        let tired = of(&effects, "tired", PlaceMeasure::Grade);
        assert_eq!((tired.over, tired.pieces, tired.trend.sign()), (PlaceUnit::Pieces, 10, Some(false)), "{tired:?}");
    }

    #[test]
    fn whole_texts_have_no_position() {
        let mut run = run(3);
        run.cells.iter_mut().flat_map(|cell| &mut cell.judgments).for_each(|it| it.diagnostics.clear());
        assert!(effects(&run).is_empty());
        let run = judged_run(1, 3, &["judge"], json!([]));
        let findings = analyse(&run, &Options::default()).unwrap();
        assert!(findings.analyses.iter().all(|it| it.analysis != "evidence_position"));
    }
}
