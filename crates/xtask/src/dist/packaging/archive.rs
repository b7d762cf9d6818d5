//! Archives whose bytes depend on their content only: members are sorted, belong to root, and have one time and the modes
//! 755 and 644; gzip has no time and no name.

use std::collections::BTreeSet;

use tar::{Builder, EntryType, Header};

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The path with `/`, without a leading one.
    pub path: String,
    pub content: Vec<u8>,
    pub executable: bool,
}

impl Member {
    pub fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), executable: false }
    }

    pub fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), executable: true }
    }
}

/// Makes a tar archive with an entry for each folder. `prefix` begins each path: `name/`, or `./` in Debian packages.
///
/// # Errors
/// A path that is too long for the format.
pub fn tar(members: &[Member], prefix: &str, time: u64) -> Result<Vec<u8>, String> {
    let mut folders = BTreeSet::from([prefix.to_owned()]);
    let mut files: Vec<(String, &Member)> = Vec::new();
    for member in members {
        let path = format!("{prefix}{}", member.path);
        let ends = path.match_indices('/').map(|(at, _)| at + 1).filter(|end| *end > prefix.len());
        folders.extend(ends.map(|end| path[..end].to_owned()));
        files.push((path, member));
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut builder = Builder::new(Vec::new());
    let mut append = |path: &str, kind: EntryType, mode: u32, content: &[u8]| {
        let header = header(path, kind, mode, content.len() as u64, time)?;
        builder.append(&header, content).map_err(|error| format!("adding {path} to an archive: {error}"))
    };
    for folder in &folders {
        append(folder, EntryType::Directory, 0o755, &[])?;
    }
    for (path, member) in &files {
        append(path, EntryType::Regular, if member.executable { 0o755 } else { 0o644 }, &member.content)?;
    }
    builder.into_inner().map_err(|error| format!("ending an archive: {error}"))
}

fn header(path: &str, kind: EntryType, mode: u32, size: u64, time: u64) -> Result<Header, String> {
    let mut header = Header::new_ustar();
    let bytes = path.as_bytes();
    let ustar = header.as_ustar_mut().ok_or("the archive has no ustar header")?;
    match ustar.name.get_mut(..bytes.len()) {
        // `set_path` would drop the `./` that Debian's tools expect.
        Some(name) => name.copy_from_slice(bytes),
        None => header.set_path(path).map_err(|error| format!("naming {path} in an archive: {error}"))?,
    }
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    let named = header.set_username("root").and_then(|()| header.set_groupname("root"));
    named.map_err(|error| format!("naming the owner of {path}: {error}"))?;
    header.set_cksum();
    Ok(header)
}

/// Compresses bytes as gzip. The encoder uses no instructions of some processors only, so its output is the same on all.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Magic, deflate, no flags, no time, "slowest", unknown system.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    out.extend(miniz_oxide::deflate::compress_to_vec(bytes, 9));
    out.extend(crc32fast::hash(bytes).to_le_bytes());
    // The size modulo 2^32, as the format has it.
    out.extend((bytes.len() as u64 as u32).to_le_bytes());
    out
}

/// Makes an archive of the common `ar` format, as Debian packages are.
pub fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let size = content.len();
        out.extend(format!("{name:<16}{time:<12}{0:<6}{0:<6}{1:<8}{size:<10}`\n", 0, "100644").into_bytes());
        out.extend(content);
        if size % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use super::*;

    fn members() -> Vec<Member> {
        vec![Member::program("bin/b", "program"), Member::file("a.txt", "text"), Member::file("bin/a", "")]
    }

    /// SV-31: an archive has its folders first, files by name, one owner, one time, two modes; order of the input is nothing.
    #[test]
    fn archives_depend_on_content_only() {
        let bytes = tar(&members(), "karat/", 1_000_000).unwrap();
        let mut reversed = members();
        reversed.reverse();
        assert_eq!(tar(&reversed, "karat/", 1_000_000).unwrap(), bytes);
        assert_eq!(gzip(&bytes), gzip(&bytes.clone()));
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(gzip(&bytes).as_slice()).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, bytes);
        let mut archive = tar::Archive::new(unpacked.as_slice());
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (1_000_000, 0, 0));
            found.push((entry.path().unwrap().display().to_string(), header.mode().unwrap(), text));
        }
        let expected = [
            ("karat/", 0o755, ""),
            ("karat/bin/", 0o755, ""),
            ("karat/a.txt", 0o644, "text"),
            ("karat/bin/a", 0o644, ""),
            ("karat/bin/b", 0o755, "program"),
        ];
        assert_eq!(found, expected.map(|(path, mode, text)| (path.to_owned(), mode, text.to_owned())));
    }

    /// The `./` of Debian packages stays, and a path of more than 100 bytes is kept whole.
    #[test]
    fn paths_are_kept() {
        let long = format!("{}/{}", "f".repeat(90), "n".repeat(90));
        let bytes = tar(&[Member::file("usr/a", "x")], "./", 0).unwrap();
        assert!(bytes.starts_with(b"./\0") && bytes[512..].starts_with(b"./usr/\0"));
        let bytes = tar(&[Member::file(long.as_str(), "x")], "", 0).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let paths: Vec<String> =
            archive.entries().unwrap().map(|it| it.unwrap().path().unwrap().display().to_string()).collect();
        assert!(paths.contains(&long), "{paths:?}");
        assert!(tar(&[Member::file("n".repeat(200), "")], "", 0).unwrap_err().contains("naming"));
    }

    /// Members of an `ar` archive begin at even places.
    #[test]
    fn ar_members_are_padded() {
        let bytes = ar(&[("odd", b"abc".to_vec()), ("even", b"abcd".to_vec())], 7);
        let text = String::from_utf8(bytes).unwrap();
        let second = text.find("even").unwrap();
        assert_eq!(second % 2, 0);
        let sizes: BTreeMap<&str, &str> =
            [8, second].map(|at| (text[at..at + 16].trim(), text[at + 48..at + 58].trim())).into_iter().collect();
        assert_eq!(sizes, BTreeMap::from([("odd", "3"), ("even", "4")]));
        assert!(text[8..].starts_with("odd             7           0     0     100644  3         `\nabc\n"));
    }
}
