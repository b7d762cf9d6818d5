//! `dataset dedup`: leaves one row of each text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use karat_dataset::duplicates::{Cluster, DiffPart, Duplicates, Likeness, Preference, diff_text, word_diff};
use karat_dataset::row_text;
use karat_dataset::value_text;
use karat_dataset::version::RowsHasher;
use karat_report::count_noun;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::output::{DatasetOutput, KeptDesign, Made, RowsWriter, stem, write_beside};
use super::sample::bad_option;
use crate::AppError;
use crate::datasets::Datasets;
use crate::datasets::source::find_row_duplicates;
use crate::datasets::source::{DatasetRequest, DatasetRows, SourceRow};
use crate::error::DatasetError;

/// Clusters whose differences are made.
const DETAILED: usize = 1_000;
/// Clusters, and members of each, that a summary shows.
const SHOWN: usize = 10;
const SHOWN_MEMBERS: usize = 3;
/// Words around a difference in a summary.
const CONTEXT: usize = 4;

/// The row of a cluster that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeptRow {
    /// The first in the file.
    #[default]
    First,
    /// The one with the longest text.
    Longest,
    /// The first that has a reference.
    Labelled,
}

/// The request for a set without duplicates.
#[derive(Debug, Clone)]
pub struct DedupRequest {
    /// The rows.
    pub rows: DatasetRequest,
    /// Jaccard index from which on texts are near duplicates.
    pub at: f64,
    /// The row that is kept.
    pub keep: KeptRow,
    /// Where the kept rows are written; `None` to report only.
    pub output: Option<DatasetOutput>,
}

/// Duplicates of a set.
#[derive(Debug, Clone, Serialize)]
pub struct DedupReport {
    /// The source as it was named.
    pub source: String,
    /// Its rows.
    pub rows: u64,
    /// Rows that are kept.
    pub kept: u64,
    /// Rows that equal one that is kept.
    pub exact: u64,
    /// Rows that nearly equal one that is kept.
    pub near: u64,
    /// Rows that fill the same frame as another one with other numbers or words. They are kept.
    pub same_frame: u64,
    /// Rows without a text. They are kept.
    pub textless: u64,
    /// Rows whose duplicate has another reference.
    pub other_reference: u64,
    /// Rows of which not every candidate was compared.
    pub unverified: u64,
    /// The cut.
    pub at: f64,
    /// The clusters, the first 1,000 of them.
    pub clusters: Vec<ClusterReport>,
    /// Ids of rows of the same frame.
    pub frames: Vec<Vec<String>>,
    /// The file of rows that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The manifest beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<PathBuf>,
}

/// A row that is kept and its duplicates.
#[derive(Debug, Clone, Serialize)]
pub struct ClusterReport {
    /// Id of the row that is kept.
    pub kept: String,
    /// Its duplicates.
    pub members: Vec<MemberReport>,
}

/// A duplicate.
#[derive(Debug, Clone, Serialize)]
pub struct MemberReport {
    /// Its id.
    pub id: String,
    /// The kind of likeness.
    pub likeness: Likeness,
    /// Jaccard index.
    pub similarity: f64,
    /// True if its reference differs from that of the kept row.
    pub other_reference: bool,
    /// The words in which it differs from the kept row.
    pub diff: Vec<DiffPart>,
}

/// A row of a cluster.
struct ClusterRow {
    id: String,
    text: String,
    reference: Option<String>,
}

impl Datasets<'_> {
    /// Finds duplicates, and writes the rows that are kept.
    ///
    /// # Errors
    /// A source without rows or texts, a cut out of range, and a place that cannot be written.
    pub fn dedup(&self, asked: &DedupRequest) -> Result<DedupReport, AppError> {
        if !(0.3..=1.0).contains(&asked.at) {
            let hint = "name a number from 0.3 to 1; 0.8 is usual";
            return Err(bad_option("--at", &asked.at.to_string(), "this is not a likeness of near duplicates", hint));
        }
        let rows = self.rows(&asked.rows)?;
        if let Some(output) = &asked.output {
            output.check_file(&rows)?;
        }
        let apart = rows.apart_columns();
        let mut hasher = RowsHasher::new();
        let duplicates = find_row_duplicates(&rows, asked.at, &mut |row, text| {
            hasher.add(&row.sample.id, &row.sample.columns, &apart);
            preference(asked.keep, row, text)
        })?;
        if duplicates.rows == 0 {
            return Err(rows.empty());
        }
        if duplicates.textless.len() == duplicates.rows as usize {
            return Err(DatasetError::NoText { rows: rows.source.clone() }.into());
        }
        let read = hasher.finish();
        let dropped = duplicates.dropped_rows();
        let mut writer = asked.output.as_ref().map(|output| RowsWriter::create(&output.path, &rows)).transpose()?;
        let wanted = wanted_rows(&duplicates);
        let mut known: FxHashMap<u32, ClusterRow> = FxHashMap::default();
        let mut again = RowsHasher::new();
        let mut design = KeptDesign::of(&rows, &read)?;
        rows.for_each(&mut |row| {
            again.add(&row.sample.id, &row.sample.columns, &apart);
            let number = row.sample.row as u32;
            if let Some(has_text) = wanted.get(&number) {
                let text = if *has_text { row_text(&row.sample).unwrap_or_default() } else { String::new() };
                let reference = row.sample.reference.as_ref().map(value_text);
                known.insert(number, ClusterRow { id: row.sample.id.to_string(), text, reference });
            }
            match &mut writer {
                Some(writer) if dropped.binary_search(&number).is_err() => {
                    design.iter_mut().for_each(|design| design.add(&row.sample));
                    writer.add(&row.sample)
                }
                _ => Ok(()),
            }
        })?;
        rows.check_unchanged(&read, &again.finish())?;
        let mut report = report(&rows, asked, &duplicates, &known);
        if let (Some(writer), Some(output)) = (writer, &asked.output) {
            let written = writer.finish()?;
            let counts = [
                ("exact", report.exact),
                ("near", report.near),
                ("same_frame", report.same_frame),
                ("other_reference", report.other_reference),
                ("textless", report.textless),
            ];
            let mut counts: BTreeMap<_, _> =
                counts.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
            counts.insert("at".to_owned(), json!(asked.at));
            let made = Made { name: &stem(&output.path), parent: &rows, read, written, counts };
            let mut manifest = output.manifest("dataset dedup", None, &made, output.replaced_manifest()?);
            manifest.design = design.map(KeptDesign::finish);
            report.manifest = Some(write_beside(&output.path, &manifest)?);
            report.file = Some(output.path.clone());
        }
        Ok(report)
    }
}

/// The preference of a row, by the row of each cluster that is to be kept.
fn preference(keep: KeptRow, row: &SourceRow, text: Option<&str>) -> Preference {
    match keep {
        KeptRow::First => Preference::default(),
        KeptRow::Longest => Preference::longest(text.unwrap_or_default()),
        KeptRow::Labelled => {
            let has_words = |reference: &&serde_json::Value| !value_text(reference).trim().is_empty();
            Preference::of_reference(row.sample.reference.as_ref().filter(has_words))
        }
    }
}

/// The rows of clusters and frames; true for those whose text is shown.
fn wanted_rows(duplicates: &Duplicates) -> FxHashMap<u32, bool> {
    let mut wanted = FxHashMap::default();
    for (at, Cluster { kept, members }) in duplicates.clusters.iter().enumerate() {
        for row in members.iter().map(|member| member.row).chain([*kept]) {
            wanted.insert(row, at < DETAILED);
        }
    }
    for row in duplicates.frames.iter().flat_map(|frame| &frame.rows) {
        wanted.entry(*row).or_insert(false);
    }
    wanted
}

fn report(
    rows: &DatasetRows,
    asked: &DedupRequest,
    duplicates: &Duplicates,
    known: &FxHashMap<u32, ClusterRow>,
) -> DedupReport {
    let id = |row: u32| known.get(&row).map(|row| row.id.clone()).unwrap_or_default();
    let has_other_reference = |kept: u32, row: u32| {
        let reference = |row| known.get(&row).and_then(|row: &ClusterRow| row.reference.as_deref());
        matches!((reference(kept), reference(row)), (Some(one), Some(other)) if one.trim() != other.trim())
    };
    let pairs = duplicates.clusters.iter().flat_map(|it| it.members.iter().map(|member| (it.kept, member.row)));
    let other_reference = pairs.filter(|(kept, row)| has_other_reference(*kept, *row)).count() as u64;
    let clusters = duplicates.clusters.iter().take(DETAILED).map(|cluster| {
        let text = |row: u32| known.get(&row).map(|row| row.text.as_str()).unwrap_or_default();
        let members = cluster.members.iter().map(|member| MemberReport {
            id: id(member.row),
            likeness: member.likeness,
            similarity: member.similarity,
            other_reference: has_other_reference(cluster.kept, member.row),
            diff: match member.likeness {
                Likeness::Exact => Vec::new(),
                Likeness::Near => word_diff(text(cluster.kept), text(member.row)),
            },
        });
        ClusterReport { kept: id(cluster.kept), members: members.collect() }
    });
    let clusters: Vec<ClusterReport> = clusters.collect();
    let dropped = duplicates.dropped_rows().len() as u64;
    DedupReport {
        source: rows.source.clone(),
        rows: u64::from(duplicates.rows),
        kept: u64::from(duplicates.rows) - dropped,
        exact: duplicates.count(Likeness::Exact) as u64,
        near: duplicates.count(Likeness::Near) as u64,
        same_frame: duplicates.framed_rows() as u64,
        textless: duplicates.textless.len() as u64,
        other_reference,
        unverified: u64::from(duplicates.unverified),
        at: asked.at,
        clusters,
        frames: duplicates.frames.iter().map(|frame| frame.rows.iter().map(|row| id(*row)).collect()).collect(),
        file: None,
        manifest: None,
    }
}

impl DedupReport {
    /// For a terminal.
    pub fn text(&self) -> String {
        // Writing to a String cannot fail.
        let mut text = String::new();
        let dropped = self.rows - self.kept;
        let _ = writeln!(
            text,
            "{}: {}, {} kept, {dropped} {} ({} exact, {} near at {})",
            self.source,
            count_noun(self.rows, "row"),
            self.kept,
            if dropped == 1 { "duplicate" } else { "duplicates" },
            self.exact,
            self.near,
            self.at
        );
        for cluster in self.clusters.iter().take(SHOWN) {
            let _ = writeln!(text, "{}", cluster.kept);
            for member in cluster.members.iter().take(SHOWN_MEMBERS) {
                let shown = match member.likeness {
                    Likeness::Exact => "the same text".to_owned(),
                    Likeness::Near => format!("{:.2}  {}", member.similarity, cut(&diff_text(&member.diff, CONTEXT))),
                };
                let other = if member.other_reference { "  (other reference)" } else { "" };
                let _ = writeln!(text, "  {}  {shown}{other}", member.id);
            }
            if cluster.members.len() > SHOWN_MEMBERS {
                let _ = writeln!(text, "  and {} more", cluster.members.len() - SHOWN_MEMBERS);
            }
        }
        if self.clusters.len() > SHOWN {
            let _ = writeln!(text, "and {} more clusters: `--json` prints them", self.clusters.len() - SHOWN);
        }
        let notes = [
            (self.same_frame, "fill the same frame with other numbers or names: no duplicates, kept"),
            (self.other_reference, "have another reference than their duplicate: decide which one is right"),
            (self.textless, "have no text to compare: kept"),
            (self.unverified, "share common phrases with too many rows, and were compared with the likeliest only"),
        ];
        for (count, note) in notes.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(text, "note: {} {note}", count_noun(count, "row"));
        }
        match (&self.file, &self.manifest) {
            (Some(file), Some(manifest)) => {
                let _ = writeln!(text, "wrote {} and {}", file.display(), manifest.display());
            }
            _ => {
                let _ = writeln!(text, "nothing was removed: `-o FILE` writes the rows that are kept");
            }
        }
        text.trim_end().to_owned()
    }
}

/// A text of at most 200 characters.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
