//! Loads a suite file or preset as a plan.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use karat_analysis::gate;
use karat_suite::{Diagnostics, Files, LastOutputs, Overrides, Plan, Registry, StoredOutputs, Suite, SuitePart};
use karat_types::{CellStatus, PlanHeader, RunRows, ScorerKind, VariantSpec};
use serde_json::Value;

use crate::error::{AnalyseError, Lines, Names, SuiteError};
use crate::project::presets::{SuiteFiles, is_preset, names, suite_path};
use crate::project::root::RootFiles;
use crate::project::{Project, catalog, design};
use crate::{AppError, Invocation};

/// A suite that was read.
pub(crate) struct ReadSuite {
    pub suite: Suite,
    path: String,
    overrides: Overrides,
}

impl Project<'_> {
    /// Reads a suite, checks it and its dataset, and plans it. Makes no API calls.
    pub(crate) fn load(&self, invocation: &Invocation) -> Result<Plan, AppError> {
        let plan = self.load_with(invocation, &self.suite_files(), |_| {})?;
        Ok(with_shadow_note(plan, invocation))
    }

    /// Reads, checks and plans a suite, and warns of paths that lead to nothing in any output of its last run. A suite that names
    /// no model is valid, and cannot be run.
    ///
    /// # Errors
    /// A suite or a dataset that cannot be read, or has problems.
    pub fn validate(&self, invocation: &Invocation) -> Result<Plan, AppError> {
        let last_outputs = self.last_outputs();
        let plan = self.load_with(invocation, &self.suite_files(), |it| {
            it.context.last_outputs = last_outputs;
            it.context.may_lack_models = true;
        })?;
        Ok(with_shadow_note(plan, invocation))
    }

    /// The files that suites may read: of a server, those below its root.
    pub(crate) fn suite_files(&self) -> Arc<dyn Files> {
        match self.app.opened.root() {
            None => Arc::new(SuiteFiles),
            Some(root) => Arc::new(RootFiles::new(root.to_owned())),
        }
    }

    /// Reads a suite with these files and further changes. Every suite is read here.
    pub(crate) fn read_suite(
        &self,
        invocation: &Invocation,
        files: &Arc<dyn Files>,
        change: impl FnOnce(&mut Overrides),
    ) -> Result<ReadSuite, AppError> {
        let read = || {
            let path = find_suite_file(&invocation.suite, &**files)
                .map_err(|error| after_list(error, &invocation.suite, &invocation.overrides))?;
            let mut overrides = invocation.overrides_at(&self.app.lookup, self.app.clock.now());
            overrides.context.traces = self.trace_files();
            overrides.context.host_functions = self.app.opened.host().versions();
            let changes_models = !overrides.models.is_empty()
                || overrides.tier.is_some()
                || overrides.set.iter().any(|(address, _)| address.starts_with("models"));
            if is_preset(&path) && changes_models {
                overrides.context.real_judges = Some(self.real_judges()?);
            }
            change(&mut overrides);
            let suite = Suite::load(files.clone(), &path, &overrides, &catalog::compose(), &self.known_models()?)?;
            Ok(ReadSuite { suite, path, overrides })
        };
        // The suite's own message about a file outside of the root says only that it cannot be read.
        let read = read();
        files.refused_path().map_or(read, |path| Err(SuiteError::OutsideRoot { path }.into()))
    }

    /// Reads, checks and plans a suite with these files and further changes.
    pub(crate) fn load_with(
        &self,
        invocation: &Invocation,
        files: &Arc<dyn Files>,
        change: impl FnOnce(&mut Overrides),
    ) -> Result<Plan, AppError> {
        let baseline = invocation.gates.baseline.as_deref().filter(|_| self.app.opened.root().is_some());
        let has_baseline = baseline.is_none_or(|path| files.is_file(path));
        let plan = self.read_suite(invocation, files, change).and_then(|suite| suite.plan(files));
        match (files.refused_path(), baseline) {
            (Some(path), _) => Err(SuiteError::OutsideRoot { path }.into()),
            (None, Some(path)) if !has_baseline => Err(AnalyseError::NoBaselineFile { path: path.to_owned() }.into()),
            (None, _) => plan,
        }
    }

    /// The number of rows, and the counts of the suite's dataset checks, all of which hold.
    pub fn dataset_checks(&self, invocation: &Invocation) -> Result<(u64, Vec<karat_suite::CheckCounts>), AppError> {
        let suite = self.read_suite(invocation, &self.suite_files(), |_| {})?.suite;
        Ok((suite.plan()?.header.dataset.rows, suite.checks().to_vec()))
    }

    /// The registry, extended by a suite's registry files.
    pub fn registry(&self, suite: Option<&str>) -> Result<Registry, AppError> {
        let Some(suite) = suite else { return self.known_models() };
        Ok(self.read_suite(&Invocation::of(suite), &self.suite_files(), |_| {})?.suite.registry().clone())
    }
}

impl ReadSuite {
    fn plan(self, files: &Arc<dyn Files>) -> Result<Plan, AppError> {
        let Self { suite, path, overrides } = self;
        let mut plan = suite.plan()?;
        design::settle_version(&suite, files, &overrides.context.traces, &mut plan)?;
        design::settle(&suite, &path, files, &overrides.context.traces, &mut plan)?;
        let mut problems = scorer_problems(&plan.header);
        let checked = karat_analysis::check(&plan.header).and_then(|()| gate::check(&plan.header, &plan.rules));
        let told = |error| gate::name_scorer_that_is_off(error, &plan.header, &plan.rules);
        problems.extend(checked.map_err(told).err().map(|error| error.into()));
        match gate::stop_problems(&plan.header, &plan.rules) {
            Ok(warnings) => plan.notes.extend(warnings),
            Err(problem) => problems.push(problem.into()),
        }
        if !problems.is_empty() {
            return Err(SuiteError::Problems { problems: Lines(problems) }.into());
        }
        match overrides.shard {
            Some(shard) => plan.of_shard(shard).map_err(|error| Diagnostics::from(error.problem().clone()).into()),
            None => Ok(plan),
        }
    }
}

/// Option problems that only the metrics themselves can find.
fn scorer_problems(plan: &PlanHeader) -> Vec<Box<dyn Error + Send + Sync>> {
    let metrics = plan.scorers.iter().filter(|scorer| matches!(scorer.kind, ScorerKind::Metric { .. }));
    metrics.filter_map(|scorer| Some(karat_scoring::scorer::build(scorer).err()?.into())).collect()
}

/// Adds the note for a preset that hides a folder with a suite of the same name.
pub(crate) fn with_shadow_note(mut plan: Plan, invocation: &Invocation) -> Plan {
    let suite = &invocation.suite;
    let has_folder = || SuiteFiles.is_file(&format!("{suite}/karat.yaml"));
    if !SuiteFiles.is_file(suite) && suite_path(suite).is_some() && has_folder() {
        plan.notes
            .push(format!("`{suite}` is the built-in preset, not the folder of this name: that one is `./{suite}`"));
    }
    plan
}

/// The suite of a file, a preset's name, or the `karat.yaml` of a folder: `./faq` and `faq/` are always the folder.
pub(crate) fn find_suite(suite: &str, files: &dyn Files) -> Result<String, AppError> {
    Ok(find_suite_file(suite, files)?)
}

fn find_suite_file(suite: &str, files: &dyn Files) -> Result<String, SuiteError> {
    let in_folder = format!("{}/karat.yaml", suite.trim_end_matches('/'));
    if files.is_file(suite) {
        return Ok(suite.to_owned());
    }
    if let Some(path) = suite_path(suite) {
        return Ok(path);
    }
    if files.is_file(&in_folder) {
        return Ok(in_folder);
    }
    Err(missing_suite(suite, files))
}

/// The error for a missing suite whose name was most likely meant as one more item of a list: `--models small big`.
fn after_list(error: SuiteError, suite: &str, overrides: &Overrides) -> SuiteError {
    let Overrides { models, variants, judges, samples, .. } = overrides;
    let lists = [("--models", models), ("--variants", variants), ("--judges", judges), ("--sample", samples)];
    let mut given = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let list = match &error {
        SuiteError::IsModel { .. } => given.find(|(flag, _)| ["--models", "--judges"].contains(flag)),
        SuiteError::IsVariant { .. } => given.find(|(flag, _)| *flag == "--variants"),
        SuiteError::NotFound { .. } => given.next(),
        _ => None,
    };
    match list {
        Some((flag, list)) => {
            let items: Vec<&str> = list.iter().map(String::as_str).filter(|item| !item.is_empty()).collect();
            SuiteError::IsOfList { name: suite.to_owned(), flag, list: items.join(",") }
        }
        None => error,
    }
}

/// The suite that a bare command runs.
const DEFAULT_SUITE: &str = "karat.yaml";

/// The error for a suite that is not there: it says where it was looked for.
fn missing_suite(suite: &str, files: &dyn Files) -> SuiteError {
    let presets = names();
    let suites_in = |folder: &str| {
        let is_yaml = |name: &String| name.ends_with(".yaml") || name.ends_with(".yml");
        let mut names: Vec<String> = files.list(folder).ok()?.into_iter().filter(is_yaml).collect();
        names.sort();
        Some(names)
    };
    let here = suites_in("").unwrap_or_default();
    if suite == DEFAULT_SUITE {
        let others: Vec<String> = here.iter().take(3).map(|name| format!("`{name}`")).collect();
        return match others.is_empty() {
            true => SuiteError::NotFoundHere { presets: Names::of(presets) },
            false => SuiteError::NotFoundHereBut { files: others.join(", ") },
        };
    }
    if let Some(mut candidates) = suites_in(suite) {
        candidates.truncate(3);
        let folder = suite.trim_end_matches('/');
        let paths: Vec<String> = candidates.iter().map(|name| format!("`{folder}/{name}`")).collect();
        let folder = if folder.is_empty() { suite } else { folder }.to_owned();
        let also = if paths.is_empty() { String::new() } else { format!(", but {}", paths.join(", ")) };
        return SuiteError::NoSuiteInFolder { folder, also };
    }
    let wanted = suite.to_owned();
    match here
        .contains(&DEFAULT_SUITE.to_owned())
        .then(|| karat_suite::part_named(files, DEFAULT_SUITE, suite))
        .flatten()
    {
        Some(SuitePart::Variant) => return SuiteError::IsVariant { name: wanted },
        Some(SuitePart::Model) => return SuiteError::IsModel { name: wanted },
        None if Registry::builtin().find(suite).is_some() => return SuiteError::IsModel { name: wanted },
        None => {}
    }
    if let Some(file) = karat_suite::nearest(suite, here.iter().map(String::as_str)) {
        return SuiteError::NotFoundFile { suite: wanted, file: file.to_owned() };
    }
    match karat_suite::nearest(suite, presets.iter().copied()) {
        Some(name) => SuiteError::NotFoundNear { suite: wanted, preset: name.to_owned() },
        None => SuiteError::NotFound { suite: wanted, presets: Names::of(presets) },
    }
}

impl Project<'_> {
    /// Today in the time zone of a plan's dataset; in UTC if it has none, or one that this machine does not know.
    pub(crate) fn today(&self, plan: &PlanHeader) -> Date {
        let zone = plan.dataset.zone.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
        let now = jiff::Timestamp::from_millisecond(self.app.clock.now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        now.to_zoned(zone).date()
    }
}

/// Number of outputs that are read.
const READ_OUTPUTS: usize = 200;

/// Number of runs that are looked at: one that checks judges has no outputs of its own.
const LAST_RUNS: usize = 5;

impl Project<'_> {
    /// Access to the outputs of the newest run that has any. A store that cannot be read gives none.
    pub(crate) fn last_outputs(&self) -> LastOutputs {
        let app = self.app.clone();
        LastOutputs::new(move |suite, variants| app.project().read_last_outputs(suite, variants).ok().flatten())
    }

    fn read_last_outputs(&self, suite: &str, variants: &[VariantSpec]) -> Result<Option<StoredOutputs>, AppError> {
        let store = self.app.existing_store()?;
        for run in store.runs_of_suite(suite, LAST_RUNS)? {
            let rows = store.rows(&run)?;
            let outputs = if rows.header().plan.run.measures_judges { Vec::new() } else { outputs(&rows, variants)? };
            if !outputs.is_empty() {
                return Ok(Some(StoredOutputs { run, outputs }));
            }
        }
        Ok(None)
    }
}

/// The first outputs of variants that are the same now.
fn outputs(rows: &dyn RunRows, variants: &[VariantSpec]) -> Result<Vec<Value>, AppError> {
    let plan = rows.header().plan.clone();
    let is_same = |system: usize| {
        let variant = plan.systems.get(system).and_then(|system| plan.variants.get(system.variant));
        variant.is_some_and(|variant| variants.contains(variant))
    };
    let mut cells = Vec::new();
    rows.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok && is_same(row.system) {
            cells.push(row.cell.ordinal);
        }
        if cells.len() < READ_OUTPUTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut outputs = Vec::new();
    for cell in cells {
        outputs.extend(rows.output(cell)?);
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use karat_summary::{JudgeOptions, judge_rubric};

    use super::*;

    /// SU-06: the library reads the preset's rubric as the suite's loader does.
    #[test]
    fn the_summary_rubric_is_read_alike_by_the_library() {
        let overrides = Overrides { judges: vec!["sim-summary-judge".to_owned()], ..Overrides::default() };
        let files: Arc<dyn Files> = Arc::new(SuiteFiles);
        let path = "preset:summary/karat.yaml";
        let suite = Suite::load(files, path, &overrides, &catalog::compose(), &Registry::builtin()).unwrap();
        let plan = suite.plan().unwrap();
        let rubrics = plan.header.scorers.iter().filter_map(|scorer| match &scorer.kind {
            ScorerKind::Rubric(judged) => Some(&judged.rubric),
            ScorerKind::Metric { .. } => None,
        });
        assert_eq!(rubrics.collect::<Vec<_>>(), [&judge_rubric(&JudgeOptions::default()).unwrap()]);
    }
}
