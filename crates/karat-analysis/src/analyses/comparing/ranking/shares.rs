//! The share of games that each cell won in a tournament, as its score.
//!
//! A judgment holds the games of a cell against the systems before it. Its score in the run's figures counts the games
//! that later systems' cells hold against it, too; otherwise systems would be scored on different opponents.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_types::{CellRow, CellStatus, PlanHeader, RowError, RunRows, Score, ScorerKind, Versus};

use super::games::{Game, GameResult, Opponents, cell_games};
use crate::score::consensus::CellScores;

/// Row, system, trial and metric.
type Place = (u64, usize, u32, usize);

/// Games won, a tie counting half, and all games.
#[derive(Debug, Default)]
pub(crate) struct GameShares(BTreeMap<Place, (f64, f64)>);

impl GameShares {
    /// Reads the games of every scorer with `versus: all`; of other plans it reads nothing.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub(crate) fn read(plan: &PlanHeader, rows: &dyn RunRows) -> Result<Self, RowError> {
        let scorers = plan.scorers.iter().enumerate().filter_map(|(at, scorer)| match &scorer.kind {
            ScorerKind::Rubric(rubric) if rubric.versus == Some(Versus::All) => {
                Some((at, Opponents::new(plan, rubric)?))
            }
            _ => None,
        });
        let scorers: Vec<(usize, Opponents)> = scorers.collect();
        let mut shares = Self::default();
        if !scorers.is_empty() {
            rows.for_each(&mut |row| {
                scorers.iter().for_each(|(scorer, opponents)| shares.add_row(plan, (*scorer, opponents), &row));
                ControlFlow::Continue(())
            })?;
        }
        Ok(shares)
    }

    fn add_row(&mut self, plan: &PlanHeader, (scorer, opponents): (usize, &Opponents), row: &CellRow<'_>) {
        let (at, _, trial) = plan.place(row.cell.ordinal);
        let metrics = plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == scorer);
        for (metric, _) in metrics {
            for game in cell_games(plan, opponents, (scorer, metric), row, 0) {
                let other = plan.paired_trial(game.other, trial);
                self.add_game((at, game.own, trial, metric), points_of(&game));
                self.add_game((at, game.other, other, metric), 1.0 - points_of(&game));
            }
        }
    }

    fn add_game(&mut self, place: Place, won: f64) {
        let (sum, games) = self.0.entry(place).or_default();
        (*sum, *games) = (*sum + won, *games + 1.0);
    }

    /// Replaces a cell's scores in tournaments by the shares of all its games; a score that failed stays failed.
    pub(crate) fn apply(&self, plan: &PlanHeader, row: &CellRow<'_>, scores: &mut CellScores) {
        if self.0.is_empty() || row.cell.status != CellStatus::Ok {
            return;
        }
        let (at, system, trial) = plan.place(row.cell.ordinal);
        for (metric, score) in scores.scores.iter_mut().enumerate() {
            let Some((won, games)) = self.0.get(&(at, system, trial, metric)) else { continue };
            if !score.as_ref().is_some_and(Score::is_unscored) {
                *score = Some(Score::value(won / games));
            }
        }
    }
}

/// 1 for a game that the own system won, ½ for a tie, 0 for a lost one.
fn points_of(game: &Game) -> f64 {
    match game.result {
        GameResult::Won => 1.0,
        GameResult::Tied => 0.5,
        GameResult::Lost => 0.0,
    }
}
