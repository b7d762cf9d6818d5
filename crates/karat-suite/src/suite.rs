//! A suite: read, changed by the caller, checked, decoded.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_text::redact::Redactor;
use karat_types::{
    AnalysisSpec, DatasetHeader, GateRules, ModelSpec, RunSpec, ScorerKind, ScorerSpec, ServiceSpec, VariantSpec,
};
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::dataset::checks::Checked;
use crate::dataset::fetch::Fetch;
use crate::dataset::{Dataset, Discretion, Spread, asserts};
use crate::decode::dataset::Decoded;
use crate::decode::digests::Unread;
use crate::decode::gates;
use crate::decode::models::unknown;
use crate::decode::{Decoder, run};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::files::Files;
use crate::grammar::{POLICY_FILE, SUITE};
use crate::node::{Node, Place};
use crate::overrides::Overrides;
use crate::params::Params;
use crate::registry::{self, Registry, STARTER};
use crate::{changes, check, compared, hash, names, safe, secrets, strays, versions, yaml};

/// A suite that can be planned.
pub struct Suite {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) suite_hash: String,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) registry: Registry,
    pub(crate) models: Vec<ModelSpec>,
    pub(crate) variants: Vec<VariantSpec>,
    pub(crate) scorers: Vec<ScorerSpec>,
    pub(crate) metrics: Vec<karat_types::MetricSpec>,
    pub(crate) analyses: Vec<AnalysisSpec>,
    pub(crate) services: BTreeMap<String, ServiceSpec>,
    pub(crate) run: RunSpec,
    pub(crate) trials: u32,
    pub(crate) as_of: Option<String>,
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) dataset_header: DatasetHeader,
    pub(crate) spread: Option<Arc<Spread>>,
    checks: Vec<Checked>,
    /// Limit and ids of samples, as the caller narrowed the dataset.
    pub(crate) selection: (Option<u64>, Vec<String>),
    pub(crate) recordings: BTreeMap<String, String>,
    pub(crate) notes: Vec<String>,
    pub(crate) params: Map<String, Value>,
    pub(crate) privacy: karat_types::PrivacySpec,
    pub(crate) statistics: karat_types::StatisticsSpec,
    rules: GateRules,
    warnings: Diagnostics,
}

impl Suite {
    /// Reads a suite and everything it names, and passes once over its dataset.
    ///
    /// # Errors
    /// Everything that is wrong with it, not the first; warnings and notices stand among the errors.
    pub fn load(
        files: Arc<dyn Files>,
        path: &str,
        overrides: &Overrides,
        catalog: &Catalog,
        builtin: &Registry,
    ) -> Result<Self, Diagnostics> {
        let mut decoder = Decoder::new(files, catalog);
        decoder.labelling = overrides.labelling;
        let (text, mut node) = read(path, "suite", &mut decoder)?;
        changes::set(&mut node, overrides, &mut decoder.problems);
        let swept = changes::sweep(&mut node, overrides, &mut decoder.problems);
        secrets::refuse(&node, &mut decoder.problems);
        secrets::refuse_given(&overrides.params, &mut decoder.problems);
        check::check(&node, &SUITE, catalog, &mut decoder.problems);
        if overrides.safe {
            safe::refuse_keys(&node, &mut decoder.problems);
        }
        let environment = &overrides.environment;
        decoder.params = Params::decode(node.given("params"), &overrides.params, environment, &mut decoder.problems);

        decoder.environment = environment.clone();
        decoder.services = decoder.services(node.given("services"));

        let mut known = builtin.clone();
        for file in node.given("registry").map(Node::items).unwrap_or_default() {
            registry::read_file(file, &mut known, &mut decoder);
        }
        decoder.own_entries(node.given("models"), &mut known);
        decoder.own_entries(node.given("judges"), &mut known);
        known.name_models(environment);

        decoder.as_of = overrides.as_of.clone();
        let mut declared = node.given("dataset").and_then(|node| Some((node, decoder.dataset(node, overrides)?)));
        let variants = decoder.variants(node.given("variants"), &swept, &known, overrides);
        let declared_variants: Vec<String> = variants.iter().map(|variant| variant.id.clone()).collect();
        let variants = selected_variants(variants, overrides, &mut decoder);
        let models = decoder.selected(node.given("models"), "--models", overrides.models.as_deref(), &known);
        let models = decoder.of_tier(models, overrides.tier, &known);
        needs_models(&node, &variants, &models, &mut decoder);
        let judges = decoder.selected(node.given("judges"), "--judges", overrides.judges.as_deref(), &known);
        let judges: Vec<String> = judges.into_iter().map(|judge| judge.id).collect();
        let mut scorers = decoder.scorers(node.given("scorers"), &judges, &known, overrides);
        versions::missing(&node, &variants, &scorers, &mut decoder);
        if overrides.safe {
            let place = node.given("judges").or_else(|| node.given("models")).unwrap_or(&node).place.clone();
            safe::refuse_models(&models, &variants, &scorers, &known, &place, &mut decoder.problems);
        }
        let ids = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let known_variants = ids(variants.iter().map(|variant| variant.id.as_str()).collect());
        let known_models = ids(models.iter().map(|model| model.id.as_str()).collect());
        decoder.partners(node.given("scorers"), &scorers, &known_variants, &known_models);
        let mut analyses = decoder.analyses(node.given("analyses"));
        decoder.labels(node.given("scorers"), &scorers, overrides.calibrating || only_calibrates(&analyses));
        let baseless = left_out(&mut analyses, &declared_variants, &known_variants, (overrides, &known_models));
        let gates = decoder.gates(node.given("gates"));
        let mut unselected = gates::variants_left_out(&declared_variants, &known_variants);
        unselected.extend(gates::models_left_out(node.given("models"), &models, &known));
        let privacy = decoder.privacy(node.given("privacy"));
        if let (false, Some(place)) = (privacy.keep_content, versus_of(node.given("scorers"))) {
            decoder
                .problems
                .error(&place, "outputs are compared with others, and this suite keeps none")
                .hint("set `privacy.keep_content: true`, or leave out `versus`");
        }
        if let Some((_, declared)) = &mut declared {
            declared.dataset.keep(gates::columns(&gates));
            declared.dataset.discretion = discretion(&node, &privacy);
        }
        decoder.reducible(node.given("scorers"), run::decode(node.given("run"), overrides).1);
        let baseline = node.given("baseline").and_then(|baseline| decoder.path(baseline));

        let asked = declared.as_ref().map(|(_, declared)| declared.asked.clone()).unwrap_or_default();
        let scanned = declared.map(|(node, declared)| scanned(node, declared, &scorers, &mut decoder));
        // Of a part of the samples, or of rows that are broken, nobody can say what the others ask for.
        let is_whole = overrides.limit.is_none() && overrides.samples.is_empty() && decoder.problems.errors() == 0;
        if let Some((dataset, ..)) = scanned.as_ref().filter(|_| is_whole) {
            strays::warn(dataset, &mut decoder);
            if dataset.is_unfiltered() {
                strays::warn_of_annotations(dataset, &mut decoder);
                let severity = if overrides.calibrating { Severity::Error } else { Severity::Warning };
                decoder.labels_of_no_sample(node.given("scorers"), &scorers, dataset, severity);
            }
        }
        // Gates of a suite that is right are held beside its plan, which knows every figure.
        if decoder.problems.errors() > 0 {
            decoder.gated_scorers(node.given("gates"), node.given("scorers"));
        }
        let recordings = std::mem::take(&mut decoder.recordings);
        let params = decoder.params.values();
        let services = std::mem::take(&mut decoder.services);
        let as_of = decoder.as_of.take();
        let files = decoder.files.clone();
        let warnings = decoder.problems.into_diagnostics();
        let (false, Some((dataset, dataset_header, spread, asserts, checks))) = (warnings.has_errors(), scanned) else {
            return Err(warnings);
        };
        let (run, trials) = run::decode(node.given("run"), overrides);
        let judged_checks = dataset.asserts.as_ref().filter(|_| asserts.judged);
        scorers.extend(judged_checks.map(|checks| checks.judged(&judges, asserts.has_input)));
        let (mut scorers, mut notes) = judged(scorers);
        notes.extend(baseless);
        if let Some(wanted) = &overrides.scorers {
            scorers.retain(|scorer| wanted.contains(&scorer.id));
        }
        scorers.extend(asserts.metrics.then(|| row_checks(&dataset, &scorers)).flatten());
        Ok(Self {
            path: path.to_owned(),
            name: node.text_of("name").unwrap_or_default().to_owned(),
            about: node.text_of("about").map(str::to_owned),
            suite_hash: hash::suite(&text),
            files,
            registry: known,
            models,
            variants,
            metrics: crate::metrics::of_scorers(&scorers, catalog),
            scorers,
            analyses,
            services,
            as_of,
            run,
            trials,
            dataset,
            dataset_header,
            spread: spread.map(Arc::new),
            checks,
            selection: (overrides.limit, asked),
            recordings,
            notes,
            params,
            privacy,
            statistics: run::statistics(node.given("statistics")),
            rules: GateRules { gates, policy: gates::policy(node.given("policy")), baseline, left_out: unselected },
            warnings,
        })
    }

    /// Its gates and how they bind. A plan does not hold them: they can be changed and applied to a stored run.
    pub fn rules(&self) -> &GateRules {
        &self.rules
    }

    /// What is known of models: the registry with the suite's own entries.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The files that columns with `fetch` want and that are not there. Load the suite with `fetching`, or their absence
    /// is an error.
    pub fn absent(&self) -> Vec<Fetch> {
        self.dataset.absent()
    }

    /// Whether what came for an absent file can be the file.
    ///
    /// # Errors
    /// What is wrong with it: it is no JSON, empty, a web page, against the row schema, or against a check with `max: 0`.
    pub fn accepts(&self, fetch: &Fetch, content: &[u8]) -> Result<(), String> {
        self.dataset.accepts(fetch, content)
    }

    /// What the checks of its dataset counted; all of them hold.
    pub fn checks(&self) -> &[Checked] {
        &self.checks
    }

    /// Warnings and notices.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

/// Reads a policy file: just the keys `gates` and `policy`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load_policy(files: Arc<dyn Files>, path: &str) -> Result<GateRules, Diagnostics> {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(files, &catalog);
    let (_, node) = read(path, "policy file", &mut decoder)?;
    check::check_at(&node, &POLICY_FILE, &["policy file"], &catalog, &mut decoder.problems);
    let gates = decoder.gates(node.given("gates"));
    let problems = decoder.problems.into_diagnostics();
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(GateRules { gates, policy: gates::policy(node.given("policy")), ..GateRules::default() })
}

/// The name of a suite, without checking anything else of it.
///
/// # Errors
/// A file that cannot be read, that is no YAML, or that has no `name`.
pub fn name_of(files: Arc<dyn Files>, path: &str) -> Result<String, Diagnostics> {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(files, &catalog);
    let (_, node) = read(path, "suite", &mut decoder)?;
    let nameless = || Diagnostics::from(Diagnostic::of_file(Severity::Error, path, "the suite has no `name`"));
    node.text_of("name").map(str::to_owned).ok_or_else(nameless)
}

fn read(path: &str, what: &str, decoder: &mut Decoder<'_>) -> Result<(String, Node), Diagnostics> {
    let failed = |message: String| Diagnostics::from(Diagnostic::of_file(Severity::Error, path, message));
    let bytes = decoder.files.read(path).map_err(|error| failed(format!("the {what} cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| failed(format!("the {what} is not UTF-8 text")))?;
    let file = decoder.problems.source(path, &text);
    match yaml::read(&text, file, &mut decoder.problems) {
        Some(node) => Ok((text, node)),
        None => Err(std::mem::take(&mut decoder.problems).into_diagnostics()),
    }
}

/// Which checks of their own the rows have.
struct RowChecks {
    /// Some that metrics decide.
    metrics: bool,
    /// Some that judges decide.
    judged: bool,
    /// Whether the judges can be shown an input.
    has_input: bool,
}

/// Passes over the dataset, and settles what only its columns can tell.
fn scanned(
    node: &Node,
    declared: Decoded,
    scorers: &[ScorerSpec],
    decoder: &mut Decoder<'_>,
) -> (Arc<Dataset>, DatasetHeader, Option<Spread>, RowChecks, Vec<Checked>) {
    let watched = std::mem::take(&mut decoder.watched);
    let pending = std::mem::take(&mut decoder.pending);
    let (place, problems) = (&declared.place, &mut decoder.problems);
    let dataset = Arc::new(declared.dataset);
    let scan = dataset.scan(place, declared.checks, &watched, &pending, problems);
    if scan.is_read {
        names::settle(&pending, &scan.held(), problems);
        compared::settle(&pending, &scan.held(), scorers, problems);
    }
    let sources = declared.sources.finish().unwrap_or_else(|Unread { path, error }| {
        // Its rows, too, could not be read to their end: then that is told already.
        if problems.errors() == 0 {
            problems.error(place, format!("the file {path} cannot be read: {error}"));
        }
        Vec::new()
    });
    let header = DatasetHeader {
        rows: scan.rows,
        hash: hash::dataset(node, &sources, &scan.contents, &decoder.digests, dataset.days.as_ref()),
        sources,
        version: declared.version,
        clustered: scan.is_clustered,
        zone: declared.zone,
        mismatches: scan.mismatches,
        changelog: declared.changelog,
    };
    let asserts = RowChecks { metrics: scan.has_asserts, judged: scan.has_judged_asserts, has_input: scan.has_input };
    (dataset, header, scan.spread, asserts, scan.checks)
}

/// Whether labels serve a calibration, and nothing that can do without the output that they are about.
fn only_calibrates(analyses: &[AnalysisSpec]) -> bool {
    let has = |name: &str| analyses.iter().any(|it| it.analysis == name);
    has("calibration") && !has("human_anchor") && !has("judge_bias")
}

/// What may be said of rows under the rules of the suite.
fn discretion(node: &Node, privacy: &karat_types::PrivacySpec) -> Discretion {
    let sensitive = node.given("privacy").and_then(|privacy| privacy.given("sensitive"));
    Discretion {
        is_sensitive: sensitive.and_then(Node::boolean).unwrap_or(false),
        redactor: Redactor::of(privacy).ok().flatten(),
    }
}

/// The scorer of the checks that rows hold for themselves; a scorer of the suite by that name stands before it.
fn row_checks(dataset: &Dataset, scorers: &[ScorerSpec]) -> Option<ScorerSpec> {
    let path = dataset.asserts.as_ref()?.path.to_string();
    let free = scorers.iter().all(|scorer| scorer.id != asserts::COLUMN);
    let checks = || ScorerKind::Metric { metric: asserts::COLUMN.to_owned(), with: Map::new() };
    free.then(|| ScorerSpec { reference: Some(path), ..ScorerSpec::new(asserts::COLUMN, checks()) })
}

/// Takes out analyses that compare with a variant or model which this run leaves out, and says so.
fn left_out(
    analyses: &mut Vec<AnalysisSpec>,
    declared: &[String],
    variants: &[String],
    (overrides, models): (&Overrides, &[String]),
) -> Vec<String> {
    let mut notes = Vec::new();
    analyses.retain(|spec| {
        let Some(base) = spec.with.get("base").and_then(Value::as_str) else { return true };
        let is_there = |ids: &[String]| ids.iter().any(|id| id.split('{').next() == Some(base) || id == base);
        let of_models = spec.with.get("over").is_some_and(|over| over == "model");
        let absent = if of_models {
            (overrides.models.is_some() || overrides.tier.is_some()) && !is_there(models)
        } else {
            is_there(declared) && !is_there(variants)
        };
        if absent {
            notes.push(format!(
                "the analysis `{}` is left out: it compares with `{base}`, which is not selected",
                spec.id
            ));
        }
        !absent
    });
    notes
}

/// The variants that run. A swept variant's name stands for all that was made of it.
fn selected_variants(all: Vec<VariantSpec>, overrides: &Overrides, decoder: &mut Decoder<'_>) -> Vec<VariantSpec> {
    let Some(wanted) = &overrides.variants else { return all };
    let is = |variant: &VariantSpec, name: &str| {
        variant.id == name || variant.id.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
    };
    for name in wanted.iter().filter(|name| !all.iter().any(|variant| is(variant, name))) {
        let (_, place) = decoder.on_command_line("--variants", name);
        let known: Vec<&str> = all.iter().map(|variant| variant.id.as_str()).collect();
        unknown("variant", name, &known, &place, &mut decoder.problems);
    }
    all.into_iter().filter(|variant| wanted.iter().any(|name| is(variant, name))).collect()
}

fn needs_models(node: &Node, variants: &[VariantSpec], models: &[ModelSpec], decoder: &mut Decoder<'_>) {
    let calling = variants.iter().find(|variant| variant.calls_matrix_model());
    let had_any = node.given("models").is_some_and(|list| !list.items().is_empty() || list.text().is_some());
    match calling {
        Some(variant) if models.is_empty() && !had_any => {
            let place = node.given("variants").map_or(&node.place, |variants| &variants.place);
            decoder
                .problems
                .error(place, format!("the variant `{}` calls a model, but no model is named", variant.id))
                .hint(format!("add `models:`, or give --models; for a first comparison: {}", STARTER.join(",")));
        }
        None if !models.is_empty() && !variants.is_empty() && decoder.problems.errors() == 0 => {
            let place = node.given("models").map_or(&node.place, |models| &models.place);
            decoder.problems.warn(place, "no variant calls a model, so none of these runs");
        }
        _ => {}
    }
}

/// Where a scorer compares outputs with others.
fn versus_of(scorers: Option<&Node>) -> Option<Place> {
    scorers?.entries().iter().find_map(|entry| Some(entry.node.given("versus")?.place.clone()))
}

/// Leaves out rubric scorers without judges, and says so.
fn judged(scorers: Vec<ScorerSpec>) -> (Vec<ScorerSpec>, Vec<String>) {
    let is_off = |scorer: &ScorerSpec| matches!(&scorer.kind, ScorerKind::Rubric(rubric) if rubric.judges.is_empty());
    let (off, on): (Vec<_>, Vec<_>) = scorers.into_iter().partition(is_off);
    let note = |scorer: &ScorerSpec| {
        format!("the scorer `{}` is off: it has no judge; name one under `judges` or with --judges", scorer.id)
    };
    (on, off.iter().map(note).collect())
}
