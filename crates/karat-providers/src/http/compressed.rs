//! Detection of compressed answers, which Karat does not request.

use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Magic numbers of compression formats that have one.
const BEGINNINGS: [(&str, &[u8]); 2] = [("gzip", &[0x1f, 0x8b]), ("zstd", &[0x28, 0xb5, 0x2f, 0xfd])];

/// Compression formats that a header may name.
const NAMES: [&str; 4] = ["br", "deflate", "gzip", "zstd"];

/// The compression that the headers name.
pub(crate) fn named_compression(headers: &HeaderMap) -> Option<&'static str> {
    let encodings = headers.get(CONTENT_ENCODING)?.to_str().ok()?;
    NAMES.into_iter().find(|name| encodings.split(',').any(|word| word.trim().eq_ignore_ascii_case(name)))
}

/// Returns the compression of a body. A text is not compressed, whatever the headers say: gateways unpack bodies and
/// leave the header.
pub(crate) fn detect_compression(named: Option<&'static str>, body: &[u8]) -> Option<&'static str> {
    let begins = BEGINNINGS.into_iter().find(|(_, beginning)| body.starts_with(beginning));
    begins.map(|(name, _)| name).or(named.filter(|_| std::str::from_utf8(body).is_err()))
}
