//! A comparison as blocks: the verdict on each metric, the differences around zero, and the samples that moved.

use karat_analysis::compare::{ComparedMetric, CutOutput, Mover, RunComparison};
use karat_page::block::verdict::Verdict;
use karat_page::block::{
    Block, Cell, Column, Excerpt, ExcerptOutput, ExcerptScore, Excerpts, Filter, Forest, ForestRow, Head, Row, Rows,
    Table,
};
use karat_page::number::{Estimate, count_noun};

use crate::shared::{readable, scales};
use crate::wording::comparison::{aggregate_name, conclusion, deciding_difference, page_verdict};
use crate::wording::movers::{counts, cut_note, other_metrics, shown_movers};

/// Returns the verdict on each metric in a sentence.
pub(crate) fn verdicts(compared: &RunComparison) -> Block {
    let rows = compared.metrics.iter().map(|metric| {
        let scale = scales::scale_of_compared(metric);
        Row::of(vec![
            Cell::Text(name(metric)),
            Cell::Verdict(page_verdict(metric.verdict)),
            Cell::Value(scales::estimate(&scale, &metric.baseline), scale.clone()),
            Cell::Value(scales::estimate(&scale, &metric.candidate), scale.clone()),
            Cell::Words(conclusion(compared, metric)),
        ])
    });
    let not_compared = compared.not_compared.iter().map(|it| {
        let missing = || Cell::Missing("not compared".to_owned());
        Row::of(vec![Cell::text(&it.metric), missing(), missing(), missing(), Cell::Words(it.reason.clone())])
    });
    let mut columns = ["Metric", "Verdict"].map(Column::text).to_vec();
    columns.extend(["Baseline", "Candidate"].map(Column::number));
    columns.push(Column::text("In words"));
    let rows = Rows { columns, rows: rows.chain(not_compared).collect(), ..Rows::default() };
    let head = Head::new("Verdict for each metric", "Did it change?");
    Block::Table(Table { head, rows, ..Table::default() })
}

/// Returns the name of a metric, with the kind of its figures unless they are means.
fn name(metric: &ComparedMetric) -> String {
    match aggregate_name(metric) {
        Some(aggregate) => format!("{} ({aggregate})", metric.metric),
        None => metric.metric.clone(),
    }
}

/// Returns the differences of metrics, one forest for all metrics of one scale and margin.
pub(crate) fn differences(compared: &RunComparison) -> Vec<Block> {
    let mut groups: Vec<Vec<&ComparedMetric>> = Vec::new();
    let is_alike = |a: &ComparedMetric, b: &ComparedMetric| {
        // A quantity without a range has a unit of its own.
        a.range.is_some() && a.range == b.range && a.better == b.better && a.margin == b.margin
    };
    for metric in &compared.metrics {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_alike(first, metric))) {
            Some(group) => group.push(metric),
            None => groups.push(vec![metric]),
        }
    }
    let question = match compared.systems.len() {
        0 | 1 => "What changes, candidate − baseline?",
        _ => "What changes on average over systems?",
    };
    let forest_of = |group: &Vec<&ComparedMetric>| {
        let first = group.first()?;
        let title = if group.len() == 1 { name(first) } else { count_noun(group.len() as u64, "metric") };
        let rows = group.iter().map(|metric| row(name(metric), metric)).collect();
        Some(forest(Head::new(title, question), first, rows))
    };
    groups.iter().filter_map(forest_of).collect()
}

fn forest(head: Head, metric: &ComparedMetric, rows: Vec<ForestRow>) -> Block {
    let scale = scales::scale_of_compared(metric);
    Block::Forest(Forest { head, scale, margin: metric.margin, rows })
}

fn row(name: String, metric: &ComparedMetric) -> ForestRow {
    ForestRow {
        name,
        effect: scales::difference(deciding_difference(metric)),
        verdict: Some(page_verdict(metric.verdict)),
        needed: metric.needed.as_ref().filter(|needed| needed.more > 0).map(|needed| needed.samples),
        href: None,
    }
}

/// Returns the differences of each system, a forest for each metric; none if there is one system.
pub(crate) fn systems(compared: &RunComparison) -> Vec<Block> {
    if compared.systems.len() < 2 {
        return Vec::new();
    }
    let forest_of = |wanted: &ComparedMetric| {
        let rows = compared.systems.iter().filter_map(|system| {
            let metric = system.metrics.iter().find(|metric| metric.metric == wanted.metric)?;
            Some(row(system.candidate.clone(), metric))
        });
        forest(Head::new(name(wanted), "Which systems change?"), wanted, rows.collect())
    };
    compared.metrics.iter().map(forest_of).collect()
}

/// Returns the samples that moved, and both outputs of those whose texts were read. `link` gives the address of a sample.
pub(crate) fn moved_samples(compared: &RunComparison, link: &dyn Fn(&str) -> Option<String>) -> Vec<Block> {
    let Some((movers, metric)) = shown_movers(compared) else { return Vec::new() };
    let mut all: Vec<(&Mover, bool)> =
        movers.better.iter().map(|it| (it, true)).chain(movers.worse.iter().map(|it| (it, false))).collect();
    all.sort_by(|a, b| size(b.0).total_cmp(&size(a.0)));
    let notes = [Some(format!("{}.", counts(compared, movers))), cut_note(movers), other_metrics(compared, movers)];
    let mut head = Head::new(format!("Samples by {}", movers.metric), "Where did it change?");
    head.notes = notes.into_iter().flatten().collect();
    let items: Vec<Excerpt> = all.iter().filter_map(|(mover, _)| excerpt(mover, metric, link)).collect();
    let outputs = (!items.is_empty()).then(|| {
        let head = Head::new("Both outputs", "What changed in the texts?");
        Block::Excerpts(Excerpts { head, items, left_out: 0, all_by: None })
    });
    std::iter::once(table(head, &all, metric, link)).chain(outputs).collect()
}

fn size(mover: &Mover) -> f64 {
    (mover.candidate - mover.baseline).abs()
}

fn table(head: Head, all: &[(&Mover, bool)], metric: &ComparedMetric, link: &dyn Fn(&str) -> Option<String>) -> Block {
    let scale = scales::scale_of_compared(metric);
    let row = |(mover, is_better): &(&Mover, bool)| {
        let value = |number: f64| Cell::Value(Estimate::point(number, 0), scale.clone());
        let sample = match link(&mover.sample) {
            Some(href) => Cell::Link { text: mover.sample.clone(), href },
            None => Cell::text(&mover.sample),
        };
        let cells = vec![
            sample,
            Cell::text(&mover.system),
            value(mover.baseline),
            value(mover.candidate),
            Cell::Difference(Estimate::point(mover.candidate - mover.baseline, 0), scale.clone()),
            Cell::Verdict(if *is_better { Verdict::Better } else { Verdict::Worse }),
        ];
        Row { flags: vec![if *is_better { "better" } else { "worse" }.to_owned()], ..Row::of(cells) }
    };
    let filter = |key: &str, wanted: bool| Filter {
        key: key.to_owned(),
        label: key.to_owned(),
        count: all.iter().filter(|(_, is_better)| *is_better == wanted).count() as u64,
    };
    let mut columns = ["Sample", "System"].map(Column::text).to_vec();
    columns.extend(["Baseline", "Candidate", "Δ"].map(Column::number));
    columns.push(Column::text("Verdict"));
    let rows = Rows { columns, rows: all.iter().map(row).collect(), ..Rows::default() };
    Block::Table(Table { head, rows, filters: vec![filter("better", true), filter("worse", false)], can_search: true })
}

fn excerpt(mover: &Mover, metric: &ComparedMetric, link: &dyn Fn(&str) -> Option<String>) -> Option<Excerpt> {
    let both = mover.outputs.as_ref()?;
    let scale = scales::scale_of_compared(metric);
    let output = |side: &str, output: Option<&CutOutput>, score: f64| ExcerptOutput {
        system: side.to_owned(),
        text: output.map(|it| readable::of_text(&it.text)),
        note: match output {
            None => Some("No output.".to_owned()),
            Some(it) if it.cut > 0 => Some(format!("{} more characters are not shown.", it.cut)),
            Some(_) => None,
        },
        repeats: 1,
        scores: vec![ExcerptScore {
            metric: metric.metric.clone(),
            value: scale.text(score),
            ..ExcerptScore::default()
        }],
        ..ExcerptOutput::default()
    };
    let outputs = vec![
        output("baseline", both.baseline.as_ref(), mover.baseline),
        output("candidate", both.candidate.as_ref(), mover.candidate),
    ];
    let why = Some(format!("{}, {}", mover.system, scale.signed_text(mover.candidate - mover.baseline)));
    let href = link(&mover.sample);
    Some(Excerpt { sample: mover.sample.clone(), why, href, outputs, with_diff: true, ..Excerpt::default() })
}
