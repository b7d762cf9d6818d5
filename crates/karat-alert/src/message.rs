//! The content of a message about an incident.

use karat_types::Moment;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::AlertEvent;
use crate::incident::{Incident, Notice};

/// Longest message, in bytes of JSON.
pub const MAX_MESSAGE_BYTES: usize = 20_000;

/// Longest text of an example, in characters.
pub const MAX_EXAMPLE_CHARS: usize = 300;

/// Longest summary, in characters.
const MAX_SUMMARY_CHARS: usize = 1_000;

/// Longest name of a system, subject or run, in characters.
const MAX_NAME_CHARS: usize = 200;

/// A cell that shows what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AlertExample {
    /// Id of its sample.
    pub sample: String,
    /// Its score, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The reason of its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The reference that its output is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

/// The run that a figure is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Its id, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Its figure.
    pub value: f64,
}

/// The facts of one subject in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The system, if the subject belongs to one.
    pub system: Option<String>,
    /// The gate or metric, such as `faithful >= 0.9`.
    pub subject: String,
    /// One sentence with the numbers.
    pub summary: String,
    /// The figure.
    pub observed: Option<f64>,
    /// Its bound.
    pub threshold: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Number of samples behind it.
    pub n: Option<u64>,
    /// The figure it is compared with.
    pub baseline: Option<Baseline>,
    /// Cells that show it, worst first.
    pub examples: Vec<AlertExample>,
}

/// A message as it is stored and sent; the form of a webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertMessage {
    /// `alert.opened`, `alert.reminder`, `alert.resolved` or `alert.test`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time of the event, RFC 3339.
    pub timestamp: String,
    /// Everything else.
    pub data: Value,
}

impl AlertMessage {
    /// The message about an incident. `run` is the run that caused it, `link` the address of its page.
    pub fn new(
        notice: Notice,
        (incident_id, incident): (&str, &Incident),
        (suite, event): (&str, AlertEvent),
        facts: &Facts,
        (run, link): (Option<&str>, Option<&str>),
        now: Moment,
    ) -> Self {
        let kind = match notice {
            Notice::Opened => "alert.opened",
            Notice::Reminder => "alert.reminder",
            Notice::Resolved => "alert.resolved",
        };
        let mut data = json!({
            "incident": incident_id,
            "event": event.as_str(),
            "suite": cut(suite, MAX_NAME_CHARS),
            "system": facts.system.as_deref().map(|system| cut(system, MAX_NAME_CHARS)),
            "subject": cut(&facts.subject, MAX_NAME_CHARS),
            "summary": cut(&facts.summary, MAX_SUMMARY_CHARS),
            "observed": facts.observed,
            "threshold": facts.threshold,
            "interval": facts.interval.map(|(low, high)| [low, high]),
            "n": facts.n,
            "baseline": facts.baseline,
            "run_id": run,
            "occurrences": incident.occurrences,
            "since": incident.opened_at.map(rfc3339),
            "examples": facts.examples.iter().map(cut_example).collect::<Vec<_>>(),
            "links": link.map_or_else(|| json!({}), |link| json!({ "run": link })),
        });
        if let Value::Object(members) = &mut data {
            members.retain(|_, value| !value.is_null());
        }
        Self { kind: kind.to_owned(), timestamp: rfc3339(now), data }.within_limit()
    }

    /// A message that tests an alert.
    pub fn test(suite: &str, alert: &str, id: &str, now: Moment) -> Self {
        let summary = format!("test of the alert {alert}: nothing is wrong");
        let data = json!({ "incident": id, "event": "test", "suite": suite, "subject": alert, "summary": summary,
            "occurrences": 0, "examples": [], "links": {} });
        Self { kind: "alert.test".to_owned(), timestamp: rfc3339(now), data }
    }

    /// Its JSON: the body of a webhook.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Leaves out examples, the last first, until the message is short enough.
    fn within_limit(mut self) -> Self {
        while self.to_json().len() > MAX_MESSAGE_BYTES {
            let Some(Value::Array(examples)) = self.data.get_mut("examples") else { break };
            if examples.pop().is_none() {
                break;
            }
        }
        self
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.data.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn examples(&self) -> Vec<AlertExample> {
        self.data.get("examples").and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
    }

    pub(crate) fn link(&self) -> Option<&str> {
        self.data.get("links")?.get("run")?.as_str()
    }
}

fn cut_example(example: &AlertExample) -> AlertExample {
    let short = |text: &Option<String>| text.as_deref().map(|text| cut(text, MAX_EXAMPLE_CHARS));
    AlertExample {
        sample: cut(&example.sample, MAX_NAME_CHARS),
        score: example.score,
        reason: short(&example.reason),
        output: short(&example.output),
        expected: short(&example.expected),
    }
}

/// A text of at most so many characters. Control characters, and those that change the direction of text, become spaces.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let visible = |c: char| if is_hidden(c) { ' ' } else { c };
    match text.char_indices().nth(most) {
        None => text.chars().map(visible).collect(),
        Some(_) => text.chars().take(most.saturating_sub(1)).map(visible).chain(['…']).collect(),
    }
}

fn rfc3339(moment: Moment) -> String {
    let seconds = jiff::Timestamp::from_second(moment.0.div_euclid(1_000));
    seconds.map_or_else(|_| String::new(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(examples: Vec<AlertExample>) -> AlertMessage {
        let incident = Incident { occurrences: 1, opened_at: Some(Moment(1_806_195_607_000)), ..Incident::default() };
        let facts = Facts {
            system: Some("gpt-5-mini/direct".to_owned()),
            subject: "faithful >= 0.90".to_owned(),
            summary: "faithful 0.84 (95 % CI 0.80 to 0.88, n 212) < 0.90".to_owned(),
            observed: Some(0.84),
            threshold: Some(0.9),
            interval: Some((0.80, 0.88)),
            n: Some(212),
            examples,
            ..Facts::default()
        };
        let about = ("support", AlertEvent::GateFailed);
        let run = (Some("r1"), Some("https://evals.example/runs/r1"));
        AlertMessage::new(Notice::Opened, ("inc_1", &incident), about, &facts, run, Moment(1_806_195_607_123))
    }

    /// SV-16: the fields of a message.
    #[test]
    fn a_message_has_the_documented_fields() {
        let example = AlertExample { sample: "q-17".to_owned(), score: Some(0.1), ..AlertExample::default() };
        let value: Value = serde_json::from_str(&message(vec![example]).to_json()).unwrap();
        let expected = json!({
            "type": "alert.opened",
            "timestamp": "2027-03-28T01:00:07Z",
            "data": {
                "incident": "inc_1", "event": "gate_failed", "suite": "support", "system": "gpt-5-mini/direct",
                "subject": "faithful >= 0.90", "summary": "faithful 0.84 (95 % CI 0.80 to 0.88, n 212) < 0.90",
                "observed": 0.84, "threshold": 0.9, "interval": [0.80, 0.88], "n": 212, "run_id": "r1",
                "occurrences": 1, "since": "2027-03-28T01:00:07Z", "examples": [{ "sample": "q-17", "score": 0.1 }],
                "links": { "run": "https://evals.example/runs/r1" },
            },
        });
        assert_eq!(value, expected);
    }

    /// SV-16: texts of examples have at most 300 characters, and a message at most 20 kB, whatever a model writes.
    #[test]
    fn a_message_is_short() {
        let long = |text: &str| AlertExample {
            sample: text.repeat(2_000),
            score: Some(0.0),
            reason: Some(text.repeat(2_000)),
            output: Some(text.repeat(2_000)),
            ..AlertExample::default()
        };
        for text in ["x", "\u{1f600}", "\u{202e}\"", "\u{1}", "\\"] {
            let message = message(vec![long(text); 50]);
            assert!(message.to_json().len() <= MAX_MESSAGE_BYTES);
            let examples = message.examples();
            assert!(!examples.is_empty());
            assert!(examples.iter().all(|it| it.output.as_ref().unwrap().chars().count() <= MAX_EXAMPLE_CHARS));
            assert!(!message.to_json().contains(['\u{202e}', '\u{1}']));
        }
    }
}
