//! The worked examples of `docs/reference/metrics.md`.

use serde_json::{Map, Value, json};

use super::blocks::Page;
use crate::place::Place;

/// PE-36: each metric scores its example as the page says.
#[test]
fn metrics_score_their_examples() {
    let page = Page::read("docs/reference/metrics.md").text;
    let (mut rows, mut scorers, mut expected) = (String::new(), String::new(), Vec::new());
    for section in page.split("\n## ").skip(1) {
        let name = section.lines().next().unwrap();
        let Some((_, table)) = section.split_once("|---|---|---:|\n") else { continue };
        let cells: Vec<&str> = table.lines().next().unwrap().trim_matches('|').split(" | ").collect();
        let value = |cell: &str| serde_json::from_str::<Value>(cell.trim().trim_matches('`')).unwrap();
        let mut row = Map::from_iter([("id".to_owned(), json!(name)), ("output".to_owned(), value(cells[0]))]);
        if !cells[1].trim().is_empty() {
            row.insert("reference".to_owned(), value(cells[1]));
        }
        rows.push_str(&format!("{}\n", Value::from(row)));
        let scorer = section.split(&format!("\n  {name}: ")).nth(1).unwrap().lines().next().unwrap();
        scorers.push_str(&format!("  {name}: {scorer}\n"));
        expected.push((name, cells[2].trim().parse::<f64>().unwrap()));
    }
    assert!(expected.len() > 20);
    let place = Place::new();
    place.write("rows.jsonl", &rows);
    place.write(
        "karat.yaml",
        &format!(
            "name: examples\ndataset: {{ source: rows.jsonl, id: id, reference: reference }}\nvariants: {{ v: [ {{ recorded: {{ column: output }} }} ] }}\nscorers:\n{scorers}"
        ),
    );
    place.succeed(&["run", "-q"]);
    let report = place.report("latest");
    for (name, score) in expected {
        let cell = report["cells"].as_array().unwrap().iter().find(|cell| cell["sample"] == name).unwrap();
        let found = cell["scores"][name]["value"].as_f64().unwrap();
        assert!((found - score).abs() < 0.0006, "{name}: the page says {score}, the score is {found}");
    }
}
