//! Writes pages of made-up dated suites into a folder, with the data that they are made from: for tests in a browser.

use std::error::Error;
use std::path::PathBuf;

use karat_analysis::series::{CardFilter, JudgeChoice, SeriesView};
use karat_analysis::testing::DatedSuite;
use karat_report::series::{SeriesLinks, SeriesState, document};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: series FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let usual = DatedSuite::default();
    let hidden = DatedSuite {
        name: "hidden".to_owned(),
        scorer: "grade".to_owned(),
        overall: "total".to_owned(),
        method: "min".to_owned(),
        axes: vec![("depth".to_owned(), 1.0), ("tone".to_owned(), 1.0)],
        scale: (0.0, 100.0),
        ..usual.clone()
    };
    let judged = DatedSuite { judges: names(&["strict", "mild", "third"]), days: 45, ..usual.clone() };
    let pages = [
        ("series", usual.view(JudgeChoice::Consensus)),
        ("long", DatedSuite { days: 2_007, ..usual.clone() }.view(JudgeChoice::Consensus)),
        ("hidden", hidden.view(JudgeChoice::Consensus)),
        ("judges", judged.view(JudgeChoice::All)),
        ("one", DatedSuite { days: 1, ..usual.clone() }.view(JudgeChoice::Consensus)),
        ("none", DatedSuite { days: 0, ..usual }.view(JudgeChoice::Consensus)),
    ];
    for (name, view) in pages {
        let page = document(&view, &SeriesLinks::none(), &SeriesState::default()).to_file();
        std::fs::write(folder.join(format!("{name}.html")), page)?;
        std::fs::write(folder.join(format!("{name}.json")), data(&view).to_string())?;
    }
    Ok(())
}

/// The cards and the counts of filters.
fn data(view: &SeriesView) -> Value {
    let card = |card: &karat_analysis::series::SeriesCard| {
        let axes: Vec<Option<f64>> = card.axes.iter().map(|axis| axis.value).collect();
        json!({
            "key": card.key, "date": card.date, "composite": card.composite, "delta": card.delta(), "axes": axes,
            "judge": card.judge, "notes": card.notes, "run": card.run, "caps": card.caps
        })
    };
    let count = |filter: CardFilter| (filter.key().to_owned(), json!(view.count(filter)));
    json!({
        "axes": view.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<&str>>(),
        "cards": view.cards.iter().map(card).collect::<Vec<Value>>(),
        "counts": CardFilter::ALL.into_iter().map(count).collect::<serde_json::Map<String, Value>>()
    })
}
