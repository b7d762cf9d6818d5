//! The messages of the OpenTelemetry protocol for traces (OTLP 1.x), as far as they are read, in both encodings.
//!
//! Protobuf: tags of opentelemetry-proto `trace/v1`, `common/v1`, `collector/trace/v1`. JSON: the mapping of OTLP, in which
//! ids are hexadecimal, names are lowerCamelCase, 64 bit integers are numbers or texts, enumerations are numbers, and
//! unknown fields are skipped.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost::Message;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::size::{Encoding, TooLarge};

use crate::size::Limits;

/// A request that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// Not JSON, or not the shape of a request.
    #[error("the request is not OTLP JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Not this protobuf message.
    #[error("the request is not OTLP protobuf: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// More in it than is read at once.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

impl OtlpError {
    /// Returns `true` if a smaller request would be read.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge(_))
    }
}

/// Spans that a program sends in one request.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceRequest {
    /// The spans, by the program that made them.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "or_default")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// The spans of one program.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSpans {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its spans, by the library that made them.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "or_default")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// A program, such as `service.name`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resource {
    /// Its attributes.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "or_default")]
    pub attributes: Vec<KeyValue>,
}

/// The spans of one library. Its name is not read: conventions are recognised by their attributes.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScopeSpans {
    /// The spans.
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "or_default")]
    pub spans: Vec<Span>,
}

/// An operation with a beginning and an end.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Span {
    /// 16 bytes. An id of JSON that cannot be decoded is kept as it was written.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "trace_id")]
    pub trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "span_id")]
    pub span_id: Vec<u8>,
    /// 8 bytes, or none for the first span of a trace.
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "span_id")]
    pub parent_span_id: Vec<u8>,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "7")]
    #[serde(deserialize_with = "read_count")]
    pub start_time_unix_nano: u64,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "8")]
    #[serde(deserialize_with = "read_count")]
    pub end_time_unix_nano: u64,
    /// Its attributes.
    #[prost(message, repeated, tag = "9")]
    #[serde(deserialize_with = "or_default")]
    pub attributes: Vec<KeyValue>,
    /// Events during the operation.
    #[prost(message, repeated, tag = "11")]
    #[serde(deserialize_with = "or_default")]
    pub events: Vec<Event>,
    /// Its end.
    #[prost(message, optional, tag = "15")]
    pub status: Option<Status>,
}

/// Something that happened during a span.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// Its kind, such as `gen_ai.choice`.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Its attributes.
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "or_default")]
    pub attributes: Vec<KeyValue>,
}

/// The end of a span.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// The reason of a failure.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    /// 0 unset, 1 ok, 2 error.
    #[prost(int32, tag = "3")]
    #[serde(deserialize_with = "status_code")]
    pub code: i32,
}

/// An attribute.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeyValue {
    /// Its name.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_default")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// A value of an attribute.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(from = "JsonValue")]
pub struct AnyValue {
    /// The value, if it is of a kind that is known here.
    #[prost(oneof = "Content", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub content: Option<Content>,
}

/// The kinds of values.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Content {
    /// A text.
    #[prost(string, tag = "1")]
    Text(String),
    /// True or false.
    #[prost(bool, tag = "2")]
    Bool(bool),
    /// An integer.
    #[prost(int64, tag = "3")]
    Integer(i64),
    /// A number.
    #[prost(double, tag = "4")]
    Number(f64),
    /// A list.
    #[prost(message, tag = "5")]
    List(ArrayValue),
    /// Names and values.
    #[prost(message, tag = "6")]
    Map(KeyValueList),
    /// Bytes.
    #[prost(bytes, tag = "7")]
    Bytes(Vec<u8>),
}

/// A list of values.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct ArrayValue {
    /// In order.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "or_default")]
    pub values: Vec<AnyValue>,
}

/// Names and values.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct KeyValueList {
    /// In order.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "or_default")]
    pub values: Vec<KeyValue>,
}

/// The answer to a request that was read.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceResponse {
    /// Spans that were not taken; absent if all were.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_success: Option<PartialSuccess>,
}

/// Spans that were not taken, and why.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialSuccess {
    /// The number of spans.
    #[prost(int64, tag = "1")]
    pub rejected_spans: i64,
    /// Why, for the person who reads the sender's log.
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// The answer to a request that failed (`google.rpc.Status`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub struct RpcStatus {
    /// A gRPC code.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// The reason of a failure.
    #[prost(string, tag = "2")]
    pub message: String,
}

impl TraceRequest {
    /// Reads a request of any number of spans.
    ///
    /// # Errors
    /// Where the bytes are no such request.
    pub fn read(bytes: &[u8], encoding: Encoding) -> Result<Self, OtlpError> {
        Self::read_within(bytes, encoding, Limits::default())
    }

    /// Reads a request within limits, which are checked before anything is kept in memory.
    ///
    /// # Errors
    /// Where the bytes are no such request, or one that is too large.
    pub fn read_within(bytes: &[u8], encoding: Encoding, limits: Limits) -> Result<Self, OtlpError> {
        limits.check(bytes, encoding)?;
        Ok(match encoding {
            Encoding::Json => serde_json::from_slice(bytes)?,
            Encoding::Protobuf => Self::decode(bytes)?,
        })
    }
}

/// The bytes of an answer in the encoding of its request.
pub fn answer<M: Message + Serialize>(message: &M, encoding: Encoding) -> Vec<u8> {
    match encoding {
        // Maps with texts as keys and finite numbers: nothing that JSON lacks.
        Encoding::Json => serde_json::to_vec(message).unwrap_or_default(),
        Encoding::Protobuf => message.encode_to_vec(),
    }
}

/// A value of JSON: one of these is there.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JsonValue {
    string_value: Option<String>,
    bool_value: Option<bool>,
    int_value: Option<IntegerOrText>,
    double_value: Option<NumberOrText>,
    array_value: Option<ArrayValue>,
    kvlist_value: Option<KeyValueList>,
    bytes_value: Option<String>,
}

impl From<JsonValue> for AnyValue {
    fn from(value: JsonValue) -> Self {
        let content = None
            .or(value.string_value.map(Content::Text))
            .or(value.bool_value.map(Content::Bool))
            .or_else(|| value.int_value?.integer().map(Content::Integer))
            .or_else(|| value.double_value?.number().map(Content::Number))
            .or(value.array_value.map(Content::List))
            .or(value.kvlist_value.map(Content::Map))
            .or_else(|| BASE64_STANDARD.decode(value.bytes_value?).ok().map(Content::Bytes));
        Self { content }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum IntegerOrText {
    Integer(i64),
    Unsigned(u64),
    Text(String),
}

impl IntegerOrText {
    fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(value),
            Self::Unsigned(value) => i64::try_from(value).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }

    fn into_count(self) -> Option<u64> {
        match self {
            Self::Integer(value) => u64::try_from(value).ok(),
            Self::Unsigned(value) => Some(value),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// Numbers that JSON lacks (`NaN`, `Infinity`) are texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(serde_json::Number),
    Text(String),
}

impl NumberOrText {
    fn number(self) -> Option<f64> {
        match self {
            Self::Number(value) => value.as_f64(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// In protobuf's JSON, null is the default.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn read_count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(Option::<IntegerOrText>::deserialize(from)?.and_then(IntegerOrText::into_count).unwrap_or_default())
}

/// Some senders write the names of the code.
fn status_code<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    Ok(match Option::<IntegerOrText>::deserialize(from)? {
        Some(IntegerOrText::Text(text)) if text == "STATUS_CODE_ERROR" => 2,
        Some(IntegerOrText::Text(text)) if text == "STATUS_CODE_OK" => 1,
        Some(value) => value.integer().and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
        None => 0,
    })
}

fn trace_id<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    id::<D, 16>(from)
}

fn span_id<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    id::<D, 8>(from)
}

/// An id of `N` bytes: hexadecimal, as OTLP has it, or base64, as protobuf's own mapping has it.
fn id<'de, D: Deserializer<'de>, const N: usize>(from: D) -> Result<Vec<u8>, D::Error> {
    // Anything but a text is not an id; it rejects its own span, and not the request.
    let text = match serde_json::Value::deserialize(from)? {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    let is_hex = text.len() == 2 * N && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes = match is_hex {
        true => (0..N).map(|at| digits(2 * at)).collect(),
        false => BASE64_STANDARD.decode(&text).ok().filter(|bytes| bytes.len() == N),
    };
    Ok(bytes.unwrap_or_else(|| text.into_bytes()))
}
