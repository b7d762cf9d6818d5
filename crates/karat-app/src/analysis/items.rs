//! The items of a suite's test set, by all stored systems. Makes no API calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use karat_analysis::items::{FlagKind, ItemAnalysis, ItemOptions, TestItem, analyse_items};
use karat_analysis::planning::{MetricPower, planning_problem, power};
use karat_analysis::primary_metric;
use karat_dataset::duplicates::Preference;
use karat_dataset::row_text;
use karat_report::page::{Document, Links, RepeatedRow, RepeatedRows};
use karat_stats::numeric::seed::Seed;
use karat_store::StoredRun;
use karat_types::{KeyBuilder, RunRows};

use crate::AppError;
use crate::analysis::Analysis;
use crate::datasets::source::DatasetRequest;
use crate::datasets::source::{NEAR, find_row_duplicates};
use crate::error::{Bug, DatasetError};
use crate::stored::findings::findings;
use crate::stored::kept_pages::find_or_build;

/// Clusters, and rows of each, whose texts a page shows.
const CLUSTERS: usize = 50;
const MEMBERS: usize = 10;

/// The newest runs that are read unless runs are named.
const RUNS: usize = 30;

/// Cells that are read at most unless runs are named; the newest run is read whole. A page waits for them.
const CELLS: u64 = 2_000_000;

/// A suite whose items are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemsSuite {
    /// The name of stored runs. No file is looked at.
    Stored(String),
    /// A suite file, a preset, or the name of stored runs.
    Named(String),
}

/// The request for the items of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemsRequest {
    /// The suite.
    pub suite: ItemsSuite,
    /// Runs; the newest of the suite if empty.
    pub runs: Vec<String>,
    /// The metric; the primary one if absent.
    pub metric: Option<String>,
    /// Seed of resamples and halves.
    pub seed: u64,
}

impl ItemsSuite {
    /// The name or the word.
    pub fn name(&self) -> &str {
        match self {
            Self::Stored(name) | Self::Named(name) => name,
        }
    }
}

/// The items of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetItems(ItemAnalysis);

impl Analysis<'_> {
    /// The items of a suite over its stored runs.
    ///
    /// # Errors
    /// No run, a run of another suite, no such metric, rows that cannot be read.
    pub fn items(&self, asked: &ItemsRequest) -> Result<DatasetItems, AppError> {
        let (runs, notes) = self.item_runs(asked)?;
        let Some(newest) = runs.first() else {
            return Err(DatasetError::NoItemRuns { suite: asked.suite.name().to_owned() }.into());
        };
        let options = ItemOptions {
            metric: asked.metric.clone(),
            seed: Seed(asked.seed),
            power: power_of(newest, asked.metric.as_deref())?,
            ..ItemOptions::default()
        };
        let rows: Vec<&dyn RunRows> = runs.iter().map(|run| run as &dyn RunRows).collect();
        let mut analysis = analyse_items(&rows, &options)?;
        analysis.notes.splice(0..0, notes);
        Ok(DatasetItems(analysis))
    }

    /// The page of a suite's test set for the dashboard. That of the same runs is kept in memory.
    ///
    /// # Errors
    /// As [`Analysis::items`].
    pub fn items_page(&self, asked: &ItemsRequest) -> Result<Arc<Document>, AppError> {
        let (runs, _) = self.item_runs(asked)?;
        let Some(newest) = runs.first() else {
            return Err(DatasetError::NoItemRuns { suite: asked.suite.name().to_owned() }.into());
        };
        let newest = newest.header().id.clone();
        let mut key = KeyBuilder::new("karat/items-page").text(&format!("{:?}{}", asked.metric, asked.seed));
        for run in &runs {
            key = key.text(&run.header().id).key(run.state()?);
        }
        let build = || {
            let found = self.items(asked)?;
            let repeated = self.repeated_rows(&newest)?;
            Ok(karat_report::page::items(&found.0, &repeated, &Links::live(&newest)))
        };
        find_or_build(self.app.opened.comparison_pages(), key.finish(), build)
    }

    /// The rows of a run that repeat each other, by the texts that it keeps.
    fn repeated_rows(&self, run: &str) -> Result<Vec<RepeatedRows>, AppError> {
        let rows = self.app.datasets().rows(&DatasetRequest::of(format!("run:{run}")))?;
        let clusters = find_row_duplicates(&rows, NEAR, &mut |_, _| Preference::default())?.clusters;
        let wanted: BTreeSet<u32> = (clusters.iter().take(CLUSTERS))
            .flat_map(|cluster| {
                std::iter::once(cluster.kept).chain(cluster.members.iter().take(MEMBERS).map(|it| it.row))
            })
            .collect();
        let mut texts: BTreeMap<u32, (String, String)> = BTreeMap::new();
        let mut at = 0_u32;
        rows.for_each(&mut |row| {
            if wanted.contains(&at) {
                let text = row_text(&row.sample).unwrap_or_default();
                texts.insert(at, (row.sample.id.to_string(), text));
            }
            at += 1;
            Ok(())
        })?;
        let shown = |row: u32, similarity: f64| {
            let (id, text) = texts.get(&row).cloned().unwrap_or_default();
            RepeatedRow { id, text, similarity }
        };
        let repeated = clusters.iter().map(|cluster| RepeatedRows {
            kept: shown(cluster.kept, 1.0),
            members: cluster.members.iter().map(|member| shown(member.row, member.similarity)).collect(),
        });
        Ok(repeated.collect())
    }

    /// The runs that items are read from, the newest first, and what is left out.
    fn item_runs(&self, asked: &ItemsRequest) -> Result<(Vec<StoredRun>, Vec<String>), AppError> {
        let store = self.app.existing_store()?;
        let suite = match &asked.suite {
            ItemsSuite::Stored(name) => name.clone(),
            ItemsSuite::Named(word) => self.app.stored().suite_name(&store, word)?,
        };
        let mut ids = Vec::new();
        for run in &asked.runs {
            ids.push(store.resolve(run)?);
        }
        let is_open = ids.is_empty();
        if is_open {
            ids = store.runs_of_suite(&suite, RUNS + 1)?;
        }
        let (mut runs, mut cells, known) = (Vec::new(), 0, ids.len());
        for id in ids.into_iter().take(if is_open { RUNS } else { usize::MAX }) {
            let run = self.app.stored().run(&id)?;
            let plan = &run.header().plan;
            if plan.suite != suite {
                return Err(DatasetError::OtherSuite { run: id, of: plan.suite.clone(), suite }.into());
            }
            // A golden check measures judges on frozen outputs, not systems.
            let own = run.totals()?.cells;
            if plan.run.measures_judges || own == 0 {
                continue;
            }
            cells += own;
            if is_open && cells > CELLS && !runs.is_empty() {
                break;
            }
            runs.push(run);
        }
        let is_partial = is_open && (known > RUNS || cells > CELLS && known > runs.len());
        let notes =
            is_partial.then(|| format!("Runs that are read: the newest {}; `--runs` names others.", runs.len()));
        runs.sort_by(|a, b| (b.header().started_at, &b.header().id).cmp(&(a.header().started_at, &a.header().id)));
        Ok((runs, notes.into_iter().collect()))
    }
}

/// The power of a run's samples, as `plan --mde` computes it; `None` where it cannot.
fn power_of(run: &StoredRun, metric: Option<&str>) -> Result<Option<MetricPower>, AppError> {
    let plan = &run.header().plan;
    let at = match metric {
        Some(name) => plan.metric(name),
        None => primary_metric(plan),
    };
    let Some((at, spec)) = at.and_then(|at| Some((at, plan.metrics.get(at)?))) else { return Ok(None) };
    if planning_problem(spec).is_some() {
        return Ok(None);
    }
    let spreads = karat_analysis::paired_deviations(plan, Some(&findings(run)?));
    let spread = spreads.get(at).and_then(Option::as_ref);
    Ok(spread.map(|spread| power(spec, spread, plan.dataset.rows, None, None)))
}

impl DatasetItems {
    /// The analysis.
    pub fn analysis(&self) -> &ItemAnalysis {
        &self.0
    }

    /// For a terminal. Items without a flag are counted only.
    pub fn text(&self) -> String {
        karat_report::terminal::items(&self.0)
    }

    /// As JSON.
    ///
    /// # Errors
    /// None that is known: the document is one of texts and numbers.
    pub fn json(&self) -> Result<String, AppError> {
        let text = serde_json::to_string_pretty(&self.0);
        text.map(|text| text + "\n").map_err(|source| Bug::Json { what: "the items", source }.into())
    }

    /// As CSV, a row for each item.
    pub fn csv(&self) -> String {
        karat_report::csv::items(&self.0)
    }

    /// The ids of items with these flags, one a line, as `annotate create --select ids:FILE` reads them; the suspects if no
    /// flag is named. Ids that are no line are left out, and counted.
    pub fn ids(&self, flags: &[FlagKind]) -> (String, usize) {
        let is_wanted = |item: &&TestItem| match flags {
            [] => item.is_suspect(),
            named => named.iter().any(|flag| item.has(*flag)),
        };
        let wanted = self.0.items.iter().filter(is_wanted);
        let (mut text, mut unwritable) = (String::new(), 0);
        for item in wanted {
            match item.id.contains(['\n', '\r']) || item.id.trim() != item.id {
                true => unwritable += 1,
                // Writing to a String cannot fail.
                false => {
                    let _ = writeln!(text, "{}", item.id);
                }
            }
        }
        (text, unwritable)
    }
}
