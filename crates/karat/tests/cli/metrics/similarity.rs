//! The metric `similarity`: vectors of texts, asked for in few requests and made once.

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, Script};

use crate::place::{Place, questions};

/// The vector of a text: the counts of its first letters.
fn vector(text: &str) -> Value {
    let count = |letter: char| text.chars().filter(|it| *it == letter).count() as f64;
    json!(['a', 'e', 'i', 'o', 's', 'w', '1', '2'].map(|letter| 1.0 + count(letter)))
}

/// The answer to a request for vectors, in reverse order: only the index tells what belongs to what.
fn embeddings(body: &Value) -> Behaviour {
    let texts = body["input"].as_array().unwrap();
    let data: Vec<Value> = (texts.iter().enumerate().rev())
        .map(|(index, text)| json!({ "index": index, "embedding": vector(text.as_str().unwrap()) }))
        .collect();
    let tokens: usize = texts.iter().map(|text| text.as_str().unwrap().len()).sum();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    Behaviour::raw(200, json!({ "data": data, "usage": usage }).to_string())
}

fn provider() -> FakeProvider {
    FakeProvider::start(Script::by(|received| embeddings(&received.json()))).unwrap()
}

/// The registry with the model that makes vectors.
fn registry(base_url: &str) -> String {
    let entry = json!({ "id": "vectors", "provider": "openai-compatible", "model": "embed-1", "base_url": base_url,
        "price": { "input": 1.0, "output": 0.0 } });
    json!({ "schema": "karat.models/1", "as_of": "2026-11-01", "models": [entry] }).to_string()
}

/// A suite of recorded outputs that compares each with its target.
fn suite(more: &str) -> String {
    format!(
        r#"name: close
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
registry: [models.yaml]
variants: {{ written: [ {{ recorded: {{ column: answer }} }} ] }}
scorers: {{ close: {{ metric: similarity, with: {{ model: vectors }} }} }}
run: {{ max_concurrency: 8, budget_usd: 1, retries: 0 }}
{more}"#
    )
}

/// Rows whose answers and targets are 40 texts in all.
fn rows(count: usize) -> String {
    let text = |at: usize| format!("answer number {at}: {}", "aeiosw".repeat(at % 7 + 1));
    (0..count)
        .map(|at| json!({ "id": format!("r{at}"), "question": "?", "answer": text(at % 20), "target": text(20 + at % 20) }))
        .map(|row| format!("{row}\n"))
        .collect()
}

fn place(base_url: &str, rows: &str) -> Place {
    let place = Place::new();
    place.write("data.jsonl", rows);
    place.write("models.yaml", &registry(base_url));
    place.write("karat.yaml", &suite(""));
    place
}

fn texts_of(provider: &FakeProvider) -> Vec<usize> {
    provider.received_requests().iter().map(|request| request.json()["input"].as_array().unwrap().len()).collect()
}

/// TG-36: 1,000 cells of 40 texts are 1 request; another run of the store needs none, also after a change of the scorer.
#[test]
fn a_thousand_cells_of_forty_texts_are_one_request() {
    let provider = provider();
    let place = place(&provider.base_url(), &rows(1_000));
    let plan = place.succeed(&["plan"]);
    assert!(plan.stdout.contains("vectors"), "{}", plan.stdout);
    place.succeed(&["run", "--run-id", "a"]);
    assert_eq!(texts_of(&provider), [40]);
    let first = &provider.received_requests()[0];
    assert_eq!((first.path.as_str(), first.header("authorization")), ("/v1/embeddings", None));
    let report = place.report("a");
    let value = report["metrics"]["close"]["value"].as_f64().unwrap();
    assert!(value > 0.9 && value < 1.0, "{value}");
    assert_eq!((&report["metrics"]["close"]["n"], &report["totals"]["errors"]), (&json!(1000), &json!(0)));
    // Every text is paid for once, as the provider counted it; the list price of the cells is counted here.
    let (paid, list) = (&report["cost"]["actual_cost_usd"], &report["cost"]["embedding_cost_usd"]);
    let tokens: u64 =
        first.json()["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().len() as u64).sum();
    assert!((paid.as_f64().unwrap() - tokens as f64 / 1e6).abs() < 1e-9, "{paid}");
    assert!(list.as_f64().unwrap() > 0.0, "{list}");
    place.write("karat.yaml", &suite("").replace("model: vectors }", "model: vectors }, min: 0.5"));
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!(provider.requests(), 1);
}

/// TG-36: at most 128 texts go in one request.
#[test]
fn requests_hold_at_most_128_texts() {
    let provider = provider();
    let rows: String = (0..150)
        .map(|at| {
            format!(
                "{}\n",
                json!({ "id": at, "question": "?", "answer": format!("a{at}"), "target": format!("b{at}") })
            )
        })
        .collect();
    let place = place(&provider.base_url(), &rows);
    place.succeed(&["run", "--run-id", "a"]);
    let sizes = texts_of(&provider);
    assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().all(|size| *size <= 128)), (300, true), "{sizes:?}");
    assert!(sizes.len() <= 4, "{sizes:?}");
}

/// TG-36: the best reference counts; an empty output or reference does not apply.
#[test]
fn the_best_reference_counts() {
    let provider = provider();
    let rows = [
        json!({ "id": "best", "question": "?", "answer": "aaaa", "target": ["sss", "aaaa", ""] }),
        json!({ "id": "empty", "question": "?", "answer": " ", "target": "aaaa" }),
        json!({ "id": "nothing", "question": "?", "answer": "aaaa", "target": "" }),
    ];
    let place = place(&provider.base_url(), &rows.map(|row| format!("{row}\n")).concat());
    place.succeed(&["run", "--run-id", "a"]);
    let report = place.report("a");
    let score = |at: usize| report["cells"][at]["scores"]["close"].clone();
    assert!((score(0)["value"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{}", score(0));
    assert_eq!(score(1)["na"], "the output is empty");
    assert_eq!(score(2)["na"], "no reference");
    assert_eq!(texts_of(&provider), [2]);
}

/// TG-36: a text without its vector is an error of the score, and `retry` asks again.
#[test]
fn missing_vectors_are_an_error() {
    // The first run asks for all four texts, then for halves and single ones, until six answers in a row are empty.
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0..6 => Behaviour::raw(200, r#"{"data":[],"usage":{"prompt_tokens":3}}"#),
        _ => embeddings(&received.json()),
    }))
    .unwrap();
    let place = place(&provider.base_url(), &rows(2));
    let result = place.karat(&["run", "--run-id", "a"]);
    assert!(result.all().contains("the answer holds 0 vectors for 1 text"), "{}", result.all());
    let report = place.report("a");
    assert_eq!((&report["totals"]["unscored"], texts_of(&provider)), (&json!(2), vec![4, 2, 1, 1, 2, 1]));
    // The provider counted 3 tokens each, at $1 a million: an answer that cannot be used is paid all the same.
    assert_eq!(report["cost"]["actual_cost_usd"], json!(0.000018), "{}", report["cost"]);
    place.succeed(&["retry", "a"]);
    assert_eq!((place.report("a")["totals"]["unscored"].clone(), provider.requests()), (json!(0), 7));
}

/// TG-36: an answer with too few vectors costs no text its own: each half is asked for by itself.
#[test]
fn too_few_vectors_are_asked_for_by_halves() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0 => Behaviour::raw(200, r#"{"data":[{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":3}}"#),
        _ => embeddings(&received.json()),
    }))
    .unwrap();
    let place = place(&provider.base_url(), &rows(2));
    place.succeed(&["run", "--run-id", "a"]);
    assert_eq!((&place.report("a")["totals"]["unscored"], texts_of(&provider)), (&json!(0), vec![4, 2, 2]));
}

/// TG-36, BY-05: a text with an unusable vector (zero, or no number) leaves only its own cells unscored, and all is paid.
#[test]
fn one_unusable_vector_costs_no_other_text_its_own() {
    for bad in [json!([0, 0, 0, 0, 0, 0, 0, 0]), json!([1, null, 0, 0, 0, 0, 0, 0])] {
        let bad = bad.clone();
        let provider = FakeProvider::start(Script::by(move |received| {
            let body = received.json();
            let texts = body["input"].as_array().unwrap();
            let vector = |text: &Value| if text == "bad" { bad.clone() } else { vector(text.as_str().unwrap()) };
            let data: Vec<Value> = (texts.iter().enumerate())
                .map(|(index, text)| json!({ "index": index, "embedding": vector(text) }))
                .collect();
            Behaviour::raw(200, json!({ "data": data, "usage": { "prompt_tokens": 15 } }).to_string())
        }))
        .unwrap();
        let row = format!("{}\n", json!({ "id": "bad", "question": "?", "answer": "bad", "target": "aaaa" }));
        let place = place(&provider.base_url(), &(rows(2) + &row));
        place.karat(&["run", "--run-id", "a"]);
        let report = place.report("a");
        assert_eq!((&report["totals"]["unscored"], provider.requests()), (&json!(1), 1), "{report}");
        let reason = &report["cells"][2]["scores"]["close"]["unscored"];
        assert!(reason.as_str().unwrap().contains("a vector without direction for this text"), "{reason}");
        assert_eq!(report["cost"]["actual_cost_usd"], json!(0.000015), "{}", report["cost"]);
    }
}

/// TG-36: one text that the provider refuses costs no other its vector.
#[test]
fn a_refused_text_is_found_by_halves() {
    let provider = FakeProvider::start(Script::by(|received| {
        let body = received.json();
        let is_long = |text: &Value| text.as_str().unwrap().contains("too long");
        match body["input"].as_array().unwrap().iter().any(is_long) {
            true => Behaviour::status(400, "maximum context length is 8192 tokens"),
            false => embeddings(&body),
        }
    }))
    .unwrap();
    let long = format!("{}\n", json!({ "id": "long", "question": "?", "answer": "too long", "target": "aaaa" }));
    let place = place(&provider.base_url(), &(rows(6) + &long));
    let result = place.karat(&["run", "--run-id", "a"]);
    let report = place.report("a");
    assert_eq!(report["totals"]["unscored"], 1, "{}", result.all());
    assert!(report["cells"][6]["scores"]["close"]["unscored"].as_str().unwrap().contains("8192 tokens"), "{report}");
}

/// F23: the same after any failure that one text may cause; where every text fails, the server is left alone soon.
#[test]
fn a_text_that_fails_costs_no_other_its_vector() {
    let failures = [
        Behaviour::status(500, "failed to encode response: json: unsupported value: NaN"),
        Behaviour::raw(200, r#"{"data": [{"index": 0, "embedding": [NaN]}]}"#),
        Behaviour::raw(200, r#"{"data": [{"index": 0, "embedding": []}]}"#),
        Behaviour::raw(200, "<html>Bad gateway</html>"),
    ];
    let bad = format!("{}\n", json!({ "id": "bad", "question": "?", "answer": "poison", "target": "aaaa" }));
    for failure in failures {
        let behaviour = failure.clone();
        let provider = FakeProvider::start(Script::by(move |received| {
            let body = received.json();
            let is_bad = |text: &Value| text.as_str().unwrap().contains("poison");
            let fails = body["input"].as_array().unwrap().iter().any(is_bad);
            if fails { behaviour.clone() } else { embeddings(&body) }
        }))
        .unwrap();
        let place =
            place(&provider.base_url(), &(rows(12) + &bad + &rows(30).lines().skip(12).collect::<Vec<_>>().join("\n")));
        let result = place.karat(&["run", "--run-id", "a"]);
        assert_eq!(place.report("a")["totals"]["unscored"], 1, "{}", result.all());
        assert!(provider.requests() <= 14, "{} requests: {texts:?}", provider.requests(), texts = texts_of(&provider));
        let down = FakeProvider::start(Script::always(failure.clone())).unwrap();
        let place = self::place(&down.base_url(), &rows(30));
        place.karat(&["run", "--run-id", "a"]);
        assert!(down.requests() <= 14, "{} requests", down.requests());
    }
}

/// F24: a path into outputs that are not made yet hides no call of the model that makes vectors, and a row without a
/// reference is not applicable, whatever its place.
#[test]
fn a_path_into_the_output_is_planned() {
    let provider = provider();
    for order in [[0, 1], [1, 0]] {
        let rows = [json!({ "id": "a", "question": "?", "target": "hi" }), json!({ "id": "b", "question": "?" })];
        let place = place(&provider.base_url(), &order.map(|at: usize| format!("{}\n", rows[at])).concat());
        let script = "{\"reply\": \"hi\"}";
        place.write("reply.j2", script);
        let own = json!({ "id": "said", "provider": "scripted", "price": { "input": 0, "output": 0 }, "with": { "reply": "reply.j2" } });
        let suite = suite(&format!("models: [{own}]"))
            .replace("{ recorded: { column: answer } }", "{ prompt: { text: \"{{ input }}\" }, parse: { as: json } }")
            .replace("metric: similarity,", "metric: similarity, output: $.reply,");
        place.write("karat.yaml", &suite);
        assert!(place.karat(&["plan"]).stdout.contains("vectors"), "{order:?}");
        let result = place.karat(&["run", "--run-id", "a"]);
        let report = place.report("a");
        assert_eq!(
            (&report["totals"]["unscored"], &report["metrics"]["close"]["n"]),
            (&json!(0), &json!(1)),
            "{}",
            result.all()
        );
        assert_eq!(report["metrics"]["close"]["value"], 1.0);
    }
}

/// TG-36: the stub needs no network, and models and providers are checked before anything runs.
#[test]
fn models_are_checked_beforehand() {
    let place = place("http://127.0.0.1:9", &rows(4));
    place.write("karat.yaml", &suite("").replace("model: vectors }", "model: stub }"));
    place.succeed(&["run", "--run-id", "a"]);
    assert!(place.report("a")["metrics"]["close"]["value"].as_f64().unwrap() > 0.3);
    for (model, words) in [
        ("vektors", "no model `vektors`; did you mean `vectors`?"),
        ("opnai:text-embedding-3-small", "no provider `opnai`; did you mean `openai`?"),
        ("anthropic:claude-9", "karat has no embeddings of the provider `anthropic`"),
    ] {
        place.write("karat.yaml", &suite("").replace("model: vectors }", &format!("model: \"{model}\" }}")));
        let result = place.karat(&["validate"]);
        assert_eq!(result.code, 1, "{}", result.all());
        assert!(result.all().contains(words), "{words}: {}", result.all());
    }
    place.write("karat.yaml", &suite("").replace("model: vectors }", "dimensions: 0, model: stub }"));
    assert!(place.karat(&["validate"]).all().contains("dimensions"));
}

/// TG-36: the budget counts vectors before they are asked for.
#[test]
fn vectors_are_under_the_budget() {
    let provider = provider();
    let place = place(&provider.base_url(), &rows(40));
    let result = place.karat(&["run", "--run-id", "a", "--budget-usd", "0.0001", "--yes"]);
    assert_eq!((result.code, provider.requests()), (5, 0), "{}", result.all());
    place.succeed(&["resume", "a", "--budget-usd", "1"]);
    assert_eq!(provider.requests(), 1);
}

/// TG-36: a recording holds each text by itself, so a replay in another store finds it.
#[test]
fn vectors_are_recorded_and_replayed() {
    let provider = provider();
    let place = place(&provider.base_url(), &rows(30));
    place.succeed(&["run", "--run-id", "a", "--record", "tape.jsonl"]);
    assert_eq!(provider.requests(), 40);
    let live = place.canonical("a");
    place.succeed(&["run", "--run-id", "b", "--replay", "tape.jsonl", "--store", "sqlite:other.db"]);
    let replayed = place
        .succeed(&["report", "b", "--canonical", "--format", "json", "-o", "-", "--store", "sqlite:other.db"])
        .stdout;
    assert_eq!((provider.requests(), replayed), (40, live));
}

/// TG-36: systems, judges and vectors in one run: cells wait for vectors and are judged afterwards.
#[test]
fn cells_that_wait_are_judged_afterwards() {
    let provider = FakeProvider::start(Script::by(|received| match received.path.ends_with("/embeddings") {
        true => embeddings(&received.json()),
        false => Behaviour::ok("aaaa"),
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(12));
    place.write("models.yaml", &registry(&provider.base_url()));
    let base_url = provider.base_url();
    let own = format!(
        r#"models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{base_url}", price: {{ input: 1.0, output: 2.0 }} }} ]
judges: [stub]
"#
    );
    let suite = suite(&own)
        .replace("{ recorded: { column: answer } }", "{ prompt: { user: \"{{ input }}\" } }")
        .replace("close: {", "good: { rubric: { ask: Is it good? } }, close: {");
    place.write("karat.yaml", &suite);
    place.succeed(&["run", "--run-id", "a", "-j", "2"]);
    let report = place.report("a");
    assert_eq!((&report["totals"]["judgments"], &report["totals"]["unscored"]), (&json!(12), &json!(0)), "{report}");
    assert_eq!(report["metrics"]["close"]["n"], 12);
}

/// SL-07: cells of a run that may stop early do not wait for the texts of later units, which wait for them.
#[test]
fn vectors_do_not_hold_an_early_stop_back() {
    let provider = provider();
    let place = place(&provider.base_url(), &rows(200));
    let suite = place
        .text("karat.yaml")
        .replace("retries: 0 }", "retries: 0, stop_early: true }\ngates: [ { metric: close, min: 0.5 } ]");
    let suite = suite.replace("with: { model: vectors } }", "with: { model: vectors }, min: 0.1 }");
    place.write("karat.yaml", &suite);
    place.succeed(&["run", "--run-id", "a"]);
    let stop = place.report("a")["stop_early"].clone();
    assert!(stop["stopped_after"].as_u64().unwrap() < 200 && stop["claims"][0]["verdict"] == "pass", "{stop}");
}
