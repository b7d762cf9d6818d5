//! The size of a request before it is read. A limit of bytes is none: an empty span takes two bytes in protobuf and a
//! hundred times that in memory, and a compressed request is a thousand times smaller again.

use std::fmt;
use std::marker::PhantomData;

use prost::encoding::{WireType, decode_key, decode_varint};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Nested messages that protobuf allows.
const DEEPEST: u32 = 100;

/// The form of a request and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`
    Json,
    /// `application/x-protobuf`
    Protobuf,
}

/// A request with more in it than is read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// More spans.
    #[error("the request holds more than {0} spans: send them in several requests")]
    Spans(usize),
    /// More values in its spans.
    #[error("the request holds more than {0} values: send its spans in several requests")]
    Values(usize),
}

/// Limits of a request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Spans.
    pub spans: usize,
    /// Attributes, events, and values in them, with the objects that hold them.
    pub values: usize,
}

impl Default for Limits {
    /// Those of a file that a person imports.
    fn default() -> Self {
        Self { spans: usize::MAX, values: 20_000_000 }
    }
}

impl Limits {
    /// # Errors
    /// The request is larger. Bytes that are no request are left to its reader.
    pub(crate) fn check(self, bytes: &[u8], encoding: Encoding) -> Result<(), TooLarge> {
        let size = match encoding {
            Encoding::Json if holds_more_values(bytes, self.values) => Size { values: usize::MAX, spans: 0 },
            Encoding::Json => Size { values: 0, spans: spans_of_json(bytes, self.spans) },
            Encoding::Protobuf => {
                let mut size = Size::default();
                size.add(bytes, Message::Request, DEEPEST, self);
                size
            }
        };
        match () {
            () if size.spans > self.spans => Err(TooLarge::Spans(self.spans)),
            () if size.values > self.values => Err(TooLarge::Values(self.values)),
            () => Ok(()),
        }
    }
}

/// Returns whether a JSON text holds more values than these, by the marks between them.
pub fn holds_more_values(text: &[u8], most: usize) -> bool {
    // A value takes two bytes at least.
    if text.len() / 2 <= most {
        return false;
    }
    let (mut count, mut is_in_text, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_text => is_escaped = true,
            b'"' => is_in_text = !is_in_text,
            b',' | b'[' | b'{' if !is_in_text => count += 1,
            _ => {}
        }
    }
    count > most
}

fn spans_of_json(text: &[u8], most: usize) -> usize {
    // A span takes three bytes at least.
    if text.len() / 3 <= most {
        return 0;
    }
    serde_json::from_slice::<RequestHead>(text).map_or(0, |request| request.resource_spans.count)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequestHead {
    resource_spans: Counted<ResourceHead>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceHead {
    scope_spans: Counted<ScopeHead>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ScopeHead {
    spans: Counted<IgnoredAny>,
}

/// The spans in a list, which is not kept.
struct Counted<T> {
    count: usize,
    of: PhantomData<T>,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { count: 0, of: PhantomData }
    }
}

trait Spans {
    fn spans(&self) -> usize;
}

impl Spans for IgnoredAny {
    fn spans(&self) -> usize {
        1
    }
}

impl Spans for ScopeHead {
    fn spans(&self) -> usize {
        self.spans.count
    }
}

impl Spans for ResourceHead {
    fn spans(&self) -> usize {
        self.scope_spans.count
    }
}

impl<'de, T: Spans + Deserialize<'de>> Deserialize<'de> for Counted<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self::default())
    }
}

impl<'de, T: Spans + Deserialize<'de>> Visitor<'de> for Counted<T> {
    type Value = Self;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(item) = list.next_element::<T>()? {
            self.count += item.spans();
        }
        Ok(self)
    }
}

/// The messages of a request.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Request,
    ResourceSpans,
    /// A program, which has attributes as a list of names and values does.
    Resource,
    ScopeSpans,
    Span,
    Event,
    KeyValue,
    Value,
    List,
    Map,
    Status,
}

impl Message {
    /// The message in a field.
    fn field(self, tag: u32) -> Option<Self> {
        Some(match (self, tag) {
            (Self::Request, 1) => Self::ResourceSpans,
            (Self::ResourceSpans, 1) => Self::Resource,
            (Self::ResourceSpans, 2) => Self::ScopeSpans,
            (Self::ScopeSpans, 2) => Self::Span,
            (Self::Span, 9) | (Self::Resource | Self::Map, 1) | (Self::Event, 3) => Self::KeyValue,
            (Self::Span, 11) => Self::Event,
            (Self::Span, 15) => Self::Status,
            (Self::KeyValue, 2) | (Self::List, 1) => Self::Value,
            (Self::Value, 5) => Self::List,
            (Self::Value, 6) => Self::Map,
            _ => return None,
        })
    }
}

#[derive(Default)]
struct Size {
    spans: usize,
    values: usize,
}

impl Size {
    /// Adds what a message of protobuf holds, until it is too much. Ends at bytes that are no such message.
    fn add(&mut self, mut bytes: &[u8], message: Message, depth: u32, limits: Limits) {
        while depth > 0 && !bytes.is_empty() && self.spans <= limits.spans && self.values <= limits.values {
            let Ok((tag, wire)) = decode_key(&mut bytes) else { return };
            let length = match wire {
                WireType::Varint if decode_varint(&mut bytes).is_ok() => 0,
                WireType::SixtyFourBit => 8,
                WireType::ThirtyTwoBit => 4,
                WireType::LengthDelimited => decode_varint(&mut bytes).map_or(usize::MAX, |length| length as usize),
                _ => return,
            };
            let Some((field, rest)) = bytes.split_at_checked(length) else { return };
            bytes = rest;
            if wire != WireType::LengthDelimited {
                continue;
            }
            if let Some(inner) = message.field(tag) {
                self.values += 1;
                self.spans += usize::from(inner == Message::Span);
                self.add(field, inner, depth - 1, limits);
            }
        }
    }
}
