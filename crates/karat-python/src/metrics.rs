//! Metrics as plain functions. `karat.metrics` gives them types and defaults.

use karat_quantity::{Context, DecimalMark, Pick, Target, Tolerance};
use karat_scoring::metrics::bleu::{Bleu, BleuTokenizer};
use karat_scoring::metrics::chrf::Chrf;
use karat_scoring::metrics::edit;
use karat_scoring::metrics::retrieval::{Gain, Judged, Relevance, top};
use karat_scoring::metrics::rouge::{Rouge, RougeTokens, RougeType};
use karat_scoring::metrics::set_f1::{SetMatcher, Similarity};
use karat_scoring::metrics::squad::{self, EmptyRule};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::bad_value;

/// Adds the functions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rouge, module)?)?;
    module.add_function(wrap_pyfunction!(bleu, module)?)?;
    module.add_function(wrap_pyfunction!(chrf, module)?)?;
    module.add_function(wrap_pyfunction!(exact_match, module)?)?;
    module.add_function(wrap_pyfunction!(token_f1, module)?)?;
    module.add_function(wrap_pyfunction!(normalize_answer, module)?)?;
    module.add_function(wrap_pyfunction!(levenshtein_distance, module)?)?;
    module.add_function(wrap_pyfunction!(levenshtein_ratio, module)?)?;
    module.add_function(wrap_pyfunction!(jaccard_words, module)?)?;
    module.add_function(wrap_pyfunction!(numeric, module)?)?;
    module.add_function(wrap_pyfunction!(retrieval, module)?)?;
    module.add_function(wrap_pyfunction!(set_f1, module)?)
}

/// The value of a word among those that an option takes.
fn word<T: Copy>(option: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        bad_value(format!("`{option}` is {word:?}; use one of {}", names.join(", ")))
    })
}

/// Precision, recall and F1.
#[pyfunction]
fn rouge(candidate: &str, reference: &str, kind: &str, tokens: &str, stemmer: bool) -> PyResult<(f64, f64, f64)> {
    let kinds = [
        ("rouge1", RougeType::One),
        ("rouge2", RougeType::Two),
        ("rougeL", RougeType::L),
        ("rougeLsum", RougeType::Lsum),
    ];
    let tokens = word("tokens", tokens, &[("ascii", RougeTokens::Ascii), ("unicode", RougeTokens::Unicode)])?;
    let overlap = Rouge { stem: stemmer, tokens }.score(word("kind", kind, &kinds)?, candidate, reference);
    Ok((overlap.precision, overlap.recall, overlap.f1))
}

/// BLEU of a corpus, or of one sentence with effective order; `None` without references.
#[pyfunction]
fn bleu(
    py: Python<'_>,
    candidates: Vec<String>,
    references: Vec<Vec<String>>,
    scope: &str,
    tokenizer: &str,
    lowercase: bool,
) -> PyResult<Option<f64>> {
    let tokenizers = [
        ("13a", BleuTokenizer::V13a),
        ("intl", BleuTokenizer::Intl),
        ("zh", BleuTokenizer::Zh),
        ("char", BleuTokenizer::Char),
        ("none", BleuTokenizer::None),
    ];
    let bleu = Bleu { tokenizer: word("tokenizer", tokenizer, &tokenizers)?, lowercase, ..Bleu::default() };
    let pairs = pairs(&candidates, &references)?;
    Ok(match (scope, pairs.as_slice()) {
        ("sentence", [(candidate, references)]) => bleu.sentence(candidate, references).map(|score| score.score),
        // A corpus takes a while, in which Python goes on.
        _ => py.detach(|| bleu.corpus(pairs).map(|score| score.score)),
    })
}

/// chrF of a corpus; `None` without references.
#[pyfunction]
fn chrf(
    py: Python<'_>,
    candidates: Vec<String>,
    references: Vec<Vec<String>>,
    words: bool,
    lowercase: bool,
) -> PyResult<Option<f64>> {
    let pairs = pairs(&candidates, &references)?;
    Ok(py.detach(|| Chrf { words, lowercase }.corpus(pairs)))
}

/// Each candidate with its references.
fn pairs<'a>(candidates: &'a [String], references: &'a [Vec<String>]) -> PyResult<Vec<(&'a str, &'a [String])>> {
    if candidates.len() != references.len() {
        return Err(bad_value(format!(
            "there are {} candidates and {} lists of references; give one list for each candidate",
            candidates.len(),
            references.len()
        )));
    }
    Ok(candidates.iter().map(String::as_str).zip(references.iter().map(Vec::as_slice)).collect())
}

/// Equality after SQuAD's normalisation; `None` without references.
#[pyfunction]
fn exact_match(prediction: &str, references: Vec<String>) -> Option<bool> {
    squad::exact_match(prediction, &references)
}

/// The best token F1; `None` without references.
#[pyfunction]
fn token_f1(prediction: &str, references: Vec<String>) -> Option<f64> {
    squad::token_f1(prediction, &references, EmptyRule::default())
}

/// SQuAD's normal form of an answer.
#[pyfunction]
fn normalize_answer(answer: &str) -> String {
    squad::normalize(answer)
}

/// Edits from one text to the other.
#[pyfunction]
fn levenshtein_distance(a: &str, b: &str) -> usize {
    edit::levenshtein_distance(a, b)
}

/// Similarity by edits, 0 to 1.
#[pyfunction]
fn levenshtein_ratio(a: &str, b: &str) -> f64 {
    edit::levenshtein_ratio(a, b)
}

/// Common words divided by all words.
#[pyfunction]
fn jaccard_words(a: &str, b: &str) -> f64 {
    edit::jaccard_words(a, b)
}

/// The comparison of a text with an expected number: passed, the number that matched as written, and the reason.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's `numeric`")]
fn numeric(
    answer: &str,
    expected: &str,
    unit: &str,
    currency: &str,
    rel: Option<f64>,
    abs: Option<f64>,
    pick: &str,
    decimal: &str,
    context: &str,
) -> PyResult<(bool, Option<String>, String)> {
    let context = word("context", context, &[("general", Context::General), ("finance", Context::Finance)])?;
    let pick = word("pick", pick, &[("any", Pick::Any), ("first", Pick::First), ("last", Pick::Last)])?;
    let marks = [("auto", DecimalMark::Auto), ("point", DecimalMark::Point), ("comma", DecimalMark::Comma)];
    let mark = word("decimal", decimal, &marks)?;
    let expected = karat_types::json::parse(expected).map_err(bad_value)?;
    let target = Target::json(&expected, context)
        .and_then(|target| target.unit(unit))
        .and_then(|target| target.currency(currency))
        .map_err(bad_value)?
        .pick(pick)
        .decimal_mark(mark);
    let compared = target.within(answer, Tolerance::new(rel, abs).map_err(bad_value)?);
    let matched = compared.number.as_ref().filter(|_| compared.passed()).map(|number| number.text.clone());
    Ok((compared.passed(), matched, compared.to_string()))
}

/// All figures of a ranking by name; `None` if no document is relevant.
#[pyfunction]
fn retrieval<'py>(
    py: Python<'py>,
    ranking: Vec<String>,
    relevant: Vec<(String, f64)>,
    k: Option<usize>,
    gain: &str,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let gain = word("gain", gain, &[("linear", Gain::Linear), ("exponential", Gain::Exponential)])?;
    let relevance = Relevance::graded_gains(relevant).map_err(bad_value)?;
    let Some(judged) = Judged::new(&ranking, &relevance) else { return Ok(None) };
    let cutoff = k.and_then(top);
    let figures = PyDict::new(py);
    figures.set_item("recall", judged.recall(cutoff))?;
    figures.set_item("precision", judged.precision(cutoff))?;
    figures.set_item("f1", judged.f1(cutoff))?;
    figures.set_item("hit_rate", judged.hit_rate(cutoff))?;
    figures.set_item("reciprocal_rank", judged.reciprocal_rank(cutoff))?;
    figures.set_item("average_precision", judged.average_precision(cutoff))?;
    figures.set_item("r_precision", judged.r_precision())?;
    figures.set_item("ndcg", judged.ndcg(cutoff, gain))?;
    Ok(Some(figures))
}

/// Precision, recall and F1 of two lists.
#[pyfunction]
fn set_f1(
    candidate: Vec<String>,
    reference: Vec<String>,
    similarity: &str,
    threshold: f64,
) -> PyResult<(Option<f64>, Option<f64>, f64)> {
    let known = [
        ("indel", Similarity::Indel),
        ("levenshtein", Similarity::Levenshtein),
        ("jaccard", Similarity::Jaccard),
        ("token_f1", Similarity::TokenF1),
    ];
    let similarity = word("similarity", similarity, &known)?;
    let score = SetMatcher { similarity, threshold }.compare(&candidate, &reference);
    Ok((score.precision, score.recall, score.f1))
}
