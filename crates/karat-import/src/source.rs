//! Reads the imported file, and files that it names, below its folder.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use karat_types::json;
use serde_json::Value;
use serde_saphyr::options::MergeKeyPolicy;

use crate::error::ImportError;

/// First line of a file that Git LFS holds elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// Maximum size of a file that is read at once, in bytes.
const MAX_FILE: u64 = 512 << 20;

/// Maximum length of a line, in bytes.
const MAX_LINE: u64 = 128 << 20;

/// The imported file or folder.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file or folder, as given.
    path: PathBuf,
    /// The folder, or that of the file.
    own: PathBuf,
    /// The folder that nothing is read outside of.
    root: PathBuf,
    /// Hash of all that was read, in order: name and hash of each file.
    read: RefCell<blake3::Hasher>,
}

impl Source {
    /// Opens a file or folder; files that it names are read below `root`, or below the current folder if it lies there.
    ///
    /// # Errors
    /// A path that does not exist, or lies outside of `root`.
    pub fn open(path: &Path, root: Option<&Path>) -> Result<Self, ImportError> {
        let canonical = |path: &Path| fs::canonicalize(path).map_err(|error| ImportError::reading(path, &error));
        let whole = canonical(path)?;
        check_kind(&whole).map_err(|problem| {
            ImportError::new(path.display(), problem).with_hint("write its content to a file and import that")
        })?;
        let own = if whole.is_dir() { whole.clone() } else { whole.parent().map(Path::to_owned).unwrap_or_default() };
        let root = match root {
            Some(root) => {
                let root_path = canonical(root)?;
                if !own.starts_with(&root_path) {
                    let problem = format!("lies outside of the folder {}", root.display());
                    return Err(ImportError::new(path.display(), problem)
                        .with_hint("name a folder above the file with `--root`"));
                }
                root_path
            }
            None => {
                let current = std::env::current_dir().ok().and_then(|folder| fs::canonicalize(folder).ok());
                // The folder from which one imports is as good a limit as the file's own, unless it is narrower.
                let widest = registry_above(&own).unwrap_or_else(|| own.clone());
                current.filter(|current| widest.starts_with(current)).unwrap_or(widest)
            }
        };
        Ok(Self { path: path.to_owned(), own, root, read: RefCell::default() })
    }

    /// Returns true if a file lies below the folder that files are read in.
    pub fn is_within(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|whole| whole.starts_with(&self.root))
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the file or folder.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Name of the file or folder without its ending.
    pub fn stem(&self) -> String {
        self.path.file_stem().map_or_else(|| "import".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Name of the folder that the file lies in, or of the folder itself.
    pub fn folder_name(&self) -> Option<String> {
        self.own.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Files directly in the folder, by name; just the file itself where a file is imported.
    pub fn files(&self) -> Result<Vec<PathBuf>, ImportError> {
        if !self.path.is_dir() {
            return Ok(vec![self.path.clone()]);
        }
        let unreadable = |error: io::Error| ImportError::reading(&self.path, &error);
        let entries =
            fs::read_dir(&self.path).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// The path of a file that the source names, relative to `from`, the file that names it.
    ///
    /// # Errors
    /// A path outside of the imported file's folder, or of nothing.
    pub fn beneath(&self, from: &Path, name: &str) -> Result<PathBuf, ImportError> {
        let folder = if from.is_dir() { from } else { from.parent().unwrap_or(Path::new("")) };
        let outside = || {
            let problem = format!("names the file `{name}`, which lies outside of {}", self.root.display());
            ImportError::new(from.display(), problem)
                .with_hint("name a folder that holds all files with `--root DIR`, or import from there")
        };
        if Path::new(name).components().any(|part| matches!(part, Component::RootDir | Component::Prefix(_))) {
            return Err(outside());
        }
        let path = folder.join(name);
        let whole = fs::canonicalize(&path).map_err(|error| {
            ImportError::new(from.display(), format!("names the file `{name}`, which cannot be read: {error}"))
        })?;
        if !whole.starts_with(&self.root) {
            return Err(outside());
        }
        check_kind(&whole)
            .map_err(|problem| ImportError::new(from.display(), format!("names the file `{name}`, which {problem}")))?;
        Ok(path)
    }

    /// The bytes of a file of at most 512 MiB.
    pub fn bytes(&self, path: &Path) -> Result<Vec<u8>, ImportError> {
        let mut bytes = Vec::new();
        self.reader(path)?
            .take(MAX_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| ImportError::reading(path, &error))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(ImportError::new(path.display(), "is larger than 512 MiB"));
        }
        let mut read = self.read.borrow_mut();
        read.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        read.update(blake3::hash(&bytes).as_bytes());
        Ok(bytes)
    }

    /// Counts a file that is streamed among those that were read.
    pub fn include(&self, path: &Path) -> Result<(), ImportError> {
        let mut hasher = blake3::Hasher::new();
        let file = File::open(path).map_err(|error| ImportError::reading(path, &error))?;
        hasher.update_reader(file).map_err(|error| ImportError::reading(path, &error))?;
        let mut read = self.read.borrow_mut();
        read.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        read.update(hasher.finalize().as_bytes());
        Ok(())
    }

    /// A reader of a large file, for sources that are streamed; refuses a Git LFS pointer.
    pub fn reader(&self, path: &Path) -> Result<BufReader<File>, ImportError> {
        let unreadable = |error: io::Error| ImportError::reading(path, &error);
        let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
        if reader.fill_buf().map_err(unreadable)?.starts_with(LFS_POINTER) {
            let problem = "is a pointer of Git LFS and not the file itself";
            return Err(ImportError::new(path.display(), problem).at_line(1).with_hint("fetch it with `git lfs pull`"));
        }
        Ok(reader)
    }

    /// Reads a line of a file, of at most 128 MiB, with its end. Returns its length, 0 at the end of the file.
    pub fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
        let length = reader.by_ref().take(MAX_LINE + 1).read_until(b'\n', line)?;
        match length as u64 > MAX_LINE {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 128 MiB")),
            false => Ok(length),
        }
    }

    /// The text of a file.
    pub fn text(&self, path: &Path) -> Result<String, ImportError> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8(bytes).map_err(|broken| {
            let valid = &broken.as_bytes()[..broken.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            ImportError::new(path.display(), "is not UTF-8 text").at_line(line).with_hint("save the file as UTF-8")
        })?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    /// A JSON file.
    pub fn json(&self, path: &Path) -> Result<Value, ImportError> {
        let text = self.text(path)?;
        json::parse(&text).map_err(|error| invalid_json(path, &error))
    }

    /// A YAML or JSON file.
    pub fn yaml(&self, path: &Path) -> Result<Value, ImportError> {
        let text = self.text(path)?;
        // As the tools' own readers do: `no` and `y` are texts, `<<` merges.
        let options = serde_saphyr::options! {
            merge_keys: MergeKeyPolicy::Merge, strict_booleans: true, emit_comments: false
        };
        serde_saphyr::from_str_with_options(&text, options).map_err(|error: serde_saphyr::Error| {
            let line = error.location().map_or(1, |location| location.line() as usize);
            let problem = error.without_snippet().to_string();
            let problem = match problem.lines().next().unwrap_or_default() {
                // The reader ends where a small file stands for a huge one.
                limit if limit.starts_with("budget breached") => {
                    let problem = "is nested more deeply, or repeats more by anchors, than is read";
                    return ImportError::new(path.display(), problem).at_line(line);
                }
                problem => format!("is not valid YAML: {problem}"),
            };
            ImportError::new(path.display(), problem).at_line(line)
        })
    }

    /// Hash of what was read so far; of a single file, the hash of its bytes.
    pub fn hash(&self) -> Result<String, ImportError> {
        if self.path.is_dir() {
            return Ok(self.read.borrow().finalize().to_hex().to_string());
        }
        let mut hasher = blake3::Hasher::new();
        let file = File::open(&self.path).map_err(|error| ImportError::reading(&self.path, &error))?;
        hasher.update_reader(file).map_err(|error| ImportError::reading(&self.path, &error))?;
        Ok(hasher.finalize().to_hex().to_string())
    }
}

/// Refuses what is not a file and no folder: a pipe would be waited for without end.
fn check_kind(path: &Path) -> Result<(), &'static str> {
    if path.is_file() || path.is_dir() { Ok(()) } else { Err("is a pipe or a device, and neither a file nor a folder") }
}

/// The folder of a registry of OpenAI's `evals`, where one of its files lies in the folder: rows and specifications lie
/// beside it.
fn registry_above(folder: &Path) -> Option<PathBuf> {
    let above = folder.parent().filter(|_| folder.file_name().is_some_and(|name| name == "evals"))?;
    ["data", "modelgraded"].iter().any(|name| above.join(name).is_dir()).then(|| above.to_owned())
}

/// A problem of a file's JSON, with its line.
pub(crate) fn invalid_json(path: &Path, error: &serde_json::Error) -> ImportError {
    ImportError::new(path.display(), format!("is not valid JSON: {error}")).at_line(error.line().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F88, IO-01: only files below the imported file's folder or the named one are read, and no pointer of Git LFS.
    #[test]
    fn files_outside_and_pointers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(folder.path().join("secret.txt"), "x").unwrap();
        fs::write(inner.join("config.yaml"), "a: 1").unwrap();
        fs::write(inner.join("lfs.jsonl"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\n").unwrap();
        let source = Source::open(&inner.join("config.yaml"), None).unwrap();
        for name in ["../secret.txt", folder.path().join("secret.txt").to_str().unwrap()] {
            let error = source.beneath(source.path(), name).unwrap_err();
            assert!(error.to_string().contains("outside of "), "{error}");
        }
        assert!(source.beneath(source.path(), "none.txt").unwrap_err().to_string().contains("cannot be read"));
        let pointer = source.beneath(source.path(), "lfs.jsonl").unwrap();
        let wider = Source::open(&inner.join("config.yaml"), Some(folder.path())).unwrap();
        assert!(wider.beneath(wider.path(), "../secret.txt").is_ok());
        assert!(Source::open(&folder.path().join("secret.txt"), Some(&inner)).is_err());
        assert_eq!(source.bytes(&pointer).unwrap_err().hint(), Some("fetch it with `git lfs pull`"));
    }

    /// F85: a pipe or device is refused at once, and a file that stands for a huge one says so.
    #[test]
    fn pipes_and_bombs_are_refused() {
        #[cfg(unix)]
        {
            let error = Source::open(Path::new("/dev/zero"), None).unwrap_err();
            assert!(error.to_string().contains("is a pipe or a device"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep.yaml");
        fs::write(&file, "- ".repeat(20_000)).unwrap();
        let source = Source::open(&file, None).unwrap();
        let error = source.yaml(&file).unwrap_err().to_string();
        assert!(error.contains("is nested more deeply"), "{error}");
    }
}
