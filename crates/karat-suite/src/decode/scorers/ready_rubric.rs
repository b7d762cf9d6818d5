//! Ready rubrics: a file of the catalogue, with the suite's own keys laid over it.
//!
//! Maps are merged key by key, null removes a key, and everything else is replaced. A text in the place of a shown value
//! replaces its `value` alone, so that its form stays. A dimension that gets another kind of scale loses the old one with its
//! step and anchors.

use crate::check;
use crate::decode::Decoder;
use crate::diagnostics::nearest::suggestion;
use crate::grammar::RUBRIC;
use crate::syntax::node::{Entry, Node, Place, Tree};
use crate::syntax::yaml;

/// Keys of a dimension that go when it gets another scale: a key of the first list brings one.
const SCALES: &[&str] = &["scale", "choices", "counted"];
const OF_A_SCALE: &[&str] = &["scale", "choices", "counted", "step", "anchors"];
/// Keys of a finding's field of which it has one.
const TYPES: &[&str] = &["type", "one_of", "index_of"];

impl Decoder<'_> {
    /// The ready rubric that `used` names, with the keys of `node` laid over it.
    pub(super) fn over_ready_rubric(&mut self, node: &Node, used: &Node) -> Option<Node> {
        let name = used.text()?;
        let Some(text) = self.catalog.rubrics.get(name) else {
            let known = self.catalog.rubrics.keys().map(String::as_str);
            self.problems
                .error(&used.place, format!("there is no ready rubric `{name}`; `karat rubrics` lists them"))
                .maybe_hint(suggestion(name, known));
            return None;
        };
        let file = self.problems.source(&format!("rubrics/{name}.yaml (built in)"), text);
        let base = yaml::read_tree(text, file, &mut self.problems)?;
        let mut merged = lay_over(&base, node, &mut Vec::new());
        if let Tree::Map(entries) = &mut merged.value {
            entries.retain(|entry| entry.key != "use");
        }
        check::check_at(&merged, &RUBRIC, &["rubric"], self.catalog, &mut self.problems);
        Some(merged)
    }

    /// Refuses a rubric with shown values that it leaves to the suite. `used` is the place of `use`.
    pub(super) fn needed_values(&mut self, node: &Node, name: &str, used: Option<&Place>) -> Option<()> {
        let shown = node.field("show").map(Node::entries).unwrap_or_default();
        let is_left_open =
            |entry: &&Entry| entry.node.main("value").and_then(Node::text).is_some_and(|text| text.trim().is_empty());
        let needed: Vec<&Entry> = shown.iter().filter(is_left_open).collect();
        let Some(first) = needed.first() else { return Some(()) };
        let names: Vec<String> = needed.iter().map(|entry| format!("{}: ..", entry.key)).collect();
        let place = used.unwrap_or(&first.place).clone();
        let meanings = needed.iter().filter_map(|entry| {
            let meaning = entry.node.text_of("about")?.trim_end_matches('.');
            Some(format!("{}: {meaning}", entry.key))
        });
        let hint = meanings.collect::<Vec<_>>().join("; ");
        self.problems
            .error(&place, format!("rubric `{name}` needs `show: {{ {} }}`", names.join(", ")))
            .maybe_hint((!hint.is_empty()).then_some(hint));
        None
    }
}

/// A tree over another one. `path` leads to both.
fn lay_over(base: &Node, over: &Node, path: &mut Vec<String>) -> Node {
    let value = match (&base.value, &over.value) {
        (Tree::Map(below), Tree::Map(above)) => Tree::Map(merge(below, above, path)),
        (Tree::Map(below), Tree::Scalar { .. }) if is_shown_value(path) => {
            let replace = |entry: &Entry| match entry.key.as_str() {
                "value" => Entry { node: over.clone(), ..entry.clone() },
                _ => entry.clone(),
            };
            Tree::Map(below.iter().map(replace).collect())
        }
        _ => return over.clone(),
    };
    Node { value, place: over.place.clone() }
}

fn merge(below: &[Entry], above: &[Entry], path: &mut Vec<String>) -> Vec<Entry> {
    let find = |key: &str| above.iter().find(|entry| entry.key == key);
    let gone = replaced_keys(path, above);
    let mut merged = Vec::new();
    for entry in below {
        match find(&entry.key) {
            Some(over) if over.node.is_null() => {}
            Some(over) => {
                path.push(entry.key.clone());
                merged.push(Entry { node: lay_over(&entry.node, &over.node, path), ..over.clone() });
                path.pop();
            }
            None if gone.contains(&entry.key.as_str()) => {}
            None => merged.push(entry.clone()),
        }
    }
    let is_new = |entry: &&Entry| !entry.node.is_null() && below.iter().all(|known| known.key != entry.key);
    merged.extend(above.iter().filter(is_new).cloned());
    merged
}

fn is_shown_value(path: &[String]) -> bool {
    matches!(path, [show, _] if show == "show")
}

/// The keys below that those above replace although they have other names.
fn replaced_keys(path: &[String], above: &[Entry]) -> &'static [&'static str] {
    let brings = |keys: &[&str]| above.iter().any(|entry| keys.contains(&entry.key.as_str()));
    match path {
        [list, _] if list == "dimensions" && brings(SCALES) => OF_A_SCALE,
        [list, _, each, _] if list == "diagnostics" && each == "each" && brings(TYPES) => TYPES,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::diagnostics::Problems;

    fn merge_texts(base: &str, over: &str) -> Value {
        let mut problems = Problems::default();
        let mut tree = |text: &str| yaml::read_tree(text, 0, &mut problems).unwrap();
        lay_over(&tree(base), &tree(over), &mut Vec::new()).json()
    }

    /// TG-40: the suite's keys lie over those of the file; what they do not name stays.
    #[test]
    fn keys_lie_over_the_file() {
        let base = "{ ask: A, show: { q: Q, c: { value: '', as: lines } }, dimensions: { d: { scale: [1, 5], anchors: { 1: bad }, weight: 2 }, e: { scale: [1, 5] } } }";
        let over = "{ show: { c: C }, dimensions: { d: { choices: { yes: 1, no: 0 } }, e: ~, f: { scale: [0, 1] } }, votes: 1 }";
        let expected = json!({
            "ask": "A",
            "show": { "q": "Q", "c": { "value": "C", "as": "lines" } },
            "dimensions": { "d": { "weight": 2, "choices": { "yes": 1, "no": 0 } }, "f": { "scale": [0, 1] } },
            "votes": 1,
        });
        assert_eq!(merge_texts(base, over), expected);
        assert_eq!(
            merge_texts(base, "{ show: { q: { value: R, as: json } } }")["show"]["q"],
            json!({"value": "R", "as": "json"})
        );
    }
}
