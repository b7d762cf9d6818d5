//! Writes the report of a stored run as files, or as bytes to stdout.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use karat_analysis::Outcome;
use karat_report::json::CELLS_FILE;
use karat_report::{Outputs, RenderError, Report};
use karat_suite::Files;
use karat_types::{Exit, Layout, ReportFormat, RunHeader, RunRows};

use crate::error::{FileError, StoredError};
use crate::project::atomic_file::{AtomicFile, lock_dir, remove_abandoned, report_write_error};
use crate::project::presets::SuiteFiles;
use crate::reports::Reports;
use crate::reports::cells::{CellSource, CellsBeside, WrittenCells};
use crate::reports::kept_reports::{KeptReport, find_report, keep_report};
use crate::reports::manifest::{Listed, MANIFEST, Manifest};
use crate::stored::findings::findings;
use crate::{App, AppError};

/// The target and formats of a report.
#[derive(Debug, Clone, Default)]
pub struct ReportTo {
    /// The folder; the run's own if absent.
    pub folder: Option<PathBuf>,
    /// The layout of its files; the suite's if absent.
    pub layout: Option<Layout>,
    /// Its formats.
    pub formats: Vec<ReportFormat>,
    /// The cells that are shown with their texts.
    pub outputs: Outputs,
}

impl ReportTo {
    fn place(&self, app: &App, header: &RunHeader) -> (PathBuf, Layout) {
        let layout = self.layout.unwrap_or(header.plan.run.layout);
        let folder = match (&self.folder, layout) {
            (Some(folder), _) => return (folder.clone(), layout),
            (None, Layout::Flat) => app.home.clone(),
            (None, Layout::Folder) => app.home.join("runs").join(&header.id),
        };
        // Shards have one id, and may be run side by side.
        let part = header.shard().map(|shard| format!("shard-{}-of-{}", shard.number(), shard.count()));
        (folder.join(part.unwrap_or_default()), layout)
    }
}

/// The path of a file, relative to the folder.
fn path(layout: Layout, run: &str, name: &str) -> String {
    let stem = run.replace(':', "_");
    match (layout, name) {
        (Layout::Folder, name) => name.to_owned(),
        (Layout::Flat, "report.json") => format!("results/{stem}.json"),
        (Layout::Flat, "report.md") => format!("reports/{stem}.md"),
        (Layout::Flat, "report.html") => format!("reports/{stem}.html"),
        (Layout::Flat, "comment.md") => format!("reports/{stem}.comment.md"),
        (Layout::Flat, "junit.xml") => format!("reports/{stem}.junit.xml"),
        (Layout::Flat, name) => format!("results/{stem}.{name}"),
    }
}

/// A written report.
#[derive(Debug, Clone)]
pub struct WrittenReport {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The summary for a terminal.
    pub summary: String,
    /// The exit code that follows from the results.
    pub exit: Exit,
}

impl Reports<'_> {
    /// Writes the report of a run into a folder, with a manifest of its files. Concurrent reports into one folder wait
    /// for each other.
    pub fn report_into(&self, run: &str, to: &ReportTo, canonical: bool) -> Result<WrittenReport, AppError> {
        let store = self.app.existing_store()?;
        let run = store.resolve(run)?;
        let stored = store.rows(&run)?.checked_once();
        let (folder, layout) = to.place(self.app, stored.header());
        let held = lock_dir(&folder);
        let place = ReportFolder { folder: &folder, layout, run: &run };
        if held.is_some() {
            let files = ReportFormat::ALL.map(ReportFormat::file_name).into_iter().chain([CELLS_FILE, MANIFEST]);
            files.for_each(|name| remove_abandoned(&place.path(name)));
        }
        let formats = &to.formats;
        let has_page = formats.contains(&ReportFormat::Html);
        let key = if has_page && !canonical { self.report_key(&stored, to.outputs)? } else { None };
        if formats.as_slice() == [ReportFormat::Html]
            && let Some(kept) = find_report(&stored, key)?
        {
            return place.write_kept(stored.header(), &kept);
        }
        let source =
            formats.contains(&ReportFormat::Json).then(|| CellSource::of(&store, &run, canonical)).transpose()?;
        // The file of cells and the findings both read the whole run and are independent.
        std::thread::scope(|scope| {
            let mut cells = match &source {
                None => CellsBeside::Nowhere,
                Some(source) if source.fills_file() => CellsBeside::Writing(scope.spawn(|| place.cells_file(source))),
                Some(_) => CellsBeside::Nowhere,
            };
            let findings = findings(&stored)?;
            let (mut context, exit) = self.app.analysis().context(&stored, &findings, canonical)?;
            context.outputs = to.outputs;
            if has_page {
                context.series = self.series_of_run(&stored)?;
            }
            let report = Report { findings: &findings, rows: &stored, context: &context };
            let mut files = Vec::new();
            for format in formats {
                files.extend(place.write(report, *format, &mut cells)?);
            }
            files.push(place.manifest((stored.header(), canonical), &files, cells.wait_for_file()?)?);
            let summary = karat_report::terminal::render(report);
            if key.is_some() && context.series.is_none() {
                let page = fs::read_to_string(place.path("report.html")).ok();
                page.into_iter()
                    .for_each(|page| keep_report(&stored, key, &KeptReport::new(page, summary.clone(), exit)));
            }
            Ok(WrittenReport { summary: summary + &file_lines(&files), files, exit })
        })
    }

    /// Streams the report of a run in one format; cells as JSON lines.
    pub fn export(
        &self,
        run: &str,
        format: ReportFormat,
        outputs: Outputs,
        canonical: bool,
        out: &mut dyn Write,
    ) -> Result<Exit, AppError> {
        let stored = self.app.stored().run(run)?.checked_once();
        let is_page = format == ReportFormat::Html && !canonical;
        let key = if is_page { self.report_key(&stored, outputs)? } else { None };
        if let Some(kept) = find_report(&stored, key)? {
            out.write_all(kept.page.as_bytes()).map_err(RenderError::from)?;
            return Ok(kept.exit());
        }
        let findings = findings(&stored)?;
        let (mut context, exit) = self.app.analysis().context(&stored, &findings, canonical)?;
        context.outputs = outputs;
        if format == ReportFormat::Html {
            context.series = self.series_of_run(&stored)?;
        }
        karat_report::write(Report { findings: &findings, rows: &stored, context: &context }, format, out)?;
        Ok(exit)
    }

    /// The comment on the run of a `report.json`.
    ///
    /// # Errors
    /// A file that cannot be read or is not a report.
    pub fn comment_of_file(&self, file: &Path) -> Result<String, AppError> {
        let bytes = SuiteFiles.read(&file.to_string_lossy()).map_err(|error| FileError::reading(file, error))?;
        karat_report::markdown::comment_of_document(&bytes)
            .map_err(|problem| StoredError::NoReport { path: file.display().to_string(), problem }.into())
    }

    /// The summary of a run for a terminal, and the exit code of its results.
    pub fn summary(&self, run: &str) -> Result<(String, Exit), AppError> {
        let stored = self.app.stored().run(run)?;
        let findings = findings(&stored)?;
        let (context, exit) = self.app.analysis().context(&stored, &findings, false)?;
        Ok((karat_report::terminal::render(Report { findings: &findings, rows: &stored, context: &context }), exit))
    }
}

fn file_lines(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    karat_report::terminal::files(&files)
}

/// Writes each line that it gets to a file of its own. Memory holds one line.
struct FilePerLine<'a> {
    folder: &'a Path,
    line: Vec<u8>,
    written: usize,
    /// The file that could not be written, and why.
    failed: Option<(PathBuf, io::Error)>,
}

impl Write for FilePerLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            if part.ends_with(b"\n") {
                let target = self.folder.join(format!("{:06}.json", self.written));
                if let Err(error) = fs::write(&target, &self.line) {
                    let kind = error.kind();
                    self.failed = Some((target, error));
                    return Err(kind.into());
                }
                self.line.clear();
                self.written += 1;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The files of one run's report.
struct ReportFolder<'a> {
    folder: &'a Path,
    layout: Layout,
    run: &'a str,
}

impl ReportFolder<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(path(self.layout, self.run, name))
    }

    fn writer(&self, name: &str) -> Result<(PathBuf, AtomicFile), AppError> {
        let target = self.path(name);
        let file = AtomicFile::create(&target).map_err(|error| report_write_error(&target, error))?;
        Ok((target, file))
    }

    fn write(
        &self,
        report: Report<'_>,
        format: ReportFormat,
        cells: &mut CellsBeside<'_>,
    ) -> Result<Vec<PathBuf>, AppError> {
        if format == ReportFormat::Cells {
            return Ok(vec![self.cells(report)?]);
        }
        let name = format.file_name();
        let (target, mut out) = self.writer(name)?;
        let beside = match format {
            ReportFormat::Json => {
                cells.report(report, &mut out)?;
                cells.wait_for_file()?.map(|cells| cells.target.clone()).into_iter().collect()
            }
            ReportFormat::Markdown => {
                karat_report::write(report, format, &mut out)?;
                self.drawings(report)?
            }
            _ => {
                karat_report::write(report, format, &mut out)?;
                Vec::new()
            }
        };
        out.finish().map_err(|error| report_write_error(&target, error))?;
        Ok(std::iter::once(target).chain(beside).collect())
    }

    /// Writes a kept page and the manifest.
    fn write_kept(&self, header: &RunHeader, kept: &KeptReport) -> Result<WrittenReport, AppError> {
        let (target, mut out) = self.writer("report.html")?;
        out.write_all(kept.page.as_bytes())
            .and_then(|()| out.finish())
            .map_err(|error| report_write_error(&target, error))?;
        let mut files = vec![target];
        files.push(self.manifest((header, false), &files, None)?);
        Ok(WrittenReport { summary: kept.summary.clone() + &file_lines(&files), files, exit: kept.exit() })
    }

    /// The drawings that `report.md` names.
    fn drawings(&self, report: Report<'_>) -> Result<Vec<PathBuf>, AppError> {
        let drawn = report.findings.analyses.iter().filter_map(|analysed| match &analysed.outcome {
            Outcome::Diagnostics(found) => Some((&analysed.id, found.all.confidence.as_ref()?)),
            _ => None,
        });
        let write = |(id, confidence): (&String, &karat_analysis::Confidence)| {
            let (target, mut out) = self.writer(&karat_report::reliability_curve::file_name(id))?;
            let drawing = karat_report::reliability_curve::svg(confidence);
            out.write_all(drawing.as_bytes())
                .and_then(|()| out.finish())
                .map_err(|error| report_write_error(&target, error))?;
            Ok(target)
        };
        drawn.map(write).collect()
    }

    /// The file of cells, if they are too many for report.json.
    fn cells_file(&self, source: &CellSource) -> Result<WrittenCells, AppError> {
        let target = self.path(CELLS_FILE);
        let listed = target.strip_prefix(self.folder).unwrap_or(&target);
        let kept = Manifest::find_entry(&self.path(MANIFEST), self.run, listed);
        source.file(target, kept.as_ref())
    }

    /// Writes one JSON file per cell, named by its ordinal: ids of a dataset never become paths.
    fn cells(&self, report: Report<'_>) -> Result<PathBuf, AppError> {
        let folder = self.path("cells");
        fs::create_dir_all(&folder).map_err(|error| report_write_error(&folder, error))?;
        let mut files = FilePerLine { folder: &folder, line: Vec::new(), written: 0, failed: None };
        let written = karat_report::json::write_cells(karat_report::whole_cells(report), CELLS_FILE, &mut files);
        match files.failed {
            Some((target, error)) => Err(report_write_error(&target, error)),
            None => Ok(written.map(|_| folder)?),
        }
    }

    fn manifest(
        &self,
        (header, canonical): (&RunHeader, bool),
        files: &[PathBuf],
        cells: Option<&WrittenCells>,
    ) -> Result<PathBuf, AppError> {
        let listed = files.iter().map(|file| {
            let path = file.strip_prefix(self.folder).unwrap_or(file).display().to_string();
            match cells.filter(|cells| cells.target == *file) {
                Some(cells) => cells.manifest_entry(path),
                None => Listed::of(path, file),
            }
            .map_err(|error| report_write_error(file, error))
        });
        let manifest = Manifest::new(header, canonical, listed.collect::<Result<_, _>>()?);
        let (target, mut out) = self.writer(MANIFEST)?;
        let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
        writeln!(out, "{text}").and_then(|()| out.finish()).map_err(|error| report_write_error(&target, error))?;
        Ok(target)
    }
}
