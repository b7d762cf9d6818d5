//! The messages of a stored request and the text of a stored reply, whatever the protocol: for people, who want neither
//! JSON on one line nor its escapes. What is not recognized is shown as it is.

use std::collections::BTreeMap;

use karat_types::{CellError, JudgmentRow, PlanHeader, Score};
use serde::Serialize;
use serde_json::{Map, Value};

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system`, `user`, `assistant`, `tool`, or the kind of call.
    pub role: String,
    /// Its text.
    pub text: String,
}

impl Message {
    fn new(role: &str, text: String) -> Self {
        Self { role: role.to_owned(), text }
    }
}

/// Members of a request that hold its messages.
const CONVERSATION: [&str; 6] = ["messages", "system", "systemInstruction", "contents", "instructions", "input"];

/// Reads the messages of a request, and the settings beside them as one line. A request of no known protocol is one
/// message without settings.
pub fn request_messages(body: &str) -> (Vec<Message>, String) {
    let Ok(Value::Object(request)) = serde_json::from_str::<Value>(body) else {
        return (vec![Message::new("request", body.to_owned())], String::new());
    };
    let mut messages = Vec::new();
    for system in ["system", "systemInstruction", "instructions"].iter().filter_map(|key| request.get(*key)) {
        messages.push(Message::new("system", content(system)));
    }
    let turns = ["messages", "contents", "input"].iter().find_map(|key| request.get(*key)?.as_array());
    match (turns, request.get("input").and_then(Value::as_str)) {
        (Some(turns), _) => messages.extend(turns.iter().map(turn)),
        (None, Some(text)) => messages.push(Message::new("user", text.to_owned())),
        (None, None) => return (vec![Message::new("request", pretty(&Value::Object(request)))], String::new()),
    }
    (messages, settings(&request))
}

/// The digests of images and files in a stored request, in order, each once.
pub fn request_blobs(body: &str) -> Vec<String> {
    let found = serde_json::from_str::<Value>(body).map(|request| blobs(&request)).unwrap_or_default();
    let mut digests: Vec<String> = Vec::new();
    for (digest, _) in found {
        if !digests.contains(&digest) {
            digests.push(digest);
        }
    }
    digests
}

/// The digests and sizes of all `{"$blob": …, "bytes": …}` in a value.
fn blobs(value: &Value) -> Vec<(String, u64)> {
    match value {
        Value::Object(map) => match map.get("$blob").and_then(Value::as_str) {
            Some(digest) => {
                let bytes = map.get("bytes").and_then(Value::as_u64).unwrap_or_default();
                vec![(digest.to_owned(), bytes)]
            }
            None => map.values().flat_map(blobs).collect(),
        },
        Value::Array(items) => items.iter().flat_map(blobs).collect(),
        _ => Vec::new(),
    }
}

fn turn(turn: &Value) -> Message {
    let role = turn.get("role").or_else(|| turn.get("type")).and_then(Value::as_str).unwrap_or("user");
    let mut text = turn.get("content").or_else(|| turn.get("parts")).map_or_else(|| pretty(turn), content);
    if let Some(calls) = turn.get("tool_calls") {
        text.push_str(&format!("tool calls: {}", pretty(calls)));
    }
    Message::new(role, text)
}

/// The text of a content: a string, or parts with texts.
fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        Value::Object(it) if it.contains_key("parts") => it.get("parts").map(content).unwrap_or_default(),
        Value::Null => String::new(),
        other => part(other),
    }
}

fn part(part: &Value) -> String {
    if let Some((digest, bytes)) = blobs(part).first() {
        return format!("[image or file {digest}, {bytes} bytes]");
    }
    let text = part.get("text").or_else(|| part.get("thinking")).or_else(|| part.get("refusal"));
    match text.and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => pretty(part),
    }
}

/// The settings of a request on one line.
fn settings(request: &Map<String, Value>) -> String {
    let others = request.iter().filter(|(key, _)| !CONVERSATION.contains(&key.as_str()));
    others.map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
}

/// Reads the text of a reply, with the calls of tools in it. A reply of no known protocol is returned as it is, JSON
/// indented.
pub fn reply_text(body: &str) -> String {
    let Ok(reply) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    let openai = || {
        let message = reply.pointer("/choices/0/message")?;
        let text = message.get("content").map(content).filter(|text| !text.is_empty());
        let refusal = message.get("refusal").and_then(Value::as_str).map(|text| format!("refusal: {text}"));
        let tools = message.get("tool_calls").map(|calls| format!("tool calls: {}", pretty(calls)));
        let parts: Vec<String> = [text, refusal, tools].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    };
    let anthropic = || reply.get("content").filter(|it| it.is_array()).map(content);
    let gemini = || reply.pointer("/candidates/0/content").map(content);
    let responses = || {
        let items = reply.get("output")?.as_array()?;
        Some(
            items
                .iter()
                .map(|item| item.get("content").map_or_else(|| pretty(item), content))
                .collect::<Vec<_>>()
                .join("\n"),
        )
    };
    openai().or_else(anthropic).or_else(gemini).or_else(responses).unwrap_or_else(|| pretty(&reply))
}

fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// The words of a judge on a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeWords {
    /// The scorer.
    pub scorer: String,
    /// The judge.
    pub judge: String,
    /// Its scores by metric.
    pub scores: BTreeMap<String, Score>,
    /// Its reasoning.
    pub reasoning: String,
    /// The reason for a missing judgment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CellError>,
}

impl JudgeWords {
    pub(crate) fn of(plan: &PlanHeader, judgment: &JudgmentRow) -> Self {
        Self {
            scorer: plan.scorers.get(usize::from(judgment.scorer)).map_or_else(String::new, |it| it.id.clone()),
            judge: plan.judges.get(usize::from(judgment.judge)).map_or_else(String::new, |it| it.id.clone()),
            scores: named_scores(plan, &judgment.scores),
            reasoning: judgment.reasoning.clone(),
            error: judgment.error.clone(),
        }
    }
}

fn named_scores(plan: &PlanHeader, scores: &[(u16, Score)]) -> BTreeMap<String, Score> {
    let named =
        scores.iter().filter_map(|(at, score)| Some((plan.metrics.get(usize::from(*at))?.name.clone(), score.clone())));
    named.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(body: &Value) -> Vec<(String, String)> {
        request_messages(&body.to_string()).0.into_iter().map(|it| (it.role, it.text)).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
    }

    /// CL-04, field test C: messages of every protocol are read as role and text.
    #[test]
    fn messages_are_read_in_every_protocol() {
        let wanted = pairs(&[("system", "be brief"), ("user", "hi\nyou")]);
        let openai = json!({"model": "m", "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "you"}]}]});
        assert_eq!(texts(&openai), wanted);
        let anthropic = json!({"system": [{"type": "text", "text": "be brief"}], "max_tokens": 9,
            "messages": [{"role": "user", "content": "hi\nyou"}]});
        assert_eq!(texts(&anthropic), wanted);
        assert_eq!(request_messages(&anthropic.to_string()).1, "max_tokens: 9");
        let gemini = json!({"systemInstruction": {"parts": [{"text": "be brief"}]},
            "contents": [{"role": "user", "parts": [{"text": "hi"}, {"text": "you"}]}]});
        assert_eq!(texts(&gemini), wanted);
        assert_eq!(texts(&json!({"instructions": "be brief", "input": "hi\nyou"})), wanted);
        assert_eq!(request_messages("plain").0, [Message::new("request", "plain".to_owned())]);
        assert_eq!(texts(&json!({"url": "http://x"})), pairs(&[("request", "{\n  \"url\": \"http://x\"\n}")]));
    }

    /// TG-04: images stand in a message with their size, and are found by their digests in every protocol.
    #[test]
    fn images_are_found_by_their_digests() {
        let blob = json!({"$blob": "blake3:ab", "bytes": 9});
        let chat = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": blob}}]}]});
        assert_eq!(texts(&chat), pairs(&[("user", "see\n[image or file blake3:ab, 9 bytes]")]));
        let gemini = json!({"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": blob}},
            {"inlineData": {"mimeType": "image/png", "data": blob}}]}]});
        for body in [chat, gemini] {
            assert_eq!(request_blobs(&body.to_string()), ["blake3:ab"]);
        }
        assert_eq!(request_blobs("plain"), Vec::<String>::new());
    }

    /// CL-04, field test C: so is the text of replies; what is unknown stays.
    #[test]
    fn replies_are_read_in_every_protocol() {
        for body in [
            json!({"choices": [{"message": {"content": "yes\nno"}}]}),
            json!({"content": [{"type": "text", "text": "yes\nno"}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "yes"}, {"text": "no"}]}}]}),
            json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "yes\nno"}]}]}),
        ] {
            assert_eq!(reply_text(&body.to_string()), "yes\nno");
        }
        let tool = json!({"choices": [{"message": {"content": null, "tool_calls": [{"id": "a"}]}}]});
        assert!(reply_text(&tool.to_string()).starts_with("tool calls: ["), "{}", reply_text(&tool.to_string()));
        assert_eq!((reply_text("{oops"), reply_text("{\"a\":1}")), ("{oops".to_owned(), "{\n  \"a\": 1\n}".to_owned()));
    }
}
