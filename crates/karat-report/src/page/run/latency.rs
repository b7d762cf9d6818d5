//! Latency: percentiles by stage, and the distribution over samples. Stages are those that the suite's latency scorers name.

use std::collections::BTreeMap;

use karat_analysis::Group;
use karat_page::block::{Block, Cell, Column, Curve, CurveLine, CurveShape, Head, Row, Rows, Table};
use karat_page::number::{Scale, Unit};
use karat_page::{Markup, html, render};
use karat_types::ScorerKind;

use crate::shared::report::Report;
use crate::shared::scales;

/// Name of the time that no stage divides.
const TOTAL: &str = "total";

/// Number of lines of the distribution.
const LINES: usize = 5;

/// Number of samples whose latency is drawn.
const SAMPLES: usize = 5_000;

/// Number of systems of the table.
const SYSTEMS: usize = 12;

/// A stage with the indices of its metrics by aggregate.
type Stages = BTreeMap<String, BTreeMap<String, usize>>;

/// Returns the panels, or nothing if the suite measures one latency at most.
pub(super) fn panels(report: Report<'_>) -> Markup {
    let stages = stages(report);
    if report.context.canonical || stages.values().map(BTreeMap::len).sum::<usize>() < 2 {
        return html! {};
    }
    html! { (render(&table(report, &stages))) (render(&distribution(report, &stages))) }
}

fn stages(report: Report<'_>) -> Stages {
    let plan = &report.findings.plan;
    let mut stages = Stages::new();
    for (at, metric) in report.metrics().filter(|(_, metric)| plan.unit_of(metric) == Some("ms")) {
        let stage = match plan.scorers.get(metric.scorer).map(|scorer| &scorer.kind) {
            Some(ScorerKind::Metric { with, .. }) => with.get("stage").and_then(serde_json::Value::as_str),
            _ => None,
        };
        stages.entry(stage.unwrap_or(TOTAL).to_owned()).or_default().insert(metric.aggregate.clone(), at);
    }
    stages
}

fn table(report: Report<'_>, stages: &Stages) -> Block {
    let mut aggregates: Vec<&str> = stages.values().flat_map(|of| of.keys()).map(String::as_str).collect();
    aggregates.sort_unstable();
    aggregates.dedup();
    let systems = report.systems_by_rank();
    let row = |group: &Group, stage: &str, of: &BTreeMap<String, usize>| {
        let cell = |aggregate: &&str| {
            let found = of.get(*aggregate).and_then(|at| group.metrics.get(*at)?.figure());
            let scale = Scale::of(Unit::Millis);
            Cell::Value(scales::estimate_or_none(&scale, found), scale)
        };
        let names = [Cell::text(stage), Cell::text(&group.id)];
        Row::of(names.into_iter().chain(aggregates.iter().map(cell)).collect())
    };
    let rows = stages.iter().flat_map(|(stage, of)| systems.iter().take(SYSTEMS).map(move |group| (*group, stage, of)));
    let rows = Rows {
        columns: ["Stage", "System"]
            .map(Column::text)
            .into_iter()
            .chain(aggregates.iter().map(|it| Column::number(*it)))
            .collect(),
        rows: rows.map(|(group, stage, of)| row(group, stage, of)).collect(),
        left_out: (systems.len().saturating_sub(SYSTEMS) * stages.len()) as u64,
        ..Rows::default()
    };
    Block::Table(Table { head: Head::new("Latency by stage", "Where does the time go?"), rows, ..Table::default() })
}

fn distribution(report: Report<'_>, stages: &Stages) -> Block {
    let findings = report.findings;
    let samples = findings.samples().min(SAMPLES);
    let values = |at: usize, group: &Group| -> Vec<f64> {
        (0..samples).filter_map(|sample| Some(findings.on_sample(at, sample, group)?.value())).collect()
    };
    let several = findings.systems.len() > 1;
    let lines = findings
        .systems
        .iter()
        .flat_map(|group| stages.iter().filter_map(move |(stage, of)| Some((group, stage, *of.values().next()?))));
    // Systems are compared by their total; of one system, its stages are shown.
    let has_total = stages.contains_key(TOTAL);
    let lines = lines.filter(|(_, stage, _)| !several || !has_total || stage.as_str() == TOTAL);
    let lines: Vec<CurveLine> = lines
        .take(LINES)
        .map(|(group, stage, at)| {
            let name = if several { &group.id } else { stage };
            CurveLine::distribution(name, &values(at, group))
        })
        .collect();
    let head = Head::new("Distribution of latency", "How slow are the slowest?").with_n(samples as u64);
    let axes = ("latency".to_owned(), "share of samples".to_owned());
    let (x, y) = (Scale::of(Unit::Millis).lower_is_better(), scales::shares());
    Block::Curve(Curve { head, shape: CurveShape::Distribution, axes, x, y, lines, mark: None })
}
