//! Answers that are compressed, which nobody has asked for.

use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// How what is compressed begins, where that is always the same.
const BEGINNINGS: [(&str, &[u8]); 2] = [("gzip", &[0x1f, 0x8b]), ("zstd", &[0x28, 0xb5, 0x2f, 0xfd])];

/// Compressions that an answer may name.
const NAMES: [&str; 4] = ["br", "deflate", "gzip", "zstd"];

/// The compression that the head of an answer names.
pub(crate) fn named(headers: &HeaderMap) -> Option<&'static str> {
    let said = headers.get(CONTENT_ENCODING)?.to_str().ok()?;
    NAMES.into_iter().find(|name| said.split(',').any(|word| word.trim().eq_ignore_ascii_case(name)))
}

/// How a body is compressed. A text is not, whatever was `named`: gateways unpack bodies and leave the header.
pub(crate) fn compression(named: Option<&'static str>, body: &[u8]) -> Option<&'static str> {
    let begins = BEGINNINGS.into_iter().find(|(_, beginning)| body.starts_with(beginning));
    begins.map(|(name, _)| name).or(named.filter(|_| std::str::from_utf8(body).is_err()))
}
