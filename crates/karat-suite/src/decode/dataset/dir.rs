//! `format: dir`: a folder of files, a file a row.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use karat_text::path::Path;
use karat_types::SourceDigest;
use serde_json::{Value, json};

use super::digests::Digests;
use crate::check::options;
use crate::dataset::Source;
use crate::dataset::source::dir;
use crate::dataset::source::dir::{Dir, Pattern, RowFile};
use crate::dataset::source::readers::{Reader, ReaderRules};
use crate::decode::Decoder;
use crate::decode::dataset::shown_name;
use crate::diagnostics::nearest::suggestion;
use crate::syntax::node::Node;

/// Files that a warning names.
const NAMED: usize = 5;

/// The options of `format: dir`, as JSON Schema.
pub fn dir_options() -> Value {
    let names: Vec<&str> = Reader::NAMES.iter().map(|(name, _)| *name).collect();
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["files"],
        "properties": {
            "files": { "type": "string", "description": "Names of the files: `{date}-card.json`; `{name}` binds a column, `*` is anything." },
            "as": { "enum": names, "description": "How a file is read; by its extension without it." },
            "columns": { "type": "object", "additionalProperties": { "type": "string" }, "description": "With `as: json`: columns by path into the document; its members without it." },
            "bullets": { "description": "How a line begins that is a headline.", "default": ["- "], "type": "array", "items": { "type": "string" } },
            "own_hosts": { "description": "Hosts of the publication itself: links to them are no sources.", "type": "array", "items": { "type": "string" } },
            "more": { "description": "More folders, searched after `source`: the first that has a row wins.", "type": "array", "items": texts["items"] },
        },
    })
}

impl Decoder<'_> {
    /// Whether a path leads to a folder.
    pub fn is_folder(&self, path: &str) -> bool {
        !self.files.is_file(path) && self.files.list(path).is_ok()
    }

    /// A folder of files.
    pub fn dir(&mut self, node: &Node, source: &Node, path: &str) -> Option<(Source, Digests)> {
        let Some(with) = node.field("with") else {
            self.problems
                .error(&source.place, "a folder needs `with: { files: … }`")
                .hint("say which files are rows: with: { files: \"{id}.json\" }");
            return None;
        };
        let before = self.problems.errors();
        options::check(with, &dir_options(), &mut self.problems);
        if self.problems.errors() > before {
            return None;
        }
        let named = with.field("files")?;
        let pattern = match Pattern::parse(named.text()?) {
            Ok(pattern) => pattern,
            Err(problem) => {
                self.problems.error(&named.place, format!("this pattern cannot be read: {problem}"));
                return None;
            }
        };
        let reader = self.reader(with, named)?;
        let rules = self.rules(with);
        let mut folders = vec![(source, path.to_owned())];
        for more in with.field("more").map(Node::items).unwrap_or_default() {
            folders.push((more, self.path(more)?));
        }
        let files = self.files_in(&folders, &pattern)?;
        if files.is_empty() {
            self.problems
                .error(&named.place, format!("no file in {path} fits `{}`", named.text().unwrap_or_default()))
                .hint("`{name}` binds a column, `{date}` is YYYY-MM-DD, `*` is anything");
            return None;
        }
        let digest = self.dir_digest(source, path, &files);
        let id = node.text_of("id").map(|id| id.trim_start_matches("$.").to_owned());
        let id = id.filter(|id| pattern.columns().any(|column| column == id));
        Some((Source::Dir(Dir { files: Arc::new(files), reader, rules: Arc::new(rules), id }), vec![digest].into()))
    }

    fn reader(&mut self, with: &Node, named: &Node) -> Option<Reader> {
        if let Some(name) = with.text_of("as") {
            return Reader::named(name);
        }
        let extension = named.text()?.rsplit_once('.').map_or("", |(_, extension)| extension);
        let reader = match extension {
            "json" => Some(Reader::Json),
            "txt" => Some(Reader::Text),
            "md" | "markdown" => Some(Reader::Markdown),
            "html" | "htm" => Some(Reader::Html),
            _ => None,
        };
        if reader.is_none() {
            let names = Reader::NAMES.iter().map(|(name, _)| *name);
            self.problems.error(&named.place, "how these files are read cannot be told from their names").maybe_hint(
                suggestion("as", names.clone())
                    .or_else(|| Some(format!("add `as:` {}", names.collect::<Vec<_>>().join(", ")))),
            );
        }
        reader
    }

    fn rules(&mut self, with: &Node) -> ReaderRules {
        let texts = |key: &str| with.field(key).map(Node::texts);
        let columns = with.field("columns").map(Node::entries).unwrap_or_default();
        let mut paths = Vec::new();
        for entry in columns {
            match entry.node.text().map(Path::parse) {
                Some(Ok(path)) => paths.push((entry.key.clone(), path)),
                Some(Err(error)) => {
                    self.problems.error(&entry.node.place, format!("this is no path: {}", error.problem));
                }
                None => {}
            }
        }
        ReaderRules {
            bullets: texts("bullets").unwrap_or_else(|| vec!["- ".to_owned()]),
            own_hosts: texts("own_hosts").unwrap_or_default(),
            columns: paths,
        }
    }

    /// The files of all folders in the order of their names; of two that are the same row, the first. What is left out
    /// is said.
    fn files_in(&mut self, folders: &[(&Node, String)], pattern: &Pattern) -> Option<Vec<RowFile>> {
        let (mut all, mut used) = (Vec::new(), BTreeMap::new());
        for (node, folder) in folders {
            let found = match dir::find(&*self.files.clone(), folder, pattern) {
                Ok(found) => found,
                Err(error) => {
                    self.problems.error(&node.place, format!("the folder {folder} cannot be listed: {error}"));
                    return None;
                }
            };
            if found.empty_folders > 0 {
                let skipped = found.empty_folders;
                self.problems
                    .notice(&node.place, format!("{skipped} folders in {folder} hold no such file and are left out"));
            }
            if !found.undated.is_empty() {
                let names = list_names(&found.undated);
                self.problems
                    .warn(&node.place, format!("no calendar knows the date of {names} in {folder}: left out"))
                    .hint("a date is written YYYY-MM-DD");
            }
            if !found.unfit.is_empty() {
                let names = list_names(&found.unfit);
                self.problems
                    .warn(&node.place, format!("the pattern `files` does not fit {names} in {folder}: left out"))
                    .hint("rename them, or widen the pattern: `*` stands for anything, nothing included");
            }
            if !found.folders.is_empty() {
                let names = list_names(&found.folders);
                self.problems
                    .warn(&node.place, format!("{names} in {folder}: a folder, where a file should be: left out"));
            }
            let mut twice = Vec::new();
            for file in found.files {
                match used.entry(file.identity()) {
                    Entry::Occupied(first) => twice.push(format!("{}: {} is used", file.path.path, first.get())),
                    Entry::Vacant(free) => {
                        free.insert(file.path.to_string());
                        all.push(file);
                    }
                }
            }
            if !twice.is_empty() {
                let message =
                    format!("left out of {folder}, because another file is the same row: {}", list_names(&twice));
                self.problems.warn(&node.place, message);
            }
        }
        if folders.len() > 1 {
            all.sort_by(|one, other| one.path.path.cmp(&other.path.path));
        }
        Some(all)
    }

    /// One digest for all files: their names below the folder and their contents. That a file cannot be read is the
    /// error of its row.
    fn dir_digest(&mut self, source: &Node, path: &str, files: &[RowFile]) -> SourceDigest {
        let mut hasher = blake3::Hasher::new();
        let mut total = 0;
        for file in files {
            let bytes = self.files.read_path(&file.path).unwrap_or_default();
            for part in [file.path.path.as_bytes(), &bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
            total += bytes.len() as u64;
        }
        SourceDigest {
            path: shown_name(source, path).to_owned(),
            blake3: hasher.finalize().to_hex().to_string(),
            bytes: total,
        }
    }
}

/// How many there are, and the first few by name.
fn list_names(names: &[String]) -> String {
    let files = if names.len() == 1 { "file" } else { "files" };
    let more = if names.len() > NAMED { ", …" } else { "" };
    let named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    format!("{} {files} ({}{more})", names.len(), named.join(", "))
}
