//! Images and files: where their bytes are, and what they are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use karat_types::{Blob, FilePath, Media, MediaSource};

/// The largest image or file, in bytes.
pub const MAX_MEDIA_BYTES: usize = 20 << 20;

/// An image or file from its text: an address, a `data:` address, base64 where a media type is given, else a path
/// relative to `folder`.
///
/// # Errors
/// The text is not a base64, or holds too many bytes.
pub fn media_of(source: &str, media_type: Option<&str>, folder: &str) -> Result<Media, String> {
    let media = |source, media_type: Option<&str>| Media {
        source,
        media_type: media_type.map(str::to_owned),
        detail: None,
        name: None,
    };
    if source.starts_with("https://") || source.starts_with("http://") {
        return Ok(media(MediaSource::Url(source.to_owned()), None));
    }
    if let Some(rest) = source.strip_prefix("data:") {
        let (head, base64) = rest.split_once(',').ok_or("the `data:` address has no comma")?;
        let declared = head.strip_suffix(";base64").ok_or("the `data:` address is not base64")?;
        let declared = Some(declared).filter(|declared| !declared.is_empty());
        return Ok(media(blob(base64)?, declared));
    }
    if media_type.is_some() {
        return Ok(media(blob(source)?, media_type));
    }
    let name = source.rsplit('/').next().unwrap_or(source).to_owned();
    Ok(Media { name: Some(name), ..media(MediaSource::Path(FilePath::beneath(folder, source)), None) })
}

fn blob(base64: &str) -> Result<MediaSource, String> {
    if base64.len() / 4 * 3 > MAX_MEDIA_BYTES {
        return Err(too_large());
    }
    let bytes = STANDARD.decode(base64.trim()).map_err(|error| format!("it is not base64: {error}"))?;
    Ok(MediaSource::Blob(Blob::new(bytes.into())))
}

/// The message for an image or file that is too large.
fn too_large() -> String {
    format!("it has more than {} MiB", MAX_MEDIA_BYTES >> 20)
}

/// Width and height of an image in pixels, by its header.
pub fn image_size(bytes: &[u8]) -> Option<(u64, u64)> {
    let size = imagesize::blob_size(bytes).ok()?;
    Some((size.width as u64, size.height as u64))
}

/// The media type of bytes by their beginning: PNG, JPEG, GIF, WebP and PDF.
pub fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', ..] => Some("application/pdf"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-02: an image is an address, a `data:` address, base64 beside its type, or a path of the dataset.
    #[test]
    fn sources_are_told_apart() {
        let source = |text, kind| media_of(text, kind, "data").unwrap().source;
        assert_eq!(source("https://h/a.png", None), MediaSource::Url("https://h/a.png".to_owned()));
        let png = MediaSource::Blob(Blob::new(vec![0x89, b'P', b'N', b'G'].into()));
        assert_eq!(source("data:image/png;base64,iVBORw==", None), png);
        assert_eq!(source("iVBORw==", Some("image/png")), png);
        assert_eq!(source("img/3.png", None), MediaSource::Path(FilePath::beneath("data", "img/3.png")));
        assert_eq!(media_of("img/3.png", None, "data").unwrap().name.as_deref(), Some("3.png"));
        for wrong in ["data:image/png,x", "data:image/png;base64,%%", "data:x"] {
            assert!(media_of(wrong, None, "").is_err(), "{wrong}");
        }
    }

    #[test]
    fn types_are_known_by_content() {
        assert_eq!(media_type_of(b"\x89PNG\r\n"), Some("image/png"));
        assert_eq!(media_type_of(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type_of(b"BM......"), None);
    }
}
