//! `karat init` for a task: the suites that it writes run at once.

use crate::place::Place;

/// The tasks, each with the name of its suite and the metrics that a judge decides.
const TASKS: [(&str, &str, &[&str]); 6] = [
    ("agent", "order-agent", &["grounded"]),
    ("answer", "library-questions", &["correct"]),
    ("classify", "support-tickets", &["reason"]),
    ("extract", "invoices", &["faithful"]),
    ("rag", "manual-questions", &["quality.correct", "quality.grounded"]),
    ("summary", "report-summaries", &["quality.covers", "quality.faithful"]),
];

/// A new user's first suite: for each task and kind of provider it is valid, runs offline, is judged, and passes its gates.
#[test]
fn every_starter_runs_offline_and_passes() {
    for (task, name, judged) in TASKS {
        for provider in ["openai", "groq", "ollama"] {
            let place = Place::new();
            place.succeed(&["init", "--task", task, "--provider", provider]);
            let valid = place.succeed(&["validate"]);
            assert!(
                valid.stdout.starts_with(&format!("{name}: valid; 5 samples, 1 system, 5 cells")),
                "{}",
                valid.all()
            );
            assert!(!valid.stderr.contains("warning"), "{task}, {provider}: {}", valid.all());
            let run = place.succeed(&["run", "--run-id", "r"]);
            assert!(run.stderr.contains("nothing was billed"), "{}", run.all());
            assert!(run.stdout.contains("verdict pass"), "{}", run.all());
            let report = place.report("r");
            assert_eq!((&report["totals"]["errors"], &report["totals"]["unscored"]), (&0.into(), &0.into()), "{task}");
            assert_eq!(report["totals"]["judgments"], 5);
            for metric in judged {
                let value = report["metrics"][metric]["value"].as_f64();
                assert!(value.is_some_and(|value| (0.8..=1.0).contains(&value)), "{task}: {metric} is {value:?}");
            }
        }
    }
}

/// Without the stand-ins, the same suite needs nothing but the provider: it is valid, and `plan` knows its models.
#[test]
fn a_starter_without_stand_ins_asks_the_real_models() {
    let place = Place::new();
    for (provider, model, price) in [
        ("anthropic", "claude-haiku-4-5", "$"),
        ("xai", "xai:grok-4.20-non-reasoning", "unknown"),
        ("vllm", "vllm:meta-llama", "$0"),
    ] {
        place.succeed(&["init", provider, "--task", "answer", "--provider", provider]);
        let file = format!("{provider}/karat.yaml");
        let suite = place.text(&file);
        assert!(suite.contains("registry: [stand-ins.yaml]\n"), "{suite}");
        assert_eq!(suite.contains("Karat knows no price"), price == "unknown", "{suite}");
        assert!(!suite.contains('@'), "{suite}");
        place.write(&file, &suite.replace("registry: [stand-ins.yaml]\n", ""));
        let plan = place.succeed(&["plan", provider]);
        let row = plan.stdout.lines().find(|line| line.contains(model)).unwrap_or_else(|| panic!("{}", plan.all()));
        assert!(row.contains(price), "{row}");
    }
}

/// The files of one starter, as a user reads them.
#[test]
fn the_files_of_a_starter() {
    let place = Place::new();
    let written = place.succeed(&["init", "--task", "classify", "--provider", "openai"]).stdout;
    let files = written.lines().map(|file| format!("=== {file}\n{}", place.text(file)));
    insta::assert_snapshot!(files.collect::<Vec<_>>().join("\n"));
}

/// Without a terminal and without flags the usual answers count, and are named; existing files stay.
#[test]
fn init_without_answers_says_what_it_chose() {
    let place = Place::new();
    let result = place.succeed(&["init"]);
    assert!(
        result.stderr.contains("task answer, provider openai; `--task` and `--provider` choose others"),
        "{}",
        result.all()
    );
    assert!(result.stderr.contains("run the suite with `karat run`\n"), "{}", result.all());
    let again = place.karat(&["init"]);
    assert!(again.code == 1 && again.stderr.contains("writing the suite `answer`: karat.yaml"), "{}", again.all());
    place.succeed(&["init", "--force"]);
    let output =
        place.command(&["init", "other"]).arg("--task=rag").env("ANTHROPIC_API_KEY", "sk-ant-1").output().unwrap();
    assert!(output.status.success() && place.text("other/karat.yaml").contains("claude-haiku-4-5"));
}

/// A wrong task, provider or combination is answered with what there is.
#[test]
fn init_names_tasks_and_providers() {
    let place = Place::new();
    for (arguments, message) in [
        (&["init", "--task", "sort"][..], "the tasks are answer, agent, classify, extract, rag, summary"),
        (&["init", "--provider", "acme"], "choose one of openai, anthropic"),
        (&["init", "claims", "--task", "rag"], "`claims` is a preset"),
        (&["init", "evals"], "`karat init evals --task answer`"),
    ] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains(message), "{arguments:?}: {}", result.all());
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
