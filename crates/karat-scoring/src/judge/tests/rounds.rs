//! Votes of one judge, and pairs in both orders.

use super::*;

/// A rubric with a graded dimension and a choice.
fn rubric() -> Value {
    json!({
        "id": "answer", "ask": "Judge the answer.",
        "show": [{"name": "question", "value": "{{ input }}"}, {"name": "answer", "value": "{{ output.text }}"}],
        "dimensions": [
            {"name": "helpful", "scale": {"range": {"lo": 0, "hi": 10}}, "weight": 1},
            {"name": "polite", "scale": {"choices": [["yes", 1.0], ["no", 0.0]]}, "weight": 1},
        ],
        "overall": {"id": "overall", "method": "mean"}, "rationale": {"field": "why"}, "invalid": {"reask": 0},
    })
}

fn judged(change: impl FnOnce(&mut RubricScorer), other: Option<&Value>, answers: &[&str]) -> Driven {
    let mut scorer = scorer(rubric(), json!([]));
    change(&mut scorer);
    let judge = RubricJudge::new(&scorer, &model(json!({}))).unwrap();
    let sample = Sample { input: Some(json!("Why?")), ..sample("s", json!({}), None) };
    let input = JudgeInput { sample: &sample, output: &json!({"text": "Because OWN."}), seed: 1 };
    Driven::new(judge.against(input, &[other]), answers.iter().map(|text| stop(*text)))
}

fn versus(scorer: &mut RubricScorer) {
    scorer.versus = karat_types::Versus::parse("variant:raw");
    scorer.rubric = scorer.rubric.clone().for_pairs();
}

const OTHER: fn() -> Value = || json!({"text": "Because OTHER."});

/// GE-04: k votes become one: choices by majority, numbers by mean, the composite of these.
#[test]
fn votes_become_one() {
    let vote =
        |helpful: u32, polite: &str| format!(r#"{{"helpful": {helpful}, "polite": "{polite}", "why": "w{helpful}"}}"#);
    let answers = [vote(4, "yes"), vote(6, "no"), vote(8, "yes")];
    let driven = judged(|it| it.votes = 3, None, &answers.each_ref().map(String::as_str));
    assert_eq!(driven.ids(), ["0", "vote2/0", "vote3/0"]);
    assert_eq!((driven.number("helpful"), driven.number("polite"), driven.number("overall")), (6.0, 1.0, 3.5));
    assert_eq!(driven.verdict.rounds.len(), 3);
    assert!(driven.verdict.reasoning.contains("vote 2: w6"));
}

/// BY-07: a vote that cannot be read is left out and noted; without any there is no score.
#[test]
fn unreadable_votes_are_left_out() {
    let good = r#"{"helpful": 4, "polite": "yes", "why": "w"}"#;
    let driven = judged(|it| it.votes = 2, None, &["no JSON at all", good]);
    assert_eq!(driven.number("helpful"), 4.0);
    assert_eq!(driven.notes(NoteKind::Lenience), ["1 of 2 votes could not be read and are left out"]);
    let none = judged(|it| it.votes = 2, None, &["no", "nothing"]);
    assert!(none.verdict.error.is_some() && none.score("helpful").is_unscored());
}

/// GE-04, BY-07: a pair is shown in both orders; what a judge gives to a place cancels out.
#[test]
fn a_pair_is_judged_in_both_orders() {
    let first = r#"{"helpful": "first", "polite": "tie", "why": "better"}"#;
    let driven = judged(versus, Some(&OTHER()), &[first, first]);
    assert_eq!(driven.ids(), ["0", "swapped/0"]);
    assert_eq!((driven.number("helpful"), driven.number("polite"), driven.number("overall")), (0.5, 0.5, 0.5));
    let places = |at: usize| {
        let text = text(&driven.asked[at].1);
        (text.find("OWN").unwrap(), text.find("OTHER").unwrap())
    };
    assert!(places(0).0 < places(0).1 && places(1).0 > places(1).1);
    let shown = text(&driven.asked[0].1);
    assert!(shown.contains("FIRST_ANSWER") && shown.contains("SECOND_ANSWER") && !shown.contains("raw"), "{shown}");
    let second = r#"{"helpful": "second", "polite": "tie", "why": "better"}"#;
    let steady = judged(versus, Some(&OTHER()), &[first, second]);
    assert_eq!((steady.number("helpful"), steady.number("overall")), (1.0, 0.75));
    let rounds: Vec<(bool, f64)> = steady.verdict.rounds.iter().map(|it| (it.swapped, it.scores[0].1)).collect();
    assert_eq!(rounds, [(false, 1.0), (true, 1.0)]);
}

/// BY-07: half a pair is unscored; one order is a declared choice.
#[test]
fn half_a_pair_says_nothing() {
    let first = r#"{"helpful": "first", "polite": "tie", "why": "better"}"#;
    let half = judged(versus, Some(&OTHER()), &[first, "no JSON"]);
    assert!(half.verdict.error.is_some() && half.score("helpful").is_unscored());
    let one = |scorer: &mut RubricScorer| {
        versus(scorer);
        scorer.orders = karat_types::PairOrders::One;
    };
    let declared = judged(one, Some(&OTHER()), &[first]);
    assert_eq!((declared.ids(), declared.number("helpful")), (vec!["0"], 1.0));
}

/// GE-04: without another output there is nothing to compare; an output beats none, without a call.
#[test]
fn a_missing_side_costs_no_call() {
    let alone = judged(versus, None, &[]);
    assert!(matches!(alone.score("helpful"), Score::NotApplicable { .. }));
    let won = judged(versus, Some(&Value::Null), &[]);
    assert_eq!((won.number("helpful"), won.number("overall")), (1.0, 1.0));
}

/// PW-01, PW-03: against several outputs each pair is shown in both orders; the score is the mean over the pairs.
#[test]
fn a_tournament_judges_every_pair() {
    let all = |scorer: &mut RubricScorer| {
        versus(scorer);
        scorer.versus = karat_types::Versus::parse("all");
    };
    let say = |word: &str| format!(r#"{{"helpful": "{word}", "polite": "tie", "why": "w"}}"#);
    let (first, second) = (say("first"), say("second"));
    let mut scorer = scorer(rubric(), json!([]));
    all(&mut scorer);
    let judge = RubricJudge::new(&scorer, &model(json!({}))).unwrap();
    let sample = Sample { input: Some(json!("Why?")), ..sample("s", json!({}), None) };
    let input = JudgeInput { sample: &sample, output: &json!({"text": "Because OWN."}), seed: 1 };
    let (other, none) = (OTHER(), Value::Null);
    let play = |answers: &[&str]| {
        // The second output does not exist, the third is empty: neither costs a call.
        let machine = judge.against(input, &[Some(&other), None, Some(&none), Some(&other)]);
        Driven::new(machine, answers.iter().map(|text| stop(*text)))
    };
    // Won in both orders against the first; always the first position against the last.
    let driven = play(&[&first, &second, &first, &first]);
    assert_eq!(driven.ids(), ["0", "swapped/0", "pair4/0", "pair4/swapped/0"]);
    let games: Vec<(u16, bool, f64)> =
        driven.verdict.rounds.iter().map(|it| (it.opponent, it.swapped, it.scores[0].1)).collect();
    assert_eq!(games, [(0, false, 1.0), (0, true, 1.0), (2, false, 1.0), (3, false, 1.0), (3, true, 0.0)]);
    assert!((driven.number("helpful") - (1.0 + 1.0 + 0.5) / 3.0).abs() < 1e-12);
    // A pair with an unreadable half is left out; the games of the others stay.
    let half = play(&[&first, "no JSON", &second, &first]);
    assert!(half.verdict.error.is_some() && half.score("helpful").is_unscored());
    let games: Vec<(u16, f64)> = half.verdict.rounds.iter().map(|it| (it.opponent, it.scores[0].1)).collect();
    assert_eq!(games, [(2, 1.0), (3, 0.0), (3, 0.0)]);
}
