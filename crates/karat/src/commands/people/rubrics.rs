//! `karat rubrics`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use karat_types::Exit;

use crate::args::RubricsArgs;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn rubrics(context: &CommandContext<'_>, args: &RubricsArgs) -> Result<Exit, Failure> {
    match (&args.name, &args.output) {
        (None, _) => list(context, args.json)?,
        (Some(name), None) => context.printer.data(karat_app::ready_rubric(name)?.trim_end())?,
        (Some(name), Some(file)) => {
            write(file, karat_app::ready_rubric(name)?)?;
            context.printer.data(&file.display().to_string())?;
        }
    }
    Ok(Exit::Pass)
}

fn list(context: &CommandContext<'_>, as_json: bool) -> Result<(), Failure> {
    let rubrics = karat_app::ready_rubrics()?;
    if as_json {
        return context.print_json(&rubrics);
    }
    let rows = rubrics.into_iter().map(|rubric| {
        let reference = rubric.needs_reference.then(|| "reference".to_owned());
        let needs: Vec<String> = rubric.needs.into_iter().chain(reference).collect();
        vec![rubric.name, rubric.version, needs.join(", "), rubric.about]
    });
    context.printer.text(&table(context, &["rubric", "version", "needs", "measures"], rows))
}

/// Writes a new file, in a new folder if need be; one that exists may hold somebody's work.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    let opened = made.and_then(|()| OpenOptions::new().write(true).create_new(true).open(file));
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AlreadyExists => "the file exists. Name another with `-o`".to_owned(),
            _ => format!("{error}. Name another file with `-o`"),
        };
        Failure::Message(format!("writing the rubric {}: {advice}", file.display()))
    })
}
