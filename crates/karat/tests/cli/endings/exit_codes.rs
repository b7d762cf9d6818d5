//! The last lines of a run, and its exit code.

use testkit::{Behaviour, FakeProvider};

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
    let said = place.fine(&["run"]);
    assert!(said.stdout.contains("verdict fail") && said.stdout.contains(why), "{}", said.all());
    for (arguments, code) in [(["run", "--gate"], 2), (["run", "--no-gate"], 0)] {
        let said = place.karat(&arguments);
        assert!(said.code == code && !said.all().contains(why), "{}", said.all());
    }
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
    let said = place.fine(&["run"]);
    assert!(said.stderr.contains("2 simulated calls; nothing was billed ($0."), "{}", said.all());
    assert!(!said.stderr.contains("paid"), "{}", said.all());
}
