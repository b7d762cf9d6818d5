//! The document: every field of `karat.report/1`, in a fixed order.

use std::collections::BTreeMap;

use karat_analysis::{
    AnchoredFigure, Diagnostics, Group, Leaderboard, Leaderboards, Outcome, ServedModel, Slices, Spread, Summary,
    SummaryCorpus,
};
use karat_types::{Pricing, RateSet, Rates, ScorerKind, SourceDigest, TierPrice};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value, json};

use super::CellsFile;
use super::cells::CellList;
use super::cost::{Cost, RunCost};
use crate::shared::moment::rfc3339;
use crate::shared::report::Report;
use crate::wording::{answer, provenance};

/// The whole report. Its cells come last.
pub(super) struct ReportDocument<'a> {
    pub(super) report: Report<'a>,
    /// The file of the cells, if they are not in the report itself.
    pub(super) cells: Option<&'a CellsFile>,
}

impl Serialize for ReportDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = self.report;
        let findings = report.findings;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", "karat.report/1")?;
        map.serialize_entry("run", &run(report))?;
        map.serialize_entry("totals", &totals(report))?;
        match report.leaves_out_answers() {
            true => map.serialize_entry("summary", &Summary::default())?,
            false => map.serialize_entry("summary", &findings.summary)?,
        }
        map.serialize_entry("warnings", &report.warnings().collect::<Vec<_>>())?;
        map.serialize_entry("metrics", &spreads(report, &findings.run.metrics))?;
        map.serialize_entry("systems", &groups(report, &findings.systems))?;
        map.serialize_entry("models", &groups(report, &findings.models))?;
        map.serialize_entry("variants", &groups(report, &findings.variants))?;
        map.serialize_entry("judges", &findings.judges)?;
        if self.cells.is_none() {
            map.serialize_entry("samples", &SampleList(report))?;
        }
        map.serialize_entry("leaderboards", &leaderboards(report))?;
        map.serialize_entry("cost", &RunCost::of(report))?;
        verdict(report, &mut map)?;
        if let Some(stop) = &report.context.stop {
            map.serialize_entry("stop_early", stop)?;
        }
        map.serialize_entry("analyses", &analyses(report))?;
        match self.cells {
            Some(file) => map.serialize_entry("cells_file", file)?,
            None => map.serialize_entry("cells", &CellList(report.cells()))?,
        }
        map.end()
    }
}

/// Writes `gates`, `gates_left_out`, `gate_notes`, `verdict`, and `verdict_note` if there is no verdict.
fn verdict<M: SerializeMap>(report: Report<'_>, map: &mut M) -> Result<(), M::Error> {
    let verdicts = &report.context.verdicts;
    let (gates, left_out) = crate::wording::gates::decisions_in_document(verdicts);
    map.serialize_entry("gates", &gates)?;
    if let Some(left_out) = left_out {
        map.serialize_entry("gates_left_out", &left_out)?;
    }
    if !verdicts.notes.is_empty() {
        map.serialize_entry("gate_notes", &verdicts.notes)?;
    }
    map.serialize_entry("verdict", &verdicts.verdict())?;
    if verdicts.decisions.is_empty() {
        let note = report.context.verdict_note.as_deref().unwrap_or("no gate was evaluated");
        map.serialize_entry("verdict_note", note)?;
    }
    Ok(())
}

/// The field `run`. Optional fields are absent in the canonical form.
#[derive(Serialize)]
struct Run<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    suite: &'a str,
    about: Option<&'a str>,
    suite_hash: &'a str,
    plan_hash: String,
    dataset_hash: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Option<String>>,
    status: karat_types::RunStatus,
    /// The part of the plan that it is of, such as `1/4`; absent for a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<karat_types::Shard>,
    version: &'a str,
    git_commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_commit: Option<&'a str>,
    /// Addresses that were asked and are not the providers' own, and proxies, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<&'a str>,
    seed: u64,
    config: Value,
}

fn run<'a>(report: Report<'a>) -> Run<'a> {
    let header = report.rows.header();
    let plan = &report.findings.plan;
    let volatile = !report.context.canonical;
    Run {
        id: volatile.then_some(&header.id),
        suite: &plan.suite,
        about: plan.about.as_deref(),
        suite_hash: &plan.suite_hash,
        plan_hash: plan.plan_hash.to_string(),
        dataset_hash: &plan.dataset.hash,
        started_at: volatile.then(|| rfc3339(header.started_at)),
        completed_at: volatile.then(|| header.completed_at.map(rfc3339)),
        status: header.status,
        shard: header.shard(),
        version: &header.version,
        git_commit: header.git_commit.as_deref(),
        service_commit: report.findings.services().and_then(karat_analysis::Services::version),
        addresses: if volatile { provenance::addresses(header) } else { Vec::new() },
        seed: plan.run.seed,
        config: config(report),
    }
}

/// Returns a price in US dollars per million tokens, as registries write it; null if it is unknown.
fn price(price: &Pricing) -> Value {
    match price {
        Pricing::Unmetered => json!("unmetered"),
        Pricing::Unknown => Value::Null,
        Pricing::Known(price) => {
            let mut known = rate_set(&price.base);
            let tier = |tier: &TierPrice| match tier {
                TierPrice::Share(share) => json!(share.factor()),
                TierPrice::Set(set) => Value::Object(rate_set(set)),
            };
            let service: Map<String, Value> =
                price.service.iter().map(|(name, price)| (name.clone(), tier(price))).collect();
            let more = [
                ("batch", price.batch.as_ref().map(tier)),
                ("service", (!service.is_empty()).then_some(Value::Object(service))),
                ("as_of", price.as_of.as_ref().map(|day| json!(day))),
                ("source", price.source.as_ref().map(|source| json!(source))),
            ];
            known.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
            Value::Object(known)
        }
    }
}

fn rate_set(set: &RateSet) -> Map<String, Value> {
    let mut known = rates(&set.rates);
    let above = set.above.iter().filter_map(|long| {
        let mut rates = rates(long.rates.as_ref()?);
        rates.insert("tokens".to_owned(), json!(long.tokens));
        Some(Value::Object(rates))
    });
    let above: Vec<Value> = above.collect();
    if !above.is_empty() {
        known.insert("above".to_owned(), Value::Array(above));
    }
    known
}

fn rates(rates: &Rates) -> Map<String, Value> {
    let each = [
        ("input", Some(rates.input)),
        ("output", Some(rates.output)),
        ("cached_input", rates.cached_input),
        ("cache_write", rates.cache_write),
        ("cache_write_1h", rates.cache_write_1h),
        ("reasoning", rates.reasoning),
        ("audio_input", rates.audio_input),
    ];
    each.into_iter().filter_map(|(name, rate)| Some((name.to_owned(), json!(rate? as f64 / 1e9)))).collect()
}

/// Settings of a run that affect its results. The others differ between an interrupted and an uninterrupted run.
const OF_RESULTS: [&str; 3] = ["seed", "capture", "of_ruler"];

/// Returns the configuration of the run, without contents of files and without names of secrets.
fn config(report: Report<'_>) -> Value {
    let plan = &report.findings.plan;
    let model = |it: &karat_types::ModelSpec| {
        json!({
            "id": it.id, "provider": it.provider, "model": it.model, "family": it.family,
            "price": price(&it.price), "tier": it.tier, "parameters": it.parameters
        })
    };
    let scorer = |it: &karat_types::ScorerSpec| match &it.kind {
        ScorerKind::Metric { metric, with } => {
            json!({ "id": it.id, "metric": metric, "with": with, "reduce": it.reduce })
        }
        ScorerKind::Rubric(rubric) => json!({
            "id": it.id, "rubric": rubric.rubric.id, "version": rubric.rubric.version, "judges": rubric.judges,
            "consensus": rubric.consensus, "reduce": it.reduce
        }),
    };
    let sources: Vec<&SourceDigest> = plan.dataset.sources.iter().collect();
    let mut config = json!({
        "models": plan.models.iter().map(model).collect::<Vec<_>>(),
        "judges": plan.judges.iter().map(model).collect::<Vec<_>>(),
        "variants": plan.variants.iter().map(|variant| &variant.id).collect::<Vec<_>>(),
        "scorers": plan.scorers.iter().map(scorer).collect::<Vec<_>>(),
        "trials": plan.trials,
        "dataset": {
            "rows": plan.dataset.rows, "version": plan.dataset.version, "sources": sources,
            "changelog": plan.dataset.changelog, "mismatches": plan.dataset.mismatches
        },
        "services": report.findings.services(),
        "run": plan.run,
        "tokenizer": plan.tokenizer,
        "confidence": report.findings.level()
    });
    // Limits, timeouts and reuse do not affect results: a run that they stopped and one that they did not end alike.
    if let (true, Some(run)) = (report.context.canonical, config.get_mut("run").and_then(Value::as_object_mut)) {
        run.retain(|setting, _| OF_RESULTS.contains(&setting.as_str()));
    }
    config
}

#[derive(Serialize)]
struct Totals {
    samples: usize,
    planned: u64,
    cells: u64,
    judgments: u64,
    errors: u64,
    unscored: u64,
    unjudged: u64,
    skipped: u64,
    stopped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<u64>,
}

fn totals(report: Report<'_>) -> Totals {
    let tally = report.findings.run.tally;
    Totals {
        samples: report.findings.samples(),
        planned: report.findings.planned,
        cells: tally.cells,
        judgments: tally.judgments,
        errors: tally.errors,
        unscored: tally.unscored,
        unjudged: tally.unjudged,
        skipped: tally.skipped,
        stopped: tally.stopped,
        cached: (!report.context.canonical).then_some(tally.reused),
    }
}

/// Spreads by the metric's name, in the plan's order.
struct Spreads<'a>(Vec<(&'a str, &'a Spread)>);

impl Serialize for Spreads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

fn spreads<'s, 'r: 's>(report: Report<'r>, all: &'s [Spread]) -> Spreads<'s> {
    Spreads(report.metrics().filter_map(|(at, metric)| Some((metric.name.as_str(), all.get(at)?))).collect())
}

#[derive(Serialize)]
struct GroupView<'a> {
    id: &'a str,
    model: Option<&'a str>,
    variant: Option<&'a str>,
    cells: u64,
    judgments: u64,
    errors: u64,
    unscored: u64,
    skipped: u64,
    #[serde(skip_serializing_if = "<[ServedModel]>::is_empty")]
    answered_as: &'a [ServedModel],
    dimensions: Spreads<'a>,
    /// By metric: what people would have given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    anchored: BTreeMap<&'a str, &'a AnchoredFigure>,
    cost: Cost,
}

fn anchored_figures<'a>(report: Report<'a>, group: &'a Group) -> BTreeMap<&'a str, &'a AnchoredFigure> {
    let figure = |name: &'a str| Some((name, report.findings.anchored_figure(name, &group.id)?));
    report.metrics().filter_map(|(_, metric)| figure(&metric.name)).filter(|(_, it)| it.labelled > 0).collect()
}

fn groups<'a>(report: Report<'a>, groups: &'a [Group]) -> Vec<GroupView<'a>> {
    let view = |group: &'a Group| GroupView {
        id: &group.id,
        model: group.model.as_deref(),
        variant: group.variant.as_deref(),
        cells: group.tally.cells,
        judgments: group.tally.judgments,
        errors: group.tally.errors,
        unscored: group.tally.unscored,
        skipped: group.tally.skipped,
        answered_as: &group.answered_as,
        dimensions: spreads(report, &group.metrics),
        anchored: anchored_figures(report, group),
        cost: Cost::of(&group.spend, report.group_estimate(group), report.context.canonical),
    };
    groups.iter().map(view).collect()
}

/// The samples, serialized one at a time.
struct SampleList<'a>(Report<'a>);

#[derive(Serialize)]
struct SampleView<'a> {
    id: &'a str,
    dimensions: Spreads<'a>,
    cost: Option<f64>,
}

impl Serialize for SampleList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let findings = self.0.findings;
        let mut list = serializer.serialize_seq(Some(findings.samples()))?;
        for at in 0..findings.samples() {
            let sample = findings.sample(at);
            let dimensions = spreads(self.0, &sample.metrics);
            list.serialize_element(&SampleView {
                id: sample.id,
                dimensions,
                cost: sample.cost.map(karat_types::Money::usd),
            })?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct PlaceView<'a> {
    id: &'a str,
    score: f64,
    n: u64,
    ci: Option<(f64, f64)>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<[usize; 2]>,
}

fn boards<'a>(report: Report<'a>) -> impl Iterator<Item = (&'a str, &'a Leaderboard)> {
    let ranked = report.metrics().filter(|(_, metric)| !metric.by_words);
    ranked.filter_map(move |(at, metric)| Some((metric.name.as_str(), report.findings.leaderboards.get(at)?)))
}

fn leaderboards<'a>(report: Report<'a>) -> BTreeMap<&'a str, Vec<PlaceView<'a>>> {
    let view = |place: &'a karat_analysis::RankedPlace| PlaceView {
        id: &place.id,
        score: place.finding.value(),
        n: place.finding.n(),
        ci: place.finding.interval(),
        method: place.finding.method(),
        rank: place.rank,
    };
    boards(report).map(|(name, board)| (name, board.places.iter().map(view).collect())).collect()
}

/// A corpus with the end of its run, and the failed gates on its means.
#[derive(Serialize)]
struct Corpus<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scored_at: Option<String>,
    #[serde(flatten)]
    corpus: &'a SummaryCorpus,
    gates_failed: Vec<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Analysis<'a> {
    Outcome(&'a Outcome),
    Corpus(Corpus<'a>),
    Diagnostics(Box<Diagnostics>),
    Slices(Slices),
    Leaderboards(Leaderboards),
    Baselines(&'a [karat_analysis::BaselineVariant]),
    Kpis(&'a [karat_analysis::Kpi]),
    Recommendations(Vec<karat_analysis::Recommendation>),
    Contrasts(Vec<&'a karat_analysis::compare::Contrast>),
}

fn analyses<'a>(report: Report<'a>) -> BTreeMap<&'a str, Analysis<'a>> {
    let findings = report.findings;
    let mut all = BTreeMap::from([
        ("baselines", Analysis::Baselines(&findings.baselines)),
        ("kpis", Analysis::Kpis(&report.context.verdicts.kpis)),
        ("recommendations", Analysis::Recommendations(answer::recommendations(report))),
        ("contrasts", Analysis::Contrasts(contrasts(report))),
    ]);
    all.extend(findings.analyses.iter().map(|it| (it.id.as_str(), outcome(report, &it.outcome))));
    all
}

/// The contrasts; in the canonical form without metrics that depend on time or price.
fn contrasts<'a>(report: Report<'a>) -> Vec<&'a karat_analysis::compare::Contrast> {
    let plan = &report.findings.plan;
    let is_steady = |name: &str| plan.metrics.iter().any(|metric| metric.name == name && !metric.volatile);
    let all = report.findings.contrasts.iter();
    all.filter(|it| !report.context.canonical || is_steady(&it.metric)).collect()
}

/// Returns an outcome. Fields that depend on time are added, or left out in the canonical form.
fn outcome<'a>(report: Report<'a>, outcome: &'a Outcome) -> Analysis<'a> {
    match outcome {
        Outcome::SummaryCorpus(corpus) => {
            let ended = report.rows.header().completed_at.filter(|_| !report.context.canonical);
            let gates_failed = crate::wording::session_gates::failed_gates(report, corpus);
            Analysis::Corpus(Corpus { scored_at: ended.map(rfc3339), corpus, gates_failed })
        }
        Outcome::Diagnostics(found) if report.context.canonical => {
            Analysis::Diagnostics(Box::new(found.without_times()))
        }
        Outcome::Slices(found) if report.context.canonical => Analysis::Slices(found.steady(&report.findings.plan)),
        Outcome::Leaderboards(found) if report.context.canonical => {
            Analysis::Leaderboards(found.steady(&report.findings.plan))
        }
        other => Analysis::Outcome(other),
    }
}
