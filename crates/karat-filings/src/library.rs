//! Chunk manifests and tables: the parts that evidence needs.

use karat_text::similar::fold;
use karat_types::FilePath;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::folded_text;
use crate::plain_text;
use crate::speaker::Speaker;
use karat_suite::ResolverFiles;

/// The spaces that candidates are ranked in.
pub(crate) const SPACES: [&str; 3] = ["text", "table", "page"];

/// A place in the filings: each part folded, absent if it is not given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Spot {
    pub doc_type: Option<String>,
    pub quarter: Option<String>,
    pub page: Option<String>,
    pub slide: Option<String>,
    pub table: Option<String>,
}

impl Spot {
    pub fn of(value: &Value) -> Self {
        let part = |key: &str| folded_text(value.get(key)?);
        Self {
            doc_type: part("doc_type"),
            quarter: part("quarter"),
            page: part("page"),
            slide: part("slide"),
            table: part("table_id"),
        }
    }

    /// Returns whether it names no page, slide or table.
    pub fn is_vague(&self) -> bool {
        self.page.is_none() && self.slide.is_none() && self.table.is_none()
    }

    /// Returns whether it is on this spot's page or slide: the same document, and the same place if both name one.
    pub fn shares_page(&self, wanted: &Self) -> bool {
        let located = [(&self.page, &wanted.page), (&self.slide, &wanted.slide)];
        self.is_of(wanted)
            && located.iter().any(|(own, wanted)| own.is_some() && own == wanted)
            && located.iter().all(|(own, wanted)| own.is_none() || wanted.is_none() || own == wanted)
    }

    /// Returns whether it is in this spot's document, if both name one.
    pub fn is_of(&self, wanted: &Self) -> bool {
        let agrees = |own: &Option<String>, wanted: &Option<String>| wanted.is_none() || own == wanted;
        agrees(&self.doc_type, &wanted.doc_type) && agrees(&self.quarter, &wanted.quarter)
    }
}

impl std::fmt::Display for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [
            ("", &self.doc_type),
            ("", &self.quarter),
            ("page ", &self.page),
            ("slide ", &self.slide),
            ("table ", &self.table),
        ];
        let said: Vec<String> =
            words.iter().filter_map(|(word, part)| Some(format!("{word}{}", part.as_ref()?))).collect();
        f.write_str(&said.join(" "))
    }
}

/// A line of a chunk manifest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chunk {
    pub id: String,
    pub space: &'static str,
    pub spot: Spot,
    /// Its words, for quotes.
    pub text: String,
    pub title: Option<String>,
    pub speaker: Option<Value>,
    pub answer_speakers: Vec<Value>,
    /// The manifest line without its text, as candidates for citations are described.
    pub face: Value,
    /// The folder of its document.
    pub document: String,
}

impl Chunk {
    /// Reads a line. A chunk without a space is a table where it names one, a page where it is one, else text.
    fn read(line: &Value, document: &str) -> Option<Self> {
        let text_of = |key: &str| line.get(key).and_then(Value::as_str);
        let id = plain_text(line.get("chunk_id").or_else(|| line.get("id")).filter(|id| !id.is_null())?);
        let spot = Spot::of(line);
        let named = text_of("space").and_then(|space| SPACES.into_iter().find(|known| *known == space));
        let space = named.unwrap_or(if spot.table.is_some() { "table" } else { "text" });
        let answer_speakers = line.get("answer_speakers").and_then(Value::as_array).cloned().unwrap_or_default();
        let face = ["chunk_id", "doc_type", "quarter", "page", "answer_speakers"];
        let face = face.iter().filter_map(|key| Some(((*key).to_owned(), line.get(*key)?.clone()))).collect();
        Some(Self {
            id,
            space,
            spot,
            text: words(text_of("text").unwrap_or_default()),
            title: text_of("title").map(fold),
            speaker: line.get("speaker").filter(|speaker| !speaker.is_null()).cloned(),
            answer_speakers,
            face: Value::Object(face),
            document: document.to_owned(),
        })
    }

    /// Its speakers, including those who answer.
    pub fn speakers(&self) -> impl Iterator<Item = &Value> {
        self.speaker.iter().chain(&self.answer_speakers)
    }
}

/// A table of a document.
pub(crate) struct Table {
    /// The folder of its document.
    pub document: String,
    pub content: Value,
}

/// The first part of a table that is not what numbers are read from.
fn unreadable_part(table: &Value) -> Option<String> {
    let is_list = |of: &Value, key: &str| of.get(key).is_some_and(Value::is_array);
    if !table.is_object() {
        return Some("it is not an object".to_owned());
    }
    if let Some(key) = ["columns", "rows"].into_iter().find(|key| !is_list(table, key)) {
        return Some(format!("`{key}` is not a list"));
    }
    let rows = table.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let row = rows.iter().position(|row| !is_list(row, "values"))?;
    Some(format!("`rows[{row}].values` is not a list"))
}

/// A text without case and punctuation, for comparing quotes.
pub(crate) fn words(text: &str) -> String {
    let bare =
        |word: &str| -> String { word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let words: Vec<String> = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// All chunks and tables.
#[derive(Default)]
pub(crate) struct Library {
    pub chunks: Vec<Chunk>,
    /// Ids that occur several times in one space with different places or texts.
    pub disputed: FxHashSet<String>,
    /// By folded id; several documents may use the same id.
    pub tables: FxHashMap<String, Vec<Table>>,
    /// Everybody who speaks in any chunk, each once.
    pub speakers: Vec<Value>,
}

impl Library {
    /// Reads everything beneath the two folders, if they are given. A folder without any such file is a
    /// problem: most likely it is the wrong one.
    pub fn read(chunks: Option<&str>, tables: Option<&str>, files: &mut ResolverFiles<'_>) -> Self {
        let mut library = Self::default();
        if let Some(folder) = chunks {
            library.manifests(folder, files);
            library.dispute();
        }
        if let Some(folder) = tables {
            library.all_tables(folder, files);
        }
        library
    }

    /// Returns whether a person with this folded name speaks, or is named, in any chunk.
    pub fn knows(&self, name: &str) -> bool {
        let said = words(name);
        self.speakers.iter().filter_map(Speaker::read).any(|speaker| speaker.name == name)
            || self.chunks.iter().any(|chunk| chunk.text.contains(&said))
    }

    /// Finds the ids that say different things.
    fn dispute(&mut self) {
        let mut first: FxHashMap<(&str, &str), &Chunk> = FxHashMap::default();
        for chunk in &self.chunks {
            let known = first.entry((chunk.space, &chunk.id)).or_insert(chunk);
            if (&known.spot, &known.text) != (&chunk.spot, &chunk.text) {
                self.disputed.insert(chunk.id.clone());
            }
        }
    }

    fn manifests(&mut self, folder: &str, files: &mut ResolverFiles<'_>) {
        let before = files.problems().len();
        for document in files.list(folder) {
            self.manifest(&document, &FilePath::beneath(folder, format!("{document}/chunk_manifest.jsonl")), files);
        }
        if self.chunks.is_empty() && files.problems().len() == before {
            files.error(folder, "it holds no chunks: no DOC/chunk_manifest.jsonl with a line".to_owned());
        }
    }

    fn all_tables(&mut self, folder: &str, files: &mut ResolverFiles<'_>) {
        let before = files.problems().len();
        for document in files.list(folder) {
            for name in
                files.list(&format!("{folder}/{document}/tables")).into_iter().filter(|name| name.ends_with(".json"))
            {
                let path = FilePath::beneath(folder, format!("{document}/tables/{name}"));
                self.table(&document, &path, name.trim_end_matches(".json"), files);
            }
        }
        if self.tables.is_empty() && files.problems().len() == before {
            files.error(folder, "it holds no tables: no DOC/tables/TABLE.json".to_owned());
        }
    }

    fn manifest(&mut self, document: &str, path: &FilePath, files: &mut ResolverFiles<'_>) {
        let lines = files.rows(path);
        let path = &path.to_string();
        let mut seen = FxHashSet::default();
        for (at, line) in lines.iter().enumerate() {
            match Chunk::read(line, document) {
                Some(chunk) => {
                    let space = line.get("space").filter(|space| !space.is_null());
                    if let Some(space) = space.filter(|it| !it.as_str().is_some_and(|it| SPACES.contains(&it))) {
                        files.warning(
                            path,
                            format!(
                                "line {} says the space {space}, which is none of {}; it is read as {}",
                                at + 1,
                                SPACES.join(", "),
                                chunk.space
                            ),
                        );
                    }
                    if !seen.insert((chunk.space, chunk.id.clone())) {
                        files.warning(path, format!("line {} repeats the chunk {:?}", at + 1, chunk.id));
                    }
                    for speaker in chunk.speakers() {
                        if !self.speakers.contains(speaker) {
                            self.speakers.push(speaker.clone());
                        }
                    }
                    self.chunks.push(chunk);
                }
                None => {
                    files.error(
                        path,
                        format!("line {} of the manifest of {document} is not a chunk with a `chunk_id`", at + 1),
                    );
                }
            }
        }
    }

    fn table(&mut self, document: &str, path: &FilePath, name: &str, files: &mut ResolverFiles<'_>) {
        let Some(table) = files.document(path) else { return };
        let id = table.get("table_id").and_then(folded_text).unwrap_or_else(|| fold(name));
        if let Some(unread) = unreadable_part(&table) {
            let form = "a table is {columns: […], rows: [{label, values: […]}]}";
            files.warning(&path.to_string(), format!("{unread}, so its numbers are not read: {form}"));
        }
        self.tables.entry(id).or_default().push(Table { document: document.to_owned(), content: table });
    }
}
