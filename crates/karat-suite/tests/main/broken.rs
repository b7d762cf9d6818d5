//! Messages for broken suites: every problem with its place and a hint.

use karat_suite::{Environment, LoadContext, Overrides};

use crate::world::World;

const DATA: &str = "{\"id\": \"a\", \"question\": \"2+2?\", \"target\": \"4\", \"topic\": \"sums\"}\n{\"id\": \"b\", \"question\": \"3+3?\", \"target\": \"6\", \"topic\": \"sums\"}\n";

/// A good suite; each test breaks one thing of it.
const SUITE: &str = r#"name: bench
dataset: { source: data.jsonl, id: id, input: question, reference: target }
models: [gpt-5]
variants:
  direct:
    - { id: ask, prompt: { text: "{{ sample.question }}" } }
scorers: { hit: { metric: contains } }
"#;

fn world() -> World {
    World::new(&[("karat.yaml", SUITE), ("data.jsonl", DATA)])
}

/// The good suite with a part replaced.
fn broken(part: &str, by: &str) -> World {
    assert!(SUITE.contains(part), "{part}");
    world().with("karat.yaml", &SUITE.replacen(part, by, 1))
}

fn shown(part: &str, by: &str) -> String {
    broken(part, by).problems(&Overrides::default())
}

/// A suite with more keys at its end.
fn with_more(more: &str) -> String {
    world().with("karat.yaml", &format!("{SUITE}{more}")).problems(&Overrides::default())
}

/// FT-B1: a price that names only one side is an error at its place; free tokens are written out as 0.
#[test]
fn a_price_needs_both_sides() {
    let priced = |price: &str| {
        let model =
            format!("models: [{{ id: mine, provider: openai, base_url: \"https://x.example/v1\", price: {price} }}]");
        let world = world().with("karat.yaml", &SUITE.replacen("models: [gpt-5]", &model, 1));
        world.load(&Overrides::default()).err().map(|problems| problems.plain()).unwrap_or_default()
    };
    for (price, missing) in [("{ input: 1.0 }", "output"), ("{ output: 1.0 }", "input")] {
        let said = priced(price);
        assert!(said.contains(&format!("error: a price needs `{missing}`\n --> karat.yaml:3:81\n")), "{said}");
        assert!(said.contains(&format!("write `{missing}: 0` if they are free")), "{said}");
    }
    assert!(priced("{ input: 1.0, output: ~ }").contains("`output` is empty"));
    assert_eq!(priced("{ input: 1.0, output: 0 }"), "");
    let registry = "models:\n  - { id: own, like: gpt-5, price: { input: 1.0 } }\n";
    let suite = SUITE.replacen("models: [gpt-5]", "registry: [own.yaml]\nmodels: [own]", 1);
    let said = world().with("own.yaml", registry).with("karat.yaml", &suite).problems(&Overrides::default());
    assert!(said.contains("own.yaml:2:") && said.contains("a price needs `output`"), "{said}");
}

/// Trials and calls in flight have an upper bound: a plan of three billion cells would be counted for hours.
#[test]
fn large_numbers_of_trials_and_calls_are_refused() {
    let said = with_more("run: { trials: 3000000000, max_concurrency: 65536 }\n");
    assert!(said.contains("`trials` must be at most 10000, not 3000000000"), "{said}");
    assert!(said.contains("`max_concurrency` must be at most 65535, not 65536"), "{said}");
}

/// Rule 6 of the language: a parameter brings `${NAME}` only where it is filled.
#[test]
fn a_parameter_brings_the_environment_only_where_it_is_read() {
    let step = |step: &str| {
        let params = "params: { who: \"${WHO:-World}\" }\nvariants:";
        let prompt = "{ id: ask, prompt: { text: \"{{ sample.question }}\" } }";
        let suite = SUITE.replacen("variants:", params, 1).replacen(prompt, step, 1);
        let world = world().with("karat.yaml", &suite);
        world.load(&Overrides::default()).err().map(|problems| problems.plain()).unwrap_or_default()
    };
    for refused in [
        "{ id: ask, version: v, command: { run: [echo, \"{{ params.who }}\"] } }",
        "{ id: ask, version: v, command: { run: [cat], stdin: \"{{ params.who }}\" } }",
        "{ id: ask, version: v, http: { url: \"http://127.0.0.1:1\", body: { q: \"{{ params.who }}\" } } }",
    ] {
        let said = step(refused);
        assert!(said.contains("`${…}` is not allowed here") && said.contains("only url, headers, env"), "{said}");
    }
    assert_eq!(step("{ id: ask, version: v, command: { run: [cat], env: { WHO: \"{{ params.who }}\" } } }"), "");
}

/// Rule 6 of the language: a declared version is what the environment says, whatever declares it.
#[test]
fn versions_read_the_environment() {
    let step = "{ id: ask, http: { url: \"{{ services.api.url }}\" } }";
    let suite = SUITE.replacen("source: data.jsonl", "source: data.jsonl, version: \"${COMMIT}\"", 1);
    let suite = suite.replacen("{ id: ask, prompt: { text: \"{{ sample.question }}\" } }", step, 1);
    let suite = format!("{suite}services: {{ api: {{ command: [api], version: \"v-${{COMMIT}}\" }} }}\n");
    let world = world().with("karat.yaml", &suite);
    let environment = Environment::new(|name| (name == "COMMIT").then(|| "c1".to_owned()));
    let plan = world
        .plan(&Overrides { context: LoadContext { environment, ..LoadContext::default() }, ..Overrides::default() });
    assert_eq!(plan.header.dataset.version.as_deref(), Some("c1"));
    assert_eq!(plan.header.services["api"].version.as_deref(), Some("v-c1"));
    assert_eq!(plan.header.variants[0].steps[0].version.as_deref(), Some("v-c1"));
    let said = world.problems(&Overrides::default());
    assert_eq!(said.matches("the environment variable COMMIT is not set").count(), 2, "{said}");
}

/// DC-14: a difference that samples are planned for is above 0.
#[test]
fn a_planned_difference_is_above_zero() {
    let suite = format!("{SUITE}policy: {{ mde: {{ hit: 0, pass: -5% }} }}\n");
    let said = world().with("karat.yaml", &suite).problems(&Overrides::default());
    assert_eq!(said.matches("a difference must be above 0").count(), 2, "{said}");
}

/// All problems at once: also what chunks, models and gates do not have.
#[test]
fn names_that_nothing_has_are_reported_with_everything_else() {
    let prompt = "{ text: \"{{ sample.question }}\" }";
    let step = "{ text: \"{{ chunk.itemz }}{{ chunk.text }}{{ model.price }}{{ run.day }}{{ chunk.x | default('') }}\" }, chunk: { of: sample.question, tokens: 5 }, take: 1";
    let gates = "gates: [ { metric: hitt, min: 1 }, { metric: hit.x, min: 1 }, { metric: pass, min: 1 }, { metric: \"*\", min: 0 } ]\n";
    let suite = format!("{}{gates}", SUITE.replacen(prompt, step, 1));
    let said = world().with("karat.yaml", &suite).problems(&Overrides::default());
    for wanted in [
        "`chunk` has no `itemz`",
        "`model` has no `price`",
        "`run` has no `day`",
        "no scorer of the suite has the metric `hitt`",
    ] {
        assert_eq!(said.matches(wanted).count(), 1, "{wanted}: {said}");
    }
    assert!(said.contains("did you mean `hit`?") && said.contains("`take` must be a map"), "{said}");
    assert_eq!(said.matches("no scorer").count(), 1, "{said}");
    assert!(!said.contains("has no `x`"), "{said}");
}

/// Secrets are never written in a suite: a key in it, in its registry file or on the command line is refused and not
/// shown.
#[test]
fn keys_in_clear_are_refused() {
    const KEY: &str = "sk-proj-abcdefghijklmnop1234";
    let entry = format!(r#"[ {{ id: m, provider: openai, model: x, with: {{ headers: {{ X-Mine: "{KEY}" }} }} }} ]"#);
    let refused = |world: World, overrides: &Overrides| {
        let said = world.problems(overrides);
        assert!(said.contains("looks like a key") && !said.contains(KEY), "{said}");
        said
    };
    let said = refused(broken("[gpt-5]", &entry), &Overrides::default());
    assert!(said.contains("karat.yaml:3:") && said.contains("write `${NAME}`"), "{said}");
    let file = format!("schema: karat.models/1\nmodels: {entry}\n");
    let world = world().with("models.yaml", &file).with("karat.yaml", &format!("{SUITE}registry: [models.yaml]\n"));
    assert!(refused(world, &Overrides::default()).contains("models.yaml:2:"));
    let given = Overrides { params: vec![("who".to_owned(), KEY.to_owned())], ..Overrides::default() };
    refused(self::world().with("karat.yaml", &format!("{SUITE}params: {{ who: x }}\n")), &given);
}

macro_rules! snapshots {
    ($($(#[$about:meta])* $name:ident: $shown:expr;)+) => {
        $($(#[$about])* #[test] fn $name() { insta::assert_snapshot!($shown); })+
    };
}

snapshots! {
    unknown_key: shown("variants:", "varaints:");
    unknown_key_of_another_tool: with_more("tests: []\n");
    unknown_nested_key: shown("input: question", "inputs: question");
    duplicate_key: with_more("name: again\n");
    wrong_types: shown("models: [gpt-5]", "models: gpt-5\nrun: { trials: many, timeout: 5, max_concurrency: 0 }");
    missing_required: shown("name: bench\n", "");
    no_dataset_source: shown("source: data.jsonl, ", "");
    two_sources: shown("source: data.jsonl, ", "source: data.jsonl, rows: [{ id: a }], ");
    missing_file: shown("data.jsonl", "data.json");
    missing_prompt_file: shown("{ text: \"{{ sample.question }}\" }", "prompts/ask.md");
    unknown_format: shown("data.jsonl,", "data.jsonl, format: jsnol,");
    /// CL-03: the nearest id of an unknown model is suggested.
    unknown_model: shown("[gpt-5]", "[gpt5, opnai:gpt-6-mini]");
    unknown_judge: with_more("judges: [claude-sonet-4]\n");
    no_model: shown("models: [gpt-5]\n", "");
    model_twice: shown("[gpt-5]", "[gpt-5, openai/gpt-5]");
    bad_inline_model: shown("[gpt-5]", "[{ id: mine, provider: openia, contextWindow: 5 }, { id: \"cmd:x\", provider: openai }, { id: other }]");
    unknown_metric_and_option: shown("metric: contains", "metric: contians }, other: { metric: contains, with: { ignorecase: true, all: x }");
    bad_template: shown("{{ sample.question }}", "{{ sample.question | uper }} {{ 1 + }}");
    unquoted_template: shown("\"{{ sample.question }}\"", "{{ sample.question }}");
    unknown_variable: shown("{{ sample.question }}", "{{ question }} {{ sampel.question }} {{ chunk.text }} {{ output }}");
    unknown_column: shown("{{ sample.question }}", "{{ sample.questoin }}");
    defaulted_column_is_no_error_but_an_undeclared_input_is: shown("id: id, input: question", "id: id, where: not (sample.topik is defined), input: qestion");
    bad_path: shown("metric: contains", "metric: contains, output: \"$.a[\", reference: \"..\"");
    path_that_matches_no_row: shown("metric: contains", "metric: contains, reference: targte");
    /// CL-01: a metric that could compare with nothing is refused, with the column that looks like a reference.
    no_row_has_a_reference: world()
        .with("karat.yaml", &SUITE.replace(", reference: target", ""))
        .with("data.jsonl", &DATA.replace("target", "gold"))
        .problems(&Overrides::default());
    /// The nearest name within a largest distance.
    nothing_looks_like_a_reference: world()
        .with("karat.yaml", &SUITE.replace(", reference: target", ", limit: 1"))
        .with("data.jsonl", &DATA.replace("target", "extra"))
        .problems(&Overrides::default());
    a_reference_that_is_null_in_every_row: world()
        .with("data.jsonl", "{\"id\": \"a\", \"question\": \"2+2?\", \"target\": null}\n")
        .problems(&Overrides::default());
    a_recognised_reference_that_is_null_in_every_row: world()
        .with("karat.yaml", &SUITE.replace(", reference: target", ""))
        .with("data.jsonl", "{\"id\": \"a\", \"question\": \"2+2?\", \"target\": null}\n")
        .problems(&Overrides::default());
    a_path_below_a_column_that_is_there: shown("metric: contains", "metric: contains, reference: target.text");
    bad_expression: shown("id: id,", "id: id, where: \"{{ sample.topic }}\",");
    cyclic_use: shown("scorers:", "  one: [ { use: two } ]\n  two: [ { use: one } ]\nscorers:");
    a_bare_metric: shown("{ metric: contains }", "contains");
    unknown_use: shown("scorers:", "  one: [ { use: dircet } ]\nscorers:");
    two_actions: shown("id: ask,", "id: ask, recorded: { column: target },");
    no_action: shown("prompt: { text: \"{{ sample.question }}\" }", "version: v1");
    two_aliases: world()
        .with("karat.yaml", &SUITE.replace("id: id, input: question, reference: target", "id: id"))
        .with("data.jsonl", "{\"id\": \"a\", \"question\": \"x\", \"prompt\": \"y\", \"target\": \"4\", \"expected\": \"5\"}\n")
        .problems(&Overrides::default());
    duplicate_ids: world().with("data.jsonl", &format!("{DATA}{}", DATA.replace("2+2", "9+9"))).problems(&Overrides::default());
    broken_json_lines: world().with("data.jsonl", &format!("{DATA}{{\"id\": \"c\", \"question\": }}\n[1]\n")).problems(&Overrides::default());
    empty_dataset: world().with("data.jsonl", "\n").problems(&Overrides::default());
    environment_where_it_may_not_be: shown("source: data.jsonl", "source: \"${DATA}/data.jsonl\"");
    missing_parameter: shown("name: bench", "name: bench\nparams: { style: ~, tone: dry }");
    unknown_parameter: shown("{{ sample.question }}", "{{ params.stile }} {{ sample.question }}");
    broken_rubric: with_rubric(RUBRIC);
    /// LI-22: keys and values that earlier versions had are errors with their place and the way out.
    removed_keys_and_values: world()
        .with("karat.yaml", &format!("{}run: {{ stop_early: {{ rule: asymptotic }} }}\nschedules:\n  n:\n    cron: '@daily'\n    zone: UTC\n    keep: 90d\n    budget_month_usd: 5\nalerts: {{ a: {{ send: email, events: [drift] }} }}\n", SUITE))
        .problems(&Overrides::default());
    not_available_yet: world()
        .with("karat.yaml", &format!("{}baseline: b.json\n", SUITE.replace("metric: contains", "rubric: { ask: y }, canary: { source: frozen.jsonl }").replace("source: data.jsonl", "source: data.jsonl, format: parquet")))
        .problems(&Overrides::default());
    /// SV-12: wrong expressions, dates that never come, zones and parameters, each with a hint.
    schedules_are_checked: with_more("schedules:\n  a: { cron: 61 2 * * *, zone: Berlin }\n  b: { cron: 0 0 30 2 *, zone: Europe/Brelin, params: { stile: short } }\n  c: { cron: 0 30 2 * * *, zone: UTC, task: canary, overlap: wait }\n  'no good': { cron: '@daily', zone: UTC }\n");
    /// SV-17: secrets only by the environment; unknown options and events.
    alerts_are_checked: with_more("alerts:\n  a: { send: webhook, with: { url: 'https://hooks.example/abc' }, events: [gate_fail] }\n  b: { send: slack, with: { url: '${HOOK}', secret: '${S}', adress: x }, events: [drift] }\n  c: { send: teams, events: [drift, judge_moved], after: 0 }\n");
    gates_are_checked: with_more("gates:\n  - { metric: hit, per: sample }\n  - { metric: hit, finding: x, min: 1, decide: maybe }\n  - { id: g, metric: hit, max_drop: lots, against: variant-x }\n  - { id: g, metric: hit, min: 1 }\n");
}

/// A rubric in which nearly everything is wrong.
const RUBRIC: &str = r#"schema: karat.rubric/1
ask: Judge.
show:
  answer: "{{ ouput }}"
  list: { value: "{{ sample.question }}", route: answr, line: "- {{ item }}" }
dimensions:
  good: { scale: [5, 1] }
  fine: { scale: [1, 5], step: 9, anchors: { 7: too high, x: no number } }
  both: { scale: [0, 1], choices: { a: 1, b: 0 } }
  fun:  { choices: { only: 1 } }
diagnostics:
  spans: { each: { at: { index_of: lists }, why: { one_of: [a, b], default: c }, what: nonsense } }
caps:
  - { id: low, when: sample.topc == "x", max: { fien: 2 } }
overall: { id: fine, method: average }
invalid: { absent: ignore }
"#;

fn with_rubric(rubric: &str) -> String {
    let suite = format!("{SUITE}judges: [gpt-4o]\n")
        .replace("scorers: {", "scorers: { quality: { rubric: r.yaml, with: { a: 1 } },");
    world().with("karat.yaml", &suite).with("r.yaml", rubric).problems(&Overrides::default())
}

/// Every problem is reported at once, each `--set` at its own place.
#[test]
fn bad_addresses_of_set() {
    let set = [
        ("variants.direct.aks.parameters.temperature", "0"),
        ("run.max_concurency", "3"),
        ("run.trials", "none"),
        ("name.x", "1"),
    ];
    let overrides = Overrides {
        set: set.map(|(address, value)| (address.to_owned(), value.to_owned())).to_vec(),
        ..Overrides::default()
    };
    insta::assert_snapshot!(world().problems(&overrides));
}

/// CL-05: a wrong variant id fails before anything is spent. CL-21: unknown ids are a clear error.
#[test]
fn unknown_names_on_the_command_line() {
    let overrides = Overrides {
        models: vec!["gpt-5-mni".to_owned()],
        variants: vec!["dirct".to_owned()],
        judges: vec!["cmd:cluade".to_owned()],
        samples: vec!["aa".to_owned()],
        params: vec![("x".to_owned(), "1".to_owned())],
        ..Overrides::default()
    };
    insta::assert_snapshot!(world().problems(&overrides));
}

/// SU-06: a metric that brings what it compares with, or finds it beyond the limit, needs no reference in the rows
/// that run; beside judges, who can do without one, it is warned of.
#[test]
fn what_brings_its_own_needs_no_reference() {
    let bare = SUITE.replace(", reference: target", "");
    let plain = DATA.replace("target", "extra");
    for own in ["value: \"4\"", "reference: extra", "with: { any: [\"4\"] }"] {
        let suite = bare.replace("metric: contains", &format!("metric: contains, {own}"));
        world().with("karat.yaml", &suite).with("data.jsonl", &plain).plan(&Overrides::default());
    }
    let judged = bare.replace("contains }", "contains }, style: { rubric: { ask: Polite? } }") + "judges: [gpt-5]\n";
    let suite = world().with("karat.yaml", &judged).with("data.jsonl", &plain).load(&Overrides::default()).unwrap();
    assert!(suite.warnings().plain().contains("warning: `contains` has nothing to compare with"));
    let later = "{\"id\": \"a\", \"question\": \"x\"}\n{\"id\": \"b\", \"question\": \"y\", \"target\": \"6\"}\n";
    let first = Overrides { limit: Some(1), ..Overrides::default() };
    world().with("karat.yaml", &bare).with("data.jsonl", later).plan(&first);
}

/// FT-D33: a prompt that stands where a file is expected says how to write it in the suite.
#[test]
fn a_prompt_in_place_of_a_file_is_explained() {
    let prompt = "{ text: \"{{ sample.question }}\" }";
    let suite = SUITE.replacen(prompt, "\"Answer: {{ sample.question }}\"", 1);
    let said = world().with("karat.yaml", &suite).problems(&Overrides::default());
    assert!(said.contains("is the path of a template file") && said.contains("prompt: { text: "), "{said}");
}

/// FT-D59: a template where a path belongs is answered with the path.
#[test]
fn a_template_in_place_of_a_path_is_explained() {
    let suite = "name: x\ndataset: { rows: [{ id: a, tools: [b] }] }\nvariants: { v: [ { recorded: { column: id } } ] }\n\
                 scorers: { s: { metric: exact, reference: \"{{ sample.tools }}\" } }\n";
    let said = World::new(&[("karat.yaml", suite)]).problems(&Overrides::default());
    assert!(said.contains("write `tools`"), "{said}");
}

/// F19: two things of one name are refused at the second, whatever kind of thing they are.
#[test]
fn two_things_of_one_name_are_refused() {
    const RUBRIC: &str = "q: { rubric: { ask: How good?, dimensions: { x: { scale: [1, 5] }, y: { scale: [1, 5] } }, overall: { method: mean } } }";
    let suite = |scorers: &str, more: &str| {
        let rows = "{ rows: [ { id: a, o: x }, { id: b, o: y } ], id: id, input: o }";
        let dataset = if more.contains("dataset:") { String::new() } else { format!("dataset: {rows}\n") };
        let variants = "variants: { v: [ { recorded: { column: o } } ] }\n";
        let variants = if more.contains("variants:") { "" } else { variants };
        format!("name: n\n{dataset}{variants}scorers:\n  {}\n{more}", scorers.replace("; ", "\n  "))
    };
    let checks = "dataset: { rows: [ { id: a, o: x, assert: [ { metric: contains, value: z } ] }, { id: b, o: y, assert: [ { rubric: { ask: ok? } } ] } ], id: id }\n";
    let exact = "e: { metric: exact, value: x }";
    for (scorers, more, message) in [
        (
            format!("{RUBRIC}; q.x: {{ metric: exact, value: x }}"),
            "",
            "already a metric `q.x`: that of `x` in the scorer `q`",
        ),
        (format!("q.y: {{ metric: exact, value: x }}; {RUBRIC}"), "", "already a metric `q.y`: the scorer `q.y`"),
        (format!("{RUBRIC}; q.overall: {{ metric: exact, value: x }}"), "", "already a metric `q.overall`"),
        (
            RUBRIC.replace(", y:", ", x.y:")
                + "; q.x: { rubric: { ask: a, dimensions: { y: { scale: [0, 1] }, z: { scale: [0, 1] } } } }",
            "",
            "already a metric `q.x.y`: that of `x.y` in the scorer `q`",
        ),
        (RUBRIC.replace("method: mean", "id: x"), "", "already a dimension `x`"),
        (
            "pass: { metric: exact, value: x }; other: { metric: exact, value: y }".to_owned(),
            "",
            "`pass` is the name of Karat's own metric",
        ),
        ("pass: { metric: exact, value: x }".to_owned(), "", "`pass` is the name of Karat's own metric"),
        ("pass: { rubric: { ask: Is it right? } }".to_owned(), "", "`pass` is the name of Karat's own metric"),
        (RUBRIC.replace("q:", "pass:"), "", "`pass` is the name of Karat's own metric"),
        (
            "assert: { metric: exact, value: x }".to_owned(),
            checks,
            "`assert` is the name of the metric of the checks that rows hold",
        ),
        (
            "assert.judged: { metric: exact, value: x }".to_owned(),
            checks,
            "`assert.judged` is the name of the metric of the checks of rows that judges decide",
        ),
        (
            exact.to_owned(),
            "analyses: [ { analysis: delta, id: failures } ]\n",
            "`failures` is the name of another analysis",
        ),
        (exact.to_owned(), "analyses: [ slices, slices ]\n", "two analyses have the id `slices`"),
        (
            exact.to_owned(),
            "dataset: { rows: [ { id: a, o: x } ], id: id, checks: [ { name: c, min: 1 }, { name: c, max: 9 } ] }\n",
            "two checks have the name `c`",
        ),
        (
            exact.to_owned(),
            "models: [ { id: m, provider: stub } ]\nvariants: { v: [ { prompt: { text: \"{{ sample.o }}\" } } ], m/v: [ { recorded: { column: o } } ] }\n",
            "the variants `v` and `m/v` both make a system `m/v`",
        ),
        (
            RUBRIC.replace("overall: { method: mean }", "diagnostics: { x: { each: text } }"),
            "",
            "two fields `x`: the dimension and the diagnostic",
        ),
        (
            RUBRIC.replace("overall: { method: mean }", "rationale: { field: y }"),
            "",
            "two fields `y`: the rationale and the dimension",
        ),
        (
            RUBRIC.replace(
                "overall: { method: mean }",
                "breakdowns: { x: { over: [a, b], scores: { z: { scale: [1, 5] } } } }",
            ),
            "",
            "two fields `x`: the dimension and the breakdown",
        ),
        (
            RUBRIC.replace(
                "overall: { method: mean }",
                "overall: { id: t, method: given }, diagnostics: { t: { each: text } }",
            ),
            "",
            "two fields `t`: the overall and the diagnostic",
        ),
        (
            RUBRIC.replace("overall: { method: mean }", "reply: nested, diagnostics: { scores: { each: text } }"),
            "",
            "two fields `scores`",
        ),
    ] {
        let suite = suite(&scorers, more);
        let told = World::new(&[("karat.yaml", &suite)]).problems(&Overrides::default());
        assert!(told.contains(message) && told.contains("karat.yaml:"), "{suite}\n{told}");
    }
    for (scorers, more) in [
        (format!("{RUBRIC}; q.z: {{ metric: exact, value: x }}"), ""),
        (RUBRIC.replace("overall: { method: mean }", "reply: nested, diagnostics: { x: { each: text } }"), ""),
        (RUBRIC.replace("overall: { method: mean }", "overall: { id: t }, diagnostics: { t: { each: text } }"), ""),
        ("passed: { metric: exact, value: x }; other: { metric: exact, value: y }".to_owned(), ""),
        (exact.to_owned(), checks),
    ] {
        let suite = suite(&scorers, more);
        let problems = World::new(&[("karat.yaml", &suite)]).load(&Overrides::default()).err();
        assert!(problems.is_none(), "{suite}\n{}", problems.unwrap().plain());
    }
}
