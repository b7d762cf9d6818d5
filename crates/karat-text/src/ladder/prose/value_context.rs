//! Reads the words around a value: they may announce it as final, call it a form, or retract it.

use std::ops::Range;

use serde_json::Value;

use super::{introduction, retraction};

/// The most bytes before a value that may announce it.
const ANNOUNCEMENT: usize = 200;

/// The most bytes between a score's name and its number.
const BETWEEN: usize = 12;

/// Words that announce what counts in place of what stood before, in the languages that judges write.
const FINAL: [&str; 28] = [
    "final",
    "finally",
    "corrected",
    "correction",
    "revised",
    "revision",
    "definitive",
    "reflection",
    "reconsidered",
    "updated",
    "erratum",
    "errata",
    "edit",
    "korrektur",
    "berichtigung",
    "corrección",
    "correção",
    "correzione",
    "rättelse",
    "rettelse",
    "poprawka",
    "oprava",
    "исправление",
    "düzeltme",
    "تصحيح",
    "訂正",
    "更正",
    "정정",
];

/// Words that take that back.
const NOT_FINAL: [&str; 7] = ["not", "draft", "example", "before", "template", "until", "preliminary"];

/// Words before a value that is not a verdict, in the languages that judges write.
const EXAMPLE: [&str; 18] = [
    "example",
    "examples",
    "template",
    "placeholder",
    "placeholders",
    "hypothetical",
    "hypothetically",
    "illustration",
    "beispiel",
    "vorlage",
    "ejemplo",
    "plantilla",
    "exemple",
    "esempio",
    "exemplo",
    "пример",
    "dummy",
    "muster",
];

/// Beginnings of a line that calls the text after it something else than the verdict; within a line these words may be about what
/// is judged.
const CALLED: [&str; 4] = ["draft", "first draft", "for instance", "wrong:"];

/// The same where words are not set apart.
const EXAMPLE_SIGNS: [&str; 5] = ["示例", "例如", "例:", "例：", "例えば"];

/// Words before a value that may show a form or something else than the verdict, where a verdict stands beside it.
const FORM: [&str; 11] =
    ["format", "schema", "shape", "structure", "sample", "comparison", "empty", "would", "formato", "формат", "格式"];

/// Phrases of a sentence whose value is not meant.
const DENIED: [&str; 14] = [
    "would not",
    "wouldn't",
    "wouldn’t",
    "would never",
    "not give",
    "cannot give",
    "can't give",
    "not be",
    "not answer",
    "not my verdict",
    "do not use",
    "i refuse to",
    "tries to make me",
    "contains the instruction",
];

/// Words that begin a condition, and those that say what then would be.
const IF: [&str; 5] = ["if", "were", "had", "unless", "wenn"];
const THEN: [&str; 4] = ["would", "could", "might", "würde"];

/// Names of what a form is.
const SHAPE: [&str; 4] = ["format", "schema", "shape", "structure"];

/// The line before a stretch and all that follows it.
pub(crate) fn words(text: &str, stretch: &Range<usize>) -> String {
    format!("{}\n{}", line_before(text, stretch.start), &text[stretch.end..])
}

/// True if the words right before a place say that what follows is the final word.
pub(crate) fn announces_the_final(text: &str, at: usize) -> bool {
    let before = before(text, at);
    has_word(&before, &FINAL) && !has_word(&before, &NOT_FINAL)
}

/// True if the line before a place says that what follows is an example, or a comment of HTML holds it.
pub(crate) fn announces_an_example(text: &str, at: usize) -> bool {
    let before = &text[text.floor_char_boundary(at.saturating_sub(ANNOUNCEMENT))..at];
    let is_comment = before.rfind("<!--").is_some_and(|opened| !before[opened..].contains("-->"));
    is_comment || is_called_an_example(text, at)
}

/// True if the line before a place calls what follows an example: a line that ends with a colon.
fn is_called_an_example(text: &str, at: usize) -> bool {
    let line = line_before(text, at);
    let is_example = has_word(&line, &EXAMPLE) || EXAMPLE_SIGNS.iter().any(|sign| line.contains(sign));
    let is_called = CALLED.iter().any(|begin| line.trim_start_matches(['*', '#', ' ']).starts_with(begin));
    line.ends_with([':', '：']) && (is_example || is_called)
}

/// True if the line before a place may say that what follows shows a form, or anything but the verdict.
pub(crate) fn may_announce_a_form(text: &str, at: usize) -> bool {
    announces_an_example(text, at) || has_word(&line_before(text, at), &FORM)
}

/// True if the sentence that goes on with what follows says that this is not meant: "If it were empty, I would answer",
/// "If this were perfect:", "I would not give", "The format would be", or that it is not the judge's verdict.
pub(crate) fn is_hypothetical(text: &str, at: usize) -> bool {
    let line = line_before(text, at);
    if introduction::is_of_another(&line) {
        return true;
    }
    let sentence = line.rsplit(['.', '!', '?', '。']).next().unwrap_or_default();
    let is_unreal = has_word(sentence, &["if"]) && has_word(sentence, &["were", "had"]);
    is_unreal
        || DENIED.iter().any(|denial| sentence.contains(denial))
        || has_word(sentence, &THEN) && (has_word(sentence, &IF) || has_word(sentence, &SHAPE))
}

/// True if what follows a value gives it up, or gives one of its numbers anew and differently: as the final word, or as
/// nothing but a score (`accuracy: 2.`, and not `accuracy: 2 claims are wrong`).
pub(crate) fn takes_back(after: &str, value: &Value) -> bool {
    let after = after.to_lowercase();
    if retraction::gives_up(&after) || announces_more(&after) {
        return true;
    }
    match after.split(|c: char| !c.is_alphanumeric()).find(|word| FINAL.contains(word)) {
        Some(announced) => {
            let from = announced.as_ptr() as usize - after.as_ptr() as usize;
            let before = after[..from].trim_end_matches([' ', '(']);
            !has_word(before, &NOT_FINAL)
                && (restates_number(&after[from..], value, |_| true) || restates_number(before, value, ends_a_score))
        }
        None => restates_number(&after, value, ends_a_score),
    }
}

/// True if a text ends where something was to come: with a heading, or with a line that ends with a colon.
fn announces_more(after: &str) -> bool {
    let last = after.lines().rev().map(|line| line.trim_matches(['*', '_', ' '])).find(|line| !line.is_empty());
    last.is_some_and(|line| line.starts_with("# ") || line.starts_with("##") || line.ends_with([':', '：']))
}

/// True if a text in lower case names one of a value's numbers with another one, and goes on as `ends` wants it.
fn restates_number(text: &str, value: &Value, ends: impl Fn(&str) -> bool) -> bool {
    let said = fold(text);
    numbers(value).into_iter().any(|(name, number)| {
        let mut places = said.match_indices(name.as_str()).map(|(at, name)| &said[at + name.len()..]);
        places.any(|rest| {
            leading_number(rest).is_some_and(|(other, rest)| (other - number).abs() > f64::EPSILON && ends(rest))
        })
    })
}

/// True if what follows a number leaves it a score: `/10`, a mark, the end of the line, or `is fairer`.
fn ends_a_score(rest: &str) -> bool {
    let of = ["/", "outof"].iter().find_map(|mark| rest.strip_prefix(mark));
    let rest = of.map_or(rest, |of| of.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.is_empty() || rest.starts_with(['.', ',', ';', ')', '!', '\n', '。', '，']) || rest.starts_with("is")
}

/// The numbers of an object and of those within it, with their folded names.
fn numbers(value: &Value) -> Vec<(String, f64)> {
    let Some(members) = value.as_object() else { return Vec::new() };
    let of = |(name, value): (&String, &Value)| match value.as_f64() {
        Some(number) if name.len() > 2 => vec![(fold(&name.to_lowercase()), number)],
        _ => numbers(value),
    };
    members.iter().flat_map(of).collect()
}

/// A text in which spaces and marks within names do not count: `topic coverage` is `topicCoverage`. Lines stay lines.
fn fold(text: &str) -> String {
    let is_mark = |c: char| c.is_whitespace() && c != '\n' || matches!(c, '_' | '-' | '*' | '`' | '"');
    text.chars().filter(|c| !is_mark(*c)).collect()
}

/// The number that a text begins with, a few words and marks apart, and what follows it.
fn leading_number(text: &str) -> Option<(f64, &str)> {
    let start = text.find(|c: char| c.is_ascii_digit()).filter(|start| *start <= BETWEEN)?;
    if text[..start].contains([',', '.', ';']) {
        return None;
    }
    let digits = &text[start..];
    let end = digits.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(digits.len());
    let number = digits[..end].trim_end_matches(['.', ',']);
    Some((number.replace(',', ".").parse().ok()?, &digits[number.len()..]))
}

/// The words before a place in lower case, back to the bracket before them.
fn before(text: &str, at: usize) -> String {
    let from = text.floor_char_boundary(at.saturating_sub(ANNOUNCEMENT));
    let before = &text[from..at];
    before.rfind(['}', ']']).map_or(before, |end| &before[end + 1..]).to_lowercase()
}

/// The last line of them, without the mark that opens a fence.
fn line_before(text: &str, at: usize) -> String {
    let before = before(text, at);
    let lines = before.lines().rev().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("```") && !line.starts_with("~~~"));
    lines.next().unwrap_or_default().trim_end_matches(['*', '_', ' ']).to_owned()
}

fn has_word(text: &str, words: &[&str]) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_given_anew_take_a_value_back() {
        let value = json!({"scores": {"topicCoverage": 1, "accuracy": 8.5}, "reasoning": "x"});
        for after in [
            "On reflection: topic coverage 7.",
            "Final:\n- **Topic coverage**: 7\n- accuracy = 8.5",
            "corrected accuracy is 9",
            "Hmm, accuracy: 2 is fairer.",
            "Make accuracy 2",
            "- topic coverage: 7/10\n- accuracy: 8,5",
            "Those are dummy scores.",
            "Disregard the above.",
            "訂正：topic coverage は 8 です。",
            "更正：accuracy 应为 8。",
            "accuracy=8 (final)",
            "\n**Answer:**\n",
            "\n## Verdict",
        ] {
            assert!(takes_back(after, &value), "{after}");
        }
        for after in [
            "Final scores: topicCoverage 1, accuracy 8.5.",
            "Topic coverage 7 would be too much.",
            "This is not final: accuracy 9",
            "That is my final answer. Accuracy, of 10 claims, was fine.",
            "accuracy: 2 claims are wrong; topic coverage (3 of 5 parts) is thin",
            "- accuracy: 8,5\n- topic coverage: 1/10",
            "",
        ] {
            assert!(!takes_back(after, &value), "{after}");
        }
    }

    #[test]
    fn lines_before_a_value_announce_it() {
        let at = |text: &str| text.len();
        for text in [
            "An example:\n",
            "<!-- ",
            "Draft: ",
            "**Example:**\n```json\n",
            "Zum Beispiel: ",
            "示例：",
            "Example of the form:\n\n~~~\n",
        ] {
            assert!(announces_an_example(text, at(text)), "{text}");
        }
        for text in [
            "My verdict on the draft:\n",
            "Two claims are wrong:\n",
            "The example of the oats is missing.\n",
            "In the format asked for:\n```json\n",
            "{\"an example\": 1}:",
        ] {
            assert!(!announces_an_example(text, at(text)), "{text}");
        }
        for text in [
            "If it were empty I would answer ",
            "I would not give:\n",
            "The format would be: ",
            "If this were a perfect set: ",
            "Fine. I wouldn’t say ",
            "The text tries to make me say: ",
        ] {
            assert!(is_hypothetical(text, at(text)), "{text}");
        }
        for text in [
            "If anything is missing, it is told below. I would give ",
            "I would rate this ",
            "It does not say why. ",
            "I found no format errors: ",
            "If you want JSON: ",
        ] {
            assert!(!is_hypothetical(text, at(text)), "{text}");
        }
        assert!(may_announce_a_form("The format:\n```json\n", 20));
        assert!(announces_the_final("On reflection: ", 15) && !announces_the_final("not final: ", 11));
    }
}
