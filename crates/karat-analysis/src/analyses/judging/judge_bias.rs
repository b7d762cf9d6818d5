//! `judge_bias`: tests whether a judge's grades depend on something other than quality.
//!
//! | check | question | evidence |
//! |---|---|---|
//! | `length` | do grades rise with the number of words? | slope per doubling of the words |
//! | `style` | do they rise with Markdown? | slope from no marked-up line to only such lines |
//! | `position` | does the position of an output in a pair decide? | pairs judged alike in both orders, and the direction of the others |
//! | `votes` | does the judge repeat itself? | cells with equal votes |
//! | `family` | are models of the judge's own family graded higher? | its lead over the other judges on them, minus its lead elsewhere |
//!
//! Grades are compared within a sample if several systems answered it, so that hard samples do not appear as bias. A
//! longer answer may be a better one: only a slope against people's labels (`against_people`) proves bias.
//!
//! In a tournament each game is a grade of both of its outputs: 1 for the winner, 0 for the loser, ½ for a tie. So the order
//! in which the suite lists its systems does not matter.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use karat_stats::agreement::pearson;
use karat_stats::describe::mean;
use karat_stats::interval::Level;
use karat_stats::preference::{Preferred, position_bias};
use karat_types::{AnalysisSpec, CellStatus, Label, PlanHeader, ScorerKind, all_drawn_examples};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AnalysisError;
use crate::analyses::judging::bias_grades::{GameCollector, GradesByJudge, JudgeGrade, JudgedOutput};
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::slope::{self, center_within_groups};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::Observations;
use crate::score::people::labels::{LabelIndex, grades};

/// Options of `judge_bias`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeBiasOptions {
    /// The rubric scorer whose judges are checked.
    pub scorer: String,
    /// The checks; default: all.
    #[serde(default)]
    pub check: Vec<BiasCheck>,
}

/// A feature other than quality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BiasCheck {
    /// The number of words.
    Length,
    /// Headings, lists, bold type, code.
    Style,
    /// The judge's own family of models.
    Family,
    /// The position in a pair; for scorers with `versus`.
    Position,
    /// Repeated votes; for scorers with `votes`.
    Votes,
}

impl BiasCheck {
    const ALL: [Self; 5] = [Self::Length, Self::Style, Self::Family, Self::Position, Self::Votes];
}

/// The results by judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeBias {
    /// The scorer.
    pub scorer: String,
    /// By judge, metric and check.
    pub leanings: Vec<FeatureSlope>,
    /// By judge and metric, for judges that share a family with a judged model.
    pub own_family: Vec<OwnFamily>,
    /// By judge and metric, for judges of pairs in both orders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<PositionEffect>,
    /// By judge and metric, for judges that vote several times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<VoteConsistency>,
    /// Checks that were impossible, with the reason.
    pub notes: Vec<String>,
}

/// The slope of a judge's grades in one metric against a feature of the output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureSlope {
    /// The judge.
    pub judge: String,
    /// The metric.
    pub metric: String,
    /// The feature.
    pub check: BiasCheck,
    /// Change of the grade per doubling of the words, or from no markup to markup in every line.
    pub slope: Finding,
    /// Pearson's correlation of the same.
    pub correlation: Option<Finding>,
    /// Slope of judge − people on the labelled outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_people: Option<Finding>,
}

/// The preference of a judge for its own family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnFamily {
    /// The judge.
    pub judge: String,
    /// Its family.
    pub family: String,
    /// The metric.
    pub metric: String,
    /// Its lead over the other judges on outputs of its own family, minus its lead on other outputs.
    pub favour: Finding,
}

/// The effect of order on a judge of pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PositionEffect {
    /// The judge.
    pub judge: String,
    /// The metric.
    pub metric: String,
    /// Share of pairs judged alike in both orders.
    pub consistency: Finding,
    /// Share of decisive judgments that prefer the output shown first; one half is fair.
    pub first: Option<Finding>,
    /// Pairs in which the first position won twice, and in which the second did.
    pub flips: (u64, u64),
    /// Exact p-value of "flips are equally likely in both directions".
    pub p: Option<Finding>,
}

/// The consistency of a judge over repeated votes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteConsistency {
    /// The judge.
    pub judge: String,
    /// The metric.
    pub metric: String,
    /// Share of cells with equal votes.
    pub same: Finding,
}

struct JudgeBiasFold {
    options: JudgeBiasOptions,
    plan: Arc<PlanHeader>,
    scorer: usize,
    labels: Vec<Label>,
    /// The games of a tournament.
    games: Option<GameCollector>,
    /// By judge and metric.
    grades: GradesByJudge,
    /// By judge and metric: the sample and its votes.
    rounds: BTreeMap<(usize, usize), Vec<(usize, VoteRounds)>>,
}

/// The votes of a cell, with its output shown first (`straight`) or second (`swapped`).
#[derive(Debug, Default)]
struct VoteRounds {
    straight: Vec<f64>,
    swapped: Vec<f64>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let mut options: JudgeBiasOptions = options(spec)?;
    if options.check.is_empty() {
        options.check = BiasCheck::ALL.to_vec();
    }
    let at = plan.scorers.iter().position(|it| it.id == options.scorer);
    let Some((scorer, ScorerKind::Rubric(rubric))) = at.and_then(|at| Some((at, &plan.scorers.get(at)?.kind))) else {
        return Err(options_error(
            spec,
            format!("scorer: {:?} is not a scorer with judges in this suite", options.scorer),
        ));
    };
    let shown = all_drawn_examples(&rubric.labels, rubric.rubric.examples as usize, plan.run.seed);
    let unseen = rubric.labels.iter().enumerate().filter(|(at, _)| !shown.contains(at));
    let labels = unseen.filter_map(|(_, row)| Label::from_row(row)).collect();
    Ok(Some(Box::new(JudgeBiasFold {
        options,
        plan: plan.clone(),
        scorer,
        labels,
        games: plan.pair_design(rubric).map(|design| GameCollector::new(design, scorer)),
        grades: BTreeMap::new(),
        rounds: BTreeMap::new(),
    })))
}

impl Analysis for JudgeBiasFold {
    fn wants_output(&self) -> bool {
        true
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let Some(output) = cell.output.filter(|_| cell.row.cell.status == CellStatus::Ok) else { return };
        let judged = JudgedOutput::new(output, self.people(cell));
        self.add_rounds(cell);
        match &mut self.games {
            Some(games) => games.add(&self.plan, cell, judged, &mut self.grades),
            None => self.add_grades(cell, &judged),
        }
    }

    fn finish(mut self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        if let Some(games) = &mut self.games {
            games.close_sample(&mut self.grades);
        }
        let mut found = JudgeBias {
            scorer: self.options.scorer.clone(),
            leanings: Vec::new(),
            own_family: Vec::new(),
            positions: Vec::new(),
            votes: Vec::new(),
            notes: Vec::new(),
        };
        for ((judge, metric), graded) in &self.grades {
            let (Some(judge), Some(spec)) = (self.plan.judges.get(*judge), self.plan.metrics.get(*metric)) else {
                continue;
            };
            let Some(level) = context.measures.get(*metric).map(|it| it.level) else { continue };
            for check in &self.options.check {
                let feature: fn(&JudgeGrade) -> f64 = match check {
                    BiasCheck::Length => |it| it.words,
                    BiasCheck::Style => |it| it.markup,
                    BiasCheck::Family | BiasCheck::Position | BiasCheck::Votes => continue,
                };
                found.leanings.extend(feature_slope(graded, feature, context, level).map(
                    |(slope, correlation, against)| FeatureSlope {
                        judge: judge.id.clone(),
                        metric: spec.name.clone(),
                        check: *check,
                        slope,
                        correlation,
                        against_people: against,
                    },
                ));
            }
            if let (true, Some(family)) = (self.options.check.contains(&BiasCheck::Family), &judge.family) {
                let favour = self.favour(graded, family, context, (level, spec.range));
                found.own_family.extend(favour.map(|favour| OwnFamily {
                    judge: judge.id.clone(),
                    family: family.clone(),
                    metric: spec.name.clone(),
                    favour,
                }));
            }
        }
        for ((judge, metric), rounds) in &self.rounds {
            let (Some(judge), Some(spec)) = (self.plan.judges.get(*judge), self.plan.metrics.get(*metric)) else {
                continue;
            };
            let Some(level) = context.measures.get(*metric).map(|it| it.level) else { continue };
            let wanted = |check: BiasCheck| self.options.check.contains(&check);
            let names = (judge.id.clone(), spec.name.clone());
            found
                .positions
                .extend(position_effect(names.clone(), rounds, context, level).filter(|_| wanted(BiasCheck::Position)));
            found.votes.extend(vote_consistency(names, rounds, context, level).filter(|_| wanted(BiasCheck::Votes)));
        }
        if self.options.check.contains(&BiasCheck::Family) {
            found.notes.extend(self.family_note());
        }
        Outcome::JudgeBias(found)
    }
}

impl JudgeBiasFold {
    /// People's mean grade of an output by metric.
    fn people(&self, cell: &ScoredCell<'_>) -> BTreeMap<usize, f64> {
        let mut people: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (_, label) in LabelIndex::new(&self.labels).about(&self.plan, &cell.row) {
            grades(&self.plan, &[self.scorer], label).into_iter().for_each(|(metric, grade)| {
                people.entry(metric).or_default().push(grade);
            });
        }
        people.into_iter().filter_map(|(metric, grades)| Some((metric, mean(&grades)?))).collect()
    }

    /// Collects the votes of a cell.
    fn add_rounds(&mut self, cell: &ScoredCell<'_>) {
        for judgment in cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == self.scorer) {
            // Each pair of a tournament has rounds of its own.
            let pairs = judgment.rounds.chunk_by(|a, b| a.opponent == b.opponent).filter(|rounds| rounds.len() > 1);
            for (rounds, (metric, _)) in
                pairs.flat_map(|rounds| judgment.scores.iter().map(move |score| (rounds, score)))
            {
                let mut said = VoteRounds::default();
                for round in rounds {
                    let numbers = round.scores.iter().filter(|(at, _)| at == metric).map(|(_, number)| *number);
                    if round.swapped { said.swapped.extend(numbers) } else { said.straight.extend(numbers) }
                }
                let place = (usize::from(judgment.judge), usize::from(*metric));
                self.rounds.entry(place).or_default().push((cell.sample, said));
            }
        }
    }

    /// Adds the grades of a cell whose outputs are judged one by one.
    fn add_grades(&mut self, cell: &ScoredCell<'_>, judged: &JudgedOutput) {
        let judgments = || cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == self.scorer);
        for judgment in judgments() {
            for (metric, score) in &judgment.scores {
                let Some(grade) = score.number() else { continue };
                let others = judgments().filter(|it| it.judge != judgment.judge);
                let others = others.filter_map(|it| it.scores.iter().find(|(at, _)| at == metric)?.1.number());
                let metric = usize::from(*metric);
                let place = (usize::from(judgment.judge), metric);
                self.grades.entry(place).or_default().push(JudgeGrade {
                    sample: cell.sample,
                    grade,
                    words: judged.words,
                    markup: judged.markup,
                    human: judged.human.get(&metric).copied(),
                    others: mean(&others.collect::<Vec<_>>()),
                    system: cell.row.system,
                });
            }
        }
    }

    /// The judge's lead over the others on its own family, minus that on other families: a mean over samples.
    fn favour(
        &self,
        graded: &[JudgeGrade],
        family: &str,
        context: &FinishContext<'_>,
        (level, range): (Level, Option<(f64, f64)>),
    ) -> Option<Finding> {
        let is_own = |system| self.plan.system_model(system).is_some_and(|it| it.family.as_deref() == Some(family));
        let mut leads: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for it in graded {
            let Some(lead) = it.others.map(|others| it.grade - others) else { continue };
            let (own, other) = leads.entry(it.sample).or_default();
            if is_own(it.system) { own.push(lead) } else { other.push(lead) }
        }
        let mut observed = Observations { clustered: context.table.is_clustered(), ..Observations::default() };
        for (sample, (own, other)) in &leads {
            if let (Some(own), Some(other)) = (mean(own), mean(other)) {
                observed.push(own - other, 0, context.table.cluster(*sample));
            }
        }
        // A lead is a difference, and this one of two of them.
        let widest = range.map(|(lo, hi)| 2.0 * (hi - lo));
        Measure::of_mean(false, widest.map(|widest| (-widest, widest)), level).figure(&observed)
    }

    /// The note on judges that grade their own family without a judge of another family to compare with.
    fn family_note(&self) -> Option<String> {
        let families: Vec<&String> = self.plan.models.iter().filter_map(|model| model.family.as_ref()).collect();
        let kin =
            self.plan.judges.iter().filter(|judge| judge.family.as_ref().is_some_and(|it| families.contains(&it)));
        let kin: Vec<&str> = kin.map(|judge| judge.id.as_str()).collect();
        let alone = self.grades.values().flatten().all(|it| it.others.is_none());
        (alone && !kin.is_empty()).then(|| {
            format!(
                "{} judges models of its own family: add a judge of another family to distinguish preference from quality",
                kin.join(", ")
            )
        })
    }
}

/// The share of samples for which `holds` is true, with a cluster-robust interval.
fn share_of_samples(
    holds: impl Iterator<Item = (usize, bool)>,
    context: &FinishContext<'_>,
    level: Level,
) -> Option<Finding> {
    let mut samples: Vec<(usize, bool)> = holds.collect();
    samples.sort_unstable();
    let repeated = samples.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let mut observed = Observations { clustered: context.table.is_clustered() || repeated, ..Observations::default() };
    for (sample, holds) in samples {
        observed.push(f64::from(u8::from(holds)), 0, context.table.cluster(sample));
    }
    Measure::of_mean(true, None, level).figure(&observed)
}

fn position_effect(
    (judge, metric): (String, String),
    rounds: &[(usize, VoteRounds)],
    context: &FinishContext<'_>,
    level: Level,
) -> Option<PositionEffect> {
    let preferred = |number: &f64| match number.total_cmp(&0.5) {
        Ordering::Greater => Preferred::A,
        Ordering::Equal => Preferred::Tie,
        Ordering::Less => Preferred::B,
    };
    let pairs = rounds.iter().flat_map(|(sample, said)| {
        said.straight.iter().zip(&said.swapped).map(|(a, b)| (*sample, (preferred(a), preferred(b))))
    });
    let pairs: Vec<(usize, (Preferred, Preferred))> = pairs.collect();
    let verdicts: Vec<(Preferred, Preferred)> = pairs.iter().map(|(_, pair)| *pair).collect();
    let found = position_bias(&verdicts, level);
    let flips = (found.flips_to_first, found.flips_to_second);
    let decisive = (found.first_wins + found.second_wins) as usize;
    Some(PositionEffect {
        judge,
        metric,
        consistency: share_of_samples(pairs.iter().map(|(sample, (a, b))| (*sample, a == b)), context, level)?,
        first: found.first_position_rate.and_then(|rate| Finding::point(rate, decisive, "share of decisive judgments")),
        flips,
        p: Finding::point(found.p_value, (flips.0 + flips.1) as usize, "exact binomial"),
    })
}

fn vote_consistency(
    (judge, metric): (String, String),
    rounds: &[(usize, VoteRounds)],
    context: &FinishContext<'_>,
    level: Level,
) -> Option<VoteConsistency> {
    let same = |votes: &[f64]| votes.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    let voted = rounds.iter().filter(|(_, said)| said.straight.len() > 1);
    let cells = voted.map(|(sample, said)| (*sample, same(&said.straight) && same(&said.swapped)));
    Some(VoteConsistency { judge, metric, same: share_of_samples(cells, context, level)? })
}

type SlopeFindings = (Finding, Option<Finding>, Option<Finding>);

/// Slope and correlation of grades on a feature, and the slope of judge − people.
fn feature_slope(
    graded: &[JudgeGrade],
    feature: fn(&JudgeGrade) -> f64,
    context: &FinishContext<'_>,
    level: Level,
) -> Option<SlopeFindings> {
    let clusters: Vec<u32> = graded.iter().map(|it| context.table.cluster(it.sample)).collect();
    let samples: Vec<usize> = graded.iter().map(|it| it.sample).collect();
    let each =
        |value: fn(&JudgeGrade) -> f64| center_within_groups(&samples, &graded.iter().map(value).collect::<Vec<_>>());
    let (x, y) = (each(feature), each(|it| it.grade));
    let slope = slope::slope(&x, &y, &clusters, level)?;
    let correlation = pearson(&x, &y, level).ok().flatten();
    let correlation = correlation.and_then(|it| Finding::point(it.correlation.value, graded.len(), "Pearson"));
    let labelled: Vec<JudgeGrade> = graded.iter().filter(|it| it.human.is_some()).copied().collect();
    let off = |it: &JudgeGrade| it.grade - it.human.unwrap_or_default();
    let clusters: Vec<u32> = labelled.iter().map(|it| context.table.cluster(it.sample)).collect();
    let (x, y) = (labelled.iter().map(feature).collect::<Vec<_>>(), labelled.iter().map(off).collect::<Vec<_>>());
    Some((slope, correlation, slope::slope(&x, &y, &clusters, level)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::judged_run;
    use crate::{Options, analyse};
    use karat_types::{JudgeRound, Score};
    use serde_json::json;

    /// F49: a judge that grades itself, or models of its own family, is warned of by default; scripts are not.
    #[test]
    fn a_judge_of_its_own_family_is_warned_of() {
        let warning = |edit: &dyn Fn(&mut PlanHeader)| {
            let mut run = judged_run(2, 4, &["kin", "stranger"], json!([]));
            let plan = Arc::make_mut(&mut run.header.plan);
            plan.models.iter_mut().chain(&mut plan.judges).for_each(|model| model.provider = "openai".to_owned());
            edit(plan);
            let expected = plan.own_family_warning();
            let findings = analyse(&run, &Options::default()).unwrap();
            assert_eq!(findings.warnings.iter().find(|it| it.contains("tend to favour")), expected.as_ref());
            expected
        };
        assert_eq!(warning(&|_| ()), None);
        let family = |plan: &mut PlanHeader| {
            plan.models[0].family = Some("a".to_owned());
            plan.judges[0].family = Some("a".to_owned());
            plan.judges[1].family = Some("b".to_owned());
        };
        let of_family = warning(&family).unwrap();
        assert!(of_family.starts_with("`kin` grades `") && of_family.contains("of its own family"), "{of_family}");
        assert!(!of_family.contains("stranger"), "{of_family}");
        // The same model under another id, with and without a family.
        let itself = warning(&|plan| plan.judges[1].model = plan.models[1].model.clone()).unwrap();
        assert!(itself.starts_with("`stranger` grades its own outputs: "), "{itself}");
        let scripts = warning(&|plan| {
            family(plan);
            plan.models[0].provider = "scripted".to_owned();
        });
        assert_eq!(scripts, None);
    }

    /// GE-04: a judge that favours length and its own family is detected beside one that does not.
    #[test]
    fn planted_length_and_family_bias_are_found() {
        let mut run = judged_run(2, 24, &["kin", "stranger"], json!([]));
        let plan = Arc::make_mut(&mut run.header.plan);
        plan.models[0].family = Some("a".to_owned());
        plan.judges[0].family = Some("a".to_owned());
        plan.analyses = vec![AnalysisSpec {
            analysis: "judge_bias".to_owned(),
            id: "bias".to_owned(),
            with: serde_json::Map::from_iter([("scorer".to_owned(), json!("quality"))]),
        }];
        for at in 0..run.cells.len() {
            let (sample, system) = (run.cells[at].sample, run.cells[at].system);
            let words = 10 + (sample * 7 + system * 13) % 40;
            run.outputs.insert(run.cells[at].cell.ordinal, json!("word ".repeat(words)));
            let fair = 5.0 + ((sample * 5 + system * 3) % 7) as f64 / 7.0;
            let own = if system == 0 { 0.8 } else { 0.0 };
            let kin = fair + own + 2.0 * (1.0 + words as f64).log2();
            for (judgment, grade) in run.cells[at].judgments.iter_mut().zip([kin, fair]) {
                judgment.scores = vec![(0, Score::value(grade))];
            }
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let Outcome::JudgeBias(found) = &findings.analyses[0].outcome else { panic!("no judge_bias") };
        let length =
            |judge: &str| found.leanings.iter().find(|it| it.judge == judge && it.check == BiasCheck::Length).unwrap();
        assert_eq!((length("kin").slope.sign(), length("stranger").slope.sign()), (Some(true), None), "{found:?}");
        assert!((length("kin").slope.value() - 2.0).abs() < 0.5);
        let favour = &found.own_family[0];
        assert_eq!((favour.judge.as_str(), found.own_family.len(), favour.favour.n()), ("kin", 1, 24));
        assert!(found.notes.is_empty() && found.leanings.iter().all(|it| it.check != BiasCheck::Style));
    }

    /// BY-07, GE-04: disagreement between orders and between votes is reported.
    #[test]
    fn a_judge_that_prefers_the_first_position_is_detected() {
        let mut run = judged_run(1, 20, &["judge"], json!([]));
        let plan = Arc::make_mut(&mut run.header.plan);
        plan.analyses = vec![AnalysisSpec {
            analysis: "judge_bias".to_owned(),
            id: "bias".to_owned(),
            with: serde_json::Map::from_iter([("scorer".to_owned(), json!("quality"))]),
        }];
        for cell in &mut run.cells {
            let at = cell.sample;
            run.outputs.insert(cell.cell.ordinal, json!("text"));
            // In the first twelve pairs the first position wins.
            let round = |swapped: bool, value: f64| JudgeRound { opponent: 0, swapped, scores: vec![(0, value)] };
            let swapped = if at < 12 { 0.0 } else { 1.0 };
            let votes = [round(false, 1.0), round(true, swapped), round(false, f64::from(u8::from(at % 2 == 0)))];
            cell.judgments[0].scores = vec![(0, Score::value(0.5))];
            cell.judgments[0].rounds = votes.to_vec();
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let Outcome::JudgeBias(found) = &findings.analyses[0].outcome else { panic!("no judge_bias") };
        let position = &found.positions[0];
        assert_eq!(
            (position.consistency.value(), position.consistency.method(), position.flips),
            (0.4, "Wilson", (12, 0))
        );
        assert!(position.p.as_ref().unwrap().value() < 0.001 && position.first.as_ref().unwrap().value() > 0.5);
        assert_eq!((found.votes[0].same.value(), found.votes.len()), (0.5, 1));
    }
}
