//! Merges the grades of several judges of one cell.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::{mean, median, population_variance};
use karat_text::similar::Statement;
use karat_types::{
    CellRow, ConsensusMethod, GameShare, JudgmentRow, OverallMethod, PlanHeader, Score, ScorerKind, all_games,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::score::checks;
use crate::score::reduce::{majority, most_frequent};

/// The merged grade of one cell in one dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Consensus {
    /// The grade by the scorer's rule: mean, median or majority.
    pub value: f64,
    /// Mean of the judges.
    pub mean: f64,
    /// Population variance of the judges (÷ n).
    pub variance: f64,
    /// True if the variance exceeds the scorer's `flag_variance`, or a majority was requested and there is none.
    pub flagged: bool,
    /// Judges that gave a grade.
    pub judges: u32,
    /// Judges that were asked and gave no grade.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<String>,
    /// True if fewer judges than `min_judges` gave a grade, or only one of several.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_few: bool,
}

/// The scores of one cell, one per metric: judges merged, bounds applied, `pass` filled in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellScores {
    /// By metric index; `None` where the run holds no score.
    pub scores: Vec<Option<Score>>,
    /// By metric index, for metrics of rubrics that at least one judge graded.
    pub consensus: Vec<Option<Consensus>>,
}

impl CellScores {
    /// The scores of a stored cell. Metrics that the plan does not have are left out.
    pub fn of(plan: &PlanHeader, row: &CellRow<'_>) -> Self {
        let mut scores = vec![None; plan.metrics.len()];
        for (metric, score) in &row.cell.scores {
            if let Some(place) = scores.get_mut(usize::from(*metric)) {
                *place = Some(score.clone());
            }
        }
        let mut consensus = vec![None; plan.metrics.len()];
        for (index, metric) in plan.metrics.iter().enumerate() {
            let graded = judge_scores(row.judgments, metric.scorer, index);
            if let (false, Some(rule)) = (graded.is_empty(), consensus_rule(plan, metric.scorer)) {
                let weights = weights(plan, rule.spec, row.judgments, metric.scorer);
                consensus[index] = rule.agree(&graded, &weights).map(|agreed| {
                    let own = row.judgments.iter().filter(|it| usize::from(it.scorer) == metric.scorer);
                    let failed = own.zip(&graded).filter(|(_, score)| score.is_unscored());
                    let judge = |(it, _): (&JudgmentRow, _)| Some(plan.judges.get(usize::from(it.judge))?.id.clone());
                    Consensus { partial: failed.filter_map(judge).collect(), ..agreed }
                });
                scores[index] = Some(score_of(&graded, consensus[index].as_ref()));
            }
            // In a tournament each judgment holds a part of the cell's games; a score that failed stays failed.
            let is_failed = scores[index].as_ref().is_some_and(Score::is_unscored);
            if let (false, Some((won, games))) = (is_failed, all_games(row.shares, index)) {
                scores[index] = Some(Score::value(won / games));
                consensus[index] =
                    consensus_rule(plan, metric.scorer).and_then(|rule| rule.agree_on_games(plan, row.shares, index));
            }
        }
        recompute_composites(plan, row.judgments, &mut scores, &mut consensus);
        checks::apply_bounds(plan, &mut scores);
        Self { scores, consensus }
    }

    /// The numeric score of a metric, if it has one.
    pub fn number(&self, metric: usize) -> Option<f64> {
        self.scores.get(metric)?.as_ref()?.number()
    }

    /// True if any scorer failed on the cell.
    pub fn any_unscored(&self) -> bool {
        self.scores.iter().flatten().any(Score::is_unscored)
    }
}

/// The judgments of a scorer with their score of a metric. A judgment that failed as a whole counts as unscored.
fn judge_scores(judgments: &[JudgmentRow], scorer: usize, metric: usize) -> Vec<Score> {
    let of_scorer = judgments.iter().filter(|judgment| usize::from(judgment.scorer) == scorer);
    of_scorer
        .map(|judgment| {
            let found = judgment.scores.iter().find(|(index, _)| usize::from(*index) == metric);
            match (found, &judgment.error) {
                (Some((_, score)), _) => score.clone(),
                (None, Some(error)) => Score::unscored(error.message.clone()),
                (None, None) => Score::unscored("the judge did not give this score"),
            }
        })
        .collect()
}

fn score_of(graded: &[Score], consensus: Option<&Consensus>) -> Score {
    match (consensus, graded) {
        (Some(_), [only]) => only.clone(),
        (Some(agreed), _) => Score::value(agreed.value),
        (None, _) => {
            let failed = graded.iter().find(|score| score.is_unscored()).or(graded.first());
            failed.cloned().unwrap_or_else(|| Score::unscored("no judge answered"))
        }
    }
}

/// Recomputes the composites of several judges from the merged dimensions. A capped composite is at most the highest
/// composite of a judge (for the mean, at most the mean of them). A mean of unrounded means or sums needs no
/// recomputation: it is the mean of the judges' composites already.
fn recompute_composites(
    plan: &PlanHeader,
    judgments: &[JudgmentRow],
    scores: &mut [Option<Score>],
    consensus: &mut [Option<Consensus>],
) {
    for (at, scorer) in plan.scorers.iter().enumerate() {
        let ScorerKind::Rubric(spec) = &scorer.kind else { continue };
        let Some(overall) = &spec.rubric.overall else { continue };
        let by_mean = spec.consensus.method == ConsensusMethod::Mean;
        let is_linear = overall.method != OverallMethod::Min && overall.round.is_none();
        if by_mean && is_linear || overall.method == OverallMethod::Given {
            continue;
        }
        let metric = |id: &str| {
            let mut own = plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == at);
            own.find_map(|(index, metric)| {
                (metric.name.strip_prefix(&scorer.id)?.strip_prefix('.')? == id).then_some(index)
            })
        };
        let Some(place) = metric(&overall.id) else { continue };
        let dimensions = spec.rubric.dimensions.iter();
        let values = dimensions.filter_map(|it| Some((scores.get(metric(&it.name)?)?.as_ref()?.number()?, it.weight)));
        let made = overall.of(&values.collect::<Vec<_>>());
        let held = judge_scores(judgments, at, place);
        let highest = held.iter().filter_map(Score::number).reduce(f64::max);
        let (Some(agreed), Some(made), Some(highest), true) = (&mut consensus[place], made, highest, held.len() > 1)
        else {
            continue;
        };
        let is_capped = judgments.iter().any(|it| usize::from(it.scorer) == at && !it.caps.is_empty());
        agreed.value = match (is_capped, by_mean) {
            (false, _) => made,
            (true, false) => made.min(highest),
            (true, true) => overall.round_value(agreed.value),
        };
        scores[place] = Some(Score::value(agreed.value));
    }
}

/// The weight of each judgment of a scorer; empty if all weigh the same.
fn weights(plan: &PlanHeader, rule: &karat_types::Consensus, judgments: &[JudgmentRow], scorer: usize) -> Vec<f64> {
    if rule.weights.is_empty() {
        return Vec::new();
    }
    let of_scorer = judgments.iter().filter(|judgment| usize::from(judgment.scorer) == scorer);
    let weight = |judgment: &JudgmentRow| {
        let judge = plan.judges.get(usize::from(judgment.judge));
        judge.and_then(|judge| rule.weights.get(&judge.id)).copied().unwrap_or(1.0)
    };
    of_scorer.map(weight).collect()
}

/// A scorer's rule for its judges.
#[derive(Clone, Copy)]
struct ConsensusRule<'p> {
    spec: &'p karat_types::Consensus,
    /// The least number of judges for a consensus.
    least: u32,
}

fn consensus_rule(plan: &PlanHeader, scorer: usize) -> Option<ConsensusRule<'_>> {
    match &plan.scorers.get(scorer)?.kind {
        ScorerKind::Metric { .. } => None,
        ScorerKind::Rubric(rubric) => {
            let of_asked = if rubric.judges.len() > 1 { 2 } else { 1 };
            Some(ConsensusRule { spec: &rubric.consensus, least: rubric.consensus.min_judges.max(of_asked) })
        }
    }
}

impl ConsensusRule<'_> {
    /// Merges the shares of games that a cell won before each judge.
    fn agree_on_games(self, plan: &PlanHeader, shares: &[GameShare], metric: usize) -> Option<Consensus> {
        let own: Vec<&GameShare> = shares.iter().filter(|share| usize::from(share.metric) == metric).collect();
        let graded: Vec<Score> = own.iter().map(|share| Score::value(share.won / share.games)).collect();
        let weight = |share: &&GameShare| {
            let judge = plan.judges.get(usize::from(share.judge));
            judge.and_then(|judge| self.spec.weights.get(&judge.id)).copied().unwrap_or(1.0)
        };
        let weights: Vec<f64> =
            if self.spec.weights.is_empty() { Vec::new() } else { own.iter().map(weight).collect() };
        self.agree(&graded, &weights)
    }

    /// Merges grades; `weights` is empty if all judges weigh the same.
    fn agree(self, graded: &[Score], weights: &[f64]) -> Option<Consensus> {
        let values: Vec<f64> = graded.iter().filter_map(Score::number).collect();
        let mean = mean(&values)?;
        let value = match self.spec.method {
            ConsensusMethod::Mean => weighted_mean(graded, weights).unwrap_or(mean),
            ConsensusMethod::Median => median(&values)?,
            ConsensusMethod::Majority => majority(&values)?,
        };
        let variance = population_variance(&values)?;
        let has_none = self.spec.method == ConsensusMethod::Majority && most_frequent(&values).len() > 1;
        let flagged = has_none || self.spec.flag_variance.is_some_and(|limit| variance > limit);
        let judges = values.len() as u32;
        Some(Consensus { value, mean, variance, flagged, judges, partial: Vec::new(), too_few: judges < self.least })
    }
}

/// Returns true if several judges grade a metric.
pub(crate) fn has_several_judges(plan: &PlanHeader, metric: &karat_types::MetricSpec) -> bool {
    let kind = plan.scorers.get(metric.scorer).map(|scorer| &scorer.kind);
    matches!(kind, Some(ScorerKind::Rubric(rubric)) if rubric.judges.len() > 1)
}

/// Each judge's grade of a cell in a metric, by number of the judge; `None` where games are played.
pub(crate) fn grades_of(plan: &PlanHeader, row: &CellRow<'_>, metric: usize) -> Option<Vec<(u16, f64)>> {
    let scorer = plan.metrics.get(metric)?.scorer;
    if all_games(row.shares, metric).is_some() {
        return None;
    }
    let own = row.judgments.iter().filter(|judgment| usize::from(judgment.scorer) == scorer);
    let grade = |judgment: &JudgmentRow| {
        let (_, score) = judgment.scores.iter().find(|(index, _)| usize::from(*index) == metric)?;
        Some((judgment.judge, score.number()?))
    };
    Some(own.filter_map(grade).collect())
}

/// The merged grade of some judges, by number, with the bound of the metric; `None` without grades.
pub(crate) fn merge_grades(plan: &PlanHeader, metric: usize, grades: &[(u16, f64)]) -> Option<f64> {
    let spec = plan.metrics.get(metric)?;
    let rule = consensus_rule(plan, spec.scorer)?;
    let weight = |(judge, _): &(u16, f64)| {
        let judge = plan.judges.get(usize::from(*judge));
        judge.and_then(|judge| rule.spec.weights.get(&judge.id)).copied().unwrap_or(1.0)
    };
    let weights: Vec<f64> = if rule.spec.weights.is_empty() { Vec::new() } else { grades.iter().map(weight).collect() };
    let graded: Vec<Score> = grades.iter().map(|(_, grade)| Score::value(*grade)).collect();
    let merged = rule.agree(&graded, &weights)?.value;
    Some(if spec.bound.is_some() { f64::from(u8::from(spec.bound.passes(merged))) } else { merged })
}

/// The weighted mean of the judges that gave a grade; `None` if their weights sum to 0.
fn weighted_mean(graded: &[Score], weights: &[f64]) -> Option<f64> {
    let pairs = graded.iter().zip(weights).filter_map(|(score, weight)| Some((score.number()?, *weight)));
    let (sum, total) = pairs.fold((0.0, 0.0), |(sum, total), (grade, weight)| (sum + weight * grade, total + weight));
    (total > 0.0).then(|| sum / total)
}

/// Merges the diagnostics of several judges. Lists are concatenated; an item that another judge names as well (same
/// positions, same text up to case, white space and punctuation) is kept once, but repetitions within one judge's list
/// are all kept. Of any other value the first judge's is kept.
pub fn merge_diagnostics(judgments: &[JudgmentRow]) -> Map<String, Value> {
    let mut united = Map::new();
    let mut seen = BTreeSet::new();
    for (name, value) in judgments.iter().flat_map(|judgment| &judgment.diagnostics) {
        let Value::Array(items) = value else {
            united.entry(name).or_insert_with(|| value.clone());
            continue;
        };
        let mut named: BTreeMap<_, u32> = BTreeMap::new();
        let fresh = |item: &&Value| {
            let what = (statement_key(&item_text(item)), item_positions(item));
            let times = named.entry(what.clone()).or_default();
            *times += 1;
            seen.insert((name.as_str(), what, *times))
        };
        let fresh: Vec<Value> = items.iter().filter(fresh).cloned().collect();
        if let Value::Array(list) = united.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            list.extend(fresh);
        }
    }
    united
}

/// The text of an item of a diagnostic list: the item itself, its `text`, its first text field, or its JSON.
pub(crate) fn item_text(item: &Value) -> String {
    let field = |object: &Map<String, Value>| {
        let named = object.get("text").and_then(Value::as_str);
        named.or_else(|| object.values().find_map(Value::as_str)).map(str::to_owned)
    };
    match item {
        Value::String(text) => text.clone(),
        Value::Object(object) => field(object).unwrap_or_else(|| item.to_string()),
        other => other.to_string(),
    }
}

/// The text without case, spaces and punctuation: two texts with the same key are one statement.
pub(crate) fn statement_key(text: &str) -> String {
    Statement::new(text).key().to_owned()
}

/// The integer fields of an item, which locate it.
fn item_positions(item: &Value) -> Vec<i64> {
    item.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_i64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use karat_types::RunRows;
    use serde_json::json;

    fn agreed(method: ConsensusMethod, least: u32, graded: &[Score]) -> Option<Consensus> {
        let spec = karat_types::Consensus { method, flag_variance: Some(2.0), ..Default::default() };
        ConsensusRule { spec: &spec, least }.agree(graded, &[])
    }

    /// CL-16: the mean respects the weights of judges; a judge without a grade does not count.
    #[test]
    fn judges_can_have_weights() {
        let graded = [Score::value(4.0), Score::value(8.0), Score::unscored("no JSON")];
        assert_eq!(weighted_mean(&graded, &[3.0, 1.0, 5.0]), Some(5.0));
        assert_eq!((weighted_mean(&graded, &[]), weighted_mean(&graded, &[0.0, 0.0, 1.0])), (None, None));
    }

    /// CL-16: mean and population variance per dimension; flagged above, not at, the limit.
    #[test]
    fn two_judges_become_one_with_population_variance() {
        let two = |a, b| agreed(ConsensusMethod::Mean, 2, &[Score::value(a), Score::value(b)]).unwrap();
        let agreed = two(5.0, 8.0);
        assert_eq!((agreed.mean, agreed.variance, agreed.flagged), (6.5, 2.25, true));
        assert!(!two(5.0, 7.0).flagged);
    }

    /// CL-16: a single configured judge raises no flag; one remaining of two does.
    #[test]
    fn a_cell_graded_by_a_single_judge_is_counted() {
        let left = [Score::value(4.0), Score::unscored("no JSON")];
        assert!(agreed(ConsensusMethod::Mean, 2, &left).unwrap().too_few);
        assert!(!agreed(ConsensusMethod::Mean, 1, &left[..1]).unwrap().too_few);
        assert_eq!(agreed(ConsensusMethod::Mean, 2, &left[1..]), None);
    }

    #[test]
    fn the_method_sets_the_value_but_not_the_mean() {
        let three = [Score::value(1.0), Score::value(1.0), Score::value(10.0)];
        let median = agreed(ConsensusMethod::Median, 3, &three).unwrap();
        assert_eq!((median.value, median.mean), (1.0, 4.0));
        assert_eq!(agreed(ConsensusMethod::Majority, 3, &three).map(|it| it.value), Some(1.0));
    }

    /// CL-16: a cell is flagged if a majority was requested and there is none.
    #[test]
    fn a_missing_majority_is_flagged() {
        let of = |last: f64| agreed(ConsensusMethod::Majority, 2, &[4.0, 4.5, last].map(Score::value)).unwrap();
        assert_eq!((of(4.5).value, of(4.5).flagged), (4.5, false));
        assert_eq!((of(5.0).value, of(5.0).flagged), (4.5, true));
    }

    /// A cell graded by three judges in two dimensions and a composite.
    fn three_judges(method: &str, overall: Value, graded: [[f64; 3]; 3]) -> crate::testing::MemoryRun {
        let mut run = crate::testing::judged_run(1, 1, &["a", "b", "c"], json!([]));
        let mut plan = serde_json::to_value(run.header.plan.as_ref()).unwrap();
        let spec = &mut plan["scorers"][0]["kind"]["rubric"];
        spec["consensus"]["method"] = json!(method);
        let scale = json!({ "range": { "lo": 0, "hi": 10 } });
        let dimension = |name: &str, weight: f64| json!({ "name": name, "scale": scale, "weight": weight });
        spec["rubric"]["dimensions"] = json!([dimension("tone", 1.0), dimension("facts", 3.0)]);
        spec["rubric"]["overall"] = overall;
        let metric = &plan["metrics"][0];
        let metrics = ["quality.tone", "quality.facts", "quality.total"].map(|name| {
            let mut metric = metric.clone();
            metric["name"] = json!(name);
            metric
        });
        plan["metrics"] = json!(metrics);
        run.header.plan = std::sync::Arc::new(serde_json::from_value(plan).unwrap());
        for (judgment, scores) in run.cells[0].judgments.iter_mut().zip(graded) {
            judgment.scores = (0..3).zip(scores.map(Score::value)).collect();
        }
        run
    }

    fn agreed_on(run: &crate::testing::MemoryRun) -> Vec<f64> {
        let mut numbers = Vec::new();
        let rows = run.for_each(&mut |row| {
            let scores = CellScores::of(&run.header.plan, &row);
            numbers.extend((0..3).map(|at| scores.number(at).unwrap()));
            std::ops::ControlFlow::Continue(())
        });
        rows.unwrap();
        numbers
    }

    /// CL-16: the composite of several judges is computed from the merged dimensions.
    #[test]
    fn a_composite_belongs_to_its_dimensions() {
        let overall = json!({ "id": "total", "method": "weighted_mean" });
        let mut run = three_judges("median", overall, [[4.0, 1.0, 1.75], [2.0, 2.2, 2.15], [4.5, 8.0, 7.125]]);
        let total = agreed_on(&run)[2];
        assert!((total - 2.65).abs() < 1e-12, "{total}");
        for judgment in &mut run.cells[0].judgments {
            judgment.caps = vec!["low".to_owned()];
            judgment.scores[2].1 = Score::value(2.0);
        }
        assert_eq!(agreed_on(&run), [4.0, 2.2, 2.0]);
    }

    /// CL-16: with the mean, too, if the composite is the lowest dimension or rounded; a cap stays.
    #[test]
    fn the_composite_of_means_is_the_mean_composite() {
        let graded = |last: [f64; 3]| [[4.0, 1.0, last[0]], [2.0, 3.0, last[1]], [4.5, 8.0, last[2]]];
        let lowest = || json!({ "id": "total", "method": "min" });
        assert_eq!(agreed_on(&three_judges("mean", lowest(), graded([1.0, 2.0, 4.5]))), [3.5, 4.0, 3.5]);
        let whole = json!({ "id": "total", "method": "weighted_mean", "round": 0 });
        let run = three_judges("mean", whole, graded([2.0, 3.0, 7.0]));
        assert_eq!(agreed_on(&run), [3.5, 4.0, 4.0]);
        let mut capped = three_judges("mean", lowest(), graded([1.0, 2.0, 3.0]));
        capped.cells[0].judgments[2].caps = vec!["low".to_owned()];
        assert_eq!(agreed_on(&capped), [3.5, 4.0, 2.0]);
    }

    /// CL-16: diagnostics are merged and de-duplicated.
    #[test]
    fn diagnostics_of_judges_are_united_once() {
        let judgment = |items: Value| JudgmentRow {
            diagnostics: Map::from_iter([("missing".to_owned(), items)]),
            ..crate::testing::judgment(0, 0, 0)
        };
        let first = judgment(json!([{"text": "Iron rusts."}, {"text": "Gold does not."}]));
        let second = judgment(json!([{"text": "iron  rusts"}, {"text": "Tin melts."}]));
        let united = merge_diagnostics(&[first, second]);
        assert_eq!(
            united["missing"],
            json!([{"text": "Iron rusts."}, {"text": "Gold does not."}, {"text": "Tin melts."}])
        );
    }

    /// SP-06, SP-07: an item that one judge names twice counts twice; another judge's item at the same position counts
    /// once.
    #[test]
    fn findings_of_one_judge_all_count() {
        let judgment = |positions: &[i64]| JudgmentRow {
            diagnostics: Map::from_iter([(
                "false".to_owned(),
                positions.iter().map(|at| json!({"spanIndex": at, "text": "red"})).collect(),
            )]),
            ..crate::testing::judgment(0, 0, 0)
        };
        let united = |judges: &[&[i64]]| {
            let judgments: Vec<JudgmentRow> = judges.iter().map(|positions| judgment(positions)).collect();
            let found = merge_diagnostics(&judgments);
            found["false"].as_array().unwrap().iter().map(|it| it["spanIndex"].as_i64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(united(&[&[0, 4, -1, -1]]), [0, 4, -1, -1]);
        assert_eq!(united(&[&[0, -1], &[0, 2, -1, -1]]), [0, -1, 2, -1]);
    }

    #[test]
    fn the_text_of_an_item_is_found() {
        assert_eq!(item_text(&json!("plain")), "plain");
        assert_eq!(item_text(&json!({"area": "costs", "weight": 1})), "costs");
        assert_eq!(item_text(&json!({"n": 1, "text": "t", "a": "b"})), "t");
        assert_eq!(item_text(&json!(3)), "3");
    }

    /// F12, CL-16: case, space and punctuation make no other finding; a sign, a unit or a mark within a number does.
    #[test]
    fn findings_of_several_judges_are_one_only_if_they_are_equal() {
        assert_eq!(statement_key("  Iron\trusts, fast. "), statement_key("iron rusts fast"));
        for (one, other) in
            [("iron rusts", "iron rests"), ("it was -3", "it was 3"), ("5% of it", "5 of it"), ("1:5", "1.5")]
        {
            assert_ne!(statement_key(one), statement_key(other));
        }
    }
}
