//! Tools of a suite and prompts that offer them.

use karat_suite::{LoadContext, Overrides};
use karat_types::{Action, PromptSpec, Protocol, ScorerKind, ToolChoice, ToolExecutor};

use crate::world::World;

const SUITE: &str = r#"name: shop
dataset: { source: data.jsonl, id: id, input: question }
models: [gpt-5]
tools:
  get_order:
    about: Looks an order up.
    input: { type: object, properties: { id: { type: string } }, required: [id] }
    replies: orders.jsonl
  refund: { input: refund.json, version: "2", command: { run: [python3, shop.py], protocol: jsonl } }
  clock: { result: "It is {{ sample.time }}." }
variants:
  once: [ { prompt: { text: "{{ input }}", tools: [refund, get_order], tool_choice: get_order } } ]
scorers: { hit: { metric: contains, output: $.text, value: x } }
"#;

const DATA: &str = "{\"id\": \"a\", \"question\": \"Where is A1?\", \"time\": \"noon\"}\n";
const ORDERS: &str = "{\"arguments\": {\"id\": \"A1\"}, \"result\": {\"ships\": \"Monday\"}}\n{\"arguments\": {}, \"error\": \"no such order\"}\n";

fn world(suite: &str) -> World {
    let schema = r#"{"type": "object", "properties": {"id": {"type": "string"}}}"#;
    World::new(&[("karat.yaml", suite), ("data.jsonl", DATA), ("orders.jsonl", ORDERS), ("refund.json", schema)])
}

fn said(part: &str, by: &str) -> String {
    assert!(SUITE.contains(part), "{part}");
    world(&SUITE.replacen(part, by, 1)).problems(&Overrides::default())
}

/// TG-10: tools are declared once; a prompt offers some of them in its own order, and the plan holds just these.
#[test]
fn a_prompt_offers_declared_tools() {
    let plan = world(SUITE).plan(&Overrides::default());
    let Action::Prompt(PromptSpec { tools, tool_choice, .. }) = &plan.header.variants[0].steps[0].action else {
        panic!("it is a prompt")
    };
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["refund", "get_order"]);
    assert_eq!(tools[1].about.as_deref(), Some("Looks an order up."));
    assert_eq!(tools[1].input["required"][0], "id");
    assert_eq!(*tool_choice, Some(ToolChoice::Tool("get_order".to_owned())));
    let ids: Vec<&str> = plan.header.tools.iter().map(|tool| tool.id.as_str()).collect();
    assert_eq!(ids, ["get_order", "refund"]);
    let Some(ToolExecutor::Replies(rows)) = &plan.header.tool("get_order").unwrap().executor else {
        panic!("it has written replies")
    };
    assert_eq!((rows.len(), rows[1].error.as_deref()), (2, Some("no such order")));
    let stored = serde_json::to_value(&*plan.header).unwrap();
    assert_eq!(serde_json::from_value::<karat_types::PlanHeader>(stored).unwrap(), *plan.header);
}

/// TG-10: everything that is wrong with tools is an error at its place.
#[test]
fn errors_of_tools_stand_at_their_place() {
    for (part, by, wanted) in [
        ("tools: [refund, get_order]", "tools: [refund, get_oder]", "no tool `get_oder`"),
        ("tools: [refund, get_order]", "tools: [refund, get_oder]", "did you mean `get_order`?"),
        ("input: refund.json", "input: { type: string }", "tool `refund`: `input` is not an object schema"),
        ("input: refund.json", "input: { type: objekt }", "tool `refund`: `input` is not a valid JSON Schema"),
        ("input: refund.json", "input: lost.json", "there is no file lost.json"),
        ("  clock:", "  clock two:", "`clock two` is not a name of a tool"),
        ("  clock:", "  any:", "a tool cannot be called `any`"),
        ("clock: { result:", "clock: { http: \"http://x\", result:", "`http` and `result` both answer its calls"),
        ("{{ sample.time }}", "{{ sample.tiem }}", "the dataset has no column `tiem`"),
        ("{{ sample.time }}", "{{ output }}", "there is no name `output` here"),
        ("shop.py]", "\"{{ sample.id }}\"]", "`sample.id` cannot be used here: the tool is the same for every call"),
        ("shop.py]", "\"${HOME}\"]", "`${…}` is not allowed here"),
        ("replies: orders.jsonl", "replies: [ { arguments: {} } ]", "reply 1 needs either `result` or `error`"),
        ("replies: orders.jsonl", "replies: [ { args: {} } ]", "reply 1 cannot be read"),
        (
            "tool_choice: get_order",
            "tool_choice: clock",
            "`tool_choice` is `clock`, which is not a tool of this prompt",
        ),
        ("tools: [refund, get_order], ", "", "`tool_choice` needs `tools`"),
        (
            " } } ]\nscorers",
            " }, parse: { as: json } } ]\nscorers",
            "step `0`: with `tools` the output is an object; `parse` in a later step",
        ),
        ("output: $.text", "output: $.txet", "no output has the field `txet`"),
    ] {
        let said = said(part, by);
        assert!(said.contains(wanted) && said.contains("--> karat.yaml:"), "{wanted}: {said}");
    }
}

/// TG-10: a program behind a tool is refused with `--safe`.
#[test]
fn programs_of_tools_are_refused_with_safe() {
    let said = world(SUITE).problems(&Overrides { safe: true, ..Overrides::default() });
    assert!(said.contains("a tool's `command` runs a program, which --safe refuses"), "{said}");
}

/// TG-12: a rubric without `show` shows a judge the words of outputs with calls, and the whole of any other output.
#[test]
fn rubrics_show_the_words_of_outputs_with_calls() {
    let shown = |suite: &str| {
        let suite = suite.replace("models: [gpt-5]", "models: [gpt-5]\njudges: [gpt-5-mini]");
        let rubric = "{ rubric: { ask: Is it polite?, dimensions: { polite: { scale: [1, 5] } } } }";
        let plan =
            world(&suite.replace("{ metric: contains, output: $.text, value: x }", rubric)).plan(&Overrides::default());
        let ScorerKind::Rubric(scorer) = &plan.header.scorers[0].kind else { panic!("it is a rubric") };
        scorer.rubric.show.iter().map(|item| item.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(SUITE), ["{{ input }}", "{{ output.text }}"]);
    let without = SUITE.replace(", tools: [refund, get_order], tool_choice: get_order", "");
    assert_eq!(shown(&without), ["{{ input }}", "{{ output }}"]);
}

/// BY-15: a host function answers line by line and is known by its version: another function is another plan, and what the
/// suite declares wins.
#[test]
fn host_functions_are_known_by_their_version() {
    let suite = r#"name: host
dataset: { source: data.jsonl, id: id, input: question }
variants:
  own: [ { id: a, command: { run: ["host:answer"] } }, { id: b, version: v7, command: { run: ["host:answer"] } } ]
scorers: { tone: { metric: command, with: { run: ["host:tone"] } } }
"#;
    let at = |version: &str| {
        let versions = [("answer", version), ("tone", version)].map(|(name, version)| (name.into(), version.into()));
        let context = LoadContext { host_functions: versions.into(), ..LoadContext::default() };
        world(suite).plan(&Overrides { context, ..Overrides::default() }).header
    };
    let plan = at("one");
    let [a, b] = plan.variants[0].steps.as_slice() else { panic!("two steps") };
    assert_eq!((a.version.as_deref(), b.version.as_deref()), (Some("one"), Some("v7")));
    let Action::Command(command) = &a.action else { panic!("it is a program") };
    assert_eq!(command.protocol, Protocol::Jsonl);
    let ScorerKind::Metric { with, .. } = &plan.scorers[0].kind else { panic!("it is a metric") };
    assert_eq!(with["run"], serde_json::json!(["host:tone", "one"]));
    assert_eq!(at("one").plan_hash, plan.plan_hash);
    assert_ne!(at("two").plan_hash, plan.plan_hash);
    // Without the functions, as on the command line, the suite can be planned and has no version.
    assert_eq!(world(suite).plan(&Overrides::default()).header.variants[0].steps[0].version, None);
}
