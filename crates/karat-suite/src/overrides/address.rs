//! Addresses of `--set` and `sweep`: `variants.raw.extract.chunk.tokens`.
//!
//! A name may contain dots; the longest matching name wins. A list member is named by its `id`, by its metric or
//! analysis, or by its position from 0. A short form is expanded if the address continues into it.

use crate::diagnostics::nearest::suggestion;
use crate::grammar::Shape;
use crate::syntax::node::{Entry, Node, Place, Tree};

/// The error of an address that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostError {
    pub message: String,
    pub hint: Option<String>,
}

/// Puts a value at an address below a node that has this shape; what is not there is made.
pub(crate) fn assign(node: &mut Node, shape: Shape, address: &str, value: Node, at: &Place) -> Result<(), LostError> {
    if address.is_empty() {
        *node = value;
        return Ok(());
    }
    match shape {
        Shape::Short(object, main) => {
            if matches!(node.value, Tree::Scalar { .. }) {
                open(node, main);
            }
            assign(node, Shape::Object(object), address, value, at)
        }
        Shape::Object(object) => {
            let names: Vec<&str> = object.keys.iter().map(|key| key.name).collect();
            let (name, rest) =
                split_at_name(address, &names).ok_or_else(|| lost_error("key", address, object.name, &names))?;
            let below = object.key(name).map_or(Shape::Any, |key| key.shape);
            descend(node, name, below, rest, value, at)
        }
        Shape::Map(below) if !matches!(below, Shape::Any) => {
            let names: Vec<String> = node.entries().iter().map(|entry| entry.key.clone()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (name, rest) =
                split_at_name(address, &names).ok_or_else(|| lost_error("name", address, "this map", &names))?;
            descend(node, name, *below, rest, value, at)
        }
        Shape::List(below) => {
            let names = item_names(node);
            let all: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            let (name, rest) =
                split_at_name(address, &all).ok_or_else(|| lost_error("member", address, "this list", &all))?;
            let index = names.iter().find(|(known, _)| known == name).map_or(0, |(_, index)| *index);
            match &mut node.value {
                Tree::List(items) if index < items.len() => assign(&mut items[index], *below, rest, value, at),
                _ => Err(lost_error("member", address, "this list", &all)),
            }
        }
        Shape::WordOr(_, below) | Shape::BooleanOr(below) | Shape::NumberOr(_, _, below) | Shape::TemplateOr(below) => {
            assign(node, *below, address, value, at)
        }
        Shape::Any | Shape::With(_) | Shape::Open(_) | Shape::Map(_) => {
            let names: Vec<String> = node.entries().iter().map(|entry| entry.key.clone()).collect();
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let (name, rest) =
                split_at_name(address, &known).unwrap_or_else(|| address.split_once('.').unwrap_or((address, "")));
            let (name, rest) = (name.to_owned(), rest.to_owned());
            descend(node, &name, Shape::Any, &rest, value, at)
        }
        _ => Err(LostError {
            message: format!("`{address}` points into {}, which has no keys", node.kind()),
            hint: None,
        }),
    }
}

fn lost_error(what: &str, address: &str, place: &str, known: &[&str]) -> LostError {
    let name = address.split('.').next().unwrap_or(address);
    LostError { message: format!("{place} has no {what} `{name}`"), hint: suggestion(name, known.iter().copied()) }
}

/// The longest known name that an address begins with, and the rest of the address.
fn split_at_name<'a>(address: &'a str, known: &[&str]) -> Option<(&'a str, &'a str)> {
    let fits = |name: &&&str| address.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let longest = known.iter().filter(fits).map(|name| name.len()).max()?;
    Some((&address[..longest], address[longest..].trim_start_matches('.')))
}

/// Expands a short form into its object.
fn open(node: &mut Node, main: &str) {
    let place = node.place.clone();
    let inner = node.clone();
    let entries = if inner.is_null() { Vec::new() } else { vec![Entry { key: main.to_owned(), place, node: inner }] };
    node.value = Tree::Map(entries);
}

/// Goes on below a key; what is not a map becomes one, and what is not there is made.
fn descend(node: &mut Node, name: &str, shape: Shape, rest: &str, value: Node, at: &Place) -> Result<(), LostError> {
    let mut entries = match std::mem::replace(&mut node.value, Tree::Map(Vec::new())) {
        Tree::Map(entries) => entries,
        _ => Vec::new(),
    };
    let position = entries.iter().position(|entry| entry.key == name).unwrap_or_else(|| {
        let empty = Node { value: Tree::Map(Vec::new()), place: at.clone() };
        entries.push(Entry { key: name.to_owned(), place: at.clone(), node: empty });
        entries.len() - 1
    });
    let outcome = assign(&mut entries[position].node, shape, rest, value, at);
    node.value = Tree::Map(entries);
    outcome
}

/// The names under which the members of a list can be addressed, with their positions.
fn item_names(node: &Node) -> Vec<(String, usize)> {
    let named = node.items().iter().enumerate().flat_map(|(index, item)| {
        let names = ["id", "analysis", "metric", "finding", "name"];
        let own = item.text().or_else(|| names.iter().find_map(|name| item.text_of(name)));
        own.map(|name| (name.to_owned(), index)).into_iter().chain([(index.to_string(), index)])
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Problems;
    use crate::grammar::SUITE;
    use crate::syntax::yaml;

    const SUITE_TEXT: &str = "name: x\nvariants:\n  raw:\n    - { id: extract, prompt: p.md, chunk: { of: input } }\n    - { prompt: q.md }\nmodels: [gpt-4.1]\nanalyses: [agreement]\n";

    fn set(address: &str) -> Result<String, LostError> {
        let mut problems = Problems::default();
        let file = problems.source("s.yaml", SUITE_TEXT);
        let mut node = yaml::read_tree(SUITE_TEXT, file, &mut problems).unwrap();
        let place = Place { file, span: 0..0 };
        let value = Node::of_json(&serde_json::json!(7), &place);
        assign(&mut node, Shape::Object(&SUITE), address, value, &place)?;
        Ok(node.json().to_string())
    }

    #[test]
    fn addresses_reach_steps_by_id_and_by_position() {
        assert!(set("variants.raw.extract.chunk.tokens").unwrap().contains(r#""chunk":{"of":"input","tokens":7}"#));
        assert!(set("variants.raw.1.parameters.temperature").unwrap().contains(r#""parameters":{"temperature":7}"#));
        assert!(set("variants.raw.1.prompt.file").unwrap().contains(r#""prompt":{"file":7}"#));
        assert!(set("run.seed").unwrap().contains(r#""run":{"seed":7}"#));
        assert!(set("models.gpt-4.1.price.input").unwrap().contains(r#"{"id":"gpt-4.1","price":{"input":7}}"#));
        assert!(set("analyses.agreement.with.scorer").unwrap().contains(r#""with":{"scorer":7}"#));
    }

    #[test]
    fn a_lost_address_says_where_it_got_lost() {
        let error = set("variants.raw.extrct.chunk.tokens").unwrap_err();
        assert_eq!(error.message, "this list has no member `extrct`");
        assert_eq!(error.hint.as_deref(), Some("did you mean `extract`?"));
        assert_eq!(set("varints.raw").unwrap_err().hint.as_deref(), Some("did you mean `variants`?"));
        assert!(set("name.x").is_err());
    }
}
