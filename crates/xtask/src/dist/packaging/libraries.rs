//! The shared libraries that a program needs, with the newest version of each that one of its symbols names.

use std::collections::BTreeMap;

use elf::ElfBytes;
use elf::abi::{DT_NEEDED, SHT_GNU_VERNEED};
use elf::endian::AnyEndian;

/// A version as numbers, as 2.34 of `GLIBC_2.34`.
type VersionNumbers = Vec<u32>;

/// Returns the libraries of an ELF program by name; those whose symbols have no versions with an empty version.
///
/// # Errors
/// It is not an ELF file, or a damaged one.
pub fn needed_libraries(program: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let damaged = |error: elf::ParseError| format!("reading the libraries of the program: {error}");
    let file = ElfBytes::<AnyEndian>::minimal_parse(program).map_err(damaged)?;
    let mut needed: BTreeMap<String, VersionNumbers> = BTreeMap::new();
    let common = file.find_common_data().map_err(damaged)?;
    if let (Some(entries), Some(strings)) = (file.dynamic().map_err(damaged)?, common.dynsyms_strs) {
        for entry in entries.iter().filter(|entry| entry.d_tag == DT_NEEDED) {
            let at = usize::try_from(entry.d_val()).unwrap_or(usize::MAX);
            needed.insert(strings.get(at).map_err(damaged)?.to_owned(), Vec::new());
        }
    }
    for (library, version) in versions(&file).map_err(damaged)? {
        let known = needed.entry(library).or_default();
        *known = std::mem::take(known).max(version);
    }
    let text = |version: VersionNumbers| version.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    Ok(needed.into_iter().map(|(library, version)| (library, text(version))).collect())
}

/// Every version that the program asks of a library.
fn versions(file: &ElfBytes<'_, AnyEndian>) -> Result<Vec<(String, VersionNumbers)>, elf::ParseError> {
    let mut found = Vec::new();
    let Some(sections) = file.section_headers() else { return Ok(found) };
    let has_versions = sections.iter().any(|section| section.sh_type == SHT_GNU_VERNEED);
    let (true, Some(table), Some((symbols, _))) =
        (has_versions, file.symbol_version_table()?, file.dynamic_symbol_table()?)
    else {
        return Ok(found);
    };
    for at in 0..symbols.len() {
        if let Some(requirement) = table.get_requirement(at)?
            && let Some(numbers) = version_numbers(requirement.name)
        {
            found.push((requirement.file.to_owned(), numbers));
        }
    }
    Ok(found)
}

/// The numbers of a name such as `GLIBC_2.34`; none for `GLIBC_PRIVATE`.
fn version_numbers(name: &str) -> Option<VersionNumbers> {
    name.rsplit_once('_')?.1.split('.').map(|number| number.parse().ok()).collect()
}

/// The `Depends` of a Debian package for these libraries.
///
/// # Errors
/// A library of which this does not know the package.
pub fn debian_dependencies(libraries: &BTreeMap<String, String>) -> Result<String, String> {
    let mut packages: BTreeMap<&str, VersionNumbers> = BTreeMap::new();
    for (library, version) in libraries {
        let package = match library.as_str() {
            "libgcc_s.so.1" => "libgcc-s1",
            name if name.starts_with("ld-linux") => "libc6",
            "libc.so.6" | "libm.so.6" | "libpthread.so.0" | "libdl.so.2" | "librt.so.1" => "libc6",
            other => {
                return Err(format!("listing the dependencies of the Debian package: {other} is of no known package"));
            }
        };
        let numbers: Option<VersionNumbers> = version.split('.').map(|number| number.parse().ok()).collect();
        let known = packages.entry(package).or_default();
        *known = std::mem::take(known).max(numbers.unwrap_or_default());
    }
    let text = |(package, version): (&str, VersionNumbers)| {
        let mut numbers: Vec<String> = version.iter().map(u32::to_string).collect();
        // Debian's version of GCC_4.2.0 is 4.2.
        if numbers.len() > 2 && numbers.last().is_some_and(|last| last == "0") {
            numbers.pop();
        }
        if numbers.is_empty() { package.to_owned() } else { format!("{package} (>= {})", numbers.join(".")) }
    };
    Ok(packages.into_iter().map(text).collect::<Vec<_>>().join(", "))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// SV-31: the libraries are those of the program that is read: here, this test itself.
    #[test]
    fn libraries_are_read_from_the_program() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let libraries = needed_libraries(&own).unwrap();
        if cfg!(target_env = "gnu") {
            let version = &libraries["libc.so.6"];
            assert!(
                version.starts_with("2.") && version_numbers(&format!("GLIBC_{version}")) >= Some(vec![2, 17]),
                "{version}"
            );
            assert!(debian_dependencies(&libraries).unwrap().contains("libc6 (>= 2."));
        }
        assert!(needed_libraries(b"#!/bin/sh\n").unwrap_err().contains("reading the libraries"));
    }

    /// SV-31: versions are compared as numbers, and a library of no known package is an error.
    #[test]
    fn dependencies_name_the_newest_version() {
        let libraries = |list: &[(&str, &str)]| {
            list.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let some = libraries(&[("libc.so.6", "2.4"), ("libm.so.6", "2.29"), ("libgcc_s.so.1", "4.2.0")]);
        assert_eq!(debian_dependencies(&some).unwrap(), "libc6 (>= 2.29), libgcc-s1 (>= 4.2)");
        assert_eq!(debian_dependencies(&libraries(&[("libc.so.6", "")])).unwrap(), "libc6");
        let odd = debian_dependencies(&libraries(&[("libssl.so.3", "3.0")])).unwrap_err();
        assert!(odd.contains("libssl.so.3"), "{odd}");
    }
}
