//! Checks of the messages that rows hold: they are read as the prompts read them, before any call.

use karat_text::template::{Context, Expression};
use karat_types::{Message, Part, PromptContent, PromptPart, PromptTurn, Sample};
use serde_json::Value;

use super::DatasetError;
use super::source::raw::RowPlace;
use crate::conversation::{Conversation, value_name};
use crate::files::{Files, MediaKind, RowMedia, digest_media};

/// The turns of one prompt that read nothing but the row.
pub(crate) struct TurnsCheck(Vec<CheckedTurn>);

enum CheckedTurn {
    /// A written turn: its words do not matter here, its images and files do.
    Written(Message, Vec<(MediaKind, RowMedia)>),
    Spliced {
        of: Expression,
        folder: String,
    },
}

impl TurnsCheck {
    /// The check of these turns; `None` if an expression cannot be read.
    pub fn new(turns: &[PromptTurn]) -> Option<Self> {
        let check = |turn: &PromptTurn| match turn {
            PromptTurn::Written { role, content } => {
                let parts = match content {
                    PromptContent::Text(_) => [].as_slice(),
                    PromptContent::Parts(parts) => parts,
                };
                let media = parts.iter().filter_map(|part| match part {
                    PromptPart::Text(_) => None,
                    PromptPart::Image(media) => Some(RowMedia::compile(media).map(|media| (MediaKind::Image, media))),
                    PromptPart::File(media) => Some(RowMedia::compile(media).map(|media| (MediaKind::File, media))),
                });
                Some(CheckedTurn::Written(Message::new(*role, ""), media.collect::<Result<_, _>>().ok()?))
            }
            PromptTurn::Spliced { turns, folder } => {
                Some(CheckedTurn::Spliced { of: Expression::compile(turns).ok()?, folder: folder.clone() })
            }
        };
        turns.iter().map(check).collect::<Option<_>>().map(Self)
    }

    /// Reads the turns of a row, and adds the bytes of its images and files to the digest of the dataset's contents. A
    /// row that lacks a column is reported elsewhere.
    pub fn check(
        &self,
        sample: &Sample,
        at: &RowPlace,
        files: &dyn Files,
        contents: &mut blake3::Hasher,
    ) -> Result<(), DatasetError> {
        let row = Value::Object(sample.columns.clone());
        let context =
            Context::new().with("sample", &row).with("input", &sample.input).with("reference", &sample.reference);
        let mut conversation = Conversation::default();
        let mut column = "";
        let mut checked = Ok(());
        for turn in &self.0 {
            match turn {
                CheckedTurn::Written(message, media) => {
                    conversation.push(message.clone());
                    checked = media.iter().try_for_each(|(kind, media)| {
                        // A template that reads what the row lacks fails its cell with its own message.
                        let Ok(media) = media.render(&context) else { return Ok(()) };
                        digest_media(files, &media, *kind, contents)
                    });
                }
                CheckedTurn::Spliced { of, folder } => {
                    let Ok(value) = of.eval(&context) else { return Ok(()) };
                    column = column_of(of.source());
                    checked = conversation.splice(value_name(of.source()), &value, folder);
                }
            }
            if checked.is_err() {
                break;
            }
        }
        let checked = checked.and_then(|()| conversation.finish()).and_then(|messages| {
            let parts = messages.into_iter().flat_map(|message| message.content.into_parts());
            parts.into_iter().try_for_each(|part| match part {
                Part::Text(_) => Ok(()),
                Part::Image(media) => digest_media(files, &media, MediaKind::Image, contents),
                Part::File(media) => digest_media(files, &media, MediaKind::File, contents),
            })
        });
        checked.map_err(|problem| at.problem(column, format!("row `{}`: {problem}", sample.id)))
    }
}

/// The column that a message about turns names.
fn column_of(expression: &str) -> &str {
    value_name(expression).split(['.', ' ', '|', '[']).next().unwrap_or_default()
}
