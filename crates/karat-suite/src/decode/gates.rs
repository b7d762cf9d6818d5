//! Gates and their policy, decoded. A plan does not hold them: they are applied to a stored run.

use std::collections::{BTreeMap, BTreeSet};

use karat_text::path::Path;
use karat_text::template::{Comparison, Context, Expression, Template};
use karat_types::{Correction, Gate, GateBasis, GateReference, ModelSpec, PASS, Policy, Subject, Threshold};

use super::{ComparedValue, Decoder};
use crate::check::share;
use crate::dataset::checks::only::KnownSystems;
use crate::dataset::checks::row_checks;
use crate::diagnostics::Problems;
use crate::diagnostics::nearest::suggestion;
use crate::registry::Registry;
use crate::syntax::node::{Entry, Node};
use crate::syntax::{names, notation};

/// Units of a gate's `per` other than columns.
const UNITS: &[&str] = &["system", "run", "sample"];

/// Most systems that a hint lists.
const SHOWN_SYSTEMS: usize = 24;

/// The columns that gates read: they are kept with a run's results.
pub(crate) fn columns(gates: &[Gate]) -> BTreeSet<String> {
    let first = |name: &str| name.split(['.', '[']).next().unwrap_or(name).to_owned();
    let mut columns = BTreeSet::new();
    for gate in gates {
        if !UNITS.contains(&gate.per.as_str()) {
            columns.insert(first(&gate.per));
        }
        let condition = gate.condition.as_deref().and_then(|text| Expression::compile(text).ok());
        let reads = condition.iter().flat_map(|it| it.reads()).filter_map(|name| name.strip_prefix("sample."));
        columns.extend(reads.map(first).filter(|column| column != "id"));
    }
    columns
}

/// The variants that are declared but not selected; a swept variant is also listed by its declared name.
pub(crate) fn variants_left_out(declared: &[String], run: &[String]) -> Vec<GateReference> {
    let plain = declared.iter().filter_map(|id| Some(id.split_once('{')?.0.to_owned()));
    let names: BTreeSet<String> = declared.iter().cloned().chain(plain).collect();
    names.into_iter().filter(|name| !run.contains(name)).map(GateReference::Variant).collect()
}

/// The models that are declared and do not run, in all of their spellings.
pub(crate) fn models_left_out(declared: Option<&Node>, run: &[ModelSpec], registry: &Registry) -> Vec<GateReference> {
    let names = declared.map(Node::items).unwrap_or_default().iter().filter_map(|item| item.main("id")?.text());
    let models = names.filter_map(|name| registry.find(name)).filter(|model| run.iter().all(|it| it.id != model.id));
    models
        .flat_map(|model| std::iter::once(model.id.clone()).chain(model.spellings()))
        .map(GateReference::Model)
        .collect()
}

impl Decoder<'_> {
    /// The gates of a suite with these systems, or of a policy file for any. One without an id has that of what it looks at,
    /// numbered from the second on.
    pub fn gates(&mut self, node: Option<&Node>, systems: Option<&KnownSystems>) -> Vec<Gate> {
        let mut gates: Vec<Gate> = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(mut gate) = self.gate(item, systems) else { continue };
            let is_taken = |id: &str| gates.iter().any(|earlier| earlier.id == id);
            match (is_taken(&gate.id), item.field("id")) {
                (true, Some(id)) => {
                    self.problems
                        .error(&id.place, format!("two gates have the id `{}`", gate.id))
                        .hint("give one of them an `id` of its own");
                }
                (true, None) => {
                    let numbered = (2..).map(|at| format!("{}-{at}", gate.id)).find(|id| !is_taken(id));
                    gate.id = numbered.unwrap_or_default();
                }
                (false, _) => {}
            }
            gates.push(gate);
        }
        gates
    }

    /// Reports gates on metrics of scorers that the suite does not declare. Which figures a scorer has, and what rows
    /// add, is known once everything else is right.
    pub fn gated_scorers(&mut self, gates: Option<&Node>, scorers: Option<&Node>) {
        let gates = gates.map(Node::items).unwrap_or_default().iter();
        self.metrics_of_scorers(gates.filter_map(|gate| gate.field("metric")), scorers);
    }

    /// Reports headlines on metrics of scorers that the suite does not declare.
    pub fn headline(&mut self, headline: Option<&Node>, scorers: Option<&Node>) {
        self.metrics_of_scorers(headline.map(Node::items).unwrap_or_default().iter(), scorers);
    }

    fn metrics_of_scorers<'n>(&mut self, names: impl Iterator<Item = &'n Node>, scorers: Option<&Node>) {
        let known: Vec<&str> =
            scorers.map(Node::entries).unwrap_or_default().iter().map(|it| it.key.as_str()).collect();
        let is_of = |metric: &str, id: &str| {
            metric.strip_prefix(id).is_some_and(|dimension| dimension.is_empty() || dimension.starts_with('.'))
        };
        for at in names {
            let Some(metric) = at.text().filter(|metric| !metric.contains(['*', '{'])) else { continue };
            if !known.iter().chain(&[PASS, row_checks::COLUMN]).any(|id| is_of(metric, id)) {
                let id = metric.split('.').next().unwrap_or(metric);
                self.problems
                    .error(&at.place, format!("no scorer of the suite has the metric `{metric}`"))
                    .maybe_hint(suggestion(id, known.iter().copied()));
            }
        }
    }

    /// The name of a metric or figure, which may depend on parameters: modes of a suite can have gates of their own.
    pub fn name_by_params(&mut self, node: &Node) -> Option<String> {
        let text = node.text()?;
        if !text.contains("{{") {
            return Some(text.to_owned());
        }
        let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
        let template = match Template::compile(&inlined) {
            Ok(template) => template,
            Err(error) => {
                notation::report(&error, "template", text, &node.place, &mut self.problems);
                return None;
            }
        };
        if let Some(name) = template.reads().first() {
            let place = notation::name_within(&node.place, text, name, &self.problems);
            self.problems
                .error(&place, format!("`{name}` cannot be used here: this name is the same for every row"))
                .hint("only `params` can be used in it");
            return None;
        }
        template.render(&Context::new()).ok()
    }

    fn gate(&mut self, node: &Node, systems: Option<&KnownSystems>) -> Option<Gate> {
        let subject = match (node.field("metric"), node.field("finding")) {
            (Some(metric), _) => Subject::Metric(self.name_by_params(metric)?),
            (None, Some(finding)) => Subject::Finding(self.name_by_params(finding)?),
            (None, None) => return None,
        };
        let (Subject::Metric(name) | Subject::Finding(name)) = &subject;
        let threshold = |key: &str| {
            let (value, percent) = node.field(key).and_then(share)?;
            Some(Threshold { value, percent })
        };
        self.gate_column(node);
        self.bounds(node);
        let gate = Gate {
            id: node.text_of("id").unwrap_or(name).to_owned(),
            place: Some(format!("{}:{}", self.problems.path(node.place.file), self.problems.line(&node.place))),
            condition: self.gate_condition(node, systems),
            per: node.text_of("per").unwrap_or("system").to_owned(),
            against: self.comparison_target(node),
            min: threshold("min"),
            max: threshold("max"),
            max_drop: threshold("max_drop"),
            max_rise: threshold("max_rise"),
            decide: if node.text_of("decide") == Some("interval") { GateBasis::Interval } else { GateBasis::Point },
            human_anchor: node.text_of("anchor") == Some("human"),
            review: node.text_of("on_fail") == Some("review"),
            undecided_fails: node.text_of("on_undecided").map(|word| word == "fail"),
            subject,
        };
        if ["min", "max", "max_drop", "max_rise"].iter().all(|key| node.field(key).is_none()) {
            self.problems.error(&node.place, "a gate needs a limit").hint("add `min`, `max`, `max_drop` or `max_rise`");
        }
        Some(gate)
    }

    /// `min` and `max` of a gate or scorer: some number must keep both.
    pub(super) fn bounds(&mut self, node: &Node) {
        let limit = |key: &str| node.field(key).and_then(share).map(|(number, _)| number);
        if let Some(at) = node.field("min")
            && let Some((share, true)) = share(at)
            && share > 0.0
            && share < 0.01
        {
            let whole = (share * 1e6).round() / 1e2;
            self.problems
                .warn(
                    &at.place,
                    format!("`min: {}` is {share}, which nearly every figure reaches", at.text().unwrap_or_default()),
                )
                .hint(format!("for {whole} of 100 write `{whole}%`"));
        }
        if let (Some(min), Some(max), Some(place)) = (limit("min"), limit("max"), node.field("max").map(|it| &it.place))
            && min > max
        {
            self.problems
                .error(place, format!("no number is at least {min} and at most {max}"))
                .hint("`min` must be the lower one");
        }
    }

    /// Demands the column that a gate is evaluated per.
    fn gate_column(&mut self, node: &Node) {
        let Some(per) = node.field("per") else { return };
        if let Some(column) = per.text().filter(|text| !UNITS.contains(text)) {
            self.pending.push(names::PendingName::read(format!("sample.{column}"), per.place.clone()));
        }
    }

    fn gate_condition(&mut self, node: &Node, systems: Option<&KnownSystems>) -> Option<String> {
        let condition = node.field("where")?;
        let text = condition.text()?;
        let inlined = self.params.inline_expression(text, &condition.place, &mut self.problems);
        let expression = Expression::compile(&inlined).ok()?;
        names::check(expression.reads(), text, &condition.place, names::GATE, &mut self.pending, &mut self.problems);
        if expression.reads().iter().any(|name| name == "model") {
            let at = notation::name_within(&condition.place, text, "model", &self.problems);
            self.problems
                .error(&at, "`model` is an object and never equals a text, so no cell would match")
                .hint("compare `model.id`, `model.name` or `model.family`");
        }
        for Comparison { name, text: value, span } in expression.comparisons() {
            let place = match inlined == text {
                true => notation::span_within(&condition.place, text, &span, &self.problems),
                false => condition.place.clone(),
            };
            if let Some(path) = name.strip_prefix("sample.").and_then(|path| Path::parse(path).ok()) {
                self.compared.push(ComparedValue { path, value, place });
            } else if let Some(known) = systems.and_then(|systems| systems.values_of(&name))
                && !known.contains(&value)
            {
                let ids = known.iter().take(SHOWN_SYSTEMS).map(String::as_str);
                self.problems
                    .error(
                        &place,
                        format!(
                            "no {} of the suite is `{value}`, so this compares with nothing",
                            name.replace('.', " ")
                        ),
                    )
                    .maybe_hint(suggestion(&value, ids).or_else(|| {
                        let part = name.rsplit('.').next().unwrap_or(&name);
                        known.is_empty().then(|| format!("no entry of the suite states a `{part}`"))
                    }));
            }
        }
        Some(inlined)
    }

    fn comparison_target(&mut self, node: &Node) -> Option<GateReference> {
        let at = node.field("against")?;
        let text = at.text()?;
        let against = match text.split_once(':') {
            None if text == "baseline" => Some(GateReference::Baseline),
            None if text == "previous" => Some(GateReference::Previous),
            Some(("variant", id)) => Some(GateReference::Variant(id.to_owned())),
            Some(("model", id)) => Some(GateReference::Model(id.to_owned())),
            Some(("run", id)) => Some(GateReference::Run(id.to_owned())),
            _ => None,
        };
        if against.is_none() {
            let known = ["baseline", "previous", "variant:ID", "model:ID", "run:ID"];
            self.problems.error(&at.place, format!("`against` cannot be `{text}`")).maybe_hint(suggestion(text, known));
        }
        against
    }
}

/// Differences by metric.
fn differences(node: &Node, problems: &mut Problems) -> BTreeMap<String, Threshold> {
    let difference = |entry: &Entry| {
        let (value, percent) = share(&entry.node)?;
        if value <= 0.0 {
            problems.error(&entry.node.place, format!("a difference must be above 0, not {value}"));
        }
        Some((entry.key.clone(), Threshold { value, percent }))
    };
    node.entries().iter().filter_map(difference).collect()
}

/// Decodes `policy`.
pub(crate) fn policy(node: Option<&Node>, problems: &mut Problems) -> Policy {
    let standard = Policy::default();
    let Some(node) = node else { return standard };
    let number = |key: &str| node.field(key).and_then(share).map(|(number, _)| number);
    Policy {
        on_request: node.text_of("enforce") == Some("on_request"),
        undecided_fails: node.text_of("undecided") == Some("fail"),
        max_unscored: number("max_unscored").unwrap_or(standard.max_unscored),
        max_errors: number("max_errors").unwrap_or(standard.max_errors),
        confidence: number("confidence").unwrap_or(standard.confidence),
        correction: match node.text_of("correction") {
            Some("bh") => Correction::Bh,
            Some("none") => Correction::None,
            _ => Correction::Holm,
        },
        strict: node.field("strict").and_then(Node::boolean).unwrap_or(standard.strict),
        mde: node.field("mde").map(|node| differences(node, problems)).unwrap_or_default(),
    }
}
