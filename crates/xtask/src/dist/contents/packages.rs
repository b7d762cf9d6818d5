//! The packages whose code is in the program, with their licences and checksums.
//!
//! `cargo tree` says which: it knows the features of this program alone, and leaves out what only builds and tests need,
//! macros included. `cargo metadata` has their details, `Cargo.lock` the checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::dist::description::PROGRAM;
use crate::dist::program::{cargo, output};

/// Name and version.
pub type PackageId = (String, String);

/// A package whose code is in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedPackage {
    pub id: PackageId,
    /// An SPDX expression.
    pub licence: Option<String>,
    /// The path of a licence that has no SPDX name.
    pub licence_file: Option<String>,
    pub repository: Option<String>,
    /// SHA-256 of the package as the registry has it; none for crates of this repository.
    pub checksum: Option<String>,
    /// The folder of its sources.
    pub folder: PathBuf,
    /// The packages that it uses, among those of the program.
    pub uses: Vec<PackageId>,
}

/// Returns the packages of the program for a target, sorted by name and version.
///
/// # Errors
/// Cargo fails, or prints what this does not understand.
pub fn linked_packages(root: &Path, triple: &str) -> Result<Vec<LinkedPackage>, String> {
    let edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    let tree = output(
        Command::new(cargo())
            .current_dir(root)
            .args(["tree", "--locked", "--package", PROGRAM, "--target", triple])
            .args(edges),
    )?;
    let linked = listed_ids(&tree);
    let metadata = output(Command::new(cargo()).current_dir(root).args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        triple,
    ]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("reading what `cargo metadata` printed: {error}"))?;
    let lock = root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).map_err(|error| format!("reading {}: {error}", lock.display()))?;
    join(&linked, &metadata, &checksums(&lock))
}

/// The ids in the output of `cargo tree`: `NAME vVERSION …` in each line.
fn listed_ids(tree: &str) -> BTreeSet<PackageId> {
    let id = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(id).collect()
}

/// The checksums of a lock file.
fn checksums(lock: &str) -> BTreeMap<PackageId, String> {
    let checksum = |block: &str| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line?.strip_suffix('"').map(str::to_owned)
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    lock.split("[[package]]").filter_map(checksum).collect()
}

fn join(
    linked: &BTreeSet<PackageId>,
    metadata: &Value,
    checksums: &BTreeMap<PackageId, String>,
) -> Result<Vec<LinkedPackage>, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let id = |package: &Value| Some((text(&package["name"])?, text(&package["version"])?));
    let packages = list(&metadata["packages"]);
    let names: BTreeMap<String, PackageId> =
        packages.iter().filter_map(|package| Some((text(&package["id"])?, id(package)?))).collect();
    let mut uses: BTreeMap<PackageId, BTreeSet<PackageId>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let Some(user) = text(&node["id"]).and_then(|id| names.get(&id).cloned()) else { continue };
        let normal = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let used = list(&node["deps"]);
        let used = used.iter().filter(normal).filter_map(|dep| names.get(dep["pkg"].as_str()?));
        uses.entry(user).or_default().extend(used.filter(|id| linked.contains(*id)).cloned());
    }
    let mut found = BTreeMap::new();
    for package in &packages {
        let Some(id) = id(package).filter(|id| linked.contains(id)) else { continue };
        let manifest = text(&package["manifest_path"]).unwrap_or_default();
        let folder = Path::new(&manifest).parent().unwrap_or(Path::new("")).to_owned();
        let package = LinkedPackage {
            licence: text(&package["license"]).map(|licence| licence.replace('/', " OR ").replace("  ", " ")),
            licence_file: text(&package["license_file"]),
            repository: text(&package["repository"]),
            checksum: checksums.get(&id).cloned(),
            uses: uses.remove(&id).unwrap_or_default().into_iter().collect(),
            folder,
            id: id.clone(),
        };
        found.insert(id, package);
    }
    match linked.iter().find(|id| !found.contains_key(*id)) {
        None => Ok(found.into_values().collect()),
        Some((name, version)) => {
            Err(format!("listing the packages of {PROGRAM}: `cargo metadata` does not know {name} {version}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(name: &str, version: &str) -> PackageId {
        (name.to_owned(), version.to_owned())
    }

    /// SV-31: a package that `cargo tree` lists has the licence, the checksum and the uses that cargo knows; others are left out.
    #[test]
    fn packages_are_those_of_the_tree() {
        let tree = "karat v0.1.0 (/src)\nserde v1.0.2\nserde v1.0.2 (*)\n\n";
        let lock = "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.2\"\nsource = \"registry\"\nchecksum = \"ab\"\n\n\
                    [[package]]\nname = \"karat\"\nversion = \"0.1.0\"\n";
        let normal = json!([{ "kind": null }]);
        let metadata = json!({
            "packages": [
                { "id": "k", "name": "karat", "version": "0.1.0", "license": "MIT OR Apache-2.0", "manifest_path": "/src/Cargo.toml" },
                { "id": "s", "name": "serde", "version": "1.0.2", "license": "MIT/Apache-2.0", "manifest_path": "/r/serde/Cargo.toml", "repository": "https://example.org" },
                { "id": "t", "name": "tests", "version": "1.0.0", "license": "MIT", "manifest_path": "/r/t/Cargo.toml" },
            ],
            "resolve": { "nodes": [
                { "id": "k", "deps": [
                    { "pkg": "s", "dep_kinds": normal },
                    { "pkg": "t", "dep_kinds": [{ "kind": "dev" }] },
                ] },
            ] },
        });
        let packages = join(&listed_ids(tree), &metadata, &checksums(lock)).unwrap();
        let short: Vec<_> =
            packages.iter().map(|it| (it.id.clone(), it.checksum.as_deref(), it.uses.clone())).collect();
        let serde = id("serde", "1.0.2");
        assert_eq!(short, [(id("karat", "0.1.0"), None, vec![serde.clone()]), (serde, Some("ab"), Vec::new())]);
        assert_eq!(packages[1].licence.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(packages[1].folder, Path::new("/r/serde"));
        let absent = BTreeSet::from([id("absent", "1.0.0")]);
        assert!(join(&absent, &metadata, &BTreeMap::new()).unwrap_err().contains("absent 1.0.0"));
    }
}
