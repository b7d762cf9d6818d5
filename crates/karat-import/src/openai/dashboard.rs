//! Results that the dashboard exports: JSONL, a line for each output.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use karat_types::json;
use serde_json::Value;

use super::recorded_runs::{PASS, pass_name, read_sample};
use super::rows::Columns;
use super::{drop_entry, drop_unread, is_blank, text_at};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Known, Recording, Sample};
use crate::source::Source;
use crate::text::names::valid_id;

/// Keys of a line that are read.
const LINE: [&str; 7] = ["run_id", "data_source_idx", "item", "grades", "passes", "sample", "grader_samples"];

/// Keys of its sample that are read.
const SAMPLE: [&str; 6] = ["outputs", "finish_reason", "token_usage", "error", "model", "output_text"];

/// Lines of several files, and the variants that they fill.
struct DashboardResults {
    recording: Recording,
    /// Variants by run.
    runs: HashMap<String, usize>,
    /// The number of outputs of a variant and sample.
    trials: HashMap<(usize, String), u32>,
    columns: HashSet<String>,
}

pub(super) fn import(source: &Source, paths: &[PathBuf], draft: &mut Draft<'_>) -> Result<(), ImportError> {
    draft.suite.name = valid_id(&source.stem(), "eval");
    draft.suite.about =
        format!("Results of OpenAI's evals dashboard, {}", crate::text::escape::literal(&source.name()));
    let recording = Recording::open(draft)?;
    let mut results =
        DashboardResults { recording, runs: HashMap::new(), trials: HashMap::new(), columns: HashSet::new() };
    for path in paths {
        source.include(path)?;
        let mut reader = source.reader(path)?;
        let mut bytes = Vec::new();
        let mut line = 0;
        while Source::next_line(&mut reader, &mut bytes).map_err(|error| ImportError::reading(path, &error))? > 0 {
            line += 1;
            if !bytes.trim_ascii().is_empty() {
                let place = LinePlace { path, line };
                results.add(&bytes, place, draft)?;
            }
            bytes.clear();
        }
    }
    let columns = std::mem::take(&mut results.columns);
    results.recording.close(draft)?;
    draft.suite.dataset.extend(super::rows::roles(|name| columns.contains(name)));
    Ok(())
}

#[derive(Clone, Copy)]
struct LinePlace<'a> {
    path: &'a Path,
    line: usize,
}

impl LinePlace<'_> {
    fn problem(self, problem: impl Into<String>) -> ImportError {
        ImportError::new(self.path.display(), problem).at_line(self.line).with_hint(
            "a line of results is `{\"run_id\": \"…\", \"data_source_idx\": 0, \"item\": {…}, \"grades\": {…}}`",
        )
    }
}

impl DashboardResults {
    fn add(&mut self, line: &[u8], place: LinePlace<'_>, draft: &mut Draft<'_>) -> Result<(), ImportError> {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        let row: Value =
            json::parse_slice(line).map_err(|error| place.problem(format!("is not valid JSON: {error}")))?;
        let run = text_at(&row, "run_id").ok_or_else(|| place.problem("has no text `run_id`"))?;
        let index = row.get("data_source_idx").and_then(Value::as_u64);
        let index = index.ok_or_else(|| place.problem("has no whole number `data_source_idx`, counted from 0"))?;
        let item =
            row.get("item").filter(|item| item.is_object()).ok_or_else(|| place.problem("has no object `item`"))?;
        let grades = row.get("grades").and_then(Value::as_object);
        let grades = grades.ok_or_else(|| place.problem("has no object `grades`"))?;

        let sample_id = self.add_sample(index, item)?;
        let variant = match self.runs.get(run) {
            Some(variant) => *variant,
            None => {
                let variant = self.recording.add_variant(draft, run)?;
                self.runs.insert(run.to_owned(), variant);
                variant
            }
        };
        let trial = self.trials.entry((variant, sample_id.clone())).or_default();
        *trial += 1;

        let sample = row.get("sample").unwrap_or(&Value::Null);
        let mut output = read_sample(sample, "outputs", "token_usage", "[*]", draft);
        (output.sample, output.trial) = (sample_id, *trial);
        output.scores.extend(grades.iter().map(|(name, grade)| (name.clone(), number(grade))));
        let passes = row.get("passes").and_then(Value::as_object);
        let passes = || passes.into_iter().flatten();
        output.scores.extend(passes().map(|(name, pass)| (pass_name(name), pass.clone())));
        let all = passes().all(|(_, pass)| pass.as_bool() != Some(false));
        output.scores.push((PASS.to_owned(), Value::Bool(all)));
        self.recording.add_output(variant, &output)?;

        drop_unread(draft, "[*]", &row, &LINE, 1);
        drop_unread(draft, "[*].sample", sample, &SAMPLE, 1);
        if row.get("grader_samples").is_some_and(|samples| !is_blank(samples)) {
            let why = "what a grader said is not carried over, only its grade";
            draft.report.drop(drop_entry("[*].grader_samples".to_owned(), "grader_samples", why, 1));
        }
        Ok(())
    }

    /// Adds the sample of an index, and returns its id. Runs may have another item at an index: that is another sample.
    fn add_sample(&mut self, index: u64, item: &Value) -> Result<String, ImportError> {
        let columns = Columns::default().of(item);
        self.columns.extend(columns.keys().cloned());
        for number in 1_u64.. {
            let id = if number == 1 { index.to_string() } else { format!("{index}#{number}") };
            let sample = Sample { id: id.clone(), columns: columns.clone(), ..Sample::default() };
            if self.recording.add_sample(sample)? != Known::Differs {
                return Ok(id);
            }
        }
        Ok(index.to_string())
    }
}

/// A grade that is a number; null otherwise.
fn number(grade: &Value) -> Value {
    Some(grade).filter(|grade| grade.is_number() || grade.is_boolean()).cloned().unwrap_or_default()
}
