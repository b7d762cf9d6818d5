//! The drift of a system's series and its past, for pages: reads the journal of alerts and closings, and adds nothing to it.

use std::sync::Arc;

use karat_analysis::Day;
use karat_analysis::drift::{DriftOptions, WatchedMetric, drift_past};
use karat_analysis::series::SeriesDrift;
use karat_store::Store;
use karat_types::{AnalysisSpec, Moment, PlanHeader};
use serde_json::{Value, json};

use crate::analyse::drift::{DriftRequest, Rule, declared_analysis, read_drift, refusal};
use crate::{App, AppError};

/// A question about the drift of one system's series, asked by a page.
pub(crate) struct PastDrift<'a> {
    pub plan: Arc<PlanHeader>,
    /// The metric; the suite's first `drift` analysis of it says how, else the defaults.
    pub metric: &'a str,
    pub system: &'a str,
    /// True if the suite has no other system.
    pub is_only: bool,
    pub days: Vec<Day>,
    pub as_of: &'a str,
    /// The judge whose grades the days have, if one was chosen.
    pub judge: Option<&'a str>,
    /// Later entries of the journal are not read, so that an old report stays as it is.
    pub until: Option<Moment>,
}

impl PastDrift<'_> {
    fn rule(self) -> Result<Rule, AppError> {
        let asked = DriftRequest { metric: None, ..DriftRequest::default() };
        let is_own = |spec: &&AnalysisSpec| spec.with.get("metric").and_then(Value::as_str) == Some(self.metric);
        let own = self.plan.analyses.iter().filter(|spec| spec.analysis == "drift").find(is_own);
        let (id, options) = match own {
            Some(spec) => declared_analysis(&self.plan, &DriftRequest { id: Some(spec.id.clone()), ..asked })?,
            None => ("drift".to_owned(), DriftOptions::of(self.metric)),
        };
        let spec = self.plan.metric(self.metric).and_then(|at| self.plan.metrics.get(at));
        let watched =
            spec.map_or_else(WatchedMetric::default, |it| WatchedMetric { range: it.range, better: it.better });
        let judge = self.judge;
        // The names that `karat drift` gives to this rule, now and in earlier versions.
        let alone = json!({ "analysis": id, "options": options, "judge": judge, "prompt_version": null });
        let with = |members: Value| {
            let (mut name, added) = (alone.clone(), members);
            if let (Value::Object(name), Value::Object(added)) = (&mut name, added) {
                name.extend(added);
            }
            name
        };
        let named = with(json!({ "system": self.system }));
        let name = with(json!({ "system": self.system, "sources": null }));
        Ok(Rule {
            suite: self.plan.suite.clone(),
            as_of: self.as_of.to_owned(),
            system: Some(self.system.to_owned()),
            watched,
            days: self.days,
            warnings: Vec::new(),
            is_stretch: false,
            older_names: [named].into_iter().chain(self.is_only.then_some(alone)).collect(),
            name,
            plan: self.plan,
            id,
            options,
        })
    }
}

impl App {
    /// The drift of one system's series and its past, with what the journal knew up to a moment. Raises and stores nothing.
    ///
    /// # Errors
    /// Options of the suite's analysis that do not work, or a journal that cannot be read.
    pub(crate) fn past_drift(&self, store: &Store, asked: PastDrift<'_>) -> Result<SeriesDrift, AppError> {
        let until = asked.until;
        let rule = asked.rule()?;
        let known = read_drift(store, &rule, until)?;
        let past = drift_past(&rule.days, &rule.as_of, &rule.options, rule.watched, &known.closings);
        let past = past.map_err(|what| refusal(&rule.id, &what))?;
        Ok(SeriesDrift { drift: known.drifted.drift, late: known.drifted.late, past })
    }
}
