//! `cargo xtask dist --check`: builds the files of a target twice, in two folders, and compares every byte. Then it unpacks
//! the archive and the Debian package in clean folders and runs the main job with the program of each.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::description::{MAIN_JOB, PROGRAM, TARGETS, VERSION, archive_folder, archive_name, debian_name};
use super::options::DistOptions;
use super::packaging::checksums;
use super::program::{Commit, ProgramBuild, output};
use super::release::{build, line, target_files};

/// Checks the target of the options. Returns false if two builds differ.
///
/// # Errors
/// A failed build, or a program that does not do the main job.
pub fn check(root: &Path, options: &DistOptions, out: &mut dyn Write) -> Result<bool, String> {
    let commit = Commit::of(root)?;
    if commit.is_dirty() {
        return Err("checking the build: the second folder is a clone, so commit the changes first".to_owned());
    }
    let names = build(root, options, out)?;
    let elsewhere = scratch()?;
    let clone = elsewhere.path().join("sources");
    output(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(root).arg(&clone))?;
    let second = ProgramBuild {
        root: &clone,
        triple: &options.triple,
        profile: &options.profile,
        target_folder: elsewhere.path().join("target"),
        commit: &commit,
    };
    let same = compare(&options.out, &names, &target_files(&second)?, out)?;
    check_packages(options, out)?;
    Ok(same)
}

/// Compares written files with those of a second build.
fn compare(
    folder: &Path,
    names: &[String],
    second: &BTreeMap<String, Vec<u8>>,
    out: &mut dyn Write,
) -> Result<bool, String> {
    let mut same = names.len() == second.len();
    for name in names {
        let path = folder.join(name);
        let first = fs::read(&path).map_err(|error| format!("reading {}: {error}", path.display()))?;
        let content = second.get(name).map(Vec::as_slice).unwrap_or_default();
        let (sum, again) = (checksums::of_bytes(&first), checksums::of_bytes(content));
        if sum == again {
            line(out, &format!("same  {sum}  {name}"))?;
        } else {
            let at = first.iter().zip(content).position(|(a, b)| a != b).unwrap_or(first.len().min(content.len()));
            line(out, &format!("differs at byte {at} of {}: {sum}, then {again}  {name}", first.len()))?;
            same = false;
        }
    }
    Ok(same)
}

/// Unpacks each package in a folder of its own and does the main job there.
fn check_packages(options: &DistOptions, out: &mut dyn Write) -> Result<(), String> {
    let place = scratch()?;
    let archive = options.out.join(archive_name(VERSION, &options.triple));
    output(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(place.path()))?;
    let program = place.path().join(archive_folder(VERSION, &options.triple)).join(PROGRAM);
    main_job("archive", &program, out)?;
    let target = TARGETS.iter().find(|target| target.triple == options.triple);
    let Some(architecture) = target.and_then(|target| target.debian) else { return Ok(()) };
    let package = options.out.join(debian_name(VERSION, architecture));
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return line(out, "SKIPPED: the Debian package was not unpacked (install dpkg)");
    }
    let system = place.path().join("system");
    output(Command::new("dpkg-deb").arg("--info").arg(&package))?;
    output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&system))?;
    main_job("Debian package", &system.join("usr/bin").join(PROGRAM), out)?;
    if Command::new("lintian").arg("--version").output().is_err() {
        return line(out, "SKIPPED: the Debian package was not judged (install lintian)");
    }
    let said = output(Command::new("lintian").arg("--fail-on=error").arg(&package))?;
    line(out, &format!("lintian: {}", if said.trim().is_empty() { "nothing to say" } else { said.trim() }))
}

/// Does the main job with a program, in a clean folder and without the variables of this process.
fn main_job(from: &str, program: &Path, out: &mut dyn Write) -> Result<(), String> {
    let place = scratch()?;
    let mut command = Command::new(program);
    command.args(MAIN_JOB).current_dir(place.path()).env_clear().env("HOME", place.path());
    let said = output(&mut command)?;
    let report = report_of(place.path())?;
    let first = said.lines().find(|line| line.starts_with("verdict")).unwrap_or("done");
    line(out, &format!("{from}: `{PROGRAM} {}`: {first}; report of {} bytes", MAIN_JOB.join(" "), report.len()))
}

/// The report of the only run in a folder.
fn report_of(folder: &Path) -> Result<Vec<u8>, String> {
    let runs = folder.join(".karat/runs");
    let run = fs::read_dir(&runs).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
    let report: Option<PathBuf> = run.map(|run| run.path().join("report.md"));
    let content = report.and_then(|path| fs::read(path).ok()).filter(|content| !content.is_empty());
    content.ok_or_else(|| format!("running the main job: there is no report below {}", runs.display()))
}

fn scratch() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("making a folder for the check: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-31: a build that differs in one byte, or has another file, is reported with its place.
    #[test]
    fn a_different_byte_is_found() {
        let place = testkit::scratch().unwrap();
        place.write("a", "same").unwrap();
        place.write("b", "text").unwrap();
        let names = ["a".to_owned(), "b".to_owned()];
        let files =
            |b: &str| BTreeMap::from([("a".to_owned(), b"same".to_vec()), ("b".to_owned(), b.as_bytes().to_vec())]);
        let compared = |second: &BTreeMap<String, Vec<u8>>| {
            let mut said = Vec::new();
            let same = compare(place.path(), &names, second, &mut said).unwrap();
            (same, String::from_utf8(said).unwrap())
        };
        let (same, said) = compared(&files("text"));
        assert!(same && said.matches("same  ").count() == 2, "{said}");
        let (same, said) = compared(&files("test"));
        assert!(!same && said.contains("differs at byte 2 of 4"), "{said}");
        let mut more = files("text");
        more.insert("c".to_owned(), Vec::new());
        assert!(!compared(&more).0);
    }
}
