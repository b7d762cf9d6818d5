//! The preset `claims`, offline.

use serde_json::{Value, json};

use crate::place::{CommandOutput, Place};

/// Overall score by model in the plain variant.
fn by_model(report: &Value, metric: &str) -> Vec<(String, f64)> {
    let board = report["leaderboards"][metric].as_array().unwrap();
    board.iter().map(|place| (place["id"].as_str().unwrap().to_owned(), place["score"].as_f64().unwrap())).collect()
}

fn score_of(report: &Value, metric: &str, model: &str, variant: &str) -> f64 {
    let cells = report["cells"].as_array().unwrap();
    let of = cells.iter().filter(|cell| cell["model"] == model && cell["variant"] == variant && cell["status"] == "ok");
    let scores: Vec<f64> = of
        .flat_map(|cell| cell["judgments"].as_array().unwrap())
        .filter_map(|judgment| judgment["scores"][metric]["value"].as_f64())
        .collect();
    assert!(!scores.is_empty(), "no {metric} for {model} × {variant}");
    scores.iter().sum::<f64>() / scores.len() as f64
}

/// CL-04, CL-18, CL-26: the matrix runs offline and the report ranks scripts of known quality in the known order.
#[test]
fn known_quality_is_found() {
    let place = Place::new();
    let result = place.succeed(&["run", "claims", "-o", "out"]);
    assert!(result.stderr.contains("[cell 1/"), "{}", result.stderr);
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], "karat.report/1");
    let samples = report["totals"]["samples"].as_u64().unwrap();
    let (models, variants) = (report["models"].as_array().unwrap().len(), report["variants"].as_array().unwrap().len());
    assert!(samples >= 6 && models >= 4 && variants >= 3, "{samples} × {models} × {variants}");
    assert_eq!(report["summary"]["best_model"], "sim-faithful");
    assert_eq!(by_model(&report, "quality.overallScore")[0].0, "sim-faithful");
    let raw = |metric, model| score_of(&report, metric, model, "raw");
    for (metric, model) in
        [("completeness", "sim-forgetful"), ("accuracy", "sim-inventive"), ("atomicity", "sim-merging")]
    {
        let (faulty, faithful) = (raw(metric, model), raw(metric, "sim-faithful"));
        assert!(faulty + 1.0 < faithful, "{model} {metric}: {faulty} against {faithful}");
    }
    let judge = |judge: &str| {
        let cells = report["cells"].as_array().unwrap().iter();
        let judgments =
            cells.flat_map(|cell| cell["judgments"].as_array().unwrap()).filter(move |it| it["judge"] == judge);
        let scores: Vec<f64> = judgments.filter_map(|it| it["scores"]["completeness"]["value"].as_f64()).collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    assert!(judge("sim-judge-strict") < judge("sim-judge-lenient"));
    let markdown = std::fs::read_to_string(place.path().join("out/report.md")).unwrap();
    for part in ["How this number was made", "sim-faithful", "kr-panel-02", "editorial-pass-v1"] {
        assert!(markdown.to_lowercase().contains(&part.to_lowercase()), "the report has no {part:?}");
    }
}

/// CL-07, BY-06: the second identical run makes no call and says the same.
#[test]
fn the_second_run_makes_no_call() {
    let place = Place::new();
    let arguments = ["run", "claims", "--sample", "kr-oats-01,kr-tendon-05", "--run-id"];
    place.succeed(&[&arguments[..], &["first"]].concat());
    let plan = place.succeed(&["plan", "claims", "--sample", "kr-oats-01,kr-tendon-05", "--json"]).stdout;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["calls"], serde_json::json!([0, 0]), "{plan}");
    let result = place.succeed(&[&arguments[..], &["second"]].concat());
    assert!(result.stderr.contains("status=cached"), "{}", result.stderr);
    assert!(!result.stderr.contains("status=ok") || result.stderr.contains("modelId=none"), "{}", result.stderr);
    assert_eq!(place.canonical("first"), place.canonical("second"));
}

/// CL-26: ids are labels; an unseen transcript keeps the order of the models.
#[test]
fn renamed_ids_and_unseen_transcripts_keep_the_ranking() {
    let place = Place::new();
    let talk = "Welcome back everyone. Copper pans lose heat 40 percent faster than iron pans. \
        A study from 2011 in Oslo followed 310 bakers for 12 weeks. Bread made with 70 percent water keeps 3 days longer. \
        Please subscribe to the channel. Yeast grows twice as fast at 30 degrees as at 20 degrees. \
        Rye flour holds 15 percent more water than wheat flour. Salt slows fermentation by 25 percent at 2 grams. \
        Steam in the first 10 minutes makes a thinner crust. The group in Lyon measured 88 loaves from 4 ovens. \
        Stone ovens stay above 200 degrees for 6 hours. Cold dough needs 18 hours to rise fully. \
        Bakers in Cork sold 45 percent more sourdough in 2019. A loaf of 900 grams loses 110 grams while baking.";
    let entry = |id: &str| {
        format!(
            r#"{{"videoId":"{id}","url":"https://v.example/u","title":"Bread","channelName":"c-{id}","durationMinutes":20,"topicDomain":"Baking","expectedClaimDensity":"high","rationale":"unseen"}}"#
        )
    };
    place.write("corpus.json", &format!("[{},{}]", entry("renamed-1"), entry("renamed-2")));
    for id in ["renamed-1", "renamed-2"] {
        let transcript = serde_json::json!({"videoId": id, "language": "en", "segments": [{"start": 0, "duration": 9, "text": talk}], "fullText": talk});
        place.write(&format!("t/{id}.json"), &transcript.to_string());
    }
    let arguments =
        ["run", "claims", "-p", "corpus=corpus.json", "-p", "transcripts=t", "--variants", "raw", "--run-id", "r"];
    place.karat(&[&arguments[..], &["--set", "dataset.checks=[]"]].concat());
    let report = place.report("r");
    assert_eq!(report["summary"]["best_model"], "sim-faithful", "{}", report["leaderboards"]);
    let score = |metric, model| score_of(&report, metric, model, "raw");
    assert!(score("completeness", "sim-forgetful") < score("completeness", "sim-faithful"));
    assert!(score("accuracy", "sim-inventive") < score("accuracy", "sim-faithful"));
    assert!(score("atomicity", "sim-merging") < score("atomicity", "sim-faithful"));
}

/// CL-09: a folder of recordings that a parameter names must exist: else all of its cells would be skipped unseen.
#[test]
fn an_absent_folder_of_recordings_is_refused() {
    let place = Place::new();
    let result = place.karat(&["validate", "claims", "-p", "manual=nodir"]);
    assert!(result.code == 1 && result.stderr.contains("there is no file or folder nodir"), "{}", result.all());
}

/// F12: the shipped preset keeps every claim of a model that writes in its own words, over all chunks of a transcript.
#[test]
fn distinct_claims_of_a_paraphrasing_model_are_kept() {
    let place = Place::new();
    let claims = [
        "The rate fell by 12 percent.",
        "The rate fell by 4 percent.",
        "The rate rose by 12 percent.",
        "Statins do lower the risk.",
        "Statins do not lower the risk.",
        "Anna was treated in 2019.",
        "Berlin reported 30 mg.",
        "Berlin reported 30 g.",
    ];
    let texts: Vec<Value> = claims.iter().map(|text| serde_json::json!({ "text": text })).collect();
    let reply = serde_json::json!({ "claims": texts }).to_string();
    let model = serde_json::json!({ "id": "own", "provider": "scripted", "with": { "reply": reply } });
    let registry = serde_json::json!({ "schema": "karat.models/1", "as_of": "2026-11-01", "models": [model] });
    place.succeed(&["init", "claims"]);
    let suite = std::fs::read_to_string(place.path().join("claims/karat.yaml")).unwrap();
    place.write("claims/karat.yaml", &suite.replace("models/offline.yaml", "models/offline.yaml, own.yaml"));
    place.write("claims/own.yaml", &registry.to_string());
    place.karat(&["run", "claims/karat.yaml", "--models", "own", "--variants", "raw", "--run-id", "r"]);
    let report = place.report("r");
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for cell in cells {
        let output: Value = match &cell["output"] {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            output => output.clone(),
        };
        let kept: Vec<&str> =
            output["claims"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
        assert_eq!(kept, claims, "{}", cell["sample"]);
    }
}

/// CL-12: judges find what they grade in their prompt only: without the transcript the scores collapse.
#[test]
fn without_the_transcript_the_scores_collapse() {
    let place = Place::new();
    let arguments = ["run", "claims", "--sample", "kr-oats-01", "--variants", "raw", "--run-id", "r"];
    let blind = ["--set", "variants.raw.extract.prompt={text: 'Extract claims as JSON.'}"];
    place.karat(&[&arguments[..], &blind[..]].concat());
    let report = place.report("r");
    for model in ["sim-faithful", "sim-merging"] {
        let score = score_of(&report, "completeness", model, "raw");
        assert!(score <= 1.0, "{model}: {score}");
    }
}

/// CL-05, CL-21: a wrong id fails before anything is spent, with the nearest known one.
#[test]
fn unknown_ids_are_refused_with_a_hint() {
    let place = Place::new();
    for (flag, wrong, near) in [
        ("--models", "sim-faithfull", "sim-faithful"),
        ("--variants", "rawr", "raw"),
        ("--judges", "sim-judge-strickt", "sim-judge-strict"),
    ] {
        let result = place.karat(&["run", "claims", flag, wrong]);
        assert_eq!(result.code, 1, "{}", result.all());
        assert!(result.stderr.contains(near), "{}", result.all());
        assert!(!place.path().join(".karat/runs").exists(), "{flag}");
    }
}

/// F115: a corpus of one's own, as the guide "Extract claims" has it: nothing of the preset's samples is left, and every step
/// works offline.
#[test]
fn a_corpus_of_ones_own_is_extracted_offline() {
    const FETCH: &str = r#"import json, sys
texts = {"t1": ["Yeast turns sugar into carbon dioxide within 90 minutes.", "Salt might slow the yeast down by a third."],
         "t2": ["Most steel bridges were built before 1970.", "Road salt doubles the rate of corrosion on open joints."]}
text = texts[sys.argv[1]]
segments = [{"start": 10 * at, "duration": 9, "text": one} for at, one in enumerate(text)]
print(json.dumps({"videoId": sys.argv[1], "language": "en", "segments": segments, "fullText": " ".join(text)}))
"#;
    let place = Place::new();
    let row = |id: &str, channel: &str| {
        json!({
            "videoId": id, "title": "A talk", "channelName": channel, "durationMinutes": 6, "topicDomain": "Food",
            "expectedClaimDensity": "medium", "url": format!("https://videos.example/{id}"), "rationale": "short",
        })
    };
    place.write("corpus.jsonl", &format!("{}\n{}\n", row("t1", "Kitchen Lab"), row("t2", "Steel and Stone")));
    place.succeed(&["init", "claims", "talks", "--corpus", "corpus.jsonl"]);
    let mut all = Vec::new();
    let mut open = vec![place.path().join("talks")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() { open.push(entry) } else { all.push(entry) }
        }
    }
    for file in &all {
        assert!(!std::fs::read_to_string(file).unwrap().contains("kr-"), "{}", file.display());
        assert!(!file.display().to_string().contains("kr-"), "{}", file.display());
    }
    place.write("talks/fetch.py", FETCH);
    let suite = place.text("talks/karat.yaml");
    let file = r#"{{ params.transcripts }}/{{ sample.videoId }}.json""#;
    let fetch = r#", fetch: { command: [python3, fetch.py, "{{ sample.videoId }}"] }"#;
    place.write("talks/karat.yaml", &suite.replace(file, &format!("{file}{fetch}")));
    let talks = |arguments: &[&str]| place.succeed(&[&arguments[..1], &["talks"][..], &arguments[1..]].concat());
    assert!(place.succeed(&["dataset", "fetch", "talks"]).all().contains("t2.json"));
    let valid = talks(&["validate"]);
    assert!(valid.stdout.contains("2 samples") && !valid.stderr.contains("description"), "{}", valid.all());
    talks(&["run", "-q", "--run-id", "first"]);
    place.write(
        "talks/data/golden.json",
        r#"[{"videoId": "t1", "idealClaims": ["Salt might slow the yeast down by a third."]}]"#,
    );
    talks(&["run", "-q", "--run-id", "golden"]);
    assert!(place.report("golden")["metrics"]["recall_of_ideal"]["value"].is_number());
    place.succeed(&["annotate", "create", "golden", "-o", "tasks.jsonl"]);
    let tasks: Vec<String> = place.text("tasks.jsonl").lines().map(|line| line.replace("null", "9")).collect();
    place.write("tasks.jsonl", &tasks.join("\n").replace("\"annotator\":\"\"", "\"annotator\":\"ann\""));
    place.succeed(&["annotate", "import", "tasks.jsonl", "--labels", "talks/data/labels.jsonl", "--suite", "talks"]);
    let suite = place
        .text("talks/karat.yaml")
        .replace("    # labels:", "    labels:")
        .replace("  # - { analysis", "  - { analysis");
    place.write("talks/karat.yaml", &suite);
    let calibrated = place.karat(&["calibrate", "talks"]);
    assert!(calibrated.all().contains("nothing is decided below 20"), "{}", calibrated.all());
    // The newest run of systems: not the calibration after it.
    let compared = place.karat(&["compare", "latest", "--variants", "raw", "editorial-pass-v2"]);
    assert!(compared.all().contains("paired by id: 2"), "{}", compared.all());
    let snapshot = "---\ndate: d\nui: u\nmodel: m\ntoggles: none\n---\n# Claims\n- Salt might slow the yeast down.\n";
    place.write("talks/snapshots/t1-claude-web-high_recall.md", snapshot);
    let within = |arguments: &[&str]| {
        CommandOutput::of(place.command(arguments).current_dir(place.path().join("talks")).output().unwrap())
    };
    let imported = within(&["import", "manual-baseline", "snapshots", "-o", "mine"]);
    assert!(imported.code == 0 && imported.stdout.trim() == "mine.yaml", "{}", imported.all());
    let run = place.succeed(&["run", "talks/mine.yaml", "-q", "--run-id", "manual"]);
    assert!(!run.all().contains("belong to no sample"), "{}", run.all());
    let cells = place.report("manual")["cells"].as_array().unwrap().clone();
    let own = cells.iter().find(|cell| cell["variant"] == "manual-claude-web-high-recall" && cell["sample"] == "t1");
    assert_eq!(own.unwrap()["output"]["claims"].as_array().unwrap().len(), 1);
    let refused = place.karat(&["init", "faq", "mine", "--corpus", "corpus.jsonl"]);
    assert!(refused.code == 1 && refused.stderr.contains("`--corpus` goes with claims"), "{}", refused.all());
}
