//! Writing a recording (CL-25).
//!
//! A new recording is written into a file beside the one that was asked for, `FILE.RUN.part`. It becomes that file when its
//! run has begun, where there is none, so that a crash leaves what was recorded. An older recording of that name is replaced
//! only when the run is finished and something was answered; until then both are there.

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

/// Bytes within which the first line of a recording ends.
const LONGEST_HEADER: u64 = 4096;

/// Writes calls as they end.
#[derive(Debug)]
pub struct Recorder {
    /// The file that was asked for.
    path: PathBuf,
    state: Mutex<RecordingFile>,
}

#[derive(Debug)]
struct RecordingFile {
    file: Result<File, String>,
    /// Where it is now.
    at: PathBuf,
    has_begun: bool,
    /// Whether any call in it was answered.
    is_answered: bool,
    /// The run that made calls before it was recorded, where it did.
    incomplete_run: Option<String>,
}

impl Recorder {
    /// Makes a recording of a run ready. Nothing is replaced yet, and nothing is left behind unless the run [begins](Self::begin).
    ///
    /// # Errors
    /// The file cannot be made, or one of that name is no recording.
    pub fn create(path: &Path, run: &str) -> Result<Self, RecordingError> {
        // Through a link, not instead of it.
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

    /// Goes on with the recording of a run. A line that was cut off is taken back.
    ///
    /// # Errors
    /// It is not there, is that of another run, cannot be written, or is no recording.
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

    /// Records a run from now on in the file that the user says: goes on with its recording where it is there, else makes
    /// one that [lacks](Self::lacks) the calls that were made before.
    ///
    /// # Errors
    /// Those of [`Recorder::resume`] and [`Recorder::create`].
    pub fn resume_or_create(path: &Path, run: &str) -> Result<Self, RecordingError> {
        if path.exists() || part_path(path, run).exists() {
            return Self::resume(path, run);
        }
        let recorder = Self::create(path, run)?;
        recorder.state().incomplete_run = Some(run.to_owned());
        Ok(recorder)
    }

    /// The run has begun: where no recording would be lost, this one is now the file that was asked for.
    pub fn begin(&self) {
        let mut state = self.state();
        state.has_begun = true;
        if matches!(holds_recording(&self.path), Ok(false)) {
            state.move_into_place(&self.path);
        }
    }

    /// The run is finished: an older recording is replaced, if any call of this one was answered.
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

    /// Where the recording is and why, where it is not the file that was asked for.
    pub fn location_notice(&self) -> Option<String> {
        let state = self.state();
        let (at, path) = (state.at.display(), self.path.display());
        let until = if state.is_answered { "until the run is finished" } else { "because no call was answered" };
        (state.at != self.path).then(|| format!("this run's recording is {at}; the earlier one, {path}, stays {until}"))
    }

    /// What the recording does not have, where its run was begun without it.
    pub fn missing_calls_notice(&self) -> Option<String> {
        let state = self.state();
        let (at, run) = (state.at.display(), state.incomplete_run.as_ref()?);
        Some(format!(
            "the recording {at} has the calls of run {run} from now on only, so a replay lacks those that were made before. Give \
             `--record` again when the run is gone on with; a new run with `--record` has all of its calls"
        ))
    }

    /// Why the recording is not whole, where it is not.
    pub fn failure(&self) -> Option<String> {
        let state = self.state();
        let error = state.file.as_ref().err()?;
        Some(format!("recording {}: {error}. The run itself is kept", state.at.display()))
    }

    /// Writes one call. A call that was never made (no attempt) is not written.
    pub(crate) fn write(&self, asked: &RecordingKey<'_>, exchange: &Exchange) {
        if exchange.attempts == 0 {
            return;
        }
        let (request, request_hex) = text_or_hex(&exchange.request);
        let (response, response_hex) = text_or_hex(&exchange.response);
        let entry = RecordedCall {
            key: asked.key,
            call: asked.call,
            model: asked.who.to_owned(),
            request,
            request_hex,
            response,
            response_hex,
            status: exchange.status,
            attempts: exchange.attempts,
            latency_ms: exchange.latency_ms,
            wasted: Some(exchange.failed_attempts.usage).filter(|usage| usage.total() > 0),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        self.line(&entry, exchange.outcome.is_ok());
    }

    /// Writes where a service is.
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
    /// Makes it the file that was asked for. What is open stays open.
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
            // Nothing is in it but its header.
            let _ = fs::remove_file(&self.at);
        }
    }
}

/// Where a run writes its recording until it may take its place.
fn part_path(path: &Path, run: &str) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(format!(".{run}.part"));
    path.with_file_name(name)
}

/// Whether a recording is there. A file without content is none, and may be replaced.
///
/// # Errors
/// The file cannot be read, or is something else.
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

    /// CL-25: a run that does not begin leaves everything as it was; one that is not finished, both recordings.
    #[test]
    fn an_older_recording_stays_until_there_is_another() {
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

    /// CL-25: what is no recording is not replaced, and the recording of another run is not gone on with.
    #[test]
    fn other_files_are_refused() {
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

    /// CL-25: what an unfinished run of the same name has left is named, and not overwritten; one that is gone on with takes
    /// it up.
    #[test]
    fn an_unfinished_recording_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        fs::write(&path, OLD).unwrap();
        Recorder::create(&path, "r1").unwrap().begin();
        let error = Recorder::create(&path, "r1").unwrap_err().to_string();
        assert!(
            error.contains("calls.jsonl.r1.part is left of a run r1") && error.contains("`karat resume r1"),
            "{error}"
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(Recorder::resume_or_create(&path, "r1").unwrap().missing_calls_notice(), None);
        assert!(
            Recorder::resume_or_create(&path, "r2")
                .unwrap()
                .missing_calls_notice()
                .unwrap()
                .contains("the calls of run r2 from now on only")
        );
    }
}
