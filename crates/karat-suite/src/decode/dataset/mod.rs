//! Decoding of `dataset`.
//!
//! - here: roles, source files, checks and filters; `columns.rs`: `columns`
//! - `dir.rs`: `format: dir`; `huggingface.rs`: folders of Hugging Face datasets; `traces.rs`: calls that applications report; `digests.rs`: hashes of the source files

pub(crate) mod columns;
pub(crate) mod digests;
pub(crate) mod dir;
pub(crate) mod huggingface;
mod traces;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::Date;
use karat_columnar::ClassLabels;
use karat_text::path::Path;
use karat_text::template::Expression;
use karat_types::{DatasetDesign, FilePath, Moment, SourceDigest};
use serde_json::Value;

use self::digests::{Digests, SourceFile, UnreadFile};
use super::Decoder;
use crate::dataset::checks::Check;
use crate::dataset::checks::only::KnownSystems;
use crate::dataset::checks::row_checks::{self, RowChecks};
use crate::dataset::columns::ColumnKind;
use crate::dataset::columns::earlier_values::EarlierValues;
use crate::dataset::date;
use crate::dataset::draw::{Draw, GroupKey};
use crate::dataset::source::{Format, form_notes};
use crate::dataset::{Dataset, DatasetSource, Role, Roles, RowRedaction, RowSchema, aliases, plain};
use crate::diagnostics::nearest::suggestion;
use crate::files::{folder, matches};
use crate::overrides::{LoadPurpose, Overrides};
use crate::syntax::names;
use crate::syntax::node::{Node, Place};

/// A decoded dataset and what is known of it before its rows are read.
pub(crate) struct DecodedDataset {
    pub dataset: Dataset,
    /// Ids of the requested samples, as given; empty = all.
    pub asked: Vec<String>,
    pub checks: Vec<Check>,
    pub sources: Digests,
    pub version: Option<String>,
    pub zone: Option<String>,
    pub changelog: Option<SourceDigest>,
    pub design: Option<DecodedDesign>,
    pub place: Place,
}

/// The draw of the rows, as a file says it.
#[derive(Debug, Clone)]
pub(crate) struct DecodedDesign {
    pub design: DatasetDesign,
    pub file: DesignFile,
}

/// The file that says how rows were drawn. Whether it speaks of these rows is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesignFile {
    /// Its path.
    pub path: String,
    /// True if the suite names it; false if it lies beside the rows.
    pub is_named: bool,
}

impl Decoder<'_> {
    /// The dataset of a suite; `None` when its source cannot be read.
    pub fn dataset(&mut self, node: &Node, overrides: &Overrides) -> Option<DecodedDataset> {
        let traces = node.field("source").and_then(|source| Some((source, traces::dataset_name(source)?)));
        let mut roles = self.roles(node);
        if traces.is_some() && roles.date.is_none() {
            // The beginning of the call.
            roles.date = Path::parse("time").ok();
        }
        let is_fetch = overrides.context.purpose == LoadPurpose::Fetch;
        let columns = self.columns(node.field("columns"), &roles, is_fetch);
        let row_schema = node.field("row_schema").and_then(|file| self.row_schema(file));
        let condition = node.field("where").and_then(|condition| self.dataset_expression(condition));
        let days = self.days(node, &roles, overrides);
        let source = match traces {
            Some((source, name)) => self.traces(source, name, &overrides.context.traces, days.as_ref()),
            None => self.source(node),
        };
        let draw = node.field("draw").and_then(|draw| self.draw(draw, roles.date.is_some()));
        let metadata = node.field("metadata").map(Node::items).unwrap_or_default();
        let metadata =
            metadata.iter().filter_map(|item| Some((item.text()?.to_owned(), self.require_match(item)?))).collect();
        let checks = self.checks(node.field("checks"));
        let rules = checks.iter().filter_map(Check::rule).collect();
        // What is counted may not be there yet.
        let checks = if is_fetch { Vec::new() } else { checks };
        let version = self.of_source(node, "version").and_then(|at| self.expand_version(at, at.text()?));
        let changelog = self.of_source(node, "changelog").and_then(|file| self.changelog(version.as_deref(), file));
        let design = self.design(node);
        let asserts = node
            .field("assert")
            .and_then(|path| self.require_match(path))
            .or_else(|| Path::parse(row_checks::COLUMN).ok());
        let asserts = asserts.map(|path| RowChecks::new(path, self.catalog));
        let (source, sources) = source?;
        let mut dataset = Dataset {
            files: self.files.clone(),
            source,
            roles,
            asserts,
            systems: KnownSystems::default(),
            turns: Vec::new(),
            columns,
            row_schema,
            condition,
            days,
            draw,
            drawn: Default::default(),
            limit: overrides.limit.or_else(|| super::integer_at(node, "limit")),
            only: BTreeSet::new(),
            reports_broken: node.text_of("broken") == Some("report"),
            row_redaction: RowRedaction::default(),
            large: overrides.context.large_dataset,
            metadata,
            rules,
        };
        for at in 0..dataset.columns.len() {
            let ColumnKind::Prior(prior) = dataset.columns[at].kind.clone() else { continue };
            let so_far = Arc::new(dataset);
            let history = so_far.history(at, &prior);
            dataset = Arc::into_inner(so_far)?;
            dataset.columns[at].kind = ColumnKind::Prior(EarlierValues { history: Arc::new(history), ..prior });
        }
        let whole = Arc::new(dataset);
        let asked = whole.requested_ids(&overrides.samples);
        let dataset = Dataset { only: asked.iter().cloned().collect(), ..Arc::into_inner(whole)? };
        Some(DecodedDataset {
            dataset,
            asked,
            checks,
            sources,
            version,
            zone: node.text_of("zone").map(str::to_owned),
            changelog,
            design,
            place: node.field("source").or_else(|| node.field("rows")).unwrap_or(node).place.clone(),
        })
    }

    fn row_schema(&mut self, file: &Node) -> Option<RowSchema> {
        let schema = self.schema(file)?;
        self.digests.insert(blake3::hash(schema.to_string().as_bytes()).to_hex().to_string());
        RowSchema::new(&schema)
    }

    /// A key that describes the dataset's source; `None` if another source was given in place of the one that the suite
    /// speaks of.
    fn of_source<'n>(&self, node: &'n Node, key: &str) -> Option<&'n Node> {
        let source =
            node.field("source").filter(|source| source.text().is_some_and(|text| self.params.is_replaced(text)));
        node.field(key).filter(|about| source.is_none_or(|source| source.place.file != about.place.file))
    }

    /// The changelog; it should say what is new in the declared version.
    /// The draw that a file beside the rows, or one that the suite names, speaks of.
    fn design(&mut self, node: &Node) -> Option<DecodedDesign> {
        /// The part of `NAME.dataset.json` that says how its rows were drawn.
        #[derive(serde::Deserialize)]
        struct DrawnSet {
            design: Option<DatasetDesign>,
        }
        let named = node.field("design").filter(|named| named.text() != Some("auto"));
        let (path, text) = match named {
            Some(named) if named.text() == Some("none") => return None,
            Some(named) => self.text(named)?,
            None => {
                let source = node.field("source").filter(|source| traces::dataset_name(source).is_none())?;
                let path = DatasetDesign::file_name(&self.path(source)?);
                // An unreadable file fails to parse, which is reported below.
                let text = self.files.is_file(&path).then(|| self.files.read(&path).unwrap_or_default())?;
                (path, String::from_utf8_lossy(&text).into_owned())
            }
        };
        let found: Result<DrawnSet, _> = serde_json::from_str(&text);
        match (found, named) {
            (Ok(DrawnSet { design: Some(design) }), _) => {
                Some(DecodedDesign { design, file: DesignFile { path, is_named: named.is_some() } })
            }
            (Ok(DrawnSet { design: None }), Some(named)) => {
                self.problems
                    .error(&named.place, format!("design: {path} does not say how its rows were drawn"))
                    .hint("name the file that `karat dataset sample` wrote beside the rows, or write `none`");
                None
            }
            (Err(error), Some(named)) => {
                self.problems
                    .error(&named.place, format!("design: {path} is not a file of the form NAME.dataset.json: {error}"))
                    .hint("name the file that `karat dataset sample` wrote beside the rows, or write `none`");
                None
            }
            (Err(error), None) => {
                self.problems.warn(
                    &node.place,
                    format!("{path} cannot be read, so figures are plain means of the rows: {error}"),
                );
                None
            }
            (Ok(DrawnSet { design: None }), None) => None,
        }
    }

    fn changelog(&mut self, version: Option<&str>, file: &Node) -> Option<SourceDigest> {
        let (path, text) = self.text(file)?;
        if let Some(version) = version.filter(|version| !text.contains(version)) {
            self.problems
                .warn(&file.place, format!("the changelog does not mention version {version}"))
                .hint("describe the changes there, or correct `version`");
        }
        Some(SourceDigest {
            path: shown_name(file, &path).to_owned(),
            blake3: blake3::hash(text.as_bytes()).to_hex().to_string(),
            bytes: text.len() as u64,
        })
    }

    fn source(&mut self, node: &Node) -> Option<(DatasetSource, Digests)> {
        if let Some(rows) = node.field("rows") {
            return Some(self.inline(rows, node.text_of("id")));
        }
        let source = node.field("source")?;
        let path = self.path(source)?;
        let is_folder = || self.is_folder(&path);
        match node.text_of("format") {
            Some("dir") => return self.dir(node, source, &path),
            Some("huggingface") => return self.huggingface(node, source, &path),
            None if is_folder() && self.is_huggingface(node, &path) => return self.huggingface(node, source, &path),
            None if is_folder() => return self.dir(node, source, &path),
            _ => {}
        }
        if let Some(with) = node.field("with") {
            self.problems.error(&with.place, "`with` needs a folder as source; formats of files have no options");
        }
        let paths = self.expand(source, &path)?;
        let format = self.format(node, source, &paths)?;
        self.files_of(source, &path, paths, format, ClassLabels::default())
    }

    /// Files of one format as a source, which begins to be hashed.
    fn files_of(
        &mut self,
        source: &Node,
        path: &str,
        paths: Vec<FilePath>,
        format: Format,
        labels: ClassLabels,
    ) -> Option<(DatasetSource, Digests)> {
        let written = shown_name(source, path);
        let name = |path: &FilePath| if paths.len() == 1 { written } else { file_name(&path.path) }.to_owned();
        let sources = paths.iter().map(|path| SourceFile { path: path.clone(), name: name(path) }).collect();
        let digests = match Digests::begin(&self.files, sources) {
            Ok(digests) => digests,
            Err(UnreadFile { path, error }) => {
                self.unreadable(source, &path, &error);
                return None;
            }
        };
        Some((DatasetSource::Files { paths, format, labels }, digests))
    }

    /// The rows as YAML reads them, but their ids as they are written: an id is a name, and `1.10` is not `1.1`.
    fn inline(&mut self, rows: &Node, id: Option<&str>) -> (DatasetSource, Digests) {
        let ids = id.map_or_else(|| aliases::ID.to_vec(), |id| vec![id.trim_start_matches("$.")]);
        let row = |row: &Node| {
            let mut value = row.json();
            for name in &ids {
                if let (Some(written), Some(id)) = (row.text_of(name), value.get_mut(name))
                    && plain(id) != written
                {
                    *id = written.into();
                }
            }
            value
        };
        let values: Vec<_> = rows.items().iter().map(|it| (self.problems.line(&it.place), row(it))).collect();
        let bytes = Value::from_iter(values.iter().map(|(_, row)| row.clone())).to_string();
        let digest = SourceDigest {
            path: "rows".to_owned(),
            blake3: blake3::hash(bytes.as_bytes()).to_hex().to_string(),
            bytes: bytes.len() as u64,
        };
        let file = self.problems.path(rows.place.file).to_owned();
        (DatasetSource::Inline { file, rows: Arc::new(values) }, vec![digest].into())
    }

    /// The files that a source names: itself, or those that match its pattern, by name.
    fn expand(&mut self, node: &Node, path: &str) -> Option<Vec<FilePath>> {
        let pattern = file_name(path);
        if !pattern.contains(['*', '?']) {
            return Some(vec![FilePath::literal(path)]);
        }
        let folder = folder(path);
        if folder.contains('*') {
            self.problems.error(&node.place, "`*` is only allowed in the file name, not in the folder");
            return None;
        }
        match self.files.list(folder) {
            Ok(names) => {
                let names = names.into_iter().filter(|name| matches(pattern, name));
                let mut found: Vec<FilePath> = names.map(|name| FilePath::beneath(folder, name)).collect();
                found.sort();
                if found.is_empty() {
                    self.problems.error(&node.place, format!("no file matches {path}"));
                }
                (!found.is_empty()).then_some(found)
            }
            Err(error) => {
                self.problems.error(&node.place, format!("the folder {folder} cannot be listed: {error}"));
                None
            }
        }
    }

    fn format(&mut self, node: &Node, source: &Node, paths: &[FilePath]) -> Option<Format> {
        let (place, name) = match node.field("format") {
            Some(format) => (format.place.clone(), format.text()?.to_owned()),
            None => {
                let name = paths.first().map(|path| file_name(&path.path)).unwrap_or_default();
                let Some(extension) = Format::extension(name) else {
                    self.problems
                        .error(&source.place, format!("the format of {name} is not clear from its extension"))
                        .hint("add `format: jsonl`, `json`, `csv`, `tsv`, `yaml`, `parquet`, `arrow`, `dir` or `huggingface`");
                    return None;
                };
                (source.place.clone(), extension)
            }
        };
        let format = Format::from_name(&name);
        match format {
            Some(format) => {
                for path in paths {
                    for note in form_notes(&self.files, path, format) {
                        self.problems.notice(&source.place, format!("{path} {note}"));
                    }
                }
            }
            None => {
                let advice = match name.as_str() {
                    "xlsx" | "xls" | "ods" => Some("save the sheet as CSV (UTF-8)".to_owned()),
                    "bz2" | "xz" | "zip" | "7z" => {
                        Some("unpack it first: gzip and zstd are read as they are".to_owned())
                    }
                    _ => suggestion(&name, Format::NAMES.iter().copied()),
                };
                self.problems.error(&place, format!("there is no format `{name}`")).maybe_hint(advice);
            }
        }
        format
    }

    fn roles(&mut self, node: &Node) -> Roles {
        let mut declared = |key: &str| self.require_match(node.field(key)?);
        let mut role = |key: &str, common| declared(key).map_or(Role::Common(common), Role::Declared);
        let id = role("id", aliases::ID);
        let input = role("input", aliases::INPUT);
        let reference = role("reference", aliases::REFERENCE);
        let (cluster, date) = (declared("cluster"), declared("date"));
        Roles { id, input, reference, cluster, date, zone: self.zone(node) }
    }

    fn zone(&mut self, node: &Node) -> jiff::tz::TimeZone {
        let Some((at, name)) = node.field("zone").and_then(|at| Some((at, at.text()?))) else {
            return jiff::tz::TimeZone::UTC;
        };
        match jiff::tz::TimeZone::get(name) {
            Ok(zone) => zone,
            Err(_) => {
                self.problems
                    .error(&at.place, format!("there is no time zone `{name}`"))
                    .hint("names look like Europe/Berlin or UTC");
                jiff::tz::TimeZone::UTC
            }
        }
    }

    /// The first and last day to use: `days` days that end on the day of the run.
    fn days(&mut self, node: &Node, roles: &Roles, overrides: &Overrides) -> Option<(String, String)> {
        let as_of = match &overrides.as_of {
            Some(text) => match text.parse::<Date>() {
                Ok(day) => Some(day),
                Err(_) => {
                    let (_, place) = self.on_command_line("--as-of", text);
                    self.problems.error(&place, format!("`{text}` is not a date")).hint("write a date as 2026-01-31");
                    return None;
                }
            },
            None => overrides.context.now.and_then(|now| yesterday(now, &roles.zone)),
        };
        // Frozen judgments may be of any day.
        let days = node.field("days").filter(|_| !overrides.judge_again && !overrides.context.any_day)?;
        if roles.date.is_none() {
            self.problems
                .error(&days.place, "`days` needs `date`")
                .hint("name the column with the row's date: `date: COLUMN`");
            return None;
        }
        let count = super::integer_at::<i64>(node, "days").filter(|count| *count >= 1)?;
        let Some(last) = as_of else {
            self.problems
                .error(&days.place, "`days` needs to know the last day")
                .hint("pass the last day: --as-of DATE");
            return None;
        };
        self.as_of = Some(last.to_string());
        Some((date::before(last, count - 1).to_string(), last.to_string()))
    }

    /// `date` means the day of the row where the dataset names its date.
    fn draw(&mut self, node: &Node, has_date: bool) -> Option<Draw> {
        let mut part = |key: &str| match node.field(key)? {
            named if has_date && named.text() == Some("date") => Some(GroupKey::Day),
            named => Some(GroupKey::Column(named.text()?.to_owned(), self.require_match(named)?)),
        };
        let (per, by) = (part("per"), part("by"));
        Some(Draw { n: super::integer_at(node, "n")?, per, by, seed: super::integer_at(node, "seed").unwrap_or(1) })
    }

    fn checks(&mut self, node: Option<&Node>) -> Vec<Check> {
        let mut checks: Vec<Check> = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(name) = item.field("name") else { continue };
            let condition = item.field("where").and_then(|condition| self.dataset_expression(condition));
            let text = name.text().unwrap_or_default().to_owned();
            if checks.iter().any(|earlier| earlier.name == text) {
                self.problems
                    .error(&name.place, format!("two checks have the name `{text}`"))
                    .hint("rename one of them");
            }
            let mut check = Check::new(text, name.place.clone(), condition);
            check.by = self.check_path(item, "by");
            check.distinct = self.check_path(item, "distinct");
            check.min = item.field("min").and_then(Node::number);
            check.max = item.field("max").and_then(Node::number);
            if check.min.is_none() && check.max.is_none() {
                self.problems.error(&item.place, "a check needs `min` or `max`");
            }
            checks.push(check);
        }
        checks
    }

    fn check_path(&mut self, node: &Node, key: &str) -> Option<(String, Path)> {
        let at = node.field(key)?;
        Some((at.text()?.to_owned(), self.require_match(at)?))
    }

    fn dataset_expression(&mut self, node: &Node) -> Option<Expression> {
        let text = node.text()?;
        let inlined = self.params.inline_expression(text, &node.place, &mut self.problems);
        let expression = Expression::compile(&inlined).ok()?;
        let errors = self.problems.errors();
        names::check(expression.reads(), text, &node.place, names::DATASET, &mut self.pending, &mut self.problems);
        // Every row would only say the same again.
        (self.problems.errors() == errors).then_some(expression)
    }
}

/// The name of a file in reports: as written, or the resolved path if it contains parameters.
pub(super) fn shown_name<'a>(node: &'a Node, path: &'a str) -> &'a str {
    node.text().filter(|text| !text.contains("{{")).unwrap_or(path)
}

/// The day before, seen from a zone.
fn yesterday(now: Moment, zone: &jiff::tz::TimeZone) -> Option<Date> {
    let now = jiff::Timestamp::from_millisecond(now.0).ok()?;
    now.to_zoned(zone.clone()).date().yesterday().ok()
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
