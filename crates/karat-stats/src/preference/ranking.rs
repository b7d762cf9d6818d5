//! A ranking from games within clusters: strengths, ranks and pairs, each with what the games can tell.

use super::{Games, Pairing, bradley_terry, davidson};
use crate::bootstrap::{Resampling, resample_indices};
use crate::compare::multiplicity::{Correction, adjust};
use crate::describe::standard_deviation;
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::InputError;
use crate::numeric::special::StudentT;

/// Above this share of ties they are a parameter of the model (Davidson 1970) instead of half a win for each side.
pub const DAVIDSON_FROM: f64 = 0.05;

/// Pseudo-wins of each side of every pair where the games alone have no finite maximum.
pub const PRIOR_PSEUDO_WINS: f64 = 0.1;

/// Strengths that differ by no more are equal: the fit ends before their last digits.
const ROUNDING: f64 = 1e-9;

/// The model that was fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferenceModel {
    /// Bradley-Terry; a tie is half a win for each side.
    BradleyTerry,
    /// Davidson's model, with a probability of ties.
    Davidson,
}

/// Why the games alone have no finite strengths, so that a prior was needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoMaximum {
    /// Models of different groups never met.
    Disconnected(Vec<Vec<usize>>),
    /// Some models never lost or tied against the others, and some never won or tied.
    Separated {
        /// Models that nobody outside of them has beaten or tied.
        undefeated: Vec<usize>,
        /// Models that have beaten or tied nobody outside of them.
        winless: Vec<usize>,
    },
}

/// A model's strength and place.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedModel {
    /// θ, summing to 0 over models: P(i beats j) = 1/(1 + exp(θ_j − θ_i)).
    pub log_strength: f64,
    /// Standard error over resampled clusters; `None` for fewer than two clusters.
    pub standard_error: Option<f64>,
    /// Interval of θ.
    pub interval: Option<Interval>,
    /// 1 + the number of models that are better by [`RankedPair::is_decided`]; equal for models that share a rank.
    pub best_rank: usize,
    /// The number of models − those that are worse.
    pub worst_rank: usize,
}

/// Two models.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPair {
    /// Index of one model.
    pub a: usize,
    /// Index of the other, above `a`.
    pub b: usize,
    /// θ_a − θ_b.
    pub difference: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Share of the resamples in which `a` is the stronger one, a draw counting half.
    pub better: Option<f64>,
    /// Two-sided p-value of equal strengths, from t = difference ÷ standard error; at least 2/2ᴳ, that of G equal signs.
    pub p: Option<f64>,
    /// Holm-adjusted over all pairs.
    pub p_adjusted: Option<f64>,
    /// True if the adjusted p-value is at most α: which one is better is decided.
    pub is_decided: bool,
}

/// A ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The model.
    pub model: PreferenceModel,
    /// Number of games.
    pub games: u64,
    /// Number of clusters with a game.
    pub clusters: usize,
    /// Share of ties.
    pub ties: f64,
    /// Pseudo-wins that were added to each side of every pair, if the games alone have no finite strengths.
    pub prior: Option<f64>,
    /// Why.
    pub no_maximum: Option<NoMaximum>,
    /// By model.
    pub models: Vec<RankedModel>,
    /// Every pair, by the first model and then the second.
    pub pairs: Vec<RankedPair>,
}

/// Ranks `models` models by their games, given for each cluster (such as a sample) of games that are not independent.
///
/// Strengths are of maximum likelihood. Clusters are resampled; a standard error is the deviation of the resampled
/// strengths times √(G/(G−1)), and an interval is θ ± t_{G−1} of it. A resample without finite strengths takes the prior
/// of [`PRIOR_PSEUDO_WINS`]. Which of two models is better is decided at the family-wise level of all pairs (Holm), so of
/// equal models any is called better with probability α at most.
///
/// `None` for fewer than two models, or without any game.
///
/// # Errors
/// A game of a model past `models`, or against itself.
pub fn rank_models(
    models: usize,
    clusters: &[Vec<Pairing>],
    level: Level,
    resampling: &Resampling,
) -> Result<Option<Ranking>, InputError> {
    let played: Vec<&Vec<Pairing>> =
        clusters.iter().filter(|games| games.iter().any(|game| game.games() > 0)).collect();
    let all = Games::new(models, sum_pairings(played.iter().copied()))?;
    if models < 2 || played.is_empty() {
        return Ok(None);
    }
    let (games, ties) = all.pairings().iter().fold((0, 0), |(n, ties), it| (n + it.games(), ties + it.ties));
    let ties = ties as f64 / games as f64;
    let no_maximum = no_maximum(&all);
    let with_ties = (ties > DAVIDSON_FROM && no_maximum.is_none()).then(|| davidson(&all)).flatten();
    let model = with_ties.as_ref().map_or(PreferenceModel::BradleyTerry, |_| PreferenceModel::Davidson);
    let prior = no_maximum.is_some().then_some(PRIOR_PSEUDO_WINS);
    let Some(strengths) =
        with_ties.map(|fit| fit.log_strength).or_else(|| strengths(&all, PreferenceModel::BradleyTerry))
    else {
        return Ok(None);
    };
    let replicates: Vec<Vec<f64>> = resample_indices(played.len(), resampling, |drawn| {
        let drawn = sum_pairings(drawn.iter().map(|at| played[*at]));
        Games::new(models, drawn).ok().and_then(|games| self::strengths(&games, model)).unwrap_or_default()
    });
    let replicates: Vec<Vec<f64>> = replicates.into_iter().filter(|it| it.len() == models).collect();
    let spread = Spread { replicates, clusters: played.len(), level };
    let pairs = spread.pairs(&strengths);
    let count =
        |holds: &dyn Fn(&RankedPair) -> bool| pairs.iter().filter(|pair| pair.is_decided && holds(pair)).count();
    let ranked = strengths.iter().enumerate().map(|(at, theta)| {
        let (standard_error, interval) = spread.interval(*theta, |strengths| strengths[at]);
        let beaten = |pair: &RankedPair| if pair.difference > 0.0 { pair.b } else { pair.a };
        let better = count(&|pair| beaten(pair) == at);
        let worse = count(&|pair| (pair.a == at || pair.b == at) && beaten(pair) != at);
        RankedModel {
            log_strength: *theta,
            standard_error,
            interval,
            best_rank: 1 + better,
            worst_rank: models - worse,
        }
    });
    let models = ranked.collect();
    Ok(Some(Ranking { model, games, clusters: played.len(), ties, prior, no_maximum, models, pairs }))
}

impl Pairing {
    fn games(&self) -> u64 {
        self.wins_a + self.wins_b + self.ties
    }
}

/// Resampled strengths.
struct Spread {
    replicates: Vec<Vec<f64>>,
    clusters: usize,
    level: Level,
}

impl Spread {
    /// Standard error and interval of a function of the strengths.
    fn interval(&self, value: f64, of: impl Fn(&[f64]) -> f64) -> (Option<f64>, Option<Interval>) {
        let drawn: Vec<f64> = self.replicates.iter().map(|strengths| of(strengths)).collect();
        let df = self.clusters.saturating_sub(1) as f64;
        let inflate = (self.clusters as f64 / df.max(1.0)).sqrt();
        let error = standard_deviation(&drawn).filter(|_| df > 0.0).map(|deviation| deviation * inflate);
        let reach = error.zip(self.level.t(df)).map(|(error, t)| t * error);
        let interval = reach.map(|reach| Interval {
            lo: value - reach,
            hi: value + reach,
            level: self.level,
            method: Method::ClusterBootstrapT,
        });
        (error, interval)
    }

    fn pairs(&self, strengths: &[f64]) -> Vec<RankedPair> {
        let all = (0..strengths.len()).flat_map(|a| (a + 1..strengths.len()).map(move |b| (a, b)));
        let mut pairs: Vec<RankedPair> = all.map(|(a, b)| self.pair(strengths, a, b)).collect();
        let p: Vec<Option<f64>> = pairs.iter().map(|pair| pair.p).collect();
        for (pair, adjusted) in pairs.iter_mut().zip(adjust(&p, Correction::Holm)) {
            pair.p_adjusted = adjusted;
            pair.is_decided = adjusted.is_some_and(|p| p <= self.level.alpha());
        }
        pairs
    }

    fn pair(&self, strengths: &[f64], a: usize, b: usize) -> RankedPair {
        let lead = |strengths: &[f64]| strengths[a] - strengths[b];
        let difference = lead(strengths);
        let (error, interval) = self.interval(difference, lead);
        let t = StudentT::new(self.clusters.saturating_sub(1) as f64);
        // Resamples of clusters that all agree do not vary; then as many equal signs are the evidence there is.
        let least = 2.0_f64.powi(1 - i32::try_from(self.clusters).unwrap_or(i32::MAX).min(1000));
        let p = error.zip(t).map(|(error, t)| match difference.abs() > ROUNDING {
            true => t.two_sided(difference.abs() / error.max(1e-12)).max(least),
            false => 1.0,
        });
        let won = |strengths: &Vec<f64>| match lead(strengths) {
            lead if lead.abs() <= ROUNDING => 0.5,
            lead if lead > 0.0 => 1.0,
            _ => 0.0,
        };
        let better = (!self.replicates.is_empty())
            .then(|| self.replicates.iter().map(won).sum::<f64>() / self.replicates.len() as f64);
        RankedPair { a, b, difference, interval, better, p, p_adjusted: None, is_decided: false }
    }
}

/// Strengths of games; with the prior where the games alone have none.
fn strengths(games: &Games, model: PreferenceModel) -> Option<Vec<f64>> {
    if let Some(fit) = (model == PreferenceModel::Davidson).then(|| davidson(games)).flatten() {
        return Some(fit.log_strength);
    }
    let fit = |prior| bradley_terry(games, prior).ok().flatten().map(|fit| fit.log_strength);
    fit(0.0).or_else(|| fit(PRIOR_PSEUDO_WINS))
}

/// The games of several clusters, one pairing per pair of models.
fn sum_pairings<'a>(clusters: impl Iterator<Item = &'a Vec<Pairing>>) -> Vec<Pairing> {
    let mut sums = std::collections::BTreeMap::<(usize, usize), Pairing>::new();
    for game in clusters.flatten() {
        let empty = Pairing { wins_a: 0, wins_b: 0, ties: 0, ..*game };
        let sum = sums.entry((game.a.min(game.b), game.a.max(game.b))).or_insert(empty);
        let (wins_a, wins_b) = if sum.a == game.a { (game.wins_a, game.wins_b) } else { (game.wins_b, game.wins_a) };
        (sum.wins_a, sum.wins_b, sum.ties) = (sum.wins_a + wins_a, sum.wins_b + wins_b, sum.ties + game.ties);
    }
    sums.into_values().collect()
}

/// Why games have no finite maximum, if they have none.
fn no_maximum(games: &Games) -> Option<NoMaximum> {
    if games.is_strongly_connected() {
        return None;
    }
    let models = games.models();
    let reach = |step: &dyn Fn(&Pairing) -> [bool; 2]| {
        let mut reach = vec![vec![false; models]; models];
        (0..models).for_each(|at| reach[at][at] = true);
        for game in games.pairings() {
            let [forward, back] = step(game);
            reach[game.a][game.b] |= forward;
            reach[game.b][game.a] |= back;
        }
        for via in 0..models {
            for from in 0..models {
                if reach[from][via] {
                    (0..models).for_each(|to| reach[from][to] = reach[from][to] || reach[via][to]);
                }
            }
        }
        reach
    };
    let met = reach(&|game| [game.games() > 0; 2]);
    let mut groups: Vec<Vec<usize>> = met.iter().map(|row| (0..models).filter(|at| row[*at]).collect()).collect();
    groups.sort_unstable();
    groups.dedup();
    if groups.len() > 1 {
        return Some(NoMaximum::Disconnected(groups));
    }
    let holds = reach(&|game| [game.wins_a + game.ties > 0, game.wins_b + game.ties > 0]);
    let all = |wanted: &dyn Fn(usize, usize) -> bool| -> Vec<usize> {
        (0..models).filter(|at| (0..models).all(|other| wanted(*at, other))).collect()
    };
    // A model that is reached from another also reaches it back: there is no way in from outside.
    let undefeated = all(&|at, other| !holds[other][at] || holds[at][other]);
    let winless = all(&|at, other| !holds[at][other] || holds[other][at]);
    Some(NoMaximum::Separated { undefeated, winless })
}
