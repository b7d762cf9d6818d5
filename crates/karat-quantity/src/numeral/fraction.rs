//! Fractions and powers: `½`, `2⅔`, `1 1/2`, `9⁄7`, `\frac{9}{7}`, `10⁻³`, `10^{-3}`.

use std::ops::Range;

use rust_decimal::Decimal;

use super::{Form, Numeral};
use crate::chars::{digit, is_dash};

/// Characters that are fractions.
#[rustfmt::skip]
const CHARACTERS: &[(char, (u32, u32))] = &[
    ('½', (1, 2)), ('⅓', (1, 3)), ('⅔', (2, 3)), ('¼', (1, 4)), ('¾', (3, 4)), ('⅕', (1, 5)), ('⅖', (2, 5)), ('⅗', (3, 5)),
    ('⅘', (4, 5)), ('⅙', (1, 6)), ('⅚', (5, 6)), ('⅐', (1, 7)), ('⅛', (1, 8)), ('⅜', (3, 8)), ('⅝', (5, 8)), ('⅞', (7, 8)),
    ('⅑', (1, 9)), ('⅒', (1, 10)),
];

/// The largest denominator after a whole number: "1 2/3", but no date.
const LARGEST: u32 = 16;

/// The largest exponent that is read.
const HIGHEST: u32 = 28;

/// True if a fraction without a whole number before it starts at `at`. Two numbers with a stroke between them may be a date
/// or a rating; they are none here.
pub(crate) fn starts_at(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    rest.starts_with(|c: char| CHARACTERS.iter().any(|(known, _)| *known == c)) || latex(rest).is_some()
}

/// Reads the fraction that starts at `at`.
pub(crate) fn read(text: &str, at: usize) -> Option<Numeral> {
    let (value, length) = character(&text[at..]).or_else(|| latex(&text[at..]))?;
    Some(build(at, at + length, value))
}

/// Reads what makes a fraction or power of the whole number before `numeral.end`.
pub(crate) fn extend(text: &str, numeral: Numeral) -> Numeral {
    let rest = &text[numeral.end..];
    let added = |(value, length): (Decimal, usize)| {
        let sum = numeral.value.checked_add(value)?;
        Some(build(numeral.start, numeral.end + length, sum))
    };
    let quotient = |(value, length): (Decimal, usize)| Some(build(numeral.start, numeral.end + length, value));
    let whole = numeral.form != Form::Dotted && numeral.decimals == 0;
    let found = match () {
        () if !whole => None,
        () if numeral.form == Form::Bare && rest.starts_with('⁄') => over(text, &numeral).and_then(quotient),
        () => read_mixed(rest).and_then(added).or_else(|| power(&text[numeral.start..numeral.end], &numeral, rest)),
    };
    found.unwrap_or(numeral)
}

fn build(start: usize, end: usize, value: Decimal) -> Numeral {
    let decimals = value.scale().min(20);
    let significant = (value.mantissa().unsigned_abs().max(1).ilog10() + 1).max(decimals.min(3));
    Numeral { start, end, value, decimals, significant, form: Form::Separated, is_fraction: true }
}

fn ratio((one, other): (u32, u32)) -> Option<Decimal> {
    Decimal::from(one).checked_div(Decimal::from(other)).map(|value| value.normalize())
}

fn character(rest: &str) -> Option<(Decimal, usize)> {
    let first = rest.chars().next()?;
    let (_, parts) = CHARACTERS.iter().find(|(known, _)| *known == first)?;
    Some((ratio(*parts)?, first.len_utf8()))
}

/// `\frac{9}{7}`, `\dfrac 97`.
fn latex(rest: &str) -> Option<(Decimal, usize)> {
    let body = ["\\frac", "\\dfrac", "\\tfrac"].iter().find_map(|name| rest.strip_prefix(name))?;
    let part = |text: &str| -> Option<(u32, usize)> {
        let spaces = text.len() - text.trim_start_matches(' ').len();
        let text = &text[spaces..];
        match text.strip_prefix('{') {
            Some(inside) => {
                let end = inside.find('}')?;
                Some((inside[..end].trim().parse().ok()?, spaces + end + "{}".len()))
            }
            // Without braces, one digit.
            None => Some((text.chars().next().and_then(digit)?, spaces + 1)),
        }
    };
    let (one, first) = part(body)?;
    let (other, second) = part(&body[first..])?;
    Some((ratio((one, other))?, rest.len() - body.len() + first + second))
}

/// A fraction after a whole number: "2½", "2 ½", "1 1/2 billion", `2\frac{1}{2}`.
fn read_mixed(rest: &str) -> Option<(Decimal, usize)> {
    let body = rest.strip_prefix([' ', '\u{a0}', '\u{2009}', '\u{202f}']).unwrap_or(rest);
    let gap = rest.len() - body.len();
    if let Some((value, length)) = character(body).or_else(|| latex(body)) {
        return (value < Decimal::ONE).then_some((value, gap + length));
    }
    let (parts, length) = stroke(body).filter(|_| gap > 0)?;
    (parts.0 < parts.1 && (2..=LARGEST).contains(&parts.1)).then_some((ratio(parts)?, gap + length))
}

/// The rest of "9⁄7" after its first number.
fn over(text: &str, numeral: &Numeral) -> Option<(Decimal, usize)> {
    let one: u32 = text[numeral.start..numeral.end].parse().ok()?;
    let body = text[numeral.end..].strip_prefix('⁄')?;
    let length = body.bytes().take_while(u8::is_ascii_digit).count();
    Some((ratio((one, body[..length].parse().ok()?))?, '⁄'.len_utf8() + length))
}

/// "9/7" at the start of a text, where nothing goes on behind it.
fn stroke(text: &str) -> Option<((u32, u32), usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    let body = text[first..].strip_prefix('/')?;
    let second = digits(body);
    let mut after = body[second..].chars();
    let next = after.next();
    let goes_on = next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '_'))
        || matches!(next, Some('.' | ',')) && after.next().is_some_and(|c| digit(c).is_some());
    let parts = (text[..first].parse().ok()?, body[..second].parse().ok()?);
    (!goes_on).then_some((parts, first + 1 + second))
}

/// The numbers with a stroke between them, as fractions with their sign: "9/7".
pub(crate) fn strokes(text: &str) -> Vec<(Range<usize>, Decimal)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|start| at + start) {
        let before = text[..start].chars().next_back();
        let joined = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | ',' | '_'));
        match stroke(&text[start..]).filter(|_| !joined) {
            Some((parts, length)) => {
                let sign = before.filter(|c| is_dash(*c)).map_or(0, char::len_utf8);
                let value = ratio(parts).map(|value| if sign > 0 { -value } else { value });
                found.extend(value.map(|value| (start - sign..start + length, value)));
                at = start + length;
            }
            None => at = start + text[start..].bytes().take_while(u8::is_ascii_digit).count(),
        }
    }
    found
}

/// A power of the whole number before `rest`: `10^-3`, `2^{10}`; raised digits are a power of ten, and a note elsewhere.
fn power(raw: &str, numeral: &Numeral, rest: &str) -> Option<Numeral> {
    let (exponent, length) = match rest.strip_prefix('^') {
        Some(body) => caret(body).map(|(exponent, length)| (exponent, 1 + length))?,
        None if raw == "10" => read_power(rest)?,
        None => return None,
    };
    let mut value = Decimal::ONE;
    for _ in 0..Some(exponent.unsigned_abs()).filter(|exponent| *exponent <= HIGHEST)? {
        value = match exponent {
            0.. => value.checked_mul(numeral.value)?,
            _ => value.checked_div(numeral.value)?,
        };
    }
    let value = Some(value.normalize()).filter(|value| !value.is_zero())?;
    Some(build(numeral.start, numeral.end + length, value))
}

/// An exponent after `^`, with or without braces, and its length.
pub(crate) fn caret(body: &str) -> Option<(i32, usize)> {
    let inside = body.strip_prefix('{').unwrap_or(body);
    let unsigned = inside.strip_prefix(['+', '-', '−']).unwrap_or(inside);
    let length = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let power: i32 = unsigned[..length].parse().ok()?;
    let negative = inside.starts_with(['-', '−']);
    let braces = body.len() - inside.len();
    let closes = braces == 0 || unsigned[length..].starts_with('}');
    let read = inside.len() - unsigned.len() + length + 2 * braces;
    closes.then_some((if negative { -power } else { power }, read))
}

/// An exponent in raised digits, and its length.
pub(crate) fn read_power(body: &str) -> Option<(i32, usize)> {
    const DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let written: String = body.chars().take_while(|c| *c == '⁻' || DIGITS.contains(*c)).collect();
    let plain = written.chars().map(|c| match DIGITS.chars().position(|known| known == c) {
        Some(value) => char::from_digit(u32::try_from(value).unwrap_or_default(), 10).unwrap_or('0'),
        None => '-',
    });
    Some((plain.collect::<String>().parse().ok()?, written.len()))
}

#[cfg(test)]
mod tests {
    use crate::{Pick, Target, extract};

    /// F10: fractions and powers are numbers, in Unicode, in LaTeX and with a stroke.
    #[test]
    fn fractions_and_powers_are_numbers() {
        for (text, expected) in [
            ("It is ½.", 0.5),
            ("⅓", 1.0 / 3.0),
            ("2½", 2.5),
            ("3 ⅔ cups", 11.0 / 3.0),
            ("1 1/2", 1.5),
            ("1 2/3", 5.0 / 3.0),
            ("9⁄7", 9.0 / 7.0),
            ("\\boxed{\\frac{9}{7}}", 9.0 / 7.0),
            ("$\\dfrac{ 9 }{ 7 }$", 9.0 / 7.0),
            ("\\tfrac12", 0.5),
            ("2\\frac{1}{2}", 2.5),
            ("-\\frac{3}{4}", -0.75),
            ("−½", -0.5),
            ("9/7", 9.0 / 7.0),
            ("The answer is 9/7.", 9.0 / 7.0),
            ("-3/4", -0.75),
            ("10⁻³", 0.001),
            ("10^-3", 0.001),
            ("10^{-3}", 0.001),
            ("2^10", 1024.0),
            ("2 \\times 10^{-3}", 0.002),
            ("2 \\cdot 10^3", 2000.0),
            ("½ million", 500_000.0),
        ] {
            let target = Target::number(expected).unwrap();
            assert!(target.exact(text).passed(), "{text}: {}", target.exact(text));
            let last = target.pick(Pick::Last);
            assert!(last.exact(text).passed(), "{text}: {}", last.exact(text));
        }
        // Not taken for fractions: what a stroke joins to something else, ratings, dates in a row.
        assert!(Target::number(7.0).unwrap().exact("I give it 7/10.").passed());
        assert!(!Target::number(0.45).unwrap().exact("on 9/20/2025").passed());
        assert!(!Target::number(0.5).unwrap().exact("1/2a").passed());
        let values: Vec<String> = extract("5¹ and 3²").iter().map(|found| found.value.to_string()).collect();
        assert_eq!(values, ["5", "3"], "notes are not powers");
        assert_eq!(Target::parse("9/7").unwrap().value(), Target::parse("\\frac{9}{7}").unwrap().value());
        assert!(Target::parse("1/2").unwrap().exact("0.5").passed());
        assert!(
            Target::number(0.333).unwrap().exact("1/3").passed() && !Target::number(0.3).unwrap().exact("1/3").passed()
        );
    }

    /// F10: the separators of LaTeX group digits.
    #[test]
    fn latex_groups_digits() {
        for (text, expected) in [
            ("$1{,}000$", 1000.0),
            ("$1\\,000$", 1000.0),
            ("1\\,234\\,567", 1_234_567.0),
            ("$x = 1{,}234{,}567.5$", 1_234_567.5),
            ("1\\ 000", 1000.0),
            ("1~000", 1000.0),
            ("3{,}5", 3.5),
            ("\\(1000\\)", 1000.0),
        ] {
            let target = Target::number(expected).unwrap();
            assert!(target.exact(text).passed(), "{text}: {}", target.exact(text));
        }
        let target = Target::number(50.0).unwrap().unit("percent").unwrap();
        assert!(target.exact("It grew by $50\\%$.").passed());
        let target = Target::number(1000.0).unwrap().unit("apples").unwrap();
        assert!(target.exact("There are $1000$ of them.").passed(), "marks of a formula are not dollars");
    }
}
