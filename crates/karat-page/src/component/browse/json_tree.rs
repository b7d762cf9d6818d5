//! JSON as a tree: objects and lists open part by part, so that a long reply can be read.

use maud::{Markup, html};
use serde_json::Value;

use crate::text::visible::{line, lines};

/// Deepest nesting that is drawn as a tree.
const DEEPEST: usize = 16;

/// Most members of one object or list that are shown.
const MOST: usize = 200;

/// Members up to this number are shown at once, the others in a part that opens.
const OPEN: usize = 20;

/// Reads a text as an object or a list, if it is one.
pub fn parse(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array())
}

/// Renders a value.
pub fn render(value: &Value) -> Markup {
    html! { div.json dir="auto" { (node(value, 0)) } }
}

fn node(value: &Value, depth: usize) -> Markup {
    match value {
        Value::Object(members) if !members.is_empty() && depth < DEEPEST => {
            let shown: Vec<_> = members.iter().take(MOST).map(|(name, value)| (Some(name.as_str()), value)).collect();
            list(&shown, members.len(), depth)
        }
        Value::Array(items) if !items.is_empty() && depth < DEEPEST => {
            let shown: Vec<_> = items.iter().take(MOST).map(|value| (None, value)).collect();
            list(&shown, items.len(), depth)
        }
        Value::String(text) => html! { span.json-text { (lines(text)) } },
        other => html! { code { (line(&other.to_string())) } },
    }
}

fn list(members: &[(Option<&str>, &Value)], total: usize, depth: usize) -> Markup {
    let (first, rest) = members.split_at(members.len().min(OPEN));
    html! {
        ul.json-list {
            @for (at, (name, value)) in first.iter().enumerate() { (member(at, *name, value, depth)) }
            @if total > first.len() {
                li {
                    details {
                        summary { span.soft { (total - first.len()) " more" } }
                        ul.json-list {
                            @for (at, (name, value)) in rest.iter().enumerate() { (member(first.len() + at, *name, value, depth)) }
                            @if total > members.len() { li.soft { (total - members.len()) " are not shown" } }
                        }
                    }
                }
            }
        }
    }
}

fn member(at: usize, name: Option<&str>, value: &Value, depth: usize) -> Markup {
    let name = name.map_or_else(|| at.to_string(), |name| line(name).into_owned());
    html! {
        li {
            // A part with one member is read faster than opened.
            @if size(value) > 1 && depth + 1 < DEEPEST {
                details open[depth < 3] {
                    summary { span.json-name { (name) } " " span.soft { (kind(value)) } }
                    (node(value, depth + 1))
                }
            } @else if let Some((inner, text)) = only_text(value) {
                span.json-name { (name) " " (line(inner)) } " " span.json-text { (lines(text)) }
            } @else {
                span.json-name { (name) } " " (node(value, depth + 1))
            }
        }
    }
}

/// The name and the text of an object that has nothing else: lists of those are long, and take one line each.
fn only_text(value: &Value) -> Option<(&str, &str)> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, value) = members.iter().next()?;
    Some((name, value.as_str()?))
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    }
}

fn kind(value: &Value) -> String {
    let noun = if value.is_object() { "member" } else { "item" };
    crate::number::count_noun(size(value) as u64, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-14, DB-51: JSON of a model is a tree of texts; deep nesting ends in text.
    #[test]
    fn json_is_a_tree_of_texts() {
        let value = parse(r#"{"a": {"<b>": [1, "x</script>"]}}"#).unwrap();
        let html = render(&value).into_string();
        assert!(
            html.contains("&lt;b&gt;") && html.contains("x&lt;/script&gt;") && html.matches("<details").count() == 1
        );
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(render(&parse(&deep).unwrap()).into_string().matches("<ul").count(), DEEPEST);
        assert!(parse("plain [1]").is_none() && parse("[1").is_none());
    }
}
