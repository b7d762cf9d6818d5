//! Settings that a model refuses: learned from its answers, left out of later requests, and reported.
//!
//! Which settings a model takes changes from release to release, so no list in this program stays right. A 400 that names a
//! setting as unsupported costs nothing: the request is sent again without it, and so are all later ones of the run. A value
//! that is out of bounds is an error as before, since the author meant it.
//!
//! This works on the bodies that codecs write, whatever their protocol.

use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use karat_types::{ChatRequest, JsonMode, ModelSpec, ReplyFormat};
use memchr::memmem;
use serde_json::{Map, Value};

use crate::answer::json::without_bom;
use crate::options::OFFLINE;

/// A setting, and the members of bodies that hold it, by protocol.
struct Setting {
    name: &'static str,
    members: &'static [&'static str],
}

const SETTINGS: [Setting; 7] = [
    Setting { name: "temperature", members: &["temperature"] },
    Setting { name: "top_p", members: &["top_p", "topP"] },
    Setting { name: "seed", members: &["seed", "random_seed"] },
    Setting { name: "stop", members: &["stop", "stop_sequences", "stopSequences"] },
    Setting {
        name: MAX_TOKENS,
        members: &[MAX_TOKENS, MAX_COMPLETION_TOKENS, "max_output_tokens", "maxOutputTokens", "maxTokens"],
    },
    Setting {
        name: "response_format",
        members: &[
            "response_format",
            "responseJsonSchema",
            "responseMimeType",
            "output_config",
            "outputConfig",
            "format",
        ],
    },
    Setting { name: "effort", members: &["reasoning_effort", "effort", "thinkingLevel"] },
];

const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// Members of bodies that hold settings.
const CONTAINERS: [&str; 8] = [
    "generationConfig",
    "inferenceConfig",
    "thinkingConfig",
    "thinking_config",
    "output_config",
    "outputConfig",
    "reasoning",
    "text",
];

/// Words by which an answer says that a setting as such is refused.
const UNSUPPORTED: [&str; 12] = [
    "unsupported",
    "not supported",
    "not support",
    "unrecognized",
    "unknown name",
    "unknown parameter",
    "unexpected keyword",
    "not permitted",
    "not allowed",
    "not available",
    "deprecated",
    "cannot both be specified",
];

/// A setting that a model refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedSetting {
    /// The member that holds it.
    member: String,
    /// The member that takes its value instead; without one it is left out.
    renamed: Option<&'static str>,
}

impl RefusedSetting {
    /// Reads an answer to a request with this body; `None` if it refuses something else.
    pub fn read(status: Option<u16>, answer: &[u8], body: &[u8]) -> Option<Self> {
        if !matches!(status, Some(400 | 422)) {
            return None;
        }
        let json: Value = serde_json::from_slice(without_bom(answer)).ok()?;
        let error = json.get("error").filter(|error| error.is_object()).unwrap_or(&json);
        let text = |field: &str| error.get(field).and_then(Value::as_str);
        let extra = extra_input(&json);
        let detail = || json.get("detail").and_then(Value::as_str).or(extra.map(|(_, words)| words));
        let words = text("message").or_else(detail).unwrap_or_default();
        let folded = words.to_lowercase();
        let says_so = match text("code") {
            Some("unsupported_parameter" | "unsupported_value") => true,
            // Another code says what else is wrong, such as a value that is too high.
            Some(code) if code.contains("_value") || code.contains("_max") || code.contains("_min") => false,
            _ => UNSUPPORTED.iter().any(|phrase| folded.contains(phrase)),
        };
        let sent = |member: &&str| holds(body, member);
        let members = || SETTINGS.iter().flat_map(|setting| setting.members).copied().filter(|member| sent(member));
        let named = text("param").map(|param| param.rsplit('.').next().unwrap_or(param));
        let named = named.or(extra.map(|(name, _)| name));
        let member = match named.and_then(|param| members().find(|member| *member == param)) {
            Some(member) => member,
            None if folded.contains("cannot both be specified") => members().find(|member| *member == "top_p")?,
            None => members().filter_map(|member| Some((named_at(words, member)?, member))).min()?.1,
        };
        says_so.then(|| Self { member: member.to_owned(), renamed: replacement(member, words) }).filter(Self::is_usable)
    }

    /// A reply must stay bounded: the bound may have another name, but is never left out.
    fn is_usable(&self) -> bool {
        let bounds = |setting: &&Setting| setting.name == MAX_TOKENS;
        let is_bound = SETTINGS.iter().find(bounds).is_some_and(|setting| setting.members.contains(&&*self.member));
        !is_bound || self.renamed.is_some()
    }

    fn apply(&self, object: &mut Map<String, Value>) {
        if object.contains_key(&self.member) {
            let members = std::mem::take(object);
            let has_other = self.renamed.is_some_and(|name| members.contains_key(name));
            for (name, value) in members {
                match self.renamed {
                    _ if name != self.member => _ = object.insert(name, value),
                    Some(other) if !has_other => _ = object.insert(other.to_owned(), value),
                    _ => {}
                }
            }
        }
        for container in CONTAINERS {
            let Some(Value::Object(inner)) = object.get_mut(container) else { continue };
            let was_empty = inner.is_empty();
            self.apply(inner);
            if inner.is_empty() && !was_empty {
                object.shift_remove(container);
            }
        }
    }
}

/// The first problem of an answer that lists them by place, as servers in Python do: its member and its words.
fn extra_input(answer: &Value) -> Option<(&str, &str)> {
    let details = answer.get("detail").or_else(|| answer.pointer("/message/detail"));
    let first = details?.as_array()?.first()?;
    let place = first.get("loc")?.as_array()?.last()?.as_str()?;
    Some((place, first.get("msg")?.as_str()?))
}

/// The other name of the bound of a reply, in either direction.
fn replacement(member: &str, words: &str) -> Option<&'static str> {
    match member {
        MAX_TOKENS => Some(MAX_COMPLETION_TOKENS),
        MAX_COMPLETION_TOKENS if named_at(words, MAX_TOKENS).is_some() => Some(MAX_TOKENS),
        _ => None,
    }
}

/// The place of a name in a sentence, as a word of its own.
fn named_at(words: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    words.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = words[..*at].chars().next_back();
        let after = words[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// True if a body has a member of this name. Within texts its quotes would be escaped.
fn holds(body: &[u8], member: &str) -> bool {
    memmem::find(body, format!("\"{member}\":").as_bytes()).is_some()
}

/// The settings that one model has refused.
#[derive(Debug, Default)]
pub(crate) struct RefusedSettings(RwLock<Vec<RefusedSetting>>);

impl RefusedSettings {
    /// Remembers a refusal.
    pub fn learn(&self, refused: RefusedSetting) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&refused) {
            known.push(refused);
        }
    }

    /// The body without what is refused; `None` if that changes nothing.
    pub fn apply(&self, body: &[u8]) -> Option<Bytes> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|refused| holds(body, &refused.member)) {
            return None;
        }
        let mut object: Map<String, Value> = serde_json::from_slice(body).ok()?;
        known.iter().for_each(|refused| refused.apply(&mut object));
        let written = serde_json::to_vec(&object).ok()?;
        (written != body).then(|| Bytes::from(written))
    }
}

/// The settings of a request that its body does not hold: the protocol lacks them, or the model refuses them.
pub fn unapplied_settings(model: &ModelSpec, request: &ChatRequest, body: &[u8]) -> Vec<&'static str> {
    if body.is_empty() || OFFLINE.contains(&model.provider.as_str()) {
        return Vec::new();
    }
    let asked = &request.parameters;
    let is_object = |schema: &Value| schema["type"] == "object";
    // Anthropic's API has no JSON mode that this program uses, so the prompt asks for it there.
    let is_form_asked = model.json_mode != JsonMode::None
        && model.provider != "anthropic"
        && matches!(&request.format, ReplyFormat::Schema { schema, .. } if is_object(schema));
    let is_asked = |name: &str| match name {
        "temperature" => asked.temperature.is_some(),
        "top_p" => asked.top_p.is_some(),
        "seed" => asked.seed.is_some(),
        "stop" => !asked.stop.is_empty(),
        MAX_TOKENS => asked.max_tokens.is_some(),
        "response_format" => is_form_asked,
        _ => asked.extra.contains_key(name),
    };
    let is_missing = |setting: &&Setting| !setting.members.iter().any(|member| holds(body, member));
    SETTINGS.iter().filter(|setting| is_asked(setting.name)).filter(is_missing).map(|setting| setting.name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"\"seed\": 1"}],"temperature":0.0,"max_tokens":9,"stop":["x"],"generationConfig":{"topP":0.5,"thinkingConfig":{"thinkingLevel":"low"}}}"#;

    fn read(answer: Value) -> Option<RefusedSetting> {
        RefusedSetting::read(Some(400), answer.to_string().as_bytes(), BODY.as_bytes())
    }

    fn refused(member: &str, renamed: Option<&'static str>) -> Option<RefusedSetting> {
        Some(RefusedSetting { member: member.to_owned(), renamed })
    }

    /// TG-51: a setting is refused by its code, by its parameter or by the words; everything else stays an error.
    #[test]
    fn refusals_are_read() {
        let openai = |param: &str, code: &str, message: &str| json!({"error": {"message": message, "param": param, "code": code}});
        let words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        let renamed = refused("max_tokens", Some("max_completion_tokens"));
        assert_eq!(read(openai("max_tokens", "unsupported_parameter", words)), renamed);
        assert_eq!(
            read(openai("temperature", "unsupported_value", "Only the default (1) is supported.")),
            refused("temperature", None)
        );
        assert_eq!(
            read(
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}})
            ),
            refused("temperature", None)
        );
        assert_eq!(
            read(
                json!({"error": {"code": 400, "message": "Unknown name \"topP\" at 'generation_config': Cannot find field."}})
            ),
            refused("topP", None)
        );
        assert_eq!(
            read(json!({"error": {"message": "thinkingLevel is not supported for this model"}})),
            refused("thinkingLevel", None)
        );
        assert_eq!(read(json!({"detail": "stop: Extra inputs are not permitted"})), refused("stop", None));
        let extra = json!([{"loc": ["body", "stop"], "msg": "Extra inputs are not permitted"}]);
        assert_eq!(read(json!({"detail": extra.clone()})), refused("stop", None));
        assert_eq!(read(json!({"object": "error", "message": {"detail": extra}})), refused("stop", None));
        for other in [
            json!({"detail": [{"loc": ["body", "temperature"], "msg": "Input should be less than or equal to 1.5"}]}),
            openai(
                "temperature",
                "decimal_above_max_value",
                "Invalid 'temperature': above the maximum. Not supported.",
            ),
            openai("messages", "unsupported_value", "messages[0] has an unsupported role"),
            json!({"error": {"message": "temperature must be between 0 and 2"}}),
            json!({"error": {"message": "seed is not supported"}}),
            json!({"error": {"message": "The model does not support images"}}),
            json!("no object"),
        ] {
            assert_eq!(read(other.clone()), None, "{other}");
        }
        let answer = openai("temperature", "unsupported_parameter", "").to_string();
        assert_eq!(RefusedSetting::read(Some(500), answer.as_bytes(), BODY.as_bytes()), None);
    }

    /// TG-51: what is refused is left out or renamed in its place; texts of the request are untouched; the bound of a reply is
    /// never dropped.
    #[test]
    fn bodies_go_without_what_is_refused() {
        let known = RefusedSettings::default();
        assert_eq!(known.apply(BODY.as_bytes()), None);
        known.learn(RefusedSetting { member: "max_tokens".to_owned(), renamed: Some("max_completion_tokens") });
        known.learn(RefusedSetting { member: "temperature".to_owned(), renamed: None });
        known.learn(RefusedSetting { member: "thinkingLevel".to_owned(), renamed: None });
        let body = known.apply(BODY.as_bytes()).unwrap();
        let expected = r#"{"model":"m","messages":[{"role":"user","content":"\"seed\": 1"}],"max_completion_tokens":9,"stop":["x"],"generationConfig":{"topP":0.5}}"#;
        assert_eq!(body, expected);
        assert_eq!(known.apply(&body), None);
        let answer = json!({"error": {"message": "max_completion_tokens is not supported"}}).to_string();
        assert_eq!(RefusedSetting::read(Some(400), answer.as_bytes(), &body), None);
    }

    /// TG-51: settings that a body lacks are named, also those that a protocol does not have.
    #[test]
    fn unapplied_settings_are_named() {
        let request = |parameters: Value| ChatRequest {
            messages: Vec::new(),
            parameters: serde_json::from_value(parameters).unwrap(),
            ..ChatRequest::default()
        };
        let asked = request(json!({"temperature": 0.0, "seed": 1, "stop": ["x"], "effort": "low", "max_tokens": 9}));
        let model = ModelSpec::new("m", "anthropic");
        assert_eq!(
            unapplied_settings(&model, &asked, br#"{"max_tokens":9,"stop_sequences":["x"]}"#),
            ["temperature", "seed", "effort"]
        );
        assert!(unapplied_settings(&model, &request(json!({})), b"{}").is_empty());
        assert!(unapplied_settings(&ModelSpec::new("m", "scripted"), &asked, b"{}").is_empty());
    }
}
