//! Replies and errors of providers.

use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};

use crate::{Message, Money, RawTurn, Role, ToolCall};

/// Tokens of one call as the provider reported them. `cached_input_tokens` and `cache_write_tokens` are part of
/// `input_tokens`, `cache_write_1h_tokens` of `cache_write_tokens`, `reasoning_tokens` of `output_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the request that the provider served from its own cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Tokens of the request that the provider stored in its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Those of them that it stored for an hour, which costs more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_1h_tokens: u64,
    /// Tokens of the reply, reasoning included.
    pub output_tokens: u64,
    /// Tokens spent on reasoning that is not shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// More tokens than any call can have, in or out: a larger number is a mistake of the provider.
    pub const MAX_TOKENS: u64 = 100_000_000;

    /// Returns true if a call can have used so much.
    pub fn is_possible(&self) -> bool {
        self.input_tokens <= Self::MAX_TOKENS && self.output_tokens <= Self::MAX_TOKENS
    }

    /// Input and output together.
    pub fn total(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

impl Usage {
    /// The same counts where no part is larger than its whole. Tokens from a cache that cannot be are left out, which makes
    /// the call dearer; a reply whose reasoning stands beside it is the sum of both.
    #[must_use]
    pub fn consistent(self) -> Self {
        let output_tokens = match self.reasoning_tokens > self.output_tokens {
            true => self.output_tokens + self.reasoning_tokens,
            false => self.output_tokens,
        };
        let is_part = self.cached_input_tokens <= self.input_tokens;
        let cached_input_tokens = if is_part { self.cached_input_tokens } else { 0 };
        let cache_write_tokens = self.cache_write_tokens.min(self.input_tokens - cached_input_tokens);
        let cache_write_1h_tokens = self.cache_write_1h_tokens.min(cache_write_tokens);
        Self { output_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, ..self }
    }

    /// One of several equal parts, rounded down.
    #[must_use]
    pub fn divide(self, parts: u64) -> Self {
        self.map(Self::default(), |own, _| own / parts.max(1))
    }

    /// The rest without a part.
    #[must_use]
    pub fn subtract(self, part: Self) -> Self {
        self.map(part, u64::saturating_sub)
    }

    fn map(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input_tokens: of(self.input_tokens, other.input_tokens),
            cached_input_tokens: of(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_tokens: of(self.cache_write_tokens, other.cache_write_tokens),
            cache_write_1h_tokens: of(self.cache_write_1h_tokens, other.cache_write_1h_tokens),
            output_tokens: of(self.output_tokens, other.output_tokens),
            reasoning_tokens: of(self.reasoning_tokens, other.reasoning_tokens),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = self.map(other, |own, more| own + more);
    }
}

/// The bill of a reply as far as the reply says it, beside its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Billing {
    /// The tier of service in which the call was made, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Input tokens of audio: part of the input.
    #[serde(skip_serializing_if = "is_zero")]
    pub audio_input_tokens: u64,
    /// True if the provider charges for something beside tokens, such as searches.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_extras: bool,
    /// True if it says how many tokens were reasoning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counts_reasoning: bool,
    /// True if it counts tokens, but not those of the request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_input: bool,
    /// True if it counts tokens, but not those of the reply.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_output: bool,
    /// All tokens together, where that is all it counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub total_tokens: u64,
    /// The cost that it states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<Money>,
    /// The stated cost that cannot be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable_cost: Option<String>,
}

impl Billing {
    /// The counts of a call in which those that the provider left out are the most that they can be. Returns them, and true if
    /// any was left out.
    pub fn complete(&self, usage: Usage, most: &Usage) -> (Usage, bool) {
        let mut whole = usage;
        if self.lacks_input {
            whole.input_tokens = most.input_tokens;
        }
        if self.lacks_output {
            whole.output_tokens = most.output_tokens;
        }
        // Where its counts disagree, the dearer reading holds.
        let rest = self.total_tokens.saturating_sub(whole.input_tokens);
        whole.output_tokens = whole.output_tokens.max(rest);
        (whole.consistent(), self.lacks_input || self.lacks_output)
    }
}

/// The reason why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It ran into `max_tokens` or the context window: the reply is truncated.
    Length,
    /// A content filter, or the model itself, refused.
    Refusal,
    /// It calls tools.
    ToolCalls,
    /// It tried to call a tool, and the provider could not read the call.
    MalformedCall,
    /// A word that Karat does not know, or nothing said.
    Other,
}

impl FinishReason {
    /// The `stop_reason` of an output.
    pub fn stop_reason(self) -> &'static str {
        match self {
            Self::Stop => "done",
            Self::Length => "length",
            Self::Refusal => "refusal",
            Self::ToolCalls => "call",
            Self::MalformedCall => "malformed_call",
            Self::Other => "other",
        }
    }
}

/// One parsed reply of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The finish reason.
    pub finish: FinishReason,
    /// The usage that the provider reported; `None` without a usable report.
    pub usage: Option<Usage>,
    /// The model's name as the provider returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools that it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The turn as the provider wrote it, where it holds more than words: it goes back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_turn: Option<RawTurn>,
    /// The vectors of the texts, where they were asked for, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<Vec<f32>>,
    /// Its bill as far as it says it, beside its tokens.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub billing: Billing,
    /// The provider's word for its end, where Karat does not know it; empty if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_end: Option<String>,
    /// True if half a character in it was replaced by U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_mended: bool,
}

fn is_plain(billing: &Billing) -> bool {
    *billing == Billing::default()
}

impl Reply {
    /// A reply of words, of which nothing else is known.
    pub fn new(text: impl Into<String>, finish: FinishReason) -> Self {
        Self {
            text: text.into(),
            finish,
            usage: None,
            model: None,
            tool_calls: Vec::new(),
            raw_turn: None,
            vectors: Vec::new(),
            billing: Billing::default(),
            unknown_end: None,
            was_mended: false,
        }
    }

    /// Returns true if it has neither words nor calls nor vectors: thoughts alone are no reply.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.tool_calls.is_empty() && self.vectors.is_empty()
    }

    /// The assistant's turn that this reply is in a conversation.
    pub fn turn(&self) -> Message {
        Message {
            tool_calls: self.tool_calls.clone(),
            raw_turn: self.raw_turn.clone(),
            ..Message::new(Role::Assistant, self.text.as_str())
        }
    }
}

/// The kind of failure of a call. Reports and progress lines show its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallErrorCode {
    /// HTTP 429 or the provider's own word for it.
    RateLimited,
    /// HTTP 5xx, 529.
    ServerError,
    /// No answer within the attempt's timeout.
    Timeout,
    /// The connection could not be made.
    Connect,
    /// The connection broke, or the body was cut.
    Cut,
    /// HTTP 401 or 403, or the key is missing.
    Auth,
    /// Any other 4xx: the request itself is wrong, so it is not tried again.
    BadRequest,
    /// A redirect; it is never followed, because keys would follow it.
    Redirect,
    /// A body that is not what the protocol says (not JSON, no message in it).
    Malformed,
    /// A body above `max_response`.
    TooLarge,
    /// A replayed recording holds no such request.
    ReplayMiss,
    /// A budget or a maximum of calls does not allow the call.
    Budget,
    /// The run was cancelled before the call was made.
    Cancelled,
    /// The provider is known but what was asked of it is not available.
    Unsupported,
    /// There is no such file or row.
    NotFound,
    /// The process or script behind the model failed.
    Process,
    /// The time limit of the cell is reached.
    CellTimeout,
    /// The limit on the cost of an agent's loop is reached. Never recorded: the loop ends with an output.
    CostLimit,
    /// The limit on the time of an agent's loop is reached. Never recorded, as before.
    TimeLimit,
    /// The answer calls a tool and has no text. Stored by earlier versions only: a call is an output now.
    ToolCall,
    /// A batch ended three times without an answer to it, or its results are gone.
    BatchExpired,
    /// The provider refused the whole batch.
    BatchFailed,
}

impl CallErrorCode {
    /// Returns true if trying again can help.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::ServerError | Self::Timeout | Self::Connect | Self::Cut | Self::Malformed
        )
    }

    /// Returns true if the same request may succeed later without a change: the recipient was busy or not reached. An answer
    /// that is something else, such as a web page, stays what it is.
    pub fn may_pass(self) -> bool {
        (self.is_retryable() && self != Self::Malformed) || self == Self::CellTimeout
    }

    /// Returns true if the call was not made because the run stops: nothing is known of its answer, and `resume` makes it.
    pub fn is_stop(self) -> bool {
        matches!(self, Self::Cancelled | Self::Budget)
    }

    /// The kind with this code.
    pub fn from_code(code: &str) -> Option<Self> {
        let code: StrDeserializer<'_, ValueError> = code.into_deserializer();
        Self::deserialize(code).ok()
    }

    /// The code as it stands in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Cut => "cut",
            Self::Auth => "auth",
            Self::BadRequest => "bad_request",
            Self::Redirect => "redirect",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::ReplayMiss => "replay_miss",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Unsupported => "unsupported",
            Self::NotFound => "not_found",
            Self::Process => "process",
            Self::CellTimeout => "cell_timeout",
            Self::CostLimit => "cost_limit",
            Self::TimeLimit => "time_limit",
            Self::ToolCall => "tool_call",
            Self::BatchExpired => "batch_expired",
            Self::BatchFailed => "batch_failed",
        }
    }
}

/// A call that gave no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// The kind of failure.
    pub code: CallErrorCode,
    /// States the attempt, the failure and the next step. Holds no secret.
    pub message: String,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}
