use std::collections::BTreeMap;

use karat_analysis::compare::{CompareOptions, RunComparison, Side, compare};
use karat_analysis::testing::{HOSTILE, Sketch};
use karat_analysis::{Options as Pass, analyse};
use karat_report::{json, markdown, terminal};
use karat_types::{Money, Threshold};
use pulldown_cmark::{Event, Parser};
use serde_json::json;

/// A run of one system on `n` samples starting at `first`, with scores `lead` above the base and deviations up to `spread`.
fn run(first: usize, n: usize, lead: f64, spread: f64) -> karat_analysis::Findings {
    let sketch = Sketch::new(1, 1, first + n).metric("better", json!("higher")).cost(Money(2_500_000));
    let scored = (first..first + n).fold(sketch, |sketch, sample| {
        let shift = ((sample * 7919) % 13) as f64 / 6.0 - 1.0;
        sketch.value(sample, 0, 4.0 + (sample % 5) as f64 + lead + spread * shift)
    });
    analyse(&scored.run(), &Pass::default()).unwrap()
}

fn compared(lead: f64, label: &str, margin: Option<f64>) -> RunComparison {
    let (before, after) = (run(0, 40, 0.0, 0.0), run(2, 41, lead, 0.4));
    let side = |label: &str, findings| Side::of(label, findings, None, None).unwrap();
    let margins = margin.map(|margin| ("quality.overall".to_owned(), Threshold::absolute(margin)));
    let options = CompareOptions { margins: BTreeMap::from_iter(margins), ..CompareOptions::default() };
    compare(&side("20261101-before", &before), &side(label, &after), &options).unwrap()
}

/// BY-01: a comparison has the same content for a terminal, as Markdown and as JSON.
#[test]
fn a_comparison_in_every_form() {
    let better = compared(0.3, "20261102-after", None);
    insta::assert_snapshot!("better_terminal", terminal::comparison(&better));
    insta::assert_snapshot!("better_markdown", markdown::comparison(&better));
    insta::assert_snapshot!("better_json", json::comparison(&better).unwrap());
    insta::assert_snapshot!("undecided_terminal", terminal::comparison(&compared(0.05, "20261102-after", Some(0.04))));
    let equivalent = compared(0.01, "20261102-after", Some(0.2));
    insta::assert_snapshot!("equivalent_terminal", terminal::comparison(&equivalent));
    insta::assert_snapshot!("equivalent_markdown", markdown::comparison(&equivalent));
    let (before, after) = (run(0, 40, 0.0, 0.0), run(0, 40, 0.0, 0.0));
    let side = |label, findings| Side::of(label, findings, None, None).unwrap();
    let same = compare(&side("before", &before), &side("after", &after), &CompareOptions::default()).unwrap();
    insta::assert_snapshot!("identical_terminal", terminal::comparison(&same));
}

/// DC-14: the difference that samples are planned for is named; only a twentieth of the scale is called that.
#[test]
fn the_planned_difference_is_named() {
    let (before, after) = (run(0, 40, 0.0, 0.0), run(2, 41, 0.05, 0.4));
    let side = |label: &str, findings| Side::of(label, findings, None, None).unwrap();
    let said = |mde: Option<f64>| {
        let mde = mde.map(|mde| ("quality.*".to_owned(), Threshold::absolute(mde)));
        let options = CompareOptions { mde: BTreeMap::from_iter(mde), ..CompareOptions::default() };
        terminal::comparison(&compare(&side("before", &before), &side("after", &after), &options).unwrap())
    };
    assert!(said(None).contains("detect a difference of 0.50, 5 % of the scale, with 80 % power"), "{}", said(None));
    assert!(said(Some(0.1)).contains("detect a difference of 0.10 with 80 % power"), "{}", said(Some(0.1)));
}

/// A hostile label is shown and never interpreted.
#[test]
fn a_hostile_label_is_only_shown() {
    let hostile = compared(0.3, HOSTILE, None);
    let text = terminal::comparison(&hostile);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    let page = markdown::comparison(&hostile);
    let acted = Parser::new(&page).any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
    assert!(!acted, "{page}");
}
