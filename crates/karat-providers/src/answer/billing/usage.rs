//! Tokens and tiers as providers report them, read without trusting them: one reading of each protocol's words.
//!
//! Where the counts of a reply disagree, the dearer reading holds. Counts that it leaves out are marked; the caller knows
//! their bounds.

use std::collections::BTreeMap;

use karat_types::{Billing, Usage, tier_of};
use serde::de::Deserialize;
use serde_json::value::RawValue;

use crate::answer::billing::Bill;
use crate::answer::billing::count::Count;
use crate::answer::json::raw_members;

/// The named counts of a usage. A list names nothing: `[1, 2]` is no usage.
fn named_counts<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

fn counts_in<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(named_counts).unwrap_or_default()
}

/// The words in which a protocol reports usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageWords {
    /// OpenAI's chat completions, and what speaks them.
    Chat,
    /// OpenAI's Responses API.
    Responses,
    Anthropic,
    Gemini,
    /// Amazon Bedrock's Converse API.
    Bedrock,
    Embeddings,
}

impl UsageWords {
    /// The words of a protocol by its name.
    pub fn of(protocol: &str) -> Option<Self> {
        Some(match protocol {
            "chat" => Self::Chat,
            "responses" => Self::Responses,
            "anthropic" => Self::Anthropic,
            "gemini" => Self::Gemini,
            "bedrock" => Self::Bedrock,
            "embeddings" => Self::Embeddings,
            _ => return None,
        })
    }

    /// The bill in a body, whatever else the body holds.
    pub fn read_body(self, body: &[u8]) -> Bill {
        let members = raw_members(body).unwrap_or_default();
        let member = |name: &str| members.get(name).copied();
        match self {
            Self::Gemini => self.read(member("usageMetadata"), None),
            Self::Bedrock => self.read(member("usage"), member("serviceTier")),
            _ => self.read(member("usage"), member("service_tier")),
        }
    }

    /// The bill in the usage of a body, and in the tier that stands beside it.
    pub fn read(self, usage: Option<&RawValue>, tier: Option<&RawValue>) -> Bill {
        let parts = match self {
            Self::Chat => Parts::of_chat(counts_in(usage)),
            Self::Responses => Parts::of_responses(counts_in(usage)),
            Self::Anthropic => Parts::of_anthropic(counts_in(usage)),
            Self::Gemini => Parts::of_gemini(counts_in(usage)),
            Self::Bedrock => Parts::of_bedrock(counts_in(usage)),
            Self::Embeddings => Parts::of_embeddings(counts_in(usage)),
        };
        let named: NamedTiers<'_> = counts_in(usage);
        let (counts, billing) = parts.bill();
        (counts, Billing { tier: named.tier(tier), has_extras: named.has_extras(), ..billing })
    }
}

/// The places where a usage names its tier, and where it counts what is billed beside tokens.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct NamedTiers<'a> {
    #[serde(borrow)]
    service_tier: Option<&'a RawValue>,
    #[serde(borrow, rename = "serviceTier")]
    camel_tier: Option<&'a RawValue>,
    #[serde(borrow, rename = "trafficType")]
    traffic: Option<&'a RawValue>,
    #[serde(borrow)]
    speed: Option<&'a RawValue>,
    #[serde(borrow)]
    server_tool_use: Option<&'a RawValue>,
}

impl NamedTiers<'_> {
    /// The tier of the call. Of several words the one that is not the base counts; two such words are a tier of their own.
    fn tier(&self, beside: Option<&RawValue>) -> Option<String> {
        let speed = word(self.speed).filter(|speed| speed.eq_ignore_ascii_case("fast"));
        let named = [beside, self.service_tier, self.camel_tier, self.traffic].map(word);
        let words: Vec<String> = named.into_iter().chain([speed]).flatten().collect();
        let mut special: Vec<String> = words.iter().filter(|word| tier_of(word).is_some()).cloned().collect();
        special.dedup_by_key(|word| tier_of(word));
        match special.len() {
            0 => words.into_iter().next(),
            _ => Some(special.join(" and ")),
        }
    }

    fn has_extras(&self) -> bool {
        let counts: BTreeMap<String, Count> = counts_in(self.server_tool_use);
        counts.values().any(|count| count.number() > 0)
    }
}

/// A text, or the one that an object has as its `type`.
fn word(raw: Option<&RawValue>) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Word {
        Text(String),
        Typed { r#type: String },
    }
    match serde_json::from_str(raw?.get()).ok()? {
        Word::Text(text) | Word::Typed { r#type: text } => Some(text),
    }
}

/// The counts of a usage, in Karat's words.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    input: Count,
    output: Count,
    total: Count,
    cached: Count,
    written: Count,
    written_1h: Count,
    audio: Count,
    reasoning: Count,
}

impl Parts {
    fn of_chat(fields: ChatUsage<'_>) -> Self {
        let prompt: Details<'_> = counts_in(fields.prompt_tokens_details);
        let completion: Details<'_> = counts_in(fields.completion_tokens_details);
        Self {
            input: fields.prompt_tokens,
            output: fields.completion_tokens,
            total: fields.total_tokens,
            cached: prompt.cached_tokens.or(fields.cached_tokens).or(fields.prompt_cache_hit_tokens),
            written: prompt.cache_write_tokens,
            written_1h: prompt.written_1h(),
            audio: prompt.audio_tokens,
            reasoning: completion.reasoning_tokens.or(fields.reasoning_tokens),
        }
    }

    fn of_responses(fields: ResponsesUsage<'_>) -> Self {
        let input: Details<'_> = counts_in(fields.input_tokens_details);
        let output: Details<'_> = counts_in(fields.output_tokens_details);
        Self {
            input: fields.input_tokens,
            output: fields.output_tokens,
            total: fields.total_tokens,
            cached: input.cached_tokens,
            written: input.cache_write_tokens,
            written_1h: input.written_1h(),
            audio: input.audio_tokens,
            reasoning: output.reasoning_tokens,
        }
    }

    /// Here `input_tokens` excludes what the cache served or stored; elsewhere in Karat it is the whole request.
    fn of_anthropic(fields: AnthropicUsage<'_>) -> Self {
        let creation: CacheCreation = counts_in(fields.cache_creation);
        let output: Details<'_> = counts_in(fields.output_tokens_details);
        let parts = creation.ephemeral_5m_input_tokens.or_zero() + creation.ephemeral_1h_input_tokens.or_zero();
        let written = fields.cache_creation_input_tokens.max(parts);
        let cached = fields.cache_read_input_tokens.or_zero();
        Self {
            input: fields.input_tokens + cached + written,
            output: fields.output_tokens,
            cached,
            written,
            written_1h: creation.ephemeral_1h_input_tokens,
            reasoning: output.thinking_tokens,
            ..Self::default()
        }
    }

    /// Here thinking tokens are counted beside those of the reply; elsewhere in Karat they are part of them.
    fn of_gemini(fields: GeminiUsage<'_>) -> Self {
        let (tools, thoughts) = (fields.tool_use_prompt_token_count.or_zero(), fields.thoughts_token_count);
        let input = fields.prompt_token_count + tools;
        let candidates = fields.candidates_token_count;
        let said = candidates.0.or(thoughts.0).map(|_| candidates.number() + thoughts.number());
        let details = [fields.prompt_tokens_details, fields.tool_use_prompt_tokens_details];
        Self {
            input,
            output: Count(said),
            total: fields.total_token_count,
            cached: fields.cached_content_token_count,
            audio: Count(Some(details.into_iter().map(audio_tokens).sum())),
            reasoning: thoughts,
            ..Self::default()
        }
    }

    /// Here `inputTokens` excludes what the cache served or stored, as in Anthropic's words.
    fn of_bedrock(fields: BedrockUsage<'_>) -> Self {
        let cached = fields.cache_read_input_tokens.or_zero();
        let details: Vec<BedrockWrite> =
            fields.cache_details.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let sum = |is_counted: fn(&BedrockWrite) -> bool| {
            Count(Some(details.iter().filter(|write| is_counted(write)).map(|write| write.input_tokens.number()).sum()))
        };
        let written = fields.cache_write_input_tokens.max(sum(|_| true));
        Self {
            input: fields.input_tokens + cached + written,
            output: fields.output_tokens,
            cached,
            written,
            written_1h: sum(|write| write.ttl.ends_with('h')),
            ..Self::default()
        }
    }

    fn of_embeddings(fields: EmbeddingsUsage) -> Self {
        let input = fields.prompt_tokens.max(fields.total_tokens);
        Self { input, output: Count(input.0.map(|_| 0)), ..Self::default() }
    }

    /// The usage, and which of its counts are absent; no usage if it counts nothing at all.
    fn bill(self) -> Bill {
        let Self { input, output, total, .. } = self;
        // A total that no call can have stays one.
        let rest_of = |other: u64| match total.0? {
            total if total > Usage::MAX_TOKENS => Some(total),
            total => total.checked_sub(other),
        };
        let (input, output) = match (input.0, output.0) {
            (Some(input), None) => (Some(input), rest_of(input)),
            (None, Some(output)) => (rest_of(output), Some(output)),
            (None, None) => (None, total.0.filter(|total| *total > Usage::MAX_TOKENS)),
            both => both,
        };
        let output = match (input, output) {
            // Tokens of the reply that stand beside the others.
            (Some(input), Some(output)) => Some(output.max(rest_of(input).unwrap_or_default())),
            _ => output,
        };
        if input.is_none() && output.is_none() && total.0.is_none() {
            return (None, Billing::default());
        }
        let billing = Billing {
            audio_input_tokens: self.audio.number(),
            counts_reasoning: self.reasoning.0.is_some(),
            lacks_input: input.is_none(),
            lacks_output: output.is_none(),
            total_tokens: if input.is_none() && output.is_none() { total.number() } else { 0 },
            ..Billing::default()
        };
        let usage = Usage {
            input_tokens: input.unwrap_or_default(),
            cached_input_tokens: self.cached.number(),
            cache_write_tokens: self.written.number(),
            cache_write_1h_tokens: self.written_1h.number(),
            output_tokens: output.unwrap_or_default(),
            reasoning_tokens: self.reasoning.number(),
        };
        let is_whole = !billing.lacks_input && !billing.lacks_output;
        (Some(if is_whole { usage.consistent() } else { usage }), billing)
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct ChatUsage<'a> {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    #[serde(borrow)]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens_details: Option<&'a RawValue>,
    /// Moonshot's name for cached tokens.
    cached_tokens: Count,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Count,
    reasoning_tokens: Count,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct ResponsesUsage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    total_tokens: Count,
    #[serde(borrow)]
    input_tokens_details: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens_details: Option<&'a RawValue>,
}

/// Parts of the tokens of a request or reply.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Details<'a> {
    cached_tokens: Count,
    cache_write_tokens: Count,
    #[serde(borrow)]
    cache_write_tokens_details: Option<&'a RawValue>,
    audio_tokens: Count,
    reasoning_tokens: Count,
    thinking_tokens: Count,
}

impl Details<'_> {
    /// Stored tokens by how long they stay, as in `ttl_12h_tokens`: those that stay for an hour or longer.
    fn written_1h(&self) -> Count {
        let by_time: BTreeMap<String, Count> = counts_in(self.cache_write_tokens_details);
        let is_long = |name: &str| name.strip_prefix("ttl_").is_some_and(|time| time.ends_with("h_tokens"));
        Count(Some(by_time.iter().filter(|(name, _)| is_long(name)).map(|(_, count)| count.number()).sum()))
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct AnthropicUsage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    #[serde(borrow)]
    cache_creation: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens_details: Option<&'a RawValue>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Count,
    ephemeral_1h_input_tokens: Count,
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GeminiUsage<'a> {
    prompt_token_count: Count,
    tool_use_prompt_token_count: Count,
    cached_content_token_count: Count,
    candidates_token_count: Count,
    thoughts_token_count: Count,
    total_token_count: Count,
    #[serde(borrow)]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_prompt_tokens_details: Option<&'a RawValue>,
}

/// The tokens of audio in a list of tokens by modality.
fn audio_tokens(details: Option<&RawValue>) -> u64 {
    #[derive(serde::Deserialize, Default)]
    #[serde(default, rename_all = "camelCase")]
    struct Modality {
        modality: String,
        token_count: Count,
    }
    let list: Vec<Modality> = details.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let audio = list.iter().filter(|part| part.modality.eq_ignore_ascii_case("audio"));
    audio.map(|part| part.token_count.number()).sum()
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct BedrockUsage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_write_input_tokens: Count,
    #[serde(borrow)]
    cache_details: Option<&'a RawValue>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct BedrockWrite {
    ttl: String,
    input_tokens: Count,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct EmbeddingsUsage {
    prompt_tokens: Count,
    total_tokens: Count,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(words: UsageWords, body: &Value) -> Bill {
        words.read_body(body.to_string().as_bytes())
    }

    /// BY-05: a number that no call can have is known as one, whatever it is added to.
    #[test]
    fn impossible_numbers_stay_impossible() {
        let numbers: Vec<Value> =
            serde_json::from_str("[1e18, 1000000000000000000, 18446744073709551615, 1e300, 100000001]").unwrap();
        for number in numbers {
            for usage in [
                json!({"prompt_tokens": number, "completion_tokens": 7}),
                json!({"prompt_tokens": 7, "completion_tokens": 7, "total_tokens": number}),
                json!({ "total_tokens": number }),
                json!({"prompt_tokens": 7, "completion_tokens": number, "completion_tokens_details": {"reasoning_tokens": number}}),
            ] {
                let (usage, _) = read(UsageWords::Chat, &json!({ "usage": usage }));
                assert!(!usage.unwrap().is_possible(), "{usage:?}");
            }
        }
        let most = json!({"prompt_tokens": Usage::MAX_TOKENS, "completion_tokens": 7});
        assert!(read(UsageWords::Chat, &json!({ "usage": most })).0.unwrap().is_possible());
    }

    /// RE-22: no usage is one that counts nothing; a count with a null sibling is one.
    #[test]
    fn a_usage_counts_something() {
        for nonsense in [json!(null), json!([]), json!([1, 2]), json!("many"), json!({}), json!(7)] {
            assert_eq!(read(UsageWords::Chat, &json!({ "usage": nonsense })).0, None, "{nonsense}");
        }
        let (usage, billing) = read(UsageWords::Chat, &json!({"usage": {"prompt_tokens": -1, "completion_tokens": 7}}));
        assert_eq!((usage.unwrap().output_tokens, billing.lacks_input, billing.lacks_output), (7, true, false));
        let most = Usage { input_tokens: 90, output_tokens: 50, ..Usage::default() };
        let (whole, is_bound) = billing.complete(usage.unwrap(), &most);
        assert_eq!((whole.input_tokens, whole.output_tokens, is_bound), (90, 7, true));
        let (usage, billing) = read(UsageWords::Chat, &json!({"usage": {"total_tokens": 900}}));
        let (whole, _) = billing.complete(usage.unwrap(), &most);
        assert_eq!((whole.input_tokens, whole.output_tokens), (90, 810));
    }

    /// RE-22: what stands beside the tokens of the reply belongs to them, in every protocol that says so.
    #[test]
    fn all_tokens_of_a_reply_are_counted() {
        let chat = json!({"usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 1050}});
        assert_eq!(read(UsageWords::Chat, &chat).0.unwrap().output_tokens, 950);
        let beside = json!({"usage": {"input_tokens": 100, "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 80}}});
        assert_eq!(read(UsageWords::Responses, &beside).0.unwrap().output_tokens, 130);
        let thoughts =
            json!({"usageMetadata": {"promptTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 20}});
        assert_eq!(read(UsageWords::Gemini, &thoughts).0.unwrap().output_tokens, 10);
        let anthropic = json!({"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 99}});
        assert_eq!(read(UsageWords::Anthropic, &anthropic).0.unwrap().output_tokens, 2);
    }

    /// RE-22: a part larger than its whole is left out or cut, whichever is dearer.
    #[test]
    fn parts_stay_within_their_whole() {
        let details = json!({"cached_tokens": 11, "cache_write_tokens": 12, "cache_write_tokens_details": {"ttl_1h_tokens": 13, "ttl_30m_tokens": 2}});
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": details});
        let usage = read(UsageWords::Chat, &json!({ "usage": usage })).0.unwrap();
        let Usage { cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, .. } = usage;
        assert_eq!((cached_input_tokens, cache_write_tokens, cache_write_1h_tokens), (0, 10, 10));
    }

    /// TG-80: tokens that Anthropic's cache stored are part of the input, and counted beside it.
    #[test]
    fn stored_tokens_are_counted() {
        let usage = |mut cache: Value| {
            for (name, count) in [("input_tokens", 100), ("cache_read_input_tokens", 1000), ("output_tokens", 10)] {
                cache[name] = json!(count);
            }
            let usage = read(UsageWords::Anthropic, &json!({ "usage": cache })).0.unwrap();
            (usage.input_tokens, usage.cache_write_tokens, usage.cache_write_1h_tokens)
        };
        let parts = json!({"ephemeral_5m_input_tokens": 150, "ephemeral_1h_input_tokens": 50});
        assert_eq!(usage(json!({"cache_creation_input_tokens": 200})), (1_300, 200, 0));
        assert_eq!(usage(json!({"cache_creation": parts})), (1_300, 200, 50));
        assert_eq!(usage(json!({"cache_creation_input_tokens": 200, "cache_creation": parts})), (1_300, 200, 50));
        assert_eq!(usage(json!({"cache_creation_input_tokens": 20, "cache_creation": parts})), (1_300, 200, 50));
        assert_eq!(usage(json!({})), (1_100, 0, 0));
    }

    /// RE-21: of several words for the tier the one that is not the base counts.
    #[test]
    fn the_tier_of_a_reply_is_read() {
        let tier = |words, body: Value| read(words, &body).1.tier;
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(tier(UsageWords::Chat, json!({"service_tier": "default", "usage": {}})), some("default"));
        assert_eq!(
            tier(UsageWords::Chat, json!({"service_tier": null, "usage": {"service_tier": "flex"}})),
            some("flex")
        );
        let fast = json!({"usage": {"service_tier": "standard", "speed": "fast"}});
        assert_eq!(tier(UsageWords::Anthropic, fast), some("fast"));
        let both = json!({"usage": {"service_tier": "priority", "speed": "fast"}});
        assert_eq!(tier(UsageWords::Anthropic, both), some("priority and fast"));
        let slow = json!({"usage": {"speed": "standard"}});
        assert_eq!(tier(UsageWords::Anthropic, slow), None);
        let vertex = json!({"usageMetadata": {"serviceTier": "standard", "trafficType": "ON_DEMAND_FLEX"}});
        assert_eq!(tier(UsageWords::Gemini, vertex), some("ON_DEMAND_FLEX"));
        assert_eq!(tier(UsageWords::Bedrock, json!({"serviceTier": {"type": "flex"}, "usage": {}})), some("flex"));
    }
}
