//! Decoding of one step: files are read, templates compiled, defaults filled in.
//!
//! - here: prompt steps, and the keys that all steps have; `outside.rs`: http and command steps, services;
//!   `recorded.rs`: recorded steps, and files whose rows are joined with samples
//! - `turns.rs`: `messages` of a prompt; `agent.rs`: agents; `variants.rs`: lists of steps with `use` inlined; `meter.rs`: `meter`

mod agent;
pub(crate) mod meter;
pub(crate) mod outside;
pub(crate) mod recorded;
pub(crate) mod turns;
pub(crate) mod variants;

use std::collections::BTreeMap;

use karat_text::template::{Expression, Template};
use karat_types::{
    Action, ChunkSize, ChunkSpec, MergeHow, MergeSpec, ParseAs, ParseSpec, PromptContent, PromptSpec, PromptTurn,
    Requires, Role, StepSpec, TakeSpec, host_function,
};

use super::{Decoder, integer_at, word_at};
use crate::registry::Registry;
use crate::syntax::names;
use crate::syntax::node::{Node, Place};
use crate::syntax::notation;

/// Forms of a reply, which a bare `parse` does not take.
const PARSED_FORMS: &[&str] = &["json", "text", "lines", "bullets", "yaml", "csv"];

/// The names through which a prompt depends on its row.
const ROW: &[&str] = &["sample", "input", "reference", "output", "chunk"];

/// A gap as other programs write it, such as `{ticket}`, and the name in it.
fn gap_of_another_notation(text: &str) -> Option<(String, String)> {
    for (open, close) in [("{", "}"), ("<", ">"), ("[", "]"), ("$", "")] {
        for (at, _) in text.match_indices(open) {
            let rest = &text[at + open.len()..];
            let name: String = rest.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
            let is_name = name.starts_with(|it: char| it.is_alphabetic() || it == '_');
            if is_name && rest[name.len()..].starts_with(close) {
                return Some((format!("{open}{name}{close}"), name));
            }
        }
    }
    None
}

/// Position of a step in its variant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    /// From 0.
    pub index: usize,
    /// True if a step before it, in a variant that uses this one too, has made an output.
    pub has_output: bool,
    /// True if that output is the text of a reply.
    pub is_after_text: bool,
    /// True if it works on pieces, so that its templates see `chunk`.
    pub is_chunked: bool,
}

impl Decoder<'_> {
    /// A step, unless its action cannot be read.
    pub fn step(&mut self, node: &Node, position: Position, registry: &Registry) -> Option<StepSpec> {
        let chunk = node.field("chunk").and_then(|chunk| self.chunk(chunk, position));
        let position = Position { is_chunked: chunk.is_some(), ..position };
        let mut reads = Vec::new();
        let mut media_reads = Vec::new();
        let errors = self.problems.errors();
        let action = self.action(node, position, (&mut reads, &mut media_reads), registry)?;
        // A name that is not there is told by itself.
        if let (Action::Prompt(prompt), None) = (&action, &chunk)
            && self.problems.errors() == errors
            && !reads.iter().chain(&media_reads).any(|name| ROW.iter().any(|root| names::is_under(name, root)))
        {
            self.warn_of_equal_prompts(node, prompt);
        }
        if let Some(chunk) = &chunk {
            reads.extend(Expression::compile(&chunk.of).map(|of| of.reads().to_vec()).unwrap_or_default());
        }
        reads.sort_unstable();
        reads.dedup();
        media_reads.sort_unstable();
        media_reads.dedup();
        self.beside_the_action(node, &action);
        let id = node.text_of("id").map_or_else(|| position.index.to_string(), str::to_owned);
        let version = self.version(node).or_else(|| self.version_of_service(&reads));
        let version = version.or_else(|| match &action {
            Action::Command(command) => self.version_of_function(&command.run),
            _ => None,
        });
        if action.is_outside() && version.is_none() {
            self.problems
                .warn(&node.place, format!("the step `{id}` has no `version`, so it counts as `unknown-v0`: only `resume` reuses its results"))
                .hint("add `version:`, the version of the program or service");
        }
        let spec = StepSpec {
            id,
            version,
            action,
            chunk,
            parse: node.field("parse").and_then(|parse| self.parse(parse)),
            take: self.take(node),
            merge: node.field("merge").and_then(merge),
            meter: node.field("meter").map(|meter| self.meter(meter, registry)),
            requires: requires(node),
            model: None,
            parameters: self.parameters(node.field("parameters")),
            timeout_ms: self.duration(node, "timeout"),
            retries: integer_at(node, "retries"),
            reads,
            media_reads,
        };
        if let Some(parse) = node.field("parse").filter(|_| spec.offers_tools()) {
            self.problems
                .error(
                    &parse.place,
                    format!("step `{}`: with `tools` the output is an object; `parse` in a later step", spec.id),
                )
                .hint("remove `parse`, or `tools`");
        }
        Some(spec)
    }

    /// Warns of a prompt that is the same for every row.
    fn warn_of_equal_prompts(&mut self, node: &Node, prompt: &PromptSpec) {
        let Some(at) = node.field("prompt") else { return };
        let file = at.main("file").filter(|_| at.field("messages").or(at.field("user")).or(at.field("text")).is_none());
        let which = match file.and_then(Node::text) {
            Some(file) => format!("the prompt {file}"),
            None => "this prompt".to_owned(),
        };
        let mut texts = prompt.messages.iter().filter_map(|turn| match turn {
            PromptTurn::Written { content: PromptContent::Text(text), .. } => Some(text.as_str()),
            _ => None,
        });
        let hint = match texts.find_map(gap_of_another_notation) {
            Some((written, name)) => format!("write `{{{{ sample.{name} }}}}` for `{written}`"),
            None => "a column is read as `{{ sample.COLUMN }}`".to_owned(),
        };
        self.problems.warn(&at.place, format!("{which} reads no column, so every row gets the same text")).hint(hint);
    }

    fn action(
        &mut self,
        node: &Node,
        position: Position,
        (reads, media_reads): (&mut Vec<String>, &mut Vec<String>),
        registry: &Registry,
    ) -> Option<Action> {
        if let Some(prompt) = node.field("prompt") {
            let roots = if position.is_chunked { names::CHUNKED_STEP } else { names::STEP };
            let messages = self.messages(prompt, roots, position, (reads, media_reads))?;
            let tools = self.offered_tools(prompt.field("tools").filter(|_| prompt.text().is_none()));
            let tool_choice = self.tool_choice(prompt.field("tool_choice"), &tools);
            return Some(Action::Prompt(PromptSpec { messages, tools, tool_choice }));
        }
        if let Some(agent) = node.field("agent") {
            let agent = self.agent(agent, position, (reads, media_reads), registry)?;
            return Some(Action::Agent(Box::new(agent)));
        }
        if let Some(http) = node.field("http") {
            return self.http(http, position, reads).map(Action::Http);
        }
        if let Some(command) = node.field("command") {
            return self.command(command, position, reads).map(Action::Command);
        }
        node.field("recorded").and_then(|recorded| self.recorded_step(recorded, reads)).map(Action::Recorded)
    }

    /// The version of the service that a step asks, where that is all that answers.
    fn version_of_service(&self, reads: &[String]) -> Option<String> {
        let mut ids = reads.iter().filter_map(|name| name.strip_prefix("services.")?.split('.').next());
        let only = ids.next().filter(|_| ids.next().is_none())?;
        self.services.get(only)?.version.clone()
    }

    /// The version of the host function that a command line names, if the caller has it.
    pub fn version_of_function(&self, run: &[String]) -> Option<String> {
        self.host_functions.get(host_function(run)?).cloned()
    }

    /// A declared version.
    pub fn version(&mut self, node: &Node) -> Option<String> {
        let at = node.field("version")?;
        self.expand_version(at, at.text()?)
    }

    /// The text of a declared version. It is part of identity, so `${NAME}` in it is replaced here.
    pub fn expand_version(&mut self, at: &Node, version: &str) -> Option<String> {
        match self.environment.expand(version) {
            Ok(version) => Some(version),
            Err(variable) => {
                self.problems
                    .error(&at.place, format!("the environment variable {variable} is not set"))
                    .hint(format!("set it, or write a default: ${{{variable}:-unknown}}"));
                None
            }
        }
    }

    fn messages(
        &mut self,
        prompt: &Node,
        roots: &[&str],
        position: Position,
        (reads, media_reads): (&mut Vec<String>, &mut Vec<String>),
    ) -> Option<Vec<PromptTurn>> {
        let mut message = |this: &mut Self, role: Role, node: &Node| {
            let content = this.template(node, roots, position, reads)?;
            Some(PromptTurn::text(role, content))
        };
        if let Some(turns) = prompt.field("messages") {
            let system = prompt.field("system").map(|system| message(self, Role::System, system));
            let mut read = turns::Reads::default();
            let turns = self.turns(turns, roots, position, &mut read)?;
            reads.extend(read.names);
            media_reads.extend(read.media);
            return Some(system.flatten().into_iter().chain(turns).collect());
        }
        if let Some(user) = prompt.field("user").filter(|_| prompt.text().is_none()) {
            let system = prompt.field("system").map(|system| message(self, Role::System, system));
            let user = message(self, Role::User, user)?;
            return Some(system.flatten().into_iter().chain([user]).collect());
        }
        if let Some(system) = prompt.field("system") {
            self.problems
                .error(&system.place, "`system` needs `user` or `messages`")
                .hint("write `prompt: { system: …, user: … }`");
        }
        if let Some(text) = prompt.field("text").filter(|_| prompt.text().is_none()) {
            return message(self, Role::User, text).map(|message| vec![message]);
        }
        if let Some(text) = prompt.text().filter(|text| reads_row(text)) {
            let message =
                format!("a bare string under `prompt` is the path of a template file, but `{text}` reads the row");
            self.problems
                .error(&prompt.place, message)
                .hint("for a prompt in the suite write `prompt: { text: \"…\" }`");
            return None;
        }
        let file = prompt.main("file")?;
        if prompt.text().is_some() && self.is_no_file(file) {
            return None;
        }
        let content = self.template_file(file, roots, position, reads)?;
        Some(vec![PromptTurn::text(Role::User, content)])
    }

    /// Reports a bare prompt that is not a file: most likely it is meant as the text.
    fn is_no_file(&mut self, node: &Node) -> bool {
        let Some(path) = self.path(node) else { return true };
        if self.files.is_file(&path) {
            return false;
        }
        let write = "for a prompt in the suite write `prompt: { text: \"…\" }`";
        let hint = self.nearest_file(&path).map_or_else(|| write.to_owned(), |near| format!("{near} Or {write}"));
        self.problems
            .error(
                &node.place,
                format!("there is no file `{path}`: a bare string under `prompt` is the path of a file"),
            )
            .hint(hint);
        true
    }

    /// The template of a node, parameters written in, names checked.
    fn template(&mut self, node: &Node, roots: &[&str], position: Position, reads: &mut Vec<String>) -> Option<String> {
        let text = node.text()?;
        self.checked_template(text, &node.place, roots, position, reads)
    }

    /// The template in the file that a node names.
    fn template_file(
        &mut self,
        node: &Node,
        roots: &[&str],
        position: Position,
        reads: &mut Vec<String>,
    ) -> Option<String> {
        let (path, text) = self.text(node)?;
        let place = self.register(&path, &text);
        if text.trim().is_empty() {
            self.problems.error(&node.place, format!("the file {path} is empty"));
            return None;
        }
        if let Err(error) = Template::compile(&text) {
            notation::report(&error, "template", &text, &place, &mut self.problems);
            return None;
        }
        self.checked_template(&text, &place, roots, position, reads)
    }

    fn checked_template(
        &mut self,
        text: &str,
        place: &Place,
        roots: &[&str],
        position: Position,
        reads: &mut Vec<String>,
    ) -> Option<String> {
        let inlined = self.params.inline_template(text, place, &mut self.problems);
        let template = Template::compile(&inlined).ok()?;
        self.names(template.reads(), text, place, roots, position);
        reads.extend(template.reads().iter().cloned());
        Some(inlined)
    }

    pub(super) fn names(&mut self, reads: &[String], text: &str, place: &Place, roots: &[&str], position: Position) {
        names::check(reads, text, place, roots, &mut self.pending, &mut self.problems);
        let output = reads.iter().find(|name| *name == "output" || name.starts_with("output."));
        if let Some(output) = output.filter(|_| !position.has_output && roots.contains(&"output")) {
            let at = notation::name_within(place, text, output, &self.problems);
            self.problems
                .error(&at, "the first step has no `output` to read")
                .hint("`output` is the output of the previous step");
        }
        let of_text = reads.iter().filter(|name| position.is_after_text && name.starts_with("output."));
        for name in of_text.filter(|name| !names::is_defaulted(text, name)) {
            let at = notation::name_within(place, text, name, &self.problems);
            self.problems
                .error(
                    &at,
                    format!("`{name}` reads a part of the step before, whose reply is a text that nothing parses"),
                )
                .hint("add `parse: { as: json }` to that step");
        }
    }

    fn chunk(&mut self, node: &Node, position: Position) -> Option<ChunkSpec> {
        let of = node.field("of")?;
        let inlined = self.params.inline_expression(of.text()?, &of.place, &mut self.problems);
        let expression = Expression::compile(&inlined).ok()?;
        self.names(expression.reads(), of.text()?, &of.place, names::STEP, position);
        let size = match (integer_at(node, "tokens"), integer_at(node, "items")) {
            (Some(_), Some(_)) => {
                self.problems
                    .error(&node.place, "`tokens` cannot be combined with `items`")
                    .hint("keep one of the two");
                return None;
            }
            (Some(tokens), None) => Some(ChunkSize::Tokens(tokens)),
            (None, Some(items)) => Some(ChunkSize::Items(items)),
            (None, None) => None,
        };
        let overlap = integer_at(node, "overlap").unwrap_or(0);
        if let Some(ChunkSize::Tokens(least) | ChunkSize::Items(least)) = size
            && overlap >= least
        {
            let place = node.field("overlap").map_or(&node.place, |overlap| &overlap.place);
            self.problems.error(place, format!("`overlap` ({overlap}) must be smaller than a piece ({least})"));
        }
        Some(ChunkSpec { of: inlined, size, overlap, max: integer_at(node, "max") })
    }

    fn parse(&mut self, node: &Node) -> Option<ParseSpec> {
        if let Some(word) = node.text().filter(|text| PARSED_FORMS.contains(text)) {
            self.problems
                .error(
                    &node.place,
                    format!("a bare string under `parse` is the path of a schema, and `{word}` is a form"),
                )
                .hint(format!("write `parse: {{ as: {word} }}`"));
            return None;
        }
        let schema = match node.main("schema") {
            Some(file) => Some(self.schema(file)?),
            None => None,
        };
        let form = word_at::<ParseAs>(node, "as").unwrap_or_default();
        Some(ParseSpec {
            form,
            section: node.text_of("section").map(str::to_owned),
            schema,
            into: node.text_of("into").map(str::to_owned),
            reask: integer_at(node, "reask").unwrap_or(1),
        })
    }

    fn take(&mut self, node: &Node) -> BTreeMap<String, TakeSpec> {
        let entries = node.field("take").map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| Some((entry.key.clone(), self.taken_part(&entry.node)?))).collect()
    }

    fn taken_part(&mut self, node: &Node) -> Option<TakeSpec> {
        let each = node.field("each");
        if let Some(path) = node.main("path") {
            if let Some(each) = each {
                self.problems.error(&each.place, "`each` needs `as`: the new names for each member");
            }
            return Some(TakeSpec::Path(path.text()?.to_owned()));
        }
        let parts = node.field("as").map(Node::entries).unwrap_or_default();
        let parts = parts.iter().filter_map(|part| Some((part.key.clone(), part.node.text()?.to_owned())));
        Some(TakeSpec::Renamed { each: each.and_then(Node::text).map(str::to_owned), r#as: parts.collect() })
    }

    fn beside_the_action(&mut self, node: &Node, action: &Action) {
        let (what, foreign): (&str, &[&str]) = match action {
            Action::Prompt(_) => ("the facts of a prompt step come from its provider", &["meter"]),
            Action::Agent(_) => ("an agent answers with an object", &["meter", "chunk", "merge"]),
            Action::Http(_) => ("an http step calls no model", &["model", "parameters", "requires"]),
            Action::Command(_) => ("a command step calls no model", &["model", "parameters", "requires"]),
            Action::Recorded(_) => {
                ("a recorded step calls nothing", &["model", "parameters", "timeout", "retries", "requires", "chunk"])
            }
        };
        for entry in node.entries().iter().filter(|entry| foreign.contains(&entry.key.as_str())) {
            self.problems.error(&entry.place, format!("{what}, so `{}` has no effect", entry.key));
        }
        let pieces = node.field("chunk").is_some();
        let sized = |chunk: &&Node| chunk.field("tokens").is_some() || chunk.field("items").is_some();
        if let Some(chunk) = node.field("chunk").filter(|chunk| action.is_outside() && !sized(chunk)) {
            self.problems
                .error(&chunk.place, "`chunk` needs a size: there is no model whose context window would set it")
                .hint("add `tokens` for a text or `items` for a list");
        }
        if let Some(entry) = node.entries().iter().find(|entry| entry.key == "merge" && !pieces) {
            self.problems.error(&entry.place, "`merge` needs `chunk`: it joins the outputs of the pieces");
        }
    }
}

/// Returns whether a template reads anything but parameters.
fn reads_row(text: &str) -> bool {
    Template::compile(text).is_ok_and(|template| template.reads().iter().any(|name| !name.starts_with("params.")))
}

fn merge(node: &Node) -> Option<MergeSpec> {
    let how = node.main("how")?.text()?;
    Some(MergeSpec {
        how: serde_json::from_value::<MergeHow>(how.into()).ok()?,
        of: node.text_of("of").map(str::to_owned),
        by: node.text_of("by").map(str::to_owned),
        similar: node.field("similar").and_then(Node::number),
    })
}

fn requires(node: &Node) -> Requires {
    node.field("requires").and_then(|it| serde_json::from_value(it.json()).ok()).unwrap_or_default()
}

/// The name that a path into the row has in lists of read names.
fn column_name(path: &str) -> String {
    let path = path.trim_start_matches("$.").trim_start_matches('$');
    let column = path.split(['.', '[']).next().unwrap_or_default();
    if column.is_empty() { "sample".to_owned() } else { format!("sample.{column}") }
}
