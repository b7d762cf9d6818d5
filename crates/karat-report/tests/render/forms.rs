//! Formats for other tools: JUnit, CSV.

use std::collections::BTreeSet;

use karat_report::csv;

use crate::{Example, junit};

/// Failed, erroneous, skipped and unscored cases are test cases, and texts from outside are escaped.
#[test]
fn junit_of_the_example() {
    let text = junit(Example::new().canonical().report());
    insta::assert_snapshot!(text);
    assert!(!text.contains("<script") && !text.contains('\u{1b}'));
    let count = |what: &str| text.matches(what).count();
    let outcomes = ["<testcase ", "<failure ", "<error ", "<skipped "].map(count);
    assert_eq!(outcomes, [60, 6, 2, 8], "{text}");
    assert!(
        text.contains("<testsuites name=\"claims\" tests=\"60\" skipped=\"8\" failures=\"6\" errors=\"2\">"),
        "{text}"
    );
}

/// IO-14: no two cases have the same class and name, of which GitLab shows the first; classes have two dots.
#[test]
fn junit_cases_are_told_apart() {
    let text = junit(Example::new().report());
    let cases: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("<testcase ")).collect();
    let attribute = |case: &str, name: &str| {
        let from = case.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        case[from..].split('"').next().unwrap().to_owned()
    };
    let keys: BTreeSet<(String, String)> =
        cases.iter().map(|case| (attribute(case, "classname"), attribute(case, "name"))).collect();
    assert_eq!(keys.len(), cases.len());
    for case in &cases {
        // Without a model it is the suite and the variant.
        assert!((1..=2).contains(&attribute(case, "classname").matches('.').count()), "{case}");
        assert!(attribute(case, "file").ends_with(".json"), "{case}");
        attribute(case, "time");
    }
}

/// CSV has one line a cell with the same columns, and no field that a spreadsheet would compute.
#[test]
fn csv_has_a_line_a_cell() {
    let example = Example::new();
    let text = csv::render(example.report()).unwrap();
    assert!(!text.contains("\r\n="));
    let lines: Vec<&str> = text.split("\r\n").filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 1 + example.run.cells.len());
    assert!(lines[0].starts_with("cell,sample,model,variant,trial,status,"), "{}", lines[0]);
    assert!(lines.iter().all(|line| !line.contains(",=") && !line.contains(",+") && !line.contains(",@")));
}
