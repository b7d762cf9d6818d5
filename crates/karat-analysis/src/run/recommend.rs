//! Derives recommendations from the findings, each with its caveat.

use karat_stats::interval::Level;
use karat_types::Better;

use crate::figures::contrast::{ComparisonVerdict, Contrast, DeltaAxis, Family};
use crate::figures::finding::Finding;
use crate::figures::leaderboard::best_first;
use crate::run::findings::{Findings, Recommendation};

/// With fewer shared samples a ranking gets a caveat.
const FEW_SAMPLES: u64 = 30;

/// The recommendations, most important first.
pub(crate) fn recommend(findings: &Findings) -> Vec<Recommendation> {
    let mut advice = Vec::new();
    advice.extend(choose_model(findings));
    advice.extend(best_value(findings));
    advice.extend(compare_variants(findings));
    advice.extend(retry_advice(findings));
    advice.extend(disagreement_advice(findings));
    advice
}

fn primary_direction(findings: &Findings) -> Option<(&str, Better)> {
    let metric = findings.plan.metrics.get(findings.primary?)?;
    Some((&metric.name, metric.better))
}

fn choose_model(findings: &Findings) -> Option<Recommendation> {
    let (metric, _) = primary_direction(findings)?;
    let board = findings.primary_board()?;
    let ([first, second, ..], Some(lead)) = (board.places.as_slice(), &board.lead) else { return None };
    let figure = with_interval(lead);
    // Variants without a model have contrasts of their own.
    if findings.models.is_empty() {
        return None;
    }
    let advice = match first.rank {
        Some([1, 1]) => format!("Prefer {} by {metric}: it is ahead of {} by {figure}.", first.id, second.id),
        _ => {
            let open = board.places.iter().filter(|place| place.rank.is_none_or(|[best, _]| best == 1));
            let open: Vec<&str> = open.map(|place| place.id.as_str()).collect();
            format!(
                "Any of {} may be the best by {metric} ({} − {}: {figure}): choose by cost, or add samples.",
                open.join(", "),
                first.id,
                second.id
            )
        }
    };
    let is_lead = |it: &&Contrast| {
        let pair = [it.base.as_str(), it.other.as_str()];
        it.metric == metric && pair.contains(&first.id.as_str()) && pair.contains(&second.id.as_str())
    };
    let of_lead = findings.contrasts.iter().find(is_lead).and_then(|it| contrast_caveat(findings, it));
    let caveat = [of_lead, caveats(findings)].into_iter().flatten().reduce(|one, other| format!("{one} {other}"));
    Some(Recommendation::new(advice, caveat))
}

/// The look at a contrast, if it is not the first, and the reason why no data decide it.
fn contrast_caveat(findings: &Findings, contrast: &Contrast) -> Option<String> {
    let alpha = findings.measures.first().map_or(Level::P95, |measure| measure.level).alpha();
    let reasons = contrast.look.sentence(alpha).into_iter().chain(contrast.impossible.clone());
    reasons.map(|reason| format!("{reason}.")).reduce(|one, other| format!("{one} {other}"))
}

/// The reasons why a ranking is fragile.
fn caveats(findings: &Findings) -> Option<String> {
    let board = findings.primary_board()?;
    let few = (board.shared_samples < FEW_SAMPLES)
        .then(|| format!("it is based on {} shared samples, fewer than {FEW_SAMPLES}", board.shared_samples));
    let partial = (board.shared < board.scored)
        .then(|| format!("all models share only {} of {} scored sample × variant pairs", board.shared, board.scored));
    let one_judge = (findings.plan.judges.len() == 1).then(|| "one judge graded everything".to_owned());
    let scripts =
        findings.plan.script_warning().map(|_| "the judges are scripts, which cannot grade a real model".to_owned());
    let reasons: Vec<String> = scripts.into_iter().chain(few).chain(partial).chain(one_judge).collect();
    (!reasons.is_empty()).then(|| format!("{}.", reasons.join("; ")))
}

fn best_value(findings: &Findings) -> Option<Recommendation> {
    let (metric, better) = primary_direction(findings)?;
    let primary = findings.primary?;
    if better == Better::Lower {
        return None;
    }
    let efficiency = |group: &crate::Group| {
        let score = group.metrics.get(primary)?.value()?;
        Some((group.id.clone(), group.spend.efficiency(score)?))
    };
    let mut ranked: Vec<(String, f64)> = findings.models.iter().filter_map(efficiency).collect();
    ranked.sort_by(|a, b| best_first(Better::Higher, a.1, b.1).then_with(|| a.0.cmp(&b.0)));
    if ranked.len() < 2 {
        return None;
    }
    let left_out = findings.models.len() - ranked.len();
    let all: Vec<String> = ranked.iter().map(|(id, value)| format!("{id} {}", three_digits(*value))).collect();
    Some(Recommendation::new(
        format!("{metric} per dollar, which no test compares: {}.", all.join(", ")),
        (left_out > 0)
            .then(|| format!("models without a cost, or with an unknown cost, are not compared: {left_out}.")),
    ))
}

fn compare_variants(findings: &Findings) -> Vec<Recommendation> {
    let Some((metric, _)) = primary_direction(findings) else { return Vec::new() };
    let own = |it: &&Contrast| it.axis == DeltaAxis::Variant && it.metric == metric && it.family == Family::Run;
    let advice = |it: &Contrast| {
        let (base, other, figure) = (&it.base, &it.other, with_interval(&it.difference));
        let said = match it.verdict {
            ComparisonVerdict::Better => format!("Prefer {other} to {base}: {metric} changes by {figure}."),
            ComparisonVerdict::Worse => format!("Keep {base} rather than {other}: {metric} changes by {figure}."),
            ComparisonVerdict::Equivalent => {
                format!("{other} and {base} differ by less than the margin in {metric} ({figure}): choose by cost.")
            }
            ComparisonVerdict::Undecided => format!("{other} and {base}: {metric} is undecided ({figure})."),
        };
        Recommendation::new(said, contrast_caveat(findings, it))
    };
    findings.contrasts.iter().filter(own).map(advice).collect()
}

fn retry_advice(findings: &Findings) -> Option<Recommendation> {
    let tally = findings.run.tally;
    if tally.errors + tally.unscored == 0 {
        return None;
    }
    let codes = findings.errors().map(|errors| {
        let most = errors.kinds.iter().take(3).map(|kind| format!("{} × {}", kind.count, kind.code));
        most.collect::<Vec<_>>().join(", ")
    });
    let named = codes.filter(|codes| !codes.is_empty()).map_or_else(String::new, |codes| format!(" ({codes})"));
    Some(Recommendation::new(
        format!(
            "Retry the failed cells before deciding: {} without an output, {} with a failed score{named}.",
            tally.errors, tally.unscored
        ),
        Some("failed cells are left out, so a system that fails on hard samples looks better than it is.".to_owned()),
    ))
}

fn disagreement_advice(findings: &Findings) -> Option<Recommendation> {
    let grading = findings.grading().filter(|grading| grading.flagged_cells > 0)?;
    Some(Recommendation::new(
        format!(
            "Before trusting the judges' mean, read the cells on which they disagree most ({}).",
            grading.flagged_cells
        ),
        None,
    ))
}

/// Value and interval with the same number of decimals.
fn with_interval(finding: &Finding) -> String {
    match (finding.interval(), finding.level()) {
        (Some((lo, hi)), Some(level)) => {
            let decimals =
                decimals([finding.value(), lo, hi].into_iter().fold(0.0, |most: f64, it| most.max(it.abs())));
            let number = |value: f64| with_sign(value, format!("{:.decimals$}", value.abs()));
            format!(
                "{} ({} % CI {} to {}, n = {})",
                number(finding.value()),
                three_digits(100.0 * level),
                number(lo),
                number(hi),
                finding.n()
            )
        }
        _ => format!("{} (no interval, n = {})", signed_digits(finding.value()), finding.n()),
    }
}

fn signed_digits(value: f64) -> String {
    with_sign(value, three_digits(value.abs()))
}

/// Adds the sign to the text of a number, unless it is zero.
fn with_sign(value: f64, text: String) -> String {
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if is_zero { text } else { format!("{}{text}", if value < 0.0 { '−' } else { '+' }) }
}

/// Formats three significant digits, without trailing zeros.
fn three_digits(value: f64) -> String {
    let decimals = decimals(value);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Number of decimals for three significant digits.
fn decimals(value: f64) -> usize {
    let magnitude = if value.abs() > 0.0 { value.abs().log10().floor() as i32 } else { 0 };
    (2 - magnitude).clamp(0, 6) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, example};
    use crate::{Options, analyse};

    #[test]
    fn numbers_are_short() {
        let texts: Vec<String> = [0.0, 1.0, 12.345, 0.012_345, 1234.5, 95.0].map(three_digits).to_vec();
        assert_eq!(texts, ["0", "1", "12.3", "0.0123", "1234", "95"]);
        assert_eq!([signed_digits(0.5), signed_digits(-0.5), signed_digits(0.0)], ["+0.5", "−0.5", "0"]);
    }

    /// CL-19: recommendations carry caveats, and a lead within chance is not recommended.
    #[test]
    fn a_lead_within_chance_is_not_recommended() {
        let run = Sketch::new(2, 1, 3)
            .value(0, 0, 9.0)
            .value(1, 0, 2.0)
            .value(2, 0, 8.0)
            .value(0, 1, 4.0)
            .value(1, 1, 6.0)
            .value(2, 1, 7.0)
            .run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let first = &findings.recommendations[0];
        assert!(first.advice.starts_with("Any of model-a, model-b may be the best"), "{}", first.advice);
        assert!(first.caveat.as_deref().unwrap().contains("3 shared samples"));
    }

    #[test]
    fn the_example_has_advice_on_models_cost_variants_and_retries() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        let all: Vec<&str> = findings.recommendations.iter().map(|it| it.advice.as_str()).collect();
        for part in ["atlas-large", "per dollar", "editorial", "Retry the failed cells"] {
            assert!(all.iter().any(|advice| advice.contains(part)), "{part}: {all:#?}");
        }
    }
}
