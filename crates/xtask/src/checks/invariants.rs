//! Comments cite the invariants of ARCHITECTURE.md by number and name.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// `5. **A paid call is durable** …` as `(5, "a paid call is durable")`.
    fn invariants(architecture: &str) -> Vec<(String, String)> {
        let entry = |line: &str| {
            let (number, text) = line.split_once(". **")?;
            let (name, _) = text.split_once("**")?;
            number.parse::<u8>().ok()?;
            Some((number.to_owned(), name.trim_end_matches('.').to_lowercase()))
        };
        architecture.lines().filter_map(entry).collect()
    }

    fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true if path.ends_with("target") => {}
                true => rust_files(&path, files),
                false => files.extend(path.extension().is_some_and(|it| it == "rs").then_some(path)),
            }
        }
    }

    #[test]
    fn cited_invariants_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let known = invariants(&fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
        assert_eq!(known.len(), 13);
        let mut files = vec![root.join("clippy.toml")];
        rust_files(&root.join("crates"), &mut files);
        let mut wrong = Vec::new();
        for file in files.iter().filter(|file| !file.ends_with("checks/invariants.rs")) {
            let text = fs::read_to_string(file).unwrap();
            for (at, _) in text.match_indices("nvariant ") {
                let rest = &text[at + "nvariant ".len()..];
                let is_cited = known.iter().any(|(number, name)| rest.starts_with(&format!("{number}, {name}")));
                if rest.starts_with(|c: char| c.is_ascii_digit()) && !is_cited {
                    wrong.push(format!("{}: {}", file.display(), rest.lines().next().unwrap_or_default()));
                }
            }
        }
        assert!(wrong.is_empty(), "cite an invariant as `invariant 4, identity is content`:\n{}", wrong.join("\n"));
    }
}
