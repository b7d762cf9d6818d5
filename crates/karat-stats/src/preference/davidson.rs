//! Davidson's model: Bradley-Terry with a probability of ties.

use super::{
    Games, Pairing,
    information::{Information, maximise},
};

/// Fitted strengths with a tie parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Davidson {
    /// θ = ln π of each model, summing to 0.
    pub log_strength: Vec<f64>,
    /// ν: P(tie) = ν√(π_iπ_j)/(π_i + π_j + ν√(π_iπ_j)), so equals tie with probability ν/(2 + ν).
    pub tie: f64,
    /// Log likelihood of wins, losses and ties.
    pub log_likelihood: f64,
    /// Model-based standard errors of θ, ν estimated as well.
    pub standard_error: Vec<f64>,
}

/// Maximum-likelihood fit of Davidson's 1970 model: use it instead of
/// [`bradley_terry`](super::bradley_terry) when more than a tenth of the comparisons are ties.
///
/// `None` when there are no ties, when nothing else (ν → ∞), or when no finite maximum exists.
pub fn davidson(games: &Games) -> Option<Davidson> {
    let count = |of: fn(&Pairing) -> u64| games.pairings().iter().map(of).sum::<u64>();
    let (ties, decisive) = (count(|game| game.ties), count(|game| game.wins_a + game.wins_b));
    if ties == 0 || decisive == 0 || !games.is_strongly_connected() {
        return None;
    }
    let mut start = vec![0.0; games.models()];
    start.push((2.0 * ties as f64 / decisive as f64).ln());
    let mut log_strength = maximise(start, |at| log_likelihood(games, at), |at| slope(games, at))?;
    let (_, information) = slope(games, &log_strength);
    let standard_error = information.factor()?.strength_errors();
    let log_likelihood = log_likelihood(games, &log_strength);
    let tie = log_strength.pop()?.exp();
    Some(Davidson { log_strength, tie, log_likelihood, standard_error })
}

/// Logarithms of the probabilities that a wins, b wins, and they tie.
fn log_outcomes(game: &Pairing, at: &[f64]) -> [f64; 3] {
    let half = 0.5 * (at[game.a] - at[game.b]);
    let log_nu = at[at.len() - 1];
    let scores = [half, -half, log_nu];
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + scores.iter().map(|score| (score - largest).exp()).sum::<f64>().ln();
    scores.map(|score| score - total)
}

fn log_likelihood(games: &Games, at: &[f64]) -> f64 {
    let term = |game: &Pairing| {
        let [a, b, tie] = log_outcomes(game, at);
        game.wins_a as f64 * a + game.wins_b as f64 * b + game.ties as f64 * tie
    };
    games.pairings().iter().map(term).sum()
}

/// Parameters are the θ and, last, ln ν; the outcome's features are ±½ for θ_a − θ_b and 1 for a tie.
fn slope(games: &Games, at: &[f64]) -> (Vec<f64>, Information) {
    let models = games.models();
    let mut gradient = vec![0.0; at.len()];
    let mut information = Information::new(models, 1);
    for game in games.pairings() {
        let n = (game.wins_a + game.wins_b + game.ties) as f64;
        let [p_a, p_b, p_tie] = log_outcomes(game, at).map(f64::exp);
        let lead = 0.5 * (p_a - p_b);
        let pull = 0.5 * (game.wins_a as f64 - game.wins_b as f64) - n * lead;
        gradient[game.a] += pull;
        gradient[game.b] -= pull;
        gradient[models] += game.ties as f64 - n * p_tie;
        information.add_difference(game.a, game.b, n * (0.25 * (p_a + p_b) - lead * lead));
        information.add(game.a, models, -n * lead * p_tie);
        information.add(game.b, models, n * lead * p_tie);
        information.add(models, models, n * p_tie * (1.0 - p_tie));
    }
    (gradient, information)
}
