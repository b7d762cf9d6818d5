//! Facts of this build for `karat --version --verbose`, as variables of the compiler: commit and its date, target,
//! profile, compiler. No time of the build is among them, so that the same sources give the same program.
//!
//! The commit is that of `KARAT_COMMIT`, which `cargo xtask dist` sets, else that of the package from a registry, else
//! that of the repository. A development build has none: it would be compiled again after every commit.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for variable in ["KARAT_COMMIT", "KARAT_COMMIT_DATE"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let profile = profile();
    let (commit, date) = commit(profile == "debug");
    fact("COMMIT", &commit);
    fact("COMMIT_DATE", &date);
    fact("TARGET", &variable("TARGET"));
    fact("PROFILE", &profile);
    fact("RUSTC", &output(&variable("RUSTC"), &["--version"]).unwrap_or_default());
}

fn fact(name: &str, value: &str) {
    println!("cargo::rustc-env=KARAT_BUILD_{name}={value}");
}

/// The name of the profile, such as `dist`: the folder below the target folder. `PROFILE` only says `debug` or `release`.
fn profile() -> String {
    let out = variable("OUT_DIR");
    let folder = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The commit and its date; empty where they are not known.
fn commit(development: bool) -> (String, String) {
    let given = variable("KARAT_COMMIT");
    if !given.is_empty() {
        return (given, variable("KARAT_COMMIT_DATE"));
    }
    // Cargo puts this file into a package.
    if let Ok(text) = fs::read_to_string(".cargo_vcs_info.json") {
        return (packaged_commit(&text), String::new());
    }
    if development {
        return Default::default();
    }
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(file) = output("git", &["rev-parse", "--git-path", path]) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    let known = |format: &str| output("git", &["show", "--no-patch", format, "HEAD"]).unwrap_or_default();
    (known("--format=%H"), known("--format=%cs"))
}

/// The value of `"sha1"`, which is the only string of 40 hexadecimal digits in the file.
fn packaged_commit(text: &str) -> String {
    let hash = text.split('"').find(|part| part.len() == 40 && part.chars().all(|c| c.is_ascii_hexdigit()));
    hash.unwrap_or_default().to_owned()
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[expect(clippy::disallowed_methods, reason = "cargo passes facts to build scripts in the environment")]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
