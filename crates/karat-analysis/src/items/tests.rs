//! Tests of item analyses on planted sets.

use std::collections::BTreeSet;
use std::sync::Arc;

use karat_stats::numeric::seed::Seed;
use karat_types::{Key, RunRows, Score};
use serde_json::{Value, json};

use super::*;
use crate::testing::{MemoryRun, Sketch};

/// A seeded sequence of numbers from 0 to below 1.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        // Xorshift: tests need no better one.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() * n as f64) as usize).min(n - 1)
    }
}

fn analyse(runs: &[&MemoryRun]) -> ItemAnalysis {
    let runs: Vec<&dyn RunRows> = runs.iter().map(|run| *run as &dyn RunRows).collect();
    analyse_items(&runs, &ItemOptions { resamples: 300, ..ItemOptions::default() }).unwrap()
}

fn binary(models: usize, samples: usize) -> Sketch {
    Sketch::new(models, 1, samples).metric("range", json!([0.0, 1.0])).metric("binary", json!(true))
}

fn flags_of(analysis: &ItemAnalysis, id: &str) -> Vec<FlagKind> {
    let item = analysis.items.iter().find(|item| item.id == id).unwrap();
    item.flags.iter().map(|flag| flag.flag).collect()
}

/// A run in which systems choose among `choices` labels; `wrong` items have a reference that is not the right answer.
/// Items differ in difficulty, systems in ability.
fn labelled_run(systems: usize, items: usize, choices: usize, wrong: &BTreeSet<usize>, seed: u64) -> MemoryRun {
    let mut random = Uniform(seed);
    let mut run = binary(systems, items).fill(0.0).run();
    let ability: Vec<f64> = (0..systems).map(|at| 0.55 + 0.35 * at as f64 / systems as f64).collect();
    for item in 0..items {
        let right = random.below(choices);
        let reference = if wrong.contains(&item) { (right + 1 + random.below(choices - 1)) % choices } else { right };
        let ease = 0.3 * (random.next() - 0.5);
        for (system, ability) in ability.iter().enumerate() {
            let is_right = random.next() < (ability + ease).clamp(0.05, 0.98);
            let answer = if is_right { right } else { (right + 1 + random.below(choices - 1)) % choices };
            let cell = &mut run.cells[item * systems + system].cell;
            cell.scores = vec![(0, Score::label_match(&format!("label-{reference}"), &format!("label-{answer}")))];
        }
    }
    run
}

/// BC-08: of 10 wrong labels among 200, most are flagged, and most of what is flagged is wrong.
#[test]
fn planted_wrong_labels_are_flagged() {
    for (seed, choices) in [(11, 4), (12, 6), (13, 3)] {
        let mut random = Uniform(seed * 7 + 1);
        let mut wrong = BTreeSet::new();
        while wrong.len() < 10 {
            wrong.insert(random.below(200));
        }
        let analysis = analyse(&[&labelled_run(12, 200, choices, &wrong, seed)]);
        let flagged: BTreeSet<String> = analysis.suspects().map(|item| item.id.clone()).collect();
        let found = wrong.iter().filter(|at| flagged.contains(&format!("sample-{at}"))).count();
        let (recall, precision) = (found as f64 / 10.0, found as f64 / flagged.len().max(1) as f64);
        println!("{choices} choices: recall {recall:.2}, precision {precision:.2}, {} flagged", flagged.len());
        assert!(recall >= 0.8 && precision >= 0.6, "{choices} choices: recall {recall}, precision {precision}");
        // Suspects come first, so that a reader finds them.
        assert!(analysis.items.iter().take(flagged.len()).all(TestItem::is_suspect));
    }
}

/// BC-08: of answers without any order, at most one in twenty is flagged; reliability says that the set shows nothing.
#[test]
fn pure_noise_is_rarely_flagged() {
    for (seed, systems, choices) in [(21, 12, 2), (22, 8, 4), (23, 20, 3), (24, 3, 2)] {
        let mut random = Uniform(seed);
        let mut run = binary(systems, 200).fill(0.0).run();
        // A reference belongs to an item, not to a cell.
        for item in 0..200 {
            let reference = random.below(choices).to_string();
            for system in 0..systems {
                let found = random.below(choices).to_string();
                run.cells[item * systems + system].cell.scores = vec![(0, Score::label_match(&reference, &found))];
            }
        }
        let analysis = analyse(&[&run]);
        let of = |kind: FlagKind| (kind, analysis.count(kind));
        let kinds: Vec<_> = FlagKind::ALL.into_iter().map(of).filter(|(_, n)| *n > 0).collect();
        let flagged = analysis.items.iter().filter(|item| !item.flags.is_empty()).count();
        println!("{systems} systems, {choices} choices: {flagged} of 200 flagged, {kinds:?}");
        assert!(flagged <= 10, "{kinds:?}");
        assert!(analysis.headroom.reliability.as_ref().is_none_or(|found| found.value() < 0.7));
    }
}

/// BC-08: difficulty is the missed share of the scale with its interval; it turns where lower is better.
#[test]
fn difficulty_is_the_missed_share_of_the_scale() {
    let sketch = || Sketch::new(4, 1, 2).value(0, 0, 10.0).value(0, 1, 8.0).value(0, 2, 6.0).value(0, 3, 0.0);
    let analysis = analyse(&[&sketch().run()]);
    let item = analysis.items.iter().find(|item| item.id == "sample-0").unwrap();
    let difficulty = item.difficulty.as_ref().unwrap();
    assert!((difficulty.value() - 0.4).abs() < 1e-12, "{difficulty:?}");
    assert_eq!(difficulty.n(), 4);
    assert!(difficulty.method().starts_with("share Wilson (t)"), "{difficulty:?}");
    assert!(difficulty.interval().is_some_and(|(lo, hi)| lo < 0.4 && hi > 0.4));
    let turned = analyse(&[&sketch().metric("better", json!("lower")).run()]);
    let item = turned.items.iter().find(|item| item.id == "sample-0").unwrap();
    assert!((item.difficulty.as_ref().unwrap().value() - 0.6).abs() < 1e-12);
}

/// BC-08: an item that all systems solve in the last three runs is saturated; one that none ever solved is named.
#[test]
fn saturated_and_never_solved_items_are_named() {
    let run =
        |last: f64| binary(3, 3).fill(0.0).value(0, 0, 1.0).value(0, 1, 1.0).value(0, 2, last).value(1, 0, 1.0).run();
    let (all, most) = (run(1.0), run(0.0));
    let analysis = analyse(&[&all, &all, &all, &most]);
    assert_eq!(flags_of(&analysis, "sample-0"), [FlagKind::Saturated]);
    assert_eq!(flags_of(&analysis, "sample-1"), []);
    assert_eq!(flags_of(&analysis, "sample-2"), [FlagKind::NeverSolved]);
    assert!(flags_of(&analyse(&[&all, &all, &most]), "sample-0").is_empty());
    let saturated = &analysis.items.iter().find(|item| item.id == "sample-0").unwrap().flags[0];
    assert_eq!(saturated.evidence, "all 9 results of the last 3 runs are at 95 % of the scale or better");
    // Two results say nothing of an item.
    assert_eq!(flags_of(&analyse(&[&binary(2, 1).fill(1.0).run()]), "sample-0"), []);
}

/// BC-08: more than a fifth of cells without a score, and trials that differ more than elsewhere, are flags.
#[test]
fn unscorable_and_noisy_items_are_named() {
    let mut sketch = Sketch::new(4, 1, 12).trials(3).fill(5.0).unscored(0, 0).unscored(0, 1);
    for system in 0..4 {
        sketch = sketch.trial_value((1, system, 0), 0.0).trial_value((1, system, 2), 10.0);
        sketch = sketch.trial_value((2, system, 0), 5.5);
    }
    let analysis = analyse(&[&sketch.run()]);
    assert_eq!(flags_of(&analysis, "sample-0"), [FlagKind::Unscorable]);
    assert_eq!(flags_of(&analysis, "sample-1"), [FlagKind::Noisy]);
    assert_eq!(flags_of(&analysis, "sample-2"), []);
    let noisy = analysis.items.iter().find(|item| item.id == "sample-1").unwrap();
    assert!((noisy.trial_noise.as_ref().unwrap().value() - 0.5).abs() < 1e-12, "{noisy:?}");
}

/// BC-08: short outputs that agree against a reference make it suspect; case and a full stop do not matter.
#[test]
fn outputs_that_agree_against_a_reference_make_it_suspect() {
    let mut random = Uniform(3);
    let (systems, items) = (6, 40);
    let mut run = binary(systems, items).fill(1.0).run();
    for sample in &mut run.samples {
        sample.texts = vec![karat_types::SampleText::of("reference", &json!("paris"))];
    }
    for item in 0..items {
        for system in 0..systems {
            let place = item * systems + system;
            let (score, output) = match item {
                7 => (0.0, ["Rome.", "rome", " Rome", "ROME", "rome!", "Oslo"][system].to_owned()),
                _ if random.next() < 0.25 => (0.0, format!("city {}", random.below(50))),
                _ => (1.0, "Paris".to_owned()),
            };
            run.cells[place].cell.scores = vec![(0, Score::value(score))];
            run.outputs.insert(run.cells[place].cell.ordinal, Value::from(output));
        }
    }
    let analysis = analyse(&[&run]);
    let suspects: Vec<&TestItem> = analysis.items.iter().filter(|item| item.has(FlagKind::LabelSuspect)).collect();
    assert_eq!(suspects.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["sample-7"]);
    let found = suspects[0].suspicion.as_ref().unwrap();
    assert_eq!((found.answer.as_str(), found.reference.as_str()), ("rome", "paris"));
    assert_eq!((found.systems, found.families, found.agreeing, found.of), (5, 5, 0, 6));
    // Models of one family are one witness.
    let mut kin = run.clone();
    let plan = Arc::make_mut(&mut kin.header.plan);
    plan.models.iter_mut().for_each(|model| model.family = Some("kin".to_owned()));
    let analysis = analyse(&[&kin]);
    assert_eq!(analysis.count(FlagKind::LabelSuspect), 0);
    assert!(analysis.notes.iter().any(|note| note.contains("two families")), "{:?}", analysis.notes);
}

/// BC-06, BC-08: results of an item whose reference was another one are left out, and said to be.
#[test]
fn results_of_changed_items_are_left_out() {
    let run = |reference: &str, value: f64| {
        let mut run = binary(3, 2).fill(value).run();
        for sample in &mut run.samples {
            let text = if sample.row == 0 { reference } else { "same" };
            sample.reads = vec![("{{ reference }}".to_owned(), Key::of("test", text.as_bytes()))];
        }
        run
    };
    let (now, before) = (run("new", 1.0), run("old", 0.0));
    let analysis = analyse(&[&now, &before]);
    let of = |id: &str| analysis.items.iter().find(|item| item.id == id).unwrap();
    assert_eq!((of("sample-0").runs, of("sample-1").runs), (1, 2));
    assert!(of("sample-0").difficulty.as_ref().unwrap().value().abs() < 1e-12);
    assert!(analysis.notes.iter().any(|note| note.contains("3 cells of 1 item")), "{:?}", analysis.notes);
}

/// BC-08: other prompts of one name are other systems; the same system counts once, by its newest result.
#[test]
fn systems_are_told_apart_by_content() {
    let (now, before) = (binary(2, 3).fill(1.0).run(), binary(2, 3).fill(0.0).run());
    let analysis = analyse(&[&now, &before]);
    assert_eq!(analysis.systems.len(), 2);
    assert!(analysis.items.iter().all(|item| item.difficulty.as_ref().unwrap().value() == 0.0));
    let mut other = before.clone();
    Arc::make_mut(&mut other.header.plan).models[0].model = "other".to_owned();
    let analysis = analyse(&[&now, &other]);
    assert_eq!(analysis.systems.len(), 3);
    assert!(analysis.systems[0].id.contains(" of run "), "{:?}", analysis.systems);
}

/// BC-08: a metric without a range, a run without scores, one system, no run and no such metric are cases, not failures.
#[test]
fn sparse_stores_are_no_failures() {
    let unbounded = Sketch::new(9, 1, 4).metric("range", Value::Null).fill(3.0).run();
    let analysis = analyse(&[&unbounded]);
    assert!(analysis.scale.is_none() && analysis.items.iter().all(|item| item.difficulty.is_none()));
    assert!(analysis.headroom.saturated.is_none() && analysis.notes.iter().any(|note| note.contains("no range")));
    let unscored = (0..4).fold(Sketch::new(1, 1, 4), |sketch, at| sketch.unscored(at, 0)).run();
    let analysis = analyse(&[&unscored]);
    assert_eq!(analysis.count(FlagKind::Unscorable), 4);
    assert!(analysis.items.iter().all(|item| item.difficulty.is_none() && item.systems == 0));
    let one = analyse(&[&binary(1, 4).fill(1.0).run()]);
    assert!(one.items.iter().all(|item| item.no_discrimination.as_deref() == Some("1 of at least 8 systems")));
    assert!(one.headroom.no_reliability.is_some());
    let empty = Sketch::new(2, 1, 2).run();
    assert!(analyse(&[&empty]).items.is_empty());
    assert!(matches!(analyse_items(&[], &ItemOptions::default()), Err(AnalysisError::NoRuns {})));
    let wanted = ItemOptions { metric: Some("speed".to_owned()), ..ItemOptions::default() };
    let missing = analyse_items(&[&unscored as &dyn RunRows], &wanted).unwrap_err();
    assert!(missing.to_string().contains("quality.overall"), "{missing}");
}

/// BC-09: the share of saturated items, the best system and the reliability of the set.
#[test]
fn headroom_is_what_is_left() {
    let mut random = Uniform(5);
    let systems = 10;
    let mut sketch = binary(systems, 100).fill(1.0);
    for item in 40..100 {
        for system in 0..systems {
            let solves = random.next() < 0.2 + 0.06 * system as f64;
            sketch = sketch.value(item, system, f64::from(u8::from(solves)));
        }
    }
    let analysis = analyse(&[&sketch.run()]);
    let headroom = &analysis.headroom;
    let saturated = headroom.saturated.as_ref().unwrap();
    assert!((saturated.value() - 0.4).abs() < 0.02 && saturated.interval().is_some());
    assert!(headroom.best.as_ref().unwrap().id.starts_with("model-"));
    let reliability = headroom.reliability.as_ref().unwrap();
    assert!(reliability.value() > 0.6 && reliability.seed() == Some(Seed(1).0), "{reliability:?}");
}

/// Invariant 9, reports are deterministic: the same runs give the same analysis.
#[test]
fn items_are_deterministic() {
    let run = labelled_run(9, 30, 3, &BTreeSet::from([4]), 2);
    assert_eq!(analyse(&[&run]), analyse(&[&run]));
}
