//! Changes between the base and the other variants or models: a forest for each metric, texts that came and went, and
//! samples that moved.

use karat_analysis::{Comparison, Delta, DeltaAxis, TextChange};
use karat_page::block::{Block, Cell, Forest, ForestRow, Head};
use karat_types::MetricSpec;

use crate::blocks::build::{difference, numbers, prose, table, table_if_any, texts};
use crate::shared::report::Report;
use crate::shared::scales;
use crate::shared::visible::excerpt;
use crate::wording::comparison::page_verdict;

/// Number of forests, the headline metrics first.
const METRICS: usize = 6;

/// Number of texts and samples listed for each comparison.
const LISTED: usize = 10;

/// Number of less frequent texts that a reader can open.
const MORE: usize = 40;

pub(in crate::blocks) fn blocks(report: Report<'_>, delta: &Delta) -> Vec<Block> {
    let title = match delta.over {
        DeltaAxis::Variant => "Variant delta",
        DeltaAxis::Model => "Model delta",
        DeltaAxis::Baseline => "Since the baseline",
    };
    if !delta.has_matches() {
        let head = Head::new(title, "Did anything change?").when_empty(
            format!("Nothing can be paired with {}: it shares no scored sample with the others.", delta.base),
            "karat validate",
        );
        return vec![Block::Forest(Forest { head, ..Forest::default() })];
    }
    let mut shown: Vec<usize> = report.headline().into_iter().map(|(at, _)| at).collect();
    shown.extend(report.metrics().map(|(at, _)| at).filter(|at| !shown.contains(at)).collect::<Vec<_>>());
    let metrics = shown.into_iter().filter_map(|at| report.findings.plan.metrics.get(at));
    // A forest of zeros says nothing that a sentence would not; the first metric is always drawn.
    let (moved, still): (Vec<_>, Vec<_>) =
        metrics.enumerate().partition(|(at, metric)| *at == 0 || has_moved(delta, metric));
    let still: Vec<&str> = still.into_iter().map(|(_, metric)| metric.name.as_str()).collect();
    let forests = moved.into_iter().enumerate().filter_map(|(at, (_, metric))| {
        let note = (at == 0 && !still.is_empty()).then(|| format!("No change at all in {}.", still.join(", ")));
        forest(report, title, delta, metric, note)
    });
    let forests: Vec<Block> = forests.take(METRICS).collect();
    forests.into_iter().chain([pairs(delta)]).chain(movers(report, delta)).collect()
}

/// Returns the pairs of cells behind each comparison.
fn pairs(delta: &Delta) -> Block {
    let columns = numbers("Compared", ["Matched pairs of cells", "Without a partner"]);
    let row = |it: &Comparison| vec![Cell::text(&it.id), Cell::Count(it.matched), Cell::Count(it.unmatched)];
    let by = match delta.over {
        DeltaAxis::Variant => "sample, model and judge",
        DeltaAxis::Model => "sample, variant and judge",
        DeltaAxis::Baseline => "sample and system",
    };
    let head = Head::new("Pairs of cells", "How much of each side is compared?")
        .with_note(format!("Each is compared with {}, paired by {by}.", delta.base));
    table(head, columns, delta.comparisons.iter().map(row))
}

/// Returns true if any comparison has a difference in this metric.
fn has_moved(delta: &Delta, metric: &MetricSpec) -> bool {
    let found = delta.comparisons.iter().flat_map(|it| it.metrics.iter()).filter(|it| it.metric == metric.name);
    found.map(|it| &it.delta).any(|delta| delta.value().abs() > 0.0 || delta.se().is_none_or(|se| se > 0.0))
}

fn forest(report: Report<'_>, title: &str, delta: &Delta, metric: &MetricSpec, note: Option<String>) -> Option<Block> {
    let row = |it: &Comparison| {
        let change = it.metrics.iter().find(|found| found.metric == metric.name)?;
        let (effect, verdict) = (scales::difference(&change.delta), Some(page_verdict(change.verdict(metric.better))));
        Some(ForestRow { name: it.id.clone(), effect, verdict, ..ForestRow::default() })
    };
    let rows: Vec<ForestRow> = delta.comparisons.iter().filter_map(row).collect();
    let question = format!("What changes in {} against {}?", metric.name, delta.base);
    let mut head = Head::new(format!("{title}: {}", metric.name), question).with_note(
        "Paired by sample, with the same judges on both sides; the verdicts count all comparisons of the run together.",
    );
    head.notes.extend(note);
    let scale = scales::scale_of(&report.findings.plan, metric);
    (!rows.is_empty()).then_some(Block::Forest(Forest { head, scale, rows, margin: None }))
}

/// The texts of judges that appeared and disappeared, the most frequent first: the first few, then the others.
pub(crate) fn moved_texts(delta: &Delta) -> Vec<Block> {
    let mut counted: Vec<MovedText<'_>> = Vec::new();
    let mut left_out = 0;
    for comparison in &delta.comparisons {
        for texts in &comparison.texts {
            let lists = [
                ("appeared", &texts.appeared, texts.n_appeared),
                ("disappeared", &texts.disappeared, texts.n_disappeared),
            ];
            for (change, listed, all) in lists {
                left_out += all.saturating_sub(listed.len() as u64);
                for it in listed {
                    let place = (comparison.id.as_str(), format!("{change}: {}", texts.name), it.text.as_str());
                    match counted.iter_mut().find(|known| known.place == place) {
                        Some(known) => known.add(it),
                        None => counted.push(MovedText { place, samples: vec![&it.sample], times: it.times }),
                    }
                }
            }
        }
    }
    counted.sort_by_key(|it| std::cmp::Reverse(it.times));
    let question = format!("What do judges say now, and not of {}?", delta.base);
    let mut columns = texts(["Compared", "Change", "Samples", "Text"]);
    columns.push(karat_page::block::Column::number("Times"));
    let (few, others) = counted.split_at(counted.len().min(LISTED));
    let (others, rare) = others.split_at(others.len().min(MORE));
    left_out += rare.len() as u64;
    let block = |title: &str, rows: &[MovedText<'_>], note: Option<String>| {
        let mut head = Head::new(title, question.clone());
        head.notes.extend(note);
        table_if_any(head, columns.clone(), rows.iter().map(MovedText::cells))
    };
    let note =
        (left_out > 0).then(|| format!("{left_out} more are only counted; report.json has those that are listed."));
    let blocks = [block("Remarks of judges that changed", few, note), block("Less frequent remarks", others, None)];
    blocks.into_iter().flatten().collect()
}

/// A text of judges that appeared or disappeared.
struct MovedText<'a> {
    /// The comparison, the change and the text.
    place: (&'a str, String, &'a str),
    /// The samples that have it.
    samples: Vec<&'a str>,
    times: u64,
}

impl<'a> MovedText<'a> {
    fn add(&mut self, change: &'a TextChange) {
        self.times += change.times;
        if !self.samples.contains(&change.sample.as_str()) {
            self.samples.push(&change.sample);
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let (compared, change, text) = &self.place;
        let samples = match self.samples.as_slice() {
            [first, second, rest @ ..] if !rest.is_empty() => format!("{first}, {second} and {} more", rest.len()),
            few => few.join(", "),
        };
        vec![
            Cell::text(*compared),
            Cell::text(change.as_str()),
            Cell::Text(samples),
            prose(excerpt(text, 240)),
            Cell::Count(self.times),
        ]
    }
}

fn movers(report: Report<'_>, delta: &Delta) -> Option<Block> {
    let rows = delta.comparisons.iter().flat_map(|comparison| {
        comparison.movers.iter().take(LISTED).map(|mover| {
            let scale = scales::scale_named(&report.findings.plan, &mover.metric);
            vec![
                Cell::text(&mover.sample),
                Cell::text(&comparison.id),
                Cell::text(&mover.metric),
                difference(Some(&mover.delta), &scale),
            ]
        })
    });
    let mut columns = texts(["Sample", "Compared", "Metric"]);
    columns.push(karat_page::block::Column::number("Change"));
    table_if_any(Head::new("Samples that moved most", "Which samples do I read?"), columns, rows)
}
