//! `karat compare` of runs in which only a part changed, and what it looks at without being told.

use serde_json::{Value, json};
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions};

/// A suite of four variants against a provider that echoes answers; `last` is the prompt of the fourth.
fn four_variants(name: &str, base_url: &str, last: &str) -> String {
    let variant = |id: &str, prompt: &str| format!("  {id}: [ {{ prompt: {{ text: \"{prompt}\" }} }} ]\n");
    let question = "{{ sample.question }}";
    let variants = [
        variant("plain", question),
        variant("short", &format!("Short: {question}")),
        variant("terse", &format!("Terse: {question}")),
        variant("formal", last),
    ];
    format!(
        "name: {name}\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
         models: [ {{ id: mock, provider: openai, model: mock-model, base_url: \"{base_url}\", price: {{ input: 1.0, output: 2.0 }} }} ]\n\
         variants:\n{}scorers: {{ hit: {{ metric: contains }} }}\nrun: {{ budget_usd: 1000 }}\n",
        variants.concat()
    )
}

/// The prompt of the changed variant before: it does not show the question, so nothing is answered.
const SILENT: &str = "Formal.";

/// The same after the change: it shows the question, but not for three samples.
const SHOWS: &str = "Formal: {{ sample.question if '3' not in sample.id else 'nothing' }}";

fn changed_place(provider: &FakeProvider) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(30));
    place.write("karat.yaml", &four_variants("support", &provider.base_url(), SILENT));
    place.succeed(&["run", "--run-id", "before"]);
    place.write("karat.yaml", &four_variants("support", &provider.base_url(), SHOWS));
    place.succeed(&["run", "--run-id", "after"]);
    place
}

/// C5, BY-01: systems with the same cached results are left out and named; samples that moved are listed with both outputs
/// before the averages, in every format.
#[test]
fn only_the_changed_system_is_compared() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = changed_place(&provider);
    let result = place.succeed(&["compare", "before", "after", "--outputs", "--movers", "2"]).stdout;
    let line = "3 of 4 systems are unchanged (same cached results) and left out: mock/plain, mock/short, mock/terse";
    assert!(result.contains(line), "{result}");
    assert!(result.contains("samples by hit: 27 better, 0 worse, 3 the same"), "{result}");
    assert!(result.contains("listed: the largest 2 of 27 better"), "{result}");
    assert!(result.contains("was: ") && result.contains("now: ") && result.contains("answer 0"), "{result}");
    assert!(result.contains("n = 30 paired"), "{result}");
    let json = place.succeed(&["compare", "before", "after", "--format", "json"]).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["unchanged"], json!(["mock/plain", "mock/short", "mock/terse"]));
    assert_eq!(found["candidate"]["systems"], json!(["mock/formal"]));
    assert!((found["metrics"][0]["difference"]["value"].as_f64().unwrap() - 0.9).abs() < 1e-9, "{json}");
    assert_eq!(found["movers"][0]["n_better"], 27);
    assert!(found["movers"][0]["better"][0].get("outputs").is_none());
    place.succeed(&["compare", "before", "after", "--outputs", "-o", "out", "--format", "md,json,html"]);
    let page = place.text("out/compare.html");
    assert!(page.contains("data-testid=\"forest\"") && page.contains("left out"), "{page}");
    assert!(page.contains("data-testid=\"diff\"") && page.contains("What differs"), "{page}");
    assert!(place.text("out/compare.md").contains("| better |"));
    let outputs = &serde_json::from_str::<Value>(&place.text("out/compare.json")).unwrap()["movers"][0]["better"][0];
    assert!(outputs["outputs"]["candidate"]["text"].as_str().unwrap().contains("answer"), "{outputs}");
    // Backwards, the earlier run's other systems are still the same results.
    let turned = place.karat(&["compare", "after", "before", "--fail-on", "worse"]);
    assert!(turned.code == 2 && turned.stdout.contains("27 worse"), "{}", turned.all());
}

/// C5: runs in which nothing changed, and runs whose cells were all made again, are compared as a whole.
#[test]
fn equal_runs_say_so_in_plain_words() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(30));
    place.write("karat.yaml", &four_variants("support", &provider.base_url(), SILENT));
    for (run, extra) in [("a", &[][..]), ("b", &[]), ("c", &["--no-cache"])] {
        place.succeed(&[&["run", "--run-id", run], extra].concat());
    }
    let equal = "no difference: all 30 samples scored the same in both runs; this does not prove equality, set a margin to test for it";
    let same = place.succeed(&["compare", "a", "b"]).stdout;
    assert!(same.contains("all 4 systems are unchanged (same cached results)") && same.contains(equal), "{same}");
    let again = place.succeed(&["compare", "a", "c"]).stdout;
    assert!(
        !again.contains("unchanged") && again.contains(equal) && again.contains("average over 4 systems"),
        "{again}"
    );
}

/// C5, BY-01: several changed systems have a row each, before their average.
#[test]
fn each_changed_system_has_a_row() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = changed_place(&provider);
    let suite = place.text("karat.yaml").replace("Terse: {{ sample.question }}", "Terse.");
    place.write("karat.yaml", &suite);
    place.succeed(&["run", "--run-id", "third"]);
    let result = place.succeed(&["compare", "before", "third"]).stdout;
    assert!(result.contains("2 of 4 systems are unchanged"), "{result}");
    let (systems, movers) = (result.find("each system (").unwrap(), result.find("samples by hit").unwrap());
    let average = result.find("average over 2 systems:").unwrap();
    assert!(systems < movers && movers < average, "{result}");
    assert!(result.contains("corrected by Holm over 2 tests of systems and metrics"), "{result}");
    let page = place.succeed(&["compare", "before", "third", "--format", "md"]).stdout;
    let (each, mean) = (page.find("## Each system").unwrap(), page.find("## Average over systems").unwrap());
    assert!(each < mean && page.contains("| mock/terse |"), "{page}");
}

/// C, D41: without a run, models and variants are those of the latest run of this folder's suite; an unknown name lists its
/// runs, models and variants.
#[test]
fn the_default_run_is_of_this_folders_suite() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = changed_place(&provider);
    place.write("other.yaml", &four_variants("other", &provider.base_url(), SHOWS).replace("plain", "large"));
    place.succeed(&["run", "other.yaml", "--run-id", "elsewhere"]);
    let result = place.succeed(&["compare", "plain", "formal"]).stdout;
    assert!(result.contains("on both sides") || result.contains("samples by hit"), "{result}");
    place.succeed(&["compare", "--variants", "plain", "formal"]);
    let unknown = place.karat(&["compare", "plain", "large"]);
    assert_eq!(unknown.code, 1, "{}", unknown.all());
    for part in [
        "`large` is not a stored run",
        "the newest runs of support: after, before",
        "variants: plain, short, terse, formal",
    ] {
        assert!(unknown.stderr.contains(part), "{part}: {}", unknown.all());
    }
    place.succeed(&["compare", "large", "formal", "--run", "elsewhere"]);
    place.write("karat.yaml", &four_variants("fresh", &provider.base_url(), SHOWS));
    let none = place.karat(&["compare", "plain", "formal"]);
    assert!(none.code == 1 && none.stderr.contains("the suite fresh has no stored run"), "{}", none.all());
}

/// C5: an output can show nothing but text in any format.
#[test]
fn hostile_outputs_are_only_shown() {
    let place = Place::new();
    let hostile = "<script>alert(1)</script> | `x` \u{1b}[31m [l](javascript:x)";
    let rows = |reply: &str| -> String {
        (0..12).map(|at| json!({"id": format!("q{at}"), "target": "yes", "reply": reply}).to_string() + "\n").collect()
    };
    place.write("old.jsonl", &rows("yes"));
    place.write("new.jsonl", &rows(hostile));
    let step = |name: &str| format!("[ {{ recorded: {{ from: {name}.jsonl, column: reply }} }} ]");
    place.write("data.jsonl", &rows(""));
    place.write(
        "karat.yaml",
        &format!(
            "name: h\ndataset: {{ source: data.jsonl, id: id, reference: target }}\nvariants:\n  old: {}\n  new: {}\n\
             scorers: {{ hit: {{ metric: contains }} }}\n",
            step("old"),
            step("new")
        ),
    );
    place.succeed(&["run"]);
    let terminal = place.succeed(&["compare", "old", "new", "--outputs"]).stdout;
    assert!(terminal.contains("now: <script>") && !terminal.contains('\u{1b}'), "{terminal}");
    let page = place.succeed(&["compare", "old", "new", "--outputs", "--format", "html"]).stdout;
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(!page.contains("href=\"javascript") && page.contains("&lt;script"), "{page}");
}
