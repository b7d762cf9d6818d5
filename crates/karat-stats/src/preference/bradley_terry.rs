//! The Bradley-Terry model, a tie counting half a win for each side.

use std::f64::consts::LN_10;

use super::{
    Games,
    information::{Information, maximise},
};
use crate::numeric::input::{InputError, in_domain};

/// Fitted strengths.
#[derive(Debug, Clone, PartialEq)]
pub struct BradleyTerry {
    /// θ of each model, summing to 0: P(i beats j) = 1/(1 + exp(θ_j − θ_i)).
    pub log_strength: Vec<f64>,
    /// 1000 + 400/ln 10 · θ.
    pub elo: Vec<f64>,
    /// Model-based standard errors of θ. They take comparisons as independent: for reports bootstrap
    /// the prompts.
    pub standard_error: Vec<f64>,
    /// Log likelihood of the comparisons, pseudo-wins included.
    pub log_likelihood: f64,
}

/// Maximum-likelihood Bradley-Terry strengths by Newton's method (Bradley & Terry 1952).
///
/// `prior_pseudo_wins` (0.1–0.5, or 0 for none) are added to every ordered pair of models and keep
/// undefeated models finite. `None` without models, or when without a prior the comparisons won or
/// tied do not connect every model to every other (then no maximum exists). O(n³) per step for n models.
///
/// ```
/// use karat_stats::preference::{Games, Pairing, bradley_terry};
///
/// // Three wins against one: the odds are 3, so the strengths differ by ln 3.
/// let games = Games::new(2, vec![Pairing { a: 0, b: 1, wins_a: 3, wins_b: 1, ties: 0 }])?;
/// let fitted = bradley_terry(&games, 0.0)?;
/// let gap = fitted.map(|fitted| fitted.log_strength[0] - fitted.log_strength[1]);
/// assert!(gap.is_some_and(|gap| (gap - 3_f64.ln()).abs() < 1e-9));
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
///
/// # Errors
/// A prior that is negative or not finite.
pub fn bradley_terry(games: &Games, prior_pseudo_wins: f64) -> Result<Option<BradleyTerry>, InputError> {
    let usable = prior_pseudo_wins >= 0.0 && prior_pseudo_wins.is_finite();
    in_domain("prior pseudo-wins", prior_pseudo_wins, "0 or more", usable)?;
    let models = games.models();
    let defined = models > 0 && (prior_pseudo_wins > 0.0 || games.is_strongly_connected());
    if !defined {
        return Ok(None);
    }
    let wins = Wins::new(games, prior_pseudo_wins);
    let start = vec![0.0; models];
    let fitted = maximise(start, |theta| wins.log_likelihood(theta), |theta| wins.slope(theta));
    Ok(fitted.and_then(|log_strength| {
        let (_, information) = wins.slope(&log_strength);
        Some(BradleyTerry {
            elo: log_strength.iter().map(|theta| 1000.0 + 400.0 / LN_10 * theta).collect(),
            standard_error: information.factor()?.strength_errors(),
            log_likelihood: wins.log_likelihood(&log_strength),
            log_strength,
        })
    }))
}

/// Weighted wins: (winner, loser, how often).
struct Wins {
    models: usize,
    won: Vec<(usize, usize, f64)>,
}

impl Wins {
    fn new(games: &Games, prior: f64) -> Self {
        let models = games.models();
        let both = |a, b, wins_a, wins_b| [(a, b, wins_a), (b, a, wins_b)];
        let played = games.pairings().iter().flat_map(|game| {
            let half = 0.5 * game.ties as f64;
            both(game.a, game.b, game.wins_a as f64 + half, game.wins_b as f64 + half)
        });
        let supposed = (0..models)
            .filter(|_| prior > 0.0)
            .flat_map(|a| (a + 1..models).flat_map(move |b| both(a, b, prior, prior)));
        Self { models, won: played.chain(supposed).filter(|win| win.2 > 0.0).collect() }
    }

    /// Σ w_ij ln P(i beats j).
    fn log_likelihood(&self, theta: &[f64]) -> f64 {
        let term = |&(winner, loser, weight): &(usize, usize, f64)| -weight * softplus(theta[loser] - theta[winner]);
        self.won.iter().map(term).sum()
    }

    fn slope(&self, theta: &[f64]) -> (Vec<f64>, Information) {
        let mut gradient = vec![0.0; self.models];
        let mut information = Information::new(self.models, 0);
        for &(winner, loser, weight) in &self.won {
            let surprise = 1.0 / (1.0 + (theta[winner] - theta[loser]).exp());
            gradient[winner] += weight * surprise;
            gradient[loser] -= weight * surprise;
            information.add_difference(winner, loser, weight * surprise * (1.0 - surprise));
        }
        (gradient, information)
    }
}

/// ln(1 + eˣ) without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
