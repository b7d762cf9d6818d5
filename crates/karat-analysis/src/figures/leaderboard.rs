//! Rankings on common ground: models are compared only on the samples × variants where every ranked model has a
//! score, and the excluded ones are counted. Fewer than two models are not ranked: their variants are.

use karat_types::{Better, PlanHeader};
use serde::Serialize;

use crate::figures::groups::{self, Members};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::{FigureValue, Observations};
use crate::score::table::ScoreTable;

/// A ranked entry of a leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedPlace {
    /// The model; the variant where variants are ranked.
    pub id: String,
    /// Its figure on the shared cells.
    pub finding: Finding,
    /// Best and worst rank that the tests of all pairs leave open; `None` without tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<[usize; 2]>,
}

/// A model that could not be ranked, or only on some of its cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The model.
    pub id: String,
    /// Its scored samples × variants that are not shared by all ranked models.
    pub not_shared: u64,
    /// True if it has no score and is not ranked.
    pub unranked: bool,
}

/// A ranking in one metric. Its JSON form describes the shared cells; reports list the entries separately.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Leaderboard {
    /// Best first; ties by name.
    #[serde(skip_serializing)]
    pub places: Vec<RankedPlace>,
    /// Samples × variants that all ranked models share.
    pub shared: u64,
    /// Samples with at least one shared variant.
    pub shared_samples: u64,
    /// Samples × variants on which any model has a score.
    pub scored: u64,
    /// Models that were not ranked, or not on all their cells.
    pub gaps: Vec<Gap>,
    /// The paired difference of the best and the second best, as their contrast has it.
    pub lead: Option<Finding>,
    /// The sample with the worst mean on the shared cells; ties by id.
    pub hardest_sample: Option<RankedPlace>,
    /// True if nothing is ranked because too many verdicts of the judges changed with the order of the outputs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub order_dependent: bool,
}

impl Leaderboard {
    /// Returns true if there are several entries and all have the same score.
    pub fn is_level(&self) -> bool {
        let score = |place: Option<&RankedPlace>| place.map(|it| it.finding.value());
        self.places.len() > 1 && score(self.places.first()) == score(self.places.last())
    }
}

/// A compared model with its system in each variant slot.
struct Contender {
    id: String,
    slots: Vec<Option<usize>>,
}

/// The leaderboards of all metrics.
pub(crate) fn rank_all(plan: &PlanHeader, table: &ScoreTable, measures: &[Measure]) -> Vec<Leaderboard> {
    let boards = plan.metrics.iter().zip(measures).enumerate();
    boards.map(|(at, (metric, measure))| rank(plan, table, at, metric.better, *measure)).collect()
}

/// Ranks the models in a metric. One that finds texts by their words ranks none: a paraphrase counts as missing.
pub(crate) fn rank(
    plan: &PlanHeader,
    table: &ScoreTable,
    metric: usize,
    better: Better,
    measure: Measure,
) -> Leaderboard {
    if plan.metrics.get(metric).is_some_and(|metric| metric.by_words) {
        return Leaderboard::default();
    }
    let value = |sample, system: Option<usize>| table.figure_value(metric, sample, system?);
    let (ranked, silent): (Vec<Contender>, Vec<Contender>) = contenders(plan).into_iter().partition(|contender| {
        (0..table.samples()).any(|sample| contender.slots.iter().any(|slot| value(sample, *slot).is_some()))
    });
    let slots = ranked.first().map_or(0, |contender| contender.slots.len());
    let empty = Observations { is_part: true, ..table.observations(metric) };
    let mut board = LeaderboardBuilder::new(ranked.len(), &empty, (table.samples(), slots));
    let mut row: Vec<Option<ContenderScore>> = Vec::with_capacity(ranked.len());
    for sample in 0..table.samples() {
        for slot in 0..slots {
            let entry = |it: &Contender| {
                let system = it.slots.get(slot).copied().flatten()?;
                Some(ContenderScore {
                    value: value(sample, Some(system))?,
                    shown: table.shown_value(metric, sample, system)?,
                    labels: table.labels(metric, sample, system),
                })
            };
            row.clear();
            row.extend(ranked.iter().map(entry));
            let systems = ranked.iter().filter_map(|it| it.slots.get(slot).copied().flatten());
            let same_judges = table.have_same_judges(metric, sample, systems);
            board.add((sample, slot, table.cluster(sample)), &row, same_judges);
        }
    }
    let gaps = ranked
        .iter()
        .zip(&board.not_shared)
        .filter(|(_, missing)| **missing > 0)
        .map(|(it, missing)| Gap { id: it.id.clone(), not_shared: *missing, unranked: false })
        .chain(silent.into_iter().map(|it| Gap { id: it.id, not_shared: 0, unranked: true }))
        .collect();
    board.finish(&ranked, gaps, table, better, measure)
}

fn contenders(plan: &PlanHeader) -> Vec<Contender> {
    let contender = |members: Members| {
        let slot = |variant| {
            let of_variant = |system: &&usize| plan.systems.get(**system).is_some_and(|it| it.variant == variant);
            members.systems.iter().find(of_variant).copied()
        };
        Contender { slots: (0..plan.variants.len()).map(slot).collect(), id: members.id }
    };
    if groups::ranks_variants(plan) {
        // Each variant is a contender with one slot.
        let one_slot = |members: Members| Contender { slots: vec![members.systems.first().copied()], id: members.id };
        return groups::variants(plan).into_iter().map(one_slot).collect();
    }
    groups::models(plan).into_iter().map(contender).collect()
}

/// The value of a contender with the labels behind it, if any.
struct ContenderScore {
    value: FigureValue,
    shown: f64,
    labels: Option<(u32, u32)>,
}

/// Accumulates the shared cells.
struct LeaderboardBuilder {
    observed: Vec<Observations>,
    not_shared: Vec<u64>,
    shared: u64,
    scored: u64,
    samples: Vec<(usize, f64, u32)>,
}

impl LeaderboardBuilder {
    /// For `contenders`, with capacity for all samples and slots.
    fn new(contenders: usize, empty: &Observations, (samples, slots): (usize, usize)) -> Self {
        Self {
            observed: (0..contenders).map(|_| empty.clone().with_capacity(samples * slots)).collect(),
            not_shared: vec![0; contenders],
            shared: 0,
            scored: 0,
            samples: Vec::with_capacity(samples),
        }
    }

    /// A cell is shared if all have a score by the same judges.
    fn add(&mut self, place: (usize, usize, u32), row: &[Option<ContenderScore>], same_judges: bool) {
        let (sample, slot, cluster) = place;
        self.scored += u64::from(row.iter().any(Option::is_some));
        if row.is_empty() || row.iter().any(Option::is_none) || !same_judges {
            for (missing, value) in self.not_shared.iter_mut().zip(row) {
                *missing += u64::from(value.is_some());
            }
            return;
        }
        self.shared += 1;
        for (observed, score) in self.observed.iter_mut().zip(row.iter().flatten()) {
            observed.push_labelled(score.value, score.labels, slot, cluster);
        }
        let mean = row.iter().flatten().map(|score| score.shown).sum::<f64>() / row.len() as f64;
        match self.samples.last_mut() {
            Some((last, sum, n)) if *last == sample => (*sum, *n) = (*sum + mean, *n + 1),
            _ => self.samples.push((sample, mean, 1)),
        }
    }

    fn finish(
        self,
        ranked: &[Contender],
        gaps: Vec<Gap>,
        table: &ScoreTable,
        better: Better,
        measure: Measure,
    ) -> Leaderboard {
        let figure = |observed| measure.figure(observed);
        let mut order: Vec<RankedPlace> = ranked
            .iter()
            .enumerate()
            .filter_map(|(at, it)| {
                Some(RankedPlace { id: it.id.clone(), finding: figure(self.observed.get(at)?)?, rank: None })
            })
            .collect();
        order.sort_by(|a, b| best_first(better, a.finding.value(), b.finding.value()).then_with(|| a.id.cmp(&b.id)));
        Leaderboard {
            lead: None,
            hardest_sample: self.hardest_sample(table, better),
            shared: self.shared,
            shared_samples: self.samples.len() as u64,
            scored: self.scored,
            gaps,
            places: order,
            order_dependent: false,
        }
    }

    fn hardest_sample(&self, table: &ScoreTable, better: Better) -> Option<RankedPlace> {
        let mean = |(sample, sum, n): &(usize, f64, u32)| (table.sample_id(*sample), sum / f64::from(*n), *n);
        let worst_first =
            |a: &(&str, f64, u32), b: &(&str, f64, u32)| best_first(better, b.1, a.1).then_with(|| a.0.cmp(b.0));
        let (id, mean, n) = self.samples.iter().map(mean).min_by(worst_first)?;
        let finding = Finding::point(mean, n as usize * self.observed.len(), "mean")?;
        Some(RankedPlace { id: id.to_owned(), finding, rank: None })
    }
}

/// Orders numbers with the better one first.
pub(crate) fn best_first(better: Better, a: f64, b: f64) -> std::cmp::Ordering {
    match better {
        Better::Higher => b.total_cmp(&a),
        Better::Lower => a.total_cmp(&b),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    fn ids(places: &[super::RankedPlace]) -> Vec<&str> {
        places.iter().map(|place| place.id.as_str()).collect()
    }

    /// CL-18: rankings are deterministic, ties go by model name.
    #[test]
    fn ties_go_by_name() {
        let run = Sketch::new(3, 1, 2).fill(5.0).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        assert_eq!(ids(&findings.leaderboards[0].places), ["model-a", "model-b", "model-c"]);
        assert!(findings.leaderboards[0].is_level());
        let run = Sketch::new(2, 1, 2).value(0, 0, 9.0).value(1, 0, 9.0).value(0, 1, 8.0).value(1, 1, 9.0).run();
        assert!(!analyse(&run, &Options::default()).unwrap().leaderboards[0].is_level());
    }

    /// CL-18: only cells that all models share are compared, and the others are counted.
    #[test]
    fn a_model_cannot_win_by_skipping_the_hard_sample() {
        let run = Sketch::new(2, 1, 3)
            .value(0, 0, 9.0)
            .value(1, 0, 8.0)
            .value(2, 0, 1.0)
            .value(0, 1, 8.0)
            .value(1, 1, 7.0)
            .error(2, 1, "timeout")
            .run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let board = &findings.leaderboards[0];
        assert_eq!(ids(&board.places), ["model-a", "model-b"]);
        assert_eq!((board.shared, board.scored, board.shared_samples), (2, 3, 2));
        assert_eq!((board.gaps[0].id.as_str(), board.gaps[0].not_shared), ("model-a", 1));
        assert_eq!(board.lead.as_ref().map(crate::Finding::value), Some(1.0));
        assert_eq!(board.hardest_sample.as_ref().unwrap().id, "sample-1");
    }

    #[test]
    fn a_model_without_a_score_is_named_but_not_ranked() {
        let run = Sketch::new(2, 1, 2).value(0, 0, 5.0).value(1, 0, 6.0).error(0, 1, "auth").error(1, 1, "auth").run();
        let board = &analyse(&run, &Options::default()).unwrap().leaderboards[0];
        assert_eq!(ids(&board.places), ["model-a"]);
        assert!(board.gaps.iter().any(|gap| gap.id == "model-b" && gap.unranked));
    }
}
