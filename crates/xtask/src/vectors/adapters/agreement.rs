//! Adapters of the agreement statistics.

use karat_stats::{
    agreement::{
        Contingency, CountTable, Measurement, Ratings, Weighting, cohen_kappa, fleiss_kappa, gwet_ac, icc, judge_error,
        kendall_tau_b, krippendorff_alpha, pearson, spearman,
    },
    interval::{Interval, Level},
};
use serde_json::{Map, Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{
    array, as_indices, as_observations, complete_pairs, json, label, label_indices, labels, level, lower, message,
    upper,
};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("cohen_kappa", cohen),
    ("fleiss_kappa", fleiss),
    ("krippendorff_alpha", krippendorff),
    ("gwet_ac", gwet),
    ("icc", intraclass),
    ("correlation", correlation),
    ("judge_error", judge),
];

fn cohen(input: &Value) -> Result<Value, String> {
    let declared = labels(input, "labels")?;
    let both = labels(input, "rater_a")?.into_iter().zip(labels(input, "rater_b")?);
    let (a, b): (Vec<Value>, Vec<Value>) = both.filter(|(a, b)| !a.is_null() && !b.is_null()).unzip();
    let a = label_indices("rater_a", &a, &declared)?;
    let b = label_indices("rater_b", &b, &declared)?;
    let table = Contingency::from_indices(&a, &b, declared.len()).map_err(message)?;
    let mut result = Map::new();
    result.insert("n".to_owned(), json!(table.n()));
    result.insert("percent_agreement".to_owned(), json(table.percent_agreement()));
    for (name, weighting) in
        [("unweighted", Weighting::Identity), ("linear", Weighting::Linear), ("quadratic", Weighting::Quadratic)]
    {
        let kappa = cohen_kappa(&table, weighting);
        result.insert(name.to_owned(), json(kappa.map(|k| k.kappa)));
        result.insert(format!("{name}_se"), json(kappa.and_then(|k| k.standard_error)));
    }
    Ok(Value::Object(result))
}

fn fleiss(input: &Value) -> Result<Value, String> {
    let row = |row: &Value| {
        let counts = as_indices(row).ok_or("reading the input: a row of counts is not whole numbers")?;
        Ok(counts.into_iter().enumerate().flat_map(|(category, count)| std::iter::repeat_n(category, count)).collect())
    };
    let categories = array(input, "counts")?.first().and_then(Value::as_array).map_or(0, Vec::len);
    let rows: Vec<Vec<usize>> = array(input, "counts")?.iter().map(row).collect::<Result<_, String>>()?;
    let kappa = fleiss_kappa(&CountTable::from_ratings(rows, categories).map_err(message)?).map_err(message)?;
    Ok(json!({
        "n_items": kappa.n_items,
        "n_raters": kappa.n_raters,
        "fleiss": json(kappa.fleiss),
        "randolph": json(kappa.randolph),
        "mean_agreement": json(kappa.mean_agreement),
    }))
}

fn ratings(input: &Value) -> Result<Ratings, String> {
    let raters: Option<Vec<Vec<Option<f64>>>> = array(input, "ratings_by_rater")?.iter().map(as_observations).collect();
    let raters = raters.ok_or("reading the input: ratings_by_rater should hold rows of numbers and nulls")?;
    Ratings::from_raters(&raters).map_err(message)
}

fn krippendorff(input: &Value) -> Result<Value, String> {
    let ratings = ratings(input)?;
    // Ratings below 0 have no ratios, but alphas at the other levels.
    let alpha = |measurement| json(krippendorff_alpha(&ratings, measurement).ok().flatten());
    Ok(json!({
        "nominal": alpha(Measurement::Nominal),
        "ordinal": alpha(Measurement::Ordinal),
        "interval": alpha(Measurement::Interval),
        "ratio": alpha(Measurement::Ratio),
    }))
}

fn gwet(input: &Value) -> Result<Value, String> {
    let categories = labels(input, "categories")?;
    let mut items = Vec::new();
    for item in array(input, "ratings")? {
        let given = item.as_array().ok_or("reading the input: a row of ratings is not an array")?;
        let given: Vec<Value> = given.iter().filter(|rating| !rating.is_null()).map(label).collect();
        items.push(label_indices("ratings", &given, &categories)?);
    }
    let table = CountTable::from_ratings(items, categories.len()).map_err(message)?;
    let mut result = Map::new();
    for (name, weighting) in [
        ("ac1", Weighting::Identity),
        ("ac2_linear", Weighting::Linear),
        ("ac2_quadratic", Weighting::Quadratic),
        ("ac2_ordinal", Weighting::Ordinal),
    ] {
        let ac = gwet_ac(&table, weighting);
        result.insert(name.to_owned(), json(ac.map(|ac| ac.coefficient)));
        result.insert(format!("{name}_pa"), json(ac.map(|ac| ac.observed)));
        result.insert(format!("{name}_pe"), json(ac.map(|ac| ac.chance)));
        result.insert(format!("{name}_se"), json(ac.and_then(|ac| ac.standard_error)));
    }
    Ok(Value::Object(result))
}

fn intraclass(input: &Value) -> Result<Value, String> {
    let rows: Option<Vec<Vec<Option<f64>>>> = array(input, "ratings")?.iter().map(as_observations).collect();
    let rows = rows.ok_or("reading the input: ratings should hold rows of numbers and nulls")?;
    // Items with a missing rating are dropped.
    let complete: Vec<Vec<f64>> = rows.into_iter().filter_map(|row| row.into_iter().collect()).collect();
    let result = icc(&complete, level(input)?).map_err(message)?;
    let coefficients = result.map(|icc| icc.coefficients).unwrap_or_default();
    let absolute = result.and_then(|icc| icc.single_absolute_interval);
    let average = result.and_then(|icc| icc.average_absolute_interval);
    let consistency = result.and_then(|icc| icc.single_consistency_interval);
    Ok(json!({
        "icc1": json(coefficients.single_oneway),
        "icc1k": json(coefficients.average_oneway),
        "icc2": json(coefficients.single_absolute),
        "icc2k": json(coefficients.average_absolute),
        "icc3": json(coefficients.single_consistency),
        "icc3k": json(coefficients.average_consistency),
        "ms_rows": json(result.map(|icc| icc.mean_square_rows)),
        "ms_cols": json(result.map(|icc| icc.mean_square_columns)),
        "ms_error": json(result.map(|icc| icc.mean_square_error)),
        "icc2_ci_lower": lower(absolute),
        "icc2_ci_upper": upper(absolute),
        "icc2k_ci_lower": lower(average),
        "icc2k_ci_upper": upper(average),
        "icc3_ci_lower": lower(consistency),
        "icc3_ci_upper": upper(consistency),
        "f": json(result.and_then(|icc| icc.f)),
        "p_value": json(result.and_then(|icc| icc.p_value)),
    }))
}

fn correlation(input: &Value) -> Result<Value, String> {
    let (x, y) = complete_pairs(input, "x", "y")?;
    let pearson = pearson(&x, &y, Level::P95).map_err(message)?;
    let spearman = spearman(&x, &y).map_err(message)?;
    let kendall = kendall_tau_b(&x, &y).map_err(message)?;
    let interval = pearson.and_then(|r| r.interval);
    Ok(json!({
        "n": x.len(),
        "pearson": json(pearson.map(|r| r.correlation.value)),
        "pearson_p": json(pearson.and_then(|r| r.correlation.p_value)),
        "pearson_ci_lower": lower(interval),
        "pearson_ci_upper": upper(interval),
        "spearman": json(spearman.map(|rho| rho.value)),
        "spearman_p": json(spearman.and_then(|rho| rho.p_value)),
        "kendall_tau_b": json(kendall.map(|tau| tau.tau_b)),
        "kendall_p_asymptotic": json(kendall.and_then(|tau| tau.p_asymptotic)),
        "kendall_p_exact": json(kendall.and_then(|tau| tau.p_exact)),
    }))
}

fn judge(input: &Value) -> Result<Value, String> {
    let (judge, human) = complete_pairs(input, "judge", "human")?;
    let error = judge_error(&judge, &human, Level::P95).map_err(message)?;
    let bias: Option<Interval> = error.and_then(|e| e.bias_interval);
    let limits = error.and_then(|e| e.limits);
    Ok(json!({
        "n": judge.len(),
        "bias": json(error.map(|e| e.bias)),
        "mae": json(error.map(|e| e.mean_absolute_error)),
        "rmse": json(error.map(|e| e.root_mean_square_error)),
        "sd_diff": json(error.and_then(|e| e.sd_of_differences)),
        "exact_agreement": json(error.map(|e| e.exact_agreement)),
        "within_one": json(error.map(|e| e.within_one)),
        "bias_ci_lower": lower(bias),
        "bias_ci_upper": upper(bias),
        "loa_lower": json(limits.map(|l| l.lower)),
        "loa_upper": json(limits.map(|l| l.upper)),
        "loa_lower_ci_lower": lower(limits.map(|l| l.lower_interval)),
        "loa_lower_ci_upper": upper(limits.map(|l| l.lower_interval)),
        "loa_upper_ci_lower": lower(limits.map(|l| l.upper_interval)),
        "loa_upper_ci_upper": upper(limits.map(|l| l.upper_interval)),
        "ccc": json(error.and_then(|e| e.concordance)),
    }))
}
