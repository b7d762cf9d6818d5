//! `cargo xtask size`: lines of code and files by crate.
//!
//! A line of code is one that is neither blank nor a comment, outside of tests: what stands below `#[cfg(test)]` and in files
//! of tests does not count.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files below this length belong to their only caller.
const SHORT: usize = 60;

/// The size of a crate's sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Size {
    lines: usize,
    files: usize,
    short: usize,
}

fn lines_of_code(text: &str) -> usize {
    let product = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    product.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count()
}

/// Adds the files below a folder, and collects their whole lengths.
fn add(folder: &Path, size: &mut Size, lengths: &mut Vec<usize>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("reading {}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default();
        match path.is_dir() {
            _ if name == "tests" => {}
            true => add(&path, size, lengths)?,
            false if path.extension().is_none_or(|extension| extension != "rs") => {}
            false => {
                let text = fs::read_to_string(&path).map_err(|error| format!("reading {}: {error}", path.display()))?;
                let length = text.lines().count();
                size.lines += lines_of_code(&text);
                size.files += 1;
                size.short += usize::from(length < SHORT);
                lengths.push(length);
            }
        }
    }
    Ok(())
}

/// Prints a line for each crate, the largest first, and the sum.
pub fn run(root: &Path, out: &mut dyn Write) -> Result<bool, String> {
    let crates = root.join("crates");
    let entries = fs::read_dir(&crates).map_err(|error| format!("reading {}: {error}", crates.display()))?;
    let (mut sizes, mut lengths) = (Vec::new(), Vec::new());
    for folder in entries.flatten().map(|entry| entry.path()).collect::<Vec<PathBuf>>() {
        let mut size = Size::default();
        add(&folder.join("src"), &mut size, &mut lengths)?;
        sizes.push((folder.file_name().unwrap_or_default().to_string_lossy().into_owned(), size));
    }
    sizes.sort_by_key(|(name, size)| (std::cmp::Reverse(size.lines), name.clone()));
    let all = sizes.iter().fold(Size::default(), |sum, (_, size)| Size {
        lines: sum.lines + size.lines,
        files: sum.files + size.files,
        short: sum.short + size.short,
    });
    lengths.sort_unstable();
    let mut line = |name: &str, Size { lines, files, short }: Size| {
        writeln!(out, "{name:20} {lines:7} lines {files:5} files {short:4} below {SHORT}")
            .map_err(|error| error.to_string())
    };
    sizes.iter().try_for_each(|(name, size)| line(name, *size))?;
    line("all", all)?;
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    writeln!(out, "the median file has {median} lines with blanks and comments").map_err(|error| error.to_string())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_comments_and_tests_are_no_lines_of_code() {
        assert_eq!(lines_of_code("//! a\n\nuse b;\n// c\nfn d() {} // e\n\n#[cfg(test)]\nmod tests {\n}\n"), 2);
    }
}
