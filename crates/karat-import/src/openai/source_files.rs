//! Reads the imported file, or the files of a folder.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use karat_types::json;

use super::objects::Objects;
use crate::draft::Draft;
use crate::error::ImportError;
use crate::source::{Source, invalid_json};

/// The folder with rows beside exported objects.
const ROWS: &str = "files";

/// The form of the source.
pub(super) enum Files {
    /// Results that the dashboard exported: JSONL, a line for each output.
    Dashboard(Vec<PathBuf>),
    Objects(Objects),
}

/// Reads API objects; results of the dashboard are only recognised, for they are streamed.
pub(super) fn read(source: &Source, draft: &mut Draft<'_>) -> Result<Files, ImportError> {
    let (mut objects, mut dashboard) = (Objects::default(), Vec::new());
    for path in source.files()? {
        let is_json = path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl");
        if source.path().is_dir() && !is_json {
            continue;
        }
        if is_dashboard(source, &path)? {
            dashboard.push(path);
        } else {
            read_objects(source, &path, &mut objects)?;
        }
    }
    if objects.is_empty() {
        if dashboard.is_empty() {
            return Err(unknown(source.path(), None));
        }
        return Ok(Files::Dashboard(dashboard));
    }
    for path in dashboard {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        draft.report.note(name, "is left out: the eval and its runs say the same and more");
    }
    read_row_files(source, &mut objects)?;
    for (object, count) in &objects.unknown {
        draft.report.note(object.clone(), format!("is not part of an eval, and is left out {count} times"));
    }
    Ok(Files::Objects(objects))
}

/// True if the first line is a result of the dashboard.
fn is_dashboard(source: &Source, path: &Path) -> Result<bool, ImportError> {
    for line in source.reader(path)?.lines() {
        let line = line.map_err(|error| ImportError::reading(path, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let first = json::parse(line.trim_start_matches('\u{feff}'));
        let has = |key: &str| first.as_ref().is_ok_and(|row| row.get(key).is_some());
        return Ok(has("data_source_idx") && (has("grades") || has("run_id")));
    }
    Ok(false)
}

fn read_objects(source: &Source, path: &Path, objects: &mut Objects) -> Result<(), ImportError> {
    let text = source.text(path)?;
    let whole = json::parse(&text);
    let values = match whole {
        Ok(value) => vec![(1, value)],
        // A file of several objects, one a line.
        Err(error) => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let parsed: Result<Vec<_>, _> = lines.map(|(index, line)| Ok((index + 1, json::parse(line)?))).collect();
            parsed.map_err(|_: serde_json::Error| not_json(path, &text, &error))?
        }
    };
    for (line, value) in values {
        objects.add(value).map_err(|problem| {
            let unknown = unknown(path, Some(&text)).at_line(line);
            problem.map_or(unknown, |problem| ImportError::new(path.display(), problem).at_line(line))
        })?;
    }
    Ok(())
}

fn not_json(path: &Path, text: &str, error: &serde_json::Error) -> ImportError {
    if text.trim_start().starts_with(['{', '[']) {
        return invalid_json(path, error)
            .with_hint("export the eval again: it is JSON, or JSONL with an object a line");
    }
    unknown(path, Some(text))
}

fn unknown(path: &Path, text: Option<&str>) -> ImportError {
    let is_promptfoo = text.is_some_and(|text| text.contains("providers") && text.contains("prompts"));
    let hint = if is_promptfoo {
        format!("this is a config of promptfoo: `karat import promptfoo {}`", path.display())
    } else {
        "export the eval with its runs and output items by the API, or the results of a run as JSONL in the dashboard"
            .to_owned()
    };
    let problem = "holds no eval: expected an object `eval`, `eval.run` or `eval.run.output_item` of the API, `{eval, rows, \
                   runs}`, or lines with `run_id`, `data_source_idx`, `item` and `grades`";
    ImportError::new(path.display(), problem).with_hint(hint)
}

/// Rows of the folder `files` beside the objects.
fn read_row_files(source: &Source, objects: &mut Objects) -> Result<(), ImportError> {
    let folder = if source.path().is_dir() { source.path() } else { source.path().parent().unwrap_or(Path::new("")) };
    let folder = folder.join(ROWS);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = &source.beneath(source.path(), &format!("{ROWS}/{name}"))?;
        let text = source.text(path)?;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row = json::parse(line).map_err(|error| {
                ImportError::new(path.display(), format!("is not valid JSON: {error}")).at_line(index + 1)
            })?;
            objects.files.push(row);
        }
    }
    Ok(())
}
