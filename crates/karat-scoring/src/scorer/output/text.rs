//! Metrics of texts. A value that is not text counts as its JSON; several references count as alternatives, of which the
//! best one decides. A blank one is none.

use std::borrow::Cow;

use karat_types::{Score, UNICODE_WORDS};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::metrics::tokenize::tokens;
use crate::metrics::{bleu, chrf, edit, rouge, squad, text};
use crate::scorer::metric::{Metric, MetricInput, Needs, Options, ReferenceForm, applies_if_scored, is_equal};

/// A value as text. The output of a step with tools is its words.
pub(crate) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => words_of_turn(other).map_or_else(|| Cow::Owned(other.to_string()), Cow::Borrowed),
    }
}

/// The words of an output that may call tools, `{ text, tool_calls, stop_reason }`; `None` of any other value.
fn words_of_turn(value: &Value) -> Option<&str> {
    let map = value.as_object()?;
    let is_turn = map.get("tool_calls").is_some_and(Value::is_array) && map.contains_key("stop_reason");
    map.get("text").filter(|_| is_turn)?.as_str()
}

/// The members of a list as texts; a single value as a list of one.
pub(crate) fn texts(value: &Value) -> Vec<Cow<'_, str>> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Null => Vec::new(),
        single => vec![text(single)],
    }
}

/// The references that a text is compared with. Blank members of a list are left out; a text that is blank as a whole is
/// here only if the suite itself says so.
pub(crate) fn alternatives(reference: &Value) -> Vec<Cow<'_, str>> {
    texts(reference).into_iter().filter(|text| !reference.is_array() || !text.trim().is_empty()).collect()
}

/// 1 where a test holds, else 0.
pub(crate) fn test(holds: bool) -> Score {
    Score::value(if holds { 1.0 } else { 0.0 })
}

/// The best score over the references; without any it does not apply.
fn best(given: &MetricInput<'_>, score: impl Fn(&str, &str) -> f64) -> Score {
    let output = text(given.output);
    let scores = alternatives(given.reference).into_iter().map(|reference| score(&output, &reference));
    scores.max_by(f64::total_cmp).map_or_else(no_reference, Score::value)
}

/// The best score over the references of a metric that counts words. Texts of a `kind` of script that the metric's own words
/// leave out, or take for one word, are compared by Unicode words: `score` gets them, and true.
fn best_in_words(given: &MetricInput<'_>, kind: fn(char) -> bool, score: impl Fn(&str, &str, bool) -> f64) -> Score {
    let output = text(given.output);
    let scores = alternatives(given.reference).into_iter().map(|reference| {
        let is_recut = tokens::are_written_in([&*output, &*reference], kind);
        (score(&output, &reference, is_recut), is_recut)
    });
    let best = scores.max_by(|one, other| one.0.total_cmp(&other.0));
    best.map_or_else(no_reference, |(value, is_recut)| match is_recut {
        true => recut(value),
        false => Score::value(value),
    })
}

/// A score by Unicode words.
fn recut(value: f64) -> Score {
    Score::value_because(value, format!("{UNICODE_WORDS}the metric's own words are none in the texts' script"))
}

fn no_reference() -> Score {
    Score::not_applicable("no reference")
}

/// Options of `exact`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Exact {
    /// Upper and lower case are the same.
    ignore_case: bool,
    /// White space at both ends does not count.
    trim: bool,
    /// Unicode NFKC, and runs of white space count as one space.
    normalize: bool,
    /// SQuAD's exact match: case, ASCII punctuation, the articles a, an, the and white space do not count.
    squad: bool,
    /// It is enough that the output begins with the reference.
    prefix: bool,
}

impl Options for Exact {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, literal: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let Self { ignore_case, trim, normalize, squad, prefix } = self;
        if prefix && literal.is_some_and(|literal| alternatives(literal).iter().all(|text| text.trim().is_empty())) {
            return Err("the reference is empty, and every text begins with that".to_owned());
        }
        Ok(Box::new(text::Exact { ignore_case, trim, normalize, squad, prefix }))
    }
}

impl Metric for text::Exact {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let is_text = words_of_turn(given.output).is_some() && !given.reference.is_object();
        if !is_text && !self.prefix && (given.output.is_object() || given.output.is_array()) {
            return test(is_equal(given.output, given.reference));
        }
        if self.squad && !self.prefix {
            let output = text(given.output);
            let mut references = texts(given.reference);
            if references.is_empty() {
                references.push(Cow::Borrowed(""));
            }
            return test(references.iter().any(|reference| self.matches(&output, reference)));
        }
        best(given, |output, reference| if self.matches(output, reference) { 1.0 } else { 0.0 })
    }

    fn reference_form(&self) -> ReferenceForm {
        if self.squad && !self.prefix { ReferenceForm::AlsoEmpty } else { ReferenceForm::Alternatives }
    }
}

/// Options of `contains`. The phrases are `all` and `any`; without them the reference (a text or a list). The scorer's own
/// `value` is looked for in either case. An empty reference is none, and an empty phrase of a list is left out.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Contains {
    /// Upper and lower case are the same.
    ignore_case: bool,
    /// Every one of these must be there, in place of the reference.
    all: Vec<String>,
    /// At least one of these must be there, in place of the reference.
    any: Vec<String>,
    /// The number of phrases of the reference that must be there.
    need: NeededPhrases,
    /// A phrase that holds the whole output is there, too.
    either: bool,
    /// Case, ASCII punctuation, the articles a, an, the and white space do not count, as in SQuAD's exact match.
    squad: bool,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum NeededPhrases {
    /// Every one.
    #[default]
    All,
    /// At least one.
    Any,
}

/// The phrases that `contains` looks for.
struct Phrases {
    options: Contains,
    /// True if the reference, or the `value` in its place, must be there.
    reference: bool,
}

impl Options for Contains {
    const NEEDS: Needs = Needs::ReferenceOr(&["all", "any"]);

    fn metric(self, literal: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let phrases = literal.map(texts).unwrap_or_default();
        let own = self.all.iter().chain(&self.any).map(|phrase| Cow::Borrowed(phrase.as_str()));
        if phrases.into_iter().chain(own).any(|phrase| phrase.trim().is_empty()) {
            return Err("a phrase is empty, and every text contains that".to_owned());
        }
        let reference = literal.is_some() || (self.all.is_empty() && self.any.is_empty());
        Ok(Box::new(Phrases { options: self, reference }))
    }
}

impl Metric for Phrases {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let Contains { ignore_case, all, any, need, either, squad } = &self.options;
        let output = text(given.output);
        let contains = |need| text::Contains { ignore_case: *ignore_case, need, squad: *squad, either: *either };
        let reference = if self.reference { alternatives(given.reference) } else { Vec::new() };
        let (alternatives, reference) = match need {
            NeededPhrases::Any => (reference, Vec::new()),
            NeededPhrases::All => (Vec::new(), reference),
        };
        let wanted: Vec<Cow<'_, str>> =
            reference.into_iter().chain(all.iter().map(|phrase| Cow::Borrowed(phrase.as_str()))).collect();
        if wanted.is_empty() && any.is_empty() && alternatives.is_empty() {
            return Score::not_applicable("no phrase to look for");
        }
        let missing = contains(text::Need::All).missing(&output, &wanted);
        if let [first, ..] = missing.as_slice() {
            return Score::value_because(0.0, format!("{first:?} is missing"));
        }
        if contains(text::Need::Any).matches(&output, &alternatives) == Some(false) {
            return Score::value_because(0.0, "none of the reference's phrases is there");
        }
        match contains(text::Need::Any).matches(&output, any) {
            Some(false) => Score::value_because(0.0, "none of the phrases of `any` is there"),
            _ => test(true),
        }
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// `regex` has no options: the pattern is the reference.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Regex {}

/// A pattern that was compiled once, or one that each row brings.
struct Pattern(Option<text::Pattern>);

impl Options for Regex {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, literal: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let Some(pattern) = literal.map(text) else { return Ok(Box::new(Pattern(None))) };
        if pattern.is_empty() {
            return Err("the pattern is empty, and every text matches that".to_owned());
        }
        text::Pattern::new(&pattern)
            .map(|it| -> Box<dyn Metric> { Box::new(Pattern(Some(it))) })
            .map_err(|error| error.to_string())
    }
}

impl Metric for Pattern {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let output = text(given.output);
        if let Some(pattern) = &self.0 {
            return test(pattern.matches(&output));
        }
        let pattern = text(given.reference);
        if pattern.is_empty() {
            return Score::not_applicable("no pattern to look for");
        }
        match text::Pattern::new(&pattern) {
            Ok(pattern) => test(pattern.matches(&output)),
            Err(error) => Score::unscored(error.to_string()),
        }
    }
}

/// Options of `levenshtein`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Levenshtein {
    /// `ratio`: 1 − edits ÷ longer length. `edits`: the number of edits, of which fewer are better.
    unit: EditUnit,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum EditUnit {
    #[default]
    Ratio,
    Edits,
}

/// The number of edits to the nearest reference.
struct Edits;

impl Metric for Edits {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let output = text(given.output);
        let edits =
            alternatives(given.reference).into_iter().map(|reference| edit::levenshtein_distance(&output, &reference));
        edits.min().map_or_else(no_reference, |edits| Score::value(edits as f64))
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

impl Options for Levenshtein {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(match self.unit {
            EditUnit::Ratio => Box::new(Pairwise(edit::levenshtein_ratio)),
            EditUnit::Edits => Box::new(Edits),
        })
    }
}

/// `jaccard` has no options.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Jaccard {}

impl Options for Jaccard {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Jaccard {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        best_in_words(given, tokens::is_without_plain_words, |output, reference, is_recut| match is_recut {
            true => edit::jaccard_words(&tokens::spaced_words(output), &tokens::spaced_words(reference)),
            false => edit::jaccard_alphanumeric(output, reference),
        })
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// A similarity of two texts.
struct Pairwise(fn(&str, &str) -> f64);

impl Metric for Pairwise {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        best(given, self.0)
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// `token_f1` has no options.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TokenF1 {}

impl Options for TokenF1 {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for TokenF1 {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        best_in_words(given, tokens::is_unspaced, |output, reference, is_recut| {
            let f1 = |output: &str, reference: &str| squad::token_f1(output, &[reference], squad::EmptyRule::V2);
            let score = match is_recut {
                true => f1(&tokens::spaced_words(output), &tokens::spaced_words(reference)),
                false => f1(output, reference),
            };
            score.unwrap_or(0.0)
        })
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// Options of `rouge`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rouge {
    /// Which member of the family.
    r#type: RougeType,
    /// Words are stemmed.
    stem: bool,
    /// The definition of a word: `ascii` as in rouge-score, where other scripts always score 0; `unicode` for every script.
    /// Without it `ascii`, and `unicode` for texts in other scripts than Latin, with a warning.
    tokens: Option<RougeTokens>,
    /// Which figure.
    part: Part,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum RougeTokens {
    Ascii,
    Unicode,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
enum RougeType {
    #[serde(rename = "rouge1")]
    One,
    #[serde(rename = "rouge2")]
    Two,
    #[default]
    #[serde(rename = "rougeL")]
    L,
    #[serde(rename = "rougeLsum")]
    Lsum,
}

/// One of three figures of an overlap.
#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    /// The harmonic mean of the others.
    #[default]
    F1,
    /// Of the output, how much is right.
    Precision,
    /// Of the reference, how much is there.
    Recall,
}

impl Options for Rouge {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Rouge {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let kind = match self.r#type {
            RougeType::One => rouge::RougeType::One,
            RougeType::Two => rouge::RougeType::Two,
            RougeType::L => rouge::RougeType::L,
            RougeType::Lsum => rouge::RougeType::Lsum,
        };
        let overlap = |tokens, output: &str, reference: &str| {
            let overlap = rouge::Rouge { stem: self.stem, tokens }.score(kind, output, reference);
            match self.part {
                Part::F1 => overlap.f1,
                Part::Precision => overlap.precision,
                Part::Recall => overlap.recall,
            }
        };
        match self.tokens {
            Some(RougeTokens::Ascii) => best(given, |one, other| overlap(rouge::RougeTokens::Ascii, one, other)),
            Some(RougeTokens::Unicode) => best(given, |one, other| overlap(rouge::RougeTokens::Unicode, one, other)),
            None => best_in_words(given, tokens::is_of_other_script, |output, reference, is_recut| {
                let tokens = if is_recut { rouge::RougeTokens::Unicode } else { rouge::RougeTokens::Ascii };
                overlap(tokens, output, reference)
            }),
        }
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// Options of `bleu`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Bleu {
    /// Texts are lower-cased first.
    lowercase: bool,
    /// The tokenizer, by its name in sacrebleu. Without it `13a`, and Unicode words for texts in scripts without spaces, with
    /// a warning.
    tokenizer: Option<Tokenizer>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
enum Tokenizer {
    #[serde(rename = "13a")]
    V13a,
    #[serde(rename = "intl")]
    Intl,
    #[serde(rename = "zh")]
    Zh,
    #[serde(rename = "char")]
    Char,
    #[serde(rename = "none")]
    None,
}

impl Options for Bleu {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let Some(tokenizer) = self.tokenizer else { return Ok(Box::new(DefaultBleu { lowercase: self.lowercase })) };
        let tokenizer = match tokenizer {
            Tokenizer::V13a => bleu::BleuTokenizer::V13a,
            Tokenizer::Intl => bleu::BleuTokenizer::Intl,
            Tokenizer::Zh => bleu::BleuTokenizer::Zh,
            Tokenizer::Char => bleu::BleuTokenizer::Char,
            Tokenizer::None => bleu::BleuTokenizer::None,
        };
        Ok(Box::new(bleu::Bleu { tokenizer, lowercase: self.lowercase, ..bleu::Bleu::default() }))
    }
}

impl Metric for bleu::Bleu {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let score = self.sentence(&text(given.output), &alternatives(given.reference));
        // sacrebleu's sum of logarithms lets equal texts score a rounding error above 100.
        score.map_or_else(no_reference, |score| Score::value(score.score.min(100.0)))
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// BLEU without a tokenizer of its own.
struct DefaultBleu {
    lowercase: bool,
}

impl Metric for DefaultBleu {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let bleu = |tokenizer| bleu::Bleu { tokenizer, lowercase: self.lowercase, ..bleu::Bleu::default() };
        let (output, references) = (text(given.output), alternatives(given.reference));
        if !tokens::are_written_in(references.iter().map(|it| &**it).chain([&*output]), tokens::is_unspaced) {
            return bleu(bleu::BleuTokenizer::V13a).score(given);
        }
        let references: Vec<String> = references.iter().map(|reference| tokens::spaced_words(reference)).collect();
        let score = bleu(bleu::BleuTokenizer::None).sentence(&tokens::spaced_words(&output), &references);
        score.map_or_else(no_reference, |score| recut(score.score.min(100.0)))
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// Options of `chrf`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Chrf {
    /// chrF++: words and pairs of words count, too.
    words: bool,
    /// Texts are lower-cased first.
    lowercase: bool,
}

impl Options for Chrf {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(chrf::Chrf { words: self.words, lowercase: self.lowercase }))
    }
}

impl Metric for chrf::Chrf {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let score = self.sentence(&text(given.output), &alternatives(given.reference));
        score.map_or_else(no_reference, |score| Score::value(score.min(100.0)))
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// Options of `length`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Length {
    /// The unit that is counted.
    unit: Unit,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Chars,
    Words,
    Bytes,
    Tokens,
}

impl Options for Length {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Length {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let output = text(given.output);
        let length = match self.unit {
            Unit::Chars => text::length(&output, text::LengthUnit::Chars),
            Unit::Words => text::length(&output, text::LengthUnit::Words),
            Unit::Bytes => text::length(&output, text::LengthUnit::Bytes),
            Unit::Tokens => karat_text::chunking::tokens::Tokenizer::plan().count(&output),
        };
        Score::value(length as f64)
    }
}
