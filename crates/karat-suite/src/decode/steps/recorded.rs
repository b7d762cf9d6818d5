//! Decoding of recorded steps, and of files whose rows are joined with samples.

use karat_text::path::Path;
use karat_types::{FilePath, MissingOutput, RecordedSpec, UnreadableOutput};
use serde_json::Value;

use super::{Position, column_name};
use crate::decode::{Decoder, word_at};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::nearest::suggestion;
use crate::files::jsonl::{self, RowsById};
use crate::files::{RowPath, join};
use crate::syntax::names;
use crate::syntax::node::Node;

/// A file whose rows are joined with samples, or a file for each sample.
pub(in crate::decode) struct JoinedFile {
    /// Template of its path, relative to the working directory or absolute.
    pub from: String,
    /// Template of a row's id; `None` if each file belongs to one sample as a whole.
    pub by: Option<String>,
    /// Its path, if that is the same for every cell.
    fixed: Option<String>,
    /// The names that both templates read.
    pub reads: Vec<String>,
}

impl Decoder<'_> {
    pub(super) fn recorded_step(&mut self, node: &Node, reads: &mut Vec<String>) -> Option<RecordedSpec> {
        let missing = word_at::<MissingOutput>(node, "missing").unwrap_or_default();
        let broken = word_at::<UnreadableOutput>(node, "broken").unwrap_or_default();
        let column = node.text_of("column").map(str::to_owned);
        let error = node.text_of("error").map(str::to_owned);
        let Some(from) = node.main("from") else {
            let Some(column) = column else {
                self.problems.error(&node.place, "a recorded step needs `from` or `column`");
                return None;
            };
            for (key, use_of_file) in
                [("by", "it finds a row in that file"), ("trial", "it finds a row for each trial in that file")]
            {
                if let Some(given) = node.field(key) {
                    self.problems.error(&given.place, format!("`{key}` needs `from`: {use_of_file}"));
                }
            }
            if let Some(at) = node.field("column") {
                self.require_match(at);
            }
            reads.push(column_name(&column));
            reads.extend(error.as_deref().map(column_name));
            return Some(RecordedSpec::Column { column, missing, broken, error });
        };
        let file = self.joined_file(from, node.field("by"), names::ROW)?;
        self.require_rows(node, &file, &["error", "trial"]);
        if let Some(trial) = node.field("trial") {
            self.match_row_path(&file, trial);
        }
        reads.extend(file.reads);
        let trial = node.text_of("trial").map(str::to_owned);
        Some(RecordedSpec::File { from: file.from, by: file.by, column, missing, broken, error, trial })
    }

    /// The file whose rows are joined with samples; its content becomes a part of the plan's identity.
    pub(in crate::decode) fn joined_file(
        &mut self,
        from: &Node,
        by: Option<&Node>,
        roots: &[&str],
    ) -> Option<JoinedFile> {
        let template = self.row_path(from)?;
        let compiled = RowPath::compile(&template).ok()?;
        let text = from.text().unwrap_or_default();
        names::check(compiled.reads(), text, &from.place, roots, &mut self.pending, &mut self.problems);
        let mut reads = compiled.reads().to_vec();
        let start = Position { index: 0, has_output: true, is_after_text: false, is_chunked: false };
        let of_sample = |name: &String| ["sample", "input", "reference"].iter().any(|root| names::is_under(name, root));
        let by = match by {
            Some(by) => Some(self.template(by, roots, start, &mut reads)?),
            None if reads.iter().any(of_sample) => None,
            None => {
                reads.push("sample.id".to_owned());
                Some("{{ sample.id }}".to_owned())
            }
        };
        let (identity, fixed) = match compiled.reads().is_empty() {
            true => (self.recording(from, by.is_some())?, self.path(from)),
            false => {
                self.fixed_folder(from, compiled.folder())?;
                (text.to_owned(), None)
            }
        };
        self.recordings.insert(template.clone(), identity);
        Some(JoinedFile { from: template, by, fixed, reads })
    }

    /// Reports keys that are about rows where each file is one document.
    pub(in crate::decode) fn require_rows(&mut self, node: &Node, file: &JoinedFile, keys: &[&str]) {
        for (key, given) in keys.iter().filter_map(|key| Some((key, node.field(key)?))).filter(|_| file.by.is_none()) {
            self.problems
                .error(&given.place, format!("`{key}` is read from a row, but here each file is one whole document"))
                .hint(format!("add `by: \"{{{{ sample.id }}}}\"` if the file has rows, or remove `{key}`"));
        }
    }

    /// Demands that a path matches at least one row of a file that is the same for every cell.
    pub(in crate::decode) fn match_row_path(&mut self, file: &JoinedFile, node: &Node) {
        let Some(fixed) = file.fixed.as_ref().filter(|_| file.by.is_some()) else { return };
        let Some((written, path)) = node.text().and_then(|text| Some((text, Path::parse(text).ok()?))) else { return };
        // A folder has a file for each row, which is read when its sample is.
        let Some(text) = self.files.read(fixed).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else { return };
        // What cannot be read is told already.
        let rows: Vec<Value> = match RowsById::read(fixed, &text) {
            Ok(RowsById::Lines(rows)) => rows.into_iter().map(|(_, _, row)| row).collect(),
            Ok(RowsById::Members(rows)) => rows.into_iter().map(|(_, row)| row).collect(),
            Ok(RowsById::Single) => jsonl::parse_strict(&text).into_iter().collect(),
            Err(_) => return,
        };
        let keys: Vec<String> = match rows.first() {
            Some(Value::Object(first)) => first.keys().cloned().collect(),
            _ => return,
        };
        if !rows.iter().any(|row| path.first(row).is_some()) {
            let message = format!("no row of {fixed} has a value at `{written}`");
            let name = written.trim_start_matches("$.");
            let hint = suggestion(name, keys.iter().map(String::as_str));
            self.problems.error(&node.place, message).maybe_hint(hint);
        }
    }

    /// The identity of a recording in one file or folder: its content. `missing` is about single outputs: if the
    /// whole recording is absent, the path is wrong. A file of rows must be readable as a whole, or a row that is there would
    /// count as absent.
    fn recording(&mut self, from: &Node, has_rows: bool) -> Option<String> {
        let path = self.path(from)?;
        match self.files.read(&path) {
            Ok(bytes) => {
                let digest = blake3::hash(&bytes).to_hex().to_string();
                let problems = match String::from_utf8(bytes) {
                    _ if !has_rows => Vec::new(),
                    Ok(text) => RowsById::read(&path, &text).err().unwrap_or_default(),
                    Err(broken) => {
                        let text = &broken.as_bytes()[..broken.utf8_error().valid_up_to()];
                        let line = text.iter().filter(|byte| **byte == b'\n').count() + 1;
                        vec![Diagnostic::of_line(&path, line, "", 0..0, "this line is not UTF-8 text")]
                    }
                };
                for mut problem in problems {
                    problem.hint("rows are JSON lines, a JSON list, or a JSON object of rows by id: correct the file");
                    self.problems.push(problem);
                }
                Some(digest)
            }
            Err(_) if self.files.list(&path).is_ok() => Some(self.folder_digest(&path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.no_recording(from, &format!("there is no file or folder {path}"), &path);
                None
            }
            Err(error) => {
                self.unreadable(from, &path, &error);
                None
            }
        }
    }

    /// Reports a missing folder of per-row files, if its path is the same for every row.
    fn fixed_folder(&mut self, from: &Node, folder: &str) -> Option<()> {
        if self.files.list(folder).is_ok() {
            return Some(());
        }
        self.no_recording(from, &format!("there is no file or folder {folder}"), folder);
        None
    }

    fn no_recording(&mut self, from: &Node, what: &str, path: &str) {
        let near = self.nearest_file(path);
        self.problems
            .error(&from.place, format!("{what}, so every output of this step would be missing"))
            .hint("create it, or correct the path; `missing` only covers single outputs")
            .maybe_hint(near);
    }

    /// Hash over the names and contents of a folder's files, and of those in folders directly below it. That a file
    /// cannot be read is the error of the sample that wants it.
    fn folder_digest(&self, path: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |name: &str, bytes: &[u8]| {
            for part in [name.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        };
        let read = |name: &str| self.files.read_path(&FilePath::beneath(path, name));
        for name in self.children(path) {
            match read(&name) {
                Ok(bytes) => add(&name, &bytes),
                Err(_) => {
                    for inner in self.children(&join(path, &name)) {
                        let below = format!("{name}/{inner}");
                        add(&below, &read(&below).unwrap_or_default());
                    }
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The sorted names of the entries of a folder; none where it is none.
    fn children(&self, path: &str) -> Vec<String> {
        let mut names = self.files.list(path).unwrap_or_default();
        names.sort_unstable();
        names
    }
}
