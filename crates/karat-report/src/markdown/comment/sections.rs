//! The text of a comment.

use super::document::{Answer, BaselineChange, CommentDocument, Gate, Point, WORST, WorstCell};
use super::examples::Outputs;
use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, NONE, Unscaled, count, count_noun, percent, usd};
use crate::shared::visible::excerpt;

/// Characters shown of an output.
const OUTPUT: usize = 1_500;

/// Characters shown of a reason.
const REASON: usize = 300;

/// Number of warnings shown.
const WARNINGS: usize = 3;

/// Returns the comment, with at most `size` entries in each list.
pub(super) fn comment(document: &CommentDocument, outputs: &Outputs, size: usize) -> String {
    let mut page = Page::default();
    page.marker(&format!("karat:{}", marker_name(&document.run.suite)));
    head(&mut page, document);
    let answer = |it: &Answer| quiet(&it.question).bold().and(" ").then(quiet(&it.answer));
    page.list(document.summary.answers.iter().map(answer));
    if document.gates.is_empty() {
        metrics(&mut page, document, size);
    } else {
        gates(&mut page, document, size);
    }
    changes(&mut page, &document.changes(), size);
    examples(&mut page, document, outputs, size);
    page.list(document.warnings.iter().take(WARNINGS.min(size)).map(|it| Inline::plain("Warning: ").then(quiet(it))));
    page.paragraph(Inline::plain("Cost: ").and_text(cost(document)));
    repeat(&mut page, document);
    page.finish()
}

/// Returns a suite's name as a part of the marker: without characters that could end the HTML comment.
fn marker_name(suite: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let parts: Vec<&str> = suite.split(|c: char| !is_fine(c)).filter(|part| !part.is_empty()).collect();
    excerpt(&parts.join("-"), 100)
}

/// Returns a text that notifies nobody: an `@` before a name would.
fn quiet(text: &str) -> Inline {
    Inline::text(excerpt(text, REASON).replace('@', "＠"))
}

fn head(page: &mut Page, document: &CommentDocument) {
    let (run, totals) = (&document.run, &document.totals);
    let title = match &document.verdict {
        Some(verdict) => Inline::plain(": ").and_text(verdict),
        None => Inline::plain(": no verdict"),
    };
    page.heading(2, Inline::code(excerpt(&run.suite, 100)).then(title));
    let mut facts = format!("{} samples, {} cells", count(totals.samples), count(totals.cells));
    for (n, word) in [(totals.errors, "failed"), (totals.unscored, "unscored")] {
        if n > 0 {
            facts += &format!(", {} {word}", count(n));
        }
    }
    if totals.cells < totals.planned || run.status != "finished" {
        facts += &format!("; the run is {} ({} cells planned)", run.status.replace('_', " "), count(totals.planned));
    }
    let verdicts = |word: &str| document.gates.iter().filter(|gate| gate.verdict == word).count() as u64;
    let checks = document.gates.len() as u64 + document.gates_left_out;
    if checks > 0 {
        facts += &format!(". {}", count_noun(checks, "check"));
        for word in ["fail", "undecided", "review"] {
            let n = verdicts(word);
            if n > 0 {
                facts += &format!(", {} {word}", count(n));
            }
        }
    }
    page.paragraph(Inline::text(facts).and("."));
    if document.verdict.is_none() {
        document.verdict_note.iter().for_each(|note| page.paragraph(quiet(note)));
    }
}

/// Writes the gates that did not pass, then the others.
fn gates(page: &mut Page, document: &CommentDocument, size: usize) {
    let rank = |gate: &&Gate| match gate.verdict.as_str() {
        "fail" => 0,
        "undecided" => 1,
        "review" => 2,
        _ => 3,
    };
    let mut sorted: Vec<&Gate> = document.gates.iter().collect();
    sorted.sort_by_key(rank);
    let heads = [
        Column::left(Inline::plain("Gate")),
        Column::right(Inline::plain("Figure")),
        Column::right(Inline::plain("Change")),
        Column::right(Inline::plain("Interval")),
        Column::right(Inline::plain("n")),
        Column::right(Inline::plain("Bound")),
        Column::left(Inline::plain("Verdict")),
    ];
    if size > 0 {
        page.table(&heads, sorted.iter().take(size).map(|gate| gate_row(gate)));
    }
    let more = (sorted.len().saturating_sub(size)) as u64 + document.gates_left_out;
    if more > 0 {
        page.paragraph(Inline::text(count(more)).and(" more checks are in report.json."));
    }
    let open = sorted.iter().filter(|gate| rank(gate) < 3).take(size.min(10));
    page.list(open.map(|gate| Inline::code(excerpt(&gate.id, 100)).and(": ").then(quiet(&gate.reason))));
}

fn gate_row(gate: &Gate) -> Vec<Inline> {
    let number = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| figures::value(&Unscaled, value));
    let group = gate.group.as_ref().map(ToString::to_string);
    let place: Vec<String> = [gate.system.clone(), gate.sample.clone(), group].into_iter().flatten().collect();
    let mut name = Inline::code(excerpt(&gate.id, 100));
    if gate.metric != gate.id {
        name = name.and(" ").and_code(excerpt(&gate.metric, 100));
    }
    if !place.is_empty() {
        name = name.and(" ").and_code(excerpt(&place.join(", "), 100));
    }
    let change = gate.change.map_or_else(String::new, |change| figures::signed_value(&Unscaled, change));
    let interval = gate.interval.map_or(NONE.to_owned(), |(lo, hi)| {
        let level = gate.level.map_or(String::new(), |level| format!(" ({})", percent(level)));
        format!("{} to {}{level}", number(Some(lo)), number(Some(hi)))
    });
    vec![
        name,
        Inline::text(number(gate.observed)),
        Inline::text(change),
        Inline::text(interval),
        Inline::text(count(gate.n)),
        Inline::text(format!("{} {}", gate.bound.replace('_', " "), number(gate.threshold))),
        Inline::text(&gate.verdict).bold(),
    ]
}

/// Writes the figures of the run, if no gate says which of them matter.
fn metrics(page: &mut Page, document: &CommentDocument, size: usize) {
    let heads = [
        Column::left(Inline::plain("Metric")),
        Column::right(Inline::plain("Figure")),
        Column::right(Inline::plain("Interval")),
        Column::right(Inline::plain("n")),
    ];
    let rows: Vec<Vec<Inline>> = (document.metrics.iter().take(size))
        .map(|(name, figure)| {
            vec![
                Inline::code(excerpt(name, 100)),
                Inline::text(figures::value_or_none(&Unscaled, figure.value)).bold(),
                Inline::text(ends(figure.ci)),
                Inline::text(count(figure.n)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.table(&heads, rows);
    }
}

fn ends(interval: Option<(f64, f64)>) -> String {
    let number = |value: f64| figures::value(&Unscaled, value);
    interval.map_or(NONE.to_owned(), |(lo, hi)| format!("{} to {}", number(lo), number(hi)))
}

fn changes(page: &mut Page, changes: &[BaselineChange], size: usize) {
    if changes.is_empty() || size == 0 {
        return;
    }
    page.heading(3, Inline::plain("Change to the baseline"));
    let heads = [
        Column::left(Inline::plain("System")),
        Column::left(Inline::plain("Metric")),
        Column::right(Inline::plain("Baseline")),
        Column::right(Inline::plain("Now")),
        Column::right(Inline::plain("Change")),
        Column::right(Inline::plain("Interval")),
        Column::right(Inline::plain("n")),
    ];
    let change = |it: &Option<Point>, of: fn(&Point) -> String| it.as_ref().map_or(NONE.to_owned(), of);
    let row = |it: &BaselineChange| {
        vec![
            Inline::code(excerpt(&it.system, 100)),
            Inline::code(excerpt(&it.metric, 100)),
            Inline::text(figures::value_or_none(&Unscaled, it.baseline)),
            Inline::text(figures::value(&Unscaled, it.figure.value)),
            Inline::text(change(&it.change, |found| figures::signed_value(&Unscaled, found.value))).bold(),
            Inline::text(change(&it.change, |found| ends(found.ci))),
            Inline::text(change(&it.change, |found| count(found.n))),
        ]
    };
    page.table(&heads, changes.iter().take(size).map(row));
    if changes.len() > size {
        page.paragraph(Inline::text(count((changes.len() - size) as u64)).and(" more figures are in report.json."));
    }
}

/// Writes the worst cells, each with its output in a fence.
fn examples(page: &mut Page, document: &CommentDocument, outputs: &Outputs, size: usize) {
    let Some(failing) = document.failing().filter(|it| !it.worst.is_empty() && size > 0) else { return };
    page.heading(3, Inline::plain("Worst examples"));
    page.paragraph(
        Inline::text(count(failing.cells))
            .and(" of ")
            .and_text(count(failing.of))
            .and(" scored cells are below a threshold."),
    );
    for it in failing.worst.iter().take(WORST) {
        page.paragraph(example(it));
        if let Some(output) = outputs.get(it.ordinal) {
            page.code_fence("text", &cut(output));
        }
    }
}

fn example(it: &WorstCell) -> Inline {
    let fell = it.shortfalls.iter().take(5).map(|short| {
        let number = |value: f64| figures::value(&Unscaled, value);
        Inline::code(excerpt(&short.metric, 100))
            .and(" ")
            .and_text(number(short.value))
            .and(" (threshold ")
            .and_text(number(short.threshold))
            .and(")")
    });
    let line = Inline::code(excerpt(&it.sample, 100)).and(" ").and_code(excerpt(&it.system, 100)).and(": ");
    let line = line.then(Inline::list(fell));
    match &it.why {
        Some(why) => line.and("; ").then(quiet(why)),
        None => line,
    }
}

/// Returns the first characters of an output. An HTML comment in it could be taken for the marker.
fn cut(output: &str) -> String {
    let text = output.replace("<!--", "<! --");
    match text.char_indices().nth(OUTPUT) {
        None => text,
        Some((end, _)) => {
            let (kept, rest) = text.split_at(end);
            format!("{kept}…\n({} more characters)", count(rest.chars().count() as u64))
        }
    }
}

fn cost(document: &CommentDocument) -> String {
    let cost = &document.cost;
    match (cost.actual_cost_usd, cost.estimated_cost_usd) {
        (Some(paid), Some(most)) => {
            format!("{} paid; a run without cached results costs at most {}.", usd(Some(paid)), usd(Some(most)))
        }
        (Some(paid), None) => format!("{} paid.", usd(Some(paid))),
        (None, _) => "unknown.".to_owned(),
    }
}

/// Returns true for a character that no shell interprets.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

/// Writes the commands that repeat the run.
fn repeat(page: &mut Page, document: &CommentDocument) {
    let mut lines = Vec::new();
    if let Some(commit) = document.run.git_commit.as_deref().filter(|it| it.chars().all(|c| c.is_ascii_alphanumeric()))
    {
        lines.push(format!("git checkout {commit}"));
    }
    lines.push("karat run     # in the suite's folder; reuses what is cached".to_owned());
    let worst = document.failing().and_then(|it| it.worst.into_iter().next());
    if let Some(cell) = worst {
        let run = document.run.id.as_deref().filter(|id| id.chars().all(is_plain)).unwrap_or("latest");
        lines.push(format!("karat trace {run} {}     # prompts and responses of the worst example", cell.ordinal));
    }
    page.heading(3, Inline::plain("Repeat"));
    page.code_fence("sh", &lines.join("\n"));
}
