//! Components of lists and of cells read whole.

use maud::{Markup, html};
use serde_json::json;

use crate::block::Message;
use crate::component::browse::filters::{self, Field, FilterChip};
use crate::component::browse::json_tree;
use crate::component::browse::listing::{self, Direction, ListColumn, ListRow, Listing};
use crate::component::browse::pager::{self, Pager};
use crate::component::browse::steps::{self, Step, TextView};

/// Returns id, title and content of each section.
pub(super) fn all() -> Vec<(&'static str, &'static str, Markup)> {
    vec![("list", "List of a server", list()), ("calls", "Calls of a cell", calls())]
}

fn list() -> Markup {
    let options = ["gpt-5", "gpt-4.1"].map(|model| (model.to_owned(), model.to_owned())).to_vec();
    let fields = [
        Field::Search { name: "q", label: "Ids, errors, notes".to_owned(), value: "q0".to_owned() },
        Field::Choice {
            name: "model",
            label: "Model".to_owned(),
            value: "gpt-5".to_owned(),
            none: Some("any"),
            options,
        },
        Field::Number { name: "gt", label: "above".to_owned(), value: "0.5".to_owned() },
        Field::Date { name: "since", label: "Since".to_owned(), value: "2026-01-31".to_owned() },
        Field::Hidden { name: "sort".to_owned(), value: "-f1".to_owned() },
    ];
    let chip = |key: &str, count, is_on| FilterChip {
        key: key.to_owned(),
        label: key.to_owned(),
        href: "#list".to_owned(),
        count,
        is_on,
    };
    let column = |name: &str, is_number, direction| ListColumn {
        name: name.to_owned(),
        is_number,
        sort: Some("#list".to_owned()),
        direction,
        ..ListColumn::default()
    };
    let row = |key: &str, value: &str, text: &str| ListRow {
        key: key.to_owned(),
        cells: vec![
            html! { a href="#list" { (key) } },
            html! { (value) },
            html! { span.flag { "judges disagree" } },
            html! { span.snippet { (text) } },
        ],
        more: Some(html! { p { (text) } }),
        tick: Some(key.to_owned()),
    };
    let listing = Listing {
        caption: "Cells".to_owned(),
        row_name: "cell-row".to_owned(),
        noun: "cell".to_owned(),
        columns: vec![
            column("Sample", false, None),
            column("f1", true, Some(Direction::Descending)),
            ListColumn::text("Flags"),
            ListColumn::text("Output"),
        ],
        rows: vec![
            row(
                "q007",
                "0.912",
                "Revenue rose 12 % to $4.2bn in 2024, mostly from services, as the filing says on page 3.",
            ),
            row("q011", "n/a", "HTTP 500 after 5 attempts"),
        ],
        tick_field: Some("run".to_owned()),
    };
    let pager = Pager {
        first: 51,
        last: 100,
        total: 12_480,
        noun: "row".to_owned(),
        note: Some("37,440 cells".to_owned()),
        previous: Some("#list".to_owned()),
        next: Some("#list".to_owned()),
    };
    html! {
        (filters::notices(&["`sort=colour` was left out: expected `sample`, `system` or a metric".to_owned()]))
        (filters::form("#list", &fields, Some("#list")))
        (filters::chips("Cells to read", &[chip("all", Some(12_480), false), chip("error", Some(12), true)]))
        (listing::render(&listing))
        (pager::render(&pager))
    }
}

fn calls() -> Markup {
    let message = |role: &str, content: &str| Message {
        role: role.to_owned(),
        content: content.to_owned(),
        ..Message::default()
    };
    let answered = Step {
        title: "gpt-5".to_owned(),
        facts: [("time", "1.24 s"), ("HTTP", "200"), ("tokens", "480 in, 61 out"), ("cost", "$0.0012")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        bar: Some((0.0, 0.7)),
        messages: vec![message("system", "Answer in one sentence."), message("user", "How did **revenue** develop?")],
        settings: "temperature: 0, max_tokens: 200".to_owned(),
        reply: "Revenue rose 12 % to $4.2bn, mostly from services.".to_owned(),
        request: "{\n  \"model\": \"gpt-5\"\n}".to_owned(),
        response: "{\n  \"choices\": []\n}".to_owned(),
        ..Step::default()
    };
    let judged = Step {
        title: "gpt-5, judge of accuracy".to_owned(),
        is_judge: true,
        bar: Some((0.7, 0.3)),
        messages: vec![message("user", "Is the answer right?")],
        reply: "{\"score\": 1, \"reason\": \"Both figures are in the source.\", \"parts\": [1, 2, {\"deep\": true}]}"
            .to_owned(),
        error: Some("parse: the judge's reply has no `verdict`".to_owned()),
        ..Step::default()
    };
    let pruned = Step {
        title: "Call 7f3a91c2".to_owned(),
        absent: Some("The request and the response were removed by `karat cache prune --traces`.".to_owned()),
        ..Step::default()
    };
    html! {
        (steps::render(&[answered.clone(), judged, pruned], TextView::Rendered))
        (steps::render(&[answered], TextView::Raw))
        div.surface { (json_tree::render(&json!({ "answer": "12 %", "sources": [{ "page": 3, "quote": "grew 12 %" }], "none": null }))) }
    }
}
