//! Adapters of the intervals of figures and the tests of changes.

use karat_stats::describe::{PassRule, pass_bounds};
use karat_stats::inference::{
    Bounded, Change, ChangeTest, Clusters, DesignMean, Difference, DrawnStratum, LabelledStratum, MeanSide, Outcome,
    PairTest, RateSide, Reach, RobustMean, ShareMethod, cluster_rate, commonest, drawn_mean, newcombe, people_mean,
    quantile_interval, rank_sets, robust_mean, share_mean, stratified_figure, weighted_robust_mean, welch,
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{
    array, as_indices, as_number, as_observations, field, integer, json, labels, level, lower, message, number,
    observed_values, text, upper,
};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("paired_inference", change),
    ("bounded_mean", bounded_case),
    ("cr2_mean", robust),
    ("cluster_rate", rate),
    ("share_interval", share),
    ("unpaired", unpaired_case),
    ("quantile_ci", quantile),
    ("rank_sets", ranks),
    ("pass_bounds", passes),
    ("designs", design),
    ("anchored_design", anchored_case),
];

/// The clusters of the input; `None` where the field is null or missing.
fn clusters(input: &Value) -> Result<Option<Clusters>, String> {
    if input.get("clusters").is_none_or(Value::is_null) {
        return Ok(None);
    }
    let names: Vec<String> = labels(input, "clusters")?.iter().map(Value::to_string).collect();
    Ok(Some(Clusters::new(&names)))
}

/// The number `name`; `None` where it is null or missing.
fn optional(input: &Value, name: &str) -> Option<f64> {
    input.get(name).and_then(as_number)
}

fn outcome(input: &Value) -> Result<Outcome, String> {
    Ok(if text(input, "kind")? == "pass_fail" { Outcome::PassFail } else { Outcome::Score })
}

fn change(input: &Value) -> Result<Value, String> {
    let (baseline, candidate) = (observed_values(input, "baseline")?, observed_values(input, "candidate")?);
    let largest = optional(input, "max_change");
    let change = Change::new(&baseline, &candidate, outcome(input)?, largest, clusters(input)?).map_err(message)?;
    let interval = change.interval(level(input)?);
    let test = match change.test() {
        ChangeTest::None => "none",
        ChangeTest::NoSampleDiffers => "no sample differs",
        ChangeTest::McNemar => "mcnemar_midp",
        ChangeTest::ClusterSignFlip => "cluster_sign_flip",
        ChangeTest::ClusterT => "cluster_t",
        ChangeTest::SignFlip => "sign_flip",
        ChangeTest::Bounded => "bounded",
        ChangeTest::PairedT => "paired_t",
    };
    Ok(json!({
        "n": change.n(),
        "difference": json(change.difference()),
        "test": test,
        "p": json(change.p()),
        "ci_lower": lower(interval),
        "ci_upper": upper(interval),
        "effective_clusters": json(change.effective_clusters()),
        "tied": change.is_tied(),
    }))
}

fn bounded_case(input: &Value) -> Result<Value, String> {
    let values = observed_values(input, "values")?;
    let found = commonest(&values);
    let bounded = Bounded::new(&values, number(input, "design_effect")?);
    let interval = bounded
        .map(|it| Ok::<_, String>(it.interval(number(input, "min")?, number(input, "max")?, level(input)?)))
        .transpose()?
        .flatten();
    Ok(json!({
        "commonest": json(found.map(|it| it.value)),
        "others": found.map(|it| it.others),
        "tied": found.map(|it| it.is_tied()),
        "ci_lower": lower(interval),
        "ci_upper": upper(interval),
    }))
}

fn robust(input: &Value) -> Result<Value, String> {
    let (values, level) = (observed_values(input, "values")?, level(input)?);
    let clusters = clusters(input)?.unwrap_or_else(|| Clusters::single(values.len()));
    let found: RobustMean = match input.get("weights") {
        Some(_) => weighted_robust_mean(&values, &observed_values(input, "weights")?, &clusters, level),
        None => robust_mean(&values, &clusters, level),
    }
    .map_err(message)?;
    Ok(json!({
        "n": found.n,
        "n_clusters": found.n_clusters,
        "mean": json(found.mean),
        "se": json(found.standard_error),
        "df": json(found.df),
        "effective_clusters": json(found.effective_clusters()),
        "ci_lower": lower(found.interval),
        "ci_upper": upper(found.interval),
    }))
}

fn rate(input: &Value) -> Result<Value, String> {
    let counts = |name| as_indices(field(input, name)?).ok_or_else(|| format!("field {name} holds no counts"));
    let (passed, of) = (counts("passed")?, counts("of")?);
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for (cluster, (passed, of)) in passed.iter().zip(&of).enumerate() {
        values.extend((0..*of).map(|trial| f64::from(u8::from(trial < *passed))));
        names.extend(std::iter::repeat_n(cluster, *of));
    }
    let passes = passed.iter().sum();
    let found = cluster_rate(&values, passes, &Clusters::new(&names), 1, level(input)?).map_err(message)?;
    Ok(json!({
        "n": values.len(),
        "n_clusters": of.len(),
        "rate": json(found.map(|it| it.rate)),
        "design_effect": json(found.map(|it| it.design_effect)),
        "effective_n": json(found.map(|it| it.effective_n)),
        "df": json(found.and_then(|it| it.df)),
        "ci_lower": lower(found.and_then(|it| it.interval)),
        "ci_upper": upper(found.and_then(|it| it.interval)),
    }))
}

fn share(input: &Value) -> Result<Value, String> {
    let values = observed_values(input, "values")?;
    let clusters = clusters(input)?.unwrap_or_else(|| Clusters::single(values.len()));
    let found = share_mean(&values, &values, &clusters, level(input)?).map_err(message)?;
    let method = match found.method {
        ShareMethod::Share => "share",
        ShareMethod::Tied => "tied",
        ShareMethod::None => "none",
    };
    Ok(json!({
        "value": json(found.value),
        "units": found.units,
        "method": method,
        "effective_n": json(found.effective_n),
        "df": json(found.df),
        "ci": found.interval.map(|it| [it.lo, it.hi]),
    }))
}

fn unpaired_case(input: &Value) -> Result<Value, String> {
    let level = level(input)?;
    let found: Option<Difference> = if input.get("rate_1").is_some() {
        let side = |at: u8| {
            let (rate, n) = (number(input, &format!("rate_{at}"))?, number(input, &format!("n_{at}"))?);
            Ok::<_, String>(RateSide { rate, n, df: optional(input, &format!("df_{at}")) })
        };
        newcombe(side(1)?, side(2)?, level)
    } else {
        let side = |at: u8| {
            let of = |name: &str| number(input, &format!("{name}_{at}"));
            Ok::<_, String>(MeanSide { mean: of("mean")?, standard_error: of("se")?, df: of("df")? })
        };
        welch(side(1)?, side(2)?, level)
    };
    Ok(json!({
        "difference": json(found.map(|it| it.value)),
        "se": json(found.and_then(|it| it.standard_error)),
        "df": json(found.and_then(|it| it.df)),
        "ci_lower": lower(found.map(|it| it.interval)),
        "ci_upper": upper(found.map(|it| it.interval)),
    }))
}

fn quantile(input: &Value) -> Result<Value, String> {
    let found = quantile_interval(&observed_values(input, "values")?, number(input, "q")?, level(input)?);
    Ok(json!({
        "value": json(found.map(|it| it.value)),
        "rank_lower": found.and_then(|it| it.rank_lower),
        "rank_upper": found.and_then(|it| it.rank_upper),
        "ci_lower": json(found.and_then(|it| it.lo)),
        "ci_upper": json(found.and_then(|it| it.hi)),
    }))
}

fn ranks(input: &Value) -> Result<Value, String> {
    let pair = |pair: &Value| {
        let numbers = as_observations(pair)?;
        let index = |at: usize| numbers.get(at).copied().flatten();
        let (first, second) = (index(0)? as usize, index(1)? as usize);
        Some(PairTest { first, second, advantage: index(2)?, p: index(3) })
    };
    let pairs: Option<Vec<PairTest>> = array(input, "pairs")?.iter().map(pair).collect();
    let pairs = pairs.ok_or("field pairs holds something else than pairs")?;
    let (adjusted, sets) = rank_sets(integer(input, "candidates")?, &pairs, level(input)?);
    let sets: Vec<[usize; 2]> = sets.iter().map(|set| [set.lo, set.hi]).collect();
    Ok(json!({ "p_adjusted": adjusted, "sets": sets }))
}

fn passes(input: &Value) -> Result<Value, String> {
    let rule = if text(input, "rule")? == "all" { PassRule::All } else { PassRule::Any };
    let count = |name| integer(input, name);
    let found = pass_bounds(count("passed")?, count("failed")?, count("missing")?, count("k")?, rule);
    Ok(json!({
        "lower": json(found.map(|it| it.lower)),
        "upper": json(found.map(|it| it.upper)),
        "value": json(found.and_then(|it| it.value())),
    }))
}

fn design(input: &Value) -> Result<Value, String> {
    let (outcome, level) = (outcome(input)?, level(input)?);
    let found: Option<DesignMean> = if input.get("strata").is_some() {
        let stratum = |it: &Value| {
            Ok::<_, String>(DrawnStratum { rows: integer(it, "rows")? as u64, scores: observed_values(it, "scores")? })
        };
        let strata: Vec<DrawnStratum> = array(input, "strata")?.iter().map(stratum).collect::<Result<_, _>>()?;
        stratified_figure(&strata, outcome, Reach::Frame, level)
    } else {
        let (scores, drawn) = (observed_values(input, "scores")?, observed_values(input, "probability")?);
        drawn_mean(&scores, &drawn, outcome, level).map_err(message)?
    };
    Ok(json!({
        "value": json(found.map(|it| it.value)),
        "se": json(found.map(|it| it.standard_error)),
        "df": json(found.and_then(|it| it.df)),
        "effective_n": json(found.and_then(|it| it.effective_n)),
        "ci_lower": lower(found.and_then(|it| it.interval)),
        "ci_upper": upper(found.and_then(|it| it.interval)),
    }))
}

fn anchored_case(input: &Value) -> Result<Value, String> {
    let stratum = |it: &Value| {
        Ok::<_, String>(LabelledStratum {
            rows: integer(it, "rows")? as u64,
            judge_mean: number(it, "judge_mean")?,
            human: observed_values(it, "human")?,
            judge: observed_values(it, "judge")?,
        })
    };
    let strata: Vec<LabelledStratum> = array(input, "strata")?.iter().map(stratum).collect::<Result<_, _>>()?;
    let found = people_mean(&strata, outcome(input)?, number(input, "range")?, None, level(input)?).map_err(message)?;
    Ok(json!({
        "value": json(found.map(|it| it.value)),
        "lambda": json(found.map(|it| it.lambda)),
        "se_dataset": json(found.map(|it| it.dataset_error)),
        "se_population": json(found.map(|it| it.population_error)),
        "df": json(found.and_then(|it| it.df)),
        "dataset_lower": lower(found.and_then(|it| it.dataset)),
        "dataset_upper": upper(found.and_then(|it| it.dataset)),
        "population_lower": lower(found.and_then(|it| it.population)),
        "population_upper": upper(found.and_then(|it| it.population)),
    }))
}
