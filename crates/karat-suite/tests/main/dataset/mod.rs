//! Datasets: forms, roles, columns, schemas, checks, selection.

mod columnar;
mod dated;
mod shards;
mod traces;

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use karat_suite::{Files, Overrides, Registry, Severity, Suite};
use karat_types::Sample;
use serde_json::json;

use crate::world::{World, catalog};

const CORPUS_SCHEMA: &str = r#"{
  "type": "object",
  "required": ["videoId", "title", "expectedClaimDensity"],
  "properties": {
    "videoId": { "type": "string", "minLength": 1 },
    "durationMinutes": { "type": "number" },
    "expectedClaimDensity": { "enum": ["low", "medium", "high"] },
    "captionSource": { "enum": ["manual", "auto", "unknown"], "default": "unknown" },
    "golden": {
      "properties": {
        "idealClaims": { "items": { "type": "object", "x-main": "text", "required": ["text"] } }
      }
    }
  }
}"#;

const CORPUS: &str = r#"[
  { "videoId": "v1", "title": "One", "durationMinutes": 12, "expectedClaimDensity": "low" },
  { "videoId": "v2", "title": "Two", "durationMinutes": 95, "expectedClaimDensity": "high", "captionSource": "auto" }
]"#;

const CLAIMS: &str = r#"name: claims
params: { corpus: { path: data/corpus.json }, transcripts: { path: data/transcripts } }
dataset:
  source: "{{ params.corpus }}"
  row_schema: schemas/entry.json
  id: videoId
  cluster: title
  metadata: [captionSource, durationMinutes]
  columns:
    transcript: { file: "{{ params.transcripts }}/{{ sample.videoId }}.json" }
    golden: { lookup: data/golden.json, on: videoId, missing: empty }
    heading: "{{ sample.title | upper }}"
  checks:
    - { name: one short video, where: sample.durationMinutes < 30, min: 1 }
    - { name: no empty transcript, where: sample.transcript.fullText | length == 0, max: 0 }
variants: { same: [ { recorded: { column: $.transcript.fullText } } ] }
"#;

fn claims() -> World {
    World::new(&[
        ("karat.yaml", CLAIMS),
        ("schemas/entry.json", CORPUS_SCHEMA),
        ("data/corpus.json", CORPUS),
        ("data/golden.json", r#"[{ "videoId": "v1", "idealClaims": ["bare", { "text": "whole" }] }]"#),
        ("data/transcripts/v1.json", r#"{ "videoId": "v1", "fullText": "aaa" }"#),
        ("data/transcripts/v2.json", r#"{ "videoId": "v2", "fullText": "bbb" }"#),
    ])
}

/// BY-15: tables as spreadsheets write them are read, or it is said what to save them as.
#[test]
fn tables_of_other_forms_are_told() {
    let said = |table: &str| {
        let world = World::new(&[("karat.yaml", &minimal("{ source: d.csv, id: id }")), ("d.csv", table)]);
        match world.load(&Overrides::default()).and_then(|suite| suite.plan()) {
            Ok(plan) => format!("{} rows", plan.header.dataset.rows),
            Err(problems) => problems.plain(),
        }
    };
    assert_eq!(said("\u{feff}id,q\r\na,\"x, \"\"y\"\"\r\nz\"\r\nb,1\r\n"), "2 rows");
    assert_eq!(said("id;q\na;1\n"), "1 rows");
    assert_eq!(said("id\tq\na\t1\n"), "1 rows");
    assert!(said("id;q\tr\na;1\t2\n").contains("save the table with commas"));
    assert!(said("id,q\na,1,2\n").contains("in double quotes"));
    assert_eq!(said("id\na\n"), "1 rows");
}

/// Rows are told apart by their place in the source: several may stand in one line.
#[test]
fn ids_differ_within_a_line_too() {
    let said = |dataset: &str, table: &str| {
        let world = World::new(&[("karat.yaml", &minimal(dataset)), ("d.json", table)]);
        world.load(&Overrides::default()).err().map(|problems| problems.plain()).unwrap_or_default()
    };
    let inline = said("{ rows: [ { id: a, q: x }, { id: b, q: x }, { id: b, q: y } ], id: id }", "");
    assert!(inline.contains("duplicate id `b`"), "{inline}");
    assert!(inline.contains("row 2 of the dataset has it; ids must be unique"), "{inline}");
    let minified = said("{ source: d.json, id: id }", r#"[{"id":"a","q":"x"},{"id":"a","q":"y"}]"#);
    assert!(minified.contains("duplicate id `a`"), "{minified}");
    let equal = said("{ rows: [ { input: x }, { input: x } ] }", "");
    assert!(equal.contains("rows 1 and 2 are equal"), "{equal}");
    assert_eq!(said("{ rows: [ { id: a }, { id: b } ], id: id }", ""), "");
}

/// Rule 1 of the language: an id is a name. Other values of a row are what YAML says, as long as no digit is lost.
#[test]
fn ids_of_inline_rows_stay_as_they_are_written() {
    let rows = "{ rows: [ { id: 007, zip: 01234, n: 1.50 }, { id: 1.10 }, { id: no }, { id: 0x1F }, { id: 5 } ] }";
    let world = World::new(&[("karat.yaml", &minimal(rows))]);
    let samples = samples(&world, &Overrides::default());
    assert_eq!(samples.iter().map(|it| &*it.id).collect::<Vec<_>>(), ["007", "1.10", "no", "0x1F", "5"]);
    assert_eq!(serde_json::Value::from(samples[0].columns.clone()), json!({ "id": "007", "zip": "01234", "n": 1.5 }));
    assert_eq!(samples[4].columns["id"], json!(5));
    let named = World::new(&[("karat.yaml", &minimal("{ rows: [ { key: 1.10, id: x } ], id: $.key }"))]);
    assert_eq!(&*self::samples(&named, &Overrides::default())[0].id, "1.10");
}

/// Rule 1 of the language: so are those of JSON files, whatever JSON makes of the number.
#[test]
fn ids_of_json_files_stay_as_they_are_written() {
    let rows = [
        r#"{"n":1.1,"id":1.10}"#,
        r#"{"id":1.1}"#,
        r#"{"id":12345678901234567890123}"#,
        r#"{"id":1e2}"#,
        r#"{"id":"1.0"}"#,
        r#"{"id":7}"#,
    ];
    let ids = ["1.10", "1.1", "12345678901234567890123", "1e2", "1.0", "7"];
    let found = |dataset: &str, file: &str, text: &str| {
        let world = World::new(&[("karat.yaml", &minimal(dataset)), (file, text)]);
        samples(&world, &Overrides::default()).iter().map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("{ source: d.jsonl }", "d.jsonl", &rows.join("\n")), ids);
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl }")), ("d.jsonl", &rows.join("\n"))]);
    let shown = samples(&world, &Overrides::default()).iter().map(|it| it.columns["id"].clone()).collect::<Vec<_>>();
    let long = serde_json::from_str("12345678901234567890123").unwrap();
    assert_eq!(shown, [json!("1.10"), json!("1.1"), long, json!("1e2"), json!("1.0"), json!(7)]);
    assert_eq!(found("{ source: d.json, id: $.id }", "d.json", &format!("[\n{}\n]", rows.join(",\n"))), ids);
    let within = r#"{"meta":{"key":1.10,"n":1.10}}"#;
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl, id: $.meta.key }")), ("d.jsonl", within)]);
    let sample = &samples(&world, &Overrides::default())[0];
    assert_eq!((&*sample.id, &sample.columns["meta"]), ("1.10", &json!({ "key": "1.10", "n": 1.1 })));
}

/// A row's own check that has nothing to compare with is refused where it stands, before anything is called.
#[test]
fn checks_of_rows_need_something_to_compare_with() {
    let said = |check: &str| {
        let rows = format!(
            "{{\"id\":\"a\",\"target\":\"t\",\"assert\":[{{\"metric\":\"contains\"}}]}}\n{{\"id\":\"b\",\"assert\":[{check}]}}\n"
        );
        let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl }")), ("d.jsonl", &rows)]);
        world.load(&Overrides::default()).err().map(|problems| problems.plain()).unwrap_or_default()
    };
    for refused in ["", r#","value":null"#, r#","with":{"any":[]}"#, r#","with":{"ignore_case":true}"#] {
        let said = said(&format!(r#"{{"metric":"contains"{refused}}}"#));
        assert!(said.contains("`contains` in `assert` has nothing to compare with (sample `b`)"), "{refused}: {said}");
        assert!(said.contains("d.jsonl:2:"), "{said}");
    }
    for fine in [r#""value":"x""#, r#""reference":"id""#, r#""with":{"any":["x"]}"#] {
        assert_eq!(said(&format!(r#"{{"metric":"contains",{fine}}}"#)), "");
    }
    assert_eq!(said(r#"{"metric":"latency","max":9}"#), "");
}

/// Any id can be asked for: a text with commas is an id where a sample has it, else a list.
#[test]
fn ids_with_commas_can_be_asked_for() {
    let rows = "{ rows: [ { id: \"a,b\" }, { id: a }, { id: c }, { id: d } ], id: id }";
    let world = World::new(&[("karat.yaml", &minimal(rows))]);
    let asked = |texts: &[&str]| {
        let texts = texts.iter().map(|it| (*it).to_owned()).collect();
        let overrides = Overrides { samples: texts, ..Overrides::default() };
        (samples(&world, &overrides).iter().map(|it| it.id.to_string()).collect::<Vec<_>>(), overrides)
    };
    assert_eq!(asked(&["a,b"]).0, ["a,b"]);
    assert_eq!(asked(&["a,c"]).0, ["a", "c"]);
    assert_eq!(asked(&["d,a", "a,b"]).0, ["a,b", "a", "d"]);
    let hash = |texts: &[&str]| world.plan(&asked(texts).1).header.plan_hash;
    assert_eq!(hash(&["a,c"]), hash(&["a", "c"]));
    let unknown = Overrides { samples: vec!["a,x".to_owned()], ..Overrides::default() };
    assert!(world.problems(&unknown).contains("no sample `x`"));
}

fn samples(world: &World, overrides: &Overrides) -> Vec<Sample> {
    world.plan(overrides).rows().collect::<Result<_, _>>().unwrap()
}

fn minimal(dataset: &str) -> String {
    format!("name: x\ndataset: {dataset}\nvariants: {{ same: [ {{ recorded: {{ column: $ }} }} ] }}\n")
}

/// CL-01, CL-02, CL-08: corpus with defaults, transcripts from a folder, golden annotations in their old shape.
#[test]
fn a_corpus_with_transcripts_and_annotations() {
    let samples = samples(&claims(), &Overrides::default());
    assert_eq!(samples[0].columns["transcript"]["fullText"], "aaa");
    assert_eq!(samples[0].columns["golden"]["idealClaims"], json!([{ "text": "bare" }, { "text": "whole" }]));
    assert_eq!(samples[1].columns["golden"], json!(null));
    assert_eq!(samples[1].columns["heading"], "TWO");
    assert_eq!(samples[0].metadata["captionSource"], "unknown");
    assert_eq!(samples[1].cluster.as_deref(), Some("Two"));
    assert_eq!(samples[0].columns["id"], "v1");

    let warnings = claims().load(&Overrides::default()).unwrap().warnings().clone();
    assert!(warnings.iter().all(|warning| warning.severity == Severity::Notice));
    insta::assert_snapshot!(warnings.to_string());
}

/// CL-01: errors name file, line, field and expectation.
#[test]
fn a_bad_field_is_named_with_its_line() {
    let wrong = CORPUS.replace("\"high\"", "\"huge\"").replace("\"title\": \"One\"", "\"titel\": \"One\"");
    insta::assert_snapshot!(claims().with("data/corpus.json", &wrong).problems(&Overrides::default()));
}

/// RG-01: everything that is wrong with a row is told at once.
#[test]
fn every_problem_of_a_row_is_told() {
    let wrong = CORPUS.replace("\"high\"", "\"huge\"").replace("95", "\"long\"").replace("\"auto\"", "\"none\"");
    let said = claims().with("data/corpus.json", &wrong).problems(&Overrides::default());
    for field in ["expectedClaimDensity", "durationMinutes", "captionSource"] {
        assert!(said.contains(&format!("`{field}` does not match its schema")), "{said}");
    }
}

/// CL-08: what is wrong with annotations is told where they stand, not where the video does.
#[test]
fn a_bad_annotation_is_named_with_its_own_line() {
    let golden = "[\n  { \"videoId\": \"v1\", \"idealClaims\": [\"bare\"] },\n  { \"videoId\": \"v2\", \"idealClaims\": [{ \"txt\": 1 }] }\n]";
    let said = claims().with("data/golden.json", golden).problems(&Overrides::default());
    assert!(said.contains("`golden.idealClaims.0` has no `text`"), "{said}");
    assert!(said.contains("data/golden.json:3:") && !said.contains("corpus.json"), "{said}");
}

/// CL-02: a missing and an empty transcript are errors.
#[test]
fn missing_and_empty_transcripts_are_errors() {
    let world = claims().with("data/transcripts/v1.json", "{}").with("data/transcripts/v2.json", "not json");
    insta::assert_snapshot!(world.problems(&Overrides::default()));
}

/// CL-08: annotations of a sample that the dataset does not have are named once; of a part of it nobody can say.
#[test]
fn annotations_of_no_sample_are_named() {
    let golden = r#"[{ "videoId": "v1", "idealClaims": [] },
 { "videoId": "v9", "idealClaims": [] }, { "videoId": "v8", "idealClaims": [] }]"#;
    let world = claims().with("data/golden.json", golden);
    let said = world.load(&Overrides::default()).unwrap().warnings().to_string();
    let place = "golden.json:2:2";
    assert!(
        said.contains("belongs to the sample \"v9\"") && said.contains("; 1 more") && said.contains(place),
        "{said}"
    );
    let part = Overrides { samples: vec!["v1".to_owned()], ..Overrides::default() };
    assert!(!world.load(&part).unwrap().warnings().to_string().contains("belongs to the sample"));
}

/// CL-01: corpus rules are checks of the dataset; a selection does not break them.
#[test]
fn checks_count_all_rows_whatever_is_selected() {
    let world = claims().with("karat.yaml", &CLAIMS.replace("where: sample.durationMinutes < 30, min: 1", "min: 3"));
    insta::assert_snapshot!(world.problems(&Overrides::default()));
    let one = Overrides { samples: vec!["v2".to_owned()], ..Overrides::default() };
    assert_eq!(samples(&claims(), &one).iter().map(|sample| &*sample.id).collect::<Vec<_>>(), ["v2"]);
    let first = Overrides { limit: Some(1), ..Overrides::default() };
    assert_eq!(samples(&claims(), &first).len(), 1);
}

/// CL-07: the content of a column's file is part of the dataset's identity, its path is not.
#[test]
fn the_dataset_hash_holds_contents() {
    let hash = |world: &World| world.plan(&Overrides::default()).header.dataset.hash.clone();
    let base = hash(&claims());
    assert_ne!(hash(&claims().with("data/transcripts/v2.json", r#"{ "videoId": "v2", "fullText": "ccc" }"#)), base);
    assert_ne!(hash(&claims().with("data/golden.json", r#"[{ "videoId": "v1", "idealClaims": [] }]"#)), base);
    let moved = claims()
        .with(
            "karat.yaml",
            &CLAIMS.replace("data/corpus.json", "elsewhere/c.json").replace("data/golden.json", "g.json"),
        )
        .with("elsewhere/c.json", CORPUS)
        .with("g.json", r#"[{ "videoId": "v1", "idealClaims": ["bare", { "text": "whole" }] }]"#);
    assert_eq!(hash(&moved), base);
}

/// F5, F6: a schema makes numbers of cells, also of those that 64 bits do not hold.
#[test]
fn csv_cells_take_the_types_of_the_schema() {
    let schema = r#"{ "properties": { "n": { "type": "integer" }, "ok": { "type": "boolean" }, "text": { "type": "string" } } }"#;
    let world = World::new(&[
        ("karat.yaml", &minimal("{ source: d.csv, row_schema: s.json, where: sample.n > 1 }")),
        ("s.json", schema),
        ("d.csv", "id,n,ok,text\na,1,true,x\nb,2,false,007\nc,123456789012345678901,,\"y, \"\"z\"\"\"\n"),
    ]);
    let samples = samples(&world, &Overrides::default());
    assert_eq!(json!(samples[0].columns), json!({ "id": "b", "n": 2, "ok": false, "text": "007" }));
    let long = karat_types::json::parse("123456789012345678901").unwrap();
    assert_eq!(json!(samples[1].columns), json!({ "id": "c", "n": long, "text": "y, \"z\"" }));
    assert_eq!((samples[0].row, samples[1].row), (0, 1));
    insta::assert_snapshot!(world.with("d.csv", "id,n\na,1\nb\n").problems(&Overrides::default()));
}

/// A quote that is never closed takes all rows behind it into its cell: nobody loses them unawares, not even where
/// broken rows are reported.
#[test]
fn a_quote_that_never_ends_hides_no_row() {
    let rows =
        |bad: &str| format!("id,q\na,1\nb,{bad}\n") + &(0..9_000).map(|n| format!("r{n},x\n")).collect::<String>();
    for dataset in ["{ source: d.csv }", "{ source: d.csv, broken: report }"] {
        for bad in ["\"2", "\"2\n3", "\"2,5", "\"\"\"2"] {
            let world = World::new(&[("karat.yaml", &minimal(dataset)), ("d.csv", &rows(bad))]);
            let problems = world.problems(&Overrides::default());
            assert!(problems.contains("a quote in this line is never closed"), "{problems}");
            assert!(problems.contains("d.csv:3"), "{problems}");
        }
    }
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.csv }")), ("d.csv", &rows("\"2 \"\"or\"\" 3\""))]);
    assert_eq!(samples(&world, &Overrides::default()).len(), 9_002);
    assert!(world.with("d.csv", "id,\"q\na,1\n").problems(&Overrides::default()).contains("d.csv:1"));
}

/// A file that is not UTF-8 text says where it is none.
#[test]
fn bytes_that_are_no_text_have_a_line() {
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.json }"))]);
    let world = world.with_bytes("d.json", b"[\n {\"id\": \"a\"},\n {\"id\": \"\xe9\"}\n]");
    let problems = world.problems(&Overrides::default());
    assert!(problems.contains("d.json:3") && problems.contains("save the file as UTF-8"), "{problems}");
}

#[test]
fn rows_without_an_id_are_known_by_their_content() {
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl }")), ("d.jsonl", "{\"q\": 1}\n{\"q\": 2}\n")]);
    let first = samples(&world, &Overrides::default());
    let swapped = samples(&world.clone().with("d.jsonl", "{\"q\": 2}\n{\"q\": 1}\n"), &Overrides::default());
    assert_eq!((&first[0].id, &first[1].id), (&swapped[1].id, &swapped[0].id));
    assert_eq!(first[0].id.len(), 16);
}

#[test]
fn inline_rows_patterns_and_dates() {
    let inline = World::new(&[("karat.yaml", &minimal("{ rows: [{ id: 7, question: a, target: b }] }"))]);
    let sample = &samples(&inline, &Overrides::default())[0];
    assert_eq!(
        (&*sample.id, sample.input.as_ref(), sample.reference.as_ref()),
        ("7", Some(&json!("a")), Some(&json!("b")))
    );

    let world = World::new(&[
        ("karat.yaml", &minimal("{ source: \"logs/*.jsonl\", date: at, zone: Europe/Berlin }")),
        ("logs/b.jsonl", "{\"id\": \"2\", \"at\": \"2026-03-01T23:30:00Z\"}"),
        ("logs/a.jsonl", "{\"id\": \"1\", \"at\": \"2026-03-01\"}\n"),
        ("logs/notes.txt", "no"),
    ]);
    let samples = samples(&world, &Overrides::default());
    let dates: Vec<_> = samples.iter().map(|sample| (&*sample.id, sample.date.as_deref().unwrap())).collect();
    assert_eq!(dates, [("1", "2026-03-01"), ("2", "2026-03-02")]);
}

/// BR-10: a bad row is reported, and the rest goes on.
#[test]
fn a_broken_row_can_become_an_errored_sample() {
    let data = "{\"id\": \"a\"}\n{oops\n{\"id\": \"c\"}\n";
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl, broken: report }")), ("d.jsonl", data)]);
    let plan = world.plan(&Overrides::default());
    assert_eq!(plan.header.dataset.rows, 3);
    let rows: Vec<_> = plan.rows().collect();
    assert_eq!(rows[0].as_ref().unwrap().row, 0);
    let error = rows[1].as_ref().unwrap_err();
    assert_eq!((error.row, error.problem().line), (Some(1), 2));
    assert_eq!(rows[2].as_ref().unwrap().row, 2);
    insta::assert_snapshot!(plan.warnings.plain());
}

/// BR-10: the same of many: those that are not shown are warned of like the others.
#[test]
fn many_broken_rows_can_become_errored_samples() {
    let data = "[1, 2]\n".repeat(22) + "{\"id\": \"c\"}\n";
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl, broken: report }")), ("d.jsonl", &data)]);
    let plan = world.plan(&Overrides::default());
    assert_eq!((plan.header.dataset.rows, plan.rows().filter(Result::is_err).count()), (23, 22));
    let warnings = plan.warnings.plain();
    assert!(warnings.contains("21 more rows too: lines 2, 3, 4, 5, 6, …") && !warnings.contains("error"), "{warnings}");
}

/// PE-21: memory does not grow with the rows; a hundred thousand of them stream.
#[test]
fn many_rows_stream() {
    let data: String =
        (0..100_000).map(|index| format!("{{\"id\": \"{index}\", \"question\": \"q{index}\"}}\n")).collect();
    let world = World::new(&[("karat.yaml", &minimal("{ source: d.jsonl }")), ("d.jsonl", &data)]);
    let plan = world.plan(&Overrides::default());
    assert_eq!(plan.header.dataset.rows, 100_000);
    assert_eq!(plan.rows().nth(99_999).unwrap().unwrap().input, Some(json!("q99999")));
}

/// Rows without a cluster are counted aloud, since each is a cluster of its own; a list is not a cluster.
#[test]
fn rows_without_a_cluster_are_told() {
    let suite = minimal("{ source: d.jsonl, id: id, cluster: author }");
    let rows = |last: &str| format!("{{\"id\": 1, \"author\": \"a\"}}\n{{\"id\": 2, \"author\": \"\"}}\n{last}\n");
    let load = |last| World::new(&[("karat.yaml", &suite), ("d.jsonl", &rows(last))]).load(&Overrides::default());
    let fine = load("{\"id\": 3, \"author\": \"a\"}").unwrap().warnings().to_string();
    assert!(fine.contains("1 of 3 rows of the dataset name no cluster"), "{fine}");
    let refused = load("{\"id\": 3, \"author\": [\"a\"]}").err().unwrap().to_string();
    assert!(refused.contains("a cluster must be text or a number, not a list"), "{refused}");
}

/// FT-A1: a row may name a file beneath the folder that the suite's text names, and no other.
#[test]
fn a_row_leads_to_no_other_folder() {
    let suite = minimal("{ source: d.jsonl, id: id, columns: { text: { file: \"data/{{ sample.id }}.txt\" } } }");
    let files = |id: &str| format!("{{\"id\": \"{id}\"}}\n");
    let load = |id| {
        let world = World::new(&[("karat.yaml", &suite), ("d.jsonl", &files(id))]);
        world.with("secret.txt", "key").with("data/a.txt", "fine").load(&Overrides::default()).err()
    };
    assert!(load("a").is_none());
    let refused = load("../secret").unwrap().to_string();
    assert!(refused.contains("d.jsonl:1") && refused.contains("lies outside of the folder `data`"), "{refused}");
}

/// A folder whose dataset cannot be read to its end.
struct Breaking(World);

impl Files for Breaking {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.is_file(path)
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        self.open(&karat_suite::join_beneath(folder, path)?)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        Ok(Box::new(BufReader::new(io::Cursor::new(self.read(path)?).chain(Broken))))
    }
}

/// Bad input: a file of rows that breaks off is one error, wherever it does, and whether all of its rows are looked at
/// or not. It is not a bad row, which `broken: report` would let pass: nobody knows which rows there are behind it.
#[test]
fn a_file_that_breaks_off_is_one_error() {
    let problems = |source: &str, rows: &str, limit| {
        let files = Breaking(World::new(&[("karat.yaml", &minimal(source)), ("d.jsonl", rows)]));
        let overrides = Overrides { limit, ..Overrides::default() };
        Suite::load(Arc::new(files), "karat.yaml", &overrides, &catalog(), &Registry::builtin())
            .err()
            .unwrap()
            .to_string()
    };
    for rows in [1, 20_000] {
        let rows: String = (0..rows).map(|at| format!("{{\"id\": {at}, \"a\": \"some words of a row\"}}\n")).collect();
        for limit in [None, Some(1)] {
            let said = problems("{ source: d.jsonl, id: id }", &rows, limit);
            assert_eq!(said.matches("the disk is gone").count(), 1, "{said}");
            assert!(said.contains("d.jsonl cannot be read"), "{said}");
            let said = problems("{ source: d.jsonl, id: id, broken: report }", &rows, limit);
            assert!(said.contains("the file d.jsonl cannot be read: the disk is gone"), "{said}");
        }
    }
}

/// F18: a quote that is escaped with a backslash is an error with its line, and white space around a cell is none of it.
#[test]
fn cells_of_tables_are_as_they_were_meant() {
    let world = |file: &str, table: &str| {
        World::new(&[("karat.yaml", &minimal(&format!("{{ source: {file}, id: id }}"))), (file, table)])
    };
    for (file, table, line) in [
        ("d.csv", "id,q,a\n1,\"say \\\"hi\\\" now\",y\n2,plain,z\n", 2),
        ("d.csv", "id,q\n1,plain\n2,\"5\\\" pipe\"\n3,x\n", 3),
        ("d.csv", "id,q\n1,\"two\nlines\" and more\n", 3),
        ("d.csv", "id,\"q\" x\n1,y\n", 1),
        ("d.csv", "id,q\n1,\"a\"b", 2),
        ("d.tsv", "id\tq\n1\t\"He\" said\n", 2),
    ] {
        let told = world(file, table).problems(&Overrides::default());
        assert!(told.contains("text after a closing quote") && told.contains(&format!("{file}:{line}")), "{told}");
    }
    let rows =
        samples(&world("d.csv", "id , q, a\n 1, x y ,\" z \"\n2,  ,\"say \"\"hi\"\"\"\n"), &Overrides::default());
    let columns: Vec<_> = rows.into_iter().map(|row| serde_json::Value::Object(row.columns)).collect();
    assert_eq!(columns, [json!({"id": "1", "q": "x y", "a": " z "}), json!({"id": "2", "q": "", "a": "say \"hi\""})]);
}

/// F28: a byte order mark and line ends of Windows in prompts, columns and rubrics make no other prompt and no other value.
#[test]
fn marks_of_editors_are_dropped() {
    const SUITE: &str = "name: x\ndataset: { rows: [ { id: a, q: x } ], id: id, input: q, columns: { ctx: { file: \"ctx/{{ sample.id }}.txt\" } } }\n\
        models: [ { id: m, provider: stub } ]\njudges: [ { id: j, provider: stub } ]\nvariants: { v: [ { prompt: p.md } ] }\n\
        scorers: { q: { rubric: { file: r.yaml } } }\n";
    let plan = |with: fn(&str) -> String| {
        let texts = [
            ("p.md", "Hello {{ sample.q }}\n\nBye {{ sample.ctx }}\n"),
            ("ctx/a.txt", "one\ntwo\n"),
            ("r.yaml", "ask: |\n  Is it right?\n  Is it short?\n"),
        ];
        let world = World::new(&[("karat.yaml", SUITE)]);
        let world = texts.iter().fold(world, |world, (path, text)| world.with(path, &with(text)));
        let plan = world.plan(&Overrides::default());
        let rows: Vec<Sample> = plan.rows().collect::<Result<_, _>>().unwrap();
        let header = &plan.header;
        (serde_json::to_value((&header.variants, &header.scorers)).unwrap(), rows[0].columns["ctx"].clone())
    };
    let plain = plan(str::to_owned);
    assert_eq!(plain.1, "one\ntwo\n");
    assert_eq!(plan(|text| format!("\u{feff}{text}")), plain);
    assert_eq!(plan(|text| text.replace('\n', "\r\n")), plain);
    assert_eq!(plan(|text| format!("\u{feff}{}", text.replace('\n', "\r\n"))), plain);
}

/// F27: wherever a schema may stand, it may be `true` or in a provider's wrapper, has patterns of ECMA-262, and is named with
/// its place if it cannot be used.
#[test]
fn schemas_are_read_alike_everywhere() {
    const ROWS: &str = "rows: [ { id: a, o: x } ], id: id";
    const STEP: &str = "{ recorded: { column: o } }";
    let suite = |dataset: &str, step: &str, scorer: &str, more: &str| {
        format!("name: x\ndataset: {{ {dataset} }}\nvariants: {{ v: [ {step} ] }}\nscorers: {{ s: {scorer} }}\n{more}")
    };
    let exact = "{ metric: exact, value: x }";
    let stub = "models: [ { id: m, provider: stub } ]\n";
    let prompt = "{ prompt: { text: \"{{ sample.o }}\" }, parse: { schema: s.json } }";
    let looks = r#"{"type": "object", "properties": {"o": {"pattern": "^(?=.).*$"}}}"#;
    let wrapped = format!(r#"{{"name": "x", "strict": true, "schema": {looks}}}"#);
    let broken = r#"{"type": "object", "properties": {"o": {"pattern": "([a-z"}}}"#;
    let scorer = |schema: &str| format!("{{ metric: json_schema, with: {{ schema: {schema} }} }}");
    let row = |schema: &str| {
        let check = format!("{{ metric: json_schema, with: {{ schema: {schema} }} }}");
        suite(&format!("rows: [ {{ id: a, o: x, assert: [ {check} ] }} ], id: id"), STEP, exact, "")
    };
    let tool = |schema: &str| {
        let tools = format!("{stub}tools: {{ t: {{ about: x, input: {schema}, result: y }} }}\n");
        suite(ROWS, "{ prompt: { text: \"{{ sample.o }}\", tools: [t] } }", exact, &tools)
    };
    let calls = |schema: &str| {
        suite(ROWS, STEP, &format!("{{ metric: valid_calls, with: {{ tools: {{ t: {schema} }} }} }}"), "")
    };
    let load = |suite: &str, schema: &str| {
        World::new(&[("karat.yaml", suite), ("s.json", schema)]).load(&Overrides::default())
    };
    for (what, good) in [
        ("true", suite(ROWS, STEP, &scorer("true"), "")),
        ("true in a row", row("true")),
        ("a file", suite(ROWS, STEP, &scorer("s.json"), "")),
        ("inline", suite(ROWS, STEP, &scorer(&wrapped), "")),
        ("in a row", row(&wrapped)),
        ("row_schema", suite(&format!("{ROWS}, row_schema: s.json"), STEP, exact, "")),
        ("parse", suite(ROWS, prompt, exact, stub)),
        ("a tool", tool(&wrapped)),
        ("a tool's file", tool("s.json")),
        ("calls", calls(&wrapped)),
    ] {
        let loaded = load(&good, &wrapped);
        assert!(loaded.is_ok(), "{what}: {good}\n{}", loaded.err().unwrap().plain());
        let header =
            loaded.ok().unwrap().plan().unwrap_or_else(|problems| panic!("{}", problems.plain())).header.clone();
        let planned = serde_json::to_string(&(&header.scorers, &header.variants, &header.tools)).unwrap();
        assert!(!planned.contains("strict"), "{what}: {planned}");
    }
    for (what, bad, place) in [
        ("a file", suite(ROWS, STEP, &scorer("s.json"), ""), "karat.yaml:4"),
        ("inline", suite(ROWS, STEP, &scorer(broken), ""), "karat.yaml:4"),
        ("a number", suite(ROWS, STEP, &scorer("5"), ""), "karat.yaml:4"),
        ("in a row", row(broken), "karat.yaml:2"),
        ("a file in a row", row("s.json"), "karat.yaml:2"),
        ("row_schema", suite(&format!("{ROWS}, row_schema: s.json"), STEP, exact, ""), "karat.yaml:2"),
        ("parse", suite(ROWS, prompt, exact, stub), "karat.yaml:3"),
        ("a tool", tool(broken), "karat.yaml:6"),
        ("calls", calls(broken), "karat.yaml:4"),
    ] {
        let told = load(&bad, broken).err().unwrap_or_else(|| panic!("{what} can be used: {bad}")).plain();
        assert!(told.contains("is not a valid JSON Schema") && told.contains(place), "{what}: {told}");
    }
}
