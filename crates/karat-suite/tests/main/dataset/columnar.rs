//! Parquet, Arrow, compressed files, tables with tabs, folders of Hugging Face datasets (IO-15).

use std::fs;
use std::path::Path;

use karat_suite::Overrides;
use serde_json::{Value, json};

use super::{minimal, samples};
use crate::world::World;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/interop/datasets");

/// A suite over a dataset, beside the fixtures below a folder.
fn world(dataset: &str, below: &str) -> World {
    let place = Path::new(FIXTURES).join(below);
    add(World::new(&[("karat.yaml", &minimal(dataset))]), &place)
}

fn add(world: World, place: &Path) -> World {
    if place.is_dir() {
        return fs::read_dir(place).unwrap().fold(world, |world, entry| add(world, &entry.unwrap().path()));
    }
    let name = place.strip_prefix(FIXTURES).unwrap().to_string_lossy().into_owned();
    world.with_bytes(&name, &fs::read(place).unwrap())
}

fn rows(world: &World) -> Vec<Value> {
    samples(world, &Overrides::default()).into_iter().map(|sample| Value::Object(sample.columns)).collect()
}

fn problems(dataset: &str, below: &str) -> String {
    world(dataset, below).problems(&Overrides::default())
}

/// IO-15: both files have the rows that DuckDB reads of them: lists, structs, dates, integers above 2^53, nulls.
#[test]
fn parquet_files_have_the_rows_that_others_read() {
    let expected = [
        json!({"id": "a", "question": "2+2?", "answer": "4", "tags": ["m"], "meta": {"k": 1, "w": 0.5}, "day": "2026-01-01", "n": 1}),
        json!({"id": "b", "question": "Capital of Peru?", "answer": "Lima", "tags": ["g", "s"], "meta": null, "day": "2026-01-02", "n": 1_152_921_504_606_846_976_u64}),
        json!({"id": "c", "question": null, "answer": "x", "tags": [], "meta": {"k": 3, "w": null}, "day": null, "n": null}),
    ];
    for file in ["types.snappy.parquet", "types.zstd.parquet"] {
        assert_eq!(rows(&world(&format!("{{ source: {file} }}"), file)), expected, "{file}");
    }
}

/// IO-15: gzip, dictionaries, times with and without a zone, lists of structs, names of labels.
#[test]
fn labels_times_and_nested_values_are_read() {
    let rows = rows(&world("{ source: labels.gzip.parquet }", "labels.gzip.parquet"));
    let first = json!({
        "id": "a", "big": 9_007_199_254_740_993_u64, "kind": "x", "at": "2026-01-02T03:04:05.678901Z",
        "local": "2026-01-02T03:04:05", "turns": [{"role": "user", "content": "hi"}], "label": "pos", "small": 0.1,
    });
    assert_eq!(rows[0], first);
    assert_eq!((&rows[1]["big"], &rows[1]["label"], &rows[1]["turns"]), (&json!(i64::MIN), &Value::Null, &json!([])));
}

/// F86, IO-15: a column of bytes is left out, and a file that is broken or cut is refused.
#[test]
fn binary_columns_are_left_out_and_broken_files_are_refused() {
    let rows = rows(&world("{ source: binary.parquet }", "binary.parquet"));
    assert!(!rows.is_empty() && rows.iter().all(|row| row.get("image").is_none()), "{rows:?}");
    let whole = fs::read(Path::new(FIXTURES).join("types.zstd.parquet")).unwrap();
    let suite = minimal("{ source: d.parquet }");
    let mut flipped = whole.clone();
    flipped[100..600].fill(0xff);
    for (bytes, told) in [
        (&whole[..whole.len() / 2], "not a valid Parquet file"),
        (&b"{}"[..], "not a valid Parquet file"),
        (&b""[..], "not a valid Parquet file"),
        (&flipped[..], "the dataset's file d.parquet cannot be used"),
    ] {
        let world = World::new(&[("karat.yaml", &suite)]).with_bytes("d.parquet", bytes);
        let problem = world.problems(&Overrides::default());
        assert!(problem.contains(told), "{problem}");
    }
}

/// IO-15: JSONL and tables may be compressed; the ending before `.gz` or `.zst` is the format.
#[test]
fn compressed_files_and_tabs_are_read() {
    let lines = "{\"id\": 1, \"q\": \"a\"}\n{\"id\": 2, \"q\": \"é\"}\n";
    let expected = [json!({"id": 1, "q": "a"}), json!({"id": 2, "q": "é"})];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, lines.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(lines.as_bytes(), 3).unwrap();
    for (name, bytes) in [("d.jsonl.gz", &gzip), ("d.jsonl.zst", &zstd)] {
        let suite = minimal(&format!("{{ source: {name}, id: id }}"));
        assert_eq!(rows(&World::new(&[("karat.yaml", &suite)]).with_bytes(name, bytes)), expected, "{name}");
    }
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl.gz }"))]);
    let cut = world.with_bytes("d.jsonl.gz", &gzip[..gzip.len() - 9]).problems(&Overrides::default());
    assert!(cut.contains("d.jsonl.gz cannot be read"), "{cut}");
    let open = World::new(&[("karat.yaml", &minimal("{ source: d.tsv }")), ("d.tsv", "id\tq\n1\t\"a\n2\tb\n")]);
    assert!(open.problems(&Overrides::default()).contains("never closed"));
    let tabs = World::new(&[("karat.yaml", &minimal("{ source: d.tsv }")), ("d.tsv", "id\tq\n1\ta, b\n")]);
    assert_eq!(rows(&tabs), [json!({"id": "1", "q": "a, b"})]);
    let commas = World::new(&[("karat.yaml", &minimal("{ source: d.tsv }")), ("d.tsv", "id,q\n1,a\n")]);
    let problem = commas.problems(&Overrides::default());
    assert!(problem.contains("say `format: csv`"), "{problem}");
}

/// IO-15: a folder as it is on the hub, and one that `save_to_disk` wrote; a split that is missing lists those there are.
#[test]
fn hugging_face_folders_are_read() {
    let expected = [json!({"question": "q1", "answer": "a1"}), json!({"question": "q2", "answer": "a2"})];
    for folder in ["hf-hub", "hf-saved"] {
        for with in ["", ", with: { split: test }", ", format: huggingface"] {
            let mut rows = rows(&world(&format!("{{ source: {folder}{with} }}"), folder));
            // Rows without an id get a hash of their content.
            rows.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("id")));
            assert_eq!(rows, expected, "{folder}{with}");
        }
        let problem = problems(&format!("{{ source: {folder}, with: {{ split: tests }} }}"), folder);
        assert!(problem.contains(&format!("{folder} has no split `tests`; it has test")), "{problem}");
        assert!(problem.contains("did you mean `test`"), "{problem}");
    }
    let problem = problems("{ source: hf-hub, with: { config: other } }", "hf-hub");
    assert!(problem.contains("no configuration `other`; it has default"), "{problem}");
}

const CARD: &str = r#"---
configs:
- config_name: small
  data_files:
  - split: train
    path: small/**/train-*.jsonl
  - split: test
    path: [small/test.jsonl, small/more/test2.jsonl]
- config_name: large
  data_files: "large/*.jsonl"
dataset_info:
- config_name: small
  features:
  - name: label
    dtype:
      class_label:
        names: { '0': neg, '1': pos }
---
A card.
"#;

/// IO-15: configurations, splits and patterns of a card; a path that leads out is refused.
#[test]
fn a_card_lists_configurations_and_splits() {
    let world = |with: &str, card: &str| {
        World::new(&[
            ("karat.yaml", &minimal(&format!("{{ source: d, with: {{ {with} }} }}"))),
            ("d/README.md", card),
            ("d/small/a/b/train-1.jsonl", "{\"id\": 1, \"label\": 1}"),
            ("d/small/train-0.jsonl", "{\"id\": 0, \"label\": 0}"),
            ("d/small/test.jsonl", "{\"id\": 2}"),
            ("d/small/more/test2.jsonl", "{\"id\": 3}"),
            ("d/large/x.jsonl", "{\"id\": 9}"),
            ("secret.jsonl", "{\"id\": 1}"),
        ])
    };
    let ids = |with: &str| rows(&world(with, CARD)).iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!(ids("config: small, split: train"), [1, 0]);
    assert_eq!(ids("config: small, split: test"), [2, 3]);
    assert_eq!(ids("config: large"), [9]);
    let labelled = rows(&world("config: small, split: train", CARD));
    assert_eq!(labelled[0]["label"], "pos");
    let none = world("", CARD).problems(&Overrides::default());
    assert!(none.contains("several configurations: small, large"), "{none}");
    let several = world("config: small", CARD).problems(&Overrides::default());
    assert!(several.contains("several splits: train, test") && several.contains("split: train"), "{several}");
    for path in ["../secret.jsonl", "/etc/*.jsonl", "small/../../secret.jsonl", "hf://datasets/x"] {
        let card = format!("---\nconfigs:\n- config_name: default\n  data_files: \"{path}\"\n---\n");
        let problem = world("", &card).problems(&Overrides::default());
        assert!(problem.contains("leads out of the folder"), "{path}: {problem}");
    }
}

/// F86: tables of spreadsheets, UTF-16, a list within an object, lines named .json, NaN and YAML have the rows that they mean.
#[test]
fn unusual_forms_are_read() {
    let utf16 = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let expected = [json!({"id": "1", "q": "ä, b"}), json!({"id": "2", "q": "c"})];
    for (name, bytes) in [
        ("d.csv", b"id;q\n1;\xc3\xa4, b\n2;c\n".to_vec()),
        ("d.csv", "\u{feff}id\tq\n1\tä, b\n2\tc\n".as_bytes().to_vec()),
        ("d.csv", "id,q\r\n1,\"ä, b\"\r\n2,c\r\n,\r\n\r\n,\r\n".as_bytes().to_vec()),
        ("d.csv", utf16("id;q\n1;ä, b\n2;c\n")),
        ("d.json", utf16("[{\"id\": \"1\", \"q\": \"ä, b\"}, {\"id\": \"2\", \"q\": \"c\"}]")),
        (
            "d.json",
            "{\"data\": [{\"id\": \"1\", \"q\": \"ä, b\"},\n{\"id\": \"2\", \"q\": \"c\"}], \"total\": 2}"
                .as_bytes()
                .to_vec(),
        ),
        ("d.json", "{\"id\": \"1\", \"q\": \"ä, b\"}\n{\"id\": \"2\", \"q\": \"c\"}\n".as_bytes().to_vec()),
        ("d.yaml", "- id: \"1\"\n  q: ä, b\n- { id: \"2\", q: c }\n".as_bytes().to_vec()),
        ("d.yml", "rows:\n  - { id: \"1\", q: \"ä, b\" }\n  - { id: \"2\", q: c }\n".as_bytes().to_vec()),
    ] {
        let world = World::new(&[("karat.yaml", &minimal(&format!("{{ source: {name} }}")))]).with_bytes(name, &bytes);
        assert_eq!(rows(&world), expected, "{name}: {}", String::from_utf8_lossy(&bytes));
    }
    for (name, text, told) in [
        ("d.csv", "id,q\n1,a,b\n", "this row has 3 cells"),
        ("d.csv", "id,q\n,\n1,a\n", "the id is empty"),
        ("d.json", "{\"a\": [{\"id\": 1}], \"b\": [{\"id\": 2}]}", "several lists of rows: `a`, `b`"),
        ("d.yaml", "a: 1\n", "expected a list of rows"),
        ("d.xlsx", "PK", "save the sheet as CSV"),
        ("d.jsonl.bz2", "BZh", "unpack it first"),
    ] {
        let suite = minimal(&format!("{{ source: {name} }}"));
        let problem = World::new(&[("karat.yaml", &suite), (name, text)]).problems(&Overrides::default());
        assert!(problem.contains(told), "{name}: {problem}");
    }
}
