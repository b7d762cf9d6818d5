//! The folder of traces: `NAME/YYYY-MM-DD.jsonl`, a row a line, by the day (UTC) on which its call began.
//!
//! - here: the names of datasets, what there is, and what is removed
//! - `read.rs`: rows of a day and of a trace, for people to read
//! - `writer.rs` adds rows, on a thread that many requests share; `day.rs` is one file while rows are added to it
//!
//! A row that is sent again is added again: readers take the last row of an id. Lines are only ever added, so a row that
//! was acknowledged stands until its file is removed.

mod day;
mod read;
mod writer;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::Serialize;
use serde_json::Value;

pub use read::{DayRows, FoundTrace, SentTrace, WantedRows};
pub use writer::{AddedRows, ShareRule, TraceWriter, WriteError};

/// Characters of the longest name of a dataset.
const MAX_NAME: usize = 64;

/// The end of the name of each file.
const EXTENSION: &str = ".jsonl";

/// The folder of traces.
#[derive(Debug, Clone)]
pub struct TraceFolder {
    path: PathBuf,
}

/// One dataset of traces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceDataset {
    /// Its name: a suite reads it as `source: "traces:NAME"`.
    pub name: String,
    /// Rows, each id once.
    pub rows: u64,
    /// Days with rows.
    pub days: usize,
    /// The first of them.
    pub first: String,
    /// The last of them.
    pub last: String,
    /// Size of its files.
    pub bytes: u64,
}

/// The rows that are to be removed.
#[derive(Debug, Clone, Default)]
pub struct RemovedRows {
    /// Of this dataset only.
    pub dataset: Option<String>,
    /// Of days before this one.
    pub before: Option<Date>,
    /// Rows with these values, by dotted name, such as `metadata.user`.
    pub matching: Vec<(String, String)>,
}

impl TraceFolder {
    /// The folder at a path; it may not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The datasets, by name.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn datasets(&self) -> io::Result<Vec<TraceDataset>> {
        let mut datasets = Vec::new();
        for name in self.names()? {
            let days = self.days(&name)?;
            let (Some((first, _)), Some((last, _))) = (days.first(), days.last()) else { continue };
            let mut dataset = TraceDataset {
                rows: 0,
                days: days.len(),
                first: first.to_string(),
                last: last.to_string(),
                bytes: 0,
                name,
            };
            for (_, file) in &days {
                let mut ids = HashSet::new();
                for line in whole_lines(file)? {
                    ids.insert(day::id_hash(&line?));
                }
                dataset.rows += ids.len() as u64;
                dataset.bytes += fs::metadata(file)?.len();
            }
            datasets.push(dataset);
        }
        Ok(datasets)
    }

    /// The names of the datasets, in order.
    ///
    /// # Errors
    /// The folder cannot be read. That there is none is not an error.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = entries(&self.path)?;
        names.retain(|name| is_name(name) && self.path.join(name).is_dir());
        names.sort();
        Ok(names)
    }

    /// The days of a dataset and their files, in order.
    ///
    /// # Errors
    /// The folder cannot be read. That there is none is not an error.
    pub fn days(&self, name: &str) -> io::Result<Vec<(Date, PathBuf)>> {
        let folder = self.path.join(name);
        let names = entries(&folder)?;
        let mut days: Vec<_> = names.iter().filter_map(|file| Some((day_of_file(file)?, folder.join(file)))).collect();
        days.sort();
        Ok(days)
    }

    /// Removes rows. Returns how many lines were removed.
    ///
    /// # Errors
    /// A file cannot be read, written or removed. Files before it are done by then.
    pub fn remove(&self, wanted: &RemovedRows) -> io::Result<u64> {
        let mut removed = 0;
        for name in self.names()? {
            if wanted.dataset.as_ref().is_some_and(|dataset| *dataset != name) {
                continue;
            }
            let _lock = writer::lock(&self.path.join(&name))?;
            for (day, file) in self.days(&name)? {
                if wanted.before.is_some_and(|before| day >= before) {
                    continue;
                }
                removed += remove_lines(&file, &wanted.matching)?;
            }
            if self.days(&name)?.is_empty() {
                fs::remove_dir_all(self.path.join(&name))?;
            }
        }
        Ok(removed)
    }
}

/// Returns whether a text can be the name of a dataset: letters, digits, `.`, `_` and `-`, at most 64 of them, not
/// beginning with a dot.
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.len() <= MAX_NAME && !text.starts_with('.') && text.bytes().all(is_allowed)
}

/// The name of a dataset for a text that another program chose: each other character becomes `-`.
pub fn name_of_service(service: &str) -> String {
    let allowed = service.chars().take(MAX_NAME);
    let name: String = allowed.map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "default".to_owned() } else { name.to_owned() }
}

/// The day of a file, by its name.
pub fn day_of_file(name: &str) -> Option<Date> {
    let day = name.strip_suffix(EXTENSION)?;
    day.parse::<Date>().ok().filter(|date| date.to_string() == day)
}

/// The lines of a file that end; one that is still being written is left out.
fn whole_lines(file: &Path) -> io::Result<impl Iterator<Item = io::Result<String>>> {
    let mut reader = BufReader::new(File::open(file)?);
    Ok(std::iter::from_fn(move || {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(_) if !line.ends_with('\n') => None,
            Ok(_) => {
                line.pop();
                Some(Ok(line))
            }
            Err(error) => Some(Err(error)),
        }
    }))
}

/// Removes the lines of a file that match, and the file with the last of them.
fn remove_lines(file: &Path, matching: &[(String, String)]) -> io::Result<u64> {
    let mut kept = Vec::new();
    let mut removed = 0;
    for line in whole_lines(file)? {
        let line = line?;
        match matches(&line, matching) {
            true => removed += 1,
            false => kept.push(line),
        }
    }
    if kept.is_empty() {
        fs::remove_file(file)?;
    } else if removed > 0 {
        let new = file.with_extension("new");
        let mut out = io::BufWriter::new(day::private_file(&new)?);
        for line in kept {
            writeln!(out, "{line}")?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(new, file)?;
    }
    Ok(removed)
}

fn matches(line: &str, matching: &[(String, String)]) -> bool {
    if matching.is_empty() {
        return true;
    }
    let Ok(row) = serde_json::from_str::<Value>(line) else { return false };
    matching.iter().all(|(name, wanted)| {
        let value = name.split('.').try_fold(&row, |value, part| value.get(part));
        match value {
            Some(Value::String(text)) => text == wanted,
            Some(value) => serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| wanted == *value),
            None => false,
        }
    })
}

fn entries(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
