//! The task of the items of a test set that may be wrong.

use std::collections::BTreeSet;

use crate::AppError;
use crate::analysis::items::ItemsRequest;
use crate::error::DatasetError;
use crate::tasks::Tasks;
use crate::tasks::create::{CreatedTask, ItemsFrom, TaskRequest, TextFrom};

/// The questions about an item that may be wrong.
const QUESTIONS: &str = r#"[
  {"id": "reference", "ask": "Is the reference right?", "kind": "choice",
   "choices": [{"id": "right"}, {"id": "wrong"}, {"id": "unclear", "text": "The question has no single answer"}]},
  {"id": "answer", "ask": "What is the right answer?", "kind": "text", "required": false, "show_if": {"reference": "wrong"}}
]"#;

const GUIDELINES: &str = "Systems contradict the references of these items, or fail on all of them. Decide from the input \
alone: an answer that many systems give can be wrong.";

impl Tasks<'_> {
    /// Makes a task for people of the items that may be wrong, with an output of each in the newest run. The same suspects
    /// make the same task.
    ///
    /// # Errors
    /// No item may be wrong, the newest run keeps no outputs of them, and as [`Analysis::items`].
    pub fn create_suspects(&self, asked: &ItemsRequest) -> Result<CreatedTask, AppError> {
        let found = self.app.analysis().items(asked)?;
        let ids: BTreeSet<String> = found.analysis().suspects().map(|item| item.id.clone()).collect();
        let (Some(newest), false) = (found.analysis().runs.first(), ids.is_empty()) else {
            return Err(DatasetError::NoSuspects { suite: found.analysis().suite.clone() }.into());
        };
        self.create(&TaskRequest {
            name: Some(suspects_task(&found.analysis().suite)),
            questions: Some(TextFrom::Text(QUESTIONS.to_owned())),
            guidelines: Some(TextFrom::Text(GUIDELINES.to_owned())),
            per_sample: 1,
            only: Some(ids),
            ..TaskRequest::new(ItemsFrom::Run(newest.clone()))
        })
    }
}

/// The name of the task of a suite's suspects.
pub fn suspects_task(suite: &str) -> String {
    let plain = suite.chars().map(|it| if it.is_ascii_alphanumeric() || "_-.".contains(it) { it } else { '-' });
    let name: String = plain.take(50).collect();
    let name = name.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    format!("{}-suspects", if name.is_empty() { "suite" } else { name })
}
