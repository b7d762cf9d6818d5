//! The use cases of Karat, called from Python. Requests and results are JSON, which the package gives types.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use karat_app::{
    App, AppError, CallRecording, CompareRequest, Correction, Execution, GateFlags, GateRequest, Invocation, Outputs,
    RunEnd, RunRequest, Session, Stop, StoreUrl, Threshold,
};
use karat_types::{Clock, Moment, Observer, ReportFormat, RunStatus, UnknownFormat};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{bad_value, exception, failure};
use crate::functions::PythonFunctions;
use crate::progress::{Counts, Progress};
use crate::table::ArrowTable;

/// Interval at which Python handles signals and shows the progress.
const LOOK: Duration = Duration::from_millis(50);

/// A store, the environment and the functions of a program.
#[pyclass(frozen, module = "karat._karat")]
pub struct Engine {
    app: App,
}

/// A part of a run that is executed.
enum Part {
    New { id: Option<String>, resume: bool, tape: CallRecording },
    Resume(String),
    Retry(String),
    Score { run: String, id: Option<String> },
}

#[pymethods]
impl Engine {
    /// Takes the state folder, the store (in the folder without one), the environment, and functions as `(name, version,
    /// call)`.
    #[new]
    fn new(
        home: PathBuf,
        store: Option<&str>,
        environment: HashMap<String, String>,
        functions: Vec<(String, String, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let store = match store {
            Some(url) => url.parse().map_err(|error| failure(format!("{error}"), 1))?,
            None => StoreUrl::in_folder(&home),
        };
        let opened = Session::with_host(Arc::new(PythonFunctions::new(functions)));
        let lookup = Arc::new(move |name: &str| environment.get(name).cloned());
        Ok(Self { app: App { store, home, lookup, clock: Arc::new(SystemClock), own_program: None, opened } })
    }

    /// Runs a suite. `request` is JSON; `progress` gets `(done, total, failed, spent_usd, messages)`.
    #[pyo3(signature = (request, resume, record, replay, progress))]
    fn run(
        &self,
        py: Python<'_>,
        request: &str,
        resume: bool,
        record: Option<PathBuf>,
        replay: Option<PathBuf>,
        progress: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        let (mut invocation, id) = read_request(request)?;
        let tape = match (record, replay) {
            (Some(file), _) => CallRecording::Record(file),
            (None, Some(file)) => CallRecording::Replay(file),
            (None, None) => CallRecording::None,
        };
        invocation.overrides.no_cache |= tape != CallRecording::None;
        self.execute(py, invocation, Part::New { id, resume, tape }, progress)
    }

    /// Continues a run that was interrupted.
    fn resume(&self, py: Python<'_>, run: String, request: &str, progress: &Bound<'_, PyAny>) -> PyResult<String> {
        self.execute(py, read_request(request)?.0, Part::Resume(run), progress)
    }

    /// Makes the failed cells of a run again.
    fn retry(&self, py: Python<'_>, run: String, request: &str, progress: &Bound<'_, PyAny>) -> PyResult<String> {
        self.execute(py, read_request(request)?.0, Part::Retry(run), progress)
    }

    /// Scores the outputs of a run with the scorers of a suite.
    fn score(&self, py: Python<'_>, run: String, request: &str, progress: &Bound<'_, PyAny>) -> PyResult<String> {
        let (invocation, id) = read_request(request)?;
        self.execute(py, invocation, Part::Score { run, id }, progress)
    }

    /// Checks a suite; returns its warnings and notes, and the number of cells of its plan.
    fn validate(&self, py: Python<'_>, request: &str) -> PyResult<String> {
        let (invocation, _) = read_request(request)?;
        let checked = py.detach(|| {
            let plan = self.app.project().validate(&invocation)?;
            Ok(json!({ "suite": plan.header.suite, "cells": plan.header.cells(), "notes": notes(&plan) }))
        });
        checked.map(|value| value.to_string()).map_err(|error: AppError| exception(&error))
    }

    /// The id of a run: from an id, the beginning of one, or `latest`.
    fn run_id(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        py.detach(|| self.app.stored().run_id(run)).map_err(|error| exception(&error))
    }

    /// A table of a run.
    fn table(&self, py: Python<'_>, run: &str, name: String) -> PyResult<ArrowTable> {
        ArrowTable::new(self.app.clone(), self.run_id(py, run)?, name)
    }

    /// The report of a run, in a format of [`karat_types::ReportFormat`].
    fn report(&self, py: Python<'_>, run: &str, format: &str) -> PyResult<String> {
        let format: ReportFormat = format.parse().map_err(|unknown: UnknownFormat| bad_value(unknown.to_string()))?;
        let written = py.detach(|| {
            let mut bytes = Vec::new();
            self.app.reports().export(run, format, Outputs::default(), false, &mut bytes).map(|_| bytes)
        });
        String::from_utf8(written.map_err(|error| exception(&error))?).map_err(bad_value)
    }

    /// The summary of a run for a terminal.
    fn summary(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        py.detach(|| self.app.reports().summary(run)).map(|(text, _)| text).map_err(|error| exception(&error))
    }

    /// The verdicts of gates on a run: the JSON of `karat gate`, its text, and the exit code.
    fn gate(
        &self,
        py: Python<'_>,
        run: &str,
        policy: Option<String>,
        baseline: Option<String>,
        bounds: BTreeMap<String, String>,
        drops: BTreeMap<String, String>,
    ) -> PyResult<(String, String, u8)> {
        let named = |bounds: BTreeMap<String, String>| {
            bounds.into_iter().map(|(metric, text)| Ok((metric, threshold(&text)?))).collect::<PyResult<Vec<_>>>()
        };
        let max_drop = named(drops)?.into_iter().map(|(metric, drop)| (Some(metric), drop)).collect();
        let flags = GateFlags { baseline, min: named(bounds)?, max_drop, ..GateFlags::default() };
        let gating = GateRequest { policy, flags };
        let decided = py.detach(|| {
            let report = self.app.analysis().gate(run, &gating)?;
            Ok((report.json()?, report.terminal(), report.exit.code()))
        });
        decided.map_err(|error: AppError| exception(&error))
    }

    /// A comparison: the JSON of `karat compare`, its text and its page.
    #[pyo3(signature = (baseline, candidate, run, metrics, confidence, margins, allow_changed))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's `compare`")]
    fn compare(
        &self,
        py: Python<'_>,
        baseline: &str,
        candidate: &str,
        run: Option<&str>,
        metrics: Vec<String>,
        confidence: f64,
        margins: BTreeMap<String, String>,
        allow_changed: bool,
    ) -> PyResult<(String, String, String)> {
        let margins = margins.into_iter().map(|(metric, text)| Ok((metric, threshold(&text)?)));
        let comparing = CompareRequest {
            metrics,
            correction: Correction::default(),
            confidence,
            margins: margins.collect::<PyResult<_>>()?,
            mde: BTreeMap::new(),
            allow_changed,
            movers: 5,
            outputs: false,
        };
        let compared = py.detach(|| {
            let [baseline, candidate] = self.app.analysis().parties([baseline, candidate], run)?;
            let compared = self.app.analysis().compare(&baseline, &candidate, &comparing)?;
            Ok((compared.json()?, compared.terminal(), compared.html()))
        });
        compared.map_err(|error: AppError| exception(&error))
    }

    /// Pins a run as the baseline of its suite; returns the path.
    fn pin(&self, py: Python<'_>, run: &str, output: Option<&str>) -> PyResult<String> {
        py.detach(|| self.app.analysis().pin(run, output)).map(|(path, _)| path).map_err(|error| exception(&error))
    }
}

impl Engine {
    /// Executes a part of a run on a thread of its own, while this one lets Python handle signals and show the progress.
    /// The first Ctrl-C stops the run in order; the second leaves it.
    fn execute(
        &self,
        py: Python<'_>,
        invocation: Invocation,
        part: Part,
        progress: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        let (stop, counters) = (Stop::new(), Arc::new(Progress::default()));
        let (app, stopping, observer) = (self.app.clone(), stop.clone(), Arc::clone(&counters));
        let (ended, end) = channel();
        let work = move || {
            let _ = ended.send(run_part(&app, &invocation, part, stopping, observer));
        };
        std::thread::Builder::new().name("karat".to_owned()).spawn(work).map_err(bad_value)?;
        let end = Mutex::new(end);
        let mut shown: Option<Counts> = None;
        loop {
            let waited = py.detach(|| end.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
            let (counts, messages) = (counters.counts(), counters.take_messages());
            let is_new = shown != Some(counts) || !messages.is_empty();
            shown = Some(counts);
            let show = |messages: Vec<String>| {
                progress.call1((counts.done, counts.total, counts.failed, counts.spent_usd, messages)).map(drop)
            };
            // Showing runs Python code, which a signal may end, too.
            let looked = if is_new { show(messages) } else { Ok(()) }.and_then(|()| py.check_signals());
            match waited {
                Ok(outcome) => {
                    let outcome = outcome.map_err(|error| exception(&error))?;
                    return Ok(outcome.to_string());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failure("the run ended without a result; this is a bug in karat".to_owned(), 1));
                }
            }
            match looked {
                Ok(()) => {}
                Err(interrupt) if interrupt.is_instance_of::<PyKeyboardInterrupt>(py) && !stop.is_set() => {
                    stop.set();
                    show(vec![STOPPING.to_owned()])?;
                }
                Err(other) => {
                    stop.set();
                    return Err(other);
                }
            }
        }
    }
}

/// The message after the first Ctrl-C.
const STOPPING: &str = "stopping after the calls in flight, whose results are kept; interrupt again to leave at once";

fn run_part(
    app: &App,
    invocation: &Invocation,
    part: Part,
    stop: Stop,
    observer: Arc<Progress>,
) -> Result<Value, AppError> {
    let shown: Arc<dyn Observer> = observer.clone();
    let execution = |run_id, resume, tape| Execution { run_id, resume, observer: shown, stop, tape };
    let mut told = Vec::new();
    let end = match part {
        Part::New { id, resume, tape } => {
            let plan = app.runs().load(invocation)?;
            told = notes(&plan);
            told.iter().for_each(|note| observer.say(note));
            app.runs().run(plan, invocation, execution(id, resume, tape))?
        }
        Part::Resume(run) => app.runs().resume(&run, invocation, execution(None, true, CallRecording::None))?,
        Part::Retry(run) => app.runs().retry(&run, invocation, execution(None, true, CallRecording::None))?,
        Part::Score { run, id } => {
            let suite = Some(invocation.suite.clone()).filter(|suite| !suite.is_empty());
            let execution_settings = Invocation { suite: String::new(), ..invocation.clone() };
            let judges = invocation.overrides.judges.clone();
            let rescoring = karat_app::Rescoring { suite, judges, execution: execution_settings };
            app.runs().score(&run, &rescoring, execution(id, false, CallRecording::None))?
        }
    };
    told.extend(end.notice.clone());
    Ok(end_json(&end, &told))
}

fn end_json(end: &RunEnd, notes: &[String]) -> Value {
    let status = match end.status {
        RunStatus::Finished => "finished",
        RunStatus::Running => "running",
        RunStatus::Interrupted => "interrupted",
        RunStatus::BudgetStopped => "budget_stopped",
    };
    json!({
        "run": end.run,
        "status": status,
        "command": end.command,
        "calls": end.calls,
        "requests": end.requests,
        "spent_usd": end.spent.usd(),
        "simulated": end.simulated,
        "unpriced": end.unpriced,
        "stopped": end.stopped.as_ref().or(end.refused.as_ref()),
        "overspent": end.overspent,
        "exit": end.exit().code(),
        "notes": notes,
    })
}

/// The warnings and notes of a suite.
fn notes(plan: &karat_app::Plan) -> Vec<String> {
    let warnings = (!plan.warnings.is_empty()).then(|| plan.warnings.plain());
    warnings.into_iter().chain(plan.notes.iter().cloned()).collect()
}

/// The invocation of a request, and the id of its run. It is the user's own program, so it may set all there is.
fn read_request(json: &str) -> PyResult<(Invocation, Option<String>)> {
    let request: RunRequest = karat_types::json::decode(json).map_err(bad_value)?;
    let id = request.run_id.clone();
    Ok((request.into(), id))
}

/// A threshold as a suite writes it: `0.8`, `5%`.
fn threshold(text: &str) -> PyResult<Threshold> {
    let (number, percent) = match text.trim().strip_suffix('%') {
        Some(number) => (number, true),
        None => (text.trim(), false),
    };
    let value = number.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    let value = value.ok_or_else(|| bad_value(format!("`{text}` is not a threshold; write `0.8` or `5%`")))?;
    Ok(Threshold { value: if percent { value / 100.0 } else { value }, percent })
}

/// The system's clock: the only place of the module that reads it.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        #[expect(clippy::disallowed_methods, reason = "the clock that everything else is passed")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Moment(now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }
}
