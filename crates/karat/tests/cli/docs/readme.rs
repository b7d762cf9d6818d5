//! The README's suite, commands and output.

use super::blocks::Page;
use super::session;
use crate::place::Place;

/// PE-36: the README's suite gives the shown output, and its everyday commands succeed. The tutorial's scripted models
/// stand in for the real ones.
#[test]
fn the_readme_runs_as_written() {
    let place = Place::new();
    session::write_files(&Page::read("docs/start/tutorial.md"), &place);
    let mut readme = Page::read("README.md");
    readme.text = readme.text.replacen("\nmodels: [", "\nregistry: [models.yaml]\nmodels: [", 1);
    session::run(&readme, &place);
    assert!(place.path().join("out/report.html").exists());
}

/// The commands for the first minutes name things that exist.
#[test]
fn the_first_commands_exist() {
    let readme = Page::read("README.md").text;
    let root = super::blocks::root();
    assert!(readme.contains("cargo run --release -- run claims\n./scripts/test\n"));
    assert!(root.join("scripts/test").exists() && root.join("docs/images/report.png").exists());
    for preset in ["claims", "faq", "spans", "summary", "rag", "briefing"] {
        assert!(root.join("presets").join(preset).join("karat.yaml").exists() && readme.contains(preset), "{preset}");
    }
}
