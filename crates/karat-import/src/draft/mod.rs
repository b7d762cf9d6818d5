//! Writes the files of the suite.
//!
//! `suite` holds the keys of `karat.yaml`; this file writes it, and the files beside it.

mod suite;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use karat_text::redact::{Kind, Redactor};
use karat_types::json::Native;
use serde_json::{Value, json};

use crate::draft::suite::{REGISTRY, Suite};
use crate::error::ImportError;
use crate::report::ImportReport;
use crate::text::escape::literal;

/// The suite in the making.
pub(crate) struct Draft<'a> {
    folder: &'a Path,
    pub suite: Suite,
    pub report: ImportReport,
    /// Finds keys of providers that stand in texts of the source.
    keys: Option<Redactor>,
}

impl<'a> Draft<'a> {
    pub fn new(folder: &'a Path, report: ImportReport) -> Self {
        // It fails for patterns of one's own alone, and there are none.
        let keys = Redactor::new([Kind::ApiKey], []).ok();
        Self { folder, suite: Suite::default(), report, keys }
    }

    /// Writes a text file at a path relative to the suite. Keys of providers are left out.
    pub fn write(&self, path: &str, text: &str) -> Result<(), ImportError> {
        let path = self.place(path)?;
        let text = self.keys.as_ref().map_or(Cow::Borrowed(text), |keys| keys.text(text));
        fs::write(&path, &*text).map_err(|error| ImportError::writing(&path, &error))
    }

    /// Opens a JSONL file at a path relative to the suite; rows are streamed to disk.
    pub fn rows(&self, path: &str) -> Result<Rows, ImportError> {
        let path = self.place(path)?;
        let file = File::create(&path).map_err(|error| ImportError::writing(&path, &error))?;
        Ok(Rows { path, out: BufWriter::new(file) })
    }

    /// Says that the source names no model, and a run needs one.
    pub fn name_no_model(&mut self, why: &str) {
        self.report.lacks_model = true;
        self.report
            .note("models", format!("{why}; name one under `models` or with `--models`: until then no run begins"));
    }

    /// Writes a rubric with its prompts, and returns its path.
    pub fn write_rubric(&self, rubric: &RubricFile<'_>) -> Result<String, ImportError> {
        let RubricFile { id, ask, user, show, dimensions } = rubric;
        let content = json!({
            "schema": "karat.rubric/1",
            "id": id,
            "ask": ask,
            "show": show,
            "dimensions": dimensions,
            "prompt": {"system": format!("{id}-system.md"), "user": format!("{id}-user.md")},
        });
        let path = format!("rubrics/{id}.yaml");
        let yaml = serde_saphyr::to_string(&Native(&content))
            .map_err(|error| ImportError::new(&path, format!("cannot be made: {error}")))?;
        self.write(&path, &yaml)?;
        self.write(&format!("rubrics/{id}-system.md"), "{{ ask }}\n\n{{ dimensions }}\n{{ format }}\n")?;
        self.write(&format!("rubrics/{id}-user.md"), &format!("{}\n\n{{{{ sections }}}}\n", literal(user)))?;
        Ok(path)
    }

    fn place(&self, path: &str) -> Result<PathBuf, ImportError> {
        let path = self.folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| ImportError::writing(parent, &error))?;
        }
        Ok(path)
    }

    /// Writes `karat.yaml`, `import.json` and `import.md`.
    pub fn finish(mut self) -> Result<ImportReport, ImportError> {
        let mut suite = self.suite.to_value();
        self.keys.iter().for_each(|keys| keys.value(&mut suite));
        if suite != self.suite.to_value() {
            let name = self.report.source.name.clone();
            self.report.note(name, "holds a key of a provider; `[api_key]` stands in its place");
        }
        self.report.counts.dropped = self.report.dropped.len() as u64;
        self.report.counts.approximate = self.report.approximate.len() as u64;
        let unwritable =
            |error: &dyn std::fmt::Display| ImportError::new("karat.yaml", format!("cannot be made: {error}"));
        let yaml = serde_saphyr::to_string(&Native(&suite)).map_err(|error| unwritable(&error))?;
        let json = serde_json::to_string_pretty(&self.report).map_err(|error| unwritable(&error))?;
        if !self.suite.registry.is_empty() {
            let mut registry = json!({"schema": "karat.models/1", "models": self.suite.registry});
            self.keys.iter().for_each(|keys| keys.value(&mut registry));
            self.write(REGISTRY, &serde_saphyr::to_string(&Native(&registry)).map_err(|error| unwritable(&error))?)?;
        }
        self.write("karat.yaml", &yaml)?;
        self.write("import.json", &format!("{json}\n"))?;
        self.write("import.md", &self.report.to_markdown())?;
        Ok(self.report)
    }
}

/// A rubric with a prompt of its own.
pub(crate) struct RubricFile<'a> {
    pub id: &'a str,
    /// The message of the system.
    pub ask: &'a str,
    /// The message of the user, which stands before the sections.
    pub user: &'a str,
    pub show: Value,
    pub dimensions: Value,
}

/// A JSONL file that is being written.
pub(crate) struct Rows {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Rows {
    pub fn push(&mut self, row: &Value) -> Result<(), ImportError> {
        writeln!(self.out, "{row}").map_err(|error| ImportError::writing(&self.path, &error))
    }

    /// Ends the file. A file that is only dropped may lack its last rows.
    pub fn finish(mut self) -> Result<(), ImportError> {
        self.out.flush().map_err(|error| ImportError::writing(&self.path, &error))
    }
}
