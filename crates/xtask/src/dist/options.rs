//! The arguments of `cargo xtask dist`.

use std::path::PathBuf;

use super::description::TARGETS;
use super::program::host_triple;

/// One use of `cargo xtask dist`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistOptions {
    /// The target, which is one of [`TARGETS`].
    pub triple: String,
    /// The folder for the files of the release.
    pub out: PathBuf,
    /// The profile; `dist` unless a rehearsal asks for a faster one.
    pub profile: String,
    pub action: DistAction,
}

/// A part of the work on a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DistAction {
    /// Builds the files of one target.
    Build,
    /// Builds them twice in two folders, compares them, and runs the program of each package.
    Check,
    /// Joins the files of all targets below this folder, and makes what names all of them.
    Collect(PathBuf),
}

impl DistOptions {
    /// Reads arguments.
    ///
    /// # Errors
    /// An unknown argument or target, or one without its value.
    pub fn read(arguments: &[&str]) -> Result<Self, String> {
        let (mut triple, mut action) = (None, DistAction::Build);
        let (mut out, mut profile) = (PathBuf::from("dist"), "dist".to_owned());
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("reading the arguments: {argument} needs a value"));
            match *argument {
                "--check" => action = DistAction::Check,
                "--collect" => action = DistAction::Collect(PathBuf::from(value()?)),
                "--target" => triple = Some((*value()?).to_owned()),
                "--out" => out = PathBuf::from(value()?),
                "--profile" => profile = (*value()?).to_owned(),
                other => return Err(format!("reading the arguments: {other} is unknown; {USAGE}")),
            }
        }
        let triple = triple.map_or_else(host_triple, Ok)?;
        if !TARGETS.iter().any(|target| target.triple == triple) {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
            return Err(format!("building for {triple}: nothing is published for it, only for {}", known.join(", ")));
        }
        Ok(Self { triple, out, profile, action })
    }
}

const USAGE: &str = "use --target TRIPLE, --out DIR, --profile NAME, --check, or --collect DIR";

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments are read in any order; what is unknown or lacks its value is named.
    #[test]
    fn arguments_are_read() {
        let target = "x86_64-unknown-linux-musl";
        let read = DistOptions::read(&["--out", "o", "--check", "--target", target, "--profile", "release"]).unwrap();
        let expected = DistOptions {
            triple: target.to_owned(),
            out: PathBuf::from("o"),
            profile: "release".to_owned(),
            action: DistAction::Check,
        };
        assert_eq!(read, expected);
        let collect = DistOptions::read(&["--target", target, "--collect", "all"]).unwrap();
        assert_eq!((collect.action, collect.profile.as_str()), (DistAction::Collect("all".into()), "dist"));
        for (wrong, part) in [
            (vec!["--fast"], "--fast is unknown"),
            (vec!["--out"], "--out needs a value"),
            (vec!["--target", "vax"], "vax"),
        ] {
            let error = DistOptions::read(&wrong).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
