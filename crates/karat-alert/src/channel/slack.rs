//! Messages to Slack: plain-text blocks, in which it reads no markup.

use serde_json::{Value, json};

use super::{details, example_text, headline};
use crate::message::{AlertMessage, cut};

/// Longest text of a section block, in characters.
const MAX_CHARS: usize = 3_000;

/// Most blocks of a message.
const MAX_BLOCKS: usize = 50;

/// The body of an incoming webhook.
pub(super) fn body(message: &AlertMessage) -> Value {
    let headline = headline(message);
    let summary = cut(message.text("summary"), MAX_CHARS);
    let mut blocks = vec![
        json!({ "type": "header", "text": plain(&headline) }),
        json!({ "type": "section", "text": plain(&summary) }),
        json!({ "type": "section", "text": plain(&cut(&details(message), MAX_CHARS)) }),
    ];
    // One place is left for the button.
    let room = MAX_BLOCKS - blocks.len() - 1;
    let examples = message.examples();
    let example = |it| json!({ "type": "section", "text": plain(&cut(&example_text(it), MAX_CHARS)) });
    blocks.extend(examples.iter().take(room).map(example));
    if let Some(link) = message.link() {
        let button = json!({ "type": "button", "text": plain("Open the run"), "url": link });
        blocks.push(json!({ "type": "actions", "elements": [button] }));
    }
    json!({ "text": escape(&format!("{headline}: {summary}")), "blocks": blocks })
}

fn plain(text: &str) -> Value {
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

/// The three characters that Slack reads in `text`.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
