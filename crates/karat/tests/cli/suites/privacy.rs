//! Content that must not be kept is in no file, in no stream, and in no request to a judge.

use serde_json::Value;
use testkit::{Behaviour, FakeProvider, Script};

use crate::place::{CommandOutput, Place};

const PERSONAL: [&str; 5] = [
    "ann@mail.example",
    "+49 30 1234 5678",
    "4242 4242 4242 4242",
    "DE89 3704 0044 0532 0130 00",
    "sk-live-abcdefghijklmnop12",
];
const AMOUNTS: &str = "a rise of 12.5 % to $4242424242424242 and 1,234,567.89 EUR";

fn provider() -> FakeProvider {
    FakeProvider::start(Script::by(|received| {
        if received.json()["model"] == "judge-model" {
            return Behaviour::ok(r#"{"good": 4, "reasoning": "Ann wrote from ann@mail.example."}"#);
        }
        Behaviour::ok(format!("Reply to {} about {AMOUNTS}", PERSONAL.join(" and ")))
    }))
    .unwrap()
}

fn place(provider: &FakeProvider, privacy: &str) -> Place {
    let place = Place::new();
    let row = serde_json::json!({"id": "s1", "q": format!("Who is {}?", PERSONAL.join(", ")), "a": PERSONAL[0], "total": 4242424242424242_u64});
    place.write("d.jsonl", &format!("{row}\n"));
    place.write(
        "karat.yaml",
        &format!(
            r#"name: t
dataset: {{ source: d.jsonl, id: id, input: q, reference: a, metadata: [q] }}
models: [ {{ id: m, provider: openai, model: mock-model, base_url: "{url}", price: {{ input: 1, output: 1 }} }} ]
judges: [ {{ id: j, provider: openai, model: judge-model, base_url: "{url}", price: {{ input: 1, output: 1 }} }} ]
variants: {{ direct: [ {{ prompt: {{ text: "{{{{ sample.q }}}}" }} }} ] }}
scorers:
  has: {{ metric: contains }}
  q: {{ rubric: {{ id: r, ask: "Is it good?", reference: required, dimensions: {{ good: {{ scale: [1, 5] }} }}, show: {{ output: "{{{{ output }}}}", question: "{{{{ sample.q }}}}" }} }} }}
privacy: {privacy}
"#,
            url = provider.base_url()
        ),
    );
    place
}

/// Everything that the place holds and says of a run.
fn everything(place: &Place, result: &CommandOutput) -> String {
    let mut all = vec![result.all()];
    for arguments in [
        &["trace", "a", "0", "--json"][..],
        &["report", "a", "--format", "json", "-o", "-"],
        &["report", "a", "--format", "md", "-o", "-"],
        &["report", "a", "--format", "html", "-o", "-"],
        &["export", "jsonl", "a"],
        &["show", "a", "--format", "json"],
        &["why", "s1/m/direct"],
    ] {
        all.push(place.succeed(arguments).all());
    }
    all.extend(stored(place));
    all.join("\n")
}

/// The files of the place's store.
fn stored(place: &Place) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![place.path().join(".karat")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
            }
        }
    }
    all
}

/// RG-15: the model gets the row unchanged; store, reports and judges get it redacted, with amounts intact.
#[test]
fn personal_data_is_neither_stored_nor_judged() {
    let provider = provider();
    let place = place(&provider, "{ redact: [email, phone, card, iban, api_key], patterns: { who: 'Ann' } }");
    let result = place.succeed(&["run", "--run-id", "a"]);
    let received = provider.received_requests();
    let (asked, judged): (Vec<_>, Vec<_>) = received.iter().partition(|it| it.json()["model"] == "mock-model");
    assert_eq!((asked.len(), judged.len()), (1, 1));
    let all = everything(&place, &result);
    for secret in PERSONAL {
        assert!(asked[0].json().to_string().contains(secret), "the model gets {secret}");
        assert!(!judged[0].json().to_string().contains(secret), "the judge gets {secret}");
        assert!(!all.contains(secret), "{secret} is kept");
    }
    assert!(judged[0].json().to_string().contains(AMOUNTS), "amounts stay intact");
    assert!(all.contains("[email]") && all.contains("[who] wrote") && !all.contains("Ann wrote"));
    assert_eq!(place.report("a")["metrics"]["has"]["value"], 1.0, "both sides of a comparison are blacked out");
    let refused = place.karat(&["run", "--record", "calls.jsonl"]);
    assert!(refused.code == 1 && refused.stderr.contains("privacy"), "{}", refused.all());
}

/// RG-15: errors that quote a provider, service or program are redacted before they are cut, because a rule cannot
/// recognize half of a number.
#[cfg(unix)]
#[test]
fn quotations_are_redacted_before_they_are_cut() {
    let provider = FakeProvider::start(Script::by(|received| {
        let text = received.json().to_string();
        let (_, row) = text.split_once("say ").unwrap();
        let mut words = row.split(|mark: char| !mark.is_ascii_alphanumeric());
        let (how, padding, which) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let result = format!("{} {}", "x".repeat(padding.parse().unwrap()), PERSONAL[which.parse::<usize>().unwrap()]);
        match how {
            "status" => Behaviour::raw(400, format!(r#"{{"error":{{"message":"{result} is wrong"}}}}"#)),
            "moved" => Behaviour::status(302, "").with_header("location", format!("https://x/{result}")),
            "page" => Behaviour::raw(400, format!("<html>{result} is wrong</html>")),
            _ => Behaviour::raw(200, format!(r#"{{"error":{{"message":"{result} is wrong"}}}}"#)),
        }
    }))
    .unwrap();
    let place = Place::new();
    let rows = (175..=200).flat_map(|padding| {
        let row = move |(which, how)| {
            format!("{{\"id\":\"{how}-{padding}-{which}\",\"q\":\"say {how} {padding} {which}\"}}\n")
        };
        (0..PERSONAL.len()).flat_map(|which| ["status", "page", "inside", "moved"].map(|how| (which, how))).map(row)
    });
    place.write("d.jsonl", &rows.collect::<String>());
    place.write(
        "karat.yaml",
        &format!(
            r#"name: t
dataset: {{ source: d.jsonl, id: id, input: q }}
models: [ {{ id: m, provider: openai, model: mock-model, base_url: "{url}", price: {{ input: 1, output: 1 }} }} ]
variants:
  asked: [ {{ prompt: {{ text: "{{{{ input }}}}" }} }} ]
  served: [ {{ id: s, version: v1, http: {{ url: "{url}/query", body: {{ q: "{{{{ input }}}}" }} }}, take: {{ answer: $.answer }} }} ]
scorers: {{ hit: {{ metric: contains, value: x }} }}
run: {{ retries: 0 }}
privacy: {{ redact: [email, phone, card, iban, api_key] }}
"#,
            url = provider.base_url()
        ),
    );
    let result = place.karat(&["run", "--run-id", "a"]);
    let shell = PERSONAL.iter().flat_map(|secret| (370..=400).map(move |padding| (padding, secret)));
    let rows = shell.enumerate().map(|(at, (padding, secret))| {
        serde_json::json!({"id": format!("c{at}"), "q": format!("{}{secret}", "x".repeat(padding) + " ")}).to_string()
            + "\n"
    });
    place.write("c.jsonl", &rows.collect::<String>());
    place.write(
        "c.yaml",
        r#"name: c
dataset: { source: c.jsonl, id: id, input: q }
variants: { run: [ { id: c, version: v1, command: { run: [sh, -c, 'echo "$0" >&2; exit 1', "{{ input }}"] } } ] }
scorers: { hit: { metric: contains, value: x } }
run: { retries: 0 }
privacy: { redact: [email, phone, card, iban, api_key] }
"#,
    );
    let printed = place.karat(&["run", "c.yaml", "--run-id", "c"]);
    assert!(printed.code == 1 && result.code == 1, "{} {}", result.all(), printed.all());
    let all = stored(&place).join("\n") + &result.all() + &printed.all();
    assert!(all.contains("[email]") && all.contains("[card]"), "{}", result.all());
    for secret in PERSONAL {
        let begin: String = secret.chars().take(8).collect();
        assert!(!all.contains(&begin), "{begin} is kept");
    }
}

/// RG-15: a sensitive dataset keeps no content at all, and is scored and judged all the same.
#[test]
fn sensitive_content_is_not_kept() {
    let provider = provider();
    let place = place(&provider, "{ sensitive: true }");
    let result = place.succeed(&["run", "--run-id", "a"]);
    let all = everything(&place, &result);
    for text in PERSONAL.iter().chain(&["Reply to", "wrote from"]) {
        assert!(!all.contains(text), "{text} is kept");
    }
    let report = place.report("a");
    assert_eq!((&report["metrics"]["q"]["value"], &report["totals"]["errors"]), (&4.0.into(), &0.into()));
    let trace: Value = serde_json::from_str(&place.succeed(&["trace", "a", "0", "--json"]).stdout).unwrap();
    assert_eq!((&trace["calls"][0]["request"], &trace["output"]), (&"".into(), &Value::Null));
}

/// RG-15, BR-07: command lines and addresses that are filled from rows are redacted in the call log; for sensitive
/// content it has only the called party.
#[cfg(unix)]
#[test]
fn the_call_log_has_no_personal_data() {
    let provider = provider();
    for (privacy, command) in
        [("{ redact: [email] }", "CMD: echo Mail [email]"), ("{ sensitive: true }", "CMD: step e")]
    {
        let place = Place::new();
        place.write(
            "karat.yaml",
            &format!(
                r#"name: t
dataset: {{ rows: [ {{ id: p1, q: "Mail ann@mail.example" }} ], id: id, input: q }}
variants:
  e: [ {{ id: e, command: {{ run: [echo, "{{{{ sample.q }}}}"] }} }} ]
  f: [ {{ id: f, retries: 0, command: {{ run: [sh, -c, "echo no $0 >&2; exit 3", "{{{{ sample.q }}}}"] }} }} ]
  h: [ {{ id: h, retries: 0, http: {{ url: "{}/svc?mail={{{{ sample.q }}}}", body: {{ q: "{{{{ sample.q }}}}" }} }} }} ]
scorers: {{ len: {{ metric: length }} }}
privacy: {privacy}
run: {{ call_log: calls.log }}
"#,
                provider.base_url()
            ),
        );
        let result = place.karat(&["run"]);
        let log = place.text("calls.log");
        assert_eq!(log.matches("CMD: ").count(), 3, "{} {log}", result.all());
        assert!(log.contains(command) && !log.contains("ann@") && !log.contains("ann%40"), "{log}");
        assert_eq!(log.contains("ERROR: process"), privacy.contains("sensitive"), "{log}");
    }
}

/// RG-15: names of members of an answer are treated as content: they are redacted, and of a sensitive dataset only the
/// suite's own names are kept.
#[test]
fn names_of_members_are_content() {
    let body = serde_json::json!({
        "answer": "yes", "sources": [{"ann@mail.example": "x"}], "models": {"bob@mail.example": "x", "Ann Ohara": "y"}
    });
    let service = FakeProvider::start(Script::by(move |_| Behaviour::raw(200, body.to_string()))).unwrap();
    let place = Place::new();
    place.write("d.jsonl", "{\"id\": \"s1\", \"q\": \"Who?\"}\n");
    place.write(
        "karat.yaml",
        &format!(
            r#"name: t
dataset: {{ source: d.jsonl, id: id, input: q }}
variants:
  service:
    - http: {{ url: "{}/query", body: {{ q: "{{{{ input }}}}" }} }}
      take: {{ answer: $.answer, sources: $.sources }}
      meter: {{ models: $.models }}
scorers: {{ says: {{ metric: count, output: $.sources }} }}
analyses: [ services ]
privacy: {{ redact: [email] }}
"#,
            service.url()
        ),
    );
    let held = |result: &CommandOutput| {
        let mut all = vec![result.all(), place.succeed(&["report", "--format", "json", "-o", "-"]).stdout];
        for file in std::fs::read_dir(place.path().join(".karat")).unwrap().map(|it| it.unwrap().path()) {
            all.push(String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned());
        }
        all.join("\n")
    };
    let all = held(&place.succeed(&["run", "--run-id", "a"]));
    assert!(!all.contains("@mail.example") && all.contains("[email]") && all.contains("Ann Ohara"));
    std::fs::remove_dir_all(place.path().join(".karat")).unwrap();
    let all = held(&place.succeed(&["run", "--run-id", "b", "--set", "privacy.sensitive=true"]));
    assert!(!all.contains("@mail.example") && !all.contains("Ann Ohara"), "{all}");
}

/// RG-15: keys of every kind — the provider's, a header's, a query's — are sent and kept nowhere, though the provider
/// repeats them in replies and errors.
#[test]
fn keys_are_never_stored() {
    let secrets = ["sk-planted-0a1b2c3d", "header-planted-4e5f6a7b", "query-planted-8c9d0e1f"];
    let provider = FakeProvider::start(Script::by(move |received| {
        let says = format!("{} and {secrets:?}", received.header("authorization").unwrap_or_default());
        if received.json().to_string().contains("bad") { Behaviour::status(400, &says) } else { Behaviour::ok(says) }
    }))
    .unwrap();
    let place = Place::new();
    place.write("d.jsonl", "{\"id\":\"s1\",\"q\":\"good\"}\n{\"id\":\"s2\",\"q\":\"bad\"}\n");
    place.write(
        "karat.yaml",
        &format!(
            r#"name: t
dataset: {{ source: d.jsonl, id: id, input: q }}
models: [ {{ id: m, provider: openai, model: mock-model, base_url: "{}?key=${{QUERY_KEY}}", api_key_env: MOCK_KEY, price: {{ input: 1, output: 1 }}, with: {{ headers: {{ x-tenant: "${{HEADER_KEY}}" }} }} }} ]
variants: {{ direct: [ {{ prompt: {{ text: "{{{{ sample.q }}}}" }} }} ] }}
scorers: {{ len: {{ metric: length }} }}
"#,
            provider.base_url()
        ),
    );
    let mut command = place.command(&["run", "--run-id", "a", "--record", ".karat-calls.jsonl"]);
    command.env("MOCK_KEY", secrets[0]).env("HEADER_KEY", secrets[1]).env("QUERY_KEY", secrets[2]);
    let result = CommandOutput::of(command.output().unwrap());
    assert_eq!(result.code, 1, "one cell is an error: {}", result.all());
    assert!(provider.received_requests().iter().any(|it| it.header("x-tenant") == Some(secrets[1])));
    let mut all = everything_of(&place, &result);
    all.push_str(&std::fs::read_to_string(place.path().join(".karat-calls.jsonl")).unwrap());
    for secret in secrets {
        assert!(!all.contains(secret), "{secret} is kept");
    }
    assert!(all.contains("[secret removed]"));
}

/// [`everything`], where commands need the keys' variables to be set.
fn everything_of(place: &Place, result: &CommandOutput) -> String {
    let trace = place.succeed(&["trace", "a", "1", "--json"]);
    format!(
        "{}\n{}\n{}",
        result.all(),
        trace.all(),
        place.succeed(&["report", "a", "--format", "json", "-o", "-"]).all()
    )
}

/// The judge of the next test: it prints every key that it finds, in its reply, in its complaint across the place
/// where messages are cut, and before it hangs.
#[cfg(unix)]
const TALKATIVE: &str = r#"
case "$1" in
*complains*) printf '%0395d%s' 0 "$ANTHROPIC_API_KEY" >&2; echo "$GROQ_API_KEY"; exit 3 ;;
*hangs*) printf 'key %s' "$ANTHROPIC_API_KEY"; sleep 30 ;;
*) printf '{"good": 4, "reasoning": "%s %s %s"}' "$ANTHROPIC_API_KEY" "$GROQ_API_KEY" "$TEAM_KEY" ;;
esac
"#;

/// RG-15, BR-05, BR-07: a key that a program prints is in no file and no stream, whether the program is a step, a
/// scorer, an unused provider or an unused model.
#[cfg(unix)]
#[test]
fn keys_that_programs_print_are_never_stored() {
    let keys = [
        ("ANTHROPIC_API_KEY", "sk-ant-planted-0001"),
        ("GROQ_API_KEY", "gsk_planted_000002"),
        ("TEAM_KEY", "team-planted-0003"),
        ("STEP_TOKEN", "step-planted-0004"),
        ("SCORER_TOKEN", "scorer-planted-0005"),
    ];
    let place = Place::new();
    let rows = ["fine", "complains", "hangs", "fails"].map(|id| format!("{{\"id\":\"{id}\",\"q\":\"{id}\"}}\n"));
    place.write("d.jsonl", &rows.concat());
    let judge = place.write("judge.sh", TALKATIVE);
    place.write(
        "karat.yaml",
        &format!(
            r#"name: t
dataset: {{ source: d.jsonl, id: id, input: q }}
registry: [models.yaml]
judges:
  - {{ id: j, provider: command, model: m, with: {{ command: [sh, {}, "{{{{ prompt }}}}"] }} }}
variants:
  made:
    - command:
        run: [sh, -c, 'read q; echo "$q $T"; [ "$q" != fails ] || {{ echo "no: $T" >&2; exit 1; }}']
        stdin: "{{{{ sample.q }}}}\n"
        env: {{ T: "${{STEP_TOKEN}}" }}
scorers:
  own: {{ metric: command, with: {{ run: [sh, -c, 'echo "{{\"score\": 1, \"reason\": \"$T\"}}"'], env: {{ T: "${{SCORER_TOKEN}}" }} }} }}
  q: {{ rubric: {{ id: r, ask: "Is it good?", dimensions: {{ good: {{ scale: [1, 5] }} }} }}, timeout: 2s }}
run: {{ call_log: logs/calls.log }}
"#,
            judge.display()
        ),
    );
    place.write(
        "models.yaml",
        "schema: karat.models/1\nas_of: 2026-01-01\nmodels:\n  - { id: unused, provider: openai, model: m, api_key_env: TEAM_KEY, price: { input: 1, output: 1 } }\n",
    );
    let mut command = place.command(&[
        "run",
        "--run-id",
        "a",
        "-o",
        "out",
        "--format",
        "json,md,html,junit,cells",
        "--record",
        "tape.jsonl",
    ]);
    let result = CommandOutput::of(command.envs(keys).output().unwrap());
    assert_eq!(result.code, 1, "{}", result.all());
    let mut kept = vec![result.all()];
    for cell in ["0", "1", "2", "3"] {
        kept.push(place.succeed(&["trace", "a", cell, "--json"]).all());
    }
    let mut folders = vec![place.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                kept.push(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
            }
        }
    }
    for (name, key) in keys {
        // A message that is cut within a key must not show its beginning either.
        let begin = &key[..8];
        assert!(!kept.iter().any(|text| text.contains(begin)), "{name} is kept");
    }
    assert!(place.text("logs/calls.log").contains("[secret removed]"));
    assert!(place.text("out/report.md").contains("secret removed"));
}
