//! `karat digest`, which is also `karat report SUITE --window N`.

use std::fs;
use std::path::Path;

use karat_app::{Digested, RowFilter, Window};
use karat_types::Exit;

use super::Edge;
use super::drift::judged_by;
use crate::args::{DigestArgs, TextFormArg, WindowArgs};
use crate::failure::Failure;

/// Days of a window when nobody says how many.
const WEEK: u32 = 7;

pub fn digest(edge: &Edge<'_>, args: &DigestArgs) -> Result<Exit, Failure> {
    let found = find(edge, &args.suite, &args.window, judged_by(&args.judged))?;
    write(edge, &found, args.output_dir.as_deref(), args.format)
}

/// Sums up a window.
pub fn find(edge: &Edge<'_>, suite: &str, window: &WindowArgs, choice: RowFilter) -> Result<Digested, Failure> {
    let window = Window { as_of: window.as_of.clone(), days: window.window.unwrap_or(WEEK), choice };
    Ok(edge.app.digest(suite, &window)?)
}

/// To stdout, to a file by its ending, or as both forms into a folder.
pub fn write(
    edge: &Edge<'_>,
    found: &Digested,
    output: Option<&str>,
    form: Option<TextFormArg>,
) -> Result<Exit, Failure> {
    let Some(output) = output.filter(|output| *output != "-") else {
        edge.printer.data(&text(found, form.unwrap_or(TextFormArg::Md))?)?;
        return Ok(Exit::Pass);
    };
    let path = Path::new(output);
    let named = match path.extension().and_then(|extension| extension.to_str()) {
        Some("md") => Some(TextFormArg::Md),
        Some("json") => Some(TextFormArg::Json),
        _ => None,
    };
    let files = match named {
        Some(by_name) => vec![(path.to_owned(), form.unwrap_or(by_name))],
        None => {
            let both = [("digest.md", TextFormArg::Md), ("digest.json", TextFormArg::Json)];
            let wanted = both.into_iter().filter(|(_, it)| form.is_none_or(|form| form == *it));
            wanted.map(|(name, form)| (path.join(name), form)).collect()
        }
    };
    for (file, form) in files {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let text = text(found, form)?;
        folder.map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text)).map_err(|error| {
            Failure::Edge(format!("writing {}: {error}. Name another place with `-o`", file.display()))
        })?;
        edge.printer.data(&file.display().to_string())?;
    }
    Ok(Exit::Pass)
}

fn text(found: &Digested, form: TextFormArg) -> Result<String, Failure> {
    match form {
        TextFormArg::Md => Ok(found.markdown()),
        TextFormArg::Json => Ok(found.json()?),
    }
}
