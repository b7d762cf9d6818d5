//! `diagnostics`: the findings of judges about the items of an output, their sections, and their relation to confidence.
//!
//! No taxonomy is built in: lists, sections and the unit of offsets are configuration. `rubric` looks up the
//! options in the rubric, `sections` cuts texts, `tally` accumulates cells, `figures` and `confidence` compute results.

mod confidence;
mod figures;
mod rubric;
mod sections;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_text::path::Path;
use karat_types::{AnalysisSpec, PlanHeader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use confidence::{BestThreshold, Bucket, Buckets, Confidence, ConfidenceOptions, CurveBin};
pub use figures::{Category, Confusion, Evaluation, Latency, SpanFigures, TextCount};
pub use sections::{Offsets, SectionRange};

use super::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::AnalysisError;
use crate::figures::aggregate::spread;
use crate::figures::groups::system_id;
use rubric::RubricParts;
use sections::Headers;
use tally::DiagnosticsTally;

/// Options of `diagnostics`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticsOptions {
    /// The rubric scorer whose diagnostics are analysed.
    pub scorer: String,
    /// Path of the text within the output or, if absent there, within the row's `metadata`.
    #[serde(default = "root")]
    pub text: String,
    /// Path of the items within the output; positions in diagnostics index this list. An item's `start` is its offset.
    pub items: String,
    /// The unit of offsets.
    #[serde(default)]
    pub offsets: Offsets,
    /// Regular expressions of section headers, by section name.
    #[serde(default)]
    pub sections: Map<String, Value>,
    /// Name of the section before the first header.
    #[serde(default = "main_section")]
    pub default_section: String,
    /// Lower edges of the score distribution, ascending.
    #[serde(default)]
    pub bands: Vec<f64>,
    /// The rubric's breakdown to average by category.
    #[serde(default)]
    pub breakdown: Option<String>,
    /// `list.field` of the words to count.
    #[serde(default)]
    pub reasons: Option<String>,
    /// Pairs of fields to count.
    #[serde(default)]
    pub confusions: Option<ConfusionOptions>,
    /// Path within the row's `metadata` of the lists that were not assessed by its recorded verdict.
    #[serde(default)]
    pub unassessed: Option<String>,
    /// Lists to count by section: the report's name for each, and the list.
    #[serde(default)]
    pub by_section: BTreeMap<String, String>,
    /// Options of the confidence analysis.
    #[serde(default)]
    pub confidence: Option<ConfidenceOptions>,
    /// Change of the composite between two runs from which a sample counts as a regression or improvement.
    #[serde(default = "three")]
    pub notable: f64,
}

/// The confidence analysis of synthetic items.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn confidence_of(items: &[(f64, bool)]) -> Confidence {
    let options = ConfidenceOptions {
        value: "$".to_owned(),
        low: 0.0,
        medium: 0.6,
        high: 0.8,
        recommend_above: 0.5,
        errors: Vec::new(),
    };
    let stated = |&(confidence, is_error): &(f64, bool)| confidence::Stated { confidence, is_error, has_any: is_error };
    options.figures(&items.iter().map(stated).collect::<Vec<_>>(), confidence::Unstated::default())
}

/// The pairs of fields to count.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfusionOptions {
    /// The list.
    pub of: String,
    /// Field with the given label.
    pub from: String,
    /// Field with the correct label.
    pub to: String,
    /// Number of pairs listed.
    #[serde(default = "ten")]
    pub top: usize,
}

fn root() -> String {
    "$".to_owned()
}

fn main_section() -> String {
    "main".to_owned()
}

fn three() -> f64 {
    3.0
}

fn ten() -> usize {
    10
}

/// Figures over all systems, and by system if there are several.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Diagnostics {
    /// Over all systems.
    #[serde(flatten)]
    pub all: SpanFigures,
    /// By system, if the run has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub systems: BTreeMap<String, SpanFigures>,
    /// Sections whose header stands in no text.
    #[serde(skip)]
    pub absent_sections: Vec<String>,
    /// Path of the items within an output.
    #[serde(skip)]
    pub items: String,
    /// Smallest change of a sample's composite that a comparison lists.
    #[serde(skip)]
    pub notable: f64,
}

impl Diagnostics {
    /// Returns true if no output has a list at the path of the items, so that positions and sections are meaningless.
    pub fn lacks_items(&self) -> bool {
        self.all.evaluated > 0 && self.all.avg_span_count.is_none()
    }

    /// Removes everything that depends on time.
    #[must_use]
    pub fn without_times(&self) -> Self {
        let mut same = self.clone();
        for figures in std::iter::once(&mut same.all).chain(same.systems.values_mut()) {
            figures.latency_ms = None;
        }
        same
    }
}

/// The options, checked against the rubric.
struct CheckedOptions {
    requested: DiagnosticsOptions,
    text: Path,
    items: Path,
    headers: Headers,
    rubric: RubricParts,
    confidence: Option<Path>,
    unassessed: Option<Path>,
    /// Index of the rubric's composite among the plan's metrics.
    score: Option<usize>,
    /// The highest composite, for the name of the last band.
    highest: Option<f64>,
}

struct DiagnosticsFold {
    options: CheckedOptions,
    plan: Arc<PlanHeader>,
    all: DiagnosticsTally,
    /// By system.
    systems: Vec<DiagnosticsTally>,
}

pub(super) fn build(spec: &AnalysisSpec, plan: &Arc<PlanHeader>) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options = CheckedOptions::new(options(spec)?, plan).map_err(|message| options_error(spec, message))?;
    let several = if plan.systems.len() > 1 { plan.systems.len() } else { 0 };
    let systems = (0..several).map(|_| DiagnosticsTally::default()).collect();
    Ok(Some(Box::new(DiagnosticsFold { options, plan: plan.clone(), all: DiagnosticsTally::default(), systems })))
}

impl CheckedOptions {
    fn new(options: DiagnosticsOptions, plan: &PlanHeader) -> Result<Self, String> {
        let path = |text: &str| Path::parse(text).map_err(|error| error.to_string());
        let rubric = RubricParts::of(plan, &options)?;
        if !options.bands.is_sorted() {
            return Err("`bands` are lower edges and must be in ascending order".to_owned());
        }
        if !(options.notable > 0.0 && options.notable.is_finite()) {
            return Err(format!("`notable` is {}, but must be above 0", options.notable));
        }
        if let Some(confidence) = &options.confidence {
            confidence.check()?;
        }
        let score = rubric.score.as_ref().and_then(|name| plan.metric(name));
        Ok(Self {
            text: path(&options.text)?,
            items: path(&options.items)?,
            headers: Headers::new(options.offsets, &options.default_section, &options.sections)?,
            confidence: options.confidence.as_ref().map(|it| path(&it.value)).transpose()?,
            unassessed: options.unassessed.as_deref().map(path).transpose()?,
            highest: score.and_then(|at| plan.metrics.get(at)?.range).map(|(_, highest)| highest),
            score,
            rubric,
            requested: options,
        })
    }
}

impl Analysis for DiagnosticsFold {
    fn wants_output(&self) -> bool {
        true
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let system = (self.plan.systems.len() > 1).then(|| system_id(&self.plan, cell.row.system));
        self.all.add(&self.options, cell, system.as_deref());
        if let Some(tally) = self.systems.get_mut(cell.row.system) {
            tally.add(&self.options, cell, None);
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let Self { options, plan, all, systems } = *self;
        let score = |systems: &[usize]| {
            let (at, samples) = (options.score?, 0..context.table.samples());
            spread(context.table, at, *context.measures.get(at)?, systems, samples).figure().cloned()
        };
        let named = systems.into_iter().enumerate().map(|(at, tally)| {
            let figures = tally.figures(&options, score(&[at]));
            (system_id(&plan, at), SpanFigures { evaluations: Vec::new(), ..figures })
        });
        let systems = named.collect();
        let every: Vec<usize> = (0..plan.systems.len()).collect();
        let absent_sections = all.absent_sections(&options);
        let (all, notable) = (all.figures(&options, score(&every)), options.requested.notable);
        Outcome::Diagnostics(Box::new(Diagnostics {
            all,
            systems,
            absent_sections,
            items: options.requested.items,
            notable,
        }))
    }
}
