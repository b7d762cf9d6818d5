//! The options of scripted models: files become their contents, so that a plan needs no file to be replayed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::decode::Decoder;
use crate::syntax::node::{Node, Tree};

/// Options of a provider and the digests of the files that they were read from.
pub(super) fn options(
    provider: &str,
    with: &Node,
    decoder: &mut Decoder<'_>,
) -> (Map<String, Value>, BTreeMap<String, String>) {
    let mut options = with.json_map();
    let mut files = BTreeMap::new();
    if provider != "scripted" && provider != "stub" {
        return (options, files);
    }
    if let Some(reply) = with.field("reply").filter(|reply| is_file(reply, decoder))
        && let Some((_, text)) = decoder.text(reply)
    {
        files.extend(digest(reply, text.as_bytes()));
        options.insert("reply".to_owned(), Value::String(text));
    }
    if let Some(replies) = with.field("replies").filter(|replies| !matches!(replies.value, Tree::List(_))) {
        if let Some(content) = decoder.content(replies) {
            files.extend(digest(replies, &content.bytes));
        }
        if let Some(rows) = decoder.rows(replies) {
            options.insert("replies".to_owned(), Value::Array(rows));
        }
    }
    if options.contains_key("reply") == options.contains_key("replies") {
        decoder
            .problems
            .error(&with.place, "a scripted model needs `reply` or `replies`")
            .hint("reply: a template over the request, or a file with one; replies: a file of { match, reply }");
    }
    (options, files)
}

fn digest(node: &Node, bytes: &[u8]) -> Option<(String, String)> {
    Some((node.text()?.to_owned(), blake3::hash(bytes).to_hex().to_string()))
}

/// Returns whether `reply` names a file: it is one, or it looks like nothing else.
fn is_file(reply: &Node, decoder: &mut Decoder<'_>) -> bool {
    let Some(text) = reply.text() else { return false };
    if text.contains(['{', '\n', ' ']) && !decoder.params.leads(text) {
        return false;
    }
    let looks = [".j2", ".jinja", ".jinja2", ".txt", ".md", ".json"].iter().any(|ending| text.ends_with(ending));
    looks || decoder.path(reply).is_some_and(|path| decoder.files.is_file(&path))
}
