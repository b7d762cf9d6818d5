//! A preset becomes a suite of one's own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::preset::{files_of, names};
use crate::{App, AppError};

impl App {
    /// Copies a preset into a folder, which is made where it is not there. Returns the files, `karat.yaml` first.
    ///
    /// # Errors
    /// An unknown preset; files that are there already, unless they may be replaced; a folder that cannot be written.
    pub fn init(&self, preset: &str, folder: &Path, replace: bool) -> Result<Vec<PathBuf>, AppError> {
        let mut files = files_of(preset).ok_or_else(|| unknown(preset))?;
        files.sort_by_key(|(path, _)| (path != Path::new("karat.yaml"), path.clone()));
        let present: Vec<String> = files
            .iter()
            .map(|(path, _)| folder.join(path))
            .filter(|path| path.exists())
            .map(|path| path.display().to_string())
            .collect();
        if !present.is_empty() && !replace {
            let shown = present.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let more = if present.len() > 3 { format!(" and {} more", present.len() - 3) } else { String::new() };
            return Err(AppError::harness(format!("writing the preset `{preset}`: {shown}{more} would be replaced"))
                .hint("name another folder, or allow it with `--force`"));
        }
        let mut written = Vec::new();
        for (path, content) in files {
            let target = folder.join(path);
            let parent = target.parent().unwrap_or(folder);
            fs::create_dir_all(parent).and_then(|()| fs::write(&target, content)).map_err(|error| {
                AppError::harness(format!("writing {}: {error}", target.display())).hint("name another folder")
            })?;
            written.push(target);
        }
        Ok(written)
    }
}

fn unknown(preset: &str) -> AppError {
    let presets = names();
    let hint = match karat_suite::nearest(preset, presets.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the presets are {}", presets.join(", ")),
    };
    AppError::harness(format!("there is no preset `{preset}`")).hint(hint)
}
