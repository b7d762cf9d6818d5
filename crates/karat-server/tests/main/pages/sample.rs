//! A sample, and the calls of a cell.

use karat_app::Stop;

use super::{all, href, named, open, text, texts};
use crate::place::Place;
use crate::suite::{borrowed, run, samples};

/// DB-13: input, reference, and each system's output with scores and judgments.
#[test]
fn sample_shows_what_each_system_said() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(6)));
    let page = open(&place, "/runs/r/sample?id=s003");
    assert_eq!(named(&page, "page-sample").len(), 1);
    assert_eq!(text(all(&page, "h1")[0]), "s003");
    let outputs = named(&page, "sample-output");
    let systems: Vec<&str> = outputs.iter().map(|it| it.attr("data-system").unwrap()).collect();
    assert_eq!(systems, ["echo/plain", "echo/json"]);
    assert!(text(outputs[0]).contains("w3") && text(outputs[0]).contains("f1"));
    assert_eq!(named(&page, "judgment").len(), 2);
    assert!(texts(&page, "judgment")[0].contains("It says"));
}

/// DB-13: previous and next stay within the list that led here, in its order.
#[test]
fn neighbours_are_those_of_the_list() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(12)));
    let (mut path, mut seen) = ("/runs/r/sample?id=s001&flag=error&sort=-sample".to_owned(), Vec::new());
    while let Some(before) = href(&open(&place, &path), "prev") {
        path = before;
    }
    loop {
        let page = open(&place, &path);
        seen.push(text(all(&page, "h1")[0]));
        match href(&page, "next") {
            Some(next) => path = next,
            None => break,
        }
    }
    assert_eq!(seen, ["s011", "s010", "s008", "s007", "s005", "s004", "s002", "s001"]);
    let outside = open(&place, "/runs/r/sample?id=s003&flag=error");
    assert!(text(all(&outside, "main")[0]).contains("Not in the list that led here"));
    assert!(href(&outside, "next").unwrap().ends_with("id=s004"));
}

/// DB-20: two outputs are compared word by word; JSON in one form.
#[test]
fn outputs_are_compared() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(1)));
    let page = open(&place, "/runs/r/sample?id=s000");
    assert!(named(&page, "diff").is_empty());
    let compared = open(&place, &href(&page, "diff-link").unwrap());
    assert_eq!(named(&compared, "diff")[0].attr("data-equal"), Some("true"), "a text of JSON and JSON are the same");
}

/// DB-14: the calls in order with prompt, reply, tokens and cost, rendered and raw.
#[test]
fn trace_shows_what_was_sent_and_returned() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(3)));
    let page = open(&place, "/runs/r/cell?n=0");
    let steps = named(&page, "trace-step");
    let kinds: Vec<&str> = steps.iter().map(|it| it.attr("data-kind").unwrap()).collect();
    assert_eq!((named(&page, "page-trace").len(), kinds), (1, vec!["step", "judge"]));
    assert!(text(steps[0]).contains("echo") && text(steps[0]).contains("tokens") && text(steps[0]).contains("w0"));
    let raw = open(&place, &href(&page, "view-raw").unwrap());
    assert!(texts(&raw, "trace-step")[0].contains("\"word"), "{}", texts(&raw, "trace-step")[0]);
    assert_eq!(href(&page, "next").as_deref(), Some("/runs/r/cell?n=1"));
    let failed = open(&place, "/runs/r/cell?n=3");
    assert!(texts(&failed, "error-state").concat().contains("parse"), "{:?}", texts(&failed, "error-state"));
}

/// DB-14: the calls of a reused cell are those of the run that made them.
#[test]
fn reused_cells_show_the_calls_that_made_them() {
    let place = Place::view();
    run(&place.app, "a", &borrowed(&samples(2)));
    run(&place.app, "b", &borrowed(&samples(2)));
    let page = open(&place, "/runs/b/cell?n=0");
    let words = text(all(&page, "main")[0]);
    assert!(words.contains("reused from run a") && words.contains("and reused"), "{words}");
    assert_eq!(named(&open(&place, "/runs/b/cells?flag=cached"), "cell-row").len(), 3);
}

/// TG-13: the output of an agent is shown as a transcript, with its calls, on the pages of the sample and of the cell.
#[test]
fn a_conversation_is_a_transcript() {
    let place = Place::view();
    crate::place::run(&place.app, "agent", "a", Stop::default());
    let sample = open(&place, "/runs/a/sample?id=a03");
    let shown = texts(&sample, "transcript");
    assert_eq!(shown.len(), 2);
    assert!(shown[1].contains("calls cancel_order") && shown[1].contains("no tool `cancel_order`"), "{shown:?}");
    assert!(shown[0].contains("get_order") && shown[0].contains("Order A03 is refunded."), "{shown:?}");
    // The cell's own output, behind the requests of its calls.
    let cell = texts(&open(&place, "/runs/a/cell?n=5"), "transcript");
    assert!(cell.last().is_some_and(|output| output.contains("calls cancel_order")), "{cell:?}");
}

/// DB-13, DB-22: items of an output are marked in the text they were taken from, each with its category.
#[test]
fn items_are_marked_in_their_source() {
    let place = Place::view();
    crate::place::run(&place.app, "spans", "s", Stop::default());
    let page = open(&place, "/runs/s/sample?id=scene-01");
    let marks = all(&page, "#outputs mark");
    let close_up = marks.iter().find(|mark| text(**mark).starts_with("Extreme close-up")).expect("a marked span");
    assert!(close_up.attr("title").is_some_and(|title| title.contains("shot.type")), "{:?}", close_up.attr("title"));
    let styles: std::collections::BTreeSet<_> = marks.iter().filter_map(|mark| mark.attr("class")).collect();
    assert!(styles.len() >= 3, "a line for each category: {styles:?}");
}

/// DB-22: what an answer cites is open beside it; other members are folded.
#[test]
fn citations_stand_beside_the_answer() {
    let place = Place::view();
    let output = r#"{"answer": "It was 40.7 %.", "sources": [{"id": "s1", "text": "40.7 %"}], "grounded": true}"#;
    run(&place.app, "r", &[("q1", output, "40.7")]);
    let page = open(&place, "/runs/r/sample?id=q1");
    let answers = named(&page, "answer");
    assert_eq!(answers.len(), 1, "one system reads JSON");
    assert!(text(answers[0]).contains("It was 40.7"), "{}", text(answers[0]));
    let marks = all(&page, "[data-testid='answer'] mark");
    assert_eq!(marks[0].attr("title"), Some("s1"), "the text of a source stands in the answer, with its name");
    let beside = all(&page, "[data-testid='answer'] details[open][data-beside='sources'] li");
    assert!(text(beside[0]).contains("s1") && !text(answers[0]).contains("grounded"));
}
