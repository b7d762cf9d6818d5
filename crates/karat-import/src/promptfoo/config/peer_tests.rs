//! Differences from promptfoo that were found by running it on the same configs.

use serde_json::{Value, json};

use super::tests::{config, tests};

/// IO-01: keys in addresses and in texts of the suite are not copied; a service with a key in its body is left out.
#[test]
fn keys_are_not_copied() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let service = |config: Value| json!({"id": "http", "label": "svc", "config": config});
    let prompts = json!([{"raw": format!("Say {key}"), "label": "p"}]);
    let address = service(json!({"url": "https://a.example/x?api_key=hunter2&n=1", "method": "GET"}));
    let imported = config(json!({"prompts": prompts, "providers": [address], "tests": []}), &[]);
    let suite = imported.suite();
    assert_eq!(suite["variants"]["p.svc"][0]["http"]["url"], "https://a.example/x?api_key=${API_KEY}&n=1");
    let body =
        service(json!({"url": "https://a.example", "body": {"auth": {"token": "hunter2"}, "q": "{{ prompt }}"}}));
    let left_out = config(json!({"prompts": prompts, "providers": [body, "echo"], "tests": []}), &[]);
    assert!(left_out.report.dropped.iter().any(|dropped| dropped.why.contains("`body` holds a key")));
    for text in [imported.text("karat.yaml"), left_out.text("karat.yaml")] {
        assert!(!text.contains(key) && !text.contains("hunter2"), "{text}");
    }
}

/// IO-02, IO-03: transforms and references that are dropped leave their rows unchecked; a set of weight 0 still decides;
/// a line break at the end of a variable is left out, as are blanks around the value of a cell.
#[test]
fn rows_mean_what_they_mean_there() {
    let imported = tests(
        json!([
            {"vars": {"q": "a\n"}, "options": {"transform": "output.trim()"}, "assert": [{"type": "contains", "value": "a"}]},
            {"vars": {"q": "b"}, "assert": [{"$ref": "#/assertionTemplates/x"}]},
            {"vars": {"q": "c"}, "assert": [
                {"type": "assert-set", "weight": 0, "assert": [{"type": "contains", "value": "c"}]},
                {"type": "contains", "value": "d", "weight": 0}]},
        ]),
        &[],
    );
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["q"], &rows[0]["metadata"]["unchecked"]), (&json!("a"), &json!(["transform"])));
    assert_eq!(rows[1]["metadata"]["unchecked"], json!(["$ref"]));
    assert_eq!(rows[2]["assert"], json!([{"metric": "contains", "value": "c"}]));
    let table = [("t.csv", "q,__expected\nz,contains: z \n")];
    let imported = tests(json!("file://t.csv"), &table);
    assert_eq!(imported.rows("data/samples.jsonl")[0]["assert"][0]["value"], "z");
}
