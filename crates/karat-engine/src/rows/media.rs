//! Images and files of requests: what they are, for identities and estimates, and their bytes, for requests.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use karat_suite::{Files, MediaKind, read_media};
use karat_types::{ChatRequest, Content, FilePath, Key, KeyBuilder, Media, MediaSource, ModelSpec, Part};

use crate::plan::tokens;

/// Most paths whose identities are kept: rows come in order, so an earlier row's images are not asked for again.
const MOST_KNOWN: usize = 4096;

/// The identities of the images and files of a run, by path: those of nearby rows are read once.
#[derive(Debug, Default)]
pub(crate) struct MediaFacts(Mutex<HashMap<(FilePath, bool), Result<MediaFact, String>>>);

#[derive(Debug, Clone)]
struct MediaFact {
    /// Kind, media type and digest.
    key: Key,
    size: tokens::MediaSize,
}

impl MediaFacts {
    /// Adds what images and files are to a key: their kind, media type, detail and bytes, never where they are.
    pub fn key(&self, files: &dyn Files, row: Key, media: &[(MediaKind, Result<Media, String>)]) -> Key {
        let mut key = KeyBuilder::new("karat/media-row/1").key(row);
        for (kind, media) in media {
            key = match media {
                Ok(media) => {
                    let detail = media.detail.as_deref().unwrap_or_default();
                    match self.fact(files, media, *kind) {
                        Ok(fact) => key.key(fact.key).text(detail),
                        Err(problem) => key.text(&problem),
                    }
                }
                Err(problem) => key.text(problem),
            };
        }
        key.finish()
    }

    /// Estimated tokens of the images and files of a request.
    pub fn tokens(&self, files: &dyn Files, request: &ChatRequest, model: Option<&ModelSpec>) -> u64 {
        let rule = model.and_then(|model| model.image_tokens);
        let tokens = |(kind, media): (MediaKind, &Media)| match self.fact(files, media, kind) {
            Ok(fact) => fact.size.tokens(rule),
            Err(_) => 0,
        };
        media_of(request).map(tokens).sum()
    }

    fn fact(&self, files: &dyn Files, media: &Media, kind: MediaKind) -> Result<MediaFact, String> {
        let MediaSource::Path(path) = &media.source else { return MediaFact::read(files, media, kind) };
        let place = (path.clone(), kind == MediaKind::Image);
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place) {
            return known.clone();
        }
        let fact = MediaFact::read(files, media, kind);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(place, fact.clone());
        fact
    }
}

impl MediaFact {
    fn read(files: &dyn Files, media: &Media, kind: MediaKind) -> Result<Self, String> {
        let key = KeyBuilder::new("karat/media/1").text(if kind == MediaKind::Image { "image" } else { "file" });
        let read = read_media(files, media, kind)?;
        let (key, size) = match &read.source {
            MediaSource::Blob(blob) => {
                let media_type = read.media_type.as_deref().unwrap_or_default();
                (key.text(media_type).text(&blob.digest), tokens::MediaSize::of(&blob.content, media_type))
            }
            MediaSource::Url(url) => (key.text("url").text(url), tokens::MediaSize::Unknown),
            MediaSource::Path(_) => (key, tokens::MediaSize::Unknown),
        };
        Ok(Self { key: key.finish(), size })
    }
}

/// The images and files of a request.
fn media_of(request: &ChatRequest) -> impl Iterator<Item = (MediaKind, &Media)> {
    let parts = request.messages.iter().flat_map(|message| match &message.content {
        Content::Text(_) => [].as_slice(),
        Content::Parts(parts) => parts,
    });
    parts.filter_map(|part| match part {
        Part::Text(_) => None,
        Part::Image(media) => Some((MediaKind::Image, media)),
        Part::File(media) => Some((MediaKind::File, media)),
    })
}

/// The request with the bytes of its images and files.
///
/// # Errors
/// One of them cannot be read.
pub(crate) fn with_bytes(files: &dyn Files, request: &ChatRequest) -> Result<ChatRequest, String> {
    let mut request = request.clone();
    for message in &mut request.messages {
        let Content::Parts(parts) = &mut message.content else { continue };
        for part in parts {
            match part {
                Part::Text(_) => {}
                Part::Image(media) => *media = read_media(files, media, MediaKind::Image)?,
                Part::File(media) => *media = read_media(files, media, MediaKind::File)?,
            }
        }
    }
    Ok(request)
}
