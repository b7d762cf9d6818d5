//! Rankings of runs with planted verdicts.

use karat_types::{JudgeRound, Money, RunRows, Score, output_key};
use serde_json::json;

use super::*;
use crate::score::people::{PeopleGame, UnusedTask};
use crate::testing::{MemoryRun, judged_run};
use crate::{Options, analyse};

/// A tournament of models on 40 samples: `verdict(judge, sample, own, other, swapped)` is 1 where the own output wins.
fn tournament(models: usize, judges: &[&str], verdict: impl Fn(usize, usize, usize, usize, bool) -> f64) -> MemoryRun {
    let mut run = judged_run(models, 40, judges, json!([]));
    let plan = Arc::make_mut(&mut run.header.plan);
    let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("a rubric") };
    rubric.versus = Some(Versus::All);
    for cell in &mut run.cells {
        let (sample, own) = (cell.sample, cell.system);
        if own == 0 {
            cell.judgments.clear();
        }
        for (judge, judgment) in cell.judgments.iter_mut().enumerate() {
            let games = (0..own).flat_map(|other| [false, true].map(|swapped| (other, swapped)));
            judgment.rounds = games
                .map(|(other, swapped)| JudgeRound {
                    opponent: other as u16,
                    swapped,
                    scores: vec![(0, verdict(judge, sample, own, other, swapped))],
                })
                .collect();
            judgment.scores = vec![(0, Score::value(0.5))];
        }
    }
    run
}

fn ranking(run: &MemoryRun) -> MetricRanking {
    let findings = analyse(run, &Options::default()).unwrap();
    let found = findings.analyses.iter().find_map(|it| match &it.outcome {
        Outcome::Ranking(found) => Some(found.rankings[0].clone()),
        _ => None,
    });
    found.expect("a tournament has a ranking")
}

/// Steady noise from 0 to 1.
fn noise(sample: usize, own: usize, other: usize) -> f64 {
    ((sample * 37 + own * 11 + other * 5) % 40) as f64 / 40.0
}

/// PW-02: five systems are ranked in their planted order, with intervals, a win matrix and shared ranks.
#[test]
fn systems_are_ranked_in_their_order() {
    // The earlier the model, the stronger; the last two are equal.
    let strength = [2.6, 1.6, 0.6, -1.0, -1.0];
    let run = tournament(5, &["judge"], |_, sample, own, other, _| {
        let p = 1.0 / (1.0 + f64::exp(strength[other] - strength[own]));
        f64::from(u8::from(noise(sample, own, other) < p))
    });
    let found = ranking(&run);
    let names: Vec<&str> = found.systems.iter().map(|it| it.system.trim_end_matches("/variant-0")).take(3).collect();
    assert_eq!(names, ["model-a", "model-b", "model-c"], "{found:?}");
    assert_eq!((found.games, found.samples, found.order_dependent, found.model), (400, 40, 0, "bradley_terry"));
    assert!(found.systems.iter().all(|it| it.strength.as_ref().is_some_and(|it| it.interval().is_some())));
    let ranks: Vec<(u64, u64)> = found.systems.iter().filter_map(|it| it.ranks).collect();
    assert_eq!((ranks[0].0, ranks[3], ranks[4], found.unreliable), (1, (4, 5), (4, 5), false));
    assert_eq!((found.systems[3].rank, found.systems[4].rank), (Some(4), Some(4)));
    let first = &found.pairs[0];
    assert_eq!(
        (first.a.as_str(), first.b.as_str(), first.record.0 + first.record.2),
        ("model-a/variant-0", "model-b/variant-0", 40)
    );
    let lost: u64 = found.systems.iter().map(|it| it.record.2).sum();
    assert_eq!((found.pairs.len(), found.systems.iter().map(|it| it.record.0).sum::<u64>()), (10, lost));
}

/// PW-03, DC-08: of a judge that always prefers the first position every game is a tie and counted, and no system has a rank,
/// nor a place on the leaderboard.
#[test]
fn a_judge_of_positions_ranks_nothing() {
    let mut run = tournament(3, &["first"], |_, _, _, _, swapped| f64::from(u8::from(!swapped)));
    Arc::make_mut(&mut run.header.plan).analyses = vec![AnalysisSpec {
        analysis: "judge_bias".to_owned(),
        id: "bias".to_owned(),
        with: serde_json::Map::from_iter([("scorer".to_owned(), json!("quality"))]),
    }];
    for cell in &run.cells {
        run.outputs.insert(cell.cell.ordinal, json!("text"));
    }
    let found = ranking(&run);
    assert_eq!((found.games, found.order_dependent, found.ties.as_ref().unwrap().value()), (120, 120, 1.0));
    assert!(found.systems.iter().all(|it| it.ranks.is_none() && it.strength.as_ref().unwrap().value().abs() < 1e-9));
    assert!(found.unreliable && found.notes[0].starts_with("120 of 120 verdicts (100 %) changed"), "{:?}", found.notes);
    let findings = analyse(&run, &Options::default()).unwrap();
    assert!(findings.leaderboards[0].order_dependent && findings.leaderboards[0].places.is_empty());
    assert_eq!(findings.summary.best_model, None);
    let bias = findings.analyses.iter().find_map(|it| match &it.outcome {
        Outcome::JudgeBias(found) => Some(found.clone()),
        _ => None,
    });
    let position = &bias.unwrap().positions[0];
    assert_eq!(
        (position.first.as_ref().unwrap().value(), position.consistency.value(), position.flips),
        (1.0, 0.0, (120, 0))
    );
}

/// DC-08: up to a fifth of the verdicts may change with the order of the outputs.
#[test]
fn ranks_need_four_steady_verdicts_of_five() {
    let flips = |share: usize| {
        let run = tournament(2, &["judge"], |_, sample, _, _, swapped| {
            let flips = sample % 40 < share;
            if flips && swapped { 0.0 } else { 1.0 }
        });
        let found = ranking(&run);
        (found.order_dependent, found.unreliable, found.systems[0].rank, found.pairs[0].decided)
    };
    assert_eq!((flips(8), flips(9)), ((8, false, Some(1), true), (9, true, None, false)));
}

/// DC-08: a judgment stands with the later system, and its cost is borne by both of a game; in all nothing is lost.
#[test]
fn the_cost_of_a_game_is_halved_between_its_systems() {
    let mut run = tournament(5, &["judge"], |_, _, _, _, _| 1.0);
    let mut paid = 0;
    for cell in &mut run.cells {
        let games = cell.system as i128;
        for judgment in &mut cell.judgments {
            let cost = Money(games * 1_001);
            paid += cost.0;
            let usage = karat_types::Usage { input_tokens: 100 * games as u64, ..Default::default() };
            judgment.cost = karat_types::CellCost { usage, cost: Some(cost), paid: cost };
        }
    }
    let findings = analyse(&run, &Options::default()).unwrap();
    let costs: Vec<i128> = findings.systems.iter().map(|it| it.spend.judging.cost().unwrap().0).collect();
    assert_eq!(costs.iter().sum::<i128>(), paid);
    // Each system has four games a sample; what does not divide stays with the later one.
    assert!(costs.iter().all(|cost| (cost - 40 * 4 * 500).abs() <= 40 * 4), "{costs:?}");
    assert!(findings.systems.iter().all(|it| it.spend.judging.usage.input_tokens == 40 * 4 * 50));
    assert_eq!(findings.run.spend.judging.paid.0, paid);
}

/// PW-06: the judge without whom another system would be first is named.
#[test]
fn a_contrary_judge_is_named() {
    let run = tournament(3, &["kind", "kind too", "contrary"], |judge, sample, own, other, _| {
        // The last judge turns the order around, more firmly than the others hold it.
        let p = if judge == 2 { 0.9 } else { 0.35 };
        f64::from(u8::from(noise(sample, own, other) < p))
    });
    let found = ranking(&run);
    let first = found.systems[0].system.clone();
    let contrary: Vec<&WithoutJudge> = found.without.iter().filter(|it| it.changes_first).collect();
    assert_eq!((first.as_str(), contrary.len(), contrary[0].judge.as_str()), ("model-c/variant-0", 1, "contrary"));
    assert_eq!(contrary[0].first, "model-a/variant-0");
}

/// PW-02: a system that never lost is named, with the prior.
#[test]
fn an_undefeated_system_is_named() {
    let found = ranking(&tournament(3, &["judge"], |_, _, _, _, _| 1.0));
    assert_eq!((found.prior, found.systems[0].system.as_str()), (Some(0.1), "model-c/variant-0"));
    assert!(
        found.notes[0].contains("`model-c/variant-0` never lost") && found.notes[0].contains("0.1 wins"),
        "{:?}",
        found.notes
    );
}

/// PW-01: the figure of every system is the share of all its games that it won, whichever cell holds them.
#[test]
fn scores_count_games_of_both_sides() {
    let run = tournament(3, &["judge"], |_, _, own, other, _| if (own, other) == (2, 0) { 0.5 } else { 1.0 });
    let findings = analyse(&run, &Options::default()).unwrap();
    let shares: Vec<f64> = findings.systems.iter().map(|it| it.metrics[0].value().unwrap()).collect();
    // The last beats the second and ties with the first; the second beats the first.
    assert_eq!(shares, [0.25, 0.5, 0.75]);
    assert_eq!((findings.run.tally.unscored, findings.summary.best_model.as_deref()), (0, Some("model-c")));
}

/// PW-01: verdicts of people in closed tasks are games of the same ranking, counted apart and named as a judge; a task that
/// does not count adds none. An output that two systems share is a game of each.
#[test]
fn people_play_in_the_same_tournament() {
    let mut run =
        tournament(3, &["judge"], |_, sample, own, other, _| f64::from(u8::from(noise(sample, own, other) < 0.5)));
    let output = |sample: usize, system: usize| output_key(&json!(format!("{sample} by {}", system.min(1))));
    for cell in &mut run.cells {
        cell.cell.output_hash = output(cell.sample, cell.system);
    }
    let judges_only = ranking(&run);
    let games = (0..40).map(|at| PeopleGame {
        sample: format!("sample-{at}"),
        question: "overall".to_owned(),
        outputs: (output(at, 0), output(at, 1)),
        verdict: [1, 1, 1, 0][at % 4],
    });
    let task = PeopleTask { scorer: "quality".to_owned(), games: games.collect(), ..PeopleTask::default() };
    let ranked = |people: Vec<PeopleTask>| {
        let findings = analyse(&run, &Options { people: people.into(), ..Options::default() }).unwrap();
        let found = findings.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Ranking(found) => Some(found.rankings[0].clone()),
            _ => None,
        });
        found.unwrap()
    };
    let unused = PeopleTask { unused: Some(UnusedTask::Targeted), ..task.clone() };
    assert_eq!(ranked(vec![unused]), judges_only);
    let found = ranked(vec![task]);
    // The second output is that of the second and the third model.
    assert_eq!((judges_only.games, found.games, found.by_people), (120, 200, 80));
    assert_eq!(found.systems[0].system, "model-a/variant-0");
    assert_eq!(
        found.systems[0].record.1,
        judges_only.systems.iter().find(|it| it.system == "model-a/variant-0").unwrap().record.1 + 20
    );
    assert!(found.without.iter().any(|it| it.judge == "people"), "{:?}", found.without);
}

/// F46: a judge's bias and the scores of cells count every game of a system, so the order of systems changes nothing.
#[test]
fn the_order_of_systems_changes_no_bias_and_no_score() {
    const MODELS: usize = 5;
    // The shorter output mostly wins; which model comes first in the suite must not matter.
    let words = |model: usize, sample: usize| 5 + (model * 17 + sample * 7) % 60;
    let wins = |sample: usize, a: usize, b: usize| {
        let is_noisy = (sample + a + b).is_multiple_of(4);
        f64::from(u8::from((words(a, sample) < words(b, sample)) != is_noisy))
    };
    let of_order = |place: &dyn Fn(usize) -> usize| {
        let mut run = tournament(MODELS, &["judge"], |_, sample, own, other, _| {
            let (a, b) = (place(own), place(other));
            // A game has one result, whichever system holds it.
            if a < b { wins(sample, a, b) } else { 1.0 - wins(sample, b, a) }
        });
        Arc::make_mut(&mut run.header.plan).analyses = vec![AnalysisSpec {
            analysis: "judge_bias".to_owned(),
            id: "bias".to_owned(),
            with: serde_json::Map::from_iter([("scorer".to_owned(), json!("quality"))]),
        }];
        for cell in &run.cells {
            let text = "word ".repeat(words(place(cell.system), cell.sample));
            run.outputs.insert(cell.cell.ordinal, json!(text));
        }
        run
    };
    let slope = |run: &MemoryRun| {
        let findings = analyse(run, &Options::default()).unwrap();
        let bias = findings.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::JudgeBias(found) => found.leanings.first().cloned(),
            _ => None,
        });
        let bias = bias.expect("words vary");
        (bias.slope.value(), bias.correlation.unwrap().value(), bias.slope.n())
    };
    let (straight, turned) = (of_order(&|at| at), of_order(&|at| MODELS - 1 - at));
    let ((one, r, n), (other, turned_r, _)) = (slope(&straight), slope(&turned));
    // Each of 10 games on 40 samples grades two outputs.
    assert_eq!(n, 800);
    assert!(one < -0.05 && (one - other).abs() < 1e-12 && (r - turned_r).abs() < 1e-12, "{one} {other} {r} {turned_r}");
    let scores = |run: &MemoryRun, place: &dyn Fn(usize) -> usize| {
        let (plan, mut scores) = (run.plan(), std::collections::BTreeMap::new());
        run.for_each(&mut |row| {
            let score = crate::CellScores::of(&plan, &row).number(0).expect("every system has games");
            scores.insert((row.sample.id.clone(), place(row.system)), score);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        scores
    };
    let all = scores(&straight, &|at| at);
    assert_eq!(all, scores(&turned, &|at| MODELS - 1 - at));
    // A part of a sample has the same scores: the games of its other cells count.
    let mut part = Vec::new();
    straight
        .for_each_in(5..7, &mut |row| {
            part.push((row.cell.ordinal, crate::CellScores::of(&straight.plan(), &row).number(0).unwrap()));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let sample = straight.samples[1].id.clone();
    assert_eq!(part, [(5, all[&(sample.clone(), 0)]), (6, all[&(sample, 1)])]);
}
