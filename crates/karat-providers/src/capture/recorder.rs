//! Writes recordings.
//!
//! A new recording is written to `FILE.RUN.part` beside the requested file. If that file does not exist, the recording
//! takes its place when the run starts, so that a crash leaves the recorded calls. An older recording is replaced only
//! when the run has finished and a call was answered; until then both exist.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::attempt::exchange::Exchange;
use crate::capture::replay::{
    RecordedCall, RecordingError, RecordingHeader, RecordingKey, RecordingPlayer, SCHEMA, ServiceAt, text_or_hex,
};

/// Maximum length of a recording's first line, in bytes.
const LONGEST_HEADER: u64 = 4096;

/// Writes calls into a recording as they end.
#[derive(Debug)]
pub struct Recorder {
    /// The requested file.
    path: PathBuf,
    state: Mutex<RecordingFile>,
}

#[derive(Debug)]
struct RecordingFile {
    file: Result<File, String>,
    /// Its present path.
    at: PathBuf,
    has_begun: bool,
    /// True if any call in it was answered.
    is_answered: bool,
    /// The run, if it made calls before it was recorded.
    incomplete_run: Option<String>,
}

impl Recorder {
    /// Prepares the recording of a run. Nothing is replaced yet, and nothing is left behind unless the run
    /// [begins](Self::begin).
    ///
    /// # Errors
    /// The file cannot be created, or an existing file is not a recording.
    pub fn create(path: &Path, run: &str) -> Result<Self, RecordingError> {
        // Writes through a link instead of replacing it.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        holds_recording(&path)?;
        let is_special = fs::metadata(&path).is_ok_and(|facts| !facts.is_file());
        let at = if is_special { path.clone() } else { part_path(&path, run) };
        let shown = at.display().to_string();
        let failed = |error| RecordingError::File { path: shown.clone(), error };
        let file =
            File::options().write(true).create_new(!is_special).open(&at).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => RecordingError::Unfinished { path: shown.clone(), run: run.to_owned() },
                _ => failed(error),
            })?;
        let state =
            RecordingFile { file: Ok(file), at, has_begun: is_special, is_answered: false, incomplete_run: None };
        let recorder = Self { path, state: Mutex::new(state) };
        recorder.line(&RecordingHeader { schema: SCHEMA.into(), run: Some(run.into()) }, false);
        let problem = recorder.state().file.as_ref().err().cloned();
        problem.map_or(Ok(recorder), |problem| Err(failed(io::Error::other(problem))))
    }

    /// Continues the recording of a resumed run. A line that was cut off is removed.
    ///
    /// # Errors
    /// It is missing, belongs to another run, cannot be written, or is not a recording.
    pub fn resume(path: &Path, run: &str) -> Result<Self, RecordingError> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let moved =
            |problem: String| RecordingError::Moved { path: path.display().to_string(), problem, run: run.to_owned() };
        let at = match part_path(&path, run) {
            part if part.exists() => part,
            _ if path.exists() => path.clone(),
            _ => return Err(moved("is gone".to_owned())),
        };
        let player = RecordingPlayer::open(&at)?;
        if let Some(other) = player.run.as_ref().filter(|other| *other != run) {
            return Err(moved(format!("is now the recording of run {other}")));
        }
        let failed = |error| RecordingError::File { path: at.display().to_string(), error };
        let mut file = File::options().write(true).open(&at).map_err(failed)?;
        file.set_len(player.end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        let is_answered = player.has_calls();
        let state =
            RecordingFile { file: Ok(file), at: at.clone(), has_begun: true, is_answered, incomplete_run: None };
        Ok(Self { path, state: Mutex::new(state) })
    }

    /// Records a resumed run in the requested file: continues its recording if there is one, else creates one that
    /// [lacks](Self::missing_calls_notice) the earlier calls.
    ///
    /// # Errors
    /// The errors of [`Recorder::resume`] and [`Recorder::create`].
    pub fn resume_or_create(path: &Path, run: &str) -> Result<Self, RecordingError> {
        if path.exists() || part_path(path, run).exists() {
            return Self::resume(path, run);
        }
        let recorder = Self::create(path, run)?;
        recorder.state().incomplete_run = Some(run.to_owned());
        Ok(recorder)
    }

    /// Marks the start of the run. If no older recording would be lost, this one takes the requested path.
    pub fn begin(&self) {
        let mut state = self.state();
        state.has_begun = true;
        if matches!(holds_recording(&self.path), Ok(false)) {
            state.move_into_place(&self.path);
        }
    }

    /// Marks the end of the run. An older recording is replaced if a call of this one was answered.
    pub fn finish(&self) {
        let mut state = self.state();
        if !state.is_answered || state.file.is_err() {
            return;
        }
        match holds_recording(&self.path) {
            Ok(_) => state.move_into_place(&self.path),
            Err(error) => state.file = Err(error.to_string()),
        }
    }

    /// A notice of the recording's path, if that is not the requested file.
    pub fn location_notice(&self) -> Option<String> {
        let state = self.state();
        let (at, path) = (state.at.display(), self.path.display());
        let until = if state.is_answered { "until the run is finished" } else { "because no call was answered" };
        (state.at != self.path)
            .then(|| format!("this run's recording is {at}; the earlier one, {path}, remains {until}"))
    }

    /// A notice of the calls that are missing, if the run started without the recording.
    pub fn missing_calls_notice(&self) -> Option<String> {
        let state = self.state();
        let (at, run) = (state.at.display(), state.incomplete_run.as_ref()?);
        Some(format!(
            "the recording {at} has only the calls of run {run} from now on, so a replay lacks the earlier ones. Give `--record` again \
             when you resume the run; a new run with `--record` has all of its calls"
        ))
    }

    /// The reason why the recording is incomplete, if it is.
    pub fn failure(&self) -> Option<String> {
        let state = self.state();
        let error = state.file.as_ref().err()?;
        Some(format!("recording {}: {error}. The run itself is kept", state.at.display()))
    }

    /// Writes one call, unless it was never made (no attempt).
    pub(crate) fn write(&self, recording_key: &RecordingKey<'_>, exchange: &Exchange) {
        if exchange.attempts == 0 {
            return;
        }
        let (request, request_hex) = text_or_hex(&exchange.request);
        let (response, response_hex) = text_or_hex(&exchange.response);
        let entry = RecordedCall {
            key: recording_key.key,
            call: recording_key.call,
            model: recording_key.who.to_owned(),
            request,
            request_hex,
            response,
            response_hex,
            status: exchange.status,
            attempts: exchange.attempts,
            latency_ms: exchange.latency_ms,
            wasted: Some(exchange.failed_attempts.usage()).filter(|usage| usage.total() > 0),
            stated_cost: exchange.outcome.as_ref().ok().and_then(|reply| reply.billing.reported),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        self.line(&entry, exchange.outcome.is_ok());
    }

    /// Writes the address of a service.
    pub(crate) fn service(&self, id: &str, url: &str) {
        self.line(&ServiceAt { service: id.into(), url: url.into() }, false);
    }

    fn line(&self, content: &impl Serialize, is_answer: bool) {
        let line = serde_json::to_string(content).map(|line| line + "\n");
        let mut state = self.state();
        state.is_answered |= is_answer;
        if let Ok(open) = &mut state.file {
            let written = line.map_err(io::Error::from).and_then(|line| open.write_all(line.as_bytes()));
            if let Err(error) = written {
                state.file = Err(error.to_string());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, RecordingFile> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordingFile {
    /// Moves the file to the requested path. The open handle stays valid.
    fn move_into_place(&mut self, path: &Path) {
        if self.at == path {
            return;
        }
        match fs::rename(&self.at, path) {
            Ok(()) => self.at = path.to_owned(),
            Err(error) => self.file = Err(error.to_string()),
        }
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        if !self.has_begun {
            // It contains only its header.
            let _ = fs::remove_file(&self.at);
        }
    }
}

/// The path of a run's recording until it may take the requested one.
fn part_path(path: &Path, run: &str) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(format!(".{run}.part"));
    path.with_file_name(name)
}

/// Returns whether a path holds a recording. An empty file does not, and may be replaced.
///
/// # Errors
/// The file cannot be read, or is not a recording.
fn holds_recording(path: &Path) -> Result<bool, RecordingError> {
    let shown = || path.display().to_string();
    let failed = |error| RecordingError::File { path: shown(), error };
    let facts = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        facts => facts.map_err(failed)?,
    };
    if !facts.is_file() || facts.len() == 0 {
        return Ok(false);
    }
    let mut line = Vec::new();
    let mut start = BufReader::new(File::open(path).map_err(failed)?.take(LONGEST_HEADER));
    start.read_until(b'\n', &mut line).map_err(failed)?;
    match RecordingHeader::read(&line) {
        Ok(_) => Ok(true),
        Err(problem) => Err(RecordingError::Occupied { path: shown(), problem }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "{\"schema\":\"karat.recording/1\"}\n{\"service\":\"s\",\"url\":\"http://old\"}\n";

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// CL-25: a run that does not start leaves everything as it was; an unfinished one leaves both recordings.
    #[test]
    fn an_older_recording_stays_until_a_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        drop(Recorder::create(&path, "r0").unwrap());
        assert!(names(folder.path()).is_empty());

        fs::write(&path, OLD).unwrap();
        drop(Recorder::create(&path, "r0").unwrap());
        assert_eq!(names(folder.path()), ["calls.jsonl"]);

        let recorder = Recorder::create(&path, "r1").unwrap();
        recorder.begin();
        recorder.service("s", "http://new");
        recorder.finish();
        assert!(recorder.location_notice().unwrap().contains("because no call was answered"));
        drop(recorder);
        assert_eq!((fs::read_to_string(&path).unwrap(), names(folder.path()).len()), (OLD.to_owned(), 2));

        let recorder = Recorder::resume(&path, "r1").unwrap();
        recorder.begin();
        recorder.line(&"an answer", true);
        recorder.finish();
        assert_eq!((recorder.location_notice(), recorder.failure()), (None, None));
        assert_eq!(names(folder.path()), ["calls.jsonl"]);
        assert!(fs::read_to_string(&path).unwrap().ends_with("http://new\"}\n\"an answer\"\n"));
    }

    /// CL-25: a file that is not a recording is not replaced, and the recording of another run is not continued.
    #[test]
    fn files_that_are_not_recordings_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.jsonl");
        for content in ["{\"id\": \"s1\"}\n", "name: suite\n", "{\"schema\":\"karat.recording/2\"}\n"] {
            fs::write(&path, content).unwrap();
            assert!(matches!(Recorder::create(&path, "r1"), Err(RecordingError::Occupied { .. })), "{content}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        fs::write(&path, "").unwrap();
        Recorder::create(&path, "r1").unwrap().begin();
        let error = Recorder::resume(&path, "r2").unwrap_err().to_string();
        assert!(error.contains("is now the recording of run r1"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(Recorder::resume(&path, "r1").unwrap_err().to_string().contains("is gone"));
    }

    /// CL-25: the recording of an unfinished run of the same id is named, and not overwritten; resuming that run
    /// continues it.
    #[test]
    fn an_unfinished_recording_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        fs::write(&path, OLD).unwrap();
        Recorder::create(&path, "r1").unwrap().begin();
        let error = Recorder::create(&path, "r1").unwrap_err().to_string();
        assert!(
            error.contains("calls.jsonl.r1.part belongs to the unfinished run r1")
                && error.contains("`karat resume r1"),
            "{error}"
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(Recorder::resume_or_create(&path, "r1").unwrap().missing_calls_notice(), None);
        assert!(
            Recorder::resume_or_create(&path, "r2")
                .unwrap()
                .missing_calls_notice()
                .unwrap()
                .contains("only the calls of run r2 from now on")
        );
    }
}
