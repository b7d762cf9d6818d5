//! Logs of Inspect as a suite of recorded outputs.
//!
//! - `archive` reads members of an `.eval` file, within limits; `lean` reads JSON without the parts that are not carried
//!   over, which are most of a log.
//! - `log` is a log in either form: its header, and its samples one by one.
//! - `sample` makes a sample and an output of an entry; `content` takes texts out of messages, `value` makes scores numbers.
//! - `figures` finds the log's own figures and the scorers that the suite computes itself.
//!
//! A log is a variant; a folder holds logs of one task. Read `log`, then this file.

mod archive;
mod content;
mod figures;
mod lean;
mod log;
mod sample;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::draft::Draft;
use crate::error::ImportError;
use crate::inspect::log::{Header, Log};
use crate::recorded::{Known, Recording};
use crate::report::Dropped;
use crate::source::Source;
use crate::text::names::valid_id;

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let mut logs = open_logs(source, draft)?;
    let task = common_task(&logs)?;
    "Inspect".clone_into(&mut draft.report.tool.name);
    draft.report.tool.version = logs.iter().find_map(|log| log.header().inspect_version());
    draft.suite.name = valid_id(&task, "inspect");
    draft.suite.about = format!("Outputs of Inspect's task {}", crate::text::escape::literal(&task));
    figures::add_scorers(logs.iter().map(Log::header), draft);
    let reduction = figures::common_reduction(logs.iter().map(Log::header));
    let mut recording = Recording::open(draft)?;
    for log in &mut logs {
        import_log(log, source, reduction, &mut recording, draft)?;
    }
    if recording.outputs() == 0 {
        return Err(ImportError::new(
            source.path().display(),
            "holds no finished sample, so there is nothing to import",
        )
        .with_hint("run the task again, without `--no-log-samples`"));
    }
    if !recording.has_reference() {
        figures::leave_out_scorers(draft);
    }
    recording.close(draft)?;
    if reduction != figures::MEAN {
        draft.suite.scorers.values_mut().filter_map(Value::as_object_mut).for_each(|scorer| {
            scorer.insert("reduce".to_owned(), json!(reduction));
        });
    }
    Ok(())
}

/// The logs of a folder, or the one that is imported. Other files of a folder are noted.
fn open_logs(source: &Source, draft: &mut Draft<'_>) -> Result<Vec<Log>, ImportError> {
    let is_folder = source.path().is_dir();
    let mut logs = Vec::new();
    for path in source.files()? {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if is_folder && !matches!(ending, Some("eval" | "json")) {
            continue;
        }
        match Log::open(source, &path)? {
            Some(log) => {
                source.include(&path)?;
                logs.push(log);
            }
            // Inspect keeps lists of its own beside the logs.
            None if is_folder => draft.report.note(file_name(&path), "is not a log of Inspect, and is left out"),
            None => return Err(not_a_log(&path)),
        }
    }
    if logs.is_empty() {
        return Err(ImportError::new(source.path().display(), "holds no log of Inspect")
            .with_hint("name a file `….eval` or `….json`, or the folder that holds them"));
    }
    Ok(logs)
}

fn not_a_log(path: &Path) -> ImportError {
    ImportError::new(path.display(), "is not a log of Inspect: expected an object with `version`, `status` and `eval`")
        .with_hint("name the `.eval` or `.json` file that Inspect wrote to its log folder")
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The task of all logs.
fn common_task(logs: &[Log]) -> Result<String, ImportError> {
    let tasks: BTreeSet<&str> = logs.iter().map(|log| log.header().task()).collect();
    match tasks.iter().collect::<Vec<_>>().as_slice() {
        [one] => Ok((**one).to_owned()),
        several => {
            let named = several.iter().map(|task| format!("`{task}`")).collect::<Vec<_>>().join(", ");
            let folder = logs.first().and_then(|log| log.path().parent()).unwrap_or(Path::new("."));
            Err(ImportError::new(folder.display(), format!("holds logs of several tasks: {named}"))
                .with_hint("move the logs of each task to a folder of their own, and import each"))
        }
    }
}

fn import_log(
    log: &mut Log,
    source: &Source,
    reduction: &str,
    recording: &mut Recording,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    let name = file_name(log.path());
    let is_one_of_many = source.path().is_dir();
    let place = |path: &str| if is_one_of_many { format!("{name}: {path}") } else { path.to_owned() };
    let header = log.header().clone();
    let variant = recording.add_variant(draft, &header.variant())?;
    let (mut outputs, mut differing) = (0, 0);
    log.for_each_sample(source, |entry| {
        outputs += 1;
        let (sample, output, drops) = sample::read(&entry)?;
        differing += u64::from(recording.add_sample(sample)? == Known::Differs);
        for drop in drops {
            draft.report.drop(Dropped { path: place(&drop.path), ..drop });
        }
        recording.add_output(variant, &output)
    })?;
    if differing > 0 {
        let text = format!("{differing} differ from the sample of their id before, which is the one that counts");
        draft.report.note(place("samples[*]"), text);
    }
    report_header(&header, outputs, &place, draft);
    if figures::reduction(&header) == Some(reduction) {
        figures::add(&header, variant, recording, &place, draft);
    } else {
        let text =
            format!("epochs are reduced in another way there, and by their {reduction} here: figures are not compared");
        draft.report.note(place("eval.config.epochs_reducer"), text);
    }
    Ok(())
}

/// Books the parts of a header that a recorded suite has no use for, and an end before time.
fn report_header(header: &Header, outputs: u64, place: &impl Fn(&str) -> String, draft: &mut Draft<'_>) {
    if let Some(problem) = header.incomplete(outputs) {
        draft.report.note(place("status"), problem);
    }
    let solvers = header.solvers();
    if !solvers.is_empty() {
        let solvers = solvers.iter().map(|solver| format!("`{solver}`")).collect::<Vec<_>>().join(", ");
        draft.report.note(place("plan"), format!("the outputs were made by {solvers}"));
    }
    for (path, construct) in header.not_carried() {
        draft.report.drop(Dropped {
            path: place(&path),
            line: None,
            construct,
            why: "the outputs are recorded: settings of the run that made them have no effect".to_owned(),
            instead: None,
            samples: outputs,
        });
    }
}

/// True of null and of what is empty, which Inspect writes for settings that are not used.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}
