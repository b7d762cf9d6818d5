//! Decoding of `scorers` and `analyses`.
//!
//! - here: scorers with a metric, judges and consensus; `rubric.rs`: rubrics, with `counted.rs` (dimensions that are shares of
//!   a list) and `ready_rubric.rs` (rubrics of the catalogue)
//! - `nested.rs`: metrics whose options are more than values: lists of checks, and files whose rows are joined with cells
//! - `output_fields.rs`: fields of the outputs, which rubrics show and metrics read; `stored_outputs.rs`: the same, by the
//!   outputs of the last run
//! - `cascade.rs`: the scorers that go before the judges of another
//! - `labels.rs`: labels by people, which must be about something that is scored, and on its scale

mod cascade;
mod counted;
pub(crate) mod labels;
pub(crate) mod metrics;
pub(crate) mod nested;
pub(crate) mod output_fields;
mod ready_rubric;
pub(crate) mod rubric;
pub(crate) mod stored_outputs;

use karat_types::{
    AnalysisSpec, Bound, Consensus, ConsensusMethod, MetricTraits, Parameters, Rubric, RubricScorer, ScorerKind,
    ScorerSpec, Threshold, Versus,
};
use serde_json::{Map, Value};

use super::{Decoder, word_at};
use crate::check::{references, share};
use crate::diagnostics::nearest::suggestion;
use crate::grammar::{Kind, RUBRIC_ONLY};
use crate::overrides::{LoadPurpose, Overrides};
use crate::registry::Registry;
use crate::syntax::json_schema::HeldSchemas;
use crate::syntax::names;
use crate::syntax::node::{Entry, Node, Tree};

/// The option with a program's working folder; not part of identity.
pub(crate) const FOLDER: &str = "folder";

/// The option that names the model of a metric that compares vectors.
pub(crate) const EMBEDDER: &str = "model";

/// The metric that needs the tools of the suite, and its option for them.
const OFFERED_CALLS: &str = "valid_calls";
const SUITE_TOOLS: &str = "suite_tools";

const REDUCERS: &[&str] = &["mean", "median", "min", "max", "majority"];
const AGGREGATES: &[&str] = &["mean", "median", "min", "max", "sum"];
/// Aggregates of labels rather than numbers.
const LABEL_FIGURES: &[&str] = &["f1", "f1_micro", "f1_weighted", "balanced_accuracy"];

impl Decoder<'_> {
    /// The scorers of a suite. `judges` are the judges of a rubric scorer that names none; a rubric scorer without
    /// judges is left out by the plan.
    pub fn scorers(
        &mut self,
        node: Option<&Node>,
        judges: &[String],
        registry: &Registry,
        overrides: &Overrides,
    ) -> Vec<ScorerSpec> {
        let entries = node.map(Node::entries).unwrap_or_default();
        let scorers = entries.iter().filter_map(|entry| self.scorer(entry, judges, registry, overrides)).collect();
        // A run that measures judges asks them about everything.
        if overrides.golden_check || overrides.context.purpose == LoadPurpose::Calibrate {
            return scorers;
        }
        self.cascades(entries, scorers, judges, registry)
    }

    fn scorer(
        &mut self,
        entry: &Entry,
        judges: &[String],
        registry: &Registry,
        overrides: &Overrides,
    ) -> Option<ScorerSpec> {
        let node = &entry.node;
        let kind = match node.field("metric") {
            Some(metric) => self.metric(node, metric, registry)?,
            None => self.rubric_scorer(node, &entry.key, judges, registry, overrides)?,
        };
        if let Some(reference) = node.field("reference") {
            self.require_match(reference);
        }
        if let Some(output) = node.field("output")
            && let Some(written) = output.text()
            && !self.check_output_path(written, &output.place)
            && let Some(field) = output_fields::first_field(written)
            && !self.check_output_field(written, field, &output.place)
        {
            self.check_stored_path(written, written, ToString::to_string, &output.place);
        }
        self.bounds(node);
        Some(ScorerSpec {
            id: entry.key.clone(),
            about: node.text_of("about").map(str::to_owned),
            kind,
            output: node.text_of("output").unwrap_or("$").to_owned(),
            reference: node.text_of("reference").map(str::to_owned),
            value: node.get("value").map(Node::json),
            bound: Bound {
                min: node.field("min").and_then(share).map(|(number, _)| number),
                max: node.field("max").and_then(share).map(|(number, _)| number),
                not: node.field("not").and_then(Node::boolean).unwrap_or(false),
            },
            reduce: self.decode_choice(node, "reduce", "mean", is_reducer),
            aggregate: self.decode_choice(node, "aggregate", "mean", is_aggregate),
            better: word_at(node, "better"),
            margin: self.margin(node),
            cascade: None,
            is_first_judge: false,
        })
    }

    /// Refuses `pass@K` and `pass^K` of fewer trials than K: no cell would have a score.
    pub(crate) fn reducible(&mut self, scorers: Option<&Node>, trials: u32) {
        for entry in scorers.map(Node::entries).unwrap_or_default() {
            let Some(reduce) = entry.node.field("reduce") else { continue };
            if let Some((text, k)) =
                reduce.text().and_then(|text| Some((text, trials_needed(text)?))).filter(|(_, k)| *k > trials)
            {
                self.problems.error(
                    &reduce.place,
                    format!("`{text}` needs {k} trials, but there are {trials}; raise `run.trials` or lower {k}"),
                );
            }
        }
    }

    fn margin(&mut self, node: &Node) -> Option<Threshold> {
        let given = node.field("margin")?;
        let (value, percent) = share(given)?;
        if value <= 0.0 {
            self.problems.error(&given.place, format!("`margin` must be above 0, not {value}"));
        }
        Some(Threshold { value, percent })
    }

    fn decode_choice(&mut self, node: &Node, key: &str, standard: &str, fits: fn(&str) -> bool) -> String {
        let Some((at, text)) = node.field(key).and_then(|at| Some((at, at.text()?))) else {
            return standard.to_owned();
        };
        if !fits(text) {
            let known: &[&[&str]] = if key == "reduce" { &[REDUCERS] } else { &[AGGREGATES, LABEL_FIGURES] };
            self.problems
                .error(&at.place, format!("`{key}` cannot be `{text}`"))
                .maybe_hint(suggestion(text, known.iter().copied().flatten().copied()));
        }
        text.to_owned()
    }

    fn metric(&mut self, node: &Node, metric: &Node, registry: &Registry) -> Option<ScorerKind> {
        for entry in node.entries().iter().filter(|entry| RUBRIC_ONLY.contains(&entry.key.as_str())) {
            self.problems.error(&entry.place, format!("`{}` needs a scorer with a rubric", entry.key));
        }
        let entry = self.catalog.find(Kind::Metric, metric, &mut self.problems)?;
        if let Some(aggregate) =
            node.field("aggregate").filter(|it| is_label_figure(it) && metric.text() != Some("label"))
        {
            let text = aggregate.text().unwrap_or_default();
            self.problems
                .error(&aggregate.place, format!("`{text}` needs labels, and this metric has none"))
                .hint("use the metric `label`, or `set_f1` and `token_f1` for an F1 of each output");
        }
        if entry.metric.reference_unless.is_some_and(|options| references::is_left_to_rows(node, options)) {
            self.pending.push(names::PendingName::of_metric(metric.text()?, metric.place.clone()));
        }
        let (schema, MetricTraits { binary, embeds, joins, .. }) = (entry.options.clone(), entry.metric);
        let bounded = node.field("min").is_some() || node.field("max").is_some();
        if let Some(not) = node.field("not").filter(|not| not.boolean() == Some(true) && !binary && !bounded) {
            self.problems
                .error(&not.place, format!("`not` swaps pass and fail, but `{}` gives a number", metric.text()?))
                .hint("add `min` or `max`");
        }
        let mut with = match node.field("with") {
            Some(with) if joins => self.join_options(with),
            Some(with) if metric.text() == Some(nested::CHECKS) => self.check_list(node, with, registry),
            with => self.options(with, &schema),
        };
        if schema.pointer(&format!("/properties/{FOLDER}/format")).is_some_and(|format| format == FOLDER) {
            with.entry(FOLDER).or_insert_with(|| Value::String(self.program_folder(node)));
        }
        // The version of a host function is part of the plan: a run continues only with the same function.
        if let Some(Value::Array(run)) = with.get_mut("run")
            && let [Value::String(function)] = run.as_slice()
            && let Some(version) = self.version_of_function(std::slice::from_ref(function))
        {
            run.push(version.into());
        }
        if metric.text() == Some(OFFERED_CALLS) && !self.tools.is_empty() {
            let tools = self.tools.iter().map(|tool| (tool.id.clone(), Value::clone(&tool.input)));
            with.insert(SUITE_TOOLS.to_owned(), Value::Object(tools.collect()));
        }
        if embeds && let Some(model) = node.field("with").and_then(|with| with.field(EMBEDDER)) {
            with.insert(EMBEDDER.to_owned(), Value::String(self.embedder(model, registry)?));
        }
        Some(ScorerKind::Metric { metric: metric.text()?.to_owned(), with })
    }

    /// Options with parameters written in and with the content of the files that they name.
    pub fn options(&mut self, node: Option<&Node>, schema: &Value) -> Map<String, Value> {
        let mut options = Map::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let property = schema.pointer("/properties").and_then(|properties| properties.get(&entry.key));
            let is_file = property.and_then(|property| property.get("format")).is_some_and(|format| format == "file");
            let is_text = matches!(&entry.node.value, Tree::Scalar { value: Value::String(_), .. });
            let value = match is_file && is_text {
                true => self.file_value(&entry.node),
                false => Some(self.option_value(&entry.node)),
            };
            let value = match property.map_or(HeldSchemas::None, HeldSchemas::of) {
                HeldSchemas::None => value,
                HeldSchemas::One => {
                    value.and_then(|value| self.usable_schema(value, &format!("`{}`", entry.key), &entry.node))
                }
                HeldSchemas::ByName => value.and_then(|value| self.named_schemas(value, &entry.node)),
            };
            options.extend(value.map(|value| (entry.key.clone(), value)));
        }
        options
    }

    /// JSON Schemas by name, each out of its wrapper.
    fn named_schemas(&mut self, schemas: Value, node: &Node) -> Option<Value> {
        let Value::Object(schemas) = schemas else { return Some(schemas) };
        let usable = schemas.into_iter().map(|(name, schema)| {
            let at = node.field(&name).unwrap_or(node);
            let schema = self.usable_schema(schema, &format!("the schema of `{name}`"), at)?;
            Some((name, schema))
        });
        usable.collect::<Vec<_>>().into_iter().collect::<Option<Map<_, _>>>().map(Value::Object)
    }

    fn file_value(&mut self, node: &Node) -> Option<Value> {
        let path = self.path(node)?;
        if path.ends_with(".json") || super::is_yaml(&path) {
            return self.document(node);
        }
        self.text(node).map(|(_, text)| Value::String(text))
    }

    fn option_value(&mut self, node: &Node) -> Value {
        if let Some(text) = node.text().filter(|text| text.contains("{{")) {
            let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
            if let Ok(template) = karat_text::template::Template::compile(&inlined) {
                names::check(template.reads(), text, &node.place, names::STEP, &mut self.pending, &mut self.problems);
                self.check_output_reads(template.reads(), text, &node.place);
                if template.reads().is_empty() {
                    let context = karat_text::template::Context::new();
                    return template.value(&context).unwrap_or(Value::String(inlined));
                }
            }
            return Value::String(inlined);
        }
        match &node.value {
            Tree::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), self.option_value(&entry.node))).collect()
            }
            Tree::List(items) => items.iter().map(|item| self.option_value(item)).collect(),
            Tree::Scalar { value, .. } => value.clone(),
        }
    }

    fn rubric_scorer(
        &mut self,
        node: &Node,
        id: &str,
        judges: &[String],
        registry: &Registry,
        overrides: &Overrides,
    ) -> Option<ScorerKind> {
        if let Some(entry) = node.entries().iter().find(|entry| entry.key == "with") {
            self.problems.error(&entry.place, "`with` needs a scorer with a metric");
        }
        if let Some(aggregate) = node.field("aggregate").filter(|it| is_label_figure(it)) {
            let text = aggregate.text().unwrap_or_default();
            self.problems.error(&aggregate.place, format!("`{text}` needs labels, and a rubric gives none"));
        }
        let decoded = self.rubric(node.field("rubric")?, id)?;
        let labels = self.labels_file(node).and_then(|labels| self.rows(labels)).unwrap_or_default();
        if decoded.rubric.examples > 0 && node.field("labels").is_none() {
            self.problems
                .warn(
                    &node.place,
                    format!("the rubric asks for {} examples, but there are no labels", decoded.rubric.examples),
                )
                .hint("add `labels: FILE` to this scorer");
        }
        let parameters = Parameters { max_tokens: overrides.judge_max_tokens, ..Parameters::default() }
            .or(&self.parameters(node.field("parameters")));
        let judges = match node.field("judges").filter(|_| overrides.judges.is_empty()) {
            Some(own) => self.own_judges(own, registry),
            // The judge that goes first is not asked again.
            None => {
                let first = node.field("cascade").and_then(|cascade| cascade.text_of("first"));
                let first = first.and_then(|first| registry.find(first)).map(|model| model.id.clone());
                judges.iter().filter(|judge| Some(*judge) != first.as_ref()).cloned().collect()
            }
        };
        self.enough_judges(node, judges.len());
        let versus = self.versus(node, &decoded.rubric);
        let consensus = node.field("consensus").map(consensus).unwrap_or_default();
        self.weights(node, &consensus, &judges);
        Some(ScorerKind::Rubric(Box::new(RubricScorer {
            rubric: if versus.is_some() { decoded.rubric.for_pairs() } else { decoded.rubric },
            judges,
            consensus,
            votes: super::integer_at(node, "votes").unwrap_or(1),
            orders: word_at(node, "orders").unwrap_or_default(),
            pairs_per_sample: self.pairs(node, versus.as_ref()),
            versus,
            only_where: None,
            parameters,
            timeout_ms: overrides.judge_timeout_ms.or_else(|| self.duration(node, "timeout")),
            labels,
            reads: decoded.reads,
        })))
    }

    /// The other side of a pair.
    fn versus(&mut self, node: &Node, rubric: &Rubric) -> Option<Versus> {
        let Some(given) = node.field("versus") else {
            if let Some(orders) = node.field("orders") {
                self.problems
                    .error(&orders.place, "`orders` needs `versus`: it is about pairs of outputs")
                    .hint("add `versus: variant:ID`, `versus: model:ID` or `versus: all`");
            }
            return None;
        };
        let versus = Versus::parse(given.text()?);
        if versus.is_none() {
            self.problems
                .error(&given.place, format!("`versus` is `{}`, which is not a system", given.text()?))
                .hint("write `variant:ID`, `model:ID` or `all`");
        }
        let alone = [
            ("caps", rubric.caps.is_empty()),
            ("diagnostics", rubric.diagnostics.is_empty()),
            ("breakdowns", rubric.breakdowns.is_empty()),
        ];
        let left_out: Vec<&str> = alone.iter().filter(|(_, absent)| !absent).map(|(name, _)| *name).collect();
        if !left_out.is_empty() {
            let what = left_out.join(", ");
            self.problems.warn(
                &given.place,
                format!("judges of pairs only say which output is better, so the rubric's {what} are ignored"),
            );
        }
        versus
    }

    /// The number of pairs in each sample of a tournament.
    fn pairs(&mut self, node: &Node, versus: Option<&Versus>) -> Option<u32> {
        let pairs = node.field("pairs")?;
        if versus != Some(&Versus::All) {
            self.problems
                .error(&pairs.place, "`pairs` needs `versus: all`: any other comparison has one pair for each output")
                .hint("add `versus: all`, or remove `pairs`");
        }
        super::integer_at(pairs, "per_sample")
    }

    /// Reports comparisons with a system that does not run.
    pub fn partners(&mut self, node: Option<&Node>, scorers: &[ScorerSpec], variants: &[String], models: &[String]) {
        for scorer in scorers {
            let ScorerKind::Rubric(rubric) = &scorer.kind else { continue };
            let Some((versus, place)) =
                rubric.versus.as_ref().zip(node.and_then(|it| it.field(&scorer.id)?.field("versus")))
            else {
                continue;
            };
            let (kind, id, known) = match versus {
                Versus::Variant(id) => ("variant", id, variants),
                Versus::Model(id) => ("model", id, models),
                Versus::All => {
                    self.enough_systems(scorer, place, variants.len().max(models.len()));
                    continue;
                }
            };
            if !known.contains(id) {
                let hint = suggestion(id, known.iter().map(String::as_str));
                let hint = hint
                    .or_else(|| Some(format!("the system in `versus` must be part of the run: {}", known.join(", "))));
                self.problems.error(&place.place, format!("the {kind} `{id}` is not part of the run")).maybe_hint(hint);
            }
        }
    }

    /// A tournament needs two systems; `at_least` is a lower bound of their number.
    fn enough_systems(&mut self, scorer: &ScorerSpec, place: &Node, at_least: usize) {
        if at_least < 2 {
            let message = format!("`{}` compares all systems, but the run has one", scorer.id);
            self.problems.error(&place.place, message).hint("add a second variant or model, or remove `versus`");
        }
    }

    /// Weights are of judges that there are, in a mean.
    fn weights(&mut self, node: &Node, consensus: &Consensus, judges: &[String]) {
        let Some(weights) = node.field("consensus").and_then(|it| it.field("weights")) else { return };
        if consensus.method != ConsensusMethod::Mean {
            self.problems.error(&weights.place, "`weights` need `method: mean`").hint("remove `method`");
        }
        for entry in weights.entries().iter().filter(|entry| !judges.is_empty() && !judges.contains(&entry.key)) {
            let hint = suggestion(&entry.key, judges.iter().map(String::as_str));
            self.problems
                .error(&entry.place, format!("`{}` is not a judge of this scorer", entry.key))
                .maybe_hint(hint);
        }
    }

    fn own_judges(&mut self, node: &Node, registry: &Registry) -> Vec<String> {
        let items = node.items().iter();
        items.filter_map(|item| Some(self.chat_model(item.text()?, &item.place, registry)?.id)).collect()
    }

    /// One judge is fine unless the suite asks for several: `method` and `flag_variance` say what to do with several.
    fn enough_judges(&mut self, node: &Node, judges: usize) {
        let Some(asked) = node.field("consensus").filter(|_| judges > 0) else { return };
        let Some(least) = super::integer_at::<usize>(asked, "min_judges") else { return };
        if judges < least {
            let (there, stands) = match judges {
                1 => ("is 1".to_owned(), "its scores are used alone"),
                _ => (
                    format!("are {judges}"),
                    "scores of fewer than `min_judges` judges are used, with a warning per cell",
                ),
            };
            self.problems
                .warn(&asked.place, format!("a consensus of {least} judges is asked for, but there {there}"))
                .hint(format!("{stands}; name more judges under `judges` or with --judges"));
        }
    }

    /// The analyses of a suite.
    pub fn analyses(&mut self, node: Option<&Node>) -> Vec<AnalysisSpec> {
        let mut analyses: Vec<AnalysisSpec> = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(name) = item.main("analysis") else { continue };
            let Some(schema) = self.catalog.find(Kind::Analysis, name, &mut self.problems).map(|it| it.options.clone())
            else {
                continue;
            };
            let analysis = name.text().unwrap_or_default().to_owned();
            let id = item.text_of("id").unwrap_or(&analysis).to_owned();
            if analyses.iter().any(|earlier| earlier.id == id) {
                self.problems
                    .error(&item.place, format!("two analyses have the id `{id}`"))
                    .hint("give one of them an `id` of its own");
            } else if id != analysis && self.catalog.member(Kind::Analysis, &id).is_some() {
                // Those that always run have their own name as id.
                self.problems
                    .error(&item.place, format!("`{id}` is the name of another analysis"))
                    .hint("give this one another `id`");
            }
            analyses.push(AnalysisSpec { analysis, id, with: self.options(item.field("with"), &schema) });
        }
        analyses
    }
}

fn consensus(node: &Node) -> Consensus {
    let standard = Consensus::default();
    Consensus {
        method: word_at(node, "method").unwrap_or(standard.method),
        flag_variance: node.field("flag_variance").and_then(Node::number),
        min_judges: super::integer_at(node, "min_judges").unwrap_or(standard.min_judges),
        weights: node
            .field("weights")
            .map(Node::entries)
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.node.number()?)))
            .collect(),
    }
}

fn is_reducer(text: &str) -> bool {
    REDUCERS.contains(&text) || trials_needed(text).is_some()
}

/// The K of `pass@K` and `pass^K`, at least 1.
fn trials_needed(text: &str) -> Option<u32> {
    let k = ["pass@", "pass^"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    k.parse().ok().filter(|k| *k > 0)
}

fn is_aggregate(text: &str) -> bool {
    let percentile = text.strip_prefix('p').and_then(|number| number.parse::<u8>().ok());
    AGGREGATES.contains(&text)
        || LABEL_FIGURES.contains(&text)
        || percentile.is_some_and(|number| (1..=99).contains(&number))
}

fn is_label_figure(aggregate: &Node) -> bool {
    aggregate.text().is_some_and(|text| LABEL_FIGURES.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reducers_and_aggregates() {
        assert!(is_reducer("pass@3") && is_reducer("pass^2") && is_reducer("majority"));
        assert!(!is_reducer("pass@0") && !is_reducer("p50"));
        assert!(is_aggregate("p95") && is_aggregate("f1") && is_aggregate("f1_micro"));
        assert!(!is_aggregate("p99.9") && !is_aggregate("p0") && !is_aggregate("p100") && !is_aggregate("pass"));
    }
}
