//! Microsoft Adaptive Cards: text blocks depth first in document order, links of `Action.OpenUrl`.

use serde_json::Value;

use super::{Block, Document, ReadError, links};
use crate::files::jsonl;

/// The document of a card.
pub(super) fn document(text: &str) -> Result<Document, ReadError> {
    let card = jsonl::parse_strict(text).map_err(ReadError::Syntax)?;
    if !card.is_object() {
        return Err(ReadError::Form("it is not a JSON object, so it is not a card".to_owned()));
    }
    let mut document = Document::default();
    walk(&card, &mut document);
    if document.blocks.is_empty() {
        return Err(ReadError::Form("it has no TextBlock with text, so there is nothing to judge".to_owned()));
    }
    Ok(document)
}

fn walk(value: &Value, document: &mut Document) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, document)),
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            match text("type") {
                Some("TextBlock") => {
                    if let Some(block) = text("text") {
                        let heading = heading_level(text("weight"), text("size"), text("style"));
                        document.links.extend(links::inline(block).map(str::to_owned));
                        document.blocks.push(Block { text: block.to_owned(), heading, is_apart: false });
                    }
                }
                Some("Action.OpenUrl") => document.links.extend(text("url").map(str::to_owned)),
                _ => {}
            }
            members.values().for_each(|member| walk(member, document));
        }
        _ => {}
    }
}

/// The level of a text block that is bold or large, as cards write headings: the larger, the higher.
fn heading_level(weight: Option<&str>, size: Option<&str>, style: Option<&str>) -> Option<u8> {
    let is = |found: Option<&str>, wanted: &str| found.is_some_and(|found| wanted.eq_ignore_ascii_case(found));
    match () {
        () if is(size, "extraLarge") => Some(1),
        () if is(size, "large") => Some(2),
        () => (is(weight, "bolder") || is(style, "heading")).then_some(3),
    }
}
