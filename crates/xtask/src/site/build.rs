//! Makes the site: reports by the commands of a page, then the book around them.

#![allow(clippy::disallowed_methods, reason = "a development command finds programs through the environment")]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of the published book below its host, as in `docs/book.toml`.
pub(super) const SITE_URL: &str = "/karat/";

/// The page whose commands make the reports that it links.
const EXAMPLES: &str = "docs/examples.md";

/// The font of Karat's pages, which `docs/theme/fonts/fonts.css` names.
const FONT: [&str; 2] = ["crates/karat-page/assets/inter-latin.woff2", "crates/karat-page/assets/inter-OFL.txt"];

/// Files that mdBook copies out of its source folder and that no reader needs.
const SOURCES: [&str; 5] =
    ["book.toml", "theme/head.hbs", "theme/favicon.svg", "theme/karat.css", "theme/fonts/fonts.css"];

/// Builds the site into `book`.
///
/// # Errors
/// mdBook is missing, or a command fails.
pub(super) fn build(root: &Path, book: &Path, out: &mut dyn Write) -> Result<(), String> {
    let work = root.join("target/site");
    make_examples(root, &work, out)?;
    if book.exists() {
        fs::remove_dir_all(book).map_err(|error| format!("removing {}: {error}", book.display()))?;
    }
    let built = Command::new("mdbook").arg("build").arg(root.join("docs")).status();
    let built =
        built.map_err(|error| format!("starting mdbook: {error}; install it with `cargo install mdbook --locked`"))?;
    if !built.success() {
        return Err(format!("mdbook failed ({built}); its messages are above"));
    }
    for name in SOURCES {
        // A later mdBook may leave them out.
        let _ = fs::remove_file(book.join(name));
    }
    for font in FONT.map(|font| root.join(font)) {
        copy(&font, &book.join("fonts").join(font.file_name().unwrap_or_default()))?;
    }
    copy_pages(&work.join("examples"), &book.join("examples"))
}

/// Runs the commands of the page of examples in a folder of their own, which has no store yet.
fn make_examples(root: &Path, work: &Path, out: &mut dyn Write) -> Result<(), String> {
    let text = fs::read_to_string(root.join(EXAMPLES)).map_err(|error| format!("reading {EXAMPLES}: {error}"))?;
    let commands = commands_of(&text);
    if commands.is_empty() {
        return Err(format!("{EXAMPLES} has no commands: the site would have no reports"));
    }
    if work.exists() {
        fs::remove_dir_all(work).map_err(|error| format!("removing {}: {error}", work.display()))?;
    }
    fs::create_dir_all(work).map_err(|error| format!("making {}: {error}", work.display()))?;
    let path = path_with_karat(root)?;
    for (line, command, expected) in commands {
        let place = format!("{EXAMPLES}:{line}");
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(work).env("PATH", &path);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KARAT_")) {
            shell.env_remove(name);
        }
        let output = shell.output().map_err(|error| format!("{place}: starting `{command}`: {error}"))?;
        if output.status.code() != Some(expected) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{place}: `{command}` ended with {}, not with {expected}\n{said}", output.status));
        }
        writeln!(out, "{place}: {command}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The commands of a page's `sh` blocks with their lines and exit codes, as the tests of the documentation read them.
fn commands_of(page: &str) -> Vec<(usize, &str, i32)> {
    let mut is_open = false;
    let mut commands = Vec::new();
    for (at, line) in page.lines().enumerate() {
        match line {
            "```sh" => is_open = true,
            _ if line.starts_with("```") => is_open = false,
            _ if is_open => {
                let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
                let code = comment.trim().strip_prefix("exit code ").and_then(|code| code.trim().parse().ok());
                commands.push((at + 1, command.trim_end(), code.unwrap_or(0)));
            }
            _ => {}
        }
    }
    commands
}

/// Builds `karat`, and returns a `PATH` on which it is first.
fn path_with_karat(root: &Path) -> Result<OsString, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // What `scripts/test` has built, so that nothing is built twice.
    let mut build = Command::new(cargo);
    let built = build
        .args(["build", "--quiet", "--workspace", "--exclude", "karat-python", "--bins", "--examples"])
        .current_dir(root)
        .status();
    if !built.map_err(|error| format!("starting cargo: {error}"))?.success() {
        return Err("karat does not build; the messages of cargo are above".to_owned());
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let own =
        std::path::absolute(target.join("debug")).map_err(|error| format!("finding the target folder: {error}"))?;
    let rest = env::var_os("PATH").unwrap_or_default();
    env::join_paths(std::iter::once(own).chain(env::split_paths(&rest))).map_err(|error| error.to_string())
}

/// Copies the web pages of a folder and of those in it; reports in other formats stay behind.
fn copy_pages(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error| format!("listing {}: {error}; {EXAMPLES} writes its reports there", from.display());
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_pages(&from, &to)?;
        } else if from.extension().is_some_and(|ending| ending == "html") {
            copy(&from, &to)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to).map(|_| ()))
        .map_err(|error| format!("copying {} to {}: {error}", from.display(), to.display()))
}
