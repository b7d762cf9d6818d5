//! Places that install published files name files that the archive has.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::super::description::*;
use super::super::program::cargo;
use super::super::tests::{root, stand_in_archive};
use super::*;

fn generated(path: &str) -> String {
    generated_files().into_iter().find(|(name, _)| *name == path).unwrap().1
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&generated(path)).unwrap()
}

/// The strings between `"` in a line.
fn quoted(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

/// SV-31: generated files are those of the repository, and have no place left that is not filled.
#[test]
fn generated_files_are_current() {
    let sums = TARGETS.iter().map(|target| (archive_name(VERSION, target.triple), "0".repeat(64))).collect();
    let mut files = generated_files();
    for (path, text) in &files {
        let present = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(present == *text, "{path} is out of date: run `cargo xtask generate`");
    }
    files.push(("formula", formula(&sums).unwrap()));
    for (path, text) in &files {
        let is_place = |part: &&str| part.len() > 3 && part.chars().take(4).all(|c| c.is_ascii_uppercase() || c == '_');
        let left: Vec<&str> = text.split('@').skip(1).filter(is_place).collect();
        assert!(left.is_empty(), "{path}: {left:?}");
    }
    assert!(formula(&BTreeMap::new()).unwrap_err().contains("has no checksum"));
}

/// SV-31: each file that the formula installs is in the archive that it downloads.
#[test]
fn the_formula_installs_files_of_the_archive() {
    let sums: BTreeMap<String, String> =
        TARGETS.iter().map(|target| (archive_name(VERSION, target.triple), target.triple.to_owned())).collect();
    let formula = formula(&sums).unwrap();
    let (mut urls, mut installed) = (0, 0);
    let mut url = "";
    for line in formula.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("url ") {
            (url, urls) = (quoted(rest)[0], urls + 1);
        } else if let Some(rest) = line.strip_prefix("sha256 ") {
            let triple = quoted(rest)[0];
            assert_eq!(url, format!("{}/{}", download_folder(VERSION), archive_name(VERSION, triple)));
        } else if line.contains(".install ") {
            let (_, paths) = stand_in_archive("aarch64-apple-darwin");
            let folder = archive_folder(VERSION, "aarch64-apple-darwin");
            // The name after `=>` is the one that it gets.
            for name in quoted(line.split("=>").next().unwrap()) {
                let (start, end) = name.split_once('*').unwrap_or((name, ""));
                let start = format!("{folder}/{start}");
                assert!(paths.keys().any(|path| path.starts_with(&start) && path.ends_with(end)), "{name}: {paths:?}");
                installed += 1;
            }
        }
    }
    assert_eq!((urls, installed), (4, 9), "{formula}");
}

/// SV-31: the container copies files that a build for its architectures writes, runs as a user who is not root, and asks
/// `karat health`.
#[test]
fn the_container_copies_files_of_the_archive() {
    let file = generated("deploy/Dockerfile");
    let triples: Vec<&str> = container_targets().map(|(_, triple)| triple).collect();
    assert!(triples.len() > 1 && triples.iter().all(|triple| file.contains(&format!("target={triple} ;;"))), "{file}");
    let folder = archive_folder(VERSION, triples[0]);
    let (_, paths) = stand_in_archive(triples[0]);
    let mut sources = 0;
    for line in file.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let words: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with("--")).collect();
        for source in &words[..words.len() - 1] {
            sources += 1;
            if let Some(inner) = source.strip_prefix("/karat/") {
                assert!(paths.contains_key(&format!("{folder}/{inner}")), "{source}: {paths:?}");
                continue;
            }
            let (start, end) = source.strip_prefix("dist/").unwrap().split_once('*').unwrap();
            for triple in &triples {
                let name = archive_name(VERSION, triple);
                assert!(name.starts_with(start) && name.ends_with(end), "{source}: {name}");
            }
        }
    }
    assert_eq!(sources, 5, "{file}");
    let user = file.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert!(file.contains("CMD [\"karat\", \"health\"]") && file.contains("ENTRYPOINT [\"karat\"]"), "{file}");
}

/// SV-31: `cargo binstall` downloads the archives, and finds the program in them.
#[test]
fn binstall_finds_the_program() {
    let output = Command::new(cargo())
        .current_dir(root())
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == PROGRAM).unwrap();
    let settings = &package["metadata"]["binstall"];
    assert_eq!(settings["pkg-fmt"], "tgz");
    for target in TARGETS {
        let filled = |key: &str| {
            let places = [
                ("{ repo }", package["repository"].as_str().unwrap()),
                ("{ version }", package["version"].as_str().unwrap()),
                ("{ target }", target.triple),
                ("{ bin }", PROGRAM),
                ("{ binary-ext }", ""),
            ];
            let text = settings[key].as_str().unwrap().to_owned();
            places.iter().fold(text, |text, (place, value)| text.replace(place, value))
        };
        let archive = archive_name(VERSION, target.triple);
        assert_eq!(filled("pkg-url"), format!("{}/{archive}", download_folder(VERSION)));
        let (_, paths) = stand_in_archive(target.triple);
        assert_eq!(paths.get(&filled("bin-dir")), Some(&0o755), "{paths:?}");
    }
}

/// SV-30, SV-31: workflows give no more permissions than they need, run no code of a fork with secrets, and pin what they use.
#[test]
fn workflows_are_careful() {
    let release = yaml(".github/workflows/release.yml");
    assert_eq!(release["permissions"], serde_json::json!({}));
    let jobs = release["jobs"].as_object().unwrap();
    let writes = |job: &str| {
        let permissions = jobs[job]["permissions"].as_object().unwrap();
        permissions.iter().filter(|(_, value)| *value == "write").map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    assert!(writes("build").is_empty());
    assert_eq!(writes("publish"), ["contents", "id-token", "attestations"]);
    assert_eq!(writes("container"), ["packages", "id-token", "attestations"]);
    let matrix = jobs["build"]["strategy"]["matrix"]["include"].as_array().unwrap();
    let targets: Vec<&str> = matrix.iter().map(|entry| entry["target"].as_str().unwrap()).collect();
    assert_eq!(targets, TARGETS.iter().map(|target| target.triple).collect::<Vec<_>>());
    let ci = fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap();
    let parsed: Value = serde_saphyr::from_str(&ci).unwrap();
    assert_eq!(parsed["permissions"], serde_json::json!({ "contents": "read" }));
    let mut texts: Vec<(&str, String)> = generated_files();
    texts.push(("ci.yml", ci));
    for name in ["audit.yml", "fuzz.yml", "site.yml"] {
        texts.push((name, fs::read_to_string(root().join(".github/workflows").join(name)).unwrap()));
    }
    for (path, text) in &texts {
        assert!(!text.contains("pull_request_target"), "{path}");
        for used in text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: ")) {
            // A tag moves; a hash is the version that was read.
            let (owner, version) = used.split_once('@').unwrap();
            let (hash, tag) = version.split_once(" # v").unwrap_or_default();
            let known = ["actions/", "docker/"].iter().any(|start| owner.starts_with(start));
            let pinned = hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit()) && !tag.is_empty();
            assert!(known && pinned, "{path}: {used}");
        }
        // A text of a workflow becomes part of a script only as a variable; the matrix is this repository's own.
        for line in text.lines().filter(|line| line.replace("${{ matrix.", "").contains("${{")) {
            let key = line.trim().trim_start_matches("- ").split(' ').next().unwrap();
            assert!(key.ends_with(':') && key != "run:", "{path}: {line}");
        }
    }
}
