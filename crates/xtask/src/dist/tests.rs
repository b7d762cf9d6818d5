//! The archive as a whole, made of stand-ins for the program and what it prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use super::contents::pages::pages;
use super::description::*;
use super::packaging::archive::{Member, ar, gzip, tar};
use super::packaging::checksums;
use super::program::Commit;
use super::release::{collect, package_files};

/// The repository's root.
pub fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The members of an archive whose program is a script; the program is the first.
pub fn stand_in_members() -> Vec<Member> {
    let mut members =
        vec![Member::program(PROGRAM, "#!/bin/sh\necho \"karat $*\"\n"), Member::file(NOTICES, "notices")];
    members.extend(REPOSITORY_FILES.map(|name| Member::file(name, fs::read(root().join(name)).unwrap())));
    members.extend(SHELLS.iter().map(|shell| Member::file(shell.archive, shell.name)));
    members.extend(["karat.1", "karat-run.1"].map(|page| Member::file(format!("{MAN_FOLDER}/{page}"), page)));
    members
}

/// The stand-in archive of a target: its bytes, and the paths in it with their modes.
pub fn stand_in_archive(triple: &str) -> (Vec<u8>, BTreeMap<String, u32>) {
    let bytes = gzip(&tar(&stand_in_members(), &format!("{}/", archive_folder(VERSION, triple)), 1).unwrap());
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
    let mut paths = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        paths.insert(entry.path().unwrap().display().to_string(), entry.header().mode().unwrap());
    }
    (bytes, paths)
}

/// SV-31: the archive of a target has one folder of its name, with the program, the terms, pages and completions.
#[test]
fn the_archive_has_all_files() {
    let (_, paths) = stand_in_archive("x86_64-unknown-linux-musl");
    let folder = "karat-0.1.0-x86_64-unknown-linux-musl".replace("0.1.0", VERSION);
    for (path, mode) in [
        ("karat", 0o755),
        ("README.md", 0o644),
        ("LICENSE-APACHE", 0o644),
        ("LICENSE-MIT", 0o644),
        ("THIRD-PARTY.txt", 0o644),
        ("man/karat-run.1", 0o644),
        ("completions/karat.bash", 0o644),
        ("completions/_karat", 0o644),
    ] {
        assert_eq!(paths.get(&format!("{folder}/{path}")), Some(&mode), "{path}: {paths:?}");
    }
    assert!(paths.keys().all(|path| path.starts_with(&folder)), "{paths:?}");
}

/// SV-31: the program itself writes its man pages and completions; one that cannot be started is an error with advice.
#[test]
#[cfg(unix)]
fn pages_are_those_of_the_program() {
    use std::os::unix::fs::PermissionsExt;
    let place = testkit::scratch().unwrap();
    let script =
        "#!/bin/sh\nif [ \"$2\" = --man ]; then mkdir \"$3\"; echo page > \"$3/karat.1\"; else echo \"for $2\"; fi\n";
    let program = place.write("program", script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let found = pages(&program, scratch.path()).unwrap();
    let texts: BTreeMap<&str, &[u8]> = found.iter().map(|it| (it.path.as_str(), it.content.as_slice())).collect();
    assert_eq!(texts["completions/_karat"], b"for zsh\n");
    assert_eq!(texts["man/karat.1"], b"page\n");
    assert_eq!(found.len(), SHELLS.len() + 1);
    let absent = pages(&place.path().join("absent"), scratch.path()).unwrap_err();
    assert!(absent.contains("build on a machine that can start it"), "{absent}");
}

/// SV-31: a target with a Debian architecture has a package, whose parts are in the order of the format.
#[test]
#[cfg(target_os = "linux")]
fn debian_packages_are_for_their_targets() {
    let commit = Commit { hash: "c0".to_owned(), date: String::new(), time: 1 };
    let mut members = stand_in_members();
    members[0].content = fs::read("/bin/sh").unwrap();
    let named = |triple: &str| package_files(&members, triple, &commit).unwrap();
    let musl: Vec<String> = named("x86_64-unknown-linux-musl").into_keys().collect();
    assert_eq!(musl, [archive_name(VERSION, "x86_64-unknown-linux-musl")]);
    let gnu = named("x86_64-unknown-linux-gnu");
    let package = &gnu[&debian_name(VERSION, "amd64")];
    assert_eq!(package[..72], ar(&[("debian-binary", b"2.0\n".to_vec())], 1)[..72]);
    let text = String::from_utf8_lossy(&package[72..200]);
    assert!(text.starts_with("control.tar.gz "), "{text}");
}

/// SV-31: the files of all targets are joined with one list of checksums and the formula; a damaged or missing one is refused.
#[test]
fn targets_are_collected() {
    let place = testkit::scratch().unwrap();
    for target in TARGETS {
        let name = archive_name(VERSION, target.triple);
        let sum = checksums::of_bytes(target.triple.as_bytes());
        place.write(&format!("built/{}/{name}", target.triple), target.triple).unwrap();
        place.write(&format!("built/{}/{CHECKSUMS}", target.triple), format!("{sum}  {name}\n")).unwrap();
    }
    let (built, to) = (place.path().join("built"), place.path().join("out"));
    let mut said = Vec::new();
    collect(&root(), &built, &to, &mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("deploy/released.txt"), "{said}");
    let sums = checksums::read(&fs::read_to_string(to.join(CHECKSUMS)).unwrap()).unwrap();
    let names: BTreeSet<&str> = sums.keys().map(String::as_str).collect();
    let archives: Vec<String> = TARGETS.iter().map(|target| archive_name(VERSION, target.triple)).collect();
    assert!(archives.iter().all(|name| names.contains(name.as_str())) && names.contains("karat.rb"), "{names:?}");
    for (name, sum) in &sums {
        assert_eq!(&checksums::of_bytes(&fs::read(to.join(name)).unwrap()), sum, "{name}");
    }
    let triple = TARGETS[0].triple;
    let name = archive_name(VERSION, triple);
    place.write(&format!("built/{triple}/{name}"), "damaged").unwrap();
    let damaged = collect(&root(), &built, &to, &mut Vec::new()).unwrap_err();
    assert!(damaged.contains("its checksum is not that of"), "{damaged}");
    fs::remove_dir_all(built.join(triple)).unwrap();
    let missing = collect(&root(), &built, &to, &mut Vec::new()).unwrap_err();
    assert!(missing.contains(&name) && missing.contains("is missing"), "{missing}");
    fs::remove_dir_all(&built).unwrap();
    fs::create_dir(&built).unwrap();
    let empty = collect(&root(), &built, &to, &mut Vec::new()).unwrap_err();
    assert!(empty.contains("no folder has SHA256SUMS"), "{empty}");
    let mut read = String::new();
    fs::File::open(to.join("karat.rb")).unwrap().read_to_string(&mut read).unwrap();
    assert!(read.contains(&sums[&archive_name(VERSION, "aarch64-apple-darwin")]), "{read}");
}

/// SV-31: everything that a published crate embeds is below its folder, or cargo would leave it out of the package. Fixtures
/// are for tests, which cargo does not build from packages.
#[test]
fn packages_contain_what_they_embed() {
    let mut embedded = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if !manifest.contains("publish = false") {
            collect_embedded(&folder, &folder.join("src"), &mut embedded);
        }
    }
    assert!(embedded.len() > 10, "{embedded:?}");
    let outside: Vec<&String> = embedded.iter().filter(|path| path.contains("outside: ")).collect();
    assert!(outside.is_empty(), "link these files into the folder `embedded` of their crates: {outside:?}");
}

/// Adds the path of each `include_str!`, `include_bytes!` and `include_dir!` below `folder`, marked if it leaves the crate.
fn collect_embedded(krate: &Path, folder: &Path, embedded: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_embedded(krate, &path, embedded);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let uses = ["include_str!(", "include_bytes!(", "include_dir!("].map(|call| text.split(call).skip(1));
        for rest in uses.into_iter().flatten() {
            let literal = rest.split('"').skip(1).step_by(2).find(|literal| *literal != "CARGO_MANIFEST_DIR").unwrap();
            let (base, below) = match literal.trim_start_matches("$CARGO_MANIFEST_DIR").strip_prefix('/') {
                Some(below) => (krate, below),
                None => (path.parent().unwrap(), literal),
            };
            let depth = base.strip_prefix(krate).unwrap().components().count();
            let up = below.split('/').filter(|part| *part == "..").count();
            let leaves = up > depth && !below.contains("/fixtures/");
            embedded.push(format!("{}{} {literal}", if leaves { "outside: " } else { "" }, path.display()));
        }
    }
}

/// LI-44: the program of releases and of the README's build carries no symbol table. Cargo strips a program by the profile
/// of its package, and forgets to where a line of the profile names the package.
#[test]
fn no_profile_names_the_package_of_the_program() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let profiles = manifest.split("\n[profile.").skip(1).collect::<Vec<_>>();
    let stripped = profiles.iter().filter(|profile| profile.contains("\nstrip = \"symbols\""));
    assert_eq!(stripped.count(), 1, "`dist` inherits it");
    let named: Vec<&str> =
        profiles.iter().flat_map(|it| it.lines()).filter(|line| line.starts_with("karat.")).collect();
    assert!(named.is_empty(), "{named:?}");
}
