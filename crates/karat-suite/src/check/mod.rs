//! Checks a tree against the grammar. Everything that is wrong is reported; nothing is decoded here.
//!
//! - here: the checker, which walks the tree along the grammar's tables
//! - `foreign_files.rs`: files of other tools in place of a suite
//! - `options.rs`: options of a metric, provider or analysis, against the JSON Schema of the catalog
//! - `secrets.rs`: keys and passwords in plain text, which a suite must not contain
//! - `stop_early.rs`: settings that a run that stops early does not go with
//! - `references.rs`: metrics that have nothing to compare with; runs after the pass over the dataset

pub(crate) mod foreign_files;
pub(crate) mod options;
pub(crate) mod references;
pub(crate) mod secrets;
pub(crate) mod stop_early;

use karat_text::similar;

use crate::catalog::Catalog;
use crate::diagnostics::Problems;
use crate::diagnostics::nearest::suggestion;
use crate::grammar::{Key, Kind, Object, POLICY_FILE, REGISTRY, RUBRIC, SUITE, Shape, removed::removal};
use crate::syntax::duration;
use crate::syntax::environment;
use crate::syntax::node::{Entry, Node, Tree};
use crate::syntax::notation;

/// Checks a node. `root` is the address under which the table of missing features knows it.
pub(crate) fn check(node: &Node, object: &'static Object, catalog: &Catalog, problems: &mut Problems) {
    Checker { catalog, address: Vec::new(), is_overlay: false, key: None, problems }.object(node, object, None, false);
}

/// Checks a node of another file: a rubric, a registry entry.
pub(crate) fn check_at(
    node: &Node,
    object: &'static Object,
    address: &[&'static str],
    catalog: &Catalog,
    problems: &mut Problems,
) {
    let address = address.to_vec();
    Checker { catalog, address, is_overlay: false, key: None, problems }.object(node, object, None, false);
}

struct Checker<'a> {
    catalog: &'a Catalog,
    address: Vec<&'static str>,
    /// True within keys that are laid over a ready rubric: the rubric has the keys that are missing here.
    is_overlay: bool,
    /// The innermost key of the grammar that is being checked.
    key: Option<&'static Key>,
    problems: &'a mut Problems,
}

impl Checker<'_> {
    fn node(&mut self, node: &Node, shape: Shape, key: &str, owner: &Node) {
        match shape {
            Shape::Any => {}
            Shape::Text => self.text(node, key),
            Shape::Words(words) => self.words(node, words, key),
            Shape::TemplateOr(other) => match node.text() {
                Some(_) => self.node(node, Shape::Template, key, owner),
                None => self.node(node, *other, key, owner),
            },
            Shape::WordOr(words, other) => match node.text() {
                Some(text) if words.contains(&text) => {}
                _ => self.node(node, *other, key, owner),
            },
            Shape::Template => {
                self.text(node, key);
                notation::template(node, self.problems);
            }
            Shape::Placeholders(names) => {
                self.text(node, key);
                self.placeholders(node, names, key);
            }
            Shape::Expression => {
                self.text(node, key);
                notation::expression(node, self.problems);
            }
            Shape::Path => {
                self.text(node, key);
                notation::path(node, self.problems);
            }
            Shape::File => {
                self.text(node, key);
                notation::template(node, self.problems);
                self.no_environment(node);
            }
            Shape::Boolean => self.wants(node, node.boolean().is_some(), key, "true or false"),
            Shape::BooleanOr(_) if node.boolean().is_some() => {}
            Shape::BooleanOr(other) => self.node(node, *other, key, owner),
            Shape::Integer(least) => self.integer(node, least, i64::MAX, key),
            Shape::IntegerIn(least, most) => self.integer(node, least, most, key),
            Shape::Number(lo, hi) => self.number(node, lo, hi, key),
            Shape::NumberOr(lo, hi, _) if node.text().is_some() => self.number(node, lo, hi, key),
            Shape::NumberOr(_, _, other) => self.node(node, *other, key, owner),
            Shape::Share => self.wants(node, share(node).is_some(), key, "a number, or a percentage such as 5%"),
            Shape::Fraction(lo, hi) => self.fraction(node, lo, hi, key),
            Shape::Duration => {
                let fits = node.text().is_some_and(|text| duration::parse(text).is_some());
                self.wants(node, fits, key, "a duration such as 500ms, 120s, 20m, 24h or 90d");
            }
            Shape::Span => self.span(node, key),
            Shape::List(shape) => self.list(node, *shape, key),
            Shape::Map(shape) => self.map(node, *shape, key),
            Shape::Object(object) => self.object(node, object, Some(key), false),
            Shape::Open(object) => self.object(node, object, Some(key), true),
            Shape::Short(object, main) => match (&node.value, object.key(main)) {
                (Tree::Scalar { .. }, Some(key)) if !node.is_null() => self.node(node, key.shape, main, node),
                (Tree::List(_), Some(key)) if matches!(key.shape, Shape::List(_)) => {
                    self.node(node, key.shape, main, node);
                }
                _ => self.object(node, object, Some(key), false),
            },
            Shape::With(kind) => self.with(node, kind, owner),
        }
    }

    fn placeholders(&mut self, node: &Node, names: &[&'static str], key: &str) {
        let Some(text) = node.text() else { return };
        for part in text.split('{').skip(1) {
            let name = part.split('}').next().unwrap_or_default();
            if !names.contains(&name) {
                let hint = suggestion(name, names.iter().copied())
                    .unwrap_or_else(|| format!("placeholders: {}", names.join(", ")));
                self.problems.error(&node.place, format!("`{key}` has no placeholder `{{{name}}}`")).hint(hint);
            }
        }
    }

    fn object(&mut self, node: &Node, object: &'static Object, key: Option<&str>, open: bool) {
        let Tree::Map(entries) = &node.value else {
            let what = key.map_or_else(|| object.name.to_owned(), |key| format!("`{key}`"));
            let hint = match (node.text(), self.key.and_then(example_of)) {
                (Some(text), _) if object.name == "scorer" => format!("write `{{ metric: {text} }}`"),
                (_, Some(example)) => format!("for example {example}; keys: {}", names(object).join(", ")),
                _ => format!("keys: {}", names(object).join(", ")),
            };
            self.problems.error(&node.place, format!("{what} must be a map, this is {}", node.kind())).hint(hint);
            return;
        };
        let is_within_overlay = self.is_overlay;
        self.is_overlay |= std::ptr::eq(object, &RUBRIC) && node.field("use").is_some();
        for entry in entries {
            if self.report_removed(entry) {
                continue;
            }
            match object.key(&entry.key) {
                Some(key) => self.entry(entry, key, node),
                None if open => self.warn_of_likely_slip(entry, object),
                None if entry.key.starts_with("x-") && is_root(object) => {}
                None => self.report_unknown_key(entry, object),
            }
        }
        self.check_required(node, object);
        self.is_overlay = is_within_overlay;
    }

    fn entry(&mut self, entry: &Entry, key: &'static Key, owner: &Node) {
        self.address.push(key.name);
        let outer = self.key.replace(key);
        if entry.node.is_null() && !matches!(key.shape, Shape::Any) {
            if key.required && !self.is_overlay {
                self.problems.error(&entry.place, format!("`{}` is empty", key.name)).hint(key.about);
            }
        } else {
            self.node(&entry.node, key.shape, key.name, owner);
        }
        self.key = outer;
        self.address.pop();
    }

    /// Warns of a key of its own that is most likely a misspelt one of the language's: it is passed on as it is.
    fn warn_of_likely_slip(&mut self, entry: &Entry, object: &'static Object) {
        const SHORTEST: usize = 6;
        let near = similar::nearest(&entry.key, names(object)).filter(|near| near.len() >= SHORTEST);
        if let Some(near) = near {
            self.problems
                .warn(
                    &entry.place,
                    format!("`{}` is not a key of {}: it is passed on as it is", entry.key, object.name),
                )
                .hint(format!("did you mean `{near}`?"));
        }
    }

    /// Reports a key or value that this version no longer has; false for any other.
    fn report_removed(&mut self, entry: &Entry) -> bool {
        let address = [&self.address[..], &[entry.key.as_str()]].concat().join(".");
        let key = removal(&address, None).map(|sentence| (&entry.place, sentence));
        let found = key.or_else(|| Some((&entry.node.place, removal(&address, entry.node.text())?)));
        if let Some((place, sentence)) = found {
            self.problems.error(place, sentence);
        }
        found.is_some()
    }

    fn report_unknown_key(&mut self, entry: &Entry, object: &'static Object) {
        let foreign = object.foreign.iter().find(|(theirs, _)| *theirs == entry.key);
        let hint = match foreign {
            Some((_, ours)) => Some(format!("here that is `{ours}`")),
            None => suggestion(&entry.key, names(object)),
        };
        self.problems
            .error(&entry.place, format!("unknown key `{}` in {}", entry.key, article(object.name)))
            .maybe_hint(hint);
    }

    fn check_required(&mut self, node: &Node, object: &'static Object) {
        let place = &node.place;
        let is_missing = |key: &&Key| key.required && !self.is_overlay && node.get(key.name).is_none();
        for key in object.keys.iter().filter(is_missing) {
            self.problems.error(place, format!("{} needs `{}`", article(object.name), key.name)).hint(about(key));
        }
        let given: Vec<&Entry> =
            node.entries().iter().filter(|entry| object.one_of.contains(&entry.key.as_str())).collect();
        let listed = object.one_of.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        match given.as_slice() {
            [] if !object.one_of.is_empty() && !self.is_overlay => {
                self.problems.error(place, format!("{} needs one of {listed}", article(object.name)));
            }
            [first, second, ..] => {
                self.problems
                    .error(&second.place, format!("`{}` cannot be combined with `{}`", second.key, first.key))
                    .hint(format!("keep one of {listed}"));
            }
            _ => {}
        }
    }

    fn list(&mut self, node: &Node, shape: Shape, key: &str) {
        let Tree::List(items) = &node.value else {
            return self.wants(node, false, key, "a list");
        };
        self.address.push("*");
        for item in items {
            self.node(item, shape, key, node);
        }
        self.address.pop();
    }

    fn map(&mut self, node: &Node, shape: Shape, key: &str) {
        let Tree::Map(entries) = &node.value else {
            return self.wants(node, false, key, "a map");
        };
        self.address.push("*");
        let is_overlay = self.is_overlay;
        for entry in entries.iter().filter(|entry| !is_overlay || !entry.node.is_null()) {
            self.node(&entry.node, shape, &entry.key, node);
        }
        self.address.pop();
    }

    fn text(&mut self, node: &Node, key: &str) {
        self.wants(node, node.text().is_some(), key, "a text");
    }

    fn words(&mut self, node: &Node, words: &[&str], key: &str) {
        let Some(text) = node.text() else {
            return self.wants(node, false, key, &format!("one of {}", words.join(", ")));
        };
        if !words.contains(&text) {
            let known = format!("one of {}", words.join(", "));
            let hint = crate::diagnostics::nearest::nearest(text, words.iter().copied())
                .map(|word| format!("did you mean `{word}`?"));
            self.problems.error(&node.place, format!("`{key}` must be {known}, not `{text}`")).maybe_hint(hint);
        }
    }

    fn integer(&mut self, node: &Node, least: i64, most: i64, key: &str) {
        match node.integer() {
            Some(number) if (least..=most).contains(&number) => {}
            Some(number) if number > most => {
                self.problems.error(&node.place, format!("`{key}` must be at most {most}, not {number}"));
            }
            Some(number) => {
                self.problems.error(&node.place, format!("`{key}` must be at least {least}, not {number}"));
            }
            None => self.wants(node, false, key, "a whole number"),
        }
    }

    fn number(&mut self, node: &Node, lo: f64, hi: f64, key: &str) {
        match node.number() {
            Some(number) if (lo..=hi).contains(&number) => {}
            Some(number) if hi.is_finite() => {
                self.problems.error(&node.place, format!("`{key}` must be from {lo} to {hi}, not {number}"));
            }
            Some(number) => {
                self.problems.error(&node.place, format!("`{key}` must be at least {lo}, not {number}"));
            }
            None => self.wants(node, false, key, "a number"),
        }
    }

    fn fraction(&mut self, node: &Node, lo: f64, hi: f64, key: &str) {
        let Some((number, percent)) = share(node) else {
            return self.wants(node, false, key, "a share, such as 0.05 or 5%");
        };
        if (lo..=hi).contains(&number) {
            return;
        }
        let problem = self.problems.error(&node.place, format!("`{key}` is a share from {lo} to {hi}, not {number}"));
        if !percent && (lo..=hi).contains(&(number / 100.0)) {
            problem.hint(format!("write `{number}%` for {number} of 100"));
        }
    }

    fn span(&mut self, node: &Node, key: &str) {
        let bounds: Option<Vec<f64>> = node.items().iter().map(Node::number).collect();
        let fits = matches!(bounds.as_deref(), Some([lo, hi]) if lo < hi);
        match bounds.as_deref() {
            Some([lo, hi]) if lo > hi => {
                let message = format!("`{key}` is a range from lowest to highest, but {lo} is above {hi}");
                let hint = format!("write `{key}: [{hi}, {lo}]`; if lower is better, add `better: lower`");
                self.problems.error(&node.place, message).hint(hint);
            }
            Some([lo, hi]) if !fits => {
                self.problems.error(&node.place, format!("the range `{key}` is empty: it goes from {lo} to {hi}"));
            }
            _ => self.wants(node, fits, key, "two numbers [lowest, highest]"),
        }
    }

    fn with(&mut self, node: &Node, kind: Kind, owner: &Node) {
        if !matches!(node.value, Tree::Map(_)) {
            return self.wants(node, false, "with", "a map of options");
        }
        let Some(name) = kind.selector().and_then(|selector| owner.text_of(selector)) else { return };
        let Some(member) = self.catalog.member(kind, name) else { return };
        let section = self.address.first().copied().unwrap_or_default();
        let is_gone = |entry: &&Entry| removal(&format!("{section}.{name}.{}", entry.key), entry.node.text());
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for entry in node.entries() {
            match is_gone(&entry) {
                Some(sentence) => gone.push((&entry.node.place, sentence)),
                None => kept.push(entry.clone()),
            }
        }
        for (place, sentence) in gone {
            self.problems.error(place, sentence);
        }
        options::check(&Node { value: Tree::Map(kept), ..node.clone() }, &member.options, self.problems);
    }

    fn no_environment(&mut self, node: &Node) {
        if node.text().is_some_and(environment::mentions) {
            self.problems
                .error(&node.place, "`${…}` is not allowed here")
                .hint("declare a parameter with `{ path: \"${…}\" }` and write `{{ params.name }}`");
        }
    }

    fn wants(&mut self, node: &Node, fits: bool, key: &str, what: &str) {
        if !fits {
            let shown = match node.text() {
                Some(text) if text.len() <= 40 => format!("`{text}`"),
                _ => node.kind().to_owned(),
            };
            // A wrong kind needs the right form, a wrong number only its bounds.
            let is_kind =
                !matches!(node.value, Tree::Scalar { .. }) || what.starts_with("a list") || what.starts_with("a map");
            let example = self.key.filter(|own| is_kind && own.name == key).and_then(example_of);
            self.problems
                .error(&node.place, format!("`{key}` must be {what}, not {shown}"))
                .maybe_hint(example.map(|example| format!("for example {example}")));
        }
    }
}

/// Returns whether an object is a whole file, in which keys that begin with `x-` are the author's: for anchors, or for other
/// programs.
fn is_root(object: &'static Object) -> bool {
    [&SUITE, &POLICY_FILE, &REGISTRY].into_iter().any(|root| std::ptr::eq(root, object))
}

/// A key as a suite has it, if that is short.
fn example_of(key: &Key) -> Option<String> {
    (key.example.len() <= 100 && !key.example.contains('\n')).then(|| format!("`{}: {}`", key.name, key.example))
}

/// A number, or a percentage as a share; `true` if it was a percentage.
pub(crate) fn share(node: &Node) -> Option<(f64, bool)> {
    match node.number() {
        Some(number) => Some((number, false)),
        None => {
            let number: f64 = node.text()?.strip_suffix('%')?.trim().parse().ok()?;
            number.is_finite().then_some((number / 100.0, true))
        }
    }
}

/// The meaning of a key, with an example where one is short.
fn about(key: &Key) -> String {
    if key.example.len() > 60 || key.example.contains('\n') {
        return key.about.to_owned();
    }
    let meaning = key.about.trim_end_matches('.');
    format!("{meaning}; for example `{}: {}`", key.name, key.example)
}

fn names(object: &'static Object) -> Vec<&'static str> {
    object.keys.iter().map(|key| key.name).collect()
}

/// A name with its article; "http" is spelled out when it is read aloud.
fn article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']) || name.starts_with("http");
    if vowel && !name.starts_with("use") { format!("an {name}") } else { format!("a {name}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::syntax::yaml;

    fn objects(object: &'static Object, seen: &mut BTreeSet<&'static str>, all: &mut Vec<&'static Object>) {
        if seen.insert(object.name) {
            all.push(object);
            object.keys.iter().for_each(|key| within(key.shape, seen, all));
        }
    }

    fn within(shape: Shape, seen: &mut BTreeSet<&'static str>, all: &mut Vec<&'static Object>) {
        match shape {
            Shape::List(inner)
            | Shape::Map(inner)
            | Shape::WordOr(_, inner)
            | Shape::BooleanOr(inner)
            | Shape::NumberOr(_, _, inner)
            | Shape::TemplateOr(inner) => within(*inner, seen, all),
            Shape::Object(object) | Shape::Open(object) | Shape::Short(object, _) => objects(object, seen, all),
            _ => {}
        }
    }

    /// The example of every key of the language is one that the checker accepts.
    #[test]
    fn every_example_is_correct() {
        let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
        [&SUITE, &POLICY_FILE, &REGISTRY, &RUBRIC].into_iter().for_each(|root| objects(root, &mut seen, &mut all));
        let catalog = Catalog::default();
        for (object, key) in all.iter().flat_map(|object| object.keys.iter().map(move |key| (object, key))) {
            let text = format!("{}: {}\n", key.name, key.example);
            let mut problems = Problems::default();
            let file = problems.source("example.yaml", &text);
            let node = yaml::read_tree(&text, file, &mut problems).expect(&text);
            let entry = &node.entries()[0];
            Checker { catalog: &catalog, address: Vec::new(), is_overlay: false, key: None, problems: &mut problems }
                .entry(entry, key, &node);
            assert_eq!(problems.errors(), 0, "{}: {text}{}", object.name, problems.into_diagnostics().plain());
        }
    }
}
