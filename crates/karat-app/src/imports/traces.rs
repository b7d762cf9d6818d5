//! Traces that applications send: which of them are kept, without what must not be, and where.
//!
//! The rules of a dataset (`traces` in a suite below the root) are read again each minute, and rows that are older than
//! they allow are removed then. A dataset without a rule is kept whole, without keys.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jiff::civil::Date;
use karat_suite::{TraceRule, trace_rules};
use karat_text::redact::{Kind, Redactor};
use karat_traces::folder::{
    AddedRows, DayRows, FoundTrace, RemovedRows, ShareRule, TraceDataset, TraceWriter, WantedRows, WriteError, is_name,
};
use karat_traces::{Row, Share};
use karat_types::Moment;
use serde_json::{Value, json};

use crate::AppError;
use crate::error::FileError;
use crate::imports::Imports;
use crate::project::root::RootFiles;

/// Time after which rules are read again.
const RULES_MS: u64 = 60_000;

/// Time that the clock of an application may be ahead.
const AHEAD_MS: u64 = 24 * 60 * 60 * 1000;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The writer of traces and the rules of what is kept, shared by the requests of a server.
#[derive(Default)]
pub(crate) struct TraceState {
    writer: Mutex<Option<TraceWriter>>,
    rules: Mutex<KnownRules>,
}

#[derive(Default)]
struct KnownRules {
    read_at: Option<Moment>,
    rules: BTreeMap<String, Arc<RowRule>>,
}

/// The rule of one dataset, ready to use.
struct RowRule {
    share: ShareRule,
    keep_days: Option<u64>,
    redactor: Option<Redactor>,
    keep_content: bool,
}

/// The fate of the rows of a request.
#[derive(Debug, Default)]
pub struct AddedTraces {
    /// The number of rows that were kept.
    pub added: AddedRows,
    /// Positions of rows whose call begins in the future, by the clock of this machine.
    pub in_the_future: Vec<usize>,
}

impl Imports<'_> {
    /// The datasets of traces.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn trace_datasets(&self) -> Result<Vec<TraceDataset>, AppError> {
        let folder = self.app.project().trace_folder();
        let failed = |error| FileError::reading(folder.path(), error);
        Ok(folder.datasets().map_err(failed)?)
    }

    /// Rows of a day of a dataset, newest first; `None` if there is no such dataset or day.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn trace_rows(&self, dataset: &str, wanted: &WantedRows) -> Result<Option<DayRows>, AppError> {
        let folder = self.app.project().trace_folder();
        if !is_name(dataset) {
            return Ok(None);
        }
        Ok(folder.rows_of_day(dataset, wanted).map_err(|error| FileError::reading(folder.path(), error))?)
    }

    /// All calls of a trace, found by the beginning of its id or of that of one of its rows; with `near`, on that day or
    /// one beside it.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn sent_trace(&self, dataset: &str, id: &str, near: Option<Date>) -> Result<FoundTrace, AppError> {
        let folder = self.app.project().trace_folder();
        if !is_name(dataset) {
            return Ok(FoundTrace::None);
        }
        Ok(folder.trace(dataset, id, near).map_err(|error| FileError::reading(folder.path(), error))?)
    }

    /// Removes rows of traces. Returns how many.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn remove_traces(&self, wanted: &RemovedRows) -> Result<u64, AppError> {
        let folder = self.app.project().trace_folder();
        let failed = |error| FileError::writing(folder.path(), error);
        Ok(folder.remove(wanted).map_err(failed)?)
    }

    /// Adds rows to a dataset: those of its share, without what its suite redacts. They are on the disk when this returns.
    ///
    /// # Errors
    /// The disk refuses, or more arrives than is written.
    pub fn add_traces(&self, dataset: &str, rows: Vec<Row>) -> Result<AddedTraces, WriteError> {
        let now = self.app.clock.now();
        let rule = self.rule_of(dataset, now);
        let latest = Moment(now.0.saturating_add(AHEAD_MS.cast_signed()));
        let mut kept = Vec::new();
        let mut in_the_future = Vec::new();
        for (at, mut row) in rows.into_iter().enumerate() {
            if row.time.parse::<Timestamp>().is_ok_and(|time| time.as_millisecond() > latest.0) {
                in_the_future.push(at);
                continue;
            }
            make_private(&mut row, &rule);
            kept.push(row);
        }
        let added =
            self.trace_writer().map_err(|error| WriteError::Disk(Arc::new(error)))?.add(dataset, rule.share, kept)?;
        Ok(AddedTraces { added, in_the_future })
    }

    fn trace_writer(&self) -> io::Result<TraceWriter> {
        let mut writer = lock(&self.app.opened.traces().writer);
        if let Some(writer) = &*writer {
            return Ok(writer.clone());
        }
        let started = TraceWriter::start(self.app.project().trace_folder())?;
        Ok(writer.insert(started).clone())
    }

    /// The rule of a dataset. A suite that cannot be read keeps the rules that it had.
    fn rule_of(&self, dataset: &str, now: Moment) -> Arc<RowRule> {
        let mut known = lock(&self.app.opened.traces().rules);
        let is_fresh = known.read_at.is_some_and(|read| now.0.abs_diff(read.0) < RULES_MS);
        if !is_fresh {
            known.read_at = Some(now);
            self.trace_rules(&mut known.rules);
            for (name, rule) in &known.rules {
                self.remove_old(name, rule, now);
            }
        }
        known.rules.get(dataset).cloned().unwrap_or_else(|| Arc::new(RowRule::default()))
    }

    /// Reads the rules of the suites. Where two suites speak of one dataset, the first counts, unless only the other one
    /// keeps no content.
    fn trace_rules(&self, known: &mut BTreeMap<String, Arc<RowRule>>) {
        // Without a root nothing takes traces.
        let Some(root) = self.app.opened.root() else { return };
        let files: Arc<RootFiles> = Arc::new(RootFiles::new(root.to_owned()));
        let paths = self.app.project().found_suites().into_iter();
        let read = paths.filter_map(|path| trace_rules(files.clone(), &path).ok()).flatten();
        let mut rules: BTreeMap<String, Arc<RowRule>> = BTreeMap::new();
        for (name, rule) in read {
            let rule = Arc::new(RowRule::of(&rule));
            let kept = rules.entry(name).or_insert_with(|| rule.clone());
            if kept.keep_content && !rule.keep_content {
                *kept = rule;
            }
        }
        known.extend(rules);
    }

    /// Removes days that are older than a rule allows. What cannot be removed now is tried again in a minute.
    fn remove_old(&self, dataset: &str, rule: &RowRule, now: Moment) {
        let Some(days) = rule.keep_days else { return };
        let first = now.0.saturating_sub(days.saturating_mul(DAY_MS).try_into().unwrap_or(i64::MAX));
        let Ok(first) = Timestamp::from_millisecond(first) else { return };
        let before = Some(first.to_zoned(jiff::tz::TimeZone::UTC).date());
        let wanted = RemovedRows { dataset: Some(dataset.to_owned()), before, matching: Vec::new() };
        let _ = self.app.project().trace_folder().remove(&wanted);
    }
}

impl Default for RowRule {
    fn default() -> Self {
        let keys = Redactor::new([Kind::ApiKey], []).ok();
        Self {
            share: ShareRule { share: Share::ALL, per_day: None },
            keep_days: None,
            redactor: keys,
            keep_content: true,
        }
    }
}

impl RowRule {
    fn of(rule: &TraceRule) -> Self {
        // Patterns were compiled when the suite was read.
        let redactor = Redactor::of(&rule.privacy).ok().flatten();
        let default = Self::default();
        Self {
            share: rule.share,
            keep_days: rule.keep_days,
            redactor: redactor.or(default.redactor),
            keep_content: rule.privacy.keep_content,
        }
    }
}

/// Redacts a row, or leaves hashes in the place of its contents.
fn make_private(row: &mut Row, rule: &RowRule) {
    if !rule.keep_content {
        row.input = hash(&row.input);
        row.output = hash(&row.output);
        row.messages.clear();
        row.contexts.clear();
        row.metadata.more = None;
    }
    let Some(redactor) = &rule.redactor else { return };
    redactor.value(&mut row.input);
    redactor.value(&mut row.output);
    row.messages.iter_mut().for_each(|message| redactor.value(message));
    let contents = row.contexts.iter_mut().flat_map(|context| [&mut context.content, &mut context.id]);
    let facts = [&mut row.metadata.user, &mut row.metadata.error, &mut row.metadata.conversation];
    for text in contents.chain(facts).flatten() {
        *text = redactor.text(text).into_owned();
    }
    row.metadata.tags.iter_mut().for_each(|tag| *tag = redactor.text(tag).into_owned());
    if let Some(more) = &mut row.metadata.more {
        redactor.value(more);
    }
}

fn hash(value: &Value) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let text = value.to_string();
    json!({ "hash": format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex()), "bytes": text.len() })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
