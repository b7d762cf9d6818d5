//! Says where the grades of a judge are missing, and what that does to the figures.

use karat_stats::describe::mean;
use karat_types::{ConsensusMethod, ScorerKind};

use crate::figures::groups::system_id;
use crate::findings::Findings;
use crate::score::instrument::metric_names::headline_metrics;

/// By system, the judges that failed on some of its cells, and by how much its figure leans since the others graded alone.
pub(crate) fn missing_judges(findings: &Findings) -> Vec<String> {
    let (plan, table) = (&findings.plan, &findings.table);
    let mut warnings = Vec::new();
    for (at, scorer) in plan.scorers.iter().enumerate() {
        let ScorerKind::Rubric(rubric) = &scorer.kind else { continue };
        let judges = plan.judges.iter().enumerate().filter(|(_, judge)| rubric.judges.contains(&judge.id));
        let judges: Vec<usize> = judges.map(|(judge, _)| judge).collect();
        let mut own =
            headline_metrics(plan).into_iter().filter(|it| plan.metrics.get(*it).is_some_and(|it| it.scorer == at));
        let Some(metric) = own.next().filter(|_| judges.len() > 1) else { continue };
        let entries = |system: usize| {
            let graded = (0..table.samples()).filter_map(move |sample| table.judges_of(metric, sample, system));
            graded.filter(|it| it.means.iter().any(|mean| !mean.is_nan())).map(|it| it.means)
        };
        let others = |means: &[f64], judge: usize| {
            let others = judges.iter().filter(|it| **it != judge).filter_map(|it| means.get(*it));
            mean(&others.copied().filter(|grade| !grade.is_nan()).collect::<Vec<_>>())
        };
        for judge in &judges {
            let difference =
                |means: &[f64]| Some(means.get(*judge).filter(|it| !it.is_nan())? - others(means, *judge)?);
            let apart: Vec<f64> = (0..plan.systems.len()).flat_map(entries).filter_map(difference).collect();
            let Some(apart) = mean(&apart) else { continue };
            for system in 0..plan.systems.len() {
                let n = entries(system).count();
                let missing = entries(system).filter(|means| means.get(*judge).is_none_or(|it| it.is_nan())).count();
                // With the mean of k judges, a cell without one of them is off by a k-th of how far it grades apart.
                let lean = -apart * missing as f64 / (n.max(1) * judges.len()) as f64;
                let is_plain = rubric.consensus.method == ConsensusMethod::Mean && rubric.consensus.weights.is_empty();
                if missing == 0 || is_plain && lean.abs() < 0.005 {
                    continue;
                }
                let name = |judge: usize| plan.judges.get(judge).map_or("", |it| it.id.as_str());
                let rest = match judges.as_slice() {
                    [first, second] => name(if first == judge { *second } else { *first }),
                    _ => "the others",
                };
                let (direction, apart) =
                    (if apart < 0.0 { "lower" } else { "higher" }, format!("{apart:+.2}").replace('-', "−"));
                let lean = match is_plain {
                    true => format!("lean by {}", format!("{lean:+.2}").replace('-', "−")),
                    false => "lean away from it".to_owned(),
                };
                warnings.push(format!(
                    "{} is missing on {missing} of {n} cells of {} and grades {apart} {direction} than {rest}: its figures of `{}` {lean}.",
                    name(*judge),
                    system_id(plan, system),
                    scorer.id
                ));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use karat_types::Score;
    use serde_json::json;

    use crate::compare::{CompareOptions, Side, compare};
    use crate::testing::judged_run;
    use crate::{Options, analyse};

    /// DC-06: a judge that is missing on part of one system's cells and grades higher makes its figure lean, which is said;
    /// its share of these cells counts as missing, and the comparison asks the same judges on both sides.
    #[test]
    fn a_missing_judge_is_named_with_what_it_does() {
        let mut run = judged_run(2, 60, &["j0", "j1"], json!([]));
        let mut lost = 0;
        for cell in &mut run.cells {
            for judgment in &mut cell.judgments {
                let is_lost = cell.system == 1 && judgment.judge == 1 && cell.sample < 18;
                let grade = Score::value(5.0 + f64::from(judgment.judge));
                judgment.scores = vec![(0, if is_lost { Score::unscored("late") } else { grade })];
                lost += usize::from(is_lost);
            }
        }
        assert_eq!(lost, 18);
        let findings = analyse(&run, &Options::default()).unwrap();
        let said = findings.warnings.join("\n");
        assert!(said.contains("j1 is missing on 18 of 60 cells of model-b"), "{said}");
        assert!(said.contains("grades +1.00 higher than j0") && said.contains("lean by −0.15"), "{said}");
        let side = |model: &str| Side::of(model, &findings, Some(model), None).unwrap();
        let compared = compare(&side("model-a"), &side("model-b"), &CompareOptions::default()).unwrap();
        let metric = &compared.metrics[0];
        assert!(metric.difference.value().abs() < 1e-12, "{:?}", metric.difference);
        assert!((metric.left_out.cells.judgments - 9.0).abs() < 1e-12, "{:?}", metric.left_out);
        let why = metric.impossible.as_deref().unwrap_or_default();
        assert!(why.starts_with("9 of 60 pairs of cells (15.0 %) lack a score on one side"), "{why}");
        assert_eq!(findings.leaderboards[0].shared, 42);
    }
}
