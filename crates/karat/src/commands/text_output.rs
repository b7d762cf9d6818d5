//! Results that are one text in several forms: a summary on stdout, or files in a folder.

use std::fs;
use std::path::Path;

use crate::args::TextFormatArg;
use crate::commands::CommandContext;
use crate::failure::Failure;

/// Finds out before anything is made whether its forms can be written where they are asked for.
pub fn check(folder: Option<&str>, forms: &[TextFormatArg]) -> Result<(), Failure> {
    if folder.is_none_or(|folder| folder == "-") && forms.len() > 1 {
        let message = "stdout takes one form: ask for `--format json` or `--format md`, or name a folder with `-o`";
        return Err(Failure::Message(message.to_owned()));
    }
    Ok(())
}

/// Writes `NAME.md` and `NAME.json` into the folder, or one form to stdout for `-`. Without a folder the forms that
/// are asked for go to stdout, and without any form the summary for a terminal (`None`).
pub fn write(
    context: &CommandContext<'_>,
    name: &str,
    folder: Option<&str>,
    forms: &[TextFormatArg],
    text: &dyn Fn(Option<TextFormatArg>) -> Result<String, Failure>,
) -> Result<(), Failure> {
    check(folder, forms)?;
    let Some(folder) = folder.filter(|folder| *folder != "-") else {
        return match forms {
            [] => context.printer.summary(&text(None)?),
            [form, ..] => context.printer.data(&text(Some(*form))?),
        };
    };
    let folder = Path::new(folder);
    let unwritable = |error: std::io::Error| {
        Failure::Message(format!("writing into {}: {error}. Name another folder with `-o`", folder.display()))
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    let all = [TextFormatArg::Md, TextFormatArg::Json];
    for form in if forms.is_empty() { &all[..] } else { forms } {
        let extension = if *form == TextFormatArg::Md { "md" } else { "json" };
        fs::write(folder.join(format!("{name}.{extension}")), text(Some(*form))?).map_err(unwritable)?;
    }
    context.printer.summary(&text(None)?)
}
