//! The deterministic mode: replies and faults are functions of the request.

use std::time::Duration;

use serde_json::Value;

use super::{Behaviour, ReceivedRequest};

/// A well-behaved model with a known share of faults.
///
/// The reply is the text of the last `[[…]]` in the request, without one the last message; models whose name begins
/// with `judge` reply with `judge` where it is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Echo {
    /// The reply of judges: the JSON that a rubric asks for.
    pub judge: Option<Value>,
    /// Share of attempts that fail, 0 to 1.
    pub fault_rate: f64,
    /// The faults, one of which is drawn.
    pub faults: Vec<Behaviour>,
    /// Seed of the draw.
    pub seed: u64,
    /// Time before each answer.
    pub latency: Duration,
}

impl Default for Echo {
    fn default() -> Self {
        Self {
            judge: None,
            fault_rate: 0.0,
            faults: vec![
                Behaviour::rate_limited("0"),
                Behaviour::server_error(),
                Behaviour::invalid_body(),
                Behaviour::Cut("cut".to_owned()),
                Behaviour::Drop,
            ],
            seed: 1,
            latency: Duration::ZERO,
        }
    }
}

impl Echo {
    pub(super) fn decide(&self, received: &ReceivedRequest) -> Behaviour {
        let behaviour = self.fault(received).unwrap_or_else(|| Behaviour::Ok(self.reply(&received.json())));
        if self.latency.is_zero() { behaviour } else { Behaviour::Slow(self.latency, Box::new(behaviour)) }
    }

    /// The fault of this attempt: drawn from the seed, the body and the attempt, so that a retry draws again.
    fn fault(&self, received: &ReceivedRequest) -> Option<Behaviour> {
        let hash = blake3::Hasher::new()
            .update(&self.seed.to_le_bytes())
            .update(&(received.attempt as u64).to_le_bytes())
            .update(&received.body)
            .finalize();
        let (draw, pick) = (word(&hash.as_bytes()[..8]), word(&hash.as_bytes()[8..16]));
        let hit = (draw >> 11) as f64 / (1_u64 << 53) as f64;
        let fault = self.faults.get(pick as usize % self.faults.len().max(1));
        fault.filter(|_| hit < self.fault_rate).cloned()
    }

    fn reply(&self, request: &Value) -> String {
        let model = request["model"].as_str().unwrap_or_default();
        match &self.judge {
            Some(judge) if model.starts_with("judge") => judge.to_string(),
            _ => answer(&last_message(request)).to_owned(),
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn last_message(request: &Value) -> String {
    let content = request["messages"].as_array().and_then(|messages| messages.last()).map(|last| &last["content"]);
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The text of the last `[[…]]`, or everything.
fn answer(prompt: &str) -> &str {
    let marked = || {
        let end = prompt.rfind("]]")?;
        let start = prompt[..end].rfind("[[")?;
        Some(&prompt[start + 2..end])
    };
    marked().unwrap_or(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(body: &str, attempt: usize) -> ReceivedRequest {
        let body = bytes::Bytes::copy_from_slice(body.as_bytes());
        ReceivedRequest { number: 0, attempt, path: "/v1/chat/completions".to_owned(), headers: Vec::new(), body }
    }

    #[test]
    fn the_marked_answer_comes_back() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"What? [[no]] [[42]] Say."}]}"#;
        assert_eq!(Echo::default().decide(&received(body, 0)), Behaviour::ok("42"));
    }

    #[test]
    fn judges_reply_in_json() {
        let echo = Echo { judge: Some(serde_json::json!({"score": 1})), ..Echo::default() };
        assert_eq!(echo.decide(&received(r#"{"model":"judge-1"}"#, 0)), Behaviour::ok(r#"{"score":1}"#));
        assert_eq!(echo.decide(&received(r#"{"model":"m"}"#, 0)), Behaviour::ok(""));
    }

    #[test]
    fn faults_have_the_rate_asked_for_and_depend_on_the_attempt() {
        let echo = Echo { fault_rate: 0.3, ..Echo::default() };
        let bad = |attempt| {
            (0..2000).filter(|n| !echo.decide(&received(&n.to_string(), attempt)).is_complete_reply()).count()
        };
        assert!((500..700).contains(&bad(0)), "{}", bad(0));
        let outcome = |attempt| echo.decide(&received("7", attempt)).is_complete_reply();
        assert!((0..20).any(outcome) && !(0..20).all(outcome));
        assert_eq!(echo.decide(&received("7", 3)), echo.decide(&received("7", 3)));
    }
}
