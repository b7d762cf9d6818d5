//! Functions written in Python, as host functions of a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use karat_app::{HostAnswer, HostFunctions};
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::workers::Workers;

/// The answer of a call, or why there is none.
type Outcome = Result<Bytes, String>;

/// A function.
struct PythonFunction {
    version: String,
    /// Takes a request as JSON and an [`Answer`]. It returns the answer line, or `None` if the answer comes later.
    call: Py<PyAny>,
}

/// The functions of a program.
pub struct PythonFunctions {
    functions: BTreeMap<String, Arc<PythonFunction>>,
    workers: Workers,
}

/// The place for the answer of a call that goes on when its function has returned: that of a coroutine.
#[pyclass(frozen, module = "karat._karat")]
pub struct Answer(Mutex<Option<oneshot::Sender<Outcome>>>);

impl Answer {
    fn give(&self, outcome: Outcome) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A run that was stopped waits for no answer.
        let _ = waiting.map(|waiting| waiting.send(outcome));
    }
}

#[pymethods]
impl Answer {
    /// Answers with a line.
    fn finish(&self, line: &str) {
        self.give(Ok(Bytes::copy_from_slice(line.as_bytes())));
    }

    /// Says why there is no answer.
    fn fail(&self, problem: String) {
        self.give(Err(problem));
    }
}

impl PythonFunctions {
    /// Functions as `(name, version, call)`.
    pub fn new(functions: Vec<(String, String, Py<PyAny>)>) -> Self {
        let named = |(name, version, call)| (name, Arc::new(PythonFunction { version, call }));
        Self { functions: functions.into_iter().map(named).collect(), workers: Workers::default() }
    }
}

impl PythonFunction {
    fn call(&self, py: Python<'_>, request: &str, waiting: oneshot::Sender<Outcome>) {
        // Without memory for the place of an answer, the call ends as one without an answer.
        let Ok(answer) = Py::new(py, Answer(Mutex::new(Some(waiting)))) else { return };
        let told = |error: PyErr| Err(error.value(py).to_string());
        match self.call.bind(py).call1((request, &answer)) {
            Ok(line) if !line.is_none() => {
                let outcome = line.extract::<&str>().map(|line| Bytes::copy_from_slice(line.as_bytes()));
                answer.get().give(outcome.or_else(told));
            }
            // The answer comes later.
            Ok(_) => {}
            Err(error) => answer.get().give(told(error)),
        }
    }
}

impl HostFunctions for PythonFunctions {
    fn names(&self) -> Vec<String> {
        self.functions.keys().cloned().collect()
    }

    fn version(&self, name: &str) -> Option<String> {
        Some(self.functions.get(name)?.version.clone())
    }

    fn call(&self, name: &str, request: String) -> HostAnswer {
        let Some(function) = self.functions.get(name).cloned() else {
            let problem = format!("there is no function `{name}`");
            return Box::pin(async { Err(problem) });
        };
        let (waiting, answer) = oneshot::channel();
        self.workers.add(Box::new(move |py| function.call(py, &request, waiting)));
        Box::pin(async { answer.await.unwrap_or_else(|_| Err("it ended without an answer".to_owned())) })
    }
}
