//! From a suite file to a [`Suite`], in phases: read and check the tree, read the registry, decode the matrix and its
//! rules, pass once over the dataset, and assemble the parts. Each phase records its problems, and only the last one
//! refuses: a user sees all of them at once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::decode::service::CanarySpec;
use karat_alert::AlertSpec;
use karat_schedule::ScheduleSpec;
use karat_text::redact::Redactor;
use karat_types::{
    AnalysisSpec, DatasetDesign, DatasetHeader, Gate, GateReference, GateRules, KeyBuilder, ModelSpec, PASS,
    PrivacySpec, ScorerKind, ScorerSpec, StepSpec, VariantSpec,
};

use super::selection::{
    ChosenJudge, check_models, choose_judge, drop_baseless_analyses, drop_judged, drop_unjudged,
    refuse_doubled_systems, row_check_scorer, select_variants,
};
use super::{Suite, read};
use crate::catalog::Catalog;
use crate::check;
use crate::check::{foreign_files, references, secrets, stop_early};
use crate::dataset::checks::CheckCounts;
use crate::dataset::checks::only::KnownSystems;
use crate::dataset::checks::row_checks::{COLUMN, RowChecks};
use crate::dataset::draw::GroupKey;
use crate::dataset::scan::Expected;
use crate::dataset::{Dataset, RepresentativeRows, RowRedaction};
use crate::decode::dataset::digests::UnreadFile;
use crate::decode::dataset::{DecodedDataset, DecodedDesign, DesignFile};
use crate::decode::scorers::EMBEDDER;
use crate::decode::scorers::metrics;
use crate::decode::scorers::output_fields::OutputFields;
use crate::decode::scorers::stored_outputs::OutputSamples;
use crate::decode::{Decoder, gates, run};
use crate::diagnostics::{Diagnostics, Problems, Severity};
use crate::files::Files;
use crate::grammar::SUITE;
use crate::overrides::changes;
use crate::overrides::{LoadPurpose, Overrides};
use crate::registry::{self, Registry};
use crate::suite::{hash, orphaned_files, prompt_limits, safe, versions};
use crate::syntax::names;
use crate::syntax::node::{Entry, Node, Place, Tree};
use crate::syntax::params::Params;

impl Suite {
    /// Reads a suite and everything it names, and passes once over its dataset.
    ///
    /// # Errors
    /// All problems of the suite, not only the first; warnings and notices are included.
    pub fn load(
        files: Arc<dyn Files>,
        path: &str,
        overrides: &Overrides,
        catalog: &Catalog,
        builtin: &Registry,
    ) -> Result<Self, Diagnostics> {
        let mut decoder = Decoder::new(files, catalog);
        let source = read_source(path, overrides, &mut decoder)?;
        let node = &source.node;
        let registry = read_registry(node, overrides, builtin, &mut decoder);
        let dataset = node.field("dataset").and_then(|node| Some((node, decoder.dataset(node, overrides)?)));
        decoder.note_dataset_folder(node.field("dataset"));
        let matrix = decode_matrix(&source, overrides, &registry, &mut decoder);
        let assessment = decode_assessment(node, &matrix, overrides, &registry, &mut decoder);
        let asked = dataset.as_ref().map(|(_, decoded)| decoded.asked.clone()).unwrap_or_default();
        let scanned = dataset.map(|(at, mut decoded)| {
            decoded.dataset.keep(gates::columns(&assessment.gates));
            decoded.dataset.keep(decoded.design.iter().filter_map(|it| it.design.by.clone()));
            let draw = decoded.dataset.draw.clone();
            let keys = draw.iter().flat_map(|draw| [&draw.per, &draw.by]).flatten();
            decoded
                .dataset
                .keep(keys.filter(|key| matches!(key, GroupKey::Column(..))).map(|key| key.name().to_owned()));
            decoded.dataset.row_redaction = row_redaction(node, &assessment.privacy);
            decoded.dataset.turns = std::mem::take(&mut decoder.turns_checks);
            decoded.dataset.systems = known_systems(node, &matrix, &registry);
            scan(at, decoded, &matrix.scorers, &mut decoder)
        });
        if let Some(scanned) = &scanned {
            warn_of_orphans(node, scanned, &matrix.scorers, overrides, &mut decoder);
        }
        refuse_doubled_metrics(node, scanned.as_ref(), &matrix.scorers, &mut decoder);
        let names = node.field("headline").map(Node::items).unwrap_or_default();
        let headline = names.iter().filter_map(|name| decoder.name_by_params(name)).collect();
        decoder.headline(node.field("headline"), node.field("scorers"));
        // Gates of a suite without errors are checked against its plan, which knows every metric.
        if decoder.problems.errors() > 0 {
            decoder.gated_scorers(node.field("gates"), node.field("scorers"));
        }
        let assembly = Assembly { path, source: &source, registry, matrix, assessment, asked, headline };
        assembly.finish(scanned, overrides, decoder)
    }
}

/// A suite file as the caller changed it.
struct LoadedSource {
    text: String,
    node: Node,
    /// Ids of the variants that a sweep replaces.
    swept: BTreeSet<String>,
}

/// Phase 1: reads the file, applies the caller's changes, and checks the tree against the grammar.
///
/// # Errors
/// The file cannot be read, or is not YAML.
fn read_source(path: &str, overrides: &Overrides, decoder: &mut Decoder<'_>) -> Result<LoadedSource, Diagnostics> {
    decoder.labelling = overrides.context.purpose == LoadPurpose::Label;
    let (text, mut node) = read(path, "suite", decoder)?;
    if foreign_files::refuse(path, &node, &mut decoder.problems) {
        return Err(std::mem::take(&mut decoder.problems).into_diagnostics());
    }
    write_out_dataset(&mut node);
    changes::apply_sets(&mut node, overrides, &mut decoder.problems);
    let swept = changes::apply_sweeps(&mut node, overrides, &mut decoder.problems);
    secrets::refuse(&node, &mut decoder.problems);
    secrets::refuse_given(&overrides.params, &mut decoder.problems);
    check::check(&node, &SUITE, decoder.catalog, &mut decoder.problems);
    stop_early::check(&node, &mut decoder.problems);
    if overrides.safe {
        safe::refuse_keys(&node, &mut decoder.problems);
    }
    Ok(LoadedSource { text, node, swept })
}

/// Writes out the short form `dataset: FILE`.
fn write_out_dataset(suite: &mut Node) {
    let Tree::Map(entries) = &mut suite.value else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key == "dataset" && entry.node.text().is_some()) {
        let (source, place) = (entry.node.clone(), entry.node.place.clone());
        let key = Entry { key: "source".to_owned(), place: place.clone(), node: source };
        entry.node = Node { value: Tree::Map(vec![key]), place };
    }
}

/// Warns of judges that are tested because their entry is listed under `models`.
fn warn_of_tested_judges(suite: &Node, models: &[ModelSpec], judges: &[ModelSpec], problems: &mut Problems) {
    let entries = suite.field("models").map(Node::items).unwrap_or_default().iter();
    for (entry, id) in entries.filter_map(|entry| Some((entry, entry.field("id")?.text()?))) {
        let is_both = |models: &[ModelSpec]| models.iter().any(|model| model.id == id);
        if entry.field("base_url").is_some() && is_both(models) && is_both(judges) {
            problems
                .warn(
                    &entry.place,
                    format!("`{id}` is under `models`, so it is tested and paid as well, and grades its own outputs"),
                )
                .hint("move its entry to `judges` if it only grades");
        }
    }
}

/// Phase 2: gives the decoder parameters, environment, services and tools, and returns the models that the suite knows.
fn read_registry(node: &Node, overrides: &Overrides, builtin: &Registry, decoder: &mut Decoder<'_>) -> Registry {
    let environment = &overrides.context.environment;
    decoder.params = Params::decode(node.field("params"), &overrides.params, environment, &mut decoder.problems);
    if overrides.plain_params {
        decoder.params.refuse_templates(&overrides.params, &mut decoder.problems);
    }
    decoder.environment = environment.clone();
    decoder.host_functions.clone_from(&overrides.context.host_functions);
    decoder.services = decoder.services(node.field("services"));
    let tools = node.field("tools");
    decoder.declared_tools = tools.map(Node::entries).unwrap_or_default().iter().map(|tool| tool.key.clone()).collect();
    decoder.tools = decoder.tools(tools);
    decoder.as_of = overrides.as_of.clone();
    let mut registry = builtin.clone().with_providers(decoder.catalog);
    for file in node.field("registry").map(Node::items).unwrap_or_default() {
        registry::read_file(file, &mut registry, decoder);
    }
    decoder.own_entries(node.field("models"), &mut registry);
    decoder.own_entries(node.field("judges"), &mut registry);
    registry.name_models(environment);
    registry
}

/// The systems under test, and what scores them.
struct Matrix {
    /// Ids of all variants of the suite, whether they are selected or not.
    declared_variants: Vec<String>,
    variants: Vec<VariantSpec>,
    models: Vec<ModelSpec>,
    /// Ids of the judges.
    judges: Vec<String>,
    /// The one of them, if it was chosen because scripts grade no real model.
    chosen_judge: Option<ChosenJudge>,
    scorers: Vec<ScorerSpec>,
}

impl Matrix {
    fn variant_ids(&self) -> Vec<String> {
        self.variants.iter().map(|variant| variant.id.clone()).collect()
    }

    fn model_ids(&self) -> Vec<String> {
        self.models.iter().map(|model| model.id.clone()).collect()
    }
}

/// Phase 3: decodes variants, models, judges and scorers, keeping those that are selected.
fn decode_matrix(source: &LoadedSource, overrides: &Overrides, known: &Registry, decoder: &mut Decoder<'_>) -> Matrix {
    let node = &source.node;
    let variants = decoder.variants(node.field("variants"), &source.swept, known, overrides);
    decoder.output_fields = OutputFields::of(&variants);
    let name = node.text_of("name").unwrap_or_default();
    decoder.stored_outputs = overrides.context.last_outputs.read(name, &variants).map(OutputSamples::of);
    let declared_variants = variants.iter().map(|variant| variant.id.clone()).collect();
    let chosen = node.field("run").and_then(|run| run.field("variants"));
    let variants = select_variants(variants, chosen, overrides, decoder);
    let is_text = |variant: &&VariantSpec| variant.steps.last().is_some_and(StepSpec::is_unparsed_text);
    decoder.text_variant = variants.iter().find(is_text).map(|variant| variant.id.clone());
    let models = decoder.select_models(node.field("models"), "--models", &overrides.models, known);
    let models = decoder.filter_by_tier(models, overrides.tier, known);
    check_models(node, &variants, &models, known, overrides.context.may_lack_models, decoder);
    refuse_doubled_systems(node, &variants, &models, &mut decoder.problems);
    let judges = match overrides.has_no_judges() {
        true => Vec::new(),
        false => decoder.select_models(node.field("judges"), "--judges", &overrides.judges, known),
    };
    warn_of_tested_judges(node, &models, &judges, &mut decoder.problems);
    let chosen_judge = choose_judge(&judges, &models, overrides, known).unwrap_or_else(|problem| {
        let place = node.field("judges").map_or(&node.place, |judges| &judges.place);
        decoder.problems.error(place, problem).hint("name a judge with --judges");
        None
    });
    let judges: Vec<String> = match &chosen_judge {
        Some(chosen) => vec![chosen.id.clone()],
        None => judges.into_iter().map(|judge| judge.id).collect(),
    };
    let scorers = decoder.scorers(node.field("scorers"), &judges, known, overrides);
    metrics::warn_of_mixed(node.field("scorers"), &scorers, decoder.catalog, &mut decoder.problems);
    decoder.warn_of_related_users(node.field("variants"), &variants, &models, known);
    versions::missing(node, &variants, &scorers, decoder);
    if overrides.safe {
        let place = node.field("judges").or_else(|| node.field("models")).unwrap_or(node).place.clone();
        safe::refuse_models(&models, &variants, &scorers, known, &place, &mut decoder.problems);
    }
    Matrix { declared_variants, variants, models, judges, chosen_judge, scorers }
}

/// The variants and models that rows may name: all that are declared, and those that are selected.
fn known_systems(node: &Node, matrix: &Matrix, known: &Registry) -> KnownSystems {
    let declared = node.field("models").map(Node::items).unwrap_or_default().iter();
    let declared = declared.filter_map(|item| known.find(item.main("id")?.text()?)).map(Cow::into_owned);
    KnownSystems {
        variants: matrix.declared_variants.clone(),
        models: matrix.models.iter().cloned().chain(declared).collect(),
    }
}

/// Analyses, gates and privacy: what happens with the scores.
struct Assessment {
    analyses: Vec<AnalysisSpec>,
    gates: Vec<Gate>,
    baseline: Option<String>,
    /// Variants and models that gates may name although this run leaves them out.
    left_out: Vec<GateReference>,
    privacy: PrivacySpec,
    canaries: Vec<CanarySpec>,
    schedules: Vec<ScheduleSpec>,
    alerts: Vec<AlertSpec>,
    /// Notes on analyses that are left out.
    notes: Vec<String>,
}

/// Phase 4: decodes analyses, gates and privacy.
fn decode_assessment(
    node: &Node,
    matrix: &Matrix,
    overrides: &Overrides,
    known: &Registry,
    decoder: &mut Decoder<'_>,
) -> Assessment {
    let (variants, models) = (matrix.variant_ids(), matrix.model_ids());
    let scorers = node.field("scorers");
    decoder.partners(scorers, &matrix.scorers, &variants, &models);
    let mut analyses = decoder.analyses(node.field("analyses"));
    decoder.labels(
        scorers,
        &matrix.scorers,
        overrides.context.purpose == LoadPurpose::Calibrate || only_calibrates(&analyses),
    );
    let notes = drop_baseless_analyses(&mut analyses, &matrix.declared_variants, &variants, (overrides, &models));
    let gates = decoder.gates(node.field("gates"), Some(&known_systems(node, matrix, known)));
    let mut left_out = gates::variants_left_out(&matrix.declared_variants, &variants);
    left_out.extend(gates::models_left_out(node.field("models"), &matrix.models, known));
    decoder.trace_shares(node.field("traces"));
    let privacy = decoder.privacy(node.field("privacy"));
    let place = node.field("variants").unwrap_or(node).place.clone();
    prompt_limits::check(&matrix.variants, &matrix.models, known, &privacy, &place, &mut decoder.problems);
    if let (false, Some(place)) = (privacy.keep_content, versus_of(scorers)) {
        decoder
            .problems
            .error(&place, "this scorer compares outputs with others, but the suite stores no outputs")
            .hint("set `privacy.keep_content: true`, or remove `versus`");
    }
    decoder.reducible(scorers, run::decode(node.field("run"), overrides).1);
    let baseline = node.field("baseline").and_then(|baseline| decoder.path(baseline));
    let canaries = decoder.canaries(scorers);
    let schedules = decoder.schedules(node.field("schedules"), !canaries.is_empty());
    let alerts = decoder.alerts(node.field("alerts"));
    Assessment { analyses, gates, baseline, left_out, privacy, canaries, schedules, alerts, notes }
}

/// A dataset after the pass over its rows.
struct Scanned {
    dataset: Arc<Dataset>,
    header: DatasetHeader,
    representative_rows: Option<RepresentativeRows>,
    row_checks: RowCheckKinds,
    checks: Vec<CheckCounts>,
    design_file: Option<DesignFile>,
}

/// The kinds of checks that rows hold for themselves.
struct RowCheckKinds {
    /// Checks that metrics decide.
    metrics: bool,
    /// Checks that judges decide.
    judged: bool,
    /// True if there is an input to show to the judges.
    has_input: bool,
}

/// Phase 5: passes over the dataset, and settles what only its columns can tell.
fn scan(node: &Node, decoded: DecodedDataset, scorers: &[ScorerSpec], decoder: &mut Decoder<'_>) -> Scanned {
    let watched = std::mem::take(&mut decoder.watched);
    let pending = std::mem::take(&mut decoder.pending);
    let compared = std::mem::take(&mut decoder.compared);
    let (place, problems) = (&decoded.place, &mut decoder.problems);
    let dataset = Arc::new(decoded.dataset);
    let expected = Expected { watched: &watched, compared, pending: &pending };
    let scan = dataset.scan(place, decoded.checks, expected, problems);
    if scan.is_read {
        names::settle(&pending, &scan.available_names(), problems);
        references::settle(&pending, &scan.available_names(), scorers, problems);
    }
    let sources = decoded.sources.finish().unwrap_or_else(|UnreadFile { path, error }| {
        // The pass could not read its rows to the end either, and may have said so.
        if problems.errors() == 0 {
            problems.error(place, format!("the file {path} cannot be read: {error}"));
        }
        Vec::new()
    });
    let (design, design_file) = match decoded.design {
        Some(DecodedDesign { design, file }) => (Some(design), Some(file)),
        None if scan.is_read => (draw_design(node, &dataset, problems), None),
        None => (None, None),
    };
    let header = DatasetHeader {
        rows: scan.rows,
        hash: hash::dataset(node, &sources, &scan.contents, &decoder.digests, dataset.days.as_ref()),
        sources,
        version: decoded.version,
        clustered: scan.is_clustered,
        zone: decoded.zone,
        mismatches: scan.mismatches,
        changelog: decoded.changelog,
        design,
    };
    let row_checks =
        RowCheckKinds { metrics: scan.has_asserts, judged: scan.has_judged_asserts, has_input: scan.has_input };
    Scanned {
        dataset,
        header,
        representative_rows: scan.representative_rows,
        row_checks,
        checks: scan.checks,
        design_file,
    }
}

/// The design of the suite's own draw, unless figures are to be plain means, or have to be, which is a warning.
fn draw_design(node: &Node, dataset: &Arc<Dataset>, problems: &mut Problems) -> Option<DatasetDesign> {
    let draw = dataset.draw.as_ref().filter(|draw| draw.per.is_some() || draw.by.is_some())?;
    if node.text_of("design") == Some("none") || !dataset.only.is_empty() {
        return None;
    }
    let place = node.field("draw").map_or(&node.place, |at| &at.place);
    let cannot = match (&draw.per, &draw.by) {
        _ if dataset.limit.is_some() => {
            Some("`limit` takes the first of the drawn rows, so figures are plain means of these")
        }
        (Some(_), Some(_)) => {
            Some("figures of a draw with both `per` and `by` are not weighted: they are plain means of the drawn rows")
        }
        _ => None,
    };
    if let Some(why) = cannot {
        problems.warn(place, why);
        return None;
    }
    let frame = KeyBuilder::new("karat/drawn-frame").number(draw.seed);
    dataset.drawn_rows(draw).design(draw, frame.finish())
}

/// Refuses two metrics of one name.
fn refuse_doubled_metrics(node: &Node, scanned: Option<&Scanned>, scorers: &[ScorerSpec], decoder: &mut Decoder<'_>) {
    let has = |kind: fn(&RowCheckKinds) -> bool| scanned.is_some_and(|scanned| kind(&scanned.row_checks));
    let is_row_checks =
        |scorer: &ScorerSpec| matches!(&scorer.kind, ScorerKind::Metric { metric, .. } if metric == COLUMN);
    let mut made = vec![(PASS.to_owned(), "Karat's own metric: whether a cell passes all of its checks")];
    if has(|it| it.metrics) && !scorers.iter().any(|scorer| scorer.id == COLUMN && is_row_checks(scorer)) {
        made.push((COLUMN.to_owned(), "the metric of the checks that rows hold for themselves"));
    }
    if has(|it| it.judged) {
        made.push((RowChecks::judged_id(), "the metric of the checks of rows that judges decide"));
    }
    metrics::refuse_doubled(node.field("scorers"), scorers, &made, decoder.catalog, &mut decoder.problems);
}

/// Warns of recorded files, annotations and labels that belong to no sample. With a part of the samples, or with rows
/// that cannot be read, nothing is known of the samples that are not there.
fn warn_of_orphans(
    node: &Node,
    scanned: &Scanned,
    scorers: &[ScorerSpec],
    overrides: &Overrides,
    decoder: &mut Decoder<'_>,
) {
    if overrides.limit.is_some() || !overrides.samples.is_empty() || decoder.problems.errors() > 0 {
        return;
    }
    orphaned_files::warn(&scanned.dataset, decoder);
    if scanned.dataset.is_unfiltered() {
        orphaned_files::warn_of_annotations(&scanned.dataset, decoder);
        let severity =
            if overrides.context.purpose == LoadPurpose::Calibrate { Severity::Error } else { Severity::Warning };
        decoder.labels_of_no_sample(node.field("scorers"), scorers, &scanned.dataset, severity);
    }
}

/// The parts of a suite that do not depend on its rows.
struct Assembly<'a> {
    path: &'a str,
    source: &'a LoadedSource,
    registry: Registry,
    matrix: Matrix,
    assessment: Assessment,
    /// Ids of the requested samples.
    asked: Vec<String>,
    /// The names under `headline`.
    headline: Vec<String>,
}

impl Assembly<'_> {
    /// Phase 6: puts the parts together.
    ///
    /// # Errors
    /// Everything that any phase found wrong.
    fn finish(
        self,
        scanned: Option<Scanned>,
        overrides: &Overrides,
        mut decoder: Decoder<'_>,
    ) -> Result<Suite, Diagnostics> {
        let Self { path, source, registry, matrix, assessment, asked, headline } = self;
        let policy = gates::policy(source.node.field("policy"), &mut decoder.problems);
        let warnings = std::mem::take(&mut decoder.problems).into_diagnostics();
        let (false, Some(scanned)) = (warnings.has_errors(), scanned) else { return Err(warnings) };
        let Scanned { dataset, header: dataset_header, representative_rows, row_checks, checks, design_file } = scanned;
        let node = &source.node;
        let (run, trials) = run::decode(node.field("run"), overrides);
        let mut scorers = matrix.scorers;
        let judged_checks = dataset.asserts.as_ref().filter(|_| row_checks.judged);
        scorers.extend(judged_checks.map(|checks| checks.judge_scorer(&matrix.judges, row_checks.has_input)));
        let declared: Vec<String> = scorers.iter().map(|scorer| scorer.id.clone()).collect();
        let (mut scorers, mut notes) = drop_unjudged(scorers);
        let is_on = |id: &String| scorers.iter().any(|scorer| scorer.id == *id);
        let unjudged: Vec<String> = declared.into_iter().filter(|id| !is_on(id)).collect();
        notes.extend(assessment.notes);
        notes.extend(matrix.chosen_judge.as_ref().map(ChosenJudge::note));
        if let Some(wanted) = &overrides.context.scorers {
            let is_wanted = |scorer: &ScorerSpec| wanted.contains(&scorer.id);
            let first = |scorer: &ScorerSpec| scorer.cascade.as_ref().map(|cascade| cascade.first.clone());
            let firsts: Vec<String> = scorers.iter().filter(|it| is_wanted(it)).filter_map(first).collect();
            scorers.retain(|scorer| is_wanted(scorer) || firsts.contains(&scorer.id));
        }
        scorers.extend(row_checks.metrics.then(|| row_check_scorer(&dataset, &scorers)).flatten());
        let is_partial = !assessment.left_out.is_empty()
            || overrides.limit.is_some()
            || !asked.is_empty()
            || !overrides.samples.is_empty();
        let Assessment { mut gates, mut analyses, baseline, left_out, .. } = assessment;
        if overrides.has_no_judges() {
            notes.extend(drop_judged(&unjudged, &mut gates, &mut analyses));
        }
        let rules = GateRules { gates, policy, baseline, left_out, unjudged, is_partial };
        Ok(Suite {
            path: path.to_owned(),
            may_lack_models: overrides.context.may_lack_models,
            name: node.text_of("name").unwrap_or_default().to_owned(),
            about: node.text_of("about").map(str::to_owned),
            suite_hash: hash::suite(&source.text),
            files: decoder.files,
            models: matrix.models,
            variants: matrix.variants,
            metrics: metrics::of_scorers(&scorers, decoder.catalog),
            embedders: embedders(&scorers, &registry, decoder.catalog),
            scorers,
            registry,
            headline,
            analyses,
            services: decoder.services,
            tools: decoder.tools,
            as_of: decoder.as_of,
            run,
            states_concurrency: node.field("run").and_then(|run| run.field("max_concurrency")).is_some(),
            trials,
            dataset,
            dataset_header,
            design_file,
            representative_rows: representative_rows.map(Arc::new),
            checks,
            chosen_judge: matrix.chosen_judge,
            selection: (overrides.limit, asked),
            recordings: decoder.recordings,
            notes,
            params: decoder.params.values(),
            privacy: assessment.privacy,
            statistics: run::statistics(node.field("statistics")),
            rules,
            canaries: assessment.canaries,
            schedules: assessment.schedules,
            alerts: assessment.alerts,
            warnings,
        })
    }
}

/// The models that make vectors for scorers, in the order in which they are first named.
fn embedders(scorers: &[ScorerSpec], registry: &Registry, catalog: &Catalog) -> Vec<ModelSpec> {
    let mut embedders: Vec<ModelSpec> = Vec::new();
    for scorer in scorers {
        let ScorerKind::Metric { metric, with } = &scorer.kind else { continue };
        let is_asked = catalog.metrics.get(metric).is_some_and(|entry| entry.metric.embeds);
        let named = with.get(EMBEDDER).filter(|_| is_asked).and_then(serde_json::Value::as_str);
        let model = named.and_then(|id| registry.find(id)).map(Cow::into_owned);
        let model = model.filter(|model| !embedders.iter().any(|known| known.id == model.id));
        embedders.extend(model.map(|model| ModelSpec { embeds: true, ..model }));
    }
    embedders
}

/// Returns whether the only use of labels is a calibration, which needs the outputs that they are about.
fn only_calibrates(analyses: &[AnalysisSpec]) -> bool {
    let has = |name: &str| analyses.iter().any(|it| it.analysis == name);
    has("calibration") && !has("human_anchor") && !has("judge_bias")
}

/// The privacy rules of the suite for messages about rows.
fn row_redaction(node: &Node, privacy: &PrivacySpec) -> RowRedaction {
    let sensitive = node.field("privacy").and_then(|privacy| privacy.field("sensitive"));
    RowRedaction {
        is_sensitive: sensitive.and_then(Node::boolean).unwrap_or(false),
        redactor: Redactor::of(privacy).ok().flatten(),
    }
}

/// Returns the place of the first `versus`.
fn versus_of(scorers: Option<&Node>) -> Option<Place> {
    scorers?.entries().iter().find_map(|entry| Some(entry.node.field("versus")?.place.clone()))
}
