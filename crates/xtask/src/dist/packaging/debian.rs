//! The Debian package: an `ar` archive of two compressed tar archives, with the files of the release archive in the places
//! where Debian has them.

use std::collections::BTreeMap;

use md5::{Digest, Md5};

use super::archive::{Member, ar, gzip, tar};
use super::checksums::hex;
use super::libraries::{debian_dependencies, needed_libraries};
use crate::dist::description::{
    DESCRIPTION, MAINTAINER, MAN_FOLDER, NOTICES, PROGRAM, REPOSITORY, SHELLS, SUMMARY, VERSION,
};
use crate::dist::program::Commit;

/// Makes the package of the members of a release archive.
///
/// # Errors
/// A member is missing, or the program needs a library of no known package.
pub fn package(members: &[Member], architecture: &str, commit: &Commit) -> Result<Vec<u8>, String> {
    let files = installed_files(members, commit)?;
    let program = content(members, PROGRAM)?;
    let dependencies = debian_dependencies(&needed_libraries(program)?)?;
    let sums = files.iter().map(|file| format!("{}  {}\n", hex(&Md5::digest(&file.content)), file.path));
    let control = [
        Member::file("control", control(&files, architecture, &dependencies)),
        Member::file("md5sums", sums.collect::<String>()),
    ];
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, "./", commit.time)?)),
        ("data.tar.gz", gzip(&tar(&files, "./", commit.time)?)),
    ];
    Ok(ar(&parts, commit.time))
}

fn content<'a>(members: &'a [Member], path: &str) -> Result<&'a [u8], String> {
    let member = members.iter().find(|member| member.path == path);
    let content = member.map(|member| member.content.as_slice());
    content.ok_or_else(|| format!("making the Debian package: the archive has no {path}"))
}

/// The files as a Debian system has them, sorted by path.
fn installed_files(members: &[Member], commit: &Commit) -> Result<Vec<Member>, String> {
    let mut files = BTreeMap::new();
    let documents = format!("usr/share/doc/{PROGRAM}");
    let mut add = |path: String, content: Vec<u8>| files.insert(path.clone(), Member::file(path, content));
    add(format!("{documents}/copyright"), copyright(members)?.into_bytes());
    add(format!("{documents}/changelog.gz"), gzip(changelog(commit)?.as_bytes()));
    add(format!("{documents}/README.md"), content(members, "README.md")?.to_vec());
    add(format!("{documents}/{NOTICES}.gz"), gzip(content(members, NOTICES)?));
    add(format!("usr/lib/systemd/system/{PROGRAM}.service"), UNIT.as_bytes().to_vec());
    add(format!("usr/share/lintian/overrides/{PROGRAM}"), OVERRIDES.as_bytes().to_vec());
    for shell in SHELLS {
        if let Some(path) = shell.debian {
            add(path.to_owned(), content(members, shell.archive)?.to_vec());
        }
    }
    for member in members {
        if let Some(page) = member.path.strip_prefix(&format!("{MAN_FOLDER}/")) {
            add(format!("usr/share/man/man1/{page}.gz"), gzip(&member.content));
        }
    }
    let program = format!("usr/bin/{PROGRAM}");
    files.insert(program.clone(), Member::program(program, content(members, PROGRAM)?));
    Ok(files.into_values().collect())
}

/// Tags of lintian that do not apply. SQLite is compiled in because the store depends on its version and settings.
const OVERRIDES: &str = "karat: embedded-library *sqlite*\n";

/// The unit for `karat serve`. The package does not enable it: a server needs suites first.
const UNIT: &str = include_str!("../../../../../deploy/karat.service");

fn control(files: &[Member], architecture: &str, dependencies: &str) -> String {
    // In KiB, each file as Debian counts it: rounded up.
    let size: usize = files.iter().map(|file| file.content.len().div_ceil(1024)).sum();
    format!(
        "Package: {PROGRAM}\nVersion: {VERSION}\nSection: science\nPriority: optional\nArchitecture: {architecture}\n\
         Maintainer: {MAINTAINER}\nInstalled-Size: {size}\nDepends: {dependencies}\nRecommends: ca-certificates\n\
         Homepage: {REPOSITORY}\nDescription: {SUMMARY}\n{}",
        fold_lines(DESCRIPTION)
    )
}

/// A text as lines of at most 79 characters that begin with a space.
fn fold_lines(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if lines.last().is_some_and(|line| line.len() + word.len() > 77) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The file `copyright` in Debian's form.
fn copyright(members: &[Member]) -> Result<String, String> {
    let mit = String::from_utf8_lossy(content(members, "LICENSE-MIT")?).into_owned();
    let owner = mit.lines().find_map(|line| line.strip_prefix("Copyright (c) "));
    let terms = mit.find("Permission is hereby granted").and_then(|at| mit.get(at..));
    let (Some(owner), Some(terms)) = (owner, terms) else {
        return Err("making the Debian package: LICENSE-MIT has no line with the copyright, or no terms".to_owned());
    };
    let indented = terms.trim().lines().map(|line| match line.trim() {
        "" => " .\n".to_owned(),
        text => format!(" {text}\n"),
    });
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: {PROGRAM}\n\
         Source: {REPOSITORY}\nComment: The packages whose code is in the program, and their licences, are listed in\n \
         /usr/share/doc/{PROGRAM}/{NOTICES}.gz.\n\nFiles: *\nCopyright: {owner}\nLicense: MIT or Apache-2.0\n\n\
         License: MIT\n{}\nLicense: Apache-2.0\n On Debian systems, the text of this licence is in\n \
         /usr/share/common-licenses/Apache-2.0.\n",
        indented.collect::<String>()
    ))
}

/// A changelog in Debian's form, with the time of the commit.
fn changelog(commit: &Commit) -> Result<String, String> {
    let time = i64::try_from(commit.time).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    let time = time.ok_or_else(|| format!("making the Debian package: {} is not a time of a commit", commit.time))?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string();
    Ok(format!(
        "{PROGRAM} ({VERSION}) stable; urgency=medium\n\n  * Release {VERSION}: see {REPOSITORY}/releases.\n\n -- \
         {MAINTAINER}  {time}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::tests::stand_in_members;

    fn commit() -> Commit {
        Commit { hash: "c0".to_owned(), date: "2026-11-27".to_owned(), time: 1_795_800_000 }
    }

    /// SV-31: the package has the program, its pages, completions and terms where Debian has them, with what they depend on.
    #[test]
    fn files_are_where_debian_has_them() {
        let mut members = stand_in_members();
        // A program that links libraries: this test.
        members[0].content = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let files = installed_files(&members, &commit()).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        for path in [
            "usr/bin/karat",
            "usr/lib/systemd/system/karat.service",
            "usr/share/man/man1/karat.1.gz",
            "usr/share/man/man1/karat-run.1.gz",
            "usr/share/bash-completion/completions/karat",
            "usr/share/zsh/vendor-completions/_karat",
            "usr/share/fish/vendor_completions.d/karat.fish",
            "usr/share/doc/karat/copyright",
            "usr/share/doc/karat/changelog.gz",
            "usr/share/doc/karat/THIRD-PARTY.txt.gz",
        ] {
            assert!(paths.contains(&path), "{path}: {paths:?}");
        }
        let programs: Vec<&str> = files.iter().filter(|file| file.executable).map(|file| file.path.as_str()).collect();
        assert_eq!(programs, ["usr/bin/karat"]);
        assert!(UNIT.lines().any(|line| line.starts_with("ExecStart=/usr/bin/karat serve ")), "{UNIT}");
        let control = control(&files, "amd64", "libc6 (>= 2.34)");
        assert!(control.contains("\nDepends: libc6 (>= 2.34)\n") && control.ends_with("\n"), "{control}");
        assert!(control.lines().all(|line| line.len() < 80 && !line.is_empty()), "{control}");
        let terms = copyright(&members).unwrap();
        assert!(terms.contains("\nLicense: MIT\n Permission is hereby granted") && terms.contains("\n .\n"), "{terms}");
        assert!(
            changelog(&commit()).unwrap().ends_with("Fri, 27 Nov 2026 17:20:00 +0000\n"),
            "{:?}",
            changelog(&commit())
        );
        members.retain(|member| member.path != NOTICES);
        assert!(installed_files(&members, &commit()).unwrap_err().contains("has no THIRD-PARTY.txt"));
    }
}
