//! Cells that several judges graded: how many, and those on which the judges disagree.

use karat_analysis::Grading;
use karat_page::block::{Block, Cell, Column, Head};

use crate::blocks::build::{count_card, prose, stats, table_if_any, texts, value};
use crate::shared::scales::bare_scale;

pub(in crate::blocks) fn blocks(found: &Grading) -> Vec<Block> {
    let few = found.few_judge_cells.saturating_sub(found.single_judge_cells);
    let cards = vec![
        count_card("shared", "Cells graded by several judges", found.shared_cells, None),
        count_card("single", "By only one although several were required", found.single_judge_cells, None),
        count_card("few", "By fewer than the required number", few, None),
        count_card("flagged", "On which the judges disagree", found.flagged_cells, None),
    ];
    let flagged = found.flagged.iter().map(|it| {
        vec![
            Cell::text(&it.sample),
            Cell::text(&it.system),
            Cell::text(&it.metric),
            value(Some(it.variance), &bare_scale()),
            Cell::Count(u64::from(it.judges)),
        ]
    });
    let mut columns = texts(["Sample", "System", "Largest disagreement in"]);
    columns.extend(["Variance (÷ n)", "Judges"].map(Column::number));
    let flagged = table_if_any(Head::new("Cells on which judges disagree", "Which cells do I read?"), columns, flagged);
    let failing = found
        .failing_judges
        .iter()
        .map(|it| vec![Cell::text(&it.judge), Cell::Count(it.failed), Cell::Count(it.of), prose(&it.error)]);
    let mut columns = texts(["Judge"]);
    columns.extend(["Failed", "Of"].map(Column::number));
    columns.extend(texts(["First error"]));
    let failing = table_if_any(Head::new("Judges that fail often", "Can I rely on the judges?"), columns, failing);
    let head = Head::new("Judges", "How many judges graded each cell?");
    let has_cells = found.shared_cells + found.single_judge_cells > 0;
    [has_cells.then(|| stats(head, cards)), flagged, failing].into_iter().flatten().collect()
}
