//! `format: huggingface`: the folder of a dataset, as it is on the hub or as `save_to_disk` writes it.

use karat_columnar::ClassLabels;
use karat_types::FilePath;
use serde_json::{Map, Value, json};

use super::digests::Digests;
use crate::check::options;
use crate::dataset::DatasetSource;
use crate::dataset::source::Format;
use crate::decode::Decoder;
use crate::diagnostics::nearest::suggestion;
use crate::files::{Files, matches};
use crate::syntax::node::Node;
use crate::syntax::yaml;

/// The card of a dataset; its front matter may list the files of configurations and splits.
const CARD: &str = "README.md";
/// The splits of a folder that `save_to_disk` wrote.
const SPLITS: &str = "dataset_dict.json";
/// The files of a split that `save_to_disk` wrote.
const STATE: &str = "state.json";
/// The features of a split that `save_to_disk` wrote.
const INFO: &str = "dataset_info.json";

/// Split of files that name none.
const WHOLE: &str = "train";
/// Folders that a pattern looks into, at most.
const MAX_FOLDERS: usize = 1000;

/// The options of `format: huggingface`, as JSON Schema.
pub fn huggingface_options() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "config": { "type": "string", "description": "Configuration of the dataset's card. Default: the card's default, or its only one." },
            "split": { "type": "string", "description": "Split. Default: the only one." },
        },
    })
}

/// Files of a split.
struct Split {
    name: String,
    /// Patterns relative to the dataset's folder.
    patterns: Vec<String>,
}

/// A problem of a folder, and advice.
struct Unusable {
    problem: String,
    hint: Option<String>,
}

impl Unusable {
    fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: None }
    }
}

impl Decoder<'_> {
    /// Returns whether a folder without `format` is a dataset of Hugging Face: it has their files, and no `files` of
    /// `format: dir` is given.
    pub fn is_huggingface(&self, node: &Node, path: &str) -> bool {
        let has_pattern = node.field("with").is_some_and(|with| with.field("files").is_some());
        let folder = Folder { files: &*self.files, path };
        !has_pattern && (folder.is_saved() || folder.card().is_some() || !folder.unlisted_splits().is_empty())
    }

    /// A folder of a Hugging Face dataset.
    pub fn huggingface(&mut self, node: &Node, source: &Node, path: &str) -> Option<(DatasetSource, Digests)> {
        let with = node.field("with");
        if let Some(with) = with {
            let before = self.problems.errors();
            options::check(with, &huggingface_options(), &mut self.problems);
            if self.problems.errors() > before {
                return None;
            }
        }
        let asked = |key: &str| with.and_then(|with| with.text_of(key));
        let files = self.files.clone();
        let folder = Folder { files: &*files, path };
        match folder.split_files(asked("config"), asked("split")) {
            Ok((paths, format, labels)) => self.files_of(source, path, paths, format, labels),
            Err(Unusable { problem, hint }) => {
                let at = with.unwrap_or(source);
                self.problems.error(&at.place, problem).maybe_hint(hint);
                None
            }
        }
    }
}

/// The folder of a dataset.
#[derive(Clone, Copy)]
struct Folder<'d> {
    files: &'d dyn Files,
    path: &'d str,
}

impl Folder<'_> {
    fn split_files(
        self,
        config: Option<&str>,
        split: Option<&str>,
    ) -> Result<(Vec<FilePath>, Format, ClassLabels), Unusable> {
        if self.is_saved() {
            return self.saved_files(config, split);
        }
        let card = self.card();
        let listed = card.as_ref().map(|card| splits_of_card(card, config)).transpose()?.flatten();
        let splits = match (listed, config) {
            (Some(splits), _) => splits,
            (None, Some(config)) => {
                return Err(Unusable::new(format!("{} lists no configuration `{config}`", self.place(CARD))));
            }
            (None, None) => self.unlisted_splits(),
        };
        let chosen = choose(self.path, &splits, split)?;
        let mut names = Vec::new();
        for pattern in &chosen.patterns {
            let before = names.len();
            names.extend(self.matching(pattern)?);
            if names.len() == before {
                return Err(Unusable::new(format!(
                    "no file in {} matches `{pattern}`, which is its split `{}`",
                    self.path, chosen.name
                )));
            }
        }
        names.dedup();
        let format = self.format_of(&names)?;
        let features = card.as_ref().and_then(|card| card_features(card, config)).unwrap_or_default();
        let paths = names.iter().map(|name| FilePath::beneath(self.path, name)).collect();
        Ok((paths, format, ClassLabels::of_card(&features)))
    }

    /// The format of all files; files that hold no rows were left out before.
    fn format_of(self, names: &[String]) -> Result<Format, Unusable> {
        let format = |name: &String| Format::extension(name).and_then(|extension| Format::from_name(&extension));
        let first = names.first().and_then(format);
        match (first, names.iter().find(|name| format(name) != first)) {
            (Some(format), None) => Ok(format),
            (None, _) => {
                let name = names.first().map(String::as_str).unwrap_or_default();
                Err(Unusable::new(format!(
                    "{} has no format that can be read: parquet, arrow, jsonl, json, csv or tsv",
                    self.place(name)
                )))
            }
            (Some(_), Some(other)) => {
                Err(Unusable::new(format!("{} has another format than {}", self.place(other), self.place(&names[0]))))
            }
        }
    }

    fn is_saved(self) -> bool {
        [SPLITS, STATE].iter().any(|name| self.files.is_file(&self.place(name)))
    }

    /// The files that `save_to_disk` wrote.
    fn saved_files(
        self,
        config: Option<&str>,
        split: Option<&str>,
    ) -> Result<(Vec<FilePath>, Format, ClassLabels), Unusable> {
        if let Some(config) = config {
            return Err(Unusable::new(format!(
                "{} was saved without configurations, so it has no `{config}`",
                self.path
            )));
        }
        let splits: Vec<Split> = match self.json(SPLITS)? {
            Some(listed) => texts(listed.get("splits"))
                .map(|name| Split { patterns: vec![format!("{name}/{STATE}")], name })
                .collect(),
            None => vec![Split { name: split.unwrap_or(WHOLE).to_owned(), patterns: vec![STATE.to_owned()] }],
        };
        let chosen = choose(self.path, &splits, split)?;
        let state_file = chosen.patterns.first().cloned().unwrap_or_default();
        let missing = |name: &str| Unusable::new(format!("{} is missing or lists no files", self.place(name)));
        let state = self.json(&state_file)?.ok_or_else(|| missing(&state_file))?;
        let folder = state_file.strip_suffix(STATE).unwrap_or_default();
        let files = state.get("_data_files").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<String> =
            files.iter().filter_map(|file| Some(format!("{folder}{}", file.get("filename")?.as_str()?))).collect();
        if names.is_empty() {
            return Err(missing(&state_file));
        }
        let info = self.json(&format!("{folder}{INFO}"))?;
        let features = info.as_ref().and_then(|info| info.get("features")?.as_object());
        let labels = features.map(ClassLabels::of_features).unwrap_or_default();
        Ok((names.iter().map(|name| FilePath::beneath(self.path, name)).collect(), Format::Arrow, labels))
    }

    /// The front matter of the card, if it has one.
    fn card(self) -> Option<Map<String, Value>> {
        let bytes = self.files.read_path(&FilePath::beneath(self.path, CARD)).ok()?;
        let text = String::from_utf8(bytes).ok()?.replace("\r\n", "\n");
        let front = text.strip_prefix("---\n")?;
        let front = &front[..front.find("\n---")?];
        match yaml::value(front).ok()? {
            Value::Object(card) if card.contains_key("configs") || card.contains_key("dataset_info") => Some(card),
            _ => None,
        }
    }

    /// The splits of a folder whose card lists none: `data/SPLIT-….parquet`, `SPLIT-….parquet`, `SPLIT.parquet`.
    fn unlisted_splits(self) -> Vec<Split> {
        let mut splits: Vec<Split> = Vec::new();
        for folder in ["data/", ""] {
            let mut names = self.files.list(&self.place(folder.trim_end_matches('/'))).unwrap_or_default();
            names.sort();
            for name in names {
                let is_rows = Format::extension(&name)
                    .and_then(|extension| Format::from_name(&extension))
                    .is_some_and(|format| !matches!(format, Format::Json));
                let split = name.split(['-', '.']).next().unwrap_or_default();
                if !is_rows || split.is_empty() {
                    continue;
                }
                let file = format!("{folder}{name}");
                match splits.iter_mut().find(|known| known.name == split) {
                    Some(known) => known.patterns.push(file),
                    None => splits.push(Split { name: split.to_owned(), patterns: vec![file] }),
                }
            }
            if !splits.is_empty() {
                break;
            }
        }
        splits
    }

    /// The files below the folder that match a pattern: `*` within a name, `**` for any folders.
    fn matching(self, pattern: &str) -> Result<Vec<String>, Unusable> {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if pattern.starts_with('/') || parts.contains(&"..") || pattern.contains("://") {
            return Err(Unusable::new(format!("`{pattern}` of {} leads out of the folder", self.place(CARD))));
        }
        let (mut found, mut left) = (Vec::new(), MAX_FOLDERS);
        self.match_parts("", &parts, &mut found, &mut left);
        found.sort();
        found.dedup();
        Ok(found)
    }

    fn match_parts(self, below: &str, parts: &[&str], found: &mut Vec<String>, left: &mut usize) {
        let Some((part, rest)) = parts.split_first() else { return };
        let place = |name: &str| if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        if *part == "**" {
            self.match_parts(below, rest, found, left);
        }
        if *left == 0 {
            return;
        }
        *left -= 1;
        let names = if part.contains(['*', '?']) {
            self.files.list(&self.place(below)).unwrap_or_default()
        } else {
            vec![(*part).to_owned()]
        };
        for name in names {
            let inner = place(&name);
            let is_file = self.files.is_file(&self.place(&inner));
            match (is_file, *part == "**") {
                (true, false) if rest.is_empty() && matches(part, &name) => found.push(inner),
                (false, true) => self.match_parts(&inner, parts, found, left),
                (false, false) if !rest.is_empty() && matches(part, &name) => {
                    self.match_parts(&inner, rest, found, left);
                }
                _ => {}
            }
        }
    }

    /// A JSON file of the folder; `None` if there is none.
    fn json(self, name: &str) -> Result<Option<Value>, Unusable> {
        if !self.files.is_file(&self.place(name)) {
            return Ok(None);
        }
        let unusable =
            |error: &dyn std::fmt::Display| Unusable::new(format!("{} cannot be read: {error}", self.place(name)));
        let bytes = self.files.read_path(&FilePath::beneath(self.path, name)).map_err(|error| unusable(&error))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable(&error))
    }

    fn place(self, name: &str) -> String {
        FilePath::beneath(self.path, name).to_string().trim_end_matches('/').to_owned()
    }
}

/// The split that is asked for, or the only one.
fn choose<'s>(folder: &str, splits: &'s [Split], asked: Option<&str>) -> Result<&'s Split, Unusable> {
    let names: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
    match (asked, splits) {
        (_, []) => Err(Unusable {
            problem: format!("the folder {folder} is not a dataset that can be read"),
            hint: Some("it needs `data/SPLIT-….parquet` or a README.md that lists its files; for a folder of single files say `with: { files: \"{id}.json\" }`".to_owned()),
        }),
        (Some(asked), _) => splits.iter().find(|split| split.name == asked).ok_or_else(|| Unusable {
            problem: format!("{folder} has no split `{asked}`; it has {}", names.join(", ")),
            hint: suggestion(asked, names.iter().copied()),
        }),
        (None, [only]) => Ok(only),
        (None, _) => Err(Unusable {
            problem: format!("{folder} has several splits: {}", names.join(", ")),
            hint: Some(format!("name one: `with: {{ split: {} }}`", names[0])),
        }),
    }
}

/// The splits that a card lists for a configuration; `None` if it lists no files.
fn splits_of_card(card: &Map<String, Value>, asked: Option<&str>) -> Result<Option<Vec<Split>>, Unusable> {
    let configs: Vec<&Value> = card.get("configs").and_then(Value::as_array).into_iter().flatten().collect();
    if configs.is_empty() {
        return Ok(None);
    }
    let name = |config: &Value| config.get("config_name").and_then(Value::as_str).unwrap_or("default").to_owned();
    let names: Vec<String> = configs.iter().map(|config| name(config)).collect();
    let is_default =
        |config: &Value| config.get("default").and_then(Value::as_bool) == Some(true) || name(config) == "default";
    let chosen = match asked {
        Some(asked) => configs.iter().find(|config| name(config) == asked).ok_or_else(|| Unusable {
            problem: format!("the dataset has no configuration `{asked}`; it has {}", names.join(", ")),
            hint: suggestion(asked, names.iter().map(String::as_str)),
        })?,
        None if configs.len() == 1 => &configs[0],
        None => configs.iter().find(|config| is_default(config)).ok_or_else(|| Unusable {
            problem: format!("the dataset has several configurations: {}", names.join(", ")),
            hint: Some(format!("name one: `with: {{ config: {} }}`", names[0])),
        })?,
    };
    let folder = chosen.get("data_dir").and_then(Value::as_str).map(|dir| format!("{}/", dir.trim_matches('/')));
    let below = |pattern: String| format!("{}{pattern}", folder.as_deref().unwrap_or_default());
    let split = |name: &str, patterns: Option<&Value>| Split {
        name: name.to_owned(),
        patterns: texts(patterns).map(below).collect(),
    };
    let splits = match chosen.get("data_files") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(by_split)) => by_split.iter().map(|(name, patterns)| split(name, Some(patterns))).collect(),
        Some(Value::Array(list)) if list.iter().all(Value::is_object) => {
            let name = |item: &Value| item.get("split").and_then(Value::as_str).unwrap_or(WHOLE).to_owned();
            list.iter().map(|item| split(&name(item), item.get("path"))).collect()
        }
        Some(whole) => vec![split(WHOLE, Some(whole))],
    };
    Ok(Some(splits))
}

/// The features that a card declares for a configuration.
fn card_features(card: &Map<String, Value>, config: Option<&str>) -> Option<Vec<Value>> {
    let info = card.get("dataset_info")?;
    let of_config =
        |info: &&Value| config.is_none_or(|config| info.get("config_name").and_then(Value::as_str) == Some(config));
    let info = match info {
        Value::Array(infos) => infos.iter().find(of_config)?,
        info => info,
    };
    info.get("features")?.as_array().cloned()
}

/// A text, or a list of texts.
fn texts(value: Option<&Value>) -> impl Iterator<Item = String> {
    let texts: Vec<String> = match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    texts.into_iter()
}
