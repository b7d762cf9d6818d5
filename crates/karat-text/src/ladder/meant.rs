//! The value that a reply means, where it holds several that differ.
//!
//! A value counts only if it fits what is asked for, if it is not a form to be filled in, and if the words before it do not
//! call it a draft or an example. Of several that are left, the last counts where the words before it say that it is the
//! corrected or final one, or where it alone stands in a code fence. Otherwise nothing says which one is meant.

use serde_json::Value;

use super::{BrokenJson, Candidate, Found, Ladder, LadderError, Rung, Survey, is_substantial};

/// The shortest key by which a broken object is taken for another try at the chosen one.
const TELLING_KEY: usize = 3;

/// Beginnings of words that say that a value replaces those before it.
#[rustfmt::skip]
const CORRECTED: &[&str] = &[
    "correct", "final", "revis", "updat", "fixed", "korrig", "endgültig", "corrig", "corregi", "définiti", "definiti", "исправ",
    "итог",
];

/// Beginnings of words that say that a value is what the reply comes to.
#[rustfmt::skip]
const CONCLUDED: &[&str] = &[
    "answer", "result", "output", "respon", "verdict", "conclu", "actual", "instead", "rather", "wait", "sorry", "thus",
    "therefore", "hence", "choose", "chose", "pick", "select", "so", "but", "sondern", "antwort", "ergebnis", "réponse",
    "résultat", "respuesta", "resultado", "ответ",
];

/// The same in scripts without spaces between words.
const CONCLUDED_UNSPACED: &[&str] = &["最终", "最終", "更正", "修正", "答案", "回答", "结果", "結果", "คำตอบ"];

/// Beginnings of words that say that a value is not the answer.
#[rustfmt::skip]
const TENTATIVE: &[&str] = &[
    "draft", "first", "example", "form", "template", "schema", "attempt", "guess", "initial", "previous", "original", "wrong",
    "incorrect", "alternativ", "instance", "like", "such", "old", "input", "given", "consider", "before", "beispiel", "entwurf",
    "zuerst", "statt", "exemple", "brouillon", "ejemplo", "borrador", "пример", "черновик",
];

/// The same in scripts without spaces between words.
const TENTATIVE_UNSPACED: &[&str] = &["例如", "示例", "草稿", "下書き", "ตัวอย่าง"];

/// The value that a reply means.
#[derive(Debug, Clone, PartialEq)]
pub struct Meant {
    /// The value, and how it was found.
    pub found: Found,
    /// The reason why it counts, where the reply held others.
    pub choice: Option<String>,
}

impl Ladder {
    /// The value that a reply means, of those that fit.
    ///
    /// # Errors
    /// As [`read`](super::read); several values that differ, where nothing says which one is meant.
    pub fn choose(&self, text: &str, fits: impl Fn(&Value) -> bool) -> Result<Meant, LadderError> {
        let Survey { candidates, broken } = self.survey(text)?;
        let differing = count_values(&candidates);
        let mut left = strict_or_alike(candidates);
        keep(&mut left, |it| is_substantial(&it.found.value));
        keep(&mut left, |it| fits(&it.found.value));
        keep(&mut left, |it| !is_form(&it.found.value));
        keep(&mut left, |it| Lead::of(&it.lead) != Lead::Tentative);
        let count = count_values(&left);
        let (chosen, why) = if count < 2 {
            (left.into_iter().next(), "the one that can be meant counts")
        } else {
            let sole_fenced = count_values(left.iter().filter(|it| it.is_fenced)) == 1;
            let last = left.into_iter().max_by_key(|it| it.span.start);
            let last = last.filter(|it| Lead::of(&it.lead) == Lead::Concluding || it.is_fenced && sole_fenced);
            (Some(last.ok_or(LadderError::Several(count))?), "the last one counts")
        };
        let chosen = chosen.ok_or(LadderError::NoJson)?;
        if let Some(broken) = broken.into_iter().find(|broken| is_another_try(broken, &chosen)) {
            return Err(broken.error);
        }
        let choice = (differing > 1).then(|| format!("the reply held {differing} JSON values that differ; {why}"));
        Ok(Meant { found: chosen.found, choice })
    }
}

/// Keeps the candidates of which something holds, if it holds of any.
fn keep(candidates: &mut Vec<Candidate>, holds: impl Fn(&Candidate) -> bool) {
    if candidates.iter().any(&holds) {
        candidates.retain(holds);
    }
}

/// Strict JSON, and beside it only such repaired objects as share a key with it: those are another try at the same.
fn strict_or_alike(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let strict = candidates.iter().filter(|it| it.found.rung < Rung::Repaired);
    let keys: Vec<String> =
        strict.clone().filter_map(|it| it.found.value.as_object()).flat_map(|it| it.keys().cloned()).collect();
    if strict.count() > 0 {
        let is_alike = |value: &Value| value.as_object().is_some_and(|it| it.keys().any(|key| keys.contains(key)));
        candidates.retain(|it| it.found.rung < Rung::Repaired || is_alike(&it.found.value));
    }
    candidates
}

/// The number of values that differ.
fn count_values<'a>(candidates: impl IntoIterator<Item = &'a Candidate>) -> usize {
    let mut values: Vec<&Value> = Vec::new();
    for candidate in candidates {
        if !values.contains(&&candidate.found.value) {
            values.push(&candidate.found.value);
        }
    }
    values.len()
}

/// True if a broken object after the chosen one has one of its keys: it may have been what was meant.
fn is_another_try(broken: &BrokenJson, chosen: &Candidate) -> bool {
    let mut keys = chosen.found.value.as_object().into_iter().flat_map(|members| members.keys());
    broken.start >= chosen.span.end && keys.any(|key| key.len() >= TELLING_KEY && broken.text.contains(key.as_str()))
}

/// True if a text within a value stands for what is to be filled in: `...`, `<name>`.
fn is_form(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let text = text.trim();
            matches!(text, "..." | "…") || text.starts_with('<') && text.ends_with('>') && !text.contains("</")
        }
        Value::Array(items) => items.iter().any(is_form),
        Value::Object(members) => members.values().any(is_form),
        _ => false,
    }
}

/// The meaning of the words before a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// They call it a draft, an example, or wrong.
    Tentative,
    /// They call it corrected, final, or the answer.
    Concluding,
    Other,
}

impl Lead {
    fn of(words: &str) -> Self {
        let words = words.to_lowercase();
        let tokens = || words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        // A short word must be the whole one: "so" is not "some".
        let begins = |word: &str, stem: &&str| if stem.len() < 4 { word == *stem } else { word.starts_with(stem) };
        let any = |stems: &[&str]| tokens().any(|word| stems.iter().any(|stem| begins(word, stem)));
        let holds = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let is_denied = tokens().any(|word| matches!(word, "not" | "nicht" | "pas" | "не"));
        let is_tentative = any(TENTATIVE) || holds(TENTATIVE_UNSPACED) || words.contains("e.g");
        if is_denied || is_tentative && !any(CORRECTED) {
            Self::Tentative
        } else if any(CORRECTED) || any(CONCLUDED) || holds(CONCLUDED_UNSPACED) {
            Self::Concluding
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Expectation;
    use super::*;

    fn choose(text: &str) -> Result<Value, LadderError> {
        Ladder::new(Expectation::Any).choose(text, |_| true).map(|meant| meant.found.value)
    }

    /// F14: of several values that differ, the corrected or final one counts; forms, drafts and examples do not.
    #[test]
    fn the_corrected_or_final_value_counts() {
        let (bug, billing) = (r#"{"category": "bug"}"#, r#"{"category": "billing"}"#);
        for text in [
            format!(
                "First attempt:\n```json\n{bug}\n```\nWait, it is about money. Corrected:\n```json\n{billing}\n```"
            ),
            format!("Draft: {bug}\nFinal: {billing}"),
            format!("The form is {{\"category\": \"...\"}}. My answer: {billing}"),
            format!("The form is {{\"category\": \"<text>\"}}.\n\n{billing}"),
            format!("For example, {bug} would be a defect.\n{billing}"),
            format!("{billing}\n\nAn alternative would be {bug}."),
            format!("I considered {bug} at first.\n```json\n{billing}\n```"),
            format!("{bug}\n\n### Final answer\n\n{billing}"),
            format!("It is not {bug} but {billing}."),
            format!("Entwurf: {bug}\nEndgültig: {billing}"),
            format!("{bug}\n最终答案：{billing}"),
            format!("{billing}\nIn short: {billing}"),
            format!("Draft: {bug}\nFinal: {{category: 'billing'}}"),
            format!("Labels are [\"bug\", \"billing\"]. Answer: {billing}"),
        ] {
            assert_eq!(choose(&text), Ok(json!({"category": "billing"})), "{text}");
        }
    }

    /// F14: where nothing says which value is meant, none is taken.
    #[test]
    fn values_without_a_word_are_ambiguous() {
        let (bug, billing) = (r#"{"category": "bug"}"#, r#"{"category": "billing"}"#);
        for text in [
            format!("{bug}\n{billing}"),
            format!("Results:\n{bug}\n{billing}"),
            format!("```json\n{bug}\n```\n```json\n{billing}\n```"),
            format!("My answer: {bug}\nSomebody else might say {billing}"),
        ] {
            assert_eq!(choose(&text), Err(LadderError::Several(2)), "{text}");
        }
        let cut = format!("Draft: {bug}\nFinal: {{\"category\": \"bil");
        assert!(matches!(choose(&cut), Err(LadderError::Broken { .. })), "{:?}", choose(&cut));
    }

    /// F14: a value that does not fit what is asked for is none of the answers, and the choice is noted.
    #[test]
    fn values_that_do_not_fit_are_left_out() {
        let fits = |value: &Value| value.get("category").is_some_and(|it| it != "other");
        let read = |text: &str| Ladder::new(Expectation::Any).choose(text, fits);
        let meant = read(r#"{"thought": "money"} {"category": "other"} {"category": "billing"}"#).unwrap();
        assert_eq!(meant.found.value, json!({"category": "billing"}));
        let choice = "the reply held 3 JSON values that differ; the one that can be meant counts";
        assert_eq!(meant.choice.as_deref(), Some(choice));
        assert_eq!(read(r#"{"category": "billing"}"#).unwrap().choice, None);
    }
}
