//! Builds the program so that the same commit gives the same bytes in any folder.
//!
//! Paths are replaced in what the compilers write, macros of C have the time of the commit, and flags of the caller's
//! environment are not used. The commit is passed to the build script of `karat`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::description::PROGRAM;

/// The commit that is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its hash; with `-dirty` if files differ from it.
    pub hash: String,
    /// The day, as `2026-11-27`.
    pub date: String,
    /// Its time in seconds since 1970: the time of every file in every archive.
    pub time: u64,
}

impl Commit {
    /// The commit of a working tree.
    ///
    /// # Errors
    /// The folder is not a working tree of Git.
    pub fn of(root: &Path) -> Result<Self, String> {
        let git = |arguments: &[&str]| output(Command::new("git").arg("-C").arg(root).args(arguments));
        let shown = git(&["show", "--no-patch", "--format=%H %cs %ct", "HEAD"])?;
        let mut parts = shown.split_whitespace();
        let (Some(hash), Some(date), Some(time)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("reading the commit of {}: Git printed {shown:?}", root.display()));
        };
        let dirty = if git(&["status", "--porcelain"])?.trim().is_empty() { "" } else { "-dirty" };
        let time = time
            .parse::<u64>()
            .map_err(|_| format!("reading the commit of {}: {time:?} is not a time", root.display()))?;
        Ok(Self { hash: format!("{hash}{dirty}"), date: date.to_owned(), time })
    }

    /// True if files of the working tree differ from the commit.
    pub fn is_dirty(&self) -> bool {
        self.hash.ends_with("-dirty")
    }
}

/// A build of the program.
pub struct ProgramBuild<'a> {
    /// The folder of the sources.
    pub root: &'a Path,
    pub triple: &'a str,
    /// The profile: `dist` for what is published.
    pub profile: &'a str,
    /// The folder for everything that the compilers write.
    pub target_folder: PathBuf,
    pub commit: &'a Commit,
}

impl ProgramBuild<'_> {
    /// Builds, and returns the path of the program.
    ///
    /// # Errors
    /// The build failed; the compiler has said why.
    pub fn run(&self) -> Result<PathBuf, String> {
        let mut command = Command::new(cargo());
        command.current_dir(self.root).args(["build", "--locked", "--package", PROGRAM, "--bin", PROGRAM]);
        command.args(["--profile", self.profile, "--target", self.triple]).arg("--target-dir").arg(&self.target_folder);
        let moved = self.replaced_paths()?;
        let rust = moved.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
        let c = moved.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}"));
        command.env("CARGO_ENCODED_RUSTFLAGS", rust.collect::<Vec<_>>().join("\u{1f}"));
        command.env("CFLAGS", c.collect::<Vec<_>>().join(" "));
        command.env("SOURCE_DATE_EPOCH", self.commit.time.to_string());
        command.env("KARAT_COMMIT", &self.commit.hash).env("KARAT_COMMIT_DATE", &self.commit.date);
        command.env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS");
        let status = command.status().map_err(|error| format!("starting cargo: {error}"))?;
        if !status.success() {
            return Err(format!(
                "building {PROGRAM} for {0} failed. If its library is missing, run `rustup target add {0}`",
                self.triple
            ));
        }
        let folder = if self.profile == "dev" { "debug" } else { self.profile };
        Ok(self.target_folder.join(self.triple).join(folder).join(PROGRAM))
    }

    /// Folders of this machine, and the names that stand for them in the program. The compilers take the last that fits.
    fn replaced_paths(&self) -> Result<Vec<(String, &'static str)>, String> {
        let home = variable("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cargo")));
        let home = home.ok_or("finding cargo's folder: set CARGO_HOME or HOME")?;
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(self.root))?;
        let folders = [
            (PathBuf::from(sysroot.trim()), "/rust"),
            (home, "/cargo"),
            (self.root.to_owned(), "/karat"),
            (self.target_folder.clone(), "/target"),
        ];
        let text = |(folder, name): (PathBuf, &'static str)| -> Result<(String, &'static str), String> {
            let path = folder.to_str().filter(|path| !path.contains([' ', '=', '\u{1f}']));
            let path = path.ok_or_else(|| {
                format!("building in {}: the path has a space or `=`. Use another folder", folder.display())
            })?;
            Ok((path.to_owned(), name))
        };
        folders.into_iter().map(text).collect()
    }
}

/// The target of this machine.
///
/// # Errors
/// `rustc` cannot be started.
pub fn host_triple() -> Result<String, String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("asking rustc for its host: it printed {text:?}"))
}

/// The cargo that started this program, else the one on the path.
pub fn cargo() -> OsString {
    variable("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a program that must succeed, and returns what it prints.
///
/// # Errors
/// It cannot be started, fails, or prints no text.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let arguments: Vec<String> = command.get_args().map(|it| it.to_string_lossy().into_owned()).collect();
    let line = format!("{name} {}", arguments.join(" "));
    let output = command.output().map_err(|error| format!("starting `{line}`: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{line}` failed with {}: {}", output.status, said.trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{line}` printed bytes that are no UTF-8"))
}

#[expect(clippy::disallowed_methods, reason = "cargo and the shell pass their folders in the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
