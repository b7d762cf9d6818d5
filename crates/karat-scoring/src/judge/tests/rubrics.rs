//! Rubrics of the presets as decoded from their files, with something to judge.

use super::*;

fn dimension(name: &str, scale: Value, weight: f64) -> Value {
    json!({"name": name, "definition": format!("What {name} means."), "scale": scale, "weight": weight})
}

fn range(lo: f64, hi: f64, step: Option<f64>) -> Value {
    match step {
        Some(step) => json!({"range": {"lo": lo, "hi": hi, "step": step}}),
        None => json!({"range": {"lo": lo, "hi": hi}}),
    }
}

/// CL-11, CL-12.
pub fn claims() -> Value {
    let graded = |name: &str, definition: &str, anchors: [&str; 3]| {
        let anchors = json!([[0.0, anchors[0]], [5.0, anchors[1]], [10.0, anchors[2]]]);
        json!({"name": name, "definition": definition, "scale": range(0.0, 10.0, None), "weight": 1.0, "anchors": anchors})
    };
    let list = |name: &str, field: &str, all: bool| json!({"name": name, "fields": [[field, "text"]], "chunks": if all { "all" } else { "any" }});
    json!({
        "id": "claim-set",
        "version": "v1",
        "ask": "Judge how well a set of claims covers and respects a transcript. A claim is a standalone, falsifiable \
                assertion attributable to the transcript, not to outside knowledge. Greetings, advertising and \
                housekeeping do not count.\n",
        "show": [
            {"name": "title", "value": "{{ sample.title }}"},
            {"name": "channel", "value": "{{ sample.channelName }}"},
            {"name": "description", "value": "{{ sample.description | default('') }}"},
            {"name": "transcript", "value": "{{ sample.transcript.fullText }}", "chunk": {"overlap": 20}},
            {"name": "claims", "value": "{{ output.claims }}", "as": "json", "shuffle": true, "route": "transcript"},
        ],
        "dimensions": [
            graded("completeness", "All substantive claims of the transcript are captured.", ["Misses almost all substantive claims.", "Main claims but not many secondary ones.", "Essentially all; at most minor details missing."]),
            graded("accuracy", "Claims are faithful, without invention or distortion.", ["Many inventions, distortions, wrong attributions.", "Mostly faithful with several distortions.", "Faithful; uncertainty kept."]),
            graded("topicCoverage", "Claims follow the transcript's topics and timeline proportionally.", ["Mostly one topic or front-loaded.", "Major topics but thin segments.", "Proportional over the whole timeline."]),
            graded("atomicity", "Claims are single, indivisible, non-redundant.", ["Mostly multi-claim sentences and duplicates.", "Mixed.", "Nearly all atomic and distinct."]),
        ],
        "overall": {"id": "overallScore", "method": "mean"},
        "rationale": {"field": "reasoning", "min_chars": 10},
        "diagnostics": [
            list("missingClaims", "text", false),
            list("hallucinations", "text", true),
            list("redundancies", "text", false),
            list("gapAreas", "area", false),
        ],
        "examples": 2,
        "invalid": {"reask": 1, "out_of_range": "reject", "absent": "reject", "then": "unscored"},
    })
}

/// Labels of three samples; `tides` is the one that is judged.
pub fn labels() -> Value {
    let label = |sample: &str, claim: &str, score: u32, note: &str| {
        json!({
            "sample": sample, "output": {"claims": [{"text": claim}]}, "annotator": "ann", "note": note,
            "scores": {"completeness": score, "accuracy": score, "topicCoverage": score, "atomicity": score},
        })
    };
    json!([
        label("tides", "OWN-LABEL", 9, "of the judged sample"),
        label("oats", "Oats lower cholesterol.", 8, "One claim of two is missing."),
        label("sleep", "Naps help.", 3, "Vague and incomplete."),
    ])
}

/// The claims judge with something to judge.
pub struct Claims {
    pub sample: Sample,
    pub output: Value,
    pub labels: Value,
    pub model: Value,
}

impl Claims {
    pub fn new() -> Self {
        let columns = json!({
            "videoId": "tides", "title": "How tides work", "channelName": "Sea School", "description": "A short lecture.",
            "transcript": {"fullText": "The moon pulls the sea. The sun pulls it too, but less. Spring tides come at new and full moon."},
        });
        let claims =
            ["The moon pulls the sea.", "The sun pulls the sea less than the moon.", "Spring tides come at full moon."];
        Self {
            sample: sample("tides", columns, None),
            output: json!({"claims": claims.map(|text| json!({"text": text}))}),
            labels: labels(),
            model: json!({}),
        }
    }

    pub fn judge(&self) -> RubricJudge {
        RubricJudge::new(&scorer(claims(), self.labels.clone()), &model(self.model.clone())).unwrap()
    }

    pub fn machine(&self) -> JudgeMachine {
        self.judge().machine(JudgeInput { sample: &self.sample, output: &self.output, seed: 1 })
    }
}

/// A valid reply of the claims judge.
pub fn claims_reply(scores: [f64; 4]) -> Value {
    json!({
        "completeness": scores[0], "accuracy": scores[1], "topicCoverage": scores[2], "atomicity": scores[3],
        "reasoning": "Two of three claims are there.",
        "missingClaims": [{"text": "New moon"}], "hallucinations": [], "redundancies": [], "gapAreas": [],
    })
}

/// BR-03, BR-04.
pub fn briefing() -> Value {
    let axis = |name: &str, weight: f64| dimension(name, range(1.0, 5.0, Some(1.0)), weight);
    json!({
        "id": "briefing", "version": "v1", "ask": "Judge the quality of a published news briefing.",
        "show": [
            {"name": "briefing", "value": "{{ output }}"},
            {"name": "sources", "value": "{{ sample.source_urls }}", "as": "lines"},
        ],
        "dimensions": [
            axis("factuality", 0.30), axis("novelty", 0.20), axis("source_diversity", 0.15), axis("signal_density", 0.20),
            axis("coherence", 0.15),
        ],
        "overall": {"id": "composite", "method": "weighted_mean", "round": 2},
        "caps": [
            {"id": "no_source", "when": "sample.source_urls | length == 0", "max": {"factuality": 2}, "say": "No source is cited."},
            {"id": "empty_headings", "when": "sample.empty_headings | length > 0", "max": {"signal_density": 2}, "say": "Headings stand without a body."},
        ],
        "rationale": {"field": "notes", "max_chars": 60},
        "reply": "flat",
        "invalid": {"reask": 1, "out_of_range": "reject", "absent": "reject", "then": "unscored"},
    })
}

/// SP-01.
pub fn spans() -> Value {
    let one_of = |words: &[&str], default: &str| json!({"one_of": {"words": words, "default": default}});
    let graded = |name: &str| dimension(name, range(1.0, 5.0, Some(1.0)), 1.0);
    json!({
        "id": "span-labelling", "ask": "Judge the spans.",
        "show": [
            {"name": "prompt", "value": "{{ output.text }}"},
            {"name": "spans", "value": "{{ output.spans }}", "as": "lines", "line": "[{{ index }}] '{{ item.text }}' ({{ item.role }})", "chunk": {"items": 2}},
        ],
        "dimensions": [
            {"name": "coverage", "scale": range(1.0, 5.0, Some(1.0)), "weight": 1.0, "chunks": "max"},
            graded("precision"),
        ],
        "overall": {"id": "totalScore", "method": "sum"},
        "breakdowns": [{"name": "categoryScores", "over": ["shot", "audio"], "scores": [dimension("coverage", range(1.0, 5.0, None), 1.0)]}],
        "diagnostics": [
            {"name": "missedElements", "chunks": "all", "fields": [["text", "text"], ["severity", one_of(&["critical", "minor"], "minor")]]},
            {"name": "falsePositives", "fields": [["spanIndex", {"index_of": "spans"}], ["text", "text"], ["reason", one_of(&["non_visual", "other"], "other")]]},
        ],
        "rationale": {"field": "notes"}, "reply": "nested",
        "invalid": {"reask": 1, "out_of_range": "reject", "absent": "reject", "then": "degrade"},
    })
}

/// SU-06.
pub fn summary() -> Value {
    let graded = |name: &str| dimension(name, range(0.0, 1.0, None), 1.0);
    json!({
        "id": "session-summary", "ask": "Judge a session summary.", "reference": "optional",
        "show": [{"name": "candidate", "value": "{{ output }}", "as": "json"}],
        "dimensions": [graded("title"), graded("outcome")],
        "overall": {"id": "overall", "method": "given"},
        "rationale": {"field": "rationale", "max_chars": 600},
        "diagnostics": [{"name": "suggestions", "fields": [], "max": 2}],
        "reply": "list",
        "invalid": {"reask": 0, "out_of_range": "clamp", "absent": "lowest", "then": "unscored"},
    })
}

pub fn summary_reply() -> Value {
    json!({
        "dimensions": [{"dimension": "title", "score": 0.8, "reason": "Names it."}, {"dimension": "outcome", "score": 1, "reason": "Right."}],
        "overall": 0.85, "rationale": "Good.", "suggestions": [],
    })
}

/// Words as answers.
pub fn answer() -> Value {
    json!({
        "id": "answer", "ask": "Judge one answer.", "show": [{"name": "answer", "value": "{{ output }}"}],
        "dimensions": [
            dimension("helpful", json!({"choices": [["yes", 1.0], ["partly", 0.5], ["no", 0.0]]}), 1.0),
            dimension("safe", json!({"choices": [["pass", 1.0], ["fail", 0.0]]}), 1.0),
        ],
        "rationale": {}, "invalid": {},
    })
}
