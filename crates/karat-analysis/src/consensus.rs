//! Several judges of one cell become one grade (CL-16).

use std::collections::BTreeSet;

use karat_stats::describe::{mean, median, population_variance};
use karat_types::{CellRow, ConsensusMethod, JudgmentRow, PlanHeader, Score, ScorerKind};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::checks;
use crate::reduce::majority;
use crate::texts::{folded, text_of};

/// What the judges of one cell say together in one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Consensus {
    /// The grade by the scorer's rule: mean, median or majority.
    pub value: f64,
    /// Mean of the judges.
    pub mean: f64,
    /// Population variance of the judges (÷ n).
    pub variance: f64,
    /// Whether the variance is above the scorer's `flag_variance`.
    pub flagged: bool,
    /// Judges that gave a grade.
    pub judges: u32,
    /// Judges that were asked, or `min_judges` where that is more.
    #[serde(skip)]
    pub asked: u32,
}

impl Consensus {
    /// Whether a consensus was asked for and one judge is left.
    pub fn is_single(&self) -> bool {
        self.asked >= 2 && self.judges < 2
    }
}

/// The scores of one cell: one per metric, judges already made one, bounds applied, and `pass` of all of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellScores {
    /// By metric index; `None` where the run holds no score.
    pub scores: Vec<Option<Score>>,
    /// By metric index, for metrics of rubrics that at least one judge graded.
    pub consensus: Vec<Option<Consensus>>,
}

impl CellScores {
    /// The scores of a stored cell. Scores of metrics that the plan does not have are left out.
    pub fn of(plan: &PlanHeader, row: &CellRow<'_>) -> Self {
        let mut scores = vec![None; plan.metrics.len()];
        for (metric, score) in &row.cell.scores {
            if let Some(place) = scores.get_mut(usize::from(*metric)) {
                *place = Some(score.clone());
            }
        }
        let mut consensus = vec![None; plan.metrics.len()];
        for (index, metric) in plan.metrics.iter().enumerate() {
            let graded = judged(row.judgments, metric.scorer, index);
            if let (false, Some(rule)) = (graded.is_empty(), rule_of(plan, metric.scorer)) {
                consensus[index] = rule.agree(&graded);
                scores[index] = Some(score_of(&graded, consensus[index]));
            }
        }
        checks::apply(plan, &mut scores);
        Self { scores, consensus }
    }

    /// The number of a metric, where there is one.
    pub fn number(&self, metric: usize) -> Option<f64> {
        self.scores.get(metric)?.as_ref()?.number()
    }

    /// Whether any scorer failed on the cell.
    pub fn any_unscored(&self) -> bool {
        self.scores.iter().flatten().any(Score::is_unscored)
    }
}

/// The judgments of a scorer with their score of a metric. A judgment that failed as a whole counts as unscored.
fn judged(judgments: &[JudgmentRow], scorer: usize, metric: usize) -> Vec<Score> {
    let of_scorer = judgments.iter().filter(|judgment| usize::from(judgment.scorer) == scorer);
    of_scorer
        .map(|judgment| {
            let found = judgment.scores.iter().find(|(index, _)| usize::from(*index) == metric);
            match (found, &judgment.error) {
                (Some((_, score)), _) => score.clone(),
                (None, Some(error)) => Score::unscored(error.message.clone()),
                (None, None) => Score::unscored("the judge gave no such score"),
            }
        })
        .collect()
}

fn score_of(graded: &[Score], consensus: Option<Consensus>) -> Score {
    match (consensus, graded) {
        (Some(_), [only]) => only.clone(),
        (Some(agreed), _) => Score::value(agreed.value),
        (None, _) => {
            let failed = graded.iter().find(|score| score.is_unscored()).or(graded.first());
            failed.cloned().unwrap_or_else(|| Score::unscored("no judge answered"))
        }
    }
}

/// A scorer's rule for its judges.
#[derive(Clone, Copy)]
struct Rule {
    method: ConsensusMethod,
    flag_variance: Option<f64>,
    asked: u32,
}

fn rule_of(plan: &PlanHeader, scorer: usize) -> Option<Rule> {
    match &plan.scorers.get(scorer)?.kind {
        ScorerKind::Metric { .. } => None,
        ScorerKind::Rubric(rubric) => Some(Rule {
            method: rubric.consensus.method,
            flag_variance: rubric.consensus.flag_variance,
            asked: rubric.consensus.min_judges.max(rubric.judges.len() as u32),
        }),
    }
}

impl Rule {
    fn agree(self, graded: &[Score]) -> Option<Consensus> {
        let values: Vec<f64> = graded.iter().filter_map(Score::number).collect();
        let mean = mean(&values)?;
        let value = match self.method {
            ConsensusMethod::Mean => mean,
            ConsensusMethod::Median => median(&values)?,
            ConsensusMethod::Majority => majority(&values)?,
        };
        let variance = population_variance(&values)?;
        let flagged = self.flag_variance.is_some_and(|limit| variance > limit);
        Some(Consensus { value, mean, variance, flagged, judges: values.len() as u32, asked: self.asked })
    }
}

/// The diagnostics of several judges as one: lists united, items equal after case, white space and
/// punctuation are folded kept once; of anything else the first judge's.
pub fn united_diagnostics(judgments: &[JudgmentRow]) -> Map<String, Value> {
    let mut united = Map::new();
    let mut seen = BTreeSet::new();
    for (name, value) in judgments.iter().flat_map(|judgment| &judgment.diagnostics) {
        let Value::Array(items) = value else {
            united.entry(name).or_insert_with(|| value.clone());
            continue;
        };
        let fresh: Vec<Value> =
            items.iter().filter(|item| seen.insert((name.as_str(), folded(&text_of(item))))).cloned().collect();
        if let Value::Array(list) = united.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            list.extend(fresh);
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(method: ConsensusMethod, asked: u32) -> Rule {
        Rule { method, flag_variance: Some(2.0), asked }
    }

    /// CL-16: mean and population variance per dimension; flagged above, not at, the limit.
    #[test]
    fn two_judges_become_one_with_population_variance() {
        let two = |a, b| rule(ConsensusMethod::Mean, 2).agree(&[Score::value(a), Score::value(b)]).unwrap();
        let agreed = two(5.0, 8.0);
        assert_eq!((agreed.mean, agreed.variance, agreed.flagged), (6.5, 2.25, true));
        assert!(!two(5.0, 7.0).flagged);
    }

    /// CL-16: one judge is the default without a warning; one left of two is not.
    #[test]
    fn a_judge_left_alone_is_noticed() {
        let left = [Score::value(4.0), Score::unscored("no JSON")];
        assert!(rule(ConsensusMethod::Mean, 2).agree(&left).unwrap().is_single());
        assert!(!rule(ConsensusMethod::Mean, 1).agree(&left[..1]).unwrap().is_single());
        assert_eq!(rule(ConsensusMethod::Mean, 2).agree(&left[1..]), None);
    }

    #[test]
    fn the_method_decides_the_value_and_the_mean_stays() {
        let three = [Score::value(1.0), Score::value(1.0), Score::value(10.0)];
        let median = rule(ConsensusMethod::Median, 3).agree(&three).unwrap();
        assert_eq!((median.value, median.mean), (1.0, 4.0));
        assert_eq!(rule(ConsensusMethod::Majority, 3).agree(&three).map(|it| it.value), Some(1.0));
    }

    /// CL-16: diagnostics are united and de-duplicated.
    #[test]
    fn diagnostics_of_judges_are_united_once() {
        let judgment = |items: Value| JudgmentRow {
            diagnostics: Map::from_iter([("missing".to_owned(), items)]),
            ..crate::testing::judgment(0, 0, 0)
        };
        let first = judgment(json!([{"text": "Iron rusts."}, {"text": "Gold does not."}]));
        let second = judgment(json!([{"text": "iron  rusts"}, {"text": "Tin melts."}]));
        let united = united_diagnostics(&[first, second]);
        assert_eq!(
            united["missing"],
            json!([{"text": "Iron rusts."}, {"text": "Gold does not."}, {"text": "Tin melts."}])
        );
    }
}
