//! The last lines of a run, and its exit code.

use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// B5: a verdict that fails beside an exit code of 0 says why: the suite lets gates decide on request only.
#[test]
fn a_failed_verdict_that_does_not_bind_says_so() {
    let provider = FakeProvider::start(Behaviour::ok("no")).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    let gates = "gates: [ { metric: hit, min: 100% } ]\n";
    let text = format!("{}{gates}policy: {{ enforce: on_request }}\n", suite(&provider.base_url()));
    place.write("karat.yaml", &text);
    let why = "the gates do not decide the exit code, because the suite says `enforce: on_request`";
    let result = place.succeed(&["run"]);
    assert!(result.stdout.contains("verdict fail") && result.stdout.contains(why), "{}", result.all());
    for (arguments, code) in [(["run", "--gate"], 2), (["run", "--no-gate"], 0)] {
        let result = place.karat(&arguments);
        assert!(result.code == code && !result.all().contains(why), "{}", result.all());
    }
}

/// F36: a scripted judge beside a real model is simulated call by call: it is neither paid nor budgeted, whatever its price;
/// the demonstration of a preset is not paid either.
#[test]
fn simulated_calls_beside_real_ones_cost_nothing() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    let judge = "judges: [ { id: toy, provider: scripted, with: { reply: '{\"good\": 4}' }, price: { input: 100000, output: 100000 } } ]";
    let rubric = "rubric: { ask: Is it good?, reply: flat, dimensions: { good: { definition: good, scale: [1, 5] } } }";
    let scorers = format!("{judge}\nscorers: {{ q: {{ {rubric} }} }}");
    place.write("karat.yaml", &suite(&provider.base_url()).replace("scorers: { hit: { metric: contains } }", &scorers));
    place.succeed(&["run", "--run-id", "a", "--budget-usd", "0.2"]);
    let cost = &place.report("a")["cost"];
    assert_eq!((cost["judge_cost_usd"].as_f64(), provider.requests()), (Some(0.0), 5), "{cost}");
    assert!(cost["actual_cost_usd"].as_f64().is_some_and(|paid| paid > 0.0 && paid < 0.01), "{cost}");
    let result = place.succeed(&["run", "rag", "--no-gate", "--limit", "3"]);
    assert!(result.stderr.contains("3 simulated calls; nothing was billed"), "{}", result.all());
}

/// B5: calls of scripted models are simulated, and nothing was paid for them.
#[test]
fn simulated_calls_are_not_paid() {
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    place.write(
        "karat.yaml",
        "name: t\ndataset: { source: data.jsonl, id: id }\n\
         models: [ { id: mine, provider: scripted, model: m, with: { reply: hi }, price: { input: 1000, output: 1000 } } ]\n\
         variants: { direct: [ { prompt: { text: \"{{ sample.question }}\" } } ] }\n\
         scorers: { hit: { metric: contains, value: hi } }\n",
    );
    let result = place.succeed(&["run"]);
    assert!(result.stderr.contains("2 simulated calls; nothing was billed ($0."), "{}", result.all());
    assert!(!result.stderr.contains("paid"), "{}", result.all());
}
