//! Makes suites of other tools' files: all of it, or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use karat_import::{Figure, ImportKind, ImportReport};

use crate::error::{FileError, ImportError};
use crate::imports::Imports;
use crate::stored::findings::findings;
use crate::{AppError, Invocation};

/// Name of the suite file in its folder.
const SUITE_FILE: &str = "karat.yaml";

/// Difference to which a figure comes out the same: rounding of sums in another order.
const TOLERANCE: f64 = 1e-9;

/// A suite made of another tool's file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSuite {
    /// The suite file.
    pub suite: PathBuf,
    /// Counts, what is not carried over, figures of the source.
    pub report: ImportReport,
}

/// The comparison of a source's figures with a run's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FigureCheck {
    /// Number of figures that come out the same.
    pub same: usize,
    /// The others.
    pub differing: Vec<DifferingFigure>,
}

/// A figure that comes out differently.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferingFigure {
    /// The source's figure.
    pub source: Figure,
    /// The run's; `None` if nothing has a score.
    pub here: Option<f64>,
}

impl Imports<'_> {
    /// Makes a suite of a file in `folder`, and checks that it loads. Until then everything lies in a hidden folder
    /// beside it, which is removed on an error. Files that the file names are read below `root`.
    ///
    /// # Errors
    /// A file that is not what `kind` names; a folder that already has a suite, or a file of the suite's.
    pub fn suite(
        &self,
        kind: ImportKind,
        file: &Path,
        root: Option<&Path>,
        folder: &Path,
    ) -> Result<ImportedSuite, AppError> {
        let suite = folder.join(SUITE_FILE);
        if suite.exists() {
            return Err(ImportError::Exists { path: suite.display().to_string() }.into());
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = MadeFolders::create(parent)?;
        let unwritable = |error: std::io::Error| FileError::writing(folder, error);
        let stage = tempfile::Builder::new().prefix(".import-").tempdir_in(parent).map_err(unwritable)?;
        // The stage itself is private to its owner, and the suite's folder is not.
        let inside = stage.path().join("suite");
        fs::create_dir(&inside).map_err(unwritable)?;
        let report = karat_import::import(kind, file, root, &inside)?;
        let staged = inside.join(SUITE_FILE).display().to_string();
        self.app.project().validate(&Invocation::of(staged)).map_err(|error| {
            // The folder with the files is gone when this is read.
            let stage = format!("{}/", inside.display());
            let problems = error.to_string().replace(&stage, "");
            ImportError::UnusableSuite { file: file.display().to_string(), problems }
        })?;
        match folder.exists() {
            true => move_files(&inside, folder)?,
            // The folder appears whole.
            false => fs::rename(&inside, folder).map_err(unwritable)?,
        }
        made.keep();
        Ok(ImportedSuite { suite, report })
    }

    /// Compares the figures of an imported source with those of a run of its suite.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn check_figures(&self, figures: &[Figure], run: &str) -> Result<FigureCheck, AppError> {
        let findings = findings(&self.app.stored().run(run)?)?;
        let value = |figure: &Figure| {
            let group = findings.systems.iter().find(|it| it.variant.as_ref() == Some(&figure.variant))?;
            let metric = findings.plan.metrics.iter().position(|metric| metric.name == figure.metric)?;
            group.metrics.get(metric)?.value()
        };
        let mut check = FigureCheck::default();
        for figure in figures {
            let here = value(figure);
            match here {
                Some(here) if (here - figure.value).abs() <= TOLERANCE * figure.value.abs().max(1.0) => check.same += 1,
                here => check.differing.push(DifferingFigure { source: figure.clone(), here }),
            }
        }
        Ok(check)
    }
}

/// Folders that were made on the way; removed again, as far as they are empty, unless they are kept.
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn create(folder: &Path) -> Result<Self, AppError> {
        let missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
            .map(Path::to_owned)
            .collect();
        fs::create_dir_all(folder).map_err(|error| FileError::writing(folder, error))?;
        Ok(Self(missing))
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // Another program may have put a file there meanwhile.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Moves all files to the folder, which may hold others. On an error, what was moved is removed again.
fn move_files(stage: &Path, folder: &Path) -> Result<(), AppError> {
    let unwritable = |error: std::io::Error| FileError::writing(folder, error);
    let entries = fs::read_dir(stage).map_err(unwritable)?.collect::<Result<Vec<_>, _>>().map_err(unwritable)?;
    if let Some(entry) = entries.iter().find(|entry| folder.join(entry.file_name()).exists()) {
        return Err(ImportError::Exists { path: folder.join(entry.file_name()).display().to_string() }.into());
    }
    let made = MadeFolders::create(folder)?;
    let mut moved: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let target = folder.join(entry.file_name());
        if let Err(error) = fs::rename(entry.path(), &target) {
            for path in moved {
                let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            }
            return Err(FileError::writing(&target, error).into());
        }
        moved.push(target);
    }
    made.keep();
    Ok(())
}
