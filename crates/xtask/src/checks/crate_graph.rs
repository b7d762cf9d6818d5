//! The dependency graph of ARCHITECTURE.md: a test reads the real one and rejects a dependency on a higher layer.

#![cfg(test)]

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// The workspace crates that each crate may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("karat-types", &[]),
    ("karat-stats", &[]),
    ("karat-text", &["karat-types"]),
    ("karat-traces", &[]),
    ("karat-suite", &["karat-types", "karat-text", "karat-traces", "karat-schedule", "karat-alert", "karat-columnar"]),
    ("karat-quantity", &["karat-text"]),
    ("karat-scoring", &["karat-types", "karat-text", "karat-quantity"]),
    ("karat-summary", &["karat-types", "karat-scoring"]),
    ("karat-providers", &["karat-types", "karat-text"]),
    ("karat-filings", &["karat-types", "karat-text", "karat-suite"]),
    ("karat-store", &["karat-types"]),
    ("karat-schedule", &[]),
    ("karat-alert", &["karat-types"]),
    ("karat-columnar", &[]),
    ("karat-demo", &[]),
    ("karat-dataset", &["karat-types", "karat-stats", "karat-text"]),
    ("karat-import", &["karat-types", "karat-text", "karat-traces", "karat-suite"]),
    ("karat-engine", &["karat-types", "karat-text", "karat-suite", "karat-scoring", "karat-providers", "karat-store"]),
    ("karat-analysis", &["karat-types", "karat-stats", "karat-text"]),
    ("karat-page", &["karat-types", "karat-text"]),
    ("karat-report", &["karat-types", "karat-stats", "karat-text", "karat-analysis", "karat-page"]),
    (
        "karat-app",
        &[
            "karat-types",
            "karat-stats",
            "karat-text",
            "karat-suite",
            "karat-scoring",
            "karat-providers",
            "karat-store",
            "karat-traces",
            "karat-demo",
            "karat-dataset",
            "karat-schedule",
            "karat-alert",
            "karat-columnar",
            "karat-import",
            "karat-filings",
            "karat-engine",
            "karat-analysis",
            "karat-report",
        ],
    ),
    ("karat-server", &["karat-types", "karat-page", "karat-traces", "karat-app"]),
    ("karat-mcp", &["karat-types", "karat-app"]),
    ("karat", &["karat-types", "karat-app", "karat-server", "karat-mcp"]),
    ("karat-python", &["karat-types", "karat-app", "karat-columnar", "karat-quantity", "karat-scoring", "karat-stats"]),
];

/// Crates that no library without a network stack may pull in.
const NETWORK: &[&str] = &["reqwest", "hyper", "tokio", "rustls", "rusqlite"];

fn metadata() -> Value {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    // Without the filter, cargo asks for packages of other platforms, which an offline machine lacks.
    let platform = stdout_of(cargo, &["-vV"]);
    let platform = platform.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = ["metadata", "--format-version", "1", "--offline", "--filter-platform", platform];
    serde_json::from_str(&stdout_of(cargo, &metadata)).unwrap()
}

fn stdout_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Dependencies of normal kind by package name, from the resolved graph.
fn graph(metadata: &Value) -> BTreeMap<String, Vec<String>> {
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| {
            let normal = |dep: &&Value| dep["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
            let deps = node["deps"].as_array().unwrap().iter().filter(normal);
            let deps = deps.map(|dep| names[dep["pkg"].as_str().unwrap()].to_owned()).collect();
            (names[node["id"].as_str().unwrap()].to_owned(), deps)
        })
        .collect()
}

/// Dependencies go downwards only.
#[test]
fn crates_depend_on_lower_layers_only() {
    let graph = graph(&metadata());
    for (name, allowed) in ALLOWED {
        let internal = graph[*name].iter().filter(|dep| dep.starts_with("karat"));
        let wrong: Vec<&String> = internal.filter(|dep| !allowed.contains(&dep.as_str())).collect();
        assert!(wrong.is_empty(), "{name} must not depend on {wrong:?}; ARCHITECTURE.md says what it may");
    }
    let unknown: Vec<&String> = graph
        .keys()
        .filter(|name| name.starts_with("karat") && !ALLOWED.iter().any(|(known, _)| known == name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?} has no line in this test's table");
}

/// SU-07: scoring, text and statistics are libraries without a network stack or a database.
#[test]
fn libraries_have_no_network_stack() {
    let graph = graph(&metadata());
    for library in
        ["karat-scoring", "karat-summary", "karat-quantity", "karat-stats", "karat-text", "karat-types", "karat-page"]
    {
        let mut open = vec![library.to_owned()];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = open.pop() {
            if seen.insert(name.clone()) {
                open.extend(graph.get(&name).into_iter().flatten().cloned());
            }
        }
        let found: Vec<&&str> = NETWORK.iter().filter(|name| seen.contains(**name)).collect();
        assert!(found.is_empty(), "{library} pulls in {found:?}");
    }
}

/// Files of karat-analysis with statistics of their own: frozen cards, coefficients, cascades, slopes.
const OWN_STATISTICS: &[&str] = &["infer/", "reference/canary.rs", "agreement/", "figures/slope.rs"];

/// Formulas of intervals of figures and of tests of changes.
const FORMULAS: &[&str] = &[
    "t_interval",
    "mean_with_t_interval",
    "mean_with_normal_interval",
    "clustered_mean",
    "paired_t(",
    "sign_flip",
    ".wilson(",
];

/// DC-01: figures and changes have their intervals and tests from one folder, so every screen shows the same.
#[test]
fn intervals_and_tests_come_from_one_folder() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../karat-analysis/src");
    let (mut folders, mut wrong, mut files) = (vec![root.clone()], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let own = OWN_STATISTICS.iter().any(|own| name.starts_with(own)) || name.contains("tests");
            // `without_interval` is not a formula.
            let is_named = |formula: &&&str| {
                let mut places = code.match_indices(**formula);
                places.any(|(at, _)| {
                    formula.starts_with('.')
                        || !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
                })
            };
            let found = FORMULAS.iter().filter(|formula| !own && is_named(formula));
            wrong.extend(found.map(|formula| format!("{name}: {formula}")));
            files += 1;
        }
    }
    assert!(files > 100, "{files} files found below {}", root.display());
    assert!(wrong.is_empty(), "call `crate::infer` instead: {wrong:#?}");
}

/// The packages of a selection with their features, as `cargo tree` prints them.
fn features(selection: &[&str]) -> std::collections::BTreeSet<String> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let form = ["--offline", "--prefix", "none", "--format", "{p} {f}"];
    let tree = stdout_of(cargo, &[&["tree"], selection, &form].concat());
    // The mark of a package that stands there a second time.
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)").trim_end());
    lines.filter(|line| !line.starts_with("karat-python ")).map(str::to_owned).collect()
}

/// LI-41: the tests, `cargo xtask` and the wheel use one build of each dependency. What is missing goes into the `Cargo.toml`
/// of `workspace-features`.
#[test]
fn the_check_builds_one_feature_set() {
    let tests = features(&["--workspace", "--edges", "normal,build,dev"]);
    let linked = features(&["--workspace", "--edges", "normal,dev,no-proc-macro"]);
    for (name, selection) in [
        ("xtask", &["-p", "xtask"][..]),
        ("the wheel", &["-p", "karat-python", "--features", "workspace-features"]),
        ("the binaries", &["--workspace", "--exclude", "karat-python"]),
    ] {
        let other = features(&[selection, &["--edges", "normal,build"]].concat());
        let compiled_again: Vec<&String> = other.difference(&tests).collect();
        assert!(other.len() > 100 && compiled_again.is_empty(), "{name} compiles again: {compiled_again:#?}");
        // Cargo compiles a package of macros and build scripts in another way if a program links it, too; and with it all
        // that depends on it, such as serde.
        let linked_here = features(&[selection, &["--edges", "normal,no-proc-macro"]].concat());
        let compiled_again: Vec<&String> =
            other.intersection(&linked).filter(|it| !linked_here.contains(*it)).collect();
        assert!(compiled_again.is_empty(), "{name} does not link, as the tests do: {compiled_again:#?}");
    }
}
