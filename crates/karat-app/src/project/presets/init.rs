//! Writes a suite of one's own: a copy of a preset, or a small suite for a task and a provider.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use karat_suite::Files;
use serde_json::Value;

use crate::AppError;
use crate::error::{FileError, Names, SuiteError};
use crate::project::Project;
use crate::project::atomic_file;
use crate::project::presets::starter::StarterRequest;
use crate::project::presets::{SuiteFiles, files_of, names};

impl Project<'_> {
    /// Copies a preset into a folder, which is made if it does not exist. Returns the files, `karat.yaml` first.
    ///
    /// # Errors
    /// An unknown preset; existing files, unless they may be replaced; a folder that cannot be written.
    pub fn init(&self, preset: &str, folder: &Path, replace: bool) -> Result<Vec<PathBuf>, AppError> {
        let files = files_of(preset).ok_or_else(|| unknown_preset(preset))?;
        let files = files.into_iter().map(|(path, content)| (path, content.to_vec())).collect();
        write_files(files, &format!("the preset `{preset}`"), folder, replace)
    }

    /// Copies a preset that has a corpus into a folder, with the rows of a file in the place of its sample corpus: without the
    /// sample's texts, references, labels and baseline, and what the suite says of them. Returns the files, `karat.yaml`
    /// first.
    ///
    /// # Errors
    /// As [`Project::init`]; a preset without a corpus; a file whose rows cannot be read.
    pub fn init_with_corpus(
        &self,
        preset: &str,
        corpus: &Path,
        folder: &Path,
        replace: bool,
    ) -> Result<Vec<PathBuf>, AppError> {
        let files = files_of(preset).ok_or_else(|| unknown_preset(preset))?;
        if !has_corpus(&files) {
            let presets = names().into_iter().filter(|name| files_of(name).is_some_and(|files| has_corpus(&files)));
            let presets = Names::of(presets.collect::<Vec<_>>());
            return Err(SuiteError::NoCorpus { preset: preset.to_owned(), presets }.into());
        }
        let path = corpus.display().to_string();
        let rows = karat_suite::read_rows(&(Arc::new(SuiteFiles) as Arc<dyn Files>), &path);
        let rows = rows.map_err(|error| SuiteError::Corpus { path, problem: error.to_string() })?;
        let rows: Vec<Value> = rows.into_iter().map(Value::Object).collect();
        let rows = format!("{:#}\n", Value::Array(rows)).into_bytes();
        let is_sample = |path: &Path| path.starts_with("data") || path == Path::new("baseline.json");
        let kept = files.into_iter().filter(|(path, _)| !is_sample(path)).map(|(path, content)| {
            let is_text = path == Path::new("karat.yaml") || is_ignore_file(&path);
            let content = if is_text { without_sample(content) } else { content.to_vec() };
            (path, content)
        });
        let own = [(CORPUS, rows), ("data/golden.json", b"[]\n".to_vec())];
        let empty = ["data/transcripts/.gitkeep", "data/manual/.gitkeep"].map(|path| (path, Vec::new()));
        let own = own.into_iter().chain(empty).map(|(path, content)| (PathBuf::from(path), content));
        write_files(kept.chain(own).collect(), &format!("the preset `{preset}`"), folder, replace)
    }

    /// Writes the suite for a task into a folder, which is made if it does not exist. Returns the files, `karat.yaml`
    /// first.
    ///
    /// # Errors
    /// An unknown task or provider; existing files, unless they may be replaced; a folder that cannot be written.
    pub fn init_starter(
        &self,
        starter: &StarterRequest,
        folder: &Path,
        replace: bool,
    ) -> Result<Vec<PathBuf>, AppError> {
        write_files(starter.files()?, &format!("the suite `{}`", starter.task), folder, replace)
    }
}

/// The file of a preset's corpus.
const CORPUS: &str = "data/corpus.json";

/// Ends of the lines of a preset that speak of its sample corpus, and of those that need labels.
const OF_SAMPLE: &str = "# of the sample corpus";
const WHERE_LABELLED: &str = "# where people have labelled";

fn has_corpus(files: &[(PathBuf, &'static [u8])]) -> bool {
    files.iter().any(|(path, _)| path == Path::new(CORPUS))
}

/// A text of a preset without the lines about its sample; those that need labels are comments, to be used later.
fn without_sample(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let kept = text.lines().filter(|line| !line.ends_with(OF_SAMPLE) && !line.starts_with("!data/"));
    let kept = kept.map(|line| match line.strip_suffix(WHERE_LABELLED) {
        Some(code) => {
            let indent = code.len() - code.trim_start().len();
            format!("{}# {}  {WHERE_LABELLED}\n", &code[..indent], code.trim())
        }
        None => format!("{line}\n"),
    });
    kept.collect::<String>().into_bytes()
}

fn write_files(
    mut files: Vec<(PathBuf, Vec<u8>)>,
    what: &str,
    folder: &Path,
    replace: bool,
) -> Result<Vec<PathBuf>, AppError> {
    files.sort_by_key(|(path, _)| (path != Path::new("karat.yaml"), path.clone()));
    let present: Vec<String> = files
        .iter()
        .map(|(path, _)| folder.join(path))
        .filter(|path| path.exists() && !is_ignore_file(path))
        .map(|path| path.display().to_string())
        .collect();
    if !present.is_empty() && !replace {
        let shown = present.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = if present.len() > 3 { format!(" and {} more", present.len() - 3) } else { String::new() };
        let files = format!("{shown}{more}");
        return Err(SuiteError::WouldReplace { what: what.to_owned(), files }.into());
    }
    let mut written = Vec::new();
    for (path, content) in files {
        let target = folder.join(path);
        let content = if is_ignore_file(&target) { merge_ignore_lines(&target, &content) } else { content };
        atomic_file::write(&target, &content)
            .map_err(|error| FileError::writing(&target, error).with_hint("name another folder"))?;
        written.push(target);
    }
    Ok(written)
}

fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore")
}

/// The present ignore file with the new lines added.
fn merge_ignore_lines(path: &Path, lines: &[u8]) -> Vec<u8> {
    let Ok(present) = fs::read_to_string(path) else { return lines.to_vec() };
    let lines = String::from_utf8_lossy(lines);
    let new = lines.lines().filter(|line| !present.lines().any(|known| known == *line));
    let gap = if present.is_empty() || present.ends_with('\n') { "" } else { "\n" };
    new.fold(format!("{present}{gap}"), |text, line| text + line + "\n").into_bytes()
}

fn unknown_preset(preset: &str) -> AppError {
    let (presets, preset) = (names(), preset.to_owned());
    match karat_suite::nearest(&preset, presets.iter().copied()).map(str::to_owned) {
        Some(near) => SuiteError::NoPresetNear { preset, near },
        None => SuiteError::NoPreset { preset, presets: Names::of(presets) },
    }
    .into()
}
