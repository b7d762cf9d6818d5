//! `karat report --format comment`.

use crate::place::{Place, questions};

/// A gated suite of recorded replies, of which every third is wrong.
fn gated(place: &Place) {
    let replies: String = (0..30)
        .map(|i| {
            let reply =
                if i % 3 == 0 { "```\\n<!-- karat:other --> @all no idea".to_owned() } else { format!("answer {i}") };
            format!("{{\"id\":\"q{i}\",\"reply\":\"{reply}\"}}\n")
        })
        .collect();
    place.write("data.jsonl", &questions(30));
    place.write("replies.jsonl", &replies);
    place.write(
        "karat.yaml",
        "name: replies\ndataset: { source: data.jsonl, id: id, reference: target }\n\
         variants: { old: [ { recorded: { from: replies.jsonl, column: reply } } ] }\nscorers: { hit: { metric: contains } }\n\
         gates: [ { metric: hit, min: 90% } ]\nanalyses: [ { analysis: failures, with: { below: { hit: 0.5 } } } ]\n",
    );
}

/// SV-29: a stored run and its report.json give the same comment: marker, verdict, gates with interval and n, change to the
/// baseline, three fenced examples, cost, how to repeat.
#[test]
fn a_run_and_its_report_give_the_same_comment() {
    let place = Place::new();
    gated(&place);
    assert_eq!(place.karat(&["run", "--run-id", "r", "-o", "out"]).code, 2);
    let comment = place.succeed(&["report", "r", "--format", "comment", "-o", "-"]).stdout;
    let of_file = place.succeed(&["report", "--from", "out/report.json", "--format", "comment"]).stdout;
    assert_eq!(comment, of_file);
    assert!(comment.starts_with("<!-- karat:replies -->\n"), "{comment}");
    assert_eq!(comment.matches("<!--").count(), 1, "{comment}");
    for part in [
        "## `replies`: fail",
        "1 check, 1 fail",
        "0.667",
        "| 30 |",
        "min 0.900",
        "### Worst examples",
        "````",
        "$0",
        "karat run",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    place.succeed(&["report", "r", "--format", "comment", "-o", "out"]);
    assert_eq!(place.text("out/comment.md"), comment);
    place.succeed(&["report", "--from", "out/report.json", "--format", "comment", "-o", "posted"]);
    assert_eq!(place.text("posted/comment.md"), comment);
    // Against a baseline, the change is shown.
    place.succeed(&["baseline", "pin", "r", "-o", "baseline.json"]);
    let fixed = place.text("replies.jsonl").replace("no idea", "answer 0 answer 3 answer 6");
    place.write("replies.jsonl", &fixed);
    place.karat(&["run", "--run-id", "s", "--baseline", "baseline.json"]);
    let changed = place.succeed(&["report", "s", "--format", "comment", "-o", "-"]).stdout;
    assert!(changed.contains("### Change to the baseline") && changed.contains("+0."), "{changed}");
}

/// SV-29: other files and other formats are refused.
#[test]
fn only_reports_become_comments() {
    let place = Place::new();
    place.write("other.json", "{\"schema\": \"x/1\"}");
    for (arguments, part) in [
        (&["report", "--from", "other.json", "--format", "comment"][..], "`x/1`"),
        (&["report", "--from", "absent.json", "--format", "comment"], "reading absent.json"),
        (&["report", "--from", "other.json"], "--format comment"),
    ] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains(part), "{arguments:?}: {}", result.all());
    }
}
