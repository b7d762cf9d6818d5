//! The one description of what is published: names of files, targets and addresses. Everything that names a published
//! file takes the name from here: the archive, the packages, the formula, the container, the workflows, and the tests.

/// The name of the program, its crate and its packages.
pub const PROGRAM: &str = "karat";

/// The version of all crates.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The address of the repository.
pub const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The description in one line.
pub const SUMMARY: &str = "Evaluation of prompts, models, pipelines and agents with intervals";

/// The description in a paragraph.
pub const DESCRIPTION: &str = "Karat runs prompts, models, pipelines and agents against test cases, scores them, and tells \
    whether a change made them better, with confidence intervals, a hard cost limit and no repeated calls.";

/// The people who answer for the packages.
pub const MAINTAINER: &str = "The Karat authors <karat-eval@users.noreply.github.com>";

/// The licence of the program.
pub const LICENCE: &str = env!("CARGO_PKG_LICENSE");

/// The compiler of published builds. Another one gives other bytes.
pub const TOOLCHAIN: &str = "1.95.0";

/// The container's name in GitHub's registry.
pub const CONTAINER: &str = "ghcr.io/karat-eval/karat";

/// The first arguments of the suite that shows that an installed program works: offline, with its own data.
pub const MAIN_JOB: [&str; 2] = ["run", "claims"];

/// A target of published builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The name that `rustc` gives it.
    pub triple: &'static str,
    /// The machine of GitHub Actions that builds it. It runs what it builds, for man pages and completions.
    pub runner: &'static str,
    /// The architecture of its Debian package, if there is one.
    pub debian: Option<&'static str>,
    /// The output of `uname -s` and `uname -m` on machines for which the action and the pipeline download it.
    pub downloaded_on: &'static [&'static str],
}

/// Every target. The builds for the GNU library are made on the oldest system that is supported, since a program does not
/// start with a library that is older than the one of its build; those with musl start on any Linux.
pub const TARGETS: &[Target] = &[
    Target { triple: "x86_64-unknown-linux-gnu", runner: "ubuntu-22.04", debian: Some("amd64"), downloaded_on: &[] },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        runner: "ubuntu-22.04-arm",
        debian: Some("arm64"),
        downloaded_on: &[],
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        runner: "ubuntu-22.04",
        debian: None,
        downloaded_on: &["Linux x86_64"],
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        runner: "ubuntu-22.04-arm",
        debian: None,
        downloaded_on: &["Linux aarch64", "Linux arm64"],
    },
    Target { triple: "aarch64-apple-darwin", runner: "macos-15", debian: None, downloaded_on: &["Darwin arm64"] },
    Target { triple: "x86_64-apple-darwin", runner: "macos-15-intel", debian: None, downloaded_on: &["Darwin x86_64"] },
];

/// The folder within an archive.
pub fn archive_folder(version: &str, triple: &str) -> String {
    format!("{PROGRAM}-{version}-{triple}")
}

/// The name of an archive.
pub fn archive_name(version: &str, triple: &str) -> String {
    format!("{}.tar.gz", archive_folder(version, triple))
}

/// The name of a list of components.
pub fn sbom_name(version: &str, triple: &str) -> String {
    format!("{}.cdx.json", archive_folder(version, triple))
}

/// The name of a Debian package.
pub fn debian_name(version: &str, architecture: &str) -> String {
    format!("{PROGRAM}_{version}_{architecture}.deb")
}

/// The address below which the files of a release are.
pub fn download_folder(version: &str) -> String {
    format!("{REPOSITORY}/releases/download/v{version}")
}

/// The name of the list of checksums.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// Files of the repository that are in the archive, beside the program and what it writes itself.
pub const REPOSITORY_FILES: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The name of the list of dependencies with their licences.
pub const NOTICES: &str = "THIRD-PARTY.txt";

/// The folder of man pages in the archive.
pub const MAN_FOLDER: &str = "man";

/// A shell with completions: the name that `karat completions` takes, and where they go in the archive and in a Debian
/// package.
pub struct Shell {
    /// The argument of `karat completions`.
    pub name: &'static str,
    /// The path in the archive.
    pub archive: &'static str,
    /// The path on a Debian system, if it has a place for them.
    pub debian: Option<&'static str>,
}

/// Shells with completions.
pub const SHELLS: &[Shell] = &[
    Shell {
        name: "bash",
        archive: "completions/karat.bash",
        debian: Some("usr/share/bash-completion/completions/karat"),
    },
    Shell {
        name: "fish",
        archive: "completions/karat.fish",
        debian: Some("usr/share/fish/vendor_completions.d/karat.fish"),
    },
    Shell { name: "zsh", archive: "completions/_karat", debian: Some("usr/share/zsh/vendor-completions/_karat") },
    Shell { name: "powershell", archive: "completions/karat.ps1", debian: None },
];
