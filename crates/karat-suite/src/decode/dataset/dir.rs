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
            "files": { "type": "string", "description": "Pattern of the file names, such as `{date}-card.json`: `{name}` becomes a column, `*` matches anything." },
            "as": { "enum": names, "description": "Reader of the files. Default: by extension." },
            "columns": { "type": "object", "additionalProperties": { "type": "string" }, "description": "For `as: json`: name of each column to path in the document. Default: the document's members." },
            "bullets": { "description": "Prefixes of lines that are headlines.", "default": ["- "], "type": "array", "items": { "type": "string" } },
            "own_hosts": { "description": "Hosts of the publication itself: links to them do not count as sources.", "type": "array", "items": { "type": "string" } },
            "more": { "description": "More folders. If several contain the same row, the first folder wins.", "type": "array", "items": texts["items"] },
        },
    })
}

impl Decoder<'_> {
    /// Returns whether a path leads to a folder.
    pub fn is_folder(&self, path: &str) -> bool {
        !self.files.is_file(path) && self.files.list(path).is_ok()
    }

    /// A folder of files.
    pub fn dir(&mut self, node: &Node, source: &Node, path: &str) -> Option<(Source, Digests)> {
        let Some(with) = node.field("with") else {
            self.problems
                .error(&source.place, "a folder needs `with: { files: … }`")
                .hint("name the files: `with: { files: \"{id}.json\" }`");
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
                self.problems.error(&named.place, format!("invalid pattern: {problem}"));
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
                .error(&named.place, format!("no file in {path} matches `{}`", named.text().unwrap_or_default()))
                .hint("`{name}` becomes a column, `{date}` matches YYYY-MM-DD, `*` matches anything");
            return None;
        }
        let digest = self.dir_digest(source, path, &files);
        let id = node.text_of("id").map(|id| id.trim_start_matches("$.").to_owned());
        let id = id.filter(|id| pattern.columns().any(|column| column == id));
        Some((Source::Dir(Dir { files: Arc::new(files), reader, rules: Arc::new(rules), id }), vec![digest].into()))
    }

    fn reader(&mut self, with: &Node, named: &Node) -> Option<Reader> {
        if let Some(name) = with.text_of("as") {
            return Reader::from_name(name);
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
            self.problems
                .error(&named.place, "the format of these files is not clear from their extension")
                .maybe_hint(
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
                    self.problems.error(&entry.node.place, format!("this is not a path: {}", error.problem));
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
                self.problems.notice(
                    &node.place,
                    format!("{skipped} folders in {folder} contain no matching file and are skipped"),
                );
            }
            if !found.undated.is_empty() {
                let names = list_names(&found.undated);
                self.problems
                    .warn(&node.place, format!("skipped in {folder}, because the date does not exist: {names}"))
                    .hint("write dates as YYYY-MM-DD");
            }
            if !found.unfit.is_empty() {
                let names = list_names(&found.unfit);
                self.problems
                    .warn(
                        &node.place,
                        format!("skipped in {folder}, because the pattern `files` does not match: {names}"),
                    )
                    .hint("rename them, or widen the pattern: `*` matches any characters, or none");
            }
            if !found.folders.is_empty() {
                let names = list_names(&found.folders);
                self.problems.warn(&node.place, format!("skipped in {folder}, because they are folders: {names}"));
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
                    format!("skipped in {folder}, because another file is the same row: {}", list_names(&twice));
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

/// Their number, and the first few by name.
fn list_names(names: &[String]) -> String {
    let files = if names.len() == 1 { "file" } else { "files" };
    let more = if names.len() > NAMED { ", …" } else { "" };
    let named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    format!("{} {files} ({}{more})", names.len(), named.join(", "))
}
