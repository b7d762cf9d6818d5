//! The list of components in the form of CycloneDX 1.5: the program, and the packages whose code is in it. Serial number
//! and time depend on the content and the commit, not on the moment.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::packages::{LinkedPackage, PackageId};
use crate::dist::description::{LICENCE, PROGRAM, REPOSITORY, VERSION};
use crate::dist::packaging::checksums::{self, hex};
use crate::dist::program::Commit;

/// Makes the list of components of a program.
pub fn sbom(packages: &[LinkedPackage], program: &[u8], triple: &str, commit: &Commit) -> String {
    let is_program = |package: &&LinkedPackage| package.id.0 == PROGRAM;
    let components: Vec<Value> = packages.iter().filter(|package| !is_program(package)).map(component).collect();
    let dependencies: Vec<Value> = packages
        .iter()
        .map(|package| {
            let uses: Vec<String> = package.uses.iter().map(purl).collect();
            json!({ "ref": purl(&package.id), "dependsOn": uses })
        })
        .collect();
    let subject = purl(&(PROGRAM.to_owned(), VERSION.to_owned()));
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(commit.time),
            "tools": { "components": [{ "type": "application", "name": "karat-xtask", "version": VERSION }] },
            "component": {
                "type": "application",
                "bom-ref": subject,
                "name": PROGRAM,
                "version": VERSION,
                "licenses": [{ "expression": LICENCE }],
                "purl": subject,
                "hashes": [{ "alg": "SHA-256", "content": checksums::of_bytes(program) }],
                "externalReferences": [{ "type": "vcs", "url": REPOSITORY }],
                "properties": [
                    { "name": "karat:target", "value": triple },
                    { "name": "karat:commit", "value": commit.hash },
                ],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    let serial = serial_number(document.to_string().as_bytes());
    if let Some(fields) = document.as_object_mut() {
        fields.insert("serialNumber".to_owned(), Value::String(serial));
    }
    format!("{document:#}\n")
}

fn component(package: &LinkedPackage) -> Value {
    let (name, version) = &package.id;
    let licence = match &package.licence {
        Some(expression) => json!({ "expression": expression }),
        None => json!({ "license": { "name": package.licence_file } }),
    };
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(&package.id),
        "name": name,
        "version": version,
        "scope": "required",
        "licenses": [licence],
        "purl": purl(&package.id),
    });
    let Some(fields) = component.as_object_mut() else { return component };
    if let Some(checksum) = &package.checksum {
        fields.insert("hashes".to_owned(), json!([{ "alg": "SHA-256", "content": checksum }]));
    }
    if let Some(repository) = &package.repository {
        fields.insert("externalReferences".to_owned(), json!([{ "type": "vcs", "url": repository }]));
    }
    component
}

/// The package URL. A `+` of a version is written as its code.
fn purl((name, version): &PackageId) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// A UUID of version 8, whose bits are those of a hash.
fn serial_number(content: &[u8]) -> String {
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip(Sha256::digest(content)) {
        *byte = from;
    }
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex(&bytes);
    format!("urn:uuid:{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

/// Seconds since 1970 as a time of ISO 8601.
fn timestamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn package(name: &str, version: &str, uses: &[(&str, &str)]) -> LinkedPackage {
        LinkedPackage {
            id: (name.to_owned(), version.to_owned()),
            licence: Some("MIT".to_owned()),
            licence_file: None,
            repository: None,
            checksum: (name != PROGRAM).then(|| "ab".repeat(32)),
            folder: Default::default(),
            uses: uses.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect(),
        }
    }

    /// SV-31: components have purl, licence and hash; every reference of the graph is a component; the same input gives the
    /// same bytes, and another commit another serial number.
    #[test]
    fn the_graph_of_components_is_whole() {
        let packages =
            [package(PROGRAM, VERSION, &[("toml", "1.1.2+spec-1.1.0")]), package("toml", "1.1.2+spec-1.1.0", &[])];
        let commit = Commit { hash: "c0".to_owned(), date: String::new(), time: 1_700_000_000 };
        let text = sbom(&packages, b"program", "x86_64-unknown-linux-gnu", &commit);
        assert_eq!(text, sbom(&packages, b"program", "x86_64-unknown-linux-gnu", &commit));
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
        let toml = &document["components"][0];
        assert_eq!(document["components"].as_array().unwrap().len(), 1);
        assert_eq!(toml["purl"], "pkg:cargo/toml@1.1.2%2Bspec-1.1.0");
        assert_eq!(
            (&toml["licenses"][0]["expression"], &toml["hashes"][0]["content"]),
            (&json!("MIT"), &json!("ab".repeat(32)))
        );
        let known: BTreeSet<&str> =
            [&document["metadata"]["component"], toml].map(|it| it["bom-ref"].as_str().unwrap()).into();
        let edges = document["dependencies"].as_array().unwrap();
        let used = edges.iter().flat_map(|edge| edge["dependsOn"].as_array().unwrap().iter().chain([&edge["ref"]]));
        assert_eq!(used.map(|it| it.as_str().unwrap()).collect::<BTreeSet<_>>(), known);
        let serial = document["serialNumber"].as_str().unwrap();
        let parts: Vec<usize> = serial.trim_start_matches("urn:uuid:").split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{serial}");
        assert_eq!(serial.as_bytes()[23], b'8', "the version of the UUID: {serial}");
        let other = Commit { hash: "c1".to_owned(), ..commit };
        let other: Value =
            serde_json::from_str(&sbom(&packages, b"program", "x86_64-unknown-linux-gnu", &other)).unwrap();
        assert_ne!(other["serialNumber"], document["serialNumber"]);
    }
}
