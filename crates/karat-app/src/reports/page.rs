//! The page of a stored run for the live dashboard, and the days of a dated suite for report.html.

use std::sync::Arc;

use karat_analysis::primary_metric;
use karat_analysis::series::SeriesView;
use karat_report::page::Links;
use karat_report::series::{SeriesLinks, SeriesState};
use karat_report::{Outputs, Report};
use karat_store::StoredRun;
use karat_types::RunRows;

use crate::AppError;
use crate::analysis::series::{SeriesRequest, SuiteSeries};
use crate::error::StoredError;
use crate::reports::Reports;
use crate::reports::kept_reports::{find_page, keep_page};
use crate::stored::findings::findings;
use crate::stored::kept_pages::{RunPage, find_or_build};
use crate::stored::run::is_dated;

impl Reports<'_> {
    /// Builds the page of a run with links to the other pages of the dashboard. That of an ended run is kept in memory, and
    /// that of a large one in the store, so that the next view reads none of its cells.
    ///
    /// # Errors
    /// No such run, or its rows cannot be read.
    pub fn run_page(&self, run: &str) -> Result<Arc<RunPage>, AppError> {
        let stored = self.app.stored().run(run)?;
        let Some(key) = self.app.stored().page_key(&stored)? else { return self.build_page(&stored).map(Arc::new) };
        find_or_build(self.app.opened.run_pages(), key, || {
            let kept = self.report_key(&stored, Outputs::default())?;
            match find_page(&stored, kept)? {
                Some(page) => Ok(page),
                None => {
                    let page = self.build_page(&stored)?;
                    keep_page(&stored, kept, &page);
                    Ok(page)
                }
            }
        })
    }

    fn build_page(&self, stored: &StoredRun) -> Result<RunPage, AppError> {
        let header = stored.header();
        let findings = findings(stored)?;
        let (context, _) = self.app.analysis().context(stored, &findings, false)?;
        let report = Report { findings: &findings, rows: stored, context: &context };
        let document = karat_report::page::run(report, &Links::live(&header.id))?;
        let suite = &header.plan.suite;
        let previous = self.app.existing_store()?.run_before(&header.id)?;
        Ok(RunPage { document, dated_suite: is_dated(stored)?.then(|| suite.clone()), previous })
    }

    /// The page of a dated suite, by its name, file or a run, as one file that loads nothing. What of the request is not
    /// understood stands on the page.
    ///
    /// # Errors
    /// An unknown suite, or one without dates.
    pub fn series_page(&self, suite: &str, asked: SeriesRequest) -> Result<String, AppError> {
        let suite = self.app.stored().suite_name(&self.app.existing_store()?, suite)?;
        let SuiteSeries { view, notices } = self.app.analysis().series(&SeriesRequest { suite, ..asked })?;
        if view.cards.is_empty() {
            return Err(StoredError::NoDates { suite: view.suite }.into());
        }
        let state = SeriesState { notices, ..SeriesState::default() };
        Ok(karat_report::series::document(&view, &SeriesLinks::none(), &state).to_file())
    }

    /// Returns the days of a dated suite up to a run. Other suites have none: their earlier runs are not read.
    pub(crate) fn series_of_run(&self, stored: &StoredRun) -> Result<Option<SeriesView>, AppError> {
        let header = stored.header();
        // A suite may have dates and no metric: there is nothing to follow then.
        if header.plan.run.measures_judges || primary_metric(&header.plan).is_none() || !is_dated(stored)? {
            return Ok(None);
        }
        let asked = SeriesRequest { run: Some(header.id.clone()), ..SeriesRequest::default() };
        let view = self.app.analysis().series(&asked)?.view;
        Ok((!view.cards.is_empty()).then_some(view))
    }
}
