use super::*;

const MANIFEST: &str = r#"{"chunk_id": "income", "space": "table", "doc_type": "release", "quarter": "2025-Q2", "page": 2, "table_id": "income", "text": "Q2 2025: Revenue 512.5; Cloud revenue 200"}
{"chunk_id": "c1", "space": "text", "doc_type": "transcript", "quarter": "2025-Q2", "page": 3, "topic": "margins", "speaker": {"name": "Ada Lind", "role": "CFO"}, "text": "Dana, analyst: And margins? Ada Lind, CFO: Margins will hold. More later."}
{"chunk_id": "c0", "space": "text", "doc_type": "transcript", "quarter": "2025-Q1", "page": 3, "topic": "orders", "speaker": {"name": "Bo Ek", "role": "CEO"}, "text": "Bo Ek, CEO, on orders: They grew."}
"#;

fn table(quarter: &str, revenue: f64) -> String {
    json!({
        "table_id": "income", "doc_type": "release", "quarter": quarter, "page": 2, "columns": [quarter],
        "rows": [{"label": "Revenue", "values": [revenue]}, {"label": "Cloud revenue", "values": [200.0]}]
    })
    .to_string()
}

fn service(faults: &str) -> Service {
    let (one, two) = (table("2025-Q1", 500.0), table("2025-Q2", 512.5));
    let files = [("c/r/chunk_manifest.jsonl", MANIFEST), ("e/a/tables/a.json", &one), ("e/b/tables/b.json", &two)];
    Service::new(Library::read(files).unwrap(), Faults::read(faults).unwrap())
}

fn ask(service: &Service, question: &str) -> Value {
    service.answer(&json!({ "question": question, "filters": {"quarter": "2025-Q2"} })).unwrap()
}

const REVENUE: &str = "What was revenue in Q2 2025?";
const CHANGE: &str = "By how much did revenue change from Q1 2025 to Q2 2025?";
const SAID: &str = "What did the CFO say about margins in Q2 2025?";

#[test]
fn answers_come_from_the_documents() {
    let service = service("");
    let answer = ask(&service, REVENUE);
    assert_eq!(answer["answer"], "Revenue was $0.5125 billion in Q2 2025.");
    assert_eq!(
        answer["citations"],
        json!([{"doc_type": "release", "quarter": "2025-Q2", "page": 2, "table_id": "income"}])
    );
    assert_eq!(answer["candidates"]["table"], json!(["income"]));
    let change = ask(&service, CHANGE)["answer"].as_str().unwrap().to_owned();
    assert!(change.starts_with("Revenue rose by $0.0125 billion from Q1 2025 to Q2 2025, from "), "{change}");
    let said = ask(&service, SAID);
    assert_eq!(said["answer"], "Ada Lind (CFO) said: \"Margins will hold.\"");
    assert_eq!(said["speakers"], json!([{"name": "Ada Lind", "role": "CFO"}]));
    assert_eq!(ask(&service, "Why?")["answer"], "The filings do not say.");
    assert_eq!(service.answer(&json!({"query": 1})), None);
}

/// Each planted fault changes one thing of the answer.
#[test]
fn faults_spoil_what_they_say() {
    let fault = |question: &str, kind: &str| {
        let faults = json!({"question": question, "fault": kind}).to_string();
        (ask(&service(""), question), ask(&service(&faults), question))
    };
    let differs = |question: &str, kind: &str| {
        let (right, wrong) = fault(question, kind);
        assert_ne!(right["commit"], wrong["commit"]);
        let same = |key: &&str| right[*key] != wrong[*key];
        ["answer", "citations", "speakers", "candidates", "timings_ms"].into_iter().filter(same).collect::<Vec<_>>()
    };
    assert_eq!(differs(REVENUE, "wrong_currency"), ["answer"]);
    assert_eq!(differs(REVENUE, "off_by_scale"), ["answer"]);
    assert_eq!(differs(REVENUE, "wrong_quarter"), ["citations"]);
    assert_eq!(differs(SAID, "wrong_speaker"), ["answer", "speakers"]);
    assert_eq!(differs(SAID, "slow_stage"), ["timings_ms"]);
    let (_, wrong) = fault(REVENUE, "wrong_quarter");
    assert_eq!(wrong["citations"][0]["quarter"], "2025-Q1");
}
