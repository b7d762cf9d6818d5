//! Mistakes as a newcomer makes them on the command line: message, place and exit code, in one file that a person can read.

use std::fmt::Write as _;

use crate::place::Place;

const TICKETS: &str = "{\"id\": \"t01\", \"ticket\": \"My card was charged twice\", \"category\": \"billing\"}\n\
                       {\"id\": \"t02\", \"ticket\": \"I was charged again\", \"category\": \"billing\"}\n";

const SUITE: &str = r#"name: tickets
dataset: { source: tickets.jsonl, id: id, reference: category }
models: [ { id: small, provider: scripted, with: { reply: '{"category": "billing", "priority": 2}' } } ]
variants: { plain: [ { prompt: { text: "Classify {{ sample.ticket }}" }, parse: { as: json } } ] }
scorers: { label: { metric: exact, output: $.category } }
"#;

fn place(suite: &str) -> Place {
    let place = Place::new();
    place.write("tickets.jsonl", TICKETS);
    place.write("karat.yaml", suite);
    place
}

/// The suite with a part replaced.
fn with(part: &str, by: &str) -> String {
    assert!(SUITE.contains(part), "{part}");
    SUITE.replacen(part, by, 1)
}

/// Exit code and messages of a command.
fn told(place: &Place, arguments: &[&str]) -> String {
    let result = place.karat(arguments);
    format!("$ karat {}\n(exit {})\n{}", arguments.join(" "), result.code, result.stderr.trim_end())
}

/// D12, D34, D36, D38, D42, D44, D46, D47, D50, D58, D61: what the command line says of mistakes, and what it advises.
#[test]
fn mistakes_on_the_command_line() {
    let empty = Place::new();
    empty.write("folder/suite.yaml", SUITE);
    empty.write("other/readme.txt", "x");
    let tickets = place(SUITE);
    tickets.succeed(&["run", "--run-id", "a"]);
    let asserts =
        place(&with("metric: exact, output: $.category", "metric: assert").replace(", reference: category", ""));
    let http = "{ id: small, provider: openai, base_url: \"http://127.0.0.1:1/v1\", api_key_env: NO_SUCH_KEY }";
    let scripted = "{ id: small, provider: scripted, with: { reply: '{\"category\": \"billing\", \"priority\": 2}' } }";
    let keyless = place(&with(scripted, http));
    let elsewhere = place(&with(scripted, &http.replace("http://127.0.0.1:1", "https://api.example")));
    let mut shown = String::new();
    for (what, place, arguments) in [
        ("D34: no suite here", &empty, &["run"][..]),
        ("D34: no suite of this name", &empty, &["run", "mysuite"]),
        ("D50: a folder with another file", &empty, &["run", "folder"]),
        ("D50: a folder without a suite", &empty, &["run", "other/"]),
        ("D36: a misspelt command", &empty, &["rnu"]),
        ("D36: a misspelt command", &empty, &["vaildate"]),
        ("D38: a model that is not known", &tickets, &["validate", "--models", "gpt-6"]),
        ("D42: resume of a finished run", &tickets, &["resume", "a"]),
        ("D44: a sample that is not there", &tickets, &["run", "--sample", "t99"]),
        ("D46: a parameter that is not there", &tickets, &["validate", "-p", "foo=1"]),
        ("D47: trace without a cell", &tickets, &["trace"]),
        ("D47: trace of a run without a cell", &tickets, &["trace", "a"]),
        ("D58: row checks as a scorer", &asserts, &["validate"]),
        ("D12: a key that is not set, on this machine", &keyless, &["validate"]),
        ("D12: a key that is not set, elsewhere", &elsewhere, &["validate"]),
    ] {
        let _ = writeln!(shown, "── {what}\n{}\n", told(place, arguments));
    }
    insta::assert_snapshot!(shown);
}

/// D47: the example of a trace without a cell works when it is followed; one word is a cell or a run.
#[test]
fn the_advice_of_a_trace_works() {
    let tickets = place(SUITE);
    tickets.succeed(&["run", "--run-id", "a"]);
    let result = tickets.karat(&["trace"]);
    let advice =
        result.stderr.split("`karat trace ").nth(1).and_then(|rest| rest.split('`').next()).unwrap().to_owned();
    assert_eq!((result.code, advice.as_str()), (1, "t01/small/plain"));
    for arguments in [&["trace", &advice][..], &["trace", "0"], &["trace", "a", "0"], &["trace", "a", &advice]] {
        assert!(tickets.succeed(arguments).stdout.contains("t01 × small × plain"), "{arguments:?}");
    }
    assert!(tickets.karat(&["trace", "nope"]).stderr.contains("no cell `nope`"));
}

/// D10, D60: `validate` warns of a path that leads to nothing in any output of the last run, with its place and the likely
/// name; not of one that some outputs reach, nor of outputs of a variant that was changed since.
#[test]
fn paths_are_checked_against_the_last_run() {
    let reply = r#"'{"category": "billing", "claims": [{"text": "a"}, {"text": "b"}]}'"#;
    let suite = |output: &str, rubric: &str| {
        format!(
            "{}judges: [ {{ id: judge, provider: scripted, with: {{ reply: '{{\"pass\": true}}' }} }} ]\n",
            with(r#"'{"category": "billing", "priority": 2}'"#, reply).replace(
                "{ metric: exact, output: $.category }",
                &format!("{{ metric: count, output: {output} }}, good: {{ rubric: {{ ask: Is it good?, show: {{ reply: \"{{{{ output.{rubric} }}}}\" }} }} }}"),
            )
        )
    };
    let tickets = place(&suite("\"$.claims[*].text\"", "category"));
    tickets.succeed(&["run", "--run-id", "a", "--no-gate"]);
    assert!(!tickets.succeed(&["validate"]).stderr.contains("warning"));
    for (output, rubric, told) in [
        (
            "\"$.claims[*].txt\"",
            "category",
            "`$.claims[*].txt` leads to nothing in the 2 outputs read of run a\n --> karat.yaml:5:44",
        ),
        ("\"$.claims[*].txt\"", "category", "did you mean `$.claims[*].text`?"),
        ("\"$.other[*]\"", "category", "the outputs have: category, claims"),
        ("$.category", "categry", "`output.categry` leads to nothing in the 2 outputs read of run a"),
        ("$.category", "categry", "did you mean `output.category`?"),
    ] {
        tickets.write("karat.yaml", &suite(output, rubric));
        let result = tickets.succeed(&["validate"]);
        assert!(result.stderr.contains(told), "{told}\n{}", result.all());
    }
    tickets.write("karat.yaml", &suite("\"$.other[*]\"", "category").replace("Classify", "Sort"));
    assert!(!tickets.succeed(&["validate"]).stderr.contains("leads to nothing"));
}

/// D10: a plural path that leads to nothing in any output is an error after the run; an empty list is a result.
#[test]
fn a_plural_path_that_matches_no_output_is_an_error() {
    let counted = |path: &str, reply: &str| {
        let suite = with("metric: exact, output: $.category", &format!("metric: count, output: \"{path}\""));
        place(&suite.replace("{\"category\": \"billing\", \"priority\": 2}", reply))
    };
    let result = counted("$.claims[*]", "{\"claim\": [1, 2]}").karat(&["run"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.all().contains("`output: $.claims[*]` matches nothing in any of 2 outputs"), "{}", result.all());
    assert!(result.all().contains("did you mean `$.claim[*]`?"), "{}", result.all());
    for (reply, count) in [("{\"claims\": []}", 0.0), ("{\"claims\": [1, 2]}", 2.0)] {
        let fine = counted("$.claims[*]", reply);
        fine.succeed(&["run", "--run-id", "a"]);
        assert_eq!(fine.report("a")["metrics"]["label"]["value"], serde_json::json!(count), "{reply}");
    }
}

/// D16: where a judge's reply cannot be used, the terminal and the report name the command that shows it, and it works.
#[test]
fn an_unusable_reply_is_found() {
    let judged = SUITE.replace(
        "scorers: { label: { metric: exact, output: $.category } }",
        "judges: [ { id: judge, provider: scripted, with: { reply: 'Sorry, I think it is fine.' } } ]\n\
         scorers: { good: { rubric: { ask: Is it good?, show: { it: \"{{ output.category }}\" } } } }",
    );
    let tickets = place(&judged);
    let result = tickets.karat(&["run", "--run-id", "a"]);
    assert!(
        result.all().contains("contains no JSON: \"Sorry, I think it is fine.\" (see `karat trace a 0`)"),
        "{}",
        result.all()
    );
    let report = tickets.succeed(&["report", "a", "--format", "md", "-o", "-"]).stdout;
    assert!(report.contains("(see `karat trace a 0`)"), "{report}");
    let trace = tickets.succeed(&["trace", "a", "0"]).stdout;
    assert!(trace.contains("Sorry, I think it is fine."), "{trace}");
    assert!(!tickets.succeed(&["report", "a", "--canonical", "--format", "md", "-o", "-"]).stdout.contains("trace a"));
}

/// D34, D50: the advice for a missing suite works when it is followed.
#[test]
fn the_advice_of_a_missing_suite_works() {
    let empty = Place::new();
    empty.succeed(&["init", "faq", "."]);
    empty.succeed(&["run"]);
    empty.write("other/readme.txt", "x");
    empty.succeed(&["init", "faq", "other"]);
    empty.succeed(&["run", "other/"]);
}

/// D10: a path that matches no output is an error after the run, and no figure; a path that some outputs lack is a low
/// score of those.
#[test]
fn a_path_that_matches_no_output_is_an_error() {
    let wrong = place(&with("$.category", "$.kategory"));
    let result = wrong.karat(&["run", "--run-id", "a"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let told = format!("{}\n{}", result.stdout, result.stderr);
    assert!(told.contains("`output: $.kategory` matches nothing in any of 2 outputs"), "{told}");
    assert!(told.contains("did you mean `$.category`?") && !told.contains("0.000"), "{told}");
    let report = wrong.report("a");
    assert!(report["metrics"]["label"]["value"].is_null(), "{}", report["metrics"]);
    wrong.write("karat.yaml", SUITE);
    let mended = wrong.succeed(&["run", "--run-id", "b"]);
    assert!(mended.all().contains("1.000"), "{}", mended.all());
    let foreign = place(&with("$.category", "$.zzz.x"));
    let result = foreign.karat(&["run"]);
    assert!(result.all().contains("the outputs have: category, priority"), "{}", result.all());
    let reply = "'{\"category\": \"billing\", \"priority\": 2}'";
    let some =
        with(reply, "'{% if \"again\" in user %}{\"other\": 1}{% else %}{\"category\": \"billing\"}{% endif %}'");
    let partly = place(&some);
    let result = partly.karat(&["run", "--run-id", "a"]);
    assert_eq!((result.code, &partly.report("a")["metrics"]["label"]["value"]), (0, &0.5.into()), "{}", result.all());
}

/// D1: a template that would overflow the stack or the memory is an error with its place, also in `validate`.
#[test]
fn templates_do_not_end_the_process() {
    let chain = place(&with("{{ sample.ticket }}", &format!("{{{{ {}sample.ticket }}}}", "not ".repeat(30_000))));
    for command in ["validate", "plan", "run"] {
        let result = chain.karat(&[command]);
        assert_eq!(result.code, 1, "{}", &result.stderr[..result.stderr.len().min(400)]);
        assert!(result.stderr.contains("operators hang together") && result.stderr.contains("karat.yaml:4:"));
    }
    let large = place(&with("{{ sample.ticket }}", "{{ sample.ticket | indent(2000000000, true) }}"));
    let result = large.karat(&["run", "--run-id", "a"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let error = large.report("a")["cells"][0]["error"]["message"].to_string();
    assert!(error.contains("larger than 64 MiB"), "{error}");
}

/// CL-03: `karat plan claims --models starter`; `karat models` lists the sets.
#[test]
fn sets_of_models_are_planned() {
    let place = Place::new();
    let result = place.succeed(&["plan", "claims", "--limit", "2", "--models", "starter"]);
    for model in ["gpt-5", "claude-sonnet-4", "gpt-4o-mini", "gemini-2.5-pro"] {
        assert!(result.stdout.contains(model), "{model}: {}", result.stdout);
    }
    for (set, model) in [("experimental", "qwen3-235b"), ("free-tier", "deepseek-r1-free")] {
        assert!(
            place.succeed(&["plan", "claims", "--limit", "2", "--models", set, "--yes"]).stdout.contains(model),
            "{set}"
        );
        assert!(place.succeed(&["models", set]).stdout.contains(model), "{set}");
    }
    assert!(place.succeed(&["models"]).stderr.contains("starter: gpt-5, claude-sonnet-4, gpt-4o-mini, gemini-2.5-pro"));
    assert!(place.karat(&["plan", "claims", "--models", "startr"]).stderr.contains("did you mean `starter`?"));
}

/// F54, F59: mistakes on the command line name the thing that was meant, and the command for it.
#[test]
fn mistakes_name_what_was_meant() {
    let empty = Place::new();
    let named = Place::new();
    named.write("suite-a.yaml", SUITE);
    named.write("tickets.jsonl", TICKETS);
    let tickets = place(&with("plain:", "plain: [ { prompt: { text: \"{{ sample.ticket }}\" } } ], kind:"));
    tickets.succeed(&["run", "--run-id", "a", "--no-gate"]);
    tickets.write("folder/x.txt", "x");
    let cases: &[(&Place, &[&str], i32, &[&str])] = &[
        (&empty, &["ls"], 0, &["no runs: `karat run` makes one"]),
        (&named, &["run"], 1, &["no `karat.yaml` in this folder, but `suite-a.yaml`"]),
        (&named, &["validate", "suite-a"], 1, &["did you mean the suite file `suite-a.yaml`?"]),
        (&tickets, &["test"], 1, &["use `karat run`"]),
        (&tickets, &["diff", "a", "b"], 1, &["use `karat compare`"]),
        (&tickets, &["logs"], 1, &["`karat show`", "`karat trace`"]),
        (&tickets, &["cost"], 1, &["`karat plan`"]),
        (&tickets, &["golden", "pinn"], 1, &["did you mean `golden pin`?"]),
        (&tickets, &["run", "kind"], 1, &["`kind` is a variant of karat.yaml", "`--variants kind`"]),
        (&tickets, &["run", "--models", "gpt-4o", "small"], 1, &["write `--models gpt-4o,small`"]),
        (&tickets, &["run", "--models", "small", "gpt-4o"], 1, &["write `--models small,gpt-4o`"]),
        (&tickets, &["show", "lastest"], 1, &["did you mean `latest`?"]),
        (&tickets, &["show", "t01"], 1, &["run a has a sample of this id", "`karat show a --sample t01`"]),
        (&tickets, &["trace", "t01"], 1, &["`t01` is a sample of run a", "`karat trace a t01/small/"]),
        (&tickets, &["trace", "999"], 1, &["numbers the cells from 0 to 3"]),
        (&tickets, &["gate", "a", "--min", "label>0.8"], 1, &["Write `--min label=0.8`"]),
        (&tickets, &["gate", "a", "--min", "high"], 1, &["`high` is not a number", "`METRIC=0.5`"]),
        (&tickets, &["run", "--store", "folder"], 1, &["it is a folder. Name a file in it"]),
    ];
    for (place, arguments, code, parts) in cases {
        let result = place.karat(arguments);
        assert_eq!(result.code, *code, "{arguments:?}: {}", result.all());
        for part in *parts {
            assert!(result.stderr.contains(part), "{arguments:?}: `{part}`\n{}", result.all());
        }
    }
    for arguments in
        [&["report", "karat.yaml"][..], &["gate", "karat.yaml", "--min", "label=0.1"], &["report", "tickets"]]
    {
        let result = tickets.karat(arguments);
        assert_eq!(result.code, 0, "{arguments:?}: {}", result.all());
    }
    let store = tickets.path().join(".karat/karat.db");
    std::fs::OpenOptions::new().write(true).open(&store).unwrap().set_len(5000).unwrap();
    let result = tickets.karat(&["show"]);
    assert!(
        result.code == 1 && result.stderr.contains("karat store check") && result.stderr.contains("restore"),
        "{}",
        result.all()
    );
}

/// F55: a gate whose condition lets no cell of a whole run through does not pass; of a part of the rows it decides nothing, and
/// `on_undecided: warn` accepts it.
#[test]
fn a_gate_that_saw_nothing_does_not_pass() {
    let gated = |more: &str| {
        place(&format!(
            "{SUITE}gates: [ {{ metric: label, min: 50%, where: \"sample.category == 'other'\"{more} }} ]\n"
        ))
    };
    let result = gated("").karat(&["run"]);
    assert_eq!(result.code, 4, "{}", result.all());
    assert!(result.all().contains("no cell matches"), "{}", result.all());
    assert_eq!(gated("").karat(&["run", "--limit", "1"]).code, 0);
    assert_eq!(gated(", on_undecided: warn").karat(&["run"]).code, 0);
}

/// F54: the error of a program ends with the end of what it printed, and the advice names its environment.
#[test]
fn the_end_of_a_programs_error_is_shown() {
    let script = "import os, sys\nfor i in range(200): print(f'  File \"frame{i}.py\"', file=sys.stderr)\nos.environ['MY_TOKEN']\n";
    let suite = "name: t\ndataset: { source: tickets.jsonl, id: id, reference: category }\n\
                 variants: { plain: [ { version: v1, command: { run: [python3, work.py] } } ] }\nscorers: { label: { metric: exact } }\n";
    let failing = place(suite);
    failing.write("work.py", script);
    let result = failing.karat(&["run", "--run-id", "a"]);
    assert_eq!(result.code, 1, "{}", result.all());
    for shown in [&result.stdout, &result.stderr, &failing.succeed(&["trace", "0"]).stdout] {
        assert!(shown.contains("KeyError: 'MY_TOKEN'") && shown.contains("frame0.py"), "{}", result.all());
    }
    assert!(result.stdout.contains("`env: { NAME: \"${NAME}\" }`"), "{}", result.all());
}

/// F59: one more item of a list that was meant, and a file of another tool, are told as that.
#[test]
fn lists_without_commas_and_foreign_files_are_named() {
    let tickets = place(SUITE);
    tickets.write("pf.yaml", "prompts: [a]\nproviders: [openai:gpt-4o]\ntests: []\n");
    for (arguments, wanted) in [
        (&["run", "--models", "small", "big"][..], "write `--models small,big`"),
        (&["validate", "--models", "small", "gpt-4o"], "write `--models small,gpt-4o`"),
        (&["run", "--variants", "plain", "kind"], "write `--variants plain,kind`"),
        (&["run", "--sample", "t01", "t02"], "write `--sample t01,t02`"),
        (&["run", "plain"], "choose it with `--variants plain`"),
        (&["run", "gpt-4o"], "choose it with `--models gpt-4o`"),
        (&["run", "pf.yaml"], "`karat import promptfoo pf.yaml` makes a suite of it"),
    ] {
        let result = tickets.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains(wanted), "{}", result.all());
    }
}
