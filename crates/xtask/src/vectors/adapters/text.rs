//! Adapters of the text statistics.

use karat_scoring::metrics::bleu::{Bleu, BleuScore, BleuTokenizer};
use karat_scoring::metrics::chrf::Chrf;
use karat_scoring::metrics::rouge::{Rouge, RougeType};
use karat_scoring::metrics::squad::{self, EmptyRule};
use karat_scoring::metrics::tokenize::porter;
use karat_scoring::metrics::{Overlap, edit};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{array, field, text};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("bleu", bleu),
    ("chrf", chrf),
    ("edit_similarity", edit_similarity),
    ("porter_stem", porter_stem),
    ("rouge", rouge),
    ("squad_em_f1", squad_em_f1),
];

fn rouge(input: &Value) -> Result<Value, String> {
    let (candidate, reference) = (text(input, "candidate")?, text(input, "reference")?);
    let scores = |stem| {
        let kinds = [RougeType::One, RougeType::Two, RougeType::L, RougeType::Lsum];
        let rouge = Rouge { stem, ..Rouge::default() };
        let [one, two, l, lsum] = rouge.scores(kinds, candidate, reference).map(overlap);
        json!({ "rouge1": one, "rouge2": two, "rougeL": l, "rougeLsum": lsum })
    };
    Ok(json!({ "plain": scores(false), "stem": scores(true) }))
}

fn overlap(score: Overlap) -> Value {
    json!({ "precision": score.precision, "recall": score.recall, "fmeasure": score.f1 })
}

fn porter_stem(input: &Value) -> Result<Value, String> {
    let stems: Vec<String> = texts(field(input, "words")?)?.iter().map(|word| porter::stem(word)).collect();
    Ok(json!({ "stems": stems }))
}

fn bleu(input: &Value) -> Result<Value, String> {
    let corpus = Corpus::read(input)?;
    let bleu = Bleu::default();
    let (score, tokens) = match corpus.mode {
        Mode::Sentence => {
            let (candidate, references) = corpus.sentence()?;
            let tokens = BleuTokenizer::V13a.tokens(candidate).join(" ");
            (bleu.sentence(candidate, references), Some(tokens))
        }
        Mode::Corpus => (bleu.corpus(corpus.segments()), None),
    };
    Ok(score.map_or(Value::Null, |score| bleu_score(&score, tokens)))
}

fn bleu_score(score: &BleuScore, tokens: Option<String>) -> Value {
    json!({
        "score": score.score,
        "precisions": score.precisions,
        "bp": score.brevity_penalty,
        "sys_len": score.candidate_length,
        "ref_len": score.reference_length,
        "counts": score.counts,
        "totals": score.totals,
        "tokenized_candidate": tokens,
    })
}

fn chrf(input: &Value) -> Result<Value, String> {
    let corpus = Corpus::read(input)?;
    let score = |chrf: Chrf| match corpus.mode {
        Mode::Sentence => corpus.sentence().map(|(candidate, references)| chrf.sentence(candidate, references)),
        Mode::Corpus => Ok(chrf.corpus(corpus.segments())),
    };
    Ok(json!({ "chrf2": score(Chrf::default())?, "chrf2pp": score(Chrf::plus_plus())? }))
}

enum Mode {
    Sentence,
    Corpus,
}

/// Candidates with their references, to be scored as one sentence or as a corpus.
struct Corpus<'a> {
    mode: Mode,
    candidates: Vec<&'a str>,
    references: Vec<Vec<&'a str>>,
}

impl<'a> Corpus<'a> {
    fn read(input: &'a Value) -> Result<Self, String> {
        let mode = match text(input, "mode")? {
            "sentence" => Mode::Sentence,
            "corpus" => Mode::Corpus,
            other => return Err(format!("reading the input: unknown mode {other}")),
        };
        let candidates = texts(field(input, "candidates")?)?;
        let references: Vec<_> = array(input, "references")?.iter().map(texts).collect::<Result<_, _>>()?;
        if candidates.len() != references.len() {
            return Err("reading the input: candidates and references differ in number".to_owned());
        }
        Ok(Self { mode, candidates, references })
    }

    fn sentence(&self) -> Result<(&'a str, &[&'a str]), String> {
        let mut segments = self.segments();
        match (segments.next(), segments.next()) {
            (Some(only), None) => Ok(only),
            _ => Err("reading the input: sentence mode takes one candidate".to_owned()),
        }
    }

    fn segments(&self) -> impl Iterator<Item = (&'a str, &[&'a str])> {
        let references = self.references.iter().map(Vec::as_slice);
        self.candidates.iter().copied().zip(references)
    }
}

fn edit_similarity(input: &Value) -> Result<Value, String> {
    let (a, b) = (text(input, "a")?, text(input, "b")?);
    Ok(json!({
        "levenshtein_distance": edit::levenshtein_distance(a, b),
        "levenshtein_ratio": edit::levenshtein_ratio(a, b),
        "indel_ratio": edit::indel_ratio(a, b),
        "lcs_length": edit::lcs_length(a, b),
        "jaccard_tokens": edit::jaccard_words(a, b),
        "jaccard_alnum_tokens": edit::jaccard_alphanumeric(a, b),
    }))
}

fn squad_em_f1(input: &Value) -> Result<Value, String> {
    let prediction = text(input, "prediction")?;
    let references = texts(field(input, "references")?)?;
    let exact = squad::exact_match(prediction, &references);
    Ok(json!({
        "normalized_prediction": squad::normalize(prediction),
        "exact_match": exact.map(|equal| f64::from(u8::from(equal))),
        "f1_v1": squad::token_f1(prediction, &references, EmptyRule::V1),
        "f1_v2": squad::token_f1(prediction, &references, EmptyRule::V2),
    }))
}

fn texts(value: &Value) -> Result<Vec<&str>, String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    texts
        .filter(|_| value.is_array())
        .ok_or_else(|| format!("reading the input: expected an array of strings, found {value}"))
}
