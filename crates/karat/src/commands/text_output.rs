//! Results that are a text in several formats: a summary on stdout, or files in a folder.

use std::fs;
use std::path::Path;

use super::CommandContext;
use crate::args::TextFormatArg;
use crate::failure::Failure;

/// Checks before any work that the formats can be written to the destination.
pub fn check(folder: Option<&str>, formats: &[TextFormatArg]) -> Result<(), Failure> {
    if folder.is_none_or(|folder| folder == "-") && formats.len() > 1 {
        let message = "stdout takes one format: use `--format json`, `--format md` or `--format html`, or name a folder with `-o`";
        return Err(Failure::Message(message.to_owned()));
    }
    Ok(())
}

/// Writes `NAME.md` and `NAME.json`, or the formats that were asked for, into a folder, or one format to stdout if the folder is `-`. Without a folder, the
/// format that was asked for goes to stdout, or the summary for a terminal (`text(None)`).
pub fn write(
    context: &CommandContext<'_>,
    name: &str,
    folder: Option<&str>,
    formats: &[TextFormatArg],
    text: &dyn Fn(Option<TextFormatArg>) -> Result<String, Failure>,
) -> Result<(), Failure> {
    check(folder, formats)?;
    let Some(folder) = folder.filter(|folder| *folder != "-") else {
        return match formats {
            [] => context.printer.summary(&text(None)?),
            [format, ..] => context.printer.data(&text(Some(*format))?),
        };
    };
    let folder = Path::new(folder);
    let unwritable = |error: std::io::Error| {
        Failure::Message(format!("writing into {}: {error}. Name another folder with `-o`", folder.display()))
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    let all = [TextFormatArg::Md, TextFormatArg::Json];
    for format in if formats.is_empty() { &all[..] } else { formats } {
        fs::write(folder.join(format!("{name}.{}", format.extension())), text(Some(*format))?).map_err(unwritable)?;
    }
    context.printer.summary(&text(None)?)
}
