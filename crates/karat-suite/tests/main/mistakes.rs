//! Mistakes as a newcomer makes them: each message in one file that a person can read.

use std::fmt::Write as _;

use karat_suite::Overrides;

use crate::world::World;

const DATA: &str = r#"{"id": "t01", "ticket": "My card was charged twice", "category": "billing", "tools": ["refund"]}
{"id": "t02", "ticket": "The app is slow", "category": "performance", "tools": []}
"#;

const SUITE: &str = r#"name: tickets
dataset: { source: tickets.jsonl, id: id, reference: category }
models:
  - id: small
    provider: openai
    base_url: "http://127.0.0.1:1/v1"
variants:
  plain:
    - prompt: { text: "Classify {{ sample.ticket }}" }
scorers:
  label: { metric: exact }
"#;

fn world(suite: &str) -> World {
    World::new(&[("karat.yaml", suite), ("tickets.jsonl", DATA)])
}

/// The suite with a part replaced.
fn with(part: &str, by: &str) -> String {
    assert!(SUITE.contains(part), "{part}");
    SUITE.replacen(part, by, 1)
}

/// The problems of a suite, or the warnings of one that can be used.
fn told(world: &World, overrides: &Overrides) -> String {
    match world.load(overrides) {
        Ok(suite) => format!("(valid)\n{}", suite.warnings().plain()),
        Err(problems) => problems.plain(),
    }
}

fn table(mistakes: &[(&str, String)]) -> String {
    let mut shown = String::new();
    for (what, said) in mistakes {
        let _ = writeln!(shown, "── {what}\n{said}\n");
    }
    shown
}

fn told_of(mistakes: &[(&str, String)]) -> String {
    let told: Vec<(&str, String)> =
        mistakes.iter().map(|(what, suite)| (*what, told(&world(suite), &Overrides::default()))).collect();
    table(&told)
}

/// D4, D5, D18: errors of YAML stand at the character that has to change, in plain words.
#[test]
fn yaml_errors_are_at_their_place() {
    let shown = told_of(&[
        ("a tab before a key", with("    provider", "\tprovider")),
        ("a tab at the top", with("dataset:", "\tdataset:")),
        ("a tab in a list", with("  - id: small", "\t- id: small")),
        ("a key one column too far left", with("    provider: openai", "   provider: openai")),
        ("a key one column too far right", with("    provider: openai", "     provider: openai")),
        ("a list item too far left", with("    - prompt", " - prompt")),
        ("a nested key below a value", with("dataset: {", "  dataset: {")),
        ("an unclosed double quote", with("ticket }}\"", "ticket }}")),
        ("an unclosed quote within braces", with("ticket }}\" }", "ticket }} }")),
        ("an unclosed single quote", with("name: tickets", "name: 'tickets")),
        (
            "an unclosed quote with others in it",
            with("\"Classify {{ sample.ticket }}\"", "\"say 'yes' to it's {{ sample.ticket }}"),
        ),
        ("a quote within a quote", with("Classify {{", "Classify \"this\" {{")),
        ("an unclosed bracket", with("reference: category }", "reference: category")),
        ("the wrong bracket", with("reference: category }", "reference: category ]")),
        ("a missing comma", with("id: id, reference", "id: id reference: x, r")),
        ("a second colon", with("name: tickets", "name: tickets: mine")),
        ("a line without a colon", with("name: tickets", "name")),
        ("a backslash", with("Classify {{", "Classify \\d {{")),
        ("a text that begins with @", with("name: tickets", "name: @tickets")),
        ("a text that begins with *", with("name: tickets", "name: *tickets")),
        ("characters of several bytes before it", with("name: tickets", "about: \"ü日本🎫\"\nname: 'ü日本🎫' x")),
        (
            "an unquoted template",
            with("prompt: { text: \"Classify {{ sample.ticket }}\" }", "prompt: { text: {{ sample.ticket }} }"),
        ),
    ]);
    insta::assert_snapshot!(shown);
}

/// D25, D33, D54, D59, D60: mistakes in templates and paths are found before the run.
#[test]
fn templates_and_paths_are_checked() {
    let judged = "judges: [gpt-4o]\nscorers:\n  good: { rubric: { ask: \"Is it good?\", show: { reply: \"{{ output.replie }}\" } } }\n";
    let take = with(
        "    - prompt: { text: \"Classify {{ sample.ticket }}\" }",
        "    - prompt: { text: \"Classify {{ sample.ticket }}\" }\n      take: { reply: $.text, score: $.n }",
    );
    let rubric = take.split("scorers:").next().unwrap().to_owned() + judged;
    let shown = told_of(&[
        ("D54: a filter that does not exist", with("sample.ticket }}", "sample.ticket | uper }}")),
        ("D54: a test that does not exist", with("sample.ticket }}", "'x' if sample.ticket is strng }}")),
        (
            "D33: a prompt that reads the row",
            with("{ text: \"Classify {{ sample.ticket }}\" }", "\"Classify {{ sample.ticket }}\""),
        ),
        (
            "D33: a prompt that is not a file",
            with("{ text: \"Classify {{ sample.ticket }}\" }", "Classify the ticket."),
        ),
        ("D59: a reference as a template", with("reference: category", "reference: \"{{ sample.tools }}\"")),
        (
            "D59: a scorer's reference as a template",
            with("metric: exact", "metric: exact, reference: \"{{ sample.tools }}\""),
        ),
        ("D60: a rubric shows a field that no output has", rubric),
        (
            "D10: a metric reads a field that no output has",
            take.replace("metric: exact", "metric: exact, output: $.scroe"),
        ),
        ("a form in place of a schema", with("ticket }}\" }", "ticket }}\" }\n      parse: json")),
        ("D27: a model without an id", with("  - id: small\n    provider", "  - provider")),
    ]);
    insta::assert_snapshot!(shown);
}

/// D25: a row without a column that a template reads is found at its line; a default makes it a notice.
#[test]
fn ragged_columns_are_found() {
    let ragged = format!(
        "{DATA}{{\"id\": \"t03\", \"category\": \"billing\"}}\n{{\"id\": \"t04\", \"category\": \"billing\"}}\n"
    );
    let load = |suite: &str, overrides: &Overrides| told(&world(suite).with("tickets.jsonl", &ragged), overrides);
    let plain = Overrides::default();
    let only = Overrides { samples: vec!["t01".to_owned()], ..Overrides::default() };
    let default = with("sample.ticket }}", "sample.ticket | default('none') }}");
    let asks = with("Classify {{ sample.ticket }}", "{% if sample.ticket is defined %}{{ sample.ticket }}{% endif %}");
    let condition =
        with("Classify {{ sample.ticket }}", "{% if sample.category == 'x' %}{{ sample.ticket }}{% endif %}");
    let reported = with("id: id,", "id: id, broken: report,");
    let private = format!("{SUITE}privacy: {{ sensitive: true }}\n");
    let shown = table(&[
        ("a row lacks the column", load(SUITE, &plain)),
        ("the template has a default", load(&default, &plain)),
        ("the template asks for it first", load(&asks, &plain)),
        ("the template reads it under a condition", load(&condition, &plain)),
        ("bad rows are reported", load(&reported, &plain)),
        ("the row is not run", load(SUITE, &only)),
        ("nothing of a row may be shown", load(&private, &plain)),
    ]);
    insta::assert_snapshot!(shown);
}

/// D38, D44, D46, CL-03: what the command line names and the suite does not have.
#[test]
fn flags_that_name_nothing() {
    let world = world(SUITE);
    let params =
        World::new(&[("karat.yaml", &format!("{SUITE}params: {{ tone: kind, limit: 3 }}\n")), ("tickets.jsonl", DATA)]);
    let models = |names: &[&str]| Overrides {
        models: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Overrides::default()
    };
    let sample = |id: &str| Overrides { samples: vec![id.to_owned()], ..Overrides::default() };
    let param = Overrides { params: vec![("foo".to_owned(), "1".to_owned())], ..Overrides::default() };
    let shown = table(&[
        ("D38: --models gpt-6", told(&world, &models(&["gpt-6"]))),
        ("CL-03: --models startr", told(&world, &models(&["startr"]))),
        ("D44: --sample t99", told(&world, &sample("t99"))),
        ("D44: --sample t0", told(&world, &sample("t0"))),
        ("D46: -p foo=1", told(&params, &param)),
        ("D46: -p foo=1 of a suite without parameters", told(&world, &param)),
    ]);
    insta::assert_snapshot!(shown);
}

/// CL-03: the name of a set stands for its models, in lists and with `--models`; own files add sets.
#[test]
fn sets_of_models_are_selected_by_name() {
    let ids = |suite: &str, names: Option<&[&str]>| {
        let models = names.unwrap_or_default().iter().map(|name| (*name).to_owned()).collect();
        let own = "models: []\nsets: { mine: [gpt-5-mini, openai:gpt-4o] }\n";
        let plan = world(suite).with("own.yaml", own).plan(&Overrides { models, ..Overrides::default() });
        plan.header.models.iter().map(|model| model.id.clone()).collect::<Vec<_>>()
    };
    let starter = ["gpt-5", "claude-sonnet-4", "gpt-4o-mini", "gemini-2.5-pro"];
    assert_eq!(ids(SUITE, Some(&["starter"])), starter);
    assert_eq!(ids(SUITE, Some(&["gpt-4o-mini", "starter"])).len(), 4);
    assert_eq!(ids(SUITE, Some(&["free-tier"])), ["llama-4-maverick-free", "deepseek-r1-free"]);
    let own = format!("{}registry: [own.yaml]\n", with("models:\n  - id: small", "models:\n  - mine\n  - id: small"));
    assert_eq!(ids(&own, None), ["gpt-5-mini", "gpt-4o", "small"]);
    assert_eq!(ids(&own, Some(&["mine"])), ["gpt-5-mini", "gpt-4o"]);
    let broken = "models: []\nsets: { gpt-5: [gpt-4o], none: [], odd: [gpt-5-mni] }\n";
    let said = world(&own).with("own.yaml", broken).problems(&Overrides::default());
    for wanted in ["`gpt-5` is the id of a model", "the set `none` has no models", "did you mean `gpt-5-mini`?"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

/// D1: a suite whose template would end the process is refused at its place.
#[test]
fn templates_that_overflow_are_refused() {
    let chain = format!("{{{{ {}sample.ticket }}}}", "not ".repeat(30_000));
    let said = world(&with("Classify {{ sample.ticket }}", &chain)).problems(&Overrides::default());
    assert!(
        said.contains("more than 250 operators hang together") && said.contains("karat.yaml:9:"),
        "{}",
        &said[..400]
    );
}

/// F40, S3: a price that is meant for one token is refused wherever a rate stands, with the price of a million; cheap models and
/// shares are none.
#[test]
fn prices_of_one_token_are_refused() {
    let priced = |price: &str| {
        let text = with("    provider: openai", &format!("    provider: openai\n    price: {price}"));
        world(&text).problems(&Overrides::default())
    };
    for (price, hint) in [
        ("{ input: 0.0000005, output: 2 }", "write 0.5"),
        ("{ input: 1, output: 0.000002 }", "write 2"),
        ("{ input: 1, output: 2, cached_input: 1.25e-7 }", "write 0.125"),
        ("{ input: 1, output: 2, above: [{ tokens: 200000, input: 0.0000025, output: 3 }] }", "write 2.5"),
        ("{ input: 1, output: 2, batch: { input: 0.0000005, output: 1 } }", "write 0.5"),
        ("{ input: 0.0000000001, output: 0 }", "write 0.0001"),
    ] {
        let said = priced(price);
        assert!(
            said.contains("for a million tokens: is it the price of one?") && said.contains(hint),
            "{price}: {said}"
        );
    }
    let cheap = with(
        "    provider: openai",
        "    provider: openai\n    price: { input: 0.005, output: 0, service: { flex: 0.5 } }",
    );
    assert!(world(&cheap).load(&Overrides::default()).is_ok());
}

/// B.3: a host that every document links to is most likely the publication itself.
#[test]
fn a_host_that_all_documents_link_to_is_named() {
    let suite = "name: x\ndataset: { source: posts, format: dir, with: { files: \"{date}.md\", as: markdown }, id: date }\n\
                 variants: { given: [ { recorded: { column: body_text } } ] }\nscorers: { l: { metric: length } }\n";
    let said = |posts: usize, own: bool, linked: usize| {
        let suite = if own {
            suite.replace("as: markdown", "as: markdown, own_hosts: [blog.example]")
        } else {
            suite.to_owned()
        };
        let mut world = World::new(&[("karat.yaml", &suite)]);
        for at in 0..posts {
            let link = if at < linked { "https://www.blog.example/a" } else { "https://b.example/x" };
            world = world.with(
                &format!("posts/2026-01-0{}.md", at + 1),
                &format!("# T\n\n[a]({link}) https://s{at}.example/y\n"),
            );
        }
        told(&world, &Overrides::default())
    };
    let warning = said(6, false, 6);
    assert!(warning.contains("all 6 documents link to www.blog.example") && warning.contains("own_hosts"), "{warning}");
    for silent in [said(6, true, 6), said(6, false, 5), said(4, false, 4)] {
        assert!(!silent.contains("documents link to"), "{silent}");
    }
}

/// A mistake: what it is, the suite, and parts of what is said of it.
type Mistake<'a> = (&'a str, String, &'a [&'a str]);

fn assert_told(mistakes: &[Mistake<'_>]) {
    for (what, suite, parts) in mistakes {
        let said = told(&world(suite).with("ask.md", "Classify {ticket}\n"), &Overrides::default());
        for part in *parts {
            assert!(said.contains(part), "{what}: `{part}`\n{said}");
        }
    }
}

/// F55: a gate's condition that compares with a variant or model that does not exist is refused, one with a value that no row
/// has is a warning; whatever is compared otherwise is left alone.
#[test]
fn gates_name_what_exists() {
    let gate = |condition: &str| {
        let quoted = condition.replace('"', "\\\"");
        format!("{SUITE}gates: [ {{ metric: label, min: 50%, where: \"{quoted}\" }} ]\n")
    };
    let mistakes: &[Mistake<'_>] = &[
        (
            "a variant",
            gate("variant == 'plian'"),
            &["no variant of the suite is `plian`", "did you mean `plain`?", ":1"],
        ),
        ("a variant on the right", gate("'kint' != variant"), &["no variant of the suite is `kint`", "plain"]),
        ("a list", gate("variant in ['plain', \"kint\"]"), &["no variant of the suite is `kint`"]),
        ("a negated list", gate("variant not in ('kint',)"), &["no variant of the suite is `kint`"]),
        (
            "within a longer one",
            gate("sample.id == 't01' and (model.id == 'smal')"),
            &["no model id of the suite is `smal`", "`small`"],
        ),
        ("a name", gate("model.name == 'large'"), &["no model name of the suite is `large`"]),
        ("a field of the variant", gate("variant.id == 'plain'"), &["`variant` has no `id`", "write `variant` alone"]),
        (
            "a value",
            gate("sample.category == 'biling'"),
            &["(valid)", "no row has `biling` in the column `category`", "did you mean `billing`?"],
        ),
        ("an id", gate("sample.id in ['t01', 't99']"), &["(valid)", "no row has `t99` in the column `id`"]),
    ];
    assert_told(mistakes);
    for fine in [
        "variant == 'plain'",
        "model.id == 'openai:small' or model.id == 'small'",
        "sample.category == 'billing'",
        "sample.id == 't01'",
        "variant | upper == 'PLAIN'",
        "variant == sample.category",
        "'refund' in sample.tools",
        "'pla' in variant",
    ] {
        let said = told(&world(&gate(fine)), &Overrides::default());
        assert_eq!(said, "(valid)\n", "{fine}");
    }
}

/// F56: a prompt that reads no column is the same for every row: a warning with the file's name and the right notation.
#[test]
fn prompts_that_read_no_column_are_found() {
    let prompt = "{ text: \"Classify {{ sample.ticket }}\" }";
    let mistakes: &[Mistake<'_>] = &[
        (
            "a file",
            with(prompt, "ask.md"),
            &["(valid)", "the prompt ask.md reads no column", "write `{{ sample.ticket }}` for `{ticket}`"],
        ),
        ("a text", with("{{ sample.ticket }}", "$ticket"), &["this prompt reads no column", "for `$ticket`"]),
        ("tags", with("{{ sample.ticket }}", "<ticket>"), &["for `<ticket>`"]),
        ("nothing at all", with("{{ sample.ticket }}", "the ticket"), &["a column is read as `{{ sample.COLUMN }}`"]),
        ("the date alone", with("{{ sample.ticket }}", "of {{ run.date }}"), &["reads no column"]),
    ];
    assert_told(mistakes);
    // The last two name what is not there, which is told by itself.
    for text in [
        "{{ sample.ticket }}",
        "{{ input }}",
        "{{ reference }}",
        "{% for key in sample %}{{ key }}{% endfor %}",
        "{{ vars.ticket }}",
        "{{ ticket }}",
    ] {
        let suite = with("{{ sample.ticket }}", text).replace("id: id,", "id: id, input: ticket,");
        assert!(!told(&world(&suite), &Overrides::default()).contains("reads no column"), "{text}");
    }
}

/// F59: what `validate` says of mistakes that ended badly: the cause, and the right form.
#[test]
fn mistakes_name_the_right_form() {
    let gate = |gate: &str| format!("{SUITE}gates: [ {gate} ]\n");
    let judged = |rubric: &str, judges: &str| {
        let scorers = format!("scorers:\n  tone: {{ rubric: {{ {rubric} }} }}\n  label: {{ metric: exact }}\n{judges}");
        SUITE.split("scorers:").next().unwrap().replace("id: id,", "id: id, input: ticket,") + &scorers
    };
    let text = |by: &str| with("{{ sample.ticket }}", by);
    let mistakes: &[Mistake<'_>] = &[
        ("a row's name elsewhere", text("{{ vars.ticket }}"), &["write `sample.ticket`"]),
        ("another one", text("{{ row.ticket }}"), &["write `sample.ticket`"]),
        ("no such name", text("{{ ticket }}"), &["write `sample.ticket`"]),
        (
            "a statement without its end",
            text("{% if sample.ticket %}x"),
            &["`{% if %}` is never closed", "{% endif %}"],
        ),
        (
            "a loop without its end",
            text("{% for t in sample.tools %}{{ t }}"),
            &["`{% for %}` is never closed", "{% endfor %}"],
        ),
        (
            "a method",
            text("{{ sample.ticket.upper() }}"),
            &["values have no methods", "write `| upper`", "karat.yaml:9:"],
        ),
        ("a method of another name", text("{{ sample.ticket.strip() }}"), &["write `| trim`"]),
        (
            "a filter without its arguments",
            text("{{ sample.ticket | replace('a') }}"),
            &["`replace` needs more arguments", "replace(…, …)"],
        ),
        (
            "a filter with too many",
            text("{{ sample.ticket | upper('a') }}"),
            &["`upper` has too many arguments", "`| upper`"],
        ),
        ("one equals sign", gate("{ metric: label, min: 50%, where: \"variant = 'plain'\" }"), &["compare with `==`"]),
        ("one equals sign in a template", text("{% if sample.category = 'x' %}y{% endif %}"), &["compare with `==`"]),
        (
            "a key among items",
            with("  - id: small", "  - id: small\n  name: x"),
            &["a key stands among the items of a list"],
        ),
        (
            "an item among keys",
            with("  plain:", "  other: []\n  - plain:"),
            &["a list item (`- `) stands among the keys of a map"],
        ),
        (
            "variants as a list",
            with("  plain:\n    -", "  -"),
            &["`variants` must be a map, not a list", "for example `variants: { short:"],
        ),
        (
            "a gate as a text",
            gate("label > 0.8"),
            &["must be a map", "for example `gates: [{ metric: correct, min: 90% }]`"],
        ),
        (
            "choices as a list",
            judged("ask: Kind?, dimensions: { tone: { definition: Kind, choices: [good, bad] } }", ""),
            &["for example `choices: { yes: 1"],
        ),
        (
            "show as a list",
            judged("ask: Kind?, show: [output]", ""),
            &["`show` must be a map, not a list", "for example `show: {"],
        ),
        (
            "a path as a template",
            with("metric: exact", "metric: exact, output: \"{{ output.category }}\""),
            &["this key takes a path", "write `$.category`"],
        ),
        (
            "a column as a template",
            with("reference: category", "reference: \"{{ sample.category }}\""),
            &["this key takes a path", "write `category`"],
        ),
        (
            "a path from outside",
            with("metric: exact", "metric: exact, output: output.category"),
            &["error: ", "write `$.category`, and add `parse: { as: json }`"],
        ),
        (
            "an address without scheme",
            with("http://127.0.0.1:1/v1", "localhost:8000/v1"),
            &["must begin with `http://` or `https://`", "`base_url: http://localhost:8000/v1`"],
        ),
        (
            "an address elsewhere",
            with("http://127.0.0.1:1/v1", "api.example/v1"),
            &["`base_url: https://api.example/v1`"],
        ),
        (
            "a share as a percentage",
            gate("{ metric: label, min: 0.8% }"),
            &["(valid)", "`min: 0.8%` is 0.008", "`80%`"],
        ),
        (
            "a misspelt setting",
            with("    - prompt", "    - parameters: { temprature: 0 }\n      prompt"),
            &["(valid)", "did you mean `temperature`?"],
        ),
        (
            "a variable with its sign",
            with("provider: openai", "provider: openai\n    api_key_env: $FAKE_KEY"),
            &["without `$`", "`api_key_env: FAKE_KEY`"],
        ),
        (
            "a judge among the models",
            judged("ask: Kind?", "judges: [small]\n"),
            &["(valid)", "`small` is under `models`", "move its entry to `judges`"],
        ),
        ("an unknown metric", with("metric: exact", "metric: zzz"), &["metrics: ", "exact", "contains"]),
        ("accuracy", with("metric: exact", "metric: accuracy"), &["here that is `exact`"]),
        ("llm-rubric", with("metric: exact", "metric: llm-rubric"), &["`rubric: { ask: … }`"]),
        ("equals", with("metric: exact", "metric: equals"), &["here that is `exact`"]),
        (
            "a schema of nothing",
            with("    - prompt", "    - parse: bad.json\n      prompt"),
            &["bad.json is not a valid JSON Schema", "`type` is `\"objekt\"`; types are array, boolean"],
        ),
    ];
    for (what, suite, parts) in mistakes {
        let said = told(&world(suite).with("bad.json", "{\"type\": \"objekt\"}"), &Overrides::default());
        for part in *parts {
            assert!(said.contains(part), "{what}: `{part}`\n{said}");
        }
    }
    let both = told(&world(&with("  plain:\n    -", "  -")), &Overrides::default());
    assert!(!both.contains("has no variant"), "{both}");
}

/// F59: the same problem of many rows is said once, with a count and some lines.
#[test]
fn a_problem_of_many_rows_is_said_once() {
    let rows = |line: &str| (0..60).map(|at| line.replace('#', &at.to_string()) + "\n").collect::<String>();
    let said = |suite: &str, data: &str| told(&world(suite).with("tickets.jsonl", data), &Overrides::default());
    let plain = rows(r##"{"id": "t#", "ticket": "T #", "category": "billing"}"##);
    let no_id = said(&with("id: id,", "id: ticket_id,"), &plain);
    assert_eq!(no_id.matches("this row has no `ticket_id`").count(), 1, "{no_id}");
    assert!(no_id.contains("59 more rows too: lines 2, 3, 4") && no_id.contains("did you mean `id`?"), "{no_id}");
    let filter = said(&with("reference: category", "reference: category, where: lang"), &plain);
    assert!(filter.contains("write `sample.lang`") && !filter.contains("for this row"), "{filter}");
    let absent = said(&with("reference: category", "reference: category, where: sample.lang == 'en'"), &plain);
    assert_eq!(absent.matches("`where` failed for this row").count(), 1, "{absent}");
    let list: Vec<String> = plain.lines().map(str::to_owned).collect();
    for document in
        [format!("[\n{}\n]", list.join(",\n")), format!("[{}]", list.join(",")), "{\n \"id\": \"t1\"\n}\n".to_owned()]
    {
        let told = said(SUITE, &document);
        assert!(told.contains("name it .json") && told.matches("error:").count() == 1, "{told}");
    }
    let equal = said(
        &with("id: id, ", ""),
        "{\"ticket\": \"a\", \"category\": \"b\"}\n{\"ticket\": \"c\", \"category\": \"b\"}\n{\"ticket\": \"a\", \"category\": \"b\"}\n",
    );
    assert!(equal.contains("rows 1 and 3 are equal") && !equal.contains("duplicate id"), "{equal}");
    let twice = said(
        SUITE,
        "{\"id\": \"x\", \"ticket\": \"a\", \"category\": \"b\"}\n{\"id\": \"x\", \"ticket\": \"c\", \"category\": \"b\"}\n",
    );
    assert!(twice.contains("duplicate id `x`"), "{twice}");
}

/// F59: keys that begin with `x-` are the author's own, and a dataset may be written as its file alone.
#[test]
fn short_and_own_forms_are_read() {
    let anchored = format!(
        "x-price: &price {{ input: 1, output: 2 }}\n{}",
        with("    provider: openai", "    provider: openai\n    price: *price")
    );
    assert_eq!(told(&world(&anchored), &Overrides::default()), "(valid)\n");
    let short = with("{ source: tickets.jsonl, id: id, reference: category }", "tickets.jsonl")
        .replace("metric: exact", "metric: exact, reference: category");
    let long =
        with(", id: id, reference: category }", " }").replace("metric: exact", "metric: exact, reference: category");
    let [short, long] = [short, long].map(|suite| world(&suite).plan(&Overrides::default()).header);
    assert_eq!((short.dataset.rows, &short.dataset.hash), (2, &long.dataset.hash));
    let nested =
        told(&world(&with("    provider: openai", "    provider: openai\n    x-note: y")), &Overrides::default());
    assert!(nested.contains("unknown key `x-note`"), "{nested}");
}

/// F59: a path into outputs that no step parses is found, however it is written and wherever it stands: in a scorer, in a
/// rubric, in an option, in the next step. Where it can never work, it is an error.
#[test]
fn paths_into_unparsed_outputs_are_found() {
    let judged = |show: &str| {
        let scorers = format!(
            "judges: [gpt-4o]\nscorers:\n  good: {{ rubric: {{ ask: \"Is it good?\", show: {{ reply: \"{show}\" }} }} }}\n"
        );
        SUITE.split("scorers:").next().unwrap().to_owned() + &scorers
    };
    let step = "    - prompt: { text: \"Classify {{ sample.ticket }}\" }";
    let two = with(step, &format!("{step}\n    - prompt: {{ text: \"Improve {{{{ output.reply }}}}\" }}"));
    let parsed =
        |scorer: &str| with(step, &format!("{step}\n      parse: {{ as: json }}")).replace("metric: exact", scorer);
    let path = |path: &str| with("metric: exact", &format!("metric: exact, output: {path}"));
    let of_text = "reads a part of the output, but the outputs of `plain` are texts that no step parses";
    for (suite, is_valid, wanted) in [
        (path("$.category"), true, of_text),
        (path("category"), true, of_text),
        (path("$.a.b"), true, of_text),
        (path("\"$['category']\""), true, of_text),
        (path("\"$[0]\""), true, of_text),
        (path("output.category"), false, "the path begins there already"),
        (judged("{{ output.reply }}"), false, of_text),
        (with("metric: exact", "metric: contains, with: { any: [\"{{ output.reply }}\"] }"), false, of_text),
        (two, false, "`output.reply` reads a part of the step before, whose reply is a text that nothing parses"),
        (judged("{{ output.reply | default('none') }}"), true, ""),
        (path("$"), true, ""),
        (parsed("metric: exact, output: $.category"), true, ""),
        (parsed("metric: exact, output: output.category"), true, "the path begins there already"),
    ] {
        let shown = told(&world(&suite), &Overrides::default());
        assert_eq!(shown.starts_with("(valid)"), is_valid, "{shown}");
        assert!(shown.contains(wanted) && (!wanted.is_empty() || !shown.contains("reads a part")), "{wanted}: {shown}");
        assert!(
            wanted != of_text || shown.contains("add `parse: { as: json }` to the last step of `plain`"),
            "{shown}"
        );
    }
}

/// F59: files of other tools are named as what they are, with the command that imports them.
#[test]
fn files_of_other_tools_are_named() {
    let told = |text: &str| told(&world(text), &Overrides::default());
    for (text, wanted) in [
        ("prompts: [a]\nproviders: [openai:gpt-4o]\ntests: []\n", "a config of promptfoo"),
        ("description: d\nprompts: [a]\ndefaultTest: {}\n", "karat import promptfoo karat.yaml"),
        ("targets: [a]\ntests: []\n", "karat import promptfoo karat.yaml"),
        ("{\"evalId\": \"e\", \"results\": {}}", "a file of results of promptfoo"),
        (
            "{\"name\": \"e\", \"data_source_config\": {}, \"testing_criteria\": []}",
            "karat import openai-evals karat.yaml",
        ),
        ("{\"version\": 2, \"eval\": {}, \"samples\": []}", "karat import inspect karat.yaml"),
        ("{\"results\": {}, \"configs\": {}, \"n-shot\": {}}", "karat import lm-eval karat.yaml"),
    ] {
        let shown = told(text);
        assert!(shown.contains(wanted) && !shown.contains("a suite needs"), "{wanted}: {shown}");
    }
    assert!(told("prompts: [a]\nname: x\n").contains("a suite needs `dataset`"));
}

/// F64: of a `combine` of metrics of which less is better, less is better; one that mixes directions must say its own.
#[test]
fn a_combination_has_the_direction_of_its_parts() {
    let combined = |of: &str, more: &str| {
        let scorers = format!(
            "scorers:\n  a: {{ metric: bleu, better: lower }}\n  b: {{ metric: rouge, better: lower }}\n  right: {{ metric: exact }}\n  all: {{ metric: combine, with: {{ of: [{of}] }}{more} }}\n"
        );
        world(&(SUITE.split("scorers:").next().unwrap().to_owned() + &scorers))
    };
    let better = |of: &str, more: &str| {
        let plan = combined(of, more).plan(&Overrides::default());
        plan.header.metrics.iter().find(|it| it.name == "all").map(|it| it.better).unwrap()
    };
    use karat_types::Better::{Higher, Lower};
    assert_eq!([better("a, b", ""), better("right", ""), better("a, b", ", better: higher")], [Lower, Higher, Higher]);
    let mixed = told(&combined("right, a", ""), &Overrides::default());
    assert!(mixed.contains("`all` combines `right`, of which more is better, with `a`, of which less is"), "{mixed}");
    let said = told(&combined("right, a", ", better: higher"), &Overrides::default());
    assert!(!said.contains("combines"), "{said}");
}

/// F59: a rubric that does not say what its judge sees needs an input, which is told as that; one that says so needs none.
#[test]
fn a_rubric_without_an_input_is_told_what_it_shows() {
    let told = |rubric: &str| {
        let suite = format!(
            "name: n\ndataset: {{ rows: [ {{ id: a, o: x }} ], id: id }}\njudges: [ {{ id: j, provider: stub }} ]\n\
             variants: {{ v: [ {{ recorded: {{ column: o }} }} ] }}\nscorers: {{ q: {{ rubric: {{ {rubric} }} }} }}\n"
        );
        World::new(&[("karat.yaml", &suite)]).problems(&Overrides::default())
    };
    let problem = told("ask: How friendly is it?");
    assert!(problem.contains("does not say what its judge sees") && problem.contains("`show: {"), "{problem}");
    let written = told("ask: How friendly is it?, show: { q: \"{{ input }}\" }");
    assert!(written.contains("the dataset names no input\n") && written.contains("sample.COLUMN"), "{written}");
}
