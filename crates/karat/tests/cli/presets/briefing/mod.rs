//! The preset `briefing`: daily documents, judged, watched and held against what is pinned.

mod drift;
mod golden;
#[cfg(unix)]
mod judges;

use serde_json::{Value, json};

use crate::place::{CommandOutput, Place};

fn backfilled() -> Place {
    let place = Place::new();
    place.succeed(&["run", "briefing", "--run-id", "b", "-q"]);
    place
}

fn json(said: &CommandOutput) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.all()))
}

fn cell<'a>(report: &'a Value, sample: &str) -> &'a Value {
    report["cells"].as_array().unwrap().iter().find(|cell| cell["sample"] == sample).unwrap()
}

/// BR-03, BR-04, BR-10: every shipped card is judged offline; caps lower what the judge gave and say so.
#[test]
fn the_shipped_cards_are_judged() {
    let place = backfilled();
    let report = place.report("b");
    assert_eq!((&report["totals"]["cells"], &report["totals"]["errors"]), (&json!(44), &json!(0)));
    let no_source = cell(&report, "2026-03-11");
    assert_eq!(no_source["judgments"][0]["caps"], json!(["no_source"]));
    let factuality = &no_source["scores"]["quality.factuality"];
    assert_eq!(factuality["value"], 2.0);
    let reason = factuality["reason"].as_str().unwrap();
    assert!(reason.contains("lowered from 3 by the cap `no_source`"), "{reason}");
    let empty = cell(&report, "2026-03-17");
    assert_eq!(empty["judgments"][0]["caps"], json!(["empty_headings"]));
    assert_eq!(empty["scores"]["quality.signal_density"]["value"], 2.0);
    assert_eq!(cell(&report, "2026-03-10")["judgments"][0]["caps"], json!([]));
    // Nothing left the process, so nothing is logged.
    assert!(!place.path().join("logs").exists());
}

/// BR-09: one day is one JSON row.
#[test]
fn one_day_is_one_row() {
    let place = Place::new();
    let row = json(&place.succeed(&["run", "briefing", "--sample", "2026-03-18", "--format", "json", "-o", "-"]));
    let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    let wanted = [
        "card_date",
        "judge_model",
        "prompt_version",
        "composite",
        "factuality",
        "novelty",
        "source_diversity",
        "signal_density",
        "coherence",
        "notes",
    ];
    assert_eq!(names[..wanted.len()], wanted);
    assert_eq!(
        (&row["card_date"], &row["judge_model"], &row["prompt_version"]),
        (&json!("2026-03-18"), &json!("stub-v1"), &json!("v1"))
    );
    assert_eq!(row["composite"], 4.35);
}

/// BR-09: the suite observes; with `--gate` a failed rule is named and the exit code is 2.
#[test]
fn the_publish_gate_binds_on_request() {
    let place = Place::new();
    let day = |date: &str, more: &[&str]| {
        place.karat(&[&["run", "briefing", "--sample", date, "--format", "json", "-o", "-"], more].concat())
    };
    assert_eq!(day("2026-04-04", &[]).code, 0);
    let failed = day("2026-04-04", &["--gate"]);
    assert_eq!((failed.code, &json(&failed)["composite"]), (2, &json!(1.45)), "{}", failed.all());
    assert!(failed.stderr.contains("publish") && failed.stderr.contains("no_weak_axis"), "{}", failed.all());
    assert_eq!(day("2026-03-18", &["--gate"]).code, 0);
    assert_eq!(day("2026-03-18", &["--gate", "--gate-threshold", "4.5"]).code, 2);
    // A golden set is what `against: baseline` compares with.
    place.succeed(&["golden", "pin", "briefing", "--since", "2026-03-18"]);
    let card = json!({"body": [{"type": "TextBlock", "text": "Nothing happened."}]}).to_string();
    place.write("cards/2026-03-18-card.json", &card);
    let said = place.karat(&["run", "briefing", "-p", "cards=cards", "--gate", "-q"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.stdout.contains("regression (quality.composite) published, 2026-03-18"), "{}", said.all());
}

/// BR-17: a judge or version that no judgment has is a mistyped one, and not a suite without data.
#[test]
fn a_mistyped_judge_is_refused() {
    let place = Place::new();
    place.succeed(&["run", "briefing", "-q", "--sample", "2026-03-02"]);
    for command in [&["drift", "briefing"][..], &["digest", "briefing"], &["golden", "pin", "briefing"]] {
        for (more, known) in [(["--judge", "nosuch"], "stub-v1"), (["--prompt-version", "v9"], "there are: v1")] {
            let said = place.karat(&[command, &more].concat());
            assert!(said.code == 1 && said.stderr.contains(known) && said.stdout.is_empty(), "{}", said.all());
        }
    }
    let found = json(&place.succeed(&["drift", "briefing", "--judge", "stub", "--until", "2026-01-01"]));
    assert_eq!(found["status"], "no_data", "a judge that is known, and a stretch without a row");
}

/// BR-13, BR-14, BR-17, CL-16: judges of one run are one grade, the same in report, digest, drift and golden set; one judge is
/// looked at where it is asked for.
#[test]
fn judges_of_one_run_are_one_grade_everywhere() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    let models = place.path().join("mine/models/offline.yaml");
    let more = "  - { id: second, model: second-v1, provider: scripted, family: sim-judge, availability: stable, context_window: 64000, max_output: 4000, with: { reply: ../scripts/second.j2 } }\n";
    std::fs::write(&models, std::fs::read_to_string(&models).unwrap() + more).unwrap();
    place.write(
        "mine/scripts/second.j2",
        r#"{"factuality": 3, "novelty": 3, "source_diversity": 3, "signal_density": 3, "coherence": 3, "notes": "Middling, as ever."}"#,
    );
    let both = ["--judges", "stub,second"];
    let day = ["--sample", "2026-03-02", "--sample", "2026-03-03", "--sample", "2026-03-04", "-q"];
    place.succeed(&[&["run", "mine", "--run-id", "r"], &both[..], &day].concat());
    assert_eq!(place.report("r")["metrics"]["quality.composite"]["value"], 3.68);
    let digest = |more: &[&str]| {
        let window = ["digest", "mine", "--as-of", "2026-03-04", "--window", "3", "--format", "json"];
        json(&place.succeed(&[&window[..], more].concat()))
    };
    let together = digest(&[]);
    assert_eq!(
        (&together["composite"]["median"], &together["judges"]),
        (&json!(3.68), &json!(["second-v1 + stub-v1"]))
    );
    assert!(together["warnings"][0].as_str().unwrap().contains("select one judge with `--judge`"), "{together}");
    assert_eq!(digest(&["--judge", "second"])["composite"]["median"], 3.0);
    let drift = json(&place.succeed(&["drift", "mine", "--as-of", "2026-03-04"]));
    assert_eq!((&drift["judges"], &drift["warnings"]), (&together["judges"], &together["warnings"]));
    place.succeed(&["golden", "pin", "mine"]);
    let file = place.path().join("mine/golden/2026-03-02.json");
    let pinned = || -> Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
    assert_eq!(
        (&pinned()["baseline_composite"], &pinned()["baseline_judge"]),
        (&json!(3.68), &json!("second-v1 + stub-v1"))
    );
    let same = place.succeed(&[&["golden", "check", "mine", "--json"], &both[..]].concat());
    assert_eq!((&json(&same)["warnings"], &json(&same)["cards"][0]["delta"]), (&json!([]), &json!(0.0)));
    let other = place.succeed(&["golden", "check", "mine", "--json"]);
    assert!(json(&other)["warnings"][0].as_str().unwrap().contains("the current one is stub-v1"), "{}", other.all());
    place.succeed(&["golden", "pin", "mine", "--judge", "second"]);
    assert_eq!((&pinned()["baseline_composite"], &pinned()["baseline_judge"]), (&json!(3.0), &json!("second-v1")));
}

/// BR-18: a judgment that a later run took over is one judgment; judged afresh, it is a second opinion.
#[test]
fn a_judge_does_not_agree_with_its_own_cached_results() {
    let place = backfilled();
    place.succeed(&["run", "briefing", "--run-id", "c", "-q"]);
    let same = place.karat(&["agree", "b", "c"]);
    assert!(same.code == 1 && same.stderr.contains("44 judgments are one run's"), "{}", same.all());
    place.succeed(&["run", "briefing", "--run-id", "d", "-q", "--no-cache"]);
    assert!(place.succeed(&["agree", "b", "d"]).stdout.contains("stub and stub in d"));
}

/// BR-14, BR-15: a window as Markdown, to stdout or a file; rows as TSV and JSON.
#[test]
fn a_digest_summarizes_a_week() {
    let place = backfilled();
    let week = place.succeed(&["digest", "briefing", "--as-of", "2026-03-28"]).stdout;
    assert!(week.starts_with("# Digest of briefing: 2026-03-22 → 2026-03-28"), "{week}");
    for line in ["**Coverage:** 6/7 days", "**Composite (median):** 4.35", "**Composite (min/max):** 3.15 / 4.35"] {
        assert!(week.contains(line), "{line}: {week}");
    }
    assert!(
        week.contains("| 2026-03-22 | 3.15 | 2 |") && week.contains("Days without a judgment: 2026-03-25"),
        "{week}"
    );
    assert_eq!(place.succeed(&["report", "briefing", "--as-of", "2026-03-28", "--window", "7"]).stdout, week);
    let window = ["report", "briefing", "--as-of", "2026-03-28", "--window", "7", "--judge", "stub"];
    assert_eq!(place.succeed(&window).stdout, week);
    assert!(place.karat(&["report", "latest", "--judge", "stub"]).stderr.contains("Add `--window 7`"));
    place.succeed(&["digest", "briefing", "--as-of", "2026-03-28", "-o", "out/week.md"]);
    assert_eq!(std::fs::read_to_string(place.path().join("out/week.md")).unwrap(), week);
    let rows = |arguments: &[&str]| {
        place.succeed(&[&["show", "briefing", "--since", "2026-03-24", "--until", "2026-03-26"], arguments].concat())
    };
    let tsv = rows(&["--format", "tsv"]).stdout;
    assert_eq!(tsv.lines().count(), 3, "{tsv}");
    assert!(tsv.starts_with("card_date\tjudge_model\tprompt_version\tcomposite\tfactuality\t"), "{tsv}");
    let list: Value = serde_json::from_str(&rows(&["--format", "json"]).stdout).unwrap();
    assert_eq!((list.as_array().unwrap().len(), &list[0]["card_date"]), (2, &json!("2026-03-24")));
    assert_eq!(rows(&["--format", "json", "--judge", "nobody"]).stdout.trim(), "[]");
    let said = place.karat(&["show", "briefing", "--since", "yesterday"]);
    assert!(said.code == 1 && said.stderr.contains("YYYY-MM-DD"), "{}", said.all());
}

/// BY-08: the same judge on the pinned cards is unchanged; one that grades 0.3 higher than was pinned has changed.
#[test]
fn a_changed_judge_is_told_from_changed_cards() {
    let place = backfilled();
    place.succeed(&["golden", "pin", "briefing"]);
    let said = place.succeed(&["golden", "check", "briefing"]);
    assert!(said.stdout.contains("judge canary: ") && said.stdout.contains("grading unchanged"), "{}", said.all());
    for entry in std::fs::read_dir(place.path().join(".karat/golden/briefing")).unwrap() {
        let file = entry.unwrap().path();
        let mut pinned: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        pinned["baseline_composite"] = json!((pinned["baseline_composite"].as_f64().unwrap() - 0.3).max(1.0));
        std::fs::write(&file, pinned.to_string()).unwrap();
    }
    let said = place.succeed(&["golden", "check", "briefing"]);
    assert!(said.stdout.contains("judge canary: quality.composite +0.30"), "{}", said.all());
    assert!(said.stdout.contains("grading shifted"), "{}", said.all());
    let line = "0 of 44 cards dropped by more than 0.5; an unchanged judge does that to some card in below 98 % of checks (0 \
                rises in 44 cards); canary: grading shifted\n";
    assert!(
        said.stdout.contains(line) && said.stdout.contains("decided by drop: passes; by test: fails"),
        "{}",
        said.all()
    );
    assert_eq!(place.karat(&["golden", "check", "briefing", "--decide", "test"]).code, 2);
    let canary = &json(&place.succeed(&["golden", "check", "briefing", "--json"]))["canary"];
    assert_eq!((&canary["ruler"], &canary["shifts"][0]["n"]), (&json!("moved"), &json!(44)), "{canary}");
}

/// BR-11, BR-12: pin, check, a regression with exit 2, and nothing but `golden pin` moves a baseline.
#[test]
fn a_golden_set_is_pinned_and_checked() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    let none = place.karat(&["golden", "check", "mine"]);
    assert!(none.code == 1 && none.stderr.contains("karat golden pin"), "{}", none.all());
    place.succeed(&["run", "mine", "-q"]);
    let range = ["--since", "2026-03-01", "--until", "2026-03-05"];
    let dry = place.succeed(
        &[&["golden", "pin", "mine", "--judge", "stub-v1", "--prompt-version", "v1", "--dry-run"], &range[..]].concat(),
    );
    assert!(dry.stdout.contains("would change 5 files") && !place.path().join("mine/golden").exists(), "{}", dry.all());
    place.succeed(&[&["golden", "pin", "mine"], &range[..]].concat());
    let file = place.path().join("mine/golden/2026-03-02.json");
    let pinned: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        (&pinned["baseline_composite"], &pinned["baseline_judge"], &pinned["baseline_axes"]["factuality"]),
        (&json!(4.35), &json!("stub-v1"), &json!(4))
    );
    let fine = place.succeed(&["golden", "check", "mine"]);
    assert!(fine.stdout.contains("judged in this run: 5; reused from earlier runs: 0"), "{}", fine.all());
    let cached = place.succeed(&["golden", "check", "mine", "--cached"]);
    assert!(cached.stdout.contains("judged in this run: 0; reused from earlier runs: 5"), "{}", cached.all());

    let copy = place.write("mine/golden/2026-03-30.json", &std::fs::read_to_string(&file).unwrap());
    let twice = place.karat(&["golden", "check", "mine"]);
    assert!(twice.code == 1 && twice.stderr.contains("2026-03-30.json pin the same sample"), "{}", twice.all());
    std::fs::write(&copy, pinned.to_string().replace("2026-03-02", "2026-03-30").replace("4.35", "43.5")).unwrap();
    let beyond = place.karat(&["golden", "list", "mine"]);
    assert!(beyond.code == 1 && beyond.stderr.contains("`baseline_composite` is 43.5"), "{}", beyond.all());
    std::fs::remove_file(&copy).unwrap();

    let card = json!({"body": [{"type": "TextBlock", "text": "Nothing happened."}]}).to_string();
    place.write("mine/data/cards/2026-03-02-card.json", &card);
    let before = std::fs::read(&file).unwrap();
    let worse = place.karat(&["golden", "check", "mine"]);
    assert_eq!(worse.code, 2, "{}", worse.all());
    assert!(worse.stdout.contains("REGRESSION 2026-03-02: 4.35 → "), "{}", worse.all());
    let allowed = place.karat(&["golden", "check", "mine", "--max-drop", "4", "--json"]);
    assert_eq!((allowed.code, &json(&allowed)["regressions"]), (0, &json!(0)), "{}", allowed.all());
    place.succeed(&["run", "mine", "-q", "--no-cache", "--sample", "2026-03-02"]);
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing but `golden pin` moves a baseline");

    std::fs::remove_file(place.path().join("mine/data/cards/2026-03-04-card.json")).unwrap();
    let gone = place.karat(&["golden", "check", "mine", "--max-drop", "4"]);
    assert!(
        gone.code == 1 && gone.stdout.contains("PROBLEM    2026-03-04: the dataset has no such sample"),
        "{}",
        gone.all()
    );
    let moved = place.succeed(&["golden", "pin", "mine", "--since", "2026-03-01", "--until", "2026-03-02", "--clean"]);
    assert!(
        moved.stdout.contains("2026-03-02 changed  4.35 → ") && moved.stdout.contains("2026-03-05 removed"),
        "{}",
        moved.all()
    );
    assert_eq!(std::fs::read_dir(place.path().join("mine/golden")).unwrap().count(), 2);
    place.write("mine/golden/2026-03-01.json", "{ broken");
    let broken = place.karat(&["golden", "check", "mine"]);
    assert!(broken.code == 1 && broken.stderr.contains("2026-03-01.json"), "{}", broken.all());
}

/// BR-10: a sweep beyond the suite's bound is refused before its first call; a broken card fails alone, and of two
/// documents of one day the first folder's counts.
#[test]
fn a_larger_sweep_is_refused_and_a_broken_card_fails_alone() {
    let place = Place::new();
    let said = place.karat(&["run", "briefing", "--max-calls", "10", "--run-id", "r"]);
    assert_eq!(said.code, 5, "{}", said.all());
    assert!(said.stderr.contains("at least 44 calls") && said.stderr.contains("none was made"), "{}", said.all());
    place.succeed(&["init", "briefing", "mine"]);
    let more = "dataset.with.more=[mine/data/faults]";
    let said = place.karat(&["run", "mine", "--set", more, "--run-id", "r", "-q"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let report = place.report("r");
    assert_eq!((&report["totals"]["cells"], &report["totals"]["errors"]), (&json!(45), &json!(1)));
    assert_eq!(cell(&report, "2026-04-15")["error"]["code"], "dataset");
    assert_eq!(cell(&report, "2026-03-29")["judgments"][0]["caps"], json!([]), "the first folder's card counts");
}

/// BR-01, BR-09, BR-10: the one day that is asked for is broken: the card is named with its place, and nothing was scored.
#[test]
fn a_broken_card_that_is_asked_for_is_named() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    place.write("mine/data/cards/2026-03-18-card.json", "{ \"type\": \"AdaptiveCard\",");
    let said = place.karat(&["run", "mine", "--sample", "2026-03-18", "--format", "json", "-o", "-"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{}", said.all());
    assert!(said.stderr.contains("2026-03-18-card.json:1:"), "{}", said.all());
    assert!(!said.stderr.contains("no sample"), "{}", said.all());
    let said = place.karat(&["run", "mine", "--sample", "2026-03-33"]);
    assert!(said.code == 1 && said.stderr.contains("no sample `2026-03-33`"), "{}", said.all());
}

/// Contract, exit 5 and `resume`: calls accumulate over the parts of a run, what is counted as there was judged, and the number
/// that is asked for is the one that is enough.
#[test]
fn calls_accumulate_over_the_parts_of_a_run() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    let yaml = std::fs::read_to_string(place.path().join("mine/karat.yaml")).unwrap();
    place.write("mine/karat.yaml", &yaml.replace("max_calls: 50", "trials: 1"));
    let said = place.karat(&["run", "mine", "--max-calls", "10", "--run-id", "r"]);
    assert_eq!(said.code, 5, "{}", said.all());
    assert!(
        said.stdout.contains("cells 10 of 44") && said.all().contains("without a result: 34 of 44"),
        "{}",
        said.all()
    );
    assert!(
        said.stderr.contains("at least 34 are left to make: continue with `karat resume r --max-calls 44`"),
        "{}",
        said.all()
    );
    let said = place.karat(&["resume", "r"]);
    assert!(
        said.code == 5 && said.stderr.contains("0 calls made") && said.stderr.contains("--max-calls 44`"),
        "{}",
        said.all()
    );
    let said = place.karat(&["resume", "r", "--max-calls", "20"]);
    assert!(said.code == 5 && said.stderr.contains("10 of 44 cells already done"), "{}", said.all());
    assert!(
        said.stderr.contains("10 simulated calls") && said.stderr.contains("at least 24 are left"),
        "{}",
        said.all()
    );
    assert!(place.succeed(&["resume", "r", "--max-calls", "44"]).stderr.contains("24 simulated calls"));
    assert_eq!(place.report("r")["totals"]["judgments"], 44);
    // Contract: in the canonical form a run that was stopped ends like one that was not.
    place.succeed(&["run", "mine", "-q", "--no-cache", "-j", "2", "--run-id", "whole"]);
    assert_eq!(place.canonical("r"), place.canonical("whole"));
}

/// BR-08: the judgment is kept, of the document a hash; scoring a stored run finds the document where it lies.
#[test]
fn the_document_is_not_stored() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    place.succeed(&["run", "mine", "-q", "--sample", "2026-03-02", "--run-id", "r"]);
    let trace = json(&place.succeed(&["trace", "r", "0", "--json"]));
    assert_eq!(trace["output"], Value::Null);
    let call = &trace["calls"][0];
    assert!(call["request"].as_str().unwrap().starts_with("{\"hash\":"), "{trace}");
    assert!(call["response"].as_str().unwrap().contains("factuality"), "{trace}");
    place.succeed(&["score", "r", "--run-id", "s", "-q"]);
    assert_eq!(place.report("s")["metrics"]["quality.composite"]["value"], 4.35);
    place.write(
        "mine/data/cards/2026-03-02-card.json",
        &json!({"body": [{"type": "TextBlock", "text": "Other."}]}).to_string(),
    );
    let said = place.karat(&["score", "r", "--run-id", "t", "-q"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(place.report("t").to_string().contains("did not keep this document"));
}

/// BR-19: the whole preset on a Markdown blog, with only YAML changed.
#[test]
fn a_markdown_blog_takes_only_yaml() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "blog"]);
    for day in 1..=14 {
        let post = format!(
            "---\ntitle: x\n---\n# Notes of day {day}\n\n## Tools\n\n- **Item {day}** grew by {day} % ([report](https://a.example/{day}))\n- Another saved $5 million, see https://b.example/{day}\n"
        );
        place.write(&format!("blog/posts/2026-05-{day:02}-notes.md"), &post);
    }
    let yaml = std::fs::read_to_string(place.path().join("blog/karat.yaml")).unwrap();
    let yaml = yaml.replace("{ path: data/cards }", "{ path: posts }").replace(
        "{ files: \"{date}-card.json\", as: adaptive_card, own_hosts: [briefing.example] }",
        "{ files: \"{date}-*.md\", as: markdown }",
    );
    place.write("blog/karat.yaml", &yaml);
    place.succeed(&["run", "blog", "-q"]);
    assert_eq!(json(&place.succeed(&["drift", "blog", "--as-of", "2026-05-14"]))["status"], "ok");
    assert!(place.succeed(&["digest", "blog", "--as-of", "2026-05-14"]).stdout.contains("7/7 days"));
    place.succeed(&["golden", "pin", "blog"]);
    place.succeed(&["golden", "check", "blog"]);
}

/// BR-04, BR-19: every `with` that the guide names takes the place of the preset's, and what the document lacks is seen.
#[test]
fn every_reader_of_the_guide_takes_only_yaml() {
    let guide = include_str!("../../../../../../docs/guides/daily-documents.md");
    let rows = guide.lines().filter(|line| line.starts_with('|'));
    let options: Vec<&str> =
        rows.flat_map(|line| line.split('`').filter(|code| code.starts_with("{ files:"))).collect();
    assert_eq!(options.len(), 5, "{options:?}");
    let json = json!({"head": "News", "text": "# News\n\n## Empty\n\n## Full\n\n- One rose by 3 %", "links": ["https://a.example/1"]});
    let card = json!({"body": [{"type": "TextBlock", "text": "- One rose by 3 %, see https://a.example/1"}]});
    for with in options {
        let place = Place::new();
        place.succeed(&["init", "briefing", "mine"]);
        place.write("mine/days/2026-05-01-card.json", &card.to_string());
        place.write("mine/days/2026-05-01.json", &json.to_string());
        for name in ["2026-05-01-post.md", "2026-05-01.html", "2026-05-01.txt"] {
            place.write(&format!("mine/days/{name}"), "- One rose by 3 %, see https://a.example/1\n");
        }
        let yaml = std::fs::read_to_string(place.path().join("mine/karat.yaml")).unwrap();
        let own = yaml.lines().find_map(|line| line.trim().strip_prefix("with: ")).unwrap();
        place.write("mine/karat.yaml", &yaml.replace(own, with).replace("{ path: data/cards }", "{ path: days }"));
        place.succeed(&["validate", "mine"]);
        place.succeed(&["run", "mine", "-q", "--run-id", "r"]);
        let caps = place.report("r")["cells"][0]["judgments"][0]["caps"].clone();
        assert_eq!(caps, if with.contains("as: json") { json!(["empty_headings"]) } else { json!([]) }, "{with}");
    }
}

/// BR-02: a late card makes the next seven days' judgments stale: `plan` says so; they stand until a run covers their days.
#[test]
fn a_late_card_makes_the_next_days_stale() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "my"]);
    place.succeed(&["run", "my", "-q"]);
    let rows =
        || place.succeed(&["show", "my", "--since", "2026-03-26", "--until", "2026-04-01", "--format", "tsv"]).stdout;
    let before = rows();
    let late = place.text("my/data/cards/2026-03-24-card.json");
    place.write("my/data/cards/2026-03-25-card.json", &late);
    let planned = place.succeed(&["plan", "my"]).stdout;
    assert!(planned.contains("judgments: 8 to make") && planned.contains("37 cached"), "{planned}");
    place.succeed(&["run", "my", "--sample", "2026-03-25", "-q"]);
    assert_eq!(rows(), before, "a run of one day judges no other");
    let summary = place.succeed(&["run", "my", "-q"]).stdout;
    assert!(summary.contains("judgments 45, 38 reused"), "{summary}");
    assert_ne!(rows(), before);
}

/// BR-16, F118: one command writes the page of all days of a dated suite, of one judge too; other suites have none.
#[test]
fn the_page_of_all_days_is_one_command() {
    let place = Place::new();
    place.succeed(&["run", "briefing", "-q"]);
    let said = place.succeed(&["report", "briefing", "--series"]);
    assert_eq!(said.stdout.trim(), "series.html");
    let page = place.text("series.html");
    assert!(page.contains("Is it slipping?") && page.contains("2026-03-18") && !page.contains("src=\"http"), "a page");
    for target in ["days.html", "pages/series.html"] {
        let output = target.strip_suffix("/series.html").unwrap_or(target);
        place.succeed(&["report", "latest", "--series", "--judge", "stub", "-o", output]);
        assert!(place.text(target).contains("Is it slipping?"), "{target}");
    }
    assert!(place.succeed(&["report", "briefing", "--series", "-o", "-"]).stdout.contains("Is it slipping?"));
    place.succeed(&["run", "faq", "-q"]);
    let refused = place.karat(&["report", "faq", "--series"]);
    assert!(refused.code == 1 && refused.stderr.contains("date"), "{}", refused.all());
    let format = place.karat(&["report", "briefing", "--series", "--format", "json"]);
    assert!(format.code == 1 && format.stderr.contains("one format"), "{}", format.all());
}
