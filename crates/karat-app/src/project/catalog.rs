//! The catalog of metrics, providers and analyses that suites are checked against, gathered from the crates that define
//! them.

use karat_providers::HttpProvider;
use karat_suite::{Catalog, Entry, NamedModels};

use crate::project::ready_rubrics;

/// Metrics, providers, analyses and resolvers with their options.
pub(crate) fn compose() -> Catalog {
    let metrics = karat_scoring::scorer::catalog().into_iter().map(|(name, metric)| {
        let entry = Entry {
            options: metric.options,
            dimensions: metric.dimensions.iter().map(|dimension| (*dimension).to_owned()).collect(),
            reference_unless: metric
                .reference_unless
                .map(|options| options.iter().map(|option| (*option).to_owned()).collect()),
            binary: metric.binary,
            verdicts: metric.verdicts,
            range: metric.range,
            better: metric.better,
            volatile: metric.volatile,
            outside: metric.outside,
            embeds: metric.embeds,
            joins: metric.joins,
            by_words: metric.by_words,
            counts_when: metric.counts_when.map(|(option, value)| (option.to_owned(), value.to_owned())),
            ..Entry::default()
        };
        (name.to_owned(), entry)
    });
    let providers = karat_providers::catalog().into_iter();
    let http = karat_providers::http_providers();
    let named_models = |name: &str| http.iter().find(|host| host.name == name).map(named_models).unwrap_or_default();
    let providers = providers.map(|(name, options)| {
        (
            name.to_owned(),
            Entry {
                options,
                named_models: named_models(name),
                embeds: karat_providers::makes_embeddings(name),
                ..Entry::default()
            },
        )
    });
    let analyses = karat_analysis::catalog().into_iter();
    let analyses = analyses.map(|entry| (entry.name.to_owned(), Entry { options: entry.options, ..Entry::default() }));
    Catalog {
        metrics: metrics.collect(),
        providers: providers.collect(),
        analyses: analyses.collect(),
        rubrics: ready_rubrics::texts(),
        resolvers: karat_filings::resolvers().map(|(name, entry)| (name.to_owned(), entry)).into(),
        ..Catalog::default()
    }
}

/// The models of a provider that need no entry: all, unless only an entry can say where the server is.
fn named_models(provider: &HttpProvider) -> NamedModels {
    match (provider.base_url, provider.base_url_variable) {
        (None, None) => NamedModels::NeedAddress,
        _ if provider.free => NamedModels::Free,
        _ => NamedModels::Billed,
    }
}
