//! `tools`: what a model may call, and what answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_text::template::{Context, Template};
use karat_types::{CommandSpec, Protocol, ToolChoice, ToolDefinition, ToolExecutor, ToolReply, ToolSpec};
use serde_json::{Value, json};

use super::{Decoder, word_at};
use crate::diagnostics::nearest::suggestion;
use crate::syntax::environment;
use crate::syntax::names;
use crate::syntax::node::{Entry, Node};

/// The keys of a tool that say what answers its calls.
const EXECUTORS: &[&str] = &["result", "replies", "command", "http"];

/// Words that `tool_choice` gives a meaning of its own.
const CHOICES: &[&str] = &["auto", "none", "any"];

impl Decoder<'_> {
    /// The tools of a suite, in their order.
    pub fn tools(&mut self, node: Option<&Node>) -> Vec<ToolSpec> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| self.tool(entry)).collect()
    }

    fn tool(&mut self, entry: &Entry) -> Option<ToolSpec> {
        let Entry { key: id, node, .. } = entry;
        if !is_name(id) {
            self.problems
                .error(&entry.place, format!("`{id}` is not a name of a tool"))
                .hint("a name has 1 to 64 letters, digits, `_` and `-`");
        }
        if CHOICES.contains(&id.as_str()) {
            self.problems
                .error(
                    &entry.place,
                    format!("a tool cannot be called `{id}`: `tool_choice` has a meaning for this word"),
                )
                .hint("give it another name");
        }
        let input = self.tool_input(id, node)?;
        let executor = self.executor(id, node);
        let version = self.version(node).or_else(|| match &executor {
            Some(ToolExecutor::Command(command)) => self.version_of_function(&command.run),
            _ => None,
        });
        let is_outside = matches!(executor, Some(ToolExecutor::Command(_) | ToolExecutor::Http { .. }));
        if is_outside && version.is_none() {
            self.problems
                .warn(&node.place, format!("the tool `{id}` has no `version`, so it counts as `unknown-v0`: only `resume` reuses its results"))
                .hint("add `version:`, the version of the program or service");
        }
        Some(ToolSpec { id: id.clone(), about: node.text_of("about").map(str::to_owned), input, version, executor })
    }

    /// The schema of a tool's arguments, inline or in a file.
    fn tool_input(&mut self, id: &str, node: &Node) -> Option<Arc<Value>> {
        let Some(input) = node.field("input") else {
            return Some(Arc::new(json!({ "type": "object", "properties": {} })));
        };
        let schema = match input.text() {
            Some(_) => self.schema(input)?,
            None => {
                let name = format!("tool `{id}`: `input`");
                Arc::new(self.usable_schema(input.json(), &name, input)?)
            }
        };
        if schema["type"] != "object" {
            self.problems
                .error(&input.place, format!("tool `{id}`: `input` is not an object schema"))
                .hint("write `{ type: object, properties: { … } }`: providers take nothing else");
            return None;
        }
        Some(schema)
    }

    fn executor(&mut self, id: &str, node: &Node) -> Option<ToolExecutor> {
        let mut given = node.entries().iter().filter(|entry| EXECUTORS.contains(&entry.key.as_str()));
        let first = given.next()?;
        if let Some(second) = given.next() {
            self.problems
                .error(
                    &second.place,
                    format!("tool `{id}`: `{}` and `{}` both answer its calls", first.key, second.key),
                )
                .hint("keep one of them");
        }
        let at = &first.node;
        match first.key.as_str() {
            "result" => self.tool_template(at).map(ToolExecutor::Result),
            "replies" => self.tool_replies(at).map(|rows| ToolExecutor::Replies(Arc::new(rows))),
            "command" => self.tool_command(at).map(ToolExecutor::Command),
            _ => {
                let url = self.tool_text(at.main("url")?)?;
                Some(ToolExecutor::Http { url, headers: self.tool_texts(at.field("headers")) })
            }
        }
    }

    /// A template over the arguments and the row.
    fn tool_template(&mut self, node: &Node) -> Option<String> {
        let text = node.text()?;
        let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
        let template = Template::compile(&inlined).ok()?;
        names::check(template.reads(), text, &node.place, names::TOOL, &mut self.pending, &mut self.problems);
        Some(inlined)
    }

    /// Written replies, from a file or in the suite itself.
    fn tool_replies(&mut self, node: &Node) -> Option<Vec<ToolReply>> {
        let rows = match node.text() {
            Some(_) => self.rows(node)?,
            None => node.items().iter().map(Node::json).collect(),
        };
        let mut replies = Vec::with_capacity(rows.len());
        for (at, row) in rows.into_iter().enumerate() {
            let number = at + 1;
            let reply: ToolReply = match serde_json::from_value(row) {
                Ok(reply) => reply,
                Err(error) => {
                    self.problems
                        .error(&node.place, format!("reply {number} cannot be read: {error}"))
                        .hint("a reply is `{ arguments: { … }, result: … }`, or has `error` in the place of `result`");
                    return None;
                }
            };
            if reply.result.is_some() == reply.error.is_some() {
                self.problems
                    .error(&node.place, format!("reply {number} needs either `result` or `error`"))
                    .hint("the model is told one of them");
            }
            if !(reply.arguments.is_null() || reply.arguments.is_object()) {
                self.problems.error(&node.place, format!("the `arguments` of reply {number} are no object"));
            }
            replies.push(reply);
        }
        Some(replies)
    }

    /// A program. It reads its calls from standard input: nothing of a model or row is an argument.
    fn tool_command(&mut self, node: &Node) -> Option<CommandSpec> {
        let list = node.main("run")?;
        let run: Option<Vec<String>> = list.items().iter().map(|word| self.tool_word(word)).collect();
        if list.items().is_empty() {
            self.problems.error(&list.place, "`run` is empty: it needs a program");
        }
        let run = run?;
        Some(CommandSpec {
            stdin: None,
            env: self.tool_texts(node.field("env")),
            protocol: word_at::<Protocol>(node, "protocol").unwrap_or_else(|| Protocol::of(&run)),
            run,
            folder: self.program_folder(node),
        })
    }

    /// A word that no row and no environment changes.
    fn tool_word(&mut self, node: &Node) -> Option<String> {
        let text = self.params.splice(node.text()?);
        if environment::mentions(&text) {
            self.problems
                .error(&node.place, "`${…}` is not allowed here")
                .hint("only url, headers, env and version read the environment");
        }
        self.constant(&text, node)
    }

    /// A text that the environment may fill, but no row.
    fn tool_text(&mut self, node: &Node) -> Option<String> {
        let text = self.params.splice(node.text()?);
        self.constant(&text, node)
    }

    fn tool_texts(&mut self, node: Option<&Node>) -> BTreeMap<String, String> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| Some((entry.key.clone(), self.tool_text(&entry.node)?))).collect()
    }

    /// A text with parameters filled in, which reads nothing else.
    fn constant(&mut self, text: &str, node: &Node) -> Option<String> {
        let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
        let template = Template::compile(&inlined).ok()?;
        if let Some(name) = template.reads().first() {
            self.problems
                .error(&node.place, format!("`{name}` cannot be used here: the tool is the same for every call"))
                .hint("a program or service reads the call and the row's id from its input");
            return None;
        }
        template.render(&Context::new()).ok()
    }

    /// The tools that a prompt offers.
    pub fn offered_tools(&mut self, node: Option<&Node>) -> Vec<ToolDefinition> {
        let mut offered: Vec<ToolDefinition> = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(id) = item.text() else { continue };
            match self.tools.iter().find(|tool| tool.id == id) {
                Some(_) if offered.iter().any(|known| known.name == id) => {
                    self.problems.error(&item.place, format!("the tool `{id}` is offered twice"));
                }
                Some(tool) => offered.push(tool.definition()),
                None if self.declared_tools.iter().any(|known| known == id) => {}
                None => {
                    let hint = suggestion(id, self.declared_tools.iter().map(String::as_str));
                    self.problems.error(&item.place, format!("no tool `{id}`")).maybe_hint(hint);
                }
            }
        }
        offered
    }

    /// The choice among the offered tools.
    pub fn tool_choice(&mut self, node: Option<&Node>, offered: &[ToolDefinition]) -> Option<ToolChoice> {
        let node = node?;
        let text = node.text()?;
        if offered.is_empty() {
            self.problems
                .error(&node.place, "`tool_choice` needs `tools`")
                .hint("name the tools that the model is offered");
            return None;
        }
        match text {
            "auto" => Some(ToolChoice::Auto),
            "none" => Some(ToolChoice::None),
            "any" => Some(ToolChoice::Any),
            id if offered.iter().any(|tool| tool.name == id) => Some(ToolChoice::Tool(id.to_owned())),
            id => {
                let known = CHOICES.iter().copied().chain(offered.iter().map(|tool| tool.name.as_str()));
                let hint = suggestion(id, known);
                self.problems
                    .error(&node.place, format!("`tool_choice` is `{id}`, which is not a tool of this prompt"))
                    .maybe_hint(hint);
                None
            }
        }
    }
}

fn is_name(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
