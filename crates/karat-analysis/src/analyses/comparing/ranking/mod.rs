//! `ranking`: the strengths of systems from judges' verdicts on pairs of outputs.
//!
//! `games` reads the verdicts of judges, `people_games` those of people in closed tasks; [`karat_stats::preference::rank_models`] fits the strengths and resamples samples, or
//! clusters of them. A game is one judge's verdict on the outputs of two systems for one sample. A verdict that changes
//! with the order of the outputs is a tie, and counted. A game of people is one person's verdict; together they are
//! one more judge, `people`.

mod games;
mod people_games;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use karat_stats::bootstrap::Resampling;
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_stats::preference::{self, NoMaximum, Pairing, PreferenceModel, RankedModel, RankedPair, rank_models};
use karat_types::{AnalysisSpec, CellStatus, GameResult, PlanHeader, RubricScorer, ScorerKind, Versus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::groups::system_id;
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::Observations;
use crate::score::people::PeopleTask;
use games::{Game, GameJudge, Opponents, cell_games, pairings};
use people_games::PeopleGames;

/// Number of resamples.
const RESAMPLES: usize = 1_000;

/// Number of resamples of a ranking without one judge, of which only the strengths are used.
const FEW_RESAMPLES: usize = 1;

/// With a larger share of verdicts that change with the order of the outputs, no ranks are given.
const MOST_FLIPS: f64 = 0.2;

/// The name of people among judges.
const PEOPLE: &str = "people";

/// Seed of the resamples.
const SEED: Seed = Seed(1);

/// Options of `ranking`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RankingOptions {
    /// The scorer, one with `versus`; default: every scorer with `versus: all`.
    pub scorer: Option<String>,
}

/// Rankings by metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Rankings {
    /// In the plan's order.
    pub rankings: Vec<MetricRanking>,
}

/// The ranking of systems in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRanking {
    /// The metric.
    pub metric: String,
    /// `bradley_terry`, or `davidson` where more than 5 % of the games are ties.
    pub model: &'static str,
    /// Number of games.
    pub games: u64,
    /// Number of these games that people judged.
    pub by_people: u64,
    /// Number of samples with a game.
    pub samples: u64,
    /// Share of games that are ties.
    pub ties: Option<Finding>,
    /// Number of games whose verdict changed with the order of the outputs; they are ties.
    pub order_dependent: u64,
    /// True if these are more than a fifth of the judges' games: then the judges prefer a place, and no system has a rank.
    pub unreliable: bool,
    /// Number of wins that were added to each side of every pair, where the games alone leave a strength without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// Remarks on games without finite strengths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The systems, the strongest first.
    pub systems: Vec<RankedSystem>,
    /// Every pair of systems, in the order of `systems`.
    pub pairs: Vec<ComparedPair>,
    /// The ranking without each judge, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<WithoutJudge>,
}

/// The place of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedSystem {
    /// The system.
    pub system: String,
    /// Its rank: 1 + the number of systems that are certainly better. Systems whose order is not decided share one. `None`
    /// if the ranking is unreliable.
    pub rank: Option<u64>,
    /// The best and the worst rank that the games allow; `None` if the ranking is unreliable.
    pub ranks: Option<(u64, u64)>,
    /// Strength on the log-odds scale; the strengths of all systems sum to 0.
    pub strength: Option<Finding>,
    /// Games won, tied and lost.
    pub record: (u64, u64, u64),
    /// Share of its games that it won, a tie counting half.
    pub won: Option<Finding>,
}

/// Two systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedPair {
    /// The stronger system.
    pub a: String,
    /// The weaker system.
    pub b: String,
    /// Games that `a` won, that were tied, and that `b` won.
    pub record: (u64, u64, u64),
    /// Share of the games that `a` won, a tie counting half.
    pub won: Option<Finding>,
    /// Strength of `a` minus that of `b`.
    pub difference: Option<Finding>,
    /// Share of the resamples in which `a` is stronger.
    pub better: Option<Finding>,
    /// p-value of equal strengths, Holm-adjusted over all pairs.
    pub p: Option<Finding>,
    /// True if it is decided which one is better.
    pub decided: bool,
}

/// The ranking without one judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WithoutJudge {
    /// The judge that is left out.
    pub judge: String,
    /// The strongest system then.
    pub first: String,
    /// True if it is another one than with all judges.
    pub changes_first: bool,
}

struct RankingFold {
    plan: Arc<PlanHeader>,
    scorers: Vec<(usize, Opponents)>,
    /// By scorer, in the order of `scorers`.
    people: Vec<PeopleGames>,
    /// By metric, in the order in which `metrics` has them.
    games: Vec<Vec<Game>>,
    /// Index of a metric, and of its entry in `scorers`.
    metrics: Vec<(usize, usize)>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: RankingOptions = options(spec)?;
    let wanted = |id: &str, rubric: &RubricScorer| match &options.scorer {
        Some(wanted) => wanted == id,
        None => rubric.versus == Some(Versus::All),
    };
    let scorers = plan.scorers.iter().enumerate().filter_map(|(at, scorer)| {
        let ScorerKind::Rubric(rubric) = &scorer.kind else { return None };
        Some((at, Opponents::new(plan, rubric).filter(|_| wanted(&scorer.id, rubric))?))
    });
    let scorers: Vec<(usize, Opponents)> = scorers.collect();
    if let (Some(scorer), true) = (&options.scorer, scorers.is_empty()) {
        let message =
            format!("scorer: {scorer:?} is not a scorer of this suite that compares outputs: give it `versus`");
        return Err(options_error(spec, message));
    }
    if scorers.is_empty() {
        return Ok(None);
    }
    let metrics = plan.metrics.iter().enumerate().filter_map(|(at, metric)| {
        scorers.iter().position(|(scorer, _)| *scorer == metric.scorer).map(|scorer| (at, scorer))
    });
    let metrics: Vec<(usize, usize)> = metrics.collect();
    let games = vec![Vec::new(); metrics.len()];
    Ok(Some(Box::new(RankingFold { plan: plan.clone(), scorers, people: Vec::new(), games, metrics })))
}

impl Analysis for RankingFold {
    fn set_people(&mut self, people: &Arc<[PeopleTask]>) {
        let of_scorer = self.scorers.iter().map(|(scorer, _)| PeopleGames::of(&self.plan, *scorer, people));
        self.people = of_scorer.collect();
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if cell.row.cell.status != CellStatus::Ok {
            return;
        }
        for ((metric, scorer), games) in self.metrics.iter().zip(&mut self.games) {
            let Some((at, opponents)) = self.scorers.get(*scorer) else { continue };
            games.extend(cell_games(&self.plan, opponents, (*at, *metric), &cell.row, cell.sample));
        }
        self.people.iter_mut().for_each(|people| people.add_cell(cell));
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let rankings = self.metrics.iter().zip(&self.games).filter_map(|((metric, scorer), games)| {
            let people = self.people.get(*scorer).map(|people| people.games(*metric)).unwrap_or_default();
            let games: Vec<Game> = games.iter().copied().chain(people).collect();
            metric_ranking(context, *metric, &games)
        });
        Outcome::Ranking(Rankings { rankings: rankings.collect() })
    }
}

/// The ranking in one metric. `None` without a game.
fn metric_ranking(context: &FinishContext<'_>, metric: usize, games: &[Game]) -> Option<MetricRanking> {
    let plan = context.plan;
    let (spec, level) = (plan.metrics.get(metric)?, context.measures.get(metric)?.level);
    let found = rank(context, games.iter(), level, RESAMPLES)?;
    let tally = Tally {
        context,
        games,
        level,
        unreliable: false,
        names: (0..plan.systems.len()).map(|at| system_id(plan, at)).collect(),
    };
    let mut order: Vec<usize> = (0..found.models.len()).collect();
    order.sort_by(|a, b| found.models[*b].log_strength.total_cmp(&found.models[*a].log_strength));
    let mut samples: Vec<usize> = games.iter().map(|game| game.sample).collect();
    samples.sort_unstable();
    samples.dedup();
    let by_people = games.iter().filter(|game| game.judge == GameJudge::People).count() as u64;
    let order_dependent = games.iter().filter(|game| game.depends_on_order).count() as u64;
    let judged = found.games.saturating_sub(by_people);
    let unreliable = order_dependent as f64 > MOST_FLIPS * judged as f64;
    let mut notes = notes(&found, &tally.names);
    if unreliable {
        notes.insert(0, flip_warning(order_dependent, judged));
    }
    let tally = Tally { unreliable, ..tally };
    let systems = order.iter().map(|at| tally.system(*at, &found.models[*at], samples.len()));
    let pairs = found.pairs.iter().map(|pair| tally.pair(pair, samples.len())).collect();
    let first = order.first().copied()?;
    Some(MetricRanking {
        metric: spec.name.clone(),
        model: match found.model {
            PreferenceModel::BradleyTerry => "bradley_terry",
            PreferenceModel::Davidson => "davidson",
        },
        games: found.games,
        by_people,
        samples: samples.len() as u64,
        ties: Finding::point(found.ties, games.len(), "share of games"),
        order_dependent,
        unreliable,
        prior: found.prior,
        notes,
        systems: systems.collect(),
        pairs: tally.sort_pairs(&order, pairs),
        without: tally.without_each_judge(first),
    })
}

fn rank<'g>(
    context: &FinishContext<'_>,
    games: impl Iterator<Item = &'g Game>,
    level: Level,
    resamples: usize,
) -> Option<preference::Ranking> {
    let clusters: Vec<Vec<Pairing>> = pairings(games, |sample| context.table.cluster(sample));
    let resampling = Resampling { resamples, ..Resampling::new(SEED) };
    rank_models(context.plan.systems.len(), &clusters, level, &resampling).ok().flatten()
}

/// The games with what is needed to name and count them.
struct Tally<'a> {
    context: &'a FinishContext<'a>,
    games: &'a [Game],
    level: Level,
    unreliable: bool,
    names: Vec<String>,
}

impl Tally<'_> {
    fn name(&self, system: usize) -> String {
        self.names.get(system).cloned().unwrap_or_default()
    }

    fn system(&self, at: usize, model: &RankedModel, samples: usize) -> RankedSystem {
        let (record, won) = self.record(|game| (game.own == at || game.other == at).then_some(game.own == at));
        let strength = Finding::point(model.log_strength, samples, "maximum likelihood");
        RankedSystem {
            system: self.name(at),
            rank: (!self.unreliable).then_some(model.best_rank as u64),
            ranks: (!self.unreliable).then_some((model.best_rank as u64, model.worst_rank as u64)),
            strength: strength.map(|it| it.with_interval(model.interval, model.standard_error).with_seed(SEED)),
            record,
            won,
        }
    }

    /// A pair, the stronger system first.
    fn pair(&self, pair: &RankedPair, samples: usize) -> ComparedPair {
        let turned = pair.difference < 0.0;
        let (a, b) = if turned { (pair.b, pair.a) } else { (pair.a, pair.b) };
        let (record, won) = self.record(|game| match (game.own, game.other) {
            (own, other) if (own, other) == (a, b) => Some(true),
            (own, other) if (own, other) == (b, a) => Some(false),
            _ => None,
        });
        let interval = pair
            .interval
            .map(|it| if turned { karat_stats::interval::Interval { lo: -it.hi, hi: -it.lo, ..it } } else { it });
        let difference = Finding::point(pair.difference.abs(), samples, "maximum likelihood");
        let better = pair.better.map(|share| if turned { 1.0 - share } else { share });
        let probability = |value: Option<f64>, method| value.and_then(|value| Finding::point(value, samples, method));
        ComparedPair {
            a: self.name(a),
            b: self.name(b),
            record,
            won,
            difference: difference.map(|it| it.with_interval(interval, None).with_seed(SEED)),
            better: probability(better, "share of resamples").map(|it| it.with_seed(SEED)),
            p: probability(pair.p_adjusted, "cluster bootstrap t, Holm"),
            decided: pair.is_decided && !self.unreliable,
        }
    }

    /// Won, tied and lost games, and the share won, of the games for which `side` says whether they are of the own side.
    fn record(&self, side: impl Fn(&Game) -> Option<bool>) -> ((u64, u64, u64), Option<Finding>) {
        let mut record = (0, 0, 0);
        let mut observed = Observations { clustered: true, ..Observations::default() };
        for game in self.games {
            let Some(is_own) = side(game) else { continue };
            let (count, value) = match (game.result, is_own) {
                (GameResult::Tied, _) => (&mut record.1, 0.5),
                (GameResult::Won, true) | (GameResult::Lost, false) => (&mut record.0, 1.0),
                (GameResult::Lost, true) | (GameResult::Won, false) => (&mut record.2, 0.0),
            };
            *count += 1;
            observed.push(value, 0, self.context.table.cluster(game.sample));
        }
        (record, Measure::of_mean(false, Some((0.0, 1.0)), self.level).figure(&observed))
    }

    /// Pairs in the order of the systems.
    fn sort_pairs(&self, order: &[usize], mut pairs: Vec<ComparedPair>) -> Vec<ComparedPair> {
        let place = |name: &String| order.iter().position(|at| self.names.get(*at) == Some(name));
        pairs.sort_by_key(|pair| (place(&pair.a), place(&pair.b)));
        pairs
    }

    fn without_each_judge(&self, first: usize) -> Vec<WithoutJudge> {
        let mut judges: Vec<GameJudge> = self.games.iter().map(|game| game.judge).collect();
        judges.sort_unstable();
        judges.dedup();
        if judges.len() < 2 {
            return Vec::new();
        }
        let without = judges.into_iter().filter_map(|judge| {
            let rest = self.games.iter().filter(|game| game.judge != judge);
            let found = rank(self.context, rest, self.level, FEW_RESAMPLES)?;
            let strength = |at: &usize| found.models[*at].log_strength;
            let best = (0..found.models.len()).max_by(|a, b| strength(a).total_cmp(&strength(b)).then(b.cmp(a)))?;
            let name = match judge {
                GameJudge::Model(at) => self.context.plan.judges.get(usize::from(at))?.id.clone(),
                GameJudge::People => PEOPLE.to_owned(),
            };
            Some(WithoutJudge { judge: name, first: self.name(best), changes_first: best != first })
        });
        without.collect()
    }
}

/// The warning about judges whose verdicts change with the order of the outputs.
fn flip_warning(flips: u64, games: u64) -> String {
    let share = 100.0 * flips as f64 / games.max(1) as f64;
    format!(
        "{flips} of {games} verdicts ({share:.0} %) changed with the order of the outputs: the judge prefers a place, so no \
         ranks are given. Use another judge, or a clearer question."
    )
}

fn notes(found: &preference::Ranking, names: &[String]) -> Vec<String> {
    let list = |systems: &[usize]| {
        let named = systems.iter().filter_map(|at| names.get(*at)).map(|name| format!("`{name}`"));
        named.collect::<Vec<_>>().join(", ")
    };
    let mut notes = Vec::new();
    let prior = found.prior.unwrap_or_default();
    let kept = format!("Strengths are kept finite by a prior of {prior} wins for each side of every pair");
    match &found.no_maximum {
        Some(NoMaximum::Disconnected(groups)) => {
            let groups: Vec<String> = groups.iter().map(|group| list(group)).collect();
            let groups = groups.join(" and ");
            notes.push(format!(
                "Systems of different groups were never compared: {groups}. {kept}; the order of systems of different \
                 groups rests on it alone. Compare more pairs for each sample."
            ));
        }
        Some(NoMaximum::Separated { undefeated, winless }) => {
            let sides = [
                (undefeated, "never lost or tied against the others"),
                (winless, "never won or tied against the others"),
            ];
            let sides = sides.iter().filter(|(systems, _)| !systems.is_empty());
            let sides: Vec<String> = sides.map(|(systems, what)| format!("{} {what}", list(systems))).collect();
            notes.push(format!(
                "{}. {kept}: how far these are from the others depends on it, and their intervals are too narrow.",
                sides.join("; ")
            ));
        }
        None => {}
    }
    notes
}
