//! The fields that outputs can have, where the last steps of the variants tell: what a rubric shows and a metric reads is
//! checked against them before a judge is paid.

use std::collections::BTreeSet;

use karat_text::path::Path;
use karat_types::{StepSpec, VariantSpec};
use serde_json::Value;

use crate::decode::Decoder;
use crate::diagnostics::nearest::nearest;
use crate::syntax::node::Place;
use crate::syntax::{names, notation};

/// The fields of an output that may call tools.
const CALLING: [&str; 3] = ["text", "tool_calls", "stop_reason"];

/// The fields of an agent's output beside its state.
const AGENT: [&str; 7] = ["text", "messages", "tool_calls", "turns", "stop_reason", "invalid_calls", "unknown_calls"];

/// The fields of the outputs of a suite.
pub(crate) struct OutputFields {
    names: BTreeSet<String>,
    /// True if no output has any other.
    is_closed: bool,
}

impl OutputFields {
    /// The fields that the variants declare; `None` if the outputs of any of them can be anything.
    pub fn of(variants: &[VariantSpec]) -> Option<Self> {
        let mut fields = Self { names: BTreeSet::new(), is_closed: true };
        for variant in variants {
            let Self { names, is_closed } = Self::of_step(variant.steps.last()?)?;
            fields.names.extend(names);
            fields.is_closed &= is_closed;
        }
        (!fields.names.is_empty()).then_some(fields)
    }

    /// Returns whether every output is one that may call tools.
    pub fn is_turn(&self) -> bool {
        self.is_closed
            && CALLING.iter().all(|name| self.names.contains(*name))
            && self.names.iter().all(|name| name == "state" || AGENT.contains(&name.as_str()))
    }

    fn of_step(step: &StepSpec) -> Option<Self> {
        if step.chunk.is_some() || step.merge.is_some() {
            return None;
        }
        if !step.take.is_empty() {
            return Some(Self { names: step.take.keys().cloned().collect(), is_closed: true });
        }
        if let Some(agent) = step.action.as_agent() {
            let state = agent.state.as_ref().map(|_| "state");
            let names = AGENT.into_iter().chain(state).map(str::to_owned).collect();
            return Some(Self { names, is_closed: true });
        }
        if step.offers_tools() {
            return Some(Self { names: CALLING.map(str::to_owned).into(), is_closed: true });
        }
        let parse = step.parse.as_ref()?;
        if let Some(into) = &parse.into {
            return Some(Self { names: BTreeSet::from([into.clone()]), is_closed: true });
        }
        let schema = parse.schema.as_ref()?;
        let names = schema.get("properties")?.as_object()?.keys().cloned().collect();
        Some(Self { names, is_closed: schema.get("additionalProperties") == Some(&Value::Bool(false)) })
    }
}

/// The remedy for a path into a text.
const PARSE_IT: &str = "add `parse: { as: json }` to";

impl Decoder<'_> {
    /// Reports a path of a scorer that leads into a text, or that names the output first, as templates do. Returns whether
    /// nothing more can be said of it.
    pub(super) fn check_output_path(&mut self, path: &str, place: &Place) -> bool {
        match Path::parse(path) {
            Ok(path) if path.is_root() => return false,
            Ok(_) => {}
            // It is reported where paths are checked.
            Err(_) => return true,
        }
        let field = first_field(path).filter(|field| *field == "output");
        let is_field = |field: &str| self.output_fields.as_ref().is_some_and(|fields| fields.names.contains(field));
        if let Some(field) = field.filter(|field| !is_field(field)) {
            let rest = path.trim_start_matches('$').trim_start_matches('.').trim_start_matches(field);
            let message =
                format!("`{path}` looks for a part `output` within the output, and the path begins there already");
            let can_work = self.text_variant.is_none() && self.output_fields.as_ref().is_none_or(|it| !it.is_closed);
            let parse = match self.text_variant.as_deref().filter(|_| !rest.is_empty()) {
                Some(variant) => format!(", and {PARSE_IT} the last step of `{variant}`"),
                None => String::new(),
            };
            let reported = match can_work {
                true => self.problems.warn(place, message),
                false => self.problems.error(place, message),
            };
            reported.hint(format!("write `${rest}`{parse}"));
            return true;
        }
        let Some(variant) = &self.text_variant else { return false };
        let message = format!(
            "`{path}` reads a part of the output, but the outputs of `{variant}` are texts that no step parses: each reply \
             that is not JSON counts as wrong"
        );
        self.problems.warn(place, message).hint(format!("{PARSE_IT} the last step of `{variant}`"));
        // The outputs of the last run may tell more.
        false
    }

    /// Checks what a template reads of the output: parts that no output has, and parts of a text.
    pub(super) fn check_output_reads(&mut self, reads: &[String], text: &str, place: &Place) {
        for name in reads.iter().filter(|name| !names::is_defaulted(text, name)) {
            let Some(rest) = name.strip_prefix("output.") else { continue };
            let at = notation::name_within(place, text, name, &self.problems);
            if let Some(variant) = &self.text_variant {
                let message = format!(
                    "`{name}` reads a part of the output, but the outputs of `{variant}` are texts that no step parses"
                );
                self.problems.error(&at, message).hint(format!("{PARSE_IT} the last step of `{variant}`"));
            } else if !self.check_output_field(name, rest.split('.').next().unwrap_or(rest), &at) {
                let written = |path: &Path| path.to_string().replacen('$', "output", 1);
                self.check_stored_path(rest, name, written, &at);
            }
        }
    }

    /// Reports a field of the output that no output can have; `name` is what reads it, as it is written. Where outputs
    /// may have other fields than those that are declared, only a likely slip of the pen is reported. Returns whether
    /// something was reported.
    pub(super) fn check_output_field(&mut self, name: &str, field: &str, place: &Place) -> bool {
        let Some(fields) = self.output_fields.as_ref().filter(|fields| !fields.names.contains(field)) else {
            return false;
        };
        let known: Vec<&str> = fields.names.iter().map(String::as_str).collect();
        let near = nearest(field, known.iter().copied()).map(|near| {
            let meant = name.replacen(field, near, 1);
            format!("did you mean `{meant}`?")
        });
        if fields.is_closed {
            let hint = near.unwrap_or_else(|| format!("fields of the outputs: {}", known.join(", ")));
            self.problems.error(place, format!("no output has the field `{field}`, which `{name}` reads")).hint(hint);
        } else if let Some(near) = near {
            let message = format!("the schema of the outputs has no `{field}`, which `{name}` reads");
            self.problems.warn(place, message).hint(near);
        } else {
            return false;
        }
        true
    }
}

/// The first field of a path such as `$.claims[0].text`; nothing of the root.
pub(super) fn first_field(path: &str) -> Option<&str> {
    let path = path.trim_start_matches('$').trim_start_matches('.');
    let field = path.split(['.', '[']).next().unwrap_or_default();
    (!field.is_empty()).then_some(field)
}
