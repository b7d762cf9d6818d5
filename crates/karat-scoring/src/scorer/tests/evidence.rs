//! The evidence of an answer: citations, attributions, figures.

use super::*;

/// RG-06: a citation must agree in every field that the gold states; precision and recall stand beside it; no citation is
/// a failure, no gold is none.
#[test]
fn citations_agree_in_every_stated_field() {
    let gold =
        json!([{"doc_type": "release", "quarter": "2025-Q2", "page": 5, "table_id": "t1"}, {"quarter": "2025-Q1"}]);
    let right = json!({"doc_type": "Release", "quarter": "2025-Q2", "page": "5", "table_id": "t1", "note": "x"});
    let other_page = json!({"doc_type": "release", "quarter": "2025-Q2", "page": 6, "table_id": "t1"});
    let with = |metric: &str| json!({"metric": metric, "value": gold});
    let figures = |output: Value| {
        ["citation_match", "citation_precision", "citation_recall"]
            .map(|metric| score(with(metric), output.clone()).number())
    };
    assert_eq!(figures(json!([right, other_page])), [1.0, 0.5, 0.5].map(Some));
    for nothing in [json!([other_page]), json!([]), Value::Null] {
        assert_eq!(figures(nothing), [0.0; 3].map(Some));
    }
    let Score::Value { reason: Some(reason), .. } = score(with("citation_match"), json!([other_page])) else {
        panic!("a citation that does not agree has a reason");
    };
    assert_eq!(reason, "0 of 2 acceptable citations are there; of the closest one page is 6, not 5");
    let none = score(json!({"metric": "citation_recall", "value": []}), json!([right]));
    assert!(matches!(none, Score::NotApplicable { .. }), "{none:?}");
}

/// RG-07: name and role, or an answer speaker of the gold, else cited, chunk; naming everybody is wrong.
#[test]
fn attribution_names_who_said_it_and_nobody_else() {
    let metric =
        |with: Value| json!({"metric": "attribution", "value": [{"name": "Ada Lind", "role": "CFO"}], "with": with});
    let plain = |output: Value| score(metric(json!({})), output).number();
    assert_eq!(plain(json!([{"name": "ada  lind", "role": "cfo"}])), Some(1.0));
    assert_eq!(plain(json!(["Ada Lind (CFO)"])), Some(1.0));
    assert_eq!(plain(json!("Ada Lind, CFO")), Some(1.0));
    for wrong in [
        json!([{"name": "Ada Lind", "role": "CEO"}]),
        json!([{"name": "Ada Lind"}]),
        json!([{"name": "Bo Ek", "role": "CFO"}]),
        json!([{"name": "Ada Lind", "role": "CFO"}, {"name": "Bo Ek", "role": "CEO"}]),
        json!([]),
        Value::Null,
    ] {
        assert_eq!(plain(wrong.clone()), Some(0.0), "{wrong}");
    }
    let both = json!([{"name": "Ada Lind", "role": "CFO"}, {"name": "Bo Ek", "role": "CEO"}]);
    let scored = |with: Value, output: Value| score(metric(with), output).number();
    assert_eq!(scored(json!({"accept": ["Bo Ek"]}), json!(["Bo Ek (CEO)"])), Some(1.0));
    assert_eq!(scored(json!({"accept": ["Bo Ek"]}), both.clone()), Some(0.0), "one of them said it");
    assert_eq!(scored(json!({"accept": ["Ada Lind"]}), json!(["Ada Lind"])), Some(1.0));
    assert_eq!(scored(json!({"accept": ["Ada Lind"]}), json!(["Ada Lind (CEO)"])), Some(0.0), "the role is another");
    assert_eq!(scored(json!({"accept": ["Bo Ek"], "need": "all"}), json!(["Bo Ek"])), Some(0.0));
    assert_eq!(plain(json!(["Ada Lind, CFO", {"name": "Ada Lind"}])), Some(1.0), "named twice is named once");
    let pair = json!({"metric": "attribution", "value": ["Ada Lind (CFO)", "Bo Ek (CEO)"]});
    assert_eq!(score(pair, both).number(), Some(1.0), "both said it");
}

/// RG-07: of a name without its role the reason says that, and no role that the text does not have.
#[test]
fn a_reason_invents_no_role() {
    let gold = json!([{"name": "Ana Ruiz", "role": "CFO"}]);
    for answer in ["Ana Ruiz said it.", "CEO Ana Ruiz said it."] {
        let with = json!({"text": answer, "among": gold});
        let scored = score(json!({"metric": "attribution", "value": gold, "with": with}), json!([]));
        assert_eq!(
            (scored.number(), reason(&scored)),
            (Some(0.0), "it names Ana Ruiz, not Ana Ruiz (CFO)"),
            "{answer}"
        );
    }
}

/// RG-07: who answers in a cited chunk is right; citing every chunk makes nobody right.
#[test]
fn attribution_by_the_cited_chunk_cannot_be_bought() {
    let chunk = |id: &str, page: u64, speakers: Value| json!({"chunk_id": id, "doc_type": "transcript", "quarter": "2025-Q2", "page": page, "answer_speakers": speakers});
    let chunks = json!([
        chunk("c7", 4, json!(["Bo Ek"])),
        chunk("c8", 5, json!(["Cy Roe"])),
        chunk("c9", 6, json!(["Bo Ek", "Cy Roe"]))
    ]);
    let scored = |citations: Value, output: Value| {
        let with = json!({"chunks": chunks, "citations": citations});
        score(json!({"metric": "attribution", "value": [{"name": "Ada Lind", "role": "CFO"}], "with": with}), output)
            .number()
    };
    let page = |page: u64| json!({"doc_type": "transcript", "quarter": "2025-Q2", "page": page});
    let id = |id: &str| json!({"chunk_id": id});
    for (citations, output, expected) in [
        (json!([page(4)]), json!(["Bo Ek"]), 1.0),
        (json!([id("c7")]), json!(["Bo Ek"]), 1.0),
        (json!([id("c7"), id("c9"), {"doc_type": "release", "page": 1}]), json!(["Bo Ek"]), 1.0),
        (json!([id("c9")]), json!(["Cy Roe"]), 1.0),
        (json!([id("c9")]), json!(["Bo Ek", "Cy Roe"]), 0.0),
        (json!([id("c7"), id("c8")]), json!(["Bo Ek"]), 0.0),
        (json!([id("c7"), id("c8"), id("c9")]), json!(["Bo Ek"]), 0.0),
        (json!([page(7)]), json!(["Bo Ek"]), 0.0),
        (json!([id("c7"), id("c8")]), json!(["Ada Lind (CFO)"]), 1.0),
        (json!([id("c7")]), json!(["Ada Lind (CFO)", "Bo Ek"]), 0.0),
    ] {
        assert_eq!(scored(citations.clone(), output.clone()), Some(expected), "{citations} {output}");
    }
}

/// RG-07: names are found within an answer where no list of speakers is at hand.
#[test]
fn attribution_reads_names_within_a_text() {
    let with = json!({"among": [{"name": "Bo Ek", "role": "CEO"}, {"name": "Ada Lind", "role": "CFO"}]});
    let metric = json!({"metric": "attribution", "value": [{"name": "Ada Lind", "role": "CFO"}], "with": with});
    for (text, expected) in [
        ("According to CFO Ada Lind, margins hold.", 1.0),
        ("Ada Lind (CFO): margins hold.", 1.0),
        ("Ada Lind said so.", 0.0),
        ("CFO Ada Linden said so.", 0.0),
        ("Bo Ek, the CFO, said so.", 0.0),
        ("CFO Ada Lind and CEO Bo Ek said so.", 0.0),
        ("Ada Lind (CFO) did not comment; Carl Roe (COO) said so.", 0.0),
        ("Ada Lind (CFO) and Carl Roe (COO) said so.", 0.0),
        ("Ada Lind (CFO) said so; Bo Ek (CEO) declined to comment.", 1.0),
        ("Margins hold.", 0.0),
    ] {
        assert_eq!(score(metric.clone(), json!(text)).number(), Some(expected), "{text}");
    }
    let mut beside = metric;
    beside["with"]["text"] = json!("CFO Ada Lind said so.");
    assert_eq!(score(beside.clone(), json!([])).number(), Some(1.0));
    assert_eq!(score(beside, json!(["Bo Ek"])).number(), Some(0.0), "a list goes before a text");
}

/// RG-05: a match that another number of the same unit contradicts is counted apart; without a match nothing is.
#[test]
fn contested_matches_are_counted_apart() {
    let metric = || json!({"metric": "numeric_contested", "value": 1.2e9, "with": {"currency": "USD"}});
    assert_eq!(score(metric(), json!("Revenue was $1.2 billion.")).number(), Some(0.0));
    assert_eq!(score(metric(), json!("Revenue was $1.2 billion, or $1.3 billion.")).number(), Some(1.0));
    let unmatched = score(metric(), json!("Revenue was $7."));
    assert!(matches!(unmatched, Score::NotApplicable { .. }), "{unmatched:?}");
}
