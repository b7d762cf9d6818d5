//! Suites: a text loads into a plan, always the same one, or is refused with places that exist.

use std::sync::Arc;

use karat_suite::{Diagnostics, Overrides, Plan, Registry, Severity, Suite};
use karat_types::PlanHeader;

use crate::catalog::CATALOG;
use crate::memory::MemoryFiles;

/// Rows that are compared.
const ROWS: usize = 20;

/// Loads the text as `karat.yaml`, beside a few files that it may name.
pub fn run(data: &[u8]) {
    let files = MemoryFiles::default()
        .with("karat.yaml", data)
        .with("tickets.jsonl", "{\"id\":\"t1\",\"ticket\":\"No refund!\",\"category\":\"billing\"}\n{\"id\":\"t2\",\"ticket\":\"Hi\",\"category\":\"other\"}\n")
        .with("rows.csv", "id,q,a\n1,\"x, y\",2\n2,z,3\n")
        .with("prompt.md", "Classify {{ sample.ticket }}.\n")
        .with("models.yaml", "models:\n  - { id: mine, provider: openai-compatible, base_url: \"http://localhost:1/v1\" }\n");
    let loaded = load(&files);
    let again = load(&files);
    match (loaded, again) {
        (Ok((_, plan)), Ok((_, again))) => check_plan(&plan, &again),
        (Err(problems), Err(again)) => check_problems(&problems, &again, data),
        _ => panic!("a suite loads or does not"),
    }
}

fn load(files: &MemoryFiles) -> Result<(Suite, Plan), Diagnostics> {
    let suite =
        Suite::load(Arc::new(files.clone()), "karat.yaml", &Overrides::default(), &CATALOG, &Registry::builtin())?;
    let plan = suite.plan()?;
    Ok((suite, plan))
}

fn check_plan(plan: &Plan, again: &Plan) {
    let written = serde_json::to_string(&*plan.header).unwrap_or_else(|error| panic!("a plan is a value: {error}"));
    assert_eq!(Ok(&written), serde_json::to_string(&*again.header).as_ref().map_err(|_| ()), "a suite has one plan");
    let read: PlanHeader = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(Ok(written), serde_json::to_string(&read).map_err(|_| ()), "a plan survives being written");
    let rows = |plan: &Plan| -> Vec<String> { plan.rows().take(ROWS).map(|row| format!("{row:?}")).collect() };
    assert_eq!(rows(plan), rows(again), "each pass gives the same rows");
}

fn check_problems(problems: &Diagnostics, again: &Diagnostics, source: &[u8]) {
    let shown = problems.plain();
    assert_eq!(shown, again.plain(), "a suite has the same problems each time");
    assert!(problems.iter().any(|problem| problem.severity == Severity::Error), "a refusal has a reason: {shown}");
    let lines =
        source.iter().filter(|byte| **byte == b'\n').count() + source.iter().filter(|byte| **byte == b'\r').count() + 1;
    for problem in problems.iter().filter(|problem| problem.file == "karat.yaml") {
        assert!(!problem.message.is_empty());
        assert!(problem.line <= lines, "line {} of {lines}: {}", problem.line, problem.message);
    }
}
