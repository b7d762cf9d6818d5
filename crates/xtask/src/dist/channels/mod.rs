//! Texts of other places that install the published files. Each is a template in `templates/` with the names of the
//! description in its places: `@VERSION@`, `@DOWNLOADS@` and so on.
//!
//! `generated_files` are in the repository, and `cargo xtask generate` writes them; the formula names checksums, so it is
//! made with a release. `tests` compare all of them with an archive.

use std::collections::{BTreeMap, BTreeSet};

use super::description::{
    CONTAINER, LICENCE, MAIN_JOB, NOTICES, REPOSITORY, SUMMARY, TARGETS, TOOLCHAIN, Target, VERSION, archive_name,
    download_folder,
};

#[cfg(test)]
mod tests;

/// The name of the Homebrew formula among the files of a release.
pub const FORMULA: &str = "karat.rb";

/// The list of checksums of published archives, which the action installs.
pub const PINS: &str = "deploy/released.txt";

/// Files of the repository, by path.
pub fn generated_files() -> Vec<(&'static str, String)> {
    vec![
        ("action.yml", fill_places(include_str!("templates/action.yml"))),
        ("deploy/comment/action.yml", fill_places(include_str!("templates/comment-action.yml"))),
        ("deploy/action.sh", fill_places(include_str!("templates/action.sh")).replace("@CASES@", &machine_cases())),
        (
            "deploy/gitlab-ci.yml",
            fill_places(include_str!("templates/gitlab-ci.yml")).replace("@TARGET@", pipeline_target()),
        ),
        ("deploy/Dockerfile", container_file()),
        (".github/workflows/release.yml", release_workflow()),
    ]
}

/// Makes the Homebrew formula for the archives with these checksums.
///
/// # Errors
/// An archive that the formula names has no checksum.
pub fn formula(sums: &BTreeMap<String, String>) -> Result<String, String> {
    let mut text = fill_places(include_str!("templates/karat.rb"));
    for target in TARGETS {
        let name = archive_name(VERSION, target.triple);
        let place = format!("@SUM:{}@", target.triple);
        if text.contains(&place) {
            let sum = sums.get(&name).ok_or_else(|| format!("making the formula: {name} has no checksum"))?;
            let url = format!("{}/{name}", download_folder(VERSION));
            text = text.replace(&place, sum).replace(&format!("@URL:{}@", target.triple), &url);
        }
    }
    Ok(text)
}

/// Fills the places that several templates have.
fn fill_places(template: &str) -> String {
    let downloads = format!("{REPOSITORY}/releases/download");
    let places = [
        ("@VERSION@", VERSION),
        ("@DOWNLOADS@", &downloads),
        ("@REPOSITORY@", REPOSITORY),
        ("@CONTAINER@", CONTAINER),
        ("@TOOLCHAIN@", TOOLCHAIN),
        ("@LICENCE@", LICENCE),
        ("@SUMMARY@", SUMMARY),
        ("@MAIN_JOB@", &MAIN_JOB.join(" ")),
    ];
    places.iter().fold(template.to_owned(), |text, (place, value)| text.replace(place, value))
}

/// The lines of the action's script that choose an archive for a machine.
fn machine_cases() -> String {
    let case = |target: &Target| {
        let machines: Vec<String> = target.downloaded_on.iter().map(|machine| format!("\"{machine}\"")).collect();
        format!("    {}) echo {} ;;", machines.join(" | "), target.triple)
    };
    let downloaded = TARGETS.iter().filter(|target| !target.downloaded_on.is_empty());
    downloaded.map(case).collect::<Vec<_>>().join("\n")
}

/// The target of the pipeline, whose image is Linux on x86_64.
fn pipeline_target() -> &'static str {
    let target = TARGETS.iter().find(|target| target.downloaded_on.contains(&"Linux x86_64"));
    target.map_or("", |target| target.triple)
}

/// Targets of the container, whose system is Debian: those with a Debian package, by its architecture.
fn container_targets() -> impl Iterator<Item = (&'static str, &'static str)> {
    TARGETS.iter().filter_map(|target| Some((target.debian?, target.triple)))
}

fn container_file() -> String {
    let cases: Vec<String> = container_targets()
        .map(|(architecture, triple)| format!("      {architecture}) target={triple} ;; \\"))
        .collect();
    // With a `*` for the architecture, an image can be made of one archive.
    let systems: BTreeSet<&str> =
        container_targets().filter_map(|(_, triple)| Some(triple.split_once('-')?.1)).collect();
    let archives: Vec<String> =
        systems.iter().map(|system| format!("dist/{}", archive_name(VERSION, &format!("*-{system}")))).collect();
    let terms = [NOTICES, "LICENSE-APACHE", "LICENSE-MIT"].map(|name| format!("/karat/{name}"));
    fill_places(include_str!("templates/Dockerfile"))
        .replace("@CASES@", &cases.join("\n"))
        .replace("@ARCHIVES@", &archives.join(" "))
        .replace("@TERMS@", &terms.join(" "))
}

fn release_workflow() -> String {
    let entry = |target: &Target| format!("          - {{ target: {}, runner: {} }}", target.triple, target.runner);
    let platforms: Vec<String> = container_targets().map(|(architecture, _)| format!("linux/{architecture}")).collect();
    fill_places(include_str!("templates/release.yml"))
        .replace("@MATRIX@", &TARGETS.iter().map(entry).collect::<Vec<_>>().join("\n"))
        .replace("@PLATFORMS@", &platforms.join(","))
}
