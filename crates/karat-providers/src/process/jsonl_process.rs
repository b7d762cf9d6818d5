//! Programs that answer line by line: one process for many requests.
//!
//! # Protocol
//! A request is one line `{"id": N, "input": …}` on the program's standard input. Its answer is one line `{"id": N,
//! "output": …}` or `{"id": N, "error": "why"}` on standard output, in any order; other keys are ignored. Requests are
//! written without waiting for earlier answers, so a program that reads, answers and flushes stays busy. End of input
//! means: exit. Standard error is shown if it fails.
//!
//! An invalid line, such as one with `NaN`, fails the request with its `id` and no other; a line without an `id` ends
//! the program.
//!
//! A program that exits early is restarted for the next request, unless it exited three times without an answer. If a
//! request times out, its process is killed, and the requests behind it are retried.

use std::borrow::Cow;
use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use karat_text::half_characters::{self, Mended};
use karat_types::{CallErrorCode, host_function};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::answer::excerpt::quote;
use crate::answer::failure::Failure;
use crate::process::program::{Program, RunningProgram, process_failure, read_stderr};
use crate::registry::settings::Settings;

/// Capacity of the queue of lines to write.
const WAITING: usize = 1024;
/// Processes that may exit without any answer before the program is no longer started.
const MAX_EARLY_EXITS: u32 = 3;
/// Timeout of a program's exit after the end of its input.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The programs of a run that answer line by line.
#[derive(Default)]
pub(crate) struct JsonlPrograms {
    programs: Mutex<HashMap<Program, Arc<JsonlProgram>>>,
}

/// One program, with its running process if there is one.
struct JsonlProgram {
    program: Program,
    process: tokio::sync::Mutex<Option<JsonlProcess>>,
    next: AtomicU64,
    early_exits: Arc<AtomicU32>,
    /// The number of processes that were started.
    starts: AtomicU64,
    /// The process, counted from 1, that each running conversation began with.
    conversations: Mutex<HashMap<String, u64>>,
}

/// One process.
struct JsonlProcess {
    lines: mpsc::Sender<String>,
    pending: Arc<PendingRequests>,
    /// Kills it.
    kill: Arc<Notify>,
    task: JoinHandle<()>,
}

type Answer = Result<Bytes, Failure>;

/// A line for a program, without its id.
pub(crate) struct Line {
    /// Its members as JSON.
    pub members: String,
    /// The conversation that it belongs to, if the program keeps state.
    pub conversation: Option<ConversationLine>,
}

/// The conversation of a line.
pub(crate) struct ConversationLine {
    pub name: String,
    /// True if it begins here.
    pub begin: bool,
}

/// The requests without an answer.
struct PendingRequests {
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    is_over: AtomicBool,
    /// Time of the program's last output.
    output_at: Mutex<Instant>,
}

impl PendingRequests {
    fn new() -> Self {
        Self { waiting: Mutex::default(), is_over: AtomicBool::new(false), output_at: Mutex::new(Instant::now()) }
    }

    fn last_output(&self) -> Instant {
        *self.output_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns the waiter for the answer to a request.
    fn take_waiter(&self, id: u64) -> Option<oneshot::Sender<Answer>> {
        *self.output_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}

#[derive(Deserialize)]
struct AnswerId {
    id: u64,
}

#[derive(Deserialize)]
struct AnswerLine<'a> {
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
    /// The parts of a scorer's answer.
    #[serde(default)]
    score: Option<IgnoredAny>,
    #[serde(default)]
    na: Option<IgnoredAny>,
    #[serde(default)]
    unscored: Option<IgnoredAny>,
}

/// The id of the request that a line answers, even if the rest of the line is not JSON.
fn answer_id(line: &[u8]) -> Option<u64> {
    serde_json::from_slice(line).map_or_else(|_| answer_id_in_invalid_json(line), |AnswerId { id }| Some(id))
}

/// The number after the key `id` in the outermost object of a line that is not JSON.
fn answer_id_in_invalid_json(line: &[u8]) -> Option<u64> {
    let (mut depth, mut at) = (0_i32, 0);
    while let Some(byte) = line.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let text = line.get(at + 1..)?;
                let length = end_of_text(text)?;
                let (key, rest) = (text.get(..length)?, text.get(length + 1..)?.trim_ascii_start());
                if let (1, b"id", Some(value)) = (depth, key, rest.strip_prefix(b":")) {
                    let digits = value.trim_ascii_start().split(|byte| !byte.is_ascii_digit()).next()?;
                    return std::str::from_utf8(digits).ok()?.parse().ok();
                }
                at += length + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The offset at which a JSON string ends that began before these bytes.
fn end_of_text(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    bytes.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })
}

/// Parses an answer line: the output as text (a JSON string without quotes), or the error. Half characters become U+FFFD.
pub(crate) fn parse_answer_line(line: &[u8]) -> Result<Mended<String>, String> {
    let whole = half_characters::mend(line);
    let was_mended = matches!(whole, Cow::Owned(_));
    let text = |value| Mended { value, was_mended };
    let body: AnswerLine<'_> = serde_json::from_slice(&whole).map_err(|error| {
        format!("answered with a line that cannot be read ({error}); it begins {}", quote(line, 200))
    })?;
    match (body.error.filter(|error| !error.is_null()), body.output) {
        (Some(error), _) => {
            let words = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
            Err(format!("answered with the error {}", quote(words.as_bytes(), 200)))
        }
        // Anything else than a string is not tried as one: an error takes as long as the rest of the line.
        (None, Some(output)) => {
            Ok(text(match output.get().starts_with('"').then(|| serde_json::from_str::<String>(output.get())) {
                Some(Ok(text)) => text,
                _ => output.get().to_owned(),
            }))
        }
        // A scorer's answer without the `output` around it.
        (None, None) if body.score.or(body.na).or(body.unscored).is_some() => {
            Ok(text(String::from_utf8_lossy(&whole).trim().to_owned()))
        }
        (None, None) => Err(format!(
            "answered with neither `output` nor `error`, but {}; write `{{\"id\": ID, \"output\": …}}`",
            quote(line, 200)
        )),
    }
}

impl JsonlPrograms {
    /// Sends a request to a program, which is started if it is not running, or to a host function.
    pub async fn ask(&self, program: &Program, line: Line, timeout: Duration, settings: &Settings) -> Answer {
        if let Some(function) = host_function(&program.run) {
            return settings.host.ask(function, &line.members, timeout).await;
        }
        self.program(program).ask(line, timeout, settings).await
    }

    /// Writes the last line of a conversation, if the process that it began with is still running.
    pub async fn tell_end(&self, program: &Program, conversation: &str, members: String, settings: &Settings) {
        if let Some(function) = host_function(&program.run) {
            return settings.host.tell_end(function, &members).await;
        }
        self.program(program).tell_end(conversation, &members).await;
    }

    fn program(&self, program: &Program) -> Arc<JsonlProgram> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = programs.get(program) {
            return known.clone();
        }
        let new = Arc::new(JsonlProgram {
            program: program.clone(),
            process: tokio::sync::Mutex::new(None),
            next: AtomicU64::new(0),
            early_exits: Arc::default(),
            starts: AtomicU64::new(0),
            conversations: Mutex::default(),
        });
        programs.insert(program.clone(), new.clone());
        new
    }

    /// Closes the input of every program and waits briefly for their exits.
    pub async fn end(&self) {
        let programs: Vec<Arc<JsonlProgram>> = {
            let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *programs).into_values().collect()
        };
        for program in programs {
            let Some(JsonlProcess { lines, kill, mut task, .. }) = program.process.lock().await.take() else {
                continue;
            };
            drop(lines);
            if tokio::time::timeout(END_TIMEOUT, &mut task).await.is_err() {
                kill.notify_one();
            }
        }
    }
}

impl JsonlProgram {
    /// Notes that a conversation begins with the running process, or checks that it did.
    ///
    /// # Errors
    /// It began with a process that has exited, so its state is lost.
    fn enter(&self, line: &Line) -> Result<(), Failure> {
        let Some(ConversationLine { name, begin }) = &line.conversation else { return Ok(()) };
        let now = self.starts.load(Ordering::Acquire);
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        if *begin {
            conversations.insert(name.clone(), now);
            return Ok(());
        }
        if conversations.get(name) == Some(&now) {
            return Ok(());
        }
        Err(process_failure(format!(
            "program `{}`: it exited during this conversation, so the state of the conversation is lost",
            self.program.name()
        )))
    }

    async fn tell_end(&self, conversation: &str, members: &str) {
        let began = self.conversations.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation);
        if began != Some(self.starts.load(Ordering::Acquire)) {
            return;
        }
        let lines = match &*self.process.lock().await {
            Some(process) if !process.pending.is_over.load(Ordering::Acquire) => process.lines.clone(),
            _ => return,
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        // A program that no longer reads needs no end.
        let _ = lines.send(format!("{{\"id\":{id},{members}}}\n")).await;
    }

    async fn ask(&self, line: Line, timeout: Duration, settings: &Settings) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let text = format!("{{\"id\":{id},{}}}\n", line.members);
        let (answer, answered) = oneshot::channel();
        let (lines, pending, kill) = {
            let mut process = self.process.lock().await;
            if process.as_ref().is_none_or(|process| process.pending.is_over.load(Ordering::Acquire)) {
                *process = Some(self.start(settings)?);
            }
            let Some(process) = &*process else { return Err(self.early_exit()) };
            self.enter(&line)?;
            process.pending.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answer);
            if process.pending.is_over.load(Ordering::Acquire) {
                return Err(self.early_exit());
            }
            (process.lines.clone(), process.pending.clone(), process.kill.clone())
        };
        let exchange = async {
            if lines.send(text).await.is_err() {
                return Err(self.early_exit());
            }
            answered.await.unwrap_or_else(|_| Err(self.early_exit()))
        };
        let mut exchange = std::pin::pin!(exchange);
        let mut deadline = Instant::now() + timeout;
        loop {
            if let Ok(answer) = tokio::time::timeout_at(deadline, &mut exchange).await {
                return answer;
            }
            // Requests queue before a program, so it has timed out only if it printed nothing at all for so long.
            let patience = pending.last_output() + timeout;
            if patience <= deadline {
                break;
            }
            deadline = patience;
        }
        kill.notify_one();
        let what = format!("program `{}`: it did not answer within {timeout:?} and was stopped", self.program.name());
        Err(Failure { retry: false, ..Failure::new(CallErrorCode::Timeout, what) })
    }

    fn start(&self, settings: &Settings) -> Result<JsonlProcess, Failure> {
        if self.early_exits.load(Ordering::Acquire) >= MAX_EARLY_EXITS {
            let name = self.program.name();
            return Err(process_failure(format!(
                "program `{name}`: it exited {MAX_EARLY_EXITS} times without an answer and is not started again"
            )));
        }
        self.early_exits.fetch_add(1, Ordering::AcqRel);
        self.starts.fetch_add(1, Ordering::AcqRel);
        let mut running = self.program.start(settings, Stdio::piped(), Stdio::piped())?;
        let (Some(stdin), Some(stdout)) = (running.child.stdin.take(), running.child.stdout.take()) else {
            return Err(process_failure(format!("program `{}`: it has no streams", self.program.name())));
        };
        let (lines, waiting) = mpsc::channel(WAITING);
        let (pending, kill) = (Arc::new(PendingRequests::new()), Arc::new(Notify::new()));
        let process_task = ProcessTask {
            program: self.program.clone(),
            running,
            pending: pending.clone(),
            kill: kill.clone(),
            early_exits: self.early_exits.clone(),
            limit: settings.max_response,
        };
        let task = tokio::spawn(process_task.run(stdin, stdout, waiting));
        Ok(JsonlProcess { lines, pending, kill, task })
    }

    fn early_exit(&self) -> Failure {
        early_exit_of(&self.program, "")
    }
}

/// The failure of a request whose process exited: a retry goes to another process.
fn early_exit_of(program: &Program, why: &str) -> Failure {
    Failure::new(CallErrorCode::Cut, format!("program `{}`: it exited before it answered{why}", program.name()))
}

/// The task that serves one process.
struct ProcessTask {
    program: Program,
    running: RunningProgram,
    pending: Arc<PendingRequests>,
    kill: Arc<Notify>,
    early_exits: Arc<AtomicU32>,
    limit: usize,
}

impl ProcessTask {
    async fn run(mut self, stdin: ChildStdin, stdout: ChildStdout, lines: mpsc::Receiver<String>) {
        let stderr = self.running.child.stderr.take();
        let stderr_text = tokio::spawn(read_stderr(stderr));
        let writing = tokio::spawn(write(stdin, lines));
        let end = tokio::select! {
            end = self.read(stdout) => end,
            () = self.kill.notified() => Some(early_exit_of(&self.program, ", because an answer took too long")),
        };
        writing.abort();
        let failure = match end {
            Some(failure) => failure,
            None => self.exit_failure(stderr_text).await,
        };
        self.pending.is_over.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.pending.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for (_, answer) in waiting {
            let _ = answer.send(Err(failure.clone()));
        }
    }

    /// Delivers answers until the end of the output (`None`) or an invalid line.
    async fn read(&self, stdout: ChildStdout) -> Option<Failure> {
        let mut reader = BufReader::with_capacity(256 * 1024, stdout);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read =
                tokio::io::AsyncReadExt::take(&mut reader, self.limit as u64 + 1).read_until(b'\n', &mut line).await;
            if !matches!(read, Ok(1..)) {
                return None;
            }
            if line.len() > self.limit {
                let what = format!(
                    "program `{}`: a line has more than the {} bytes that an answer may have",
                    self.program.name(),
                    self.limit
                );
                return Some(Failure::new(CallErrorCode::TooLarge, what));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let Some(id) = answer_id(&line) else {
                let what = format!(
                    "program `{}`: it printed a line that is not JSON with an `id`; only answers may go to standard output: ",
                    self.program.name()
                );
                return Some(Failure { program_output: Some(line.into()), ..process_failure(what) });
            };
            if let Some(answer) = self.pending.take_waiter(id) {
                self.early_exits.store(0, Ordering::Release);
                let _ = answer.send(Ok(Bytes::copy_from_slice(line.trim_ascii())));
            }
        }
    }

    async fn exit_failure(&mut self, stderr_text: JoinHandle<Vec<u8>>) -> Failure {
        let status = tokio::time::timeout(END_TIMEOUT, self.running.child.wait()).await;
        match status {
            Ok(Ok(status)) if !status.success() => {
                let stderr = tokio::time::timeout(END_TIMEOUT, stderr_text).await;
                self.program.exit_failure(status, &stderr.ok().and_then(Result::ok).unwrap_or_default(), &[])
            }
            _ => early_exit_of(&self.program, ""),
        }
    }
}

/// Writes queued lines, many at once if many wait.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, WAITING).await > 0 {
        let text = batch.concat();
        batch.clear();
        // A program that no longer reads has exited or is about to; the reader notices.
        if stdin.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-15: a line that is not JSON still fails only its own request.
    #[test]
    fn a_broken_line_names_its_request() {
        for (line, found) in [
            (r#"{"id": 7, "output": NaN}"#, Some(7)),
            (r#"{"output": {"score": NaN, "id": 3}, "id": 7}"#, Some(7)),
            (r#"{"output": "say \"id\": 3, {", "id":7, "x": Infinity}"#, Some(7)),
            (r#"{"id": 7, "output": "cut"#, Some(7)),
            (r#"{"output": NaN}"#, None),
            ("Loading model, id: 7", None),
            (r#"["id", 7, NaN]"#, None),
            ("\"", None),
        ] {
            assert_eq!(answer_id(line.as_bytes()), found, "{line}");
        }
    }
}
