//! A log in either form.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use karat_types::json::NanAsNull;
use serde_json::{Map, Value};

use super::archive::Archive;
use super::is_blank;
use super::lean::{Lean, SampleProblem, for_each_sample, read_object};
use crate::error::ImportError;
use crate::source::{Source, invalid_json};

/// Parts of a log that are read sample by sample, or not at all.
const BESIDE_HEADER: Lean = Lean(&["samples", "reductions"]);

/// Parts of a sample that are not carried over, and of which only their presence is told.
const SAMPLE: Lean = Lean(&["events", "events_data", "store", "timelines"]);

/// The versions of logs that are read.
const VERSIONS: [u64; 2] = [2, 3];

/// A log: its header, and where its samples are.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    header: Header,
    body: SampleSource,
}

#[derive(Debug)]
enum SampleSource {
    /// Members of an archive, one a sample.
    Archive(Archive),
    /// The list `samples` of the log's own file.
    Json,
}

/// An entry of a log's samples.
pub(super) struct Entry {
    /// The entry's file and address, for messages.
    pub place: String,
    pub members: Map<String, Value>,
}

impl Log {
    /// Opens a log; `None` if the file is none.
    pub fn open(source: &Source, path: &Path) -> Result<Option<Self>, ImportError> {
        let (header, body) = match Archive::open(path, source.reader(path)?)? {
            Some(mut archive) => {
                let Some(header) = archive_header(&mut archive)? else { return Ok(None) };
                (header, SampleSource::Archive(archive))
            }
            None => {
                let mut reader = source.reader(path)?;
                let start = reader.fill_buf().map_err(|error| ImportError::reading(path, &error))?;
                if !start.trim_ascii_start().starts_with(b"{") {
                    return Ok(None);
                }
                let header = read_object(reader, BESIDE_HEADER).map_err(|error| invalid_json(path, &error))?;
                (Header { members: header, is_finished: true }, SampleSource::Json)
            }
        };
        if header.part("version").is_null() || !header.part("eval").is_object() {
            return Ok(None);
        }
        if !header.part("version").as_u64().is_some_and(|version| VERSIONS.contains(&version)) {
            let found = header.part("version");
            let problem = format!("is a log of version {found}; versions 2 and 3 are read");
            return Err(ImportError::new(path.display(), problem).with_hint(
                "rewrite it with a current Inspect: `inspect log convert --to eval --output-dir DIR FILE`",
            ));
        }
        Ok(Some(Self { path: path.to_owned(), header, body }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Gives each sample to `handle`, in the dataset's order where the log has one.
    pub fn for_each_sample(
        &mut self,
        source: &Source,
        mut handle: impl FnMut(Entry) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let file = self.path.display().to_string();
        match &mut self.body {
            SampleSource::Archive(archive) => {
                for name in sample_members(archive, &self.header) {
                    let members = archive.read(&name, |reader| read_object(reader, SAMPLE))?;
                    let place = format!("{file}, member `{name}`");
                    members.map_or(Ok(()), |members| handle(Entry { place, members }))?;
                }
                Ok(())
            }
            SampleSource::Json => {
                let mut index = 0;
                let reader = NanAsNull::new(source.reader(&self.path)?);
                let result = for_each_sample(reader, SAMPLE, &mut |members| {
                    let place = format!("{file}, samples[{index}]");
                    index += 1;
                    handle(Entry { place, members })
                });
                result.map_err(|problem| match problem {
                    SampleProblem::Invalid(error) => invalid_json(&self.path, &error),
                    SampleProblem::Refused(error) => error,
                })
            }
        }
    }
}

/// The header of an archive; that of its beginning if the log was never finished.
fn archive_header(archive: &mut Archive) -> Result<Option<Header>, ImportError> {
    for (name, is_finished) in [("header.json", true), ("_journal/start.json", false)] {
        if let Some(members) = archive.read(name, |reader| read_object(reader, BESIDE_HEADER))? {
            return Ok(Some(Header { members, is_finished }));
        }
    }
    Ok(None)
}

/// Names of the members with samples: epoch by epoch, in the order of the dataset.
fn sample_members(archive: &Archive, header: &Header) -> Vec<String> {
    let ids = header.sample_ids();
    let places: HashMap<&str, usize> = ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
    let key = |name: &str| {
        // The id may hold `/` and `_epoch_`.
        let stem = name.strip_prefix("samples/")?.strip_suffix(".json")?;
        let (id, epoch) = stem.rsplit_once("_epoch_")?;
        let place = places.get(id).copied().unwrap_or(ids.len());
        Some((epoch.parse::<u64>().ok()?, place))
    };
    let mut names: Vec<_> = archive.names().into_iter().filter_map(|name| Some((key(&name)?, name))).collect();
    names.sort_by_key(|(key, _)| *key);
    names.into_iter().map(|(_, name)| name).collect()
}

/// The log without its samples.
#[derive(Debug, Clone)]
pub(super) struct Header {
    members: Map<String, Value>,
    is_finished: bool,
}

/// Parts of a header that identify a log, or that are read: not listed as lost.
const READ: [&str; 8] = ["version", "status", "eval", "plan", "results", "stats", "samples", "reductions"];

/// The same of its `eval`. Ids, times and display names say nothing of an output.
const READ_EVAL: [&str; 23] = [
    "eval_set_id",
    "eval_id",
    "run_id",
    "created",
    "task",
    "task_id",
    "task_version",
    "task_file",
    "task_display_name",
    "task_description",
    "task_registry_name",
    "task_attribs",
    "task_args",
    "solver",
    "solver_args",
    "dataset",
    "model",
    "config",
    "revision",
    "packages",
    "scorers",
    "metrics",
    "headline_metric",
];

impl Header {
    fn part(&self, name: &str) -> &Value {
        self.members.get(name).unwrap_or(&Value::Null)
    }

    /// A part of `eval`.
    pub fn eval(&self, name: &str) -> &Value {
        self.part("eval").get(name).unwrap_or(&Value::Null)
    }

    pub fn task(&self) -> &str {
        self.eval("task").as_str().unwrap_or("inspect")
    }

    /// Name of the log's variant: model, and solver where the log names one.
    pub fn variant(&self) -> String {
        let model = self.eval("model").as_str().unwrap_or("model");
        match self.eval("solver").as_str() {
            // Inspect and Karat name the model of a system that asks none in this way.
            Some(solver) if model.starts_with("none/") => base_name(solver).to_owned(),
            Some(solver) => format!("{model}.{}", base_name(solver)),
            None => model.to_owned(),
        }
    }

    pub fn inspect_version(&self) -> Option<String> {
        self.eval("packages").get("inspect_ai")?.as_str().map(str::to_owned)
    }

    /// The number of epochs.
    pub fn epochs(&self) -> u64 {
        self.eval("config").get("epochs").and_then(Value::as_u64).unwrap_or(1)
    }

    /// Names of the functions that make one score of several epochs; none is the mean.
    pub fn reducers(&self) -> Vec<&str> {
        let reducers = self.eval("config").get("epochs_reducer").and_then(Value::as_array);
        reducers.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Scores of the log: name, scorer, metrics.
    pub fn scores(&self) -> &[Value] {
        self.part("results").get("scores").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Names of the solvers, in their order.
    pub fn solvers(&self) -> Vec<&str> {
        let steps = self.part("plan").get("steps").and_then(Value::as_array);
        steps.into_iter().flatten().filter_map(|step| step.get("solver")?.as_str()).collect()
    }

    /// Ids of the dataset's samples as text, in its order.
    fn sample_ids(&self) -> Vec<String> {
        let ids = self.eval("dataset").get("sample_ids").and_then(Value::as_array);
        ids.into_iter().flatten().map(id_text).collect()
    }

    /// A remark on a log that ended before its time.
    pub fn incomplete(&self, outputs: u64) -> Option<String> {
        let expected = self.sample_ids().len() as u64 * self.epochs();
        let of = if expected > 0 { format!("{outputs} of {expected}") } else { outputs.to_string() };
        match self.part("status").as_str() {
            _ if !self.is_finished => {
                Some(format!("the log is unfinished: it holds {of} outputs, and no figures of its own"))
            }
            Some("success") | None => None,
            Some(status) => Some(format!("the log ended with status `{status}`: it holds {of} outputs")),
        }
    }

    /// Paths and names of the parts that a recorded suite has no use for.
    pub fn not_carried(&self) -> Vec<(String, String)> {
        let eval = self.part("eval").as_object();
        let top = self.members.iter().filter(|(key, _)| !READ.contains(&key.as_str()));
        let is_repeated = |key: &str, value: &Value| self.part(key) == value;
        // A log that Karat wrote names the run that it is of.
        let is_own = |key: &str, value: &Value| {
            let names = || value.as_object().is_some_and(|it| it.keys().all(|name| name.starts_with("karat_")));
            key == "metadata" && names()
        };
        let is_lost =
            |key: &str, value: &Value| !READ_EVAL.contains(&key) && !is_repeated(key, value) && !is_own(key, value);
        let eval = eval.into_iter().flatten().filter(|(key, value)| is_lost(key, value));
        let top = top.map(|(key, value)| (key.clone(), key, value));
        let all = top.chain(eval.map(|(key, value)| (format!("eval.{key}"), key, value)));
        all.filter(|(_, _, value)| !is_blank(value)).map(|(path, key, _)| (path, key.clone())).collect()
    }
}

/// A name without its package.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// An id as text.
pub(super) fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
