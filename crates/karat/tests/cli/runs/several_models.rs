//! Several models in one run: a slow one does not delay the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use testkit::{Behaviour, Echo, FakeProvider, RequestLog, Script};

use crate::place::{Place, questions};

const CELLS: usize = 40;

/// BY-05: cells of a fast model continue while those of a slow one wait, although there are fewer slots than cells of
/// either; all cells finish.
#[test]
fn a_slow_model_does_not_delay_a_fast_one() {
    let slow = Echo { latency: Duration::from_millis(250), ..Echo::default() };
    let slow = Arc::new(FakeProvider::start_on(0, Script::echo(slow), RequestLog::Counts).unwrap());
    let slow_calls = Arc::new(AtomicUsize::new(0));
    let script = {
        let (slow, slow_calls) = (slow.clone(), slow_calls.clone());
        Script::by(move |received| {
            slow_calls.store(slow.requests(), Ordering::Relaxed);
            Behaviour::ok(received.number.to_string())
        })
    };
    let fast = FakeProvider::start_on(0, script, RequestLog::Counts).unwrap();
    let place = two_models(&slow, &fast, 4);
    place.succeed(&["run", "-q", "--run-id", "a"]);
    assert_eq!((slow.requests(), fast.requests()), (CELLS, CELLS));
    let before = slow_calls.load(Ordering::Relaxed);
    assert!(before < CELLS * 3 / 4, "{before} calls of the slow model before the last of the fast one");
    let report = place.report("a");
    assert_eq!((report["totals"]["cells"].as_u64(), report["totals"]["errors"].as_u64()), (Some(80), Some(0)));
    let places: Vec<(String, String)> = report["cells"].as_array().unwrap().iter().map(place_of).collect();
    assert_eq!(places[..2], [("q0".to_owned(), "slow".to_owned()), ("q0".to_owned(), "fast".to_owned())]);
}

/// BY-05: nor at the start, when all slots are free: a model that does not answer would keep them until its calls time out.
#[test]
fn a_slow_model_does_not_take_all_slots_at_the_start() {
    let slow = Script::by(|received| {
        let text = received.number.to_string();
        if received.number <= 16 { Behaviour::slow(1000, text) } else { Behaviour::ok(text) }
    });
    let slow = Arc::new(FakeProvider::start_on(0, slow, RequestLog::Counts).unwrap());
    let (halfway, asked) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let script = {
        let (slow, halfway) = (slow.clone(), halfway.clone());
        Script::by(move |received| {
            if asked.fetch_add(1, Ordering::Relaxed) + 1 == CELLS / 2 {
                halfway.store(slow.requests(), Ordering::Relaxed);
            }
            Behaviour::ok(received.number.to_string())
        })
    };
    let fast = FakeProvider::start_on(0, script, RequestLog::Counts).unwrap();
    two_models(&slow, &fast, 16).succeed(&["run", "-q"]);
    assert_eq!((slow.requests(), fast.requests()), (CELLS, CELLS));
    let halfway = halfway.load(Ordering::Relaxed);
    assert!((1..=12).contains(&halfway), "{halfway} calls of the slow model before the fast one was half done");
}

/// BY-09: a cell starts when its model's call will soon have a slot, so the last rows start after most calls are made,
/// whichever of four models reaches them first.
#[test]
fn cells_start_when_slots_are_free() {
    const ROWS: usize = 120;
    const SLOTS: usize = 32;
    let models: Vec<_> = (0..4)
        .map(|_| {
            Arc::new(FakeProvider::start_on(0, Script::always(Behaviour::slow(50, "x")), RequestLog::Counts).unwrap())
        })
        .collect();
    let made = Arc::new(AtomicUsize::new(0));
    let service = {
        let (models, made, asked) = (models.clone(), made.clone(), AtomicUsize::new(0));
        Script::by(move |_| {
            if asked.fetch_add(1, Ordering::Relaxed) + 1 == ROWS {
                made.store(models.iter().map(|model| model.requests()).max().unwrap_or(0), Ordering::Relaxed);
            }
            Behaviour::raw(200, r#"{"text":"found"}"#)
        })
    };
    let service = FakeProvider::start_on(0, service, RequestLog::Counts).unwrap();
    let model = |(at, model): (usize, &Arc<FakeProvider>)| {
        format!("{{ id: m{at}, provider: openai, model: m{at}, base_url: \"{}\" }}", model.base_url())
    };
    let of: Vec<_> = models.iter().enumerate().map(model).collect();
    let place = Place::new();
    place.write("data.jsonl", &questions(ROWS));
    place.write(
        "karat.yaml",
        &format!(
            r#"name: ahead
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
models: [ {} ]
variants:
  found:
    - {{ id: search, version: v1, http: {{ url: "{}", body: {{ q: "{{{{ input }}}}" }} }}, take: {{ found: $.text }} }}
    - {{ prompt: {{ text: "{{{{ sample.question }}}} {{{{ output.found }}}}" }} }}
scorers: {{ hit: {{ metric: contains }} }}
run: {{ max_concurrency: {SLOTS} }}
"#,
            of.join(", "),
            service.base_url().replace("/v1", "/search"),
        ),
    );
    place.succeed(&["run", "-q"]);
    assert_eq!(service.requests(), ROWS);
    // A share is eight: as many in flight, as many ready, and as many that are on their way to the line.
    let made = made.load(Ordering::Relaxed);
    assert!(ROWS - made < SLOTS * 3 / 4, "{made} of {ROWS} calls had been sent when the last row was taken up");
}

/// Both models asked for the same questions, so many calls in flight.
fn two_models(slow: &FakeProvider, fast: &FakeProvider, slots: usize) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    let model = |id: &str, url: &str| format!("{{ id: {id}, provider: openai, model: {id}, base_url: \"{url}\" }}");
    place.write(
        "karat.yaml",
        &format!(
            "name: fair\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
             models: [ {}, {} ]\nvariants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
             scorers: {{ hit: {{ metric: contains }} }}\nrun: {{ max_concurrency: {slots} }}\n",
            model("slow", &slow.base_url()),
            model("fast", &fast.base_url()),
        ),
    );
    place
}

fn place_of(cell: &serde_json::Value) -> (String, String) {
    let text = |name: &str| cell[name].as_str().unwrap_or_default().to_owned();
    (text("sample"), text("model"))
}
