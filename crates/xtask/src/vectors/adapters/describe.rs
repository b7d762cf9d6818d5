//! Adapters of the descriptive statistics, intervals, distributions and bootstraps.

use karat_stats::bootstrap::{Distribution, jackknife};
use karat_stats::describe::{
    Proportion, Task, clustered_mean, mean, mean_with_normal_interval, mean_with_t_interval, median, nearest_rank,
    pass_at_k, quantile_of_sorted, sorted, standard_deviation, summarize,
};
use karat_stats::numeric::special::{
    Beta, Binomial, ChiSquared, FisherF, NoncentralT, StudentT, ln_gamma, normal_cdf, normal_quantile, normal_sf,
};
use karat_stats::numeric::sum::sum;
use serde_json::{Map, Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{
    array, as_indices, as_observations, field, integer, json, labels, level, lower, message, number, observations,
    observed_values, text, upper,
};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("special_functions", special_functions),
    ("descriptive", descriptive),
    ("mean_ci", mean_ci),
    ("wilson", proportion),
    ("clustered_se", clustered_se),
    ("pass_at_k", passes),
    ("bootstrap_bca", bootstrap_bca),
    ("bootstrap_cluster", bootstrap_cluster),
];

fn special_functions(input: &Value) -> Result<Value, String> {
    let name = text(input, "fn")?;
    let args = observed_values(input, "args")?;
    let value = special_function(name, &args).ok_or_else(|| format!("no function {name} of {args:?}"))?;
    Ok(json!({ "value": json(value) }))
}

fn special_function(name: &str, args: &[f64]) -> Option<f64> {
    Some(match (name, args) {
        ("norm_cdf", [x]) => normal_cdf(*x),
        ("norm_sf", [x]) => normal_sf(*x),
        ("norm_ppf", [p]) => normal_quantile(*p),
        ("t_cdf", [t, df]) => StudentT::new(*df)?.cdf(*t),
        ("t_sf", [t, df]) => StudentT::new(*df)?.sf(*t),
        ("t_ppf", [p, df]) => StudentT::new(*df)?.quantile(*p),
        ("chi2_cdf", [x, df]) => ChiSquared::new(*df)?.cdf(*x),
        ("chi2_sf", [x, df]) => ChiSquared::new(*df)?.sf(*x),
        ("chi2_ppf", [p, df]) => ChiSquared::new(*df)?.quantile(*p),
        ("f_cdf", [f, d1, d2]) => FisherF::new(*d1, *d2)?.cdf(*f),
        ("f_sf", [f, d1, d2]) => FisherF::new(*d1, *d2)?.sf(*f),
        ("f_ppf", [p, d1, d2]) => FisherF::new(*d1, *d2)?.quantile(*p),
        ("betainc_reg" | "beta_cdf", [a, b, x]) => Beta::new(*a, *b)?.cdf(*x),
        ("beta_ppf", [p, a, b]) => Beta::new(*a, *b)?.quantile(*p),
        ("binom_cdf", [k, n, p]) => Binomial::new(*n as u64, *p)?.cdf(*k as u64),
        ("binom_pmf", [k, n, p]) => Binomial::new(*n as u64, *p)?.pmf(*k as u64),
        ("nct_cdf", [t, df, nc]) => NoncentralT::new(*df, *nc)?.cdf(*t),
        ("nct_sf", [t, df, nc]) => NoncentralT::new(*df, *nc)?.sf(*t),
        ("lgamma", [x]) => ln_gamma(*x),
        ("gammainc_reg_lower", [a, x]) => ChiSquared::new(2.0 * a)?.cdf(2.0 * x),
        ("gammainc_reg_upper", [a, x]) => ChiSquared::new(2.0 * a)?.sf(2.0 * x),
        _ => return None,
    })
}

fn descriptive(input: &Value) -> Result<Value, String> {
    let all = observations(input, "values")?;
    let values: Vec<f64> = all.iter().copied().flatten().collect();
    let ascending = sorted(&values);
    let summary = summarize(&values);
    let mut result = json!({
        "n": summary.n,
        "n_missing": all.len() - values.len(),
        "sum": json(summary.sum),
        "mean": json(summary.mean),
        "median": json(summary.median),
        "min": json(summary.min),
        "max": json(summary.max),
        "variance": json(summary.variance),
        "stddev": json(summary.standard_deviation),
        "se": json(summary.standard_error),
        "variance_population": json(summary.population_variance),
        "stddev_population": json(summary.population_variance.map(f64::sqrt)),
        "mad": json(summary.median_absolute_deviation),
    });
    for percent in 1..100 {
        let p = f64::from(percent) / 100.0;
        result[format!("p{percent:02}")] = json(quantile_of_sorted(&ascending, p));
        result[format!("p{percent:02}_nearest_rank")] = json(nearest_rank(&ascending, p));
    }
    Ok(result)
}

fn mean_ci(input: &Value) -> Result<Value, String> {
    let (values, level) = (observed_values(input, "values")?, level(input)?);
    let t = mean_with_t_interval(&values, level);
    let z = mean_with_normal_interval(&values, level);
    Ok(json!({
        "n": t.n,
        "mean": json(t.mean),
        "se": json(t.standard_error),
        "df": json(t.df),
        "t_lower": lower(t.interval),
        "t_upper": upper(t.interval),
        "z_lower": lower(z.interval),
        "z_upper": upper(z.interval),
    }))
}

fn proportion(input: &Value) -> Result<Value, String> {
    let level = level(input)?;
    let rate = Proportion::new(number(input, "successes")?, number(input, "n")?);
    let mut result = Map::from_iter([("p_hat".to_owned(), json(rate.map(|p| p.rate())))]);
    let intervals = |rate: Proportion| {
        [
            rate.wilson(level),
            rate.clopper_pearson(level),
            rate.agresti_coull(level),
            rate.jeffreys(level),
            rate.wald(level),
        ]
    };
    let names = ["wilson", "clopper_pearson", "agresti_coull", "jeffreys", "wald"];
    for (i, name) in names.into_iter().enumerate() {
        let interval = rate.map(|rate| intervals(rate)[i]);
        result.insert(format!("{name}_lower"), lower(interval));
        result.insert(format!("{name}_upper"), upper(interval));
    }
    Ok(Value::Object(result))
}

fn clustered_se(input: &Value) -> Result<Value, String> {
    let labels: Vec<String> = labels(input, "clusters")?.iter().map(Value::to_string).collect();
    let both = observations(input, "values")?.into_iter().zip(labels);
    let (values, labels): (Vec<f64>, Vec<String>) = both.filter_map(|(v, label)| Some((v?, label))).unzip();
    let m = clustered_mean(&values, &labels, level(input)?).map_err(message)?;
    Ok(json!({
        "n": m.n,
        "n_clusters": m.n_clusters,
        "mean": json(m.mean),
        "se_naive": json(m.naive_standard_error),
        "se_cr0": json(m.cr0),
        "se_miller2024": json(m.miller),
        "se_cr1": json(m.standard_error),
        "df": json(m.df),
        "ci_lower": lower(m.interval),
        "ci_upper": upper(m.interval),
        "design_effect": json(m.design_effect),
        "n_effective": json(m.effective_n),
        "icc_anova": json(m.icc),
    }))
}

fn passes(input: &Value) -> Result<Value, String> {
    let task = |value: &Value| Ok(Task { n: integer(value, "n")?, passed: integer(value, "c")? });
    let tasks: Vec<Task> = array(input, "tasks")?.iter().map(task).collect::<Result<_, String>>()?;
    let mut result = Map::new();
    for k in as_indices(field(input, "k")?).ok_or("field k is not an array of counts")? {
        let at_k = pass_at_k(&tasks, k);
        let figures = json!({
            "pass_at_k": at_k.any,
            "pass_hat_k": at_k.all,
            "mean_pass_at_k": json(at_k.mean_any),
            "mean_pass_hat_k": json(at_k.mean_all),
            "se_pass_at_k": json(at_k.standard_error_any),
            "se_pass_hat_k": json(at_k.standard_error_all),
            "n_tasks_used": at_k.n_tasks,
        });
        result.insert(k.to_string(), figures);
    }
    Ok(Value::Object(result))
}

fn bootstrap_bca(input: &Value) -> Result<Value, String> {
    let values = observed_values(input, "values")?;
    let level = level(input)?;
    let statistic: fn(&[f64]) -> Option<f64> = match text(input, "statistic")? {
        "mean" => mean,
        "median" => median,
        "std" => standard_deviation,
        other => return Err(format!("no bootstrap of the statistic {other}")),
    };
    let distribution = resample(input, "resample_indices", statistic(&values), |drawn| {
        let drawn: Option<Vec<f64>> = drawn.iter().map(|i| values.get(*i).copied()).collect();
        statistic(&drawn?)
    })?;
    let jackknife = jackknife(&values, statistic);
    let bca = distribution.bca(jackknife.as_deref().unwrap_or_default(), level);
    let correction = bca.correction;
    Ok(json!({
        "theta": json(distribution.estimate()),
        "boot_se": json(distribution.standard_error()),
        "percentile_lower": lower(distribution.percentile(level)),
        "percentile_upper": upper(distribution.percentile(level)),
        "basic_lower": lower(distribution.basic(level)),
        "basic_upper": upper(distribution.basic(level)),
        "z0": json(correction.map(|c| c.bias)),
        "acceleration": json(correction.map(|c| c.acceleration)),
        "bca_p_lower": json(correction.map(|c| c.lower_share)),
        "bca_p_upper": json(correction.map(|c| c.upper_share)),
        "bca_lower": lower(bca.interval),
        "bca_upper": upper(bca.interval),
    }))
}

fn bootstrap_cluster(input: &Value) -> Result<Value, String> {
    let observed = |cluster: &Value| as_observations(cluster).map(|values| values.into_iter().flatten().collect());
    let clusters: Option<Vec<Vec<f64>>> = array(input, "clusters")?.iter().map(observed).collect();
    let clusters = clusters.ok_or("field clusters is not an array of arrays of numbers")?;
    let pooled = |drawn: &[usize]| {
        let drawn: Option<Vec<&Vec<f64>>> = drawn.iter().map(|i| clusters.get(*i)).collect();
        let values: Vec<f64> = drawn?.into_iter().flatten().copied().collect();
        (!values.is_empty()).then(|| sum(&values) / values.len() as f64)
    };
    let everything: Vec<usize> = (0..clusters.len()).collect();
    let distribution = resample(input, "resample_cluster_indices", pooled(&everything), pooled)?;
    let level = level(input)?;
    Ok(json!({
        "mean": json(distribution.estimate()),
        "boot_se": json(distribution.standard_error()),
        "percentile_lower": lower(distribution.percentile(level)),
        "percentile_upper": upper(distribution.percentile(level)),
    }))
}

/// The distribution of a statistic over resamples given as rows of indices.
fn resample(
    input: &Value,
    rows: &str,
    estimate: Option<f64>,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Result<Distribution, String> {
    let of_row = |row: &Value| statistic(&as_indices(row)?);
    let replicates: Option<Vec<f64>> = array(input, rows)?.iter().map(of_row).collect();
    let replicates = replicates.ok_or_else(|| format!("field {rows}: a resample is undefined"))?;
    let estimate = estimate.ok_or("the statistic is undefined")?;
    Distribution::new(estimate, replicates).ok_or_else(|| format!("field {rows} is empty"))
}
