//! Models named by their provider, and models whose price is unknown.

use testkit::{Behaviour, FakeProvider};

use crate::place::{CommandOutput, Place};

const SUITE: &str = "name: x
dataset: { rows: [ { id: a, q: hi }, { id: b, q: you } ] }
models: [openai:gpt-5-nano]
variants: { ask: [ { prompt: { text: \"{{ sample.q }}\" } } ] }
scorers: { hit: { metric: contains, value: \"42\" } }
";

/// A place with the suite, and a server that answers in OpenAI's place.
struct Bench(Place, FakeProvider);

impl Bench {
    fn new(suite: &str) -> Self {
        let place = Place::new();
        place.write("karat.yaml", suite);
        Self(place, FakeProvider::start(Behaviour::ok("42")).unwrap())
    }

    fn karat(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = self.0.command(arguments);
        command.env("OPENAI_BASE_URL", self.1.base_url()).env("OPENAI_API_KEY", "sk-planted-4242");
        CommandOutput::of(command.output().unwrap())
    }
}

/// X4: a key of the environment does not go to an address that only `.env` names, also with `--safe`; both places and the
/// address are named before any call. Where both stand in one place, the run goes on and its report names the address.
#[test]
fn a_file_does_not_direct_keys_elsewhere() {
    let Bench(place, provider) = Bench::new(SUITE);
    let run = |key: Option<&str>, file: &str, name: &str, arguments: &[&str]| {
        place.write(name, file);
        let mut command = place.command(arguments);
        command.envs(key.map(|key| ("OPENAI_API_KEY", key)));
        let result = CommandOutput::of(command.output().unwrap());
        std::fs::remove_file(place.path().join(name)).unwrap();
        result
    };
    let address = provider.base_url();
    for (name, file) in [
        (".env", format!("OPENAI_BASE_URL={address}\n")),
        (".env.local", format!("OPENAI_BASE_URL={address}\n")),
        (".env", format!("OPENAI_BASE_URL={address}/${{OPENAI_API_KEY}}\nOPENAI_API_KEY=of-the-file\n")),
    ] {
        for arguments in [&["run"][..], &["run", "--safe"], &["plan"], &["doctor"]] {
            let result = run(Some("sk-planted-4242"), &file, name, arguments);
            let text = result.all();
            for part in [address.as_str(), "OPENAI_BASE_URL", &format!("`{name}`")] {
                assert!(text.contains(part), "{part}: {text}");
            }
            // A plan asks nobody: it names the address only.
            let is_plan = arguments[0] == "plan";
            assert!(is_plan || text.contains("OPENAI_API_KEY in the environment"), "{text}");
            assert!(!text.contains("sk-planted"), "{text}");
            assert_eq!(result.code, i32::from(!is_plan), "{text}");
        }
    }
    assert_eq!(provider.received_requests().len(), 0);
    let own = format!("OPENAI_BASE_URL={address}\nOPENAI_API_KEY=of-the-file\n");
    let result = run(None, &own, ".env", &["run", "--run-id", "own"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let note = format!("model openai:gpt-5-nano is asked at {address} (OPENAI_BASE_URL in `.env`)");
    assert!(result.all().contains(&note), "{}", result.all());
    assert_eq!(place.report("own")["run"]["addresses"], serde_json::json!([note]));
    let report = place.succeed(&["report", "own", "--format", "md", "-o", "-"]).stdout;
    assert!(report.contains(address.trim_start_matches("http://")), "{report}");
}

/// TG-50: a model without an entry runs, and its cells are named, shown and traced by its name.
#[test]
fn a_named_model_runs() {
    let bench = Bench::new(SUITE);
    let result = bench.karat(&["run", "--run-id", "r"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let request = bench.1.received_requests().remove(0);
    assert_eq!(request.json()["model"], "gpt-5-nano");
    assert_eq!(request.header("authorization"), Some("Bearer sk-planted-4242"));
    let traced = bench.0.succeed(&["trace", "a/openai:gpt-5-nano/ask"]);
    assert!(traced.stdout.contains("42"), "{}", traced.all());
    let slashed = bench.karat(&["run", "--models", "openai:acme/one:free", "--run-id", "s"]);
    assert_eq!(slashed.code, 0, "{}", slashed.all());
    bench.0.succeed(&["trace", "a/openai:acme/one:free/ask"]);
    bench.0.succeed(&["report", "s", "--format", "html", "-o", "out"]);
}

/// TG-52: the default ceiling does not bind a model without a price; plan and run say so, once, and count no cost of 0.
#[test]
fn the_default_ceiling_names_what_it_does_not_bind() {
    let bench = Bench::new(SUITE);
    let note =
        "note: the price of openai:gpt-5-nano is unknown: the default ceiling of $25.00 binds priced models only";
    let plan = bench.karat(&["plan"]);
    assert_eq!((plan.code, plan.stderr.matches(note).count()), (0, 1), "{}", plan.all());
    assert!(plan.stdout.contains("plus the unknown price of openai:gpt-5-nano"), "{}", plan.all());
    let json: serde_json::Value = serde_json::from_str(&bench.karat(&["plan", "--json"]).stdout).unwrap();
    assert_eq!(
        (&json["models"][0]["cost_usd"], &json["unpriced"][0]),
        (&serde_json::Value::Null, &"openai:gpt-5-nano".into())
    );
    let run = bench.karat(&["run", "--run-id", "r"]);
    assert_eq!((run.code, run.stderr.matches(note).count()), (0, 1), "{}", run.all());
    assert!(run.stderr.contains("and 2 calls of unknown cost"), "{}", run.all());
    assert!(bench.0.report("r")["cost"]["actual_cost_usd"].is_null());
    assert!(!bench.karat(&["plan", "--yes"]).stderr.contains("ceiling"), "with --yes there is none");
}

/// TG-52: a written budget refuses a model without a price before the first call, and the advice works.
#[test]
fn a_written_budget_needs_a_price() {
    let bench = Bench::new(SUITE);
    let result = bench.karat(&["run", "--budget-usd", "1", "--yes"]);
    let expected = "the price of openai:gpt-5-nano is unknown, so the budget cannot hold";
    assert!(result.code == 5 && result.stderr.contains(expected), "{}", result.all());
    assert!(
        result.stderr.contains("{ id: \"openai:gpt-5-nano\", price: { input: 1, output: 2 } }"),
        "{}",
        result.all()
    );
    assert!(bench.1.received_requests().is_empty());
    let entry = "models: [ { id: \"openai:gpt-5-nano\", price: { input: 1, output: 2 } } ]";
    bench.0.write("karat.yaml", &SUITE.replace("models: [openai:gpt-5-nano]", entry));
    let result = bench.karat(&["run", "--budget-usd", "1"]);
    assert_eq!(result.code, 0, "{}", result.all());
}

/// TG-56: the key that a program prints reaches the provider, and nothing that is kept.
#[test]
fn a_printed_key_is_kept_nowhere() {
    let entry = "models: [ { id: m, provider: openai, api_key_command: [sh, -c, \"cat key.txt\"], price: { input: 1, output: 2 } } ]";
    let bench = Bench::new(&SUITE.replace("models: [openai:gpt-5-nano]", entry));
    bench.0.write("key.txt", "sk-printed-1234567890\n");
    let result = bench.karat(&["run", "--run-id", "r", "--format", "both", "-o", "out"]);
    assert_eq!(result.code, 0, "{}", result.all());
    assert_eq!(bench.1.received_requests()[0].header("authorization"), Some("Bearer sk-printed-1234567890"));
    for file in [".karat/karat.db", "out/report.json", "out/report.md"] {
        let bytes = std::fs::read(bench.0.path().join(file)).unwrap();
        assert!(!bytes.windows(10).any(|part| part == b"sk-printed"), "{file}");
    }
    let safe = bench.karat(&["run", "--safe"]);
    assert!(safe.code == 1 && safe.stderr.contains("which --safe refuses"), "{}", safe.all());
}

/// RE-24, RE-25: an update prints all rates of a price before and after, and the costs that it leaves out; a trial writes nothing.
#[test]
fn updates_of_prices_say_what_they_change() {
    let place = Place::new();
    place.write(
        "list.json",
        r#"{"gpt-5.4": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 3e-06,
            "output_cost_per_token": 2.5e-05, "input_cost_per_token_priority": 5e-06, "input_cost_per_image": 0.01}}"#,
    );
    let update = ["models", "update", "list.json", "--as-of", "2026-11-20"];
    let tried = place.succeed(&[&update[..], &["--dry-run"]].concat());
    assert!(tried.stdout.contains("above 272000 tokens in $5, out $22.5"), "{}", tried.all());
    let after = "-> in $3, out $25; priority in $5, out $25 (2026-11-20, list.json)";
    assert!(tried.stdout.contains(after), "{}", tried.all());
    assert!(tried.stderr.contains("nothing was written: 0 new, 1 changed, 0 as before"), "{}", tried.all());
    let left_out = "not applied, because Karat's prices have no such rate: input_cost_per_image (1 model)";
    assert!(tried.stderr.contains(left_out), "{}", tried.all());
    let done = place.succeed(&update);
    assert!(done.stdout.contains(after) && done.stderr.contains("added.json: 0 new, 1 changed"), "{}", done.all());
    assert!(place.succeed(&update).stderr.contains("0 changed, 1 as before"));
}
