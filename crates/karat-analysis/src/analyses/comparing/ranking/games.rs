//! The games of a tournament, read from the rounds of judgments.

use std::collections::BTreeMap;

use karat_stats::preference::Pairing;
use karat_types::{CellRow, GameResult, PairDesign, PlanHeader, RubricScorer};

/// The one who compared two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GameJudge {
    /// A judge of the plan, by index.
    Model(u16),
    /// People, in closed tasks.
    People,
}

/// The outputs of two systems for one sample, compared by one judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Game {
    pub judge: GameJudge,
    pub sample: usize,
    /// The system whose cell holds the judgment.
    pub own: usize,
    pub other: usize,
    pub result: GameResult,
    /// True if a vote said otherwise when the outputs were swapped: such a vote is a tie.
    pub depends_on_order: bool,
}

/// The systems whose outputs are compared with a cell's, in the order of [`JudgeRound::opponent`](karat_types::JudgeRound::opponent).
#[derive(Debug)]
pub(crate) enum Opponents {
    Design(PairDesign),
    One(Vec<Option<usize>>),
}

impl Opponents {
    /// `None` for scorers that judge single outputs.
    pub fn new(plan: &PlanHeader, rubric: &RubricScorer) -> Option<Self> {
        let versus = rubric.versus.as_ref()?;
        let one = || Self::One((0..plan.systems.len()).map(|system| plan.partner(versus, system)).collect());
        Some(plan.pair_design(rubric).map_or_else(one, Self::Design))
    }

    pub fn of(&self, row: u64, system: usize) -> Vec<usize> {
        match self {
            Self::Design(design) => design.opponents(row, system),
            Self::One(partners) => partners.get(system).copied().flatten().into_iter().collect(),
        }
    }
}

/// The games of a cell in one metric of a scorer.
pub(crate) fn cell_games(
    plan: &PlanHeader,
    opponents: &Opponents,
    (scorer, metric): (usize, usize),
    row: &CellRow<'_>,
    sample: usize,
) -> Vec<Game> {
    let others = opponents.of(plan.place(row.cell.ordinal).0, row.system);
    let mut games = Vec::new();
    for judgment in row.judgments.iter().filter(|it| usize::from(it.scorer) == scorer) {
        for game in u16::try_from(metric).map(|metric| judgment.games(metric)).unwrap_or_default() {
            let Some(other) = others.get(usize::from(game.opponent)).copied() else { continue };
            games.push(Game {
                judge: GameJudge::Model(judgment.judge),
                sample,
                own: row.system,
                other,
                result: game.result,
                depends_on_order: game.depends_on_order,
            });
        }
    }
    games
}

/// The games of each cluster, as pairings of systems.
pub(crate) fn pairings<'g>(games: impl Iterator<Item = &'g Game>, cluster: impl Fn(usize) -> u32) -> Vec<Vec<Pairing>> {
    let mut clusters: BTreeMap<u32, BTreeMap<(usize, usize), Pairing>> = BTreeMap::new();
    for game in games {
        let (a, b) = (game.own.min(game.other), game.own.max(game.other));
        let pairing = clusters.entry(cluster(game.sample)).or_default().entry((a, b)).or_insert(Pairing {
            a,
            b,
            wins_a: 0,
            wins_b: 0,
            ties: 0,
        });
        let count = match (game.result, game.own == a) {
            (GameResult::Tied, _) => &mut pairing.ties,
            (GameResult::Won, true) | (GameResult::Lost, false) => &mut pairing.wins_a,
            (GameResult::Won, false) | (GameResult::Lost, true) => &mut pairing.wins_b,
        };
        *count += 1;
    }
    clusters.into_values().map(|pairs| pairs.into_values().collect()).collect()
}
