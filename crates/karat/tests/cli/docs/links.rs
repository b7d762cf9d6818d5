//! Links between pages.

use std::path::Path;

use super::blocks::{self, Page};

const OTHERS: [&str; 6] =
    ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md", "python/README.md"];

/// The page whose own commands make the reports that it links; its test looks for them.
const EXAMPLES: &str = "docs/examples.md";

/// The page that mdBook shows for addresses without a page.
const NOT_FOUND: &str = "404.md";

/// PE-36: every relative link leads to a file, and its fragment to a heading of that file.
#[test]
fn every_link_resolves() {
    let mut broken = Vec::new();
    for page in blocks::pages().into_iter().chain(OTHERS.map(Page::read)) {
        for target in targets(&page.text) {
            if page.path == EXAMPLES && target.starts_with("examples/") {
                continue;
            }
            if !resolves(&page, &target) {
                broken.push(format!("{}: {target}", page.path));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

/// The book has every page, once.
#[test]
fn the_table_of_contents_is_complete() {
    let summary = Page::read("docs/SUMMARY.md");
    let mut listed = targets(&summary.text);
    let mut present: Vec<String> =
        blocks::pages().iter().filter_map(|page| page.path.strip_prefix("docs/").map(str::to_owned)).collect();
    present.retain(|path| path != "SUMMARY.md" && path != NOT_FOUND);
    listed.sort();
    present.sort();
    assert_eq!(listed, present);
}

/// Addresses of files of this repository, for pages of the book: it has no other files than those below `docs`.
const REPOSITORY: [&str; 2] =
    ["https://github.com/karat-eval/karat/blob/main/", "https://github.com/karat-eval/karat/tree/main/"];

/// PE-36: an address of a file of this repository names one that is there; other sites are named with https.
#[test]
fn every_address_is_https_and_names_what_there_is() {
    let (mut wrong, mut own) = (Vec::new(), 0);
    for page in blocks::pages().into_iter().chain(OTHERS.map(Page::read)) {
        for target in all_targets(&page.text).iter().filter(|target| target.contains("://")) {
            let file = REPOSITORY.iter().find_map(|prefix| target.strip_prefix(prefix));
            own += usize::from(file.is_some());
            let is_fine = file.map_or(target.starts_with("https://"), |file| {
                blocks::root().join(file.split('#').next().unwrap()).exists()
            });
            if !is_fine {
                wrong.push(format!("{}: {target}", page.path));
            }
        }
    }
    assert!(own > 15, "{own} addresses of this repository");
    assert!(wrong.is_empty(), "these addresses are not https, or name no file:\n{}", wrong.join("\n"));
}

/// Targets of links and images outside of code, without those of other sites.
pub fn targets(text: &str) -> Vec<String> {
    let is_own = |target: &String| !target.contains("://") && !target.starts_with("mailto:");
    all_targets(text).into_iter().filter(is_own).collect()
}

/// Targets of links and images outside of code.
fn all_targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every other piece between backticks is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in prose.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            targets.push(target.to_owned());
        }
    }
    targets
}

fn resolves(page: &Page, target: &str) -> bool {
    let (file, fragment) = target.split_once('#').map_or((target, None), |(file, fragment)| (file, Some(fragment)));
    let folder = Path::new(&page.path).parent().unwrap();
    let path = if file.is_empty() { Path::new(&page.path).to_path_buf() } else { folder.join(file) };
    let path = blocks::root().join(path);
    let Some(fragment) = fragment else { return path.exists() };
    std::fs::read_to_string(path).is_ok_and(|text| anchors(&text).iter().any(|anchor| anchor == fragment))
}

/// The fragments of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let of = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(of).collect()
}
