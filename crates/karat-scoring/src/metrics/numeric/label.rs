//! What the label of a row, or the words before a list, say of the numbers there: amounts per share, things counted.

use std::ops::Range;

use super::chars::is_inline_space;
use super::scale::starts_with_word;

/// Bytes of a line that may be a label.
const NEAR: usize = 160;

/// What numbers are said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Label {
    /// Amounts of whatever is declared.
    Amount,
    /// Amounts per share, which no declaration of millions is about.
    PerShare,
    /// Things, by their noun, which no declaration of money is about.
    Count(&'static str),
}

/// Reads the labels of numbers from left to right.
pub(super) struct Labels<'a> {
    text: &'a str,
    /// Where the line of the last number begins, and where that number ends.
    line: usize,
    at: usize,
    per_share: bool,
}

impl<'a> Labels<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, line: 0, at: 0, per_share: false }
    }

    /// What the number at `span` is said to be; none before it is asked for later.
    pub(super) fn of(&mut self, span: &Range<usize>) -> Label {
        let between = &self.text[self.at..span.start];
        let line_break = between.rfind(['\n', '\r']).map(|end| self.at + end + 1);
        self.line = line_break.unwrap_or(self.line);
        let near = self.text.ceil_char_boundary(self.line.max(self.at).max(span.start.saturating_sub(NEAR)));
        let listed = self.per_share && line_break.is_none() && is_joint(between);
        let row = self.row(span.start).to_lowercase();
        let before = self.text[near..span.start].to_lowercase();
        let after = self.text[span.end..].trim_start_matches(is_inline_space);
        self.per_share = listed || says_per_share(&row) || says_per_share(&before) || is_per_share(after);
        self.at = span.end;
        match count(&row) {
            _ if self.per_share => Label::PerShare,
            Some(noun) => Label::Count(noun),
            None => Label::Amount,
        }
    }

    /// The first cell of the row that the place `at` is in; empty outside of tables and in that cell itself.
    fn row(&self, at: usize) -> &'a str {
        let end = self.text.floor_char_boundary(at.min(self.line + NEAR));
        let line = self.text.get(self.line..end).unwrap_or_default();
        let line = line.trim_start_matches(['|', ' ']);
        line.find(['|', '\t']).map_or("", |end| line[..end].trim())
    }
}

/// Whether two numbers of a list or comparison stand on either side: "EPS 1.89 and 2.31", "$2.31, up from $1.89".
fn is_joint(between: &str) -> bool {
    #[rustfmt::skip]
    const JOINTS: &[&str] = &[
        "", "and", "or", "to", "from", "up from", "down from", "versus", "vs", "vs.", "compared with", "compared to",
        "against", "/", "und", "et", "y", "nach", "contre", "frente a",
    ];
    JOINTS.contains(&between.trim().trim_start_matches([',', ';', '(']).trim_start())
}

/// Whether a number is followed by "per share" and the like.
fn is_per_share(after: &str) -> bool {
    ["per", "a share", "je", "pro", "par", "por", "/"].iter().any(|word| starts_with_word(after, word))
}

/// Whether words name amounts per share, and do not only except them: "in millions, except per share data".
fn says_per_share(label: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "eps", "per share", "per diluted share", "per basic share", "per common share", "je aktie", "par action", "bnpa",
        "por acción", "bpa",
    ];
    NAMES.iter().any(|name| {
        label.match_indices(name).any(|(at, _)| {
            let before = label[..at].trim_end();
            let excepted = ["except", "except for", "excluding"].iter().any(|word| before.ends_with(word));
            !label[..at].ends_with(char::is_alphanumeric) && !excepted
        })
    })
}

/// Last words of labels that count things, and the noun they count.
#[rustfmt::skip]
const COUNTED: &[(&str, &str)] = &[
    ("headcount", "employees"), ("employees", "employees"), ("fte", "employees"), ("ftes", "employees"),
    ("mitarbeiter", "employees"), ("mitarbeitende", "employees"), ("beschäftigte", "employees"),
    ("salariés", "employees"), ("effectif", "employees"), ("effectifs", "employees"), ("empleados", "employees"),
    ("plantilla", "employees"), ("stores", "stores"), ("shops", "stores"), ("filialen", "stores"),
    ("restaurants", "restaurants"), ("branches", "branches"), ("customers", "customers"), ("kunden", "customers"),
    ("subscribers", "subscribers"), ("users", "users"), ("members", "members"), ("households", "households"),
    ("deliveries", "deliveries"), ("days", "days"), ("dso", "days"), ("dpo", "days"),
];

/// The noun of what a row counts: "Headcount", "DSO (days)", "Diluted shares (millions)"; not of "Loans to customers".
fn count(label: &str) -> Option<&'static str> {
    const GOVERNED: &[&str] = &["to", "from", "of", "by", "for", "and", "in", "per", "with"];
    let (name, unit) = label.split_once(['(', ',']).unwrap_or((label, ""));
    let unit = unit.trim_end_matches([')', ' ']);
    let named = name.trim().trim_matches('*');
    let named = named.strip_prefix("number of ").unwrap_or(named);
    let mut words = named.split(is_inline_space).map(|word| word.trim_matches('*'));
    let noun = |word: &str| COUNTED.iter().find(|(counted, _)| *counted == word).map(|(_, noun)| *noun);
    let shares =
        named.contains("shares") && ["diluted", "basic", "outstanding"].iter().any(|kind| label.contains(kind));
    if shares {
        return Some("shares");
    }
    let governed = words.clone().any(|word| GOVERNED.contains(&word));
    words.next_back().and_then(noun).filter(|_| !governed).or_else(|| noun(unit).filter(|_| !unit.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: labels of rows that are no amounts of money, or of money per share.
    #[test]
    fn what_labels_say() {
        for (text, expected) in [
            ("| Diluted EPS | 1 | 5", Label::PerShare),
            ("EPS 1 and 5", Label::PerShare),
            ("EPS was 1, revenue 5", Label::Amount),
            ("In millions, except per share data: revenue 5", Label::Amount),
            ("| Headcount | 1 | 5", Label::Count("employees")),
            ("| DSO (days) | 5", Label::Count("days")),
            ("| Diluted shares (millions) | 5", Label::Count("shares")),
            ("| Number of stores | 5", Label::Count("stores")),
            ("| Loans to customers | 5", Label::Amount),
            ("| Common shares | 5", Label::Amount),
            ("Headcount was 5", Label::Amount),
        ] {
            let mut labels = Labels::new(text);
            let ends = text.char_indices().filter(|(_, c)| c.is_ascii_digit());
            let last = ends.map(|(at, _)| labels.of(&(at..at + 1))).last();
            assert_eq!(last, Some(expected), "{text}");
        }
    }
}
