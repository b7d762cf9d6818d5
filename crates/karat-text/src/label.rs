//! Reads from the label of a row what its numbers measure, in English, German, French and Spanish.

/// The kind of numbers under a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Amounts in the unit declared around them.
    Amount,
    /// Amounts per share, which no declaration of millions is about.
    PerShare,
    /// Percentages by what they measure, up to as many: a "gross margin" of 512 is an amount.
    Percent(u32),
    /// Basis points.
    BasisPoints,
    /// Things, by their noun, which no declaration of money is about; `x` are multiples.
    Count(&'static str),
}

impl Label {
    /// Reads the label of a row, in any case.
    ///
    /// ```
    /// use karat_text::label::Label;
    ///
    /// assert_eq!(Label::read("Gross margin"), Label::Percent(100));
    /// assert_eq!(Label::read("Diluted EPS"), Label::PerShare);
    /// assert_eq!(Label::read("Loans to customers"), Label::Amount);
    /// ```
    #[must_use]
    pub fn read(label: &str) -> Self {
        let label = label.to_lowercase();
        let label = label.trim().trim_matches(['*', ':']).trim();
        if says_per_share(label) {
            return Self::PerShare;
        }
        match (stated_unit(label), percent(name(label)), count(label)) {
            (Some(stated), ..) => stated,
            (_, Some(most), _) if !is_in_money(label) => Self::Percent(most),
            (.., Some(noun)) => Self::Count(noun),
            _ => Self::Amount,
        }
    }

    /// True if a number may be one of these, as far as its size tells.
    #[must_use]
    pub fn allows(self, value: f64) -> bool {
        match self {
            Self::Percent(most) => value.abs() <= f64::from(most),
            _ => true,
        }
    }
}

/// A label without its unit: "gross margin" of "gross margin (non-gaap)".
fn name(label: &str) -> &str {
    let name = label.split(['(', ',']).next().unwrap_or_default();
    name.trim().trim_matches('*')
}

fn words(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split_whitespace().map(|word| word.trim_matches('*'))
}

/// The unit that stands in a label: "Margin (%)", "Spread, bps".
fn stated_unit(label: &str) -> Option<Label> {
    let mut parts =
        label.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',')).filter(|it| !it.is_empty());
    parts.find_map(|word| match word {
        "%" | "percent" | "pct" | "prozent" => Some(Label::Percent(u32::MAX)),
        "bps" | "bp" => Some(Label::BasisPoints),
        _ => None,
    })
}

/// True if a label says that it is in money: "Gross margin (EUR m)", "Gross margin, $".
fn is_in_money(label: &str) -> bool {
    #[rustfmt::skip]
    const MONEY: &[&str] = &[
        "eur", "usd", "gbp", "chf", "jpy", "cny", "inr", "sek", "nok", "dkk", "aud", "cad", "teur", "m", "mn", "mm", "bn", "k",
        "million", "millions", "billion", "billions", "thousand", "thousands", "mio", "mrd", "tsd",
    ];
    let unit = label.split_once(['(', ',']).map_or("", |(_, unit)| unit);
    let mut words = unit.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.any(|word| MONEY.contains(&word)) || unit.contains(['$', '€', '£', '¥', '₹'])
}

/// True if a label names amounts per share, and does not only except them: "in millions, except per share data".
#[must_use]
pub fn says_per_share(label: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "eps", "per share", "per diluted share", "per basic share", "per common share", "per ads", "je aktie", "par action",
        "bnpa", "por acción", "bpa",
    ];
    NAMES.iter().any(|name| {
        label.match_indices(name).any(|(at, _)| {
            let before = label[..at].trim_end();
            let excepted = ["except", "except for", "excluding"].iter().any(|word| before.ends_with(word));
            !label[..at].ends_with(char::is_alphanumeric) && !excepted
        })
    })
}

/// Last words of labels of percentages, and their most.
#[rustfmt::skip]
const PERCENTAGES: &[(&str, u32)] = &[
    ("margin", 100), ("margins", 100), ("marge", 100), ("margen", 100), ("yield", 100), ("roe", 100), ("roi", 200),
    ("roce", 100), ("roic", 100), ("roa", 100), ("rotce", 100), ("rote", 100), ("cagr", 200), ("growth", 200),
    ("retention", 200), ("occupancy", 100), ("utilization", 200), ("utilisation", 200), ("penetration", 100),
    ("rate", 100), ("rates", 100), ("wachstum", 200), ("rendite", 100), ("croissance", 200), ("rentabilité", 100),
    ("crecimiento", 200), ("rentabilidad", 100), ("impositivo", 100),
];

/// Last parts of German words of percentages: "Steuerquote", "Bruttomarge". An "Umsatz" is none.
const GERMAN_PERCENTAGES: &[&str] = &["quote", "marge", "rendite", "wachstum", "steuersatz", "zinssatz"];

/// First words of labels of percentages.
const OPENING: &[&str] = &["return on", "percentage of", "share of", "taux", "tasa de", "taxe de rendement"];

/// Words that make a rate or margin an amount of money.
#[rustfmt::skip]
const PRICED: &[&str] = &[
    "exchange", "fx", "run", "run-rate", "day", "daily", "room", "spot", "hourly", "billing", "charter", "contribution",
    "initial", "variation", "taux de change",
];

/// Ratios that are given in percent.
const RATIOS: &[&str] =
    &["combined", "loss", "expense", "cost", "efficiency", "payout", "cet1", "capital", "cost/income", "cost-income"];

/// The most that percentages by this name are; `None` where it names none.
fn percent(name: &str) -> Option<u32> {
    let mut back = words(name).rev();
    let last = back.next()?;
    let previous = back.next().unwrap_or_default();
    if PRICED.contains(&previous) || name.starts_with("taux de change") {
        return None;
    }
    let listed = PERCENTAGES.iter().find(|(word, _)| *word == last).map(|(_, most)| *most);
    let compound = || GERMAN_PERCENTAGES.iter().any(|end| last.len() > end.len() && last.ends_with(end));
    let ratio = last == "ratio" && RATIOS.contains(&previous);
    let opening = || OPENING.iter().any(|words| name.strip_prefix(words).is_some_and(|rest| rest.starts_with(' ')));
    listed.or_else(|| (compound() || opening()).then_some(100)).or(ratio.then_some(200))
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
    ("deliveries", "deliveries"), ("days", "days"), ("dso", "days"), ("dpo", "days"), ("leverage", "x"), ("ratio", "x"),
    ("book-to-bill", "x"), ("multiple", "x"),
];

/// The noun of what a row counts: "Headcount", "DSO (days)", "Diluted shares (millions)"; not of "Loans to customers".
fn count(label: &str) -> Option<&'static str> {
    const GOVERNED: &[&str] = &["to", "from", "of", "by", "for", "and", "in", "per", "with"];
    let unit = label.split_once(['(', ',']).map_or("", |(_, unit)| unit).trim_end_matches([')', ' ']);
    let named = name(label);
    let named = named.strip_prefix("number of ").unwrap_or(named);
    let noun = |word: &str| COUNTED.iter().find(|(counted, _)| *counted == word).map(|(_, noun)| *noun);
    let shares =
        named.contains("shares") && ["diluted", "basic", "outstanding"].iter().any(|kind| label.contains(kind));
    if shares {
        return Some("shares");
    }
    let governed = words(named).any(|word| GOVERNED.contains(&word));
    words(named).next_back().and_then(noun).filter(|_| !governed).or_else(|| noun(unit).filter(|_| !unit.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-02, RG-05: rows of tables of money that are not money say so by their label.
    #[test]
    fn labels_have_kinds() {
        for (label, expected) in [
            ("Revenue", Label::Amount),
            ("Umsatz", Label::Amount),
            ("Gross margin", Label::Percent(100)),
            ("Gross margin (EUR m)", Label::Amount),
            ("Gross margin (non-GAAP)", Label::Percent(100)),
            ("**Effective tax rate**", Label::Percent(100)),
            ("Exchange rate", Label::Amount),
            ("Contribution margin", Label::Amount),
            ("Net revenue retention", Label::Percent(200)),
            ("Return on equity", Label::Percent(100)),
            ("Steuerquote", Label::Percent(100)),
            ("Taux d'imposition", Label::Percent(100)),
            ("Taux effectif d'imposition", Label::Percent(100)),
            ("Combined ratio", Label::Percent(200)),
            ("Leverage ratio", Label::Count("x")),
            ("Change, %", Label::Percent(u32::MAX)),
            ("Churn (bps)", Label::BasisPoints),
            ("Diluted EPS", Label::PerShare),
            ("In millions, except per share data: revenue", Label::Amount),
            ("Headcount", Label::Count("employees")),
            ("DSO (days)", Label::Count("days")),
            ("Diluted shares (millions)", Label::Count("shares")),
            ("Number of stores", Label::Count("stores")),
            ("Loans to customers", Label::Amount),
            ("Common shares", Label::Amount),
            ("", Label::Amount),
        ] {
            assert_eq!(Label::read(label), expected, "{label}");
        }
        assert!(Label::Percent(100).allows(-41.8) && !Label::Percent(100).allows(512.0));
    }
}
