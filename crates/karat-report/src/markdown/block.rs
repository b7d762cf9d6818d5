//! A block as Markdown: its question, its numbers as a table, its remarks.

use karat_page::block::verdict::Verdict;
use karat_page::block::{Block, Cell, Excerpt, Row};
use karat_page::{is_empty, tabulate};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::count;

/// Largest number of rows of a table.
const ROWS: u64 = 40;

/// Writes a block under a heading of this level.
pub(super) fn write(page: &mut Page, block: &Block, level: usize) {
    let head = block.head();
    page.heading(level, Inline::text(&head.title));
    let n = head.n.map(|n| format!("n = {}", count(n)));
    let facts: Vec<String> = n.into_iter().chain(head.unit.clone()).collect();
    let question = Inline::text(&head.question);
    match facts.is_empty() {
        true if head.question.is_empty() => {}
        true => page.paragraph(question),
        false => page.paragraph(question.and(" (").and_text(facts.join("; ")).and(")")),
    }
    if is_empty(block) {
        let reason = head.empty.reason.as_deref().map_or_else(|| Inline::plain("Nothing."), Inline::sentence);
        page.paragraph(match &head.empty.command {
            Some(command) => reason.and(" Try ").and_code(command).and("."),
            None => reason,
        });
    } else {
        content(page, block);
    }
    page.list(head.notes.iter().map(|note| Inline::sentence(note)));
}

fn content(page: &mut Page, block: &Block) {
    let Some(rows) = tabulate(block) else {
        match block {
            Block::Text(it) => page.code_fence("text", &it.text),
            Block::Excerpts(it) => it.items.iter().for_each(|item| excerpt(page, item)),
            _ => {}
        }
        return;
    };
    // A column in which no row says anything, such as the remarks of cards, is left out.
    let has_text =
        |at: &usize| rows.rows.iter().any(|row| row.cells.get(*at).is_some_and(|it| !it.to_text().is_empty()));
    let shown: Vec<usize> = (0..rows.columns.len()).filter(has_text).collect();
    let columns: Vec<Column> = shown.iter().filter_map(|at| rows.columns.get(*at)).map(column).collect();
    let cells = |row: &Row| shown.iter().map(|at| row.cells.get(*at).map(inline).unwrap_or_default()).collect();
    page.table(&columns, rows.rows.iter().take(ROWS as usize).map(cells));
    let more = rows.left_out + (rows.rows.len() as u64).saturating_sub(ROWS);
    if more > 0 {
        page.paragraph(Inline::text(count(more)).and(" more are in report.json."));
    }
}

/// Writes the outputs of a sample one below the other.
fn excerpt(page: &mut Page, item: &Excerpt) {
    let why = item.why.as_deref().map(Inline::sentence);
    let sample = Inline::code(&item.sample);
    page.paragraph(match why {
        Some(why) => sample.and(": ").then(why),
        None => sample,
    });
    for output in &item.outputs {
        let scores =
            output.scores.iter().map(|it| format!("{} {}", it.metric, it.value)).collect::<Vec<_>>().join(", ");
        let note = output.note.as_ref().map_or_else(String::new, |note| format!(" {note}"));
        page.paragraph(Inline::text(&output.system).bold().and(" (").and_text(scores).and("):").and_text(note));
        output.text.iter().for_each(|text| page.code_fence("text", text));
    }
}

fn column(column: &karat_page::block::Column) -> Column {
    let name = Inline::name(&column.name);
    if column.is_number { Column::right(name) } else { Column::left(name) }
}

fn inline(cell: &Cell) -> Inline {
    match cell {
        Cell::Code(text) => Inline::code(text),
        Cell::Text(text) => Inline::name(text),
        Cell::Prose(text) | Cell::Words(text) => Inline::sentence(&text.replace('\n', " · ")),
        Cell::Verdict(Verdict::Fail | Verdict::Worse | Verdict::Error) => Inline::text(cell.to_text()).bold(),
        other => Inline::text(other.to_text()),
    }
}
