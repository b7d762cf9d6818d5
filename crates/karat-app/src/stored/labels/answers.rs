//! Answers: what a question takes, and which of them belong together.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::question::{Question, QuestionKind};

/// The longest answer in words, in characters.
const LONGEST_TEXT: usize = 10_000;

/// The largest number of spans of an answer.
const MOST_SPANS: usize = 500;

/// The answers of a pairwise question.
pub(crate) const PAIR_ANSWERS: [&str; 4] = ["a", "b", "tie", "both_bad"];

/// A span of a text: its Unicode scalar values from `start` to before `end`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanAnswer {
    pub start: usize,
    pub end: usize,
    pub category: String,
    pub quote: String,
}

impl Question {
    /// Checks an answer against the question, and a span against the text.
    ///
    /// # Errors
    /// The problem, to be put behind the question's name.
    pub(crate) fn check_answer(&self, answer: &Value, text: &str) -> Result<(), String> {
        match self.kind {
            QuestionKind::Scale => self.check_number(answer),
            QuestionKind::Choice => match answer.as_str().map(|id| self.choices.iter().any(|choice| choice.id == id)) {
                Some(true) => Ok(()),
                _ => Err(format!("must be one of {}", ids(&self.choices))),
            },
            QuestionKind::Multi => {
                let wrong = || format!("must be a list of some of {}, each once", ids(&self.choices));
                let chosen = answer.as_array().ok_or_else(wrong)?;
                let is_fine = chosen.iter().enumerate().all(|(at, id)| {
                    let is_choice = self.choices.iter().any(|choice| id.as_str() == Some(choice.id.as_str()));
                    is_choice && !chosen.get(..at).unwrap_or_default().contains(id)
                });
                if is_fine { Ok(()) } else { Err(wrong()) }
            }
            QuestionKind::Pairwise => match answer.as_str() {
                Some(answer) if PAIR_ANSWERS.contains(&answer) => Ok(()),
                _ => Err(format!("must be one of {}", PAIR_ANSWERS.join(", "))),
            },
            QuestionKind::Spans => self.check_spans(answer, text),
            QuestionKind::Text => match answer.as_str() {
                Some(words) if words.chars().count() <= LONGEST_TEXT => Ok(()),
                _ => Err(format!("must be a text of at most {LONGEST_TEXT} characters")),
            },
        }
    }

    fn check_number(&self, answer: &Value) -> Result<(), String> {
        let (lo, hi) = self.scale.unwrap_or_default();
        let is_on_scale = |value: f64| {
            let steps = self.step.map_or(0.0, |step| (value - lo) / step);
            (lo..=hi).contains(&value) && (steps - steps.round()).abs() <= 1e-9
        };
        match answer.as_f64() {
            Some(value) if is_on_scale(value) => Ok(()),
            _ => match self.step {
                Some(step) => Err(format!("must be a number from {lo} to {hi} in steps of {step}")),
                None => Err(format!("must be a number from {lo} to {hi}")),
            },
        }
    }

    fn check_spans(&self, answer: &Value, text: &str) -> Result<(), String> {
        for span in spans(answer).ok_or("must be a list of {start, end, category, quote}")? {
            if !self.categories.iter().any(|category| category.id == span.category) {
                return Err(format!("has the category `{}`; there are {}", span.category, ids(&self.categories)));
            }
            let (start, end) = (span.start, span.end);
            match slice(text, start, end) {
                None => return Err(format!("has the span {start}..{end}, which is not in the text")),
                Some(quote) if quote != span.quote => {
                    return Err(format!("has the span {start}..{end} with another quote than the text has there"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// The spans of an answer; `None` if it is not a list of them, or too long.
pub(crate) fn spans(answer: &Value) -> Option<Vec<SpanAnswer>> {
    let spans: Vec<SpanAnswer> = Deserialize::deserialize(answer).ok()?;
    (spans.len() <= MOST_SPANS).then_some(spans)
}

/// The Unicode scalar values from `start` to before `end`; `None` if they are not in the text, or are none.
fn slice(text: &str, start: usize, end: usize) -> Option<&str> {
    let byte = |at: usize| {
        let mut places = text.char_indices().map(|(byte, _)| byte).chain([text.len()]);
        places.nth(at)
    };
    if start >= end {
        return None;
    }
    text.get(byte(start)?..byte(end)?)
}

fn ids(choices: &[super::question::Choice]) -> String {
    choices.iter().map(|choice| choice.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns whether a question is asked, given the answers to the others.
pub(crate) fn is_asked(question: &Question, answers: &Map<String, Value>) -> bool {
    question.show_if.iter().all(|(id, wanted)| match (answers.get(id), wanted) {
        (Some(Value::Number(answer)), Value::Number(wanted)) => answer.as_f64() == wanted.as_f64(),
        (answer, wanted) => answer == Some(wanted),
    })
}

/// Checks the answers to all questions: each fits, none is missing, and none is to a question that is not asked.
///
/// # Errors
/// The problem in words.
pub(crate) fn check_answers(questions: &[Question], answers: &Map<String, Value>, text: &str) -> Result<(), String> {
    check_given(questions, answers, text)?;
    for question in questions {
        let (is_asked, is_given) = (is_asked(question, answers), answers.contains_key(&question.id));
        if is_given && !is_asked {
            return Err(format!("`{}` is answered and not asked; leave it out", question.id));
        }
        if is_asked && question.required && !is_given {
            return Err(format!("`{}` is not answered", question.id));
        }
    }
    Ok(())
}

/// Checks the answers that are given: a draft may lack some.
///
/// # Errors
/// The problem in words.
pub(crate) fn check_given(questions: &[Question], answers: &Map<String, Value>, text: &str) -> Result<(), String> {
    for (id, answer) in answers {
        let question = questions.iter().find(|question| question.id == *id);
        let question = question.ok_or_else(|| format!("`{id}` is not a question of this task"))?;
        question.check_answer(answer, text).map_err(|problem| format!("`{id}` {problem}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn questions(text: &str) -> Vec<Question> {
        Question::parse_file(text, "q.yaml").unwrap()
    }

    const ALL: &str = r"
- { id: good, ask: Good?, kind: choice, choices: [{ id: yes_it_is }, { id: no_it_is_not }] }
- { id: score, ask: How good?, kind: scale, scale: [1, 5], step: 1, show_if: { good: yes_it_is } }
- { id: faults, ask: Which faults?, kind: multi, choices: [{ id: tone }, { id: fact }], required: false }
- { id: marks, ask: Where?, kind: spans, categories: [{ id: wrong }], required: false }
- { id: words, ask: Why?, kind: text, required: false }
";

    /// HU-02: each kind takes its own answers; required and conditional questions are enforced.
    #[test]
    fn answers_fit_their_questions() {
        let questions = questions(ALL);
        let check = |answers: Value| check_answers(&questions, answers.as_object().unwrap(), "a text");
        let fine = json!({ "good": "yes_it_is", "score": 3, "faults": ["fact"], "words": "so",
            "marks": [{ "start": 2, "end": 6, "category": "wrong", "quote": "text" }] });
        assert_eq!(check(fine), Ok(()));
        assert_eq!(check(json!({ "good": "no_it_is_not" })), Ok(()));
        for (wrong, said) in [
            (json!({}), "`good` is not answered"),
            (json!({ "good": "yes_it_is" }), "`score` is not answered"),
            (json!({ "good": "no_it_is_not", "score": 3 }), "not asked"),
            (json!({ "good": "yes_it_is", "score": 2.5 }), "steps of 1"),
            (json!({ "good": "yes_it_is", "score": null }), "steps of 1"),
            (json!({ "good": "maybe" }), "must be one of"),
            (json!({ "good": "no_it_is_not", "faults": ["tone", "tone"] }), "each once"),
            (json!({ "good": "no_it_is_not", "other": 1 }), "not a question"),
            (json!({ "good": "no_it_is_not", "words": 7 }), "must be a text"),
        ] {
            assert!(check(wrong.clone()).unwrap_err().contains(said), "{wrong}");
        }
    }

    /// HU-21: offsets count Unicode scalar values, and the quote must be what stands there.
    #[test]
    fn spans_quote_the_text() {
        let questions = questions("[{ id: m, ask: x, kind: spans, categories: [{ id: c }] }]");
        let text = "a👩‍🔬e\u{301}\r\nשלום";
        let chars: Vec<char> = text.chars().collect();
        for start in 0..chars.len() {
            for end in start + 1..=chars.len() {
                let quote: String = chars[start..end].iter().collect();
                let span = json!([{ "start": start, "end": end, "category": "c", "quote": quote }]);
                assert_eq!(questions[0].check_answer(&span, text), Ok(()), "{start}..{end}");
            }
        }
        let last = chars.len();
        for (start, end, category, quote) in
            [(0, 1, "c", "b"), (0, last + 1, "c", text), (1, 1, "c", ""), (0, 1, "d", "a")]
        {
            let span = json!([{ "start": start, "end": end, "category": category, "quote": quote }]);
            assert!(questions[0].check_answer(&span, text).is_err(), "{start}..{end}");
        }
    }

    /// HU-02: a file of questions says what is wrong with it.
    #[test]
    fn a_wrong_question_is_named() {
        for (text, said) in [
            ("[]", "1 to 20"),
            ("[{ id: a, ask: x, kind: scale }]", "scale: [LOWEST, HIGHEST]"),
            ("[{ id: a, ask: x, kind: choice, choices: [{ id: b }] }]", "at least 2"),
            ("[{ id: a, ask: x, kind: text }, { id: a, ask: x, kind: text }]", "another with this"),
            ("[{ id: a, ask: x, kind: text, show_if: { b: 1 } }]", "no earlier question"),
            ("[{ id: a, ask: x, kind: text, settle: mean }]", "majority"),
            ("[{ id: a, ask: x, kind: text, colour: red }]", "colour"),
        ] {
            let problem = Question::parse_file(text, "q.yaml").unwrap_err().to_string();
            assert!(problem.contains(said), "{text}: {problem}");
        }
    }
}
