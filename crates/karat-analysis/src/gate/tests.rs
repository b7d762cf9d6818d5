use karat_types::{Exit, Gate, GateBasis, GateReference, GateRules, Policy, Subject, Threshold};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{MemoryRun, Sketch};
use crate::{Finding, Options, analyse};

const METRIC: &str = "quality.overall";

fn at(value: f64) -> Option<Threshold> {
    Some(Threshold { value, percent: false })
}

fn gate(change: impl FnOnce(&mut Gate)) -> Gate {
    let mut gate = Gate::for_metric(METRIC);
    change(&mut gate);
    gate
}

fn findings_of(run: &MemoryRun) -> Findings {
    analyse(run, &Options::default()).unwrap()
}

fn pinned(run: &MemoryRun) -> References {
    References { baseline: Some(Pinned::of(&run.header, &findings_of(run))), ..References::default() }
}

fn say(run: &MemoryRun, gates: Vec<Gate>, policy: Policy, references: &References) -> Verdicts {
    decide(&findings_of(run), run, &GateRules { gates, policy, ..GateRules::default() }, references).unwrap()
}

fn words(verdicts: &Verdicts) -> Vec<(String, &'static str)> {
    let word = |it: &Decision| (it.system.clone().unwrap_or_default(), it.verdict.as_str());
    verdicts.decisions.iter().map(word).collect()
}

/// Two systems on four samples: the first has 8 everywhere, the second the given values.
fn two(second: [f64; 4]) -> MemoryRun {
    let start = Sketch::new(2, 1, 4).fill(8.0);
    second.iter().enumerate().fold(start, |sketch, (sample, value)| sketch.value(sample, 1, *value)).run()
}

/// CL-24, SU-05: an absolute minimum applies to each system; the bound itself passes.
#[test]
fn each_system_is_gated_on_its_own() {
    let verdicts = say(&two([7.0; 4]), vec![gate(|it| it.min = at(8.0))], Policy::default(), &References::default());
    assert_eq!(words(&verdicts), [("model-a/variant-0".to_owned(), "pass"), ("model-b/variant-0".to_owned(), "fail")]);
    assert_eq!((verdicts.verdict(), verdicts.exit()), (Some(Verdict::Fail), Exit::GateFailed));
    let chance = "these 4 samples do not decide it (95 % interval 2.783 to 8.807)";
    assert_eq!(verdicts.decisions[1].reason, format!("quality.overall 7.000 < gate 8.000; {chance}"));
    let over_all = gate(|it| {
        it.per = "run".to_owned();
        it.min = at(7.5);
    });
    assert_eq!(say(&two([7.0; 4]), vec![over_all], Policy::default(), &References::default()).exit(), Exit::Pass);
}

/// DC-01: a gate on a change says what its contrast says: 14 and 18 of 20 passes, p = 0.0625, decide nothing about 0.
#[test]
fn a_change_that_its_test_leaves_open_passes_no_gate() {
    let passes = |variant, passed| {
        let sketch = Sketch::new(1, 2, 20).metric("binary", json!(true)).metric("range", json!([0, 1]));
        let fill = |sketch: Sketch, (system, passed): (usize, usize)| {
            (0..20).fold(sketch, |it, at| it.value(at, system, f64::from(u8::from(at < passed))))
        };
        [(0, 14), (variant, passed)].into_iter().fold(sketch, fill).run()
    };
    for (passed, expected) in [(18, "undecided"), (20, "pass")] {
        let of_base = gate(|it| {
            it.max_drop = at(0.0);
            it.decide = GateBasis::Interval;
            it.against = Some(GateReference::Variant("variant-0".to_owned()));
        });
        let verdicts = say(&passes(1, passed), vec![of_base], Policy::default(), &References::default());
        assert_eq!(verdicts.decisions[0].verdict.as_str(), expected, "{:?}", verdicts.decisions);
    }
}

/// CL-24: a drop of exactly the tolerance passes, though 7.3 - 8.3 is not -1 in binary; the next one fails.
#[test]
fn a_drop_of_exactly_the_tolerance_passes() {
    let before = Sketch::new(1, 1, 4).fill(8.3).run();
    for (now, exit) in [(7.3, Exit::Pass), (7.299, Exit::GateFailed), (9.9, Exit::Pass)] {
        let run = Sketch::new(1, 1, 4).fill(now).run();
        let verdicts = say(&run, vec![gate(|it| it.max_drop = at(1.0))], Policy::default(), &pinned(&before));
        assert_eq!(verdicts.exit(), exit, "{now}: {:?}", verdicts.decisions);
    }
}

/// A percentage is relative to the baseline, a number is in the metric's unit.
#[test]
fn relative_bounds_follow_the_baseline() {
    let before = Sketch::new(1, 1, 4).fill(5.0).run();
    let percent = |value| gate(|it| it.max_drop = Some(Threshold { value, percent: true }));
    for (now, value, exit) in [(4.75, 0.05, Exit::Pass), (4.7, 0.05, Exit::GateFailed), (4.7, 0.1, Exit::Pass)] {
        let run = Sketch::new(1, 1, 4).fill(now).run();
        let verdicts = say(&run, vec![percent(value)], Policy::default(), &pinned(&before));
        assert_eq!(verdicts.exit(), exit, "{now} {value}");
        assert_eq!(verdicts.decisions[0].threshold, Some(value * 5.0));
    }
    let rise = gate(|it| it.max_rise = at(0.5));
    let run = Sketch::new(1, 1, 4).fill(5.6).run();
    assert_eq!(say(&run, vec![rise], Policy::default(), &pinned(&before)).exit(), Exit::GateFailed);
}

/// A value and its threshold are shown with enough digits to differ, and the comparison shown is the one made.
#[test]
fn shown_numbers_compare_like_the_values() {
    let reason = |value: f64, min: f64, decide: GateBasis| {
        let run = Sketch::new(1, 1, 3).fill(value).run();
        let rule = gate(|it| (it.min, it.decide) = (at(min), decide));
        let reason = say(&run, vec![rule], Policy::default(), &References::default()).decisions[0].reason.clone();
        reason.split(';').next().unwrap_or_default().to_owned()
    };
    assert_eq!(reason(0.7622, 0.7624, GateBasis::Point), "quality.overall 0.7622 < gate 0.7624");
    assert_eq!(reason(0.762_500_1, 0.7625, GateBasis::Point), "0.763 ≥ 0.762");
    assert_eq!(reason(0.762_499_999_99, 0.7625, GateBasis::Point), "0.762 ≥ 0.762");
    assert_eq!(reason(0.5, 0.0, GateBasis::Point), "0.500 ≥ 0.000");
    // Three equal values on a scale of 1 to 10 say little of others.
    let few = reason(0.7622, 0.7624, GateBasis::Interval);
    assert!(few.contains("contains the threshold"), "{few}");
}

/// Invariant: a bound that every figure of the metric keeps is refused like one that none keeps.
#[test]
fn a_gate_that_cannot_fail_is_refused() {
    let plan = Sketch::new(1, 1, 2).fill(5.0).run().plan();
    let told = |change: &dyn Fn(&mut Gate)| {
        let rules = GateRules { gates: vec![gate(change)], ..GateRules::default() };
        check(&plan, &rules).map_err(|error| error.to_string())
    };
    for (name, wrong) in [
        ("max_drop: 60", told(&|it| it.max_drop = at(60.0))),
        ("max_rise: 11", told(&|it| it.max_rise = at(11.0))),
        ("max: 60", told(&|it| it.max = at(60.0))),
        ("min: -3", told(&|it| it.min = at(-3.0))),
    ] {
        let error = wrong.unwrap_err();
        assert!(error.contains(&format!("every figure meets `{name}`")), "{error}");
        assert_eq!(error.contains("did you mean `60%`?"), name.contains("60"), "{error}");
    }
    assert!(told(&|it| (it.min, it.max) = (at(0.0), at(10.0))).is_ok());
}

/// A reference is not compared with itself, and a rise keeps its sign in the reason.
#[test]
fn a_model_is_not_compared_with_itself() {
    let against = |per: &str| {
        gate(|it| {
            it.against = Some(GateReference::Model("model-a".to_owned()));
            it.max_drop = at(0.25);
            it.per = per.to_owned();
        })
    };
    for per in ["system", "run"] {
        let verdicts = say(&two([7.5; 4]), vec![against(per)], Policy::default(), &References::default());
        let [only] = verdicts.decisions.as_slice() else { panic!("{verdicts:?}") };
        assert_eq!(
            (only.verdict, only.threshold, only.finding.as_ref().map(Finding::n)),
            (Verdict::Fail, Some(0.25), Some(4))
        );
        let reason = "a drop of 0.500 (6.25 %, from 8.000 to 7.500) is above the allowed 0.250; these 4 samples do not decide it";
        assert!(only.reason.starts_with(reason), "{}", only.reason);
    }
}

/// Without a baseline, or without this system in it, the verdict is undecided; only a policy makes that a failure.
#[test]
fn no_baseline_is_undecided() {
    let run = two([8.0; 4]);
    let rule = || vec![gate(|it| it.max_drop = at(1.0))];
    let verdicts = say(&run, rule(), Policy::default(), &References::default());
    assert_eq!((verdicts.verdict(), verdicts.exit()), (Some(Verdict::Undecided), Exit::Pass));
    let binding = Policy { undecided_fails: true, ..Policy::default() };
    assert_eq!(say(&run, rule(), binding.clone(), &References::default()).exit(), Exit::Undecided);
    let verdicts = say(&run, rule(), binding.clone(), &pinned(&Sketch::new(1, 1, 4).fill(8.0).run()));
    assert_eq!(words(&verdicts)[1], ("model-b/variant-0".to_owned(), "undecided"));
    assert!(verdicts.notes.iter().any(|note| note.contains("model-b/variant-0")), "{:?}", verdicts.notes);
}

/// BY-02: an interval decides three ways, and three policies on one stored run give three exit codes.
#[test]
fn an_interval_that_contains_the_threshold_is_undecided() {
    let run = two([6.0, 7.0, 8.0, 9.0]);
    let by = |min: f64, decide: GateBasis| {
        gate(|it| {
            it.min = at(min);
            it.decide = decide;
        })
    };
    let second = |min: f64, policy: Policy| {
        let verdicts = say(&run, vec![by(min, GateBasis::Interval)], policy, &References::default());
        (verdicts.decisions[1].verdict, verdicts.exit())
    };
    let strict = Policy { undecided_fails: true, ..Policy::default() };
    assert_eq!(second(7.4, Policy::default()), (Verdict::Undecided, Exit::Pass));
    assert_eq!(second(7.4, strict.clone()), (Verdict::Undecided, Exit::Undecided));
    // The first system has four equal scores, which say little of others.
    assert_eq!(second(4.0, strict.clone()), (Verdict::Pass, Exit::Undecided));
    assert_eq!(second(1.5, strict.clone()), (Verdict::Pass, Exit::Pass));
    let point = say(&run, vec![by(7.6, GateBasis::Point)], strict.clone(), &References::default());
    assert_eq!(point.exit(), Exit::GateFailed);
}

/// DC-14: an undecided gate plans for a figure that is inside of its bound by what matters, never for the one it saw; a gate by
/// the figure says where chance alone could turn it.
#[test]
fn an_undecided_gate_says_how_many_samples_decide() {
    let sketch = Sketch::new(1, 1, 50).metric("binary", serde_json::json!(true));
    let passed = |sketch: Sketch, sample| sketch.value(sample, 0, f64::from(u8::from(sample < 46)));
    let run = (0..50).fold(sketch.metric("range", serde_json::json!([0, 1])), passed).run();
    let first = |decide: GateBasis, mde: &[(&str, f64)]| {
        let gate = gate(|it| (it.min, it.decide) = (at(0.9), decide));
        let mde = mde.iter().map(|(name, by)| ((*name).to_owned(), Threshold::absolute(*by))).collect();
        let policy = Policy { mde, ..Policy::default() };
        say(&run, vec![gate], policy, &References::default()).decisions.remove(0)
    };
    let found = first(GateBasis::Interval, &[]);
    let needed = found.needed.clone().unwrap();
    assert_eq!((found.verdict, needed.samples, needed.more), (Verdict::Undecided, 239, 189));
    let advice = "about 239 samples (189 more) decide a figure 0.050 inside of the bound with 80 % power";
    assert!(found.reason.ends_with(advice), "{}", found.reason);
    assert!(first(GateBasis::Interval, &[("*", 0.02)]).needed.unwrap().samples > 1_000);
    let typo = Policy { mde: [("hitt".to_owned(), Threshold::absolute(0.1))].into(), ..Policy::default() };
    let error = check(&run.header.plan, &GateRules { policy: typo, ..GateRules::default() }).unwrap_err();
    assert!(error.to_string().starts_with("`policy.mde`: the run has no metric `hitt`"), "{error}");
    // A percentage is one of the figure, also where a change is compared.
    let change = gate(|it| {
        (it.max_drop, it.decide) = (at(0.0), GateBasis::Interval);
        it.against = Some(GateReference::Model("model-a".to_owned()));
    });
    let mde = [("*".to_owned(), Threshold { value: 0.1, percent: true })].into();
    let policy = Policy { mde, ..Policy::default() };
    let found = say(&two([6.0, 7.0, 8.0, 9.0]), vec![change], policy, &References::default()).decisions.remove(0);
    assert!((found.needed.unwrap().difference - 0.75).abs() < 1e-12, "{}", found.reason);
    let point = first(GateBasis::Point, &[]);
    assert_eq!((point.verdict, point.needed), (Verdict::Pass, None));
    assert!(
        point.reason.starts_with("0.920 ≥ 0.900; these 50 samples do not decide it (95 % interval 0.8"),
        "{}",
        point.reason
    );
}

/// BY-02: with too many missing scores a gate never passes, and fails only if no missing score could change that.
#[test]
fn too_much_without_a_score_never_passes() {
    let run = Sketch::new(1, 1, 4).fill(9.0).unscored(0, 0).run();
    let with = |max_unscored, min| {
        let policy = Policy { max_unscored, ..Policy::default() };
        let verdicts = say(&run, vec![gate(|it| it.min = at(min))], policy, &References::default());
        verdicts.decisions[0].verdict
    };
    assert_eq!((with(0.25, 8.0), with(0.24, 8.0), with(0.0, 9.5)), (Verdict::Pass, Verdict::Undecided, Verdict::Fail));
    // With a 10 for the missing one the mean would be 9.25.
    assert_eq!((with(0.25, 9.2), with(0.24, 9.2)), (Verdict::Fail, Verdict::Undecided));
}

/// BY-02: missing trials count one by one, as in reports; a failure that the best missing scores could not change
/// stays.
#[test]
fn trials_without_a_score_count_one_by_one() {
    let run =
        Sketch::new(1, 1, 4).trials(2).fill(8.0).trial_error((0, 0, 1), "timeout").trial_error((1, 0, 0), "timeout");
    let with = |max_unscored, min| {
        let policy = Policy { max_unscored, max_errors: 1.0, ..Policy::default() };
        let verdicts = say(&run.run(), vec![gate(|it| it.min = at(min))], policy, &References::default());
        (verdicts.decisions[0].verdict, verdicts.decisions[0].reason.clone())
    };
    assert_eq!((with(0.25, 7.0).0, with(0.24, 7.0).0), (Verdict::Pass, Verdict::Undecided));
    // Two of eight cells: a 10 for each makes the mean 8.5.
    assert_eq!((with(0.24, 8.4).0, with(0.24, 8.6).0), (Verdict::Undecided, Verdict::Fail));
    let (_, reason) = with(0.24, 8.4);
    assert!(
        reason.contains("undecided because 2 of 8 cells (25.0 %) could not be scored, and the policy allows 24.0 %"),
        "{reason}"
    );
}

/// BY-02: a change is undecided if the missing scores could make up the drop.
#[test]
fn a_drop_that_missing_scores_could_reverse_is_undecided() {
    let before = Sketch::new(1, 1, 4).fill(9.0).run();
    let run = Sketch::new(1, 1, 4).fill(8.0).unscored(0, 0).run();
    let with = |change: &dyn Fn(&mut Gate)| {
        let verdicts = say(&run, vec![gate(change)], Policy::default(), &pinned(&before));
        let decision = &verdicts.decisions[0];
        assert!(decision.reason.contains("1 of 4 cells (25.0 %) could not be scored"), "{}", decision.reason);
        decision.verdict
    };
    // Of the three that have a score each drops by 1; a 10 for the fourth makes the mean drop 0.5.
    assert_eq!(with(&|it| it.max_drop = at(0.4)), Verdict::Fail);
    assert_eq!(with(&|it| it.max_drop = at(0.6)), Verdict::Undecided);
    assert_eq!((with(&|it| it.max = at(5.0)), with(&|it| it.max = at(7.0))), (Verdict::Fail, Verdict::Undecided));
}

/// BY-02: a gate whose reference was not selected for this run is undecided.
#[test]
fn a_gate_without_its_partner_is_undecided() {
    let run = two([7.0; 4]);
    let against = GateReference::Variant("variant-9".to_owned());
    let gates = vec![gate(|it| (it.max_drop, it.against) = (at(0.5), Some(against.clone())))];
    let rules = GateRules { gates, ..GateRules::default() };
    assert!(check(&run.header.plan, &rules).unwrap_err().to_string().contains("variant-9"));
    let rules = GateRules { left_out: vec![against], ..rules };
    check(&run.header.plan, &rules).unwrap();
    let verdicts = decide(&findings_of(&run), &run, &rules, &References::default()).unwrap();
    assert_eq!((verdicts.verdict(), verdicts.exit()), (Some(Verdict::Undecided), Exit::Pass));
    assert_eq!(verdicts.decisions[0].reason, "the variant variant-9 is not part of this run");
}

/// BY-02: the shared cells of a leaderboard are available under `analyses`.
#[test]
fn a_leaderboard_uses_shared_cells_only() {
    let on = |path: &str, min: f64| {
        let subject = Subject::Finding(path.to_owned());
        Gate { id: path.to_owned(), subject, min: at(min), ..Gate::for_metric(path) }
    };
    let gates = vec![on("leaderboards.quality.overall.shared", 4.0), on("leaderboards.quality.overall.shared", 5.0)];
    let verdicts = say(&two([7.0; 4]), gates, Policy::default(), &References::default());
    assert_eq!(words(&verdicts).iter().map(|it| it.1).collect::<Vec<_>>(), ["pass", "fail"]);
    let typo = GateRules { gates: vec![on("leaderboards.quality.overall.share", 4.0)], ..GateRules::default() };
    let error = check(&two([7.0; 4]).header.plan, &typo).unwrap_err().to_string();
    assert!(error.contains("did you mean `leaderboards.quality.overall.shared`?"), "{error}");
}

/// BY-02: a cell without an output counts as unscored, however many errors the policy allows.
#[test]
fn failed_cells_never_pass() {
    let run = Sketch::new(1, 1, 4).fill(9.0).error(1, 0, "rate_limit").run();
    let with = |max_unscored| {
        let policy = Policy { max_errors: 1.0, max_unscored, ..Policy::default() };
        let verdicts = say(&run, vec![gate(|it| it.min = at(8.0))], policy, &References::default());
        verdicts.decisions[0].verdict
    };
    assert_eq!((with(0.25), with(0.05)), (Verdict::Pass, Verdict::Undecided));
}

/// RG-11: a review is a warning, and a failure if the policy is strict.
#[test]
fn a_review_fails_only_under_a_strict_policy() {
    let review = || {
        gate(|it| {
            it.max = at(7.0);
            it.review = true;
        })
    };
    let verdicts = say(&two([8.0; 4]), vec![review()], Policy::default(), &References::default());
    assert_eq!((verdicts.count(Verdict::Review), verdicts.exit()), (2, Exit::Pass));
    let strict = Policy { strict: true, ..Policy::default() };
    let failed = say(&two([8.0; 4]), vec![review()], strict, &References::default());
    assert_eq!((failed.count(Verdict::Fail), failed.exit()), (2, Exit::GateFailed));
    assert!(
        failed.decisions[0].reason.ends_with("`policy.strict` treats as a failure"),
        "{}",
        failed.decisions[0].reason
    );
}

/// Gates per sample, under a condition, and against another model of the same run.
#[test]
fn units_conditions_and_partners() {
    let run = two([8.0, 8.0, 3.0, 8.0]);
    let none = References::default();
    let of = |change: fn(&mut Gate)| say(&run, vec![gate(change)], Policy::default(), &none);
    let each = of(|it| {
        it.per = "sample".to_owned();
        it.min = at(5.0);
    });
    let failed: Vec<_> = each.decisions.iter().filter(|it| it.verdict == Verdict::Fail).collect();
    assert_eq!((each.decisions.len(), failed.len()), (8, 1));
    assert_eq!(failed[0].sample.as_deref(), Some("sample-2"));
    let narrowed = of(|it| {
        it.condition = Some("sample.id != 'sample-2' and model.id != 'model-a'".to_owned());
        it.min = at(5.0);
    });
    assert_eq!(words(&narrowed), [("model-b/variant-0".to_owned(), "pass")]);
    let spelt = of(|it| {
        it.condition = Some("model.id == \"scripted:model-b\" and sample.id != 'sample-2'".to_owned());
        it.min = at(5.0);
    });
    assert_eq!(words(&spelt), words(&narrowed));
    let against = of(|it| {
        it.against = Some(GateReference::Model("scripted/model-a".to_owned()));
        it.max_drop = at(1.0);
    });
    let other = against.decisions.iter().find(|it| it.system.as_deref() == Some("model-b/variant-0")).unwrap();
    assert_eq!((other.verdict, other.reference), (Verdict::Fail, Some(8.0)));
}

/// F55: a gate that saw no cell of a whole run does not pass; of a part of a run, or where the gate accepts it, it decides nothing.
#[test]
fn a_gate_that_saw_nothing_does_not_pass() {
    let run = two([8.0; 4]);
    let exit = |undecided_fails: Option<bool>, is_partial: bool| {
        let nothing = gate(|it| {
            it.condition = Some("variant == 'nowhere'".to_owned());
            it.min = at(1.0);
            it.undecided_fails = undecided_fails;
        });
        let rules = GateRules { gates: vec![nothing, gate(|it| it.min = at(1.0))], is_partial, ..GateRules::default() };
        decide(&findings_of(&run), &run, &rules, &References::default()).unwrap().exit()
    };
    assert_eq!(exit(None, false), Exit::Undecided);
    assert_eq!((exit(None, true), exit(Some(false), false)), (Exit::Pass, Exit::Pass));
    let open = gate(|it| it.max_drop = at(1.0));
    assert_eq!(say(&run, vec![open], Policy::default(), &References::default()).exit(), Exit::Pass, "it saw its cells");
    let unjudged = vec!["tone".to_owned()];
    let gates = vec![Gate { min: at(1.0), ..Gate::for_metric("tone.tone") }];
    let rules = GateRules { gates, unjudged, ..GateRules::default() };
    let told = check(&run.header.plan, &rules).unwrap_err().to_string();
    assert!(told.contains("the scorer `tone` is off, because the suite has no judge"), "{told}");
}

/// A gate without matching cells is undecided, alone and beside others, and missing samples are reported.
#[test]
fn a_gate_without_cells_never_passes() {
    let run = two([8.0; 4]);
    for per in ["system", "run", "sample"] {
        let nothing = gate(|it| {
            it.per = per.to_owned();
            it.condition = Some("sample.id == 'nowhere'".to_owned());
            it.min = at(1.0);
        });
        let policy = Policy { undecided_fails: true, ..Policy::default() };
        let verdicts = say(&run, vec![nothing, gate(|it| it.min = at(1.0))], policy, &References::default());
        assert_eq!((verdicts.count(Verdict::Undecided), verdicts.exit()), (1, Exit::Undecided), "{per}");
    }
    let less = Sketch::new(2, 1, 1).fill(8.0).run();
    let verdicts = say(&less, vec![gate(|it| it.max_drop = at(1.0))], Policy::default(), &pinned(&run));
    let told = |part: &str| verdicts.notes.iter().any(|note| note.contains(part));
    assert!(told("this run does not have: 3 of 4"), "{:?}", verdicts.notes);
}

/// Unknown names in gates are reported together, each with the known names.
#[test]
fn names_in_gates_are_checked_first() {
    let run = two([8.0; 4]);
    let finding = |path: &str| Gate { subject: Subject::Finding(path.to_owned()), ..gate(|it| it.max = at(1.0)) };
    let wrong = vec![
        Gate { min: at(1.0), ..Gate::for_metric("quality.overal") },
        gate(|it| (it.min, it.max) = (at(3.0), at(2.0))),
        gate(|it| (it.max_drop, it.against) = (at(1.0), Some(GateReference::Model("model-c".to_owned())))),
        finding("errrors.kinds"),
    ];
    let error = check(&run.header.plan, &GateRules { gates: wrong, ..GateRules::default() }).unwrap_err().to_string();
    for part in ["did you mean `quality.overall`", "at least 3 and at most 2", "model-c", "did you mean `errors`"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(error.lines().count(), 4);
    let typo = GateRules { gates: vec![finding("errors.kind")], ..GateRules::default() };
    let error = check(&run.header.plan, &typo).unwrap_err().to_string();
    assert!(error.contains("did you mean `errors.kinds`"), "{error}");
    let late = say(&run, typo.gates.clone(), Policy::default(), &References::default());
    assert_eq!(late.verdict(), Some(Verdict::Undecided));
    assert!(late.decisions[0].reason.contains("did you mean `errors.kinds`"), "{}", late.decisions[0].reason);
    assert_eq!(misspelt_paths(&findings_of(&run).analyses, &typo).len(), 1);
    let absent = say(&run, vec![finding("errors.other")], Policy::default(), &References::default());
    assert_eq!(absent.verdict(), Some(Verdict::Undecided));
    assert!(absent.decisions[0].reason.contains("kinds"), "{}", absent.decisions[0].reason);
    let pattern =
        GateRules { gates: vec![Gate { min: at(1.0), ..Gate::for_metric("quality.*") }], ..GateRules::default() };
    check(&run.header.plan, &pattern).unwrap();
}

proptest! {
    /// A gate never passes on a worse run and fails on a better one, by point and by interval.
    #[test]
    fn better_is_never_judged_worse(values in proptest::array::uniform4(0.0_f64..10.0), min in 0.0_f64..10.0, gain in 0.0_f64..3.0) {
        let better = values.map(|value| value + gain);
        for decide in [GateBasis::Point, GateBasis::Interval] {
            let verdict = |values: [f64; 4]| {
                let gate = gate(|it| { it.min = at(min); it.decide = decide; });
                say(&two(values), vec![gate], Policy::default(), &References::default()).decisions[1].verdict
            };
            let rank = |verdict: Verdict| match verdict { Verdict::Fail => 0, Verdict::Undecided => 1, _ => 2 };
            prop_assert!(rank(verdict(better)) >= rank(verdict(values)));
        }
    }
}

/// BY-08, CL-24: a change measured by another instrument is undecided, whatever the reference; a bound on the figure
/// itself is decided.
#[test]
fn a_change_measured_by_another_instrument_is_undecided() {
    let before = Sketch::new(1, 1, 4).fill(9.0).run();
    let mut run = Sketch::new(1, 1, 4).fill(7.0).run();
    let mut plan = (*run.header.plan).clone();
    plan.scorers[0].reduce = "median".to_owned();
    run.header.plan = plan.into();
    let then = || Some(Pinned::of(&before.header, &findings_of(&before)));
    let runs = BTreeMap::from([("old".to_owned(), then().unwrap())]);
    let references = References { baseline: then(), previous: then(), runs, ..References::default() };
    for (against, name) in [
        (GateReference::Baseline, "the baseline"),
        (GateReference::Previous, "the previous run"),
        (GateReference::Run("old".to_owned()), "run old"),
    ] {
        let drop = gate(|it| (it.max_drop, it.min, it.against) = (at(0.5), at(5.0), Some(against.clone())));
        let verdicts = say(&run, vec![drop], Policy::default(), &references);
        let [min, drop] = verdicts.decisions.as_slice() else { panic!("{verdicts:?}") };
        assert_eq!((min.verdict, drop.verdict), (Verdict::Pass, Verdict::Undecided));
        assert!(drop.reason.contains("a drop of 2.000") && drop.reason.contains("`reduce`"), "{}", drop.reason);
        assert!(
            verdicts.notes.iter().any(|note| note.contains("the rules of `quality` changed")),
            "{name}: {verdicts:?}"
        );
    }
}

/// BY-02: a gate that repeats another takes no share of the confidence.
#[test]
fn a_repeated_gate_counts_as_one_test() {
    let values = [6.0, 7.0, 6.5, 8.0, 7.5, 6.8, 7.2, 6.1];
    let run = values.iter().enumerate().fold(Sketch::new(1, 1, 8), |it, (at, value)| it.value(at, 0, *value)).run();
    let rule = |min: f64| gate(|it| (it.min, it.decide) = (at(min), GateBasis::Interval));
    let level = |gates: Vec<Gate>| {
        let verdicts = say(&run, gates, Policy::default(), &References::default());
        verdicts.decisions[0].finding.as_ref().unwrap().level().unwrap()
    };
    assert!((level(vec![rule(6.0), rule(6.0)]) - 0.95).abs() < 1e-12);
    assert!((level(vec![rule(6.0), rule(6.1)]) - 0.975).abs() < 1e-12);
}

/// Issue 3: if the suite asks for a bootstrap, gates decide by it and show its seed; a rate of 1 keeps Wilson's
/// interval, which does not collapse.
#[test]
fn gates_use_the_bootstrap_options_of_the_suite() {
    let with = |binary: bool, value: &dyn Fn(usize) -> f64| {
        let sketch = Sketch::new(1, 1, 30).metric("binary", serde_json::json!(binary));
        let mut run = (0..30).fold(sketch, |it, at| it.value(at, 0, value(at))).run();
        let mut plan = (*run.header.plan).clone();
        plan.statistics.bootstrap = Some(2_000);
        run.header.plan = plan.into();
        let rule = gate(|it| (it.min, it.decide) = (at(0.5), GateBasis::Interval));
        let decided = say(&run, vec![rule], Policy::default(), &References::default()).decisions.remove(0);
        let spread = findings_of(&run).systems[0].metrics[0].clone();
        assert_eq!(spread.figure(), decided.finding.as_ref());
        (decided, serde_json::to_value(spread).unwrap())
    };
    let (decided, spread) = with(false, &|at| (at * at % 7) as f64);
    assert_eq!(
        (decided.verdict, &spread["seed"], &spread["method"]),
        (Verdict::Pass, &1.into(), &"BCa bootstrap".into())
    );
    let (decided, spread) = with(true, &|_| 1.0);
    assert_eq!(
        (decided.verdict, &spread["method"], &spread["seed"]),
        (Verdict::Pass, &"Wilson".into(), &serde_json::Value::Null)
    );
    assert!(spread["ci"][0].as_f64().unwrap() < 0.9);
}

/// Invariant: a change compares the cells that both sides have, trial by trial, and passes only if few scores are
/// missing on either side; not-applicable cells are not missing.
#[test]
fn a_change_counts_the_missing_scores_of_both_sides() {
    let drop = |against: Option<GateReference>| {
        gate(|it| {
            (it.max_drop, it.per, it.against) = (at(0.5), "run".to_owned(), against.clone());
        })
    };
    let decided = |run: &MemoryRun, rule, references: &References| {
        let verdicts = say(run, vec![rule], Policy { max_errors: 1.0, ..Policy::default() }, references);
        (verdicts.decisions[0].verdict, verdicts.decisions[0].reason.clone())
    };
    let whole = Sketch::new(1, 3, 10).fill(8.0);
    let broken = (0..10).fold(whole.clone(), |run, sample| run.error(sample, 2, "refused"));
    let (verdict, reason) = decided(&whole.run(), drop(None), &pinned(&broken.run()));
    assert!(
        verdict == Verdict::Undecided && reason.contains("10 of 30 pairs of cells (33.3 %) lack a score"),
        "{reason}"
    );
    let absent = (0..10).fold(whole.clone(), |run, sample| run.not_applicable(sample, 2));
    assert_eq!(decided(&whole.run(), drop(None), &pinned(&absent.run())).0, Verdict::Pass);
    // GateReference another model: what it lacks in a trial counts, and that trial is compared on neither side.
    let two = (0..10).fold(Sketch::new(2, 1, 10).trials(2).fill(8.0), |run, sample| {
        run.trial_value((sample, 1, 1), 2.0).trial_error((sample, 0, 1), "timeout")
    });
    let mut rule = drop(Some(GateReference::Model("model-a".to_owned())));
    rule.per = "system".to_owned();
    let verdicts = say(&two.run(), vec![rule], Policy { max_errors: 1.0, ..Policy::default() }, &References::default());
    let other = verdicts.decisions.iter().find(|it| it.system.as_deref() == Some("model-b/variant-0")).unwrap();
    assert!(
        other.verdict == Verdict::Undecided && other.reason.contains("10 of 20 pairs of cells (50.0 %)"),
        "{other:?}"
    );
    assert_eq!(other.finding.as_ref().map(Finding::value), Some(0.0));
}

/// Invariant, CL-24: trials that failed in a pinned run are missing one by one, and compared on neither side.
#[test]
fn a_pinned_trial_that_failed_counts() {
    let whole = Sketch::new(1, 1, 10).trials(2).fill(8.0);
    let before = (0..10).fold(whole.clone(), |run, sample| run.trial_error((sample, 0, 1), "timeout"));
    // Only the trials missing in the baseline are worse, so nothing dropped.
    let after = (0..10).fold(whole.clone(), |run, sample| run.trial_value((sample, 0, 1), 2.0));
    let decided = |references: &References| {
        let policy = Policy { max_errors: 1.0, ..Policy::default() };
        let verdicts = say(&after.run(), vec![gate(|it| it.max_drop = at(0.5))], policy, references);
        let decision = &verdicts.decisions[0];
        (decision.verdict, decision.finding.as_ref().map(Finding::value), decision.reason.clone())
    };
    let file = pinned(&before.run()).baseline.map(|it| serde_json::to_string(&it).unwrap()).unwrap();
    let read = |text: &str| References { baseline: Some(Pinned::read(text).unwrap()), ..References::default() };
    for references in [pinned(&before.run()), read(&file)] {
        let (verdict, change, reason) = decided(&references);
        assert_eq!((verdict, change), (Verdict::Undecided, Some(0.0)));
        assert!(reason.contains("10 of 20 pairs of cells (50.0 %) lack a score"), "{reason}");
    }
    // An older or edited file has samples only.
    let older = file.replace("\"trials\"", "\"was\"").replace("\"lost_trials\"", "\"had\"");
    assert_eq!((decided(&read(&older)).0, decided(&read(&older)).1), (Verdict::Fail, Some(-3.0)));
}

/// PE-16, CL-24: a judge with another reported model is another instrument; a model under test with one is reported.
#[test]
fn names_changed_since_a_pinned_run_are_reported() {
    let answered = |judge: &str, model: &str| {
        let mut run = crate::testing::judged_run(1, 4, &["j1"], serde_json::json!([]));
        for cell in &mut run.cells {
            cell.judgments[0].scores = vec![(0, karat_types::Score::value(7.0))];
            cell.judgments[0].answered = karat_types::ServedName::from_reply("j1", judge).into_iter().collect();
            cell.cell.facts.answered = karat_types::ServedName::from_reply("m", model).into_iter().collect();
        }
        run
    };
    let then = pinned(&answered("j1-01", "m-01"));
    let drop = |run: &MemoryRun| {
        let metric = run.header.plan.metrics[0].name.clone();
        let rule = Gate { max_drop: at(0.5), ..Gate::for_metric(&metric) };
        say(run, vec![rule], Policy::default(), &then)
    };
    let moved = drop(&answered("j1-01", "m-02"));
    let said = "the model `m` reported m-01 in the baseline and m-02 in this run";
    assert!(moved.notes.iter().any(|note| note.starts_with(said)), "{:?}", moved.notes);
    assert_eq!(moved.decisions[0].verdict, Verdict::Pass, "{:?}", moved.decisions);
    let moved = drop(&answered("j1-02", "m-01"));
    assert_eq!(moved.decisions[0].verdict, Verdict::Undecided);
    assert!(moved.notes.iter().all(|note| !note.contains("the model `m`")), "{:?}", moved.notes);
}
