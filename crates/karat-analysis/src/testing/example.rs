//! Three models × three variants and one recorded variant, six samples, two judges; with errors,
//! unscored, not applicable, skipped and reused cells, and texts that try to break a report.

use std::collections::BTreeMap;

use karat_types::{
    CellCost, CellError, CellStatus, JudgmentRecord, Key, Moment, Money, Note, NoteKind, SampleRecord, SampleText,
    Score, Usage,
};
use serde_json::{Map, Value, json};

use super::{MemoryCell, MemoryRun, cell, header, judgment, model, run_spec};

/// A text that tries to break out of its context: markup, table cells, links, terminal control sequences, direction
/// overrides.
pub const HOSTILE: &str = "</td><script>alert(1)</script> | `x` **b** [l](http://evil.example) \u{1b}[31mred\u{1b}[0m \
     \u{202e}gnp.exe\u{7}\n# heading\n| a | b |";

const SAMPLES: [&str; 6] = ["alloys", "bridges", "clouds|storms", "dams", "engines", "fjords"];
const METRICS: [&str; 5] = ["completeness", "accuracy", "topicCoverage", "atomicity", "overallScore"];
const VARIANTS: [&str; 4] = ["raw", "editorial", "single-pass", "manual-notes"];
const RECALL: u16 = 5;
const MENTIONS: u16 = 6;
const LATENCY: u16 = 7;

/// Builds the run that the module describes.
pub fn example() -> MemoryRun {
    let mut run = MemoryRun {
        header: header(plan()),
        samples: SAMPLES.iter().enumerate().map(|(row, id)| sample(row, id)).collect(),
        cells: Vec::new(),
        outputs: BTreeMap::new(),
    };
    for sample in 0..SAMPLES.len() {
        for system in 0..10 {
            let cell = example_cell(sample, system);
            if cell.cell.status == CellStatus::Ok {
                run.outputs.insert(cell.cell.ordinal, output(sample, system));
            }
            run.cells.push(cell);
        }
    }
    run
}

fn sample(row: usize, id: &str) -> SampleRecord {
    SampleRecord {
        row: row as u64,
        id: id.to_owned(),
        cluster: None,
        date: None,
        metadata: Map::from_iter([("topic".to_owned(), json!(if row == 2 { HOSTILE } else { "works" }))]),
        reads: Vec::new(),
        texts: texts(row, id),
    }
}

fn texts(row: usize, id: &str) -> Vec<SampleText> {
    let input = if row == 2 { format!("Summarize: {HOSTILE}") } else { format!("Summarize the talk about {id}.") };
    let reference = "rust ".repeat(if row == 3 { 900 } else { 2 });
    vec![SampleText::of("input", &json!(input)), SampleText::of("reference", &json!(reference))]
}

/// Systems 0 to 8 are model × variant, models outermost; system 9 is the recorded variant.
fn example_cell(sample: usize, system: usize) -> MemoryCell {
    let ordinal = (sample * 10 + system) as u64;
    let (model, variant) = if system == 9 { (None, 3) } else { (Some(system / 3), system % 3) };
    let mut record = cell(ordinal);
    record.calls = vec![Key::of("test/call", &ordinal.to_le_bytes())];
    record.latency_ms = 400.0 + 37.0 * ordinal as f64;
    record.reused = sample == 0 && system < 3;
    record.made_at = record.reused.then_some(Moment(1_767_261_600_000 - 3 * 86_400_000));
    record.cost = cost(model, record.reused, 1_200 + 100 * sample as u64, 300);
    if let Some(code) = missing(sample, model, variant) {
        record.status = if code.is_empty() { CellStatus::Skipped } else { CellStatus::Error };
        record.output_hash = Key::default();
        record.error = (!code.is_empty())
            .then(|| CellError::new(code, format!("asking the model for an answer failed with {code}: {HOSTILE}")));
        return MemoryCell { sample, system, trial: 0, cell: record, judgments: Vec::new() };
    }
    record.scores = own_scores(sample, model, variant, record.latency_ms);
    if system == 4 && sample == 3 {
        record.notes = vec![
            Note { kind: NoteKind::Truncated, text: "the reply ran into max_tokens 4000".to_owned(), count: 1 },
            Note { kind: NoteKind::DroppedChunks, text: "3 chunks beyond max 4 were dropped".to_owned(), count: 3 },
        ];
    }
    let judgments = (0..2).filter_map(|judge| example_judgment(sample, model, variant, judge, ordinal)).collect();
    MemoryCell { sample, system, trial: 0, cell: record, judgments }
}

/// The code of a cell's error; empty for a skipped cell.
fn missing(sample: usize, model: Option<usize>, variant: usize) -> Option<&'static str> {
    match (sample, model, variant) {
        (1, Some(2), 0) => Some("timeout"),
        (4, Some(2), 1) => Some("rate_limited"),
        (5, Some(1), 2) | (2.., None, _) => Some(""),
        _ => None,
    }
}

fn cost(model: Option<usize>, reused: bool, input: u64, output: u64) -> CellCost {
    let usage = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
    let price = match model {
        Some(0) => 10_i128,
        Some(1) => 2,
        _ => 0,
    };
    if model.is_none() {
        return CellCost { cost: Some(Money::ZERO), ..CellCost::default() };
    }
    let cost = Money(price * i128::from(input + 4 * output) * 1_000);
    CellCost { usage, cost: Some(cost), paid: if reused { Money::ZERO } else { cost } }
}

/// The quality of a system on a sample, 0 to 10: the first model is best, editing helps, later samples are harder.
fn quality(sample: usize, model: Option<usize>, variant: usize, dimension: usize) -> f64 {
    let base = model.map_or(6.0, |model| 8.8 - 1.1 * model as f64);
    let wobble = ((sample * 7 + variant * 5 + dimension * 3 + model.unwrap_or(5) * 11) % 9) as f64 / 6.0;
    let edit = [0.0, 0.6, -0.3, 0.0][variant];
    let hard = [0.0, 0.4, 3.2, 0.9, 0.5, 1.5][sample];
    (((base + edit + wobble - hard) * 10.0).round() / 10.0).clamp(0.0, 10.0)
}

fn own_scores(sample: usize, model: Option<usize>, variant: usize, latency_ms: f64) -> Vec<(u16, Score)> {
    let ideal = quality(sample, model, variant, 7);
    let recall =
        if sample >= 4 { Score::not_applicable("the row has no ideal claims") } else { Score::value(ideal / 12.0) };
    let mentions = match (sample, model) {
        (3, Some(1)) => Score::unscored("the pattern could not be read"),
        _ => Score::value_because(f64::from(u8::from(ideal > 5.5)), "looks for the word iron"),
    };
    vec![(RECALL, recall), (MENTIONS, mentions), (LATENCY, Score::value(latency_ms))]
}

/// The judgment of a judge; the second judge is more lenient. One judgment fails, and one cell is disputed.
fn example_judgment(
    sample: usize,
    model: Option<usize>,
    variant: usize,
    judge: u16,
    ordinal: u64,
) -> Option<JudgmentRecord> {
    let mut record = judgment(ordinal, 0, judge);
    record.key = Key::of("test/judgment", format!("{ordinal}/{judge}").as_bytes());
    record.calls = vec![Key::of("test/call", format!("{ordinal}/{judge}").as_bytes())];
    record.prompt_version = Some("v1".to_owned());
    record.latency_ms = 900.0;
    record.shuffle_seed = ordinal;
    record.rung = Some(if ordinal.is_multiple_of(7) { "fenced" } else { "direct" }.to_owned());
    record.cost = CellCost {
        usage: Usage { input_tokens: 2_000, output_tokens: 250, ..Usage::default() },
        cost: Some(Money(3_000_000)),
        paid: Money(3_000_000),
    };
    if (sample, model, variant, judge) == (2, Some(1), 0, 1) {
        record.error = Some(CellError::new("parse", format!("the judge's reply is not JSON: {HOSTILE}")));
        record.rung = None;
        record.scores = (0..5).map(|metric| (metric, Score::unscored("the judge's reply is not JSON"))).collect();
        return Some(record);
    }
    let lenience = f64::from(judge) * if (sample, variant) == (3, 2) { 4.0 } else { 0.5 };
    let grades: Vec<f64> =
        (0..4).map(|at| (quality(sample, model, variant, at) - 1.0 + lenience).clamp(0.0, 10.0)).collect();
    let overall = (grades.iter().sum::<f64>() / 4.0 * 100.0).round() / 100.0;
    record.scores =
        grades.iter().chain([&overall]).enumerate().map(|(at, it)| (at as u16, Score::value(*it))).collect();
    record.reasoning =
        if sample == 2 { format!("Weak on storms. {HOSTILE}") } else { "Covers most claims.".to_owned() };
    record.diagnostics = diagnostics(sample, model, variant, overall);
    Some(record)
}

fn diagnostics(sample: usize, model: Option<usize>, variant: usize, overall: f64) -> Map<String, Value> {
    let claim = |at: usize| json!({ "text": format!("Claim {at} of {}", SAMPLES[sample]) });
    let missing: Vec<Value> = (0..(10.0 - overall) as usize).map(claim).collect();
    let invented = (variant == 1 && model == Some(2)).then(|| json!({ "text": HOSTILE }));
    let mut diagnostics = Map::from_iter([
        ("missingClaims".to_owned(), Value::Array(missing)),
        ("hallucinations".to_owned(), Value::Array(invented.into_iter().collect())),
    ]);
    if sample >= 4 {
        diagnostics.insert("chunks".to_owned(), pieces(sample, overall));
    }
    diagnostics
}

/// The chunk record of a text that was judged in pieces, worse towards its end.
fn pieces(sample: usize, overall: f64) -> Value {
    let piece = |at: usize| {
        let grade = (overall + [1.5, 0.5, -0.8, -1.2][at]).clamp(0.0, 10.0);
        json!({
            "from": at * 2_000, "to": at * 2_000 + 2_000, "members": 3.0, "scores": { "completeness": grade },
            "findings": { "missingClaims": at + sample % 2, "hallucinations": 0 },
        })
    };
    let parts: Vec<Value> = (0..4).map(piece).collect();
    json!({ "length": 8_000, "judged": 8_000, "members": 12, "placed": 12, "parts": parts })
}

/// One output exceeds the inline limit of reports.
fn output(sample: usize, system: usize) -> Value {
    let words = if (sample, system) == (0, 0) { 800 } else { 4 };
    json!({ "claims": [{ "text": vec!["iron"; words].join(" ") }] })
}

fn plan() -> Value {
    let price =
        |input: u64, output: u64| json!({ "known": { "input": input, "output": output, "as_of": "2025-11-01" } });
    let dimension =
        |name: &str| json!({ "name": name, "scale": { "range": { "lo": 0.0, "hi": 10.0 } }, "weight": 1.0 });
    let list = |name: &str| json!({ "name": name, "fields": [["text", "text"]] });
    let metric = |name: &str, with: Value| scorer(name, json!({ "metric": { "metric": name, "with": with } }));
    let prompt = json!([{
        "id": "extract",
        "action": { "prompt": { "messages": [{ "role": "user", "content": "{{ sample.text }}" }] } }
    }]);
    let recorded = json!([{
        "id": "notes", "action": { "recorded": { "file": { "from": "manual/{{ sample.id }}.md", "missing": "skip" } } }
    }]);
    let variant = |id: &str| json!({ "id": id, "steps": if id == VARIANTS[3] { &recorded } else { &prompt } });
    let systems = (0..9).map(|at| json!({ "model": at / 3, "variant": at % 3, "trials": 1 }));
    let quality = METRICS.iter().map(
        |name| json!({ "name": format!("quality.{name}"), "scorer": 0, "range": [0.0, 10.0], "aggregate": "mean" }),
    );
    let others = [
        json!({ "name": "recall_of_ideal", "scorer": 1, "range": [0.0, 1.0], "aggregate": "mean" }),
        json!({ "name": "mentions", "scorer": 2, "range": [0.0, 1.0], "binary": true, "aggregate": "mean" }),
        json!({ "name": "latency", "scorer": 3, "better": "lower", "volatile": true, "aggregate": "p95" }),
    ];
    json!({
        "schema": "karat.plan/1",
        "suite": "claims",
        "about": "Claim extraction: models x variants x judges",
        "suite_hash": Key::of("test/suite", b"claims").to_string(),
        "plan_hash": Key::of("test/plan", b"claims").to_string(),
        "dataset": {
            "rows": 6, "hash": Key::of("test/dataset", b"claims").to_string(), "version": "1", "clustered": false,
            "sources": [{ "path": "data/corpus.json", "blake3": "00", "bytes": 2048 }]
        },
        "models": [
            model("atlas-large", price(2_500_000_000, 10_000_000_000)),
            model("brook-mini", price(500_000_000, 2_000_000_000)),
            model("cedar-local", json!("unmetered"))
        ],
        "judges": [model("judge-strict", json!("unmetered")), model("judge-lenient", json!("unmetered"))],
        "variants": VARIANTS.map(variant),
        "systems": systems.chain([json!({ "variant": 3, "trials": 1 })]).collect::<Vec<_>>(),
        "trials": 1,
        "scorers": [
            scorer("quality", json!({ "rubric": {
                "rubric": {
                    "id": "claim-set", "version": "v1", "ask": "Judge how well the claims cover the text.",
                    "show": [{ "name": "text", "value": "{{ sample.text }}", "chunk": { "overlap": 50 } }],
                    "dimensions": METRICS[..4].iter().map(|name| dimension(name)).collect::<Vec<_>>(),
                    "overall": { "id": "overallScore", "method": "mean" },
                    "rationale": { "field": "reasoning", "min_chars": 10 },
                    "diagnostics": [list("missingClaims"), list("hallucinations")],
                    "invalid": {}
                },
                "judges": ["judge-strict", "judge-lenient"],
                "consensus": { "method": "mean", "flag_variance": 2.0 },
                "parameters": {}
            } })),
            metric("set_f1", json!({ "by": "text", "part": "recall" })),
            metric("contains", json!({})),
            metric("latency", json!({}))
        ],
        "metrics": quality.chain(others).collect::<Vec<_>>(),
        "analyses": [
            { "analysis": "delta", "id": "variant_delta", "with": { "base": "raw" } },
            { "analysis": "agreement", "id": "agreement" }
        ],
        "run": run_spec(),
        "tokenizer": "o200k_base"
    })
}

fn scorer(id: &str, kind: Value) -> Value {
    json!({ "id": id, "kind": kind, "output": "$", "reduce": "mean", "aggregate": "mean" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_holds_every_kind_of_cell() {
        let run = example();
        let of = |status| run.cells.iter().filter(|it| it.cell.status == status).count();
        assert_eq!((of(CellStatus::Error), of(CellStatus::Skipped)), (2, 5));
        assert!(run.cells.iter().any(|it| it.cell.reused));
        assert!(run.cells.iter().flat_map(|it| &it.judgments).any(|it| it.error.is_some()));
        assert_eq!(run.plan().cells(), 60);
    }
}
