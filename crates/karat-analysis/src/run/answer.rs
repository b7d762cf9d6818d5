//! Which variant and which model to choose, from the contrasts of the run.

use karat_stats::interval::Level;

use crate::figures::contrast::{ComparisonVerdict, Contrast, DeltaAxis, Family};
use crate::figures::finding::Finding;
use crate::planning::needed::{Needed, PLANNED_POWER};
use crate::run::findings::{Answer, Findings, Recommendation};
use crate::run::metric_names::headline_metrics;

/// With fewer shared samples a ranking gets a caveat.
const FEW_SAMPLES: u64 = 30;

/// The answers for each axis with something to choose from: variants, then models.
pub(crate) fn answers(findings: &Findings) -> Vec<Answer> {
    let model = choose_model(findings).map(|it| {
        let first = findings.primary_board().and_then(|board| board.places.first());
        let decided = first.is_some_and(|first| first.rank == Some([1, 1]));
        answer(DeltaAxis::Model, it, decided)
    });
    choose_variant(findings).into_iter().chain(model).collect()
}

fn answer(axis: DeltaAxis, advice: Recommendation, decided: bool) -> Answer {
    let question = if axis == DeltaAxis::Model { "Which model?" } else { "Which variant?" };
    Answer { axis, question, decided, answer: advice.advice, caveat: advice.caveat }
}

/// The contrasts of variants in the metric that decides: the primary one, or the first headline metric where the suite
/// leaves the primary one out of its headline.
fn of_variants(findings: &Findings) -> Vec<&Contrast> {
    let binding: Vec<&Contrast> =
        findings.contrasts.iter().filter(|it| it.axis == DeltaAxis::Variant && it.family != Family::Other).collect();
    let order = findings.primary.into_iter().chain(headline_metrics(&findings.plan));
    let names = order.filter_map(|at| findings.plan.metrics.get(at));
    let of = |name: &str| -> Vec<&Contrast> { binding.iter().filter(|it| it.metric == name).copied().collect() };
    names.map(|metric| of(&metric.name)).find(|found| !found.is_empty()).unwrap_or_default()
}

fn choose_variant(findings: &Findings) -> Option<Answer> {
    let contrasts = of_variants(findings);
    let first = contrasts.first()?;
    let with = |verdict| contrasts.iter().copied().filter(move |it| it.verdict == verdict);
    let undecided = with(ComparisonVerdict::Undecided).count() > 0;
    let gain = |it: &&Contrast| it.difference.value().abs();
    let best = with(ComparisonVerdict::Better).max_by(|a, b| gain(a).total_cmp(&gain(b)));
    let advice = match (contrasts.as_slice(), best) {
        ([only], _) => Recommendation::new(sentence(only), contrast_caveat(findings, only)),
        (_, Some(best)) => Recommendation::new(sentence(best), contrast_caveat(findings, best)),
        (_, None) if undecided => Recommendation::new(
            format!(
                "None of {} variants is shown to be better than {} by {}.",
                contrasts.len(),
                first.base,
                first.metric
            ),
            None,
        ),
        (_, None) => {
            Recommendation::new(format!("Keep {}: no variant is better by {}.", first.base, first.metric), None)
        }
    };
    let others = |head: &str, verdict| {
        let ids = with(verdict).filter(|it| !best.is_some_and(|best| std::ptr::eq(best, *it)));
        let ids: Vec<&str> = ids.map(|it| it.other.as_str()).collect();
        (!ids.is_empty()).then(|| format!("{head}: {}", ids.join(", ")))
    };
    let rest = [
        others("also better", ComparisonVerdict::Better),
        others("undecided", ComparisonVerdict::Undecided),
        others("within the margin", ComparisonVerdict::Equivalent),
        others("worse", ComparisonVerdict::Worse),
    ];
    let rest: Vec<String> = rest.into_iter().flatten().filter(|_| contrasts.len() > 1).collect();
    let rest = (!rest.is_empty()).then(|| format!(" Against {}, {}.", first.base, rest.join("; ")));
    let most = with(ComparisonVerdict::Undecided).filter_map(|it| it.needed.as_ref()).max_by_key(|it| it.more);
    let needed = most.filter(|_| contrasts.len() > 1 && best.is_none()).and_then(samples_needed);
    let text = [Some(advice.advice), rest, needed.map(|it| format!(" {it}"))];
    let advice = Recommendation::new(text.into_iter().flatten().collect(), advice.caveat);
    Some(answer(DeltaAxis::Variant, advice, best.is_some() || !undecided))
}

/// The advice on each variant.
pub(super) fn compare_variants(findings: &Findings) -> Vec<Recommendation> {
    let advice = |it: &Contrast| Recommendation::new(sentence(it), contrast_caveat(findings, it));
    of_variants(findings).into_iter().map(advice).collect()
}

/// The advice on a change in one sentence, with the samples that would decide it.
fn sentence(contrast: &Contrast) -> String {
    let Contrast { base, other, metric, .. } = contrast;
    let figure = with_interval(&contrast.difference);
    match contrast.verdict {
        ComparisonVerdict::Better => format!("Prefer {other} to {base}: {metric} changes by {figure}."),
        ComparisonVerdict::Worse => format!("Keep {base} rather than {other}: {metric} changes by {figure}."),
        ComparisonVerdict::Equivalent => {
            format!("{other} and {base} differ by less than the margin in {metric} ({figure}): choose by cost.")
        }
        ComparisonVerdict::Undecided => {
            let needed = contrast.needed.as_ref().and_then(samples_needed);
            let needed = needed.map_or_else(String::new, |needed| format!(" {needed}"));
            format!("Undecided: {other} and {base} differ by {figure} in {metric}.{needed}")
        }
    }
}

/// What more samples would show.
fn samples_needed(needed: &Needed) -> Option<String> {
    let size = three_digits(needed.difference);
    let power = three_digits(100.0 * PLANNED_POWER);
    match needed.more {
        0 => Some(format!("These samples are enough to show a difference of {size} with {power} % power.")),
        more => Some(format!("About {more} more samples would show a difference of {size} with {power} % power.")),
    }
}

/// The advice on the models of a run, unless its variants are ranked.
pub(super) fn choose_model(findings: &Findings) -> Option<Recommendation> {
    let metric = &findings.plan.metrics.get(findings.primary?)?.name;
    let board = findings.primary_board().filter(|_| findings.ranked_axis() == DeltaAxis::Model)?;
    let ([first, second, ..], Some(lead)) = (board.places.as_slice(), &board.lead) else { return None };
    let figure = with_interval(lead);
    let is_lead = |it: &&Contrast| {
        let pair = [it.base.as_str(), it.other.as_str()];
        it.metric == *metric && pair.contains(&first.id.as_str()) && pair.contains(&second.id.as_str())
    };
    let contrast = findings.contrasts.iter().find(is_lead);
    let advice = match first.rank {
        Some([1, 1]) => format!("Prefer {} by {metric}: it is ahead of {} by {figure}.", first.id, second.id),
        _ => {
            let open = board.places.iter().filter(|place| place.rank.is_none_or(|[best, _]| best == 1));
            let open: Vec<&str> = open.map(|place| place.id.as_str()).collect();
            let needed = contrast.and_then(|it| it.needed.as_ref()).and_then(samples_needed);
            let needed = needed.map_or_else(String::new, |needed| format!(" {needed}"));
            format!(
                "Undecided: any of {} may be the best by {metric} ({} − {}: {figure}).{needed}",
                open.join(", "),
                first.id,
                second.id
            )
        }
    };
    let of_lead = contrast.and_then(|it| contrast_caveat(findings, it));
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
pub(super) fn three_digits(value: f64) -> String {
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
    use serde_json::json;

    use super::*;
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    fn found(models: usize, passed: &[usize], samples: usize) -> Findings {
        let variants = passed.len() / models;
        let mut sketch =
            Sketch::new(models, variants, samples).metric("binary", json!(true)).metric("range", json!([0, 1]));
        for (system, passed) in passed.iter().enumerate() {
            for sample in 0..samples {
                sketch = sketch.value(sample, system, f64::from(u8::from(sample < *passed)));
            }
        }
        analyse(&sketch.run(), &Options::default()).unwrap()
    }

    fn texts(found: &Findings) -> Vec<(&str, bool, &str)> {
        found.summary.answers.iter().map(|it| (it.question, it.decided, it.answer.as_str())).collect()
    }

    #[test]
    fn numbers_are_short() {
        let texts: Vec<String> = [0.0, 1.0, 12.345, 0.012_345, 1234.5, 95.0].map(three_digits).to_vec();
        assert_eq!(texts, ["0", "1", "12.3", "0.0123", "1234", "95"]);
        assert_eq!([signed_digits(0.5), signed_digits(-0.5), signed_digits(0.0)], ["+0.5", "−0.5", "0"]);
    }

    /// F60: a run of two prompts says which is better, with one model too, and ranks the prompts.
    #[test]
    fn two_prompts_have_an_answer() {
        let decided = found(1, &[20, 38], 40);
        let [(question, true, text)] = texts(&decided)[..] else { panic!("{:?}", texts(&decided)) };
        assert_eq!(question, "Which variant?");
        assert!(text.starts_with("Prefer "), "{text}");
        let board = decided.primary_board().unwrap();
        assert_eq!((board.places.len(), board.places[0].finding.value()), (2, 0.95));
        assert_eq!(decided.ranked_axis(), DeltaAxis::Variant);
        let open = found(1, &[20, 22], 40);
        let [(_, false, text)] = texts(&open)[..] else { panic!("{:?}", texts(&open)) };
        assert!(
            text.starts_with("Undecided: ") && text.contains(" more samples would show a difference of "),
            "{text}"
        );
    }

    /// F60: models and prompts are two questions; a prompt's answer stands before the models' pooled one.
    #[test]
    fn each_axis_has_its_answer() {
        let all = found(2, &[20, 38, 21, 38], 40);
        let [("Which variant?", true, variant), ("Which model?", false, model)] = texts(&all)[..] else {
            panic!("{:?}", texts(&all))
        };
        assert!(variant.starts_with("Prefer ") && model.starts_with("Undecided: any of "), "{variant} {model}");
        let three = found(1, &[20, 38, 21], 40);
        let [(_, true, text)] = texts(&three)[..] else { panic!("{:?}", texts(&three)) };
        assert!(text.contains(" Against ") && text.contains("undecided: "), "{text}");
        let none = found(1, &[20, 21, 22], 40);
        let [(_, false, text)] = texts(&none)[..] else { panic!("{:?}", texts(&none)) };
        assert!(text.starts_with("None of 2 variants is shown to be better"), "{text}");
        assert!(found(1, &[20], 40).summary.answers.is_empty());
    }
}
