//! Where files come from: the disk, or whatever the caller layers over it.

use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;

/// Read access to files by resolved path.
///
/// A resolved path is a text: a disk path (absolute, or relative to the working directory) or
/// `preset:NAME/relative/path`. Separators are `/`.
pub trait Files: Send + Sync {
    /// The whole content of a file.
    ///
    /// # Errors
    /// As the operating system says: not found, not readable.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// The names (not paths) of the entries of a folder, in any order.
    ///
    /// # Errors
    /// As the operating system says: not found, not a folder.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;

    /// Whether there is a readable file.
    fn is_file(&self, path: &str) -> bool;

    /// A reader over a file's content, for files that should not be held as a whole.
    ///
    /// # Errors
    /// As [`Files::read`].
    fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(Box::new(Cursor::new(self.read(path)?)))
    }
}

/// How the path of a file begins that holds labelled outputs: it is made of labels and lies on no disk.
pub const LABELLED: &str = "labelled:";

/// Bytes that are read of a file at once.
const READ_AT_ONCE: usize = 64 * 1024;

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        regular(path)?;
        std::fs::read(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let dir = if dir.is_empty() { "." } else { dir };
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        regular(path)?;
        Ok(Box::new(BufReader::with_capacity(READ_AT_ONCE, std::fs::File::open(path)?)))
    }
}

/// Refuses devices, pipes and sockets, also behind a link: they may never end, or wait for ever.
fn regular(path: &str) -> io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device, a pipe or a socket, not a file"))
}

/// The folder of a resolved path, without its last separator; empty for a bare file name.
pub fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |at| if at == 0 { "/" } else { &path[..at] })
}

/// A path as written, seen from a folder. Absolute and `preset:` paths stand for themselves; `.` and `..` are folded.
pub fn join(folder: &str, path: &str) -> String {
    if is_rooted(path) || folder.is_empty() {
        return fold(path);
    }
    let separator = if folder.ends_with('/') { "" } else { "/" };
    fold(&format!("{folder}{separator}{path}"))
}

/// Whether a path that was rendered with values of a row climbs above what its template says: data may name files, not the
/// folders above them. An absolute path comes from a row only where the suite puts the row's value first.
pub fn leads_out(template: &str, path: &str) -> bool {
    let climbs = |text: &str, ends: &[char]| text.split(ends).filter(|part| part.trim() == "..").count();
    // In a template the value of a parameter stands as a literal: `{{ "../data" }}/x.json`.
    climbs(path, &['/', '\\']) > climbs(template, &['/', '\\', '"', '\'', '{', '}'])
}

/// Whether a path does not depend on the folder it is seen from.
pub fn is_rooted(path: &str) -> bool {
    path.starts_with('/')
        || path.starts_with("preset:")
        || path.starts_with(LABELLED)
        || path.get(1..3).is_some_and(|mark| mark == ":/" || mark == ":\\")
}

fn fold(path: &str) -> String {
    let (root, rest) = match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != ".." && !last.starts_with("preset:")) => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    if parts.is_empty() && root.is_empty() { ".".to_owned() } else { format!("{root}{}", parts.join("/")) }
}

/// Whether a name matches a pattern in which `*` stands for any run of characters and `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read, mut star) = (0, 0, None);
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(expected) if *expected == '?' || *expected == name[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((position, from)) => {
                    at = position + 1;
                    read = from + 1;
                    star = Some((position, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// House rule: what the suite and its parameters say may climb, what a row adds may not.
    #[test]
    fn only_rows_are_kept_in_their_folder() {
        for (template, path, expected) in [
            ("data/{{ sample.id }}.txt", "data/a.txt", false),
            ("data/{{ sample.id }}.txt", "data/../a.txt", true),
            ("data/{{ sample.id }}.txt", "data/..\\a.txt", true),
            ("../data/{{ sample.id }}.txt", "../data/a.txt", false),
            ("../data/{{ sample.id }}.txt", "../data/../../a.txt", true),
            ("{{ \"../../data\" }}/{{ sample.id }}.txt", "../../data/a.txt", false),
            ("{{ \"../../data\" }}/{{ sample.id }}.txt", "../../data/../a.txt", true),
        ] {
            assert_eq!(leads_out(template, path), expected, "{template}: {path}");
        }
    }

    #[test]
    fn a_relative_file_is_relative_to_the_file_it_is_written_in() {
        assert_eq!(join(folder("suites/claims.yaml"), "data/a.json"), "suites/data/a.json");
        assert_eq!(join(folder("claims.yaml"), "../a.json"), "../a.json");
        assert_eq!(join("preset:claims", "../../x"), "preset:claims/../../x");
        assert_eq!(join("suites", "/abs/a"), "/abs/a");
        assert_eq!(join("a/b", "../c/./d"), "a/c/d");
        assert_eq!(folder("/x.yaml"), "/");
    }

    /// A dataset that is a link to a device, or a pipe, is refused instead of read for ever.
    #[cfg(unix)]
    #[test]
    fn only_files_are_read() {
        let error = DiskFiles.read("/dev/zero").unwrap_err();
        assert!(error.to_string().contains("not a file"), "{error}");
        assert!(DiskFiles.open("/dev/null").is_err());
    }

    #[test]
    fn patterns_match_names() {
        assert!(matches("*.jsonl", "a.jsonl"));
        assert!(matches("a*b?c", "axxbyc"));
        assert!(!matches("*.jsonl", "a.json"));
        assert!(matches("*", ""));
    }
}
