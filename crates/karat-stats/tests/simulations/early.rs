//! Early stopping: how often a verdict is wrong, and how much is saved.

use karat_stats::compare::multiplicity::StepRule;
use karat_stats::describe::{Proportion, clustered_mean, mean_with_t_interval};
use karat_stats::interval::Level;
use karat_stats::sequential::{Basis, Bound, ClaimSpec, ClaimVerdict, Claims, EarlyRule, MIN_CLUSTERS, MIN_UNITS};

use crate::draw::{Draw, Unit, mean, median};

const ALPHA: f64 = 0.05;

fn spec(units: &[Unit], threshold: f64, basis: Basis) -> ClaimSpec {
    let largest = units.iter().map(|unit| unit.1).max().unwrap();
    let rule = EarlyRule::Betting;
    ClaimSpec { threshold, bound: Bound::AtLeast, basis, rule, units: units.len() as u64, largest, alpha: ALPHA }
}

/// The verdict of a claim over `units` in their order, and the units that it took.
fn follow(units: &[Unit], spec: ClaimSpec, min: u64) -> Option<(ClaimVerdict, u64)> {
    let mut claims = Claims::new(&[spec], ALPHA, StepRule::Holm, min).unwrap();
    for (sum, n) in units {
        claims.add(0, *sum, *n).unwrap();
        claims.look(&[]);
        if let Some(decision) = claims.decisions()[0] {
            return Some((decision.verdict, decision.units));
        }
    }
    None
}

/// Shares of wrong fails and wrong passes when the mean is at the threshold and just below.
#[derive(Debug, Clone, Copy)]
struct Errors {
    fails: f64,
    passes: f64,
}

impl Errors {
    fn worst(self) -> f64 {
        self.fails.max(self.passes)
    }
}

/// Wrong verdicts about the mean of the dataset that `make` draws, by the default rule.
fn dataset_errors(runs: u64, min: u64, make: impl Fn(&mut Draw) -> Vec<Unit>) -> Errors {
    errors_of_rule(EarlyRule::Betting, runs, min, make)
}

fn errors_of_rule(rule: EarlyRule, runs: u64, min: u64, make: impl Fn(&mut Draw) -> Vec<Unit>) -> Errors {
    let (mut fails, mut passes) = (0.0, 0.0);
    for run in 0..runs {
        let units = make(&mut Draw::new(41, run));
        let centre = mean(&units);
        let claim = |threshold| ClaimSpec { rule, ..spec(&units, threshold, Basis::Dataset) };
        let verdict = |threshold| follow(&units, claim(threshold), min).unwrap().0;
        fails += f64::from(u8::from(verdict(centre - 1e-9) == ClaimVerdict::Fail));
        passes += f64::from(u8::from(verdict(centre + 1e-9) == ClaimVerdict::Pass));
    }
    Errors { fails: fails / runs as f64, passes: passes / runs as f64 }
}

/// Wrong verdicts about the population, at its mean `threshold`: early ones, and those of the full run's interval.
fn population_errors(
    runs: u64,
    threshold: f64,
    min: u64,
    make: impl Fn(&mut Draw) -> Vec<Unit>,
    interval: impl Fn(&[Unit]) -> (f64, f64),
) -> (Errors, Errors) {
    let mut early = Errors { fails: 0.0, passes: 0.0 };
    let mut all = early;
    for run in 0..runs {
        let units = make(&mut Draw::new(43, run));
        let found = follow(&units, spec(&units, threshold, Basis::Population), min);
        let (lo, hi) = interval(&units);
        let share = 1.0 / runs as f64;
        match found.map(|(verdict, _)| verdict) {
            Some(ClaimVerdict::Pass) => early.passes += share,
            Some(_) => early.fails += share,
            None if lo >= threshold => all.passes += share,
            None if hi < threshold => all.fails += share,
            None => {}
        }
    }
    all.passes += early.passes;
    all.fails += early.fails;
    (early, all)
}

fn wilson_ends(units: &[Unit]) -> (f64, f64) {
    let ones: f64 = units.iter().map(|unit| unit.0).sum();
    let interval = Proportion::new(ones, units.len() as f64).unwrap().wilson(Level::P95);
    (interval.lo, interval.hi)
}

fn t_ends(units: &[Unit]) -> (f64, f64) {
    let scores: Vec<f64> = units.iter().map(|unit| unit.0).collect();
    let interval = mean_with_t_interval(&scores, Level::P95).interval.unwrap();
    (interval.lo, interval.hi)
}

fn cluster_ends(units: &[Unit]) -> (f64, f64) {
    let (mut scores, mut labels) = (Vec::new(), Vec::new());
    for (label, (sum, n)) in units.iter().enumerate() {
        for nth in 0..*n {
            scores.push(f64::from(u8::from((nth as f64) < *sum)));
            labels.push(label);
        }
    }
    let interval = clustered_mean(&scores, &labels, Level::P95).unwrap().interval.unwrap();
    (interval.lo, interval.hi)
}

/// Median share of units that are not needed to decide a claim.
fn saved(runs: u64, basis: Basis, min: u64, threshold: f64, make: impl Fn(&mut Draw) -> Vec<Unit>) -> f64 {
    let share = |run| {
        let units = make(&mut Draw::new(47, run));
        let used = follow(&units, spec(&units, threshold, basis), min).map_or(units.len() as u64, |(_, used)| used);
        1.0 - used as f64 / units.len() as f64
    };
    median(&mut (0..runs).map(share).collect::<Vec<_>>())
}

/// The claims of 3 metrics × 3 systems over pass/fail scores with these numbers of passes, metrics of a system dependent
/// as on a hard and an easy half of the samples. Returns true where a verdict is wrong, and the units used.
fn nine(run: u64, units: usize, ones: &[usize; 9], threshold: f64) -> (bool, u64) {
    let mut draw = Draw::new(53, run);
    let scores: Vec<Vec<Unit>> = ones.iter().map(|ones| draw.binary(units, *ones)).collect();
    let specs: Vec<ClaimSpec> = scores.iter().map(|scores| spec(scores, threshold, Basis::Dataset)).collect();
    let mut claims = Claims::new(&specs, ALPHA, StepRule::Holm, MIN_UNITS).unwrap();
    let mut used = 0;
    for unit in 0..units {
        for (claim, scores) in scores.iter().enumerate() {
            claims.add(claim, scores[unit].0, 1).unwrap();
        }
        claims.look(&[]);
        used += 1;
        if claims.is_decided() {
            break;
        }
    }
    let right =
        |ones: &usize| if *ones as f64 / units as f64 >= threshold { ClaimVerdict::Pass } else { ClaimVerdict::Fail };
    let wrong = claims.decisions().iter().zip(ones).any(|(found, ones)| found.unwrap().verdict != right(ones));
    (wrong, used)
}

/// Numbers of passes of nine claims: all at the threshold, one, a third, and with the others just below or far away.
fn null_patterns(units: usize, threshold: f64) -> [[usize; 9]; 4] {
    let at = (units as f64 * threshold).round() as usize;
    let far = (units as f64 * (threshold + 0.15)).round() as usize;
    let mut one = [far; 9];
    one[0] = at;
    let mut third = [far; 9];
    third[..3].fill(at);
    [[at; 9], one, third, [at - 1; 9]]
}

fn nine_errors(runs: u64, units: usize) -> f64 {
    let patterns = null_patterns(units, 0.7);
    let share = |ones| (0..runs).filter(|run| nine(*run, units, ones, 0.7).0).count() as f64 / runs as f64;
    patterns.iter().map(share).fold(0.0, f64::max)
}

fn binary_at(units: usize, rate: f64) -> impl Fn(&mut Draw) -> Vec<Unit> {
    move |draw| draw.binary(units, (units as f64 * rate).round() as usize)
}

fn clipped_normal(draw: &mut Draw, units: usize, gap: f64, sd: f64) -> Vec<Unit> {
    (0..units).map(|_| (0.5 * ((gap + sd * draw.normal()).clamp(-1.0, 1.0) + 1.0), 1)).collect()
}

/// 5 strata of equal size whose rates differ: a unit is one random sample of each.
fn blocks(draw: &mut Draw, units: usize) -> Vec<Unit> {
    let rates = [0.5, 0.6, 0.7, 0.8, 0.9];
    let strata = rates.map(|rate| draw.binary(units, (rate * units as f64).round() as usize));
    (0..units).map(|unit| (strata.iter().map(|stratum| stratum[unit].0).sum(), 5)).collect()
}

/// SL-03: verdicts about the dataset's mean are seldom wrong, also at the worst mean, for binary scores, scores, pairs,
/// clusters of any size and strata.
#[test]
fn verdicts_about_the_dataset_keep_their_error() {
    let runs = 1_000;
    let limit = 0.05 + 0.008;
    let check = |name: &str, errors: Errors| assert!(errors.worst() <= limit, "{name}: {errors:?}");
    for rate in [0.5, 0.8, 0.95] {
        check("binary", dataset_errors(runs, MIN_UNITS, binary_at(200, rate)));
    }
    check("beta", dataset_errors(runs, MIN_UNITS, |draw| draw.scores(200, 0.7, 4.0)));
    check("paired", dataset_errors(runs, MIN_UNITS, |draw| draw.discordant(200, 0.0)));
    check("clusters", dataset_errors(runs, MIN_CLUSTERS, |draw| draw.clusters(34, 0.7, None)));
    check("strata", dataset_errors(runs / 2, MIN_CLUSTERS, |draw| blocks(draw, 40)));
}

/// SL-04: over nine claims with Holm, any verdict is wrong as seldom as one verdict may be.
#[test]
fn several_claims_keep_the_error_of_one() {
    let found = nine_errors(300, 200);
    assert!(found <= 0.05 + 0.015, "{found}");
}

/// SL-03: with an interval gate, early verdicts and the full run's interval together keep the error.
#[test]
fn verdicts_about_the_population_keep_their_error_together_with_the_end() {
    let make = |draw: &mut Draw| (0..200).map(|_| (draw.passes(0.7), 1)).collect::<Vec<_>>();
    let (early, all) = population_errors(1_000, 0.7, MIN_UNITS, make, wilson_ends);
    assert!(early.worst() <= 0.025 && all.worst() <= 0.05 + 0.008, "{early:?} {all:?}");
    let make = |draw: &mut Draw| draw.clusters(60, 0.7, None);
    let (early, _) = population_errors(1_000, 0.7, MIN_CLUSTERS, make, cluster_ends);
    assert!(early.passes <= 0.005, "{early:?}");
}

/// SL-03: clear cases end early, close ones do not.
#[test]
fn a_clear_gap_saves_most_calls_and_a_small_one_few() {
    let at = |gap: f64| saved(200, Basis::Dataset, MIN_UNITS, 0.7, binary_at(200, 0.7 + gap));
    let (none, small, large) = (at(0.0), at(0.03), at(0.2));
    assert!(none <= 0.05, "{none}");
    assert!((small - 0.08).abs() <= 0.05 && (large - 0.85).abs() <= 0.05, "{small} {large}");
}

/// Section 4 of the specification: the printed tables of error and savings.
/// SL-03: the rule `e_value` decides too, so it keeps the same error.
#[test]
fn a_single_bet_keeps_its_error() {
    let found = errors_of_rule(EarlyRule::SingleBet, 600, MIN_UNITS, binary_at(200, 0.8));
    assert!(found.worst() <= 0.05 + 0.02, "{found:?}");
}

fn nine_units(run: u64, units: usize, ones: &[usize; 9]) -> u64 {
    nine(run, units, ones, 0.7).1
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// SL-03: 10,000 null runs of the rule `e_value` in each cell.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn errors_of_a_single_bet() {
        for (name, rate) in [(".5", 0.5), (".8", 0.8), (".95", 0.95)] {
            let worst = [200, 1_000, 5_000]
                .map(|units| errors_of_rule(EarlyRule::SingleBet, 10_000, MIN_UNITS, binary_at(units, rate)).worst());
            println!("e_value, pass/fail at {name}: {worst:.3?}");
            assert!(worst.iter().all(|share| *share <= 0.05), "{worst:?}");
        }
    }

    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn full_tables_of_error_and_savings() {
        let runs = 10_000;
        let mut worst = 0.0_f64;
        let mut row = |name: &str, errors: &[Errors]| {
            let shown: Vec<String> = errors
                .iter()
                .map(|errors| format!("{:.3} (fail {:.3}, pass {:.3})", errors.worst(), errors.fails, errors.passes))
                .collect();
            worst = errors.iter().fold(worst, |worst, errors| worst.max(errors.worst()));
            println!("| {name} | {} |", shown.join(" | "));
        };
        let sizes = [200, 1_000, 5_000];
        println!("wrong verdicts, {runs} runs | 200 | 1,000 | 5,000");
        for rate in [0.5, 0.8, 0.95] {
            row(&format!("binary {rate}"), &sizes.map(|n| dataset_errors(runs, MIN_UNITS, binary_at(n, rate))));
        }
        row("beta", &sizes.map(|n| dataset_errors(runs, MIN_UNITS, |draw| draw.scores(n, 0.7, 4.0))));
        row("paired, 20 % differ", &sizes.map(|n| dataset_errors(runs, MIN_UNITS, |draw| draw.discordant(n, 0.0))));
        row(
            "paired, sd .25",
            &sizes.map(|n| dataset_errors(runs, MIN_UNITS, |draw| clipped_normal(draw, n, 0.0, 0.25))),
        );
        row(
            "clusters 1..9 (34 197 1,020)",
            &[34, 197, 1_020].map(|n| dataset_errors(runs, MIN_CLUSTERS, |draw| draw.clusters(n, 0.7, None))),
        );
        row("5 strata (1,000)", &[dataset_errors(runs, MIN_UNITS, |draw| blocks(draw, 200))]);
        let nine = [200, 1_000].map(|n| nine_errors(runs, n));
        println!("| 3 × 3 | {nine:.3?} |");
        assert!(nine.iter().all(|found| *found <= 0.05));
        let binary = |draw: &mut Draw| (0..200).map(|_| (draw.passes(0.7), 1)).collect::<Vec<_>>();
        let scores = |draw: &mut Draw| draw.scores(200, 0.7, 4.0);
        let (_, one) = population_errors(runs, 0.7, MIN_UNITS, binary, wilson_ends);
        let (_, other) = population_errors(runs, 0.7, MIN_UNITS, scores, t_ends);
        row("interval and end: binary, beta", &[one, other]);
        let mut highest = Errors { fails: 0.0, passes: 0.0 };
        for rate in [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9] {
            let make = |draw: &mut Draw| (0..200).map(|_| (draw.passes(rate), 1)).collect::<Vec<_>>();
            let (_, all) = population_errors(runs, rate, MIN_UNITS, make, wilson_ends);
            highest = if all.worst() > highest.worst() { all } else { highest };
        }
        row("interval and end: worst of .6 to .9", &[highest]);
        assert!(worst <= 0.05, "{worst}");
        for n in [40, 60, 100] {
            let make = |draw: &mut Draw| draw.clusters(n, 0.7, None);
            let (early, all) = population_errors(runs, 0.7, MIN_CLUSTERS, make, cluster_ends);
            println!(
                "| interval, {n} clusters | {:.3} (early passes {:.4}, early fails {:.4}) |",
                all.worst(),
                early.passes,
                early.fails
            );
        }

        println!("saved, median | gap .03 .05 .1 .2 at 200 | 1,000 | 5,000");
        let gaps = [0.03, 0.05, 0.1, 0.2];
        let table = |name: &str, share: &dyn Fn(usize, f64) -> f64| {
            let shown = sizes.map(|n| gaps.map(|gap| format!("{:.2}", share(n, gap))).join(" "));
            println!("| {name} | {} |", shown.join(" | "));
        };
        let few = 1_000;
        table("binary", &|n, gap| saved(few, Basis::Dataset, MIN_UNITS, 0.7, binary_at(n, 0.7 + gap)));
        table("paired 20 %", &|n, gap| saved(few, Basis::Dataset, MIN_UNITS, 0.5, |draw| draw.discordant(n, gap)));
        table("beta", &|n, gap| saved(few, Basis::Dataset, MIN_UNITS, 0.7, |draw| draw.scores(n, 0.7 + gap, 4.0)));
        table("clusters of 5", &|n, gap| {
            saved(few, Basis::Dataset, MIN_CLUSTERS, 0.7, |draw| draw.clusters(n / 5, 0.7 + gap, Some(5)))
        });
        table("interval binary", &|n, gap| {
            saved(few, Basis::Population, MIN_UNITS, 0.7, |draw| (0..n).map(|_| (draw.passes(0.7 + gap), 1)).collect())
        });
        table("3 × 3", &|n, gap| {
            let ones = [((0.7 + gap) * n as f64).round() as usize; 9];
            median(&mut (0..few).map(|run| 1.0 - nine_units(run, n, &ones) as f64 / n as f64).collect::<Vec<_>>())
        });
    }
}
