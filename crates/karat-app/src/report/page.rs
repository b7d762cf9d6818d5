//! The page of a stored run for the live dashboard, and the days of a dated suite for report.html.

use std::ops::ControlFlow;

use karat_analysis::series::SeriesView;
use karat_report::Report;
use karat_report::page::{Document, Links};
use karat_store::StoredRun;
use karat_types::RunRows;

use crate::analyse::baseline::findings;
use crate::analyse::series::SeriesRequest;
use crate::{App, AppError};

/// The page of a run, with what the pages around it need.
#[derive(Debug)]
pub struct RunPage {
    /// The page.
    pub document: Document,
    /// The suite, if its samples have dates.
    pub dated_suite: Option<String>,
    /// The run of the suite before this one.
    pub previous: Option<String>,
}

impl App {
    /// Builds the page of a run with links to the other pages of the dashboard.
    ///
    /// # Errors
    /// No such run, or its rows cannot be read.
    pub fn run_page(&self, run: &str) -> Result<RunPage, AppError> {
        let stored = self.stored_run(run)?;
        let header = stored.header();
        let findings = findings(&stored)?;
        let (context, _) = self.context(&stored, &findings, false)?;
        let report = Report { findings: &findings, rows: &stored, context: &context };
        let document = karat_report::page::run(report, &Links::live(&header.id))?;
        let suite = &header.plan.suite;
        let mut runs = self.existing_store()?.runs_of_suite(suite, usize::MAX)?.into_iter();
        let previous = runs.by_ref().find(|id| *id == header.id).and_then(|_| runs.next());
        Ok(RunPage { document, dated_suite: is_dated(&stored)?.then(|| suite.clone()), previous })
    }

    /// Returns the days of a dated suite up to a run. Other suites have none: their earlier runs are not read.
    pub(crate) fn series_of_run(&self, stored: &StoredRun) -> Result<Option<SeriesView>, AppError> {
        let header = stored.header();
        if header.plan.run.measures_judges || !is_dated(stored)? {
            return Ok(None);
        }
        let asked = SeriesRequest { run: Some(header.id.clone()), ..SeriesRequest::default() };
        let view = self.series(&asked)?.view;
        Ok((!view.cards.is_empty()).then_some(view))
    }
}

/// Returns whether the first sample of a run has a date.
fn is_dated(stored: &StoredRun) -> Result<bool, AppError> {
    let mut is_dated = false;
    stored.for_each(&mut |row| {
        is_dated = row.sample.date.is_some();
        ControlFlow::Break(())
    })?;
    Ok(is_dated)
}
