//! Logs that Inspect wrote, and logs made by hand.

use std::fs;

use serde_json::{Value, json};

use crate::recorded::testing::{Imported, fixture, import_file, import_files};
use crate::{ImportError, ImportKind, Shape};

const ZSTD: u16 = 93;

fn import_fixture(name: &str) -> Imported {
    import_file(ImportKind::Inspect, &fixture(&format!("inspect/{name}")))
}

fn import_log(name: &str, bytes: &[u8]) -> Result<Imported, ImportError> {
    import_files(ImportKind::Inspect, &[(name, bytes)], name)
}

fn figures(imported: &Imported) -> Vec<(&str, &str, f64)> {
    imported.report.figures.iter().map(|it| (it.variant.as_str(), it.metric.as_str(), it.value)).collect()
}

/// A member of an archive made by hand.
struct Member<'a> {
    name: &'a str,
    method: u16,
    /// The bytes as they lie in the archive.
    stored: Vec<u8>,
    crc: u32,
    /// The size that the directory declares.
    size: usize,
}

impl<'a> Member<'a> {
    fn zstd(name: &'a str, content: &[u8]) -> Self {
        let stored = zstd::encode_all(content, 3).unwrap();
        Self { name, method: ZSTD, stored, crc: crc32fast::hash(content), size: content.len() }
    }

    fn json(name: &'a str, content: &Value) -> Self {
        Self::zstd(name, content.to_string().as_bytes())
    }
}

/// A ZIP archive. Its own writer, because members of several frames and false sizes are wanted.
fn archive(members: &[Member<'_>]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let offset = file.len() as u32;
        let mut common = Vec::new();
        common.extend([20_u16, 0, member.method, 0, 0].map(u16::to_le_bytes).as_flattened());
        common
            .extend([member.crc, member.stored.len() as u32, member.size as u32].map(u32::to_le_bytes).as_flattened());
        common.extend([member.name.len() as u16, 0].map(u16::to_le_bytes).as_flattened());
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(member.name.as_bytes());
        file.extend(&member.stored);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0_u8; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(member.name.as_bytes());
    }
    let count = members.len() as u16;
    let (at, length) = (file.len() as u32, directory.len() as u32);
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].map(u16::to_le_bytes).as_flattened());
    file.extend([length, at].map(u32::to_le_bytes).as_flattened());
    file.extend([0, 0]);
    file
}

fn header(task: &str, model: &str) -> Value {
    json!({"version": 2, "status": "success", "eval": {"task": task, "model": model, "dataset": {}, "config": {}}})
}

fn sample(id: impl Into<Value>, epoch: u64, output: &str) -> Value {
    json!({
        "id": id.into(), "epoch": epoch, "input": "?", "target": "x",
        "output": {"choices": [{"message": {"content": output}}]}, "scores": {"s": {"value": "C"}},
    })
}

/// A log in one JSON file.
fn log(samples: &[Value]) -> Value {
    let mut log = header("t", "m");
    log["samples"] = json!(samples);
    log
}

fn import_samples(samples: &[Value]) -> Imported {
    import_log("log.json", log(samples).to_string().as_bytes()).unwrap()
}

/// IO-07: a log whose members are compressed with zstd: two scorers, two epochs, the figures of the log.
#[test]
fn zstd_logs_become_recorded_suites() {
    let imported = import_fixture("capitals-zstd.eval");
    insta::assert_snapshot!("capitals_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("capitals_import", imported.text("import.json"));
    insta::assert_snapshot!("capitals_samples", imported.text("data/samples.jsonl"));
    let outputs = imported.rows("data/outputs/mockllm-model.jsonl");
    assert_eq!(outputs.len(), 8);
    assert_eq!(
        outputs[0],
        json!({
            "id": "fr", "trial": 1, "output": "The capital is Paris", "latency_ms": 169.0, "model": "mockllm/model",
            "input_tokens": 16, "output_tokens": 4, "scores": {"includes": true, "match": true},
            "reasons": {"includes": "The capital is Paris", "match": "The capital is Paris"},
        })
    );
    let ids: Vec<_> = outputs.iter().map(|row| (row["id"].as_str().unwrap(), row["trial"].as_u64().unwrap())).collect();
    assert_eq!(ids, [("fr", 1), ("de", 1), ("3", 1), ("it", 1), ("fr", 2), ("de", 2), ("3", 2), ("it", 2)]);
    for score in ["includes", "match"] {
        let mean: f64 = outputs.iter().map(|row| f64::from(u8::from(row["scores"][score] == true))).sum::<f64>() / 8.0;
        assert!((mean - 0.75).abs() < 1e-12, "{score} {mean}");
    }
}

/// IO-07: a log whose members are deflated, of an older version: choices and letters as targets.
#[test]
fn deflated_logs_become_recorded_suites() {
    let imported = import_fixture("choices-deflate.eval");
    insta::assert_snapshot!("choices_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("choices_import", imported.text("import.json"));
    let samples = imported.rows("data/samples.jsonl");
    assert_eq!(
        samples[0],
        json!({"id": "1", "input": "Largest planet?", "reference": "B", "choices": ["Mars", "Jupiter", "Venus"]})
    );
    assert_eq!(figures(&imported), [("mockllm-model", "given_choice", 2.0 / 3.0)]);
}

/// IO-07: a log in one JSON file; partial credit is one half, explanations are reasons.
#[test]
fn json_logs_become_recorded_suites() {
    let imported = import_fixture("graded.json");
    insta::assert_snapshot!("graded_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("graded_import", imported.text("import.json"));
    let outputs = imported.rows("data/outputs/mockllm-model.jsonl");
    let scores: Vec<_> = outputs.iter().map(|row| &row["scores"]["model_graded_qa"]).collect();
    assert_eq!(scores, [&json!(true), &json!(false), &json!(0.5)]);
    assert_eq!(outputs[2]["reasons"]["model_graded_qa"], "Partly.\n\nGRADE: P");
    assert_eq!(imported.report.shape, Shape::Recorded);
}

/// IO-07: members of several zstd frames are read to their end, and ids may hold `/` and numbers.
#[test]
fn members_of_several_frames_and_odd_names_are_read() {
    let id = "a/b_epoch_9";
    let content = sample(id, 1, "hello").to_string();
    let (first, second) = content.as_bytes().split_at(content.len() / 2);
    let mut member = Member::zstd("samples/a/b_epoch_9_epoch_1.json", content.as_bytes());
    member.stored = [zstd::encode_all(first, 1).unwrap(), zstd::encode_all(second, 19).unwrap()].concat();
    let file = archive(&[
        member,
        Member::json("samples/7_epoch_1.json", &sample(7, 1, "seven")),
        Member::json("header.json", &header("t", "m")),
    ]);
    let imported = import_log("log.eval", &file).unwrap();
    let outputs = imported.rows("data/outputs/m.jsonl");
    assert_eq!([&outputs[0]["id"], &outputs[0]["output"]], [id, "hello"]);
    assert_eq!([&outputs[1]["id"], &outputs[1]["output"]], ["7", "seven"]);
}

/// IO-07: a log that was never finished has only a journal and the samples so far; the report says so.
#[test]
fn unfinished_logs_are_read_and_said() {
    let mut start = header("t", "m");
    start["eval"]["dataset"]["sample_ids"] = json!(["a", "b"]);
    start["eval"]["config"]["epochs"] = json!(2);
    let file = archive(&[
        Member::json("_journal/start.json", &start),
        Member::json("samples/b_epoch_1.json", &sample("b", 1, "x")),
        Member::json("samples/a_epoch_1.json", &sample("a", 1, "x")),
        Member::json("samples/a_epoch_2.json", &sample("a", 2, "y")),
        Member::json("_journal/summaries/1.json", &json!([])),
    ]);
    let imported = import_log("log.eval", &file).unwrap();
    assert_eq!(imported.notes(), ["the log is unfinished: it holds 3 of 4 outputs, and no figures of its own"]);
    let outputs = imported.rows("data/outputs/m.jsonl");
    assert_eq!(outputs.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b", "a"]);
    let step = &imported.suite()["variants"]["m"][0]["recorded"];
    assert_eq!([&step["missing"], &step["trial"]], ["skip", "trial"], "a missing output is not an error");
    let empty = archive(&[Member::json("_journal/start.json", &start)]);
    let error = import_log("log.eval", &empty).err().unwrap();
    assert!(error.to_string().contains("no finished sample"), "{error}");
}

/// IO-07: a folder holds logs of one task, each a variant; other files are left out.
#[test]
fn folders_of_logs_become_variants() {
    let log = |model: &str, solver: Option<&str>, output: &str| {
        let mut log = log(&[sample("a", 1, output)]);
        (log["eval"]["model"], log["eval"]["solver"]) = (json!(model), json!(solver));
        log.to_string().into_bytes()
    };
    let files: [(&str, Vec<u8>); 5] = [
        ("1.json", log("openai/gpt-5", None, "one")),
        ("2.json", log("openai/gpt-5", Some("inspect_ai/react"), "two")),
        ("3.json", log("openai/gpt-5", None, "three")),
        ("logs.json", b"{\"1.json\": {}}".to_vec()),
        ("notes.txt", b"mine".to_vec()),
    ];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let imported = import_files(ImportKind::Inspect, &files, "").unwrap();
    let suite = imported.suite();
    let variants: Vec<_> = suite["variants"].as_object().unwrap().keys().collect();
    assert_eq!(variants, ["openai-gpt-5", "openai-gpt-5.react", "openai-gpt-5#2"]);
    assert_eq!(imported.rows("data/outputs/openai-gpt-5#2.jsonl")[0]["output"], "three");
    assert_eq!(imported.notes(), ["is not a log of Inspect, and is left out"]);
    assert_eq!((imported.report.counts.samples, imported.report.counts.systems), (1, 3));
    let other = header("other", "m").to_string();
    let both = [files.as_slice(), &[("4.json", other.as_bytes())]].concat();
    let error = import_files(ImportKind::Inspect, &both, "").err().unwrap();
    assert!(error.to_string().contains("several tasks: `other`, `t`"), "{error}");
}

/// IO-07: the parts of a sample: messages, list targets, metadata, reasoning, errors, costs, attachments.
#[test]
fn every_part_of_a_sample_has_its_place() {
    let mut one = sample("a", 1, "");
    one["input"] = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "attachment://h"}]);
    one["attachments"] = json!({"h": "a long question"});
    one["target"] = json!(["x", "y"]);
    one["metadata"] = json!({"topic": "geo", "input": "shadowed", "long": "x".repeat(100), "odd key": 1});
    one["output"]["choices"][0]["message"]["content"] =
        json!([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "x"}]);
    one["model_usage"] = json!({
        "m": {"input_tokens": 5, "output_tokens": 2, "input_tokens_cache_read": 1, "total_cost": 0.25},
        "judge": {"input_tokens": 7, "output_tokens": 3, "total_cost": 0.5},
    });
    one["total_time"] = json!(1.5);
    one["scores"] = json!({
        "dict": {"value": {"a": "C", "b": null}, "explanation": "attachment://h"}, "list": {"value": [1]}, "none": {"value": null},
        "word": {"value": "blue", "explanation": "attachment://h", "metadata": {"k": 1}},
    });
    let mut failed = sample("b", 1, "");
    failed["error"] = json!({"message": "timed out\n", "traceback": ""});
    failed["target"] = json!("");
    let imported = import_samples(&[one, failed]);
    let samples = imported.rows("data/samples.jsonl");
    assert_eq!(samples[0]["input"][1], json!({"role": "user", "content": "a long question"}));
    assert_eq!(samples[0]["reference"], json!(["x", "y"]));
    assert_eq!([&samples[0]["topic"], &samples[0]["metadata_input"]], ["geo", "shadowed"]);
    assert_eq!(samples[1].get("reference"), None, "an empty target is none");
    assert_eq!(imported.suite()["dataset"]["metadata"], json!(["topic", "metadata_input"]));
    let outputs = imported.rows("data/outputs/m.jsonl");
    assert_eq!(
        outputs[0],
        json!({
            "id": "a", "trial": 1, "output": "x", "reasoning": "hm", "latency_ms": 1500.0, "cost_usd": 0.75,
            "usage": [
                {"model": "m", "input_tokens": 5, "output_tokens": 2, "cached_tokens": 1},
                {"model": "judge", "input_tokens": 7, "output_tokens": 3},
            ],
            "scores": {"dict.a": true, "dict.b": null, "none": null}, "reasons": {"dict.a": "a long question", "dict.b": "a long question"},
        })
    );
    assert_eq!([&outputs[1]["output"], &outputs[1]["error"]], [&json!(null), &json!("timed out")]);
    let dropped = imported.dropped();
    for expected in [
        ("list", "samples[*].scores.list.value", 1),
        ("text", "samples[*].scores.word.value", 1),
        ("metadata", "samples[*].scores.word.metadata", 1),
    ] {
        assert!(dropped.contains(&expected), "{expected:?} in {dropped:?}");
    }
    let suite = imported.suite();
    assert_eq!(suite["policy"]["max_errors"], "100%");
    assert_eq!(suite["scorers"]["given_dict.a"]["with"]["path"], "scores[\"dict.a\"]");
    assert_eq!(suite["scorers"].get("given_word"), None);
    assert_eq!(suite["variants"]["m"][0]["recorded"]["error"], "error");
}

/// IO-07: a sample that differs between epochs is written once, as it was first, and noted.
#[test]
fn samples_are_written_once() {
    let (first, mut second) = (sample("a", 1, "x"), sample("a", 2, "y"));
    second["metadata"] = json!({"seen": 2});
    let imported = import_samples(&[first, second]);
    assert_eq!(imported.rows("data/samples.jsonl"), [json!({"id": "a", "input": "?", "reference": "x"})]);
    assert_eq!(imported.notes(), ["1 differ from the sample of their id before, which is the one that counts"]);
}

/// IO-07: everything that is not carried over is listed by name, with the number of samples.
#[test]
fn lost_parts_are_counted() {
    let mut with_tools = sample("a", 1, "x");
    with_tools["events"] = json!([{"event": "model"}]);
    with_tools["store"] = json!({"k": 1});
    with_tools["timelines"] = json!([[1]]);
    with_tools["sandbox"] = json!({"type": "docker"});
    with_tools["messages"] = json!([{"role": "tool", "content": "4"}]);
    with_tools["brand_new"] = json!(1);
    let (mut second, mut third) = (with_tools.clone(), sample("c", 1, "x"));
    second["id"] = json!("b");
    third["events"] = json!([]);
    let imported = import_samples(&[with_tools, second, third]);
    let mut dropped = imported.dropped();
    dropped.sort_unstable();
    assert_eq!(
        dropped,
        [
            ("brand_new", "samples[*].brand_new", 2),
            ("events", "samples[*].events", 2),
            ("sandbox", "samples[*].sandbox", 2),
            ("store", "samples[*].store", 2),
            ("timelines", "samples[*].timelines", 2),
            ("tools", "samples[*].messages", 2),
        ]
    );
}

/// IO-07: scorers that Karat has are computed again, beside the given scores.
#[test]
fn known_scorers_are_computed_again() {
    let mut log = log(&[sample("a", 1, "x")]);
    log["eval"]["scorers"] = json!([
        {"name": "includes", "options": {"ignore_case": false}}, {"name": "inspect_ai/exact"}, {"name": "f1"}, {"name": "match"}
    ]);
    let imported = import_log("log.json", log.to_string().as_bytes()).unwrap();
    let suite = imported.suite();
    assert_eq!(
        suite["scorers"]["includes"],
        json!({"metric": "contains", "with": {"need": "any", "ignore_case": false}})
    );
    assert_eq!(suite["scorers"]["exact"], json!({"metric": "exact", "with": {"squad": true}}));
    assert_eq!(suite["scorers"]["f1"], json!({"metric": "token_f1"}));
    assert_eq!(suite["scorers"].get("match"), None);
    let approximate: Vec<_> = imported.report.approximate.iter().map(|it| it.construct.as_str()).collect();
    assert_eq!(approximate, ["exact", "f1"]);
}

/// IO-07: epochs are reduced as the logs say; of one that does it in another way, no figure is compared.
#[test]
fn epochs_are_reduced_as_in_the_logs() {
    let log_with = |reducer: Value| {
        let mut log = log(&[sample("a", 1, "x"), sample("a", 2, "x")]);
        log["eval"]["config"] = json!({"epochs": 2, "epochs_reducer": reducer});
        log["results"] = json!({"scores": [{"name": "s", "scorer": "s", "metrics": {"accuracy": {"value": 1.0}}}]});
        log.to_string().into_bytes()
    };
    let (max, mean, lacking) = (log_with(json!(["max"])), log_with(json!(null)), log_with(json!(["at_least_2"])));
    let imported = import_log("log.json", &max).unwrap();
    assert_eq!(imported.suite()["scorers"]["given_s"]["reduce"], "max");
    assert_eq!(imported.suite()["run"]["trials"], 2);
    assert_eq!(figures(&imported), [("m", "given_s", 1.0)]);
    let imported = import_log("log.json", &lacking).unwrap();
    assert!(figures(&imported).is_empty());
    assert!(imported.notes()[0].contains("figures are not compared"), "{:?}", imported.notes());
    let imported = import_files(ImportKind::Inspect, &[("1.json", &max), ("2.json", &mean)], "").unwrap();
    assert_eq!(imported.suite()["scorers"]["given_s"].get("reduce"), None);
    assert_eq!(figures(&imported), [("m#2", "given_s", 1.0)]);
}

/// IO-01, IO-07: files that are not logs, or damaged, are refused with the place and advice.
#[test]
fn bad_files_are_refused() {
    let whole = fs::read(fixture("inspect/capitals-zstd.eval")).unwrap();
    let cut = whole[..whole.len() / 2].to_vec();
    let mut damaged = whole.clone();
    damaged[1200] ^= 0xff;
    let mut old = header("t", "m");
    old["version"] = json!(1);
    let old = old.to_string();
    let deep = format!("{{\"version\": 2, \"eval\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let no_id = log(&[json!({"input": "?"})]).to_string();
    let cases: [(&str, &[u8], &str); 9] = [
        ("cut.eval", &cut, ", byte 11927: ends without the directory of a ZIP archive"),
        ("damaged.eval", &damaged, ", byte"),
        ("old.json", old.as_bytes(), "is a log of version 1; versions 2 and 3 are read"),
        ("deep.json", deep.as_bytes(), ":1: is not valid JSON: recursion limit exceeded"),
        ("half.json", b"{\"version\": 2,\n \"eval\": {", ":2: is not valid JSON"),
        ("list.json", b"[]", "is not a log of Inspect"),
        ("other.json", b"{\"version\": 3}", "is not a log of Inspect"),
        ("lfs.eval", b"version https://git-lfs.github.com/spec/v1\noid", ":1: is a pointer of Git LFS"),
        ("no-id.json", no_id.as_bytes(), "samples[0]: has the `id` null"),
    ];
    for (name, bytes, expected) in cases {
        let error = import_log(name, bytes).err().unwrap_or_else(|| panic!("{name} is imported"));
        assert!(error.to_string().contains(expected), "{name}: {error}");
        if !matches!(name, "deep.json" | "half.json" | "damaged.eval" | "no-id.json") {
            assert!(error.hint().is_some(), "{name} has no advice");
        }
    }
}

/// IO-01: members that are much larger than they are in the archive are refused, whatever size is declared.
#[test]
fn zip_bombs_are_refused() {
    let zeros = vec![b' '; 4 << 20];
    let honest = Member::zstd("samples/a_epoch_1.json", &zeros);
    let mut lying = Member::zstd("samples/a_epoch_1.json", &zeros);
    lying.size = 100;
    for (member, expected) in
        [(honest, "1000 times its compressed size"), (lying, "larger than its declared uncompressed size")]
    {
        let file = archive(&[Member::json("header.json", &header("t", "m")), member]);
        let error = import_log("bomb.eval", &file).err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains(", byte "), "{error}");
    }
}

/// IO-01: an archive with a compression that no Inspect writes is refused by name.
#[test]
fn other_compressions_are_refused() {
    let content = header("t", "m").to_string();
    let mut member = Member::zstd("header.json", content.as_bytes());
    member.method = 12;
    let error = import_log("log.eval", &archive(&[member])).err().unwrap();
    assert!(error.to_string().contains("the member `header.json` cannot be read"), "{error}");
}

/// IO-07: an epoch beyond any run is refused, and not planned.
#[test]
fn huge_epochs_are_refused() {
    let bytes = log(&[sample("a", 4_000_000_000, "x")]).to_string();
    let error = import_log("a.json", bytes.as_bytes()).err().unwrap().to_string();
    assert!(error.contains("has the trial 4000000000 of `a`; expected at most 10000"), "{error}");
}

/// F95: a metadata key that is null throughout is not a column of slices; without a target nothing is computed again.
#[test]
fn null_metadata_and_absent_targets_are_read() {
    let log = json!({"version": 3, "status": "success",
        "eval": {"task": "t", "model": "m", "dataset": {}, "config": {}, "scorers": [{"name": "includes", "options": {}}]},
        "results": {"scores": [{"name": "includes", "scorer": "includes", "metrics": {"accuracy": {"name": "accuracy", "value": 1.0}}}]},
        "samples": [{"id": 1, "epoch": 1, "input": "q", "target": "", "metadata": {"note": null, "level": "hard"},
                     "output": {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
                     "scores": {"includes": {"value": "C"}}}]});
    let imported = import_files(ImportKind::Inspect, &[("l.json", log.to_string().as_bytes())], "l.json").unwrap();
    let suite = imported.suite();
    assert_eq!(suite["dataset"]["metadata"], json!(["level"]));
    let scorers: Vec<&String> = suite["scorers"].as_object().unwrap().keys().collect();
    assert_eq!(scorers, ["given_includes"]);
    assert!(imported.notes().iter().any(|note| note.contains("no sample has a target")), "{:?}", imported.notes());
}
