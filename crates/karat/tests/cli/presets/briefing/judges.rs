//! Judges that are programs: a fake `claude` that is first on PATH.

use super::*;
use crate::place::fake_claude;

const DAY: [&str; 6] = ["run", "briefing", "--sample", "2026-03-18", "--judges", "cmd:claude"];

fn judged(place: &Place, path: &str, model: Option<&str>, more: &[&str]) -> CommandOutput {
    let mut command = place.command(&[&DAY, more].concat());
    command.env("PATH", path).env("CLAUDECODE", "1").env("CLAUDE_CODE", "1").env_remove("EVAL_JUDGE_MODEL");
    command.envs(model.map(|model| ("EVAL_JUDGE_MODEL", model)));
    CommandOutput::of(command.output().unwrap())
}

const GOOD: &str = r#"printf 'Sure.\n```json\n{"factuality":4,"novelty":3,"source_diversity":3,"signal_density":3,"coherence":3,"notes":"Fine."}\n```\nBye'"#;

fn log(place: &Place) -> String {
    log_in(&place.path().join("logs"))
}

fn log_in(folder: &std::path::Path) -> String {
    let folder = std::fs::read_dir(folder).unwrap();
    let files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    assert!(files.len() <= 2 && files[0].to_string_lossy().contains("eval-judge-20"), "{files:?}");
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// BR-03, BR-05, BR-06, BR-07: a program judges; the weighted mean of 4, 3, 3, 3, 3 is 3.30; each call is logged.
#[test]
fn a_program_judges_and_is_logged() {
    let place = Place::new();
    let path = fake_claude(&place, GOOD);
    let result = judged(&place, &path, None, &["--format", "json", "-o", "-"]);
    let row = json(&result);
    assert_eq!((&row["composite"], &row["judge_model"]), (&json!(3.3), &json!("claude-haiku-4-5-20251001")));
    let log = log(&place);
    assert!(
        log.contains(" rc=0 elapsed=") && log.contains("CMD: claude -p --model claude-haiku-4-5-20251001 <prompt>"),
        "{log}"
    );
    assert!(log.contains("STDIN[:200]: You are a careful") && log.contains("STDOUT[:2000]:\nSure."), "{log}");
}

/// BR-08: another model of the same program is another judge, and has a row of its own.
#[test]
fn the_model_that_judged_is_part_of_the_row() {
    let place = Place::new();
    let path = fake_claude(&place, GOOD);
    for model in [None, Some("claude-other"), None] {
        assert_eq!(judged(&place, &path, model, &["-q"]).code, 0);
    }
    let rows: Value = json(&place.succeed(&["show", "briefing", "--format", "json"]));
    let models: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["judge_model"].as_str().unwrap()).collect();
    assert_eq!(models, ["claude-haiku-4-5-20251001", "claude-other"]);
    assert_eq!(log(&place).matches("--- 20").count(), 2, "the third run takes the first one's judgment over");
    // BR-18: so they are two raters.
    let found = json(&place.succeed(&["agree", "briefing", "--format", "json"]));
    let names = ["cmd:claude (claude-haiku-4-5-20251001)", "cmd:claude (claude-other)"];
    assert_eq!((&found["raters"], &found["metrics"][0]["pairs"][0]["judges"]), (&json!(names), &json!(names)));
}

/// BR-18: two backfills by different judges are compared on their common cards; two by the same judge show whether it
/// changed.
#[test]
fn judges_of_two_backfills_are_compared() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    let path = fake_claude(&place, GOOD);
    place.succeed(&["run", "mine", "-q", "--run-id", "a"]);
    place.write("mine/data/cards/2026-03-01-card.json", r#"{"body": [{"type": "TextBlock", "text": "Changed."}]}"#);
    let mut command = place.command(&["run", "mine", "-q", "--run-id", "b", "--judges", "cmd:claude"]);
    let result = CommandOutput::of(command.env("PATH", path).env_remove("EVAL_JUDGE_MODEL").output().unwrap());
    assert_eq!(result.code, 0, "{}", result.all());
    for words in [&["agree", "a", "b"][..], &["agree", "mine"]] {
        let found: Value = json(&place.succeed(&[words, &["--format", "json"]].concat()));
        let composite =
            &found["metrics"].as_array().unwrap().iter().find(|it| it["metric"] == "quality.composite").unwrap();
        let pair = &composite["pairs"][0];
        assert_eq!(pair["bias"]["n"], 43, "the card that changed is not compared: {pair}");
        assert!(pair["bias"]["ci"].is_array(), "{pair}");
    }
    place.succeed(&["run", "mine", "-q", "--run-id", "c", "--no-cache"]);
    let result = place.succeed(&["agree", "a", "c"]).stdout;
    assert!(result.contains("stub and stub in c"), "{result}");
}

/// BR-05, BR-06: each failure of a judge program is reported, exits with 1, and writes no row.
#[test]
fn every_judge_failure_is_reported() {
    let cases = [
        ("echo 'Invalid API key' >&2; exit 1", "Invalid API key"),
        ("echo 'Invalid API key · Please run /login'; exit 1", "and printed \\\"Invalid API key · Please run"),
        ("exit 1", "ended with exit status 1 and said nothing"),
        ("sleep 60", "did not end within"),
        ("echo 'I think it is quite good, a solid four.'", "factuality"),
        (
            r#"echo '{"factuality":9,"novelty":3,"source_diversity":3,"signal_density":3,"coherence":3,"notes":""}'"#,
            "factuality",
        ),
        (
            r#"echo '{"factuality":4,"novelty":2.5,"source_diversity":3,"signal_density":3,"coherence":3,"notes":""}'"#,
            "novelty",
        ),
    ];
    for (script, words) in cases {
        let place = Place::new();
        let path = fake_claude(&place, script);
        let timeout = if words == "did not end within" { "1s" } else { "30s" };
        let result = judged(&place, &path, None, &["--run-id", "r", "--judge-timeout", timeout]);
        assert_eq!(result.code, 1, "{script}: {}", result.all());
        let judgment = place.report("r")["cells"][0]["judgments"][0].to_string();
        assert!(judgment.contains(words), "{script}: {judgment}");
        assert_eq!(json(&place.succeed(&["show", "briefing", "--format", "json"])), json!([]), "{script}");
    }
    let place = Place::new();
    let result = judged(&place, "/nowhere", None, &["--run-id", "r"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(place.report("r").to_string().contains("is not installed, or not on PATH"));
    let path = fake_claude(&place, "");
    place.write("bin/claude", "#!/no/such/interpreter\n");
    let result = judged(&place, &path, None, &["--run-id", "i"]);
    assert!(
        place.report("i").to_string().contains("it exists, but the interpreter in its first line"),
        "{}",
        result.all()
    );
    let row = ["--run-id", "s", "--format", "json", "-o", "-"];
    let result = judged(&place, "/nowhere", None, &row);
    assert!(result.code == 1 && result.stderr.contains("is not installed, or not on PATH"), "{}", result.all());
}

/// BR-05, BR-07, F54: the first 400 characters of what a program complains and the last 2,000 stand in summary, report and
/// JSON, also where it ended well and printed nothing.
#[test]
fn messages_of_programs_are_shown() {
    for exit in [3, 0] {
        let place = Place::new();
        let complaint: String = (0..400).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
        let cut = "x".repeat(4000);
        let path = fake_claude(&place, &format!("printf %s {complaint}CUT{cut}CAUSE >&2; exit {exit}"));
        let result = judged(&place, &path, None, &["--run-id", "r", "--format", "json,md"]);
        let page = std::fs::read_to_string(place.path().join(".karat/runs/r/report.md")).unwrap();
        for text in [&result.stdout, &page, &place.report("r").to_string()] {
            assert!(text.contains(&complaint) && !text.contains(&format!("{complaint}C")), "{exit}: {text}");
            assert!(text.contains("xCAUSE"), "{exit}: {text}");
        }
        assert_eq!(result.code, 1);
    }
}

/// BR-10: a sweep continues after a day on which the judge fails or gives no readable reply, exits with 1, and counts
/// the days without a judgment.
#[test]
fn a_day_that_nobody_judges_is_a_partial_failure() {
    for bad in ["echo 'out of credit' >&2; exit 1", "echo 'A fine briefing.'"] {
        let place = Place::new();
        place.succeed(&["init", "briefing", "mine"]);
        for (day, text) in [("01", "All is well."), ("02", "BROKEN"), ("03", "Fine again.")] {
            let card = json!({"body": [{"type": "TextBlock", "text": text}]}).to_string();
            place.write(&format!("cards/2026-05-{day}-card.json"), &card);
        }
        let script = format!("case \"$*\" in *BROKEN*) {bad} ;; *) {GOOD} ;; esac");
        let path = fake_claude(&place, &script);
        let mut command =
            place.command(&["run", "mine", "-p", "cards=cards", "--judges", "cmd:claude", "--run-id", "r"]);
        let result = CommandOutput::of(command.env("PATH", path).env_remove("EVAL_JUDGE_MODEL").output().unwrap());
        assert_eq!(result.code, 1, "{}", result.all());
        assert!(
            result.stdout.contains("Cells without a judgment: 1 of 3. `karat retry` repeats the calls."),
            "{}",
            result.all()
        );
        let report = place.report("r");
        let totals = &report["totals"];
        assert_eq!((&totals["unjudged"], &totals["unscored"], &totals["errors"]), (&json!(1), &json!(1), &json!(0)));
        let page = place.succeed(&["report", "r", "--format", "md", "-o", "-"]).stdout;
        assert!(page.contains("Cells without a judgment: 1 of 3"), "{page}");
        let rows: Value = json(&place.succeed(&["show", "mine", "--format", "json"]));
        assert_eq!(rows.as_array().unwrap().len(), 2, "the other days have their rows");
    }
}

/// BR-10, BR-12: a judge that gave not one score is a failure, though another judged every card; it is named.
#[test]
fn a_judge_without_one_score_is_a_failure() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    place.succeed(&["run", "mine", "-q"]);
    place.succeed(&["golden", "pin", "mine", "--until", "2026-03-03"]);
    let path = fake_claude(&place, "echo 'log in first' >&2; exit 2");
    let with_both = |words: &[&str]| {
        let mut command = place.command(&[words, &["--judges", "stub,cmd:claude"]].concat());
        CommandOutput::of(command.env("PATH", &path).env_remove("EVAL_JUDGE_MODEL").output().unwrap())
    };
    for words in [&["run", "mine", "--sample", "2026-03-18"][..], &["golden", "check", "mine"]] {
        let result = with_both(words);
        assert_eq!(result.code, 1, "{words:?}: {}", result.all());
        assert!(result.all().contains("cmd:claude") && result.all().contains("log in first"), "{}", result.all());
    }
    let checked = with_both(&["golden", "check", "mine"]);
    assert!(checked.stdout.contains("cmd:claude failed on 3 of the 3"), "{}", checked.all());
}

fn until(holds: &dyn Fn() -> bool) {
    while !holds() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// BR-12, CL-04: a golden check that is interrupted or killed moves no baseline; `resume` judges the rest, and `--cached` then
/// says how all of them stand, without another call.
#[test]
fn an_interrupted_golden_check_continues() {
    for (signal, code) in [("-INT", 130), ("-KILL", -1)] {
        let place = Place::new();
        // While `block` is there, only the first calls are answered.
        let script =
            format!("touch calls/$$; [ $(ls calls | wc -l) -le 4 ] || while [ -e block ]; do sleep 0.1; done; {GOOD}");
        let path = fake_claude(&place, &script);
        let calls = || std::fs::read_dir(place.path().join("calls")).map_or(0, Iterator::count);
        let claude = |arguments: &[&str]| {
            let mut command = place.command(arguments);
            command.env("PATH", &path).env_remove("EVAL_JUDGE_MODEL");
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command
        };
        place.write("calls/none", "");
        let days = ["--since", "2026-03-18", "--until", "2026-03-24"];
        let run = ["run", "briefing", "--judges", "cmd:claude", "--limit", "24", "-q"];
        assert_eq!(CommandOutput::of(claude(&run).output().unwrap()).code, 0);
        place.succeed(&[&["golden", "pin", "briefing"][..], &days].concat());
        let pinned = place.text(".karat/golden/briefing/2026-03-20.json");
        std::fs::remove_dir_all(place.path().join("calls")).unwrap();
        place.write("calls/none", "");
        place.write("block", "");
        let check = ["golden", "check", "briefing", "--judge", "cmd:claude", "--run-id", "c", "-j", "2"];
        let talk = std::fs::File::create(place.path().join("talk")).unwrap();
        let child = claude(&check).stderr(talk).spawn().unwrap();
        until(&|| calls() >= 5);
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        // Calls under way are awaited.
        until(&|| signal == "-KILL" || place.text("talk").contains("stopping"));
        std::fs::remove_file(place.path().join("block")).unwrap();
        let result = CommandOutput::of(child.wait_with_output().unwrap());
        assert_eq!(result.code, code, "{}", result.all());
        assert!(signal == "-KILL" || (result.stdout + &place.text("talk")).contains("karat resume c"));
        let resumed = CommandOutput::of(claude(&["resume", "c", "-q"]).output().unwrap());
        assert_eq!(resumed.code, 0, "{}", resumed.all());
        let made = calls();
        let cached = CommandOutput::of(
            claude(&["golden", "check", "briefing", "--judge", "cmd:claude", "--cached", "--json"]).output().unwrap(),
        );
        let found = json(&cached);
        assert_eq!((cached.code, found["cards"].as_array().unwrap().len(), &found["regressions"]), (0, 7, &json!(0)));
        assert_eq!(calls(), made, "{}", cached.all());
        assert_eq!(place.text(".karat/golden/briefing/2026-03-20.json"), pinned);
    }
}

/// BR-11, BR-12, BR-13: a golden check measures the judge. It changes no row; later runs neither reuse its judgments
/// nor are compared with it, and `--cached` reuses them.
#[test]
fn a_golden_check_is_no_history() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    let karat = |path: &str, words: &[&str]| {
        let words = [words, &["mine", "--judges", "cmd:claude", "--limit", "12"]].concat();
        let mut command = place.command(&words);
        CommandOutput::of(command.env("PATH", path).env_remove("EVAL_JUDGE_MODEL").output().unwrap())
    };
    let calls = || log_in(&place.path().join("mine/logs")).matches("--- 20").count();
    let path = fake_claude(&place, GOOD);
    let first = karat(&path, &["run", "-q", "--run-id", "first"]);
    assert_eq!((first.code, calls()), (0, 12), "{}", first.all());
    place.succeed(&["golden", "pin", "mine"]);
    let views = || {
        let day = ["--as-of", "2026-03-12"];
        ["drift", "digest"].map(|command| place.succeed(&[&[command, "mine"][..], &day].concat()).stdout)
    };
    let before = views();
    fake_claude(&place, &GOOD.replace(":4,", ":1,").replace(":3,", ":1,"));
    let check = karat(&path, &["golden", "check", "--run-id", "check"]);
    assert_eq!((check.code, calls()), (2, 24), "{}", check.all());
    assert_eq!(views(), before);
    // BR-12, B4: the new judgment is stored and shown beside the row that counts, which is the digest's.
    let result = place.succeed(&["show", "mine", "--format", "json"]);
    assert!(result.stderr.contains("12 rows marked `golden_check`"), "{}", result.all());
    let shown: Value = serde_json::from_str(&result.stdout).unwrap();
    let (checks, rows): (Vec<&Value>, Vec<&Value>) =
        shown.as_array().unwrap().iter().partition(|row| row["golden_check"] == true);
    assert!(checks.len() == 12 && checks.iter().all(|row| row["run"] == "check"), "{shown:?}");
    let digest = ["digest", "mine", "--as-of", "2026-03-12", "--window", "12", "--format", "json"];
    let digest: Value = serde_json::from_str(&place.succeed(&digest).stdout).unwrap();
    let composite = |rows: &[Value], date: &str| -> Vec<f64> {
        let of = |row: &Value| [&row["date"], &row["card_date"]].contains(&&json!(date));
        rows.iter().filter(|row| of(row)).filter_map(|row| row["composite"].as_f64()).collect()
    };
    let rows: Vec<Value> = rows.into_iter().cloned().collect();
    let days = digest["days"].as_array().unwrap();
    assert_eq!(days.len(), 12);
    for day in days {
        let date = day["date"].as_str().unwrap();
        assert_eq!(composite(&rows, date), composite(days, date), "{date}");
    }
    assert!(place.succeed(&["digest", "mine", "--as-of", "2026-03-12"]).stdout.contains("golden checks do not count"));
    let again = karat(&path, &["run", "-q", "--run-id", "again"]);
    assert_eq!((again.code, calls()), (0, 24), "{}", again.all());
    let composite = |run: &str| place.report(run)["metrics"]["quality.composite"]["value"].clone();
    assert_eq!(composite("again"), composite("first"));
    assert!(composite("check").as_f64() < composite("first").as_f64());
    assert_eq!(views(), before);
    assert!(place.succeed(&["golden", "pin", "mine"]).stdout.contains("changed 0 files"));
    let change = "gates: [ { id: change, metric: quality.composite, max_rise: 0.5, against: previous } ]\n";
    place.write("p.yaml", change);
    place.succeed(&["gate", "again", "--policy", "p.yaml"]);
    let cached = karat(&path, &["golden", "check", "--cached"]);
    assert_eq!((cached.code, calls()), (2, 24), "{}", cached.all());
    assert_eq!(views(), before);
}
