//! The list of metrics. A new one is a struct of options, a [`Metric`](super::metric::Metric) and a line here.

use karat_types::Better;
use serde_json::Value;

use super::MetricEntry;
use super::evidence::{attribution, citation, retrieval};
use super::metric::{Make, Needs, Options};
use super::output::{
    checklist, combine, external, given, numeric, similarity, summary, system, text, value, weighted_checks,
};
use super::tools::{tool_calls, valid_calls};

/// An entry of the list of metrics.
pub(super) struct Registered {
    pub name: &'static str,
    about: &'static str,
    dimensions: &'static [&'static str],
    pub needs: Needs,
    range: Option<(f64, f64)>,
    pub binary: bool,
    verdicts: bool,
    pub better: Better,
    volatile: bool,
    /// True if a program or service is asked.
    pub is_outside: bool,
    /// True if a model is asked for vectors.
    pub embeds: bool,
    /// True if rows of a file are joined with cells: then templates among its options are those of the join.
    pub joins: bool,
    /// The option and its value under which it counts something.
    counts_when: Option<(&'static str, &'static str)>,
    by_words: bool,
    schema: fn() -> Value,
    pub make: Make,
}

impl Registered {
    pub fn entry(&self) -> MetricEntry {
        MetricEntry {
            about: self.about,
            options: (self.schema)(),
            dimensions: self.dimensions,
            reference_unless: match self.needs {
                Needs::Reference => Some(&[]),
                Needs::ReferenceOr(options) => Some(options),
                Needs::Output | Needs::Nothing => None,
            },
            binary: self.binary,
            verdicts: self.verdicts,
            range: self.range,
            better: self.better,
            volatile: self.volatile,
            outside: self.is_outside,
            embeds: self.embeds,
            joins: self.joins,
            counts_when: self.counts_when,
            by_words: self.by_words,
        }
    }

    /// The number of scores it gives.
    pub fn figures(&self) -> usize {
        self.dimensions.len().max(1)
    }

    /// The score of an output that cannot be read.
    pub fn lowest(&self) -> f64 {
        self.range.map_or(0.0, |(lowest, _)| lowest)
    }

    /// 0 or 1: passed or not.
    const fn test<M: Options>(name: &'static str, about: &'static str) -> Self {
        Self { binary: true, ..Self::scale::<M>(name, about, 1.0) }
    }

    /// A number from 0 to `high`.
    const fn scale<M: Options>(name: &'static str, about: &'static str, high: f64) -> Self {
        Self { range: Some((0.0, high)), ..Self::open::<M>(name, about) }
    }

    /// A number without an upper bound.
    const fn open<M: Options>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            dimensions: &[],
            needs: M::NEEDS,
            range: None,
            binary: false,
            verdicts: false,
            better: Better::Higher,
            volatile: false,
            is_outside: false,
            embeds: false,
            joins: false,
            counts_when: None,
            by_words: false,
            schema: schema::<M>,
            make: M::make,
        }
    }

    /// Several figures, each from 0 to 1.
    const fn profile<M: Options>(name: &'static str, about: &'static str, dimensions: &'static [&'static str]) -> Self {
        Self { dimensions, ..Self::scale::<M>(name, about, 1.0) }
    }

    const fn lower_is_better(self) -> Self {
        Self { better: Better::Lower, ..self }
    }

    const fn outside(self) -> Self {
        Self { is_outside: true, ..self.or_verdicts() }
    }

    const fn of_vectors(self) -> Self {
        Self { embeds: true, ..self }
    }

    const fn of_joined_rows(self) -> Self {
        Self { joins: true, ..self }
    }

    const fn or_count(self, option: &'static str, value: &'static str) -> Self {
        Self { counts_when: Some((option, value)), ..self }
    }

    const fn by_words(self) -> Self {
        Self { by_words: true, ..self }
    }

    const fn or_verdicts(self) -> Self {
        Self { verdicts: true, ..self }
    }

    const fn volatile(self) -> Self {
        Self { volatile: true, ..self }
    }
}

fn schema<M: Options>() -> Value {
    schemars::SchemaGenerator::default().into_root_schema_for::<M>().to_value()
}

/// Every metric, in the order of the suite reference.
pub(super) static METRICS: &[Registered] = &[
    Registered::test::<text::Exact>("exact", "The text equals the reference, or one of several; or begins with it."),
    Registered::test::<text::Contains>("contains", "The text contains phrases."),
    Registered::test::<text::Regex>("regex", "A regular expression matches somewhere in the text."),
    Registered::scale::<text::Levenshtein>(
        "levenshtein",
        "1 − edit distance / longer length; or the edits, of which fewer are better.",
        1.0,
    )
    .or_count("unit", "edits"),
    Registered::scale::<text::Jaccard>("jaccard", "Shared words ÷ all words.", 1.0),
    Registered::scale::<text::TokenF1>("token_f1", "F1 of shared words, as in SQuAD.", 1.0),
    Registered::scale::<text::Rouge>("rouge", "ROUGE, as rouge-score computes it.", 1.0),
    Registered::scale::<text::Bleu>("bleu", "Sentence BLEU, as sacrebleu computes it.", 100.0),
    Registered::scale::<text::Chrf>("chrf", "chrF, as sacrebleu computes it.", 100.0),
    Registered::open::<similarity::Similarity>(
        "similarity",
        "Closeness of meaning: the cosine of the vectors that a model makes of the texts, -1 to 1.",
    )
    .of_vectors(),
    Registered::open::<text::Length>("length", "The length of the text."),
    Registered::test::<value::JsonSchema>("json_schema", "The output satisfies a JSON Schema."),
    Registered::test::<value::JsonField>("json_field", "The value at the output path equals the reference."),
    Registered::test::<numeric::Numeric>("numeric", "A number in the text is the expected one."),
    Registered::scale::<numeric::Contested>(
        "numeric_contested",
        "Of a number that is the expected one: whether another of the same unit contradicts it.",
        1.0,
    )
    .lower_is_better(),
    Registered::open::<value::Count>("count", "How many members a list has; a number is itself."),
    Registered::scale::<value::SetF1>("set_f1", "F1, precision or recall of two lists of texts.", 1.0).by_words(),
    Registered::test::<value::Label>("label", "The text is the expected label."),
    Registered::profile::<summary::SummaryOptions>(
        "summary",
        "How close a structured summary is to its reference, in five dimensions and overall.",
        summary::FIGURES,
    ),
    Registered::test::<retrieval::HitRate>("hit_rate", "Whether the first k hold a relevant document."),
    Registered::scale::<retrieval::Recall>("recall", "Relevant documents among the first k ÷ all relevant ones.", 1.0),
    Registered::scale::<retrieval::Precision>("precision", "Relevant documents among the first k ÷ k.", 1.0),
    Registered::scale::<retrieval::Mrr>("mrr", "1 ÷ rank of the first relevant document.", 1.0),
    Registered::scale::<retrieval::Map>("map", "Mean precision at the ranks of relevant documents.", 1.0),
    Registered::scale::<retrieval::Ndcg>("ndcg", "Discounted gain ÷ that of the ideal ranking.", 1.0),
    Registered::test::<citation::CitationMatch>("citation_match", "A citation agrees with an acceptable one."),
    Registered::scale::<citation::CitationPrecision>(
        "citation_precision",
        "Citations that agree with an acceptable one ÷ all citations.",
        1.0,
    ),
    Registered::scale::<citation::CitationRecall>("citation_recall", "Acceptable citations that are cited ÷ all.", 1.0),
    Registered::test::<attribution::Attribution>("attribution", "Those are named who said it, and nobody else."),
    Registered::test::<retrieval::QuoteMatch>("quote_match", "The text holds the quote."),
    Registered::scale::<tool_calls::ToolCalls>("tool_calls", "The calls of tools are the expected ones.", 1.0),
    Registered::scale::<valid_calls::ValidCalls>(
        "valid_calls",
        "Calls that name an offered tool and fit its schema ÷ all calls.",
        1.0,
    ),
    Registered::test::<checklist::Checklist>("assert", "Every check of the row's own list holds."),
    Registered::scale::<weighted_checks::Checks>("checks", "Weighted mean of the scores of a list of checks.", 1.0),
    Registered::open::<given::Given>("given", "A score that another tool gave, read from a file.")
        .or_verdicts()
        .of_joined_rows(),
    Registered::open::<combine::Combine>("combine", "One figure from scores that stand before it.").or_verdicts(),
    Registered::open::<system::Latency>("latency", "Milliseconds of the cell's calls.").lower_is_better().volatile(),
    Registered::open::<system::Cost>("cost", "US dollars of the cell's calls.").lower_is_better().volatile(),
    Registered::open::<system::Tokens>("tokens", "Tokens of the cell's calls.").lower_is_better(),
    Registered::open::<external::Command>("command", "What a program says, line by line.").outside(),
    Registered::open::<external::Http>("http", "What a service says.").outside(),
];
