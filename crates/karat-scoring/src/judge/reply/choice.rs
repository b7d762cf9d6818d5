//! The owner of a verdict: decided by structure, never by the words around it.
//!
//! Each call has a code that its prompt gives and that nothing it shows can hold. An object with the code is the judge's own,
//! wherever it stands. One with another code never counts. One without any counts if it is the only one that grades anything, and
//! if it does not stand word for word in what the judge was shown: a judge may quote a verdict that the judged output holds.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::str::Chars;

use karat_text::fence;
use karat_text::ladder::{self, BrokenJson, Candidate, Found, LadderError, Survey};
use karat_types::{ChatRequest, Rubric};
use serde_json::{Map, Value};

use super::{NOTHING, Problem, inside_wrapping, is_asked_for, parse_nested_texts, places, verdict_likeness};

/// Names of the member that holds the code; the first that the rubric does not ask for.
const CODE: [&str; 3] = ["code", "call_code", "karat_code"];

/// The shortest key by which a broken object is taken for another try at the chosen one.
const TELLING_KEY: usize = 3;

/// The name of the member that holds the call's code.
pub(crate) fn code_field(rubric: &Rubric) -> &'static str {
    let is_overall = |name: &str| rubric.overall.as_ref().is_some_and(|overall| overall.id == name);
    CODE.into_iter().find(|name| !is_asked_for(rubric, name) && !is_overall(name)).unwrap_or(CODE[2])
}

/// The call that a reply answers.
#[derive(Debug, Clone, Copy)]
pub struct JudgeCall<'a> {
    /// Its code.
    pub code: &'a str,
    /// The request; its fenced sections are what the judge was shown.
    pub request: &'a ChatRequest,
    /// True if the judge is not asked again.
    pub is_last: bool,
}

/// Picks the object that is the judge's verdict.
///
/// # Errors
/// Several objects that differ, or one that is quoted from what the judge was shown.
pub(super) fn choose(
    rubric: &Rubric,
    survey: Survey,
    origins: &BTreeMap<String, Vec<usize>>,
    call: JudgeCall<'_>,
) -> Result<Found, Problem> {
    let Survey { candidates, broken } = survey;
    let (signed, unsigned): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(|it| carries_code(rubric, &it.found.value, call.code));
    let is_signed = !signed.is_empty();
    let shown = ShownText::new(call.request);
    let chosen = if is_signed {
        sole(signed, |_| true, call.is_last)?
    } else {
        let count = unsigned.len();
        let unsigned: Vec<Candidate> =
            unsigned.into_iter().filter(|it| !carries_other_code(rubric, &it.found.value, call.code)).collect();
        if unsigned.is_empty() && count > 0 {
            return Err(problem(OTHER_CODE));
        }
        let likeness = |it: &Candidate| verdict_likeness(rubric, &it.found.value, origins);
        let (verdicts, others): (Vec<Candidate>, Vec<Candidate>) =
            unsigned.into_iter().partition(|it| likeness(it) > 0);
        let is_own = |it: &Candidate| !shown.holds(rubric, it);
        // Where nothing grades anything, the problems of the first object say what is missing.
        let chosen = if verdicts.is_empty() { ladder::first(others) } else { sole(verdicts, is_own, call.is_last)? };
        match chosen {
            Some(copied) if !is_own(&copied) => return Err(problem(COPIED)),
            other => other,
        }
    };
    let Some(chosen) = chosen else { return Err(problem(LadderError::NoJson.to_string())) };
    // An object that was started after it and never ended may have been the verdict.
    let is_another_try = |broken: &&BrokenJson| {
        let names = |key: &String| key.len() >= TELLING_KEY && broken.text.contains(key.as_str());
        broken.start >= chosen.span.end
            && if is_signed { broken.text.contains(call.code) } else { keys(&chosen).any(names) }
    };
    match broken.iter().find(is_another_try) {
        Some(broken) => Err(problem(broken.error.to_string())),
        None => Ok(chosen.found),
    }
}

const COPIED: &str = "the reply's JSON object stands word for word in what was to be judged, and does not carry the code of \
                      this call";

const OTHER_CODE: &str = "the reply's JSON object carries another code than the one of this call";

fn problem(message: impl Into<String>) -> Problem {
    Problem { pointer: String::new(), message: message.into() }
}

fn keys(candidate: &Candidate) -> impl Iterator<Item = &String> {
    candidate.found.value.as_object().into_iter().flat_map(Map::keys)
}

/// The only one of these objects, counting equal ones once. Of several that all stand in code fences, after the last attempt,
/// the first own one; one outside of a fence may as well be the verdict.
fn sole(
    mut candidates: Vec<Candidate>,
    is_own: impl Fn(&Candidate) -> bool,
    is_last: bool,
) -> Result<Option<Candidate>, Problem> {
    let mut values: Vec<&Value> = Vec::new();
    for candidate in &candidates {
        if !values.contains(&&candidate.found.value) {
            values.push(&candidate.found.value);
        }
    }
    let count = values.len();
    if count < 2 {
        return Ok(candidates.into_iter().next());
    }
    let is_decided = is_last && candidates.iter().all(|it| it.is_fenced || !is_own(it));
    let own = candidates.iter().enumerate().filter(|(_, it)| is_decided && it.is_fenced && is_own(it));
    let Some((first, _)) = own.min_by_key(|(_, it)| it.span.start) else {
        return Err(problem(format!("the reply holds {count} JSON objects that differ, where one is expected")));
    };
    let mut chosen = candidates.swap_remove(first);
    chosen
        .found
        .notes
        .push(format!("the reply held {count} JSON objects that differ; the first one in a code fence counts"));
    Ok(Some(chosen))
}

/// True if an object, or the one within its wrappings that holds the scores, has the code.
fn carries_code(rubric: &Rubric, value: &Value, code: &str) -> bool {
    let is_code = |value: &Value| match value {
        Value::String(text) => text.trim().eq_ignore_ascii_case(code),
        Value::Number(number) => number.to_string() == code,
        _ => false,
    };
    has_code_that(rubric, value, is_code)
}

/// True if an object says another code than that of the call. One that is blank, a placeholder, or has words around the
/// code says none.
fn carries_other_code(rubric: &Rubric, value: &Value, code: &str) -> bool {
    let is_other = |value: &Value| match value {
        Value::String(text) => {
            let (text, code) = (text.trim().to_ascii_lowercase(), code.to_ascii_lowercase());
            !text.is_empty() && !text.starts_with('<') && !text.contains(&code)
        }
        Value::Number(number) => number.to_string() != code,
        _ => false,
    };
    has_code_that(rubric, value, is_other)
}

/// True if the code of an object, or of the one within its wrappings that holds the scores, is such.
fn has_code_that(rubric: &Rubric, value: &Value, is_such: impl Fn(&Value) -> bool) -> bool {
    let field = code_field(rubric);
    let has_such = |object: &Map<String, Value>| places::member(object, field).is_some_and(|(_, value)| is_such(value));
    let opened = parse_nested_texts(rubric, value);
    let mut object = opened.as_ref().unwrap_or(value).as_object().unwrap_or(&NOTHING);
    loop {
        if has_such(object) {
            return true;
        }
        match inside_wrapping(rubric, object) {
            Some((_, inner)) => object = inner,
            None => return false,
        }
    }
}

/// Everything that the judge was shown between fences.
struct ShownText<'a> {
    request: &'a ChatRequest,
    /// Folded when it is first asked for: most replies carry the code.
    folded: OnceCell<String>,
}

impl<'a> ShownText<'a> {
    fn new(request: &'a ChatRequest) -> Self {
        Self { request, folded: OnceCell::new() }
    }

    /// True if an object, or the one within its wrappings, stands in it: as it is written or as it is read.
    fn holds(&self, rubric: &Rubric, candidate: &Candidate) -> bool {
        let value = &candidate.found.value;
        let opened = parse_nested_texts(rubric, value);
        let mut object = opened.as_ref().unwrap_or(value).as_object().unwrap_or(&NOTHING);
        let mut texts = vec![candidate.source.clone(), value.to_string()];
        while let Some((_, inner)) = inside_wrapping(rubric, object) {
            object = inner;
        }
        if object.is_empty() {
            return false;
        }
        texts.extend(serde_json::to_string(object));
        let shown = self.folded.get_or_init(|| {
            let sections = self.request.messages.iter().flat_map(|message| fence::sections(&message.text()));
            sections.map(|(_, content)| fold(&content)).collect::<Vec<_>>().join("\n")
        });
        texts.iter().any(|text| shown.contains(&fold(text)))
    }
}

/// A text without what differs between JSON, JSON written as a text, and a quotation of it: white space, quotes, escapes, marks
/// of a quotation, and characters beyond the basic plane, which may be escaped as two.
fn fold(text: &str) -> String {
    let text = text.replace("&quot;", "");
    let mut folded = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let plain = match character {
            '\\' => unescape(&mut rest),
            other => Some(other),
        };
        let is_kept = |c: &char| !c.is_whitespace() && !"\"'`“”„‘’>".contains(*c) && u32::from(*c) <= 0xFFFF;
        folded.extend(plain.filter(is_kept));
    }
    folded
}

/// The character that follows a backslash, where it is none of white space.
fn unescape(rest: &mut Chars<'_>) -> Option<char> {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('n' | 'r' | 't') => {
            *rest = ahead;
            None
        }
        Some('u') => {
            let digits = ahead.as_str().get(..4)?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            ahead.nth(3);
            *rest = ahead;
            char::from_u32(code)
        }
        _ => None,
    }
}
