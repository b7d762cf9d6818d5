//! The games of people: their verdicts on pairs of outputs in closed tasks.
//!
//! A verdict is about two texts, so it is a game of every two systems that gave these texts for the sample: an output that
//! several systems made needs no label for each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_types::{GameResult, Key, PlanHeader};

use super::games::{Game, GameJudge};
use crate::analyses::ScoredCell;
use crate::score::people::labels::metrics_called;
use crate::score::people::{PeopleGame, PeopleTask, tasks_of};

/// The verdicts of people on outputs of one scorer, and the systems that made these outputs.
#[derive(Debug, Default)]
pub(super) struct PeopleGames {
    /// With the metrics that the question asks for.
    games: Vec<(Vec<usize>, PeopleGame)>,
    /// Samples with a verdict.
    wanted: BTreeSet<String>,
    /// Index of the sample, and the systems of each of its outputs.
    makers: BTreeMap<String, (usize, BTreeMap<Key, BTreeSet<usize>>)>,
}

impl PeopleGames {
    /// The verdicts of the tasks that count for a scorer.
    pub fn of(plan: &PlanHeader, scorer: usize, people: &Arc<[PeopleTask]>) -> Self {
        let Some(id) = plan.scorers.get(scorer).map(|it| it.id.as_str()) else { return Self::default() };
        let counted = tasks_of(people, id).filter(|task| task.unused.is_none());
        let games = counted.flat_map(|task| task.games.iter().cloned());
        let games: Vec<(Vec<usize>, PeopleGame)> =
            games.map(|game| (metrics_called(plan, scorer, &game.question), game)).collect();
        let wanted = games.iter().map(|(_, game)| game.sample.clone()).collect();
        Self { games, wanted, makers: BTreeMap::new() }
    }

    /// Notes the system of an output.
    pub fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let sample = &cell.row.sample.id;
        if self.wanted.contains(sample) {
            let (_, outputs) = self.makers.entry(sample.clone()).or_insert_with(|| (cell.sample, BTreeMap::new()));
            outputs.entry(cell.row.cell.output_hash).or_default().insert(cell.row.system);
        }
    }

    /// The games in a metric.
    pub fn games(&self, metric: usize) -> Vec<Game> {
        let own = self.games.iter().filter(|(metrics, _)| metrics.contains(&metric));
        own.flat_map(|(_, game)| self.pairings_of(game)).collect()
    }

    fn pairings_of(&self, game: &PeopleGame) -> Vec<Game> {
        let Some((sample, outputs)) = self.makers.get(&game.sample) else { return Vec::new() };
        let makers = |output: &Key| outputs.get(output).into_iter().flatten().copied();
        let result = match game.verdict {
            1.. => GameResult::Won,
            0 => GameResult::Tied,
            _ => GameResult::Lost,
        };
        let pairs = makers(&game.outputs.0).flat_map(|own| makers(&game.outputs.1).map(move |other| (own, other)));
        let pairs = pairs.filter(|(own, other)| own != other);
        let game = |(own, other)| Game {
            judge: GameJudge::People,
            sample: *sample,
            own,
            other,
            result,
            depends_on_order: false,
        };
        pairs.map(game).collect()
    }
}
