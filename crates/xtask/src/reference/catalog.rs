//! The pages of everything that is registered by name.

use karat_analysis::RunCondition;
use karat_providers::HttpProvider;

use super::examples::{self, MetricExample};
use super::options;

const GENERATED: &str = "Generated from the code by `cargo xtask generate`; do not edit.";

/// The page of metrics, each with its options and a worked example.
pub(super) fn metrics() -> String {
    let mut page = format!(
        "# Metrics\n\nA scorer names its metric and the metric's options:\n\n```yaml\nscorers:\n  hit: {{ metric: contains, with: {{ ignore_case: true }} }}\n```\n\n`output` says what part of the output is scored; `reference` or `value`, against what. [Write a suite](../guides/suites.md#scorers)\nexplains the other keys. {GENERATED}\n"
    );
    for (name, metric) in karat_scoring::scorer::catalog() {
        let mut facts = Vec::new();
        let traits = metric.traits;
        facts.extend(traits.range.map(|(low, high)| format!("{low} to {high}")));
        facts.extend(traits.binary.then(|| "pass or fail".to_owned()));
        facts.extend((traits.better == karat_types::Better::Lower).then(|| "lower is better".to_owned()));
        facts.extend(traits.volatile.then(|| "not in the canonical report".to_owned()));
        if !traits.dimensions.is_empty() {
            facts.push(format!("figures: {}", traits.dimensions.join(", ")));
        }
        let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join("; ")) };
        page.push_str(&format!("\n## {name}\n\n{}{facts}\n", metric.about));
        page.push_str(&worked_example(name));
        page.push_str(&add_spaces(&options::list(&metric.options)));
    }
    page
}

/// The example of a metric: its scorer, and one output with its score where a row shows it.
fn worked_example(name: &str) -> String {
    let Some(MetricExample { scorer, row, .. }) = examples::metric(name) else { return String::new() };
    let mut text = format!("\n```yaml\nscorers:\n  {name}: {scorer}\n```\n");
    if let Some((output, reference, score)) = row {
        let reference = if reference.is_empty() { String::new() } else { format!("`{reference}`") };
        text.push_str(&format!(
            "\n| output | reference | score |\n|---|---|---:|\n| `{output}` | {reference} | {score} |\n"
        ));
    }
    text
}

/// The page of analyses.
pub(super) fn analyses() -> String {
    let mut page = format!(
        "# Analyses\n\nAn analysis adds a finding to the report, under its id in `analyses` of `report.json`. {GENERATED}\n\n- Run without being listed, where they apply: {}.\n- Part of every report, and named only to be complete: {}. They add nothing under `analyses`.\n- All others run if a suite lists them.\n",
        analysis_names(RunCondition::Always),
        analysis_names(RunCondition::BuiltIn)
    );
    for analysis in karat_analysis::catalog() {
        page.push_str(&format!("\n## {}\n\n{}\n", analysis.name, analysis.about));
        if let Some(example) = examples::analysis(analysis.name) {
            page.push_str(&format!("\n```yaml\nanalyses:\n  - {example}\n```\n"));
        }
        page.push_str(&add_spaces(&options::list(&analysis.options)));
    }
    page
}

/// The names of the analyses that run by this rule.
fn analysis_names(runs: RunCondition) -> String {
    let names = karat_analysis::catalog().into_iter().filter(|analysis| analysis.runs == runs);
    names.map(|analysis| format!("`{}`", analysis.name)).collect::<Vec<_>>().join(", ")
}

/// The page of providers: address, variables and an entry for each.
pub(super) fn providers() -> String {
    let mut page = format!(
        "# Providers\n\n`provider` of a model's entry, and the first part of a model by name: `openai:gpt-5-nano` ([Connect a model](../start/models.md)). Keys are read from the environment, `.env` and `.env.local`; `api_key_env` of an entry names\nanother variable, `api_key_command` a program that prints the key, `base_url` another address. `karat doctor` says which keys are set. {GENERATED}\n\n| provider | address | key | address from the environment |\n|---|---|---|---|\n"
    );
    let known = karat_providers::http_providers();
    for provider in &known {
        page.push_str(&address(provider));
    }
    for (name, options) in karat_providers::catalog() {
        page.push_str(&format!("\n## {name}\n"));
        if let Some(example) = examples::provider(name) {
            page.push_str(&format!("\n{}\n\n```yaml\nmodels:\n  - {}\n```\n", example.about, example.entry));
        }
        page.push_str(&add_spaces(&options::list(&options)));
    }
    page
}

fn address(provider: &HttpProvider) -> String {
    let code = |text: &str| format!("`{text}`");
    let keys = provider.key_variables.iter().map(|name| code(name)).collect::<Vec<_>>().join(" or ");
    let keys = if keys.is_empty() { "none".to_owned() } else { keys };
    let variables = [provider.base_url_variable, provider.version_variable];
    let variables = variables.into_iter().flatten().map(code).collect::<Vec<_>>().join(", ");
    let base = provider.base_url.map_or_else(|| "your own".to_owned(), code);
    format!("| [{name}](#{name}) | {base} | {keys} | {variables} |\n", name = provider.name)
}

/// The page of readers and resolvers.
pub(super) fn readers() -> String {
    let mut page = format!(
        "# Readers and resolvers\n\n{GENERATED}\n\n## Folders\n\nA folder is a dataset with `format: dir`; each matching file is a row. Options of `dataset.with`:\n"
    );
    page.push_str(&add_spaces(&options::list(&karat_suite::dir_options())));
    page.push_str("\n```yaml\ndataset:\n  source: cards\n  format: dir\n  with: { files: \"{date}-card.json\", as: adaptive_card }\n  id: date\n  date: date\n```\n");
    page.push_str("\n## Hugging Face datasets\n\nA folder that was cloned from the hub, or that `save_to_disk` wrote, is a dataset with `format: huggingface`; without `format` it is recognised by its files. Nothing is fetched. Names of labels stand in the place of their numbers. Options of `dataset.with`:\n");
    page.push_str(&add_spaces(&options::list(&karat_suite::huggingface_options())));
    page.push_str("\n```yaml\ndataset:\n  source: my-dataset\n  format: huggingface\n  with: { split: test }\n  input: question\n  reference: answer\n```\n");
    page.push_str("\n## Resolvers\n\nA column with `resolve` is made from files beside the dataset.\n");
    for (name, resolver) in karat_filings::resolvers() {
        page.push_str(&format!("\n### {name}\n\n{}\n", resolver.about));
        page.push_str(&add_spaces(&options::list(&resolver.options())));
    }
    page.push_str("\n```yaml\ncolumns:\n  evidence: { resolve: filing_evidence, with: { chunks: \"{{ params.chunks }}\", tables: \"{{ params.tables }}\" }, missing: empty }\n```\n");
    page
}

/// A list with an empty line before it; nothing for an empty list.
fn add_spaces(list: &str) -> String {
    if list.is_empty() { String::new() } else { format!("\n{list}") }
}

/// Returns true if the schema has options.
#[cfg(test)]
fn has_options(schema: &serde_json::Value) -> bool {
    schema.get("properties").and_then(serde_json::Value::as_object).is_some_and(|options| !options.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PE-36: everything that a suite can name has an example, and the score of a metric's is within its range.
    #[test]
    fn every_registered_name_has_an_example() {
        for (name, entry) in karat_scoring::scorer::catalog() {
            let example = examples::metric(name);
            let example = example.unwrap_or_else(|| panic!("the metric {name} needs an example in examples.rs"));
            if let (Some((.., score)), Some((lowest, highest))) = (example.row, entry.traits.range) {
                assert!((lowest..=highest).contains(&score.parse().unwrap()), "{name} scores {score}");
            }
        }
        for analysis in karat_analysis::catalog().iter().filter(|analysis| has_options(&analysis.options)) {
            assert!(examples::analysis(analysis.name).is_some(), "the analysis {} needs an example", analysis.name);
        }
        for (name, _) in karat_providers::catalog() {
            assert!(examples::provider(name).is_some(), "the provider {name} needs an example");
        }
    }

    #[test]
    fn pages_list_every_option() {
        assert!(metrics().contains("- `stage` (text): "), "{}", metrics());
        assert!(providers().contains("| [openai](#openai) | `https://api.openai.com/v1` | `OPENAI_API_KEY` |"));
        assert!(analyses().contains("\n## delta\n") && readers().contains("\n### filing_gold\n"));
        assert!(!metrics().contains(" ()"));
    }
}
