//! The results that the gates of a run compare with: a pinned run, a golden set, an earlier run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use karat_analysis::golden::Golden;
use karat_analysis::{Pinned, PinnedRun, References, primary_metric};
use karat_store::StoredRun;
use karat_suite::Files;
use karat_types::{GateReference, GateRules, PlanHeader, RunHeader, RunRows, RunStatus};

use crate::AppError;
use crate::error::{AnalyseError, FileError, GoldenError};
use crate::project::gate_rules::{change_gates, read_pinned};
use crate::project::presets::{self, SuiteFiles};
use crate::stored::Stored;
use crate::stored::findings::findings;

/// Number of runs that are searched for the previous one.
const RECENT: usize = 1_000;

impl Stored<'_> {
    /// The runs that the gates compare with.
    pub(crate) fn references(
        &self,
        stored: &StoredRun,
        rules: &GateRules,
        notes: &mut Vec<String>,
    ) -> Result<References, AppError> {
        let mut references = References::default();
        let declared = rules.baseline.as_ref();
        let golden = declared.map(|path| self.golden_baseline(path, &stored.header().plan)).transpose()?.flatten();
        if let Some((pinned, note)) = golden {
            notes.push(note);
            references.baseline = pinned;
        } else if let Some(path) = declared {
            match SuiteFiles.read(path) {
                Ok(bytes) => {
                    let baseline = read_pinned(path, &bytes, &stored.header().plan)?;
                    let foreign = baseline.run.dataset_hash != stored.header().plan.dataset.hash;
                    if foreign && (path.starts_with("preset:") || is_shipped(&bytes)) {
                        notes.push(format!(
                            "the baseline {path} is of the preset's own data, so this run is not compared with it: \
                             `karat baseline pin RUN -o baseline.json` pins yours"
                        ));
                    } else {
                        notes.push(format!("the baseline is run {}, from {path}", baseline.run.id));
                        references.baseline = Some(baseline.without_changed(stored)?);
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => notes
                    .push(format!("nothing is pinned at {path} yet: `karat baseline pin RUN -o {path}` pins a run")),
                Err(error) => return Err(FileError::of("reading the baseline", path, error).into()),
            }
        }
        for against in change_gates(rules).filter_map(|gate| gate.against.as_ref()) {
            match against {
                GateReference::Previous if references.previous.is_none() => {
                    references.previous = self.previous(stored)?
                }
                GateReference::Run(id) if !references.runs.contains_key(id) => {
                    let run = self.run(id)?;
                    require_finished(run.header(), "gates compare with whole runs")?;
                    references.runs.insert(id.clone(), reference(&run, stored)?);
                }
                _ => {}
            }
        }
        Ok(references)
    }

    /// The newest finished run of the same suite that started before this one, except golden checks.
    fn previous(&self, stored: &StoredRun) -> Result<Option<Pinned>, AppError> {
        let header = stored.header();
        let store = self.app.existing_store()?;
        for id in store.runs_of_suite(&header.plan.suite, RECENT)? {
            let run = store.run(&id)?;
            let is_other = run.id != header.id && !run.plan.run.measures_judges;
            let earlier = is_other && run.started_at <= header.started_at;
            if earlier && run.is_whole() {
                let rows = store.rows(&id)?;
                return reference(&rows, stored).map(Some);
            }
        }
        Ok(None)
    }
    /// The folder that a suite's `baseline` names; `None` if it names a pinned run.
    pub(crate) fn golden_place(&self, path: &str, suite: &str) -> Option<PathBuf> {
        if SuiteFiles.is_file(path) {
            return None;
        }
        if path.starts_with("preset:") {
            return Some(self.app.home.join("golden").join(suite));
        }
        let path = Path::new(path);
        // A pinned run is JSON; any other free name, such as `golden-v1.2`, becomes a folder.
        let is_folder = path.is_dir() || !path.exists() && path.extension().is_none_or(|it| it != "json");
        is_folder.then(|| path.to_owned())
    }

    /// A path as readers of a page know it: what lies below the folder of the project, without the way to it.
    pub(crate) fn shown_path(&self, path: &Path) -> String {
        let project = self.app.home.parent().filter(|folder| !folder.as_os_str().is_empty());
        let below = project.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
        below.display().to_string()
    }

    /// The golden set that the gates of a plan compare with, and a note on it; `None` if the baseline is a pinned run.
    pub(crate) fn golden_baseline(
        &self,
        path: &str,
        plan: &PlanHeader,
    ) -> Result<Option<(Option<Pinned>, String)>, AppError> {
        let Some(folder) = self.golden_place(path, &plan.suite) else { return Ok(None) };
        let golden: Vec<Golden> = read_folder(&folder, plan)?.into_iter().map(|(_, golden)| golden).collect();
        if golden.is_empty() {
            let note = format!(
                "nothing is pinned in {} yet: `karat golden pin` pins what is stored",
                self.shown_path(&folder)
            );
            return Ok(Some((None, note)));
        }
        let names = |of: fn(&Golden) -> Option<&String>| -> Vec<String> {
            golden.iter().filter_map(of).cloned().collect::<BTreeSet<_>>().into_iter().collect()
        };
        let scored: BTreeSet<&str> = golden.iter().filter_map(Golden::scored_by).collect();
        let scored: Vec<&str> = scored.into_iter().collect();
        let versions = names(|pinned| pinned.baseline_prompt_version.as_ref());
        let versions =
            if versions.is_empty() { String::new() } else { format!(", prompt version {}", versions.join(", ")) };
        let systems = names(|pinned| pinned.system.as_ref());
        let of = if systems.is_empty() { String::new() } else { format!(" of {}", systems.join(", ")) };
        let note = format!(
            "the baseline is the golden set {} ({} samples{of}, judged by {}{versions})",
            self.shown_path(&folder),
            golden.len(),
            scored.join(", ")
        );
        let run = PinnedRun { id: folder.display().to_string(), suite: plan.suite.clone(), ..PinnedRun::default() };
        Ok(Some((Some(Pinned::golden(run, &golden)), note)))
    }
}

/// The results of a run that another one is compared with, on samples with the same content.
fn reference(run: &StoredRun, compared: &StoredRun) -> Result<Pinned, AppError> {
    let pinned = Pinned::of(run.header(), &findings(run)?);
    match run.header().plan.dataset.hash == compared.header().plan.dataset.hash {
        true => Ok(pinned),
        false => Ok(pinned.with_contents(run)?.without_changed(compared)?),
    }
}

/// Returns whether a baseline is shipped with a preset, or is its copy by `karat init`, whatever its layout.
fn is_shipped(bytes: &[u8]) -> bool {
    let read = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    let shipped = |preset: &str| read(presets::text(&format!("{preset}/baseline.json"))?.as_bytes());
    let given = read(bytes);
    given.is_some() && presets::names().into_iter().filter_map(shipped).any(|own| Some(own) == given)
}

pub(crate) fn require_finished(header: &RunHeader, why: &'static str) -> Result<(), AppError> {
    if let Some(shard) = header.shard() {
        return Err(AnalyseError::OnePart { run: header.id.clone(), shard, why }.into());
    }
    if header.status == RunStatus::Finished {
        return Ok(());
    }
    Err(AnalyseError::NotFinished { run: header.id.clone(), why }.into())
}

/// The golden files of a folder by name; none if the folder does not exist.
pub(crate) fn read_folder(folder: &Path, plan: &PlanHeader) -> Result<Vec<(PathBuf, Golden)>, AppError> {
    let names = match SuiteFiles.list(&folder.to_string_lossy()) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FileError::of("reading the golden set", folder, error).into()),
    };
    let mut names: Vec<String> = names.into_iter().filter(|name| name.ends_with(".json")).collect();
    names.sort();
    let primary = primary_metric(plan).and_then(|at| plan.metrics.get(at)).map(|metric| metric.name.clone());
    let read = |name: String| {
        let path = folder.join(name);
        let failed = |problem: String| GoldenError::BadFile { path: path.display().to_string(), problem };
        let bytes = SuiteFiles.read(&path.to_string_lossy()).map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".to_owned()))?;
        let mut golden = Golden::read(&text).map_err(failed)?;
        if golden.baseline_metric.is_empty() {
            golden.baseline_metric = primary.clone().unwrap_or_default();
        }
        let spec = plan.metric(&golden.baseline_metric).and_then(|at| plan.metrics.get(at));
        let composite = golden.baseline_composite;
        if let Some((lo, hi)) = spec.and_then(|it| it.range).filter(|(lo, hi)| !(*lo..=*hi).contains(&composite)) {
            return Err(failed(format!("`baseline_composite` is {composite}, and the metric goes from {lo} to {hi}")));
        }
        Ok((path, golden))
    };
    let golden: Vec<(PathBuf, Golden)> = names.into_iter().map(read).collect::<Result<_, GoldenError>>()?;
    let mut files: BTreeMap<&str, &Path> = BTreeMap::new();
    for (path, pinned) in &golden {
        if let Some(other) = files.insert(&pinned.sample, path) {
            let (one, other) = (other.display().to_string(), path.display().to_string());
            return Err(GoldenError::Twice { one, other, sample: pinned.sample.clone() }.into());
        }
    }
    Ok(golden)
}
