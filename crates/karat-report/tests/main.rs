//! Tests of all formats on a made-up run with every kind of cell.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "render/comparison.rs"]
mod comparison;
#[path = "render/forms.rs"]
mod forms;
#[path = "render/gates.rs"]
mod gates;
#[path = "render/json.rs"]
mod json;
#[path = "render/markdown.rs"]
mod markdown;
#[path = "render/outputs.rs"]
mod outputs;
#[path = "render/page.rs"]
mod page;
#[path = "render/series.rs"]
mod series;
#[path = "render/terminal.rs"]
mod terminal;

use karat_analysis::testing::{MemoryRun, example};
use karat_analysis::{Findings, Options, analyse};
use karat_report::{Context, Report};
use karat_types::{Money, UncachedCost};

/// The example run with its findings.
struct Example {
    run: MemoryRun,
    findings: Findings,
    context: Context,
}

impl Example {
    fn new() -> Self {
        Self::of(example())
    }

    fn of(run: MemoryRun) -> Self {
        let findings = analyse(&run, &Options::default()).unwrap();
        let context = Context {
            estimate: Some(UncachedCost {
                total: (Money(75_000_000), Money(750_000_000)),
                per_cell: vec![Some(Money(12_500_000)); 10],
                sampled: false,
            }),
            ..Context::default()
        };
        Self { run, findings, context }
    }

    /// The example with additional analyses.
    fn asking(analyses: serde_json::Value) -> Self {
        let mut run = example();
        let plan = std::sync::Arc::make_mut(&mut run.header.plan);
        plan.analyses = serde_json::from_value(analyses).unwrap();
        if let karat_types::ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind {
            let label =
                |at: usize| serde_json::json!({ "sample": run.samples[at].id, "scores": { "accuracy": 5 + at } });
            rubric.labels = (0..3).map(label).collect();
        }
        Self::of(run)
    }

    fn canonical(mut self) -> Self {
        self.context.canonical = true;
        self
    }

    fn report(&self) -> Report<'_> {
        Report { findings: &self.findings, rows: &self.run, context: &self.context }
    }
}

/// A report as JUnit XML.
fn junit(report: Report<'_>) -> String {
    let mut bytes = Vec::new();
    karat_report::write(report, karat_types::ReportFormat::Junit, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}
