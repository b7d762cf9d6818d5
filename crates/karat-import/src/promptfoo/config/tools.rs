//! Tools that models are offered, as `tools` of the suite: all models of a suite get the same.

use std::path::Path;

use serde_json::{Map, Value};

use super::providers::{Provider, Target};
use crate::error::ImportError;
use crate::promptfoo::files;
use crate::promptfoo::refusal::Refusal;
use crate::report::ImportReport;
use crate::source::Source;

/// The tools of a config by name, as a suite declares them; empty where it has none that can be carried over.
///
/// # Errors
/// A file of tools that cannot be read or lies outside.
pub(super) fn read_tools(
    source: &Source,
    from: &Path,
    providers: &[Provider],
    report: &mut ImportReport,
) -> Result<Map<String, Value>, ImportError> {
    let offered = providers.iter().filter_map(|provider| Some((provider, provider.tools.as_ref()?)));
    let Some((_, first)) = offered.clone().next() else { return Ok(Map::new()) };
    let is_common = providers.iter().all(|provider| match provider.target {
        Target::Model { .. } => provider.tools.as_ref() == Some(first),
        Target::Service { .. } => false,
    });
    let tools = match first.as_str().and_then(files::file_name) {
        Some(name) if files::is_code(name) => None,
        Some(name) => declared_tools(&source.yaml(&source.beneath(from, name)?)?),
        None => declared_tools(first),
    };
    if let (true, Some(tools)) = (is_common, tools) {
        return Ok(tools);
    }
    for (provider, _) in offered {
        let why = if is_common { "is not a list of functions" } else { "offers tools to some of the providers only" };
        let refusal = Refusal::new(why).instead("`tools` of the suite and of the prompt");
        report.drop(refusal.of_all(&format!("{}.config.tools", provider.path), "tools"));
    }
    Ok(Map::new())
}

/// Functions in the form of OpenAI or Anthropic; `None` if anything else is among them.
fn declared_tools(value: &Value) -> Option<Map<String, Value>> {
    let tools = value.as_array()?.iter().map(|tool| {
        let function = tool.get("function").unwrap_or(tool);
        let name = function.get("name")?.as_str()?;
        let mut declared = Map::new();
        let about = function.get("description").filter(|about| about.is_string());
        declared.extend(about.map(|about| ("about".to_owned(), about.clone())));
        let input =
            function.get("parameters").or_else(|| function.get("input_schema")).filter(|input| input.is_object());
        declared.extend(input.map(|input| ("input".to_owned(), input.clone())));
        Some((name.to_owned(), Value::Object(declared)))
    });
    tools.collect::<Option<Map<_, _>>>().filter(|tools| !tools.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// IO-02: functions of OpenAI and of Anthropic.
    #[test]
    fn functions_become_tools() {
        let schema = json!({"type": "object"});
        let openai =
            json!([{"type": "function", "function": {"name": "a", "description": "Does a.", "parameters": schema}}]);
        let expected = json!({"a": {"about": "Does a.", "input": schema}});
        assert_eq!(declared_tools(&openai).map(Value::Object), Some(expected));
        let anthropic = json!([{"name": "b", "input_schema": schema}]);
        assert_eq!(declared_tools(&anthropic).map(Value::Object), Some(json!({"b": {"input": schema}})));
        for other in [json!([{"type": "web_search"}]), json!([]), json!("x")] {
            assert_eq!(declared_tools(&other), None, "{other}");
        }
    }
}
