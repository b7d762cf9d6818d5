//! Quick estimates of the number of tokens in texts, images and files.

use karat_text::chunking::tokens::Tokenizer;
use karat_types::{ChatRequest, ImageTokens, Media, MediaSource, ModelSpec};

/// Tokens of an image of a model whose rule is unknown: more than any provider counts for one.
const UNKNOWN_IMAGE: u64 = 16_000;

/// Tokens of a page of a PDF.
const PDF_PAGE: u64 = 3_000;

/// Estimated tokens of a text: four ASCII characters per token, one character of any other script.
pub(crate) fn estimate_tokens(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len().div_ceil(4) as u64;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|char| !char.is_ascii()).count() as u64;
    ascii.div_ceil(4) + other
}

/// Returns true if the built-in tokenizer is that of a model: of OpenAI's models since gpt-4o, by their names.
pub(crate) fn has_own_tokenizer(model: &ModelSpec) -> bool {
    let name = model.model.rsplit('/').next().unwrap_or(&model.model);
    let is_o_series = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_o_series
        || ["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o"]
            .iter()
            .any(|begin| name.starts_with(begin))
}

/// The tokens of a text that its provider did not count: with the model's tokenizer if it is the built-in one, else four
/// bytes a token.
pub(crate) fn count_tokens(model: Option<&ModelSpec>, text: &str) -> u64 {
    let tokens = match model.is_some_and(has_own_tokenizer) {
        true => Tokenizer::plan().count(text),
        false => text.len().div_ceil(4),
    };
    tokens as u64
}

/// The tokens of a request that its provider did not count.
pub(crate) fn request_tokens(request: &ChatRequest, model: &ModelSpec) -> u64 {
    let mut text = String::new();
    for message in &request.messages {
        message.content.texts().for_each(|part| text.push_str(part));
        for call in &message.tool_calls {
            text.push_str(&call.name);
            text.push_str(&call.arguments_text());
        }
    }
    for tool in &request.tools {
        text.push_str(&tool.name);
        text.push_str(tool.about.as_deref().unwrap_or_default());
        text.push_str(&tool.input.to_string());
    }
    let media = request.messages.iter().flat_map(|message| message.content.media());
    count_tokens(Some(model), &text) + media.map(|media| media_tokens(media, model.image_tokens)).sum::<u64>()
}

/// The extent of an image or file, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaSize {
    /// Width and height of an image in pixels.
    Pixels(u64, u64),
    /// Pages of a PDF.
    Pages(u64),
    /// Bytes of any other file.
    Bytes(u64),
    Unknown,
}

impl MediaSize {
    /// The extent of bytes of this media type.
    pub fn of(bytes: &[u8], media_type: &str) -> Self {
        if media_type == "application/pdf" {
            return Self::Pages(pdf_pages(bytes));
        }
        if !media_type.starts_with("image/") {
            return Self::Bytes(bytes.len() as u64);
        }
        match karat_suite::image_size(bytes) {
            Some((width, height)) => Self::Pixels(width, height),
            None => Self::Unknown,
        }
    }

    /// Estimated tokens: min(most, ceil(width · height / per_pixels)) for an image.
    pub fn tokens(self, rule: Option<ImageTokens>) -> u64 {
        match (self, rule) {
            (Self::Pixels(width, height), Some(rule)) => {
                width.saturating_mul(height).div_ceil(rule.per_pixels.max(1)).min(rule.most)
            }
            (Self::Unknown, Some(rule)) => rule.most,
            (Self::Pixels(..) | Self::Unknown, None) => UNKNOWN_IMAGE,
            (Self::Pages(pages), _) => pages.saturating_mul(PDF_PAGE),
            (Self::Bytes(bytes), _) => bytes.div_ceil(4),
        }
    }
}

/// Pages of a PDF: its page objects, at least one. Those in compressed streams are not seen.
fn pdf_pages(bytes: &[u8]) -> u64 {
    let is_page = |at: usize| {
        let rest = bytes[at + 5..].trim_ascii_start();
        rest.strip_prefix(b"/Page").is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphabetic))
    };
    let types = bytes.windows(5).enumerate().filter(|(_, window)| *window == b"/Type");
    (types.filter(|(at, _)| is_page(*at)).count() as u64).max(1)
}

/// The largest number of input tokens of a request with a body of so many bytes: one a byte, and for images and files
/// what they are estimated at in the place of their base64.
pub(crate) fn most_input_tokens(bytes: usize, request: &ChatRequest, model: Option<&ModelSpec>) -> u64 {
    let media = request.messages.iter().flat_map(|message| message.content.media());
    let rule = model.and_then(|model| model.image_tokens);
    let (base64, tokens) = media.fold((0, 0), |(base64, tokens), media| {
        (base64 + media.size().div_ceil(3) * 4, tokens + media_tokens(media, rule))
    });
    bytes.saturating_sub(base64) as u64 + tokens
}

fn media_tokens(media: &Media, rule: Option<ImageTokens>) -> u64 {
    match &media.source {
        MediaSource::Blob(blob) => {
            MediaSize::of(&blob.content, media.media_type.as_deref().unwrap_or_default()).tokens(rule)
        }
        MediaSource::Url(_) | MediaSource::Path(_) => MediaSize::Unknown.tokens(rule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-05: an image counts by its pixels up to a maximum, one of a model without a rule as 16,000, a PDF by its pages.
    #[test]
    fn media_are_estimated_by_their_extent() {
        let rule = Some(ImageTokens { most: 1600, per_pixels: 750 });
        assert_eq!(MediaSize::Pixels(100, 76).tokens(rule), 11);
        assert_eq!(MediaSize::Pixels(4000, 3000).tokens(rule), 1600);
        assert_eq!(MediaSize::Unknown.tokens(rule), 1600);
        assert_eq!(MediaSize::Pixels(1, 1).tokens(None), 16_000);
        let pdf = b"%PDF /Type /Pages x /Type /Page x /Type/Page>>";
        assert_eq!(MediaSize::of(pdf, "application/pdf"), MediaSize::Pages(2));
        assert_eq!(MediaSize::Pages(2).tokens(rule), 6_000);
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 0, 200, 0, 0, 0, 100, 8, 6, 0, 0, 0]);
        assert_eq!(MediaSize::of(&png, "image/png"), MediaSize::Pixels(200, 100));
    }
}
