//! `chunk` and `merge`: runs an action over the pieces of a text or a list, and merges its answers.

use karat_text::chunking::chunk;
use karat_text::chunking::merge::DroppedItem;
use karat_text::kind::kind;
use karat_text::template::{Context, Expression, TemplateError};
use karat_types::{CellError, ChunkSize, MergeHow, MergeSpec, Note, NoteKind, StepSpec};
use serde_json::{Value, json};

use super::{StepEnd, template_error};

/// The compiled expression of what is cut; `None` if the step works on everything at once.
pub(super) struct Cutter(Option<Expression>);

/// The pieces of a step's input.
pub(super) struct Pieces {
    /// The template context of each piece.
    pub contexts: Vec<Context>,
    /// A note about dropped pieces.
    pub note: Option<Note>,
}

impl Cutter {
    pub fn new(step: &StepSpec) -> Result<Self, TemplateError> {
        step.chunk.as_ref().map(|chunk| Expression::compile(&chunk.of)).transpose().map(Self)
    }

    /// Cuts the input of the step. `room` returns the tokens of a piece if the step does not set a size.
    ///
    /// # Errors
    /// The end of the step: there is nothing to work on, or it is neither text nor list.
    pub fn cut(
        &self,
        step: &StepSpec,
        context: &Context,
        room: impl FnOnce() -> Result<u32, CellError>,
    ) -> Result<Pieces, StepEnd> {
        let (Some(spec), Some(of)) = (&step.chunk, &self.0) else {
            return Ok(Pieces { contexts: vec![context.clone()], note: None });
        };
        let fail = |error: TemplateError| StepEnd::Failed(template_error(step, &error));
        let value = of.eval(context).map_err(fail)?;
        let (pieces, dropped) = match (&value, spec.size) {
            (Value::Array(items), size) => {
                let size = match size {
                    Some(ChunkSize::Items(items)) => items,
                    _ => u32::try_from(items.len().max(1)).unwrap_or(u32::MAX),
                };
                let chunks = chunk::by_items(items, size, spec.overlap, spec.max);
                (chunks.pieces.into_iter().map(|piece| Value::Array(piece.items)).collect::<Vec<_>>(), chunks.dropped)
            }
            (Value::String(text), size) => {
                let tokens = match size {
                    Some(ChunkSize::Tokens(tokens)) => tokens,
                    _ => room().map_err(StepEnd::Failed)?,
                };
                let chunks = chunk::by_tokens(text, tokens, spec.overlap, spec.max);
                (chunks.pieces.into_iter().map(|piece| Value::from(piece.text)).collect(), chunks.dropped)
            }
            (other, _) => {
                let message = format!(
                    "step `{}`: `chunk.of: {}` is {}, but only a text or a list can be cut",
                    step.id,
                    spec.of,
                    kind(other)
                );
                return Err(StepEnd::Failed(CellError::new("template", message)));
            }
        };
        if pieces.is_empty() {
            let message =
                format!("step `{}`: `chunk.of: {}` is empty, so there is nothing to work on", step.id, spec.of);
            return Err(StepEnd::Failed(CellError::new("empty_input", message)));
        }
        let note = (dropped > 0).then(|| {
            let chunks = if dropped == 1 { "1 chunk".to_owned() } else { format!("{dropped} chunks") };
            let text = format!("step `{}` dropped {chunks} beyond its `max`", step.id);
            Note { kind: NoteKind::DroppedChunks, text, count: dropped }
        });
        let numbered = pieces.into_iter().enumerate();
        Ok(Pieces { contexts: numbered.map(|(index, piece)| piece_context(context, &piece, index)).collect(), note })
    }
}

/// The template context of one piece.
pub(super) fn piece_context(context: &Context, piece: &Value, index: usize) -> Context {
    context.child().with("chunk", &json!({ "text": piece, "index": index }))
}

/// Characters of an item that a note quotes.
const QUOTED: usize = 200;

/// The answers of all pieces as one value, a list of them without `merge`; and a note on the items that were dropped.
pub(super) fn merge_pieces(step: &StepSpec, values: impl IntoIterator<Item = Value>) -> (Value, Option<Note>) {
    let concat = MergeSpec { how: MergeHow::Concat, of: None, by: None, similar: None };
    let merge = match (&step.merge, &step.chunk) {
        (Some(merge), _) => merge,
        (None, Some(_)) => &concat,
        (None, None) => return (values.into_iter().next().unwrap_or(Value::Null), None),
    };
    let merged = karat_text::chunking::merge::merge(merge, values.into_iter().collect());
    (merged.value, merge_note(step, &merged.dropped))
}

/// Lists what a merge dropped. An item that is worded as the kept one is named once.
fn merge_note(step: &StepSpec, dropped: &[DroppedItem]) -> Option<Note> {
    if dropped.is_empty() {
        return None;
    }
    let cut = |text: &str| match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("“{}…”", &text[..end]),
        None => format!("“{text}”"),
    };
    let listed = dropped.iter().map(|item| match item.text == item.kept {
        true => format!("{} again", cut(&item.text)),
        false => format!("{} as {}", cut(&item.text), cut(&item.kept)),
    });
    let listed = listed.collect::<Vec<_>>().join("; ");
    let items = if dropped.len() == 1 { "1 item".to_owned() } else { format!("{} items", dropped.len()) };
    let text = format!("step `{}` merged {items} that another one says: {listed}", step.id);
    Some(Note { kind: NoteKind::Merged, text, count: u32::try_from(dropped.len()).unwrap_or(u32::MAX) })
}
