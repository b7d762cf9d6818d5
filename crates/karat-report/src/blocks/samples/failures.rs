//! Cells below a threshold: counts by metric with examples, and the worst cells with their reasons.

use std::collections::BTreeSet;

use karat_analysis::{Failure, Failures};
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::number;

use crate::blocks::build::{prose, table, table_if_any, texts};
use crate::outputs::cell_text::text_of;
use crate::shared::report::Report;
use crate::shared::scales;
use crate::shared::visible::excerpt;

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &Failures) -> Vec<Block> {
    let scale = |metric: &str| scales::scale_named(&report.findings.plan, metric);
    let thresholds: Vec<String> =
        found.below.iter().map(|(name, limit)| format!("{name} {}", scale(name).text(*limit))).collect();
    let mut columns = texts(["Below threshold in"]);
    columns.extend(["Cells", "Of"].map(Column::number));
    columns.extend(texts(["Examples"]));
    let rows = found.categories.iter().map(|it| {
        let mut examples: Vec<&str> = it.examples.iter().map(|example| example.sample.as_str()).collect();
        examples.dedup();
        vec![Cell::text(&it.metric), Cell::Count(it.cells), Cell::Count(it.of), prose(examples.join(", "))]
    });
    let head = Head::new("Below a threshold", "Where do outputs fall short?")
        .with_note(format!(
            "{} of {} scored cells are below the threshold of at least one metric.",
            number::count(found.cells),
            number::count(found.of)
        ))
        .with_note(format!("Thresholds: {}.", thresholds.join(", ")))
        .when_empty_because("No scored cell is below a threshold.");
    [Some(table(head, columns, rows)), worst(report, found)].into_iter().flatten().collect()
}

fn worst(report: Report<'_>, found: &Failures) -> Option<Block> {
    let paths: BTreeSet<&str> =
        found.worst.iter().flat_map(|failure| failure.shown.keys()).map(String::as_str).collect();
    let mut columns = texts(["Sample", "System", "Below threshold in", "Why"]);
    let has_expected = found.worst.iter().any(|it| it.expected.is_some());
    // Without chosen parts, the output itself stands beside what is expected.
    let has_output = has_expected && paths.is_empty();
    columns.extend(has_expected.then(|| Column::text("Expected")));
    columns.extend(has_output.then(|| Column::text("Output")));
    columns.extend(paths.iter().map(|path| Column::text(*path)));
    let row = |failure: &Failure| {
        let fell = failure.shortfalls.iter().map(|it| {
            let scale = scales::scale_named(&report.findings.plan, &it.metric);
            format!("{} {}", it.metric, scale.text(it.value))
        });
        let mut cells = vec![
            Cell::text(&failure.sample),
            Cell::text(&failure.system),
            prose(fell.collect::<Vec<_>>().join("\n")),
            prose(reasons(failure)),
        ];
        let expected = failure.expected.as_deref().unwrap_or_default();
        cells.extend(has_expected.then(|| prose(excerpt(expected, 240))));
        if has_output {
            let output = report.rows.output(failure.ordinal).ok().flatten().map(|value| text_of(&value));
            cells.push(prose(excerpt(output.as_deref().unwrap_or("the output is not stored"), 240)));
        }
        let shown = |path: &&str| failure.shown.get(*path).map_or("", String::as_str);
        cells.extend(paths.iter().map(|path| prose(excerpt(shown(path), 240))));
        cells
    };
    let head = Head::new("The worst cells", "Which cells do I read?");
    let head = if (found.worst.len() as u64) < found.cells {
        head.with_note(format!(
            "The worst and examples of every metric: {} of {} cells.",
            found.worst.len(),
            number::count(found.cells)
        ))
    } else {
        head
    };
    table_if_any(head, columns, found.worst.iter().map(row))
}

/// Returns every reason once, that of the worst score first.
fn reasons(failure: &Failure) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for why in failure.shortfalls.iter().filter_map(|it| it.why.as_deref()) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    reasons.iter().map(|why| excerpt(why, 200)).collect::<Vec<_>>().join("\n")
}
