//! The README's own suite and commands.

use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions};

const README: &str = include_str!("../../../../README.md");

fn block(language: &str, containing: &str) -> String {
    let blocks = README.split("```").skip(1).step_by(2);
    let found = blocks
        .filter_map(|block| block.strip_prefix(&format!("{language}\n")))
        .find(|block| block.contains(containing));
    found.unwrap_or_else(|| panic!("the README has no {language} block with {containing:?}")).to_owned()
}

/// PE-36: the suite of the README runs as it stands, and so do the commands below it.
#[test]
fn the_readme_is_true() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    let suite = block("yaml", "name: bench").replace("http://127.0.0.1:8099/v1", &provider.base_url());
    place.write("karat.yaml", &suite);
    let commands = block("sh", "karat validate karat.yaml");
    for line in commands.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().skip(1).collect();
        let words: Vec<&str> = words
            .iter()
            .map(|word| match *word {
                "CELL" => "0",
                "RUN" => "latest",
                word => word,
            })
            .collect();
        place.fine(&words);
    }
    assert!(place.path().join("out/report.md").exists() && place.path().join("out/report.json").exists());
}

/// PE-36: the passage on documents of every day is true: the decline is there after both commands.
#[test]
fn the_decline_of_the_readme_is_found() {
    let passage = README.lines().find(|line| line.contains("says when they get worse")).unwrap();
    let place = Place::new();
    let commands = passage.split('`').filter_map(|code| code.strip_prefix("karat "));
    let said: Vec<String> =
        commands.map(|line| place.fine(&line.split_whitespace().collect::<Vec<_>>()).stdout).collect();
    let found: serde_json::Value = serde_json::from_str(&said[1]).unwrap();
    assert_eq!(found["status"], "alert");
}
