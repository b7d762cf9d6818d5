//! Imports lists that people copied from a chat window as variants of a suite.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use karat_suite::{DiskFiles, Files};
use karat_text::markdown;
use karat_text::similar::nearest;
use karat_types::FilePath;

use crate::error::{Bug, FileError, ImportError, Lines};
use crate::imports::Imports;
use crate::project::atomic_file;
use crate::{AppError, Invocation};

/// The preset whose suite gets the variants.
const PRESET: &str = "claims";

/// The suite of this folder, which gets the variants if it is made from the preset.
const OWN: &str = "karat.yaml";

/// The folder of snapshots where a suite names none.
const MANUAL: &str = "data/manual";

/// Required keys of a snapshot's front matter.
const FACTS: [&str; 4] = ["date", "ui", "model", "toggles"];

/// The two modes of prompting.
const MODES: [&str; 2] = ["high_recall", "high_precision"];

/// The heading above the claims.
const SECTION: &str = "Claims";

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedBaseline {
    /// The suite.
    pub suite: PathBuf,
    /// Snapshots.
    pub snapshots: usize,
    /// Claims in all of them.
    pub claims: usize,
    /// The variants made of them.
    pub variants: Vec<String>,
}

/// The source of a snapshot, from its file name `{sample}-{provider}-{mode}.md`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ManualSource {
    provider: String,
    mode: String,
}

impl Imports<'_> {
    /// Makes a suite of a folder of snapshots, with one variant per provider and mode: of the suite in this folder, beside it, if
    /// it is made from the preset; else of the preset, in a folder of its own.
    ///
    /// # Errors
    /// A folder without snapshots; every snapshot with a wrong name, of no sample of the suite, without front matter or without
    /// claims; a suite of that name.
    pub fn manual_baseline(&self, from: &Path, folder: &Path) -> Result<ImportedBaseline, AppError> {
        let own = fs::read_to_string(OWN).ok().filter(|text| with_variants(text, &BTreeSet::new()).is_some());
        let beside = folder.file_name().map(|name| Path::new(name).with_extension("yaml"));
        let suite = beside.filter(|_| own.is_some()).unwrap_or_else(|| folder.join("karat.yaml"));
        if suite.exists() {
            return Err(ImportError::Exists { path: suite.display().to_string() }.into());
        }
        let base = if own.is_some() { OWN } else { PRESET };
        let plan = self.app.runs().load(&Invocation::of_any_day(base))?;
        let samples: Vec<String> = plan.rows().filter_map(Result::ok).map(|sample| sample.id.to_string()).collect();
        let snapshots = snapshots(from)?;
        let (mut sources, mut wrong, mut claims) = (BTreeSet::new(), Vec::new(), 0);
        for (name, text) in &snapshots {
            match check_snapshot(name, text, &samples) {
                Ok((source, count)) => {
                    sources.insert(source);
                    claims += count;
                }
                Err(what) => wrong.push(format!("{}: {what}", from.join(name).display())),
            }
        }
        if !wrong.is_empty() {
            return Err(ImportError::WrongSnapshots { problems: Lines(wrong) }.into());
        }
        let variants: Vec<String> = sources.iter().map(ManualSource::variant).collect();
        let manual = own.as_deref().map_or_else(|| folder.join(MANUAL), |text| PathBuf::from(manual_folder(text)));
        let failed = |error: std::io::Error| FileError::writing(&manual, error);
        if own.is_none() {
            self.app.project().init(PRESET, folder, false)?;
            fs::remove_dir_all(&manual).map_err(failed)?;
        }
        for (name, text) in &snapshots {
            let target = manual.join(name);
            match fs::read(&target) {
                Ok(present) if present == text.as_bytes() => {}
                Ok(_) => return Err(ImportError::Exists { path: target.display().to_string() }.into()),
                Err(_) => atomic_file::write(&target, text.as_bytes()).map_err(failed)?,
            }
        }
        let written = own.map_or_else(|| fs::read_to_string(&suite), Ok).map_err(failed)?;
        let text = with_variants(&written, &sources).ok_or(Bug::NoManualVariants)?;
        atomic_file::write(&suite, text.as_bytes()).map_err(failed)?;
        Ok(ImportedBaseline { suite, snapshots: snapshots.len(), claims, variants })
    }
}

/// The Markdown files of a folder, by name.
fn snapshots(folder: &Path) -> Result<Vec<(String, String)>, AppError> {
    let failed = |error: std::io::Error| {
        FileError::of("reading the snapshots in", folder, error)
            .with_hint("name the folder that holds `{videoId}-{provider}-{mode}.md` files")
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_file() && name.ends_with(".md") && !name.starts_with('.') {
            let bytes = DiskFiles.read_path(&FilePath::beneath(folder.to_string_lossy(), &*name)).map_err(failed)?;
            let problem = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, format!("{name} is not UTF-8 text"));
            let text = String::from_utf8(bytes).map_err(problem).map_err(failed)?;
            found.push((name, text));
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(ImportError::NoSnapshots { folder: folder.display().to_string() }.into());
    }
    Ok(found)
}

/// The folder of snapshots that a suite of the preset's form names.
fn manual_folder(suite: &str) -> &str {
    let line = suite.lines().find_map(|line| line.trim_start().strip_prefix("manual:"));
    let path = line.and_then(|line| line.split_once("path:")).map(|(_, path)| path.trim().trim_end_matches('}').trim());
    path.map(|path| path.trim_matches(['"', '\''])).filter(|path| !path.is_empty()).unwrap_or(MANUAL)
}

/// Returns the source of a snapshot and the number of its claims, or its problem.
fn check_snapshot(name: &str, text: &str, samples: &[String]) -> Result<(ManualSource, usize), String> {
    let source = ManualSource::of(name, samples)?;
    let (facts, reply) = markdown::front_matter(text).ok_or("it has no front matter between two lines `---`")?;
    let says = |fact: &&&str| {
        facts.lines().any(|line| {
            let said = line.split_once(':').filter(|(key, _)| key.trim().eq_ignore_ascii_case(fact));
            said.is_some_and(|(_, value)| !value.trim().trim_matches(['"', '\'']).is_empty())
        })
    };
    let silent: Vec<&str> = FACTS.iter().filter(|fact| !says(fact)).copied().collect();
    if !silent.is_empty() {
        return Err(format!("its front matter does not say {}", silent.join(", ")));
    }
    let said = facts.lines().filter_map(|line| line.split_once(':')).find_map(|(key, value)| {
        let value = value.trim().trim_matches(['"', '\'']).to_lowercase().replace(['-', ' '], "_");
        (["prompt", "mode"].contains(&key.trim()) && MODES.contains(&value.as_str())).then_some(value)
    });
    if let Some(said) = said.filter(|said| *said != source.mode) {
        return Err(format!("its name says {}, and its front matter {said}", source.mode));
    }
    let section = markdown::section(reply, SECTION).ok_or_else(|| format!("it has no heading `# {SECTION}`"))?;
    match markdown::items(section).len() {
        0 => Err(format!("it has no bullet under its heading `# {SECTION}`")),
        claims => Ok((source, claims)),
    }
}

impl ManualSource {
    /// The source that a file name says; the sample is the longest id that it begins with.
    fn of(name: &str, samples: &[String]) -> Result<Self, String> {
        let form =
            || format!("the name is not `{{videoId}}-{{provider}}-{{mode}}.md` with a mode of {}", MODES.join(" or "));
        let stem = name.strip_suffix(".md").ok_or_else(form)?;
        let (rest, mode) =
            MODES.iter().find_map(|mode| Some((stem.strip_suffix(&format!("-{mode}"))?, *mode))).ok_or_else(form)?;
        if !rest.trim_matches('-').contains('-') {
            return Err(form());
        }
        let provider = |sample: &String| rest.strip_prefix(sample.as_str())?.strip_prefix('-');
        let known = samples.iter().filter(|sample| provider(sample).is_some()).max_by_key(|sample| sample.len());
        let Some(provider) = known.and_then(provider) else {
            let candidates = || samples.iter().map(String::as_str);
            let mut beginnings = rest.rmatch_indices('-').filter_map(|(at, _)| rest.get(..at));
            let near = beginnings.find_map(|id| nearest(id, candidates()));
            let near = near.or(samples.first().map(String::as_str)).unwrap_or_default();
            return Err(format!("no sample of the suite has an id with which the name begins, such as `{near}`"));
        };
        let is_plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match provider.split('-').all(is_plain) {
            true => Ok(Self { provider: provider.to_owned(), mode: mode.to_owned() }),
            false => Err(form()),
        }
    }

    fn variant(&self) -> String {
        format!("manual-{}-{}", self.provider, self.mode.replace('_', "-"))
    }
}

/// The preset's suite with these variants instead of its own manual ones.
fn with_variants(suite: &str, sources: &BTreeSet<ManualSource>) -> Option<String> {
    let (before, rest) = suite.split_once("  manual-high-recall:")?;
    let (_, after) = rest.split_once("\nscorers:")?;
    let variants: String = sources
        .iter()
        .map(|source| {
            let (variant, ManualSource { provider, mode }) = (source.variant(), source);
            format!(
                "  {variant}:\n    - recorded: {{ from: \"{{{{ params.manual }}}}/{{{{ sample.id }}}}-{provider}-{mode}.md\", \
                 missing: skip }}\n      parse: {{ as: bullets, section: {SECTION}, into: claims }}\n"
            )
        })
        .collect();
    let (head, from) = after.split_once("      from: [manual-")?;
    let (_, tail) = from.split_once("]\n")?;
    let names = sources.iter().map(ManualSource::variant).collect::<Vec<_>>().join(", ");
    Some(format!("{before}{variants}\nscorers:{head}      from: [{names}]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNAPSHOT: &str =
        "---\ndate: d\nui: u\nmodel: m\ntoggles: t\n---\n# Claims\n- a\n- b\n# What I excluded\n- c\n";

    fn check_snapshot(name: &str, text: &str) -> Result<(ManualSource, usize), String> {
        let samples = ["kr-oats-01", "a", "a-b", "t1"].map(str::to_owned);
        super::check_snapshot(name, text, &samples)
    }

    /// CL-09, F100, F115: the sample is the longest id that a name begins with, so that ids and providers may have hyphens; a name
    /// of no sample, and one whose mode is not that of its front matter, are refused.
    #[test]
    fn names_belong_to_samples() {
        let variant = |name: &str| check_snapshot(name, SNAPSHOT).map(|(source, _)| source.variant());
        assert_eq!(variant("t1-claude-web-high_recall.md").unwrap(), "manual-claude-web-high-recall");
        assert_eq!(variant("a-b-c-high_precision.md").unwrap(), "manual-c-high-precision");
        assert_eq!(variant("a-c-high_precision.md").unwrap(), "manual-c-high-precision");
        assert!(variant("kr-oat-01-claude-high_recall.md").unwrap_err().contains("such as `kr-oats-01`"));
        assert!(variant("t2-claude-high_recall.md").unwrap_err().contains("no sample of the suite"));
        assert!(variant("t1--high_recall.md").is_err() && variant("t1-high_recall.md").is_err());
        let said = |mode: &str| SNAPSHOT.replace("toggles: t", &format!("toggles: t\nprompt: {mode}"));
        assert!(check_snapshot("t1-x-high_recall.md", &said("high recall")).is_ok());
        assert!(check_snapshot("t1-x-high_recall.md", &said("high_precision")).unwrap_err().contains("front matter"));
        assert_eq!(manual_folder("params:\n  manual: { path: \"shots\" }\n"), "shots");
        assert_eq!(manual_folder("name: x"), MANUAL);
    }

    /// CL-09: names, front matter and claims are checked, and problems are reported.
    #[test]
    fn a_snapshot_without_claims_is_refused() {
        let (source, claims) = check_snapshot("kr-oats-01-gemini-high_recall.md", SNAPSHOT).unwrap();
        assert_eq!((source.variant().as_str(), claims), ("manual-gemini-high-recall", 2));
        assert!(check_snapshot("oats.md", SNAPSHOT).unwrap_err().contains("high_precision"));
        assert!(check_snapshot("a-c-high_recall.md", "# Claims\n- a").unwrap_err().contains("front matter"));
        assert!(check_snapshot("a-c-high_recall.md", &SNAPSHOT.replace("ui:", "UI:")).is_ok());
        let silent = SNAPSHOT.replace("toggles: t\n", "");
        assert!(check_snapshot("a-c-high_recall.md", &silent).unwrap_err().contains("toggles"));
        assert!(check_snapshot("a-c-high_recall.md", &SNAPSHOT.replace("- ", "")).unwrap_err().contains("no bullet"));
        assert!(
            check_snapshot("a-c-high_recall.md", &SNAPSHOT.replace("# Claims", "")).unwrap_err().contains("no heading")
        );
        let pasted = SNAPSHOT.replace("- b\n", "## Later\n2) b\n– c\n").replace('\n', "\r\n");
        assert_eq!(check_snapshot("a-c-high_recall.md", &format!("\u{feff}{pasted}")).unwrap().1, 3);
    }

    /// CL-09: the preset's suite accepts snapshots of any provider as variants.
    #[test]
    fn the_suite_gets_the_imported_variants() {
        let suite = crate::project::presets::text("claims/karat.yaml").unwrap();
        let source = ManualSource { provider: "copilot".to_owned(), mode: "high_recall".to_owned() };
        let text = with_variants(suite, &BTreeSet::from([source])).unwrap();
        assert!(
            text.contains("  manual-copilot-high-recall:\n") && text.contains("from: [manual-copilot-high-recall]")
        );
        assert!(!text.contains("chatgpt") && text.contains("\nscorers:\n"));
    }
}
