//! `cargo xtask generate`: writes the committed files that are generated from the code, or checks that they are current.

use std::fs;
use std::path::Path;

use crate::{checks, dist, reference};

/// Writes the generated files below `root`. With `check`, writes nothing and returns `Ok(false)` when one is out of date.
pub fn run(root: &Path, check: bool, out: &mut dyn std::io::Write) -> Result<bool, String> {
    let mut files = vec![
        ("schemas/suite.schema.json", karat_app::suite_schema()),
        ("schemas/openapi.json", karat_server::openapi()),
        ("python/src/karat/_formats.py", reference::python_formats()),
    ];
    files.push(("docs/requirements.md", checks::requirements::read(root)?.page));
    files.extend(reference::pages()?);
    files.extend(dist::generated_files());
    let mut current = true;
    for (path, content) in files {
        let target = root.join(path);
        let present = fs::read_to_string(&target).unwrap_or_default();
        let same = present.trim_end() == content.trim_end();
        let state = match (same, check) {
            (true, _) => "current",
            (false, true) => {
                current = false;
                "out of date: run `cargo xtask generate`"
            }
            (false, false) => {
                fs::write(&target, format!("{}\n", content.trim_end()))
                    .map_err(|error| format!("writing {}: {error}", target.display()))?;
                "written"
            }
        };
        writeln!(out, "{path}  {state}").map_err(|error| error.to_string())?;
    }
    Ok(current)
}
