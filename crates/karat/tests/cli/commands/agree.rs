//! `karat agree`.

use serde_json::Value;

use crate::place::Place;

/// PE-10, BR-18, CL-16: judges with each other, as words, Markdown and JSON; with people's labels where there are some.
#[test]
fn judges_are_compared_with_each_other_and_with_people() {
    let place = Place::new();
    place.succeed(&["run", "claims", "-q", "--run-id", "a", "--limit", "4"]);
    let result = place.succeed(&["agree", "a"]).stdout;
    assert!(result.contains("sim-judge-strict and sim-judge-lenient") && result.contains("ICC(2,1)"), "{result}");
    let json = place.succeed(&["agree", "--format", "json"]).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["schema"], "karat.agree/1");
    let first = &found["metrics"][0];
    assert!(first["pairs"][0]["bias"]["ci"].is_array() && first["alpha"]["n"].is_u64(), "{first}");
    let samples: Value = serde_json::from_str(&place.succeed(&["show", "a", "--format", "json"]).stdout).unwrap();
    let sample = samples[0]["sample"].as_str().unwrap();
    let label =
        |sample: &str| format!("{{\"sample\":\"{sample}\",\"annotator\":\"ann\",\"scores\":{{\"accuracy\":7}}}}\n");
    place.write("labels.jsonl", &format!("{}{}", label(sample), label("elsewhere")));
    let arguments = ["agree", "a", "--labels", "labels.jsonl", "--between", "ann,sim-judge-strict", "-o", "out"];
    let result = place.succeed(&arguments).stdout;
    assert!(
        result.contains("sim-judge-strict and ann") && result.contains("match no cell and metric of the run: 1"),
        "{result}"
    );
    assert!(place.path().join("out/agree.md").exists() && place.path().join("out/agree.json").exists());
}

/// A comparison with one rater is refused, and the message lists the raters that exist.
#[test]
fn agreement_needs_two_raters() {
    let place = Place::new();
    place.succeed(&["run", "claims", "-q", "--limit", "1", "--judges", "sim-judge-strict"]);
    let alone = place.karat(&["agree"]);
    assert!(alone.code == 1 && alone.stderr.contains("raters of this run: sim-judge-strict"), "{}", alone.all());
    let unknown = place.karat(&["agree", "--between", "nobody"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("unknown rater"), "{}", unknown.all());
    place.write("labels.jsonl", "{\"sample\": 1}\n");
    let label = |grade: &str| format!("\n{{\"sample\": \"x\", \"scores\": {{\"accuracy\": {grade}}}}}\n");
    let by = |who: &str, grade: u8| {
        format!("{{\"sample\": \"x\", \"annotator\": \"{who}\", \"scores\": {{\"accuracy\": {grade}}}}}\n")
    };
    for (labels, told) in [
        ("{\"sample\": 1}\n".to_owned(), "labels.jsonl:1: this is not a label"),
        (label("70"), "labels.jsonl:2: `quality.accuracy` is 70, which is outside its scale from 0 to 10"),
        (label("\"good\""), "labels.jsonl:2: `quality.accuracy` is \"good\", which is not a grade"),
        (label("7").replace("accuracy", "acuracy"), "no metric `acuracy` (did you mean `accuracy`?)"),
        (
            label("7").replace("accuracy", "nothing"),
            "no metric `nothing`; the judges of this run score `quality.completeness`",
        ),
        ("\n".to_owned(), "it holds no label"),
        (by("sim-judge-strict", 7), "labels.jsonl:1: the annotator \"sim-judge-strict\" has the name of a judge"),
        (by("ann", 7) + &by("ann", 9), "labels.jsonl:2: ann has graded `accuracy` of sample `x` on an earlier line"),
    ] {
        place.write("labels.jsonl", &labels);
        let broken = place.karat(&["agree", "--labels", "labels.jsonl"]);
        assert!(broken.code == 1 && broken.stderr.contains(told), "{told}: {}", broken.all());
    }
}
