//! The files of a release: those of one target, and all of them together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::channels;
use super::contents::notices::notices;
use super::contents::packages::linked_packages;
use super::contents::pages::pages;
use super::contents::sbom::sbom;
use super::description::{
    CHECKSUMS, NOTICES, PROGRAM, REPOSITORY_FILES, TARGETS, VERSION, archive_folder, archive_name, debian_name,
    sbom_name,
};
use super::options::DistOptions;
use super::packaging::archive::{Member, gzip, tar};
use super::packaging::{checksums, debian};
use super::program::{Commit, ProgramBuild};

/// Builds the files of one target into the folder `out` of the options, and returns their names.
///
/// # Errors
/// A failed build, or a file that cannot be read or written.
pub fn build(root: &Path, options: &DistOptions, out: &mut dyn Write) -> Result<Vec<String>, String> {
    let commit = Commit::of(root)?;
    let build = ProgramBuild {
        root,
        triple: &options.triple,
        profile: &options.profile,
        target_folder: root.join("target"),
        commit: &commit,
    };
    let files = target_files(&build)?;
    write_files(&options.out, &files)?;
    for (name, content) in &files {
        line(out, &format!("{name}  {} bytes", content.len()))?;
    }
    if commit.is_dirty() {
        line(out, "these files are of uncommitted changes: commit them before a release")?;
    }
    if options.profile != "dist" {
        line(out, &format!("these files are of profile {}: a release needs profile dist", options.profile))?;
    }
    Ok(files.into_keys().collect())
}

/// Builds the program and makes the files of its target, by name, with their checksums.
///
/// # Errors
/// As [`build`].
pub fn target_files(build: &ProgramBuild<'_>) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let program = build.run()?;
    let packages = linked_packages(build.root, build.triple)?;
    let bytes = read(&program)?;
    let mut members = vec![Member::program(PROGRAM, bytes.as_slice()), Member::file(NOTICES, notices(&packages)?)];
    for name in REPOSITORY_FILES {
        members.push(Member::file(name, read(&build.root.join(name))?));
    }
    let scratch = tempfile::tempdir().map_err(|error| format!("making a folder for man pages: {error}"))?;
    members.extend(pages(&program, scratch.path())?);
    let mut files = package_files(&members, build.triple, build.commit)?;
    files.insert(sbom_name(VERSION, build.triple), sbom(&packages, &bytes, build.triple, build.commit).into_bytes());
    Ok(with_checksums(files))
}

/// Makes the packages of a target from the members of its archive.
///
/// # Errors
/// A path that is too long, or a Debian package that cannot be made.
pub fn package_files(members: &[Member], triple: &str, commit: &Commit) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let prefix = format!("{}/", archive_folder(VERSION, triple));
    let mut files = BTreeMap::new();
    files.insert(archive_name(VERSION, triple), gzip(&tar(members, &prefix, commit.time)?));
    let target = TARGETS.iter().find(|target| target.triple == triple);
    if let Some(architecture) = target.and_then(|target| target.debian) {
        files.insert(debian_name(VERSION, architecture), debian::package(members, architecture, commit)?);
    }
    Ok(files)
}

/// Adds the list of checksums.
fn with_checksums(mut files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let sums = files.iter().map(|(name, content)| (name.clone(), checksums::of_bytes(content))).collect();
    files.insert(CHECKSUMS.to_owned(), checksums::list(&sums).into_bytes());
    files
}

/// Joins the files of all targets: copies each file that a list of checksums below `from` names, and writes one list and
/// the formula.
///
/// # Errors
/// A file is missing or damaged, or a target has no archive.
pub fn collect(root: &Path, from: &Path, to: &Path, out: &mut dyn Write) -> Result<(), String> {
    let mut sums = BTreeMap::new();
    let mut files = BTreeMap::new();
    for folder in folders_with_checksums(from)? {
        let path = folder.join(CHECKSUMS);
        for (name, sum) in checksums::read(&String::from_utf8_lossy(&read(&path)?))? {
            let content = read(&folder.join(&name))?;
            if checksums::of_bytes(&content) != sum {
                return Err(format!(
                    "collecting {}: its checksum is not that of {}",
                    folder.join(&name).display(),
                    path.display()
                ));
            }
            if sums.insert(name.clone(), sum).is_some() {
                return Err(format!("collecting {name}: two folders below {} have it", from.display()));
            }
            files.insert(name, content);
        }
    }
    let missing: BTreeSet<String> = TARGETS.iter().map(|target| archive_name(VERSION, target.triple)).collect();
    let missing: Vec<String> = missing.into_iter().filter(|name| !sums.contains_key(name)).collect();
    if !missing.is_empty() {
        return Err(format!("collecting the files below {}: {} is missing", from.display(), missing.join(", ")));
    }
    files.insert(channels::FORMULA.to_owned(), channels::formula(&sums)?.into_bytes());
    let files = with_checksums(files);
    write_files(to, &files)?;
    line(out, &format!("{} files in {}", files.len(), to.display()))?;
    let pins = root.join(channels::PINS);
    line(out, &format!("after the release, append the lines of {CHECKSUMS} to {}:", pins.display()))?;
    let downloaded = TARGETS.iter().filter(|target| !target.downloaded_on.is_empty());
    for name in downloaded.map(|target| archive_name(VERSION, target.triple)) {
        line(out, &format!("{}  {name}", sums.get(&name).map(String::as_str).unwrap_or_default()))?;
    }
    Ok(())
}

/// Folders with a list of checksums: the folder itself, and those in it.
fn folders_with_checksums(from: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error: std::io::Error| format!("listing {}: {error}", from.display());
    let mut folders = vec![from.to_owned()];
    for entry in fs::read_dir(from).map_err(problem)? {
        folders.push(entry.map_err(problem)?.path());
    }
    folders.retain(|folder| folder.join(CHECKSUMS).is_file());
    folders.sort();
    match folders.is_empty() {
        true => Err(format!("collecting the files below {}: no folder has {CHECKSUMS}", from.display())),
        false => Ok(folders),
    }
}

fn write_files(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("making {}: {error}", folder.display()))?;
    for (name, content) in files {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|error| format!("writing {}: {error}", path.display()))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("reading {}: {error}", path.display()))
}

/// Prints a line.
///
/// # Errors
/// The output is closed.
pub fn line(out: &mut dyn Write, text: &str) -> Result<(), String> {
    writeln!(out, "{text}").map_err(|error| format!("printing: {error}"))
}
