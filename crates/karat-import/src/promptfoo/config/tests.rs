use crate::ImportKind;
use crate::recorded::testing::{fixture, import_file};

#[test]
fn show() {
    let path = std::env::var("SHOW").unwrap();
    let imported = import_file(ImportKind::Promptfoo, &fixture(&format!("promptfoo/{path}")));
    println!(
        "{}\n{}\n{}",
        imported.text("karat.yaml"),
        imported.text("data/samples.jsonl"),
        imported.text("import.json")
    );
}
