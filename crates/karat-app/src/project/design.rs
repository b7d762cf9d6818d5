//! The version of the rows of a dataset and the draw behind them: checks what the file `NAME.dataset.json` says of these rows,
//! so that reports name the version that they are, and figures may be weighted by the draw.

use std::path::Path;
use std::sync::Arc;

use karat_dataset::manifest::{Manifest, VersionState};
use karat_dataset::version::{ApartColumns, RowsHasher};
use karat_suite::{DesignFile, Files, Plan, RowSource, RowSourceSpec, Suite, TraceFiles};
use karat_text::path::Path as ColumnPath;
use karat_types::{DatasetDesign, DesignKind, PlanHeader};
use serde_json::Value;

use crate::AppError;
use crate::error::SuiteError;

/// Takes the version of the rows from the file beside them, where that records versions by their content.
///
/// # Errors
/// The suite declares another version, or one of rows that were changed since; rows that cannot be read.
pub(super) fn settle_version(
    suite: &Suite,
    files: &Arc<dyn Files>,
    traces: &TraceFiles,
    plan: &mut Plan,
) -> Result<(), AppError> {
    let Some(source) = suite.source_file() else { return Ok(()) };
    let path = DatasetDesign::file_name(source);
    if !files.is_file(&path) {
        return Ok(());
    }
    let unread = |problem: String| SuiteError::Design { path: path.clone(), problem };
    let text = files.read(&path).map_err(|error| unread(error.to_string()))?;
    // Of a file that is not a manifest the suite warns.
    let Ok(manifest) = Manifest::parse(&String::from_utf8_lossy(&text)) else { return Ok(()) };
    if manifest.changelog.is_empty() {
        return Ok(());
    }
    // The hash is of the rows by the ids that the file names.
    let spec = RowSourceSpec { id: manifest.ids.first().cloned(), ..RowSourceSpec::of(source) };
    let rows = RowSource::open(Arc::clone(files), &spec, traces)?;
    let apart = ApartColumns { ids: manifest.ids.clone(), metadata: manifest.metadata.clone() };
    let mut hasher = RowsHasher::new();
    for row in rows.rows() {
        // The run itself says which row cannot be read.
        let Ok(sample) = row else { return Ok(()) };
        hasher.add(&sample.id, &sample.columns, &apart);
    }
    let mut header = PlanHeader::clone(&plan.header);
    let (declared, source) = (header.dataset.version.take(), source.to_owned());
    header.dataset.version = match (manifest.state(&hasher.finish()), declared) {
        (VersionState::Recorded(change) | VersionState::Earlier(change), Some(declared))
            if declared != change.version =>
        {
            return Err(SuiteError::OtherVersion { path, declared, actual: change.version.clone() }.into());
        }
        (VersionState::Recorded(change) | VersionState::Earlier(change), _) => Some(change.version.clone()),
        (VersionState::Unrecorded(newest), Some(declared)) => {
            let newest = newest.version.clone();
            return Err(SuiteError::ChangedVersion { path, rows: source, declared, newest }.into());
        }
        (VersionState::Unrecorded(newest), None) => {
            let newest = &newest.version;
            plan.notes
                .push(format!("the rows of {source} differ from version {newest} of {path}, so they have no version"));
            None
        }
        (VersionState::Unversioned { .. }, declared) => declared,
    };
    plan.header = Arc::new(header);
    Ok(())
}

/// Keeps the draw that a file speaks of if figures can be weighted by it, with a note where they are plain means instead.
///
/// # Errors
/// A file that the suite names speaks of other rows; rows whose stratum is in no frame; metrics that have no weighted figure.
pub(super) fn settle(
    suite: &Suite,
    path: &str,
    files: &Arc<dyn Files>,
    traces: &TraceFiles,
    plan: &mut Plan,
) -> Result<(), AppError> {
    let Some((file, is_whole)) = suite.design_file() else {
        // The suite's own draw.
        let own = plan.header.dataset.design.as_ref().filter(|design| design.is_weighted());
        return own.map_or(Ok(()), |_| Ok(check_metrics(&plan.header)?));
    };
    let mut header = PlanHeader::clone(&plan.header);
    let Some(design) = header.dataset.design.take() else { return Ok(()) };
    let shown = &file.path;
    let note = match design.kind {
        DesignKind::Random => None,
        DesignKind::None => Some(format!(
            "{shown}: no rule drew these rows that figures of more than them could rest on, so figures are plain means"
        )),
        DesignKind::Stratified if !is_whole => design.is_weighted().then(|| {
            format!(
                "{shown}: the suite takes a part of the drawn rows, so figures are plain means of these rows, and not of the {} \
                 that they were drawn from",
                design.frame.rows
            )
        }),
        DesignKind::Stratified if !describes(&header, &design, path, file, files, traces)? => {
            if file.is_named {
                return Err(SuiteError::OtherRows { path: shown.clone() }.into());
            }
            Some(format!("{shown} describes other rows (hash differs), so figures are plain means"))
        }
        DesignKind::Stratified => {
            if design.is_weighted() {
                check_metrics(&header)?;
            }
            header.dataset.design = Some(design);
            None
        }
    };
    plan.notes.extend(note);
    plan.header = Arc::new(header);
    Ok(())
}

/// Returns whether a file speaks of the rows of the suite's source.
///
/// # Errors
/// Rows or the file cannot be read; rows whose stratum is in no frame.
fn describes(
    header: &PlanHeader,
    design: &DatasetDesign,
    suite: &str,
    file: &DesignFile,
    files: &Arc<dyn Files>,
    traces: &TraceFiles,
) -> Result<bool, AppError> {
    let [source] = header.dataset.sources.as_slice() else { return Ok(false) };
    let unread = |problem: String| SuiteError::Design { path: file.path.clone(), problem };
    let text = files.read(&file.path).map_err(|error| unread(error.to_string()))?;
    let manifest = Manifest::parse(&String::from_utf8_lossy(&text)).map_err(|error| unread(error.to_string()))?;
    let place = Path::new(suite).parent().unwrap_or(Path::new("")).join(&source.path);
    let spec = RowSourceSpec { source: place.display().to_string(), ..RowSourceSpec::default() };
    let rows = RowSource::open(Arc::clone(files), &spec, traces)?;
    let apart = ApartColumns { ids: manifest.ids.clone(), metadata: manifest.metadata.clone() };
    let by = design.by.as_deref().and_then(|by| ColumnPath::parse(by).ok());
    let (mut hasher, mut unknown) = (RowsHasher::new(), None);
    for row in rows.rows() {
        let sample = row.map_err(|error| unread(error.to_string()))?;
        hasher.add(&sample.id, &sample.columns, &apart);
        let columns = Value::Object(sample.columns);
        let value = DatasetDesign::stratum_text(by.as_ref().and_then(|by| by.first(&columns)));
        let is_known = design.strata.iter().any(|stratum| stratum.value == value);
        unknown = unknown.or((!is_known).then_some(value));
    }
    match unknown {
        _ if hasher.finish().hash != manifest.hash => Ok(false),
        None => Ok(true),
        Some(value) => {
            let problem = format!("strata: {} `{value}` is in no frame", design.by.as_deref().unwrap_or("value"));
            Err(unread(problem).into())
        }
    }
}

/// Checks that every metric has a figure of a weighted sample, and that the run looks at all samples.
fn check_metrics(header: &PlanHeader) -> Result<(), SuiteError> {
    let refused = |what: &str, metric: &str| {
        let place = if metric.is_empty() { String::new() } else { format!(" (metric `{metric}`)") };
        Err(SuiteError::NotWeighted { what: what.to_owned(), place })
    };
    if header.run.stop_early.is_some() {
        return refused("stopping early", "");
    }
    for metric in &header.metrics {
        let is_cascade = header.scorers.get(metric.scorer).is_some_and(|scorer| scorer.is_in_cascade());
        match metric.aggregate.as_str() {
            _ if is_cascade => return refused("a cascade", &metric.name),
            "mean" => {}
            other => return refused(other, &metric.name),
        }
    }
    Ok(())
}
