//! Agreement of judges with each other and with people's labels, from a stored run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use karat_stats::interval::Level;
use karat_types::{
    CellRow, CellStatus, JudgmentRow, Key, Label, ModelSpec, Moment, PlanHeader, RunHeader, RunRows, ScorerKind,
};
use serde::Serialize;

use crate::AnalysisError;
use crate::agreement::coefficients::{GradedItem, MetricAgreement, Panel, agreement};
use crate::figures::groups::system_id;
use crate::score::people::labels::{LabelIndex, grades, rater};
use crate::score::prefix::Prefix;
use crate::score::scales::steps;

/// The scorer and raters to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct AgreeOptions {
    /// Id of the scorer; if absent, all scorers with judges.
    pub scorer: Option<String>,
    /// Names of the raters to compare; empty for all.
    pub between: Vec<String>,
    /// Ids of judges that get their model added to their name, because the other run uses another model under the same
    /// id.
    pub by_model: BTreeSet<String>,
    /// Confidence level of all intervals.
    pub level: Level,
}

/// The name of a judge among raters.
fn name_of(judge: &ModelSpec, by_model: &BTreeSet<String>) -> String {
    if by_model.contains(&judge.id) { format!("{} ({})", judge.id, judge.model) } else { judge.id.clone() }
}

impl Default for AgreeOptions {
    fn default() -> Self {
        Self { scorer: None, between: Vec::new(), by_model: BTreeSet::new(), level: Level::P95 }
    }
}

/// Agreement by metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunAgreement {
    /// The run.
    pub run: String,
    /// The raters.
    pub raters: Vec<String>,
    /// Number of labels that match no cell of the run.
    pub unmatched_labels: u64,
    /// Number of grades in labels whose name is not a metric of the run.
    pub unknown_grades: u64,
    /// Judgments that another run reused from the first run, or from the same source; each is counted once.
    pub shared_judgments: u64,
    /// One entry per metric in which two raters graded the same item, in plan order.
    pub metrics: Vec<MetricRaters>,
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRaters {
    /// The metric.
    pub metric: String,
    /// Lowest and highest possible value, where it has them.
    pub range: Option<(f64, f64)>,
    /// The coefficients.
    #[serde(flatten)]
    pub agreement: MetricAgreement,
}

/// Returns the reason why a label cannot belong to a run of this plan (a misspelt name, a grade off the scale), or
/// `None` if it can.
pub fn label_problem(plan: &PlanHeader, label: &Label) -> Option<String> {
    crate::score::people::labels::label_problem(plan, label)
}

/// Reads a run once and computes the agreement of its raters.
///
/// # Errors
/// Rows that cannot be read, a scorer or rater that the run does not have.
pub fn agree(rows: &dyn RunRows, labels: &[Label], options: &AgreeOptions) -> Result<RunAgreement, AnalysisError> {
    let header = rows.header();
    let unreadable = |source| AnalysisError::Rows { run: header.id.clone(), source };
    let prefix = Prefix::of(rows).map_err(unreadable)?;
    let rows = prefix.as_ref().map_or(rows, |prefix| prefix as &dyn RunRows);
    let plan = header.plan.clone();
    let mut gathering = GradeCollector::new(&plan, labels, options)?;
    rows.for_each(&mut |row| {
        gathering.add(&row);
        ControlFlow::Continue(())
    })
    .map_err(unreadable)?;
    let unmatched_labels = gathering.used.iter().filter(|used| !**used).count() as u64;
    let metrics = plan.metrics.iter().enumerate().filter_map(|(at, metric)| {
        let items = gathering.items.get(&at)?;
        let (scale, range) = (steps(&plan, metric), metric.range);
        let panel = Panel { raters: &gathering.raters, scale, range, level: options.level };
        Some(MetricRaters { metric: metric.name.clone(), range: metric.range, agreement: agreement(items, &panel) })
    });
    Ok(RunAgreement {
        run: header.id.clone(),
        metrics: metrics.filter(|it| !it.agreement.pairs.is_empty()).collect(),
        unmatched_labels,
        unknown_grades: labels
            .iter()
            .map(|label| crate::score::people::labels::unknown_names(&plan, label).count() as u64)
            .sum(),
        shared_judgments: 0,
        raters: gathering.raters,
    })
}

/// The judgments of another run, as labels for the first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunLabels {
    /// One label per judgment.
    pub labels: Vec<Label>,
    /// Number of judgments that the other run reused from the first; they are left out.
    pub shared: u64,
}

/// Returns the judgments of another run as labels, so that its judges become raters of the outputs that are identical
/// in both runs. A judge that exists in both runs gets the other run's id added to its name, so it can be compared with
/// itself. A judgment that one run reused from the other counts once.
///
/// # Errors
/// Rows that cannot be read.
pub fn labels_of_run(
    first: &dyn RunRows,
    other: &dyn RunRows,
    by_model: &BTreeSet<String>,
) -> Result<RunLabels, AnalysisError> {
    let known = rated_outputs(first)?;
    let (judges, header) = (&first.header().plan.judges, other.header());
    let plan = &header.plan;
    let name = |judge: &ModelSpec| {
        let name = name_of(judge, by_model);
        let is_first = judges.iter().any(|first| name_of(first, by_model) == name);
        if is_first { format!("{name} in {}", header.id) } else { name }
    };
    let mut beside = RunLabels::default();
    let read = other.for_each(&mut |row| {
        let place = (row.sample.id.clone(), system_id(plan, row.system), row.trial);
        let same = known.get(&place).filter(|known| known.output == row.cell.output_hash);
        for judgment in row.judgments.iter().filter(|_| same.is_some()) {
            let Some(judge) = plan.judges.get(usize::from(judgment.judge)) else { continue };
            if same.is_some_and(|known| known.judgments.contains(&judgment_identity(header, judgment))) {
                beside.shared += 1;
                continue;
            }
            let scores = judgment.scores.iter().filter_map(|(metric, score)| {
                let metric = plan.metrics.get(usize::from(*metric))?;
                Some((metric.name.clone(), score.number()?.into()))
            });
            beside.labels.push(Label {
                sample: row.sample.id.clone(),
                model: plan.system_model(row.system).map(|model| model.id.clone()),
                variant: Some(plan.system_variant(row.system).to_owned()),
                annotator: Some(name(judge)),
                output: None,
                scores: scores.collect(),
            });
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| AnalysisError::Rows { run: header.id.clone(), source })?;
    Ok(beside)
}

/// The output of a cell and the judgments of it.
struct RatedOutput {
    output: Key,
    judgments: BTreeSet<(String, String, Moment)>,
}

/// The scorer, judge and time that identify a judgment among all judgments of an output.
fn judgment_identity(header: &RunHeader, judgment: &JudgmentRow) -> (String, String, Moment) {
    let plan = &header.plan;
    let scorer = plan.scorers.get(usize::from(judgment.scorer)).map(|scorer| scorer.id.clone());
    let judge = plan.judges.get(usize::from(judgment.judge)).map(|judge| judge.id.clone());
    (scorer.unwrap_or_default(), judge.unwrap_or_default(), judgment.made_at.unwrap_or(header.started_at))
}

/// The rated outputs by sample, system and trial.
fn rated_outputs(rows: &dyn RunRows) -> Result<BTreeMap<(String, String, u32), RatedOutput>, AnalysisError> {
    let header = rows.header();
    let mut rated = BTreeMap::new();
    let read = rows.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok {
            let place = (row.sample.id.clone(), system_id(&header.plan, row.system), row.trial);
            let judgments = row.judgments.iter().map(|judgment| judgment_identity(header, judgment)).collect();
            rated.insert(place, RatedOutput { output: row.cell.output_hash, judgments });
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| AnalysisError::Rows { run: header.id.clone(), source })?;
    Ok(rated)
}

/// Collects grades cell by cell.
struct GradeCollector<'a> {
    plan: &'a PlanHeader,
    labels: LabelIndex<'a>,
    used: Vec<bool>,
    raters: Vec<String>,
    by_model: BTreeSet<String>,
    scorers: Vec<usize>,
    clusters: BTreeMap<String, u32>,
    /// By metric.
    items: BTreeMap<usize, Vec<GradedItem>>,
}

impl<'a> GradeCollector<'a> {
    fn new(plan: &'a PlanHeader, labels: &'a [Label], options: &AgreeOptions) -> Result<Self, AnalysisError> {
        let wanted = |id: &str| options.scorer.as_deref().is_none_or(|scorer| scorer == id);
        let judged = plan.scorers.iter().enumerate().filter(|(_, it)| matches!(it.kind, ScorerKind::Rubric(_)));
        let scorers: Vec<usize> = judged.filter(|(_, it)| wanted(&it.id)).map(|(at, _)| at).collect();
        let mut all: Vec<String> = plan.judges.iter().map(|judge| name_of(judge, &options.by_model)).collect();
        for label in labels {
            let name = rater(label);
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
        let refused =
            |message: String| AnalysisError::Options { id: "agree".to_owned(), analysis: "agree".to_owned(), message };
        if let (Some(scorer), true) = (&options.scorer, scorers.is_empty()) {
            return Err(refused(format!("scorer: {scorer:?} is not a scorer with judges in this run")));
        }
        if let Some(unknown) = options.between.iter().find(|name| !all.contains(name)) {
            return Err(refused(format!("unknown rater {unknown:?}; this run has {}", all.join(", "))));
        }
        all.retain(|name| options.between.is_empty() || options.between.contains(name));
        Ok(Self {
            plan,
            labels: LabelIndex::new(labels),
            used: vec![false; labels.len()],
            raters: all,
            by_model: options.by_model.clone(),
            scorers,
            clusters: BTreeMap::new(),
            items: BTreeMap::new(),
        })
    }

    fn add(&mut self, row: &CellRow<'_>) {
        if row.cell.status != CellStatus::Ok {
            return;
        }
        let mut graded: BTreeMap<usize, Vec<Option<f64>>> = BTreeMap::new();
        let raters = self.raters.len();
        let mut set = |metric: usize, name: &str, grade: Option<f64>| {
            let place = self.raters.iter().position(|rater| rater == name);
            let row = graded.entry(metric).or_insert_with(|| vec![None; raters]);
            if let (Some(slot), Some(_)) = (place.and_then(|place| row.get_mut(place)), grade) {
                *slot = grade;
            }
        };
        for judgment in row.judgments.iter().filter(|it| self.scorers.contains(&usize::from(it.scorer))) {
            let Some(judge) = self.plan.judges.get(usize::from(judgment.judge)) else { continue };
            for (metric, score) in &judgment.scores {
                set(usize::from(*metric), &name_of(judge, &self.by_model), score.number());
            }
        }
        for (at, label) in self.labels.about(self.plan, row) {
            for (metric, grade) in grades(self.plan, &self.scorers, label) {
                set(metric, rater(label), Some(grade));
                if let Some(used) = self.used.get_mut(at) {
                    *used = true;
                }
            }
        }
        let cluster = row.sample.cluster.as_deref().unwrap_or(&row.sample.id);
        let next = self.clusters.len() as u32;
        let cluster = *self.clusters.entry(cluster.to_owned()).or_insert(next);
        for (metric, grades) in graded {
            if grades.iter().flatten().count() >= 2 {
                self.items.entry(metric).or_default().push(GradedItem { cluster, grades });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::example;
    use serde_json::json;

    /// BR-18, CL-16: people's labels are compared with judges by every coefficient.
    #[test]
    fn labels_are_raters_like_judges() {
        let run = example();
        let sample = run.samples[0].id.clone();
        let scores = BTreeMap::from([("accuracy".to_owned(), json!(7)), ("speed".to_owned(), json!(1))]);
        let labels = [
            Label { sample, scores: scores.clone(), ..Label::default() },
            Label { sample: "elsewhere".to_owned(), scores, ..Label::default() },
        ];
        let found = agree(&run, &labels, &AgreeOptions::default()).unwrap();
        assert_eq!(found.raters, ["judge-strict", "judge-lenient", "labels"]);
        assert_eq!((found.unmatched_labels, found.unknown_grades), (1, 2));
        let accuracy = &found.metrics.iter().find(|it| it.metric == "quality.accuracy").unwrap().agreement;
        assert_eq!(accuracy.pairs.len(), 3);
        let judges = &accuracy.pairs[0];
        assert!(judges.bias.interval().is_some() && judges.exact.method().contains("Wilson"));
        assert!(judges.spearman.as_ref().unwrap().value() <= 1.0 && judges.limits.is_some());
        let other = found.metrics.iter().find(|it| it.metric == "quality.completeness").unwrap();
        assert_eq!(other.agreement.pairs.len(), 1);
    }

    /// CL-16: a grade between the steps of a scale is refused, and so is a misspelt name.
    #[test]
    fn a_label_must_match_the_steps_and_names_of_the_rubric() {
        let mut plan = serde_json::to_value(&*crate::testing::judged_run(1, 1, &["j"], json!([])).header.plan).unwrap();
        let range = "/scorers/0/kind/rubric/rubric/dimensions/0/scale/range";
        *plan.pointer_mut(range).unwrap() = json!({ "lo": 0, "hi": 3, "step": 1 });
        let plan: PlanHeader = serde_json::from_value(plan).unwrap();
        let told = |name: &str, grade: f64| {
            let scores = BTreeMap::from([(name.to_owned(), json!(grade))]);
            label_problem(&plan, &Label { sample: "s".to_owned(), scores, ..Label::default() })
        };
        assert_eq!(told("overall", 2.0), None);
        let strange = told("notes", 2.0).unwrap();
        assert!(
            strange.starts_with("the run has no metric `notes`; the judges of this run score `quality"),
            "{strange}"
        );
        let beside = BTreeMap::from([("overall".to_owned(), json!(2)), ("notes".to_owned(), json!(2))]);
        assert_eq!(label_problem(&plan, &Label { sample: "s".to_owned(), scores: beside, ..Label::default() }), None);
        assert_eq!(
            told("overall", 2.5).unwrap(),
            "`quality.overall` is 2.5, which is not a step of its scale (0, 1, 2, 3)"
        );
        assert!(told("overal", 2.0).unwrap().contains("did you mean `overall`?"));
    }

    /// BR-18: a reused judgment counts once, not as a second opinion of the judge.
    #[test]
    fn a_reused_judgment_counts_once() {
        let first = example();
        let mut other = example();
        other.header.id = "other".to_owned();
        let taken = labels_of_run(&first, &other, &BTreeSet::new()).unwrap();
        assert!(taken.labels.is_empty() && taken.shared > 0, "{taken:?}");
        other.header.started_at = Moment(first.header.started_at.0 + 1);
        let fresh = labels_of_run(&first, &other, &BTreeSet::new()).unwrap();
        assert_eq!((fresh.shared, fresh.labels.len() as u64), (0, taken.shared));
        assert!(fresh.labels.iter().all(|label| label.annotator.as_ref().unwrap().ends_with(" in other")));
    }

    #[test]
    fn an_unknown_rater_is_refused_with_the_known_ones() {
        let options = AgreeOptions { between: vec!["nobody".to_owned()], ..AgreeOptions::default() };
        let refused = agree(&example(), &[], &options).unwrap_err().to_string();
        assert!(refused.contains("judge-strict, judge-lenient"), "{refused}");
    }
}
