//! Adapters of the comparisons of two systems.

use karat_stats::compare::multiplicity::{Correction, adjust};
use karat_stats::compare::{
    PairedOutcomes, SignedRank, WilcoxonZeros, cohen_h, effect_sizes, pair, paired_t, sign_flip_exact, sign_test,
    wilcoxon,
};
use karat_stats::describe::mean;
use serde_json::{Map, Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{integer, json, level, lower, message, number, observations, observed_values, upper};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("paired_t", paired_test),
    ("wilcoxon", signed_rank),
    ("sign_test", sign),
    ("permutation_signflip", sign_flip),
    ("mcnemar", mcnemar),
    ("multiple_comparison", multiple_comparison),
    ("effect_sizes", effects),
];

fn paired_test(input: &Value) -> Result<Value, String> {
    let pairs = pair(&observations(input, "baseline")?, &observations(input, "candidate")?).map_err(message)?;
    let test = paired_t(&pairs.differences, level(input)?);
    Ok(json!({
        "n": test.n,
        "n_dropped": pairs.dropped,
        "mean_diff": json(test.mean),
        "sd_diff": json(test.standard_deviation),
        "se": json(test.standard_error),
        "t": json(test.t),
        "df": json(test.df),
        "p_two_sided": json(test.p_two_sided),
        "p_less": json(test.p_less),
        "p_greater": json(test.p_greater),
        "ci_lower": lower(test.interval),
        "ci_upper": upper(test.interval),
        "cohen_dz": json(test.cohen_dz),
    }))
}

fn signed_rank(input: &Value) -> Result<Value, String> {
    let d = observed_values(input, "differences")?;
    Ok(json!({
        "n": d.len(),
        "n_zero": d.iter().filter(|d| d.abs() <= 0.0).count(),
        "wilcox": wilcoxon(&d, WilcoxonZeros::Drop).map(ranks),
        "pratt": wilcoxon(&d, WilcoxonZeros::Pratt).map(ranks),
    }))
}

fn ranks(test: SignedRank) -> Value {
    json!({
        "w_plus": test.w_plus,
        "w_minus": test.w_minus,
        "statistic_min": test.w_plus.min(test.w_minus),
        "p_exact_two_sided": json(test.p_exact_two_sided),
        "p_exact_less": json(test.p_exact_less),
        "p_exact_greater": json(test.p_exact_greater),
        "z": json(test.z),
        "p_normal": json(test.p_normal),
        "p_normal_cc": json(test.p_normal_corrected),
        "rank_biserial": json(test.rank_biserial),
    })
}

fn sign(input: &Value) -> Result<Value, String> {
    let test = sign_test(&observed_values(input, "differences")?);
    Ok(json!({
        "n_pos": test.map_or(0, |t| t.positive),
        "n_neg": test.map_or(0, |t| t.negative),
        "n_zero": test.map_or(0, |t| t.zero),
        "p_two_sided": json(test.map(|t| t.p_two_sided)),
        "p_greater": json(test.map(|t| t.p_greater)),
        "p_less": json(test.map(|t| t.p_less)),
    }))
}

fn sign_flip(input: &Value) -> Result<Value, String> {
    let d = observed_values(input, "differences")?;
    let test = sign_flip_exact(&d);
    Ok(json!({
        "mean": json(mean(&d)),
        "n_permutations": test.map(|t| t.permutations),
        "p_two_sided": json(test.map(|t| t.p_two_sided)),
        "p_greater": json(test.map(|t| t.p_greater)),
        "p_less": json(test.map(|t| t.p_less)),
    }))
}

fn mcnemar(input: &Value) -> Result<Value, String> {
    let count = |name: &str| integer(input, name).map(|n| n as u64);
    let outcomes = PairedOutcomes {
        both_pass: count("both_pass")?,
        only_baseline: count("only_baseline_pass")?,
        only_candidate: count("only_candidate_pass")?,
        both_fail: count("both_fail")?,
    };
    let test = outcomes.mcnemar();
    Ok(json!({
        "discordant": test.discordant,
        "p_exact": test.p_exact,
        "p_mid": test.p_mid,
        "chi2": json(test.chi2),
        "p_chi2": json(test.p_chi2),
        "chi2_cc": json(test.chi2_corrected),
        "p_chi2_cc": json(test.p_chi2_corrected),
        "accuracy_diff": json(test.difference),
    }))
}

fn multiple_comparison(input: &Value) -> Result<Value, String> {
    let (p_values, alpha) = (observations(input, "p_values")?, number(input, "alpha")?);
    let corrections = [
        ("bonferroni", Correction::Bonferroni),
        ("holm", Correction::Holm),
        ("hochberg", Correction::Hochberg),
        ("bh", Correction::BenjaminiHochberg),
        ("by", Correction::BenjaminiYekutieli),
    ];
    let mut result = Map::new();
    for (name, correction) in corrections {
        let adjusted = adjust(&p_values, correction);
        let reject: Vec<Option<bool>> = adjusted.iter().map(|p| p.map(|p| p <= alpha)).collect();
        result.insert(name.to_owned(), json!({ "adjusted": adjusted, "reject": reject }));
    }
    Ok(Value::Object(result))
}

fn effects(input: &Value) -> Result<Value, String> {
    if input.get("p_candidate").is_some() {
        let h = cohen_h(number(input, "p_candidate")?, number(input, "p_baseline")?);
        return Ok(json!({ "cohen_h": json(h) }));
    }
    let sizes = effect_sizes(&observed_values(input, "baseline")?, &observed_values(input, "candidate")?);
    Ok(json!({
        "cohen_d": json(sizes.cohen_d),
        "hedges_g": json(sizes.hedges_g),
        "glass_delta": json(sizes.glass_delta),
        "cliffs_delta": json(sizes.cliffs_delta),
        "vargha_delaney_a": json(sizes.vargha_delaney_a),
        "mean_diff": json(sizes.mean_difference),
    }))
}
