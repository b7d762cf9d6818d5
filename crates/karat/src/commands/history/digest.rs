//! `karat digest`, which is also `karat report SUITE --window N`.

use std::fs;
use std::path::Path;

use karat_app::{DigestReport, RowFilter, Window};
use karat_types::Exit;

use crate::args::{DigestArgs, TextFormatArg, WindowArgs};
use crate::commands::CommandContext;
use crate::commands::invocation::rows_judged_by;
use crate::failure::Failure;

/// Days of a window without `--window`.
const WEEK: u32 = 7;

pub fn digest(context: &CommandContext<'_>, args: &DigestArgs) -> Result<Exit, Failure> {
    let digested = compute(context, &args.suite, &args.window, rows_judged_by(&args.judged))?;
    write(context, &digested, args.output_dir.as_deref(), args.format)
}

/// Computes the digest of a window.
pub fn compute(
    context: &CommandContext<'_>,
    suite: &str,
    window: &WindowArgs,
    choice: RowFilter,
) -> Result<DigestReport, Failure> {
    let window = Window { as_of: window.as_of.clone(), days: window.window.unwrap_or(WEEK), choice };
    Ok(context.app.analysis().digest(suite, &window)?)
}

/// Writes a digest to stdout, to a file by its extension, or in both formats into a folder.
pub fn write(
    context: &CommandContext<'_>,
    digested: &DigestReport,
    output: Option<&str>,
    format: Option<TextFormatArg>,
) -> Result<Exit, Failure> {
    let Some(output) = output.filter(|output| *output != "-") else {
        context.printer.data(&text(digested, format.unwrap_or(TextFormatArg::Md))?)?;
        return Ok(Exit::Pass);
    };
    let path = Path::new(output);
    let by_extension = match path.extension().and_then(|extension| extension.to_str()) {
        Some("md") => Some(TextFormatArg::Md),
        Some("json") => Some(TextFormatArg::Json),
        Some("html") => Some(TextFormatArg::Html),
        _ => None,
    };
    let files = match by_extension {
        Some(by_extension) => vec![(path.to_owned(), format.unwrap_or(by_extension))],
        None => {
            let both = [TextFormatArg::Md, TextFormatArg::Json];
            let wanted = format.map_or(both.to_vec(), |format| vec![format]);
            wanted.into_iter().map(|it| (path.join(format!("digest.{}", it.extension())), it)).collect()
        }
    };
    for (file, format) in files {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let text = text(digested, format)?;
        folder.map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text)).map_err(|error| {
            Failure::Message(format!("writing {}: {error}. Name another file with `-o`", file.display()))
        })?;
        context.printer.text(&file.display().to_string())?;
    }
    Ok(Exit::Pass)
}

fn text(digested: &DigestReport, format: TextFormatArg) -> Result<String, Failure> {
    match format {
        TextFormatArg::Md => Ok(digested.markdown()),
        TextFormatArg::Json => Ok(digested.json()?),
        TextFormatArg::Html => Ok(karat_app::html_page("Digest", &digested.markdown())),
    }
}
