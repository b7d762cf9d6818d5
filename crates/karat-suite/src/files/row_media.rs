//! Images and files of prompts: templates of where they are, and their bytes.

use std::io::{ErrorKind, Read};

use karat_text::template::{Context, Template, TemplateError};
use karat_types::{Blob, FilePath, Media, MediaSource, PromptMedia};

use super::{Files, RowPath, is_outside};
use crate::conversation::{MAX_MEDIA_BYTES, media_of, media_type_of};

/// A compiled image or file of a prompt.
#[derive(Debug, Clone)]
pub struct RowMedia {
    source: SourceTemplate,
    detail: Option<Template>,
    media: Option<String>,
}

#[derive(Debug, Clone)]
enum SourceTemplate {
    /// A path, unless the row holds an address.
    Path(RowPath),
    /// An address or base64.
    Text(Template),
}

impl RowMedia {
    /// Compiles the templates of an image or file.
    ///
    /// # Errors
    /// A template has a syntax error.
    pub fn compile(spec: &PromptMedia) -> Result<Self, TemplateError> {
        let source = match spec.is_path() {
            true => SourceTemplate::Path(RowPath::compile(&spec.source)?),
            false => SourceTemplate::Text(Template::compile(&spec.source)?),
        };
        let detail = spec.detail.as_deref().map(Template::compile).transpose()?;
        Ok(Self { source, detail, media: spec.media.clone() })
    }

    /// The image or file of a row. Its bytes are not read.
    ///
    /// # Errors
    /// A template reads what is not there, or the row's value is not an address, base64 or path.
    pub fn render(&self, context: &Context) -> Result<Media, String> {
        let text = |template: &Template| template.render(context).map_err(|error| error.to_string());
        let mut media = match &self.source {
            SourceTemplate::Text(template) => media_of(&text(template)?, self.media.as_deref(), "")?,
            SourceTemplate::Path(path) => {
                let path = path.render(context).map_err(|error| error.to_string())?;
                let mut media = media_of(&path.path, None, path.beneath.as_deref().unwrap_or_default())?;
                if let MediaSource::Path(known) = &mut media.source {
                    *known = path;
                }
                media
            }
        };
        media.detail = self.detail.as_ref().map(text).transpose()?;
        Ok(media)
    }
}

/// The part of a prompt that an image or file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// An image: PNG, JPEG, GIF or WebP.
    Image,
    /// Any file.
    File,
}

/// Reads the bytes of an image or file where it is a path, and finds out what it is. An address stays one.
///
/// # Errors
/// There is no such file, it leads out of its folder, it is too large, or an image is of another form.
pub fn read_media(files: &dyn Files, media: &Media, kind: MediaKind) -> Result<Media, String> {
    let (blob, name) = match &media.source {
        MediaSource::Url(_) => return Ok(media.clone()),
        MediaSource::Blob(blob) => (blob.clone(), "the image"),
        MediaSource::Path(path) => (Blob::new(read_file(files, path, MAX_MEDIA_BYTES)?.into()), path.path.as_str()),
    };
    let media_type = known_type(&blob.content, media.media_type.as_deref(), name, kind)?;
    Ok(Media { source: MediaSource::Blob(blob), media_type: Some(media_type), ..media.clone() })
}

/// Adds the bytes of an image or file to a digest. An address adds nothing: its text stands in the row.
///
/// # Errors
/// As [`read_media`].
pub(crate) fn digest_media(
    files: &dyn Files,
    media: &Media,
    kind: MediaKind,
    digest: &mut blake3::Hasher,
) -> Result<(), String> {
    let MediaSource::Path(path) = &media.source else { return Ok(()) };
    let bytes = read_file(files, path, MAX_MEDIA_BYTES)?;
    digest.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    known_type(&bytes, media.media_type.as_deref(), &path.path, kind).map(drop)
}

fn known_type(bytes: &[u8], declared: Option<&str>, name: &str, kind: MediaKind) -> Result<String, String> {
    let sniffed = media_type_of(bytes);
    match (kind, sniffed, declared) {
        (MediaKind::Image, Some(sniffed), _) if sniffed.starts_with("image/") => Ok(sniffed.to_owned()),
        (MediaKind::Image, _, _) => Err(format!("`{name}` is none of PNG, JPEG, GIF, WebP")),
        (MediaKind::File, _, Some(declared)) => Ok(declared.to_owned()),
        (MediaKind::File, Some(sniffed), None) => Ok(sniffed.to_owned()),
        (MediaKind::File, None, None) => Ok(type_by_name(name).to_owned()),
    }
}

fn type_by_name(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "txt" | "md" => "text/plain",
        "csv" => "text/csv",
        "json" => "application/json",
        "html" | "htm" => "text/html",
        _ => "application/octet-stream",
    }
}

fn read_file(files: &dyn Files, path: &FilePath, limit: usize) -> Result<Vec<u8>, String> {
    let bytes = open_file(files, path, limit + 1)?;
    match bytes.len() > limit {
        true => Err(format!("`{}` has more than {} MiB", path.path, limit >> 20)),
        false => Ok(bytes),
    }
}

/// The first bytes of a file.
fn open_file(files: &dyn Files, path: &FilePath, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = files.open_path(path).and_then(|file| file.take(most as u64).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) if is_outside(&error) => Err(format!("`{}` leaves the dataset's folder", path.path)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.beneath.as_deref().filter(|folder| !folder.is_empty() && *folder != ".");
            let looked = folder.map(|folder| format!(" (looked in {}/)", folder.trim_end_matches('/')));
            Err(format!("no file `{}`{}", path.path, looked.unwrap_or_default()))
        }
        Err(error) => Err(format!("the file `{}` cannot be read: {error}", path.path)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::DiskFiles;

    fn rendered(source: &str, row: &serde_json::Value) -> Result<Media, String> {
        let spec = PromptMedia { source: source.to_owned(), detail: None, media: None };
        RowMedia::compile(&spec).unwrap().render(&Context::new().with("sample", row))
    }

    /// TG-02: a path of a row stays beneath its folder, and an address of a row is one.
    #[test]
    fn paths_of_rows_stay_beneath_their_folder() {
        let media = |photo: &str| rendered("data/{{ sample.photo }}", &json!({ "photo": photo })).unwrap();
        assert_eq!(media("img/3.png").source, MediaSource::Path(FilePath::beneath("data", "img/3.png")));
        assert_eq!(media("https://h/a.png").source, MediaSource::Url("https://h/a.png".to_owned()));
        assert!(matches!(media("data:image/png;base64,iVBORw==").source, MediaSource::Blob(_)));
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display();
        std::fs::write(folder.path().join("a.bmp"), "BM").unwrap();
        std::fs::write(folder.path().join("a.png"), b"\x89PNG").unwrap();
        let read = |path: &str| {
            let media = rendered(&format!("{root}/{{{{ sample.p }}}}"), &json!({ "p": path })).unwrap();
            assert_eq!(
                digest_media(&DiskFiles, &media, MediaKind::Image, &mut blake3::Hasher::new()).err(),
                read_media(&DiskFiles, &media, MediaKind::Image).err()
            );
            read_media(&DiskFiles, &media, MediaKind::Image)
        };
        assert_eq!(read("a.png").unwrap().media_type.as_deref(), Some("image/png"));
        assert_eq!(read("b.png").unwrap_err(), format!("no file `b.png` (looked in {root}/)"));
        assert_eq!(read("a.bmp").unwrap_err(), "`a.bmp` is none of PNG, JPEG, GIF, WebP");
        assert_eq!(read("../x.png").unwrap_err(), "`../x.png` leaves the dataset's folder");
    }
}
