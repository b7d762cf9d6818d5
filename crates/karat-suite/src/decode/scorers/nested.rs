//! Options that are more than values: the checks of `checks`, and the file of `given`, whose rows are joined with cells.

use karat_types::ScorerKind;
use serde_json::{Map, Value};

use crate::catalog::Entry;
use crate::check::{options, share};
use crate::decode::Decoder;
use crate::grammar::Kind;
use crate::registry::Registry;
use crate::syntax::names;
use crate::syntax::node::Node;

/// The metric of a list of checks, and its option with the list.
pub(crate) const CHECKS: &str = "checks";
pub(crate) const CHECKS_OF: &str = "of";

/// The metric of another tool's score, and its option with the file that holds it.
pub(crate) const GIVEN: &str = "given";
pub(crate) const JOINED_FILE: &str = "from";

/// Keys that every check of a list has for itself.
const OF_EACH_CHECK: &[&str] = &["output", "reference", "value"];

impl Decoder<'_> {
    /// The options of a metric that joins cells with the rows of a file, which are found as those of a recorded step.
    pub(super) fn join_options(&mut self, with: &Node) -> Map<String, Value> {
        let mut options = Map::new();
        for key in ["path", "trial", "reason"] {
            options.extend(with.text_of(key).map(|text| (key.to_owned(), Value::from(text))));
            if let Some((at, Err(error))) =
                with.field(key).and_then(|at| Some((at, karat_text::path::Path::parse(at.text()?))))
            {
                self.problems.error(&at.place, format!("`{key}` is not a path: {}", error.problem));
            }
        }
        let Some(from) = with.field(JOINED_FILE) else { return options };
        let Some(file) = self.joined_file(from, with.field("by"), names::JOINED) else { return options };
        self.require_rows(with, &file, &["trial"]);
        for key in ["path", "trial"] {
            if let Some(path) = with.field(key) {
                self.match_row_path(&file, path);
            }
        }
        options.insert(JOINED_FILE.to_owned(), file.from.into());
        options.extend(file.by.map(|by| ("by".to_owned(), by.into())));
        options
    }

    /// The options of a list of checks, with those of each check decoded.
    pub(super) fn check_list(&mut self, scorer: &Node, with: &Node, registry: &Registry) -> Map<String, Value> {
        for entry in scorer.entries().iter().filter(|entry| OF_EACH_CHECK.contains(&entry.key.as_str())) {
            self.problems
                .error(&entry.place, format!("`{}` has no effect on `{CHECKS}`", entry.key))
                .hint("write it into the checks that need it");
        }
        let Some(list) = with.field(CHECKS_OF) else { return Map::new() };
        if list.items().is_empty() {
            self.problems
                .error(&list.place, format!("`{CHECKS_OF}` names no check"))
                .hint("write a list: [ { metric: contains, value: refund, weight: 2 } ]");
        }
        let weights: Vec<f64> = list.items().iter().map(weight).collect();
        if !weights.is_empty() && weights.iter().all(|weight| *weight <= 0.0) {
            self.problems.error(&list.place, "every check has the weight 0, so they have no mean");
        }
        let checks = list.items().iter().filter_map(|item| self.nested_check(item, registry));
        Map::from_iter([(CHECKS_OF.to_owned(), Value::Array(checks.collect()))])
    }

    fn nested_check(&mut self, item: &Node, registry: &Registry) -> Option<Value> {
        let metric = item.field("metric")?;
        let entry = self.catalog.find(Kind::Metric, metric, &mut self.problems)?.clone();
        self.check_nested(item, metric, &entry)?;
        if let Some(with) = item.field("with") {
            options::check(with, &entry.options, &mut self.problems);
        }
        let ScorerKind::Metric { with, .. } = self.metric(item, metric, registry)? else { return None };
        let mut check = item.json_map();
        check.remove("with");
        if !with.is_empty() {
            check.insert("with".to_owned(), Value::Object(with));
        }
        Some(Value::Object(check))
    }

    /// Reports a check that cannot have a part in a mean; `None` if its metric cannot stand in a list at all.
    fn check_nested(&mut self, item: &Node, metric: &Node, entry: &Entry) -> Option<()> {
        let name = metric.text()?;
        if entry.metric.outside || entry.metric.embeds {
            let message = format!("`{name}` calls a service, a program or a model, which a list of checks cannot");
            self.problems.error(&metric.place, message).hint("make it a scorer of the suite");
            return None;
        }
        let is_bounded = item.field("min").is_some() || item.field("max").is_some();
        let with = item.field("with").map(Node::json_map).unwrap_or_default();
        if !is_bounded && !entry.is_share(&with) {
            let message = format!("`{name}` in `{CHECKS}` needs a limit: its score is not a share from 0 to 1");
            self.problems.error(&metric.place, message).hint("add `min` or `max`");
        }
        for bound in ["min", "max"] {
            if let Some(given) = item.field(bound).filter(|given| share(given).is_none()) {
                let message = format!("`{bound}` must be a number or a percentage");
                self.problems.error(&given.place, message).hint("write `0.8` or `80%`");
            }
        }
        self.bounds(item);
        Some(())
    }
}

/// The weight of a check; the schema of `of` has checked its kind and sign.
fn weight(check: &Node) -> f64 {
    check.field("weight").map_or(1.0, |weight| weight.number().unwrap_or(1.0))
}
