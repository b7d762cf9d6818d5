//! Numbers of tables that are written as texts: `"3,400.5"`, `"(12.3)"`, `"41.8%"`, `"€1.2bn"`.

use serde_json::Number;

/// A number in a text, and the marks around it: `%`, `$`, `bn €`; empty where it is bare.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    pub number: Number,
    pub marks: String,
}

/// The decimal mark of a table's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalMark {
    Point,
    Comma,
}

impl DecimalMark {
    /// The mark that all texts of a table agree on: a comma if at least one text needs it and none contradicts.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let said: Vec<Self> = texts.filter_map(|text| Self::said_by(digits_of(text)?.1)).collect();
        if said.contains(&Self::Comma) && !said.contains(&Self::Point) { Self::Comma } else { Self::Point }
    }

    /// The mark that a number shows by itself: `1,234` and `1.234` are ambiguous.
    fn said_by(digits: &str) -> Option<Self> {
        let (points, commas) = (digits.matches('.').count(), digits.matches(',').count());
        match (points, commas) {
            (1.., 1..) if digits.rfind(',') > digits.rfind('.') => Some(Self::Comma),
            (1.., 1..) | (0, 2..) => Some(Self::Point),
            (2.., 0) => Some(Self::Comma),
            (1, 0) => (!is_grouped(digits, '.')).then_some(Self::Point),
            (0, 1) => (!is_grouped(digits, ',')).then_some(Self::Comma),
            _ => None,
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }
}

/// The number that a text is; nothing where it holds none or several, or where its groups are not those of a number.
pub(crate) fn read(text: &str, mark: DecimalMark) -> Option<Written> {
    let (before, digits, after) = digits_of(text)?;
    let is_bracketed = before.contains('(') && after.contains(')');
    if !is_bracketed && (before.contains('(') || after.contains(')')) {
        return None;
    }
    let is_minus = |c: char| "-−–‐‑".contains(c);
    let is_negative = is_bracketed || before.contains(is_minus) || after.contains(is_minus);
    let own = DecimalMark::said_by(digits).unwrap_or(mark);
    let (whole, decimals) = match digits.rsplit_once(own.sign()) {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (digits, None),
    };
    let groups: Vec<&str> = whole.split(|c: char| !c.is_ascii_digit()).collect();
    let is_whole = are_groups(&groups) || whole.is_empty() && decimals.is_some();
    let is_one = is_whole && decimals.is_none_or(|it| it.bytes().all(|digit| digit.is_ascii_digit()));
    let whole = groups.concat();
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let sign = if is_negative { "-" } else { "" };
    let decimals = decimals.map(|decimals| format!(".{decimals}")).unwrap_or_default();
    let number = serde_json::from_str(&format!("{sign}{whole}{decimals}")).ok().filter(|_| is_one)?;
    let bare = |c: char| c.is_whitespace() || is_minus(c) || "()+*†‡¹²³".contains(c);
    let marks = [after, before].map(|part| part.split(bare).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" "));
    Some(Written { number, marks: marks.join(" ").trim().to_owned() })
}

/// A text before, from and after its first and last digit; `.39` begins with its point.
fn digits_of(text: &str) -> Option<(&str, &str, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let (first, last) = (text.find(is_digit)?, text.rfind(is_digit)? + 1);
    let first = first - usize::from(text[..first].ends_with(['.', ',']));
    let digits = &text[first..last];
    let belongs = |c: char| is_digit(c) || is_gap(c) || ".,".contains(c);
    digits.chars().all(belongs).then_some((&text[..first], digits, &text[last..]))
}

/// Characters between groups of digits in any locale.
fn is_gap(c: char) -> bool {
    " \u{a0}\u{2009}\u{202f}'’".contains(c)
}

/// Returns whether a mark separates groups of three digits: `1.234`, and not `12.5` or `0.125`.
fn is_grouped(digits: &str, mark: char) -> bool {
    let groups: Vec<&str> = digits.split(mark).collect();
    groups.len() > 1 && are_groups(&groups) && !digits.starts_with('0')
}

/// Groups of three, of India's two before the last three, or all in one.
fn are_groups(groups: &[&str]) -> bool {
    match groups {
        [] => false,
        [all] => !all.is_empty(),
        [first, middle @ .., last] => {
            let fits = |group: &&str| group.len() == 3 || group.len() == 2;
            (1..=3).contains(&first.len()) && middle.iter().all(fits) && last.len() == 3
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, mark: DecimalMark) -> Option<(String, String)> {
        read(text, mark).map(|it| (it.number.to_string(), it.marks))
    }

    /// RG-02: numbers of tables as filings write them.
    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, number, marks) in [
            ("3,400.5", "3400.5", ""),
            ("3,400", "3400", ""),
            ("1.250", "1.250", ""),
            ("12,3", "12.3", ""),
            ("1.234.567,8", "1234567.8", ""),
            ("12,34,567", "1234567", ""),
            ("1 234 567", "1234567", ""),
            ("1'234.5", "1234.5", ""),
            ("(12.3)", "-12.3", ""),
            ("($ 1,200)", "-1200", "$"),
            ("−3.4 %", "-3.4", "%"),
            ("12,3-", "-12.3", ""),
            ("41.8%", "41.8", "%"),
            ("€1.2bn", "1.2", "bn €"),
            ("+120 bps", "120", "bps"),
            ("007", "7", ""),
            ("$.39", "0.39", "$"),
            ("1 234,567", "1234.567", ""),
            ("1,200*", "1200", ""),
        ] {
            let wanted: Number = serde_json::from_str(number).unwrap();
            assert_eq!(said(text, DecimalMark::Point), Some((wanted.to_string(), marks.to_owned())), "{text}");
        }
        for text in ["n/a", "—", "", "Q2 2025", "3 to 4", "2025-06-30", "12,3,4", "1.2.3", "3,400 (1)", "(5"] {
            assert_eq!(said(text, DecimalMark::Point), None, "{text}");
        }
    }

    /// RG-02: the decimal mark of a table follows from any unambiguous text.
    #[test]
    fn a_table_says_its_decimal_mark() {
        assert_eq!(DecimalMark::of(["1.234", "12,3"].into_iter()), DecimalMark::Comma);
        assert_eq!(DecimalMark::of(["1.234", "12.3", "1,2"].into_iter()), DecimalMark::Point);
        assert_eq!(DecimalMark::of(["1.234", "n/a"].into_iter()), DecimalMark::Point);
        assert_eq!(said("1.234", DecimalMark::Comma).map(|it| it.0).as_deref(), Some("1234"));
    }
}
