//! The request that carries a message to a channel. Model text is data: each channel shows it without reading markup.
//!
//! - `slack` and `teams` make the bodies of these services; a webhook gets the message itself, signed.

mod slack;
mod teams;

use serde::{Deserialize, Serialize};

use crate::message::AlertMessage;
use crate::signature::{SecretError, sign};

/// A channel of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A program of yours, by Standard Webhooks.
    Webhook,
    /// Slack, by an incoming webhook.
    Slack,
    /// Microsoft Teams, by a webhook of Workflows.
    Teams,
}

impl Channel {
    /// Its name in suites.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Teams => "teams",
        }
    }
}

/// The request of one attempt: a POST with a JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRequest {
    /// Headers beside `content-type`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// The request of an attempt at a time, in seconds since 1970. `id` stays the same over all attempts; `secrets` sign a
/// webhook.
///
/// # Errors
/// A secret cannot sign.
pub fn hook_request(
    channel: Channel,
    message: &AlertMessage,
    id: &str,
    secrets: Option<&str>,
    seconds: i64,
) -> Result<HookRequest, SecretError> {
    let body = match channel {
        Channel::Webhook => message.to_json(),
        Channel::Slack => slack::body(message).to_string(),
        Channel::Teams => teams::body(message).to_string(),
    };
    let mut headers = Vec::new();
    if channel == Channel::Webhook {
        headers.push(("webhook-id", id.to_owned()));
        headers.push(("webhook-timestamp", seconds.to_string()));
        if let Some(secrets) = secrets {
            headers.push(("webhook-signature", sign(secrets, id, seconds, &body)?));
        }
    }
    Ok(HookRequest { headers, body })
}

/// The line above a message.
fn headline(message: &AlertMessage) -> String {
    let state = match message.kind.as_str() {
        "alert.opened" => "Alert",
        "alert.reminder" => "Still open",
        "alert.resolved" => "Resolved",
        _ => "Test",
    };
    let event = message.text("event").replace('_', " ");
    crate::message::cut(&format!("{state}: {} {event}", message.text("suite")), 150)
}

/// The lines about the run, its system and its incident.
fn details(message: &AlertMessage) -> String {
    let fields = [("system", "System"), ("subject", "Subject"), ("run_id", "Run"), ("since", "Open since")];
    let line = |(name, title): (&str, &str)| {
        let text = message.text(name);
        (!text.is_empty()).then(|| format!("{title}: {text}"))
    };
    fields
        .into_iter()
        .filter_map(line)
        .chain([format!("Incident: {}", message.text("incident"))])
        .collect::<Vec<_>>()
        .join("\n")
}

/// The text of an example.
fn example_text(example: &crate::AlertExample) -> String {
    let score = example.score.map(|score| format!(" (score {score})")).unwrap_or_default();
    let parts = [("", &example.reason), ("", &example.output), ("Expected: ", &example.expected)];
    let more = parts.into_iter().filter_map(|(label, text)| Some(format!("\n{label}{}", text.as_ref()?)));
    format!("{}{score}{}", example.sample, more.collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A message whose texts try every markup.
    fn hostile() -> AlertMessage {
        let texts = "<!channel> <https://evil.example|click> [a](https://evil.example) **b** &amp; <at>all</at>";
        let example = json!({ "sample": texts, "score": 0.1, "reason": texts, "output": texts });
        let data = json!({ "incident": "inc_1", "event": "gate_failed", "suite": texts, "system": texts,
            "subject": texts, "summary": texts, "run_id": "r", "examples": vec![example; 60],
            "links": { "run": "https://evals.example/runs/r" } });
        AlertMessage { kind: "alert.opened".to_owned(), timestamp: "2027-03-28T01:00:07Z".to_owned(), data }
    }

    fn body(channel: Channel, message: &AlertMessage) -> Value {
        serde_json::from_str(&hook_request(channel, message, "msg_1", None, 0).unwrap().body).unwrap()
    }

    /// SV-16, SV-17: Slack reads no markup of a model: blocks are plain text, and the fallback is escaped; at most 50
    /// blocks of at most 3,000 characters.
    #[test]
    fn slack_shows_texts_as_they_are() {
        let body = body(Channel::Slack, &hostile());
        let fallback = body["text"].as_str().unwrap();
        assert!(!fallback.contains(['<', '>']) && fallback.contains("&lt;!channel&gt;"), "{fallback}");
        let blocks = body["blocks"].as_array().unwrap();
        assert!(blocks.len() <= 50);
        for block in blocks.iter().filter(|block| block["type"] != "actions") {
            assert_eq!(block["text"]["type"], "plain_text", "{block}");
            assert!(block["text"]["text"].as_str().unwrap().chars().count() <= 3_000);
        }
    }

    /// SV-16, SV-17: Teams gets an Adaptive Card 1.4 of text runs, in which no markup is read, within 28 kB.
    #[test]
    fn teams_shows_texts_as_they_are() {
        let body = body(Channel::Teams, &hostile());
        assert!(body.to_string().len() <= 28_000);
        assert_eq!(body["type"], "message");
        let card = &body["attachments"][0];
        assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
        assert!(card["contentUrl"].is_null());
        assert_eq!((&card["content"]["type"], &card["content"]["version"]), (&json!("AdaptiveCard"), &json!("1.4")));
        for block in card["content"]["body"].as_array().unwrap() {
            assert_eq!((&block["type"], &block["inlines"][0]["type"]), (&json!("RichTextBlock"), &json!("TextRun")));
        }
        assert!(card["content"].get("msteams").is_none(), "no mention");
    }

    /// SV-17: a webhook carries the message itself, with its id and the time of the attempt.
    #[test]
    fn a_webhook_is_signed_at_each_attempt() {
        let secret = "whsec_a2FyYXQtdGVzdC1zZWNyZXQtMDEyMzQ1Njc4OWFiY2Q=";
        let at = |seconds| hook_request(Channel::Webhook, &hostile(), "msg_1", Some(secret), seconds).unwrap();
        let (first, second) = (at(10), at(20));
        assert_eq!(first.body, second.body);
        assert_eq!(first.headers[0], ("webhook-id", "msg_1".to_owned()));
        assert_eq!(second.headers[1], ("webhook-timestamp", "20".to_owned()));
        assert_ne!(first.headers[2], second.headers[2]);
        assert_eq!(serde_json::from_str::<AlertMessage>(&first.body).unwrap(), hostile());
    }
}
