//! Files that a config names as `file://PATH`, and code, which is never read.

use std::path::{Path, PathBuf};

use crate::error::ImportError;
use crate::source::Source;
use crate::text::names::valid_id;

/// Endings of programs.
const CODE: [&str; 11] = ["js", "cjs", "mjs", "ts", "cts", "mts", "py", "rb", "go", "sh", "exe"];

/// Names of files that say nothing about their content.
const USUAL_NAMES: [&str; 5] = ["promptfooconfig", "config", "results", "output", "."];

/// The path of a `file://` reference.
pub(super) fn file_name(text: &str) -> Option<&str> {
    text.strip_prefix("file://")
}

/// The ending of a file's name in lower case, without the name of a function behind it (`grade.py:check`, `p.py:Class.method`).
pub(super) fn ending(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let of = |file: &str| file.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let of_program = file.split_once(':').map(|(program, _)| of(program)).filter(|it| CODE.contains(&it.as_str()));
    of_program.unwrap_or_else(|| {
        let ending = of(file);
        ending.split(':').next().unwrap_or_default().to_owned()
    })
}

/// Returns true if a file's name says that it is a program.
pub(super) fn is_code(name: &str) -> bool {
    CODE.contains(&ending(name).as_str())
}

/// The files that a path or a pattern names, relative to `from`, sorted. All lie below the imported file's folder.
///
/// # Errors
/// A file that does not exist or lies outside, or a pattern that nothing matches.
pub(super) fn matching(source: &Source, from: &Path, name: &str) -> Result<Vec<PathBuf>, ImportError> {
    let all_of_folder;
    let name = match name.contains(['*', '?', '[', '{']) {
        true => name,
        false => match source.beneath(from, name)? {
            folder if folder.is_dir() => {
                all_of_folder = format!("{}/*", name.trim_end_matches('/'));
                &all_of_folder
            }
            file => return Ok(vec![file]),
        },
    };
    let folder = if from.is_dir() { from } else { from.parent().unwrap_or(Path::new("")) };
    let pattern = format!("{}/{name}", glob::Pattern::escape(&folder.display().to_string()));
    let pattern = if folder.as_os_str().is_empty() { name.to_owned() } else { pattern };
    let problem = |why: String| ImportError::new(from.display(), format!("names the files `{name}`, {why}"));
    let found = glob::glob(&pattern).map_err(|error| problem(format!("which is not a pattern: {error}")))?;
    let mut files = Vec::new();
    for path in found.flatten().filter(|path| path.is_file()) {
        let relative = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        files.push(source.beneath(from, &relative)?);
    }
    files.sort();
    match files.is_empty() {
        true => {
            Err(problem("but there is none".to_owned()).with_hint("check the pattern; paths are relative to the file"))
        }
        false => Ok(files),
    }
}

/// The name of a file relative to the folder of another.
pub(super) fn relative_name(file: &Path, from: &Path) -> String {
    let base = from.parent().unwrap_or(Path::new(""));
    file.strip_prefix(base).unwrap_or(file).display().to_string()
}

/// The suite's name: that of the file, or of its folder where the file's says nothing.
pub(super) fn suite_name(source: &Source) -> String {
    let stem = source.stem();
    let name = if USUAL_NAMES.contains(&stem.as_str()) { source.folder_name().unwrap_or(stem) } else { stem };
    valid_id(&name, "promptfoo")
}
