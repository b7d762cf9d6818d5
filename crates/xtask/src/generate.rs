//! `cargo xtask generate`: writes the files that are made from the code, or checks that they are as they would be.

use std::fs;
use std::path::Path;

use crate::{reference, testing};

/// Writes the generated files below `root`; with `check`, says which differ instead. `Ok(false)` when any does.
pub fn run(root: &Path, check: bool, out: &mut dyn std::io::Write) -> Result<bool, String> {
    let mut files =
        vec![("docs/testing.md", testing::render(root)?), ("schemas/suite.schema.json", karat_app::suite_schema())];
    files.extend(reference::pages()?);
    let mut fresh = true;
    for (path, content) in files {
        let target = root.join(path);
        let present = fs::read_to_string(&target).unwrap_or_default();
        let same = present.trim_end() == content.trim_end();
        let said = match (same, check) {
            (true, _) => "fresh",
            (false, true) => {
                fresh = false;
                "stale: run `cargo xtask generate`"
            }
            (false, false) => {
                fs::write(&target, format!("{}\n", content.trim_end()))
                    .map_err(|error| format!("writing {}: {error}", target.display()))?;
                "written"
            }
        };
        writeln!(out, "{path}  {said}").map_err(|error| error.to_string())?;
    }
    Ok(fresh)
}
