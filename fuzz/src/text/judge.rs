//! Replies of judges: whatever a judge says, a verdict has every score, within its scale or unscored.

use std::sync::LazyLock;

use karat_scoring::judge::{JudgeInput, RubricJudge, Verdict};
use karat_scoring::{Completion, Prompt, drive};
use karat_text::fence;
use karat_types::{FinishReason, ModelSpec, RubricScorer, Sample, Score};
use serde_json::{Value, json};

use super::lossy;

/// Stands for the code of the call, which a reply can only know from its prompt.
const CODE: &str = "@CODE@";

struct Judge {
    judge: RubricJudge,
    scorer: RubricScorer,
}

/// One judge for each kind of reply: graded with findings, nested with breakdowns, a list, words.
static JUDGES: LazyLock<Vec<Judge>> = LazyLock::new(|| {
    let graded =
        |name: &str, lo: f64, hi: f64| json!({"name": name, "scale": {"range": {"lo": lo, "hi": hi}}, "weight": 1.0});
    let stepped =
        |name: &str| json!({"name": name, "scale": {"range": {"lo": 1.0, "hi": 5.0, "step": 1.0}}, "weight": 0.5});
    let show = json!([{"name": "answer", "value": "{{ output }}"}]);
    let list = |name: &str, fields: Value| json!({"name": name, "fields": fields});
    let rubrics = [
        json!({"id": "claims", "ask": "Judge.", "show": show, "dimensions": [graded("completeness", 0.0, 10.0), graded("accuracy", 0.0, 10.0)],
            "overall": {"id": "overallScore", "method": "mean"}, "rationale": {"field": "reasoning", "min_chars": 10},
            "diagnostics": [list("missing", json!([["text", "text"], ["severity", {"one_of": {"words": ["critical", "minor"], "default": "minor"}}]]))],
            "invalid": {"reask": 1, "out_of_range": "reject", "absent": "reject", "then": "unscored"}}),
        json!({"id": "spans", "ask": "Judge.", "show": show, "dimensions": [stepped("coverage"), stepped("precision")],
            "overall": {"id": "totalScore", "method": "sum"},
            "breakdowns": [{"name": "categoryScores", "over": ["shot", "audio"], "scores": [stepped("coverage")]}],
            "rationale": {"field": "notes"}, "reply": "nested",
            "invalid": {"reask": 1, "out_of_range": "reject", "absent": "reject", "then": "degrade"}}),
        json!({"id": "summary", "ask": "Judge.", "show": show, "dimensions": [graded("title", 0.0, 1.0), graded("outcome", 0.0, 1.0)],
            "overall": {"id": "overall", "method": "given"}, "rationale": {"field": "rationale", "max_chars": 60},
            "diagnostics": [{"name": "suggestions", "fields": [], "max": 2}], "reply": "list",
            "invalid": {"reask": 0, "out_of_range": "clamp", "absent": "lowest", "then": "unscored"}}),
        json!({"id": "answer", "ask": "Judge.", "show": show, "rationale": {}, "invalid": {}, "dimensions": [
            {"name": "helpful", "scale": {"choices": [["yes", 1.0], ["partly", 0.5], ["no", 0.0]]}, "weight": 1.0},
            {"name": "safe", "scale": {"choices": [["pass", 1.0], ["fail", 0.0]]}, "weight": 1.0}]}),
    ];
    rubrics.into_iter().map(judge).collect()
});

fn judge(rubric: Value) -> Judge {
    let scorer = json!({"rubric": rubric, "judges": [], "consensus": {}, "parameters": {}});
    let scorer: RubricScorer = serde_json::from_value(scorer).unwrap_or_else(|error| panic!("{error}"));
    let judge = RubricJudge::new(&scorer, &ModelSpec::new("judge", "library"));
    Judge { judge: judge.unwrap_or_else(|error| panic!("{error}")), scorer }
}

/// The first byte chooses the judge and how its reply ends; the rest is the reply.
pub fn run(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let judge = &JUDGES[usize::from(*choice) % JUDGES.len()];
    let finish = [FinishReason::Stop, FinishReason::Length, FinishReason::Refusal, FinishReason::Other];
    let finish = finish[usize::from(*choice) / 64 % finish.len()];
    let text = lossy(text);
    let verdict = judge.verdict(&text, finish);
    assert_eq!(verdict, judge.verdict(&text, finish), "a reply is read in one way");
    judge.check(&verdict);
}

impl Judge {
    fn verdict(&self, text: &str, finish: FinishReason) -> Verdict {
        let mut reply = |prompt: &Prompt<'_>| {
            let prompt = prompt.text();
            let text = text.replace(CODE, fence::code(&prompt).unwrap_or_default());
            Ok(Completion { finish, ..Completion::text(text) })
        };
        let sample = Sample::new("s1", None);
        let output = json!("Tides come from the moon.");
        drive(self.judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 }), &mut reply)
    }

    fn check(&self, verdict: &Verdict) {
        let names: Vec<&str> = verdict.scores.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, self.judge.dimensions(), "a verdict has every score");
        for (name, score) in &verdict.scores {
            let Some(number) = score.number() else { continue };
            assert!(number.is_finite(), "{name} is {number}");
            let dimension = self.scorer.rubric.dimensions.iter().find(|dimension| dimension.name == *name);
            let Some((lo, hi)) = dimension.map(|dimension| dimension.scale.bounds()) else { continue };
            assert!((lo..=hi).contains(&number), "{name} is {number}, outside of {lo} to {hi}");
        }
        if verdict.error.is_some() {
            assert!(verdict.scores.iter().all(|(_, score)| matches!(score, Score::Unscored { .. })), "{verdict:?}");
        }
    }
}
