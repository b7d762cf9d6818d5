//! `karat compare`.

use std::collections::BTreeMap;

use karat_app::{ComparedVerdict, Comparing, Comparison, Correction, Party, Threshold};
use karat_types::Exit;

use crate::args::{CompareArgs, CorrectionArg, FailOnArg, TextFormatArg};
use crate::commands::{CommandContext, text_output, values::threshold};
use crate::failure::Failure;

pub fn compare(context: &CommandContext<'_>, args: &CompareArgs) -> Result<Exit, Failure> {
    let comparing = Comparing {
        metrics: args.metrics.clone(),
        correction: match args.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bh => Correction::BenjaminiHochberg,
            CorrectionArg::None => Correction::None,
        },
        confidence: args.confidence,
        margins: margins(&args.margin)?,
        allow_changed: args.allow_changed,
    };
    let [baseline, candidate] = parties(context, args)?;
    let comparison = context.app.compare(&baseline, &candidate, &comparing)?;
    text_output::write(context, "compare", args.output_dir.as_deref(), &args.format, &|form| text(&comparison, form))?;
    let binding = |verdict: &FailOnArg| match verdict {
        FailOnArg::Worse => ComparedVerdict::Worse,
        FailOnArg::Undecided => ComparedVerdict::Undecided,
    };
    Ok(comparison.exit(&args.fail_on.iter().map(binding).collect::<Vec<_>>()))
}

fn text(comparison: &Comparison, form: Option<TextFormatArg>) -> Result<String, Failure> {
    match form {
        None => Ok(comparison.terminal()),
        Some(TextFormatArg::Md) => Ok(comparison.markdown()),
        Some(TextFormatArg::Json) => Ok(comparison.json()?),
    }
}

/// The two sides: runs, narrowed by models and variants.
fn parties(context: &CommandContext<'_>, args: &CompareArgs) -> Result<[Party; 2], Failure> {
    let is_narrowed = !args.models.is_empty() || !args.variants.is_empty();
    let within = |run: &str| [(); 2].map(|()| Party { run: run.to_owned(), ..Party::default() });
    let mut parties = match (args.sides.as_slice(), args.run.as_deref()) {
        ([baseline, candidate], run) => context.app.parties([baseline, candidate], run)?,
        ([run], None) if is_narrowed => within(run),
        ([], run) if is_narrowed => within(run.unwrap_or("latest")),
        (sides, _) => {
            let named = sides.first().map_or("nothing".to_owned(), |side| format!("only `{side}`"));
            return Err(Failure::Message(format!(
                "{named} says what to compare. Name two runs, or two models or variants of one: `karat compare RUN RUN`, \
                 `karat compare RUN --models A B`, `karat compare RUN --variants A B` (without RUN the latest)"
            )));
        }
    };
    for (party, model) in parties.iter_mut().zip(&args.models) {
        party.model = Some(model.clone());
    }
    for (party, variant) in parties.iter_mut().zip(&args.variants) {
        party.variant = Some(variant.clone());
    }
    Ok(parties)
}

fn margins(texts: &[String]) -> Result<BTreeMap<String, Threshold>, Failure> {
    let margin = |text: &String| {
        let parsed = text.split_once('=').and_then(|(name, value)| Some((name.trim(), threshold(value)?)));
        let (name, value) = parsed.ok_or_else(|| {
            Failure::Message(format!("`--margin {text}` is no margin. Write `METRIC=X`, such as `quality.overall=0.2`, or `METRIC=5%` of the baseline"))
        })?;
        Ok((name.to_owned(), value))
    };
    texts.iter().map(margin).collect()
}
