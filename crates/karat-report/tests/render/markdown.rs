use karat_analysis::testing::HOSTILE;
use karat_report::markdown;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::Example;

fn events(text: &str) -> Vec<Event<'_>> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect()
}

fn headings(events: &[Event<'_>], wanted: HeadingLevel) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = false;
    for event in events {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = *level == wanted;
                found.extend(open.then(String::new));
            }
            Event::End(TagEnd::Heading(_)) => open = false,
            Event::Text(text) | Event::Code(text) if open => {
                found.last_mut().unwrap().push_str(text);
            }
            _ => {}
        }
    }
    found
}

/// CL-19, BY-14: the report of a run with every kind of cell has every section.
#[test]
fn the_report_of_the_example() {
    insta::assert_snapshot!(markdown::render(Example::new().report()).unwrap());
}

/// CL-19: the document has all sections and is CommonMark with GFM tables.
#[test]
fn every_section_renders() {
    let text = markdown::render(Example::new().report()).unwrap();
    let events = events(&text);
    assert_eq!(
        headings(&events, HeadingLevel::H2),
        [
            "Executive summary",
            "Recommendations",
            "Summary table",
            "Model × sample",
            "Errors",
            "Below a threshold",
            "Inputs and outputs",
            "Scorecards",
            "Leaderboards",
            "Manual baseline",
            "Variant delta: quality.overallScore",
            "Agreement of judges",
            "Position of the evidence",
            "Judges",
            "Cost",
            "Notes",
            "Remarks of judges that changed",
            "How this number was made",
        ]
    );
    assert_eq!(headings(&events, HeadingLevel::H1), ["Evaluation report: claims"]);
    let tables = events.iter().filter(|event| matches!(event, Event::Start(Tag::Table(_)))).count();
    assert!(tables >= 15, "{tables}");
}

/// CL-19: table rows have as many cells as the header, whatever the texts contain.
#[test]
fn tables_keep_their_shape() {
    let text = markdown::render(Example::new().report()).unwrap();
    let mut width = 0;
    let mut cells = 0;
    for event in events(&text) {
        match event {
            Event::Start(Tag::Table(alignments)) => width = alignments.len(),
            Event::Start(Tag::TableRow | Tag::TableHead) => cells = 0,
            Event::End(TagEnd::TableCell) => cells += 1,
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => assert_eq!(cells, width),
            _ => {}
        }
    }
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!(line.ends_with('|'), "{line}");
    }
}

/// Texts from datasets and models become no HTML, link, image or control character.
#[test]
fn hostile_texts_are_only_shown() {
    assert!(HOSTILE.contains("<script>") && HOSTILE.contains('\u{1b}') && HOSTILE.contains('|'));
    let text = markdown::render(Example::new().report()).unwrap();
    for event in events(&text) {
        let acts =
            matches!(event, Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. }));
        assert!(!acts, "{event:?}");
    }
    let controls: Vec<char> = text.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert_eq!(controls, []);
    assert!(!text.contains('\u{202e}'));
    assert!(text.contains("clouds\\|storms"), "a hostile id is still readable");
    assert!(events(&text).iter().any(|event| matches!(event, Event::Text(text) if text.contains("alert(1)"))));
}

/// Every report says how its numbers were made.
#[test]
fn the_report_says_how_its_numbers_were_made() {
    let text = markdown::render(Example::new().report()).unwrap();
    let section = text.split("## How this number was made").nth(1).unwrap();
    for part in ["suite", "plan", "dataset", "- n: ", "interval", "judges", "seed", "reused", "3 days"] {
        assert!(section.contains(part), "{part}: {section}");
    }
    let hash = text.find("plan: `").unwrap();
    assert!(text.find("## Cost").unwrap() < hash, "hashes come last");
}

#[test]
fn rendering_twice_is_byte_identical() {
    let render = || markdown::render(Example::new().report()).unwrap();
    assert_eq!(render(), render());
}

#[test]
fn the_canonical_form_has_neither_latency_nor_reuse() {
    let text = markdown::render(Example::new().canonical().report()).unwrap();
    for word in ["latency", "reused", "Paid"] {
        assert!(!text.contains(word), "{word}");
    }
}

/// BY-03, BY-16, GE-04: optional analyses have their sections.
#[test]
fn sections_that_are_asked_for() {
    let example = Example::asking(serde_json::json!([
        { "analysis": "slices", "id": "slices", "with": { "by": ["topic"], "metrics": ["quality.o*", "latency"] } },
        { "analysis": "power", "id": "power", "with": { "mde": 0.5, "metric": "quality.overallScore" } },
        { "analysis": "human_anchor", "id": "human_anchor", "with": { "scorer": "quality", "width": 0.5 } },
        { "analysis": "judge_bias", "id": "judge_bias", "with": { "scorer": "quality" } },
    ]));
    let text = markdown::render(example.report()).unwrap();
    let found = headings(&events(&text), HeadingLevel::H2);
    for section in ["quality.overallScore by topic", "Power", "Human-anchored scores", "Judge bias in quality"] {
        assert!(found.iter().any(|heading| heading == section), "{section}: {found:?}");
    }
    let from = text.find("## quality.overallScore by topic").unwrap();
    let to = text[from..].find("## Cost").map_or(text.len(), |at| from + at);
    assert!(!text[from..to].contains("<script>"));
    insta::assert_snapshot!(&text[from..to]);
}
