//! `cargo xtask language`: measures how plainly the code is written, and fails where a limit is exceeded.
//!
//! | measure | limit |
//! |---|---|
//! | source files and folders side by side | [`MOST_IN_FOLDER`] |
//! | doc comments that begin with "What", "Whether", "Who", "How" or "So" | 0 |
//! | functions named by a bare participle (`said`, `found`, `begun`) | 0 |
//! | type names defined more than twice in one crate | 0 |
//!
//! Lines of logic per crate are printed for information: lines without blanks, comments and test code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemEnum, ItemFn, ItemStruct, ItemTrait, ItemType, TraitItemFn};

use crate::checks::module_cycles::is_cfg_test;

/// Files and folders of one folder, beside its `mod.rs`, `lib.rs` or `main.rs`.
const MOST_IN_FOLDER: usize = 14;

/// Openings that make a doc comment read as an answer to a question nobody asked.
const OPENINGS: &[&str] = &[
    "What ",
    "Whatever ",
    "Whether ",
    "Who ",
    "Whoever ",
    "Whose ",
    "How ",
    "So long ",
    "So many ",
    "So often ",
    "So that ",
];

/// Irregular participles. Words that are verbs or nouns in the same form (`bound`, `read`, `set`, `split`) are not listed.
const IRREGULAR: &[&str] = &[
    "begun",
    "brought",
    "built",
    "born",
    "broken",
    "caught",
    "chosen",
    "come",
    "done",
    "drawn",
    "driven",
    "dropped",
    "fallen",
    "felt",
    "found",
    "gone",
    "given",
    "got",
    "gotten",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "spent",
    "spoken",
    "sprung",
    "stood",
    "stolen",
    "sworn",
    "taken",
    "taught",
    "told",
    "thought",
    "thrown",
    "understood",
    "unmade",
    "won",
    "worn",
    "woven",
    "written",
];

/// Words that end in "ed" and are verbs, nouns, or terms of the field (an *unscored* cell, `Iterator::sorted`, the `stored` runs of a store).
const NOT_PARTICIPLES: &[&str] = &[
    "bed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "sorted", "speed", "stored", "succeed",
    "unscored",
];

/// The measures of one crate.
#[derive(Default)]
struct CrateMeasures {
    logic_lines: usize,
    /// Folders above the limit, with the number of entries.
    crowded_folders: Vec<String>,
    most_in_folder: usize,
    doc_openings: Vec<String>,
    doc_lines_with_openings: usize,
    participles: Vec<String>,
    types: BTreeMap<String, Vec<String>>,
}

impl CrateMeasures {
    fn repeated_types(&self) -> Vec<String> {
        let repeated = self.types.iter().filter(|(_, places)| places.len() > 2);
        repeated.map(|(name, places)| format!("{name} ({}): {}", places.len(), places.join(", "))).collect()
    }
}

/// Prints the measures of the tree at `root`; with `check`, lists every place above a limit and returns `Ok(false)` if
/// there is one.
pub fn run(root: &Path, check: bool, out: &mut dyn std::io::Write) -> Result<bool, String> {
    let crates = measure(root)?;
    let mut say = |line: String| writeln!(out, "{line}").map_err(|error| error.to_string());
    say("| crate | lines of logic | most entries in a folder | doc lines with a free relative | doc comments that begin with one | bare participles | types defined over twice |".into())?;
    say("|---|---|---|---|---|---|---|".into())?;
    let mut sums = [0; 5];
    for (name, measures) in &crates {
        let row = [
            measures.logic_lines,
            measures.doc_lines_with_openings,
            measures.doc_openings.len(),
            measures.participles.len(),
            measures.repeated_types().len(),
        ];
        say(format!(
            "| {name} | {} | {} | {} | {} | {} | {} |",
            row[0], measures.most_in_folder, row[1], row[2], row[3], row[4]
        ))?;
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    say(format!("| all | {} | | {} | {} | {} | {} |", sums[0], sums[1], sums[2], sums[3], sums[4]))?;
    let problems = problems(&crates);
    if check {
        problems.iter().try_for_each(|problem| say(problem.clone()))?;
    }
    Ok(!check || problems.is_empty())
}

fn problems(crates: &BTreeMap<String, CrateMeasures>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, measures) in crates {
        problems.extend(
            measures
                .crowded_folders
                .iter()
                .map(|folder| format!("more than {MOST_IN_FOLDER} entries in a folder: {folder}")),
        );
        problems
            .extend(measures.doc_openings.iter().map(|place| format!("begin with a noun, a verb or \"The\": {place}")));
        problems.extend(
            measures.participles.iter().map(|place| format!("name it by a verb or by what it returns: {place}")),
        );
        problems
            .extend(measures.repeated_types().into_iter().map(|types| format!("one name, one type: {name}: {types}")));
    }
    problems
}

fn measure(root: &Path) -> Result<BTreeMap<String, CrateMeasures>, String> {
    let mut crates = BTreeMap::new();
    for folder in entries(&root.join("crates"))? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut measures = CrateMeasures::default();
        visit_folder(&folder, root, &mut measures)?;
        crates.insert(name, measures);
    }
    Ok(crates)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("reading {}: {error}", folder.display()))?;
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    Ok(entries)
}

fn visit_folder(folder: &Path, root: &Path, measures: &mut CrateMeasures) -> Result<(), String> {
    let mut count = 0;
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" {
            visit_folder(&path, root, measures)?;
            count += usize::from(contains_rust(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            count += usize::from(!matches!(name.as_str(), "mod.rs" | "lib.rs" | "main.rs"));
            visit_file(&path, root, measures)?;
        }
    }
    measures.most_in_folder = measures.most_in_folder.max(count);
    if count > MOST_IN_FOLDER {
        measures.crowded_folders.push(format!("{} ({count})", folder.strip_prefix(root).unwrap_or(folder).display()));
    }
    Ok(())
}

fn contains_rust(folder: &Path) -> bool {
    let entries = entries(folder).unwrap_or_default();
    entries
        .iter()
        .any(|path| path.extension().is_some_and(|extension| extension == "rs") || path.is_dir() && contains_rust(path))
}

fn visit_file(path: &Path, root: &Path, measures: &mut CrateMeasures) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut in_doc = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start);
        if let Some(doc) =
            doc.filter(|doc| OPENINGS.iter().any(|opening| doc.starts_with(opening)) && !doc.ends_with('?'))
        {
            measures.doc_lines_with_openings += 1;
            if !in_doc {
                measures.doc_openings.push(format!("{shown}:{}: {doc}", number + 1));
            }
        }
        in_doc = doc.is_some();
    }
    let is_test =
        path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "benches" | "tests.rs")));
    if is_test {
        return Ok(());
    }
    let syntax = syn::parse_file(&text).map_err(|error| format!("parsing {shown}: {error}"))?;
    measures.logic_lines += logic_lines(&text);
    Names { path: &shown, measures }.visit_file(&syntax);
    Ok(())
}

/// Lines without blanks, comments and the test module at the end of a file.
fn logic_lines(text: &str) -> usize {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Collects names of functions and types outside test code.
struct Names<'a> {
    path: &'a str,
    measures: &'a mut CrateMeasures,
}

impl Names<'_> {
    fn function(&mut self, name: &syn::Ident) {
        if is_bare_participle(&name.to_string()) {
            self.measures.participles.push(format!("{}: fn {name}", self.path));
        }
    }

    fn type_name(&mut self, name: &syn::Ident) {
        self.measures.types.entry(name.to_string()).or_default().push(self.path.to_owned());
    }
}

fn is_bare_participle(name: &str) -> bool {
    let single_word = !name.contains('_');
    single_word && (IRREGULAR.contains(&name) || name.ends_with("ed") && !NOT_PARTICIPLES.contains(&name))
}

fn is_test_code(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| is_cfg_test(attribute) || attribute.path().is_ident("test"))
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test_code(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig.ident);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig.ident);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(&item.sig.ident);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.type_name(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.type_name(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.type_name(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.type_name(&item.ident);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_stays_within_the_limits() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let problems = problems(&measure(&root).unwrap());
        assert!(problems.is_empty(), "{} places:\n{}", problems.len(), problems.join("\n"));
    }

    #[test]
    fn participles_are_told_from_verbs() {
        assert!(["said", "found", "checked", "begun"].into_iter().all(is_bare_participle));
        assert!(!["need", "seed", "load_suite", "is_known", "read", "check"].into_iter().any(is_bare_participle));
    }

    #[test]
    fn each_limit_is_seen_to_be_exceeded() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join("crates/sample/src");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("lib.rs"), "/// What it is.\nfn told() {}\n").unwrap();
        for number in 0..=MOST_IN_FOLDER {
            fs::write(source.join(format!("file{number}.rs")), "struct Place;\n").unwrap();
        }
        let problems = problems(&measure(scratch.path()).unwrap());
        assert_eq!(problems.len(), 4, "{problems:#?}");
    }
}
