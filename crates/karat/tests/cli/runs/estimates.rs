//! Estimates of calls and cost before a run.

use serde_json::{Value, json};
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};
use crate::runs::budgets::{metered, place};

/// BY-05, CL-22: a step that reads the output of another is estimated by its own prompt, and refuses no budget that suffices.
#[test]
fn later_steps_are_estimated_by_their_prompts() {
    let (_provider, place) = place(Script::echo(Echo::default()), 20, "{ trials: 1 }");
    let direct = "  direct: [ { prompt: { text: \"{{ sample.question }}\" } } ]";
    let two = "  two: [ { use: direct }, { id: next, prompt: { text: \"next {{ output }}\" } } ]";
    let variants = format!("variants:\n{direct}\n{two}\n");
    let text = place.text("karat.yaml").replace("max_output: 100", "max_output: 50");
    let (before, after) = text.split_once("variants:").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    place.write("karat.yaml", &format!("{before}{variants}{after}"));
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--variants", "two", "--json"]).stdout).unwrap();
    let most = plan["models"][0]["input_tokens"][1].as_u64().unwrap();
    // Questions of some ten tokens, and prompts of 50 and a few.
    assert!(most < 20 * 80, "{plan}");
}

/// BY-05: with a run of the same systems behind it, an estimate is within a fifth of what it costs, whatever the provider
/// counts as a token.
#[test]
fn an_estimate_goes_by_what_was_paid() {
    let provider = FakeProvider::start(Script::by(|received| {
        let reply = if received.body.len() % 2 == 0 { "a word" } else { r#"{"good": 4}"# };
        let reply = if received.json()["model"] == "judge" { r#"{"good": 4}"# } else { reply };
        let usage =
            json!({ "prompt_tokens": received.body.len() / 2, "completion_tokens": 5 + received.body.len() % 9 });
        Behaviour::Usage(reply.to_owned(), Some(usage))
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(30));
    let judge = format!(
        "judges: [ {{ id: judge, provider: openai, model: judge, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }} ]\nscorers: {{ q: {{ rubric: {{ ask: Is it good?, reply: flat, dimensions: {{ good: {{ definition: good, scale: [1, 5] }} }} }} }} }}",
        provider.base_url()
    );
    let text = suite(&provider.base_url()).replace("scorers: { hit: { metric: contains } }", &judge);
    place.write("karat.yaml", &text);
    place.succeed(&["run", "--run-id", "a"]);
    is_expected_to_cost_the_same(&place);
}

/// F35: a first plan counts what is sent to a judge, not what its model could answer nor columns that its rubric does not read,
/// says that it is a guess, and brackets what is paid; after ten samples it is within a factor of two, also where replies differ and a later run had other judges.
#[test]
fn ten_samples_tell_what_a_run_costs() {
    let provider = FakeProvider::start(Script::by(|received| {
        let length = received.body.len();
        let (reply, tokens) = match received.json()["model"] == "judge" {
            true => (r#"{"good": 4}"#, 40 + length % 60),
            false => ("a word", 100 + length % 7 * 60),
        };
        Behaviour::Usage(reply.to_owned(), Some(json!({ "prompt_tokens": length / 5, "completion_tokens": tokens })))
    }))
    .unwrap();
    let place = Place::new();
    let long = |at: usize| " and more of it".repeat(at * 7 % 11);
    let rows: Vec<String> = (0..80)
        .map(|at| {
            json!({ "id": format!("q{at}"), "question": format!("what is {at}{}", long(at)), "target": "x",
                "notes": { "unread": "many words that nobody sends ".repeat(900) } })
        })
        .map(|row| row.to_string())
        .collect();
    place.write("data.jsonl", &rows.join("\n"));
    let judge = |id: &str, name: &str| {
        format!(
            "{{ id: {id}, provider: openai, model: {name}, max_output: 64000, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }}",
            provider.base_url()
        )
    };
    let rubric = "rubric: { ask: Is it good?, reply: flat, dimensions: { good: { definition: good, scale: [1, 5] } } }";
    let text = suite(&provider.base_url()).replace(
        "scorers: { hit: { metric: contains } }",
        &format!("judges: [ {} ]\nscorers: {{ q: {{ {rubric} }} }}", judge("judge", "judge")),
    );
    place.write("karat.yaml", &text);
    let plan = || -> Value { serde_json::from_str(&place.succeed(&["plan", "--no-cache", "--json"]).stdout).unwrap() };
    let first = plan();
    let of_judge = first["models"].as_array().unwrap().iter().find(|it| it["judge"] == true).unwrap();
    // Each of the two calls that a card may take is sent with 4,000.
    assert_eq!(of_judge["output_tokens"][1].as_u64().unwrap() % (80 * 4_000), 0, "{first}");
    assert_eq!(first["is_guess"], true, "{first}");
    let result = place.succeed(&["plan", "--no-cache"]);
    assert!(
        result.stdout.contains("a guess:") && result.stdout.contains("`karat run --limit 10`"),
        "{}",
        result.stdout
    );
    place.succeed(&["run", "--limit", "10", "--run-id", "ten"]);
    // A later run with another judge tells nothing of this one, and takes nothing away.
    place.write("karat.yaml", &text.replace(&judge("judge", "judge"), &judge("other", "judge")));
    place.succeed(&["run", "--limit", "3", "--run-id", "other"]);
    place.write("karat.yaml", &text);
    let second = plan();
    place.succeed(&["run", "--no-cache", "--run-id", "a", "--yes"]);
    let paid = place.report("a")["cost"]["actual_cost_usd"].as_f64().unwrap();
    let end = |plan: &Value, end: usize| plan["cost_usd"][end].as_f64().unwrap();
    assert!(end(&first, 0) <= paid && paid <= end(&first, 1), "{paid}: {first}");
    assert!(end(&second, 0) >= paid / 2.0 && end(&second, 1) <= paid * 2.0, "{paid}: {second}");
    assert_eq!(second["is_guess"], false, "{second}");
    assert!(!place.succeed(&["plan", "--no-cache"]).stdout.contains("a guess"));
}

/// The plan of the run `a`, made again, is expected to cost within 20 % of what that was.
fn is_expected_to_cost_the_same(place: &Place) {
    let paid = place.report("a")["cost"]["actual_cost_usd"].as_f64().unwrap();
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--no-cache", "--json"]).stdout).unwrap();
    for end in [0, 1] {
        let expected = plan["cost_usd"][end].as_f64().unwrap();
        assert!((0.8 * paid..=1.2 * paid).contains(&expected), "{paid}: {plan}");
    }
}

/// BY-05: prompts are known before they are sent: those that are longer than what was looked at in the earlier run cost more.
#[test]
fn an_estimate_goes_by_the_length_of_each_prompt() {
    let script = Script::by(|received| {
        let usage = json!({ "prompt_tokens": received.body.len() / 4, "completion_tokens": 5 });
        Behaviour::Usage("a word".to_owned(), Some(usage))
    });
    let (provider, place) = place(script, 2_000, "{ max_concurrency: 32 }");
    let long = |at: usize| {
        format!("{{\"id\":\"long{at}\",\"question\":\"{at}{}\",\"target\":\"x\"}}\n", " long words".repeat(900))
    };
    place.write("data.jsonl", &(questions(2_000) + &(0..20).map(long).collect::<String>()));
    place.succeed(&["run", "--run-id", "a", "--yes"]);
    is_expected_to_cost_the_same(&place);
    // The last rows alone, too: they were not estimated before, and the token count of the provider is unknown.
    let rows: Vec<String> = (0..20).map(|at| format!("long{at}")).collect();
    let arguments = ["plan", "--no-cache", "--json", "--sample", &rows.join(",")];
    let plan: Value = serde_json::from_str(&place.succeed(&arguments).stdout).unwrap();
    let most = plan["models"][0]["input_tokens"][1].as_u64().unwrap();
    assert!((20 * 2_200..20 * 4_400).contains(&most), "{plan}");
    assert_eq!(provider.requests(), 2_020);
}

/// BY-05: the same holds for each step of a chain, whichever model answers it.
#[test]
fn an_estimate_of_a_chain_goes_by_its_steps() {
    let script = Script::by(|received| {
        let (reply, tokens) = match received.json()["model"] == "editor" {
            true => ("a few words more", 40),
            false => ("a word", 7),
        };
        let usage = json!({ "prompt_tokens": received.body.len() / 3, "completion_tokens": tokens });
        Behaviour::Usage(reply.to_owned(), Some(usage))
    });
    let (provider, place) = place(script, 30, "{ max_concurrency: 8 }");
    let editor = format!(
        "schema: karat.models/1\nmodels:\n  - {{ id: editor, provider: openai, model: editor, max_output: 1000, base_url: \"{}\", price: {{ input: 30.0, output: 60.0 }} }}\n",
        provider.base_url()
    );
    place.write("models.yaml", &editor);
    let direct = "direct: [ { prompt: { text: \"{{ sample.question }}\" } } ]";
    let chain = "chain: [ { id: draft, prompt: { text: \"{{ sample.question }}\" } }, { id: edit, model: editor, prompt: { text: \"edit {{ output }}\" }, parse: { as: lines, reask: 2 } } ]";
    place.write(
        "karat.yaml",
        &format!("registry: [ models.yaml ]\n{}", place.text("karat.yaml").replace(direct, chain)),
    );
    place.succeed(&["run", "--run-id", "a"]);
    is_expected_to_cost_the_same(&place);
}

/// BY-05: the same of services, whose answers have said before what they cost.
#[test]
fn an_estimate_of_services_goes_by_what_they_said() {
    let service = FakeProvider::start(Script::by(|received| {
        let cents = if received.json()["q"].as_str().is_some_and(|q| q.contains('1')) { 2 } else { 1 };
        Behaviour::raw(200, format!(r#"{{"answer":"x","usd":0.0{cents}}}"#))
    }))
    .unwrap();
    let place = metered(&service);
    assert!(place.succeed(&["plan"]).stdout.contains("known afterwards"));
    assert!(place.succeed(&["run", "--run-id", "a"]).stdout.contains("estimate unknown before the run"));
    assert!(place.report("a")["cost"]["estimated_cost_usd"].is_null());
    is_expected_to_cost_the_same(&place);
    assert!(!place.succeed(&["plan", "--no-cache"]).stdout.contains("known afterwards"));
}

/// BY-05, BY-06: what an earlier run of the plan was expected to cost lets a later one begin without a walk over its rows,
/// where that much is allowed. A model that has nothing to do needs no key all the same.
#[test]
fn a_plan_whose_cost_is_known_needs_no_walk() {
    // Rows from which a dataset is large, here.
    const LARGE: usize = 512;
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(LARGE));
    place.write(".env", &format!("KARAT_TEST_LARGE_DATASET={LARGE}\n"));
    let text = suite("").replace("base_url: \"\", api_key_env: MOCK_KEY, ", "");
    place.write("karat.yaml", &text);
    let run = |id: &str, key: Option<&str>, more: &[&str]| {
        let mut command = place.command(&[&["run", "-q", "--run-id", id], more].concat());
        if let Some(key) = key {
            command.env("OPENAI_API_KEY", key).env("OPENAI_BASE_URL", provider.base_url());
        }
        CommandOutput::of(command.output().unwrap())
    };
    let result = run("a", Some("sk-known-cost"), &[]);
    assert_eq!((result.code, provider.requests()), (0, LARGE), "{}", result.all());
    for (id, key) in [("b", Some("sk-known-cost")), ("c", None)] {
        let result = run(id, key, &[]);
        assert_eq!((result.code, provider.requests()), (0, LARGE), "{}", result.all());
        assert!(result.stdout.contains("512 reused"), "{}", result.all());
        let estimate = |run: &str| place.report(run)["cost"]["estimated_cost_range_usd"].clone();
        assert_eq!(estimate(id), estimate("a"));
    }
    // Outputs that are there cost nothing to score.
    place.succeed(&["score", "a", "-q", "--run-id", "scored"]);
    assert_eq!(place.report("scored")["cost"]["estimated_cost_range_usd"], json!([0.0, 0.0]));
    // The default ceiling is held against what calls really took, as far as that is known.
    let dear = text.replace("budget_usd: 1000", "retries: 0").replace("input: 1.0", "input: 1000000.0");
    place.write("karat.yaml", &dear);
    let result = run("z", Some("sk-known-cost"), &["--no-cache"]);
    assert!(result.code == 5 && result.stderr.contains("above the default ceiling"), "{}", result.all());
    assert_eq!(provider.requests(), LARGE);
    place.write("karat.yaml", &text);
    // Where there is something to do, the key is asked for, and the bound of calls holds, before any call.
    let result = run("d", None, &["--no-cache"]);
    assert!(result.code == 1 && result.stderr.contains("OPENAI_API_KEY"), "{}", result.all());
    let bounded = text.replace("budget_usd: 1000", "budget_usd: 1000, max_calls: 10");
    place.write("karat.yaml", &bounded);
    let result = run("e", Some("sk-known-cost"), &["--no-cache"]);
    assert!(result.code == 5 && result.stderr.contains("at least 512 calls"), "{}", result.all());
    assert_eq!(provider.requests(), LARGE);
}
