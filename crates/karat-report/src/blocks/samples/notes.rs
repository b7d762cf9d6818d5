//! Notes of cells and judgments: truncated replies, dropped chunks, lenient parses.

use karat_analysis::Notes;
use karat_page::block::{Block, Cell, Column, Head};

use crate::blocks::build::{table, texts};
use crate::shared::visible::excerpt;
use crate::wording::notes::note_name;

/// Returns true if anything was cut, dropped or read leniently.
pub(crate) fn has_any(found: &Notes) -> bool {
    !found.kinds.is_empty() || found.rungs.keys().any(|rung| rung != "direct")
}

pub(in crate::blocks) fn blocks(found: &Notes) -> Vec<Block> {
    let kinds = found.kinds.iter().map(|note| {
        vec![
            Cell::text(note_name(note.kind)),
            Cell::Count(note.cells),
            Cell::Count(note.judgments),
            Cell::Count(note.times),
            Cell::Words(format!("{}: {}", note.sample, excerpt(&note.example, 160))),
        ]
    });
    let mut columns = texts(["What"]);
    columns.extend(["Cells", "Judgments", "Times"].map(Column::number));
    columns.extend(texts(["First example"]));
    let mut head = Head::new("Notes", "Was anything cut, dropped or read leniently?")
        .when_empty_because("Nothing was cut, dropped or read leniently.");
    let lenient = found.rungs.iter().filter(|(rung, _)| rung.as_str() != "direct");
    head.notes.extend(lenient.map(|(rung, n)| format!("Judge replies parsed by {rung}: {n}")));
    vec![table(head, columns, kinds)]
}
