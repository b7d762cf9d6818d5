mod aliases;
mod diagnostics;
mod planned;
mod screens;

use karat_types::{Money, Score};
use serde_json::json;

use super::*;
use crate::testing::{MemoryRun, Sketch, judged_run};
use crate::{Options as Pass, analyse};

fn findings(run: &MemoryRun) -> Findings {
    analyse(run, &Pass::default()).unwrap()
}

/// The models of a run with two of them.
fn models(run: &MemoryRun, options: &CompareOptions) -> RunComparison {
    let found = findings(run);
    let side = |model| Side::of(model, &found, Some(model), None).unwrap();
    compare(&side("model-a"), &side("model-b"), options).unwrap()
}

/// Two models on `n` samples: the second scores `lead` more on average, with a spread that does not cancel out.
fn sketch(n: usize, lead: f64, spread: f64) -> Sketch {
    (0..n).fold(Sketch::new(2, 1, n), |sketch, sample| {
        let base = 3.0 + (sample % 5) as f64;
        let shift = spread * (((sample * 7919) % 13) as f64 / 6.0 - 1.0);
        sketch.value(sample, 0, base).value(sample, 1, base + lead + shift)
    })
}

fn only(compared: &RunComparison) -> &ComparedMetric {
    let [metric] = compared.metrics.as_slice() else { panic!("one metric, not {}", compared.metrics.len()) };
    metric
}

/// BY-01, GE-01: samples are paired by id, and those without a partner are listed.
#[test]
fn runs_are_paired_by_sample_id() {
    let before = sketch(40, 0.0, 0.5).absent(3, 0).absent(3, 1).run();
    let after = sketch(40, 0.4, 0.5).absent(7, 0).absent(7, 1).absent(8, 0).absent(8, 1).run();
    let (before, after) = (findings(&before), findings(&after));
    let side = |findings| Side::of("run", findings, None, None).unwrap();
    let found = compare(&side(&before), &side(&after), &CompareOptions::default()).unwrap();
    assert_eq!(found.matched, 37);
    assert_eq!(found.baseline.only, ["sample-7", "sample-8"]);
    assert_eq!(found.candidate.only, ["sample-3"]);
    assert_eq!(found.baseline.systems, ["model-a/variant-0", "model-b/variant-0"]);
    assert_eq!(only(&found).difference.n(), 37);
    let said = |found: &RunComparison| {
        found.warnings.iter().any(|it| it.starts_with("The metric quality.overall is measured differently"))
    };
    assert!(!said(&found));
    let mut other = after.clone();
    let mut plan = (*other.plan).clone();
    plan.metrics[0].range = Some((1.0, 5.0));
    other.plan = plan.into();
    let rescaled = compare(&side(&before), &side(&other), &CompareOptions::default()).unwrap();
    assert!(said(&rescaled), "{:?}", rescaled.warnings);
}

/// BY-01: 30 or more scores get the paired t test, with the sign-flip test as a further one.
#[test]
fn many_scores_get_the_t_test() {
    let found = models(&sketch(40, 0.4, 0.5).run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!((metric.test, metric.verdict), ("paired t", ComparisonVerdict::Better));
    assert!(metric.difference.interval().unwrap().0 > 0.0 && metric.p.unwrap() < 0.05);
    assert_eq!(metric.beside[0].test, "sign-flip");
    assert!(metric.beside[0].p.is_some() && metric.beside[0].seed == Some(1));
    assert_eq!((metric.candidate.n(), metric.needed.clone()), (40, None));
}

/// BY-01: fewer than 30 get the exact sign-flip test, with t and a bootstrap as further ones.
#[test]
fn few_scores_get_the_exact_test() {
    let found = models(&sketch(12, 0.4, 0.2).run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!((metric.test, metric.verdict), ("sign-flip", ComparisonVerdict::Better));
    assert_eq!(metric.difference.method(), "sign-flip, inverted, differences as likely as their opposites");
    let beside: Vec<&str> = metric.beside.iter().map(|it| it.test).collect();
    assert_eq!(beside, ["paired t", "BCa bootstrap"]);
}

/// PE-13, BY-01: pass/fail gets McNemar's mid-p, with the exact p-value and the t interval as further tests.
#[test]
fn pass_fail_gets_mid_p() {
    let passes = |wins: usize, losses: usize| {
        let run = (0..60).fold(Sketch::new(2, 1, 60).metric("binary", json!(true)), |sketch, sample| {
            let (a, b) = if sample < wins { (0.0, 1.0) } else { (1.0, if sample < wins + losses { 0.0 } else { 1.0 }) };
            sketch.value(sample, 0, a).value(sample, 1, b)
        });
        models(&run.metric("range", json!([0.0, 1.0])).run(), &CompareOptions::default())
    };
    let found = passes(12, 3);
    let metric = only(&found);
    assert_eq!((metric.test, metric.kind, metric.verdict), ("McNemar mid-p", Kind::Binary, ComparisonVerdict::Better));
    // scipy: 2 * binom.cdf(2, 15, .5) + binom.pmf(3, 15, .5)
    assert!((metric.p.unwrap() - 0.021_270_751_953_125).abs() < 1e-12, "{:?}", metric.p);
    let exact = &metric.beside[0];
    assert_eq!(exact.test, "McNemar exact");
    assert!(exact.p > metric.p);
    assert!(metric.beside[1].ci.is_some());
    assert_eq!(only(&passes(6, 4)).verdict, ComparisonVerdict::Undecided);
}

/// BY-01: no interval, of the deciding or a further test, contains a difference that the metric's range makes
/// impossible.
#[test]
fn intervals_stay_within_possible_differences() {
    for (n, binary, clusters) in [(5, true, 0), (40, true, 0), (8, false, 0), (40, true, 4), (40, false, 4)] {
        let names: Vec<String> = (0..n).map(|at| format!("cluster {}", at / 4)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // All samples of a cluster, or all but one, fall from one end of the scale to the other.
        let run = (0..n).fold(Sketch::new(2, 1, n).metric("range", json!([0.0, 1.0])), |run, at| {
            let stays = !binary && at == 0 || clusters > 0 && at % 17 == 0;
            run.value(at, 0, 1.0).value(at, 1, f64::from(u8::from(stays)))
        });
        let run = if clusters > 0 { run.clusters(&names) } else { run };
        let found = models(&run.metric("binary", json!(binary)).margin(0.1).run(), &CompareOptions::default());
        let metric = only(&found);
        let shown = metric.difference.interval().into_iter().chain(metric.beside.iter().filter_map(|it| it.ci));
        let all: Vec<(f64, f64)> = shown.chain(metric.equivalence.as_ref().and_then(Finding::interval)).collect();
        assert!(all.len() > 1 && all.iter().all(|(lo, hi)| *lo >= -1.0 && lo <= hi && *hi <= 1.0), "{all:?}");
        assert!(metric.verdict == ComparisonVerdict::Worse, "{metric:?}");
    }
}

/// BY-01: if lower is better, a rise is worse.
#[test]
fn the_direction_is_that_of_the_metric() {
    let found = models(&sketch(40, 0.4, 0.5).metric("better", json!("lower")).run(), &CompareOptions::default());
    assert_eq!(only(&found).verdict, ComparisonVerdict::Worse);
}

/// BY-01: equivalence needs a margin, declared by the scorer or given as an option.
#[test]
fn equivalent_is_within_a_declared_margin() {
    let close = sketch(60, 0.01, 0.3);
    assert_eq!(only(&models(&close.run(), &CompareOptions::default())).verdict, ComparisonVerdict::Undecided);
    assert_eq!(
        only(&models(&close.clone().margin(0.2).run(), &CompareOptions::default())).verdict,
        ComparisonVerdict::Equivalent
    );
    let asked = |value, percent| {
        let margin = Threshold { value, percent };
        CompareOptions {
            margins: BTreeMap::from([("quality.overall".to_owned(), margin)]),
            ..CompareOptions::default()
        }
    };
    assert_eq!(only(&models(&close.run(), &asked(0.2, false))).verdict, ComparisonVerdict::Equivalent);
    assert_eq!(only(&models(&close.run(), &asked(0.001, false))).verdict, ComparisonVerdict::Undecided);
    let relative = models(&close.run(), &asked(0.04, true));
    let metric = only(&relative);
    assert_eq!((metric.verdict, metric.margin), (ComparisonVerdict::Equivalent, Some(0.04 * metric.baseline.value())));
}

/// BY-01, BY-16: an undecided comparison states the samples and dollars that a decision needs.
#[test]
fn an_undecided_comparison_states_the_samples_needed() {
    let run = sketch(40, 0.02, 0.8).trials(2).margin(0.1).cost(Money(1_000_000)).run();
    let found = models(&run, &CompareOptions::default());
    let metric = only(&found);
    assert_eq!(metric.verdict, ComparisonVerdict::Undecided);
    let needed = metric.needed.as_ref().unwrap();
    // (z_{.95} + z_{.9})² s_d² / margin², and for t a few more.
    let sd = metric.difference.se().unwrap() * 40.0_f64.sqrt();
    let normal = 8.563_847_377_1 * sd * sd / 0.01;
    assert!((normal..normal + 3.0).contains(&(needed.samples as f64)), "{normal}: {needed:?}");
    assert_eq!(needed.more, needed.samples - 40);
    // Two models, two trials of each, a tenth of a cent each.
    assert!((needed.cost_usd.unwrap() - 0.004 * needed.more as f64).abs() < 1e-9);
    assert!(metric.detectable.unwrap() > 0.1);
    let unpriced = models(&sketch(40, 0.1, 0.8).run(), &CompareOptions::default());
    assert_eq!(only(&unpriced).needed.as_ref().unwrap().cost_usd, None);
}

/// PE-12, BY-01: clustered samples are tested by cluster.
#[test]
fn clustered_samples_are_tested_by_cluster() {
    let names: Vec<String> = (0..40).map(|sample| format!("passage {}", sample / 8)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = models(&sketch(40, 0.4, 0.5).clusters(&names).run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!((metric.test, metric.difference.effective_clusters()), ("sign-flip of clusters", Some(5.0)));
    // Five clusters have no p below 2/2⁵.
    assert_eq!(
        (metric.p, metric.difference.interval(), metric.verdict),
        (Some(0.0625), None, ComparisonVerdict::Undecided)
    );
    assert_eq!(metric.impossible.as_deref(), Some("5 clusters cannot decide; at least 6 are needed"));
    let many: Vec<String> = (0..120).map(|sample| format!("passage {}", sample / 3)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let found = models(&sketch(120, 0.4, 0.5).clusters(&many).run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!((metric.test, metric.difference.method()), ("cluster t (CR2)", "cluster t (CR2)"));
    assert_eq!(metric.verdict, ComparisonVerdict::Better);
}

/// DC-02, DC-03: without any difference p is 1, and the interval is that of the scale: so few samples prove no equality.
/// For a constant difference the sign-flip test decides.
#[test]
fn equal_results_prove_nothing_of_others() {
    for (n, binary) in [(2, false), (50, false), (50, true)] {
        let same = sketch(n, 0.0, 0.0).metric("binary", json!(binary));
        let identical = models(&same.run(), &CompareOptions::default());
        let metric = only(&identical);
        assert_eq!((metric.p, metric.verdict, metric.needed.clone()), (Some(1.0), ComparisonVerdict::Undecided, None));
        assert_eq!((metric.test, metric.difference.n()), ("no sample differs", n as u64));
        let (lo, hi) = metric.difference.interval().unwrap();
        assert!(lo < -0.05 && (lo + hi).abs() < 1e-9, "{metric:?}");
        let within =
            |margin: f64| only(&models(&same.clone().margin(margin).run(), &CompareOptions::default())).verdict;
        assert_eq!(within(0.01), ComparisonVerdict::Undecided);
    }
    let range = json!([1.0, 5.0]);
    let within = models(&sketch(200, 0.0, 0.0).metric("range", range).margin(0.08).run(), &CompareOptions::default());
    assert_eq!(only(&within).verdict, ComparisonVerdict::Equivalent);
    let single = models(&sketch(1, 0.0, 0.0).margin(0.1).run(), &CompareOptions::default());
    assert_eq!((only(&single).verdict, only(&single).difference.interval()), (ComparisonVerdict::Undecided, None));
    let constant = models(&sketch(5, 0.5, 0.0).run(), &CompareOptions::default());
    let metric = only(&constant);
    assert_eq!((metric.p, metric.verdict), (Some(0.0625), ComparisonVerdict::Undecided));
    let constant = models(&sketch(9, 0.5, 0.0).run(), &CompareOptions::default());
    let metric = only(&constant);
    assert_eq!((metric.verdict, metric.difference.few_vary()), (ComparisonVerdict::Better, true));
    assert!(metric.difference.interval().is_some_and(|(lo, hi)| lo > 0.0 && hi > 1.0), "{metric:?}");
}

/// BY-01: equivalence agrees with the shown interval at 1 − 2α, for every kind of scores.
#[test]
fn equivalence_matches_the_shown_interval() {
    for n in [3, 8, 16, 30, 60] {
        for margin in [0.05, 0.1, 0.2, 0.4] {
            for binary in [false, true] {
                let run = if binary {
                    (0..n).fold(Sketch::new(2, 1, n), |run, at| {
                        let pass = |every: usize| f64::from(u8::from(at % every != 1));
                        run.value(at, 0, pass(5)).value(at, 1, pass(7))
                    })
                } else {
                    sketch(n, 0.02, 0.3)
                };
                let found =
                    models(&run.metric("binary", json!(binary)).margin(margin).run(), &CompareOptions::default());
                let metric = only(&found);
                let shown = metric.equivalence.as_ref().unwrap();
                assert!(shown.level().is_none_or(|level| (level - 0.9).abs() < 1e-12), "{shown:?}");
                let within = shown.interval().is_some_and(|(lo, hi)| lo > -margin && hi < margin);
                assert_eq!(metric.verdict == ComparisonVerdict::Equivalent, within, "n {n} ±{margin}: {metric:?}");
            }
        }
    }
}

/// A failed or unfinished side is always reported, and without any score nothing is compared.
#[test]
fn missing_cells_of_a_side_are_reported() {
    let whole = || sketch(12, 0.3, 0.2);
    let told = |run: &MemoryRun| models(run, &CompareOptions::default()).warnings.join(" ");
    let broken = (0..4).fold(whole(), |run, at| run.error(at, 1, "timeout")).absent(7, 0).run();
    let words = told(&broken);
    assert!(words.contains("candidate (model-b) has 4 errors in 12 cells."), "{words}");
    assert!(words.contains("baseline (model-a) is unfinished: 1 of 12 cells"), "{words}");
    assert!(told(&whole().run()).is_empty());
    let lost = (0..12).fold(whole(), |run, at| run.error(at, 1, "timeout")).run();
    let found = findings(&lost);
    let side = |model| Side::of(model, &found, Some(model), None).unwrap();
    let refused = compare(&side("model-a"), &side("model-b"), &CompareOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("12 errors in 12 cells, all of them"), "{refused}");
}

/// The exit code depends only on the binding verdicts.
#[test]
fn only_binding_verdicts_set_the_exit_code() {
    let exit = |lead, binding: &[ComparisonVerdict]| {
        models(&sketch(40, lead, 0.5).run(), &CompareOptions::default()).exit(binding)
    };
    assert_eq!(exit(-0.6, &[]), Exit::Pass);
    assert_eq!(exit(-0.6, &[ComparisonVerdict::Worse]), Exit::GateFailed);
    assert_eq!(exit(0.6, &[ComparisonVerdict::Worse, ComparisonVerdict::Undecided]), Exit::Pass);
    assert_eq!(exit(0.001, &[ComparisonVerdict::Worse]), Exit::Pass);
    assert_eq!(exit(0.001, &[ComparisonVerdict::Worse, ComparisonVerdict::Undecided]), Exit::Undecided);
}

/// BY-01: scores missing on one side are left out, counted and reported.
#[test]
fn a_score_missing_on_one_side_is_left_out() {
    let run = sketch(40, 0.4, 0.5).unscored(3, 1).error(4, 0, "timeout").not_applicable(5, 0).run();
    let found = models(&run, &CompareOptions::default());
    let cells = LostCells { due: 39, errors: 1, unscored: 1, open: 0, judgments: 0.0 };
    let counted = LeftOut { n: 3, not_applicable: 1, errors: 1, unscored: 1, open: 0, cells };
    assert_eq!((only(&found).difference.n(), only(&found).left_out), (37, counted));
    assert!(found.warnings.iter().any(|it| it.contains("up to 2")));
}

/// BY-01, invariant: if a variant failed completely on one side, its missing cells count, the metric is undecided, and
/// the best and worst case contain the shown difference.
#[test]
fn a_variant_that_failed_on_one_side_is_undecided() {
    // The baseline passes all of the third variant, which the candidate lacks: it can only be worse there.
    let run = (0..40).fold(Sketch::new(2, 3, 40).metric("range", json!([0.0, 1.0])), |run, sample| {
        let pass = |every: usize| f64::from(u8::from(sample % every != 0));
        let systems = [pass(3), pass(4), 1.0, pass(8), pass(9)];
        let run = systems.iter().enumerate().fold(run, |run, (system, value)| run.value(sample, system, *value));
        run.error(sample, 5, "refused")
    });
    let found = models(&run.run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!(
        (metric.left_out.n, metric.left_out.cells),
        (0, LostCells { due: 120, errors: 40, unscored: 0, open: 0, judgments: 0.0 })
    );
    assert_eq!((metric.verdict, metric.difference.n()), (ComparisonVerdict::Undecided, 40));
    let why = metric.impossible.as_deref().unwrap();
    assert!(why.contains("40 of 120 pairs of cells (33.3 %) lack a score"), "{why}");
    // passes of 40: 26, 30 against 35, 35; and for the third variant 40 against 0 to 40.
    let (lo, hi) = metric.bounds.unwrap();
    assert!((metric.difference.value() - 14.0 / 80.0).abs() < 1e-12, "{metric:?}");
    assert!((lo - (14.0 - 40.0) / 120.0).abs() < 1e-12 && (hi - 14.0 / 80.0).abs() < 1e-12, "{lo} {hi}");
    assert!(
        found.warnings.iter().any(|it| it.starts_with("Pairs of cells without a score") && it.contains("up to 40"))
    );
    let allowed = models(&run.run(), &CompareOptions { max_unscored: 0.5, ..CompareOptions::default() });
    assert_eq!(only(&allowed).verdict, ComparisonVerdict::Better);
}

/// BY-01: a trial is paired with the same trial of the other side, and both sides are reduced over the common trials.
#[test]
fn trials_that_one_side_lacks_are_left_out_of_both() {
    for (reduce, expected) in [("mean", 0.5), ("max", 1.0), ("min", 0.0)] {
        let mut run = (0..40).fold(Sketch::new(2, 1, 40).trials(3).fill(1.0), |run, sample| {
            let run = [2.0, 5.0, 9.0].into_iter().zip(0..).fold(run, |run, (value, trial)| {
                run.trial_value((sample, 0, trial), value).trial_value((sample, 1, trial), value + f64::from(trial))
            });
            run.trial_error((sample, if sample < 20 { 0 } else { 1 }, 2), "timeout")
        });
        run = run.trial_error((39, 0, 0), "timeout").trial_error((39, 0, 1), "timeout");
        let mut run = run.run();
        let mut plan = (*run.header.plan).clone();
        plan.scorers[0].reduce = reduce.to_owned();
        run.header.plan = plan.into();
        let found = models(&run, &CompareOptions { max_unscored: 0.5, ..CompareOptions::default() });
        let metric = only(&found);
        assert_eq!((metric.difference.n(), metric.difference.value()), (39, expected), "{reduce}");
        let cells = LostCells { due: 120, errors: 42, unscored: 0, open: 0, judgments: 0.0 };
        assert_eq!(metric.left_out, LeftOut { n: 1, errors: 1, cells, ..LeftOut::default() });
        let (lo, hi) = metric.bounds.unwrap();
        assert!(lo <= expected && expected <= hi, "{reduce}: {lo} {hi}");
    }
}

#[test]
fn runs_without_common_parts_are_refused_with_their_names() {
    let (two, three) =
        (findings(&Sketch::new(2, 1, 2).fill(1.0).run()), findings(&Sketch::new(2, 2, 2).fill(1.0).run()));
    let side = |findings, model, variant| Side::of("s", findings, model, variant);
    let missing = side(&two, Some("model-z"), None).unwrap_err();
    assert_eq!(missing.has, ["model-a/variant-0", "model-b/variant-0"]);
    let (a, b) = (side(&two, None, None).unwrap(), side(&three, None, Some("variant-1")).unwrap());
    let found = compare(&a, &b, &CompareOptions::default()).unwrap();
    assert_eq!(found.candidate.systems, ["model-a/variant-1", "model-b/variant-1"]);
    let unknown = CompareOptions { metrics: vec!["speed".to_owned()], ..CompareOptions::default() };
    let refused = compare(&a, &b, &unknown).unwrap_err().to_string();
    assert!(refused.contains("quality.overall") && refused.contains("speed"), "{refused}");
    let margin = CompareOptions {
        margins: BTreeMap::from([("speed".to_owned(), Threshold::absolute(1.0))]),
        ..CompareOptions::default()
    };
    assert!(compare(&a, &b, &margin).unwrap_err().to_string().contains("speed"));
}

/// BY-01: verdict, p-value and interval never contradict each other, for every kind of scores.
#[test]
fn verdict_p_and_interval_agree() {
    for n in [6, 9, 16, 30, 45] {
        for step in -8..9 {
            for binary in [false, true] {
                let lead = f64::from(step) / 10.0;
                let run = if binary {
                    let toss = |sample: usize| (sample * 7919 % 101) as f64 / 101.0;
                    (0..n).fold(Sketch::new(2, 1, n), |sketch, sample| {
                        let pass = |share: f64| f64::from(u8::from(toss(sample + n) < share));
                        sketch.value(sample, 0, pass(0.5)).value(sample, 1, pass(0.5 + lead / 2.0))
                    })
                } else {
                    sketch(n, lead, 1.0)
                };
                let found = models(&run.metric("binary", json!(binary)).run(), &CompareOptions::default());
                let metric = only(&found);
                let sign = metric.difference.interval().map(|(lo, hi)| (lo > 0.0, hi < 0.0));
                let expected = match metric.verdict {
                    ComparisonVerdict::Better => Some((true, false)),
                    ComparisonVerdict::Worse => Some((false, true)),
                    _ => sign.map(|_| (false, false)),
                };
                assert_eq!(sign, expected, "n {n} lead {lead} binary {binary}: {metric:?}");
                assert_eq!(metric.p_adjusted.unwrap() <= 0.05, metric.verdict != ComparisonVerdict::Undecided);
            }
        }
    }
}

/// PE-12, BY-16: planning uses the degrees of freedom of few clusters.
#[test]
fn clusters_are_planned_as_they_are_tested() {
    let names: Vec<String> = (0..40).map(|sample| format!("passage {}", sample / 5)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = models(&sketch(40, 0.05, 2.5).clusters(&names).run(), &CompareOptions::default());
    let metric = only(&found);
    // A power of 0.8 needs more than the 2.8 standard errors of many clusters, and fewer than the 3.8 of five.
    let ratio = metric.detectable.unwrap() / metric.difference.se().unwrap();
    assert!((3.1..3.5).contains(&ratio), "{ratio}");
    let needed = metric.needed.as_ref().unwrap();
    assert!(needed.samples == 5 * needed.clusters.unwrap() && needed.more == needed.samples - 40, "{needed:?}");
}

/// BY-01: a difference beyond the largest double is reported, never dropped.
#[test]
fn scores_that_overflow_are_not_compared() {
    let run = (0..12).fold(Sketch::new(2, 1, 12), |it, at| it.value(at, 0, 1e308).value(at, 1, -1e308)).run();
    let found = findings(&run);
    let side = |model| Side::of(model, &found, Some(model), None).unwrap();
    let refused = compare(&side("model-a"), &side("model-b"), &CompareOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("too large for their difference"), "{refused}");
}

/// BY-01: a metric is compared by its own aggregate, with test and interval from the same resamples of whole clusters;
/// an extreme has neither.
#[test]
fn an_aggregate_is_compared_by_its_bootstrap() {
    for (aggregate, lead, verdict) in [
        ("median", 2.0, ComparisonVerdict::Better),
        ("p90", 2.0, ComparisonVerdict::Better),
        ("p90", 0.0, ComparisonVerdict::Undecided),
    ] {
        let found =
            models(&sketch(60, lead, 0.6).metric("aggregate", json!(aggregate)).run(), &CompareOptions::default());
        let metric = only(&found);
        assert_eq!((metric.test, metric.aggregate.as_str(), metric.verdict), ("paired bootstrap", aggregate, verdict));
        let (lo, hi) = metric.difference.interval().unwrap();
        assert_eq!(metric.p.unwrap() <= 0.05, lo > 0.0 || hi < 0.0, "{metric:?}");
        assert!((metric.candidate.value() - metric.baseline.value() - metric.difference.value()).abs() < 1e-12);
        assert_eq!((metric.difference.seed(), metric.beside[0].test), (Some(1), "difference of means"));
    }
    let extreme = models(&sketch(60, 2.0, 0.6).metric("aggregate", json!("max")).run(), &CompareOptions::default());
    let metric = only(&extreme);
    assert_eq!((metric.p, metric.verdict, metric.difference.interval()), (None, ComparisonVerdict::Undecided, None));
    assert!(metric.impossible.as_ref().is_some_and(|why| why.contains("max")), "{metric:?}");
    let few = models(&sketch(40, 2.0, 0.6).metric("aggregate", json!("p95")).run(), &CompareOptions::default());
    let why = only(&few).impossible.clone().unwrap();
    assert_eq!((only(&few).p, why.as_str()), (None, "the p95 (nearest rank) needs at least 60 samples for a test"));
}

/// BY-01: an unknown name among the requested metrics is an error.
#[test]
fn a_misspelt_metric_is_refused() {
    let run = sketch(20, 1.0, 0.5).run();
    let known = only(&models(&run, &CompareOptions::default())).metric.clone();
    let found = findings(&run);
    let side = |model| Side::of(model, &found, Some(model), None).unwrap();
    let asked = CompareOptions { metrics: vec![known, "zz*".to_owned()], ..CompareOptions::default() };
    let refused = compare(&side("model-a"), &side("model-b"), &asked).unwrap_err().to_string();
    assert!(refused.ends_with("requested: zz*"), "{refused}");
}

/// Invariant: if more scores are missing than the policy allows, nothing is decided, and the reason is given.
#[test]
fn too_many_missing_scores_are_undecided() {
    let failed = |count: usize| (0..count).fold(sketch(80, 2.0, 0.5), |it, sample| it.unscored(sample, 1)).run();
    assert_eq!(only(&models(&failed(4), &CompareOptions::default())).verdict, ComparisonVerdict::Better);
    let found = models(&failed(13), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!((metric.verdict, &metric.needed), (ComparisonVerdict::Undecided, &None));
    let why = metric.impossible.as_ref().unwrap();
    assert!(why.contains("13 of 80 samples (16.2 %)") && why.contains("max_unscored"), "{why}");
    let lenient = CompareOptions { max_unscored: 0.2, ..CompareOptions::default() };
    assert_eq!(only(&models(&failed(13), &lenient)).verdict, ComparisonVerdict::Better);
}

/// BY-01: the number of resamples comes from the suite; if it is too small to decide, the reason says so.
#[test]
fn the_suite_sets_the_number_of_resamples() {
    let mut run = sketch(60, 2.0, 0.6).metric("aggregate", json!("median")).run();
    let mut with = |resamples: u32| {
        let mut plan = (*run.header.plan).clone();
        plan.statistics.resamples = Some(resamples);
        run.header.plan = std::sync::Arc::new(plan);
        only(&models(&run, &CompareOptions::default())).clone()
    };
    let enough = with(999);
    assert_eq!((enough.verdict, enough.p), (ComparisonVerdict::Better, Some(0.002)));
    let few = with(20);
    assert_eq!((few.verdict, &few.needed, few.difference.interval()), (ComparisonVerdict::Undecided, &None, None));
    assert!(
        few.impossible.as_ref().is_some_and(|why| why.contains("20 resamples") && why.contains("at least 39")),
        "{few:?}"
    );
    assert_eq!(with(39).verdict, ComparisonVerdict::Better);
}

/// Invariant: one sample, or one cluster of all samples, has no test; too few samples state the number needed.
#[test]
fn undecidable_metrics_give_their_reason() {
    let one = models(&sketch(1, 1.0, 0.0).run(), &CompareOptions::default());
    assert_eq!((only(&one).p, only(&one).impossible.as_deref()), (None, Some("a single sample cannot be tested")));
    let cluster = models(&sketch(12, 1.0, 0.5).clusters(&["all"; 12]).run(), &CompareOptions::default());
    assert_eq!((only(&cluster).p, only(&cluster).difference.interval()), (None, None));
    assert!(only(&cluster).impossible.as_ref().is_some_and(|why| why.contains("one cluster")));
    let few = models(&sketch(3, 1.0, 0.1).run(), &CompareOptions::default());
    let why = only(&few).impossible.clone().unwrap();
    assert!(why.starts_with("3 samples") && why.ends_with("at least 6 are needed"), "{why}");
}

/// BY-01: a significant difference within the margin is equivalence, not worse.
#[test]
fn changes_within_the_margin_are_not_worse() {
    let found = models(&sketch(400, -0.1, 0.3).margin(0.2).run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!((metric.verdict, metric.difference.sign()), (ComparisonVerdict::Equivalent, Some(false)));
    assert!(metric.p.unwrap() < 0.001);
    assert_eq!(found.exit(&[ComparisonVerdict::Worse, ComparisonVerdict::Undecided]), Exit::Pass);
}

/// BY-01: changed samples are listed, and not paired.
#[test]
fn changed_samples_are_not_paired() {
    let found = findings(&sketch(40, 1.0, 0.5).run());
    let side = |model| Side::of(model, &found, Some(model), None).unwrap();
    let of = |ids: &mut dyn Iterator<Item = usize>| {
        let changed = ids.map(|at| format!("sample-{at}")).collect();
        compare(&side("model-a"), &side("model-b"), &CompareOptions { changed, ..CompareOptions::default() })
    };
    let some = of(&mut [3, 7, 99].into_iter()).unwrap();
    assert_eq!((some.matched, some.changed.len(), only(&some).difference.n()), (38, 2, 38));
    assert_eq!(of(&mut (0..40)), Err(CompareError::OtherContent { n: 40 }));
}

/// Invariant: missing scores have a best and a worst case. Reference: 38 differences of 1, and two with one known side:
/// 10 − 3 and 0 − 3, 4 − 0 and 4 − 10.
#[test]
fn missing_scores_have_a_best_and_a_worst_case() {
    let run = sketch(40, 1.0, 0.0).unscored(0, 1).error(1, 0, "timeout").run();
    let found = models(&run, &CompareOptions::default());
    let (lo, hi) = only(&found).bounds.unwrap();
    assert_eq!((only(&found).left_out.missing(), only(&found).left_out.n), (2, 2));
    assert!(
        (lo - (38.0 - 3.0 - 5.0) / 40.0).abs() < 1e-12 && (hi - (38.0 + 7.0 + 5.0) / 40.0).abs() < 1e-12,
        "{lo} {hi}"
    );
    assert_eq!(
        only(&models(&sketch(40, 1.0, 0.0).not_applicable(0, 1).run(), &CompareOptions::default())).bounds,
        None
    );
    let unbounded = sketch(40, 1.0, 0.0).unscored(0, 1).metric("range", json!(null)).run();
    assert_eq!(only(&models(&unbounded, &CompareOptions::default())).bounds, None);
}

/// BY-01: a margin relative to 0 is refused as an option, and reported if the suite declares it.
#[test]
fn a_percentage_of_zero_is_not_a_margin() {
    let run = (0..40).fold(Sketch::new(2, 1, 40), |it, at| it.value(at, 0, 0.0).value(at, 1, (at % 2) as f64)).run();
    let found = findings(&run);
    let side = |model| Side::of(model, &found, Some(model), None).unwrap();
    let share = Threshold { value: 0.05, percent: true };
    let options = CompareOptions {
        margins: BTreeMap::from([("quality.overall".to_owned(), share)]),
        ..CompareOptions::default()
    };
    let refused = compare(&side("model-a"), &side("model-b"), &options).unwrap_err();
    assert_eq!(refused, CompareError::MarginOfZero { metric: "quality.overall".to_owned() });
    assert!(compare(&side("model-b"), &side("model-a"), &options).is_ok());
}

/// BY-01: a metric that repeats another is no further test.
#[test]
fn a_repeated_metric_counts_as_one_test() {
    let mut run = sketch(40, 0.3, 0.5).run();
    let mut plan = (*run.header.plan).clone();
    plan.metrics.push(karat_types::MetricSpec { name: "quality.again".to_owned(), ..plan.metrics[0].clone() });
    plan.metrics.push(karat_types::MetricSpec { name: "quality.other".to_owned(), ..plan.metrics[0].clone() });
    run.header.plan = plan.into();
    for (at, cell) in run.cells.iter_mut().enumerate() {
        let score = cell.cell.scores[0].1.clone();
        let other = Score::value((at * 7919 % 11) as f64);
        cell.cell.scores.extend([(1, score), (2, other)]);
    }
    let found = models(&run, &CompareOptions::default());
    let [first, again, other] = found.metrics.as_slice() else { panic!("{found:?}") };
    assert_eq!((found.family, first.p, first.p_adjusted), (2, again.p, again.p_adjusted));
    assert!(
        (first.p_adjusted.unwrap() - 2.0 * first.p.unwrap().min(other.p.unwrap())).abs() < 1e-12 || first.p > other.p
    );
    assert_eq!(first.difference, again.difference);
}
