//! `karat gate` and `karat baseline`, and the flags of gates.

use karat_app::{GateFlags, GateReport, GateRequest, Threshold};
use karat_types::Exit;

use crate::args::{BaselineCommand, EnforceArgs, GateArgs, GateCommandArgs, TextFormatArg};
use crate::commands::values::threshold;
use crate::commands::{CommandContext, text_output};
use crate::failure::Failure;

pub fn gate(context: &CommandContext<'_>, args: &GateCommandArgs) -> Result<Exit, Failure> {
    let gating = GateRequest { policy: args.policy.clone(), flags: gate_flags(&args.gates, &EnforceArgs::default())? };
    let gated = context.app.analysis().gate(&context.app.stored().run_of(&args.run)?, &gating)?;
    text_output::write(context, "gate", args.output_dir.as_deref(), &args.format, &|format| text(&gated, format))?;
    gated.failures.iter().for_each(|failure| context.printer.say(&format!("failed: {failure}")));
    Ok(gated.exit)
}

fn text(gated: &GateReport, format: Option<TextFormatArg>) -> Result<String, Failure> {
    match format {
        None => Ok(gated.terminal()),
        Some(TextFormatArg::Md) => Ok(gated.markdown()),
        Some(TextFormatArg::Json) => Ok(gated.json()?),
        Some(TextFormatArg::Html) => Ok(karat_app::html_page("Gates", &gated.markdown())),
    }
}

pub fn baseline(context: &CommandContext<'_>, command: &BaselineCommand) -> Result<Exit, Failure> {
    let BaselineCommand::Pin { run, output } = command;
    let run = context.app.stored().run_of_systems(run)?;
    if output.as_deref() == Some("-") {
        context.printer.data(&context.app.analysis().baseline_json(&run)?)?;
        return Ok(Exit::Pass);
    }
    let (path, replaced) = context.app.analysis().pin(&run, output.as_deref())?;
    let replaced = replaced.map_or_else(String::new, |earlier| format!(" (replaces run {earlier})"));
    context.printer.text(&format!("pinned run {run} as the baseline in {path}{replaced}"))?;
    Ok(Exit::Pass)
}

/// Returns what the command line says of gates.
pub fn gate_flags(gates: &GateArgs, enforce: &EnforceArgs) -> Result<GateFlags, Failure> {
    let min = |text: &String| match parse_bound("--min", text)? {
        (Some(metric), threshold) => Ok((metric, threshold)),
        (None, _) => Err(Failure::Message(format!("`--min {text}` has no metric. Write `--min METRIC={text}`"))),
    };
    let threshold =
        gates.gate_threshold.as_deref().map(|text| Ok::<_, Failure>(parse_bound("--gate-threshold", text)?.1));
    Ok(GateFlags {
        binds: enforce.gate.then_some(true).or(enforce.no_gate.then_some(false)),
        baseline: gates.baseline.as_deref().map(absolute_path).transpose()?,
        min: gates.min.iter().map(min).collect::<Result<_, Failure>>()?,
        max_drop: gates.max_drop.iter().map(|text| parse_bound("--max-drop", text)).collect::<Result<_, Failure>>()?,
        threshold: threshold.transpose()?,
    })
}

/// Parses `METRIC=X` or `X`, where X is a number or a percentage.
fn parse_bound(flag: &str, text: &str) -> Result<(Option<String>, Threshold), Failure> {
    let (metric, bound) = match text.rsplit_once('=') {
        Some((metric, bound)) => (Some(metric.trim().to_owned()), bound.trim()),
        None => (None, text.trim()),
    };
    let is_condition = metric.as_ref().is_some_and(|metric| metric.ends_with(['<', '>']));
    match threshold(bound).filter(|_| !is_condition) {
        Some(threshold) => Ok((metric, threshold)),
        None if is_condition => {
            Err(Failure::Message(format!("`{flag} {text}` is a condition. {}", bound_form(flag, text.trim()))))
        }
        None => {
            Err(Failure::Message(format!("`{flag} {text}`: `{bound}` is not a number. {}", bound_form(flag, bound))))
        }
    }
}

/// The right form of a bound that cannot be read: of a condition such as `label>0.8`, the same as `METRIC=X`.
fn bound_form(flag: &str, bound: &str) -> String {
    let is_sign = |it: char| "<>=≥≤".contains(it);
    match bound.split_once(is_sign).map(|(metric, number)| (metric.trim(), number.trim_start_matches(is_sign).trim())) {
        Some((metric, number)) if !metric.is_empty() && threshold(number).is_some() => {
            format!("Write `{flag} {metric}={number}`")
        }
        _ => "Write `0.5` or `5%`, or `METRIC=0.5`".to_owned(),
    }
}

/// Returns an absolute path: it is stored with the run, which may be reported from another folder.
fn absolute_path(path: &str) -> Result<String, Failure> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Failure::Message(format!("`--baseline {path}` is not a valid path: {error}")))?;
    Ok(absolute.to_string_lossy().into_owned())
}
