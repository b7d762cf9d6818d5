//! Judge cascades: coverage of the intervals, and how much wider they are than with all answers of the expensive judge.

use karat_stats::correction::{Asked, CascadeBasis, CascadeCell, CascadeFit, CascadeMean};
use karat_stats::interval::Level;

use crate::draw::{Draw, median};

/// The judges' scores of a cell.
#[derive(Clone, Copy)]
enum Scores {
    /// Pass/fail, correlated.
    Binary,
    /// Numbers in [0, 1] with noise.
    Numbers,
}

/// Mean of the expensive judge in the population.
const TRUTH: f64 = 0.7;

#[derive(Clone, Copy)]
struct Design {
    scores: Scores,
    cells: usize,
    /// Correlation of both judges.
    rho: f64,
    share: f64,
    /// Cells of a cluster.
    cluster: usize,
    /// The least cells drawn, on average; the product's is 60.
    floor: bool,
}

/// The scores of both judges for one cell; `level` is the cluster's own mean.
fn scores(draw: &mut Draw, design: &Design, level: f64) -> (f64, f64) {
    match design.scores {
        Scores::Binary => {
            // With probability ρ the first judge says the same, else what it says of any output.
            let dear = draw.passes(level);
            let first = if draw.uniform() < design.rho { dear } else { draw.passes(level) };
            (first, dear)
        }
        Scores::Numbers => {
            let (common, other) = (draw.normal(), draw.normal());
            let first = design.rho * common + (1.0 - design.rho * design.rho).sqrt() * other;
            (0.6 + 0.15 * first, level + 0.15 * common)
        }
    }
}

/// A cascade with nothing unsure, and the mean of the expensive judge over its cells.
fn cascade(run: u64, design: &Design) -> (CascadeMean, f64) {
    let mut draw = Draw::new(67, run);
    let least = if design.floor { 60.0 / design.cells as f64 } else { 0.0 };
    let pi = design.share.max(least).min(1.0);
    let mut level = TRUTH;
    let mut total = 0.0;
    let cells: Vec<CascadeCell> = (0..design.cells)
        .map(|at| {
            if design.cluster > 1 && at % design.cluster == 0 {
                level = match design.scores {
                    Scores::Binary => draw.beta(TRUTH, 4.0),
                    Scores::Numbers => TRUTH + 0.08 * draw.normal(),
                };
            }
            let (first, dear) = scores(&mut draw, design, level);
            total += dear;
            let asked = if draw.uniform() < pi { Asked::Drawn } else { Asked::No };
            let dear = (asked == Asked::Drawn).then_some(dear);
            CascadeCell { asked, first: Some(first), dear, cluster: (at / design.cluster) as u64 }
        })
        .collect();
    (CascadeFit::of(&cells).unwrap().unwrap().mean(&cells).unwrap(), total / design.cells as f64)
}

struct Found {
    /// Coverage of the population's mean by V.
    population: f64,
    /// Coverage of the dataset's mean by V_d.
    dataset: f64,
    width_ratio: f64,
}

fn simulate(runs: u64, design: Design) -> Found {
    let (mut population, mut dataset, mut widths) = (0.0, 0.0, Vec::new());
    for run in 0..runs {
        let (found, of_dataset) = cascade(run, &design);
        let holds = |basis, truth| found.interval(basis, Level::P95).is_some_and(|it| it.contains(truth));
        population += f64::from(u8::from(holds(CascadeBasis::Population, TRUTH)));
        // All asked: nothing is estimated, so the point is the dataset's mean.
        let exact = found.dataset_variance.is_some_and(|v| v <= 0.0);
        dataset += f64::from(u8::from(exact || holds(CascadeBasis::Dataset, of_dataset)));
        widths.extend(found.width_ratio);
    }
    Found { population: population / runs as f64, dataset: dataset / runs as f64, width_ratio: median(&mut widths) }
}

fn design(scores: Scores, cells: usize, rho: f64, share: f64) -> Design {
    Design { scores, cells, rho, share, cluster: 1, floor: true }
}

/// SL-21: intervals of a cascade hold the mean about as often as they say, whatever the first judge is worth.
#[test]
fn intervals_of_a_cascade_cover() {
    for (scores, cells, rho, share) in [
        (Scores::Binary, 200, 0.3, 0.1),
        (Scores::Binary, 1_000, 0.9, 0.1),
        (Scores::Numbers, 200, 0.9, 0.4),
        (Scores::Numbers, 1_000, 0.6, 0.2),
    ] {
        let found = simulate(500, design(scores, cells, rho, share));
        assert!((0.92..=0.98).contains(&found.population), "{rho} {share}: {}", found.population);
        assert!((0.92..=0.98).contains(&found.dataset), "{rho} {share}: {}", found.dataset);
    }
    let clustered = simulate(300, Design { cluster: 5, ..design(Scores::Numbers, 500, 0.6, 0.2) });
    assert!((0.91..=0.98).contains(&clustered.population), "{}", clustered.population);
}

/// SL-21: the width that is reported beside the saved money is that of the theory: √(ρ² + (1 − ρ²)/π).
#[test]
fn a_cascade_is_as_much_wider_as_the_judges_disagree() {
    for (rho, share) in [(0.3, 0.1), (0.6, 0.2), (0.9, 0.4)] {
        let found = simulate(60, design(Scores::Numbers, 1_000, rho, share));
        let expected = (rho * rho + (1.0 - rho * rho) / share).sqrt();
        assert!((found.width_ratio - expected).abs() <= 0.1, "{rho} {share}: {} {expected}", found.width_ratio);
    }
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// Section 4 of the specification.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn full_table_of_cascades() {
        let runs = 2_000;
        let (mut lowest, mut highest) = (1.0_f64, 0.0_f64);
        for (name, scores) in [("pass/fail", Scores::Binary), ("scores", Scores::Numbers)] {
            for cells in [200, 1_000] {
                for rho in [0.3, 0.6, 0.9] {
                    let found = [0.1, 0.2, 0.4].map(|share| simulate(runs, design(scores, cells, rho, share)));
                    let shown = found
                        .each_ref()
                        .map(|it| format!("{:.3} {:.3} × {:.2}", it.population, it.dataset, it.width_ratio));
                    println!("| {name} {cells} ρ {rho} | {} |", shown.join(" | "));
                    for it in &found {
                        lowest = lowest.min(it.population).min(it.dataset);
                        highest = highest.max(it.population).max(it.dataset);
                    }
                }
            }
        }
        println!("coverage {lowest:.3} to {highest:.3}");
        assert!(lowest >= 0.93 && highest <= 0.97);
        let clustered =
            |scores, cells| simulate(runs, Design { cluster: 5, ..design(scores, cells, 0.6, 0.2) }).population;
        println!(
            "| clusters of 5, 200 and 1,000 | {:.3} {:.3} |",
            clustered(Scores::Numbers, 200),
            clustered(Scores::Numbers, 1_000)
        );
        let without = simulate(runs, Design { floor: false, ..design(Scores::Binary, 200, 0.9, 0.1) });
        println!("| without the floor, 20 of 200 | {:.3} {:.3} |", without.population, without.dataset);
    }
}
