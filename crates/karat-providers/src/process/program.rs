//! Programs: started without a shell, in a process group of their own, with bounded output and a clean environment.
//!
//! A group is killed as a whole, so nothing that a program started outlives the call, the run or the process.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallErrorCode, host_function};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, Command};

use crate::answer::failure::Failure;
use crate::http::descriptors;
use crate::registry::settings::Settings;

/// Bytes of the beginning and of the end of a program's output that are kept for its error. A message shows less of both, so
/// that no secret is cut within what it shows.
const KEPT: (usize, usize) = (4 * 1024, 12 * 1024);

/// Variables that programs need to find other programs, the user's folders and the language.
const BASICS: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SystemRoot",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
];

/// The process groups that are running.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Kills every running program, for a process that is about to exit.
pub fn end_processes() {
    for group in std::mem::take(&mut *GROUPS.lock().unwrap_or_else(PoisonError::into_inner)) {
        kill(group, Signal::KILL);
    }
}

fn kill(group: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(group) {
        // The group may have ended already.
        let _ = kill_process_group(pid, signal);
    }
}

/// The environment of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Environment {
    /// The variables that every program needs, and these.
    Clean(Vec<(String, String)>),
    /// The environment of this process without these variables.
    Without(Vec<String>),
}

/// A program and the way to start it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    /// The program and its arguments.
    pub run: Vec<String>,
    pub environment: Environment,
    /// Its working directory; empty for that of this process.
    pub folder: String,
}

/// A running program. Dropping it kills it and everything it has started.
pub(crate) struct RunningProgram {
    pub child: Child,
    group: Option<i32>,
}

impl Program {
    /// Its name in messages.
    pub fn name(&self) -> &str {
        self.run.first().map_or("", String::as_str)
    }

    /// Starts it with these streams; standard error is piped.
    pub fn start(&self, settings: &Settings, stdin: Stdio, stdout: Stdio) -> Result<RunningProgram, Failure> {
        if host_function(&self.run).is_some() {
            let what = "is a host function, which answers line by line; write `protocol: jsonl`";
            return Err(process_failure(format!("program `{}`: it {what}", self.name())));
        }
        let mut command = Command::new(self.path(settings));
        command.args(self.run.get(1..).unwrap_or_default());
        match &self.environment {
            Environment::Clean(own) => {
                command.env_clear();
                // Those of a file of the folder would choose the programs and certificates of whoever gets keys.
                let basics = BASICS.iter().filter(|name| settings.file_of(name).is_none());
                command.envs(basics.filter_map(|name| Some((name, settings.lookup(name)?))));
                command.envs(own.iter().map(|(name, value)| (name, value)));
            }
            Environment::Without(names) => {
                for name in names {
                    command.env_remove(name);
                }
            }
        }
        if !self.folder.is_empty() {
            command.current_dir(&self.folder);
        }
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).kill_on_drop(true).process_group(0);
        let child = command.spawn().map_err(|error| self.start_failure(settings, &error))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group {
            descriptors::restore_limit(group);
            GROUPS.lock().unwrap_or_else(PoisonError::into_inner).insert(group);
        }
        Ok(RunningProgram { child, group })
    }

    /// Its path. `karat` is the running program itself; a relative path starts at its folder.
    fn path(&self, settings: &Settings) -> PathBuf {
        let name = self.name();
        match &settings.own_program {
            Some(own) if name == "karat" => own.clone(),
            _ if name.contains('/') && !name.starts_with('/') && !self.folder.is_empty() => {
                let path = PathBuf::from(&self.folder).join(name);
                path.canonicalize().unwrap_or(path)
            }
            _ => PathBuf::from(name),
        }
    }

    /// Returns whether its file exists.
    fn exists(&self, settings: &Settings) -> bool {
        let path = self.path(settings);
        let folders = settings.lookup("PATH").filter(|_| !self.name().contains('/')).unwrap_or_default();
        path.is_file() || std::env::split_paths(&folders).any(|folder| folder.join(&path).is_file())
    }

    fn start_failure(&self, settings: &Settings, error: &std::io::Error) -> Failure {
        if descriptors::is_out_of_descriptors(error) {
            return Failure::without_descriptor(format_args!("program `{}`: it cannot be started", self.name()));
        }
        let what = match error.kind() {
            std::io::ErrorKind::NotFound if self.exists(settings) => {
                "exists, but the interpreter in its first line (`#!…`) does not".to_owned()
            }
            std::io::ErrorKind::NotFound => "is not installed, or not on PATH".to_owned(),
            std::io::ErrorKind::PermissionDenied => "is not executable".to_owned(),
            std::io::ErrorKind::InvalidInput => {
                "cannot be given an argument or variable with a NUL in it; pass the text by `stdin`".to_owned()
            }
            _ => format!("cannot be started ({error})"),
        };
        process_failure(format!("program `{}`: it {what}", self.name()))
    }

    /// Runs it to its end. Returns its output, also on failure, and its standard error on success.
    pub async fn run(&self, settings: &Settings, input: Bytes, timeout: Duration) -> (Bytes, Result<Vec<u8>, Failure>) {
        let mut running = match self.start(settings, Stdio::piped(), Stdio::piped()) {
            Ok(running) => running,
            Err(failure) => return (Bytes::new(), Err(failure)),
        };
        let mut printed = Vec::new();
        let ended = tokio::time::timeout(timeout, self.wait_for_end(&mut running, input, &mut printed, settings)).await;
        let end = ended.unwrap_or_else(|_| {
            let what = format!("program `{}`: it did not end within {timeout:?} and was stopped", self.name());
            Err(Failure { retry: false, ..Failure::new(CallErrorCode::Timeout, what) })
        });
        (printed.into(), end)
    }

    async fn wait_for_end(
        &self,
        running: &mut RunningProgram,
        input: Bytes,
        printed: &mut Vec<u8>,
        settings: &Settings,
    ) -> Result<Vec<u8>, Failure> {
        let (stdin, stdout, stderr) =
            (running.child.stdin.take(), running.child.stdout.take(), running.child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program need not read all of its input; its exit status tells whether it failed.
                let _ = stdin.write_all(&input).await;
            }
        };
        let limit = settings.max_response;
        let (read, complaint, ()) = tokio::join!(read_up_to(stdout, limit, printed), read_stderr(stderr), write);
        if !read {
            return Err(Failure::new(
                CallErrorCode::TooLarge,
                format!("program `{}`: it printed more than the {limit} bytes that an answer may have", self.name()),
            ));
        }
        let status = running.child.wait().await.map_err(|error| process_failure(error.to_string()))?;
        if status.success() { Ok(complaint) } else { Err(self.exit_failure(status, &complaint, printed)) }
    }

    /// The failure of a program with a nonzero exit status. Its standard output is quoted if it wrote nothing to
    /// standard error.
    pub fn exit_failure(&self, status: ExitStatus, complaint: &[u8], printed: &[u8]) -> Failure {
        let how = match status.code() {
            Some(code) => format!("exit status {code}"),
            None => format!("{status}"),
        };
        Failure { exit: status.code(), ..self.failure_with_output(&format!("ended with {how}"), complaint, printed) }
    }

    /// The failure of a program that exited with 0 and printed nothing.
    pub fn empty_output_failure(&self, complaint: &[u8]) -> Failure {
        Failure {
            exit: Some(0),
            ..self.failure_with_output("ended with exit status 0, printed nothing", complaint, &[])
        }
    }

    fn failure_with_output(&self, how: &str, complaint: &[u8], printed: &[u8]) -> Failure {
        let said = [("said ", complaint), ("printed ", printed)];
        let said = said.into_iter().find(|(_, said)| !said.trim_ascii().is_empty());
        let word = said.map_or("said nothing", |(word, _)| word);
        let what = format!("program `{}`: it {how} and {word}", self.name());
        let kept = said.map(|(_, said)| {
            let mut kept = OutputEnds::default();
            kept.add(said);
            kept.into_bytes().into()
        });
        Failure { program_output: kept, ..process_failure(what) }
    }
}

impl RunningProgram {
    /// Asks the group to end, and kills it after this time.
    pub async fn stop(mut self, patience: Duration) {
        if let Some(group) = self.group {
            kill(group, Signal::TERM);
        }
        let _ = tokio::time::timeout(patience, self.child.wait()).await;
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            GROUPS.lock().unwrap_or_else(PoisonError::into_inner).remove(&group);
            kill(group, Signal::KILL);
        }
    }
}

/// A failure of a program that a retry would not help.
pub(crate) fn process_failure(what: String) -> Failure {
    Failure::new(CallErrorCode::Process, what)
}

/// Reads everything, or returns `false` if it is more than `limit` bytes.
async fn read_up_to(stream: Option<impl AsyncRead + Unpin>, limit: usize, bytes: &mut Vec<u8>) -> bool {
    let Some(stream) = stream else { return true };
    // A read error counts as end of output: the program's exit status tells the problem.
    let _ = stream.take(limit as u64 + 1).read_to_end(bytes).await;
    let fits = bytes.len() <= limit;
    bytes.truncate(limit);
    fits
}

/// The beginning and the end of a program's output.
#[derive(Default)]
struct OutputEnds {
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

impl OutputEnds {
    fn add(&mut self, piece: &[u8]) {
        let (most_head, most_tail) = KEPT;
        let (first, rest) = piece.split_at(piece.len().min(most_head.saturating_sub(self.head.len())));
        self.head.extend_from_slice(first);
        self.tail.extend(&rest[rest.len().saturating_sub(most_tail)..]);
        self.tail.drain(..self.tail.len().saturating_sub(most_tail));
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.head.extend(self.tail);
        self.head
    }
}

/// Reads standard error to its end, so that the program is not blocked, and returns its beginning and its end.
pub(crate) async fn read_stderr(stderr: Option<ChildStderr>) -> Vec<u8> {
    let Some(mut stderr) = stderr else { return Vec::new() };
    let (mut kept, mut piece) = (OutputEnds::default(), vec![0; 4 * 1024]);
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        kept.add(&piece[..read]);
    }
    kept.into_bytes()
}
