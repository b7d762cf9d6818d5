//! The turns of a prompt: templates and spliced histories of rows as messages.

use karat_suite::RowPath;
use karat_text::conversation::{Conversation, media_of, name_of};
use karat_text::template::{Context, Expression, Template};
use karat_types::{
    CellError, Media, MediaSource, Message, Part, PromptContent, PromptMedia, PromptPart, PromptTurn, Role,
};

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
    Image(CompiledMedia),
    File(CompiledMedia),
}

struct CompiledMedia {
    source: SourceTemplate,
    detail: Option<Template>,
    media: Option<String>,
}

enum SourceTemplate {
    /// A path, unless the row holds an address.
    Path(RowPath),
    /// An address or base64.
    Text(Template),
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
                            PromptPart::Image(media) => CompiledPart::Image(CompiledMedia::new(media)?),
                            PromptPart::File(media) => CompiledPart::File(CompiledMedia::new(media)?),
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
                            CompiledPart::Image(media) => {
                                Part::Image(media.render(context).map_err(|problem| failed(&problem))?)
                            }
                            CompiledPart::File(media) => {
                                Part::File(media.render(context).map_err(|problem| failed(&problem))?)
                            }
                        });
                    }
                    conversation.push(Message::new(*role, rendered));
                }
                CompiledTurn::Spliced { of, folder } => {
                    let value = of.eval(context).map_err(|error| failed(&error))?;
                    conversation.splice(name_of(of.source()), &value, folder).map_err(|problem| failed(&problem))?;
                }
            }
        }
        match self.has_spliced {
            true => conversation.finish().map_err(|problem| failed(&problem)),
            false => Ok(conversation.into_messages()),
        }
    }
}

impl CompiledMedia {
    fn new(spec: &PromptMedia) -> Result<Self, StepError> {
        let source = match spec.is_path() {
            true => SourceTemplate::Path(RowPath::compile(&spec.source)?),
            false => SourceTemplate::Text(Template::compile(&spec.source)?),
        };
        let detail = spec.detail.as_deref().map(Template::compile).transpose()?;
        Ok(Self { source, detail, media: spec.media.clone() })
    }

    fn render(&self, context: &Context) -> Result<Media, String> {
        let text = |template: &Template| template.render(context).map_err(|error| error.to_string());
        let mut media = match &self.source {
            SourceTemplate::Text(template) => media_of(&text(template)?, self.media.as_deref(), "")?,
            SourceTemplate::Path(path) => {
                let path = path.render(context).map_err(|error| error.to_string())?;
                let mut media = media_of(&path.path, None, path.beneath.as_deref().unwrap_or_default())?;
                if let MediaSource::Path(known) = &mut media.source {
                    *known = path;
                }
                media
            }
        };
        media.detail = self.detail.as_ref().map(text).transpose()?;
        Ok(media)
    }
}
