//! Reads the parts before and after a numeral: sign, parenthesis, currency, power,
//! scale, unit.

use rust_decimal::Decimal;

use crate::chars::{digit, is_dash, is_inline_space, is_superscript};
use crate::numeral::digits::{Form, Numeral};
use crate::numeral::fraction;
use crate::unit;
use crate::unit::scale;
use crate::unit::{Currency, Unit, UnitMark};

/// The part before a numeral.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lead {
    pub(crate) start: usize,
    pub(crate) negative: bool,
    pub(crate) signed: bool,
    pub(crate) currency: Option<Currency>,
    /// True if a second currency contradicts it: "EUR $5".
    pub(crate) contradicted: bool,
    /// The value of one of the currency: 1000 for `TEUR`.
    pub(crate) factor: Decimal,
    /// Where a parenthesis opens that only sign and currency separate from the numeral, and what
    /// was found inside it.
    pub(crate) parenthesis: Option<Box<Lead>>,
}

impl Lead {
    /// Reads leftwards from `start`, not beyond `floor`.
    pub(crate) fn read(text: &str, floor: usize, start: usize) -> Self {
        let mut lead = Self {
            start,
            negative: false,
            signed: false,
            currency: None,
            contradicted: false,
            factor: Decimal::ONE,
            parenthesis: None,
        };
        while let Some(longer) = lead.extend(text, floor).filter(|lead| lead.start >= floor) {
            lead = longer;
        }
        lead
    }

    fn extend(&self, text: &str, floor: usize) -> Option<Self> {
        let adjoining = &text[..self.start];
        let before = adjoining.trim_end_matches(is_inline_space);
        let gap = adjoining[before.len()..].chars().count();
        let last = before.chars().next_back()?;
        let rest = &before[..before.len() - last.len_utf8()];
        if let Some(start) = minus_word(before).filter(|_| !self.signed && gap > 0) {
            return Some(Self { start, negative: true, signed: true, ..self.clone() });
        }
        // Bookkeepers' German minus: "./. 4,2 Mio. €".
        if let Some(rest) = before.strip_suffix("./.").filter(|_| !self.signed && gap <= 1) {
            return Some(Self { start: rest.len(), negative: true, signed: true, ..self.clone() });
        }
        if let Some(negative) = sign(last).filter(|_| !self.signed) {
            let free = rest.chars().next_back().is_none_or(may_precede_sign);
            let near = gap == 0 || (gap == 1 && (matches!(last, '−' | '▼' | '▲' | '↓' | '↑') || is_cell_start(rest)));
            return (free && near).then(|| Self { start: rest.len(), negative, signed: true, ..self.clone() });
        }
        if matches!(last, '(' | '（') && gap == 0 && self.parenthesis.is_none() {
            return Some(Self { start: rest.len(), parenthesis: Some(Box::new(self.clone())), ..self.clone() });
        }
        if gap > 1 {
            return None;
        }
        let (mark, length) = unit::before(before.get(floor..)?)?;
        let Unit::Money(currency) = mark.unit else { return None };
        let start = before.len() - length;
        match self.currency {
            None => Some(Self { start, currency: Some(currency), factor: mark.factor, ..self.clone() }),
            Some(nearer) if currency.is_certain() && self.parenthesis.is_none() && !self.contradicted => {
                let contradicted = !currency.agrees_with(&nearer);
                let currency = if contradicted { nearer } else { currency };
                Some(Self { start, currency: Some(currency), contradicted, ..self.clone() })
            }
            Some(_) => None,
        }
    }
}

/// Returns the start of the word "minus" or "negative" that `before` ends with; between two numbers it subtracts.
fn minus_word(before: &str) -> Option<usize> {
    let start = ["minus", "negative", "moins", "menos"].iter().find_map(|word| {
        let start = before.len().checked_sub(word.len())?;
        before.get(start..)?.eq_ignore_ascii_case(word).then_some(start)
    })?;
    let earlier = before[..start].trim_end_matches(is_inline_space);
    let at_least = ["au", "du", "al", "lo"].iter().any(|word| ends_with_word(earlier, word));
    let free = earlier.len() < start || start == 0 || before[..start].ends_with(['(', '\n', ':']);
    let subtracts = earlier.ends_with(|c: char| digit(c).is_some() || c == '%');
    (free && !subtracts && !at_least).then_some(start)
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|before| !before.ends_with(char::is_alphanumeric))
}

/// True if `c` is a sign, and a negative one.
fn sign(c: char) -> Option<bool> {
    match c {
        '▼' | '↓' => Some(true),
        '+' | '＋' | '▲' | '↑' => Some(false),
        _ => is_dash(c).then_some(true),
    }
}

/// True if a dash opens the cell of a table that a number is in: "| – 12.3 |".
fn is_cell_start(before: &str) -> bool {
    before.trim_end_matches(is_inline_space).ends_with('|')
}

/// Returns the end of a minus behind a numeral, as bookkeeping software prints it: "12,3- Mio. €", "1.234,50-".
pub(crate) fn minus_behind(text: &str, numeral: &Numeral) -> Option<usize> {
    let rest = text[numeral.end..].strip_prefix(['-', '−']).filter(|_| numeral.form == Form::Separated)?;
    let next = rest.trim_start_matches(is_inline_space);
    let ends = next.is_empty() || next.starts_with(['\n', '\r', '|']);
    let counts = next.len() < rest.len() && (unit::after(next).is_some() || scale::after(next, true).is_some());
    (ends || counts).then_some(text.len() - rest.len())
}

/// A dash after a letter, digit or closing parenthesis joins or ranges; it is not a sign.
fn may_precede_sign(c: char) -> bool {
    !(c.is_alphanumeric() && u32::from(c) < 0x2e80 || is_dash(c) || matches!(c, ')' | ']' | '%' | '_' | '/'))
}

/// The part after a numeral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tail {
    pub(crate) end: usize,
    /// The product of exponent and scale words.
    pub(crate) factor: Decimal,
    /// True if there was an exponent or scale word.
    pub(crate) scaled: bool,
    /// True if there was a scale word.
    pub(crate) names_scale: bool,
    /// True if the scale is a letter that may as well be a unit: "300 K", "72m".
    pub(crate) is_letter: bool,
    /// True if half of the scale is added: "trois milliards et demi".
    pub(crate) half: bool,
    pub(crate) unit: Option<UnitMark>,
}

impl Tail {
    /// Reads rightwards from `end`; `money` tells that a currency stood before the numeral.
    pub(crate) fn read(text: &str, end: usize, money: bool) -> Self {
        let mut tail = Self {
            end,
            factor: Decimal::ONE,
            scaled: false,
            names_scale: false,
            is_letter: false,
            half: false,
            unit: None,
        };
        if let Some((power, length)) = exponent(&text[end..]) {
            tail.multiply(power, length);
        }
        tail.read_scales(text, money);
        tail.read_unit(text);
        if let Some(tail) = tail.beyond_markup(text, money) {
            return tail;
        }
        if !tail.scaled && matches!(tail.unit, Some(mark) if matches!(mark.unit, Unit::Money(_))) {
            tail.read_scales(text, true);
        }
        tail
    }

    /// Goes on behind what may stand between a bare number and its scale or unit: markup or quotes that close after the
    /// number ("**5** million"); before the word of a scale also a note, the end of a line, markup that opens ("5 **million**").
    fn beyond_markup(self, text: &str, money: bool) -> Option<Self> {
        let rest = &text[self.end..];
        let (length, closes) = markup(rest).map(|length| (length, true)).or_else(|| Some((gap(rest)?, false)))?;
        if self.scaled || self.unit.is_some() {
            return None;
        }
        let start = self.end + length;
        let mut beyond = Self { end: start, ..self };
        beyond.read_scales(text, money && closes);
        // A letter on the next line begins something else.
        if !closes && beyond.end < start + "bn".len() {
            return None;
        }
        beyond.read_unit(text);
        if !closes && beyond.unit.is_none() {
            let outside = Self { end: beyond.end + markup(&text[beyond.end..]).unwrap_or(0), ..beyond };
            let mut with_unit = outside;
            with_unit.read_unit(text);
            beyond = if with_unit.unit.is_some() { with_unit } else { beyond };
        }
        (beyond.scaled || beyond.unit.is_some()).then_some(beyond)
    }

    /// Goes on behind a parenthesis that closes at `end`, for what was not found inside.
    pub(crate) fn continue_after(self, text: &str, end: usize, money: bool) -> Self {
        let outside = Self::read(text, end, money);
        Self {
            end: outside.end,
            factor: if self.scaled { self.factor } else { outside.factor },
            scaled: self.scaled || outside.scaled,
            names_scale: self.names_scale || outside.names_scale,
            is_letter: self.is_letter || outside.is_letter,
            half: self.half || outside.half,
            unit: self.unit.or(outside.unit),
        }
    }

    fn read_scales(&mut self, text: &str, money: bool) {
        // At most two: "hundred thousand", "thousand million".
        for _ in 0..2 {
            let rest = &text[self.end..];
            let is_money = money || unit::money_follows(rest);
            let Some((power, length)) = scale::after(rest, is_money) else {
                return;
            };
            let word = rest[..length].trim_start();
            self.is_letter |= !is_money && word.is_ascii() && word.len() == 1;
            self.multiply(i32::try_from(power).unwrap_or(0), length);
            self.names_scale = true;
            let half = [" et demi", " y medio", " e mezzo"].iter().find(|half| text[self.end..].starts_with(**half));
            if let Some(half) = half {
                (self.half, self.end) = (true, self.end + half.len());
                return;
            }
        }
    }

    fn read_unit(&mut self, text: &str) {
        // LaTeX writes `50\%`.
        let escape = usize::from(text[self.end..].starts_with("\\%"));
        let rest = &text[self.end + escape..];
        self.end += escape;
        let spaces = rest.len() - rest.trim_start_matches(is_inline_space).len();
        let hyphen = usize::from(rest.starts_with('-'));
        if rest.starts_with('p') && scale::ends_word(&rest[1..]) {
            self.unit = unit::after("pence").map(|(mark, _)| mark);
            self.end += 1;
        } else if let Some((mark, length)) = unit::after(&rest[spaces + hyphen..]) {
            self.unit = Some(mark);
            self.end += spaces + hyphen + length;
        } else if let Some((mark, length)) = unit::money_of(&rest[spaces..]).filter(|_| self.scaled) {
            self.unit = Some(mark);
            self.end += spaces + length;
        }
    }

    fn multiply(&mut self, power: i32, length: usize) {
        let scaled = scale::factor(power.unsigned_abs())
            .and_then(|factor| match power {
                0.. => self.factor.checked_mul(factor),
                _ => self.factor.checked_div(factor),
            })
            .filter(|factor| !factor.is_zero());
        if let Some(factor) = scaled {
            self.factor = factor;
            self.scaled = true;
            self.end += length;
        }
    }
}

/// A power of ten at the start of `rest` and its length: `e9`, `E-3`, ` × 10^9`, `x10⁹`.
fn exponent(rest: &str) -> Option<(i32, usize)> {
    if let Some(body) = rest.strip_prefix(['e', 'E']) {
        let (power, length) = fraction::caret(body).filter(|_| !body.starts_with('{'))?;
        return scale::ends_word(&body[length..]).then_some((power, 1 + length));
    }
    let body = rest.trim_start_matches(' ');
    let times = body.strip_prefix(['×', 'x', '*', '·']);
    let times = times.or_else(|| ["\\times", "\\cdot"].iter().find_map(|name| body.strip_prefix(name)));
    let body = times?.trim_start_matches(' ').strip_prefix("10")?;
    let (power, length) = match body.strip_prefix('^') {
        Some(body) => fraction::caret(body).map(|(power, length)| (power, 1 + length))?,
        None => fraction::read_power(body)?,
    };
    Some((power, rest.len() - body.len() + length))
}

/// The length of a note, the end of a line or opening markup at the start of `rest`, with spaces.
fn gap(rest: &str) -> Option<usize> {
    const OPENING: &[&str] = &["***", "**", "*", "__", "_", "`", "<b>", "<strong>", "<i>", "<em>", "\"", "“"];
    let spaces = |text: &str| text.len() - text.trim_start_matches(is_inline_space).len();
    let note = note(rest);
    let mut end = note + spaces(&rest[note..]);
    let line_break = usize::from(rest[end..].starts_with('\n'));
    end += line_break;
    end += spaces(&rest[end..]);
    let opening = OPENING.iter().find(|mark| rest[end..].starts_with(**mark)).map_or(0, |mark| mark.len());
    (note + line_break + opening > 0).then_some(end + opening)
}

/// The length of the mark of a note at the start of `rest`: `¹`, `[1]`, `(1)`; 0 where there is none.
fn note(rest: &str) -> usize {
    let raised: usize = rest.chars().take(2).take_while(|c| is_superscript(*c)).map(char::len_utf8).sum();
    let inside = rest.strip_prefix(['(', '[']).unwrap_or_default();
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    let closed = (1..=2).contains(&digits) && inside[digits..].starts_with([')', ']']);
    if closed { digits + "()".len() } else { raised }
}

/// The length of closing markup or quotes at the start of `rest`.
fn markup(rest: &str) -> Option<usize> {
    #[rustfmt::skip]
    const CLOSING: &[&str] = &[
        "***", "**", "*", "__", "_", "`", "</b>", "</strong>", "</i>", "</em>", "</code>", "</u>", "</mark>", "</span>",
        "\"", "”", "“", "»", "'", "’",
    ];
    let mut end = 0;
    // At most two: "**`5`** million".
    for _ in 0..2 {
        end += CLOSING.iter().find(|mark| rest[end..].starts_with(**mark)).map_or(0, |mark| mark.len());
    }
    (end > 0).then_some(end)
}

/// Returns the position behind a parenthesis that closes right after `end`.
pub(crate) fn closing(text: &str, end: usize) -> Option<usize> {
    let rest = text[end..].trim_start_matches(is_inline_space);
    let close = rest.chars().next().filter(|c| matches!(c, ')' | '）'))?;
    Some(text.len() - rest.len() + close.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_hold_sign_currency_and_parenthesis_in_any_order() {
        for (text, negative, currency, parenthesis) in [
            ("-5", true, None, false),
            ("− 5", true, None, false),
            ("- 5", false, None, false),
            ("is -$5", true, Some("USD"), false),
            ("$-5", true, Some("USD"), false),
            ("EUR 5", false, Some("EUR"), false),
            ("($5", false, Some("USD"), true),
            ("$(5", false, Some("USD"), true),
            ("CAD $5", false, Some("CAD"), false),
            ("CAD$5", false, Some("CAD"), false),
            ("\u{2011}€5", true, Some("EUR"), false),
            ("—5", true, None, false),
            ("word—5", false, None, false),
            ("| – 5", true, None, false),
            ("▼ 5", true, None, false),
            ("10-5", false, None, false),
            ("COVID-5", false, None, false),
        ] {
            let lead = Lead::read(text, 0, text.len() - 1);
            assert_eq!(lead.negative, negative, "{text}");
            assert_eq!(lead.currency.map(|c| c.code()), currency, "{text}");
            assert_eq!(lead.parenthesis.is_some(), parenthesis, "{text}");
        }
    }

    #[test]
    fn tails_hold_power_scale_and_unit() {
        for (text, money, factor, percent, rest) in [
            ("e9", false, "1000000000", false, ""),
            (" × 10^-3 V", false, "0.001", false, " V"),
            ("x10⁶", false, "1000000", false, ""),
            (" hundred thousand people", false, "100000", false, " people"),
            (" m€ net", false, "1000000", false, " net"),
            (" m wide", false, "1", false, " m wide"),
            (" m", true, "1000000", false, ""),
            (" %", false, "1", true, ""),
            (" euro million", false, "1000000", false, ""),
            ("e", false, "1", false, "e"),
        ] {
            let tail = Tail::read(text, 0, money);
            assert_eq!(tail.factor.to_string(), factor, "{text}");
            let is_percent = matches!(tail.unit, Some(mark) if mark.unit == Unit::Percent);
            assert_eq!(is_percent, percent, "{text}");
            assert_eq!(&text[tail.end..], rest, "{text}");
        }
    }
}
