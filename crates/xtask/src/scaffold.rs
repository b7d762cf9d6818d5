//! `cargo xtask scaffold KIND NAME`: the files to touch to add a metric, a provider and so on, as `docs/extending.md` lists them.
//!
//! The guide is the one description: each kind has a section with a table of files and what goes there, in which NAME and TYPE
//! stand for the name in snake and in camel case.

use std::fs;
use std::io::Write;
use std::path::Path;

/// The guide.
const GUIDE: &str = "docs/extending.md";

/// The kinds, each with the heading of its section.
const KINDS: [(&str, &str); 6] = [
    ("metric", "## A metric"),
    ("provider", "## A provider"),
    ("format", "## A report format"),
    ("analysis", "## An analysis"),
    ("endpoint", "## An endpoint"),
    ("page", "## A page"),
];

/// A row of a table of the guide.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    path: String,
    line: String,
}

impl Step {
    /// The row ``| `path` | line |``, unless it is the head of its table.
    fn of(row: &str) -> Option<Self> {
        let (path, line) = row.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ")?;
        Some(Self { path: path.to_owned(), line: line.to_owned() })
    }
}

/// The steps of a kind.
fn steps(guide: &str, kind: &str) -> Result<Vec<Step>, String> {
    let names = || KINDS.map(|(name, _)| name).join(", ");
    let (_, heading) = KINDS
        .iter()
        .find(|(name, _)| *name == kind)
        .ok_or_else(|| format!("no kind `{kind}`; use one of {}", names()))?;
    let section = guide.lines().skip_while(|line| line != heading).skip(1).take_while(|line| !line.starts_with("## "));
    let steps: Vec<Step> = section.filter_map(Step::of).collect();
    if steps.is_empty() { Err(format!("{GUIDE} has no table of files below `{heading}`")) } else { Ok(steps) }
}

/// The name of a type: `SetF1` of `set_f1`.
fn camel_case(name: &str) -> String {
    let upper =
        |word: &str| word.chars().take(1).map(|first| first.to_ascii_uppercase()).chain(word.chars().skip(1)).collect();
    name.split('_').map(|word| -> String { upper(word) }).collect()
}

/// Prints the files to touch for one more of a kind, each with what goes there.
pub fn run(root: &Path, kind: &str, name: &str, out: &mut dyn Write) -> Result<bool, String> {
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_');
    if !is_name {
        return Err(format!("`{name}` is not a name in snake case, such as `word_count`"));
    }
    let guide = fs::read_to_string(root.join(GUIDE)).map_err(|error| format!("reading {GUIDE}: {error}"))?;
    for Step { path, line } in steps(&guide, kind)? {
        let fill = |text: &str| text.replace("NAME", name).replace("TYPE", &camel_case(name));
        let state = if path.contains("NAME") { " (new)" } else { "" };
        writeln!(out, "{}{state}\n    {}", fill(&path), fill(&line)).map_err(|error| error.to_string())?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    /// LI-02, LI-04, LI-05: one more of each kind touches few files, and the guide names real ones: a file, or for a new one
    /// its folder. What stands in the guide as the end of a registry is in the file.
    #[test]
    fn few_files_are_touched_and_exist() {
        let guide = fs::read_to_string(root().join(GUIDE)).unwrap();
        for (kind, most) in
            [("metric", 4), ("provider", 4), ("format", 3), ("analysis", 4), ("endpoint", 4), ("page", 5)]
        {
            let steps = steps(&guide, kind).unwrap();
            assert!(steps.len() <= most, "{kind}: {} files", steps.len());
            assert!(steps.iter().any(|step| step.path.contains("NAME")), "{kind} has a file of its own");
            for Step { path, .. } in steps {
                let path = root().join(path);
                let is_new = path.to_string_lossy().contains("NAME");
                let present = if is_new { path.parent().unwrap() } else { path.as_path() };
                assert!(present.exists() && !(is_new && path.exists()), "{kind}: {}", path.display());
            }
        }
    }

    /// LI-05: the command prints each row of the guide with the name filled in, and refuses other kinds and names.
    #[test]
    fn the_command_prints_the_guide() {
        let guide = fs::read_to_string(root().join(GUIDE)).unwrap();
        for (kind, _) in KINDS {
            let mut out = Vec::new();
            assert!(run(root(), kind, "word_count", &mut out).unwrap());
            let printed = String::from_utf8(out).unwrap();
            let steps = steps(&guide, kind).unwrap();
            assert_eq!(printed.lines().count(), 2 * steps.len(), "{kind}");
            assert!(steps.iter().all(|step| printed.contains(&step.path.replace("NAME", "word_count"))), "{kind}");
            assert!(printed.contains("word_count.rs (new)") && !printed.contains("NAME") && !printed.contains("TYPE"));
        }
        assert_eq!(camel_case("word_count"), "WordCount");
        let refused = |kind, name| run(root(), kind, name, &mut Vec::new()).unwrap_err();
        assert!(refused("step", "x").starts_with("no kind `step`; use one of metric, provider"));
        assert!(refused("metric", "Word-Count").contains("snake case"));
    }
}
