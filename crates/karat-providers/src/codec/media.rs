//! Images and files in request bodies: as base64 in what is sent, as their digest in what is stored.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use karat_types::{Blob, Media, MediaSource};
use serde::ser::Error;
use serde::{Serialize, Serializer};

/// The form in which a body holds bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm {
    /// Base64, as providers read it.
    Sent,
    /// `{"$blob": …, "bytes": N}`, as captures hold it.
    Stored,
}

/// The media type of bytes of which nothing is known.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The media type of an image or file.
pub(crate) fn media_type(media: &Media) -> &str {
    media.media_type.as_deref().unwrap_or(UNKNOWN_TYPE)
}

/// The bytes of an image or file.
///
/// # Errors
/// It has none: it is an address that the provider would have to fetch, or a file that was not read.
pub(crate) fn blob<E: Error>(media: &Media) -> Result<&Blob, E> {
    match &media.source {
        MediaSource::Blob(blob) => Ok(blob),
        MediaSource::Url(url) => {
            Err(E::custom(format!("gemini takes no image by address ({url}); make it a file by a column's `fetch`")))
        }
        MediaSource::Path(path) => Err(E::custom(format!("the file {path} was not read; this is a bug in karat"))),
    }
}

/// The base64 of bytes.
pub(crate) struct Base64<'a> {
    pub blob: &'a Blob,
    pub form: MediaForm,
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.form {
            MediaForm::Sent => serializer.collect_str(&Base64Display::new(&self.blob.content, &STANDARD)),
            MediaForm::Stored => self.blob.serialize(serializer),
        }
    }
}

/// An image or file as an address: its own, or a `data:` address of its bytes.
pub(crate) struct Address<'a> {
    pub media: &'a Media,
    pub form: MediaForm,
}

impl Serialize for Address<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let MediaSource::Url(url) = &self.media.source {
            return serializer.serialize_str(url);
        }
        let blob = blob(self.media)?;
        match self.form {
            MediaForm::Sent => {
                let base64 = Base64Display::new(&blob.content, &STANDARD);
                serializer.collect_str(&format_args!("data:{};base64,{base64}", media_type(self.media)))
            }
            MediaForm::Stored => blob.serialize(serializer),
        }
    }
}
