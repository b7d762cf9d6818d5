use proptest::prelude::*;

use super::*;
use crate::compare::multiplicity::StepRule;
use crate::sequential::predictable::Predictable;

const SPEC: ClaimSpec = ClaimSpec {
    threshold: 0.8,
    bound: Bound::AtLeast,
    basis: Basis::Dataset,
    rule: EarlyRule::Betting,
    units: 100,
    largest: 1,
    alpha: 0.05,
};

fn followed(spec: ClaimSpec, units: &[(f64, u64)]) -> Claim {
    let mut claim = Claim::new(spec).unwrap();
    units.iter().for_each(|(sum, n)| claim.add(*sum, *n).unwrap());
    claim
}

/// SL-03: the wealth of a few units by hand: 40 passes of 100 at a threshold of .8.
#[test]
fn the_process_is_that_of_the_formula() {
    let units = [(1.0, 1), (0.0, 1), (1.0, 1)];
    let claim = followed(SPEC, &units);
    let means = [0.8, (80.0 - 1.0) / 99.0, (80.0 - 1.0) / 98.0];
    let bets = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9];
    let wealth = |t: usize| -> f64 {
        let one = |c: &f64| -> f64 { (0..t).map(|i| 1.0 + c * (units[i].0 - means[i]) / means[i]).product() };
        bets.iter().map(one).sum::<f64>() / 8.0
    };
    let best = (0..=3).map(wealth).fold(0.0, f64::max);
    assert!((claim.p_pass() - 1.0 / best).abs() < 1e-12, "{} {best}", claim.p_pass());
    let against = |t: usize| -> f64 {
        let one = |c: &f64| -> f64 { (0..t).map(|i| 1.0 - c * (units[i].0 - means[i]) / (1.0 - means[i])).product() };
        bets.iter().map(one).sum::<f64>() / 8.0
    };
    let best = (0..=3).map(against).fold(0.0, f64::max);
    assert!((claim.p_fail() - 1.0 / best).abs() < 1e-12);
    let population = followed(ClaimSpec { basis: Basis::Population, ..SPEC }, &units[..1]);
    let gain = bets.iter().map(|c| 1.0 + c * 0.2 / 0.8).sum::<f64>() / 8.0;
    assert!((population.p_pass() - (2.0 / gain).min(1.0)).abs() < 1e-12, "p-values of a population are doubled");
}

/// SL-03: what no other unit can change is certain, before the minimum and with p = 0; a population is never certain.
#[test]
fn certain_verdicts_need_no_minimum() {
    let spec = ClaimSpec { units: 10, ..SPEC };
    let mut claims = Claims::new(&[spec], 0.05, StepRule::Holm, MIN_UNITS).unwrap();
    for _ in 0..8 {
        assert!(!claims.is_decided());
        claims.add(0, 1.0, 1).unwrap();
        claims.look(&[]);
    }
    let decision = claims.decisions()[0].unwrap();
    assert_eq!((decision.verdict, decision.by, decision.units), (ClaimVerdict::Pass, DecidedBy::Certain, 8));
    assert!(decision.p_pass <= 0.0 && decision.level > 0.0);
    let population = followed(ClaimSpec { basis: Basis::Population, units: 10, ..SPEC }, &[(1.0, 1); 10]);
    assert_eq!(population.certain(), None);
}

/// SL-04: no pass while too many scores of the prefix are missing; a fail is possible; beyond the plan's limit the end is
/// undecided.
#[test]
fn missing_scores_hold_a_pass_and_can_end_a_claim() {
    let specs = [SPEC; 3];
    let mut claims = Claims::new(&specs, 0.05, StepRule::Holm, MIN_UNITS).unwrap();
    let missing = [MissingScores::Many, MissingScores::Few, MissingScores::Many];
    for _ in 0..60 {
        claims.add(0, 1.0, 1).unwrap();
        claims.add(1, 1.0, 1).unwrap();
        claims.add(2, 0.0, 1).unwrap();
        claims.look(&missing);
    }
    let verdicts: Vec<_> = claims.decisions().iter().map(|found| found.map(|found| found.verdict)).collect();
    assert_eq!(verdicts, [None, Some(ClaimVerdict::Pass), Some(ClaimVerdict::Fail)]);
    claims.look(&[MissingScores::TooMany]);
    assert_eq!(claims.decisions()[0].unwrap().verdict, ClaimVerdict::Undecided);
    assert!(claims.is_decided());
}

/// SL-04: levels are Holm's, per direction, over all claims: the first of three at α/3, then α/2, then α.
#[test]
fn levels_grow_as_claims_are_decided() {
    let mut claims = Claims::new(&[SPEC; 3], 0.06, StepRule::Holm, 1).unwrap();
    for _ in 0..80 {
        (0..3).for_each(|claim| claims.add(claim, 1.0, 1).unwrap());
        claims.look(&[]);
    }
    let levels: Vec<f64> = claims.decisions().iter().map(|found| found.unwrap().level).collect();
    assert!(levels.iter().zip([0.02, 0.03, 0.06]).all(|(found, level)| (found - level).abs() < 1e-12), "{levels:?}");
    let alone = Claims::new(&[SPEC; 3], 0.06, StepRule::Alone, 1).unwrap();
    assert!((alone.ends(0).unwrap().upper - 1.0).abs() < 1e-9);
}

/// SL-03: units that miss scores, or are smaller than the largest, do not shift the mean that a claim is about.
#[test]
fn a_full_claim_has_the_verdict_of_the_mean_over_scored_samples() {
    let units = [(3.0, 4), (0.0, 0), (1.0, 1), (0.0, 1), (5.0, 6)];
    for (threshold, verdict) in
        [(0.74, CertainVerdict::Pass), (0.75, CertainVerdict::Pass), (0.76, CertainVerdict::Fail)]
    {
        let claim = followed(ClaimSpec { threshold, units: 5, largest: 6, ..SPEC }, &units);
        assert_eq!(claim.certain(), Some(verdict), "{threshold}");
        assert!(claim.is_full() && claim.mean().is_some_and(|mean| (mean - 0.75).abs() < 1e-12));
    }
}

/// SL-06: the last one is never dropped, and a dropped system takes no part any more.
#[test]
fn a_race_ends_with_one_system() {
    let spec = RaceSpec { systems: 3, units: 200, largest: 1, min_units: MIN_UNITS };
    let mut race = Race::new(spec, 0.05).unwrap();
    for at in 0..200 {
        let scores = [[Some(0.1)], [Some(f64::from(u8::from(at % 8 != 0)))], [Some(0.3)]];
        race.add(&scores).unwrap();
        assert!(race.units() >= MIN_UNITS || race.drops().is_empty());
    }
    assert_eq!(race.living().collect::<Vec<_>>(), [1]);
    assert!(race.is_decided() && race.drops().iter().all(|drop| drop.by == 1 || drop.by == 2));
    let tied: [[Option<f64>; 1]; 2] = [[Some(1.0)], [Some(1.0)]];
    let mut race = Race::new(RaceSpec { systems: 2, units: 5, ..spec }, 0.05).unwrap();
    (0..5).for_each(|_| assert!(race.add(&tied).unwrap().is_empty(), "a tie drops nobody"));
    assert!(race.add(&tied).is_err(), "all units were added");
}

/// SL-03: wrong inputs are refused.
#[test]
fn wrong_inputs_of_claims_are_refused() {
    assert!(Claim::new(ClaimSpec { threshold: 1.2, ..SPEC }).is_err());
    assert!(Claim::new(ClaimSpec { largest: 0, ..SPEC }).is_err());
    let mut claim = Claim::new(SPEC).unwrap();
    assert!(claim.add(1.5, 1).is_err() && claim.add(1.5, 2).is_err() && claim.add(f64::NAN, 1).is_err());
    assert!(Race::new(RaceSpec { systems: 1, units: 5, largest: 1, min_units: 1 }, 0.05).is_err());
    assert!(Claims::new(&[], 0.0, StepRule::Holm, 1).is_err());
    assert!(!Claims::new(&[], 0.05, StepRule::Holm, 1).unwrap().is_decided(), "no claims decide nothing");
}

/// SL-30: a forecast follows the claims as a run does: the median lies near what runs of that mean need, at the threshold
/// little is saved, and a population that is far away needs the minimum.
#[test]
fn forecasts_are_near_what_runs_need() {
    let spec = ClaimSpec { threshold: 0.7, units: 200, ..SPEC };
    let seen: Vec<Vec<Option<(f64, u64)>>> =
        (0..100).map(|at| vec![Some((f64::from(u8::from(at % 10 != 0)), 1))]).collect();
    let input = ForecastInput {
        claims: &[spec],
        seen: &seen,
        units: 200,
        alpha: 0.05,
        correction: StepRule::Holm,
        min_units: MIN_UNITS,
    };
    let found = forecast_stop(&input, ForecastMean::AsSeen).unwrap().unwrap();
    // A pass rate of .9 against .7 needs the minimum in most runs (see the table of savings).
    assert!((found.median - 0.15).abs() <= 0.05 && found.p90 >= found.median && found.p90 <= 0.5, "{found:?}");
    let at = forecast_stop(&input, ForecastMean::AtThreshold).unwrap().unwrap();
    assert!(at.median >= 0.9 && at.p90 <= 1.0, "{at:?}");
    assert_eq!(forecast_stop(&ForecastInput { claims: &[], ..input.clone() }, ForecastMean::AsSeen).unwrap(), None);
    let two = [spec, ClaimSpec { bound: Bound::AtMost, ..spec }];
    let seen: Vec<Vec<Option<(f64, u64)>>> = seen.iter().map(|unit| vec![unit[0], None]).collect();
    let never = forecast_stop(&ForecastInput { claims: &two, seen: &seen, ..input }, ForecastMean::AsSeen).unwrap();
    assert_eq!(never.map(|it| it.median), Some(1.0), "a claim without samples keeps the run going");
}

fn units() -> impl Strategy<Value = Vec<(f64, u64)>> {
    let unit = (0..5_u64, 0.0..=1.0_f64, any::<bool>());
    let unit = unit.prop_map(|(n, share, round)| {
        let sum = share * n as f64;
        (if round { sum.round() } else { sum }, n)
    });
    prop::collection::vec(unit, 1..60)
}

fn rules() -> impl Strategy<Value = (EarlyRule, Basis)> {
    let rule = prop_oneof![Just(EarlyRule::Betting), Just(EarlyRule::SingleBet)];
    (rule, prop_oneof![Just(Basis::Dataset), Just(Basis::Population)])
}

/// When, and how, a single bet of 5 % on the mean of 100 scores decides it: e = Π(1 ± λ(x − μ)), λ at most half of what μ allows.
fn single_bet(scores: &[f64], threshold: f64) -> Option<(usize, bool)> {
    let (size, limit) = (100.0, 1.0 / 0.05_f64);
    let (mut past, mut sum, mut pass, mut fail) = (Predictable::new(), 0.0, 1.0, 1.0);
    scores.iter().enumerate().find_map(|(before, score)| {
        let mean = (size * threshold - sum) / (size - before as f64);
        let bet = past.bet(limit.ln());
        if mean < 0.0 {
            (pass, fail) = (f64::INFINITY, 0.0);
        } else if mean > 1.0 {
            (pass, fail) = (0.0, f64::INFINITY);
        } else {
            pass *= 1.0 + bet.min(0.5 / mean) * (score - mean);
            fail *= 1.0 - bet.min(0.5 / (1.0 - mean)) * (score - mean);
        }
        past.add(*score);
        sum += score;
        let left = size - (before + 1) as f64;
        let is_sure = [sum / size >= threshold - 1e-12, (sum + left) / size < threshold - 1e-12];
        let verdict = match (is_sure, pass >= limit, fail >= limit) {
            ([true, _], ..) => true,
            ([_, true], ..) => false,
            (_, true, _) => true,
            (_, _, true) => false,
            _ => return None,
        };
        Some((before + 1, verdict))
    })
}

proptest! {
    /// SL-09: a threshold below the lower end passes at the claim's level and one above does not; the upper end alike.
    #[test]
    fn ends_never_contradict_the_verdict(
        units in units(),
        more in 0..20_u64,
        (rule, basis) in rules(),
        threshold in 0.0..=1.0_f64,
        level in 0.001..0.3_f64,
        at_most in any::<bool>(),
    ) {
        let bound = if at_most { Bound::AtMost } else { Bound::AtLeast };
        let spec = ClaimSpec { threshold, bound, basis, rule, units: units.len() as u64 + more, largest: 4, alpha: 0.05 };
        let claim = followed(spec, &units);
        let ends = claim.ends(level, level);
        prop_assert!((0.0..=1.0).contains(&ends.lower) && (0.0..=1.0).contains(&ends.upper));
        let (passed, failed) = (claim.p_pass() <= level, claim.p_fail() <= level);
        let (low, high) = match bound {
            Bound::AtLeast => (ends.lower >= threshold - 1e-9, ends.upper <= threshold + 1e-9),
            Bound::AtMost => (ends.upper <= threshold + 1e-9, ends.lower >= threshold - 1e-9),
        };
        prop_assert!(!passed || low, "passed, but {ends:?}");
        prop_assert!(!failed || high, "failed, but {ends:?}");
        let (above, below) = match bound {
            Bound::AtLeast => (ends.lower > threshold + 1e-9, ends.upper < threshold - 1e-9),
            Bound::AtMost => (ends.upper < threshold - 1e-9, ends.lower > threshold + 1e-9),
        };
        prop_assert!(passed || !above, "not passed, but {ends:?}");
        prop_assert!(failed || !below, "not failed, but {ends:?}");
    }

    /// SL-02: "at most" is "at least" of the mirrored scores.
    #[test]
    fn at_most_mirrors_at_least(units in units(), (rule, basis) in rules(), threshold in 0.0..=1.0_f64) {
        let spec = ClaimSpec { threshold, basis, rule, units: units.len() as u64 + 3, largest: 4, ..SPEC };
        let mirrored: Vec<(f64, u64)> = units.iter().map(|(sum, n)| (*n as f64 - sum, *n)).collect();
        let one = followed(spec, &units);
        let other = followed(ClaimSpec { threshold: 1.0 - threshold, bound: Bound::AtMost, ..spec }, &mirrored);
        prop_assert!((one.p_pass() - other.p_pass()).abs() < 1e-6 && (one.p_fail() - other.p_fail()).abs() < 1e-6);
    }

    /// SL-03: p-values never rise, lie in [0, 1], and agree with what is certain; a full claim about the dataset is certain.
    #[test]
    fn p_values_only_fall(units in units(), (rule, basis) in rules(), threshold in 0.0..=1.0_f64) {
        let mut claim = Claim::new(ClaimSpec { threshold, basis, rule, units: units.len() as u64, largest: 4, ..SPEC }).unwrap();
        let mut last = (1.0, 1.0);
        for (sum, n) in &units {
            claim.add(*sum, *n).unwrap();
            let next = (claim.p_pass(), claim.p_fail());
            prop_assert!(next.0 >= 0.0 && next.1 >= 0.0 && next.0 <= last.0 && next.1 <= last.1);
            last = next;
        }
        prop_assert_eq!(claim.certain().is_some(), basis == Basis::Dataset);
    }

    /// SL-03: `e_value` is the single bet of Waudby-Smith and Ramdas without replacement.
    #[test]
    fn the_single_bet_is_that_of_its_definition(ones in prop::collection::vec(any::<bool>(), 1..80), threshold in 0.05..0.95_f64) {
        let scores: Vec<f64> = ones.iter().map(|one| f64::from(u8::from(*one))).collect();
        let spec = ClaimSpec { threshold, rule: EarlyRule::SingleBet, ..SPEC };
        let mut claims = Claims::new(&[spec], 0.05, StepRule::Holm, 1).unwrap();
        for score in &scores {
            claims.add(0, *score, 1).unwrap();
            claims.look(&[]);
        }
        let found = claims.decisions()[0].map(|found| (found.units as usize, found.verdict == ClaimVerdict::Pass));
        prop_assert_eq!(found, single_bet(&scores, threshold));
    }
}
