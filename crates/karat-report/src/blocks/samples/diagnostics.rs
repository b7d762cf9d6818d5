//! Findings of judges about the items of outputs: scores, categories, reasons, confusions, errors by section, and whether a
//! stated confidence predicts errors.

use karat_analysis::{Confidence, Confusion, Diagnostics, SpanFigures, TextCount};
use karat_page::block::{
    Bar, Bars, Block, Cell, Column, Curve, CurveLine, CurvePoint, CurveShape, Head, Matrix, MatrixShape, Stat,
};
use karat_page::number::{Estimate, Scale, Unit};
use serde_json::{Map, Value};

use crate::blocks::build::{count, count_card, figure_card, numbers, prose, stats, table, table_if_any, texts, value};
use crate::shared::reliability_curve;
use crate::shared::scales::{self, bare_scale};
use crate::shared::visible::excerpt;

/// Number of evaluations listed as the worst.
const WORST: usize = 15;

/// Number of texts listed for each kind of finding.
const COMMON: usize = 8;

/// `id` is that of the analysis, after which the file with the reliability curve is named.
pub(in crate::blocks) fn blocks(id: &str, found: &Diagnostics) -> Vec<Block> {
    let all = &found.all;
    let confidence = all.confidence.iter().flat_map(|it| [buckets(it), reliability(id, it)]);
    let blocks = [
        Some(cards(found)),
        counts("Distribution of scores", "Are a few outputs bad, or many?", &all.score_distribution),
        categories(all),
        sections(all),
        counts("Reasons", "Why are items wrong?", &all.false_positive_reasons),
        confusions(&all.top_taxonomy_errors),
        confused_items(&all.top_taxonomy_errors),
    ];
    let after = [common(all), worst(all)];
    blocks.into_iter().flatten().chain(confidence).chain(after.into_iter().flatten()).collect()
}

fn cards(found: &Diagnostics) -> Block {
    let all = &found.all;
    let millis = Scale::of(Unit::Millis);
    let point = |key: &str, label: &str, number: Option<f64>, scale: &Scale| Stat {
        estimate: number.map_or_else(|| Estimate::missing("none"), |number| Estimate::point(number, 0)),
        ..figure_card(key, label, None, scale)
    };
    let mut cards = vec![
        Stat {
            estimate: all.score.as_ref().map_or_else(|| Estimate::missing("no verdict"), scales::difference),
            ..figure_card("score", "Mean score", None, &bare_scale())
        },
        point("items", "Items in an output, mean", all.avg_span_count, &bare_scale()),
        count_card("evaluated", "Outputs with a verdict", all.evaluated, None),
        count_card("errors", "Without a verdict or an output", all.error_count, None),
        count_card("degraded", "Verdicts of which only a part counts", all.degraded, None),
    ];
    if let Some(latency) = all.latency_ms {
        cards.push(Stat {
            note: Some(format!("p95 {}, p99 {}", millis.text(latency.p95), millis.text(latency.p99))),
            ..point("latency", "Latency, p50", Some(latency.p50), &millis)
        });
    }
    stats(Head::new("Items of outputs", "What do judges find in them?").with_n(all.evaluated), cards)
}

/// Returns counts by name as bars, or nothing if all are zero.
fn counts(title: &str, question: &str, counts: &Map<String, Value>) -> Option<Block> {
    let counted: Vec<(&String, u64)> = counts.iter().map(|(name, n)| (name, n.as_u64().unwrap_or(0))).collect();
    let bar = |(name, n): &(&String, u64)| Bar {
        name: (*name).clone(),
        estimate: Estimate::point(*n as f64, 0),
        ..Bar::default()
    };
    let bars = counted.iter().map(bar).collect();
    let head = Head::new(title, question).with_n(counted.iter().map(|(_, n)| n).sum());
    let block = Block::Bars(Bars { head, scale: Scale::of(Unit::Count), bars, threshold: None });
    counted.iter().any(|(_, n)| *n > 0).then_some(block)
}

fn categories(all: &SpanFigures) -> Option<Block> {
    let (_, first) = all.avg_category_scores.iter().next()?;
    let columns = [Column::text("Category")]
        .into_iter()
        .chain(first.scores.names().map(Column::number))
        .chain([Column::number("Assessed")]);
    let rows = all.avg_category_scores.iter().map(|(category, of)| {
        let scores = of.scores.iter().map(|(_, score)| value(*score, &bare_scale()));
        [Cell::text(category)].into_iter().chain(scores).chain([Cell::Count(of.n)]).collect()
    });
    table_if_any(Head::new("Categories", "Which kinds of items are missed?"), columns.collect(), rows)
}

fn sections(all: &SpanFigures) -> Option<Block> {
    let (_, labels) = all.errors_by_section.iter().next().filter(|(_, labels)| !labels.is_empty())?;
    let columns = [Column::text("Section"), Column::number("Items")]
        .into_iter()
        .chain(labels.names().flat_map(|label| [Column::number(label), Column::number(format!("{label} an item"))]));
    let rows = all.errors_by_section.iter().map(|(section, errors)| {
        let errors = errors.iter().flat_map(|(label, n)| {
            let base = all.count_assessed(section, label);
            [Cell::Count(*n), value((base > 0).then(|| *n as f64 / base as f64), &bare_scale())]
        });
        [Cell::text(section), count(all.spans_by_section.get(section).copied())].into_iter().chain(errors).collect()
    });
    table_if_any(Head::new("Errors by section", "Where in a text do errors sit?"), columns.collect(), rows)
}

/// Returns the matrix of what was said against what is right.
fn confusions(found: &[Confusion]) -> Option<Block> {
    let pairs: Vec<(&str, &str, u64)> = found
        .iter()
        .filter_map(|it| {
            let mut fields = it.fields.values().filter_map(Value::as_str);
            Some((fields.next()?, fields.next()?, it.count))
        })
        .collect();
    let mut names: Vec<String> = pairs.iter().flat_map(|(said, right, _)| [*said, *right]).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    let cell = |said: &str, right: &str| {
        let counted = pairs.iter().filter(|(a, b, _)| *a == said && *b == right).map(|(.., n)| *n as f64);
        Some(counted.sum::<f64>())
    };
    let cells = names.iter().map(|said| names.iter().map(|right| cell(said, right)).collect()).collect();
    let head = Head::new("Confusions", "Which categories are taken for others?")
        .with_n(pairs.iter().map(|(.., n)| n).sum())
        .with_note("The most frequent confusions; right items are not counted here.");
    let axes = ("said".to_owned(), "right".to_owned());
    let matrix = Matrix { head, shape: MatrixShape::Counts, axes, rows: names.clone(), columns: names, cells };
    (!pairs.is_empty()).then_some(Block::Matrix(matrix))
}

/// Returns the confusions with examples of items.
fn confused_items(found: &[Confusion]) -> Option<Block> {
    let rows = found.iter().map(|it| {
        let label = it.fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ");
        let label = if it.equal { format!("{label} (the same: no confusion)") } else { label };
        let examples: Vec<String> = it.examples.iter().map(|text| excerpt(text, 60)).collect();
        vec![Cell::Text(label), Cell::Count(it.count), prose(examples.join("\n"))]
    });
    let mut columns = numbers("Said → right", ["Count"]);
    columns.extend(texts(["Examples"]));
    table_if_any(Head::new("Confused items", "Which items are taken for others?"), columns, rows)
}

fn buckets(found: &Confidence) -> Block {
    let rows = found.buckets.by_name().map(|(name, bucket)| {
        let (from, to) = bucket.range;
        vec![
            Cell::Text(format!("{name}, {from} to {to}")),
            Cell::Count(bucket.total),
            Cell::Count(bucket.errors),
            value(bucket.error_rate, &scales::shares()),
            Cell::Count(bucket.any_error),
        ]
    });
    let columns = numbers("Confidence", ["Items", "Errors", "Error rate", "Any finding"]);
    let head = Head::new("Does confidence predict errors?", "May I drop items of low confidence?")
        .with_note(format!("{}.", excerpt(&found.notes, 300).trim_end_matches('.')))
        .with_note(format!(
            "In no bucket: {} items without a confidence, {} out of range. Errors that name no item: {}.",
            found.missing, found.out_of_range, found.unlocated
        ));
    table(head, columns, rows)
}

fn reliability(id: &str, found: &Confidence) -> Block {
    let points = found.reliability.iter().filter_map(|bin| {
        Some(CurvePoint { x: bin.mean_confidence?, y: bin.accuracy?, interval: None, n: bin.count as u64 })
    });
    let line = CurveLine { name: "items".to_owned(), points: points.collect() };
    let n: u64 = line.points.iter().map(|point| point.n).sum();
    let mut head = Head::new("Reliability of confidence", "Is a stated confidence the share that is right?")
        .with_n(n)
        .when_empty_because("No item has a confidence.");
    if !line.points.is_empty() {
        head.notes.push(format!("The curve is in `{}`, too.", reliability_curve::file_name(id)));
    }
    if let Some(ece) = &found.ece {
        head.notes.push(format!(
            "Expected calibration error: {}.",
            scales::shares().sentence(&scales::estimate(&scales::shares(), ece))
        ));
    }
    if let Some(best) = found.best_threshold {
        head.notes.push(format!(
            "Best F1 of keeping right items: {} by keeping the {} from {} on.",
            bare_scale().text(best.f1),
            best.kept,
            best.threshold
        ));
    }
    let mark = found.recommended_threshold.map(|at| (at, "recommended threshold".to_owned()));
    Block::Curve(Curve {
        head,
        shape: CurveShape::Reliability,
        axes: ("stated confidence".to_owned(), "share that is right".to_owned()),
        x: Scale::score(0.0, 1.0),
        y: Scale::score(0.0, 1.0),
        lines: vec![line],
        mark,
    })
}

fn common(all: &SpanFigures) -> Option<Block> {
    let rows = all.common.iter().flat_map(|(list, texts)| {
        texts
            .iter()
            .take(COMMON)
            .map(move |it: &TextCount| vec![Cell::text(list), prose(excerpt(&it.text, 120)), Cell::Count(it.count)])
    });
    let mut columns = texts(["Finding", "Text"]);
    columns.push(Column::number("Times"));
    table_if_any(Head::new("Named most often", "Which texts come up again?"), columns, rows)
}

fn worst(all: &SpanFigures) -> Option<Block> {
    let columns = numbers("Sample", ["Score", "Items"]);
    let columns = columns.into_iter().chain(all.common.names().map(Column::number)).collect();
    let rows = all.worst(WORST).into_iter().map(|it| {
        let name = match &it.system {
            Some(system) => format!("{} × {system}", it.sample),
            None => it.sample.clone(),
        };
        let findings = all.common.names().map(|name| count(it.findings.get(name).copied()));
        [Cell::Text(name), value(it.score, &bare_scale()), count(it.span_count)].into_iter().chain(findings).collect()
    });
    table_if_any(Head::new("Worst performers", "Which outputs do I read?"), columns, rows)
}
