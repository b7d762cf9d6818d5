//! Systems against samples in the primary metric.

use karat_page::block::{Block, Head, Matrix, MatrixShape};
use karat_page::{Markup, html, render};

use crate::shared::report::Report;
use crate::shared::scales;

/// Number of systems drawn, the best first.
const SYSTEMS: usize = 20;

/// Number of samples from which on only every second, third, … is drawn: a page has no place for more.
const SAMPLES: usize = 20_000;

pub(super) fn section(report: Report<'_>) -> Markup {
    let (Some((at, metric)), findings) = (report.primary(), report.findings) else { return html! {} };
    let scale = scales::scale_of(&findings.plan, metric);
    let step = findings.samples().div_ceil(SAMPLES).max(1);
    let samples: Vec<usize> = (0..findings.samples()).step_by(step).collect();
    let groups = report.systems_by_rank();
    let cells = groups.iter().take(SYSTEMS).map(|group| {
        let value = |sample: &usize| findings.on_sample(at, *sample, group).map(|found| found.value());
        samples.iter().map(value).collect()
    });
    let mut head = Head::new(format!("{} by system and sample", metric.name), "On which samples do systems differ?")
        .with_n(samples.len() as u64)
        .with_note("The mean over trials; the stronger the colour, the better.");
    if step > 1 {
        let all = karat_page::number::count(findings.samples() as u64);
        head = head.with_note(format!("One of {step} samples is drawn, of {all}."));
    }
    if groups.len() > SYSTEMS {
        head = head.with_note(format!("The first {SYSTEMS} of {} systems.", groups.len()));
    }
    render(&Block::Matrix(Matrix {
        head,
        shape: MatrixShape::Scores(scale),
        axes: ("System".to_owned(), "Sample".to_owned()),
        rows: groups.iter().take(SYSTEMS).map(|group| group.id.clone()).collect(),
        columns: samples.iter().map(|sample| findings.sample_id(*sample).to_owned()).collect(),
        cells: cells.collect(),
    }))
}
