//! `agent`: the loop's first turns, tools, limits and user.

use karat_text::template::Template;
use karat_types::{
    AgentLimits, AgentSpec, ModelSpec, Money, PromptTurn, Role, ToolExecutor, ToolSpec, UserSpec, VariantSpec,
};
use serde_json::json;

use super::Position;
use crate::decode::{Decoder, integer_at};
use crate::diagnostics::nearest::suggestion;
use crate::registry::Registry;
use crate::syntax::node::Node;
use crate::syntax::{names, notation};

impl Decoder<'_> {
    pub(super) fn agent(
        &mut self,
        node: &Node,
        position: Position,
        (reads, media_reads): (&mut Vec<String>, &mut Vec<String>),
        registry: &Registry,
    ) -> Option<AgentSpec> {
        let user = node.field("simulate").map(|simulate| self.simulated_user(simulate, position, reads, registry));
        let messages = self.first_turns(node, position, (&mut *reads, media_reads), user.is_some())?;
        let tools = self.agent_tools(node);
        let state = node.field("state").and_then(|state| self.state_tool(state));
        for tool in tools.iter().chain(&state) {
            reads.extend(names_of_row(tool));
        }
        let user = match user {
            Some(user) => Some(user?),
            None => None,
        };
        Some(AgentSpec { messages, tools, limits: self.limits(node.field("limits")), state, user })
    }

    fn first_turns(
        &mut self,
        node: &Node,
        position: Position,
        reads: (&mut Vec<String>, &mut Vec<String>),
        has_user: bool,
    ) -> Option<Vec<PromptTurn>> {
        if let (Some(user), Some(_)) = (node.field("user"), node.field("messages")) {
            self.problems
                .error(&user.place, "`user` and `messages` both give the first message")
                .hint("keep one of them");
            return None;
        }
        if node.field("messages").is_some() || node.field("user").is_some() {
            return self.messages(node, names::STEP, position, reads);
        }
        if !has_user {
            self.problems
                .error(&node.place, "`agent` has no first message: it needs `user`, `messages` or `simulate`")
                .hint("write `user: \"{{ input }}\"`");
            return None;
        }
        let Some(system) = node.field("system") else { return Some(Vec::new()) };
        let system = self.template(system, names::STEP, position, reads.0)?;
        Some(vec![PromptTurn::text(Role::System, system)])
    }

    /// The tools that an agent may call.
    fn agent_tools(&mut self, node: &Node) -> Vec<ToolSpec> {
        let offered = self.offered_tools(node.field("tools"));
        let tool = |name: &String| self.tools.iter().find(|tool| tool.id == *name).cloned();
        offered.iter().filter_map(|definition| tool(&definition.name)).collect()
    }

    /// The tool that reads the state at the end.
    fn state_tool(&mut self, node: &Node) -> Option<ToolSpec> {
        let id = node.text()?;
        let Some(tool) = self.tools.iter().find(|tool| tool.id == id).cloned() else {
            if !self.declared_tools.iter().any(|known| known == id) {
                let hint = suggestion(id, self.declared_tools.iter().map(String::as_str));
                self.problems.error(&node.place, format!("no tool `{id}`")).maybe_hint(hint);
            }
            return None;
        };
        if tool.executor.is_none() {
            self.problems
                .error(&node.place, format!("the tool `{id}` reads the state, but nothing answers its calls"))
                .hint("give it `command`, `http`, `replies` or `result`");
        } else if !jsonschema::is_valid(&tool.input, &json!({})) {
            self.problems
                .error(&node.place, format!("the tool `{id}` reads the state, so it is called without arguments, which its `input` does not allow"))
                .hint("remove `required` from its `input`");
        }
        Some(tool)
    }

    fn limits(&mut self, node: Option<&Node>) -> AgentLimits {
        let Some(node) = node else { return AgentLimits::default() };
        AgentLimits {
            turns: integer_at(node, "turns").unwrap_or(AgentLimits::TURNS),
            calls: integer_at(node, "calls"),
            tokens: integer_at(node, "tokens"),
            cost: node.field("cost_usd").and_then(Node::number).and_then(Money::from_usd),
            time_ms: self.duration(node, "time"),
        }
    }

    fn simulated_user(
        &mut self,
        node: &Node,
        position: Position,
        reads: &mut Vec<String>,
        registry: &Registry,
    ) -> Option<UserSpec> {
        if let Some(script) = node.field("script") {
            for entry in node.entries().iter().filter(|entry| entry.key != "script" && entry.key != "model") {
                let message = format!("`{}` has no effect beside `script`", entry.key);
                self.problems
                    .error(&entry.place, message)
                    .hint("remove it: a script speaks its messages and no others");
            }
            let items = if script.text().is_some() { std::slice::from_ref(script) } else { script.items() };
            if items.is_empty() {
                self.problems.error(&script.place, "`script` has no message").hint("write a list of texts");
            }
            let turns: Option<Vec<String>> = items.iter().map(|turn| self.script_turn(turn, position, reads)).collect();
            return turns.map(UserSpec::Script);
        }
        let at = node.field("model")?;
        let model = self.chat_model(at.text()?, &at.place, registry)?.id;
        let Some(text) = node.field("text") else {
            self.problems
                .error(&node.place, "`simulate` with `model` needs `text`: what the user is and wants")
                .hint("write `text: \"{{ sample.persona }} Goal: {{ sample.goal }}\"`");
            return None;
        };
        let first = node.field("first").map(|first| self.template(first, names::STEP, position, reads));
        let stop = node.text_of("stop").unwrap_or(UserSpec::STOP).to_owned();
        if let Some(at) = node.field("stop").filter(|_| stop.trim().is_empty()) {
            self.problems
                .error(&at.place, "`stop` is empty, so every message of the user would end the conversation")
                .hint("remove it: the default is `###STOP###`");
        }
        Some(UserSpec::Model {
            model,
            text: self.template(text, names::STEP, position, reads)?,
            first: first.flatten(),
            stop,
            turns: integer_at(node, "turns").unwrap_or(UserSpec::TURNS),
        })
    }

    fn script_turn(&mut self, node: &Node, position: Position, reads: &mut Vec<String>) -> Option<String> {
        let Some(text) = node.text() else {
            self.problems.error(&node.place, "a message of a `script` is a text");
            return None;
        };
        if let Err(error) = Template::compile(text) {
            notation::report(&error, "template", text, &node.place, &mut self.problems);
            return None;
        }
        self.template(node, names::STEP, position, reads)
    }

    /// Warns of users that a model of the system's own family plays: they understand each other too well.
    pub fn warn_of_related_users(
        &mut self,
        at: Option<&Node>,
        variants: &[VariantSpec],
        models: &[ModelSpec],
        registry: &Registry,
    ) {
        let Some(at) = at else { return };
        for variant in variants {
            for step in &variant.steps {
                let user = step.action.as_agent().and_then(|agent| agent.user.as_ref()?.model());
                let Some(user) = user.and_then(|id| registry.find(id)) else { continue };
                let own = step.model.as_ref().and_then(|id| registry.find(id));
                let related = |model: &ModelSpec| model.family.is_some() && model.family == user.family;
                let agent = match &own {
                    Some(own) => related(own).then_some(&own.id),
                    None => models.iter().find(|model| related(model)).map(|model| &model.id),
                };
                if let Some(agent) = agent {
                    self.problems
                        .warn(&at.place, format!("in `{}`, `{}` plays the user of `{agent}`, a model of the same family", variant.id, user.id))
                        .hint("models understand others of their family better than people do; let another family play the user");
                }
            }
        }
    }
}

/// The names of the row that the answers of a tool depend on.
fn names_of_row(tool: &ToolSpec) -> Vec<String> {
    match &tool.executor {
        Some(ToolExecutor::Result(template)) => {
            let reads = Template::compile(template).map(|template| template.reads().to_vec()).unwrap_or_default();
            reads.into_iter().filter(|name| name.split('.').next() == Some("sample")).collect()
        }
        // A program or service reads the row's id.
        Some(ToolExecutor::Command(_) | ToolExecutor::Http { .. }) => vec!["sample.id".to_owned()],
        Some(ToolExecutor::Replies(_)) | None => Vec::new(),
    }
}
