//! Inputs, outputs, references, scores and reasons in every format.

use karat_analysis::testing::HOSTILE;
use karat_report::{Outputs, ShownOutputs, csv, markdown, terminal};
use pulldown_cmark::{Event, Parser, Tag};

use crate::Example;

fn showing(shown: ShownOutputs, cells: usize) -> Example {
    let mut example = Example::new();
    example.context.outputs = Outputs { shown: Some(shown), cells };
    example
}

fn section(text: &str) -> &str {
    let from = text.find("## Inputs and outputs").unwrap();
    text[from..].split("\n## ").next().unwrap()
}

/// Field test C1: input, reference, output, scores and reasons of the failed cells are in the report by default.
#[test]
fn failed_cells_are_shown_with_their_texts() {
    let text = markdown::render(showing(ShownOutputs::Failed, 3).report()).unwrap();
    insta::assert_snapshot!(section(&text));
    let default = markdown::render(Example::new().report()).unwrap();
    assert!(default.contains("## Inputs and outputs") && default.contains("**input**"), "{default}");
    let none = markdown::render(showing(ShownOutputs::None, 40).report()).unwrap();
    assert!(!none.contains("Inputs and outputs"), "{none}");
}

/// Field test C1: `all` shows every cell, at most as many as asked for, and says what is left out.
#[test]
fn all_cells_are_shown_up_to_a_number() {
    let all = markdown::render(showing(ShownOutputs::All, 1_000).report()).unwrap();
    assert!(
        section(&all).contains("All 55 cells are shown; 11 are flagged"),
        "skipped cells have no text: {}",
        section(&all)
    );
    let few = markdown::render(showing(ShownOutputs::All, 20).report()).unwrap();
    assert!(section(&few).contains("20 of 55 cells are shown"), "{}", section(&few));
    assert!(section(&few).len() < section(&all).len() / 2);
}

/// Field test C1: long texts are cut, with their length and the command that shows the whole.
#[test]
fn long_texts_are_cut_and_say_so() {
    let example = showing(ShownOutputs::All, 1_000);
    let text = markdown::render(example.report()).unwrap();
    let run = &example.run.header.id;
    let note = format!("the first 2,000 of 4,500 characters; `karat trace {run} 30` shows more");
    assert!(section(&text).contains(&note), "{}", section(&text));
    let canonical = markdown::render(showing(ShownOutputs::All, 1_000).canonical().report()).unwrap();
    assert!(canonical.contains("karat trace 30") && !canonical.contains(run), "{}", section(&canonical));
}

/// CL-19, field test C1: content closes no fence, is not markup and acts on no terminal, in any format.
#[test]
fn content_is_only_shown() {
    let mut example = showing(ShownOutputs::All, 1_000);
    let outputs =
        ["```\n# h\n</pre></details><script>x</script>\r\u{9b}31m\u{202e}", "=1+1", "@SUM(A1)", "\t=1", "\r=1"];
    for (ordinal, output) in example.run.outputs.values_mut().zip(outputs.iter().cycle()) {
        *ordinal = serde_json::json!(output);
    }
    example.run.samples.iter_mut().for_each(|it| it.id.push_str(HOSTILE));
    let text = markdown::render(example.report()).unwrap();
    let events: Vec<Event<'_>> = Parser::new(&text).collect();
    let acts = |event: &Event<'_>| {
        matches!(event, Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. }))
    };
    assert!(!events.iter().any(acts));
    let mut shown = String::new();
    let mut add = |text: &str| {
        shown.push_str(text);
        Ok(())
    };
    terminal::outputs(example.report(), &mut add).unwrap();
    for text in [&text, &shown] {
        assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()) && !text.contains('\u{202e}'));
    }
    let table = csv::render(example.report()).unwrap();
    for formula in ["'=1+1", "'@SUM", "'\t=1"] {
        assert!(table.contains(formula), "{formula}: {table}");
    }
    assert!(!table.contains(",=1") && !table.contains(",@SUM") && !table.contains(",\t=1"), "{table}");
}

/// Field test C1: cells.csv has text columns, one record a cell, and `none` leaves them empty.
#[test]
fn csv_has_texts() {
    let records = |shown: Option<ShownOutputs>| {
        let mut example = Example::new();
        example.context.outputs.shown = shown;
        let table = csv::render(example.report()).unwrap();
        assert!(table.lines().next().unwrap().ends_with(",input,output,reference,reasons"), "{table}");
        let inputs = table.matches("Summarize the talk about alloys.").count();
        (inputs, table)
    };
    let (all, table) = records(None);
    assert_eq!(all, 10, "{table}");
    assert!(table.contains("quality by judge-strict: "), "{table}");
    let (failed, _) = records(Some(ShownOutputs::Failed));
    assert!(failed < all);
    assert_eq!(records(Some(ShownOutputs::None)).0, 0);
}

/// Field test C1: one sample for a terminal: the systems one under the other.
#[test]
fn a_sample_for_a_terminal() {
    let example = Example::new();
    let text = terminal::sample_outputs(example.report(), "bridges").unwrap().unwrap();
    insta::assert_snapshot!(text.split("\n── ").take(3).collect::<Vec<_>>().join("\n── "));
    assert_eq!(text.matches("── atlas-large").count(), 3, "{text}");
    assert_eq!(terminal::sample_outputs(example.report(), "nothing").unwrap(), None);
}
