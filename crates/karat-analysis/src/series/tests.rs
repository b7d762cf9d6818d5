//! The page of made-up suites.

use proptest::prelude::*;

use super::*;
use crate::drift::day_number;
use crate::testing::DatedSuite;

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A suite with other axes, another scale, other names and no weights.
fn other() -> DatedSuite {
    DatedSuite {
        name: "hidden".to_owned(),
        scorer: "grade".to_owned(),
        overall: "total".to_owned(),
        method: "mean".to_owned(),
        axes: [("depth", 1.0), ("tone", 1.0)].map(|(name, weight)| (name.to_owned(), weight)).to_vec(),
        scale: (0.0, 100.0),
        ..DatedSuite::default()
    }
}

/// DB-30: every number of a card is that of the stored row, and rows of other systems are on no card.
#[test]
fn cards_hold_the_values_of_stored_rows() {
    for suite in [DatedSuite { variants: named(&["published", "draft"]), ..DatedSuite::default() }, other()] {
        let view = suite.view(JudgeChoice::Consensus);
        let history = suite.history(&JudgeChoice::Consensus);
        let rows: Vec<&crate::GradeRow> = history.rows().filter(|row| row.system == "published").collect();
        assert_eq!((rows.len(), view.cards.len()), (113, 113));
        assert_eq!(view.systems, suite.variants);
        for (card, row) in view.cards.iter().rev().zip(rows) {
            let axes: Vec<f64> = card.axes.iter().filter_map(|axis| axis.value).collect();
            let stored: Vec<f64> = row.axes.iter().map(|(_, value)| *value).collect();
            assert_eq!((&card.date, card.composite, axes), (row.date.as_ref().unwrap(), row.composite, stored));
            assert_eq!(
                (&card.notes, card.judge.as_ref(), &card.run, card.cell),
                (&row.notes, row.judge_model.as_ref(), &row.run, row.cell)
            );
            assert_eq!(card.key, card.date);
        }
        assert!(view.cards.windows(2).all(|pair| pair[0].date > pair[1].date));
    }
}

/// DB-30: a renamed copy of a suite gives the same page.
#[test]
fn names_change_nothing() {
    let renamed = DatedSuite { name: "briefing".to_owned(), ..DatedSuite::default() };
    let (one, other) = (DatedSuite::default().view(JudgeChoice::Consensus), renamed.view(JudgeChoice::Consensus));
    assert_eq!(
        (&one.cards, &one.days, &one.figures, &one.drift),
        (&other.cards, &other.days, &other.figures, &other.drift)
    );
    assert_eq!((&one.axes, &one.caps, &one.gate, &one.rules), (&other.axes, &other.caps, &other.gate, &other.rules));
}

/// BR-16: below the gate is the composite alone; failing is the full rule with every axis; regressed needs a pinned value.
#[test]
fn full_rule_is_more_than_the_composite() {
    for suite in [DatedSuite::default(), other()] {
        let view = suite.view(JudgeChoice::Consensus);
        let (lo, hi) = suite.scale;
        let (gate, weak, drop) = (f64::midpoint(lo, hi), lo + 0.25 * (hi - lo), 0.125 * (hi - lo));
        for card in &view.cards {
            let below = card.composite < gate;
            let fails = below || card.composite < weak || card.axes.iter().any(|axis| axis.value.unwrap() < weak);
            let regressed = card.baseline.is_some_and(|baseline| baseline - card.composite > drop + 1e-9);
            let found = (card.flags.below_gate, card.flags.fails_gate, card.flags.regressed, card.flags.high);
            assert_eq!(found, (below, fails, regressed, card.composite >= hi - (hi - lo) / 4.0), "{}", card.date);
        }
        let fails = view.figures.gate_fails.unwrap();
        assert_eq!((fails.count, fails.of), (view.count(CardFilter::FailsGate), view.cards.len() as u64));
        assert!(
            view.count(CardFilter::BelowGate) > 0
                && view.count(CardFilter::FailsGate) >= view.count(CardFilter::BelowGate)
        );
        let regressions = view.figures.regressions.unwrap();
        let pinned = view.cards.iter().filter(|card| card.baseline.is_some()).count() as u64;
        assert_eq!((regressions.count, regressions.of), (view.count(CardFilter::Regressed), pinned));
        assert!(regressions.count > 0 && pinned > 10);
    }
}

/// DB-30, BR-04: a cap stands with its rule, and what it took away is apart from the contributions.
#[test]
fn caps_are_apart_from_contributions() {
    let view = DatedSuite::default().view(JudgeChoice::Consensus);
    assert_eq!(view.caps[0].rule, "No source is cited: accuracy at most 2");
    let capped: Vec<&SeriesCard> = view.cards.iter().filter(|card| card.flags.capped).collect();
    assert_eq!((capped.len() as u64, view.count(CardFilter::Capped)), (view.figures.caps[0], view.figures.caps[0]));
    let taken = capped.iter().filter(|card| card.parts.as_ref().unwrap().taken > 0.0).count();
    assert!(taken > 4 && capped.iter().all(|card| card.axes[0].value.unwrap() <= 2.0));
    let free = view.cards.iter().filter(|card| !card.flags.capped);
    assert!(free.into_iter().all(|card| card.parts.as_ref().unwrap().taken == 0.0));
}

/// DB-30: without a weighted mean there are no contributions, and the reason is said.
#[test]
fn contributions_need_a_weighted_mean() {
    let of = |suite: DatedSuite| suite.view(JudgeChoice::Consensus).no_parts;
    assert_eq!(of(DatedSuite::default()), None);
    assert_eq!(of(other()), None);
    let min = DatedSuite { method: "min".to_owned(), ..DatedSuite::default() };
    assert!(of(min).unwrap().contains("lowest axis"));
    let given = DatedSuite { method: "given".to_owned(), ..DatedSuite::default() };
    assert!(of(given).unwrap().contains("judge gives"));
    let negative = DatedSuite { scale: (-2.0, 2.0), ..DatedSuite::default() };
    assert!(of(negative).unwrap().contains("below 0"));
    let plain = DatedSuite { is_plain: true, ..DatedSuite::default() }.view(JudgeChoice::Consensus);
    assert!(plain.no_parts.is_some() && plain.axes.is_empty() && plain.cards.len() == 113);
}

/// DB-30, BR-17: the choice of judge acts on cards, figures and days: all rows, one judge's, or the merged grade.
#[test]
fn choice_of_judge_acts_on_everything() {
    let suite = DatedSuite { judges: named(&["strict", "mild", "third"]), days: 40, ..DatedSuite::default() };
    let view = |judge: JudgeChoice| suite.view(judge);
    let (all, merged, one) =
        (view(JudgeChoice::All), view(JudgeChoice::Consensus), view(JudgeChoice::One("mild".to_owned())));
    assert_eq!((all.cards.len(), merged.cards.len(), one.cards.len()), (99, 33, 33));
    assert!(one.cards.iter().all(|card| card.judge.as_deref() == Some("mild")));
    assert!(merged.cards.iter().all(|card| card.judge.as_deref() == Some("mild + strict + third")));
    let keys: std::collections::BTreeSet<&str> = all.cards.iter().map(|card| card.key.as_str()).collect();
    assert_eq!(keys.len(), 99);
    assert!(all.cards[0].key.starts_with("2026-02-09/2026-02-09/mild"), "{}", all.cards[0].key);
    for (merged, day) in merged.days.iter().zip(&all.days) {
        assert!((merged.value.unwrap_or_default() - day.value.unwrap_or_default()).abs() < 0.0051);
    }
    assert_eq!(all.figures.mean.unwrap().n(), 99);
}

/// DB-30, DB-36: a point a day, gaps stay gaps, a median needs three days, and the range of a day does not know its future.
#[test]
fn days_form_a_calendar() {
    let view = DatedSuite::default().view(JudgeChoice::Consensus);
    assert_eq!((view.days.len(), view.days.iter().filter(|day| day.value.is_none()).count()), (120, 7));
    assert!(view.days.windows(2).all(|pair| day_number(&pair[1].date) == day_number(&pair[0].date).map(|day| day + 1)));
    assert_eq!(view.days.iter().take_while(|day| day.median.is_none()).count(), 2);
    assert!(view.days[33].median.is_none() && view.days[33].value.is_none());
    let drift = view.drift.as_ref().unwrap();
    assert!(!drift.past.incidents.is_empty() && view.days.iter().filter(|day| day.usual.is_some()).count() > 90);
    let one = DatedSuite { days: 1, gap: None, ..DatedSuite::default() }.view(JudgeChoice::Consensus);
    assert_eq!((one.days.len(), one.days[0].median, one.figures.median.unwrap().interval()), (1, None, None));
    let two = DatedSuite { days: 2, gap: None, ..DatedSuite::default() }.view(JudgeChoice::Consensus);
    assert!(two.days.len() == 2 && two.days.iter().all(|day| day.median.is_none()));
    let none = DatedSuite { days: 0, ..DatedSuite::default() }.view(JudgeChoice::Consensus);
    assert!(none.days.is_empty() && none.cards.is_empty() && none.figures.mean.is_none());
    assert_eq!(none.drift.unwrap().state(), DriftState::NoData);
}

/// DB-36: equal grades have figures, without an interval that would mean anything.
#[test]
fn equal_grades_have_figures() {
    let view = DatedSuite { is_flat: true, cap_every: 0, ..DatedSuite::default() }.view(JudgeChoice::Consensus);
    let (median, mean) = (view.figures.median.clone().unwrap(), view.figures.mean.clone().unwrap());
    assert_eq!((median.value(), mean.value(), mean.few_vary()), (3.0, 3.0, true));
    assert_eq!(view.count(CardFilter::BelowGate), 0);
}

/// DB-30: without a golden set, gates or scale, the page says nothing about them.
#[test]
fn page_without_references_has_no_such_figures() {
    let suite = DatedSuite { pinned_every: 0, ..DatedSuite::default() };
    let view = suite.view(JudgeChoice::Consensus);
    assert!(
        !view.has_baseline
            && view.figures.regressions.is_none()
            && view.cards.iter().all(|card| card.delta().is_none())
    );
    assert_eq!(view.count(CardFilter::Regressed), 0);
}

/// BR-16: a later run's grade replaces that of an earlier one, and the day says so.
#[test]
fn days_graded_again_are_marked() {
    let suite = DatedSuite { days: 10, gap: None, pinned_every: 0, ..DatedSuite::default() };
    let mut history = suite.history(&JudgeChoice::Consensus);
    let again = history.rows().nth(3).unwrap().clone();
    let (date, made_at) = (again.date.clone().unwrap(), karat_types::Moment(again.made_at.0 + 1));
    history.add(crate::GradedCell::of(crate::GradeRow { composite: 1.5, made_at, selected_at: made_at, ..again }));
    let (plan, rules, metric) = (suite.run().plan(), suite.rules(), suite.metric());
    let input = SeriesInput {
        history: &history,
        plan: &plan,
        rules: &rules,
        baseline: None,
        baseline_name: None,
        metric: &metric,
        system: "published",
        systems: suite.variants.clone(),
        judge: JudgeChoice::Consensus,
        judges: suite.judges.clone(),
        as_of: "2026-12-31".to_owned(),
        since: None,
        until: None,
        drift: None,
    };
    let view = series_view(input);
    let marked: Vec<&str> = view.days.iter().filter(|day| day.is_superseded).map(|day| day.date.as_str()).collect();
    assert_eq!((marked, view.card(&date).unwrap().composite), (vec![date.as_str()], 1.5));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// DB-30: the count of a chip is that of a plain filter over the cards, and contributions add up to the composite before
    /// a cap on it, up to the composite's rounding.
    #[test]
    fn counts_and_contributions_hold(
        days in 0_i32..60, axes in 1_usize..7, judges in 1_usize..4, lo in 0_i32..3, width in 1_i32..100,
        cap_every in 0_i32..6, pinned_every in 0_i32..9, choice in 0_usize..3, is_weighted: bool,
    ) {
        let suite = DatedSuite {
            days,
            axes: (0..axes).map(|at| (format!("axis-{at}"), 0.1 + at as f64)).collect(),
            judges: (0..judges).map(|at| format!("judge-{at}")).collect(),
            scale: (f64::from(lo), f64::from(lo + width)),
            method: if is_weighted { "weighted_mean" } else { "mean" }.to_owned(),
            cap_every, pinned_every, gap: None, slide: Some((20, 30)),
            ..DatedSuite::default()
        };
        let view = suite.view([JudgeChoice::All, JudgeChoice::Consensus, JudgeChoice::One("judge-0".to_owned())][choice].clone());
        let plain = |holds: &dyn Fn(&SeriesCard) -> bool| view.cards.iter().filter(|card| holds(card)).count() as u64;
        prop_assert_eq!(view.count(CardFilter::All), view.cards.len() as u64);
        prop_assert_eq!(view.count(CardFilter::BelowGate), plain(&|card| card.composite < view.gate.as_ref().unwrap().bound));
        prop_assert_eq!(view.count(CardFilter::High), plain(&|card| card.composite >= view.high.unwrap()));
        prop_assert_eq!(view.count(CardFilter::Regressed), plain(&|card| card.delta().is_some_and(|delta| -delta > view.max_drop.unwrap() + 1e-9)));
        prop_assert_eq!(view.days.iter().map(|day| day.cards).sum::<usize>(), view.cards.len());
        for card in &view.cards {
            let parts = card.parts.as_ref().unwrap();
            prop_assert!((parts.sum() - parts.taken_of_composite - card.composite).abs() < 0.0101, "{} {}", parts.sum(), card.composite);
            prop_assert!(parts.taken >= 0.0 && (parts.taken > 0.0) <= card.flags.capped);
        }
    }
}
