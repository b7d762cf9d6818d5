//! `dataset split`: parts that share no near duplicate.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use karat_dataset::duplicates::{DuplicateFinder, DuplicateVerifier, Preference, Search, TextGroups};
use karat_dataset::manifest::{Manifest, Part};
use karat_dataset::row_text;
use karat_dataset::split::{PartCount, PartShare, RowFacts, SplitRows, assign};
use karat_dataset::version::{RowsHasher, RowsVersion, row_key};
use karat_report::count_noun;
use karat_text::path::Path as ColumnPath;
use karat_types::Key;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::output::ReplacedParts;
use super::output::{DatasetOutput, Made, RowsWriter};
use super::sample::bad_option;
use crate::AppError;
use crate::datasets::Datasets;
use crate::datasets::manifest_file::{read_manifest, write_manifest};
use crate::datasets::source::{DatasetRequest, DatasetRows, SourceRow};
use crate::error::{DatasetError, FileError, Names};

/// Jaccard index from which on rows stay together.
const TOGETHER: f64 = 0.5;
/// Name of the file of rows that are set aside.
const ASIDE: &str = "aside";
/// The role whose rows stay together.
const CLUSTER: &str = "cluster";
/// Ids that a summary lists.
const LISTED: usize = 10;

/// The request for a split.
#[derive(Debug, Clone)]
pub struct SplitRequest {
    /// The rows.
    pub rows: DatasetRequest,
    /// The parts, such as `train=0.8,test=0.2`.
    pub parts: String,
    /// Columns whose rows stay together; `cluster` is the role.
    pub by: Vec<String>,
    /// The column whose values have the same shares in each part.
    pub stratify: Option<String>,
    /// The column of the time; the test is the latest.
    pub time: Option<String>,
    /// The manifest of an earlier split, whose rows stay where they are.
    pub keep: Option<PathBuf>,
    /// The seed.
    pub seed: u64,
    /// The folder of the parts.
    pub output: DatasetOutput,
}

/// A split that was written.
#[derive(Debug, Clone, Serialize)]
pub struct WrittenSplit {
    /// The source as it was named.
    pub source: String,
    /// Its rows.
    pub rows: u64,
    /// The parts.
    pub parts: Vec<PartCount>,
    /// Groups of rows that stay together.
    pub groups: u64,
    /// Rows that stayed in the part of an earlier split.
    pub stayed: u64,
    /// Rows of the earlier split that are no longer there.
    pub gone: u64,
    /// Ids of new rows that belong to rows of several parts.
    pub aside: Vec<String>,
    /// Ids of rows whose group was in several parts of the earlier split already.
    pub torn: Vec<String>,
    /// Rows of which not every candidate was compared.
    pub unverified: u64,
    /// The files, by part.
    pub files: Vec<PathBuf>,
    /// The manifest.
    pub manifest: PathBuf,
    /// Files of the split that this one replaced.
    pub replaced: ReplacedParts,
}

/// The columns that a split reads.
struct Columns {
    by: Vec<(String, ColumnPath)>,
    with_role: bool,
    stratify: Option<(String, ColumnPath)>,
    time: Option<(String, ColumnPath)>,
}

/// Facts that the first pass learns.
struct Facts {
    facts: Vec<RowFacts>,
    /// Values of the columns whose rows stay together, for each column.
    together: Vec<Vec<Option<Key>>>,
    contents: Vec<Key>,
    read: RowsVersion,
    verifier: DuplicateVerifier,
}

impl Datasets<'_> {
    /// Splits rows into parts, and writes them.
    ///
    /// # Errors
    /// Parts that do not add up, a column that no row has, a row without a time, an earlier split with other parts, and a
    /// place that cannot be written.
    pub fn split(&self, asked: &SplitRequest) -> Result<WrittenSplit, AppError> {
        let parts = PartShare::parse_list(&asked.parts).map_err(|error| {
            bad_option("--parts", &asked.parts, &error.to_string(), "write parts as `train=0.8,dev=0.1,test=0.1`")
        })?;
        if parts.iter().any(|part| part.name.eq_ignore_ascii_case(ASIDE)) {
            return Err(bad_option(
                "--parts",
                &asked.parts,
                "`aside` is the file of rows of no part",
                "choose another name",
            ));
        }
        let columns = Columns::of(asked)?;
        let rows = self.rows(&asked.rows)?;
        let folder = &asked.output.path;
        let manifest_place = folder.join(format!("{}{}", rows.name, karat_dataset::manifest::ENDING));
        let files: Vec<PathBuf> = parts.iter().map(|part| folder.join(format!("{}.jsonl", part.name))).collect();
        let aside_file = folder.join(format!("{ASIDE}.jsonl"));
        let mut outputs = files.clone();
        outputs.extend([aside_file.clone(), manifest_place.clone()]);
        asked.output.check(&rows, &outputs)?;
        let replaced = read_manifest(&manifest_place)?;
        let earlier = asked.keep.as_deref().map(|path| self.earlier_split(path, &parts, &asked.rows)).transpose()?;
        let mut found = collect(&rows, &columns, earlier.as_ref())?;
        let stayed = found.facts.iter().filter(|row| row.kept.is_some()).count() as u64;
        rows.for_each(&mut |row| {
            let number = row.sample.row as u32;
            if found.verifier.needs(number) {
                found.verifier.add(number, &row_text(&row.sample).unwrap_or_default());
            }
            Ok(())
        })?;
        let mut groups: TextGroups = found.verifier.groups();
        std::mem::take(&mut found.together).into_iter().for_each(|values| groups.join_by(values));
        let split = assign(&found.facts, &mut groups, &parts, asked.seed);
        let written = write(&rows, &split, &files, &aside_file, &found)?;
        let made = Made {
            name: &rows.name,
            parent: &rows,
            read: found.read,
            written: found.read,
            counts: counts(&split, stayed),
        };
        let mut files = files;
        files.extend((!split.aside.is_empty()).then(|| aside_file.clone()));
        // Before the manifest, so that a command that was interrupted finds them again.
        let mut old = match &replaced {
            Some(replaced) => self.remove_parts(replaced, folder, &files, &rows)?,
            None => ReplacedParts::default(),
        };
        old.left.extend((split.aside.is_empty() && aside_file.exists()).then_some(aside_file));
        let mut manifest = asked.output.manifest("dataset split", Some(asked.seed), &made, replaced);
        manifest.design = rows.design(&found.read)?;
        manifest.parts = parts
            .iter()
            .zip(&written.versions)
            .map(|(part, version)| Part {
                name: part.name.clone(),
                file: format!("{}.jsonl", part.name),
                rows: version.rows,
                hash: version.hash,
            })
            .collect();
        write_manifest(&manifest_place, &manifest)?;
        Ok(WrittenSplit {
            source: rows.source.clone(),
            rows: found.facts.len() as u64,
            groups: split.groups,
            stayed,
            gone: earlier.as_ref().map_or(0, |earlier| earlier.rows.saturating_sub(stayed)),
            aside: written.aside,
            torn: written.torn,
            unverified: u64::from(groups.unverified),
            parts: split.parts,
            files,
            manifest: manifest_place,
            replaced: old,
        })
    }

    /// The parts of the rows of an earlier split.
    fn earlier_split(
        &self,
        path: &Path,
        parts: &[PartShare],
        asked: &DatasetRequest,
    ) -> Result<EarlierSplit, AppError> {
        let wrong = |problem: String| DatasetError::BadManifest { path: path.display().to_string(), problem };
        let manifest: Manifest = read_manifest(path)?.ok_or_else(|| {
            FileError::reading(path, std::io::ErrorKind::NotFound.into())
                .with_hint("`karat dataset split` writes such a file beside its parts")
        })?;
        if manifest.parts.is_empty() {
            return Err(wrong("it has no parts".to_owned()).into());
        }
        let mut split = EarlierSplit::default();
        for part in &manifest.parts {
            let Some(number) = parts.iter().position(|named| named.name == part.name) else {
                return Err(wrong(format!("its part `{}` is not among `--parts`", part.name)).into());
            };
            if part.file.contains(['/', '\\']) {
                return Err(wrong(format!("its file `{}` is not beside it", part.file)).into());
            }
            let source = path.with_file_name(&part.file).display().to_string();
            let rows = self.rows(&DatasetRequest { source, condition: None, ..asked.clone() })?;
            let apart = rows.apart_columns();
            rows.for_each(&mut |row| {
                split.rows += 1;
                split.by_content.insert(row_key(&row.sample.columns, &apart), number as u32);
                split.by_id.insert(id_key(&row.sample.id), number as u32);
                Ok(())
            })?;
        }
        Ok(split)
    }
}

/// The parts of an earlier split: by content, and by id for rows that were corrected.
#[derive(Default)]
struct EarlierSplit {
    rows: u64,
    by_content: FxHashMap<Key, u32>,
    by_id: FxHashMap<Key, u32>,
}

fn id_key(id: &str) -> Key {
    Key::of("karat/dataset/id/1", id.as_bytes())
}

impl Columns {
    fn of(asked: &SplitRequest) -> Result<Self, AppError> {
        let path = |flag: &str, column: &String| match ColumnPath::parse(column) {
            Ok(path) => Ok((column.clone(), path)),
            Err(error) => {
                let hint = "name a column, such as `user` or `meta.user`";
                Err(bad_option(flag, column, &format!("this is not a column: {error}"), hint))
            }
        };
        let named = asked.by.iter().filter(|column| *column != CLUSTER);
        Ok(Self {
            by: named.map(|column| path("--by", column)).collect::<Result<_, _>>()?,
            with_role: asked.by.iter().any(|column| column == CLUSTER),
            stratify: asked.stratify.as_ref().map(|column| path("--stratify", column)).transpose()?,
            time: asked.time.as_ref().map(|column| path("--time", column)).transpose()?,
        })
    }
}

fn collect(rows: &DatasetRows, columns: &Columns, earlier: Option<&EarlierSplit>) -> Result<Facts, AppError> {
    let apart = rows.apart_columns();
    let mut hasher = RowsHasher::new();
    let mut finder = DuplicateFinder::new(TOGETHER);
    let mut facts = Vec::new();
    let mut contents = Vec::new();
    let mut strata: BTreeMap<String, u32> = BTreeMap::new();
    let mut together: Vec<Vec<Option<Key>>> = vec![Vec::new(); columns.by.len() + usize::from(columns.with_role)];
    let mut known = Vec::new();
    let mut seen_stratum = columns.stratify.is_none();
    let count = rows.for_each(&mut |row| {
        let content = hasher.add(&row.sample.id, &row.sample.columns, &apart);
        contents.push(content);
        finder.add(row_text(&row.sample).as_deref(), Preference::default());
        if known.is_empty() {
            known = row.sample.columns.keys().cloned().collect();
        }
        let value = Value::Object(row.sample.columns.clone());
        let text_at = |path: &ColumnPath| path.first(&value).filter(|value| !value.is_null()).map(ToString::to_string);
        for (values, (_, path)) in together.iter_mut().zip(&columns.by) {
            values.push(text_at(path).map(|text| id_key(&text)));
        }
        if columns.with_role {
            let cluster =
                row.sample.cluster.clone().or_else(|| ColumnPath::parse(CLUSTER).ok().and_then(|path| text_at(&path)));
            together.last_mut().into_iter().for_each(|values| values.push(cluster.as_deref().map(id_key)));
        }
        let stratum = columns.stratify.as_ref().and_then(|(_, path)| text_at(path));
        seen_stratum |= stratum.is_some();
        let next = strata.len() as u32;
        let stratum = *strata.entry(stratum.unwrap_or_default()).or_insert(next);
        let day = columns.time.as_ref().map(|(column, path)| time_of(&row, column, path, &value)).transpose()?;
        let kept = earlier.and_then(|earlier| {
            earlier.by_content.get(&content).or_else(|| earlier.by_id.get(&id_key(&row.sample.id))).copied()
        });
        facts.push(RowFacts { stratum, day, kept });
        Ok(())
    })?;
    if count == 0 {
        return Err(rows.empty());
    }
    let missing = |flag: &str, column: &str| DatasetError::NoColumn {
        flag: flag.to_owned(),
        column: column.to_owned(),
        rows: rows.source.clone(),
        known: Names::of(&known),
    };
    let named = columns.by.iter().map(|(column, _)| column.as_str()).chain(columns.with_role.then_some(CLUSTER));
    for (column, values) in named.zip(&together) {
        if values.iter().all(Option::is_none) {
            return Err(missing("--by", column).into());
        }
    }
    match &columns.stratify {
        Some((column, _)) if !seen_stratum => Err(missing("--stratify", column).into()),
        _ => {
            Ok(Facts { facts, together, contents, read: hasher.finish(), verifier: finder.into_verifier(Search::All) })
        }
    }
}

/// The time of a row in seconds: of a date, a local time taken as UTC, a point in time, or a number.
fn time_of(row: &SourceRow, column: &str, path: &ColumnPath, columns: &Value) -> Result<i64, AppError> {
    let value = path.first(columns);
    let read = value.and_then(|value| match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)),
        Value::String(text) => seconds(text.trim()),
        _ => None,
    });
    read.ok_or_else(|| {
        let shown = value.map_or_else(|| "nothing".to_owned(), |value| super::dedup::cut(&value.to_string()));
        let problem = format!("the row `{}` has {shown} there, which is not a time", row.sample.id);
        bad_option("--time", column, &problem, "a time is 2026-01-31, 2026-01-31T08:00:00Z or a number of seconds")
    })
}

fn seconds(text: &str) -> Option<i64> {
    let of_local = |time: DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second());
    let moment = text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    let local = || text.parse::<DateTime>().ok().and_then(of_local);
    moment.or_else(local).or_else(|| of_local(text.parse::<Date>().ok()?.at(0, 0, 0, 0)))
}

/// Files that were written.
struct WrittenParts {
    versions: Vec<RowsVersion>,
    aside: Vec<String>,
    torn: Vec<String>,
}

fn write(
    rows: &DatasetRows,
    split: &SplitRows,
    files: &[PathBuf],
    aside_file: &Path,
    found: &Facts,
) -> Result<WrittenParts, AppError> {
    let mut writers = files.iter().map(|file| RowsWriter::create(file, rows)).collect::<Result<Vec<_>, _>>()?;
    let mut aside_writer = (!split.aside.is_empty()).then(|| RowsWriter::create(aside_file, rows)).transpose()?;
    let (mut aside, mut torn) = (Vec::new(), Vec::new());
    let apart = rows.apart_columns();
    rows.for_each(&mut |row| {
        let number = row.sample.row as usize;
        let changed = || DatasetError::Changed { rows: rows.source.clone() };
        let part = split.part_of.get(number).ok_or_else(changed)?;
        if found.contents[number] != row_key(&row.sample.columns, &apart) {
            return Err(changed().into());
        }
        if split.torn.binary_search(&(number as u32)).is_ok() {
            torn.push(row.sample.id.to_string());
        }
        match (part, &mut aside_writer) {
            (Some(part), _) => writers[*part as usize].add(&row.sample),
            (None, Some(writer)) => {
                aside.push(row.sample.id.to_string());
                writer.add(&row.sample)
            }
            (None, None) => Ok(()),
        }
    })?;
    let versions = writers.into_iter().map(RowsWriter::finish).collect::<Result<Vec<_>, _>>()?;
    aside_writer.map(RowsWriter::finish).transpose()?;
    Ok(WrittenParts { versions, aside, torn })
}

fn counts(split: &SplitRows, stayed: u64) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("groups".to_owned(), json!(split.groups)),
        ("aside".to_owned(), json!(split.aside.len())),
        ("stayed".to_owned(), json!(stayed)),
    ])
}

impl WrittenSplit {
    /// For a terminal.
    pub fn text(&self) -> String {
        // Writing to a String cannot fail.
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {} in {}; {} of rows that stay together",
            self.source,
            count_noun(self.rows, "row"),
            count_noun(self.parts.len() as u64, "part"),
            count_noun(self.groups, "group")
        );
        for part in &self.parts {
            let (share, asked) = (part.share * 100.0, part.asked * 100.0);
            let _ = writeln!(text, "{:<10}  {:>8}  {share:>5.1} % of {asked:.1} %", part.name, part.rows);
        }
        for part in self.parts.iter().filter(|part| part.is_off()) {
            let _ = writeln!(text, "note: {}", self.reason(part));
        }
        if self.stayed > 0 || self.gone > 0 {
            let gone = if self.gone > 0 { format!(", {} no longer there", self.gone) } else { String::new() };
            let _ =
                writeln!(text, "{} of the earlier split stayed where they were{gone}", count_noun(self.stayed, "row"));
        }
        let listed = |ids: &[String]| {
            let more = if ids.len() > LISTED { format!(" and {} more", ids.len() - LISTED) } else { String::new() };
            format!("{}{more}", ids.iter().take(LISTED).map(|id| super::dedup::cut(id)).collect::<Vec<_>>().join(", "))
        };
        if !self.aside.is_empty() {
            let count = count_noun(self.aside.len() as u64, "new row");
            let _ = writeln!(
                text,
                "note: {count} set aside, because they belong to rows of several parts: {}",
                listed(&self.aside)
            );
        }
        if !self.torn.is_empty() {
            let _ = writeln!(
                text,
                "note: rows that belong together are in several parts of the earlier split: see {}",
                listed(&self.torn)
            );
        }
        if self.unverified > 0 {
            let _ = writeln!(
                text,
                "note: {} share common phrases with too many rows; not every pair of them was compared",
                count_noun(self.unverified, "row")
            );
        }
        let shown =
            |files: &[PathBuf]| files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
        if !self.replaced.removed.is_empty() {
            let _ = writeln!(text, "removed {}: of the replaced split", shown(&self.replaced.removed));
        }
        if !self.replaced.left.is_empty() {
            let _ = writeln!(
                text,
                "note: {} stayed: of an earlier split, with rows that its manifest does not list; remove what is not needed",
                shown(&self.replaced.left)
            );
        }
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let _ = write!(text, "wrote {} and {}", files.join(", "), self.manifest.display());
        text
    }

    /// The reason why a part has another share than asked for.
    fn reason(&self, part: &PartCount) -> String {
        let largest = self.parts.iter().map(|part| part.largest_group).max().unwrap_or_default();
        let off = format!("{} has {:.1} % instead of {:.1} %", part.name, part.share * 100.0, part.asked * 100.0);
        if largest as f64 > 0.02 * self.rows as f64 {
            return format!(
                "{off}: rows that nearly repeat each other or share a column of `--by`, directly or through others, stay \
                 together, and the largest group has {}",
                count_noun(largest, "row")
            );
        }
        if self.stayed > 0 {
            return format!("{off}: rows of the earlier split stay where they are");
        }
        format!("{off}: there are too few rows")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-04: times of every usual form are put in order.
    #[test]
    fn times_are_read_in_every_form() {
        let ordered = ["2026-01-31", "2026-01-31T08:00:00", "2026-01-31T10:00:00+01:00", "2026-02-01T00:00:00Z"];
        let read: Vec<i64> = ordered.iter().map(|text| seconds(text).unwrap()).collect();
        assert!(read.windows(2).all(|pair| pair[0] < pair[1]), "{read:?}");
        assert_eq!(seconds("yesterday"), None);
    }
}
