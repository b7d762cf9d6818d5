//! `messages` of a prompt: written turns with parts, and turns that rows hold.

use karat_text::template::{Expression, Template};
use karat_types::{PromptContent, PromptMedia, PromptPart, PromptSpec, PromptTurn, Role};

use crate::dataset::turns::TurnsCheck;
use crate::decode::steps::Position;
use crate::decode::{Decoder, word_at};
use crate::files::{folder, is_rooted, join};
use crate::syntax::names;
use crate::syntax::node::{Node, Tree};

impl Decoder<'_> {
    /// The turns under `messages`.
    pub(super) fn turns(
        &mut self,
        node: &Node,
        roots: &[&str],
        position: Position,
        reads: &mut Reads,
    ) -> Option<Vec<PromptTurn>> {
        let turns: Option<Vec<PromptTurn>> = match &node.value {
            Tree::List(items) => items.iter().map(|item| self.turn(item, roots, position, reads)).collect(),
            _ => self.splice_turns(node, roots, position, reads).map(|turn| vec![turn]),
        };
        let turns = turns?;
        if turns.is_empty() {
            self.problems.error(&node.place, "`messages` is empty: nothing is asked");
        }
        if let Some(PromptTurn::Written { role: Role::Assistant, .. }) = turns.last() {
            let place = node.items().last().unwrap_or(node).place.clone();
            self.problems
                .error(&place, "`messages` ends with the assistant: nothing is asked")
                .hint("end with a message of the user");
        }
        self.check_in_rows(&turns);
        Some(turns)
    }

    fn turn(&mut self, node: &Node, roots: &[&str], position: Position, reads: &mut Reads) -> Option<PromptTurn> {
        if node.text().is_some() {
            return self.splice_turns(node, roots, position, reads);
        }
        let role = word_at::<Role>(node, "role")?;
        let content = node.field("content")?;
        let content = match &content.value {
            Tree::List(items) => {
                let parts: Option<Vec<PromptPart>> =
                    items.iter().map(|item| self.part(item, roots, position, reads)).collect();
                PromptContent::Parts(parts?)
            }
            _ => PromptContent::Text(self.template(content, roots, position, &mut reads.names)?),
        };
        Some(PromptTurn::Written { role, content })
    }

    /// The turns that a lone `{{ }}` gives.
    fn splice_turns(
        &mut self,
        node: &Node,
        roots: &[&str],
        position: Position,
        reads: &mut Reads,
    ) -> Option<PromptTurn> {
        let text = node.text()?;
        let inlined = self.template(node, roots, position, &mut reads.names)?;
        let inner = inlined.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let Some(turns) = inner.map(str::trim).filter(|inner| Expression::compile(inner).is_ok()) else {
            self.problems
                .error(&node.place, format!("`{text}` is a text, and a message has a role"))
                .hint("write `{ role: user, content: … }`, or a lone `{{ sample.COLUMN }}` that gives messages");
            return None;
        };
        Some(PromptTurn::Spliced { turns: turns.to_owned(), folder: self.dataset_folder.clone() })
    }

    fn part(&mut self, node: &Node, roots: &[&str], position: Position, reads: &mut Reads) -> Option<PromptPart> {
        if node.text().is_some() {
            return self.template(node, roots, position, &mut reads.names).map(PromptPart::Text);
        }
        if let Some(text) = node.field("text") {
            return self.template(text, roots, position, &mut reads.names).map(PromptPart::Text);
        }
        let detail = match node.field("detail") {
            Some(detail) => Some(self.template(detail, roots, position, &mut reads.names)?),
            None => None,
        };
        let media = node.text_of("media").map(str::to_owned);
        if let Some(image) = node.field("image") {
            let source = self.media_source(image, media.is_some(), position, reads)?;
            return Some(PromptPart::Image(PromptMedia { source, detail, media }));
        }
        let file = node.field("file")?;
        let source = self.media_source(file, media.is_some(), position, reads)?;
        Some(PromptPart::File(PromptMedia { source, detail, media }))
    }

    /// The template of an address, of base64, or of a path that is relative to the working directory. A path that begins
    /// with a value of the row is relative to the dataset.
    fn media_source(&mut self, node: &Node, is_base64: bool, position: Position, reads: &mut Reads) -> Option<String> {
        let text = node.text()?;
        let is_address = ["http://", "https://", "data:"].iter().any(|scheme| text.starts_with(scheme));
        if is_base64 || is_address {
            return self.template(node, names::DATASET_ROLES, position, &mut reads.names);
        }
        let inlined = self.template(node, names::DATASET_ROLES, position, &mut reads.media)?;
        let begins_with_row = inlined.starts_with("{{") && !self.params.leads(text);
        let path = match begins_with_row {
            true if self.dataset_folder.is_empty() => inlined,
            true => format!("{}/{inlined}", self.dataset_folder),
            false if self.params.leads(text) || is_rooted(text) => inlined,
            false => join(self.problems.folder(node.place.file), &inlined),
        };
        let is_literal = Template::compile(&path).is_ok_and(|template| template.reads().is_empty());
        if is_literal && !self.files.is_file(&path) {
            let near = self.nearest_file(&path);
            self.problems.error(&node.place, format!("no file `{path}`")).maybe_hint(near);
        }
        Some(path)
    }

    /// Has the turns that read nothing but rows checked before any call.
    fn check_in_rows(&mut self, turns: &[PromptTurn]) {
        let is_of_row = |turn: &PromptTurn| match turn {
            PromptTurn::Written { .. } => true,
            PromptTurn::Spliced { turns, .. } => Expression::compile(turns).is_ok_and(|turns| {
                turns.reads().iter().all(|name| names::DATASET_ROLES.contains(&name.split('.').next().unwrap_or(name)))
            }),
        };
        let spec = PromptSpec { messages: turns.to_vec(), ..PromptSpec::default() };
        if spec.may_have_media() && turns.iter().all(is_of_row) {
            self.turns_checks.extend(TurnsCheck::new(turns));
        }
    }

    /// Keeps the folder that files of rows are relative to.
    pub(crate) fn note_dataset_folder(&mut self, dataset: Option<&Node>) {
        let source = dataset.and_then(|dataset| dataset.field("source"));
        let first =
            source.and_then(|source| if source.text().is_some() { Some(source) } else { source.items().first() });
        let path = first.filter(|first| first.text().is_some()).and_then(|first| self.quiet_path(first));
        self.dataset_folder = match (path, dataset) {
            (Some(path), _) => folder(&path).to_owned(),
            (None, Some(dataset)) => self.problems.folder(dataset.place.file).to_owned(),
            (None, None) => String::new(),
        };
    }
}

/// The names that the templates of a prompt read.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Those of words.
    pub names: Vec<String>,
    /// Those of paths of images and files: what is in the files counts, not these.
    pub media: Vec<String>,
}
