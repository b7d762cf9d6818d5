//! Reads a question: the kind of answer it wants, its words and its quarters.

/// The kind of answer that a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// A number of one quarter.
    Figure,
    /// The change of a number between two quarters, in per cent or in its own unit.
    Change {
        /// True for a change in per cent.
        in_percent: bool,
    },
    /// A quoted statement.
    Statement,
    /// A slide.
    Slide,
    /// An announcement.
    Announcement,
}

/// A parsed question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub kind: AnswerKind,
    /// Lower-cased.
    pub text: String,
    pub words: Vec<String>,
    /// Its quarters, as `2025-Q2`, in order of mention.
    pub quarters: Vec<String>,
}

impl Question {
    pub fn parse(text: &str) -> Self {
        let text = text.to_lowercase();
        let quarters = quarters(&text);
        let has = |word: &str| words(&text).iter().any(|it| it == word);
        let kind = if has("slide") || has("deck") {
            AnswerKind::Slide
        } else if has("say") || has("said") || has("spoke") {
            AnswerKind::Statement
        } else if has("announce") {
            AnswerKind::Announcement
        } else if quarters.len() > 1 {
            AnswerKind::Change { in_percent: has("percentage") || has("percent") }
        } else {
            AnswerKind::Figure
        };
        Self { kind, words: words(&text), quarters, text }
    }

    /// The quarter that it is about: the last one mentioned.
    pub fn quarter(&self) -> &str {
        self.quarters.last().map(String::as_str).unwrap_or_default()
    }
}

/// `q2 2025` and `2025-q2` as `2025-Q2`.
fn quarters(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let pairs = parts.windows(2).filter_map(|pair| match *pair {
        [quarter, year] | [year, quarter] if is_quarter(quarter) && is_year(year) => {
            Some(format!("{year}-{}", quarter.to_uppercase()))
        }
        _ => None,
    });
    let mut found: Vec<String> = Vec::new();
    pairs.for_each(|pair| {
        if !found.contains(&pair) {
            found.push(pair);
        }
    });
    found
}

fn is_quarter(part: &str) -> bool {
    matches!(part, "q1" | "q2" | "q3" | "q4")
}

fn is_year(part: &str) -> bool {
    part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words without meaning for the search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "and", "by", "did", "does", "from", "how", "in", "is", "it", "much", "of", "on", "the", "there",
    "to", "was", "were", "what", "which", "who", "with",
];

/// The search words of a text: in lower case, a quarter as one word, without stop words.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let own = quarters(&text).into_iter().map(|quarter| quarter.to_lowercase());
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let parts = parts.filter(|part| !STOP_WORDS.contains(part) && !is_quarter(part) && !is_year(part));
    parts.map(str::to_owned).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_apart() {
        let read = |text: &str| (Question::parse(text).kind, Question::parse(text).quarters);
        assert_eq!(read("What was revenue in Q2 2025?"), (AnswerKind::Figure, vec!["2025-Q2".to_owned()]));
        let change = read("By what percentage did revenue change from Q1 2025 to Q2 2025?");
        assert_eq!(change.0, AnswerKind::Change { in_percent: true });
        assert_eq!(change.1, ["2025-Q1", "2025-Q2"]);
        assert_eq!(read("Which slide shows it?").0, AnswerKind::Slide);
        assert_eq!(read("What did the CFO say?").0, AnswerKind::Statement);
        assert_eq!(read("").1, Vec::<String>::new());
    }
}
