//! Derives recommendations from the findings, each with its caveat.

use karat_types::Gate;

use crate::findings::{Findings, Recommendation};
use crate::run::answer::{choose_model, compare_variants};
use crate::run::figure_text::{Unit, three_digits};

/// The recommendations, most important first.
pub(crate) fn recommend(findings: &Findings, gates: &[Gate]) -> Vec<Recommendation> {
    let mut advice = Vec::new();
    // In the order of the summary's answers.
    advice.extend(compare_variants(findings, gates));
    advice.extend(choose_model(findings, gates));
    advice.extend(compare_costs(findings));
    advice.extend(retry_advice(findings));
    advice.extend(disagreement_advice(findings));
    advice
}

/// The cost of a cell of each model, the cheapest first, beside its score.
fn compare_costs(findings: &Findings) -> Option<Recommendation> {
    let at = findings.primary?;
    let metric = findings.plan.metrics.get(at)?;
    let group =
        |group: &crate::Group| Some((group.id.clone(), group.spend.per_cell_usd()?, group.metrics.get(at)?.value()?));
    let mut priced: Vec<(String, f64, f64)> = findings.models.iter().filter_map(group).collect();
    priced.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    let (_, least, _) = *priced.first().filter(|it| priced.len() > 1 && it.1 > 0.0)?;
    let unit = Unit::of_metric(&findings.plan, &metric.name);
    let text = |(at, (id, cost, score)): (usize, &(String, f64, f64))| match at {
        0 => format!("{id} is the cheapest ({} {})", metric.name, unit.value(*score)),
        _ => format!("{id} costs {} × as much ({})", three_digits(cost / least), unit.value(*score)),
    };
    let all: Vec<String> = priced.iter().enumerate().map(text).collect();
    let left_out = findings.models.len() - priced.len();
    Some(Recommendation::new(
        format!("Cost of a cell: {}.", all.join("; ")),
        (left_out > 0)
            .then(|| format!("models without a cost, or with an unknown cost, are not compared: {left_out}.")),
    ))
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

#[cfg(test)]
mod tests {
    use crate::testing::{Sketch, example};
    use crate::{Options, analyse};

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
        assert!(first.advice.starts_with("Undecided: any of model-a, model-b may be the best"), "{}", first.advice);
        assert!(first.caveat.as_deref().unwrap().contains("3 shared samples"));
    }

    #[test]
    fn the_example_has_advice_on_models_cost_variants_and_retries() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        let all: Vec<&str> = findings.recommendations.iter().map(|it| it.advice.as_str()).collect();
        for part in ["atlas-large", "cheapest", "editorial", "Retry the failed cells"] {
            assert!(all.iter().any(|advice| advice.contains(part)), "{part}: {all:#?}");
        }
    }
}
