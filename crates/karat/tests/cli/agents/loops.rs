//! Agents: loops of a model and tools, their limits, and what goes wrong in them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, Script};

use crate::place::{Place, questions};

/// A reply that calls a tool.
fn call(name: &str, arguments: &Value) -> Behaviour {
    let body = json!({
        "choices": [{ "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": name, "arguments": arguments.to_string() } }
        ], "reasoning_content": "kept" } }],
        "usage": { "prompt_tokens": 50, "completion_tokens": 9 },
    });
    Behaviour::raw(200, body.to_string())
}

fn says(text: &str) -> Behaviour {
    let body = json!({
        "choices": [{ "finish_reason": "stop", "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 80, "completion_tokens": 8 },
    });
    Behaviour::raw(200, body.to_string())
}

pub const ORDER: &str = "get_order: { about: Looks an order up., input: { type: object, properties: { id: { type: string } }, required: [id] }, replies: [ { arguments: { id: A1 }, result: { ships: Monday } } ] }";

/// A suite with one agent.
pub fn suite(base_url: &str, tools: &str, agent: &str) -> String {
    format!(
        r#"name: agents
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{base_url}", api_key_env: MOCK_KEY, price: {{ input: 1.0, output: 2.0 }} }} ]
tools: {{ {tools} }}
variants: {{ loop: [ {{ agent: {{ {agent} }} }} ] }}
scorers: {{ turns: {{ metric: json_field, output: $.turns, reference: target }} }}
run: {{ max_concurrency: 4, budget_usd: 10, retries: 0 }}
"#
    )
}

pub fn place(rows: usize, suite: &str) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(rows));
    place.write("karat.yaml", suite);
    place
}

pub fn output(place: &Place, run: &str) -> Value {
    place.report(run)["cells"][0]["output"].clone()
}

/// A program that answers line by line and counts its calls by conversation.
const COUNTER: &str = r#"import json, sys
seen = {}
for line in sys.stdin:
    call = json.loads(line)
    name = call["conversation"]
    if call.get("end"):
        open("ended.txt", "a").write(name + "\n")
        continue
    if call.get("begin"):
        seen[name] = 0
    seen[name] += 1
    open("asked.txt", "a").write(call["tool"] + "\n")
    if call["arguments"].get("id") == "bad":
        print(json.dumps({"id": call["id"], "error": "no such order"}), flush=True)
    else:
        print(json.dumps({"id": call["id"], "result": {"calls": seen[name], "sample": call["sample"]["id"]}}), flush=True)
"#;

/// TG-13: the loop: a call, its result, the text. The raw turn goes back as it came; the output holds messages and calls.
#[test]
fn a_loop_ends_with_a_text() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0 => call("get_order", &json!({"id": "A1"})),
        _ => says("Ships Monday."),
    }))
    .unwrap();
    let agent = r#"system: Be kind., user: "{{ input }}", tools: [get_order]"#;
    let place = place(1, &suite(&provider.base_url(), ORDER, agent));
    place.succeed(&["run", "-q", "--run-id", "a", "--format", "json"]);
    assert_eq!(provider.requests(), 2);
    let second = provider.received_requests()[1].json();
    assert_eq!(second["messages"][2]["reasoning_content"], "kept", "{second}");
    assert_eq!(
        second["messages"][3],
        json!({"role": "tool", "tool_call_id": "c1", "content": "{\"ships\":\"Monday\"}"})
    );
    assert_eq!(
        output(&place, "a"),
        json!({
            "text": "Ships Monday.",
            "messages": [
                { "role": "system", "content": "Be kind." },
                { "role": "user", "content": "Question 0: [[answer 0]]" },
                { "role": "assistant", "content": "", "tool_calls": [
                    { "id": "c1", "name": "get_order", "arguments": { "id": "A1" } }
                ] },
                { "role": "tool", "content": "{\"ships\":\"Monday\"}", "tool_call_id": "c1" },
                { "role": "assistant", "content": "Ships Monday." },
            ],
            "tool_calls": [
                { "turn": 1, "id": "c1", "name": "get_order", "arguments": { "id": "A1" }, "result": "{\"ships\":\"Monday\"}" }
            ],
            "turns": 2,
            "stop_reason": "done",
            "invalid_calls": 0,
            "unknown_calls": 0,
        })
    );
    // A second run reuses the output.
    place.succeed(&["run", "-q", "--run-id", "b"]);
    assert_eq!(provider.requests(), 2);
}

/// TG-13: each limit is an output with its name, not an error.
#[test]
fn a_limit_is_an_output() {
    let provider = FakeProvider::start(call("get_order", &json!({"id": "A1"}))).unwrap();
    for (limits, reason, requests) in [
        ("turns: 3", "turns", 3),
        ("calls: 2", "calls", 3),
        ("tokens: 100", "tokens", 2),
        ("cost_usd: 0.00013", "cost", 2),
    ] {
        let before = provider.requests();
        let agent = format!(r#"user: "{{{{ input }}}}", tools: [get_order], limits: {{ {limits} }}"#);
        let place = place(1, &suite(&provider.base_url(), ORDER, &agent));
        place.succeed(&["run", "-q", "--run-id", "a"]);
        let output = output(&place, "a");
        assert_eq!(
            (output["stop_reason"].as_str(), provider.requests() - before),
            (Some(reason), requests),
            "{output}"
        );
    }
    let slow = FakeProvider::start(Behaviour::slow(30, "And?")).unwrap();
    let agent = "simulate: { script: [a, b, c] }, limits: { time: 10ms }";
    let place = place(1, &suite(&slow.base_url(), ORDER, agent));
    place.succeed(&["run", "-q", "--run-id", "a"]);
    assert_eq!((&output(&place, "a")["stop_reason"], slow.requests()), (&json!("time"), 1));
}

/// TG-13: a call of a tool that nothing answers ends the loop; what a model does wrong is told to it and counted.
#[test]
fn wrong_calls_are_told_and_counted() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0 => call("get_oder", &json!({"id": "A1"})),
        1 => call("get_order", &json!({"id": 7})),
        2 => call("get_order", &json!({"id": "Z"})),
        _ => call("handover", &json!({})),
    }))
    .unwrap();
    let tools = format!("{ORDER}, handover: {{ about: Calls a person. }}");
    let agent = r#"user: "{{ input }}", tools: [get_order, handover]"#;
    let place = place(1, &suite(&provider.base_url(), &tools, agent));
    let said = place.succeed(&["run", "--run-id", "a"]);
    assert!(said.all().contains("1 call without a scripted reply"), "{}", said.all());
    let output = output(&place, "a");
    let told: Vec<&str> = (output["tool_calls"].as_array().unwrap().iter())
        .map(|call| call["error"].as_str().unwrap_or("unanswered"))
        .collect();
    assert_eq!(told[0], "no tool `get_oder`; there are get_order, handover");
    assert!(told[1].contains("7 is not of type \"string\""), "{told:?}");
    assert_eq!(told[2..], ["no scripted reply for get_order({\"id\":\"Z\"})", "unanswered"]);
    assert_eq!((&output["stop_reason"], &output["turns"]), (&json!("call"), &json!(4)));
    assert_eq!((&output["invalid_calls"], &output["unknown_calls"]), (&json!(1), &json!(1)));
}

/// TG-14: a program keeps state by conversation, is told its beginning and end, and gives the state at the end.
#[test]
fn a_program_keeps_state_by_conversation() {
    let provider =
        FakeProvider::start(Script::by(|received| match received.json()["messages"].as_array().map_or(0, Vec::len) {
            1 => call("shop", &json!({"id": "A1"})),
            3 => call("shop", &json!({"id": "bad"})),
            _ => says("Done."),
        }))
        .unwrap();
    let program = "version: \"1\", command: { run: [python3, shop.py], protocol: jsonl }";
    let tools = format!("shop: {{ input: {{ type: object }}, {program} }}, dump: {{ {program} }}");
    let agent = r#"user: "{{ input }}", tools: [shop], state: dump"#;
    let place = place(4, &suite(&provider.base_url(), &tools, agent));
    place.write("shop.py", COUNTER);
    place.succeed(&["run", "-q", "--run-id", "a"]);
    let report = place.report("a");
    for (at, cell) in report["cells"].as_array().unwrap().iter().enumerate() {
        let output = &cell["output"];
        let sample = format!("q{at}");
        assert_eq!(output["tool_calls"][0]["result"], json!({"calls": 1, "sample": sample}).to_string());
        assert_eq!(output["tool_calls"][1]["error"], "no such order");
        assert_eq!(output["state"], json!({"calls": 3, "sample": sample}), "{output}");
    }
    assert_eq!(place.text("ended.txt").lines().count(), 4);
}

/// TG-14: a program that runs once for each call, and a service, read the call and are asked once.
#[test]
fn programs_and_services_answer_calls() {
    let service = FakeProvider::start(Behaviour::raw(200, r#"{"result": "from the service"}"#)).unwrap();
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0 => call("once", &json!({"text": "$(touch hacked)"})),
        1 => call("far", &json!({"n": 1})),
        _ => says("Done."),
    }))
    .unwrap();
    let tools = format!(
        "once: {{ input: {{ type: object }}, version: \"1\", command: {{ run: [python3, once.py] }} }}, far: {{ input: {{ type: object }}, version: \"1\", http: {{ url: \"{}/call\" }} }}",
        service.base_url()
    );
    let place = place(1, &suite(&provider.base_url(), &tools, r#"user: "{{ input }}", tools: [once, far]"#));
    place.write("once.py", "import json, sys\ncall = json.load(sys.stdin)\nprint(json.dumps({'result': [sys.argv[1:], call['arguments']['text']]}))\n");
    place.succeed(&["run", "-q", "--run-id", "a"]);
    let output = output(&place, "a");
    assert_eq!(output["tool_calls"][0]["result"], r#"[[],"$(touch hacked)"]"#);
    assert_eq!(output["tool_calls"][1]["result"], "from the service");
    let posted = service.received_requests()[0].json();
    assert_eq!(
        (&posted["tool"], &posted["arguments"], &posted["sample"]),
        (&json!("far"), &json!({"n": 1}), &json!({"id": "q0"}))
    );
    assert!(!place.path().join("hacked").exists());
}

/// TG-14: a tool that dies, hangs, floods or breaks its protocol fails its cell with the code `tool`, and nothing else.
#[test]
fn a_broken_tool_fails_its_cell() {
    for (program, protocol, word) in [
        ("import sys; sys.exit(3)", "jsonl", "exit"),
        ("import time; time.sleep(60)", "jsonl", "did not answer within"),
        (
            "import sys\nfor line in sys.stdin: print('x' * 40_000_000, flush=True)",
            "jsonl",
            "bytes that an answer may have",
        ),
        (
            "import json, sys\nfor line in sys.stdin: print(json.dumps({'id': json.loads(line)['id'], 'output': 1}), flush=True)",
            "jsonl",
            "neither `result` nor `error`",
        ),
        ("print('oops')", "once", "not a JSON object"),
        ("import time; time.sleep(60)", "once", "tool `shop`"),
    ] {
        let provider = FakeProvider::start(call("shop", &json!({}))).unwrap();
        let tools = format!("shop: {{ version: \"1\", command: {{ run: [python3, shop.py], protocol: {protocol} }} }}");
        let suite = suite(&provider.base_url(), &tools, r#"user: "{{ input }}", tools: [shop]"#)
            .replace("retries: 0", "retries: 0, timeout: 2s");
        let place = place(1, &suite);
        place.write("shop.py", program);
        let said = place.karat(&["run", "-q", "--run-id", "a"]);
        let report = place.report("a");
        let error = &report["cells"][0]["error"];
        assert_eq!(error["code"], "tool", "{program}: {error}\n{}", said.all());
        assert!(error["message"].as_str().is_some_and(|message| message.contains(word)), "{program}: {error}");
        assert_eq!(provider.requests(), 1, "{program}");
    }
}

/// TG-13, TG-14: killed after the third of five turns, the run makes the other turns and no turn twice; the program with
/// state is asked again in order, and the report is that of an uninterrupted run.
#[test]
fn a_killed_loop_resumes_where_it_was() {
    let start = |hang: bool| {
        FakeProvider::start(Script::by(move |received| {
            match received.json()["messages"].as_array().map_or(0, Vec::len) {
                7 if hang && received.number == 3 => Behaviour::Hang,
                9 => says("Done."),
                _ => call("shop", &json!({"id": "A1"})),
            }
        }))
        .unwrap()
    };
    let (killed, whole) = (start(true), start(false));
    let program = "version: \"1\", command: { run: [python3, shop.py], protocol: jsonl }";
    let tools = format!("shop: {{ input: {{ type: object }}, {program} }}, dump: {{ {program} }}");
    let agent = r#"user: "{{ input }}", tools: [shop], state: dump"#;
    let interrupted = place(1, &suite(&killed.base_url(), &tools, agent));
    interrupted.write("shop.py", COUNTER);
    let arguments = ["run", "--run-id", "a", "--resume", "-q"];
    let mut child = interrupted.command(&arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    while killed.requests() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    interrupted.succeed(&arguments);
    assert_eq!(killed.requests(), 6, "five turns, one of them in flight at the kill");
    assert_eq!(output(&interrupted, "a")["state"]["calls"], json!(5));
    // Three calls before the kill; all four and the state after it.
    assert_eq!(interrupted.text("asked.txt").lines().count(), 3 + 5);

    let uninterrupted = place(1, &suite(&whole.base_url(), &tools, agent));
    uninterrupted.write("shop.py", COUNTER);
    uninterrupted.succeed(&["run", "--run-id", "a", "-q"]);
    // The whole report; only the addresses of the two providers, and so the hashes that they are part of, differ.
    let report = |place: &Place, provider: &FakeProvider| {
        let report = place.canonical("a").replace(&provider.base_url(), "URL");
        let lines = report.lines().filter(|line| !line.contains("\"suite_hash\"") && !line.contains("\"plan_hash\""));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(report(&interrupted, &killed), report(&uninterrupted, &whole));
}

/// TG-13: a plan counts an agent as one call at least and as many as it has turns at most; without limits that is 20.
#[test]
fn a_plan_knows_the_turns_of_an_agent() {
    for (limits, most) in [("", 20), (", limits: { turns: 3 }", 3)] {
        let agent = format!(r#"user: "{{{{ input }}}}", tools: [get_order]{limits}"#);
        let place = place(4, &suite("http://127.0.0.1:9", ORDER, &agent));
        let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
        assert_eq!(plan["models"][0]["calls"], json!([4, 4 * most]), "{plan}");
    }
}

/// TG-20: a simulated user speaks after each text; its cost is its own, and its failure has its own code.
#[test]
fn a_simulated_user_is_no_part_of_the_system() {
    let provider = FakeProvider::start(Script::by(|received| {
        let request = received.json();
        let turns = request["messages"].as_array().map_or(0, Vec::len);
        match (request["model"].as_str(), turns) {
            (Some("user-model"), 2) => says("I want a refund."),
            (Some("user-model"), _) => says("###STOP###"),
            _ => says("Done."),
        }
    }))
    .unwrap();
    let user = format!(
        ", {{ id: person, provider: openai, model: user-model, base_url: \"{}\", api_key_env: MOCK_KEY, price: {{ input: 1000.0, output: 1000.0 }} }} ]",
        provider.base_url()
    );
    let agent = r#"system: Be kind., simulate: { model: person, text: "Goal: {{ input }}" }"#;
    let suite = suite(&provider.base_url(), "", agent).replace("tools: {  }\n", "").replacen(" ]", &user, 1);
    let place = place(1, &suite);
    place.succeed(&["run", "-q", "--run-id", "a", "--models", "mock"]);
    assert_eq!(provider.requests(), 3);
    let report = place.report("a");
    let output = &report["cells"][0]["output"];
    assert_eq!((&output["turns"], &output["stop_reason"]), (&json!(1), &json!("done")));
    assert_eq!(output["messages"][1], json!({"role": "user", "content": "I want a refund."}));
    let system = report["cost"]["extraction_cost_usd"].as_f64().unwrap();
    assert!((system - (80.0 + 8.0 * 2.0) / 1e6).abs() < 1e-12, "{}", report["cost"]);
    let user = report["cost"]["user_cost_usd"].as_f64().unwrap();
    assert!((user - 2.0 * 88.0 / 1e3).abs() < 1e-9, "{}", report["cost"]);
    let paid = report["cost"]["actual_cost_usd"].as_f64().unwrap();
    assert!((paid - system - user).abs() < 1e-9, "{}", report["cost"]);
}

/// TG-20: a user that never stops ends with its turns; a script says its messages and no more.
#[test]
fn a_user_that_never_stops_is_stopped() {
    let provider = FakeProvider::start(says("And?")).unwrap();
    for (simulate, reason, turns) in [
        ("{ model: mock, text: Talk., first: Hi., turns: 3 }", "user", 3),
        ("{ script: [\"Hi {{ input }}.\", Bye.] }", "done", 2),
    ] {
        let suite = suite(&provider.base_url(), "", &format!("simulate: {simulate}")).replace("tools: {  }\n", "");
        let place = place(1, &suite);
        place.succeed(&["run", "-q", "--run-id", "a"]);
        let output = output(&place, "a");
        assert_eq!((output["stop_reason"].as_str(), output["turns"].as_u64()), (Some(reason), Some(turns)), "{output}");
    }
}

/// TG-33: trials of an agent are made by themselves although their requests are equal. 3 of 4 pass: pass^2 is 0.5 and
/// pass@2 is 1.
#[test]
fn trials_differ_though_requests_are_equal() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0 => says("wrong"),
        _ => says("It is answer 0."),
    }))
    .unwrap();
    let scorers = "scorers: { all: { metric: contains, reduce: pass^2 }, any: { metric: contains, reduce: pass@2 } }";
    let suite = suite(&provider.base_url(), "", r#"user: "{{ input }}""#)
        .replace("tools: {  }\n", "")
        .replace("scorers: { turns: { metric: json_field, output: $.turns, reference: target } }", scorers);
    let place = place(1, &suite);
    place.succeed(&["run", "-q", "--run-id", "a", "--trials", "4"]);
    assert_eq!(provider.requests(), 4);
    let bodies: Vec<Value> = provider.received_requests().iter().map(|request| request.json()).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let metrics = &place.report("a")["metrics"];
    assert_eq!((&metrics["all"]["value"], &metrics["any"]["value"]), (&json!(0.5), &json!(1.0)), "{metrics}");
}

/// TG-16: `--safe` refuses tools that run programs.
#[test]
fn safe_refuses_programs_behind_tools() {
    let tools = "shop: { version: \"1\", command: { run: [python3, shop.py] } }";
    let place = place(1, &suite("http://127.0.0.1:9", tools, r#"user: "{{ input }}", tools: [shop]"#));
    let said = place.karat(&["validate", "--safe"]);
    assert_ne!(said.code, 0);
    assert!(said.stderr.contains("a tool's `command` runs a program, which --safe refuses"), "{}", said.all());
}

/// TG-13, TG-20: mistakes in a suite are found before any call.
#[test]
fn mistakes_are_found_by_validate() {
    for (agent, problem) in [
        ("tools: [get_order]", "`agent` has no first message"),
        (r#"user: "{{ input }}", tools: [get_oder]"#, "did you mean `get_order`?"),
        (r#"user: "{{ input }}", messages: [ { role: user, content: x } ]"#, "`user` and `messages` both give"),
        (r#"user: "{{ input }}", state: get_order"#, "called without arguments"),
        (r#"user: "{{ input }}", limits: { turns: 0 }"#, "turns"),
        ("simulate: { text: Hi. }", "a simulated user needs one of `model`, `script`"),
        ("simulate: { model: mock }", "needs `text`"),
        ("simulate: { script: [Hi.], turns: 3 }", "`turns` has no effect beside `script`"),
        ("simulate: { model: moc, text: Hi. }", "did you mean `mock`?"),
        (r#"user: "{{ sample.qestion }}""#, "qestion"),
    ] {
        let place = place(1, &suite("http://127.0.0.1:9", ORDER, agent));
        let said = place.karat(&["validate"]);
        assert_ne!(said.code, 0, "{agent}");
        assert!(said.stderr.contains(problem), "{agent}\n{}", said.all());
    }
}

/// TG-14: after a tool has failed, `retry` asks the tool again and pays no turn of the model twice.
#[test]
fn a_retry_after_a_broken_tool_pays_no_turn_twice() {
    for protocol in ["jsonl", "once"] {
        let provider = FakeProvider::start(Script::by(|received| {
            match received.json()["messages"].as_array().map_or(0, Vec::len) {
                1 => call("shop", &json!({"id": "A1"})),
                _ => says("Done."),
            }
        }))
        .unwrap();
        let tools = format!(
            "shop: {{ input: {{ type: object }}, version: \"1\", command: {{ run: [python3, shop.py], protocol: {protocol} }} }}"
        );
        let place = place(1, &suite(&provider.base_url(), &tools, r#"user: "{{ input }}", tools: [shop]"#));
        place.write("shop.py", "print('not an answer')");
        assert_ne!(place.karat(&["run", "-q", "--run-id", "a"]).code, 0);
        assert_eq!(place.report("a")["cells"][0]["error"]["code"], "tool");
        let good = if protocol == "jsonl" { COUNTER } else { "print('{\"result\": 1}')" };
        place.write("shop.py", good);
        place.succeed(&["retry", "a", "-q"]);
        assert_eq!((&output(&place, "a")["text"], provider.requests()), (&json!("Done."), 2), "{protocol}");
    }
}

/// TG-20: a user of the agent's own family is warned about.
#[test]
fn a_user_of_the_same_family_is_warned_about() {
    let agent = "simulate: { model: gpt-5-mini, text: Talk. }";
    let text = suite("http://127.0.0.1:9", "", agent).replace("tools: {  }\n", "");
    let start = text.find("models: ").unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let place = place(1, &text.replace(&text[start..end], "models: [gpt-5, claude-haiku-4-5]"));
    let said = place.succeed(&["validate"]);
    assert!(
        said.stderr.contains("`gpt-5-mini` plays the user of `gpt-5`, a model of the same family"),
        "{}",
        said.all()
    );
}
