//! Programs that use the service: one starts runs, one sends traces. Each repeats a request that was not answered.

use std::collections::BTreeMap;

use serde_json::json;

use super::server::Caller;
use super::suites::{ADHOC_ROWS, MINUTE};

const JSON: &str = "Content-Type: application/json\r\n";
const LINES: &str = "Content-Type: application/x-ndjson\r\n";

/// Rows of a run that is asked for.
const SAMPLES: usize = 32;

/// Traces of a request.
const TRACES: usize = 10;

/// A run that was asked for over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct AskedRun {
    pub id: String,
    /// Its samples.
    pub samples: Vec<String>,
    /// The step in which it was asked for.
    pub step: usize,
    pub is_accepted: bool,
}

/// A program that starts a run now and then.
pub(crate) struct Starter {
    caller: Caller,
    pub runs: Vec<AskedRun>,
    /// Answers that were refusals, by status.
    pub refused: BTreeMap<u16, usize>,
}

impl Starter {
    pub fn new(caller: Caller) -> Self {
        Self { caller, runs: Vec::new(), refused: BTreeMap::new() }
    }

    /// The caller with its token.
    pub fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Asks for another run, unless the data are used up.
    pub fn ask_for_run(&mut self, step: usize) {
        let at = self.runs.len();
        let samples: Vec<String> = (at * SAMPLES..(at + 1) * SAMPLES).map(|row| format!("adhoc-{row}")).collect();
        if (at + 1) * SAMPLES <= ADHOC_ROWS {
            self.runs.push(AskedRun { id: format!("asked-{at}"), samples, step, is_accepted: false });
        }
    }

    /// Sends all requests that were not answered, each with its own key.
    pub fn send(&mut self) {
        for run in self.runs.iter_mut().filter(|run| !run.is_accepted) {
            let body = json!({ "suite": "./adhoc", "run_id": run.id, "samples": run.samples }).to_string();
            let headers = format!("{JSON}Idempotency-Key: {}\r\n", run.id);
            match self.caller.ask("POST /eval/run", &headers, &body) {
                Ok(answer) if answer.status == 202 => run.is_accepted = true,
                Ok(answer) => *self.refused.entry(answer.status).or_default() += 1,
                Err(_) => {}
            }
        }
    }
}

/// An application that sends its traces.
pub(crate) struct Application {
    caller: Caller,
    /// Requests that were not answered.
    waiting: Vec<(Vec<String>, String)>,
    sent: usize,
    /// Ids of rows of which the server said that it has them.
    pub taken: Vec<String>,
    pub refused: BTreeMap<u16, usize>,
}

impl Application {
    pub fn new(caller: Caller) -> Self {
        Self { caller, waiting: Vec::new(), sent: 0, taken: Vec::new(), refused: BTreeMap::new() }
    }

    /// Reports calls of the day before: its suite reads those.
    pub fn report(&mut self, now: i64) {
        let (mut ids, mut lines) = (Vec::new(), String::new());
        for _ in 0..TRACES {
            let id = format!("call-{}", self.sent);
            self.sent += 1;
            let time = jiff::Timestamp::from_millisecond(now - 24 * 60 * MINUTE).unwrap_or_default();
            let row = json!({ "id": id, "time": time.to_string(), "input": format!("What is {id}?"),
                "output": format!("It is number {} of the day.", self.sent) });
            lines.push_str(&format!("{row}\n"));
            ids.push(id);
        }
        self.waiting.push((ids, lines));
    }

    /// Sends all requests that were not answered.
    pub fn send(&mut self) {
        let mut waiting = Vec::new();
        for (ids, lines) in std::mem::take(&mut self.waiting) {
            match self.caller.ask("POST /traces?dataset=app", LINES, &lines) {
                Ok(answer) if answer.status == 200 => self.taken.extend(ids),
                Ok(answer) => {
                    *self.refused.entry(answer.status).or_default() += 1;
                    waiting.push((ids, lines));
                }
                Err(_) => waiting.push((ids, lines)),
            }
        }
        self.waiting = waiting;
    }
}
