//! A folder in memory, and a catalog with everything that the language names.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use karat_suite::{
    Catalog, Diagnostics, Entry, Files, NamedModels, Overrides, Plan, Registry, Resolved, Resolver, ResolverEntry,
    Suite,
};
use karat_types::MetricTraits;
use serde_json::{Value, json};

/// Files in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct World(BTreeMap<String, Vec<u8>>);

impl World {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
    }

    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        self.with_bytes(path, text.as_bytes())
    }

    pub(crate) fn with_bytes(mut self, path: &str, bytes: &[u8]) -> Self {
        self.0.insert(path.to_owned(), bytes.to_vec());
        self
    }

    pub(crate) fn load(&self, overrides: &Overrides) -> Result<Suite, Diagnostics> {
        Suite::load(Arc::new(self.clone()), "karat.yaml", overrides, &catalog(), &Registry::builtin())
    }

    pub(crate) fn plan(&self, overrides: &Overrides) -> Plan {
        let suite = self.load(overrides).unwrap_or_else(|problems| panic!("{}", problems.plain()));
        suite.plan().unwrap_or_else(|problems| panic!("{}", problems.plain()))
    }

    /// The diagnostics of a suite that cannot be used.
    pub(crate) fn problems(&self, overrides: &Overrides) -> String {
        match self.load(overrides) {
            Ok(_) => panic!("the suite can be used"),
            Err(problems) => problems.plain(),
        }
    }
}

impl Files for World {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let dir = if dir == "." { "" } else { dir };
        let below = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let names = self.0.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names.into_iter().collect()) }
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        self.open(&karat_suite::join_beneath(folder, path)?)
    }
}

/// A resolver that finds nothing in any row.
struct FindsNothing;

impl Resolver for FindsNothing {
    fn resolve(&self, _: &Value) -> Option<Resolved> {
        None
    }
}

/// Everything that the language names, with few option schemas.
pub(crate) fn catalog() -> Catalog {
    let nothing = ResolverEntry {
        about: "finds nothing",
        folders: &[("chunks", "Any folder."), ("tables", "Any folder.")],
        make: |_, _| Box::new(FindsNothing),
    };
    let names = |names: &str| names.split(' ').map(|name| (name.to_owned(), Entry::default())).collect();
    let mut catalog = Catalog {
        metrics: names(
            "exact contains regex levenshtein jaccard token_f1 rouge bleu chrf length json_schema json_field numeric \
             count set_f1 label summary combine hit_rate recall precision mrr map ndcg citation_match attribution \
             quote_match latency cost tokens command",
        ),
        providers: names("openai anthropic gemini command stub scripted"),
        analyses: names(
            "delta agreement calibration human_anchor judge_bias drift diagnostics missing_items slices balance \
             failures power summary_corpus recommendations",
        ),
        rubrics: BTreeMap::from([("faithfulness".to_owned(), include_str!("../../../../rubrics/faithfulness.yaml"))]),
        resolvers: BTreeMap::from(["filing_evidence", "filing_gold"].map(|name| (name.to_owned(), nothing))),
        ..Catalog::default()
    };
    let serves = |models| Entry { named_models: models, ..Entry::default() };
    for (name, models) in [
        ("openai", NamedModels::Billed),
        ("anthropic", NamedModels::Billed),
        ("gemini", NamedModels::Billed),
        ("openrouter", NamedModels::Billed),
        ("ollama", NamedModels::Free),
        ("openai-compatible", NamedModels::NeedAddress),
    ] {
        catalog.providers.insert(name.to_owned(), serves(models));
    }
    let contains = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "ignore_case": { "type": "boolean" },
            "all": { "type": "array", "items": { "type": "string" } },
            "any": { "type": "array", "items": { "type": "string" } },
        },
    });
    let metric = |options, metric| Entry { options, metric, ..Entry::default() };
    let test = MetricTraits { binary: true, ..MetricTraits::NUMBER };
    for name in ["exact", "regex", "json_field", "numeric", "assert"] {
        catalog.metrics.insert(name.to_owned(), metric(Value::Null, test));
    }
    let traits = MetricTraits { range: Some((0.0, 1.0)), reference_unless: Some(&["all", "any"]), ..test };
    catalog.metrics.insert("contains".to_owned(), metric(contains, traits));
    let schema = json!({
        "type": "object",
        "required": ["schema"],
        "properties": { "schema": { "format": "file", "contentMediaType": "application/schema+json" } },
    });
    let tools = json!({
        "type": "object",
        "properties": { "tools": { "type": "object", "contentMediaType": "application/schema+json" } },
    });
    catalog.metrics.insert("valid_calls".to_owned(), metric(tools, MetricTraits::NUMBER));
    catalog.metrics.insert("json_schema".to_owned(), metric(schema, test));
    let of = json!({ "type": "object", "properties": { "of": { "type": "array", "items": { "type": "string" } } } });
    catalog.metrics.insert("combine".to_owned(), metric(of, MetricTraits::NUMBER));
    let profile = MetricTraits { dimensions: &["title", "outcome", "overall"], ..MetricTraits::NUMBER };
    catalog.metrics.insert("summary".to_owned(), metric(Value::Null, profile));
    let volatile = MetricTraits { volatile: true, ..MetricTraits::NUMBER };
    catalog.metrics.insert("latency".to_owned(), metric(Value::Null, volatile));
    catalog
}
