//! `dataset sample`: draws rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use karat_dataset::row_text;
use karat_dataset::sample::{Allocation, DiverseSampler, DrawnRows, RowSampler, StratumCount};
use karat_dataset::version::{RowsHasher, RowsVersion};
use karat_report::count_noun;
use karat_text::path::Path as ColumnPath;
use karat_types::{DatasetDesign, DesignFrame, DesignKind, DesignStratum};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::output::{DatasetOutput, Made, RowsWriter, stem, write_beside};
use crate::AppError;
use crate::datasets::Datasets;
use crate::datasets::source::{DatasetRequest, DatasetRows, SourceRow};
use crate::error::{DatasetError, Names};

/// The largest diverse sample: the work grows with the square of it.
const MOST_DIVERSE: u64 = 5_000;

/// Strata that a summary lists.
const LISTED: usize = 30;

/// The way in which rows are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampleMethod {
    /// Each row with the same probability.
    Random,
    /// At random within each value of a column.
    Stratified {
        /// The column.
        by: String,
        /// `proportional`, `equal` or `neyman:METRIC`.
        allocation: String,
    },
    /// Rows that differ most from each other, among ten times as many random ones.
    Diverse,
}

/// The request for a sample.
#[derive(Debug, Clone)]
pub struct SampleRequest {
    /// The rows.
    pub rows: DatasetRequest,
    /// The number of rows to draw.
    pub n: u64,
    /// The way in which they are chosen.
    pub method: SampleMethod,
    /// The seed of the draw.
    pub seed: u64,
    /// Where they are written.
    pub output: DatasetOutput,
}

/// A sample that was written.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnSample {
    /// The source as it was named.
    pub source: String,
    /// Rows of the source.
    pub rows: u64,
    /// Rows that were asked for.
    pub asked: u64,
    /// Rows that were drawn.
    pub got: u64,
    /// The strata, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strata: Vec<StratumCount>,
    /// Mean distance of a diverse row to the nearest other one, and of as many random rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<(f64, f64)>,
    /// Notes for the reader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The file of rows.
    pub file: PathBuf,
    /// The manifest beside it.
    pub manifest: PathBuf,
}

/// The column and the allocation of a stratified draw, read.
struct Strata {
    by: Option<(String, ColumnPath)>,
    allocation: Allocation,
    metric: Option<String>,
}

impl Datasets<'_> {
    /// Draws rows and writes them.
    ///
    /// # Errors
    /// A source without rows, a column or metric that no row has, and a place that cannot be written.
    pub fn sample(&self, asked: &SampleRequest) -> Result<DrawnSample, AppError> {
        if asked.n == 0 {
            return Err(bad_option("--n", "0", "a sample has at least one row", "name a number from 1"));
        }
        let strata = Strata::of(&asked.method)?;
        let rows = self.rows(&asked.rows)?;
        asked.output.check_file(&rows)?;
        strata.check_metric(&rows)?;
        let pool = match asked.method {
            SampleMethod::Diverse if asked.n > MOST_DIVERSE => {
                let problem = format!("a diverse sample has at most {MOST_DIVERSE} rows");
                return Err(bad_option("--n", &asked.n.to_string(), &problem, "use `--how random` or `stratified`"));
            }
            SampleMethod::Diverse => DiverseSampler::pool(asked.n),
            SampleMethod::Random | SampleMethod::Stratified { .. } => asked.n,
        };
        let apart = rows.apart_columns();
        let mut hasher = RowsHasher::new();
        let mut sampler = RowSampler::new(pool, asked.seed);
        let mut seen = SeenColumns::default();
        let count = rows.for_each(&mut |row| {
            hasher.add(&row.sample.id, &row.sample.columns, &apart);
            let stratum = strata.stratum(&row, &mut seen);
            sampler.add(&stratum, &row.sample.id, strata.value(&row, &mut seen));
            Ok(())
        })?;
        if count == 0 {
            return Err(rows.empty());
        }
        strata.check_columns(&rows, &seen)?;
        let read = hasher.finish();
        let mut drawn = sampler.finish(strata.allocation);
        let mut distance = None;
        if asked.method == SampleMethod::Diverse {
            distance = choose_diverse(&rows, &mut drawn, asked.n)?;
        }
        let mut writer = RowsWriter::create(&asked.output.path, &rows)?;
        let mut again = RowsHasher::new();
        let mut cut = 0_u64;
        rows.for_each(&mut |row| {
            again.add(&row.sample.id, &row.sample.columns, &apart);
            if drawn.rows.binary_search(&row.sample.row).is_ok() {
                cut += u64::from(row.is_cut);
                writer.add(&row.sample)?;
            }
            Ok(())
        })?;
        rows.check_unchanged(&read, &again.finish())?;
        let repeated = writer.repeated_ids;
        let written = writer.finish()?;
        let is_stratified = strata.by.is_some();
        let mut notes = notes(&asked.method, &drawn, strata.allocation);
        if repeated > 0 {
            notes.push(format!(
                "{} have an id that another row has: give rows ids of their own",
                count_noun(repeated, "row")
            ));
        }
        if cut > 0 {
            notes.push(format!("the run kept only the beginning of a text of {}", count_noun(cut, "row")));
        }
        let counts = counts(asked, &drawn, distance);
        let made = Made { name: &stem(&asked.output.path), parent: &rows, read, written, counts };
        let replaced = asked.output.replaced_manifest()?;
        let mut manifest = asked.output.manifest("dataset sample", Some(asked.seed), &made, replaced);
        manifest.design = Some(design(&rows, asked, &drawn, &read)?);
        let manifest = write_beside(&asked.output.path, &manifest)?;
        Ok(DrawnSample {
            source: rows.source.clone(),
            rows: count,
            asked: asked.n,
            got: written.rows,
            strata: if is_stratified { drawn.strata } else { Vec::new() },
            distance,
            notes,
            file: asked.output.path.clone(),
            manifest,
        })
    }
}

/// Columns that some row had.
#[derive(Default)]
struct SeenColumns {
    by: bool,
    value: bool,
    names: Vec<String>,
}

impl Strata {
    fn of(method: &SampleMethod) -> Result<Self, AppError> {
        let SampleMethod::Stratified { by, allocation } = method else {
            return Ok(Self { by: None, allocation: Allocation::Proportional, metric: None });
        };
        let path = ColumnPath::parse(by).map_err(|error| {
            bad_option(
                "--by",
                by,
                &format!("this is not a column: {error}"),
                "name a column, such as `topic` or `meta.topic`",
            )
        })?;
        let (allocation, metric) = match allocation.split_once(':').unwrap_or((allocation, "")) {
            ("proportional", "") => (Allocation::Proportional, None),
            ("equal", "") => (Allocation::Equal, None),
            ("neyman", metric) if !metric.is_empty() => (Allocation::Neyman, Some(metric.to_owned())),
            _ => {
                let hint = "known: proportional, equal, neyman:METRIC (a metric of the run, or a column of numbers)";
                return Err(bad_option("--alloc", allocation, "there is no such allocation", hint));
            }
        };
        Ok(Self { by: Some((by.clone(), path)), allocation, metric })
    }

    fn check_metric(&self, rows: &DatasetRows) -> Result<(), AppError> {
        match (&self.metric, rows.metrics()) {
            (Some(metric), Some(known)) if !known.contains(metric) => {
                let run = rows.name.clone();
                Err(DatasetError::NoMetric { run, metric: metric.clone(), known: Names::of(known) }.into())
            }
            _ => Ok(()),
        }
    }

    fn stratum(&self, row: &SourceRow, seen: &mut SeenColumns) -> String {
        let Some((_, path)) = &self.by else { return String::new() };
        if seen.names.is_empty() {
            seen.names = row.sample.columns.keys().cloned().collect();
        }
        let columns = Value::Object(row.sample.columns.clone());
        let value = path.first(&columns).filter(|value| !value.is_null());
        seen.by |= value.is_some();
        DatasetDesign::stratum_text(value)
    }

    fn value(&self, row: &SourceRow, seen: &mut SeenColumns) -> Option<f64> {
        let metric = self.metric.as_ref()?;
        let own = || {
            let columns = Value::Object(row.sample.columns.clone());
            let value = ColumnPath::parse(metric).ok()?.first(&columns)?.clone();
            value
                .as_f64()
                .or_else(|| value.as_bool().map(|value| f64::from(u8::from(value))))
                .or_else(|| value.as_str()?.trim().parse().ok())
        };
        let value = row.metrics.get(metric).copied().or_else(own);
        seen.value |= value.is_some();
        value
    }

    fn check_columns(&self, rows: &DatasetRows, seen: &SeenColumns) -> Result<(), AppError> {
        let missing = |flag: &str, column: &str| {
            let known = Names::of(&seen.names);
            let (flag, column, rows) = (flag.to_owned(), column.to_owned(), rows.source.clone());
            Err(DatasetError::NoColumn { flag, column, rows, known }.into())
        };
        match (&self.by, &self.metric) {
            (Some((by, _)), _) if !seen.by => missing("--by", by),
            (_, Some(metric)) if !seen.value => missing("--alloc neyman:METRIC", metric),
            _ => Ok(()),
        }
    }
}

/// Keeps those of a random pool that differ most. Returns the mean distance to the nearest other row, of them and of random
/// rows.
fn choose_diverse(rows: &DatasetRows, drawn: &mut DrawnRows, n: u64) -> Result<Option<(f64, f64)>, AppError> {
    let rank: FxHashMap<u64, usize> = drawn.by_rank.iter().enumerate().map(|(at, row)| (*row, at)).collect();
    let mut sampler = DiverseSampler::default();
    let mut pool: Vec<u64> = Vec::new();
    rows.for_each(&mut |row| {
        if rank.contains_key(&row.sample.row) {
            sampler.add(&row_text(&row.sample).unwrap_or_default());
            pool.push(row.sample.row);
        }
        Ok(())
    })?;
    let first = pool.iter().position(|row| rank.get(row) == Some(&0)).unwrap_or_default();
    let (taken, mean) = sampler.take(n as usize, first);
    let random: Vec<usize> = (0..pool.len()).filter(|at| rank[&pool[*at]] < taken.len()).collect();
    let of_random = sampler.mean_nearest(&random);
    drawn.by_rank = taken.iter().map(|at| pool[*at]).collect();
    drawn.rows = drawn.by_rank.clone();
    drawn.rows.sort_unstable();
    Ok(mean.zip(of_random))
}

fn notes(method: &SampleMethod, drawn: &DrawnRows, allocation: Allocation) -> Vec<String> {
    let mut notes = Vec::new();
    let SampleMethod::Stratified { by, .. } = method else { return notes };
    let short: Vec<String> = drawn
        .strata
        .iter()
        .filter(|stratum| stratum.is_short())
        .map(|stratum| format!("{} ({} of {})", stratum.stratum, stratum.got, stratum.asked))
        .collect();
    if !short.is_empty() {
        let shown = short.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        notes.push(format!("strata with too few rows, not padded from others: {shown}"));
    }
    let none: usize = drawn.strata.iter().filter(|stratum| stratum.asked == 0).count();
    if none > 0 {
        notes.push(format!("{} of {by} are too small for a row of the sample", count_noun(none as u64, "value")));
    }
    if allocation != Allocation::Proportional {
        notes.push(format!(
            "{by} is not drawn in proportion: a suite that reads these rows weights its figures by the manifest beside them"
        ));
    }
    let unknown = drawn.strata.iter().filter(|stratum| stratum.deviation.is_none()).count();
    if allocation == Allocation::Neyman && unknown > 0 {
        notes.push(format!(
            "{} had fewer than two values of the metric and took the spread of all rows",
            count_noun(unknown as u64, "stratum").replace("stratums", "strata")
        ));
    }
    notes
}

/// The draw as suites read it. Rows that were drawn themselves by unequal shares stand for no frame any more.
fn design(
    rows: &DatasetRows,
    asked: &SampleRequest,
    drawn: &DrawnRows,
    read: &RowsVersion,
) -> Result<DatasetDesign, AppError> {
    let frame = DesignFrame { rows: read.rows, hash: read.hash };
    let none = DatasetDesign { kind: DesignKind::None, by: None, strata: Vec::new(), frame };
    if rows.design(read)?.is_some_and(|design| design.kind == DesignKind::None || design.is_weighted()) {
        return Ok(none);
    }
    let stratum = |it: &StratumCount| DesignStratum { value: it.stratum.clone(), rows: it.rows, drawn: it.got };
    Ok(match &asked.method {
        SampleMethod::Random => DatasetDesign { kind: DesignKind::Random, ..none },
        SampleMethod::Stratified { by, .. } => DatasetDesign {
            kind: DesignKind::Stratified,
            by: Some(by.clone()),
            strata: drawn.strata.iter().map(stratum).collect(),
            frame,
        },
        SampleMethod::Diverse => none,
    })
}

fn counts(asked: &SampleRequest, drawn: &DrawnRows, distance: Option<(f64, f64)>) -> BTreeMap<String, Value> {
    let mut counts =
        BTreeMap::from([("asked".to_owned(), json!(asked.n)), ("got".to_owned(), json!(drawn.rows.len()))]);
    if let SampleMethod::Stratified { by, allocation } = &asked.method {
        counts.insert("by".to_owned(), json!(by));
        counts.insert("allocation".to_owned(), json!(allocation));
        counts.insert("strata".to_owned(), json!(drawn.strata));
    }
    if let Some((mean, random)) = distance {
        counts.insert("distance".to_owned(), json!({ "mean_nearest": mean, "random": random }));
    }
    counts
}

/// An error of a flag.
pub(crate) fn bad_option(flag: &str, text: &str, problem: &str, hint: &str) -> AppError {
    let (flag, text, problem) = (flag.to_owned(), text.to_owned(), problem.to_owned());
    DatasetError::BadOption { flag, text, problem, hint_text: hint.to_owned() }.into()
}

impl DrawnSample {
    /// For a terminal.
    pub fn text(&self) -> String {
        // Writing to a String cannot fail.
        let mut text = String::new();
        let less = if self.got < self.asked { format!(", {} asked for", self.asked) } else { String::new() };
        let _ = writeln!(text, "{}: {} of {}{less}", self.source, count_noun(self.got, "row"), self.rows);
        let width =
            self.strata.iter().take(LISTED).map(|it| it.stratum.chars().count()).max().unwrap_or(0).clamp(7, 40);
        if !self.strata.is_empty() {
            let _ = writeln!(text, "{:width$}  {:>8}  {:>6}  {:>6}", "stratum", "rows", "asked", "got");
        }
        for stratum in self.strata.iter().take(LISTED) {
            let name: String = stratum.stratum.chars().take(40).collect();
            let _ = writeln!(text, "{name:width$}  {:>8}  {:>6}  {:>6}", stratum.rows, stratum.asked, stratum.got);
        }
        if self.strata.len() > LISTED {
            let _ = writeln!(text, "and {} more", self.strata.len() - LISTED);
        }
        if let Some((mean, random)) = self.distance {
            let _ = writeln!(text, "mean distance to the nearest other row {mean:.2}, of random rows {random:.2}");
        }
        self.notes.iter().for_each(|note| {
            let _ = writeln!(text, "note: {note}");
        });
        let _ = write!(text, "wrote {} and {}", self.file.display(), self.manifest.display());
        text
    }
}
