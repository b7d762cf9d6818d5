//! The turns of a prompt: templates and spliced histories of rows as messages.

use karat_suite::{Conversation, MediaKind, RowMedia, value_name};
use karat_text::template::{Context, Expression, Template};
use karat_types::{CellError, Media, Message, Part, PromptContent, PromptPart, PromptTurn, Role};

use super::StepError;

/// The turns of a prompt, compiled.
pub(super) struct CompiledTurns {
    turns: Vec<CompiledTurn>,
    /// The templates of all words, in order.
    texts: Vec<Template>,
    /// True if turns come from rows: only then can they be in a wrong order.
    has_spliced: bool,
}

enum CompiledTurn {
    /// A lone text: the next of the texts.
    Text(Role),
    Parts(Role, Vec<CompiledPart>),
    /// Messages of a row, and the folder that their files are relative to.
    Spliced {
        of: Expression,
        folder: String,
    },
}

enum CompiledPart {
    /// The next of the texts.
    Text,
    Media(MediaKind, RowMedia),
}

impl CompiledTurns {
    pub fn new(turns: &[PromptTurn]) -> Result<Self, StepError> {
        let mut texts = Vec::new();
        let mut text = |source: &String| -> Result<(), StepError> {
            texts.push(Template::compile(source)?);
            Ok(())
        };
        let mut compiled = Vec::with_capacity(turns.len());
        for turn in turns {
            compiled.push(match turn {
                PromptTurn::Written { role, content: PromptContent::Text(source) } => {
                    text(source)?;
                    CompiledTurn::Text(*role)
                }
                PromptTurn::Written { role, content: PromptContent::Parts(parts) } => {
                    let parts = parts.iter().map(|part| {
                        Ok(match part {
                            PromptPart::Text(source) => {
                                text(source)?;
                                CompiledPart::Text
                            }
                            PromptPart::Image(media) => {
                                CompiledPart::Media(MediaKind::Image, RowMedia::compile(media)?)
                            }
                            PromptPart::File(media) => CompiledPart::Media(MediaKind::File, RowMedia::compile(media)?),
                        })
                    });
                    CompiledTurn::Parts(*role, parts.collect::<Result<_, StepError>>()?)
                }
                PromptTurn::Spliced { turns, folder } => {
                    CompiledTurn::Spliced { of: Expression::compile(turns)?, folder: folder.clone() }
                }
            });
        }
        let has_spliced = compiled.iter().any(|turn| matches!(turn, CompiledTurn::Spliced { .. }));
        Ok(Self { turns: compiled, texts, has_spliced })
    }

    /// The messages of one piece.
    pub fn render(&self, step: &str, context: &Context) -> Result<Vec<Message>, CellError> {
        let failed =
            |problem: &dyn std::fmt::Display| CellError::new("template", format!("rendering step `{step}`: {problem}"));
        let texts = Template::render_together(&self.texts, context).map_err(|error| failed(&error))?;
        let mut texts = texts.into_iter();
        let mut conversation = Conversation::default();
        for turn in &self.turns {
            match turn {
                CompiledTurn::Text(role) => {
                    conversation.push(Message::new(*role, texts.next().unwrap_or_default()));
                }
                CompiledTurn::Parts(role, parts) => {
                    let mut rendered = Vec::with_capacity(parts.len());
                    for part in parts {
                        rendered.push(match part {
                            CompiledPart::Text => Part::Text(texts.next().unwrap_or_default()),
                            CompiledPart::Media(kind, media) => {
                                let media = media.render(context).map_err(|problem| failed(&problem))?;
                                if *kind == MediaKind::Image { Part::Image(media) } else { Part::File(media) }
                            }
                        });
                    }
                    conversation.push(Message::new(*role, rendered));
                }
                CompiledTurn::Spliced { of, folder } => {
                    let value = of.eval(context).map_err(|error| failed(&error))?;
                    conversation.splice(value_name(of.source()), &value, folder).map_err(|problem| failed(&problem))?;
                }
            }
        }
        match self.has_spliced {
            true => conversation.finish().map_err(|problem| failed(&problem)),
            false => Ok(conversation.into_messages()),
        }
    }

    /// The images and files of a row, without reading them. Those of turns that read earlier outputs are not among them.
    pub fn media(&self, context: &Context) -> Vec<(MediaKind, Result<Media, String>)> {
        let mut all = Vec::new();
        for turn in &self.turns {
            match turn {
                CompiledTurn::Text(_) => {}
                CompiledTurn::Parts(_, parts) => all.extend(parts.iter().filter_map(|part| match part {
                    CompiledPart::Text => None,
                    CompiledPart::Media(kind, media) => Some((*kind, media.render(context))),
                })),
                CompiledTurn::Spliced { of, folder } => {
                    let mut conversation = Conversation::default();
                    if let Ok(value) = of.eval(context)
                        && conversation.splice("", &value, folder).is_ok()
                    {
                        let parts =
                            conversation.into_messages().into_iter().flat_map(|message| message.content.into_parts());
                        all.extend(parts.filter_map(|part| match part {
                            Part::Text(_) => None,
                            Part::Image(media) => Some((MediaKind::Image, Ok(media))),
                            Part::File(media) => Some((MediaKind::File, Ok(media))),
                        }));
                    }
                }
            }
        }
        all
    }
}
