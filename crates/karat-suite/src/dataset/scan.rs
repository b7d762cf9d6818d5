//! The one pass over a dataset while a suite is loaded: counts the rows, learns the columns, and finds everything that
//! is wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use karat_types::{Mismatch, Mismatches, Sample};
use rustc_hash::{FxHashSet, FxHasher};
use serde_json::Value;

use super::checks::row_schema::Leniency;
use super::checks::{Check, CheckCounts};
use super::columns::{Column, ColumnKind};
use super::ragged_columns::RaggedColumns;
use super::representative_rows::RowSampler;
use super::rows::{KeptRow, Rows, row_hash};
use super::source::common_hosts::CommonHosts;
use super::{Dataset, DatasetError, DatasetSource, RepresentativeRows, Role, RowRedaction};
use crate::decode::{ComparedValue, RequiredPath};
use crate::diagnostics::nearest::{nearest, suggestion};
use crate::diagnostics::{Diagnostic, Problems, Severity};
use crate::syntax::names::{AvailableNames, PendingName};
use crate::syntax::node::Place;

/// Most problems of rows that are shown.
const SHOWN: usize = 20;
/// Most further lines that the problem of several rows lists.
const SHOWN_LINES: usize = 5;
/// Most ids that a hint lists.
const SHOWN_IDS: usize = 8;
/// Most contradictions between rows and files that are shown, and that are kept.
const SHOWN_MISMATCHES: u64 = 5;
const KEPT_MISMATCHES: usize = 100;
/// Message for a contradiction whose content must not be shown.
const MISMATCH: &str = "row and files contradict each other; details are hidden because of `privacy.sensitive`";

/// The results of a pass over the dataset.
pub(crate) struct Scan {
    /// Rows that are planned.
    pub rows: u64,
    /// Every column of any row.
    pub columns: BTreeSet<String>,
    /// Columns that are null in every row.
    pub unfilled: BTreeSet<String>,
    /// True if a row has an input.
    pub has_input: bool,
    /// True if a row has a reference.
    pub has_reference: bool,
    /// True if a row names a cluster.
    pub is_clustered: bool,
    /// True if a row holds checks of its own.
    pub has_asserts: bool,
    /// True if a row has a check that a judge decides.
    pub has_judged_asserts: bool,
    /// Hash over the contents of the files that columns were read from.
    pub contents: String,
    /// True if at least one row could be read.
    pub is_read: bool,
    /// The counts of each check.
    pub checks: Vec<CheckCounts>,
    /// Contradictions between rows and the files beside them.
    pub mismatches: Mismatches,
    /// A representative sample of the rows, if there are many.
    pub representative_rows: Option<RepresentativeRows>,
}

impl Scan {
    /// Returns the columns and roles that templates and metrics can read.
    pub fn available_names(&self) -> AvailableNames<'_> {
        let Self { columns, unfilled, has_input, has_reference, .. } = self;
        AvailableNames { columns, unfilled, has_input: *has_input, has_reference: *has_reference }
    }
}

/// The expectations of a suite about its rows.
pub(crate) struct Expected<'a> {
    /// Paths that match at least one row.
    pub watched: &'a [RequiredPath],
    /// Values that at least one row has.
    pub compared: Vec<ComparedValue>,
    /// Names that texts read.
    pub pending: &'a [PendingName],
}

/// A value that a condition compares with, and the values that the rows have instead.
struct SoughtValue {
    wanted: ComparedValue,
    is_found: bool,
    values: BTreeSet<String>,
}

/// A problem of a row, and the further rows that have the same.
struct RowProblem {
    first: Diagnostic,
    more: u64,
    /// Lines of some of them.
    lines: Vec<usize>,
}

/// Returns whether an id was made of the content of its row, which has it as a column since.
fn is_made_of_row(id: &str, row: &Value) -> bool {
    let mut content = row.clone();
    if let Some(columns) = content.as_object_mut() {
        columns.remove("id");
    }
    row_hash(&content) == id
}

struct Scanner<'a> {
    problems: &'a mut Problems,
    scan: Scan,
    ids: FxHashSet<u64>,
    found: Vec<RowProblem>,
    sought: Vec<SoughtValue>,
    /// Problems that are not among those that are shown.
    hidden: u64,
    bad: u64,
    kept: u64,
    /// Rows without a cluster.
    unclustered: u64,
    wanted: BTreeSet<String>,
    matched: Vec<bool>,
    sampler: RowSampler,
    ragged: RaggedColumns,
    hosts: CommonHosts,
    /// Columns that may be empty and have been so in every row.
    empty: BTreeSet<String>,
    /// Redaction of messages about rows.
    row_redaction: &'a RowRedaction,
}

impl Dataset {
    /// Passes over the rows: all of them, unless a limit is reached and nothing is left to be learned. `place` is the
    /// dataset's own, for problems that have no row.
    pub fn scan(
        self: &Arc<Self>,
        place: &Place,
        mut checks: Vec<Check>,
        expected: Expected<'_>,
        problems: &mut Problems,
    ) -> Scan {
        let Expected { watched, pending, .. } = expected;
        let mut rows = Rows::with_read_ahead(self.clone());
        let mut scanner = Scanner::new(self, expected, problems);
        while let Some(row) = rows.next_kept() {
            match row {
                Ok(mut kept) => {
                    let row = Value::Object(std::mem::take(&mut kept.sample.columns));
                    checks.iter_mut().for_each(|check| check.add_row(&kept.sample.id, &row));
                    scanner.add_row(self, &kept, &row, watched);
                    scanner.mismatches(&kept, std::mem::take(&mut rows.mismatches));
                }
                Err(error) => scanner.report_bad_row(self, error),
            }
            if checks.is_empty() && scanner.has_enough(self, pending) {
                break;
            }
        }
        let contents = rows.contents.finalize().to_hex().to_string();
        let leniencies = rows.leniencies;
        scanner.scan.representative_rows = std::mem::take(&mut scanner.sampler).finish(self.large);
        scanner.scan.checks = checks.iter().map(Check::counts_so_far).collect();
        scanner.finish(self, place, watched, checks, leniencies);
        Scan { contents, ..scanner.scan }
    }

    /// Returns whether a path may be absent in every row: the row schema describes it, or it is part of a column that is
    /// resolved and may be empty.
    fn may_lack(&self, column: &str, path: &str) -> bool {
        let resolved = |it: &Column| it.name == column && it.may_be_empty && matches!(it.kind, ColumnKind::Resolve(_));
        self.row_schema.as_ref().is_some_and(|schema| schema.describes(path)) || self.columns.iter().any(resolved)
    }

    /// The first row with an id, for the message about the second one.
    fn first_with(self: &Arc<Self>, id: &str) -> Option<KeptRow> {
        let mut rows = Rows::new(self.clone());
        std::iter::from_fn(|| rows.next_kept()).filter_map(Result::ok).find(|kept| &*kept.sample.id == id)
    }
}

impl<'a> Scanner<'a> {
    fn new(dataset: &'a Dataset, expected: Expected<'_>, problems: &'a mut Problems) -> Self {
        let Expected { watched, compared, pending } = expected;
        let sought = |wanted| SoughtValue { wanted, is_found: false, values: BTreeSet::new() };
        let mut columns: BTreeSet<String> = dataset.columns.iter().map(|column| column.name.clone()).collect();
        columns.extend(dataset.row_schema.iter().flat_map(|schema| schema.columns().map(str::to_owned)));
        Self {
            problems,
            scan: Scan {
                rows: 0,
                columns,
                unfilled: BTreeSet::new(),
                has_input: matches!(dataset.roles.input, Role::Declared(_)),
                has_reference: matches!(dataset.roles.reference, Role::Declared(_)),
                is_clustered: false,
                has_asserts: false,
                has_judged_asserts: false,
                contents: String::new(),
                is_read: false,
                checks: Vec::new(),
                mismatches: Mismatches::default(),
                representative_rows: None,
            },
            ids: FxHashSet::default(),
            found: Vec::new(),
            hidden: 0,
            sought: compared.into_iter().map(sought).collect(),
            bad: 0,
            kept: 0,
            unclustered: 0,
            row_redaction: &dataset.row_redaction,
            wanted: dataset.only.clone(),
            matched: vec![false; watched.len()],
            sampler: RowSampler::default(),
            ragged: RaggedColumns::new(pending),
            hosts: CommonHosts::default(),
            empty: dataset
                .columns
                .iter()
                .filter(|column| column.may_be_empty)
                .map(|column| column.name.clone())
                .collect(),
        }
    }

    fn add_row(&mut self, dataset: &Arc<Dataset>, kept: &KeptRow, row: &Value, watched: &[RequiredPath]) {
        let KeptRow { sample, at, .. } = kept;
        self.kept += 1;
        self.scan.is_read = true;
        let mut hasher = FxHasher::default();
        sample.id.hash(&mut hasher);
        if !self.ids.insert(hasher.finish())
            && let Some(first) = dataset.first_with(&sample.id).filter(|first| first.number != kept.number)
        {
            let there = if first.at.line == at.line && first.at.file == at.file {
                format!("row {} of the dataset has it", first.number + 1)
            } else {
                format!("it is in {}:{}", first.at.file, first.at.line)
            };
            let problem = if dataset.roles.id.names_a_column_of(row) && !is_made_of_row(&sample.id, row) {
                let hint = format!("{there}; ids must be unique");
                at.problem_with_hint(&sample.id, format!("duplicate id `{}`", sample.id), Some(hint))
            } else {
                let rows = format!("rows {} and {} are equal", first.number + 1, kept.number + 1);
                let hint =
                    "rows without an id are told apart by their content: remove one, or give the rows a column `id`";
                at.problem_with_hint("", rows, Some(hint.to_owned()))
            };
            self.report(problem);
        }
        let columns = row.as_object().into_iter().flat_map(serde_json::Map::keys);
        let new: Vec<String> = columns.filter(|column| !self.scan.columns.contains(*column)).cloned().collect();
        self.scan.unfilled.retain(|column| row.get(column).is_none_or(Value::is_null));
        self.scan.unfilled.extend(new.iter().filter(|column| row.get(*column).is_some_and(Value::is_null)).cloned());
        self.scan.columns.extend(new);
        for (matched, path) in self.matched.iter_mut().zip(watched).filter(|(matched, _)| !**matched) {
            *matched = path.path.first(row).is_some_and(|value| !value.is_null());
        }
        self.seek_values(sample, row);
        if matches!(dataset.source, DatasetSource::Dir(_)) {
            self.hosts.add_row(row);
        }
        self.empty.retain(|column| row.get(column).is_none_or(Value::is_null));
        self.asserts(dataset, kept, row);
        if let Some((unknown, hint)) = sample.only.as_ref().and_then(|only| dataset.systems.unknown_name(only)) {
            self.report(at.problem_with_hint("only", format!("{unknown} (sample `{}`)", sample.id), hint));
        }
        self.scan.has_input |= sample.input.is_some();
        self.scan.has_reference |= sample.reference.is_some();
        self.scan.is_clustered |= sample.cluster.is_some();
        self.unclustered += u64::from(sample.cluster.is_none());
        self.wanted.remove(&*sample.id);
        let is_drawn = dataset.is_drawn(self.kept - 1);
        if is_drawn && dataset.wants(&sample.id) && dataset.limit.is_none_or(|limit| self.scan.rows < limit) {
            let number = self.scan.rows;
            self.ragged.add_row(kept, row);
            if let Some(columns) = row.as_object() {
                let sample = || Sample { row: number, columns: columns.clone(), ..sample.clone() };
                self.sampler.add_row(number, columns, sample);
            }
            self.scan.rows += 1;
        }
    }

    /// Notes the values of columns that conditions compare with others.
    fn seek_values(&mut self, sample: &Sample, row: &Value) {
        for SoughtValue { wanted, is_found, values } in self.sought.iter_mut().filter(|it| !it.is_found) {
            let found = wanted.path.first(row).and_then(Value::as_str);
            let found = found.or_else(|| (wanted.path.to_string() == "$.id").then_some(&*sample.id));
            *is_found = found == Some(&wanted.value);
            if values.len() < SHOWN {
                values.extend(found.map(str::to_owned));
            }
        }
    }

    /// Warns of values that no row has. Where columns hold other things than texts, nothing is known.
    fn warn_of_absent_values(&mut self) {
        for SoughtValue { wanted, values, .. } in self.sought.iter().filter(|it| !it.is_found && !it.values.is_empty())
        {
            let ComparedValue { path, value, place } = wanted;
            let path = path.to_string();
            let column = path.trim_start_matches("$.");
            self.problems
                .warn(place, format!("no row has `{value}` in the column `{column}`, so this compares with nothing"))
                .maybe_hint(suggestion(value, values.iter().map(String::as_str)));
        }
    }

    fn asserts(&mut self, dataset: &Dataset, kept: &KeptRow, row: &Value) {
        let Some(asserts) = &dataset.asserts else { return };
        self.scan.has_asserts |= asserts.are_in(row);
        self.scan.has_judged_asserts |= asserts.are_judged_in(row);
        if let Err((wrong, hint)) = asserts.check_row(row, kept.sample.reference.is_some()) {
            let wrong = format!("{wrong} (sample `{}`)", kept.sample.id);
            self.report(kept.at.problem_with_hint("assert", wrong, hint));
        }
    }

    /// Warns of what a row and the files beside it contradict each other in.
    fn mismatches(&mut self, kept: &KeptRow, found: Vec<String>) {
        for what in found {
            let what = self.row_redaction.text(what, MISMATCH);
            let mismatches = &mut self.scan.mismatches;
            mismatches.count += 1;
            if mismatches.first.len() < KEPT_MISMATCHES {
                mismatches.first.push(Mismatch { sample: kept.sample.id.to_string(), what: what.clone() });
            }
            if mismatches.count <= SHOWN_MISMATCHES {
                let message = format!("sample `{}`: {what}", kept.sample.id);
                let problem = kept.at.problem("gold", message.as_str());
                let mut problem = self.row_redaction.problem(problem.problem(), &message);
                problem.severity = Severity::Warning;
                self.problems.push(problem);
            }
        }
    }

    /// Returns whether the limit is reached, and every requested sample, column and role was found.
    fn has_enough(&self, dataset: &Dataset, pending: &[PendingName]) -> bool {
        dataset.limit.is_some_and(|limit| self.scan.rows >= limit)
            && self.wanted.is_empty()
            && self.matched.iter().all(|matched| *matched)
            && pending.iter().all(|waiting| self.scan.available_names().has(waiting))
    }

    fn report_bad_row(&mut self, dataset: &Dataset, error: DatasetError) {
        if !dataset.reports_broken || error.hides_rows {
            return self.report(error);
        }
        let counts = error.id.as_deref().is_none_or(|id| dataset.wants(id));
        // It is there, and its cell will say what is wrong with it.
        error.id.as_deref().map(|id| self.wanted.remove(id));
        self.scan.rows += u64::from(counts && dataset.limit.is_none_or(|limit| self.scan.rows < limit));
        for problem in error.problems() {
            let mut problem = problem.clone();
            problem.severity = Severity::Warning;
            self.push(problem);
        }
    }

    fn report(&mut self, error: DatasetError) {
        self.bad += 1;
        error.problems().for_each(|problem| self.push(problem.clone()));
    }

    fn push(&mut self, problem: Diagnostic) {
        let is_same = |known: &&mut RowProblem| {
            known.first.message == problem.message
                && known.first.severity == problem.severity
                && known.first.file == problem.file
        };
        if let Some(known) = self.found.iter_mut().find(is_same) {
            known.more += 1;
            if known.lines.len() < SHOWN_LINES {
                known.lines.push(problem.line);
            }
        } else if self.found.len() < SHOWN {
            self.found.push(RowProblem { first: problem, more: 0, lines: Vec::new() });
        } else {
            self.hidden += 1;
        }
    }

    /// Reports the problems of rows: the same problem once, at its first row.
    fn report_rows(&mut self) {
        for RowProblem { mut first, more, lines } in std::mem::take(&mut self.found) {
            if more > 0 {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let others = match more {
                    1 => format!("line {} too", lines.join("")),
                    _ if more == lines.len() as u64 => format!("lines {} too", lines.join(", ")),
                    _ => format!("{more} more rows too: lines {}, …", lines.join(", ")),
                };
                first.message = format!("{} (in {others})", first.message);
            }
            self.problems.push(self.row_redaction.problem(&first, super::CONCEALED));
        }
    }

    fn finish(
        &mut self,
        dataset: &Arc<Dataset>,
        place: &Place,
        watched: &[RequiredPath],
        checks: Vec<Check>,
        leniencies: BTreeMap<Leniency, u64>,
    ) {
        self.report_rows();
        if self.hidden > 0 {
            let more = format!("{} more problems of the dataset's rows", self.hidden);
            // Where each of them is a warning, so are those that are not shown.
            if self.bad > 0 {
                self.problems.error(place, more)
            } else {
                self.problems.warn(place, more)
            };
        }
        if self.kept == 0 && self.bad == 0 && self.scan.rows == 0 {
            let condition = if dataset.condition.is_some() { " that satisfy `where`" } else { "" };
            let days = match &dataset.days {
                Some((first, last)) if first == last => format!(" of {first}"),
                Some((first, last)) => format!(" of {first} to {last}"),
                None => String::new(),
            };
            let hint = if days.is_empty() {
                "nothing to run: add rows, or check the filters"
            } else {
                "nothing to run; choose other days with `--as-of DATE`"
            };
            self.problems.error(place, format!("the dataset has no rows{days}{condition}")).hint(hint);
            return;
        }
        // Of a part of the rows, nothing is known of the others.
        if dataset.limit.is_none() && dataset.only.is_empty() && self.bad == 0 {
            self.warn_of_absent_values();
        }
        self.hosts.warn(place, self.problems);
        let ragged = std::mem::replace(&mut self.ragged, RaggedColumns::new(&[]));
        ragged.report(dataset, |column| self.scan.columns.contains(column), self.problems);
        let more = self.scan.mismatches.count.saturating_sub(SHOWN_MISMATCHES);
        if more > 0 {
            self.problems.warn(place, format!("{more} more contradictions between rows and the files beside them"));
        }
        if self.bad == 0 {
            checks.into_iter().for_each(|check| check.report(self.problems, self.row_redaction));
        }
        for id in std::mem::take(&mut self.wanted) {
            let file = self.problems.command_line("--sample", &id);
            let place = Place { file, span: 0..id.len() };
            let hint = Self::hint_for_id(dataset, &id);
            self.problems.error(&place, format!("the dataset has no sample `{id}`")).hint(hint);
        }
        for (_, watched) in self.matched.iter().zip(watched).filter(|(matched, _)| !**matched && self.kept > 0) {
            let text = self.problems.text(watched.place.file);
            let written = text.get(watched.place.span.clone()).unwrap_or_default().trim_matches(['"', '\'']).to_owned();
            let column = written.trim_start_matches("$.").split(['.', '[']).next().unwrap_or_default().to_owned();
            if self.empty.contains(&column) || dataset.may_lack(&column, &written) {
                continue;
            }
            let (wrong, hint) = self.unmatched_path(&written, &column);
            self.problems.error(&watched.place, wrong).maybe_hint(hint);
        }
        if self.scan.is_clustered && self.unclustered > 0 {
            let count = format!("{} of {} rows of the dataset name no cluster", self.unclustered, self.kept);
            self.problems
                .warn(place, count)
                .hint("each of them counts as its own cluster, which makes intervals too narrow if they are related");
        }
        for (leniency, times) in leniencies {
            let often = if times == 1 { "once".to_owned() } else { format!("{times} times") };
            self.problems.notice(place, format!("{leniency} ({often})"));
        }
    }

    /// Returns message and hint for a path that matches no row.
    fn unmatched_path(&self, written: &str, column: &str) -> (String, Option<String>) {
        let columns = &self.scan.columns;
        if self.scan.unfilled.contains(column) {
            let hint = "fill it in, or name another column".to_owned();
            return (format!("`{column}` is null in every row of the dataset"), Some(hint));
        }
        let hint = match columns.contains(column) {
            true => Some(format!("there is a column `{column}`, but this path matches nothing in it")),
            false => suggestion(column, columns.iter().map(String::as_str)),
        };
        (format!("`{written}` matches no row of the dataset"), hint)
    }

    /// The nearest id, or some that there are.
    fn hint_for_id(dataset: &Arc<Dataset>, id: &str) -> String {
        let mut rows = Rows::new(dataset.clone());
        let ids: Vec<Arc<str>> = std::iter::from_fn(|| rows.next_kept())
            .filter_map(Result::ok)
            .take(10_000)
            .map(|it| it.sample.id)
            .collect();
        match nearest(id, ids.iter().map(|id| &**id)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let shown: Vec<&str> = ids.iter().take(SHOWN_IDS).map(|id| &**id).collect();
                let more = if ids.len() > SHOWN_IDS { ", …" } else { "" };
                format!("ids of the dataset: {}{more}", shown.join(", "))
            }
        }
    }
}
