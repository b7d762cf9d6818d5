//! The pages that are run from top to bottom.

use super::blocks::Page;
use super::session;
use crate::place::Place;

/// PE-36: every file, command and output of the tutorial is true.
#[test]
fn the_tutorial_works() {
    let place = Place::new();
    session::run(&Page::read("docs/start/tutorial.md"), &place);
    assert!(place.text("report/report.html").contains("tickets"));
}

/// PE-36: the commands of the page of examples make every report that it links, as one file that loads nothing.
#[test]
fn the_page_of_examples_makes_its_reports() {
    let place = Place::new();
    let page = Page::read("docs/examples.md");
    session::run(&page, &place);
    let reports: Vec<String> =
        super::links::targets(&page.text).into_iter().filter(|target| target.starts_with("examples/")).collect();
    assert!(reports.len() >= 8, "{reports:?}");
    for report in reports {
        let text = place.text(&report);
        assert!(text.contains("Content-Security-Policy") && text.contains("default-src 'none'"), "{report}");
    }
}

/// PE-36, BR-13: the guide's commands find the decline in the shipped cards.
#[test]
fn the_guide_to_daily_documents_works() {
    session::run(&Page::read("docs/guides/daily-documents.md"), &Place::new());
}

/// PE-36, IO-02: the guide's config is imported, planned and run.
#[test]
fn the_guide_to_promptfoo_works() {
    let place = Place::new();
    session::run(&Page::read("docs/guides/coming-from-promptfoo.md"), &place);
    assert!(place.text("capitals/import.md").contains("- `javascript` at `tests.csv:3.__expected`"));
}

/// PE-36, field test C1: the guide's commands print what it shows, on the tutorial's suite.
#[test]
fn the_guide_to_reports_works() {
    let place = Place::new();
    // The guide reads a run with both variants; the tutorial's last part removes the first.
    let mut tutorial = Page::read("docs/start/tutorial.md");
    tutorial.text.truncate(tutorial.text.find("\n## 9.").unwrap());
    session::write_files(&tutorial, &place);
    assert_eq!(place.karat(&["run", "-q"]).code, 2);
    session::run(&Page::read("docs/guides/reports.md"), &place);
}

/// SC-02, PE-36: the guide's shards are merged.
#[test]
fn the_guide_to_several_machines_works() {
    let place = Place::new();
    session::run(&Page::read("docs/guides/scale-out.md"), &place);
    assert!(place.text("out/report.md").contains("4 of 4 planned cells"));
}

/// F84, F89, F97, IO-05, IO-07, PE-36: the commands of the guides from other tools work in an empty folder.
#[test]
fn the_guides_from_other_tools_work() {
    for tool in ["inspect", "openai-evals", "langfuse", "ragas", "deepeval", "lm-eval"] {
        session::run(&Page::read(&format!("docs/guides/coming-from-{tool}.md")), &Place::new());
    }
}

/// F81: the commands of the guides also work on what the tools themselves wrote.
#[test]
fn guides_from_other_tools_work_on_their_own_files() {
    for (kind, file) in [
        ("inspect", "inspect/capitals-zstd.eval"),
        ("openai-evals", "openai-hosted/eval_support.json"),
        ("openai-evals", "openai-hosted/output-items-dashboard.jsonl"),
        ("lm-eval", "lm-eval"),
    ] {
        let place = Place::new();
        let path = super::blocks::root().join("fixtures/interop").join(file);
        let said = place.succeed(&["import", kind, path.to_str().unwrap(), "-o", "out"]);
        assert!(said.all().contains(" 0 failed"), "{file}: {}", said.all());
        place.succeed(&["validate", "out"]);
    }
}

/// PE-36, BC-06, BC-07, BC-08: the guide's commands make a test set of 5,000 logs, find the references that are wrong,
/// and compare its versions.
#[test]
fn the_guide_to_benchmarks_works() {
    let place = Place::new();
    place.write("logs.jsonl", &logs(5_000));
    let page = Page::read("docs/guides/benchmarks.md");
    let (before, after) = page.text.split_once("\n## 7.").unwrap();
    let part = |text: &str| Page { path: page.path.clone(), text: text.to_owned() };
    session::run(&part(before), &place);
    // People correct the references that the guide found.
    let suspects = place.text("suspects.txt");
    let suspects: Vec<&str> = suspects.lines().collect();
    assert!(suspects.len() >= 2, "{suspects:?}");
    let mut corrected = 0;
    let rows = place.text("tickets.jsonl");
    let rows = rows.lines().map(|line| {
        let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
        if suspects.contains(&row["id"].as_str().unwrap()) && corrected < 2 {
            corrected += 1;
            row["category"] = row["large"].clone();
        }
        format!("{row}\n")
    });
    place.write("corrected.jsonl", &rows.collect::<String>());
    session::run(&part(&format!("## 7.{after}")), &place);
}

/// Logs of tickets: every thirtieth has a category that is wrong, every eleventh repeats an earlier text.
fn logs(n: usize) -> String {
    const WORDS: [&str; 12] = [
        "order", "invoice", "password", "parcel", "refund", "account", "street", "monday", "phone", "letter", "shop",
        "card",
    ];
    const CATEGORIES: [&str; 5] = ["billing", "login", "delivery", "returns", "other"];
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut texts: Vec<String> = Vec::new();
    let rows = (0..n).map(|at| {
        let text = match (at % 11, texts.len()) {
            (10, known) => texts[next(known)].clone(),
            _ => (0..14).map(|_| format!("{}{}", WORDS[next(12)], next(40))).collect::<Vec<_>>().join(" "),
        };
        texts.push(text.clone());
        let right = next(5);
        let category = if at % 30 == 7 { CATEGORIES[(right + 1) % 5] } else { CATEGORIES[right] };
        let mut answer = |percent: usize| {
            if next(100) < percent { CATEGORIES[right] } else { CATEGORIES[(right + 1 + next(4)) % 5] }
        };
        let topics = ["shop", "app", "letters"];
        let (small, medium, large, other) = (answer(78), answer(85), answer(93), answer(85));
        let row = serde_json::json!({
            "id": format!("log-{at}"), "user": format!("u{}", at % 900), "topic": topics[at % 3],
            "ticket": text, "category": category, "small": small, "medium": medium, "large": large, "other": other,
        });
        format!("{row}\n")
    });
    rows.collect()
}
