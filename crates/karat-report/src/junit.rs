//! junit.xml: one test suite a suite × model, one test case a cell, as CI servers read it.
//!
//! A pass/fail score that does not hold is a failure, a cell without an output an error, a score that could not be given
//! makes the case skipped. Figures, cost and versions stand in the properties.

use std::collections::BTreeMap;
use std::io::Write;

use karat_analysis::{CellScores, Verdict};
use karat_types::{CellRow, CellStatus, MetricSpec, PlanHeader, Score};

use crate::report::{RenderError, Report};
use crate::visible::{MESSAGE, brief};

/// How a test case ended.
enum Ending {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

/// Test cases of one suite by how they ended.
#[derive(Default)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

/// Writes the run as JUnit XML. Rows are streamed, once for the counts and once a model.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write(report: Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let plan = &report.findings.plan;
    let mut suites: BTreeMap<Option<usize>, Counts> = BTreeMap::new();
    each(report, |row, scores| {
        suites.entry(model_of(plan, row)).or_default().add(&ending(plan, row, scores));
        Ok(())
    })?;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"{}\">", xml(&plan.suite))?;
    for (model, counts) in &suites {
        let class = class_of(plan, *model);
        let Counts { tests, failures, errors, skipped } = counts;
        let class_text = xml(&class);
        writeln!(
            out,
            "  <testsuite name=\"{class_text}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
        )?;
        properties(report, *model, out)?;
        each(report, |row, scores| {
            if model_of(plan, row) == *model {
                case(report, &class, row, &ending(plan, row, scores), out)?;
            }
            Ok(())
        })?;
        writeln!(out, "  </testsuite>")?;
    }
    gates(report, out)?;
    writeln!(out, "</testsuites>")?;
    Ok(())
}

/// The gates as a test suite of their own: what is undecided is skipped, a review passes and says why.
fn gates(report: Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let verdicts = &report.context.verdicts;
    if verdicts.decisions.is_empty() {
        return Ok(());
    }
    let class = xml(&format!("{}.gates", report.findings.plan.suite));
    let (shown, _) = crate::verdict::inline(verdicts);
    let count = |verdict: Verdict| shown.iter().filter(|decision| decision.verdict == verdict).count();
    let (tests, failures, skipped) = (shown.len(), count(Verdict::Fail), count(Verdict::Undecided));
    writeln!(
        out,
        "  <testsuite name=\"{class}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    )?;
    for decision in shown {
        let (name, why) = (xml(&crate::verdict::concerns(decision)), xml(&decision.reason));
        write!(out, "    <testcase classname=\"{class}\" name=\"{name}\"")?;
        match decision.verdict {
            Verdict::Pass => writeln!(out, "/>")?,
            Verdict::Fail => writeln!(out, "><failure message=\"{why}\"/></testcase>")?,
            Verdict::Undecided => writeln!(out, "><skipped message=\"{why}\"/></testcase>")?,
            Verdict::Review => writeln!(out, "><system-out>review: {why}</system-out></testcase>")?,
        }
    }
    writeln!(out, "  </testsuite>")?;
    Ok(())
}

/// The run as JUnit XML, as text.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let mut bytes = Vec::new();
    write(report, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Counts {
    fn add(&mut self, ending: &Ending) {
        self.tests += 1;
        match ending {
            Ending::Passed => {}
            Ending::Failed(_) => self.failures += 1,
            Ending::Error(_) => self.errors += 1,
            Ending::Skipped(_) => self.skipped += 1,
        }
    }
}

fn each(
    report: Report<'_>,
    mut row: impl FnMut(&CellRow<'_>, &CellScores) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    report.cells().each_row(|cell| row(&cell, &CellScores::of(&report.findings.plan, &cell)))
}

fn model_of(plan: &PlanHeader, row: &CellRow<'_>) -> Option<usize> {
    plan.systems.get(row.system).and_then(|system| system.model)
}

fn class_of(plan: &PlanHeader, model: Option<usize>) -> String {
    match model.and_then(|model| plan.models.get(model)) {
        Some(model) => format!("{}.{}", plan.suite, model.id),
        None => plan.suite.clone(),
    }
}

fn ending(plan: &PlanHeader, row: &CellRow<'_>, scores: &CellScores) -> Ending {
    let why = || row.cell.error.as_ref().map_or_else(String::new, |error| format!("{}: {}", error.code, error.message));
    match row.cell.status {
        CellStatus::Error => return Ending::Error(why()),
        CellStatus::Skipped => return Ending::Skipped(why()),
        CellStatus::Ok => {}
    }
    let of = |is: fn(&MetricSpec, &Score) -> Option<String>| -> Vec<String> {
        let scored = plan.metrics.iter().zip(&scores.scores);
        scored.filter_map(|(metric, score)| is(metric, score.as_ref()?)).collect()
    };
    let failed = of(|metric, score| match score {
        Score::Value { value, reason, verdict } if (metric.binary || *verdict) && *value < 1.0 => {
            Some(reason.as_ref().map_or_else(|| metric.name.clone(), |reason| format!("{}: {reason}", metric.name)))
        }
        _ => None,
    });
    let unscored = of(|metric, score| match score {
        Score::Unscored { unscored } => Some(format!("{}: {unscored}", metric.name)),
        _ => None,
    });
    match (failed.is_empty(), unscored.is_empty()) {
        (false, _) => Ending::Failed(failed.join("; ")),
        (true, false) => Ending::Skipped(format!("unscored: {}", unscored.join("; "))),
        (true, true) => Ending::Passed,
    }
}

fn properties(report: Report<'_>, model: Option<usize>, out: &mut dyn Write) -> Result<(), RenderError> {
    let (findings, header) = (report.findings, report.rows.header());
    let mut properties = vec![("plan", findings.plan.plan_hash.to_string()), ("karat", header.version.clone())];
    if !report.context.canonical {
        properties.push(("run", header.id.clone()));
    }
    properties.extend(header.git_commit.clone().map(|commit| ("git_commit", commit)));
    let id = model.and_then(|model| findings.plan.models.get(model)).map(|model| model.id.as_str());
    let groups = if id.is_some() { findings.models.as_slice() } else { &[] };
    let own = groups.iter().find(|group| group.model.as_deref() == id).unwrap_or(&findings.run);
    let metrics = report.metrics().filter_map(|(at, metric)| Some((metric, own.metrics.get(at)?.value()?)));
    writeln!(out, "    <properties>")?;
    for (name, value) in properties {
        writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", xml(&value))?;
    }
    for (metric, value) in metrics {
        writeln!(out, "      <property name=\"metric.{}\" value=\"{value}\"/>", xml(&metric.name))?;
    }
    writeln!(out, "    </properties>")?;
    Ok(())
}

fn case(
    report: Report<'_>,
    class: &str,
    row: &CellRow<'_>,
    ending: &Ending,
    out: &mut dyn Write,
) -> Result<(), RenderError> {
    let plan = &report.findings.plan;
    let mut name = row.sample.id.clone();
    if plan.variants.len() > 1 {
        name.push_str(&format!(" [{}]", plan.system_variant(row.system)));
    }
    if plan.trials > 1 {
        name.push_str(&format!(" #{}", row.trial));
    }
    write!(out, "    <testcase classname=\"{}\" name=\"{}\"", xml(class), xml(&name))?;
    if !report.context.canonical {
        write!(out, " time=\"{:.3}\"", row.cell.latency_ms / 1e3)?;
    }
    match ending {
        Ending::Passed => writeln!(out, "/>")?,
        Ending::Failed(why) => writeln!(out, "><failure message=\"{}\"/></testcase>", xml(why))?,
        Ending::Error(why) => writeln!(out, "><error message=\"{}\"/></testcase>", xml(why))?,
        Ending::Skipped(why) => writeln!(out, "><skipped message=\"{}\"/></testcase>", xml(why))?,
    }
    Ok(())
}

/// A text as it may stand in an attribute: on one line, cut, without characters that XML does not know.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in brief(text, MESSAGE).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
