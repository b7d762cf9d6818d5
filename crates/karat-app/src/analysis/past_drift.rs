//! The drift of a system's series and its past, for pages: reads the journal of alerts and closings, and adds nothing to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_analysis::Day;
use karat_analysis::drift::drift_past;
use karat_analysis::series::SeriesDrift;
use karat_store::Store;
use karat_suite::removals_of;
use karat_types::{AnalysisSpec, Moment, PlanHeader};
use serde_json::{Value, json};

use crate::AppError;
use crate::analysis::Analysis;
use crate::analysis::drift::{
    DriftRequest, Rule, declared_analysis, declared_default, read_drift, refusal, watched_metric, watched_systems,
};

/// A question about the drift of one system's series, asked by a page.
pub(crate) struct PastDrift<'a> {
    pub plan: Arc<PlanHeader>,
    /// The metric; the suite's first `drift` analysis of it says how, else the defaults.
    pub metric: &'a str,
    pub system: &'a str,
    /// The series of every system.
    pub series: BTreeMap<String, Vec<Day>>,
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
        let is_drift = |spec: &&AnalysisSpec| spec.analysis == "drift" && removals_of(spec).is_empty();
        let own = self.plan.analyses.iter().filter(is_drift).find(is_own);
        let (id, options) = match own {
            Some(spec) => declared_analysis(&self.plan, &DriftRequest { id: Some(spec.id.clone()), ..asked })?,
            None => declared_default(&self.plan, self.metric),
        };
        let is_only = self.series.len() < 2;
        let systems = watched_systems(self.series.clone().into_iter().collect(), self.as_of, &options).len();
        let days = self.series.get(self.system).cloned().unwrap_or_default();
        let watched = watched_metric(&self.plan, self.metric);
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
            days,
            warnings: Vec::new(),
            is_stretch: false,
            older_names: [named].into_iter().chain(is_only.then_some(alone)).collect(),
            name,
            plan: self.plan,
            id,
            options: options.of_systems(systems),
        })
    }
}

impl Analysis<'_> {
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
        let replay = rule.quiet_years();
        Ok(SeriesDrift { drift: known.drifted.drift, late: known.drifted.late, past, replay })
    }
}
