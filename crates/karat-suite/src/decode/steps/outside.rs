//! Steps that ask a service or a program, and the services of a suite.

use std::collections::BTreeMap;

use karat_text::env_template::GapTemplate;
use karat_text::template::{Context, Template, TemplateError};
use karat_types::{CommandSpec, HttpSpec, Protocol, ServiceSpec};
use serde_json::Value;

use crate::decode::steps::Position;
use crate::decode::{Decoder, word_at};
use crate::diagnostics::nearest::suggestion;
use crate::syntax::environment;
use crate::syntax::names;
use crate::syntax::node::{Node, Tree};
use crate::syntax::notation;

impl Decoder<'_> {
    /// An http step.
    pub fn http(&mut self, node: &Node, position: Position, reads: &mut Vec<String>) -> Option<HttpSpec> {
        let url = self.gap_template(node.main("url")?, GapTemplate::compile_address, position, reads)?;
        let headers = self.gap_templates(node.field("headers"), position, reads);
        let body = node.field("body").map_or(Value::Null, |body| self.body(body, position, reads));
        let method = node.text_of("method").filter(|_| node.text().is_none()).unwrap_or("POST").to_owned();
        Some(HttpSpec { method, url, headers, body })
    }

    /// A command step.
    pub fn command(&mut self, node: &Node, position: Position, reads: &mut Vec<String>) -> Option<CommandSpec> {
        let list = node.main("run")?;
        let program: Vec<String> =
            list.items().iter().take(1).filter_map(|word| Some(word.text()?.to_owned())).collect();
        let protocol = word_at::<Protocol>(node, "protocol").unwrap_or_else(|| Protocol::of(&program));
        let mut run = Vec::new();
        for item in list.items() {
            let mut own = Vec::new();
            run.push(self.outside_template(item, item.text()?, position, &mut own)?);
            if protocol == Protocol::Jsonl && own.iter().any(|name| !name.starts_with("services")) {
                self.problems
                    .error(
                        &item.place,
                        "with `protocol: jsonl` one process serves all rows, so its arguments cannot read a row",
                    )
                    .hint("pass the values of the row in `stdin`");
            }
            reads.extend(own);
        }
        if run.is_empty() {
            self.problems.error(&list.place, "`run` is empty: it needs a program");
        }
        let stdin = match node.field("stdin") {
            Some(stdin) => Some(self.outside_template(stdin, stdin.text()?, position, reads)?),
            None if protocol == Protocol::Jsonl && !position.is_chunked => {
                names::check(
                    &["input".to_owned()],
                    "input",
                    &node.place,
                    names::OUTSIDE,
                    &mut self.pending,
                    &mut self.problems,
                );
                reads.push("input".to_owned());
                None
            }
            None => None,
        };
        let env = self.gap_templates(node.field("env"), position, reads);
        Some(CommandSpec { run, stdin, env, protocol, folder: self.program_folder(node) })
    }

    /// The services of a suite, by id.
    pub fn services(&mut self, node: Option<&Node>) -> BTreeMap<String, ServiceSpec> {
        let entries = node.map(Node::entries).unwrap_or_default();
        let mut services = BTreeMap::new();
        for entry in entries {
            let Some(command) = entry.node.field("command") else { continue };
            if command.items().is_empty() {
                self.problems.error(&command.place, "`command` is empty: it needs a program");
            }
            let version = entry.node.field("version").and_then(|at| {
                let text = self.service_text(at)?;
                self.expand_version(at, &text)
            });
            let env = entry.node.field("env").map(Node::entries).unwrap_or_default();
            let env = env.iter().filter_map(|entry| Some((entry.key.clone(), entry.node.text()?.to_owned())));
            let env = env.collect();
            services.insert(
                entry.key.clone(),
                ServiceSpec {
                    command: command.items().iter().filter_map(|word| self.service_word(word)).collect(),
                    ready: entry.node.text_of("ready").map(str::to_owned),
                    version,
                    env,
                    folder: self.program_folder(&entry.node),
                },
            );
        }
        services
    }

    /// A word of a service's command.
    fn service_word(&mut self, node: &Node) -> Option<String> {
        self.refuse_gaps(&self.params.splice(node.text()?), node);
        self.service_text(node)
    }

    /// A text of a service: it may read params, and the port.
    fn service_text(&mut self, node: &Node) -> Option<String> {
        let written = node.text()?;
        let inlined = self.params.inline_template(&self.params.splice(written), &node.place, &mut self.problems);
        match Template::compile(&inlined) {
            Ok(template) => {
                let (pending, problems) = (&mut self.pending, &mut self.problems);
                names::check(template.reads(), written, &node.place, names::SERVICE, pending, problems);
                // Nothing but a text without gaps is known before the service starts.
                if template.reads().is_empty() { template.render(&Context::new()).ok() } else { Some(inlined) }
            }
            Err(error) => {
                notation::report(&error, "template", written, &node.place, &mut self.problems);
                None
            }
        }
    }

    /// The folder that programs of a file run in; a preset that is built in has none.
    pub fn program_folder(&self, node: &Node) -> String {
        let folder = self.problems.folder(node.place.file);
        if folder.starts_with("preset:") { String::new() } else { folder.to_owned() }
    }

    fn gap_templates(
        &mut self,
        node: Option<&Node>,
        position: Position,
        reads: &mut Vec<String>,
    ) -> BTreeMap<String, String> {
        let entries = node.map(Node::entries).unwrap_or_default();
        let texts = entries.iter().filter_map(|entry| {
            Some((entry.key.clone(), self.gap_template(&entry.node, GapTemplate::compile, position, reads)?))
        });
        texts.collect()
    }

    /// A template that may hold `${NAME}`.
    fn gap_template(
        &mut self,
        node: &Node,
        compile: fn(&str) -> Result<GapTemplate, TemplateError>,
        position: Position,
        reads: &mut Vec<String>,
    ) -> Option<String> {
        let text = self.params.splice(node.text()?);
        let inlined = self.params.inline_template(&text, &node.place, &mut self.problems);
        let template = match compile(&inlined) {
            Ok(template) => template,
            Err(error) => {
                notation::report(&error, "template", &text, &node.place, &mut self.problems);
                return None;
            }
        };
        self.outside_names(template.reads(), &text, node, position);
        reads.extend(template.reads().iter().cloned());
        Some(inlined)
    }

    /// A template that may not.
    fn outside_template(
        &mut self,
        node: &Node,
        text: &str,
        position: Position,
        reads: &mut Vec<String>,
    ) -> Option<String> {
        let spliced = self.params.splice(text);
        self.refuse_gaps(&spliced, node);
        let inlined = self.params.inline_template(&spliced, &node.place, &mut self.problems);
        let template = match Template::compile(&inlined) {
            Ok(template) => template,
            Err(error) => {
                notation::report(&error, "template", text, &node.place, &mut self.problems);
                return None;
            }
        };
        self.outside_names(template.reads(), text, node, position);
        reads.extend(template.reads().iter().cloned());
        Some(inlined)
    }

    /// Reports `${NAME}`, in the text itself or in a parameter of it, where nothing fills it.
    fn refuse_gaps(&mut self, spliced: &str, node: &Node) {
        if environment::mentions(spliced) {
            self.problems
                .error(&node.place, "`${…}` is not allowed here")
                .hint("only url, headers, env and version read the environment");
        }
    }

    fn outside_names(&mut self, reads: &[String], text: &str, node: &Node, position: Position) {
        let roots = if position.is_chunked { names::CHUNKED_OUTSIDE } else { names::OUTSIDE };
        self.names(reads, text, &node.place, roots, position);
        for name in reads.iter().filter(|name| name.split('.').next() == Some("services")) {
            let place = notation::name_within(&node.place, text, name, &self.problems);
            match name.split('.').collect::<Vec<_>>().as_slice() {
                [_, id, "url"] if self.services.contains_key(*id) => {}
                [_, id, "url"] => {
                    let known = self.services.keys().map(String::as_str);
                    let hint = suggestion(id, known);
                    self.problems.error(&place, format!("there is no service `{id}`")).maybe_hint(hint);
                }
                _ => {
                    self.problems.error(&place, format!("a service has no `{name}`")).hint("write services.ID.url");
                }
            }
        }
    }

    /// A body, every text of it a checked template.
    fn body(&mut self, node: &Node, position: Position, reads: &mut Vec<String>) -> Value {
        match &node.value {
            Tree::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), self.body(&entry.node, position, reads))).collect()
            }
            Tree::List(items) => items.iter().map(|item| self.body(item, position, reads)).collect(),
            Tree::Scalar { value: Value::String(text), .. } => {
                self.outside_template(node, text, position, reads).map_or(Value::Null, Value::String)
            }
            Tree::Scalar { value, .. } => value.clone(),
        }
    }
}
