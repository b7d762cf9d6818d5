//! The smoke matrix of the claims preset: two videos, two models, two judges, on recorded responses, held to a pinned
//! baseline (tolerance: no dimension may drop by more than 1.0). `scripts/record-smoke` renews recording and baseline.

use serde_json::Value;

use crate::place::{CommandOutput, Place};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/smoke/claims.jsonl");
const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/smoke/baseline.json");

const MATRIX: [&str; 14] = [
    "run",
    "claims",
    "--sample",
    "kr-oats-01,kr-tendon-05",
    "--models",
    "sim-faithful,sim-inventive",
    "--variants",
    "raw",
    "--judges",
    "sim-judge-strict,sim-judge-lenient",
    "--replay",
    RECORDING,
    "--run-id",
    "smoke",
];

/// The drop that each system's gate on a metric found, and its verdict.
fn decisions(place: &Place, run: &str, metric: &str) -> Vec<(String, String)> {
    let report = place.report(run);
    let gates = report["gates"].as_array().unwrap().iter().filter(|gate| gate["metric"] == metric);
    gates
        .map(|gate| (gate["system"].as_str().unwrap().to_owned(), gate["verdict"].as_str().unwrap().to_owned()))
        .collect()
}

/// CL-24, CL-25, BY-02: the recorded matrix passes its gate within 30 s and without a call; a regression beyond the tolerance is exit 2;
/// thresholds come from the environment, too.
#[test]
fn the_smoke_matrix_is_gated() {
    let place = Place::new();
    let started = std::time::Instant::now();
    let result = place.karat(&[&MATRIX[..], &["--baseline", BASELINE, "--gate"]].concat());
    assert_eq!(result.code, 0, "{}\nIf prompts changed on purpose, run scripts/record-smoke", result.all());
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    assert_eq!(place.report("smoke")["verdict"], "pass");
    let dimensions = ["completeness", "accuracy", "topicCoverage", "atomicity", "overallScore"];
    for dimension in dimensions {
        let found = decisions(&place, "smoke", &format!("quality.{dimension}"));
        assert!(found.len() == 2 && found.iter().all(|(_, verdict)| verdict == "pass"), "{dimension}: {found:?}");
    }
    // A variant that reads only the beginning of each transcript: every system is held to the baseline by itself. Another
    // judge would make the comparison undecided.
    let worse = ["run", "claims", "--sample", "kr-oats-01,kr-tendon-05", "--models", "sim-faithful,sim-inventive"];
    let shortened = [
        "--set",
        "variants.raw.extract.chunk.tokens=200",
        "--set",
        "variants.raw.extract.chunk.max=1",
        "--variants",
        "raw",
    ];
    let worse =
        [&worse[..], &shortened, &["--judges", "sim-judge-strict,sim-judge-lenient", "--run-id", "worse"]].concat();
    let failed = place.karat(&[&worse[..], &["--baseline", BASELINE]].concat());
    assert_eq!(failed.code, 2, "{}", failed.all());
    let completeness = decisions(&place, "worse", "quality.completeness");
    assert!(completeness.iter().all(|(_, verdict)| verdict == "fail"), "{completeness:?}");
    let stored = |variables: &[(&str, &str)]| {
        let arguments = ["gate", "worse", "--baseline", BASELINE];
        CommandOutput::of(place.command(&arguments).envs(variables.iter().copied()).output().unwrap()).code
    };
    let wide = ("KARAT_MAX_DROP", "9.5");
    assert_eq!([stored(&[wide]), stored(&[("KARAT_MAX_DROP", "0.5")])], [0, 2]);
    assert_eq!(
        [
            stored(&[wide, ("KARAT_MIN", "quality.completeness=9")]),
            stored(&[wide, ("KARAT_MIN", "quality.completeness=0")])
        ],
        [2, 0]
    );
}

/// CL-06, CL-10: the additivity check: a low and a raised limit in one run, with what it costs; dropped chunks are not silent.
#[test]
fn sweeps_compare_limits_in_one_run() {
    let place = Place::new();
    let matrix =
        ["run", "claims", "--sample", "kr-panel-02", "--models", "sim-faithful", "--variants", "raw", "--no-gate"];
    let sweep = ["--sweep", "variants.raw.extract.chunk.max=1,40", "--judges", "sim-judge-strict"];
    let delta =
        "analyses=[{analysis: delta, with: {over: variant, base: 'raw{max=40}', diagnostics: [missingClaims]}}]";
    place.succeed(&[&matrix[..], &sweep, &["--set", delta, "--run-id", "r", "-o", "out"]].concat());
    let report: Value = place.report("r");
    let compared = &report["analyses"]["delta"]["comparisons"][0];
    assert_eq!(compared["id"], "raw{max=1}");
    let completeness = compared["metrics"].as_array().unwrap().iter().find(|it| it["metric"] == "quality.completeness");
    assert!(completeness.unwrap()["delta"]["value"].as_f64().unwrap() < -3.0, "{compared}");
    assert!(compared["texts"][0]["n_appeared"].as_u64().unwrap() > 0, "{compared}");
    let notes = report["analyses"]["notes"].to_string();
    assert!(notes.contains("dropped_chunks"), "{notes}");
}

/// CL-04, CL-05, CL-10: one variant runs alone: what compares with a variant that is not selected is left out and said; a
/// sweep of the base is compared with its first value.
#[test]
fn a_variant_runs_without_its_base() {
    let place = Place::new();
    let result = place.succeed(&["plan", "claims", "--variants", "single-pass"]);
    assert!(result.stderr.contains("`variant_delta` is skipped: it compares with `raw`"), "{}", result.all());
    let sweep = ["--variants", "raw", "--sweep", "variants.raw.extract.parameters.max_tokens=900,4000"];
    let small = ["run", "claims", "--models", "sim-faithful", "--sample", "kr-oats-01", "--judges", "sim-judge-strict"];
    place.succeed(&[&small[..], &sweep, &["--no-gate", "-q", "--run-id", "r"]].concat());
    let delta = place.report("r")["analyses"]["variant_delta"].clone();
    assert_eq!(
        (&delta["base"], &delta["comparisons"][0]["id"]),
        (&"raw{max_tokens=900}".into(), &"raw{max_tokens=4000}".into())
    );
    let unknown = place.karat(&["plan", "claims", "--set", "analyses=[{analysis: delta, with: {base: rwa}}]"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("base: \"rwa\" is not part of this run"), "{}", unknown.all());
}
