//! The list of dependencies with their licences, and every licence text that their packages have. A text that several
//! packages share is printed once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::packages::LinkedPackage;

/// Beginnings of the names of files with terms, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Folders of a package with such files.
const FOLDERS: [&str; 3] = ["LICENSES", "licenses", "license"];

/// Makes the list for packages of others; crates of this repository have its own licence.
///
/// # Errors
/// A file cannot be read, or a package says nothing of its licence.
pub fn notices(packages: &[LinkedPackage]) -> Result<String, String> {
    let packages: Vec<&LinkedPackage> = packages.iter().filter(|package| package.checksum.is_some()).collect();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in &packages {
        let (name, version) = &package.id;
        let files = files_of(package)?;
        let licence = match (&package.licence, &package.licence_file) {
            (Some(licence), _) => licence.clone(),
            (None, Some(file)) => format!("see its {file} below"),
            (None, None) => return Err(format!("listing licences: {name} {version} says nothing of its licence")),
        };
        let without = if files.is_empty() { "  (its package has no licence text)" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(list, "{name} {version}  {licence}{without}");
        for path in files {
            let bytes = fs::read(&path).map_err(|error| format!("reading {}: {error}", path.display()))?;
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            texts.entry(text.trim_end().to_owned()).or_default().push(format!("{name} {version}"));
        }
    }
    let mut out = format!(
        "Karat contains code of these {} packages, and the Rust standard library (MIT OR Apache-2.0).\n\
         The texts of their licences follow.\n\n{list}",
        packages.len()
    );
    let mut texts: Vec<(Vec<String>, String)> = texts.into_iter().map(|(text, users)| (users, text)).collect();
    texts.sort();
    for (mut users, text) in texts {
        users.dedup();
        let _ = write!(out, "\n{}\n{}\n\n{text}\n", "=".repeat(80), users.join(", "));
    }
    Ok(out)
}

/// The files with terms of a package, sorted by path.
fn files_of(package: &LinkedPackage) -> Result<Vec<PathBuf>, String> {
    let mut files: Vec<PathBuf> = package.licence_file.iter().map(|file| package.folder.join(file)).collect();
    for folder in [package.folder.clone()].into_iter().chain(FOLDERS.map(|name| package.folder.join(name))) {
        let whole = folder != package.folder;
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.map_err(|error| format!("listing {}: {error}", folder.display()))?;
            let name = entry.file_name().to_string_lossy().to_uppercase();
            let has_terms = whole || NAMES.iter().any(|start| name.starts_with(start));
            // A module of that name is code.
            if has_terms && !name.ends_with(".RS") && entry.path().is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn package(folder: &Path, name: &str, licence: Option<&str>) -> LinkedPackage {
        LinkedPackage {
            id: (name.to_owned(), "1.0.0".to_owned()),
            licence: licence.map(str::to_owned),
            licence_file: None,
            repository: None,
            checksum: Some("00".to_owned()),
            folder: folder.join(name),
            uses: Vec::new(),
        }
    }

    /// SV-31: each package of others is listed with its licence; a text is printed once, under all packages that have it.
    #[test]
    fn texts_are_printed_once() {
        let place = testkit::scratch().unwrap();
        for (path, text) in [
            ("a/LICENSE-MIT", "shared text\r\n"),
            ("b/license.md", "shared text\n\n"),
            ("b/LICENSES/Zlib.txt", "text of b"),
            ("b/license.rs", "code"),
            ("c/README.md", "no terms"),
            ("own/LICENSE", "own text"),
        ] {
            place.write(path, text).unwrap();
        }
        let root = place.path();
        let own = LinkedPackage { checksum: None, ..package(root, "own", Some("MIT")) };
        let packages = [
            package(root, "a", Some("MIT")),
            package(root, "b", Some("MIT AND Zlib")),
            package(root, "c", Some("0BSD")),
            own,
        ];
        let text = notices(&packages).unwrap();
        assert!(text.contains("these 3 packages") && text.contains("b 1.0.0  MIT AND Zlib\n"), "{text}");
        assert!(text.contains("c 1.0.0  0BSD  (its package has no licence text)\n"), "{text}");
        assert_eq!(text.matches("shared text").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0, b 1.0.0\n\nshared text\n") && text.contains("text of b"), "{text}");
        assert!(!text.contains("own") && !text.contains("code of b") && !text.contains("\ncode"), "{text}");
        let silent = notices(&[package(root, "a", None)]).unwrap_err();
        assert!(silent.contains("a 1.0.0 says nothing"), "{silent}");
    }
}
