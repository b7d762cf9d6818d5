//! A stored run becomes files, or bytes on stdout.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use karat_analysis::{Findings, Options, analyse};
use karat_report::{Context, Estimate, Report};
use karat_store::StoredRun;
use karat_types::{CellStatus, Exit, RunRows, RunStatus};

use crate::run::Begun;
use crate::{App, AppError};

/// A form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `report.md`.
    Markdown,
    /// `report.json`, with `cells.jsonl` beside it for large runs.
    Json,
    /// `cells/`, one JSON file a cell.
    Cells,
}

/// What was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The summary for a terminal.
    pub summary: String,
    /// The exit code that follows from the results.
    pub exit: Exit,
}

impl App {
    /// Writes the report of a run into a folder.
    pub fn report_into(
        &self,
        run: &str,
        folder: &Path,
        formats: &[Format],
        canonical: bool,
    ) -> Result<Written, AppError> {
        let stored = self.stored(run)?;
        let findings = findings(&stored)?;
        let mut context = context(&stored, canonical);
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let mut files = Vec::new();
        for format in formats {
            let report = Report { findings: &findings, rows: &stored, context: &context };
            match format {
                Format::Markdown => files.push(file(folder, "report.md", &karat_report::markdown::render(report))?),
                Format::Json => files.extend(json(report, folder)?),
                Format::Cells => files.push(cells(report, folder)?),
            }
        }
        context.files = files.iter().map(|file| file.display().to_string()).collect();
        let report = Report { findings: &findings, rows: &stored, context: &context };
        let summary = karat_report::terminal::render(report);
        Ok(Written { files, summary, exit: exit(&stored)? })
    }

    /// The report of a run in one form, as text.
    pub fn report_text(&self, run: &str, format: Format, canonical: bool) -> Result<(String, Exit), AppError> {
        let stored = self.stored(run)?;
        let findings = findings(&stored)?;
        let context = context(&stored, canonical);
        let report = Report { findings: &findings, rows: &stored, context: &context };
        let text = match format {
            Format::Markdown => Ok(karat_report::markdown::render(report)),
            Format::Json => karat_report::json::render(report),
            Format::Cells => {
                let mut lines = Vec::new();
                karat_report::json::write_cells(report, "-", &mut lines)
                    .map(|_| String::from_utf8_lossy(&lines).into_owned())
            }
        };
        Ok((text.map_err(broken)?, exit(&stored)?))
    }

    pub(crate) fn stored(&self, run: &str) -> Result<StoredRun, AppError> {
        let store = self.existing_store()?;
        Ok(store.rows(&store.resolve(run)?)?)
    }
}

pub(crate) fn findings(stored: &StoredRun) -> Result<Findings, AppError> {
    analyse(stored, &Options::default()).map_err(|error| AppError::harness(error.to_string()))
}

fn context(stored: &StoredRun, canonical: bool) -> Context {
    let begun: Option<Begun> = serde_json::from_value(stored.header().invocation.clone()).ok();
    let estimate = begun.map(|begun| Estimate { total: begun.estimate, per_cell: begun.estimate_per_cell });
    Context { estimate, canonical, files: Vec::new() }
}

fn json(report: Report<'_>, folder: &Path) -> Result<Vec<PathBuf>, AppError> {
    let target = folder.join("report.json");
    if karat_report::json::is_inline(report) {
        return Ok(vec![file(folder, "report.json", &karat_report::json::render(report).map_err(broken)?)?]);
    }
    let cells = folder.join("cells.jsonl");
    let mut out = writer(&cells)?;
    let facts = karat_report::json::write_cells(report, "cells.jsonl", &mut out).map_err(broken)?;
    out.flush().map_err(|error| unwritable(&cells, &error))?;
    let mut out = writer(&target)?;
    karat_report::json::write(report, Some(&facts), &mut out).map_err(broken)?;
    out.flush().map_err(|error| unwritable(&target, &error))?;
    Ok(vec![target, cells])
}

/// One JSON file a cell, named by its place in the plan: a dataset's ids never become paths.
fn cells(report: Report<'_>, folder: &Path) -> Result<PathBuf, AppError> {
    let folder = folder.join("cells");
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    let mut lines = Vec::new();
    karat_report::json::write_cells(report, "cells.jsonl", &mut lines).map_err(broken)?;
    for (at, line) in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        let target = folder.join(format!("{at:06}.json"));
        fs::write(&target, line).map_err(|error| unwritable(&target, &error))?;
    }
    Ok(folder)
}

/// The exit code of what a run found: errors, or nothing at all (no output, or a metric without one score), are harness errors.
fn exit(stored: &StoredRun) -> Result<Exit, AppError> {
    let (mut ok, mut errors) = (0_u64, 0_u64);
    // By metric: whether any cell has a score, and whether any could not be scored.
    let mut metrics = vec![(false, false); stored.header().plan.metrics.len()];
    let read = stored.for_each(&mut |row| {
        match row.cell.status {
            CellStatus::Ok => ok += 1,
            CellStatus::Error => errors += 1,
            CellStatus::Skipped => {}
        }
        let judged = row.judgments.iter().flat_map(|judgment| &judgment.scores);
        for (metric, score) in row.cell.scores.iter().chain(judged) {
            if let Some((scored, unscored)) = metrics.get_mut(usize::from(*metric)) {
                *scored |= score.number().is_some();
                *unscored |= score.is_unscored();
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    read.map_err(|error| AppError::harness(error.to_string()))?;
    let finished = stored.header().status == RunStatus::Finished;
    let nothing = ok == 0 || metrics.iter().any(|(scored, unscored)| *unscored && !scored);
    let failed = errors > 0 || (finished && nothing);
    Ok(if failed { Exit::HarnessError } else { Exit::Pass })
}

fn file(folder: &Path, name: &str, text: &str) -> Result<PathBuf, AppError> {
    let target = folder.join(name);
    fs::write(&target, text).map_err(|error| unwritable(&target, &error))?;
    Ok(target)
}

fn writer(target: &Path) -> Result<std::io::BufWriter<fs::File>, AppError> {
    Ok(std::io::BufWriter::new(fs::File::create(target).map_err(|error| unwritable(target, &error))?))
}

fn unwritable(target: &Path, error: &std::io::Error) -> AppError {
    AppError::harness(format!("writing {}: {error}", target.display()))
        .hint("name another folder with `-o`; the run itself is kept, and `karat report` writes its report again")
}

fn broken(error: karat_report::RenderError) -> AppError {
    AppError::harness(error.to_string())
}
