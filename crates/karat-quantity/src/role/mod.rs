//! The role of a number: an amount, a date, or a reference to something.
//!
//! This file reads dates, lists and citations; `references` knows the words that name something by a number ("page
//! 12"), `contact` web addresses and phone numbers.

pub(crate) mod contact;

use crate::chars::{digit, is_inline_space};
use crate::numeral::digits::{Form, Numeral};
use crate::references::{MONTHS, NEAR, is_referred_to, near_end, trailing_word};
use crate::unit::scale::starts_with_word;

/// The role of a number in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It counts or measures.
    Quantity,
    /// Part of a date or time, a year, a quarter, an ordinal.
    Calendar,
    /// It names something: a page, a citation, a list item, a version, part of an identifier.
    Reference,
}

/// The role of a number that has neither sign, scale nor unit.
pub(crate) fn of_plain(text: &str, numeral: &Numeral) -> Role {
    let (before, after) = (&text[..numeral.start], &text[numeral.end..]);
    let raw = &text[numeral.start..numeral.end];
    if numeral.form == Form::Spelled {
        return if is_hyphenated(after) || is_fraction(after) { Role::Reference } else { Role::Quantity };
    }
    if is_date_or_time(before, raw, after) || is_ordinal(after) || is_hour(raw, after) || is_span_of_time(after) {
        return Role::Calendar;
    }
    if numeral.form == Form::Dotted || is_part(after) {
        return Role::Reference;
    }
    if let Some(role) = attached_role(before, after) {
        return role;
    }
    let listed = numeral.form == Form::Bare && raw.len() <= 3 && is_list_item(before, after);
    let named = is_plan(raw, after) || is_self_rating(before, after);
    if is_citation(before, after) || listed || named || is_referred_to(before) {
        return Role::Reference;
    }
    if is_year(raw, numeral) || month_beside(before, raw, after) || period_before(before) {
        return Role::Calendar;
    }
    Role::Quantity
}

/// A bare year such as 2025.
pub(crate) fn is_year(raw: &str, numeral: &Numeral) -> bool {
    numeral.form == Form::Bare && raw.len() == 4 && (raw.starts_with("19") || raw.starts_with("20"))
}

/// True if what looks like a scale is part of a name: "Rule 10b-5".
pub(crate) fn is_name(text: &str, numeral: &Numeral, end: usize) -> bool {
    if is_months(text, numeral, end) {
        return true;
    }
    let touches = text[numeral.end..end].chars().count() == 1 && text[numeral.end..].starts_with(char::is_alphabetic);
    touches && is_referred_to(&text[..numeral.start])
}

/// True if the "M" of a number says months: "9M 2025", "12M rolling", "LTM 12M".
fn is_months(text: &str, numeral: &Numeral, end: usize) -> bool {
    const SPANS: &[&str] = &["3", "6", "9", "12", "18", "24"];
    const AFTER: &[&str] = &["rolling", "trailing", "ended", "ending", "ytd", "results", "period", "fy"];
    const BEFORE: &[&str] = &["ltm", "ntm", "ttm", "trailing", "rolling"];
    let span = &text[numeral.start..end];
    if !span.strip_suffix('M').is_some_and(|months| SPANS.contains(&months)) {
        return false;
    }
    let next = leading_word(text[end..].trim_start_matches(|c| is_inline_space(c) || matches!(c, '\'' | '’' | '-')));
    let previous = trailing_word(text[..numeral.start].trim_end_matches(is_inline_space));
    let is_in = |words: &[&str], word: &str| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    year(next) || is_in(AFTER, next) || is_in(BEFORE, previous)
}

/// True if a number behind `before` is how sure an answer says it is: "Confidence: 70%", "Confidence 7/10", "Score 95/100".
pub(crate) fn is_self_rating(before: &str, after: &str) -> bool {
    const MARGIN: [char; 6] = [' ', ':', '=', '*', '_', '/'];
    let whole = before.ends_with('/');
    let before = near_end(before).trim_end_matches(|c: char| whole && (c == '/' || c.is_ascii_digit()));
    let label = before.trim_end_matches(MARGIN);
    let word = trailing_word(label);
    let first = label[..label.len() - word.len()].trim_end_matches([' ', '*', '_']);
    let begins = first.is_empty() || first.ends_with(['.', ';', ',', '(', '[', '|', '\n']);
    let of_score = ["score", "rating"].iter().any(|known| word.eq_ignore_ascii_case(known));
    let scaled = whole || ["/10", "/100", "/5"].iter().any(|scale| after.starts_with(scale));
    begins && (word.eq_ignore_ascii_case("confidence") || of_score && scaled)
}

/// Letters that touch the number: Q2, 1H25 and FY25 are periods, the rest are names.
fn attached_role(before: &str, after: &str) -> Option<Role> {
    let prefix = trailing_word(before);
    if !prefix.is_empty() {
        let period = ["q", "h", "fy", "cy"].iter().any(|p| prefix.eq_ignore_ascii_case(p));
        return Some(if period { Role::Calendar } else { Role::Reference });
    }
    let period_after =
        after.strip_prefix(['Q', 'H', 'q', 'M', 'T', 'S']).is_some_and(|rest| rest.starts_with(|c| digit(c).is_some()));
    if period_after {
        return Some(Role::Calendar);
    }
    let is_short_year = leading_digits(after).is_empty() && before.ends_with(['\'', '’']);
    if is_short_year && !trailing_word(before.trim_end_matches(['\'', '’'])).is_empty() {
        return Some(Role::Calendar);
    }
    if before.ends_with('_') || after.starts_with('_') || before.ends_with('#') {
        return Some(Role::Reference);
    }
    let joined_before = before.strip_suffix(['-', '‑']);
    if joined_before.is_some_and(|rest| trailing_word(rest).contains(char::is_alphabetic)) {
        return Some(Role::Reference);
    }
    // "5G", "3D" and "10-K" are names; "1.5x" is a multiple, "10km" a measure.
    let suffix = leading_word(after);
    let name = suffix.chars().count() == 1 && suffix.chars().all(char::is_uppercase);
    let form = after.strip_prefix('-').map(leading_word);
    let form = form.is_some_and(|word| word.chars().count() == 1 && word.chars().all(char::is_alphabetic));
    (name || form).then_some(Role::Reference)
}

fn leading_word(after: &str) -> &str {
    let near = near_start(after);
    let end = near.find(|c: char| !c.is_alphanumeric() || u32::from(c) >= 0x2e80);
    &near[..end.unwrap_or(near.len())]
}

fn near_start(text: &str) -> &str {
    let end = text.char_indices().nth(NEAR).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn is_hyphenated(after: &str) -> bool {
    after.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// "two thirds", "three fifths".
fn is_fraction(after: &str) -> bool {
    const PARTS: &[&str] = &["third", "thirds", "fifth", "fifths", "sixth", "eighth", "eighths", "tenth", "tenths"];
    let word = leading_word(after.trim_start_matches([' ', '-']));
    PARTS.contains(&word)
}

/// The parts of "2/3rds" and "4 5ths".
fn is_part(after: &str) -> bool {
    ["rds", "ths"].iter().any(|suffix| starts_with_word(after, suffix))
}

fn is_ordinal(after: &str) -> bool {
    const PERIODS: &[&str] = &["Halbjahr", "Quartal", "Jahreshälfte", "Geschäftsjahr", "Trimester", "Semester"];
    let german = after.strip_prefix('.').map(|rest| rest.trim_start_matches(is_inline_space));
    let suffixed = |suffix: &&str| starts_with_word(after, suffix);
    german.is_some_and(|rest| PERIODS.iter().any(|period| starts_with_word(rest, period)))
        || ["st", "nd", "rd", "th", "er", "e", "ème", "º", "ª"].iter().any(suffixed)
}

/// `401(k)`, `403(b)`.
fn is_plan(raw: &str, after: &str) -> bool {
    matches!(raw, "401" | "403" | "457") && ["(k)", "(b)"].iter().any(|plan| after.starts_with(plan))
}

/// `52-week`, `12-month`: how long something else is.
fn is_span_of_time(after: &str) -> bool {
    const SPANS: &[&str] = &["week", "month", "year", "day", "hour", "minute", "quarter", "wochen", "monats", "jahres"];
    let word = after.strip_prefix(['-', '‑']).map(leading_word);
    word.is_some_and(|word| SPANS.iter().any(|span| word.eq_ignore_ascii_case(span)))
}

/// `5 p.m.`, `11am`, `5.30 Uhr`, `17h30`.
fn is_hour(raw: &str, after: &str) -> bool {
    let minutes = after.strip_prefix('h').map(leading_word);
    if minutes.is_some_and(|word| word.len() == 2 && leading_digits(word) == word) {
        return true;
    }
    let after = after.trim_start_matches(is_inline_space);
    raw.len() <= 5
        && raw.split('.').all(|part| part.len() <= 2)
        && ["a.m.", "p.m.", "a.m", "p.m", "am", "pm", "o'clock", "Uhr"].iter().any(|half| starts_with_word(after, half))
}

/// `2025-06-30`, `06/30/2025`, `30.06.2025`, `2024/25`, `14:30`: whether the number is one part.
fn is_date_or_time(before: &str, raw: &str, after: &str) -> bool {
    let dotted = raw.matches('.').count() == 2 && raw.ends_with(|c: char| c.is_ascii_digit());
    let parts: Vec<usize> = raw.split('.').map(str::len).collect();
    if dotted && matches!(parts.as_slice(), [1 | 2, 1 | 2, 2 | 4]) {
        return true;
    }
    // The year of "Q2/25".
    let quarter = before.strip_suffix('/').and_then(|rest| rest.strip_suffix(['1', '2', '3', '4']));
    if quarter.is_some_and(|rest| ["q", "h"].iter().any(|period| trailing_word(rest).eq_ignore_ascii_case(period))) {
        return true;
    }
    if raw == "24" && after.starts_with("/7") || raw == "7" && before.ends_with("24/") {
        return true;
    }
    let joined = |mark: char| {
        let left = before.strip_suffix(mark).map_or("", trailing_digits);
        let right = after.strip_prefix(mark).map_or("", leading_digits);
        (left, right)
    };
    let (left, right) = joined(':');
    if !left.is_empty() || right.len() == 2 {
        return raw.len() <= 2;
    }
    ['-', '/'].into_iter().any(|mark| {
        let (left, right) = joined(mark);
        let lengths = [left.len(), raw.len(), right.len()];
        let three_parts = |before: &str, after: &str| {
            let further = before.strip_suffix(left).is_some_and(|b| b.ends_with([mark]));
            let beyond = after.strip_prefix(right).is_some_and(|a| a.starts_with([mark]));
            further || beyond
        };
        match lengths {
            [0, _, 0] => false,
            [1..=4, 1..=4, 1..=4] => true,
            // A year with the next: 2024/25, 2024-25.
            [4, 2, 0] | [0, 4, 2] => year(left) || year(raw),
            [0, 4, 4] | [4, 4, 0] => year(raw) && (year(left) || year(right)),
            _ => {
                let inner_before = before.strip_suffix(mark).unwrap_or(before);
                let inner_after = after.strip_prefix(mark).unwrap_or(after);
                raw.len() <= 4 && three_parts(inner_before, inner_after)
            }
        }
    })
}

fn year(digits: &str) -> bool {
    digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"))
}

fn trailing_digits(text: &str) -> &str {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    &text[text.len() - digits..]
}

fn leading_digits(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    &text[..digits]
}

/// `[1]`, `[2, 3]`, `[^4]`.
fn is_citation(before: &str, after: &str) -> bool {
    let inside = |c: char| c.is_ascii_digit() || matches!(c, ',' | ' ' | '^' | '-' | '–');
    let opened = near_end(before).trim_end_matches(inside).ends_with(['[', '【']);
    let closed = near_start(after).trim_start_matches(inside).starts_with([']', '】', '†']);
    opened && closed
}

/// `1. First` or `2) second` at the start of a line that goes on.
fn is_list_item(before: &str, after: &str) -> bool {
    let margin = |c: char| is_inline_space(c) || matches!(c, '(' | '>' | '*' | '#');
    let previous = before.trim_end_matches(margin).chars().next_back();
    let Some(rest) = after.strip_prefix(['.', ')']) else {
        return false;
    };
    let text = rest.trim_start_matches(is_inline_space);
    let goes_on = text.len() < rest.len() && !text.is_empty() && !text.starts_with(['\n', '\r']);
    previous.is_none_or(|c| matches!(c, '\n' | '\r')) && goes_on
}

/// `June 30`, `30 June`, `30. Juni`: a day beside the name of a month.
fn month_beside(before: &str, raw: &str, after: &str) -> bool {
    let month = |word: &str| {
        let word = word.to_lowercase();
        MONTHS.contains(&word.as_str())
    };
    let previous = trailing_word(before.trim_end_matches(|c| is_inline_space(c) || c == '.'));
    let after = after.strip_prefix('.').unwrap_or(after);
    let after = after.trim_start_matches(is_inline_space);
    let next = leading_word(after.strip_prefix("de ").unwrap_or(after));
    // "may" is a verb unless it is written as a name.
    let named = |word: &str| month(word) && (word != "may");
    raw.len() <= 2 && (named(previous) || named(next))
}

/// `Q 2`, `fiscal 25`, `FY 25`, `week 3`: a period before the number.
fn period_before(before: &str) -> bool {
    let word = trailing_word(before.trim_end_matches(is_inline_space));
    ["q", "fy", "fiscal", "quarter", "week", "year"].iter().any(|period| word.eq_ignore_ascii_case(period))
}
