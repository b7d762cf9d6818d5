//! `karat agree`.

use karat_app::{Agreeing, Agreement};
use karat_types::Exit;

use crate::args::{AgreeArgs, TextFormatArg};
use crate::commands::{CommandContext, text_output};
use crate::failure::Failure;

pub fn agree(context: &CommandContext<'_>, args: &AgreeArgs) -> Result<Exit, Failure> {
    let asked = Agreeing { scorer: args.scorer.clone(), between: args.between.clone(), labels: args.labels.clone() };
    let found = context.app.agree(&args.runs, &asked)?;
    text_output::write(context, "agree", args.output_dir.as_deref(), &args.format, &|form| text(&found, form))?;
    Ok(Exit::Pass)
}

fn text(found: &Agreement, form: Option<TextFormatArg>) -> Result<String, Failure> {
    match form {
        None => Ok(found.terminal()),
        Some(TextFormatArg::Md) => Ok(found.markdown()),
        Some(TextFormatArg::Json) => Ok(found.json()?),
    }
}
