//! Every bad input has a place, a hint and exit 1, and loses nothing.

use crate::place::{Place, questions, suite};

fn refused(place: &Place, arguments: &[&str], words: &[&str]) {
    let result = place.karat(arguments);
    assert_eq!(result.code, 1, "karat {}\n{}", arguments.join(" "), result.all());
    for word in words {
        assert!(result.stderr.contains(word), "{word:?} is missing in:\n{}", result.all());
    }
}

/// CL-01, CL-05, CL-21: unknown keys, presets, flags, params and templates are named with the nearest known one.
#[test]
fn suites_with_problems_are_refused() {
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    let good = suite("http://127.0.0.1:9/v1");
    refused(&place, &["run", "claim"], &["claims"]);
    refused(&place, &["run"], &["karat.yaml"]);
    refused(&place, &["run", "claims", "--frobnicate"], &["--frobnicate"]);
    refused(&place, &["run", "claims", "-p", "corpsu=x"], &["corpsu", "corpus"]);
    refused(&place, &["frobnicate"], &["frobnicate"]);
    for (broken, words) in [
        (good.replace("scorers:", "scorer:"), vec!["karat.yaml:", "scorers"]),
        (good.replace("sample.question", "sample.qestion"), vec!["karat.yaml:", "qestion", "question"]),
        (good.replace("metric: contains", "metric: contians"), vec!["contians", "contains"]),
        (good.replace("source: data.jsonl", "source: nope.jsonl"), vec!["nope.jsonl"]),
        (good.replace("provider: openai", "provider: opnai"), vec!["opnai", "openai"]),
        (format!("{good}name: twice\n"), vec!["karat.yaml:", "name"]),
        ("name: [".to_owned(), vec!["karat.yaml"]),
        (String::new(), vec!["karat.yaml"]),
    ] {
        place.write("karat.yaml", &broken);
        refused(&place, &["validate"], &words);
        refused(&place, &["run"], &words);
    }
    assert!(!place.path().join(".karat/runs").exists());
}

/// Several problems are reported at once.
#[test]
fn all_problems_are_reported() {
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    let broken = suite("http://127.0.0.1:9/v1")
        .replace("metric: contains", "metric: contians")
        .replace("run: {", "run: { retires: 3,");
    place.write("karat.yaml", &broken);
    refused(&place, &["validate"], &["contians", "retires", "retries"]);
}

/// CL-01: broken rows, duplicate ids and empty datasets name file and line.
#[test]
fn datasets_with_problems_are_refused() {
    let place = Place::new();
    place.write("karat.yaml", &suite("http://127.0.0.1:9/v1"));
    for (data, words) in [
        (questions(2) + "{\"id\": \"x\",\n", vec!["data.jsonl:3"]),
        (questions(2) + "{\"id\":\"q1\",\"question\":\"a\",\"target\":\"b\"}\n", vec!["data.jsonl", "q1"]),
        (String::new(), vec!["data.jsonl"]),
    ] {
        place.write("data.jsonl", &data);
        refused(&place, &["run"], &words);
    }
}

/// CL-02: a missing or empty transcript is named.
#[test]
fn transcripts_with_problems_are_refused() {
    let place = Place::new();
    let result = place.karat(&["run", "claims", "-p", "transcripts=nowhere"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stderr.contains("nowhere"), "{}", result.all());
}

/// A folder that cannot be written is found out before anything is spent.
#[test]
fn unwritable_folders_are_refused_before_the_run() {
    let place = Place::new();
    place.write("file", "");
    let result = place.karat(&["run", "faq", "-o", "file/below"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stderr.contains("file/below"), "{}", result.all());
    let result = place.karat(&["run", "faq", "--store", "sqlite:file/below/k.db"]);
    assert_eq!(result.code, 1, "{}", result.all());
}

/// A key that is missing is named before anything is spent.
#[test]
fn missing_keys_are_named() {
    let place = Place::new();
    let result = place.karat(&["run", "claims", "--models", "gpt-5-mini", "--judges", "sim-judge-strict", "--yes"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stderr.contains("OPENAI_API_KEY"), "{}", result.all());
}

/// FT-A1: a row leads a recorded step to no file above its folder; the other cells stand.
#[test]
fn a_row_leads_to_no_recorded_file_above_its_folder() {
    let place = Place::new();
    place.write("secret.txt", "key");
    place.write("drafts/a.txt", "fine");
    place.write(
        "suite/karat.yaml",
        "name: x\nparams: { drafts: { path: ../drafts } }\ndataset: { rows: [{ id: a }, { id: ../secret }] }\n\
         variants: { given: [ { recorded: { from: \"{{ params.drafts }}/{{ sample.id }}.txt\" } } ] }\n\
         scorers: { fine: { metric: contains, with: { any: [fine, key] } } }\n",
    );
    let result = place.karat(&["run", "suite/karat.yaml", "--run-id", "r"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let report = place.report("r");
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells[0]["scores"]["fine"]["value"], 1.0, "{cells:?}");
    let error = cells[1]["error"]["message"].as_str().unwrap();
    assert!(cells[1]["status"] == "error" && error.contains("lies outside of the folder `drafts`"), "{error}");
}

/// FT-A1: a row reads no file but those beneath the folder that the suite's text names, with or without --safe: neither by
/// an absolute path, nor by `..`, nor by a link. What stays inside is read, also through a link.
#[cfg(unix)]
#[test]
fn a_row_reads_no_file_outside_of_its_folder() {
    let place = Place::new();
    place.write("secret.md", "key");
    place.write("suite/cards/deep/a.md", "fine");
    let cards = place.path().join("suite/cards");
    std::os::unix::fs::symlink("/etc/hostname", cards.join("host.md")).unwrap();
    std::os::unix::fs::symlink("../../secret.md", cards.join("above.md")).unwrap();
    std::os::unix::fs::symlink("deep/a.md", cards.join("inside.md")).unwrap();
    let suite = |path: &str, dataset: &str, step: &str| {
        let rows = format!("{{\"id\": \"x\", \"p\": \"{path}\"}}\n");
        place.write("suite/rows.jsonl", &rows);
        let text = format!(
            "name: x\ndataset: {{ source: rows.jsonl{dataset} }}\nvariants: {{ given: [ {{ recorded: {step} }} ] }}\n\
             scorers: {{ fine: {{ metric: contains, with: {{ any: [fine] }} }} }}\n"
        );
        place.write("suite/karat.yaml", &text);
    };
    let ways = [
        (", columns: { f: { file: \"cards/{{ sample.p }}\" } }", "{ column: f }", "suite/cards"),
        (", columns: { f: { file: \"{{ sample.p }}\" } }", "{ column: f }", "suite"),
        ("", "{ from: \"cards/{{ sample.p }}\" }", "suite/cards"),
        ("", "{ from: \"{{ sample.p }}\" }", "suite"),
    ];
    for (at, (dataset, step, folder)) in ways.into_iter().enumerate() {
        let beneath = |path: &str| if folder == "suite" { format!("cards/{path}") } else { path.to_owned() };
        let secret = place.path().join("secret.md").display().to_string();
        let outside = ["/proc/self/environ", &secret, "../../secret.md", &beneath("host.md"), &beneath("above.md")];
        for (number, path) in outside.into_iter().enumerate() {
            suite(path, dataset, step);
            for safe in [false, true] {
                let run = format!("r{at}-{number}-{safe}");
                let mut arguments = vec!["run", "suite/karat.yaml", "--run-id", &run];
                arguments.extend(safe.then_some("--safe"));
                let result = place.karat(&arguments);
                let shown = match step.contains("column") {
                    true => {
                        assert!(result.stderr.contains("suite/rows.jsonl:1"), "{path}: {}", result.all());
                        result.all()
                    }
                    false => place.report(&run)["cells"].to_string(),
                };
                assert_eq!(result.code, 1, "{path}: {}", result.all());
                assert!(shown.contains(&format!("lies outside of the folder `{folder}`")), "{path}: {shown}");
                assert!(shown.contains("name its folder in the suite"), "{path}: {shown}");
            }
        }
        for (number, path) in ["deep/a.md", "inside.md"].into_iter().enumerate() {
            suite(&beneath(path), dataset, step);
            let run = format!("ok{at}-{number}");
            let result = place.karat(&["run", "suite/karat.yaml", "--safe", "--run-id", &run]);
            assert_eq!(result.code, 0, "{path}: {}", result.all());
            assert_eq!(place.report(&run)["cells"][0]["scores"]["fine"]["value"], 1.0, "{path}");
        }
    }
}

/// FT-A1: files that a folder holds are read from that folder: a link to a place outside of it is refused by name.
#[cfg(unix)]
#[test]
fn a_link_in_a_dataset_folder_leads_nowhere_else() {
    let place = Place::new();
    place.write("cards/a.md", "fine");
    std::os::unix::fs::symlink("/etc/hostname", place.path().join("cards/b.md")).unwrap();
    let folder = "{ source: cards, with: { files: \"{id}.md\", as: text }, id: id }";
    for (dataset, step) in [(folder, "{ column: text }"), ("{ rows: [{ id: a }, { id: b }] }", "cards")] {
        place.write(
            "karat.yaml",
            &format!("name: x\ndataset: {dataset}\nvariants: {{ given: [ {{ recorded: {step} }} ] }}\n"),
        );
        let result = place.karat(&["run", "--run-id", if step == "cards" { "r" } else { "d" }]);
        assert_eq!(result.code, 1, "{}", result.all());
        let shown = if step == "cards" { place.report("r")["cells"].to_string() } else { result.all() };
        assert!(shown.contains("cards/b.md") && shown.contains("outside of"), "{shown}");
    }
}

/// CL-21: flags of other tools are answered with ours, not with the nearest spelling.
#[test]
fn flags_of_other_tools_get_a_hint() {
    let place = Place::new();
    for (theirs, ours) in [
        ("--epochs=3", "`--trials N`"),
        ("--repeat=3", "`--trials N`"),
        ("--grader=x", "`--judges ID`"),
        ("--tag=x", "`--run-id NAME`"),
    ] {
        let result = place.karat(&["run", theirs]);
        assert!(result.code == 1 && result.stderr.contains(ours), "{theirs}: {}", result.all());
        assert!(!result.stderr.contains("--replay") && !result.stderr.contains("--gate"), "{theirs}: {}", result.all());
    }
    let near = place.karat(&["run", "--trails", "3"]);
    assert!(near.stderr.contains("a similar argument exists: '--trials'"), "{}", near.all());
}
