//! The games of a tournament: comparisons of the outputs of two systems for one sample.
//!
//! A judgment stands with the cell of one of the two systems. What a system won is therefore read from the judgments of
//! all cells of the sample: [`Tournaments::with_shares`] gives each row the shares of all its games.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

use crate::{
    CellCost, CellRecord, CellRow, CellStatus, GameShare, JudgeRound, JudgmentRecord, JudgmentRow, PairDesign,
    PlanHeader,
};
use crate::{RowError, SampleRecord, ScorerKind};

/// The result of a game for the system whose cell holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameResult {
    /// Its output was preferred.
    Won,
    /// Neither was, or the verdict changed with the order of the outputs.
    Tied,
    /// The other output was preferred.
    Lost,
}

impl GameResult {
    /// 1 for a game that was won, ½ for a tie, 0 for a lost one.
    pub fn points(self) -> f64 {
        match self {
            Self::Won => 1.0,
            Self::Tied => 0.5,
            Self::Lost => 0.0,
        }
    }
}

/// A game of a judgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedGame {
    /// Position of the other system among those that the cell is compared with.
    pub opponent: u16,
    /// The result for the cell's system.
    pub result: GameResult,
    /// True if a vote said otherwise when the outputs were swapped: such a vote is a tie.
    pub depends_on_order: bool,
}

impl JudgmentRecord {
    /// Its games in one metric, by opponent.
    pub fn games(&self, metric: u16) -> Vec<JudgedGame> {
        let mut pairs: BTreeMap<u16, Vec<&JudgeRound>> = BTreeMap::new();
        self.rounds.iter().for_each(|round| pairs.entry(round.opponent).or_default().push(round));
        let game = |(opponent, rounds): (u16, Vec<&JudgeRound>)| {
            let (result, depends_on_order) = pair_result(&rounds, metric)?;
            Some(JudgedGame { opponent, result, depends_on_order })
        };
        pairs.into_iter().filter_map(game).collect()
    }
}

/// The result of a pair's rounds: each vote is what both orders say alike, else a tie; of several votes, what most of
/// them say.
fn pair_result(rounds: &[&JudgeRound], metric: u16) -> Option<(GameResult, bool)> {
    let said = |swapped: bool| {
        let own = rounds.iter().filter(move |round| round.swapped == swapped);
        own.filter_map(|round| round.scores.iter().find(|(at, _)| *at == metric).map(|(_, it)| sign(*it)))
    };
    let (straight, swapped): (Vec<i32>, Vec<i32>) = (said(false).collect(), said(true).collect());
    let votes: Vec<(i32, bool)> = match swapped.is_empty() {
        true => straight.iter().map(|vote| (*vote, false)).collect(),
        false => straight.iter().zip(&swapped).map(|(a, b)| if a == b { (*a, false) } else { (0, true) }).collect(),
    };
    if votes.is_empty() {
        return None;
    }
    let result = match votes.iter().map(|(vote, _)| vote).sum::<i32>() {
        sum if sum > 0 => GameResult::Won,
        0 => GameResult::Tied,
        _ => GameResult::Lost,
    };
    Some((result, votes.iter().any(|(_, differs)| *differs)))
}

/// 1 where the own output is preferred, −1 where the other is.
fn sign(number: f64) -> i32 {
    i32::from(number > 0.5) - i32::from(number < 0.5)
}

/// The scorers of a plan that compare every system with every other.
#[derive(Debug)]
pub struct Tournaments {
    /// Index of the scorer, its pairs, and its metrics.
    scorers: Vec<(u16, PairDesign, Vec<u16>)>,
}

/// A row of the current sample.
struct SampleRow {
    system: usize,
    trial: u32,
    cell: CellRecord,
    judgments: Vec<JudgmentRow>,
}

/// Calls its second argument for each row of some ordinals.
pub type ReadRows<'r> =
    dyn FnMut(Range<u64>, &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>) -> Result<(), RowError> + 'r;

impl Tournaments {
    /// The tournaments of a plan; `None` if it has none.
    pub fn of(plan: &PlanHeader) -> Option<Self> {
        let number = |at: usize| u16::try_from(at).ok();
        let scorer = |(at, scorer): (usize, &crate::ScorerSpec)| match &scorer.kind {
            ScorerKind::Rubric(rubric) => {
                let own = plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == at);
                let metrics = own.filter_map(|(metric, _)| number(metric)).collect();
                Some((number(at)?, plan.pair_design(rubric)?, metrics))
            }
            ScorerKind::Metric { .. } => None,
        };
        let scorers: Vec<_> = plan.scorers.iter().enumerate().filter_map(scorer).collect();
        (!scorers.is_empty()).then_some(Self { scorers })
    }

    /// Passes the rows of some ordinals on, each with the shares of its games. `read` reads rows in plan order; those of a
    /// sample are kept until all of them are there.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn with_shares(
        &self,
        plan: &PlanHeader,
        ordinals: &Range<u64>,
        read: &mut ReadRows<'_>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        let per_row = plan.cells_per_row().max(1);
        let end = ordinals.end.div_ceil(per_row).saturating_mul(per_row);
        let whole = ordinals.start - ordinals.start % per_row..end.max(ordinals.end);
        let mut current: Option<(SampleRecord, Vec<SampleRow>)> = None;
        let mut is_over = false;
        read(whole, &mut |found| {
            if let Some((sample, rows)) = current.take_if(|(sample, _)| sample.row != found.sample.row)
                && self.pass_on(plan, &sample, &rows, ordinals, row).is_break()
            {
                is_over = true;
                return ControlFlow::Break(());
            }
            let (_, rows) = current.get_or_insert_with(|| (found.sample.clone(), Vec::new()));
            rows.push(SampleRow {
                system: found.system,
                trial: found.trial,
                cell: found.cell.clone(),
                judgments: found.judgments.to_vec(),
            });
            ControlFlow::Continue(())
        })?;
        if let Some((sample, rows)) = current.filter(|_| !is_over) {
            // Nothing follows that a break could stop.
            let _ = self.pass_on(plan, &sample, &rows, ordinals, row);
        }
        Ok(())
    }

    fn pass_on(
        &self,
        plan: &PlanHeader,
        sample: &SampleRecord,
        rows: &[SampleRow],
        ordinals: &Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (shares, costs) = (self.shares(plan, rows), self.judging(plan, rows));
        for it in rows.iter().filter(|it| ordinals.contains(&it.cell.ordinal)) {
            let shares = shares.get(&(it.system, it.trial)).map(Vec::as_slice).unwrap_or_default();
            let SampleRow { system, trial, cell, judgments } = it;
            let judging = costs.get(&(*system, *trial)).map(Vec::as_slice);
            row(CellRow { sample, system: *system, trial: *trial, cell, judgments, shares, judging })?;
        }
        ControlFlow::Continue(())
    }

    /// The shares of each cell of a sample, by system and trial.
    fn shares(&self, plan: &PlanHeader, rows: &[SampleRow]) -> BTreeMap<(usize, u32), Vec<GameShare>> {
        let mut shares: BTreeMap<(usize, u32), Vec<GameShare>> = BTreeMap::new();
        let mut add = |place: (usize, u32), metric: u16, judge: u16, points: f64| {
            let own = shares.entry(place).or_default();
            match own.iter_mut().find(|share| share.metric == metric && share.judge == judge) {
                Some(share) => (share.won, share.games) = (share.won + points, share.games + 1.0),
                None => own.push(GameShare { metric, judge, won: points, games: 1.0 }),
            }
        };
        for it in rows.iter().filter(|it| it.cell.status == CellStatus::Ok) {
            let (at, ..) = plan.place(it.cell.ordinal);
            for (scorer, design, metrics) in &self.scorers {
                let opponents = design.opponents(at, it.system);
                for judgment in it.judgments.iter().filter(|judgment| judgment.scorer == *scorer) {
                    for metric in metrics {
                        for game in judgment.games(*metric) {
                            let Some(other) = opponents.get(usize::from(game.opponent)).copied() else { continue };
                            let points = game.result.points();
                            add((it.system, it.trial), *metric, judgment.judge, points);
                            add((other, plan.paired_trial(other, it.trial)), *metric, judgment.judge, 1.0 - points);
                        }
                    }
                }
            }
        }
        shares.values_mut().for_each(|own| own.sort_by_key(|share| (share.metric, share.judge)));
        shares
    }

    /// The costs of judgments that each cell of a sample bears, by system and trial. The cost of a judgment is spread evenly
    /// over its games, and that of a game over its two systems; what does not divide stays with the cell of the judgment.
    fn judging(&self, plan: &PlanHeader, rows: &[SampleRow]) -> BTreeMap<(usize, u32), Vec<CellCost>> {
        let places = rows.iter().map(|it| ((it.system, it.trial), Vec::new()));
        let mut costs: BTreeMap<(usize, u32), Vec<CellCost>> = places.collect();
        for it in rows {
            let (at, ..) = plan.place(it.cell.ordinal);
            for judgment in &it.judgments {
                let design = self.scorers.iter().find(|(scorer, ..)| *scorer == judgment.scorer);
                let others = design.map(|(_, design, _)| opponents_of(judgment, design.opponents(at, it.system)));
                let others = others.unwrap_or_default();
                let mut own = judgment.cost;
                for other in &others {
                    if let Some(of_other) = costs.get_mut(&(*other, plan.paired_trial(*other, it.trial))) {
                        of_other.push(own.take_part(2 * others.len() as u64, judgment.cost));
                    }
                }
                if let Some(of_own) = costs.get_mut(&(it.system, it.trial)) {
                    of_own.push(own);
                }
            }
        }
        costs
    }
}

/// The systems that a judgment compared its cell with; all that it should have, where no round has a verdict.
fn opponents_of(judgment: &JudgmentRow, opponents: Vec<usize>) -> Vec<usize> {
    let met: BTreeSet<u16> = judgment.rounds.iter().map(|round| round.opponent).collect();
    let compared: Vec<usize> = met.iter().filter_map(|at| opponents.get(usize::from(*at)).copied()).collect();
    if compared.is_empty() { opponents } else { compared }
}

/// The games of a cell in a metric before all judges: won, a tie counting half, and all of them.
pub fn all_games(shares: &[GameShare], metric: usize) -> Option<(f64, f64)> {
    let own = shares.iter().filter(|share| usize::from(share.metric) == metric);
    own.map(|share| (share.won, share.games)).reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}
