//! Results that are one text in several forms: a summary on stdout, or files in a folder.

use std::fs;
use std::path::Path;

use super::Edge;
use crate::args::TextFormArg;
use crate::failure::Failure;

/// Writes `NAME.md` and `NAME.json` into the folder, or one form to stdout for `-`. Without a folder the forms that
/// are asked for go to stdout, and without any form the summary for a terminal (`None`).
pub fn write(
    edge: &Edge<'_>,
    name: &str,
    folder: Option<&str>,
    forms: &[TextFormArg],
    text: &dyn Fn(Option<TextFormArg>) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let Some(folder) = folder.filter(|folder| *folder != "-") else {
        return match forms {
            [] => edge.printer.data(&text(None)?),
            [form] => edge.printer.data(&text(Some(*form))?),
            _ => Err(Failure::Edge(
                "stdout takes one form: add `--format json` or `--format md`, or name a folder with `-o`".to_owned(),
            )),
        };
    };
    let folder = Path::new(folder);
    let unwritable = |error: std::io::Error| {
        Failure::Edge(format!("writing into {}: {error}. Name another folder with `-o`", folder.display()))
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    let all = [TextFormArg::Md, TextFormArg::Json];
    for form in if forms.is_empty() { &all[..] } else { forms } {
        let extension = if *form == TextFormArg::Md { "md" } else { "json" };
        fs::write(folder.join(format!("{name}.{extension}")), text(Some(*form))?).map_err(unwritable)?;
    }
    edge.printer.data(&text(None)?)
}
