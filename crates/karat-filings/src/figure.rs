//! Expected values against the tables that they come from.

use karat_text::label::Label;
use karat_text::similar::fold;
use serde_json::{Number, Value};

use crate::folded_text;
use crate::period::Period;
use crate::written_number::{self, DecimalMark};

/// Largest relative difference of two numbers that count as equal.
const SAME: f64 = 1e-9;

/// Digits that a number must show to be the rounding of a cell, or a share of one row in another.
const TELLING: usize = 3;

/// Currency names and symbols in units.
const CURRENCIES: [(&str, &str); 22] = [
    ("usd", "USD"),
    ("us$", "USD"),
    ("$", "USD"),
    ("dollar", "USD"),
    ("dollars", "USD"),
    ("eur", "EUR"),
    ("€", "EUR"),
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("gbp", "GBP"),
    ("£", "GBP"),
    ("jpy", "JPY"),
    ("¥", "JPY"),
    ("chf", "CHF"),
    ("cny", "CNY"),
    ("inr", "INR"),
    ("₹", "INR"),
    ("sek", "SEK"),
    ("nok", "NOK"),
    ("dkk", "DKK"),
    ("aud", "AUD"),
    ("cad", "CAD"),
];

/// A parsed unit: `million USD`, `€m`, `percent`, `basis points`, `employees`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    /// To base units; of shares, to per cent.
    factor: f64,
    pub is_share: bool,
    pub currency: Option<&'static str>,
    /// True if it names a thing: employees, stores.
    is_thing: bool,
}

impl Unit {
    pub fn read(text: &str) -> Self {
        let mut unit = Self { factor: 1.0, is_share: false, currency: None, is_thing: false };
        let text = text.to_lowercase();
        for word in text.split([' ', '_', '(', ')', '-', '.', ',']).filter(|word| !word.is_empty()) {
            unit.add(word);
        }
        unit
    }

    /// Returns whether it is money, or may be.
    pub fn may_be_money(self) -> bool {
        !self.is_share && (self.currency.is_some() || !self.is_thing)
    }

    fn add(&mut self, word: &str) {
        let currency = |name: &str| CURRENCIES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
        match word {
            "percent" | "%" | "pct" | "percentage" | "prozent" | "pp" | "ppt" | "ppts" | "pps" => self.is_share = true,
            "bps" | "bp" | "basis" => (self.is_share, self.factor) = (true, self.factor / 100.0),
            "fraction" => (self.is_share, self.factor) = (true, self.factor * 100.0),
            word => {
                if let Some(factor) = scale(word) {
                    self.factor *= factor;
                } else if let Some(code) = currency(word) {
                    self.currency = Some(code);
                } else if let Some((code, factor)) = CURRENCIES.iter().find_map(|(name, code)| {
                    let rest = word.strip_prefix(name).or_else(|| word.strip_suffix(name))?;
                    Some((*code, scale(rest)?))
                }) {
                    (self.currency, self.factor) = (Some(code), self.factor * factor);
                } else if !["in", "of"].contains(&word) {
                    self.is_thing = true;
                }
            }
        }
    }
}

/// Returns whether two names are one currency: `usd`, `USD`, `$`.
pub(crate) fn is_same_currency(one: &str, other: &str) -> bool {
    let code = |name: &str| Unit::read(name).currency.map_or_else(|| name.to_uppercase(), str::to_owned);
    code(one) == code(other)
}

fn scale(word: &str) -> Option<f64> {
    Some(match word {
        "thousand" | "thousands" | "k" | "tsd" | "000" | "000s" => 1e3,
        "lakh" | "lakhs" | "lac" => 1e5,
        "million" | "millions" | "mn" | "mln" | "mm" | "m" | "mio" => 1e6,
        "crore" | "crores" | "cr" => 1e7,
        "billion" | "billions" | "bn" | "b" | "mrd" | "md" => 1e9,
        "trillion" | "trillions" | "tn" => 1e12,
        // A factor of a table that has no word.
        _ => return word.strip_prefix('×')?.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0),
    })
}

/// A number with what it counts, in base units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    value: f64,
    /// True if it is a share, in per cent.
    is_share: bool,
}

impl Figure {
    pub fn new(value: f64, unit: &str) -> Self {
        let unit = Unit::read(unit);
        Self { value: value * unit.factor, is_share: unit.is_share }
    }
}

/// An expected value with its tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Expected {
    figure: Figure,
    /// The gold's tolerances, `abs` in base units.
    rel: f64,
    abs: f64,
    /// Half of the last digit that it shows, in base units.
    rounding: f64,
    /// Number of significant digits as written.
    digits: usize,
}

impl Expected {
    /// A number as the gold writes it, in its unit; `abs` in the same unit. `None` for a number beyond all bounds.
    pub fn new(number: &Number, unit: &str, rel: f64, abs: f64) -> Option<Self> {
        let text = number.to_string();
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let digits = mantissa.chars().filter(char::is_ascii_digit).skip_while(|digit| *digit == '0').count();
        let exponent: i32 = text.split_once(['e', 'E']).map_or(Some(0), |(_, exponent)| exponent.parse().ok())?;
        let last = 10_f64.powi(exponent.checked_sub(i32::try_from(decimals).ok()?)?);
        let factor = Unit::read(unit).factor;
        let figure = Figure::new(number.as_f64()?, unit);
        Some(Self { figure, rel, abs: abs * factor, rounding: last * factor / 2.0, digits })
    }

    /// Returns whether a cell equals it, exactly or rounded to its significant digits.
    fn is(&self, cell: Figure) -> bool {
        self.is_near(cell, if self.digits >= TELLING { self.rounding } else { 0.0 })
    }

    /// Returns whether a computed number is it, rounded. A gold may give a decrease without its sign.
    fn is_computed(&self, made: Figure) -> bool {
        let unsigned = Figure { value: made.value.abs(), ..made };
        self.is_near(made, self.rounding) || self.figure.value > 0.0 && self.is_near(unsigned, self.rounding)
    }

    fn is_near(&self, other: Figure, rounding: f64) -> bool {
        let distance = (self.figure.value - other.value).abs();
        let slack = SAME * other.value.abs().max(self.figure.value.abs());
        self.figure.is_share == other.is_share
            && (distance <= rounding + slack
                || distance <= self.rel * other.value.abs()
                || distance <= self.abs + slack)
    }
}

/// A number of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub row: String,
    pub column: String,
    /// The spelling in the source.
    pub value: Number,
    /// Scale and unit as written.
    pub unit: String,
    pub currency: Option<String>,
    /// The period of the column.
    pub period: Option<Period>,
}

impl Cell {
    fn figure(&self) -> Figure {
        Figure::new(self.value.as_f64().unwrap_or(0.0), &self.unit)
    }

    /// Every number of a table: `{unit, scale, currency, columns, rows: [{label, values, unit, currency}]}`. A number
    /// may be written as a text, whose own marks win.
    pub fn all(table: &Value) -> Vec<Self> {
        let mark = DecimalMark::of(entries(table).filter_map(|entry| entry.value.as_str()));
        entries(table).filter_map(|entry| entry.cell(table, mark)).collect()
    }
}

/// The value in a row under a column.
struct Entry<'a> {
    row: &'a Value,
    label: String,
    column: String,
    value: &'a Value,
}

impl Entry<'_> {
    fn cell(self, table: &Value, mark: DecimalMark) -> Option<Cell> {
        let (value, marks) = match self.value {
            Value::Number(number) => (number.clone(), String::new()),
            Value::String(text) => written_number::read(text, mark).map(|written| (written.number, written.marks))?,
            _ => return None,
        };
        let (unit, currency) = unit_of(table, self.row, &self.label, value.as_f64()?);
        let (unit, currency) = apply_marks(unit, currency, &marks)?;
        let period = Period::read(&self.column);
        Some(Cell { row: self.label, column: self.column, value, unit, currency, period })
    }
}

fn entries(table: &Value) -> impl Iterator<Item = Entry<'_>> {
    let columns: Vec<String> = list(table, "columns").iter().map(|it| folded_text(it).unwrap_or_default()).collect();
    list(table, "rows").iter().flat_map(move |row| {
        let label = row.get("label").and_then(folded_text).unwrap_or_default();
        let values = list(row, "values").iter().enumerate();
        let columns = columns.clone();
        values.map(move |(at, value)| {
            let column = columns.get(at).cloned().unwrap_or_default();
            Entry { row, label: label.clone(), column, value }
        })
    })
}

/// Unit and currency of a number that bears marks of its own; nothing where they name a thing, as `Q` in `Q2` does.
fn apply_marks(unit: String, currency: Option<String>, marks: &str) -> Option<(String, Option<String>)> {
    let own = Unit::read(marks);
    let money = own.currency.map(str::to_owned);
    match own {
        _ if own.is_thing => None,
        _ if own.is_share && own.factor < 1.0 => Some(("bps".to_owned(), None)),
        _ if own.is_share => Some(("percent".to_owned(), None)),
        _ if (own.factor - 1.0).abs() > SAME => {
            let currency = money.or(currency);
            let scale = marks.split(' ').find(|word| scale(word).is_some()).unwrap_or(marks);
            Some((format!("{scale} {}", currency.clone().unwrap_or_default()).trim().to_owned(), currency))
        }
        // A symbol may mean several currencies; the table names one.
        _ => Some((unit, currency.or(money))),
    }
}

/// The unit with its scale, and the currency, of a number in a row: the row's own; else, where its label says that it is
/// not an amount of the table's money, the label's; else the table's.
fn unit_of(table: &Value, row: &Value, label: &str, value: f64) -> (String, Option<String>) {
    let of = |from: &Value, key: &str| match from.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(factor) if key == "scale" => Some(scale_word(factor.as_f64()?)),
        _ => None,
    };
    let own = |key: &str| of(row, key).or_else(|| of(table, key));
    let whole = |scale: Option<String>, unit: Option<String>| {
        let said: Vec<String> = scale.into_iter().chain(unit).filter(|word| !word.is_empty()).collect();
        said.join(" ")
    };
    let known = |unit: &str, currency: Option<String>| {
        let read = Unit::read(unit);
        let currency = currency.filter(|_| !read.is_share);
        (unit.to_owned(), currency.or(read.currency.map(str::to_owned)))
    };
    // The scale of a table is that of its money; a row with its own unit is complete.
    if row.get("unit").is_some() {
        return known(&whole(of(row, "scale"), of(row, "unit")), of(row, "currency"));
    }
    match Label::read(label) {
        said @ Label::Percent(_) if said.allows(value) => known("percent", None),
        Label::BasisPoints => known("bps", None),
        Label::Count(noun) => (whole(scale_in(label), Some(noun.to_owned())), None),
        Label::PerShare => {
            let table = whole(of(table, "scale"), of(table, "unit"));
            let currency = own("currency").or(Unit::read(&table).currency.map(str::to_owned));
            (currency.clone().unwrap_or_default(), currency)
        }
        _ => known(&whole(own("scale"), own("unit")), own("currency")),
    }
}

/// The word for a scale that is written as a factor, as in `"scale": 1000000`; a factor without a word is `×100`.
fn scale_word(factor: f64) -> String {
    const WORDS: [(f64, &str); 7] = [
        (1.0, ""),
        (1e3, "thousand"),
        (1e5, "lakh"),
        (1e6, "million"),
        (1e7, "crore"),
        (1e9, "billion"),
        (1e12, "trillion"),
    ];
    let word = WORDS.iter().find(|(known, _)| (known - factor).abs() < SAME * known);
    word.map_or_else(|| format!("×{factor}"), |(_, word)| (*word).to_owned())
}

/// The scale in a label: "Diluted shares (millions)".
fn scale_in(label: &str) -> Option<String> {
    let inside = label.rsplit_once('(')?.1.trim_end_matches([')', ' ']).trim_start_matches("in ");
    scale(inside).map(|_| inside.to_owned())
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The cell that a gold names by `{row, column}`.
pub(crate) fn named_cell<'a>(cells: &'a [Cell], wanted: &Value) -> Option<&'a Cell> {
    let part = |key: &str| wanted.get(key).and_then(Value::as_str).map(fold);
    let (row, column) = (part("row")?, part("column")?);
    cells.iter().find(|cell| cell.row == row && cell.column == column)
}

/// The value of the cell that a gold names by `{row, column}`, whether it is a number or not.
pub(crate) fn value_at_cell<'a>(table: &'a Value, wanted: &Value) -> Option<&'a Value> {
    let part = |key: &str| wanted.get(key).and_then(Value::as_str).map(fold);
    let (row, column) = (part("row")?, part("column")?);
    entries(table).find(|entry| entry.label == row && entry.column == column).map(|entry| entry.value)
}

/// The cells that equal an expected value.
pub(crate) fn equal<'a>(cells: &'a [Cell], expected: &Expected) -> Vec<&'a Cell> {
    cells.iter().filter(|cell| expected.is(cell.figure())).collect()
}

/// The cell that makes an expected value together with another of its row (a difference, growth, ratio), or of its
/// column (a difference, a share).
pub(crate) fn computed_source<'a>(cells: &'a [Cell], expected: &Expected) -> Option<&'a Cell> {
    let pairs = || cells.iter().flat_map(|a| cells.iter().map(move |b| (a, b))).filter(|(a, b)| a != b);
    let of_row = |(a, b): &(&Cell, &Cell)| a.row == b.row && change(a, b).any(|made| expected.is_computed(made));
    let of_column = |(a, b): &(&Cell, &Cell)| {
        expected.digits >= TELLING
            && a.column == b.column
            && is_alike(a, b)
            && part(a, b).any(|made| expected.is_computed(made))
    };
    pairs().find(of_row).or_else(|| pairs().find(of_column)).map(|(cell, _)| cell)
}

/// Returns whether two cells count the same: money of one currency, shares, or one thing.
fn is_alike(a: &Cell, b: &Cell) -> bool {
    let (one, other) = (Unit::read(&a.unit), Unit::read(&b.unit));
    a.currency == b.currency && one.is_thing == other.is_thing && (!one.is_thing || a.unit == b.unit)
}

fn ratio(a: Figure, b: Figure) -> Option<f64> {
    (b.value != 0.0 && a.is_share == b.is_share).then(|| a.value / b.value)
}

fn share(value: f64) -> Figure {
    Figure { value: value * 100.0, is_share: true }
}

fn difference(a: Figure, b: Figure) -> Option<Figure> {
    (a.is_share == b.is_share).then_some(Figure { value: a.value - b.value, is_share: a.is_share })
}

/// Values computed from two cells of a row: difference, growth in per cent, ratio. A change leads from the earlier to
/// the later where the columns say when.
fn change(a: &Cell, b: &Cell) -> impl Iterator<Item = Figure> {
    let backwards = a.period.zip(b.period).is_some_and(|(a, b)| a.is_like(b) && a < b);
    let (a, b) = (a.figure(), b.figure());
    let ratio = ratio(a, b);
    let growth = ratio.filter(|_| !backwards).map(|ratio| share((ratio - 1.0) * b.value.signum()));
    let difference = difference(a, b).filter(|_| !backwards);
    let ratios = ratio.map(|ratio| [share(ratio), Figure { value: ratio, is_share: false }]);
    difference.into_iter().chain(growth).chain(ratios.into_iter().flatten())
}

/// Values computed from two cells of a column: difference, share.
fn part(a: &Cell, b: &Cell) -> impl Iterator<Item = Figure> {
    let (a, b) = (a.figure(), b.figure());
    difference(a, b).into_iter().chain(ratio(a, b).map(share))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells() -> Vec<Cell> {
        Cell::all(&json!({
            "scale": "million", "unit": "USD", "currency": "USD", "columns": ["Q2 2025", "Q1 2025"],
            "rows": [
                {"label": "Revenue", "values": [1234.5, 1200.0]},
                {"label": "Operating income", "values": [171.6, -24.0]},
                {"label": "Gross margin", "unit": "percent", "values": [41.2, 40.0]},
                {"label": "Note", "values": ["n/a", null]}
            ]
        }))
    }

    /// RG-02: numbers that are written as texts are read, in their own units where they bear marks.
    #[test]
    fn texts_are_numbers_too() {
        let cells = Cell::all(&json!({
            "scale": "million", "unit": "USD", "currency": "USD", "columns": ["Q2 2025"],
            "rows": [
                {"label": "Revenue", "values": ["$3,400.5"]}, {"label": "Net loss", "values": ["(12.3)"]},
                {"label": "Share", "values": ["41.8%"]}, {"label": "Backlog", "values": ["€1.2bn"]},
                {"label": "Quarter", "values": ["Q2"]}, {"label": "Debt", "values": ["—"]}
            ]
        }));
        let read: Vec<String> = cells
            .iter()
            .map(|it| format!("{} {} {}", it.value, it.unit, it.currency.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(read, ["3400.5 million USD USD", "-12.3 million USD USD", "41.8 percent -", "1.2 bn EUR EUR"]);
    }

    /// B.3: the scale of a table may be a factor, which is never taken for 1.
    #[test]
    fn a_scale_is_a_word_or_a_factor() {
        let unit = |scale: Value| {
            let table = json!({ "scale": scale, "unit": "USD", "currency": "USD", "columns": ["Q2 2025"],
                "rows": [{"label": "Revenue", "values": [1234.5]}] });
            Cell::all(&table).remove(0)
        };
        for (scale, written) in [
            (json!(1_000_000), "million USD"),
            (json!(1e6), "million USD"),
            (json!(1000), "thousand USD"),
            (json!(1_000_000_000), "billion USD"),
            (json!(1), "USD"),
            (json!(100_000), "lakh USD"),
            (json!(100), "×100 USD"),
            (json!("million"), "million USD"),
        ] {
            assert_eq!(unit(scale.clone()).unit, written, "{scale}");
        }
        let right = expected(json!(1.2345), "billion USD");
        assert!(right.is(unit(json!(1_000_000)).figure()) && !right.is(unit(json!(100_000)).figure()));
        assert!(expected(json!(123_450), "USD").is(unit(json!(100)).figure()));
        assert!(!expected(json!(1234.5), "USD").is(unit(json!(100)).figure()));
    }

    fn expected(value: Value, unit: &str) -> Expected {
        let Value::Number(number) = value else { panic!("a number") };
        Expected::new(&number, unit, 0.0, 0.0).unwrap()
    }

    /// RG-02: an expected value is found in any scale, rounded as it is written.
    #[test]
    fn expected_values_are_found_in_their_tables() {
        let cells = cells();
        assert_eq!(cells.len(), 6);
        let rows = |value: Value, unit: &str| -> Vec<String> {
            equal(&cells, &expected(value, unit)).into_iter().map(|cell| cell.row.clone()).collect()
        };
        for (value, unit, row) in [
            (json!(1.2345), "billion USD", "revenue"),
            (json!(1.23), "$bn", "revenue"),
            (json!(1235), "million", "revenue"),
            (json!(1_234_500_000), "USD", "revenue"),
            (json!(1.2345e9), "USD", "revenue"),
            (json!(4120), "basis points", "gross margin"),
            (json!(41.2), "%", "gross margin"),
            (json!(0.412), "fraction", "gross margin"),
        ] {
            assert_eq!(rows(value.clone(), unit), [row], "{value} {unit}");
        }
        for (value, unit) in [
            (json!(1234.5), "USD"),
            (json!(41.2), "million USD"),
            (json!(1.3), "billion USD"),
            (json!(1.25), "billion USD"),
            (json!(41), "percent"),
        ] {
            assert_eq!(rows(value.clone(), unit), Vec::<String>::new(), "{value} {unit}");
        }
        let Value::Number(near) = json!(1240) else { panic!("a number") };
        let near = Expected::new(&near, "million USD", 0.01, 0.0).unwrap();
        assert_eq!(equal(&cells, &near).len(), 1, "the gold's own tolerance holds here, too");
    }

    /// RG-02: growth, differences, shares are found as the gold rounds them, in time's direction; wrong ones are not.
    #[test]
    fn computed_values_are_found_in_their_tables() {
        let cells = cells();
        for (value, unit, is_there) in [
            (json!(34.5), "million USD", true),
            (json!(2.875), "percent", true),
            (json!(2.9), "percent", true),
            (json!(2.88), "%", true),
            (json!(3), "percent", true),
            (json!(1.2), "percentage points", true),
            (json!(1.2), "pp", true),
            (json!(120), "bps", true),
            (json!(13.9), "percent", true),
            (json!(195.6), "million USD", true),
            (json!(1.03), "times", true),
            (json!(2.8), "percent", false),
            (json!(-2.9), "percent", false),
            (json!(2.79), "percent", false),
            (json!(-34.5), "million USD", false),
            (json!(14.9), "percent", false),
            (json!(35.5), "million USD", false),
            (json!(120), "percent", false),
        ] {
            assert_eq!(computed_source(&cells, &expected(value.clone(), unit)).is_some(), is_there, "{value} {unit}");
        }
    }

    /// RG-02: units as filings write them.
    #[test]
    fn units_say_scale_share_and_currency() {
        for (text, factor, is_share, money) in [
            ("million USD", 1e6, false, Some("USD")),
            ("USD millions", 1e6, false, Some("USD")),
            ("€m", 1e6, false, Some("EUR")),
            ("EURm", 1e6, false, Some("EUR")),
            ("Mio. €", 1e6, false, Some("EUR")),
            ("$bn", 1e9, false, Some("USD")),
            ("in thousands of dollars", 1e3, false, Some("USD")),
            ("INR crore", 1e7, false, Some("INR")),
            ("basis points", 0.01, true, None),
            ("percentage points", 1.0, true, None),
            ("employees", 1.0, false, None),
        ] {
            let unit = Unit::read(text);
            assert_eq!((unit.factor, unit.is_share, unit.currency), (factor, is_share, money), "{text}");
            assert_eq!(unit.may_be_money(), money.is_some(), "{text}");
        }
    }

    #[test]
    fn a_named_cell_is_the_one() {
        let cells = cells();
        let wanted = json!({"row": "REVENUE", "column": "Q1 2025"});
        assert_eq!(named_cell(&cells, &wanted).and_then(|cell| cell.value.as_f64()), Some(1200.0));
        assert_eq!(named_cell(&cells, &json!({"row": "Revenue"})), None);
    }
}
