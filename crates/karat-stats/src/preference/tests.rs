use proptest::prelude::*;

use super::*;
use crate::interval::Level;

fn pairing(a: usize, b: usize, wins_a: u64, wins_b: u64, ties: u64) -> Pairing {
    Pairing { a, b, wins_a, wins_b, ties }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-7 * (1.0 + a.abs())
}

#[test]
fn two_models_have_a_closed_form() {
    let games = Games::new(2, vec![pairing(0, 1, 14, 7, 0)]).unwrap();
    let fit = bradley_terry(&games, 0.0).unwrap().unwrap();
    assert!(close(fit.log_strength[0] - fit.log_strength[1], 2.0_f64.ln()));
    assert!(close(fit.elo[0] + fit.elo[1], 2000.0));
    // Davidson with equal wins: P(tie) = ν/(2 + ν).
    let even = Games::new(2, vec![pairing(0, 1, 9, 9, 6)]).unwrap();
    let fit = davidson(&even).unwrap();
    assert!(close(fit.tie / (2.0 + fit.tie), 0.25) && close(fit.log_strength[0], 0.0));
}

#[test]
fn an_undefeated_model_needs_a_prior() {
    let won = vec![pairing(0, 1, 5, 0, 0), pairing(0, 2, 6, 0, 0), pairing(1, 2, 3, 4, 0)];
    let games = Games::new(3, won).unwrap();
    assert!(!games.is_strongly_connected());
    assert_eq!(bradley_terry(&games, 0.0), Ok(None));
    let fit = bradley_terry(&games, 0.5).unwrap().unwrap();
    assert!(fit.log_strength[0] > fit.log_strength[2]);
    assert!(bradley_terry(&games, -1.0).is_err());
}

#[test]
fn ties_alone_or_none_leave_davidson_undefined() {
    let only_ties = Games::new(2, vec![pairing(0, 1, 0, 0, 8)]).unwrap();
    assert_eq!(davidson(&only_ties), None);
    let fit = bradley_terry(&only_ties, 0.0).unwrap().unwrap();
    assert!(fit.log_strength.iter().all(|theta| close(*theta, 0.0)));
    let no_ties = Games::new(2, vec![pairing(0, 1, 3, 5, 0)]).unwrap();
    assert_eq!(davidson(&no_ties), None);
    // Connected by ties only on one side: the loser would go to infinity together with ν.
    let one_sided = Games::new(2, vec![pairing(0, 1, 5, 0, 3)]).unwrap();
    assert_eq!(davidson(&one_sided), None);
}

#[test]
fn wrong_games_are_refused() {
    assert!(Games::new(2, vec![pairing(0, 2, 1, 1, 0)]).is_err());
    assert!(Games::new(2, vec![pairing(1, 1, 1, 1, 0)]).is_err());
    assert_eq!(bradley_terry(&Games::new(0, vec![]).unwrap(), 0.0), Ok(None));
}

/// BY-07: both orders of a pair separate preference from position.
#[test]
fn a_judge_that_always_takes_the_first_shows_no_preference() {
    let bias = position_bias(&[(Preferred::A, Preferred::B); 5], Level::P95);
    assert_eq!((bias.consistent, bias.flips_to_first, bias.first_wins), (0, 5, 10));
    assert_eq!((bias.first_position_rate, bias.win_rate_a), (Some(1.0), Some(0.5)));
    assert!(close(bias.p_value, 0.0625));
    let none = position_bias(&[], Level::P95);
    assert_eq!((none.consistency, none.win_rate_a), (None, None));
    assert!(close(none.p_value, 1.0));
}

fn all_pairs() -> impl Strategy<Value = Vec<Pairing>> {
    prop::collection::vec((0..9_u64, 0..9_u64, 0..4_u64), 6).prop_map(|counts| {
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let games = pairs.into_iter().zip(counts);
        games.map(|((a, b), (wins_a, wins_b, ties))| pairing(a, b, wins_a, wins_b, ties)).collect()
    })
}

proptest! {
    #[test]
    fn strengths_follow_their_models(
        pairings in all_pairs(),
        order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
    ) {
        let renamed: Vec<Pairing> = pairings
            .iter()
            .map(|game| pairing(order[game.b], order[game.a], game.wins_b, game.wins_a, game.ties))
            .collect();
        let (one, other) = (Games::new(4, pairings).unwrap(), Games::new(4, renamed).unwrap());
        let (fit, moved) = (bradley_terry(&one, 0.0).unwrap(), bradley_terry(&other, 0.0).unwrap());
        prop_assert_eq!(fit.is_some(), one.is_strongly_connected());
        prop_assert_eq!(moved.is_some(), fit.is_some());
        if let Some((fit, moved)) = fit.zip(moved) {
            prop_assert!(fit.log_strength.iter().sum::<f64>().abs() < 1e-8);
            for (model, theta) in fit.log_strength.iter().enumerate() {
                prop_assert!(close(*theta, moved.log_strength[order[model]]));
                prop_assert!(close(fit.standard_error[model], moved.standard_error[order[model]]));
            }
        }
        if let Some(fit) = davidson(&one) {
            prop_assert!(fit.tie > 0.0 && fit.log_likelihood <= 0.0);
            prop_assert!(fit.standard_error.iter().all(|se| se.is_finite()));
        }
    }

    #[test]
    fn position_bias_does_not_care_who_is_a(verdicts in prop::collection::vec((0..3_u8, 0..3_u8), 0..40)) {
        use Preferred::{A, B, Tie};
        let of = |code: u8| [A, B, Tie][usize::from(code)];
        let verdicts: Vec<_> = verdicts.into_iter().map(|(x, y)| (of(x), of(y))).collect();
        let renamed = |preferred: Preferred| match preferred { A => B, B => A, Tie => Tie };
        let swapped: Vec<_> = verdicts.iter().map(|(x, y)| (renamed(*y), renamed(*x))).collect();
        let (one, other) = (position_bias(&verdicts, Level::P95), position_bias(&swapped, Level::P95));
        prop_assert_eq!(one.first_wins, other.first_wins);
        prop_assert_eq!(one.flips_to_first, other.flips_to_first);
        prop_assert_eq!(one.consistency_interval, other.consistency_interval);
        if let Some((rate, mirrored)) = one.win_rate_a.zip(other.win_rate_a) {
            prop_assert!(close(rate, 1.0 - mirrored));
        }
    }
}
