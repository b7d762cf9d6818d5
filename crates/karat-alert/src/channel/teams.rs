//! Messages to Microsoft Teams: an Adaptive Card of text runs, in which no Markdown is read.

use serde_json::{Value, json};

use super::{details, example_text, headline};
use crate::message::AlertMessage;

/// Longest body that Teams takes, in bytes.
const MAX_BYTES: usize = 28_000;

/// The body of a webhook of Workflows.
pub(super) fn body(message: &AlertMessage) -> Value {
    let examples = message.examples();
    let with = |shown: usize| {
        let mut blocks = vec![
            run(&headline(message), json!({ "weight": "bolder", "size": "medium" })),
            run(message.text("summary"), json!({})),
            run(&details(message), json!({ "isSubtle": true })),
        ];
        blocks.extend(examples.iter().take(shown).map(|it| run(&example_text(it), json!({}))));
        let mut content = json!({
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": blocks,
        });
        if let Some(link) = message.link() {
            content["actions"] = json!([{ "type": "Action.OpenUrl", "title": "Open the run", "url": link }]);
        }
        let kind = "application/vnd.microsoft.card.adaptive";
        json!({ "type": "message", "attachments": [{ "contentType": kind, "contentUrl": null, "content": content }] })
    };
    let fits = |shown: &usize| with(*shown).to_string().len() <= MAX_BYTES;
    with((0..=examples.len()).rev().find(fits).unwrap_or(0))
}

fn run(text: &str, style: Value) -> Value {
    let mut inline = json!({ "type": "TextRun", "text": text });
    if let (Value::Object(inline), Value::Object(style)) = (&mut inline, style) {
        inline.extend(style);
    }
    json!({ "type": "RichTextBlock", "inlines": [inline] })
}
