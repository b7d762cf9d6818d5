//! `--set` and `sweep`: changes to the tree before it is checked.

use std::collections::BTreeSet;

use crate::diagnostics::Problems;
use crate::grammar::{SUITE, Shape};
use crate::overrides::Overrides;
use crate::overrides::address::assign;
use crate::syntax::node::{Entry, Node, Place, Tree};
use crate::syntax::yaml;

/// Applies every `--set`.
pub(crate) fn apply_sets(suite: &mut Node, overrides: &Overrides, problems: &mut Problems) {
    for (address, value) in &overrides.set {
        let Some((at, value)) = on_command_line("--set", address, value, problems) else { continue };
        put_value(suite, address, value, &at, problems);
    }
}

fn put_value(suite: &mut Node, address: &str, value: Node, at: &Place, problems: &mut Problems) {
    if let Err(lost) = assign(suite, Shape::Object(&SUITE), address, value, at) {
        problems.error(at, format!("the address `{address}` does not exist: {}", lost.message)).maybe_hint(lost.hint);
    }
}

/// One dimension of a sweep.
struct Axis {
    /// Id of the variant.
    variant: String,
    /// The whole address.
    address: String,
    /// The address as it appears in the names of variants.
    label: String,
    values: Vec<Node>,
    at: Place,
}

/// Makes a variant of each combination of a sweep's values. Says which variants it was made of: they no longer run.
pub(crate) fn apply_sweeps(suite: &mut Node, overrides: &Overrides, problems: &mut Problems) -> BTreeSet<String> {
    let ids: Vec<String> =
        suite.get("variants").map(Node::entries).unwrap_or_default().iter().map(|entry| entry.key.clone()).collect();
    let mut axes = declared_axes(suite, &ids, problems);
    for (address, values) in &overrides.sweep {
        let file = problems.command_line("--sweep", address);
        let at = Place { file, span: 0..address.len() };
        if values.split(',').any(|value| value.trim().is_empty()) {
            problems
                .error(&at, format!("the sweep of `{address}` has an empty value"))
                .hint("write `ADDRESS=a,b`; write `null` for no value and `\"\"` for an empty text");
            continue;
        }
        let values: Vec<Node> = values
            .split(',')
            .filter_map(|value| on_command_line("--sweep", address, value.trim(), problems).map(|(_, node)| node))
            .collect();
        axes.extend(axis(address, values, at, &ids, problems));
    }
    axes = check_duplicates(axes, problems);
    distinguish(&mut axes);
    let mut swept = BTreeSet::new();
    for id in ids {
        let axes_of_variant: Vec<&Axis> = axes.iter().filter(|axis| axis.variant == id).collect();
        if !axes_of_variant.is_empty() {
            expand(suite, &id, &axes_of_variant, problems);
            swept.insert(id);
        }
    }
    swept
}

fn declared_axes(suite: &Node, ids: &[String], problems: &mut Problems) -> Vec<Axis> {
    let entries = suite.get("sweep").map(Node::entries).unwrap_or_default();
    let axes = entries.iter().filter_map(|entry| {
        let values = entry.node.items().to_vec();
        axis(&entry.key, values, entry.place.clone(), ids, problems)
    });
    axes.collect()
}

fn axis(address: &str, values: Vec<Node>, at: Place, ids: &[String], problems: &mut Problems) -> Option<Axis> {
    let below = address.strip_prefix("variants.");
    let fits = |id: &&String| {
        below.is_some_and(|rest| rest.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    let variant = ids.iter().filter(fits).max_by_key(|id| id.len());
    let Some(variant) = variant.filter(|_| !values.is_empty()) else {
        let message = if values.is_empty() {
            format!("the sweep of `{address}` has no values")
        } else {
            format!("the address `{address}` is not part of a variant")
        };
        problems.error(&at, message).hint("write a sweep as `variants.ID.STEP.KEY: [a, b]`");
        return None;
    };
    if let Some(twice) = values.iter().enumerate().find(|(n, value)| values[..*n].iter().any(|it| is_same(it, value))) {
        let message = format!("the sweep of `{address}` has the value `{}` twice", value_text(twice.1));
        problems
            .error(&at, message)
            .hint("each value becomes a variant: remove one of the two; to repeat cells use `--trials`");
        return None;
    }
    let label = address.rsplit('.').next().unwrap_or(address).to_owned();
    Some(Axis { variant: variant.clone(), address: address.to_owned(), label, values, at })
}

/// Returns whether two values make the same variant: `0` and `0.0` do.
fn is_same(one: &Node, other: &Node) -> bool {
    let (one, other) = (one.json(), other.json());
    one == other || one.as_f64().is_some_and(|number| Some(number) == other.as_f64())
}

/// The axes without those whose address an earlier one has.
fn check_duplicates(axes: Vec<Axis>, problems: &mut Problems) -> Vec<Axis> {
    let mut kept: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes {
        if kept.iter().any(|it| it.address == axis.address) {
            let message = format!("the address `{}` is swept twice", axis.address);
            problems.error(&axis.at, message).hint("list all of its values in one place");
        } else {
            kept.push(axis);
        }
    }
    kept
}

/// Two axes of one variant that end in the same key are called by their whole addresses.
fn distinguish(axes: &mut [Axis]) {
    let labels: Vec<(String, String)> = axes.iter().map(|axis| (axis.variant.clone(), axis.label.clone())).collect();
    for axis in axes {
        let same = labels.iter().filter(|(variant, label)| *variant == axis.variant && *label == axis.label).count();
        if same > 1 {
            axis.label = axis
                .address
                .trim_start_matches("variants.")
                .trim_start_matches(&axis.variant)
                .trim_start_matches('.')
                .to_owned();
        }
    }
}

fn expand(suite: &mut Node, id: &str, axes: &[&Axis], problems: &mut Problems) {
    let combinations = axes.iter().fold(vec![Vec::new()], |made: Vec<Vec<&Node>>, axis| {
        made.iter().flat_map(|head| axis.values.iter().map(|value| [head.as_slice(), &[value]].concat())).collect()
    });
    let mut variants = Vec::new();
    for values in combinations {
        let mut copy = suite.clone();
        let mut parts = Vec::new();
        for (axis, value) in axes.iter().zip(values) {
            parts.push(format!("{}={}", axis.label, value_text(value)));
            put_value(&mut copy, &axis.address, value.clone(), &axis.at, problems);
        }
        let variant = copy.get("variants").and_then(|all| all.entries().iter().find(|entry| entry.key == id).cloned());
        variants.extend(variant.map(|entry| Entry { key: format!("{id}{{{}}}", parts.join(",")), ..entry }));
    }
    let Tree::Map(keys) = &mut suite.value else { return };
    let Some(all) = keys.iter_mut().find(|entry| entry.key == "variants") else { return };
    if let Tree::Map(entries) = &mut all.node.value {
        let at = entries.iter().position(|entry| entry.key == id).map_or(entries.len(), |index| index + 1);
        entries.splice(at..at, variants);
    }
}

fn value_text(value: &Node) -> String {
    value.text().map_or_else(|| value.json().to_string(), str::to_owned)
}

fn on_command_line(flag: &str, address: &str, value: &str, problems: &mut Problems) -> Option<(Place, Node)> {
    let text = format!("{address}={value}");
    let file = problems.command_line(flag, &text);
    let at = Place { file, span: 0..address.len() };
    let before = problems.errors();
    let mut node = yaml::read_tree(value, file, problems)?;
    shift(&mut node, address.len() + 1);
    (problems.errors() == before).then_some((at, node))
}

/// Shifts the places of a value that was read on its own to its position after the address.
fn shift(node: &mut Node, by: usize) {
    node.place.span = node.place.span.start + by..node.place.span.end + by;
    match &mut node.value {
        Tree::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Tree::Map(entries) => {
            for entry in entries {
                entry.place.span = entry.place.span.start + by..entry.place.span.end + by;
                shift(&mut entry.node, by);
            }
        }
        Tree::Scalar { .. } => {}
    }
}
