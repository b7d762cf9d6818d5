//! Dated documents through the binary: judges that are programs, days, broken cards, events.

use serde_json::{Value, json};

use crate::place::{CommandOutput, Place, fake_claude};

fn card(text: &str) -> String {
    json!({"body": [{"type": "TextBlock", "size": "Large", "text": "Day"}, {"type": "TextBlock", "text": text}]})
        .to_string()
}

const SUITE: &str = r#"name: daily
dataset:
  source: cards
  format: dir
  with: { files: "{date}-card.json", as: adaptive_card }
  id: date
  date: date
  broken: report
  columns: { prior_headlines: { prior: headlines, days: 7 } }
judges: ["cmd:claude"]
variants: { published: [ { recorded: { column: body_text } } ] }
scorers:
  quality: { rubric: { ask: Is it good?, version: v1, invalid: { reask: 0 }, show: { text: "{{ output }}", before: { value: "{{ sample.prior_headlines }}", as: lines } }, dimensions: { good: { scale: [1, 5] } } } }
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("karat.yaml", SUITE);
    for day in ["2026-03-01", "2026-03-02", "2026-03-03"] {
        place.write(&format!("cards/{day}-card.json"), &card(&format!("- headline of {day}")));
    }
    place
}

#[cfg(unix)]
fn run(place: &Place, path: &str, arguments: &[&str]) -> CommandOutput {
    let mut command = place.command(&[&["run"], arguments].concat());
    command.env("PATH", path).env("CLAUDECODE", "1").env("CLAUDE_CODE", "1").env_remove("EVAL_JUDGE_MODEL");
    CommandOutput::of(command.output().unwrap())
}

/// BR-05, BR-06: `claude -p --model M PROMPT` without a shell and without its own marks in the environment; the reply is
/// found in its fence.
#[cfg(unix)]
#[test]
fn a_program_judges() {
    let place = place();
    let path = fake_claude(
        &place,
        r#"echo "$1|$2|$3|${CLAUDECODE-none}|${CLAUDE_CODE-none}" >> "$PWD/seen"
printf '%s' "$4" > "$PWD/prompt"
printf 'Sure.\n```json\n{"good": 4, "reasoning": "Clear and well sourced."}\n```\n'"#,
    );
    let result = run(&place, &path, &["--run-id", "r", "--limit", "2"]);
    assert_eq!(result.code, 0, "{}", result.all());
    assert_eq!(place.report("r")["metrics"]["quality"]["value"], 4.0);
    let seen = std::fs::read_to_string(place.path().join("seen")).unwrap();
    assert_eq!(seen.lines().collect::<Vec<_>>(), ["-p|--model|claude-haiku-4-5-20251001|none|none"; 2], "{seen}");
    assert!(std::fs::read_to_string(place.path().join("prompt")).unwrap().contains("headline of"));
    // The rubric has a version, so another run finds the judgments.
    assert_eq!(run(&place, &path, &["--limit", "2"]).code, 0);
    assert_eq!(std::fs::read_to_string(place.path().join("seen")).unwrap().lines().count(), 2);
}

/// PE-03, BR-05: a judge that fails or is not installed leaves the judgment unscored, says why, and is not tried again.
#[cfg(unix)]
#[test]
fn a_judge_that_fails_is_unscored_and_says_why() {
    let place = place();
    let path = fake_claude(&place, "echo once >> \"$PWD/seen\"; echo 'please log in first' >&2; exit 2");
    let result = run(&place, &path, &["--run-id", "r", "--limit", "1"]);
    assert_ne!(result.code, 0, "{}", result.all());
    let report = place.report("r").to_string();
    assert!(report.contains("please log in first") && report.contains("exit status 2"), "{report}");
    assert_eq!(std::fs::read_to_string(place.path().join("seen")).unwrap(), "once\n");
    let result = run(&place, "/nowhere", &["--run-id", "s", "--limit", "1", "--no-cache"]);
    assert_ne!(result.code, 0);
    assert!(place.report("s").to_string().contains("is not installed, or not on PATH"), "{}", result.all());
}

/// BR-10: a broken card is an errored sample, the others are judged, and the exit code says that something failed.
#[cfg(unix)]
#[test]
fn a_broken_card_fails_alone() {
    let place = place();
    place.write("cards/2026-03-02-card.json", "{ broken");
    let path = fake_claude(&place, r#"echo '{"good": 3, "reasoning": "Good enough."}'"#);
    let result = run(&place, &path, &["--run-id", "r", "--max-calls", "50"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let report = place.report("r");
    assert_eq!((&report["totals"]["errors"], &report["metrics"]["quality"]["n"]), (&json!(1), &json!(2)));
    let broken = report["cells"].as_array().unwrap().iter().find(|cell| cell["status"] == "error").unwrap().clone();
    assert_eq!((&broken["sample"], &broken["error"]["code"]), (&json!("2026-03-02"), &json!("dataset")));
}

/// GE-07: `--as-of` says which day a run is about, and a resumed run keeps it.
#[test]
fn a_run_is_about_a_day() {
    let place = place();
    let text = SUITE.replace("  broken: report\n", "  days: 1\n").replace("judges: [\"cmd:claude\"]\n", "judges: []\n");
    place.write("karat.yaml", &text.replace("scorers:", "scorers:\n  size: { metric: length }"));
    place.succeed(&["run", "--as-of", "2026-03-02", "--run-id", "r"]);
    let report = place.report("r");
    assert_eq!((&report["totals"]["samples"], &report["samples"][0]["id"]), (&json!(1), &json!("2026-03-02")));
    assert!(place.succeed(&["resume", "r"]).stderr.contains("finished"));
    let result = place.karat(&["run", "--as-of", "2026-04-01"]);
    assert_eq!(result.code, 1);
    assert!(result.stderr.contains("no rows of 2026-04-01"), "{}", result.all());
}

/// `--json`: every line of stdout is an event, people are talked to on stderr.
#[test]
fn events_are_lines_of_json() {
    let place = Place::new();
    let result = place.succeed(&["run", "faq", "--run-id", "f", "--json"]);
    let events: Vec<Value> = result.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!((count("started"), count("cell"), count("finished"), count("end")), (1, 24, 1, 1));
    assert_eq!(events.last().unwrap()["exit"], 0);
    assert!(events.last().unwrap()["files"][0].as_str().unwrap().contains("report"));
    assert!(result.stderr.contains("how these numbers were made"), "{}", result.stderr);
}

/// `init` writes a suite that runs, and never over what is there.
#[test]
fn init_copies_a_preset() {
    let place = Place::new();
    let result = place.succeed(&["init", "faq", "mine"]);
    assert!(result.stdout.starts_with("mine/karat.yaml"), "{}", result.stdout);
    place.succeed(&["run", "mine", "--run-id", "m"]);
    let result = place.karat(&["init", "faq", "mine"]);
    assert_eq!(result.code, 1);
    assert!(result.stderr.contains("would be replaced") && result.stderr.contains("--force"), "{}", result.all());
    place.succeed(&["init", "faq", "mine", "--force"]);
    assert!(place.karat(&["init", "fqa"]).stderr.contains("did you mean `faq`?"));
}

/// `init` names the folder that it wrote. If a preset has the same name, the bare name is the preset, and `./faq` and
/// `faq/` are the folder, for all commands.
#[test]
fn init_tells_a_folder_from_a_preset() {
    let place = Place::new();
    assert!(place.succeed(&["init", "faq", "mine"]).stderr.contains("run the suite with `karat run mine`"));
    assert!(place.succeed(&["init", "faq"]).stderr.contains("run the suite with `karat run ./faq`"));
    assert!(place.succeed(&["init", "spans", "spans"]).stderr.contains("run the suite with `karat run ./spans`"));
    place.write("faq/karat.yaml", &place.text("faq/karat.yaml").replace("name: faq", "name: our-own"));
    let note = "note: `faq` is the built-in preset, not the folder of this name: that one is `./faq`";
    for (suite, is_own) in [("./faq", true), ("faq/", true), ("faq", false)] {
        for command in ["validate", "plan", "run"] {
            let result = place.succeed(&[command, suite]);
            assert_eq!(result.stderr.contains(note), !is_own, "{command} {suite}: {}", result.all());
        }
        let name = if is_own { "our-own: valid" } else { "faq: valid" };
        assert!(place.succeed(&["validate", suite]).stdout.starts_with(name), "{suite}");
        assert!(!place.succeed(&["validate", suite, "-q"]).stderr.contains(note));
    }
    let runs = |suite: &str| place.succeed(&["ls", "--suite", suite]).stdout.matches("finished").count();
    assert_eq!((runs("our-own"), runs("faq")), (2, 1));
    let result = place.karat(&["run", "rag/"]);
    assert!(result.code == 1 && result.stderr.contains("did you mean the preset `rag`?"), "{}", result.all());
    assert!(!place.succeed(&["validate", "rag"]).stderr.contains("built-in preset"));
}

/// `doctor` says what is there and shows no key.
#[test]
fn doctor_shows_no_key() {
    let place = Place::new();
    let output = place.command(&["doctor"]).env("OPENAI_API_KEY", "sk-planted-77aa").output().unwrap();
    let result = CommandOutput::of(output);
    assert_eq!(result.code, 0, "{}", result.all());
    assert!(result.stdout.contains("OPENAI_API_KEY is set") && !result.all().contains("planted"), "{}", result.all());
    assert!(result.stdout.contains("will be made by the first run"), "{}", result.all());
    let short = CommandOutput::of(place.command(&["doctor"]).env("OPENAI_API_KEY", "abc12").output().unwrap());
    assert!(short.stdout.contains("OPENAI_API_KEY has fewer than 8 characters"), "{}", short.all());
}

/// Doctor says which proxies requests go through, which cannot be used and which are not; never a password.
#[test]
fn doctor_shows_proxies_without_their_passwords() {
    let place = Place::new();
    let doctor =
        |name: &str, value: &str| CommandOutput::of(place.command(&["doctor"]).env(name, value).output().unwrap());
    let fine = doctor("HTTPS_PROXY", "http://me:hunter2@proxy:3128");
    assert!(fine.code == 0 && fine.stdout.contains("requests go through http://proxy:3128"), "{}", fine.all());
    let unused = doctor("ALL_PROXY", "http://me:hunter2@proxy:3128");
    assert!(
        unused.code == 0 && unused.stdout.contains("is not used: name the proxy in HTTPS_PROXY"),
        "{}",
        unused.all()
    );
    let broken = doctor("HTTP_PROXY", "socks5://me:hunter2@proxy:3128");
    assert!(broken.code != 0 && broken.stdout.contains("only http and https are supported"), "{}", broken.all());
    assert!([fine, unused, broken].iter().all(|result| !result.all().contains("hunter2")));
}

/// PE-38, BY-15: `--safe` refuses a suite that would run a program, wherever it stands; environment twins can say no.
#[test]
fn a_safe_run_starts_no_program() {
    let place = place();
    let result = place.karat(&["run", "--safe"]);
    assert_eq!(result.code, 1);
    assert!(result.stderr.contains("the model `cmd:claude` runs a program, which --safe refuses"), "{}", result.all());
    let text = SUITE
        .replace("judges: [\"cmd:claude\"]", "judges: []\nservices: { s: { command: [x] } }")
        .replace("published:", "other: [ { command: [x] } ]\n  published:")
        .replace("variants: {", "variants:\n ")
        .replace("column: body_text } } ] }", "column: body_text } } ]")
        .replace("scorers:", "scorers:\n  mine: { metric: command, with: { run: [x] } }");
    place.write("karat.yaml", &text);
    let result = place.karat(&["validate", "--safe"]);
    for what in ["a service", "a `command` step", "the metric `command`"] {
        assert!(result.stderr.contains(&format!("{what} runs a program")), "{what}: {}", result.all());
    }
    let output = place.command(&["validate"]).env("KARAT_SAFE", "0").output().unwrap();
    assert!(!CommandOutput::of(output).stderr.contains("--safe refuses"));
}

/// CL-02: `dataset fetch` makes what is absent, leaves what is there, and says what failed.
#[cfg(unix)]
#[test]
fn absent_files_are_fetched_once() {
    let place = Place::new();
    place.write(
        "karat.yaml",
        "name: x\ndataset:\n  rows: [{ id: a }, { id: b }, { id: bad }]\n  columns:\n    transcript: { file: \"texts/{{ sample.id }}.txt\", fetch: { command: [sh, ./ingest.sh, \"{{ sample.id }}\"] } }\nvariants: { same: [ { recorded: { column: transcript } } ] }\n",
    );
    place.write("ingest.sh", "[ \"$1\" = bad ] && { echo no captions >&2; exit 4; }; echo \"text of $1\"");
    let result = place.karat(&["dataset", "fetch"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stderr.contains("there is no folder texts"), "{}", result.all());
    place.write("texts/a.txt", "already here");
    let result = place.karat(&["dataset", "fetch"]);
    assert_eq!((result.code, result.stdout.trim()), (1, "1 file fetched, 1 failed"), "{}", result.all());
    assert!(result.stderr.contains("no captions"), "{}", result.all());
    let text = |name: &str| std::fs::read_to_string(place.path().join("texts").join(name)).unwrap();
    assert_eq!((text("a.txt").as_str(), text("b.txt").as_str()), ("already here", "text of b\n"));
    assert!(!place.path().join("texts/bad.txt").exists());
    assert_eq!(place.karat(&["validate"]).code, 1, "a file is still missing");
}

/// F59: an empty file, such as a transcript whose fetch broke off, is fetched again; until then its error says so. JSON
/// without its words counts as empty where the suite cannot use it.
#[cfg(unix)]
#[test]
fn empty_files_are_fetched_again() {
    let place = Place::new();
    place.write(
        "karat.yaml",
        "name: x\ndataset:\n  rows: [{ id: blank }, { id: hollow }, { id: kept }, { id: odd }]\n  row_schema: row.json\n  columns:\n    talk: { file: \"talks/{{ sample.id }}.json\", fetch: { command: [cat, talk] } }\nvariants: { same: [ { recorded: { column: talk } } ] }\n",
    );
    place
        .write("row.json", r#"{"properties": {"talk": {"required": ["of"], "properties": {"of": {"minLength": 1}}}}}"#);
    place.write("talk", r#"{"of": "words"}"#);
    place.write("talks/blank.json", " \n");
    place.write("talks/hollow.json", r#"{"of": "", "by": "x"}"#);
    place.write("talks/kept.json", r#"{"of": "my own", "note": ""}"#);
    place.write("talks/odd.json", r#"{"of": "my own"}"#);
    let result = place.karat(&["validate"]);
    assert_eq!(result.code, 1, "{}", result.all());
    for wanted in ["talks/blank.json of the column `talk` is empty", "`karat dataset fetch` fetches it"] {
        assert!(result.stderr.contains(wanted), "{wanted}: {}", result.all());
    }
    let result = place.karat(&["dataset", "fetch"]);
    assert_eq!((result.code, result.stdout.trim()), (0, "2 files fetched, 0 failed"), "{}", result.all());
    let text = |name: &str| std::fs::read_to_string(place.path().join("talks").join(name)).unwrap();
    assert_eq!(
        (text("blank.json").as_str(), text("hollow.json").as_str()),
        (r#"{"of": "words"}"#, r#"{"of": "words"}"#)
    );
    assert!(text("kept.json").contains("note"));
    assert_eq!(place.karat(&["validate"]).code, 0);
}

/// CL-02: a fetched file is checked before it is written: an error page, an empty reply, another shape or another video
/// is reported.
#[cfg(unix)]
#[test]
fn fetched_files_are_checked() {
    let place = Place::new();
    place.write(
        "karat.yaml",
        "name: x\ndataset:\n  rows: [{ id: page }, { id: text }, { id: empty }, { id: shape }, { id: other }, { id: good }]\n  row_schema: row.json\n  columns:\n    talk: { file: \"talks/{{ sample.id }}.json\", fetch: { command: [cat, \"{{ sample.id }}\"] } }\n  checks: [ { name: the right talk, where: sample.talk.of != sample.id, max: 0 } ]\nvariants: { same: [ { recorded: { column: talk } } ] }\n",
    );
    place.write("row.json", r#"{"properties": {"talk": {"required": ["of"]}}}"#);
    for (name, came) in [
        ("page", "<!DOCTYPE html><p>429</p>"),
        ("text", "sorry"),
        ("empty", "{}"),
        ("shape", r#"{"by": "x"}"#),
        ("other", r#"{"of": "page"}"#),
        ("good", r#"{"of": "good"}"#),
    ] {
        place.write(name, came);
    }
    std::fs::create_dir(place.path().join("talks")).unwrap();
    let result = place.karat(&["dataset", "fetch"]);
    assert_eq!((result.code, result.stdout.trim()), (1, "1 file fetched, 5 failed"), "{}", result.all());
    for wanted in ["invalid JSON", "it is empty", "`of`", "the check \"the right talk\"", "nothing was written"] {
        assert!(result.stderr.contains(wanted), "{wanted}: {}", result.all());
    }
    let kept: Vec<_> =
        std::fs::read_dir(place.path().join("talks")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(kept, ["good.json"]);
}

/// Values of a row cannot lead a fetched file out of its folder; then nothing is fetched.
#[cfg(unix)]
#[test]
fn fetched_files_stay_in_their_folder() {
    let place = Place::new();
    place.write(
        "karat.yaml",
        "name: x\ndataset:\n  rows: [{ id: a }, { id: ../up }]\n  columns:\n    talk: { file: \"talks/{{ sample.id }}.txt\", fetch: { command: [echo, hi] } }\nvariants: { same: [ { recorded: { column: talk } } ] }\n",
    );
    std::fs::create_dir(place.path().join("talks")).unwrap();
    let result = place.karat(&["dataset", "fetch"]);
    assert!(result.code == 1 && result.stderr.contains("lies outside of the folder `talks`"), "{}", result.all());
    assert!(!place.path().join("up.txt").exists() && !place.path().join("talks/a.txt").exists());
}

/// `validate` reports what a run would need: a key that is not set, an unknown price.
#[test]
fn validate_lists_missing_keys_and_prices() {
    let place = Place::new();
    place.write(
        "karat.yaml",
        "name: x\ndataset: { rows: [{ id: a, q: hi }] }\nmodels: [ { id: mine, provider: groq, model: m } ]\nvariants: { ask: [ { prompt: { text: \"{{ sample.q }}\" } } ] }\n",
    );
    let output = place.command(&["validate"]).env_remove("GROQ_API_KEY").output().unwrap();
    let result = CommandOutput::of(output);
    assert_eq!(result.code, 0, "{}", result.all());
    assert!(
        result.stderr.contains("GROQ_API_KEY is not set") && result.stderr.contains("its price is unknown"),
        "{}",
        result.all()
    );
    place.write("karat.yaml", "name: x\ndataset: { rows: [{ id: a, q: hi }] }\nmodels: [gpt-4o]\nvariants: { ask: [ { prompt: { text: \"{{ sample.question }}\" } } ] }\n");
    let result = place.karat(&["validate"]);
    assert!(result.code == 1 && result.stderr.contains("the dataset has no column `question`"), "{}", result.all());
}
