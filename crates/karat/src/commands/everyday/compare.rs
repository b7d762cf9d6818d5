//! `karat compare`.

use std::collections::BTreeMap;

use karat_app::{CompareRequest, ComparedVerdict, Comparison, Correction, Party, PowerRequest, Threshold};
use karat_types::Exit;

use crate::args::{CompareArgs, CorrectionArg, FailOnArg, TextFormatArg};
use crate::commands::everyday::power::parse_difference;
use crate::commands::values::threshold;
use crate::commands::{CommandContext, text_output};
use crate::failure::Failure;

pub fn compare(context: &CommandContext<'_>, args: &CompareArgs) -> Result<Exit, Failure> {
    let comparing = CompareRequest {
        metrics: args.metrics.clone(),
        correction: match args.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bh => Correction::BenjaminiHochberg,
            CorrectionArg::None => Correction::None,
        },
        confidence: args.confidence,
        margins: parse_margins(&args.margin)?,
        mde: parse_differences(&args.mde)?,
        allow_changed: args.allow_changed,
        movers: args.movers,
        outputs: args.outputs,
    };
    let [baseline, candidate] = sides(context, args)?;
    let comparison = context.app.analysis().compare(&baseline, &candidate, &comparing)?;
    let render = |format| text(&comparison, format);
    text_output::write(context, "compare", args.output_dir.as_deref(), &args.format, &render)?;
    let binding = |verdict: &FailOnArg| match verdict {
        FailOnArg::Worse => ComparedVerdict::Worse,
        FailOnArg::Undecided => ComparedVerdict::Undecided,
    };
    Ok(comparison.exit(&args.fail_on.iter().map(binding).collect::<Vec<_>>()))
}

fn text(comparison: &Comparison, format: Option<TextFormatArg>) -> Result<String, Failure> {
    match format {
        None => Ok(comparison.terminal()),
        Some(TextFormatArg::Md) => Ok(comparison.markdown()),
        Some(TextFormatArg::Json) => Ok(comparison.json()?),
        Some(TextFormatArg::Html) => Ok(comparison.html()),
    }
}

/// Returns the baseline and the candidate: runs, narrowed to a model and a variant.
fn sides(context: &CommandContext<'_>, args: &CompareArgs) -> Result<[Party; 2], Failure> {
    require_two("--models", &args.models)?;
    require_two("--variants", &args.variants)?;
    let is_narrowed = !args.models.is_empty() || !args.variants.is_empty();
    let within = |run: &str| [(); 2].map(|()| Party { run: run.to_owned(), ..Party::default() });
    let mut sides = match (args.sides.as_slice(), args.run.as_deref()) {
        ([baseline, candidate], run) => context.app.analysis().parties([baseline, candidate], run)?,
        ([run], None) if is_narrowed => within(run),
        ([], Some(run)) if is_narrowed => within(run),
        ([], None) if is_narrowed => within(&context.app.analysis().latest_run_here()?),
        (given, _) => {
            let given =
                given.first().map_or("two sides are missing".to_owned(), |side| format!("`{side}` is one side"));
            return Err(Failure::Message(format!(
                "a comparison needs a baseline and a candidate, and {given}. Write `karat compare RUN RUN`, \
                 `karat compare RUN --models A B` or `karat compare RUN --variants A B`; without RUN, the latest run of this folder's suite is used"
            )));
        }
    };
    for (side, model) in sides.iter_mut().zip(&args.models) {
        side.model = Some(model.clone());
    }
    for (side, variant) in sides.iter_mut().zip(&args.variants) {
        side.variant = Some(variant.clone());
    }
    Ok(sides)
}

/// Refuses an option that names another number of parts than the two that are compared; none is one of them.
fn require_two(option: &str, given: &[String]) -> Result<(), Failure> {
    if matches!(given.len(), 0 | 2) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "`{option}` takes the baseline and the candidate, and {} stand there: {}. Write `{option} A B`, after the run",
        given.len(),
        given.join(", ")
    )))
}

/// Without a metric a difference is one of every metric.
fn parse_differences(texts: &[String]) -> Result<BTreeMap<String, Threshold>, Failure> {
    let wanted = |text: &String| {
        let PowerRequest { metric, difference } = parse_difference(text)?;
        Ok((metric.unwrap_or_else(|| "*".to_owned()), difference))
    };
    texts.iter().map(wanted).collect()
}

fn parse_margins(texts: &[String]) -> Result<BTreeMap<String, Threshold>, Failure> {
    let margin = |text: &String| {
        let parsed = text.split_once('=').and_then(|(name, value)| Some((name.trim(), threshold(value)?)));
        let (name, value) = parsed.ok_or_else(|| {
            Failure::Message(format!(
                "`--margin {text}` is not a margin. Write `METRIC=X`, such as `quality.overall=0.2`, or `METRIC=5%` of the \
                 baseline"
            ))
        })?;
        Ok((name.to_owned(), value))
    };
    texts.iter().map(margin).collect()
}
