//! Compares stored runs, or models and variants of one run. Makes no API calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_analysis::Findings;
use karat_analysis::compare::{
    CompareOptions, ComparisonVerdict, RunComparison, Side, UnknownSystem, add_outputs, changed_samples,
    results_of_both,
};
use karat_report::page::{Document, Links};
use karat_stats::compare::multiplicity::StepRule;
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_store::StoredRun;
use karat_suite::Files;
use karat_types::{Exit, KeyBuilder, PlanHeader, RunRows, RunStatus, Threshold};

use crate::AppError;
use crate::analysis::Analysis;
use crate::error::{AnalyseError, Names};
use crate::project::load;
use crate::project::presets::SuiteFiles;
use crate::stored::findings::findings;
use crate::stored::invocation::read_stored_invocation;
use crate::stored::kept_pages::find_or_build;

/// Number of runs that an error lists.
const LISTED_RUNS: usize = 8;

/// The parts of a run that can be compared with each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparedParts {
    /// Id of the run.
    pub run: String,
    /// Its models.
    pub models: Vec<String>,
    /// Its variants.
    pub variants: Vec<String>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Party {
    /// A run: its id, its beginning, or `latest`.
    pub run: String,
    /// The model, if only its systems count.
    pub model: Option<String>,
    /// The variant, if only its systems count.
    pub variant: Option<String>,
}

/// The correction of p-values for the number of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Correction {
    /// Holm.
    #[default]
    Holm,
    /// Benjamini-Hochberg.
    BenjaminiHochberg,
    /// None.
    None,
}

/// The request for a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareRequest {
    /// Names of metrics, or prefixes followed by `*`; all if empty.
    pub metrics: Vec<String>,
    /// The correction.
    pub correction: Correction,
    /// Confidence level of all metrics together, between 0 and 1.
    pub confidence: f64,
    /// The smallest relevant difference by metric; a percentage refers to the baseline's figure.
    pub margins: BTreeMap<String, Threshold>,
    /// The difference that further samples are planned for, by metric or pattern.
    pub mde: BTreeMap<String, Threshold>,
    /// True if the comparison is decided even though the judge, or the content of samples, differs between the sides.
    pub allow_changed: bool,
    /// The largest number of movers listed in each direction.
    pub movers: usize,
    /// True if the outputs of the listed movers are shown.
    pub outputs: bool,
}

/// A finished comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    compared: RunComparison,
    /// The plans of both sides, the baseline first.
    plans: [Arc<PlanHeader>; 2],
}

impl Comparison {
    /// For a terminal.
    pub fn terminal(&self) -> String {
        karat_report::terminal::comparison(&self.compared)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        karat_report::markdown::comparison(&self.compared)
    }

    /// As a page.
    pub fn html(&self) -> String {
        let [baseline, candidate] = &self.plans;
        karat_report::page::comparison(&self.compared, [baseline, candidate], &Links::none()).to_file()
    }

    /// As a page of the dashboard, with links to the candidate's samples.
    fn page(&self, candidate: &str) -> Document {
        let [before, after] = &self.plans;
        karat_report::page::comparison(&self.compared, [before, after], &Links::live(candidate))
    }

    /// The exit code if some verdicts bind: 2 for a metric that is worse, 4 for an undecided one.
    pub fn exit(&self, binding: &[ComparisonVerdict]) -> Exit {
        self.compared.exit(binding)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        karat_report::json::comparison(&self.compared).map_err(AppError::from)
    }
}

impl Analysis<'_> {
    /// The newest run of the suite in this folder; without a suite here, the newest of all runs.
    ///
    /// # Errors
    /// There is no stored run.
    pub fn latest_run_here(&self) -> Result<String, AppError> {
        match self.suite_here() {
            None => self.app.stored().run_of_systems("latest"),
            Some(suite) => self.app.stored().run_of_suite(&self.app.existing_store()?, suite),
        }
    }

    /// The name of the suite in this folder, or of the one that `KARAT_SUITE` names.
    fn suite_here(&self) -> Option<String> {
        let path = (self.app.lookup)("KARAT_SUITE").unwrap_or_else(|| "karat.yaml".to_owned());
        let files: Arc<dyn Files> = Arc::new(SuiteFiles);
        let path = load::find_suite(&path, &*files).ok()?;
        karat_suite::name_of(files, &path).ok()
    }

    /// Resolves two words: two runs, or else two models, variants or systems (`model/variant`) of `run`, by default the
    /// latest run of the suite in this folder.
    pub fn parties(&self, words: [&str; 2], run: Option<&str>) -> Result<[Party; 2], AppError> {
        let store = self.app.existing_store()?;
        let runs = words.map(|word| self.app.stored().run_of_systems(word.strip_prefix("run:").unwrap_or(word)));
        if let (None, [Ok(baseline), Ok(candidate)]) = (run, &runs) {
            return Ok([baseline, candidate].map(|run| Party { run: run.clone(), ..Party::default() }));
        }
        let id = match run {
            Some(run) => self.app.stored().run_of_systems(run)?,
            None => self.latest_run_here()?,
        };
        let plan = store.run(&id)?.plan;
        let [baseline, candidate] = words.map(|word| party_named(&plan, word));
        let is_run = |word: &str| words.iter().zip(&runs).any(|(it, run)| *it == word && run.is_ok());
        match (baseline, candidate) {
            (Some(baseline), Some(candidate)) => {
                Ok([baseline, candidate].map(|party| Party { run: id.clone(), ..party }))
            }
            (Some(_), None) if is_run(words[1]) => Err(unlike_sides(words[1], words[0], &id)),
            (None, Some(_)) if is_run(words[0]) => Err(unlike_sides(words[0], words[1], &id)),
            (found, _) => {
                let unknown = if found.is_none() && !is_run(words[0]) { words[0] } else { words[1] };
                Err(AnalyseError::NoSide {
                    name: unknown.to_owned(),
                    suite: plan.suite.clone(),
                    runs: Names::of(store.runs_of_suite(&plan.suite, LISTED_RUNS)?),
                    run: id,
                    models: Names::of(plan.models.iter().map(|it| &it.id)),
                    variants: Names::of(plan.variants.iter().map(|it| &it.id)),
                }
                .into())
            }
        }
    }

    /// The models and the variants of a run that can be sides of a comparison, in plan order.
    ///
    /// # Errors
    /// No such run.
    pub fn compared_parts(&self, run: &str) -> Result<ComparedParts, AppError> {
        let stored = self.app.stored().run(run)?;
        let plan = &stored.header().plan;
        let mut parts = ComparedParts { run: stored.header().id.clone(), ..ComparedParts::default() };
        let add = |to: &mut Vec<String>, name: &str| {
            if !to.iter().any(|known| known == name) {
                to.push(name.to_owned());
            }
        };
        for system in 0..plan.systems.len() {
            add(&mut parts.variants, plan.system_variant(system));
            if let Some(model) = plan.system_model(system) {
                add(&mut parts.models, &model.id);
            }
        }
        Ok(parts)
    }

    /// Builds the page of a comparison for the dashboard, with links to the candidate's samples. That of ended runs is kept
    /// in memory.
    ///
    /// # Errors
    /// As [`Analysis::compare`].
    pub fn comparison_page(
        &self,
        baseline: &Party,
        candidate: &Party,
        comparing: &CompareRequest,
    ) -> Result<Arc<Document>, AppError> {
        let runs = [self.stored_party(baseline)?, self.stored_party(candidate)?];
        let mut key = KeyBuilder::new("karat/comparison").text(&format!("{baseline:?}{candidate:?}{comparing:?}"));
        for run in &runs {
            key = key.text(&run.header().id).key(run.state()?);
        }
        let [_, after] = &runs;
        let build = || Ok(self.compare(baseline, candidate, comparing)?.page(&after.header().id));
        match runs.iter().any(|run| run.header().status == RunStatus::Running) {
            true => build().map(Arc::new),
            false => find_or_build(self.app.opened.comparison_pages(), key.finish(), build),
        }
    }

    fn stored_party(&self, party: &Party) -> Result<StoredRun, AppError> {
        let stored = self.app.stored();
        stored.run(&stored.run_of_systems(&party.run)?)
    }

    /// Compares the candidate with the baseline.
    pub fn compare(
        &self,
        baseline: &Party,
        candidate: &Party,
        comparing: &CompareRequest,
    ) -> Result<Comparison, AppError> {
        if baseline == candidate {
            return Err(AnalyseError::Itself {}.into());
        }
        let mut options = options(comparing)?;
        let (before, after) = (self.stored_party(baseline)?, self.stored_party(candidate)?);
        options.max_unscored = read_stored_invocation(after.header())?.rules.policy.max_unscored;
        let one_run = before.header().id == after.header().id;
        let same_data = before.header().plan.dataset.hash == after.header().plan.dataset.hash;
        if !same_data && !comparing.allow_changed {
            options.changed = changed_samples(&before, &after)?;
        }
        let before_findings = findings(&before)?;
        let other_findings = if one_run { None } else { Some(findings(&after)?) };
        let after_findings = other_findings.as_ref().unwrap_or(&before_findings);
        let baseline = side(baseline, &before.header().id, &before_findings, one_run)?;
        let candidate = side(candidate, &after.header().id, after_findings, one_run)?;
        if !one_run {
            let (own, other) = ((&before as &dyn RunRows, &before_findings), (&after as &dyn RunRows, after_findings));
            options.results = Some(results_of_both(own, other, &options.changed)?);
        }
        let mut compared = karat_analysis::compare::compare(&baseline, &candidate, &options)?;
        if comparing.outputs {
            add_outputs(&mut compared, &before, &after)?;
        }
        let plans = [&before, &after].map(|run| Arc::clone(&run.header().plan));
        Ok(Comparison { compared, plans })
    }
}

/// The error for comparing a run with a part of a run.
fn unlike_sides(run: &str, part: &str, of: &str) -> AppError {
    AnalyseError::Unlike { run: run.to_owned(), part: part.to_owned(), of: of.to_owned() }.into()
}

/// Resolves a word to a model, variant or `model/variant` of a plan. As in a suite's `against`, `model:x` and
/// `variant:x` are explicit.
fn party_named(plan: &PlanHeader, word: &str) -> Option<Party> {
    let model = |id: &str| plan.models.iter().any(|it| it.id == id).then(|| id.to_owned());
    let variant = |id: &str| plan.variants.iter().any(|it| it.id == id).then(|| id.to_owned());
    if let Some(model) = model(word.strip_prefix("model:").unwrap_or(word)) {
        return Some(Party { model: Some(model), ..Party::default() });
    }
    if let Some(variant) = variant(word.strip_prefix("variant:").unwrap_or(word)) {
        return Some(Party { variant: Some(variant), ..Party::default() });
    }
    let (first, second) = word.rsplit_once('/')?;
    Some(Party { model: Some(model(first)?), variant: Some(variant(second)?), ..Party::default() })
}

fn side<'a>(party: &Party, run: &str, findings: &'a Findings, one_run: bool) -> Result<Side<'a>, AppError> {
    let (model, variant) = (party.model.as_deref(), party.variant.as_deref());
    let within: Vec<&str> = [model, variant].into_iter().flatten().collect();
    let label = match within.as_slice() {
        [] => run.to_owned(),
        parts if one_run => parts.join("/"),
        parts => format!("{run} {}", parts.join("/")),
    };
    Side::of(label, findings, model, variant).map_err(|UnknownSystem { wanted, has }| {
        AnalyseError::NoSystem { run: run.to_owned(), wanted, has: Names::of(has) }.into()
    })
}

fn options(comparing: &CompareRequest) -> Result<CompareOptions, AppError> {
    let confidence = comparing.confidence;
    let level = Level::new(confidence).ok_or(AnalyseError::BadConfidence { confidence })?;
    let is_none = |margin: &Threshold| !(margin.value > 0.0 && margin.value.is_finite());
    if let Some((metric, margin)) = comparing.margins.iter().find(|(_, margin)| is_none(margin)) {
        return Err(AnalyseError::BadMargin { metric: metric.clone(), margin: margin.value }.into());
    }
    Ok(CompareOptions {
        level,
        correction: match comparing.correction {
            Correction::Holm => StepRule::Holm,
            Correction::BenjaminiHochberg => StepRule::BenjaminiHochberg,
            Correction::None => StepRule::Alone,
        },
        metrics: comparing.metrics.clone(),
        margins: comparing.margins.clone(),
        mde: comparing.mde.clone(),
        any_instrument: comparing.allow_changed,
        movers: comparing.movers,
        seed: Seed(1),
        ..CompareOptions::default()
    })
}
