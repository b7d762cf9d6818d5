//! The call log file: one appended block per call.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use karat_engine::{CallLog, LoggedCall};
use karat_text::template::{Context, Template};
use karat_types::{Clock, PlanHeader};
use serde_json::{Value, json};

use crate::error::{RunError, SuiteError};
use crate::project::load;
use crate::project::presets::SuiteFiles;
use crate::runs::Runs;
use crate::{AppError, Invocation};

/// Maximum of written characters of a request.
const INPUT: usize = 200;
/// Maximum of written characters of an answer.
const OUTPUT: usize = 2_000;

/// The file that a run's calls are written to; created with the first call.
pub(crate) struct LogFile {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    state: Mutex<LogState>,
}

#[derive(Default)]
struct LogState {
    file: Option<File>,
    failure: Option<String>,
}

impl LogFile {
    /// The first failure to write it.
    pub fn failure(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }
}

impl CallLog for LogFile {
    fn call(&self, call: &LoggedCall<'_>) {
        let block = block(&crate::rfc3339(self.clock.now()), call);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = state.append(&self.path, &block) {
            let said = format!("the call log {} cannot be written: {error}", self.path.display());
            state.failure.get_or_insert(said);
        }
    }
}

impl LogState {
    fn append(&mut self, path: &Path, block: &str) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    std::fs::create_dir_all(folder)?;
                }
                none.insert(OpenOptions::new().append(true).create(true).open(path)?)
            }
        };
        // One write per block, so that blocks of several processes do not mix.
        file.write_all(block.as_bytes())
    }
}

fn block(at: &str, call: &LoggedCall<'_>) -> String {
    let error = call.error.as_ref().map(|error| format!("ERROR: {}\n", one_line(error))).unwrap_or_default();
    format!(
        "--- {at} {} elapsed={:.1}s ---\nCMD: {}\n{error}STDIN[:{INPUT}]: {}\nSTDOUT[:{OUTPUT}]:\n{}\n\n",
        call.end,
        call.seconds,
        one_line(&call.command),
        one_line(&first_chars(&request_text(call.input), INPUT)),
        first_chars(&String::from_utf8_lossy(call.output), OUTPUT).trim_end(),
    )
}

/// The text of a request: the messages of a chat, else its body.
fn request_text(body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let messages = json.as_ref().and_then(|json| json["messages"].as_array());
    match messages {
        Some(messages) => {
            let texts: Vec<&str> = messages.iter().filter_map(|message| message["content"].as_str()).collect();
            texts.join("\n\n")
        }
        None => String::from_utf8_lossy(body).into_owned(),
    }
}

/// The first characters, without control characters.
fn first_chars(text: &str, limit: usize) -> String {
    let shown = |c: char| if c.is_control() && !"\n\t".contains(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().take(limit).map(shown).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Runs<'_> {
    /// The call log of a plan. Its path is relative to the suite's folder, for a preset to the working directory;
    /// `run.date` is the current day.
    pub(crate) fn call_log(
        &self,
        plan: &PlanHeader,
        invocation: &Invocation,
    ) -> Result<Option<Arc<LogFile>>, AppError> {
        let Some(wanted) = &plan.run.call_log else { return Ok(None) };
        let broken = |source| RunError::CallLogTemplate { wanted: wanted.clone(), source };
        let date = self.app.project().today(plan).to_string();
        let context = Context::new().with("run", &json!({ "date": date, "suite": plan.suite }));
        let context = context.with("params", &Value::Object(plan.params.clone()));
        let template = Template::compile(wanted).map_err(broken)?;
        let name = template.render(&context).map_err(broken)?;
        if name.trim().is_empty() {
            return Err(RunError::CallLogEmpty { wanted: wanted.clone() }.into());
        }
        // A server writes nothing outside of its root, so a log stays beside its suite.
        if self.app.opened.root().is_some() && karat_suite::join_beneath("", &name).is_err() {
            return Err(SuiteError::OutsideRoot { path: name }.into());
        }
        let suite = load::find_suite(&invocation.suite, &SuiteFiles)?;
        let folder = Path::new(&suite).parent().filter(|_| !suite.starts_with("preset:"));
        let path = folder.map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name));
        Ok(Some(Arc::new(LogFile { path, clock: self.app.clock.clone(), state: Mutex::default() })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BR-07: time, end, duration, command, 200 characters in, 2,000 out; no control characters.
    #[test]
    fn a_block_is_cut_and_has_no_control_characters() {
        let body = json!({ "messages": [{ "content": "Judge\nthis. ".repeat(100) }] }).to_string();
        let output = "ä".repeat(3_000) + "\u{1b}[31m";
        let call = LoggedCall {
            end: "rc=1".to_owned(),
            seconds: 31.24,
            command: "claude -p <prompt>".to_owned(),
            input: body.as_bytes(),
            output: output.as_bytes(),
            error: Some("it said\n\"no\"".into()),
        };
        let text = block("2026-05-13T19:48:03Z", &call);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "--- 2026-05-13T19:48:03Z rc=1 elapsed=31.2s ---");
        assert_eq!((lines[1], lines[2]), ("CMD: claude -p <prompt>", "ERROR: it said \"no\""));
        assert!(lines[3].starts_with("STDIN[:200]: Judge this. Judge") && lines[3].len() < 220);
        assert_eq!(lines[5].chars().count(), 2_000);
        assert!(!text.contains('\u{1b}') && text.ends_with("\n\n"));
    }
}
