//! Everything that a suite may name, as the product composes it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use karat_providers::HttpProvider;
use karat_suite::{Catalog, Entry, NamedModels};

/// Metrics, providers, analyses, rubrics and resolvers.
pub static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let metrics = karat_scoring::scorer::catalog().into_iter().map(|(name, metric)| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let entry = Entry {
            options: metric.options,
            dimensions: owned(metric.dimensions),
            reference_unless: metric.reference_unless.map(owned),
            binary: metric.binary,
            verdicts: metric.verdicts,
            range: metric.range,
            better: metric.better,
            volatile: metric.volatile,
            outside: metric.outside,
            embeds: metric.embeds,
            joins: metric.joins,
            counts_when: metric.counts_when.map(|(option, value)| (option.to_owned(), value.to_owned())),
            ..Entry::default()
        };
        (name.to_owned(), entry)
    });
    let http = karat_providers::http_providers();
    let named = |name: &str| http.iter().find(|host| host.name == name).map(named_models).unwrap_or_default();
    let providers = karat_providers::catalog().into_iter().map(|(name, options)| {
        let embeds = karat_providers::makes_embeddings(name);
        (name.to_owned(), Entry { options, named_models: named(name), embeds, ..Entry::default() })
    });
    let analyses = karat_analysis::catalog().into_iter();
    let analyses = analyses.map(|entry| (entry.name.to_owned(), Entry { options: entry.options, ..Entry::default() }));
    let rubric = include_str!("../../rubrics/faithfulness.yaml");
    Catalog {
        metrics: metrics.collect(),
        providers: providers.collect(),
        analyses: analyses.collect(),
        rubrics: BTreeMap::from([("faithfulness".to_owned(), rubric)]),
        resolvers: karat_filings::resolvers().map(|(name, entry)| (name.to_owned(), entry)).into(),
        ..Catalog::default()
    }
});

fn named_models(provider: &HttpProvider) -> NamedModels {
    match (provider.base_url, provider.base_url_variable) {
        (None, None) => NamedModels::NeedAddress,
        _ if provider.free => NamedModels::Free,
        _ => NamedModels::Billed,
    }
}
