//! Which variant and which model to choose, from the contrasts of the run.

use karat_stats::interval::Level;
use karat_text::kind::capitalize;
use karat_types::{Better, Gate, MetricSpec, ScorerKind};

use crate::figures::contrast::{ComparisonVerdict, Contrast, DeltaAxis, Family};
use crate::figures::groups::Group;
use crate::findings::{Answer, Findings, Recommendation};
use crate::run::figure_text::{Unit, three_digits};
use crate::score::instrument::metric_names::{headline_metrics, is_on};

/// With fewer shared samples a ranking gets a caveat.
const FEW_SAMPLES: u64 = 30;

/// The answers for each axis with something to choose from: variants, then models.
pub(crate) fn answers(findings: &Findings, gates: &[Gate]) -> Vec<Answer> {
    let model = choose_model(findings, gates).map(|it| {
        let first = findings.primary_board().and_then(|board| board.places.first());
        let decided = first.is_some_and(|first| first.rank == Some([1, 1])) && !is_contradicted(findings, gates);
        answer(DeltaAxis::Model, it, decided)
    });
    choose_variant(findings, gates).into_iter().chain(model).collect()
}

fn answer(axis: DeltaAxis, advice: Recommendation, decided: bool) -> Answer {
    let question = if axis == DeltaAxis::Model { "Which model?" } else { "Which variant?" };
    Answer { axis, question, decided, answer: advice.advice, caveat: advice.caveat }
}

fn primary(findings: &Findings) -> Option<&MetricSpec> {
    findings.plan.metrics.get(findings.primary?)
}

/// The contrasts of variants in the metric that decides, or in the first headline metric where that is left out of the
/// headline.
fn of_variants(findings: &Findings) -> Vec<&Contrast> {
    let binding: Vec<&Contrast> =
        findings.contrasts.iter().filter(|it| it.axis == DeltaAxis::Variant && it.family != Family::Other).collect();
    let order = findings.primary.into_iter().chain(headline_metrics(&findings.plan));
    let names = order.filter_map(|at| findings.plan.metrics.get(at));
    let of = |name: &str| -> Vec<&Contrast> { binding.iter().filter(|it| it.metric == name).copied().collect() };
    names.map(|metric| of(&metric.name)).find(|found| !found.is_empty()).unwrap_or_default()
}

fn choose_variant(findings: &Findings, gates: &[Gate]) -> Option<Answer> {
    let contrasts = of_variants(findings);
    let first = contrasts.first()?;
    let with = |verdict| contrasts.iter().copied().filter(move |it| it.verdict == verdict);
    let undecided = with(ComparisonVerdict::Undecided).count() > 0;
    let gain = |it: &Contrast| it.difference.value().abs();
    // Of equal ones the first.
    let best = with(ComparisonVerdict::Better).reduce(|best, it| if gain(it) > gain(best) { it } else { best });
    let decided = (best.is_some() || !undecided) && !is_contradicted(findings, gates);
    let lead = match (contrasts.as_slice(), best) {
        ([only], _) => Some(*only),
        (_, best) => best,
    };
    let advice = match lead {
        Some(lead) => Recommendation::new(sentence(findings, gates, lead), contrast_caveat(findings, lead)),
        None if undecided => {
            let n = contrasts.len();
            let text = format!("None of {n} variants is shown to be better than {} by {}.", first.base, first.metric);
            Recommendation::new(text, None)
        }
        None => Recommendation::new(format!("Keep {}: no variant is better by {}.", first.base, first.metric), None),
    };
    let others = |head: &str, verdict| {
        let ids = with(verdict).filter(|it| !best.is_some_and(|best| std::ptr::eq(best, *it)));
        let ids: Vec<&str> = ids.map(|it| it.other.as_str()).collect();
        (!ids.is_empty()).then(|| format!("{head}: {}", ids.join(", ")))
    };
    let rest = [
        others("also better, and not compared with it", ComparisonVerdict::Better),
        others("undecided", ComparisonVerdict::Undecided),
        others("within the margin", ComparisonVerdict::Equivalent),
        others("worse", ComparisonVerdict::Worse),
    ];
    let rest: Vec<String> = rest.into_iter().flatten().filter(|_| contrasts.len() > 1).collect();
    let rest = (!rest.is_empty()).then(|| format!(" Against {}, {}.", first.base, rest.join("; ")));
    let more = |it: &&Contrast| it.needed.as_ref().map(|needed| needed.more);
    let most = with(ComparisonVerdict::Undecided).max_by_key(more).filter(|_| contrasts.len() > 1 && best.is_none());
    let needed = most.and_then(|it| samples_needed(findings, it)).map(|it| format!(" {it}"));
    let text = [Some(advice.advice), rest, needed];
    let advice = Recommendation::new(text.into_iter().flatten().collect(), advice.caveat);
    Some(answer(DeltaAxis::Variant, advice, decided))
}

/// The advice on each variant.
pub(super) fn compare_variants(findings: &Findings, gates: &[Gate]) -> Vec<Recommendation> {
    let advice = |it: &Contrast| Recommendation::new(sentence(findings, gates, it), contrast_caveat(findings, it));
    of_variants(findings).into_iter().map(advice).collect()
}

/// Returns true if the gates on the metric that decides ask for the other direction than its scorer.
fn is_contradicted(findings: &Findings, gates: &[Gate]) -> bool {
    primary(findings).is_some_and(|metric| wanted_by_gates(findings, gates, metric).is_some())
}

/// The direction that gates on a metric ask for, if it is not the scorer's.
fn wanted_by_gates(findings: &Findings, gates: &[Gate], metric: &MetricSpec) -> Option<Better> {
    let own: Vec<&Gate> = gates.iter().filter(|gate| is_on(&findings.plan, gate, metric)).collect();
    let less = own.iter().any(|gate| gate.max.is_some() || gate.max_rise.is_some());
    let more = own.iter().any(|gate| gate.min.is_some() || gate.max_drop.is_some());
    match metric.better {
        Better::Higher if less && !more => Some(Better::Lower),
        Better::Lower if more && !less => Some(Better::Higher),
        _ => None,
    }
}

/// The advice where gates and scorer disagree on the direction of a metric.
fn contradiction(metric: &str, wanted: Better) -> String {
    let (gate, scorer, word) = match wanted {
        Better::Lower => ("low", "high", "lower"),
        Better::Higher => ("high", "low", "higher"),
    };
    format!(
        "The gate on {metric} asks for {gate} values, its scorer for {scorer} ones, so neither is preferred: say `better: \
         {word}` in the scorer."
    )
}

/// The advice on a change in one sentence, with the samples that would decide it, and what speaks against it.
fn sentence(findings: &Findings, gates: &[Gate], contrast: &Contrast) -> String {
    let Contrast { base, other, metric, .. } = contrast;
    let unit = Unit::of_metric(&findings.plan, metric);
    let figure = unit.difference_with_interval(&contrast.difference);
    let spec = findings.plan.metrics.iter().find(|it| it.name == *metric);
    if let Some(wanted) = spec.and_then(|spec| wanted_by_gates(findings, gates, spec)) {
        return format!("{other} and {base} differ by {figure} in {metric}. {}", contradiction(metric, wanted));
    }
    let said = match contrast.verdict {
        ComparisonVerdict::Better => format!("Prefer {other} to {base}: {metric} changes by {figure}."),
        ComparisonVerdict::Worse => format!("Keep {base} rather than {other}: {metric} changes by {figure}."),
        ComparisonVerdict::Equivalent => {
            format!("{other} and {base} differ by less than the margin in {metric} ({figure}): choose by cost.")
        }
        ComparisonVerdict::Undecided => {
            let needed = || samples_needed(findings, contrast).map_or_else(String::new, |it| format!(" {it}"));
            let why = contrast.impossible.as_ref().map_or_else(needed, |reason| format!(" {}.", capitalize(reason)));
            match is_equal(contrast) {
                true => format!(
                    "Undecided: {other} and {base} score the same in {metric} on all {} samples; this does not prove equality, \
                     set a margin to test for it.{why}",
                    contrast.n
                ),
                false => format!("Undecided: {other} and {base} differ by {figure} in {metric}.{why}"),
            }
        }
    };
    format!("{said}{}{}", other_metrics(findings, contrast), other_systems(findings, contrast))
}

/// Returns true if no sample differs.
fn is_equal(contrast: &Contrast) -> bool {
    let difference = &contrast.difference;
    contrast.p == Some(1.0) && difference.value().abs() <= 0.0 && difference.se().is_none_or(|se| se <= 0.0)
}

/// The other headline metrics that decide against the advice on a change, or at all where it has none.
fn other_metrics(findings: &Findings, contrast: &Contrast) -> String {
    let pair = (&contrast.base, &contrast.other);
    let of_pair = |it: &Contrast| match (&it.base, &it.other) {
        same if same == pair => Some(it.clone()),
        (base, other) if (other, base) == pair => Some(it.clone().reverse()),
        _ => None,
    };
    let is_other =
        |it: &&Contrast| it.axis == contrast.axis && it.metric != contrast.metric && it.family != Family::Other;
    let others: Vec<Contrast> = findings.contrasts.iter().filter(is_other).filter_map(of_pair).collect();
    let listed = |verdict: ComparisonVerdict| -> Vec<String> {
        let decided = others.iter().filter(|it| it.verdict == verdict);
        let change = |it: &Contrast| Unit::of_metric(&findings.plan, &it.metric).difference(it.difference.value());
        decided.map(|it| format!("{} ({})", it.metric, change(it))).collect()
    };
    let part = |word: &str, metrics: Vec<String>| {
        (!metrics.is_empty()).then(|| format!("{} is {word} in {}", contrast.other, metrics.join(", ")))
    };
    let (better, worse) = match contrast.verdict {
        ComparisonVerdict::Better => (None, part("worse", listed(ComparisonVerdict::Worse))),
        ComparisonVerdict::Worse => (part("better", listed(ComparisonVerdict::Better)), None),
        _ => (part("better", listed(ComparisonVerdict::Better)), part("worse", listed(ComparisonVerdict::Worse))),
    };
    let parts: Vec<String> = better.into_iter().chain(worse).collect();
    if parts.is_empty() { String::new() } else { format!(" But {}.", parts.join("; ")) }
}

/// The models in which a decided change of variants goes the other way, by at least half of it.
fn other_systems(findings: &Findings, contrast: &Contrast) -> String {
    let decided = [ComparisonVerdict::Better, ComparisonVerdict::Worse].contains(&contrast.verdict);
    let at = findings.plan.metrics.iter().position(|it| it.name == contrast.metric).filter(|_| decided);
    let figure = |model: &str, variant: &str| {
        let is_system = |it: &&Group| it.model.as_deref() == Some(model) && it.variant.as_deref() == Some(variant);
        findings.systems.iter().find(is_system)?.metrics.get(at?)?.value()
    };
    let whole = contrast.difference.value();
    let unit = Unit::of_metric(&findings.plan, &contrast.metric);
    let turned = findings.models.iter().filter_map(|model| {
        let change = figure(&model.id, &contrast.other)? - figure(&model.id, &contrast.base)?;
        let is_turned = change * whole < 0.0 && change.abs() >= 0.5 * whole.abs();
        is_turned.then(|| format!("{} ({})", model.id, unit.difference(change)))
    });
    let turned: Vec<String> = turned.collect();
    if turned.is_empty() { String::new() } else { format!(" It is the other way round in {}.", turned.join(", ")) }
}

/// The number of samples that would decide a contrast, or that these are enough.
fn samples_needed(findings: &Findings, contrast: &Contrast) -> Option<String> {
    let needed = contrast.needed.as_ref()?;
    let size = Unit::of_metric(&findings.plan, &contrast.metric).value(needed.difference);
    let power = three_digits(100.0 * needed.power);
    Some(match needed.more {
        0 => format!("These samples are enough to show a difference of {size} with {power} % power."),
        more => format!("About {more} more samples would show a difference of {size} with {power} % power."),
    })
}

/// The advice on the models of a run, unless its variants are ranked.
pub(super) fn choose_model(findings: &Findings, gates: &[Gate]) -> Option<Recommendation> {
    let spec = primary(findings)?;
    let metric = &spec.name;
    let unit = Unit::of_metric(&findings.plan, metric);
    let board = findings.primary_board().filter(|_| findings.ranked_axis() == DeltaAxis::Model)?;
    let ([first, second, ..], Some(lead)) = (board.places.as_slice(), &board.lead) else { return None };
    let figure = format!("{} − {}: {}", first.id, second.id, unit.difference_with_interval(lead));
    let is_lead = |it: &&Contrast| {
        let pair = [it.base.as_str(), it.other.as_str()];
        it.metric == *metric && pair.contains(&first.id.as_str()) && pair.contains(&second.id.as_str())
    };
    let contrast = findings.contrasts.iter().find(is_lead);
    let advice = match (wanted_by_gates(findings, gates, spec), first.rank) {
        (Some(wanted), _) => format!("{figure} in {metric}. {}", contradiction(metric, wanted)),
        (None, Some([1, 1])) => {
            let against = contrast.map(|it| if it.other == first.id { it.clone() } else { it.clone().reverse() });
            let against = against.map_or_else(String::new, |it| other_metrics(findings, &it));
            format!("Prefer {} by {metric} ({figure}).{against}", first.id)
        }
        (None, _) => {
            let open = board.places.iter().filter(|place| place.rank.is_none_or(|[best, _]| best == 1));
            let open: Vec<&str> = open.map(|place| place.id.as_str()).collect();
            let needed = || contrast.and_then(|it| samples_needed(findings, it));
            let impossible = contrast.and_then(|it| it.impossible.as_ref());
            let why = impossible.map(|reason| format!("{}.", capitalize(reason))).or_else(needed);
            let why = why.map_or_else(String::new, |why| format!(" {why}"));
            match open.as_slice() {
                [_] | [] => {
                    format!("Undecided: {} is first by {metric}, and its lead is not shown ({figure}).{why}", first.id)
                }
                several => {
                    format!("Undecided: any of {} may be the best by {metric} ({figure}).{why}", several.join(", "))
                }
            }
        }
    };
    let of_lead = contrast.and_then(|it| contrast_caveat(findings, it));
    let all = [of_lead, caveats(findings)].into_iter().flatten();
    let caveat = all.reduce(|one, other| format!("{}; {other}", one.trim_end_matches('.')));
    Some(Recommendation::new(advice, caveat))
}

/// The look at a contrast, if it is not the first.
fn contrast_caveat(findings: &Findings, contrast: &Contrast) -> Option<String> {
    let alpha = findings.measures.first().map_or(Level::P95, |measure| measure.level).alpha();
    contrast.look.sentence(alpha).map(|look| format!("{look}."))
}

/// The reasons why a ranking is fragile.
fn caveats(findings: &Findings) -> Option<String> {
    let board = findings.primary_board()?;
    let few = (board.shared_samples < FEW_SAMPLES)
        .then(|| format!("it is based on {} shared samples, fewer than {FEW_SAMPLES}", board.shared_samples));
    let partial = (board.shared < board.scored)
        .then(|| format!("all models share only {} of {} scored sample × variant pairs", board.shared, board.scored));
    // The judges do not matter to a metric that is computed.
    let scorer = primary(findings).and_then(|metric| findings.plan.scorers.get(metric.scorer));
    let is_judged = scorer.is_none_or(|scorer| matches!(scorer.kind, ScorerKind::Rubric(_)));
    let one_judge = (is_judged && findings.plan.judges.len() == 1).then(|| "one judge graded everything".to_owned());
    let scripts = findings.plan.script_warning().filter(|_| is_judged);
    let scripts = scripts.map(|_| "the judges are scripts, which cannot grade a real model".to_owned());
    let reasons: Vec<String> = scripts.into_iter().chain(few).chain(partial).chain(one_judge).collect();
    (!reasons.is_empty()).then(|| format!("{}.", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use karat_types::Threshold;
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

    /// F60: a prompt that is worse in one model, and a gate that asks for the other direction than the scorer, are said.
    #[test]
    fn what_speaks_against_an_answer_is_said() {
        let turned = found(2, &[8, 38, 36, 20], 40);
        let [(_, true, text), ..] = texts(&turned)[..] else { panic!("{:?}", texts(&turned)) };
        assert!(text.contains(" It is the other way round in model-b (−0.4)."), "{text}");
        let mut sketch = Sketch::new(1, 2, 20);
        for sample in 0..20 {
            sketch = sketch.value(sample, 0, 2.0 + (sample % 3) as f64).value(sample, 1, 6.0 + (sample % 3) as f64);
        }
        let run = sketch.run();
        let metric = run.header.plan.metrics[0].name.clone();
        let at = Threshold { value: 5.0, percent: false };
        let answer = |gate: Gate| {
            let found = analyse(&run, &Options { gates: vec![gate], ..Options::default() }).unwrap();
            let answer = found.summary.answers[0].clone();
            (answer.decided, answer.answer)
        };
        let (decided, text) = answer(Gate { max: Some(at), ..Gate::for_metric(&metric) });
        assert!(!decided && text.contains("say `better: lower` in the scorer"), "{text}");
        let (decided, text) = answer(Gate { min: Some(at), ..Gate::for_metric(&metric) });
        assert!(decided && text.starts_with("Prefer "), "{text}");
    }

    /// F60: of variants with the same figure the first is named, and the other as not compared with it.
    #[test]
    fn a_tie_names_the_first() {
        let tied = found(1, &[20, 38, 38], 40);
        let [(_, true, text)] = texts(&tied)[..] else { panic!("{:?}", texts(&tied)) };
        let ids: Vec<&String> = tied.plan.variants.iter().map(|it| &it.id).collect();
        assert!(text.starts_with(&format!("Prefer {} to {}", ids[1], ids[0])), "{text}");
        assert!(text.contains(&format!("also better, and not compared with it: {}", ids[2])), "{text}");
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
