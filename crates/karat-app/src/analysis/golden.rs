//! Golden sets: pinned from the store, listed, and judged again. Only [`Analysis::golden_pin`] moves a baseline.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use karat_analysis::golden::{Golden, GoldenRule, GoldenVerdict, check_golden};
use karat_analysis::{FailingJudge, GradeRow, GradedCell, RowFilter, for_each_graded, system_id};
use karat_store::StoredRun;
use karat_suite::{Overrides, Plan};
use karat_types::{CellStatus, Exit, Gate, GateReference, PlanHeader, RunRows, RunStatus, System};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::analysis::suite_rows::collect_named;
use crate::error::{FileError, GoldenError, Names};
use crate::project::atomic_file;
use crate::stored::findings;
use crate::stored::references::read_folder;
use crate::{AppError, Execution, Invocation, RunEnd};

/// The largest tolerated drop of a card, where none is named.
const MAX_DROP: f64 = 0.5;

/// The request to pin a golden set.
#[derive(Debug, Clone, Default)]
pub struct PinRequest {
    /// The filter of rows.
    pub choice: RowFilter,
    /// True if nothing is changed.
    pub dry_run: bool,
    /// True if files of other samples are removed.
    pub clean: bool,
}

/// The effect of pinning on one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pinning {
    /// There was no file.
    New {
        /// The composite.
        to: f64,
    },
    /// The composite changed.
    Moved {
        /// The composite pinned before.
        from: f64,
        /// The composite now.
        to: f64,
    },
    /// Nothing changed.
    Same,
    /// The file is removed.
    Removed,
}

/// The effect of pinning.
#[derive(Debug, Clone, PartialEq)]
pub struct GoldenPin {
    /// The folder.
    pub folder: PathBuf,
    /// By sample.
    pub files: BTreeMap<String, Pinning>,
    /// Warnings about the rows.
    pub warnings: Vec<String>,
}

/// The request to check a golden set.
#[derive(Debug, Clone, Default)]
pub struct GoldenRequest {
    /// The judge, instead of the suite's.
    pub judge: Option<String>,
    /// The largest tolerated drop, instead of 0.5. The rule is then `drop`, if none is named.
    pub max_drop: Option<f64>,
    /// The rule that decides. Default: `drop` where a gate of the suite compares each sample with the baseline, or where the
    /// set cannot test the judge; else `test`.
    pub decide: Option<GoldenRule>,
    /// True if judgments of earlier runs may be reused.
    pub cached: bool,
}

/// The result of checking a golden set.
#[derive(Debug, Clone, Serialize)]
pub struct GoldenCheck {
    /// `karat.golden-check/1`.
    pub schema: &'static str,
    /// Id of the run that judged.
    pub run: String,
    /// The folder of the set.
    pub folder: PathBuf,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: GoldenVerdict,
    /// The rule that decides.
    pub decide: GoldenRule,
    /// The decision of each rule: true if it passes, `None` if it cannot be told.
    pub decisions: BTreeMap<&'static str, Option<bool>>,
    /// The exit code.
    #[serde(skip)]
    pub exit: Exit,
}

impl GoldenCheck {
    /// For a terminal.
    pub fn terminal(&self) -> String {
        karat_report::terminal::golden(&self.run, &self.verdict, self.decide)
    }
}

impl Analysis<'_> {
    /// Pins the latest row of each sample of a suite.
    ///
    /// # Errors
    /// No row to pin, rows of several systems, a folder that cannot be written.
    pub fn golden_pin(&self, invocation: &Invocation, asked: &PinRequest) -> Result<GoldenPin, AppError> {
        let plan = self.app.project().load(&invocation.on_any_day())?;
        let folder = self.golden_folder(&plan)?;
        let store = self.app.existing_store()?;
        let sources = self.chosen_sources(&store, invocation, &plan.header)?;
        let choice = RowFilter { sources, ..asked.choice.clone() };
        let history = collect_named(&store, &plan.header.suite, &choice, None)?;
        let mut of_sample: BTreeMap<&str, Vec<&GradedCell>> = BTreeMap::new();
        for cell in history.cells() {
            let sample = cell.grade().map(|grade| grade.sample.as_str());
            sample.into_iter().for_each(|sample| of_sample.entry(sample).or_default().push(cell));
        }
        if of_sample.is_empty() {
            return Err(GoldenError::NothingToPin { suite: plan.header.suite.clone() }.into());
        }
        require_one_system(history.rows())?;
        let now: Vec<Golden> = of_sample.values().filter_map(|cells| latest(cells)).collect();
        require_one_judge(&now)?;
        let pin = pin_into(&folder, &now, &plan.header, asked)?;
        if !asked.dry_run {
            self.accept_judges(&store, &plan)?;
        }
        Ok(GoldenPin { warnings: history.warnings(), ..pin })
    }

    /// The golden set of a suite, and its folder.
    ///
    /// # Errors
    /// A suite without a `baseline`, a file that is not a golden file.
    pub fn golden_list(&self, invocation: &Invocation) -> Result<(PathBuf, Vec<Golden>), AppError> {
        let plan = self.app.project().load(&invocation.on_any_day())?;
        let folder = self.golden_folder(&plan)?;
        let golden = read_folder(&folder, &plan.header)?;
        Ok((folder, golden.into_iter().map(|(_, golden)| golden).collect()))
    }

    /// Judges the pinned samples again as a new run, and reports which of them dropped.
    ///
    /// # Errors
    /// No golden file, none of its samples in the dataset; else as [`Runs::run`](crate::Runs::run).
    pub fn golden_check(
        &self,
        invocation: &Invocation,
        asked: &GoldenRequest,
        execution: Execution,
    ) -> Result<(GoldenCheck, RunEnd), AppError> {
        let judges = asked.judge.iter().cloned().collect::<Vec<_>>();
        let mut invocation = invocation.clone();
        if !judges.is_empty() {
            invocation.overrides.judges = judges;
        }
        invocation.overrides.no_cache = !asked.cached;
        invocation.overrides.golden_check = true;
        let whole = self.app.project().load(&with_samples(&invocation, Vec::new()))?;
        let folder = self.golden_folder(&whole)?;
        let pinned: Vec<Golden> = read_folder(&folder, &whole.header)?.into_iter().map(|(_, golden)| golden).collect();
        if pinned.is_empty() {
            return Err(GoldenError::Empty { folder: folder.display().to_string() }.into());
        }
        let all = pinned.len();
        if let Some(sample) = unpinned_sample(&pinned, &invocation.overrides.samples) {
            let ids = pinned.iter().map(|golden| golden.sample.as_str());
            let near = karat_suite::nearest(&sample, ids).map(|near| format!("did you mean `{near}`? "));
            return Err(GoldenError::NotPinned { near: near.unwrap_or_default(), sample }.into());
        }
        let golden = filter_chosen(pinned, &invocation.overrides);
        if golden.is_empty() {
            return Err(GoldenError::NoneAsked { all }.into());
        }
        let there: BTreeSet<String> = sample_ids(&whole);
        let samples: Vec<String> =
            golden.iter().map(|pinned| pinned.sample.clone()).filter(|id| there.contains(id)).collect();
        if samples.is_empty() {
            let folder = folder.display().to_string();
            return Err(GoldenError::NoneInDataset { count: golden.len(), folder }.into());
        }
        let invocation = limit_to_pinned_systems(with_samples(&invocation, samples), &golden, &whole.header);
        let plan = self.app.project().load(&invocation)?;
        let is_frozen = plan.header.systems.iter().all(|system| system.model.is_none());
        let metric = golden.first().map(|pinned| pinned.baseline_metric.clone()).unwrap_or_default();
        let end = self.app.runs().run(plan, &invocation, execution)?;
        let stored = self.app.stored().run(&end.run)?;
        let mut cells = Vec::new();
        for_each_graded(&stored, Some(&metric), &mut |cell| cells.push(cell))?;
        let mut missing: BTreeMap<String, String> = failures(&stored)?;
        for pinned in golden.iter().filter(|pinned| !there.contains(&pinned.sample)) {
            missing.insert(pinned.sample.clone(), "the dataset has no such sample".to_owned());
        }
        let started_at = stored.header().started_at;
        let max_drop = asked.max_drop.unwrap_or(MAX_DROP);
        let mut verdict = check_golden(&golden, &cells, started_at, &missing, max_drop, is_frozen);
        let by_drop = asked.max_drop.is_some() || whole.rules.gates.iter().any(is_gate_of_cards) || !verdict.is_test();
        let decide = asked.decide.unwrap_or(if by_drop { GoldenRule::Drop } else { GoldenRule::Test });
        let failing = failing_judges(&stored)?;
        let is_judge_silent = failing.iter().any(FailingJudge::is_silent);
        verdict.warnings.extend(failing.iter().map(|it| {
            format!(
                "the judge {} failed on {} of the {} that it was asked for: {}",
                it.judge, it.failed, it.of, it.error
            )
        }));
        if end.status != RunStatus::Finished {
            let run = &end.run;
            verdict.warnings.push(format!(
                "the check stopped before all samples were judged: `karat resume {run}` judges the rest, then `karat golden \
                 check --cached` says how all of them stand"
            ));
        }
        let left_out = all - golden.len();
        if left_out > 0 {
            let what =
                format!("{left_out} of {all} pinned samples were not checked: `--limit` or `--sample` leaves them out");
            verdict.warnings.push(what);
        }
        let problems = if verdict.problems > 0 || is_judge_silent { Exit::HarnessError } else { Exit::Pass };
        let decided = match verdict.decision(decide) {
            Some(true) => Exit::Pass,
            Some(false) => Exit::GateFailed,
            None => Exit::Undecided,
        };
        let decisions = [("test", GoldenRule::Test), ("drop", GoldenRule::Drop)];
        let check = GoldenCheck {
            schema: "karat.golden-check/1",
            run: end.run.clone(),
            folder,
            decide,
            decisions: decisions.into_iter().map(|(name, rule)| (name, verdict.decision(rule))).collect(),
            verdict,
            exit: end.exit().worst(problems).worst(decided),
        };
        Ok((check, end))
    }

    /// The folder of a suite's golden set. Golden sets of presets lie in the state folder.
    pub(crate) fn golden_folder(&self, plan: &Plan) -> Result<PathBuf, AppError> {
        let canary = plan.canaries.first().map(|canary| canary.folder.as_str());
        let Some(path) = plan.rules.baseline.as_deref().or(canary) else {
            return Err(GoldenError::NoFolder { suite: plan.header.suite.clone() }.into());
        };
        let place = self.app.stored().golden_place(path, &plan.header.suite);
        place.ok_or_else(|| GoldenError::IsFile { path: path.to_owned() }.into())
    }
}

/// Writes a golden set into a folder, and removes the files of other samples if that is asked.
pub(crate) fn pin_into(
    folder: &Path,
    now: &[Golden],
    plan: &PlanHeader,
    asked: &PinRequest,
) -> Result<GoldenPin, AppError> {
    let before = read_folder(folder, plan)?;
    let mut files: BTreeMap<String, Pinning> = BTreeMap::new();
    for golden in now {
        let known = before.iter().find(|(_, known)| known.sample == golden.sample).map(|(_, known)| known);
        let to = golden.baseline_composite;
        let pinning = match known {
            None => Pinning::New { to },
            Some(known) if known == golden => Pinning::Same,
            Some(known) => Pinning::Moved { from: known.baseline_composite, to },
        };
        files.insert(golden.sample.clone(), pinning);
    }
    let stale = before.iter().filter(|(_, known)| asked.clean && !files.contains_key(&known.sample));
    let stale: Vec<(PathBuf, String)> = stale.map(|(path, known)| (path.clone(), known.sample.clone())).collect();
    if !asked.dry_run {
        write(folder, now)?;
        for (path, _) in &stale {
            fs::remove_file(path).map_err(|error| write_error(path, error))?;
        }
    }
    files.extend(stale.into_iter().map(|(_, sample)| (sample, Pinning::Removed)));
    Ok(GoldenPin { folder: folder.to_owned(), files, warnings: Vec::new() })
}

/// The ids that `--sample` names: an id with commas where a sample of this id is pinned, else the ids between the commas.
fn requested_samples<'a>(pinned: &[Golden], texts: &'a [String]) -> Vec<&'a str> {
    let is_pinned = |id: &str| pinned.iter().any(|golden| golden.sample == id);
    let parts = |text: &'a String| if is_pinned(text) { vec![text.as_str()] } else { text.split(',').collect() };
    texts.iter().flat_map(parts).collect()
}

/// The first requested sample that is not pinned.
fn unpinned_sample(pinned: &[Golden], texts: &[String]) -> Option<String> {
    let mut requested = requested_samples(pinned, texts).into_iter();
    requested.find(|id| pinned.iter().all(|golden| golden.sample != *id)).map(str::to_owned)
}

/// The requested samples: all, those of `--sample`, or the first `--limit`.
fn filter_chosen(pinned: Vec<Golden>, overrides: &Overrides) -> Vec<Golden> {
    let requested: BTreeSet<String> =
        requested_samples(&pinned, &overrides.samples).into_iter().map(str::to_owned).collect();
    let is_named = |golden: &Golden| requested.is_empty() || requested.contains(&golden.sample);
    let most = overrides.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    pinned.into_iter().filter(is_named).take(most).collect()
}

/// Limits the invocation to the pinned systems, if every sample names one that the suite still has and the command line
/// chooses no others.
pub(crate) fn limit_to_pinned_systems(mut invocation: Invocation, golden: &[Golden], plan: &PlanHeader) -> Invocation {
    let Overrides { variants, models, tier, .. } = &invocation.overrides;
    let chooses = !variants.is_empty() || !models.is_empty() || tier.is_some();
    let named = |id: &str| plan.systems.iter().enumerate().find(|(at, _)| system_id(plan, *at) == id).map(|(_, it)| it);
    let pinned: Option<Vec<&System>> = golden.iter().map(|it| named(it.system.as_deref()?)).collect();
    let Some(systems) = pinned.filter(|_| !chooses) else { return invocation };
    let ids =
        |of: &mut dyn Iterator<Item = Option<String>>| of.flatten().collect::<BTreeSet<_>>().into_iter().collect();
    let variant = |system: &System| Some(plan.variants.get(system.variant)?.id.clone());
    let model = |system: &System| Some(plan.models.get(system.model?)?.id.clone());
    invocation.overrides.variants = ids(&mut systems.iter().map(|system| variant(system)));
    invocation.overrides.models = ids(&mut systems.iter().map(|system| model(system)));
    invocation
}

/// The same invocation for these samples alone; all samples if there are none.
pub(crate) fn with_samples(invocation: &Invocation, samples: Vec<String>) -> Invocation {
    let mut chosen = invocation.clone();
    chosen.overrides.samples = samples;
    chosen.overrides.limit = None;
    chosen
}

pub(crate) fn sample_ids(plan: &Plan) -> BTreeSet<String> {
    let id = |row: Result<karat_types::Sample, karat_suite::DatasetError>| match row {
        Ok(sample) => Some(sample.id.to_string()),
        Err(error) => error.id.as_deref().map(str::to_owned),
    };
    plan.rows().filter_map(id).collect()
}

/// Judges with failed judgments; none for an unfinished run.
fn failing_judges(stored: &StoredRun) -> Result<Vec<FailingJudge>, AppError> {
    if stored.header().status != RunStatus::Finished {
        return Ok(Vec::new());
    }
    let found = findings::findings(stored)?;
    Ok(found.grading().map(|grading| grading.failing_judges.clone()).unwrap_or_default())
}

/// Returns true if a gate compares each sample with the baseline: then every card counts.
fn is_gate_of_cards(gate: &Gate) -> bool {
    gate.per == "sample" && gate.max_drop.is_some() && matches!(gate.against, None | Some(GateReference::Baseline))
}

/// The reasons for missing judgments, by sample.
fn failures(stored: &dyn RunRows) -> Result<BTreeMap<String, String>, AppError> {
    let mut failures = BTreeMap::new();
    let read = stored.for_each(&mut |row| {
        let judged = row.judgments.iter().find_map(|judgment| judgment.error.as_ref());
        let own = row.cell.error.as_ref().filter(|_| row.cell.status == CellStatus::Error);
        if let Some(error) = own.or(judged) {
            failures.insert(row.sample.id.clone(), error.message.clone());
        }
        std::ops::ControlFlow::Continue(())
    });
    read?;
    Ok(failures)
}

/// Refuses rows of several systems: a golden set has one row per sample.
fn require_one_system<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> Result<(), AppError> {
    let systems: BTreeSet<&str> = rows.map(|row| row.system.as_str()).collect();
    if systems.len() < 2 {
        return Ok(());
    }
    Err(GoldenError::SeveralSystems { count: systems.len(), systems: Names::of(systems) }.into())
}

/// Refuses grades of several judges or prompt versions: their figures cannot be compared with those of one.
fn require_one_judge(now: &[Golden]) -> Result<(), AppError> {
    let mut judges: BTreeMap<String, usize> = BTreeMap::new();
    for pinned in now {
        let judge = pinned.scored_by().unwrap_or("no judge");
        let version =
            pinned.baseline_prompt_version.as_ref().map_or_else(String::new, |it| format!(" with prompt {it}"));
        *judges.entry(format!("{judge}{version}")).or_default() += 1;
    }
    if judges.len() < 2 {
        return Ok(());
    }
    let names = Names::of(judges.iter().map(|(judge, samples)| format!("{judge}: {samples} samples")));
    Err(GoldenError::SeveralJudges { judges: names }.into())
}

/// The latest grade of a sample, with those of the other trials of its run.
fn latest(cells: &[&GradedCell]) -> Option<Golden> {
    let newest = cells.iter().map(|cell| cell.selected_at()).max()?;
    let newest_cells: Vec<&&GradedCell> = cells.iter().filter(|cell| cell.selected_at() == newest).collect();
    let trials: Vec<&GradeRow> = newest_cells.iter().filter_map(|cell| cell.grade()).collect();
    let content = newest_cells.first().map(|cell| cell.content.clone()).unwrap_or_default();
    let made_at = newest_cells.iter().flat_map(|cell| &cell.rows).map(|row| row.made_at).max()?;
    Some(Golden { baseline_content: content, ..Golden::of(&trials, crate::rfc3339(made_at))? })
}

fn write(folder: &Path, golden: &[Golden]) -> Result<(), AppError> {
    fs::create_dir_all(folder).map_err(|error| write_error(folder, error))?;
    for pinned in golden {
        let path = folder.join(file_name(&pinned.sample));
        atomic_file::write(&path, pinned.text().as_bytes()).map_err(|error| write_error(&path, error))?;
    }
    Ok(())
}

/// The file name of a sample: its id if that is a safe name, else its safe characters and a digest.
fn file_name(sample: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !sample.is_empty() && sample.len() <= 100 && sample.chars().all(is_fine) && !sample.starts_with('.') {
        return format!("{sample}.json");
    }
    let harmless: String = sample.chars().filter(|c| is_fine(*c) && *c != '.').take(40).collect();
    format!("{harmless}-{}.json", &blake3::hash(sample.as_bytes()).to_hex()[..12])
}

fn write_error(path: &Path, error: std::io::Error) -> FileError {
    FileError::writing(path, error).with_hint("`-p golden=DIR`, or the suite's `baseline`, names another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F59: `--sample A,B` names two samples, as for `run`; an id that contains a comma is taken as a whole.
    #[test]
    fn samples_are_named_as_for_a_run() {
        let pinned = |sample: &str| {
            Golden::read(&serde_json::json!({"sample": sample, "baseline_composite": 1.0}).to_string()).unwrap()
        };
        let all = ["a", "b", "c,d"].map(pinned);
        let chosen = |text: &str| {
            let overrides = Overrides { samples: vec![text.to_owned()], ..Overrides::default() };
            let kept = filter_chosen(all.to_vec(), &overrides);
            kept.iter().map(|golden| golden.sample.as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([chosen("a,b"), chosen("b"), chosen("c,d")], ["a b", "b", "c,d"]);
        let unpinned = |text: &str| unpinned_sample(&all, &[text.to_owned()]);
        assert_eq!((unpinned("a,x"), unpinned("c,d"), unpinned("a,b")), (Some("x".to_owned()), None, None));
    }

    #[test]
    fn sample_ids_never_become_paths() {
        assert_eq!(file_name("2026-03-18"), "2026-03-18.json");
        for hostile in ["../../etc/passwd", "/a", ".hidden", "", "a b", "ä", &"x".repeat(300)] {
            let name = file_name(hostile);
            assert!(!name.contains('/') && !name.starts_with('.') && name.len() < 80, "{name}");
        }
        assert_ne!(file_name("a/b"), file_name("ab"));
        assert_ne!(file_name("a/b"), file_name("a.b/"));
    }
}
