//! The page of the security review: the tests that it names exist.

use std::collections::BTreeSet;
use std::path::Path;

use super::blocks::{self, Page};

/// PE-36: each test and each file that holds an item of the review is there.
#[test]
fn the_review_names_tests_that_exist() {
    let (mut paths, mut functions) = (Vec::new(), BTreeSet::new());
    collect(&blocks::root().join("crates"), &mut paths, &mut functions);
    let page = Page::read("docs/explanations/security.md");
    let prose = page.text.split("\n```").next().unwrap();
    let named: Vec<&str> = prose.split('`').skip(1).step_by(2).collect();
    let is_function = |word: &str| {
        word.matches('_').count() >= 2
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let (mut missing, mut known) = (Vec::new(), 0);
    for name in named {
        let exists = match name.strip_suffix(".rs") {
            Some(_) => paths.iter().any(|path| path.ends_with(&format!("/{name}"))),
            None if is_function(name) => functions.contains(name),
            None => continue,
        };
        known += usize::from(exists);
        if !exists {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "the review names what is not there: {missing:?}");
    assert!(known > 40, "{known}");
}

/// Paths of source files, and names of functions in them.
fn collect(folder: &Path, paths: &mut Vec<String>, functions: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths, functions);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let after = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            functions.extend(after.map(str::to_owned));
            paths.push(path.display().to_string());
        }
    }
}
