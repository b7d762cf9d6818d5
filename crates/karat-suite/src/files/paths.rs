//! Paths as texts: joined, folded and matched without looking at a disk.

use super::LABELLED;

/// The folder of a resolved path, without its last separator; empty for a bare file name.
pub fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |at| if at == 0 { "/" } else { &path[..at] })
}

/// A path as written, resolved against a folder. Absolute and `preset:` paths stay as they are; `.` and `..` are folded.
pub fn join(folder: &str, path: &str) -> String {
    if is_rooted(path) || folder.is_empty() {
        return fold(path);
    }
    let separator = if folder.ends_with('/') { "" } else { "/" };
    fold(&format!("{folder}{separator}{path}"))
}

/// Returns whether a path does not depend on the folder it is seen from.
pub fn is_rooted(path: &str) -> bool {
    path.starts_with('/')
        || path.starts_with("preset:")
        || path.starts_with(LABELLED)
        || path.get(1..3).is_some_and(|mark| mark == ":/" || mark == ":\\")
}

/// Returns whether a path names its place from the root on. A text such as `preset:x` in a row is the name of a file.
pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || std::path::Path::new(path).is_absolute()
}

pub(super) fn fold(path: &str) -> String {
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

/// Returns whether a name matches a pattern in which `*` matches any characters and `?` matches one.
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
    use super::super::folder;
    use super::*;

    #[test]
    fn a_relative_file_is_relative_to_the_file_it_is_written_in() {
        assert_eq!(join(folder("suites/claims.yaml"), "data/a.json"), "suites/data/a.json");
        assert_eq!(join(folder("claims.yaml"), "../a.json"), "../a.json");
        assert_eq!(join("preset:claims", "../../x"), "preset:claims/../../x");
        assert_eq!(join("suites", "/abs/a"), "/abs/a");
        assert_eq!(join("a/b", "../c/./d"), "a/c/d");
        assert_eq!(folder("/x.yaml"), "/");
    }

    #[test]
    fn patterns_match_names() {
        assert!(matches("*.jsonl", "a.jsonl"));
        assert!(matches("a*b?c", "axxbyc"));
        assert!(!matches("*.jsonl", "a.json"));
        assert!(matches("*", ""));
    }
}
