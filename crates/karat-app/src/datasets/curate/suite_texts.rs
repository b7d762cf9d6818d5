//! The texts of a suite that models read in every cell: prompts, examples, rubrics.

use karat_dataset::leaks::{LeakField, LeakText};
use karat_dataset::value_text;
use karat_types::{Action, PlanHeader, PromptContent, PromptPart, PromptTurn, Role, ScorerKind};
use serde_json::Value;

/// Texts with their names; a text's number is the place of its name.
#[derive(Debug, Default)]
pub(super) struct SuiteTexts {
    pub names: Vec<String>,
    pub texts: Vec<LeakText>,
    /// The sample that a labelled example is of: its own row is not a leak, since judges do not see it there.
    pub samples: Vec<Option<String>>,
}

impl SuiteTexts {
    /// The prompts of all steps, and the rubrics and labelled examples of all scorers.
    pub fn of(plan: &PlanHeader) -> Self {
        let mut texts = Self::default();
        for variant in &plan.variants {
            for step in &variant.steps {
                let turns: &[PromptTurn] = match &step.action {
                    Action::Prompt(prompt) => &prompt.messages,
                    Action::Agent(agent) => &agent.messages,
                    Action::Http(_) | Action::Command(_) | Action::Recorded(_) => &[],
                };
                for turn in turns {
                    let PromptTurn::Written { role, content } = turn else { continue };
                    let what = match role {
                        Role::System => "system prompt",
                        Role::User => "prompt",
                        _ => "example reply",
                    };
                    texts.add(format!("{what} of `{}.{}`", variant.id, step.id), None, &content_texts(content));
                }
            }
        }
        for scorer in &plan.scorers {
            let ScorerKind::Rubric(judged) = &scorer.kind else { continue };
            let rubric = serde_json::to_value(&judged.rubric).unwrap_or_default();
            texts.add(format!("rubric of `{}`", scorer.id), None, &[value_text(&rubric)]);
            let shown = if judged.rubric.examples > 0 { judged.labels.as_slice() } else { &[] };
            for (at, label) in shown.iter().enumerate() {
                let sample = label.get("sample").map(|sample| match sample {
                    Value::String(id) => id.clone(),
                    other => other.to_string(),
                });
                let content = ["input", "output", "reference"].iter().filter_map(|name| label.get(name));
                let content: Vec<String> = content.map(value_text).collect();
                texts.add(format!("labelled example {} of `{}`", at + 1, scorer.id), sample, &content);
            }
        }
        texts
    }

    /// Adds a text, unless another variant has the same.
    fn add(&mut self, name: String, sample: Option<String>, templates: &[String]) {
        let field = if sample.is_some() { LeakField::Text } else { LeakField::Prompt };
        let number = self.names.len() as u32;
        let pieces = templates.iter().flat_map(|template| literal_pieces(template));
        let pieces: Vec<LeakText> = pieces.map(|piece| LeakText::new(number, field, piece)).collect();
        if !pieces.is_empty() {
            self.names.push(name);
            self.samples.push(sample);
            self.texts.extend(pieces);
        }
    }
}

fn content_texts(content: &PromptContent) -> Vec<String> {
    match content {
        PromptContent::Text(text) => vec![text.clone()],
        PromptContent::Parts(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                PromptPart::Text(text) => Some(text.clone()),
                PromptPart::Image(_) | PromptPart::File(_) => None,
            });
            texts.collect()
        }
    }
}

/// The parts of a template that do not depend on the row: what stands between its tags, and texts in quotes within them, as
/// those of examples that parameters hold.
fn literal_pieces(template: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min() {
        pieces.push(rest[..start].to_owned());
        let close = match &rest[start..start + 2] {
            "{{" => "}}",
            "{%" => "%}",
            _ => "#}",
        };
        let inside = &rest[start + 2..];
        let end = inside.find(close).unwrap_or(inside.len());
        if close != "#}" {
            pieces.extend(quoted_texts(&inside[..end]));
        }
        rest = inside.get(end + 2..).unwrap_or_default();
    }
    pieces.push(rest.to_owned());
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn quoted_texts(expression: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut open: Option<(char, String)> = None;
    let mut characters = expression.chars();
    while let Some(character) = characters.next() {
        match &mut open {
            None if character == '"' || character == '\'' => open = Some((character, String::new())),
            None => {}
            Some((_, text)) if character == '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            Some((quote, text)) if *quote == character => {
                texts.push(std::mem::take(text));
                open = None;
            }
            Some((_, text)) => text.push(character),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-05: the fixed parts of a prompt are compared, with the examples that parameters put into it.
    #[test]
    fn the_fixed_parts_of_a_template_are_found() {
        let template = "Answer: {{ input }}.\n{% for e in [{\"q\": \"Where is \\\"it\\\"?\"}] %}Q {{ e.q }}{% endfor %}{# why #} End";
        assert_eq!(literal_pieces(template), ["Answer: ", ".\n", "q", "Where is \"it\"?", "Q ", " End"]);
        assert_eq!(literal_pieces("no tags"), ["no tags"]);
        assert_eq!(literal_pieces("{{ open"), [""; 0]);
    }
}
