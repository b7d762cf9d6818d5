//! Inputs, outputs, scores and reasons of a run, wherever people look for them.

use serde_json::Value;

use crate::place::Place;

/// Two systems, three samples, a check and a judge; `v1` fails the second sample, and its third output is long.
const SUITE: &str = r#"name: tickets
dataset: { source: data.jsonl, id: id, input: ticket, reference: category }
models:
  - id: small
    provider: scripted
    with: { reply: '{% if "long" in user %}{{ "words and more words. " * 200 }}{% elif "Refund" in user and "money" not in user %}question{% else %}billing{% endif %}' }
judges:
  - { id: grader, provider: scripted, with: { reply: '{"pass": "pass", "reasoning": "It answers the ticket."}' } }
variants:
  v1: [ { prompt: { text: "Sort: {{ sample.ticket }}" } } ]
  v2: [ { prompt: { text: "Sort, billing is about money: {{ sample.ticket }}" } } ]
scorers:
  category: { metric: label }
  polite: { rubric: { ask: Is it polite?, show: { reply: "{{ output }}" }, rationale: { field: reasoning } } }
gates: [ { metric: category, min: 90%, where: "variant == 'v1'" } ]
policy: { enforce: on_request }
"#;

const DATA: &str = "{\"id\":\"t1\",\"ticket\":\"I was charged twice.\",\"category\":\"billing\"}
{\"id\":\"t2\",\"ticket\":\"Refund my invoice.\",\"category\":\"billing\"}
{\"id\":\"t3\",\"ticket\":\"A long one.\",\"category\":\"billing\"}
";

fn ran(suite: &str) -> Place {
    let place = Place::new();
    place.write("karat.yaml", suite);
    place.write("data.jsonl", DATA);
    place.succeed(&["run", "-q", "--run-id", "a", "--format", "md,html,json,csv"]);
    place
}

/// Field test C1: reports hold input, output, reference, scores and reasons of failed cells; `--outputs` chooses.
#[test]
fn reports_hold_inputs_and_outputs() {
    let place = ran(SUITE);
    let page = place.text(".karat/runs/a/report.md");
    for part in [
        "## Inputs and outputs",
        "**input**",
        "Refund my invoice.",
        "**reference**",
        "question",
        "`small/v1` (below a threshold)",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("I was charged twice."), "a passing cell is not shown: {page}");
    let html = place.text(".karat/runs/a/report.html");
    assert!(html.contains("Refund my invoice.") && html.contains("<details"), "{html}");
    let report = |flags: &[&str]| place.succeed(&[&["report", "a", "-o", "-"], flags].concat()).stdout;
    let all = report(&["--outputs", "all"]);
    assert!(all.contains("I was charged twice.") && all.contains("polite by grader"), "{all}");
    assert!(!report(&["--outputs", "none"]).contains("Inputs and outputs"));
    assert!(report(&["--outputs", "all", "--cells", "1"]).contains("1 of 6 cells are shown"));
    let csv = place.text(".karat/runs/a/cells.csv");
    assert!(csv.contains("Refund my invoice.,question,billing,"), "{csv}");
}

/// Field test B2: `show SUITE` has the columns of the suite; `headline` chooses the metrics; a mistyped one is an error.
#[test]
fn rows_of_a_suite_have_its_columns() {
    let place = ran(SUITE);
    let rows = place.succeed(&["show", "tickets", "--format", "tsv"]).stdout;
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines[0], "sample\tsystem\ttrial\tcategory\tpolite\tverdict\tcost\trun");
    assert_eq!(lines[3], "t2\tsmall/v1\t0\t0.000\t1.000\tfail\t$0\ta", "{rows}");
    assert_eq!(lines.len(), 7, "{rows}");
    place.write("karat.yaml", &format!("{SUITE}headline: [polite]\n"));
    place.succeed(&["run", "-q", "--run-id", "b"]);
    let json: Value = serde_json::from_str(&place.succeed(&["show", "tickets", "--json"]).stdout).unwrap();
    assert_eq!((json.as_array().unwrap().len(), &json[0]["run"]), (6, &Value::from("b")), "{json}");
    assert_eq!(json[0]["scores"].as_object().unwrap().keys().collect::<Vec<_>>(), ["polite"]);
    let summary = place.succeed(&["report", "b"]).stdout;
    assert!(summary.contains("polite") && !summary.contains("category  "), "{summary}");
    place.write("karat.yaml", &format!("{SUITE}headline: [polit]\n"));
    let refused = place.karat(&["validate"]);
    assert!(refused.code == 1 && refused.stderr.contains("did you mean `polite`?"), "{}", refused.all());
}

/// Field test C1: `show --sample` prints the outputs of all systems one under the other, for a run or a suite.
#[test]
fn a_sample_shows_all_systems() {
    let place = ran(SUITE);
    let text = place.succeed(&["show", "a", "--sample", "t2"]).stdout;
    let parts =
        ["sample t2", "input: Refund my invoice.", "reference: billing", "── small/v1 (cell 2, below a threshold) ──"];
    let more = ["output: question", "── small/v2 (cell 3) ──", "output: billing"];
    let places: Vec<usize> =
        parts.iter().chain(&more).map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"))).collect();
    assert!(places.is_sorted(), "{text}");
    assert_eq!(text.matches("reason of polite by grader: It answers the ticket.").count(), 2, "{text}");
    assert_eq!(place.succeed(&["show", "tickets", "--sample", "t2"]).stdout, text);
    let failed = place.succeed(&["show", "a", "--outputs", "failed"]).stdout;
    assert!(
        failed.contains("── small/v1 (cell 2, below a threshold) ──") && !failed.contains("I was charged"),
        "{failed}"
    );
    let missing = place.karat(&["show", "a", "--sample", "t9"]);
    assert!(missing.code == 1 && missing.stderr.contains("no cell of the sample `t9`"), "{}", missing.all());
    let json: Value = serde_json::from_str(&place.succeed(&["show", "a", "--sample", "t2", "--json"]).stdout).unwrap();
    assert_eq!((&json[0]["output"], &json[0]["texts"][0]["text"]), (&"question".into(), &"Refund my invoice.".into()));
}

/// Field test C: `trace` prints messages as text, then the reply, scores and reasons; `--raw` prints what was sent.
#[test]
fn a_trace_is_text() {
    let place = ran(SUITE);
    let text = place.succeed(&["trace", "a", "2"]).stdout;
    let parts =
        ["[user]\nSort: Refund my invoice.", "[reply]\nquestion", "── output ──", "── scores ──", "category 0.000"];
    let places: Vec<usize> =
        parts.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"))).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains("── judgment of polite by grader ──") && !text.contains("\"messages\""), "{text}");
    let raw = place.succeed(&["trace", "a", "2", "--raw"]).stdout;
    assert!(raw.contains("\"messages\":[{\"role\":\"user\""), "{raw}");
}

/// Field test C: `ls` shows verdict, headline metric and cost.
#[test]
fn a_list_shows_verdict_metric_and_cost() {
    let place = ran(SUITE);
    let list = place.succeed(&["ls"]).stdout;
    let words: Vec<&str> = list.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(words[..8], ["a", "tickets", "finished", "6/6", "0", "fail", "category", "0.500"], "{list}");
    let json: Value = serde_json::from_str(&place.succeed(&["ls", "--json"]).stdout).unwrap();
    assert_eq!((&json[0]["verdict"], &json[0]["simulated"]), (&"fail".into(), &true.into()), "{json}");
}

/// Field test S3: a long output is a reference in report.json that says where the whole is; `export jsonl` has it whole.
#[test]
fn long_outputs_are_whole_in_an_export() {
    let place = ran(SUITE);
    let report = place.report("a");
    let reference = &report["cells"][4]["output_ref"];
    assert!(reference["bytes"].as_u64().unwrap() > 4_000, "{reference}");
    assert!(reference["see"].as_str().unwrap().contains("karat export jsonl"), "{reference}");
    let lines = place.succeed(&["export", "jsonl", "a"]).stdout;
    let cell: Value = serde_json::from_str(lines.lines().nth(4).unwrap()).unwrap();
    assert!(cell["output"].as_str().unwrap().len() > 4_000 && cell.get("output_ref").is_none(), "{cell}");
}

/// RG-15, field test C1: a suite that keeps no content, or only hashes of requests, stores no text of a row.
#[test]
fn texts_of_rows_are_kept_as_requests_are() {
    for keys in ["privacy: { keep_content: false }\n", "run: { capture: responses }\n"] {
        let place = ran(&format!("{SUITE}{keys}"));
        let page = place.succeed(&["report", "a", "--outputs", "all", "-o", "-"]).stdout;
        assert!(!page.contains("Refund my invoice."), "{page}");
        assert!(page.contains("Its input is not stored: the suite keeps no content of samples."), "{page}");
        let store = std::fs::read(place.path().join(".karat/karat.db")).unwrap();
        let holds = |text: &str| store.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!holds("Refund my invoice"), "{keys}");
    }
    let place = ran(&format!("{SUITE}privacy: {{ patterns: {{ money: 'invoice' }} }}\n"));
    let page = place.succeed(&["report", "a", "--outputs", "all", "-o", "-"]).stdout;
    assert!(page.contains("Refund my [money]."), "{page}");
}

/// Field test C: the report begins with the verdict and names the failed checks; hashes are at its end; no emoji.
#[test]
fn a_report_begins_with_the_verdict() {
    let place = ran(SUITE);
    let page = place.text(".karat/runs/a/report.md");
    let order = [
        "**Verdict:** **fail**: 1 of 1 check: `category ≥ 0.9 (small/v1)`",
        "## Recommendations",
        "## Gates",
        "## Summary table",
        "## How this number was made",
        "plan: `",
    ];
    let places: Vec<usize> =
        order.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"))).collect();
    assert!(places.is_sorted(), "{page}");
    assert!(page.chars().all(|c| c < '\u{1f000}' && !('\u{2b00}'..'\u{2c00}').contains(&c)), "{page}");
    let html = place.text(".karat/runs/a/report.html");
    let order = ["data-testid=\"verdict\" data-verdict=\"fail\"", "<caption>Gates</caption>", "id=\"metrics\""];
    let places: Vec<usize> = order.iter().map(|part| html.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{html}");
}

/// Field test C12: the summary shows every headline metric with its interval, the judge's among them, in 80 columns.
#[test]
fn a_summary_shows_all_headline_metrics() {
    let place = ran(SUITE);
    let summary = place.succeed(&["report", "a"]).stdout;
    let table: Vec<&str> = summary.lines().filter(|line| line.contains("small/v") && line.contains(" to ")).collect();
    assert!(summary.contains("category") && summary.contains("polite"), "{summary}");
    assert!(table.iter().all(|line| line.chars().count() <= 80), "{summary}");
    let intervals: usize = table.iter().map(|line| line.matches(" to ").count()).sum();
    assert!(intervals >= 4, "{summary}");
}

/// Field test B4: one judge is not a warning where the suite asks for no number of judges.
#[test]
fn one_judge_is_enough_unless_several_are_asked_for() {
    let place = Place::new();
    let result = place.succeed(&["validate", "claims"]);
    assert!(!result.stderr.contains("a consensus of"), "{}", result.all());
}
