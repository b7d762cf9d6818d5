//! The head of a block: title, question and facts.

/// The title, the question and the facts that all blocks have.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// The title.
    pub title: String,
    /// The question that the block answers.
    pub question: String,
    /// The unit, where the numbers do not show it.
    pub unit: Option<String>,
    /// The number of observations behind it.
    pub n: Option<u64>,
    /// Remarks: what was left out and why.
    pub notes: Vec<String>,
    /// The analysis that made it, for tests and links.
    pub analysis: Option<String>,
    /// The reason why the block is empty, if it is.
    pub empty: Empty,
}

/// The reason why there is nothing to show, and the command that would fill it.
#[derive(Debug, Clone, Default)]
pub struct Empty {
    /// One sentence.
    pub reason: Option<String>,
    /// A command line.
    pub command: Option<String>,
}

impl Head {
    /// A head with this title and question.
    pub fn new(title: impl Into<String>, question: impl Into<String>) -> Self {
        Self { title: title.into(), question: question.into(), ..Self::default() }
    }

    /// The same head with its number of observations.
    #[must_use]
    pub fn with_n(self, n: u64) -> Self {
        Self { n: Some(n), ..self }
    }

    /// The same head with a remark.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same head with the reason for being empty, where no command would fill it.
    #[must_use]
    pub fn when_empty_because(self, reason: impl Into<String>) -> Self {
        Self { empty: Empty { reason: Some(reason.into()), command: None }, ..self }
    }

    /// The same head with the reason for being empty and the command that would fill it.
    #[must_use]
    pub fn when_empty(self, reason: impl Into<String>, command: impl Into<String>) -> Self {
        Self { empty: Empty { reason: Some(reason.into()), command: Some(command.into()) }, ..self }
    }
}
