//! Pages of runs and comparisons: what they hold, what they refuse, how large they get.

use std::collections::BTreeSet;

use karat_analysis::testing::{HOSTILE, example};
use karat_page::{html, text::visible};
use karat_report::page::{Links, MOST_BYTES, file, run};
use karat_report::{Failure, Outputs, ShownOutputs, blocks};
use scraper::{Html, Selector};
use serde_json::json;

use crate::Example;

fn all(page: &Html, selector: &str) -> usize {
    page.select(&Selector::parse(selector).unwrap()).count()
}

fn texts(page: &Html, selector: &str) -> Vec<String> {
    page.select(&Selector::parse(selector).unwrap()).map(|it| it.text().collect::<String>()).collect()
}

/// Every analysis that the example can run.
fn every_analysis() -> Example {
    Example::asking(json!([
        { "analysis": "delta", "id": "variant_delta", "with": { "base": "raw" } },
        { "analysis": "agreement", "id": "agreement" },
        { "analysis": "calibration", "id": "calibration", "with": { "scorer": "quality" } },
        { "analysis": "failures", "id": "failures", "with": { "below": { "quality.*": 8 } } },
        { "analysis": "slices", "id": "slices", "with": { "by": ["topic"] } },
        { "analysis": "balance", "id": "balance", "with": { "by": ["topic"] } },
        { "analysis": "power", "id": "power", "with": { "mde": 0.5 } },
        { "analysis": "human_anchor", "id": "human_anchor", "with": { "scorer": "quality" } },
        { "analysis": "judge_bias", "id": "judge_bias", "with": { "scorer": "quality" } },
    ]))
}

/// DB-03: every outcome of a run gives at least one panel, which names its analysis.
#[test]
fn every_outcome_has_a_panel() {
    let example = every_analysis();
    let mut kinds = BTreeSet::new();
    for analysed in &example.findings.analyses {
        let blocks = blocks::of_analysis(example.report(), analysed);
        assert!(!blocks.is_empty(), "{}", analysed.id);
        for block in &blocks {
            assert_eq!(block.head().analysis.as_deref(), Some(analysed.id.as_str()));
            assert!(!block.head().title.is_empty() && !block.head().question.is_empty(), "{block:?}");
        }
        kinds.insert(analysed.analysis.clone());
    }
    assert!(kinds.len() >= 13, "{kinds:?}");
}

/// DB-11, DB-40: the page has its sections in order, and every part that tests look for.
#[test]
fn the_page_has_its_sections() {
    let page = Html::parse_document(&file(every_analysis().report()).unwrap());
    let headings = [
        "Verdict",
        "Recommendations",
        "Metrics",
        "Systems by sample",
        "Leaderboards",
        "Analyses",
        "Failures",
        "Inputs and outputs",
        "Cost",
        "How this number was made",
    ];
    assert_eq!(texts(&page, "main h2"), headings);
    assert_eq!(texts(&page, "nav.rail a"), headings);
    for testid in
        ["verdict", "metric-row", "interval", "heatmap", "leaderboard", "failure-group", "cost-table", "provenance"]
    {
        assert!(all(&page, &format!("main [data-testid={testid}]")) > 0, "{testid}");
    }
    assert_eq!(all(&page, "main[data-testid=page-run], h1"), 2);
    for row in page.select(&Selector::parse("[data-testid=metric-row]").unwrap()) {
        assert!(row.value().attr("data-metric").is_some() && row.value().attr("data-system").is_some());
    }
}

/// RG-15, DB-40, invariant 9, reports are deterministic: the file loads nothing, allows its own style and script by hash, and has the same bytes each
/// time.
#[test]
fn the_file_is_self_contained() {
    let example = every_analysis();
    let text = file(example.report()).unwrap();
    assert_eq!(text, file(every_analysis().report()).unwrap());
    let page = Html::parse_document(&text);
    assert_eq!(all(&page, "[src], link, iframe, object, embed, img, form, base, [style]"), 0);
    assert_eq!((all(&page, "style"), all(&page, "script")), (1, 1));
    assert_eq!(all(&page, "a:not([href^='#'])"), 0);
    assert!(text.contains("script-src 'sha256-") && !text.contains("unsafe-inline"));
}

/// DB-02, DB-11: the live page has the same panels as the file, fewer texts, and links to cells and samples.
#[test]
fn the_live_page_has_the_same_panels() {
    let example = every_analysis();
    let parsed = |links: &Links| Html::parse_document(&run(example.report(), links).unwrap().to_live("/assets/"));
    let (none, live) = (parsed(&Links::none()), parsed(&Links::live("r 1")));
    let panels = |page: &Html| {
        let panel = Selector::parse("[data-testid=panel]").unwrap();
        let found = page.select(&panel);
        found.map(|it| (it.value().attr("data-block").unwrap().to_owned(), it.text().collect::<String>())).collect()
    };
    let one: Vec<(String, String)> = panels(&none);
    let other: Vec<(String, String)> = panels(&live);
    let other_than_texts = |panels: &[(String, String)]| -> Vec<(String, String)> {
        panels.iter().filter(|(kind, _)| kind != "excerpts").cloned().collect()
    };
    assert_eq!(other_than_texts(&one), other_than_texts(&other));
    assert_eq!(one.len(), other.len());
    assert_eq!(all(&none, "a[href^='/runs/']"), 0);
    assert!(all(&live, "a[href^='/runs/r%201/sample?id=']") > 0 && all(&live, "a[href^='/runs/r%201/cells?']") > 0);
    let page = run(example.report(), &Links::none()).unwrap();
    assert!(page.to_file().contains(&page.body.clone().into_string()));
    assert!(page.to_live("/").contains(&html! { (page.body) }.into_string()));
}

/// DB-51: texts of samples, models, judges, providers and suites are read back as they were, and nothing of them acts.
#[test]
fn hostile_texts_are_only_shown() {
    let mut run = example();
    let plan = std::sync::Arc::make_mut(&mut run.header.plan);
    plan.suite = HOSTILE.to_owned();
    plan.about = Some(HOSTILE.to_owned());
    plan.variants.iter_mut().skip(1).for_each(|it| it.id.push_str(HOSTILE));
    plan.models.iter_mut().for_each(|it| it.id.push_str(HOSTILE));
    run.samples.iter_mut().for_each(|it| it.id.push_str(HOSTILE));
    let outputs = ["</pre></details><script>x</script>\r\u{9b}31m\u{202e}", HOSTILE];
    for (output, text) in run.outputs.values_mut().zip(outputs.iter().cycle()) {
        *output = json!(text);
    }
    let mut example = Example::of(run);
    example.context.outputs = Outputs { shown: Some(ShownOutputs::All), cells: 1_000 };
    example.context.verdict_note = Some(HOSTILE.to_owned());
    example.context.failures = vec![HOSTILE.to_owned().into()];
    example.context.warnings = vec![HOSTILE.to_owned()];
    let text = file(example.report()).unwrap();
    let page = Html::parse_document(&text);
    assert_eq!((all(&page, "script"), all(&page, "style")), (1, 1));
    assert_eq!(all(&page, "main b, main img, main iframe, main a:not([href^='#'])"), 0);
    for element in page.select(&Selector::parse("*").unwrap()) {
        assert!(element.value().attrs().all(|(name, _)| name != "style" && !name.starts_with("on")));
    }
    let hidden = text.char_indices().find(|(_, c)| !matches!(c, '\n' | '\t') && visible::is_hidden(*c));
    assert_eq!(hidden.map(|(at, _)| text[at.saturating_sub(200)..].chars().take(300).collect::<String>()), None);
    let shown = page.root_element().text().collect::<String>();
    assert!(shown.contains(&*visible::lines(outputs[0])), "an output is read back");
    assert!(texts(&page, "h1")[0].contains(&*visible::line(HOSTILE)));
}

/// F68: advice that all failures share stands once, and so does the message of the most frequent error; where they differ,
/// each failure keeps its own.
#[test]
fn what_failures_share_stands_once() {
    let failed = |what: &str, advice: Option<&str>, cause: Option<&str>| Failure {
        what: what.to_owned(),
        advice: advice.map(str::to_owned),
        cause: cause.map(str::to_owned),
    };
    let mut example = Example::new();
    let frequent = example.report().findings.errors().unwrap().kinds.iter().max_by_key(|kind| kind.count).unwrap();
    let frequent = frequent.examples[0].message.clone();
    let mut shown = |failures: Vec<Failure>| {
        example.context.failures = failures;
        let page = Html::parse_document(&file(example.report()).unwrap());
        texts(&page, "#verdict [data-testid=error-state] p")
    };
    let advice = Some("fix it; or run `karat retry r`");
    let same = shown(vec![failed("a: 3 of 3", advice, Some(&frequent)), failed("b: 2: of 2", advice, Some("no key"))]);
    assert_eq!(same.len(), 4, "{same:?}");
    assert!(
        same[0].starts_with("Most frequent cause: ")
            && same[1].ends_with("a: 3 of 3")
            && same[2].ends_with("b: 2: of 2: no key"),
        "{same:?}"
    );
    assert_eq!(same[3], "Fix it; or run karat retry r.");
    let other = shown(vec![failed("a", advice, None), failed("b", None, Some("no key"))]);
    assert!(other[1].ends_with("a; fix it; or run karat retry r") && other[2].ends_with("b: no key"), "{other:?}");
    assert_eq!(failed("a", Some("wait"), Some("no key")).to_string(), "a; wait: no key");
    assert_eq!(shown(Vec::new()), [""; 0]);
}

/// DB-40: the file stays below its largest size however long texts are, counts what is left out, and names the command.
#[test]
fn the_file_has_a_largest_size() {
    let mut run = example();
    for sample in &mut run.samples {
        let long = "<&>\u{202e}".repeat(40_000);
        sample.texts = (0..4).map(|at| karat_types::SampleText::of(&format!("column {at}"), &json!(long))).collect();
    }
    let cells = run.cells.clone();
    let (samples, systems) = (run.samples.clone(), 10);
    for copy in 1..8_u64 {
        for (row, sample) in samples.iter().enumerate() {
            let row = copy * samples.len() as u64 + row as u64;
            run.samples.push(karat_types::SampleRecord { row, id: format!("{} {copy}", sample.id), ..sample.clone() });
        }
        for cell in &cells {
            let mut next = cell.clone();
            next.sample += copy as usize * samples.len();
            next.cell.ordinal += copy * samples.len() as u64 * systems;
            next.judgments.iter_mut().for_each(|it| it.ordinal = next.cell.ordinal);
            run.outputs.insert(next.cell.ordinal, json!("&".repeat(100_000)));
            run.cells.push(next);
        }
    }
    std::sync::Arc::make_mut(&mut run.header.plan).dataset.rows *= 8;
    let mut example = Example::of(run);
    example.context.outputs = Outputs { shown: Some(ShownOutputs::All), cells: 100_000 };
    let text = file(example.report()).unwrap();
    assert!(text.len() <= MOST_BYTES && text.len() > 1_000_000, "{}", text.len());
    let page = Html::parse_document(&text);
    let left_out = texts(&page, "#outputs [data-testid=left-out]");
    assert!(left_out.iter().any(|it| it.contains("cells are not shown") && it.contains("karat view")), "{left_out:?}");
    let outputs = texts(&page, "[data-testid=sample-output] .text-block");
    assert!(!outputs.is_empty() && outputs.len() <= 200 && outputs.iter().all(|it| it.len() <= 4_096 * 3));
}

/// DB-40: `--outputs` says which cells are shown; without it, those that are worth reading, each with the reason.
#[test]
fn cells_worth_reading_are_shown() {
    let shown = |shown: Option<ShownOutputs>, cells: usize| {
        let mut example = Example::new();
        example.context.outputs = Outputs { shown, cells };
        let page = Html::parse_document(&file(example.report()).unwrap());
        (all(&page, "[data-testid=sample-output]"), texts(&page, "[data-testid=excerpt] h4 + p"))
    };
    let (worth, why) = shown(None, 40);
    assert!(worth >= 3, "{worth}");
    for reason in ["There is no output.", "One of the lowest scores."] {
        assert!(why.iter().any(|it| it.contains(reason)), "{reason}: {why:?}");
    }
    assert_eq!(shown(None, 2).0, 2);
    assert_eq!(shown(Some(ShownOutputs::None), 40).0, 0);
    assert_eq!(shown(Some(ShownOutputs::All), 1_000).0, 55);
}

/// DB-11, CL-07: the canonical page has no run id, no latency, nothing of reuse and no amount paid.
#[test]
fn the_canonical_page_is_stable() {
    let page = Html::parse_document(&file(Example::new().canonical().report()).unwrap());
    let shown = texts(&page, "main").concat();
    for word in ["latency", "reused", "Paid", "0198c2f4"] {
        assert!(!shown.contains(word), "{word}");
    }
}

/// DB-11: the page of the example as a reader sees it.
#[test]
fn the_page_of_the_example() {
    let page = run(Example::new().report(), &Links::none()).unwrap();
    let parsed = Html::parse_fragment(&page.body.into_string());
    let text = parsed.root_element().text().map(str::trim).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text);
}
