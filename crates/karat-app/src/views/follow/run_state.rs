//! A run in one object: what it is, how far it is, and how it ended.

use karat_store::Store;
use karat_types::{Exit, Key, RunHeader, RunRows, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::stored::findings::findings;
use crate::stored::invocation::read_stored_invocation;
use crate::stored::labels::anchoring::findings_state;
use crate::views::Views;
use crate::views::follow::counter::CellCounter;
use crate::views::follow::progress::CellCounts;
use crate::{AppError, rfc3339};

/// Finished runs whose state is remembered.
const REMEMBERED: usize = 1_000;

/// A run, as the HTTP API shows it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunState {
    /// Its id.
    pub run_id: String,
    /// Its suite.
    pub suite: String,
    /// `queued`, `running`, `completed`, `failed` (exit code 1), `cancelled`, `interrupted` or `budget_stopped`.
    #[schemars(extend("enum" = ["queued", "running", "completed", "failed", "cancelled", "interrupted", "budget_stopped"]))]
    pub status: &'static str,
    /// Verdict of its gates: `pass`, `fail` or `undecided`; absent without gates and while it runs.
    #[schemars(extend("enum" = ["pass", "fail", "undecided", null]))]
    pub verdict: Option<&'static str>,
    /// The origin of the run: `cli` or `api`.
    pub trigger: String,
    /// The day that it is about.
    #[schemars(extend("format" = "date"))]
    pub as_of: Option<String>,
    /// Time at which it was asked for, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// Time of its start; absent while it waits.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: Option<String>,
    /// Time of its end.
    #[schemars(extend("format" = "date-time"))]
    pub completed_at: Option<String>,
    /// Hash of its plan.
    pub plan_hash: String,
    /// Its cells.
    pub cells: CellCounts,
    /// Dollars paid, as far as prices are known.
    pub spend_usd: f64,
    /// Dollars that it may spend.
    pub budget_usd: Option<f64>,
    /// The exit code that the command line would end with; absent while it runs.
    pub exit_code: Option<u8>,
    /// The failure that ended it, if a server ran it.
    pub problem: Option<String>,
}

impl Views<'_> {
    /// The state of a run by its rows alone.
    pub(crate) fn stored_state(&self, store: &Store, id: &str) -> Result<RunState, AppError> {
        let stored = store.rows(id)?;
        let header = stored.header();
        let is_running = header.status == RunStatus::Running;
        let key = findings_state(&stored)?;
        if let Some(known) = self.app.opened.run_state(&header.id, key).filter(|_| !is_running) {
            return Ok(known);
        }
        let mut counter = CellCounter::new(&header.plan);
        let position = store.follow(&header.id, Default::default(), &mut |change| {
            let _ = counter.add(change);
        })?;
        if header.status == RunStatus::Finished {
            counter.end(position.end());
        }
        let (verdict, exit) = if is_running { (None, None) } else { self.outcome(&header.id, header.status)? };
        let started_at = rfc3339(header.started_at);
        let state = RunState {
            run_id: header.id.clone(),
            suite: header.plan.suite.clone(),
            // More cells failed than the suite allows: the command line ends with 1.
            status: if exit == Some(Exit::HarnessError) { "failed" } else { status_name(header.status) },
            verdict,
            trigger: trigger(header),
            as_of: header.plan.as_of.clone(),
            created_at: started_at.clone(),
            started_at: Some(started_at),
            completed_at: header.completed_at.map(rfc3339),
            plan_hash: header.plan.plan_hash.to_string(),
            cells: CellCounts::of(&counter, header.planned_cells()),
            spend_usd: counter.spent.usd(),
            budget_usd: header.plan.run.budget_usd,
            exit_code: exit.map(Exit::code),
            problem: None,
        };
        if !is_running {
            self.app.opened.remember_run_state(key, &state);
        }
        Ok(state)
    }

    /// Verdict and exit code of a run that has ended.
    fn outcome(&self, run: &str, status: RunStatus) -> Result<(Option<&'static str>, Option<Exit>), AppError> {
        let own = match status {
            RunStatus::Running | RunStatus::Interrupted => Exit::Interrupted,
            RunStatus::BudgetStopped => Exit::Budget,
            RunStatus::Finished => Exit::Pass,
        };
        let stored = self.app.stored().run(run)?;
        // A run that was stopped before its first cell has no findings.
        if stored.totals()?.cells == 0 {
            return Ok((None, Some(own)));
        }
        let findings = findings(&stored)?;
        let (context, exit) = self.app.analysis().context(&stored, &findings, false)?;
        // A gate that asks for a person is open until one has looked.
        let verdict = context.verdicts.verdict().map(|verdict| match verdict.as_str() {
            "pass" => "pass",
            "fail" => "fail",
            _ => "undecided",
        });
        Ok((verdict, Some(own.worst(exit))))
    }
}

/// The origin of a run.
pub(crate) fn trigger(header: &RunHeader) -> String {
    match read_stored_invocation(header) {
        Ok(stored) if stored.invocation.trigger.is_empty() => "cli".to_owned(),
        Ok(stored) => stored.invocation.trigger,
        Err(_) => "unknown".to_owned(),
    }
}

/// The name of a status in the API.
pub(crate) fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Finished => "completed",
        RunStatus::Interrupted => "interrupted",
        RunStatus::BudgetStopped => "budget_stopped",
    }
}

/// Run states that cost a pass over the rows, by run. A state counts while nothing was added to its run.
#[derive(Debug, Default)]
pub(crate) struct KnownStates(std::collections::BTreeMap<String, (Key, RunState)>);

impl KnownStates {
    pub fn get(&self, run: &str, key: Key) -> Option<RunState> {
        self.0.get(run).filter(|(known, _)| *known == key).map(|(_, state)| state.clone())
    }

    pub fn add(&mut self, key: Key, state: &RunState) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(state.run_id.clone(), (key, state.clone()));
    }
}
