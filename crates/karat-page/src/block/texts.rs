//! Texts of samples, systems and judges.

use crate::block::Head;
use crate::component::verdict::Verdict;

/// A marked part of a text.
#[derive(Debug, Clone, Default)]
pub struct Highlight {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// Its label.
    pub label: String,
    /// Its category, which decides the line under it.
    pub category: usize,
}

/// A score of an output, with the reasons of who gave it.
#[derive(Debug, Clone, Default)]
pub struct ExcerptScore {
    /// The metric.
    pub metric: String,
    /// The value as text; see [`crate::number::Scale::text`].
    pub value: String,
    /// A verdict about it.
    pub verdict: Option<Verdict>,
    /// The judge, where there was one.
    pub judge: Option<String>,
    /// The reason.
    pub reason: Option<String>,
}

/// An output of a system.
#[derive(Debug, Clone, Default)]
pub struct ExcerptOutput {
    /// The system.
    pub system: String,
    /// The text, or `None` if there is none.
    pub text: Option<String>,
    /// The reason why there is no text, or why it was cut.
    pub note: Option<String>,
    /// Trials that gave this text.
    pub repeats: u64,
    /// Marked parts of the text.
    pub highlights: Vec<Highlight>,
    /// Its scores.
    pub scores: Vec<ExcerptScore>,
}

/// A text of a sample, under the name of its column.
#[derive(Debug, Clone, Default)]
pub struct ExcerptText {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
    /// A remark, such as how much was cut.
    pub note: Option<String>,
    /// Marked parts of the text.
    pub highlights: Vec<Highlight>,
}

/// A sample with the outputs of systems.
#[derive(Debug, Clone, Default)]
pub struct Excerpt {
    /// The id of the sample.
    pub sample: String,
    /// The reason why this sample is worth reading.
    pub why: Option<String>,
    /// The page of the sample.
    pub href: Option<String>,
    /// The input.
    pub input: Option<String>,
    /// Marked parts of the input.
    pub input_highlights: Vec<Highlight>,
    /// The reference.
    pub reference: Option<String>,
    /// Other texts of the sample, such as columns that a prompt reads.
    pub texts: Vec<ExcerptText>,
    /// The outputs.
    pub outputs: Vec<ExcerptOutput>,
    /// True if the two outputs are to be compared word by word.
    pub with_diff: bool,
}

/// Samples with the outputs of systems side by side.
#[derive(Debug, Clone, Default)]
pub struct Excerpts {
    /// The head.
    pub head: Head,
    /// The samples.
    pub items: Vec<Excerpt>,
    /// Samples that are not shown.
    pub left_out: u64,
    /// The command that shows all of them.
    pub all_by: Option<String>,
}

/// The form of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextForm {
    /// Shown as it is.
    #[default]
    Plain,
    /// Markdown, with raw HTML as text.
    Markdown,
}

/// A text.
#[derive(Debug, Clone, Default)]
pub struct TextBlock {
    /// The head.
    pub head: Head,
    /// The text.
    pub text: String,
    /// Its form.
    pub form: TextForm,
    /// Marked parts, for a plain text.
    pub highlights: Vec<Highlight>,
}

/// One message of an output.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// The role: `system`, `user`, `assistant`, `tool` or another.
    pub role: String,
    /// The name of who speaks, or of the tool.
    pub name: Option<String>,
    /// The content.
    pub content: String,
    /// Calls of tools: name and arguments.
    pub calls: Vec<(String, String)>,
}

/// The messages of an output.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// The head.
    pub head: Head,
    /// The messages in order.
    pub messages: Vec<Message>,
}
