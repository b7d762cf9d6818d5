//! Prompts of a step: written turns with words, images and files, and turns that rows hold.

use serde::{Deserialize, Serialize};

use crate::{Role, ToolChoice, ToolDefinition};

/// The messages of a prompt step, and the tools that it offers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptSpec {
    /// Templates by turn.
    pub messages: Vec<PromptTurn>,
    /// The tools that the model is offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// The tools that it may or must call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

impl PromptSpec {
    /// Returns true if a turn holds images or files, or may hold those of a row.
    pub fn may_have_media(&self) -> bool {
        self.messages.iter().any(PromptTurn::may_have_media)
    }
}

impl PromptPart {
    fn as_media_mut(&mut self) -> Option<&mut PromptMedia> {
        match self {
            Self::Text(_) => None,
            Self::Image(media) | Self::File(media) => Some(media),
        }
    }
}

/// A turn, or the turns, that a prompt writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PromptTurn {
    /// One turn of templates.
    Written {
        /// The role of the speaker.
        role: Role,
        /// The content.
        content: PromptContent,
    },
    /// The turns that an expression gives: a list of messages of the row. Their texts are data and are not rendered.
    Spliced {
        /// The expression.
        turns: String,
        /// The folder that files of the row are relative to: that of the dataset. No part of identity.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        folder: String,
    },
}

impl PromptTurn {
    /// Removes folders and paths: what is in the files counts, not where they are.
    pub(crate) fn clear_folders(&mut self) {
        match self {
            Self::Spliced { folder, .. } => folder.clear(),
            Self::Written { content: PromptContent::Parts(parts), .. } => {
                let media = parts.iter_mut().filter_map(PromptPart::as_media_mut).filter(|media| media.is_path());
                media.for_each(|media| media.source.clear());
            }
            Self::Written { content: PromptContent::Text(_), .. } => {}
        }
    }

    /// Returns true if it holds images or files, or may hold those of a row.
    pub fn may_have_media(&self) -> bool {
        match self {
            Self::Spliced { .. } => true,
            Self::Written { content: PromptContent::Parts(parts), .. } => {
                parts.iter().any(|part| !matches!(part, PromptPart::Text(_)))
            }
            Self::Written { content: PromptContent::Text(_), .. } => false,
        }
    }

    /// A turn with the template of a text.
    pub fn text(role: Role, template: impl Into<String>) -> Self {
        Self::Written { role, content: PromptContent::Text(template.into()) }
    }
}

/// The content of a written turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PromptContent {
    /// A template.
    Text(String),
    /// Parts in this order.
    Parts(Vec<PromptPart>),
}

/// A part of a written turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptPart {
    /// A template.
    Text(String),
    /// An image.
    Image(PromptMedia),
    /// A file.
    File(PromptMedia),
}

impl PromptMedia {
    /// Returns true if it names a file, unless a row holds an address in its place.
    pub fn is_path(&self) -> bool {
        self.media.is_none() && !["http://", "https://", "data:"].iter().any(|scheme| self.source.starts_with(scheme))
    }
}

/// An image or a file of a written turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptMedia {
    /// Template of a path, an address, a `data:` address or base64.
    pub source: String,
    /// Template of an image's detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The media type of base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
}
