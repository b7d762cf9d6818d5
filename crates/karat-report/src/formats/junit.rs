//! junit.xml: one test suite for each system and one test case for each cell, in the form that CI servers read.
//!
//! GitLab shows class, name, file, time and message, and of cases with the same class and name only the first; Jenkins
//! splits a class at its last dot. So a class is `SUITE.MODEL.VARIANT` without other dots, and names are unique in it.
//!
//! A pass/fail score below its bar is a failure and a cell without an output is an error. A cell whose score could not be
//! given is skipped. Figures, hashes and versions are properties of the test suite.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use karat_analysis::{CellScores, Verdict};
use karat_types::{CellRow, CellStatus, MetricSpec, PlanHeader, SampleText, Score};
use quick_junit::{NonSuccessKind, Report as JunitReport, TestCase, TestCaseStatus, TestSuite};

use crate::outputs::cell_text::text_of;
use crate::shared::report::{RenderError, Report, ShownOutputs};
use crate::shared::visible::{MESSAGE, excerpt};

/// Total size of the bodies of failures, in bytes. GitLab reads files of less than 30 MB.
const BODIES: usize = 25_000_000;

/// Number of characters that are shown of a line of a failed check.
const DETAIL: usize = 2_000;

/// Body of a failure beyond [`BODIES`].
const LEFT_OUT: &str = "the details are left out, because the file would be too large for CI servers: `karat show RUN --status error` and the report have them";

/// Writes the run as JUnit XML.
///
/// Holds all test cases in memory, a few hundred bytes each and [`BODIES`] of details. CI servers that read the file do the same.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write(report: Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let plan = &report.findings.plan;
    let mut suites: BTreeMap<usize, TestSuite> = BTreeMap::new();
    let mut room = BODIES;
    let classes = class_names(plan);
    report.cells().each_row(|row| {
        let suite = suites.entry(row.system).or_insert_with(|| system_suite(report, row.system, &classes[row.system]));
        suite.add_test_case(cell_case(report, &row, &classes[row.system], &mut room)?);
        Ok(())
    })?;
    let mut document = JunitReport::new(xml_text(&plan.suite));
    document.add_test_suites(suites.into_values());
    document.add_test_suites(gate_suite(report));
    let text = document.to_string().map_err(std::io::Error::other)?;
    Ok(out.write_all(text.as_bytes())?)
}

/// Returns the gates as a test suite of their own. An undecided gate is skipped; a gate that asks for a review passes
/// and says why.
fn gate_suite(report: Report<'_>) -> Option<TestSuite> {
    let verdicts = &report.context.verdicts;
    if verdicts.decisions.is_empty() {
        return None;
    }
    let class = xml_text(&format!("{}.gates", report.findings.plan.suite));
    let mut suite = TestSuite::new(class.as_str());
    let (shown, _) = crate::wording::gates::decisions_in_document(verdicts);
    for decision in shown {
        let why = xml_text(&decision.reason);
        let status = match decision.verdict {
            Verdict::Pass | Verdict::Review => TestCaseStatus::success(),
            Verdict::Fail => with_message(TestCaseStatus::non_success(NonSuccessKind::Failure), &why),
            Verdict::Undecided => with_message(TestCaseStatus::skipped(), &why),
        };
        let mut case = TestCase::new(xml_text(&crate::wording::gates::check_name(decision)), status);
        case.set_classname(class.as_str());
        if decision.verdict == Verdict::Review {
            case.set_system_out(format!("review: {why}"));
        }
        suite.add_test_case(case);
    }
    Some(suite)
}

/// Returns the empty test suite of a system, with its properties.
fn system_suite(report: Report<'_>, system: usize, class: &str) -> TestSuite {
    let (findings, header) = (report.findings, report.rows.header());
    let mut suite = TestSuite::new(xml_text(class));
    let mut add = |name: &str, value: &str| {
        suite.add_property((xml_text(name), xml_text(value)));
    };
    add("plan", &findings.plan.plan_hash.to_string());
    add("karat", &header.version);
    if !report.context.canonical {
        add("run", &header.id);
    }
    if let Some(commit) = &header.git_commit {
        add("git_commit", commit);
    }
    let own = findings.systems.iter().find(|group| group.systems == [system]).unwrap_or(&findings.run);
    for (at, metric) in report.metrics() {
        if let Some(value) = own.metrics.get(at).and_then(|spread| spread.value()) {
            add(&format!("metric.{}", metric.name), &value.to_string());
        }
    }
    suite
}

fn cell_case(report: Report<'_>, row: &CellRow<'_>, class: &str, room: &mut usize) -> Result<TestCase, RenderError> {
    let plan = &report.findings.plan;
    let mut name = row.sample.id.clone();
    if plan.systems.get(row.system).is_some_and(|system| system.trials > 1) {
        name.push_str(&format!("#{}", row.trial + 1));
    }
    let mut case = TestCase::new(xml_text(&name), cell_status(report, row, room)?);
    case.set_classname(xml_text(class));
    if let Some(source) = plan.dataset.sources.first() {
        case.extra.insert("file".into(), xml_text(&source.path).into());
    }
    if !report.context.canonical {
        case.set_time(Duration::try_from_secs_f64(row.cell.latency_ms / 1e3).unwrap_or_default());
    }
    Ok(case)
}

/// `SUITE.MODEL.VARIANT`, with no dots but these.
fn class_name(plan: &PlanHeader, system: usize) -> String {
    let model = plan.system_model(system).map(|model| model.id.as_str());
    let parts = [Some(plan.suite.as_str()), model, Some(plan.system_variant(system))];
    parts.into_iter().flatten().map(|part| part.replace('.', "_")).collect::<Vec<_>>().join(".")
}

/// The class of each system; one whose name is taken, such as `v_1` beside `v.1`, has a number behind it.
fn class_names(plan: &PlanHeader) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(plan.systems.len());
    for system in 0..plan.systems.len() {
        let name = class_name(plan, system);
        let mut candidates = std::iter::once(name.clone()).chain((2_u64..).map(|number| format!("{name}_{number}")));
        let free = candidates.find(|candidate| !names.contains(candidate));
        names.push(free.unwrap_or(name));
    }
    names
}

fn cell_status(report: Report<'_>, row: &CellRow<'_>, room: &mut usize) -> Result<TestCaseStatus, RenderError> {
    let plan = &report.findings.plan;
    let error = row.cell.error.as_ref();
    let error = error.map_or_else(String::new, |error| format!("{}: {}", error.code, error.message));
    match row.cell.status {
        CellStatus::Error => return Ok(with_message(TestCaseStatus::non_success(NonSuccessKind::Error), &error)),
        CellStatus::Skipped => return Ok(with_message(TestCaseStatus::skipped(), &error)),
        CellStatus::Ok => {}
    }
    let scores = CellScores::of(plan, row).scores;
    let reasons = |reason: fn(&MetricSpec, &Score) -> Option<String>| -> Vec<String> {
        plan.metrics.iter().zip(&scores).filter_map(|(metric, score)| reason(metric, score.as_ref()?)).collect()
    };
    let failed = reasons(|metric, score| match score {
        Score::Value { value, reason, verdict } if (metric.binary || *verdict) && *value < 1.0 => {
            Some(reason.as_ref().map_or_else(|| metric.name.clone(), |reason| format!("{}: {reason}", metric.name)))
        }
        _ => None,
    });
    let unscored = reasons(|metric, score| match score {
        Score::Unscored { unscored } => Some(format!("{}: {unscored}", metric.name)),
        _ => None,
    });
    Ok(match (failed.is_empty(), unscored.is_empty()) {
        (false, _) => {
            let mut status = with_message(TestCaseStatus::non_success(NonSuccessKind::Failure), &failed.join("; "));
            let lines: Vec<String> = failed.into_iter().chain(expected_and_output(report, row)?).collect();
            status.set_description(body(&lines, room));
            status
        }
        (true, false) => with_message(TestCaseStatus::skipped(), &format!("unscored: {}", unscored.join("; "))),
        (true, true) => TestCaseStatus::success(),
    })
}

/// The expected text of a cell and its output; nothing if the sample has no such text, or the report shows no texts.
fn expected_and_output(report: Report<'_>, row: &CellRow<'_>) -> Result<Vec<String>, RenderError> {
    if report.context.outputs.shown == Some(ShownOutputs::None) {
        return Ok(Vec::new());
    }
    let Some(expected) = SampleText::expected_text(&row.sample.texts) else { return Ok(Vec::new()) };
    let output = report.rows.output(row.cell.ordinal)?.map(|output| text_of(&output));
    let named = [("expected", Some(expected)), ("output", output)];
    Ok(named.into_iter().filter_map(|(name, text)| Some(format!("{name}: {}", excerpt(&text?, DETAIL / 2)))).collect())
}

/// All failed checks and what was expected, a line each, while there is room.
fn body(failed: &[String], room: &mut usize) -> String {
    let lines: Vec<String> = failed.iter().map(|check| lines_without_control(check)).collect();
    let text = lines.join("\n");
    match room.checked_sub(text.len()) {
        Some(left) => {
            *room = left;
            text
        }
        None => LEFT_OUT.to_owned(),
    }
}

/// A text with its line breaks, in which other control characters are shown and none is left that XML forbids.
fn lines_without_control(text: &str) -> String {
    text.lines()
        .map(|line| excerpt(line, DETAIL).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn with_message(mut status: TestCaseStatus, message: &str) -> TestCaseStatus {
    status.set_message(xml_text(message));
    status
}

/// Returns the text on one line, cut to [`MESSAGE`] characters, without the characters that XML forbids.
///
/// quick-junit removes control characters, but leaves U+FFFE and U+FFFF, which no XML 1.0 document may contain.
fn xml_text(text: &str) -> String {
    excerpt(text, MESSAGE).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-14: details stop where the file would become too large, and say so.
    #[test]
    fn details_are_left_out_beyond_the_size() {
        let failed = ["a: one\n two\u{1b}".to_owned(), "b".to_owned()];
        let mut room = 20;
        assert_eq!(body(&failed, &mut room), "a: one\ntwo\u{241b}\nb");
        assert_eq!(body(&failed, &mut room), LEFT_OUT);
        assert_eq!(body(&["b".to_owned()], &mut room), "b");
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        let mut report = JunitReport::new(xml_text("a\u{ffff}b\u{0}c\u{fffe}<\"&\n"));
        let status = with_message(TestCaseStatus::skipped(), "\u{1b}[31mred\u{ffff}");
        let mut suite = TestSuite::new("s");
        suite.add_test_case(TestCase::new("c", status));
        report.add_test_suite(suite);
        let text = report.to_string().unwrap();
        assert!(text.contains("<testsuites name=\"a\u{fffd}b\u{2400}c\u{fffd}&lt;&quot;&amp;\" "), "{text}");
        assert!(text.contains("message=\"\u{241b}[31mred\u{fffd}\""), "{text}");
    }
}
