//! A quick estimate of the number of tokens in a text.

/// Estimated tokens of a text: four ASCII characters per token, one character of any other script.
pub(crate) fn estimate_tokens(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len().div_ceil(4) as u64;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|char| !char.is_ascii()).count() as u64;
    ascii.div_ceil(4) + other
}
