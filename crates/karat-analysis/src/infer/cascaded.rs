//! Figures of a judge cascade: the estimated mean of the judges over all cells.

use karat_stats::correction::{CascadeBasis, CascadeMean, MIN_DRAWN};
use karat_stats::describe::{clustered_mean, mean, t_interval};
use karat_stats::interval::{Interval, Level, Method};

use crate::infer::finding::Finding;
use crate::score::cascade::ObservedCascade;
use crate::score::observations::Observations;

/// The estimate of a cascade's observations, with equal weight for each stratum. `None` without cells that can be
/// estimated.
///
/// One stratum: θ ± t·√V or √V_d, n − 2 degrees of freedom. Several: the mean of their θ; V is CR1 of the cells' values
/// times the largest n/(n − 2) with the fewest degrees of freedom, and V_d the sum of the strata's over their squared
/// number, because draws are independent.
pub(crate) fn cascade_figure(
    observed: &Observations,
    cascade: &ObservedCascade,
    basis: CascadeBasis,
    level: Level,
) -> Option<Finding> {
    let strata = cascade.by_stratum()?;
    let means: Vec<CascadeMean> =
        strata.iter().map(|(fit, cells)| fit.mean(cells)).collect::<Option<Vec<_>>>().filter(|it| !it.is_empty())?;
    let cells = means.iter().map(|it| it.n).sum();
    if let [only] = means.as_slice() {
        let point = Finding::point(only.estimate, cells, "cascade, mean")?;
        let variance = match basis {
            CascadeBasis::Population => only.variance,
            CascadeBasis::Dataset => only.dataset_variance,
        };
        return Some(point.with_interval(only.interval(basis, level), variance.map(f64::sqrt)));
    }
    let estimates: Vec<f64> = means.iter().map(|it| it.estimate).collect();
    let centre = mean(&estimates)?;
    let point = Finding::point(centre, cells, "cascade, mean")?;
    let (se, df) = match basis {
        CascadeBasis::Population => population_error(observed, &means, level)?,
        CascadeBasis::Dataset => {
            let variances: Option<f64> = means.iter().map(|it| it.dataset_variance).sum();
            let df = means.iter().filter_map(|it| it.dataset_df).fold(f64::INFINITY, f64::min);
            (variances?.sqrt() / means.len() as f64, df)
        }
    };
    if se <= 0.0 {
        return Some(point.with_interval(Some(Interval::around(centre, 0.0, level, Method::Degenerate)), Some(0.0)));
    }
    let df = if df.is_finite() { df } else { return Some(point) };
    let interval = t_interval(centre, se, df, level);
    let interval = interval.map(|it| Interval { method: Method::Cascade, ..it });
    Some(point.with_interval(interval, Some(se)))
}

/// Standard error and degrees of freedom of several strata's mean.
fn population_error(observed: &Observations, means: &[CascadeMean], level: Level) -> Option<(f64, f64)> {
    let by_stratum = observed.by_stratum();
    let total = observed.len() as f64;
    let centres: Vec<f64> = by_stratum.iter().map(|(_, values)| mean(values)).collect::<Option<_>>()?;
    let pseudo: Vec<f64> = observed
        .values
        .iter()
        .zip(&observed.strata)
        .filter_map(|(value, stratum)| {
            let at = by_stratum.binary_search_by_key(stratum, |(id, _)| *id).ok()?;
            let weight = total / (by_stratum.len() * by_stratum.get(at)?.1.len()) as f64;
            Some(weight * (value - centres.get(at)?))
        })
        .collect();
    let robust = clustered_mean(&pseudo, &observed.clusters, level).ok()?;
    let factor =
        |it: &CascadeMean| if it.dataset_df.is_some() { it.drawn as f64 / (it.drawn as f64 - 2.0) } else { 1.0 };
    let factor = means.iter().map(factor).fold(1.0, f64::max);
    let df = means.iter().map(|it| it.df.unwrap_or(0.0)).fold(robust.df?, f64::min);
    (df > 0.0).then_some((robust.standard_error? * factor.sqrt(), df))
}

/// The reason why a cascade's figure decides no gate, if there is one: too few answers, too many missing ones, or draws
/// that were not made with one probability.
pub(crate) fn refusal(cascade: &ObservedCascade, max_unscored: f64) -> Option<String> {
    let strata = match cascade.by_stratum() {
        Some(strata) => strata,
        None => return Some("the judges of the cascade graded no cell that was drawn".to_owned()),
    };
    for (fit, cells) in &strata {
        let found = fit.mean(cells)?;
        let estimated = found.sure > found.drawn;
        if estimated && found.drawn < MIN_DRAWN {
            return Some(format!(
                "the cascade's judges graded {} of the cells that were drawn, and an estimate needs {MIN_DRAWN}: raise \
                 `cascade.share`, or ask about more samples",
                found.drawn
            ));
        }
        let asked = cells.iter().filter(|it| it.asked != karat_stats::correction::Asked::No).count();
        let missing =
            cells.iter().filter(|it| it.asked != karat_stats::correction::Asked::No && it.dear.is_none()).count();
        if missing as f64 > max_unscored * asked as f64 {
            return Some(format!(
                "{missing} of the {asked} cells that the cascade's judges were asked about have no score, and the policy \
                 allows {:.1} %",
                max_unscored * 100.0
            ));
        }
    }
    let pis = cascade.source().systems.iter().filter_map(|it| it.draws.pi);
    for (lo, hi) in pis {
        if lo <= 0.0 {
            return Some("the cascade drew no sure cell: its probability was 0".to_owned());
        }
        if hi - lo > 1e-12 {
            return Some(format!(
                "the cells of the cascade were drawn with different probabilities, from {lo:.3} to {hi:.3}: run it again in \
                 one piece"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::{AskedJudge, CascadeDraw, Gate, GateBasis, GateRules, Policy, Score, Threshold};
    use serde_json::json;

    use crate::gate::{References, Verdicts, decide};
    use crate::testing::{MemoryRun, judged_run, judgment};
    use crate::{Options, Outcome, Pinned, analyse};

    /// One system with a cascade: for each sample the part, the first score and the judge's.
    fn run(cells: &[(AskedJudge, f64, f64)]) -> MemoryRun {
        let mut run = judged_run(1, cells.len(), &["dear", "cheap"], json!([]));
        let mut plan = serde_json::to_value(run.header.plan.as_ref()).unwrap();
        let mut first = plan["scorers"][0].clone();
        first["id"] = json!("quality-first");
        first["is_first_judge"] = json!(true);
        first["kind"]["rubric"]["judges"] = json!(["cheap"]);
        plan["scorers"][0]["kind"]["rubric"]["judges"] = json!(["dear"]);
        plan["scorers"][0]["cascade"] = json!({ "first": "quality-first", "share": 0.1 });
        plan["scorers"].as_array_mut().unwrap().push(first);
        let mut metric = plan["metrics"][0].clone();
        metric["name"] = json!("quality-first.overall");
        metric["scorer"] = json!(1);
        let metrics = plan["metrics"].as_array_mut().unwrap();
        metrics.truncate(1);
        metrics.push(metric);
        run.header.plan = Arc::new(serde_json::from_value(plan).unwrap());
        for (cell, (asked, first, dear)) in run.cells.iter_mut().zip(cells) {
            let ordinal = cell.cell.ordinal;
            let mut own = judgment(ordinal, 0, 0);
            own.cascade = Some(CascadeDraw { asked: *asked, pi: 0.4 });
            let score = match asked {
                AskedJudge::No => Score::not_applicable("not asked"),
                _ => Score::value(*dear),
            };
            own.scores = vec![(0, score)];
            let mut cheap = judgment(ordinal, 1, 1);
            cheap.scores = vec![(1, Score::value(*first))];
            cell.judgments = vec![own, cheap];
        }
        run
    }

    /// Samples of which two fifths are drawn; the judge grades 1 lower than the first, ± 1.
    fn cells(n: usize) -> Vec<(AskedJudge, f64, f64)> {
        let cell = |at: usize| {
            let first = 3.0 + (at * 7 % 5) as f64;
            let asked = if at % 5 < 2 { AskedJudge::Drawn } else { AskedJudge::No };
            (asked, first, first - 1.0 + (at * 11 % 3) as f64 - 1.0)
        };
        (0..n).map(cell).collect()
    }

    fn truth(cells: &[(AskedJudge, f64, f64)]) -> f64 {
        cells.iter().map(|(.., dear)| dear).sum::<f64>() / cells.len() as f64
    }

    fn decided(run: &MemoryRun, change: impl FnOnce(&mut Gate), references: &References) -> Verdicts {
        let mut gate = Gate::for_metric("quality.overall");
        change(&mut gate);
        let rules = GateRules { gates: vec![gate], policy: Policy::default(), ..GateRules::default() };
        decide(&analyse(run, &Options::default()).unwrap(), run, &rules, references).unwrap()
    }

    fn min(value: f64) -> impl FnOnce(&mut Gate) {
        move |gate| gate.min = Some(Threshold { value, percent: false })
    }

    /// SL-21: the figure of a system is the estimate over all its cells, with the first scorer's beside it; what a cell
    /// shows is the judge's score, or the expected one.
    #[test]
    fn the_figure_is_that_of_all_cells() {
        let cells = cells(400);
        let findings = analyse(&run(&cells), &Options::default()).unwrap();
        let figure = findings.systems[0].metrics[0].figure().unwrap().clone();
        let (lo, hi) = figure.interval().unwrap();
        assert_eq!((figure.n(), figure.method()), (400, "cascade (regression, t)"));
        assert!(lo < truth(&cells) && truth(&cells) < hi && hi - lo < 0.5, "{figure:?}");
        let spread = &findings.systems[0].metrics[0];
        assert!((spread.mean().unwrap() - figure.value()).abs() < 1e-9, "shown scores have the same mean");
        assert!(spread.min().unwrap() >= 0.0 && spread.max().unwrap() <= 10.0 && spread.n_na() == 0);
        let shown = |sample: usize| findings.on_sample(0, sample, &findings.run).unwrap().value();
        assert!((shown(0) - cells[0].2).abs() < 1e-9);
        assert!((shown(3) - (cells[3].1 - 1.0)).abs() < 0.3, "{}", shown(3));
        let Some(Outcome::Cascades(found)) =
            findings.analyses.iter().map(|it| &it.outcome).find(|it| matches!(it, Outcome::Cascades(_)))
        else {
            panic!("no cascade")
        };
        let system = &found.scorers[0].systems[0];
        assert_eq!((system.unsure, system.drawn, system.not_asked), (0, 160, 240));
        assert!(system.metrics[0].width_ratio.is_some_and(|ratio| ratio > 1.0 && ratio < 2.0));
        assert_eq!(found.scorers[0].first, "cheap");
    }

    /// SL-21: what is said of one sample is a grade or the estimate, never the estimator's value, which may lie far outside
    /// the scale: the hardest sample, the sample's spread, pinned scores and `per: sample` gates.
    #[test]
    fn single_samples_show_grades_or_estimates() {
        let mut cells = cells(400);
        // A drawn cell that the judge grades far below what the first one lets expect.
        let drawn = (0..400).filter(|at| cells[*at].0 == AskedJudge::Drawn);
        let odd = drawn.max_by(|a, b| cells[*a].1.total_cmp(&cells[*b].1)).unwrap();
        cells[odd].2 = 0.0;
        let run = run(&cells);
        let findings = analyse(&run, &Options::default()).unwrap();
        let figure = findings.table.figure_value(0, odd, 0).unwrap().for_sums();
        assert!(figure < -1.0, "the value for sums is not a grade: {figure}");
        let hardest = findings.leaderboards[0].hardest_sample.as_ref().unwrap();
        assert!((0.0..=10.0).contains(&hardest.finding.value()), "{hardest:?}");
        let pinned = Pinned::of(&run.header, &findings);
        for (at, cell) in cells.iter().enumerate() {
            let id = findings.sample_id(at);
            let places = [
                findings.on_sample(0, at, &findings.run).unwrap().value(),
                findings.sample(at).metrics[0].value().unwrap(),
                pinned.value(0, "quality.overall", id).unwrap(),
            ];
            for shown in places {
                let is_grade = (shown - cell.2).abs() < 1e-9;
                assert!(is_grade || cell.0 == AskedJudge::No && (shown - cell.1).abs() < 3.0, "{id}: {shown} {cell:?}");
            }
        }
        let none = References::default();
        let per_sample = |gate: &mut Gate| {
            min(5.0)(gate);
            gate.per = "sample".to_owned();
        };
        let verdicts = decided(&run, per_sample, &none);
        assert_eq!(verdicts.decisions.len(), 400);
        for decision in &verdicts.decisions {
            let at = (0..400).find(|at| Some(findings.sample_id(*at)) == decision.sample.as_deref()).unwrap();
            let (asked, _, grade) = cells[at];
            if asked == AskedJudge::No {
                assert_eq!((decision.verdict.as_str(), decision.observed), ("undecided", None));
                assert!(decision.reason.contains("did not grade this sample"), "{}", decision.reason);
            } else {
                assert!((decision.observed.unwrap() - grade).abs() < 1e-9, "{decision:?}");
                assert_eq!(decision.verdict.as_str(), if grade >= 5.0 { "pass" } else { "fail" });
            }
        }
    }

    /// SL-22: gates decide by the interval, narrower for this dataset's mean than for the population's.
    #[test]
    fn gates_decide_by_the_interval() {
        let cells = cells(400);
        let (run, none) = (run(&cells), References::default());
        let word = |bound: f64| decided(&run, min(bound), &none).decisions[0].verdict.as_str();
        assert_eq!([word(truth(&cells) - 1.0), word(truth(&cells) + 1.0)], ["pass", "fail"]);
        let at = |decide: GateBasis| {
            let verdicts = decided(
                &run,
                |gate| {
                    gate.min = Some(Threshold { value: truth(&cells), percent: false });
                    gate.decide = decide;
                },
                &none,
            );
            let decision = verdicts.decisions[0].clone();
            assert_eq!((decision.verdict.as_str(), decision.by_interval), ("undecided", true), "{}", decision.reason);
            let (lo, hi) = decision.finding.unwrap().interval().unwrap();
            hi - lo
        };
        let (dataset, population) = (at(GateBasis::Point), at(GateBasis::Interval));
        assert!(dataset < population, "{dataset} {population}");
    }

    /// SL-22: few answers, missing ones, and draws with different probabilities decide nothing, with the reason.
    #[test]
    fn unreliable_cascades_decide_nothing() {
        let none = References::default();
        let reason = |run: &MemoryRun| {
            let decision = decided(run, min(0.5), &none).decisions[0].clone();
            assert_eq!(decision.verdict.as_str(), "undecided", "{}", decision.reason);
            decision.reason
        };
        let few = reason(&run(&cells(100)));
        assert!(few.contains("graded 40 of the cells that were drawn, and an estimate needs 50"), "{few}");
        let mut missing = run(&cells(400));
        for cell in missing.cells.iter_mut().filter(|it| it.sample % 25 == 0) {
            cell.judgments[0].scores[0].1 = Score::unscored("no JSON");
        }
        let said = reason(&missing);
        assert!(
            said.contains("16 of the 160 cells that the cascade's judges were asked about have no score"),
            "{said}"
        );
        let mut changed = run(&cells(400));
        changed.cells[7].judgments[0].cascade = Some(CascadeDraw { asked: AskedJudge::No, pi: 0.3 });
        assert!(reason(&changed).contains("different probabilities, from 0.300 to 0.400"));
        let mut undrawn = cells(400);
        undrawn.iter_mut().for_each(|cell| cell.0 = AskedJudge::No);
        let said = reason(&run(&undrawn));
        assert!(said.contains("no cell has a score") || said.contains("could not be scored"), "{said}");
    }

    /// SL-22: a change from a pinned run is estimated from differences, sample by sample.
    #[test]
    fn changes_are_estimated_from_differences() {
        let cells = cells(400);
        let run = run(&cells);
        // The pinned run graded every cell, half a point higher.
        let mut before = cells.clone();
        before.iter_mut().for_each(|cell| *cell = (AskedJudge::Drawn, cell.1, cell.2 + 0.5));
        let before = self::run(&before);
        let pinned = Pinned::of(&before.header, &analyse(&before, &Options::default()).unwrap());
        let references = References { baseline: Some(pinned), ..References::default() };
        let drop = |most: f64| {
            let verdicts =
                decided(&run, |gate| gate.max_drop = Some(Threshold { value: most, percent: false }), &references);
            verdicts.decisions[0].clone()
        };
        let found = drop(1.0);
        assert_eq!(found.verdict.as_str(), "pass", "{}", found.reason);
        let change = found.finding.unwrap();
        assert!((change.value() + 0.5).abs() < 1e-9, "the difference is the same on every sample: {change:?}");
        assert_eq!(drop(0.4).verdict.as_str(), "fail");
    }

    /// SL-21: rankings and comparisons of cascaded metrics use values with the spread of the estimate; samples that moved
    /// show their scores.
    #[test]
    fn comparisons_use_the_values_of_the_estimate() {
        let cells = cells(400);
        let (one, mut better) = (run(&cells), cells.clone());
        better.iter_mut().for_each(|cell| *cell = (cell.0, (cell.1 + 1.0).min(10.0), (cell.2 + 1.0).min(10.0)));
        let other = run(&better);
        let found = |run: &MemoryRun| analyse(run, &Options::default()).unwrap();
        let (before, after) = (found(&one), found(&other));
        let side = |findings| crate::compare::Side::of("run", findings, None, None).unwrap();
        assert!(!before.leaderboards[0].places.is_empty());
        let compared =
            crate::compare::compare(&side(&before), &side(&after), &crate::compare::CompareOptions::default()).unwrap();
        let movers = compared.movers.iter().find(|it| it.metric == "quality.overall").unwrap();
        let moved = || movers.better.iter().chain(&movers.worse);
        assert!(moved().count() > 0 && moved().all(|it| (0.0..=10.0).contains(&it.baseline)), "{movers:?}");
        let metric = compared.metrics.iter().find(|it| it.metric == "quality.overall").unwrap();
        assert_eq!(metric.verdict, crate::compare::ComparisonVerdict::Better);
    }

    /// SL-20: patterns of gates do not mean the first judge of a cascade, its full name does.
    #[test]
    fn patterns_leave_the_first_judge_out() {
        let run = run(&cells(400));
        let names = |pattern: &str| {
            let mut gate = Gate::for_metric(pattern);
            gate.min = Some(Threshold { value: 0.0, percent: false });
            let rules = GateRules { gates: vec![gate], ..GateRules::default() };
            let verdicts = decide(&analyse(&run, &Options::default()).unwrap(), &run, &rules, &References::default());
            verdicts.unwrap().decisions.into_iter().map(|it| it.subject).collect::<Vec<_>>()
        };
        assert_eq!(names("quality*"), ["quality.overall"]);
        assert_eq!(names("quality-first.overall"), ["quality-first.overall"]);
    }
}
