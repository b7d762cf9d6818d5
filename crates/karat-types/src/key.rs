//! Content identities (invariant 4, identity is content): a key is what something *is*, never what it is called.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A 16-byte content identity: the first half of a BLAKE3 hash over domain-separated, length-prefixed fields.
///
/// 128 bits keep the chance of any collision among 10⁹ keys below 10⁻²⁰. Written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The identity of a byte string within a domain.
    pub fn of(domain: &str, bytes: &[u8]) -> Self {
        KeyBuilder::new(domain).bytes(bytes).finish()
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(str::from_utf8(&digits).unwrap_or_default())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// The text is not 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a key has 32 hexadecimal digits, this is {0:?}")]
pub struct ParseKeyError(pub String);

impl FromStr for Key {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseKeyError(text.to_owned());
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut key = [0; 16];
        for (byte, at) in key.iter_mut().zip((0..32).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(key))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The largest buffer that a thread keeps for its next key.
const MAX_KEPT_BUFFER: usize = 64 << 10;

thread_local! {
    /// A buffer for the fields of a key, reused because a cell has a dozen keys.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Builds a [`Key`] from fields. Every field is length-prefixed, so `("ab", "c")` and `("a", "bc")` differ.
///
/// Fields are gathered and hashed at once: a hasher that is fed piece by piece has 2 KiB of state.
pub struct KeyBuilder(Vec<u8>);

impl KeyBuilder {
    /// Starts a key in a domain such as `"karat/step/1"`; keys of different domains never meet.
    pub fn new(domain: &str) -> Self {
        Self(BUFFER.take()).bytes(domain.as_bytes())
    }

    /// Adds a byte string.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Adds another key.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.bytes(&key.0)
    }

    /// Adds a serialisable value as its JSON bytes. Field order is that of the type, so it is stable.
    ///
    /// # Panics
    /// Never: a value that cannot be written as JSON (a map with non-text keys) contributes its error text.
    #[must_use]
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.bytes(&bytes),
            Err(error) => self.text(&error.to_string()),
        }
    }

    /// Adds a JSON value: the same as [`json`](Self::json), but a text that needs no escapes, as most content of rows
    /// and outputs, is taken as it stands.
    #[must_use]
    pub fn value(mut self, value: &Value) -> Self {
        match value {
            Value::String(text) if is_plain(text) => {
                self.0.extend_from_slice(&(text.len() as u64 + 2).to_le_bytes());
                self.0.extend_from_slice(b"\"");
                self.0.extend_from_slice(text.as_bytes());
                self.0.extend_from_slice(b"\"");
                self
            }
            other => self.json(other),
        }
    }

    /// The key.
    pub fn finish(self) -> Key {
        let Self(mut fields) = self;
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(&fields).as_bytes()[..16]);
        if fields.capacity() <= MAX_KEPT_BUFFER {
            fields.clear();
            BUFFER.set(fields);
        }
        Key(key)
    }
}

/// Returns true if JSON writes the text without escapes. Works in pieces, so that each is one vector operation.
fn is_plain(text: &str) -> bool {
    let is_escaped = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    text.as_bytes().chunks(64).all(|piece| !piece.iter().fold(false, |found, byte| found | is_escaped(byte)))
}

/// Content of an output.
pub fn output_key(output: &Value) -> Key {
    KeyBuilder::new("karat/output/1").value(output).finish()
}

/// A number in [0, 1) that is fixed by a seed and an id: the first 8 bytes of `blake3(domain ‖ 0 ‖ seed ‖ 0 ‖ id)`, read
/// as a little-endian integer, over 2⁶⁴. The seed is 8 bytes, little-endian.
pub fn seeded_uniform(domain: &str, seed: u64, id: &[u8]) -> f64 {
    let text = [domain.as_bytes(), &[0], &seed.to_le_bytes(), &[0], id].concat();
    let hash = blake3::hash(&text);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    // 53 bits are what a double holds; all 64 could round up to 1.
    (u64::from_le_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Invariant 4, identity is content: identity is content, however it was hashed.
    #[test]
    fn a_value_has_the_key_of_its_json() {
        let texts = ["", "plain", "ä€😀", "a \"quote\"", "back\\slash", "line\nbreak", "\u{7f}", "\u{1}"];
        let long = "x".repeat(200) + "\t";
        let values = texts.iter().copied().chain([long.as_str(), &long[..200]]).map(Value::from);
        for value in values.chain([json!(null), json!({"a": ["b", 1.5]})]) {
            let of = |key: KeyBuilder| key.finish();
            assert_eq!(of(KeyBuilder::new("d").value(&value)), of(KeyBuilder::new("d").json(&value)), "{value}");
        }
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let one = KeyBuilder::new("d").text("ab").text("c").finish();
        let other = KeyBuilder::new("d").text("a").text("bc").finish();
        assert_ne!(one, other);
    }

    #[test]
    fn text_form_round_trips() {
        let key = Key::of("d", b"x");
        assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
        assert!("zz".parse::<Key>().is_err());
    }
}
