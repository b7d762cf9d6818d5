//! The list of metrics. A new one is a struct of options, a [`Metric`](super::metric::Metric) and a line here.

use karat_types::{Better, MetricTraits};
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
    pub needs: Needs,
    pub traits: MetricTraits,
    schema: fn() -> Value,
    pub make: Make,
}

impl Registered {
    pub fn entry(&self) -> MetricEntry {
        MetricEntry { about: self.about, options: (self.schema)(), traits: self.traits }
    }

    /// The number of scores it gives.
    pub fn figures(&self) -> usize {
        self.traits.dimensions.len().max(1)
    }

    /// The score of an output that cannot be read.
    pub fn lowest(&self) -> f64 {
        self.traits.range.map_or(0.0, |(lowest, _)| lowest)
    }

    /// 0 or 1: passed or not.
    const fn test<M: Options>(name: &'static str, about: &'static str) -> Self {
        let mut metric = Self::scale::<M>(name, about, 1.0);
        metric.traits.binary = true;
        metric
    }

    /// A number from 0 to `high`.
    const fn scale<M: Options>(name: &'static str, about: &'static str, high: f64) -> Self {
        let mut metric = Self::open::<M>(name, about);
        metric.traits.range = Some((0.0, high));
        metric
    }

    /// A number without an upper bound.
    const fn open<M: Options>(name: &'static str, about: &'static str) -> Self {
        let reference_unless: Option<&[&str]> = match M::NEEDS {
            Needs::Reference => Some(&[]),
            Needs::ReferenceOr(options) => Some(options),
            Needs::Output | Needs::Nothing => None,
        };
        let traits = MetricTraits { reference_unless, ..MetricTraits::NUMBER };
        Self { name, about, needs: M::NEEDS, traits, schema: schema::<M>, make: M::make }
    }

    /// Several figures, each from 0 to 1.
    const fn profile<M: Options>(name: &'static str, about: &'static str, dimensions: &'static [&'static str]) -> Self {
        let mut metric = Self::scale::<M>(name, about, 1.0);
        metric.traits.dimensions = dimensions;
        metric
    }

    const fn lower_is_better(mut self) -> Self {
        self.traits.better = Better::Lower;
        self
    }

    const fn outside(mut self) -> Self {
        self.traits.outside = true;
        self.or_verdicts()
    }

    const fn of_vectors(mut self) -> Self {
        self.traits.embeds = true;
        self
    }

    const fn of_joined_rows(mut self) -> Self {
        self.traits.joins = true;
        self
    }

    const fn or_count(mut self, option: &'static str, value: &'static str) -> Self {
        self.traits.counts_when = Some((option, value));
        self
    }

    const fn by_words(mut self) -> Self {
        self.traits.by_words = true;
        self
    }

    const fn or_verdicts(mut self) -> Self {
        self.traits.verdicts = true;
        self
    }

    const fn volatile(mut self) -> Self {
        self.traits.volatile = true;
        self
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
