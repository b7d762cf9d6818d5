//! The page that lists everything registered with its options, made from the code that reads them.

use serde_json::Value;

const HEAD: &str = "# Metrics, analyses, providers, readers, resolvers

Everything that a suite can name, with the options that stand in its `with`. Written by `cargo xtask generate` from the code
that reads the options; the suite language itself is in [suite.md](suite.md).
";

/// `docs/reference.md`.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Metrics\n`output` says what of the output is scored, `reference` or `value` against what.\n");
    for (name, metric) in karat_scoring::scorer::catalog() {
        let mut facts = Vec::new();
        facts.extend(metric.range.map(|(low, high)| format!("{low} to {high}")));
        facts.extend(metric.binary.then(|| "0 or 1".to_owned()));
        facts.extend((metric.better == karat_types::Better::Lower).then(|| "lower is better".to_owned()));
        facts.extend(metric.volatile.then(|| "not in the canonical report".to_owned()));
        if !metric.dimensions.is_empty() {
            facts.push(format!("figures: {}", metric.dimensions.join(", ")));
        }
        let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join("; ")) };
        entry(&mut page, name, &format!("{}{facts}", metric.about), &metric.options);
    }
    page.push_str("\n## Analyses\n");
    for analysis in karat_analysis::catalog() {
        entry(&mut page, analysis.name, analysis.about, &analysis.options);
    }
    page.push_str("\n## Providers\n`provider` of a registry entry; the options stand in its `with`.\n");
    for (name, options) in karat_providers::catalog() {
        entry(&mut page, name, "", &options);
    }
    page.push_str("\n## Readers\nOptions of `format: dir`.\n");
    list(&mut page, &karat_suite::dir_options());
    page.push_str("\n## Resolvers\n`resolve` of a column; the options stand in its `with`.\n");
    for (name, resolver) in karat_filings::resolvers() {
        entry(&mut page, name, resolver.about, &resolver.options());
    }
    page
}

fn entry(page: &mut String, name: &str, about: &str, options: &Value) {
    page.push_str(&format!("\n### {name}\n"));
    if !about.is_empty() {
        page.push_str(&format!("{about}\n"));
    }
    list(page, options);
}

/// The options of a schema as a list; nothing where there is none.
fn list(page: &mut String, options: &Value) {
    let Some(properties) = options.get("properties").and_then(Value::as_object) else { return };
    let required = options.get("required").and_then(Value::as_array);
    for (name, option) in properties {
        let must = required.is_some_and(|names| names.iter().any(|required| required == name));
        let mut facts = vec![kind(option, options)];
        facts.extend(must.then(|| "required".to_owned()));
        let default = option.get("default").filter(|default| !default.is_null() && default.as_str() != Some(""));
        facts.extend(default.map(|default| format!("default {default}")));
        facts.retain(|fact| !fact.is_empty());
        let about = option.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        let about = if about.is_empty() { String::new() } else { format!(": {about}") };
        page.push_str(&format!("- `{name}` ({}){about}\n", facts.join(", ")));
    }
}

/// What an option may be, in words.
fn kind(option: &Value, root: &Value) -> String {
    if let Some(reference) = option.get("$ref").and_then(Value::as_str) {
        let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or_else(String::new, |found| kind(found, root));
    }
    if let Some(words) = option.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join(" | ");
    }
    if let Some(parts) = ["oneOf", "anyOf"].iter().find_map(|key| option.get(*key)).and_then(Value::as_array) {
        let mut kinds: Vec<String> =
            parts.iter().map(|part| kind(part, root)).filter(|kind| !kind.is_empty()).collect();
        kinds.dedup();
        return kinds.join(" | ");
    }
    if let Some(word) = option.get("const").and_then(Value::as_str) {
        return word.to_owned();
    }
    let word = |name: &str| match name {
        "string" if option.get("format").is_some_and(|format| format == "file") => "file".to_owned(),
        "string" => "text".to_owned(),
        "array" => match option.get("items").map(|items| kind(items, root)).filter(|kind| !kind.is_empty()) {
            Some(items) => format!("list of {items}"),
            None => "list".to_owned(),
        },
        "object" => "map".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    };
    match option.get("type") {
        Some(Value::String(name)) => word(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.map(word).collect::<Vec<_>>().join(" | ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every metric, analysis and provider is on the page, and every option has a kind.
    #[test]
    fn the_page_lists_everything() {
        let page = reference();
        for name in ["set_f1", "command", "latency", "delta", "gemini", "azure", "scripted"] {
            assert!(page.contains(&format!("\n### {name}\n")), "{name}");
        }
        assert!(page.contains("- `stage` (text): A stage that a step's `meter` names"), "{page}");
        assert!(!page.contains(" ()"), "{page}");
    }
}
