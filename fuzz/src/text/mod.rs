//! Texts of users and models.

pub mod judge;
pub mod ladder;
pub mod metrics;
pub mod numbers;
pub mod templates;

/// Bytes as text; damaged characters are replaced, so that every input counts.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two texts in one input, with a zero byte between them.
pub fn pair(bytes: &[u8]) -> (String, String) {
    let middle = bytes.iter().position(|byte| *byte == 0);
    let (one, other) = middle.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + 1..]));
    (lossy(one), lossy(other))
}
