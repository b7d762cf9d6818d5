//! Drift over stored days: alerts, incidents, late rows, systems.

use super::*;

/// BR-13: the planted week alerts on its fourth day, with exit 3 where asked; the days before it are quiet.
#[test]
fn drift_alerts_on_the_planted_week() {
    let place = backfilled();
    let drift = |day: &str, more: &[&str]| place.karat(&[&["drift", "briefing", "--as-of", day][..], more].concat());
    for day in ["2026-03-10", "2026-03-20", "2026-04-01", "2026-04-04"] {
        let result = drift(day, &["--exit-nonzero-on-alert"]);
        assert_eq!((result.code, &json(&result)["status"]), (0, &json!("ok")), "{day}: {}", result.all());
    }
    let result = drift("2026-04-05", &["--exit-nonzero-on-alert"]);
    let found = json(&result);
    assert_eq!((result.code, &found["status"]), (3, &json!("alert")), "{}", result.all());
    assert_eq!((&found["alerts"][0]["day"], &found["alerts"][1]["day"]), (&json!("2026-04-05"), &json!("2026-04-04")));
    assert_eq!(
        (&found["short_window"], &found["long_window"], &found["streak_required"]),
        (&json!(7), &json!(30), &json!(2))
    );
    assert_eq!(drift("2026-04-05", &[]).code, 0, "only where asked");
    assert_eq!(json(&drift("2026-03-02", &[]))["skipped"].as_array().unwrap().len(), 2);
    assert_eq!(json(&drift("2026-07-01", &[]))["status"], "no_data");
    let found = json(&drift("2026-04-03", &["--id", "drift_cusum"]));
    assert_eq!((&found["status"], &found["alerts"][0]["day"]), (&json!("alert"), &json!("2026-04-03")));
    assert_eq!(json(&drift("2026-04-01", &["--id", "drift_cusum"]))["status"], "ok");
    let tight =
        drift("2026-03-25", &["--z-thresh", "0.5", "--streak", "1", "--short-window", "3", "--long-window", "20"]);
    assert_eq!(json(&tight)["z_thresh"], 0.5);
}

/// BR-13: an incident stays open after its alert until it is closed with a reason.
#[test]
fn an_incident_is_closed_by_hand() {
    let place = backfilled();
    let open = json(&place.succeed(&["drift", "briefing", "--as-of", "2026-04-08"]));
    assert_eq!((&open["incident"]["opened"], &open["incident"]["closed"]), (&json!("2026-04-05"), &Value::Null));
    let closed = json(&place.succeed(&["drift", "briefing", "--as-of", "2026-04-08", "--close", "a new editor"]));
    let incident = &closed["incident"];
    assert_eq!((&incident["closed_by_hand"], &incident["closed"]), (&json!("a new editor"), &json!("2026-04-08")));
    // On the days before, it was open.
    let before = json(&place.succeed(&["drift", "briefing", "--as-of", "2026-04-07"]));
    assert_eq!((&before["incident"]["closed"], before["incident"].get("closed_by_hand")), (&Value::Null, None));
    // The level is accepted: the days after it raise no alert, and say why.
    for day in ["2026-04-09", "2026-04-10"] {
        let later = json(&place.succeed(&["drift", "briefing", "--as-of", day]));
        assert_eq!((&later["status"], &later["accepted"]["since"]), (&json!("ok"), &json!("2026-04-08")), "{later}");
    }
    let again = place.karat(&["drift", "briefing", "--as-of", "2026-04-08", "--close", "twice"]);
    assert!(again.code == 1 && again.stderr.contains("no incident"), "{}", again.all());
}

/// BR-13: alerts end when a lasting drop fills the long window, but the incident stays open and sets the exit code
/// until it is closed or the series recovers.
#[test]
fn an_open_incident_is_reported_without_an_alert() {
    let place = Place::new();
    let day = |at: i32| if at < 32 { format!("2026-03-{at:02}") } else { format!("2026-04-{:02}", at - 31) };
    let row = |at: i32| {
        let result = if (31..58).contains(&at) { "no" } else { "yes" };
        format!("{{\"id\": \"{at}\", \"day\": \"{}\", \"said\": \"{result}\"}}\n", day(at))
    };
    place.write("data.jsonl", &(1..62).map(row).collect::<String>());
    let suite = "name: one\ndataset: { source: data.jsonl, id: id, date: day }\nvariants: { v: [ { recorded: { column: said } } ] }\nscorers: { said: { metric: exact, value: \"yes\" } }\nanalyses: [ { analysis: drift, with: { metric: said, method: median_mad } } ]\n";
    place.write("karat.yaml", suite);
    place.succeed(&["run", "-q"]);
    let drift = |day: &str| place.karat(&["drift", "--exit-nonzero-on-alert", "--as-of", day]);
    let told = "no alert on 2026-04-26, but the incident of v from 2026-04-04 is still open. It closes when the short median is back in 0.98 to 1.02";
    let calm = drift("2026-04-26");
    assert_eq!((drift("2026-04-05").code, calm.code, &json(&calm)["status"]), (3, 3, &json!("ok")), "{}", calm.all());
    assert!(calm.stderr.contains(told), "{}", calm.all());
    let back = drift("2026-04-30");
    assert_eq!((back.code, &json(&back)["incident"]["closed"]), (0, &json!("2026-04-30")), "{}", back.all());
    place.succeed(&["drift", "--as-of", "2026-04-25", "--close", "new editor"]);
    let closed = drift("2026-04-26");
    assert!(closed.code == 0 && !closed.stderr.contains("is open"), "{}", closed.all());
}

/// BR-13: a stretch of days is a question of its own: an alert that was raised does not answer it, and it raises none.
#[test]
fn incidents_of_a_date_range_are_separate() {
    let place = backfilled();
    let drift = |more: &[&str]| place.karat(&[&["drift", "briefing", "--as-of", "2026-04-05"][..], more].concat());
    let stretch = json(&drift(&["--since", "2026-03-10"]));
    assert_eq!((&stretch["status"], stretch.get("raised_at")), (&json!("alert"), None));
    assert!(json(&drift(&[]))["raised_at"].is_string());
    let calm = json(&drift(&["--until", "2026-04-01"]));
    assert_eq!((&calm["status"], &calm["alerts"], &calm["incident"]), (&json!("ok"), &json!([]), &Value::Null));
    let refused = drift(&["--until", "2026-04-05", "--close", "why"]);
    assert!(refused.code == 1 && refused.stderr.contains("leave out `--since`"), "{}", refused.all());
}

/// BR-13, BR-15: what a question cannot mean is an error that says what can be asked.
#[test]
fn questions_that_mean_nothing_are_refused() {
    let place = backfilled();
    for (words, part) in [
        (&["drift", "briefing", "--as-of", "2026-04-05", "--since", "2026-04-06"][..], "`--since 2026-04-06` is after"),
        (&["show", "briefing", "--since", "2026-04-06", "--until", "2026-04-05"], "is after `--until 2026-04-05`"),
        (&["drift", "briefing", "--as-of", "2026-04-06", "--close", " "], "`--close` needs a reason"),
        (&["drift", "briefing", "--as-of", "2026-04-06", "--method", "cusum", "--z-thresh", "2"], "use `h` instead"),
        (
            &["drift", "briefing", "--as-of", "2026-04-06", "--method", "e_detector", "--z-thresh", "2"],
            "use `limit` instead",
        ),
    ] {
        let result = place.karat(words);
        assert!(result.code == 1 && result.stderr.contains(part), "{words:?}: {}", result.all());
    }
}

/// LI-21, LI-22: a method that is gone is refused as a flag with the way out; others are listed.
#[test]
fn removed_methods_are_refused_with_the_way_out() {
    let place = Place::new();
    for method in ["ewma", "page_hinkley"] {
        let result = place.karat(&["drift", "briefing", "--method", method]);
        assert!(
            result.code == 1 && result.stderr.contains(&format!("drift method `{method}` is gone: ")),
            "{}",
            result.all()
        );
        assert!(
            result.stderr.contains("use `cusum` for slow changes, `e_detector` for a promised rate"),
            "{}",
            result.all()
        );
    }
    let result = place.karat(&["drift", "briefing", "--method", "cusums"]);
    assert!(result.code == 1 && result.stderr.contains("median_mad, cusum, e_detector"), "{}", result.all());
}

/// BY-02, BR-13: a gate on the drift of a run is held against z of its last day.
#[test]
fn a_gate_looks_at_drift() {
    let place = backfilled();
    let z = &place.report("b")["analyses"]["drift"]["z"];
    assert!(z.is_number(), "{z}");
    for (bound, code) in [("min: -100", 0), ("min: 100", 2)] {
        place.write("p.yaml", &format!("gates: [ {{ finding: drift.z, {bound} }} ]\n"));
        let result = place.karat(&["gate", "b", "--policy", "p.yaml"]);
        assert_eq!(result.code, code, "{}", result.all());
    }
}

/// BY-11, BR-13: a late row changes no alert that was raised; the days that it would change are reported, and the
/// incident keeps its start and its comment.
#[test]
fn a_late_row_rewrites_no_history() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    let cards = place.path().join("mine/data/cards");
    let late = cards.join("2026-04-03-card.json");
    let text = std::fs::read(&late).unwrap();
    std::fs::remove_file(&late).unwrap();
    place.succeed(&["run", "mine", "-q"]);
    let before = json(&place.succeed(&["drift", "mine", "--as-of", "2026-04-06"]));
    assert_eq!(before["status"], "alert");
    let opened = &before["incident"]["opened"];
    place.succeed(&["drift", "mine", "--as-of", "2026-04-06", "--close", "new editor"]);
    std::fs::write(&late, text).unwrap();
    // The late card makes the judgments of the next seven days stale; the others stand.
    let plan = place.succeed(&["plan", "mine"]);
    assert!(plan.stdout.contains("8 to make") && plan.stdout.contains("prior_headlines"), "{}", plan.all());
    place.succeed(&["run", "mine", "-q", "--sample", "2026-04-03"]);
    let after = place.succeed(&["drift", "mine", "--as-of", "2026-04-06"]);
    let found = json(&after);
    for raised in ["alerts", "raised_at", "z"] {
        assert_eq!(found[raised], before[raised], "{raised}");
    }
    assert_eq!(found["z"], found["alerts"][0]["z"]);
    assert_eq!(found["late"], json!(["2026-04-03"]));
    assert_eq!(found["moved"], json!(["2026-04-06", "2026-04-05"]));
    assert!(after.stderr.contains("2026-04-03 arrived after the alert"), "{}", after.all());
    let closed = json!("new editor");
    for day in ["2026-04-06", "2026-04-07"] {
        let incident = &json(&place.succeed(&["drift", "mine", "--as-of", day]))["incident"];
        assert_eq!((&incident["opened"], &incident["closed_by_hand"]), (opened, &closed), "{day}: {incident}");
    }
}

/// BY-11, BR-13: a closed incident stays closed, also if no alert was requested for it and later rows would not have
/// opened it.
#[test]
fn a_closed_incident_is_history() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    place.succeed(&["run", "mine", "-q"]);
    let drift = |day: &str, more: &[&str]| {
        let windows = ["--method", "cusum", "--long-window", "20", "--short-window", "3"];
        let result = place.succeed(&[&["drift", "mine", "--as-of", day], &windows[..], more].concat());
        (json(&result), result.stderr)
    };
    let (closed, _) = drift("2026-04-09", &["--close", "new editor"]);
    assert_eq!((&closed["status"], &closed["incident"]["opened"]), (&json!("ok"), &json!("2026-04-02")), "{closed}");
    let cards = place.path().join("mine/data/cards");
    let bad = ["2026-04-02", "2026-04-03", "2026-04-04", "2026-04-05", "2026-04-06", "2026-04-07", "2026-04-08"];
    for day in bad {
        std::fs::copy(cards.join("2026-04-13-card.json"), cards.join(format!("{day}-card.json"))).unwrap();
    }
    place.succeed(&["run", "mine", "-q"]);
    for day in ["2026-04-09", "2026-04-12"] {
        let (now, result) = drift(day, &[]);
        assert_eq!(now["incident"], closed["incident"], "{day}: {now}");
        assert_eq!((&now["late"], &now["moved"]), (&json!(bad), &json!(["2026-04-02"])), "{day}: {now}");
        assert!(
            result.contains("arrived after the alert of published was raised or its incident was closed"),
            "{result}"
        );
    }
}

/// BY-11: a late row that leaves medians and z as they were moves no day of the alert, though there is a score more.
#[test]
fn a_late_row_like_the_others_moves_nothing() {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    place.succeed(&["run", "mine", "-q"]);
    let ask = ["drift", "mine", "--as-of", "2026-04-06"];
    assert_eq!(json(&place.succeed(&ask))["status"], "alert");
    let cards = place.path().join("mine/data/cards");
    std::fs::copy(cards.join("2026-04-13-card.json"), cards.join("2026-03-25-card.json")).unwrap();
    place.succeed(&["run", "mine", "-q", "--sample", "2026-03-25"]);
    let result = place.succeed(&ask);
    let found = json(&result);
    assert_eq!((&found["late"], found.get("moved")), (&json!(["2026-03-25"]), None), "{}", result.all());
    assert!(result.stderr.contains("They would have changed: nothing"), "{}", result.all());
}

/// BR-08, BR-13: documents of another folder that replace others are reported, and `-p` selects those of one folder.
#[test]
fn drift_tells_two_folders_apart() {
    let place = Place::new();
    let card = |text: &str| json!({"body": [{"type": "TextBlock", "text": text}]}).to_string();
    for folder in ["A", "B", "C"] {
        for day in 1..=3 {
            place.write(&format!("{folder}/2026-03-0{day}-card.json"), &card(&format!("{folder} says {day}")));
        }
    }
    let with = |command: &[&str], folder: &str| place.karat(&[command, &["-p", &format!("cards={folder}")]].concat());
    assert_eq!(with(&["run", "briefing", "-q", "--sample", "2026-03-01", "--sample", "2026-03-02"], "A").code, 0);
    assert_eq!(with(&["run", "briefing", "-q"], "B").code, 0);
    let ask = ["drift", "briefing", "--as-of", "2026-03-03"];
    let both = place.succeed(&ask);
    assert!(
        both.stderr.contains("A and B contain 2 samples with the same id but different content, such as 2026-03-01"),
        "{}",
        both.all()
    );
    let show = place.succeed(&["show", "briefing"]);
    assert!(show.stderr.contains("A and B contain 2 samples"), "{}", show.all());
    for (folder, n) in [("A", 2), ("./A", 2), ("B", 3)] {
        let result = with(&ask, folder);
        assert_eq!((&json(&result)["n"], &json(&result)["warnings"]), (&json!(n), &json!([])), "{}", result.all());
    }
    let none = with(&ask, "C");
    assert!(none.code == 1 && none.stderr.contains("there are runs of: A, B"), "{}", none.all());
}

/// DC-27: without a method the e-detector watches, and several systems share its promise; from 60 days on the false alarms of
/// quiet years are said. The flags of the medians mean them.
#[test]
fn quiet_years_and_shared_limits_are_said() {
    let place = Place::new();
    let rows = (0..70).map(|at| {
        let date = jiff::civil::date(2026, 3, 1).checked_add(jiff::Span::new().days(at)).unwrap();
        let result = |odd: i64| if (at * odd) % 7 < 5 { "yes" } else { "no" };
        format!("{{\"id\": \"{at}\", \"day\": \"{date}\", \"a\": \"{}\", \"b\": \"{}\"}}\n", result(3), result(5))
    });
    place.write("data.jsonl", &rows.collect::<String>());
    let suite = "name: two\ndataset: { source: data.jsonl, id: id, date: day }\nvariants: { a: [ { recorded: { column: a } } ], b: [ { recorded: { column: b } } ] }\nscorers: { said: { metric: exact, value: \"yes\" } }\nanalyses: [ { analysis: drift, with: { metric: said } } ]\n";
    place.write("karat.yaml", suite);
    place.succeed(&["run", "-q"]);
    let result = place.succeed(&["drift", "--as-of", "2026-05-09"]);
    let found = json(&result);
    assert_eq!((&found["method"], &found["z_thresh"]), (&json!("e_detector"), &json!(730.0)), "{found}");
    assert!(result.stderr.contains("each of 2 systems has a limit of 730 days"), "{}", result.stderr);
    let replay = &found["systems"][0]["replay"];
    assert_eq!((&replay["series"], &replay["drawn_from"]), (&json!(200), &json!(70)), "{found}");
    let share = 100.0 * replay["false_alarm_share_per_year"].as_f64().unwrap();
    let line = format!("a: e_detector: a false alarm in {share:.0} % of quiet years like this series (200 replays)");
    assert!(result.stderr.contains(&line), "{line}: {}", result.stderr);
    let few = place.succeed(&["drift", "--as-of", "2026-04-28"]);
    assert!(!few.stderr.contains("quiet years") && few.stderr.contains("730 days"), "59 days: {}", few.stderr);
    for flag in [["--short-window", "5"], ["--long-window", "20"], ["--z-thresh", "2"]] {
        let meant = json(&place.succeed(&[&["drift", "--as-of", "2026-04-28"], &flag[..]].concat()));
        assert_eq!(meant["method"], "median_mad", "{meant}");
    }
    let named = place.karat(&["drift", "--as-of", "2026-04-28", "--method", "e_detector", "--z-thresh", "2"]);
    assert!(named.code == 1 && named.stderr.contains("e_detector"), "{}", named.all());
}

/// BY-11: a planted drop's delay and the false alarms are printed.
#[test]
fn planted_shifts_are_replayed() {
    let place = backfilled();
    let found = json(&place.succeed(&["drift", "briefing", "--as-of", "2026-04-01", "--replay=-1"]));
    assert_eq!(found[0]["drawn_from"], 31, "no later day is drawn: {found}");
    let methods: Vec<&str> = found.as_array().unwrap().iter().map(|it| it["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["median_mad", "cusum", "e_detector"]);
    assert!(found[0]["found"].as_f64().unwrap() > 0.9 && found[0]["median_delay_days"].is_number(), "{found}");
    assert_eq!((&found[0]["worse"], found[0].get("warning")), (&json!("down"), None));
    for (shift, told) in [
        ("nan", "is not a valid shift"),
        ("-inf", "is not a valid shift"),
        ("0", "is not a valid shift"),
        ("0.5", "watches for lower scores"),
    ] {
        let result = place.karat(&["drift", "briefing", &format!("--replay={shift}")]);
        assert!(result.code == 1 && result.stderr.contains(told), "{}", result.all());
    }
    let few = place.succeed(&["drift", "briefing", "--as-of", "2026-03-04", "--replay=-1"]);
    assert_eq!(few.stderr.matches("warning:").count(), 1, "{}", few.all());
    assert!(few.stderr.contains("all equal") || few.stderr.contains("fewer than the 30"), "{}", few.all());
}

/// BR-13: one day's run holds too few days to say anything of drift, and does not say that there is none; numbers that no
/// calendar has are refused.
#[test]
fn one_day_is_not_enough_for_drift() {
    let place = backfilled();
    place.succeed(&["run", "briefing", "--sample", "2026-04-06", "--run-id", "d", "-q"]);
    let report = place.succeed(&["report", "d", "--format", "md", "-o", "-"]).stdout;
    assert!(report.contains("too few days for a verdict") && !report.contains("no drift"), "{report}");
    assert!(report.contains("1 scores in 7 days and 1 in 30, where 3 and 7 are needed"), "{report}");
    for numbers in [["--long-window", "2147483647"], ["--streak", "4294967295"], ["--short-window", "2"]] {
        let result = place.karat(&[&["drift", "briefing", "--as-of", "2026-04-06"], &numbers[..]].concat());
        assert!(result.code == 1 && result.stderr.contains("cannot be run"), "{}", result.all());
    }
}

/// BR-13, BR-14, BR-11: each system has a series of its own, with its own alert, incident and days: what one loses and another
/// wins evens nothing out. `--system` looks at one.
#[test]
fn systems_drift_by_themselves() {
    let place = Place::new();
    let day = |at: i32| if at < 31 { format!("2026-03-{at:02}") } else { format!("2026-04-{:02}", at - 30) };
    let rows: String = (1..=40)
        .map(|at| {
            let (falls, rises) = if at < 34 { ("yes", "no") } else { ("no", "yes") };
            format!("{{\"id\": \"{at}\", \"day\": \"{}\", \"falls\": \"{falls}\", \"rises\": \"{rises}\"}}\n", day(at))
        })
        .collect();
    place.write("data.jsonl", &rows);
    let suite = "name: two\ndataset: { source: data.jsonl, id: id, date: day }\nvariants: { falls: [ { recorded: { column: falls } } ], rises: [ { recorded: { column: rises } } ] }\nscorers: { said: { metric: exact, value: \"yes\" } }\nanalyses: [ { analysis: drift, with: { metric: said, method: median_mad } } ]\nbaseline: golden\n";
    place.write("karat.yaml", suite);
    place.succeed(&["run", "--run-id", "r", "-q"]);
    let own = &place.report("r")["analyses"]["drift"];
    assert_eq!((&own["status"], &own["systems"][1]["status"]), (&json!("alert"), &json!("ok")), "{own}");
    let result = place.karat(&["drift", "--as-of", "2026-04-10", "--exit-nonzero-on-alert"]);
    let found = json(&result);
    assert_eq!((result.code, &found["alerts"][0]["system"]), (3, &json!("falls")), "{}", result.all());
    let of = |system: &str, more: &[&str]| {
        json(&place.succeed(&[&["drift", "--as-of", "2026-04-10", "--system", system], more].concat()))
    };
    assert_eq!((&of("rises", &[])["status"], &of("falls", &[])["status"]), (&json!("ok"), &json!("alert")));
    let closed = json(&place.succeed(&["drift", "--as-of", "2026-04-10", "--close", "new editor"]));
    assert_eq!(closed["systems"][0]["incident"]["closed_by_hand"], "new editor", "{closed}");
    assert_eq!(closed["systems"][1]["incident"], Value::Null, "{closed}");
    let mistyped = place.karat(&["drift", "--system", "fals"]);
    assert!(mistyped.code == 1 && mistyped.stderr.contains("there are: falls, rises"), "{}", mistyped.all());
    let week = json(&place.succeed(&["digest", "--as-of", "2026-04-10", "--format", "json"]));
    let medians: Vec<&Value> =
        week["systems"].as_array().unwrap().iter().map(|it| &it["composite"]["median"]).collect();
    assert_eq!(medians, [&json!(0.0), &json!(1.0)]);
    let week = place.succeed(&["digest", "--as-of", "2026-04-10"]).stdout;
    assert!(week.contains("## falls\n") && week.contains("## rises\n"), "{week}");
    assert!(place.karat(&["golden", "pin"]).stderr.contains("select it with `--system`"));
    place.succeed(&["golden", "pin", "--system", "falls", "--until", "2026-03-02"]);
    let check = place.karat(&["golden", "check", "--json", "-q"]);
    // Two cards are too few to test the judge.
    assert_eq!((check.code, &json(&check)["cards"][0]["composite"]), (4, &json!(1.0)));
}
