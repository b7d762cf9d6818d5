//! Several models in one run: none is in the way of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use testkit::{Echo, FakeProvider, Memory, Script};

use crate::place::{Place, questions};

const CELLS: usize = 40;

/// BY-05: the cells of a fast model go on while those of a slow one wait, though four slots are fewer than either has
/// cells; and in the end all are there.
#[test]
fn a_slow_model_is_not_in_the_way_of_a_fast_one() {
    let slow = Echo { latency: Duration::from_millis(250), ..Echo::default() };
    let slow = Arc::new(FakeProvider::start_on(0, Script::echo(slow), Memory::Counts).unwrap());
    let slow_calls = Arc::new(AtomicUsize::new(0));
    let script = {
        let (slow, slow_calls) = (slow.clone(), slow_calls.clone());
        Script::by(move |received| {
            slow_calls.store(slow.requests(), Ordering::Relaxed);
            testkit::Behaviour::ok(received.number.to_string())
        })
    };
    let fast = FakeProvider::start_on(0, script, Memory::Counts).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    let model = |id: &str, url: &str| format!("{{ id: {id}, provider: openai, model: {id}, base_url: \"{url}\" }}");
    place.write(
        "karat.yaml",
        &format!(
            "name: fair\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
             models: [ {}, {} ]\nvariants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
             scorers: {{ hit: {{ metric: contains }} }}\nrun: {{ max_concurrency: 4 }}\n",
            model("slow", &slow.base_url()),
            model("fast", &fast.base_url()),
        ),
    );
    place.fine(&["run", "-q", "--run-id", "a"]);
    assert_eq!((slow.requests(), fast.requests()), (CELLS, CELLS));
    let before = slow_calls.load(Ordering::Relaxed);
    assert!(before < CELLS * 3 / 4, "{before} calls of the slow model before the last of the fast one");
    let report = place.report("a");
    assert_eq!((report["totals"]["cells"].as_u64(), report["totals"]["errors"].as_u64()), (Some(80), Some(0)));
    let places: Vec<(String, String)> = report["cells"].as_array().unwrap().iter().map(place_of).collect();
    assert_eq!(places[..2], [("q0".to_owned(), "slow".to_owned()), ("q0".to_owned(), "fast".to_owned())]);
}

fn place_of(cell: &serde_json::Value) -> (String, String) {
    let text = |name: &str| cell[name].as_str().unwrap_or_default().to_owned();
    (text("sample"), text("model"))
}
