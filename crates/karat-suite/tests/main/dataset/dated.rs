//! Folders of dated documents: readers, earlier days, the days that count, draws.

use karat_suite::{LoadContext, Overrides};
use karat_types::{Moment, Sample};
use serde_json::json;

use crate::world::World;

fn card(title: &str, headlines: &[&str]) -> String {
    let lines: Vec<String> = headlines.iter().map(|line| format!("- {line}")).collect();
    json!({"body": [
        {"type": "TextBlock", "size": "Large", "text": title},
        {"type": "TextBlock", "text": lines.join("\n")}
    ]})
    .to_string()
}

fn suite(dataset: &str) -> String {
    format!(
        "name: x\nparams: {{ cards: {{ path: cards }} }}\ndataset:\n  source: \"{{{{ params.cards }}}}\"\n  format: dir\n{dataset}variants: {{ same: [ {{ recorded: {{ column: body_text }} }} ] }}\n"
    )
}

const BRIEFING: &str = "  with: { files: \"{date}-card.json\", as: adaptive_card, more: [archive] }
  id: date
  date: date
  zone: Europe/Berlin
  broken: report
  columns: { prior_headlines: { prior: headlines, days: 7 } }
";

fn cards() -> World {
    World::new(&[("karat.yaml", &suite(BRIEFING))])
        .with("cards/2026-03-02-card.json", &card("Two", &["b"]))
        .with("cards/2026-03-08-card.json", &card("Eight", &["c", "d"]))
        .with("cards/2026-03-09-card.json", &card("Nine", &["e"]))
        .with("cards/notes.txt", "no card")
        .with("archive/2026-03-01-card.json", &card("One", &["a"]))
        .with("archive/2026-03-08-card.json", &card("Old eight", &["x"]))
}

fn samples(world: &World, overrides: &Overrides) -> Vec<Sample> {
    world.plan(overrides).rows().filter_map(Result::ok).collect()
}

fn ids(samples: &[Sample]) -> Vec<&str> {
    samples.iter().map(|sample| &*sample.id).collect()
}

/// BR-01, BR-02: cards of several folders by date, the first folder wins; each sees the seven days before it, also when
/// those are not planned themselves.
#[test]
fn dated_cards_see_the_days_before_them() {
    let all = samples(&cards(), &Overrides::default());
    assert_eq!(ids(&all), ["2026-03-01", "2026-03-02", "2026-03-08", "2026-03-09"]);
    let eight = &all[2];
    assert_eq!((&eight.columns["title"], eight.date.as_deref()), (&json!("Eight"), Some("2026-03-08")));
    assert_eq!(eight.columns["prior_headlines"], json!(["- a", "- b"]));
    assert_eq!(all[3].columns["prior_headlines"], json!(["- b", "- c", "- d"]));
    let one = Overrides { samples: vec!["2026-03-09".to_owned()], ..Overrides::default() };
    assert_eq!(samples(&cards(), &one)[0].columns["prior_headlines"], json!(["- b", "- c", "- d"]));
}

/// BR-02: a late card changes what later cards are seen against, and so the dataset.
#[test]
fn a_late_card_changes_the_week_behind_it() {
    let late = cards().with("cards/2026-03-05-card.json", &card("Five", &["late"]));
    let all = samples(&late, &Overrides::default());
    assert_eq!(all[3].columns["prior_headlines"], json!(["- a", "- b", "- late"]));
    let hash = |world: &World| world.plan(&Overrides::default()).header.dataset.hash.clone();
    assert_ne!(hash(&late), hash(&cards()));
}

/// BR-10: a broken card is an errored sample with its date as id, and the rest goes on.
#[test]
fn a_broken_card_is_one_errored_sample() {
    let plan = cards().with("cards/2026-03-03-card.json", "{\"body\": [").plan(&Overrides::default());
    assert_eq!(plan.header.dataset.rows, 5);
    let rows: Vec<_> = plan.rows().collect();
    let error = rows[2].as_ref().unwrap_err();
    assert_eq!((error.row, error.id.as_deref()), (Some(2), Some("2026-03-03")));
    assert!(error.to_string().contains("2026-03-03-card.json"), "{error}");
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 4);
}

/// BR-01, BR-10: what of a folder is not a row is said by name: a date that no calendar knows, a second file of one day, in
/// one folder or in another.
#[test]
fn what_is_left_out_is_said() {
    let plan = cards()
        .with("cards/2026-02-30-card.json", &card("Never", &[]))
        .with("cards/2026-3-4-card.json", &card("Short", &[]))
        .with("cards/draft-card.json", &card("Draft", &[]))
        .plan(&Overrides::default());
    let said = plan.warnings.plain();
    assert!(said.contains("the date does not exist: 2 files (2026-02-30-card.json, 2026-3-4-card.json)"), "{said}");
    assert!(said.contains("1 file (2026-03-08-card.json: cards/2026-03-08-card.json is used)"), "{said}");
    assert!(!said.contains("draft"), "{said}");
    let blog = suite("  with: { files: \"{date}-*.md\", as: markdown }\n  id: date\n  date: date\n");
    let plan = World::new(&[("karat.yaml", &blog)])
        .with("cards/2026-03-01-a.md", "# A")
        .with("cards/2026-03-01-b.md", "# B")
        .with("cards/2026-03-02.md", "# C")
        .plan(&Overrides::default());
    let said = plan.warnings.plain();
    assert!(said.contains("2026-03-01-b.md: cards/2026-03-01-a.md is used"), "{said}");
    assert!(said.contains("does not match: 1 file (2026-03-02.md)") && !said.contains("does not exist"), "{said}");
    assert_eq!(plan.header.dataset.rows, 1);
}

/// GE-07: `days` looks at the days that end on `--as-of`, or on yesterday as the dataset's zone sees it.
#[test]
fn days_end_on_the_day_that_is_asked_for() {
    let world = World::new(&[("karat.yaml", &suite(&BRIEFING.replace("  broken: report\n", "  days: 2\n")))])
        .with("cards/2026-03-07-card.json", &card("Seven", &["a"]))
        .with("cards/2026-03-08-card.json", &card("Eight", &["b"]))
        .with("cards/2026-03-09-card.json", &card("Nine", &["c"]))
        .with("archive/2026-03-01-card.json", &card("One", &["a"]));
    let as_of = |day: &str| Overrides { as_of: Some(day.to_owned()), ..Overrides::default() };
    assert_eq!(ids(&samples(&world, &as_of("2026-03-09"))), ["2026-03-08", "2026-03-09"]);
    assert_eq!(ids(&samples(&world, &as_of("2026-03-08"))), ["2026-03-07", "2026-03-08"]);
    assert_eq!(world.plan(&as_of("2026-03-08")).header.as_of.as_deref(), Some("2026-03-08"));
    // 23:30 in London is the next day in Berlin.
    let now = "2026-03-09T23:30:00Z".parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let now =
        Overrides { context: LoadContext { now: Some(Moment(now)), ..LoadContext::default() }, ..Overrides::default() };
    assert_eq!(ids(&samples(&world, &now)), ["2026-03-08", "2026-03-09"]);
    assert_ne!(world.plan(&as_of("2026-03-09")).header.plan_hash, world.plan(&as_of("2026-03-10")).header.plan_hash);
    let problems = world.problems(&as_of("2027-01-01"));
    assert!(problems.contains("the dataset has no rows of 2026-12-31 to 2027-01-01"), "{problems}");
    assert!(world.problems(&as_of("soon")).contains("`soon` is not a date"));
    assert!(world.problems(&Overrides::default()).contains("--as-of DATE"));
}

/// GE-07, BR-02: a number of days below 1 is refused with its place, and one beyond the calendar reaches as far as that
/// goes.
#[test]
fn numbers_of_days_that_no_calendar_has() {
    let with = |days: &str, prior: &str| {
        let prior = BRIEFING.replace("days: 7", &format!("days: {prior}"));
        let text = suite(&prior.replace("  broken: report\n", &format!("  days: {days}\n")));
        cards().with("karat.yaml", &text)
    };
    let as_of = Overrides { as_of: Some("2026-03-09".to_owned()), ..Overrides::default() };
    for (days, prior) in
        [("-1", "7"), ("0", "7"), ("-9223372036854775808", "7"), ("9", "-7"), ("9", "-9223372036854775808")]
    {
        let said = with(days, prior).problems(&as_of);
        assert!(said.contains("`days`") && !said.contains("no rows") && !said.contains("needs `days`"), "{said}");
    }
    for beyond in ["9223372036854775807", "4000000"] {
        let all = samples(&with(beyond, beyond), &as_of);
        assert_eq!(ids(&all), ["2026-03-01", "2026-03-02", "2026-03-08", "2026-03-09"]);
        assert_eq!(all[3].columns["prior_headlines"], json!(["- a", "- b", "- c", "- d"]));
    }
}

/// BR-01: a folder that is called as a card is not a card, and that is said.
#[test]
fn a_folder_that_is_called_as_a_card_is_told() {
    let world = cards().with("cards/2026-03-11-card.json/notes.txt", "no card");
    let plan = world.plan(&Overrides::default());
    assert_eq!(plan.header.dataset.rows, 4);
    let said = plan.warnings.plain();
    assert!(said.contains("2026-03-11-card.json") && said.contains("because they are folders"), "{said}");
}

/// SU-01: a folder a row; a folder without the file is not curated and counted, a broken file stops the load.
#[test]
fn a_folder_can_be_a_row() {
    let text = suite("  with: { files: \"{id}/reference.json\", as: json }\n  id: id\n  reference: reference\n")
        .replace("body_text", "reference");
    let world = World::new(&[("karat.yaml", &text)])
        .with("cards/b/reference.json", r#"{"name": "b", "reference": {"title": "B"}}"#)
        .with("cards/a/reference.json", r#"{"name": "a", "reference": {"title": "A"}}"#)
        .with("cards/c/other.json", "{}");
    let plan = world.plan(&Overrides::default());
    let all = samples(&world, &Overrides::default());
    assert_eq!(ids(&all), ["a", "b"]);
    assert_eq!(all[0].reference, Some(json!({"title": "A"})));
    assert!(plan.warnings.plain().contains("1 folders in cards contain no matching file"), "{}", plan.warnings.plain());
    let problems =
        world.with("cards/b/reference.json", r#"{"name": "b", "name": "c"}"#).problems(&Overrides::default());
    assert!(problems.contains("cards/b/reference.json") && problems.contains("duplicate key \"name\""), "{problems}");
}

/// Problems of a folder are reported at the key that names it.
#[test]
fn options_of_a_folder_are_checked() {
    let problems = |with: &str| {
        World::new(&[("karat.yaml", &suite(with))]).with("cards/a.json", "{}").problems(&Overrides::default())
    };
    assert!(problems("").contains("a folder needs `with: { files: … }`"));
    assert!(problems("  with: { file: \"{id}.json\" }\n").contains("unknown option `file`"));
    assert!(problems("  with: { files: \"{id}.json\", as: jsn }\n").contains("as"));
    assert!(problems("  with: { files: \"{id.json\" }\n").contains("a `{` is not closed"));
    assert!(problems("  with: { files: \"{id}.md\" }\n").contains("no file in cards matches"));
}

/// GE-02: a seeded draw, as many of each group, the same in every pass and part of the plan's identity.
#[test]
fn a_draw_is_seeded_and_stable() {
    let rows: String = (0..200)
        .map(|at| format!("{{\"id\":\"s{at}\",\"day\":\"d{}\",\"topic\":\"t{}\"}}\n", at % 2, at % 4))
        .collect();
    let text = |draw: &str| {
        format!(
            "name: x\ndataset: {{ source: d.jsonl, id: id, draw: {draw} }}\nvariants: {{ same: [ {{ recorded: {{ column: topic }} }} ] }}\n"
        )
    };
    let world = |draw: &str| World::new(&[("karat.yaml", &text(draw)), ("d.jsonl", &rows)]);
    let drawn = samples(&world("{ n: 10, per: day, by: topic, seed: 7 }"), &Overrides::default());
    assert_eq!(drawn.len(), 20);
    assert_eq!(world("{ n: 10, per: day, by: topic, seed: 7 }").plan(&Overrides::default()).header.dataset.rows, 20);
    for topic in 0..4 {
        let of_topic = drawn.iter().filter(|sample| sample.columns["topic"] == format!("t{topic}")).count();
        assert_eq!(of_topic, 5, "t{topic}");
    }
    let other = samples(&world("{ n: 10, per: day, by: topic, seed: 8 }"), &Overrides::default());
    assert_ne!(ids(&drawn), ids(&other));
    let asked = Overrides { samples: vec!["s3".to_owned()], ..Overrides::default() };
    assert_eq!(ids(&samples(&world("{ n: 1, seed: 7 }"), &asked)), ["s3"]);
}

/// A table or row in which a name stands twice is refused: which one counts would be a guess.
#[test]
fn names_stand_once() {
    let text = |file: &str| {
        format!("name: x\ndataset: {{ source: {file} }}\nvariants: {{ same: [ {{ recorded: {{ column: a }} }} ] }}\n")
    };
    let world = |file: &str, content: &str| World::new(&[("karat.yaml", &text(file)), (file, content)]);
    let problems = world("d.csv", "id,a,a\n1,2,3\n").problems(&Overrides::default());
    assert!(problems.contains("two columns have the name `a`"), "{problems}");
    let problems =
        world("d.jsonl", "{\"id\": 1, \"a\": 1}\n{\"id\": 2, \"a\": 2, \"a\": 3}\n").problems(&Overrides::default());
    assert!(problems.contains("d.jsonl:2") && problems.contains("duplicate key"), "{problems}");
    let problems = world("d.json", "[{\"id\": 1, \"a\": 1, \"a\": 3}]").problems(&Overrides::default());
    assert!(problems.contains("duplicate key"), "{problems}");
}
