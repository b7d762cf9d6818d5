//! `karat agree`.

use karat_app::{Agreement, AgreementRequest};
use karat_types::Exit;

use crate::args::{AgreeArgs, TextFormatArg};
use crate::commands::{CommandContext, text_output};
use crate::failure::Failure;

pub fn agree(context: &CommandContext<'_>, args: &AgreeArgs) -> Result<Exit, Failure> {
    let agreeing =
        AgreementRequest { scorer: args.scorer.clone(), between: args.between.clone(), labels: args.labels.clone() };
    let agreement = context.app.analysis().agree(&args.runs, &agreeing)?;
    let render = |format| text(&agreement, format);
    text_output::write(context, "agree", args.output_dir.as_deref(), &args.format, &render)?;
    Ok(Exit::Pass)
}

fn text(agreement: &Agreement, format: Option<TextFormatArg>) -> Result<String, Failure> {
    match format {
        None => Ok(agreement.terminal()),
        Some(TextFormatArg::Md) => Ok(agreement.markdown()),
        Some(TextFormatArg::Json) => Ok(agreement.json()?),
        Some(TextFormatArg::Html) => Ok(karat_app::html_page("Agreement", &agreement.markdown())),
    }
}
