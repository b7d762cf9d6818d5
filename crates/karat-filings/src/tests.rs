use std::collections::BTreeMap;
use std::io;

use super::*;
use karat_suite::{Files, join_beneath};

/// Files in memory.
struct Memory(BTreeMap<&'static str, &'static str>);

impl Files for Memory {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.as_bytes().to_vec())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let below = |path: &&str| path.strip_prefix(dir)?.strip_prefix('/')?.split('/').next().map(str::to_owned);
        let mut names: Vec<String> = self.0.keys().filter_map(below).collect();
        names.dedup();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names) }
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        self.open(&join_beneath(folder, path)?)
    }
}

const MANIFEST: &str = r#"{"chunk_id": "r-p2", "space": "text", "doc_type": "release", "quarter": "2025-Q2", "page": 2, "text": "Revenue rose."}
{"chunk_id": "r-t1", "space": "table", "doc_type": "release", "quarter": "2025-Q2", "page": 2, "table_id": "t1"}
{"chunk_id": "r-page2", "space": "page", "doc_type": "release", "quarter": "2025-Q2", "page": 2}
{"chunk_id": "c-1", "doc_type": "transcript", "quarter": "2025-Q2", "page": 4, "text": "We expect margins to hold.", "speaker": {"name": "Ada Lind"}, "answer_speakers": ["Ada Lind"]}
{"chunk_id": "c-2", "doc_type": "transcript", "quarter": "2025-Q2", "page": 4, "text": "Thank you."}
{"chunk_id": "c-3", "doc_type": "transcript", "quarter": "2025-Q2", "page": 5, "text": "Yes.", "speaker": {"name": "Bo Ek", "role": "CFO"}}
{"chunk_id": "c-4", "doc_type": "transcript", "quarter": "2025-Q2", "page": 6, "text": "Costs fell.", "speaker": "Cy Ode (COO)"}
{"chunk_id": "s-3", "space": "page", "doc_type": "slides", "quarter": "2025-Q2", "page": 3, "slide": 3, "title": "Orders"}
"#;
const TABLE: &str = r#"{"table_id": "t1", "scale": "million", "unit": "USD", "currency": "USD", "columns": ["Q2 2025", "Q1 2025"],
  "rows": [{"label": "Revenue", "values": [1234.5, 1200.0]}, {"label": "EBIT", "values": [-12.3, 98.7]},
    {"label": "Margin", "unit": "percent", "values": [41.8, 40.6]}, {"label": "Staff", "unit": "employees", "values": [4321, 4000]}]}"#;
const RATES: &str = r#"{"table_id": "t2", "scale": "million", "unit": "USD", "currency": "USD", "columns": ["Q2 2025", "Q1 2025"],
  "rows": [{"label": "Tax rate", "values": [23.1, 22.4]}, {"label": "Diluted EPS", "values": [0.39, 0.33]}, {"label": "Stores", "values": [512, 498]},
    {"label": "Gross margin", "values": [516.1, 501.2]}, {"label": "Cash", "values": ["3,400.5", "—"]}, {"label": "Debt", "values": ["(7)", "—"]}]}"#;

fn resolved(gold: Value) -> Resolved {
    let memory = Memory(BTreeMap::from([
        ("c/r/chunk_manifest.jsonl", MANIFEST),
        ("e/r/tables/t1.json", TABLE),
        ("e/r/tables/t2.json", RATES),
    ]));
    let row = json!({"gold": gold, "metadata": {"quarter": "2025-Q2"}});
    let mut all = Resolved { value: json!({}), mismatches: Vec::new() };
    for make in [relevant_chunks, expected_values] {
        let mut files = ResolverFiles::new(&memory);
        let filings = make(&["c", "e"].map(|folder| Some(folder.to_owned())), &mut files);
        assert_eq!(files.problems(), []);
        let found = filings.resolve(&row).unwrap();
        all.mismatches.extend(found.mismatches);
        let (Value::Object(all), Value::Object(found)) = (&mut all.value, found.value) else { panic!("objects") };
        all.extend(found);
    }
    all
}

/// RG-02: a citation's page, slide and table lead to the chunks of their spaces; value, unit and currency are found.
#[test]
fn places_lead_to_chunks() {
    let found = resolved(json!({
        "expected_value": 1.2345, "unit": "billion USD", "source_table_ids": ["t1"],
        "citations": [{"doc_type": "release", "quarter": "2025-Q2", "page": 2, "table_id": "t1"}]
    }));
    assert_eq!(found.mismatches, Vec::<String>::new());
    let of = |name: &str| found.value[name].clone();
    assert_eq!((of("text"), of("table"), of("page")), (json!(["r-p2"]), json!(["r-t1"]), json!(["r-page2"])));
    assert_eq!((of("expected_value"), of("currency")), (json!(1.2345), json!("USD")));
    let signed =
        resolved(json!({"expected_value": 1.2345, "unit": "billion", "currency": "$", "source_table_ids": ["t1"]}));
    assert_eq!(signed.mismatches, Vec::<String>::new());
    let slide = resolved(
        json!({"citations": [{"doc_type": "slides", "slide": 3}], "slides": [{"slide": 3, "title": "Sales"}]}),
    );
    assert_eq!(slide.value["page"], json!(["s-3"]));
    assert_eq!(slide.mismatches, ["slide 3 has not the gold's title"]);
}

/// RG-02: what the gold leaves out is filled from the cell that it names.
#[test]
fn a_named_cell_fills_the_gold() {
    let cell = json!({"row": "Revenue", "column": "Q1 2025"});
    let found = resolved(json!({"source_table_ids": ["t1"], "cell": cell}));
    let of = |name: &str| found.value[name].clone();
    assert_eq!((of("expected_value"), of("unit"), of("currency")), (json!(1200.0), json!("million USD"), json!("USD")));
    assert_eq!(found.mismatches, Vec::<String>::new());
}

/// RG-02: a value without a unit has that of its own row: as the row says, else as its label does, else the table's.
#[test]
fn the_unit_is_that_of_the_row() {
    for (value, unit, currency) in [
        (json!(41.8), json!("percent"), Value::Null),
        (json!(4321), json!("employees"), Value::Null),
        (json!(1234.5), json!("million USD"), json!("USD")),
        (json!(23.1), json!("percent"), Value::Null),
        (json!(0.39), json!("USD"), json!("USD")),
        (json!(512), json!("stores"), Value::Null),
        (json!(516.1), json!("million USD"), json!("USD")),
        (json!(3400.5), json!("million USD"), json!("USD")),
    ] {
        let found = resolved(json!({"expected_value": value, "source_table_ids": ["t1", "t2"]}));
        assert_eq!((&found.value["unit"], &found.value["currency"]), (&unit, &currency), "{value}");
        assert_eq!(found.mismatches, Vec::<String>::new(), "{value}");
    }
}

/// RG-02: a line of a manifest in a space that is none, or of a chunk that another line is, is warned of.
#[test]
fn odd_lines_of_a_manifest_are_told() {
    let manifest = "{\"chunk_id\": \"a\", \"space\": \"txt\"}\n{\"chunk_id\": \"a\", \"space\": \"text\"}\n";
    let memory = Memory(BTreeMap::from([("c/r/chunk_manifest.jsonl", manifest)]));
    let mut files = ResolverFiles::new(&memory);
    relevant_chunks(&[Some("c".to_owned()), None], &mut files);
    let said: Vec<String> = files.problems().iter().map(|problem| format!("{problem:?}")).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("line 1 says the space") && said[1].contains("line 2 repeats the chunk"), "{said:?}");
}

/// RG-02: each contradiction between gold and filings is reported once.
#[test]
fn mismatches_are_said() {
    let cases = [
        (json!({"expected_value": 9.9, "unit": "million USD", "source_table_ids": ["t1"]}), "is not in t1"),
        (
            json!({"expected_value": 1200, "unit": "million USD", "source_table_ids": ["t1"]}),
            "the expected value 1200 million USD is revenue of q1 2025",
        ),
        (
            json!({"expected_value": 1234.5, "unit": "million EUR", "source_table_ids": ["t1"]}),
            "the gold is in EUR, its table is in USD",
        ),
        (
            json!({"expected_value": 1234.5, "unit": "million USD", "currency": "EUR"}),
            "the gold is in EUR, its unit says USD",
        ),
        (
            json!({"expected_value": 1234.5, "unit": "million USD", "source_table_ids": ["t1"], "cell": {"row": "Revenue", "column": "Q1 2025"}}),
            "the expected value is 1234.5 million USD, but revenue of q1 2025 is 1200.0 million USD",
        ),
        (
            json!({"expected_value": 1234.5, "unit": "million", "currency": "EUR", "source_table_ids": ["t1"]}),
            "the gold is in EUR, its table is in USD",
        ),
        (json!({"source_table_ids": ["t9"]}), "there is no table t9"),
        (json!({"citations": [{"doc_type": "release", "page": 77}]}), "no chunk is at the citation release page 77"),
        (json!({"citations": [{"doc_type": "release"}]}), "names no page, slide or table"),
        (
            json!({"citations": [{"doc_type": "transcript", "page": 4}], "quote": {"text": "never said"}}),
            "holds the quote",
        ),
        (
            json!({"citations": [{"doc_type": "transcript", "page": 4}], "speakers": [{"name": "Bo Ek"}]}),
            "bo ek does not speak",
        ),
        (
            json!({"citations": [{"doc_type": "release", "page": 3, "table_id": "t1"}]}),
            "the table t1 is on page 2, not on the cited page 3",
        ),
        (
            json!({"citations": [{"doc_type": "transcript", "page": 4}], "quote": {"text": "margins to hold", "page": 9}}),
            "the quote is on page 4, not on page 9",
        ),
        (
            json!({"citations": [{"doc_type": "transcript", "page": 4}], "quote": {"text": "margins to hold", "speaker": "Bo Ek"}}),
            "the quote is by ada lind, not by bo ek",
        ),
        (
            json!({"citations": [{"doc_type": "transcript", "page": 5}], "speakers": [{"name": "Bo Ek", "role": "CEO"}]}),
            "bo ek is cfo in the gold's chunks, not ceo",
        ),
        (json!({"expected_value": 12.3, "unit": "million USD", "source_table_ids": ["t1"]}), "is not in t1"),
        (json!({"expected_value": 41.9, "source_table_ids": ["t1"]}), "has no unit and is not in t1"),
        (
            json!({"source_table_ids": ["t1"], "cell": {"row": "Costs", "column": "Q1 2025"}}),
            "no source table has the cell",
        ),
        (
            json!({"source_table_ids": ["t2"], "cell": {"row": "Debt", "column": "Q1 2025"}}),
            r#"holds "—", which is not a number"#,
        ),
        (json!({"speakers": [{"name": "Nobody Here", "role": "CEO"}]}), "nobody here speaks in no filing"),
        (
            json!({"citations": [{"doc_type": "transcript", "page": 6}], "speakers": [{"name": "Cy Ode", "role": "CEO"}]}),
            "cy ode is coo in the gold's chunks, not ceo",
        ),
    ];
    for (gold, said) in cases {
        let found = resolved(gold.clone()).mismatches;
        assert!(found.len() == 1 && found[0].contains(said), "{gold}: {found:?}");
    }
}

/// RG-07: the gold's chunk names who answered; a quote distinguishes it from its neighbours.
#[test]
fn a_quote_leads_to_who_answered() {
    let citation = json!({"doc_type": "transcript", "quarter": "2025-Q2", "page": 4});
    let found = resolved(json!({
        "citations": [citation], "quote": {"text": "margins to hold"}, "speakers": [{"name": "Ada Lind", "role": "CFO"}]
    }));
    assert_eq!((&found.value["text"], &found.value["answer_speakers"]), (&json!(["c-1"]), &json!(["Ada Lind"])));
    assert_eq!(found.mismatches, Vec::<String>::new());
    assert_eq!(
        (&found.value["qa_chunks"], &found.value["speakers"]),
        (&json!([]), &json!([{"name": "Ada Lind"}, "Ada Lind", {"name": "Bo Ek", "role": "CFO"}, "Cy Ode (COO)"]))
    );
    let bare = resolved(json!({"speakers": [{"name": "Ada Lind"}]}));
    assert_eq!(bare.value["qa_chunks"][0]["chunk_id"], "c-1");
}

/// RG-02: of tables with one id in several documents the gold's is that of the document that it cites; where it cites
/// none, of its quarter; an ambiguous one is reported.
#[test]
fn a_table_id_of_two_documents_is_that_of_the_cited_one() {
    let memory = Memory(BTreeMap::from([
        (
            "c/a/chunk_manifest.jsonl",
            r#"{"chunk_id": "a1", "doc_type": "release", "quarter": "2025-Q1", "page": 2, "table_id": "t"}"#,
        ),
        (
            "c/b/chunk_manifest.jsonl",
            r#"{"chunk_id": "b1", "doc_type": "release", "quarter": "2025-Q2", "page": 2, "table_id": "t"}"#,
        ),
        (
            "e/a/tables/t.json",
            r#"{"unit": "USD", "columns": ["Q1 2025"], "rows": [{"label": "Revenue", "values": [100]}]}"#,
        ),
        (
            "e/b/tables/t.json",
            r#"{"unit": "USD", "columns": ["Q2 2025"], "rows": [{"label": "Revenue", "values": [200]}]}"#,
        ),
    ]));
    let open = "the table t stands in a and b, and no citation says in which";
    for (row, chunks, mismatches) in [
        (json!({"gold": {"citations": [{"quarter": "2025-Q2", "page": 2, "table_id": "t"}]}}), json!(["b1"]), vec![]),
        (json!({"gold": {"citations": [{"quarter": "2025-Q1", "page": 9}]}}), json!(["a1"]), vec!["is not in t"]),
        (json!({"metadata": {"quarter": "2025-Q2"}, "gold": {}}), json!(["b1"]), vec![]),
        (json!({"gold": {}}), json!(["a1", "b1"]), vec![open]),
    ] {
        let mut row = row;
        row["gold"]["source_table_ids"] = json!(["t"]);
        (row["gold"]["expected_value"], row["gold"]["unit"]) = (json!(200), json!("USD"));
        let resolve = |make: fn(&[Option<String>], &mut ResolverFiles<'_>) -> Box<dyn Resolver>| {
            let mut files = ResolverFiles::new(&memory);
            make(&["c", "e"].map(|folder| Some(folder.to_owned())), &mut files).resolve(&row).unwrap()
        };
        assert_eq!(resolve(relevant_chunks).value["table"], chunks, "{row}");
        let said = resolve(expected_values).mismatches;
        assert!(
            said.len() == mismatches.len() && said.iter().zip(&mismatches).all(|(it, part)| it.contains(part)),
            "{row}: {said:?}"
        );
    }
}

/// RG-02: a table whose numbers cannot be read is reported when it is loaded, and for each gold that needs it.
#[test]
fn unreadable_tables_are_told() {
    for (table, told) in [
        (
            r#"{"columns": ["Q2 2025"], "rows": [{"label": "Revenue", "values": {"Q2 2025": 1200}}]}"#,
            "`rows[0].values` is not a list",
        ),
        (r#"{"columns": ["Q2 2025"]}"#, "`rows` is not a list"),
        (r#"[{"columns": [], "rows": []}]"#, "it is not an object"),
    ] {
        let memory = Memory(BTreeMap::from([("e/r/tables/inc.json", table)]));
        let mut files = ResolverFiles::new(&memory);
        let filings = expected_values(&[None, Some("e".to_owned())], &mut files);
        assert!(files.problems().len() == 1 && files.problems()[0].message.contains(told), "{:?}", files.problems());
        let row = json!({"gold": {"expected_value": 777, "unit": "USD", "source_table_ids": ["inc"]}});
        let said = filings.resolve(&row).unwrap().mismatches;
        assert_eq!(said, ["no number of inc can be read, so the expected value is not checked"]);
    }
}

/// RG-02: a duplicate id is reported once, for each row whose gold uses it.
#[test]
fn a_chunk_that_stands_at_two_places_is_disputed() {
    let manifest = r#"{"chunk_id": "a", "space": "text", "doc_type": "release", "page": 2, "text": "Revenue rose."}
{"chunk_id": "a", "space": "text", "doc_type": "release", "page": 7, "text": "Revenue rose."}
{"chunk_id": "b", "space": "text", "doc_type": "release", "page": 3, "text": "Costs fell."}
{"chunk_id": "b", "space": "text", "doc_type": "release", "page": 3, "text": "Costs fell."}
"#;
    let memory = Memory(BTreeMap::from([("c/r/chunk_manifest.jsonl", manifest)]));
    let mut files = ResolverFiles::new(&memory);
    let filings = relevant_chunks(&[Some("c".to_owned()), None], &mut files);
    let at = |page: u64| json!({"gold": {"citations": [{"doc_type": "release", "page": page}]}});
    let mismatches = |page: u64| filings.resolve(&at(page)).unwrap().mismatches;
    assert_eq!(mismatches(2), ["the chunk \"a\" stands several times, with different places or texts"]);
    assert_eq!(mismatches(3), Vec::<String>::new());
}

/// RG-02: folders that hold no filings are others than were meant; folders that are left empty are none.
#[test]
fn folders_without_filings_are_errors() {
    let memory = Memory(BTreeMap::from([("c/r/notes.txt", "x"), ("c/readme.md", "x")]));
    for (folders, problems) in [([Some("c"), Some("c")], 2), ([None, None], 0), ([None, Some("c")], 1)] {
        let mut files = ResolverFiles::new(&memory);
        let filings = relevant_chunks(&folders.map(|folder| folder.map(str::to_owned)), &mut files);
        assert_eq!(files.problems().len(), problems, "{:?}", files.problems());
        let found =
            filings.resolve(&json!({"gold": {"source_table_ids": ["t1"], "citations": [{"page": 2}]}})).unwrap();
        assert_eq!((found.value, found.mismatches), (json!({"text": [], "table": [], "page": []}), Vec::new()));
    }
}

#[test]
fn broken_files_are_named() {
    let memory =
        Memory(BTreeMap::from([("c/r/chunk_manifest.jsonl", "{\"page\": 1}\n{oops\n"), ("e/r/tables/t1.json", "{")]));
    let mut files = ResolverFiles::new(&memory);
    relevant_chunks(&["c", "e"].map(|folder| Some(folder.to_owned())), &mut files);
    assert_eq!(files.problems().len(), 3, "{:?}", files.problems());
}
