//! What a question asks for, as far as this service understands questions.

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A number of one quarter.
    Figure,
    /// How a number changed between two quarters; in per cent, or in its own unit.
    Change {
        /// Whether the change is asked for in per cent.
        in_percent: bool,
    },
    /// What somebody said.
    Statement,
    /// A slide.
    Slide,
    /// An announcement.
    Announcement,
}

/// A question that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub wanted: Wanted,
    /// Lower-cased.
    pub text: String,
    pub words: Vec<String>,
    /// Quarters it names, as `2025-Q2`, in its order.
    pub quarters: Vec<String>,
}

impl Question {
    pub fn read(text: &str) -> Self {
        let text = text.to_lowercase();
        let quarters = quarters(&text);
        let has = |word: &str| words(&text).iter().any(|it| it == word);
        let wanted = if has("slide") || has("deck") {
            Wanted::Slide
        } else if has("say") || has("said") || has("spoke") {
            Wanted::Statement
        } else if has("announce") {
            Wanted::Announcement
        } else if quarters.len() > 1 {
            Wanted::Change { in_percent: has("percentage") || has("percent") }
        } else {
            Wanted::Figure
        };
        Self { wanted, words: words(&text), quarters, text }
    }

    /// The quarter it is about: of two the later named.
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

/// Words that say nothing about what is asked.
const EMPTY: &[&str] = &[
    "a", "about", "and", "by", "did", "does", "from", "how", "in", "is", "it", "much", "of", "on", "the", "there",
    "to", "was", "were", "what", "which", "who", "with",
];

/// The words that a text is searched by: lower-cased, a quarter as one word, empty words left out.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let own = quarters(&text).into_iter().map(|quarter| quarter.to_lowercase());
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let parts = parts.filter(|part| !EMPTY.contains(part) && !is_quarter(part) && !is_year(part));
    parts.map(str::to_owned).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_apart() {
        let read = |text: &str| (Question::read(text).wanted, Question::read(text).quarters);
        assert_eq!(read("What was revenue in Q2 2025?"), (Wanted::Figure, vec!["2025-Q2".to_owned()]));
        let change = read("By what percentage did revenue change from Q1 2025 to Q2 2025?");
        assert_eq!(change.0, Wanted::Change { in_percent: true });
        assert_eq!(change.1, ["2025-Q1", "2025-Q2"]);
        assert_eq!(read("Which slide shows it?").0, Wanted::Slide);
        assert_eq!(read("What did the CFO say?").0, Wanted::Statement);
        assert_eq!(read("").1, Vec::<String>::new());
    }
}
