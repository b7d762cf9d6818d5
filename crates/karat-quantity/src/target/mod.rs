//! The number that is expected of an answer.
//!
//! This file reads the expected number and its unit; `compare` finds it in an answer, `tolerance` says when two numbers
//! are near enough.

pub(crate) mod compare;
pub(crate) mod tolerance;

use rust_decimal::Decimal;
use serde_json::{Number, Value};
use thiserror::Error;

use crate::numeral::digits::DecimalMark;
use crate::numeral::fraction;
use crate::quantity::Quantity;
use crate::role::Role;
use crate::scan::{Context, Reading, scan};
use crate::unit;
use crate::unit::noun;
use crate::unit::scale;
use crate::unit::{Currency, Unit, UnitMark};

/// Which of several numbers is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pick {
    /// Any number of the right unit may match.
    #[default]
    Any,
    /// The first number of the right unit.
    First,
    /// The last number of the right unit.
    Last,
}

/// An expected number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// As given, in units of `worth`.
    given: Decimal,
    /// The upper end, where a range is expected.
    given_high: Option<Decimal>,
    /// What the expected number says of itself, which a unit given beside it does not say again.
    stated: Stated,
    /// The letter that scales its text and may as well be a unit, and what the letter is worth.
    pub(crate) letter: Option<(char, Decimal)>,
    /// The value of one of the given unit in base units: 1,000,000 for "million USD".
    pub(crate) worth: Decimal,
    pub(crate) wanted: Wanted,
    pub(crate) pick: Pick,
    pub(crate) mark: DecimalMark,
    pub(crate) context: Context,
}

/// The parts of a unit that the text of an expected number states: they are in its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stated {
    /// A currency or a percentage.
    unit: bool,
    /// A scale, such as "million".
    scale: bool,
}

/// The unit that a number must have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    Any,
    Unit(Unit),
    /// A unit that is known by its word alone: employees, GWh.
    Noun(String),
}

/// A target that cannot be compared with.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The value is infinite, not a number, or beyond 28 digits.
    #[error("reading the expected number: {0} is not a number of at most 28 digits")]
    Range(String),
    /// A text or JSON value that does not hold exactly one number.
    #[error(
        "reading the expected number: {0:?} does not hold exactly one number or range; give a number such as 1200000000, \"$1.2 billion\" or [1.0, 1.2]"
    )]
    NotOneNumber(String),
    /// An unknown currency.
    #[error("reading the currency of the expected number: {0:?} is unknown; give an ISO 4217 code such as USD")]
    Currency(String),
    /// A scale that is none.
    #[error(
        "reading the unit of the expected number: {0:?} is not a scale; give one such as \"million\" or \"billion\""
    )]
    Scale(String),
    /// Unit and currency contradict each other.
    #[error(
        "reading the unit of the expected number: it is {unit} but the currency is {currency}; correct one of them"
    )]
    Conflict {
        /// The currency that the unit names.
        unit: &'static str,
        /// The currency given beside it.
        currency: &'static str,
    },
    /// The number's own unit and the one given beside it contradict each other.
    #[error("reading the unit of the expected number: the number says {stated}, the unit {given}; correct one of them")]
    OtherUnit {
        /// The unit in the number's text.
        stated: &'static str,
        /// The unit given beside it.
        given: &'static str,
    },
    /// A negative tolerance.
    #[error("reading the tolerance: {0} is negative; give 0.01 for 1 %")]
    Tolerance(Decimal),
}

impl Target {
    /// A number, to be matched by any number of an answer until a unit is given.
    ///
    /// # Errors
    /// When it is not finite or beyond 28 digits.
    pub fn number(value: f64) -> Result<Self, TargetError> {
        decimal(value).map(Self::decimal)
    }

    /// A decimal number, to be matched by any number of an answer until a unit is given.
    #[must_use]
    pub fn decimal(value: Decimal) -> Self {
        Self {
            given: value,
            given_high: None,
            stated: Stated::default(),
            letter: None,
            worth: Decimal::ONE,
            wanted: Wanted::Any,
            pick: Pick::Any,
            mark: DecimalMark::Auto,
            context: Context::General,
        }
    }

    /// A range, by its ends in either order: both must be in an answer, as a range or one after the other.
    ///
    /// ```
    /// use karat_quantity::Target;
    ///
    /// let target = Target::range(12.into(), 10.into()).unit("percent")?;
    /// assert!(target.exact("growth of 10–12 %").passed());
    /// assert!(!target.exact("growth of 10 %").passed());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    #[must_use]
    pub fn range(one: Decimal, other: Decimal) -> Self {
        Self { given_high: Some(one.max(other)), ..Self::decimal(one.min(other)) }
    }

    /// The one number or range in `text`, with its unit and currency.
    ///
    /// ```
    /// use karat_quantity::Target;
    ///
    /// let target = Target::parse("€1.2bn")?;
    /// assert!(target.exact("1,200 million euros").passed());
    /// assert!(!target.exact("$1.2bn").passed());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    ///
    /// # Errors
    /// When it holds no number, or several.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        Self::parse_in(text, Context::General)
    }

    /// The same in a context: in [`Context::Finance`] "(5)" and "a loss of 5" are −5. The target compares in it, too.
    ///
    /// # Errors
    /// When it holds no number, or several.
    pub fn parse_in(text: &str, context: Context) -> Result<Self, TargetError> {
        let unreadable = || TargetError::NotOneNumber(text.to_owned());
        if let [(span, value)] = fraction::strokes(text).as_slice()
            && text.trim().len() == span.len()
        {
            return Ok(Self::decimal(*value).context(context));
        }
        let found = scan(text, Reading { context, ..Reading::default() });
        let mut amounts = found.iter().filter(|quantity| quantity.role != Role::Reference);
        let (Some(only), None) = (amounts.next(), amounts.next()) else {
            return Err(unreadable());
        };
        let mut target = only.high.map_or_else(|| Self::decimal(only.value), |high| Self::range(only.value, high));
        target.wanted = match (only.unit, only.phrase.last()) {
            (Unit::Plain, None) => Wanted::Any,
            (Unit::Plain, Some(noun)) => Wanted::Noun(noun.clone()),
            (unit, _) => Wanted::Unit(unit),
        };
        target.letter = only.letter.map(|letter| (letter, only.factor));
        target.stated = Stated { unit: only.unit != Unit::Plain, scale: only.names_scale };
        Ok(target.context(context))
    }

    /// A JSON number, a range as a list of two, or a text as [`Target::parse_in`] reads it.
    ///
    /// ```
    /// use karat_quantity::{Context, Target};
    /// use serde_json::json;
    ///
    /// let target = Target::json(&json!("(5) million USD"), Context::Finance)?;
    /// assert_eq!(target.value().unwrap().to_string(), "-5000000");
    /// assert!(Target::json(&json!([10, 12]), Context::General).is_ok());
    /// assert!(Target::json(&json!(true), Context::General).is_err());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    ///
    /// # Errors
    /// When it is something else.
    pub fn json(value: &Value, context: Context) -> Result<Self, TargetError> {
        match value {
            Value::Number(number) => Ok(Self::decimal(decimal_of(number)?).context(context)),
            Value::String(text) => Self::parse_in(text, context),
            Value::Array(ends)
                if let [one, other] = ends.as_slice()
                    && one.is_number()
                    && other.is_number() =>
            {
                let end = |end| Ok(Self::json(end, context)?.given);
                Ok(Self::range(end(one)?, end(other)?).context(context))
            }
            other => Err(TargetError::NotOneNumber(other.to_string())),
        }
    }

    /// The unit: a currency, "percent", "bps", "million USD", "USD per share", "count", or any word
    /// that follows the number. An empty unit changes nothing. A currency, percentage or scale that the number's text states
    /// itself is not applied again.
    ///
    /// ```
    /// use karat_quantity::Target;
    ///
    /// let target = Target::number(1250.0)?.unit("bps")?;
    /// assert!(target.exact("a margin of 12.5%").passed());
    /// let stated = Target::parse("3.2 million USD")?.unit("million USD")?;
    /// assert_eq!(stated.value().unwrap().to_string(), "3200000");
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    ///
    /// # Errors
    /// When it names another currency than the one given before, or a scale that is none: "gazillion USD".
    pub fn unit(mut self, unit: &str) -> Result<Self, TargetError> {
        if unit.trim().is_empty() {
            return Ok(self);
        }
        let ReadUnit { wanted, factor, scale } = read_unit(unit)?;
        let beyond = TargetError::Range(self.given.to_string());
        let stated = if self.stated.unit { factor } else { Decimal::ONE };
        let stated = stated.checked_mul(if self.stated.scale { scale } else { Decimal::ONE });
        // "3.2 million USD" of a column in million USD is 3.2 of its unit.
        let in_unit = |value: Decimal| value.checked_div(stated?);
        let (worth, given) = (factor.checked_mul(scale), in_unit(self.given));
        let (Some(worth), Some(given)) = (worth, given) else { return Err(beyond) };
        (self.worth, self.given, self.given_high) = (worth, given, self.given_high.and_then(in_unit));
        match (&self.wanted, wanted) {
            (Wanted::Unit(Unit::Money(before)), Wanted::Unit(Unit::Money(after))) => {
                agree(&after, before)?;
            }
            (Wanted::Unit(Unit::Percent), Wanted::Unit(Unit::Money(after))) => {
                return Err(TargetError::OtherUnit { stated: "%", given: after.code() });
            }
            (Wanted::Unit(Unit::Money(before)), Wanted::Unit(Unit::Percent)) => {
                return Err(TargetError::OtherUnit { stated: before.code(), given: "%" });
            }
            (Wanted::Unit(Unit::Money(_)), Wanted::Noun(_) | Wanted::Any) => {}
            (_, wanted) => self.wanted = wanted,
        }
        Ok(self)
    }

    /// The currency; a percentage has none and stays one. An empty currency changes nothing.
    ///
    /// ```
    /// use karat_quantity::Target;
    ///
    /// let target = Target::number(5.0)?.unit("million")?.currency("EUR")?;
    /// assert!(target.exact("€5m").passed());
    /// assert!(!target.exact("$5m").passed());
    /// assert!(Target::number(5.0)?.unit("USD")?.currency("EUR").is_err());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    ///
    /// # Errors
    /// When it is unknown or contradicts the unit.
    pub fn currency(mut self, currency: &str) -> Result<Self, TargetError> {
        if currency.trim().is_empty() {
            return Ok(self);
        }
        let unknown = || TargetError::Currency(currency.to_owned());
        let given = Currency::from_name(currency).ok_or_else(unknown)?;
        match &self.wanted {
            Wanted::Unit(Unit::Percent) => return Ok(self),
            Wanted::Unit(Unit::Money(before)) => agree(before, &given)?,
            _ => {}
        }
        self.wanted = Wanted::Unit(Unit::Money(given));
        Ok(self)
    }

    /// Which of several numbers is compared.
    ///
    /// ```
    /// use karat_quantity::{Pick, Target};
    ///
    /// let answer = "12 at first, 15 in the end";
    /// assert!(Target::number(12.0)?.exact(answer).passed());
    /// assert!(!Target::number(12.0)?.pick(Pick::Last).exact(answer).passed());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    #[must_use]
    pub fn pick(self, pick: Pick) -> Self {
        Self { pick, ..self }
    }

    /// The decimal mark that decides how lone groups such as "1.234" in answers are read.
    ///
    /// ```
    /// use karat_quantity::{DecimalMark, Target};
    ///
    /// let target = Target::number(1234.0)?.decimal_mark(DecimalMark::Comma);
    /// assert!(target.exact("1.234 Euro").passed());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    #[must_use]
    pub fn decimal_mark(self, mark: DecimalMark) -> Self {
        Self { mark, ..self }
    }

    /// The kind of text the answers are, [`Context::General`] by default.
    #[must_use]
    pub fn context(self, context: Context) -> Self {
        Self { context, ..self }
    }

    /// The expected value in base units; `None` beyond 28 digits.
    #[must_use]
    pub fn value(&self) -> Option<Decimal> {
        self.given.checked_mul(self.worth).map(|v| v.normalize())
    }

    /// The upper end of an expected range in base units.
    pub(crate) fn high(&self) -> Option<Decimal> {
        self.given_high?.checked_mul(self.worth).map(|high| high.normalize())
    }

    /// True if it counts things that come in wholes.
    pub(crate) fn is_count(&self) -> bool {
        let counts = matches!(&self.wanted, Wanted::Noun(noun) if noun::is_unit(noun) && !noun::is_measure(noun));
        counts && self.value().is_some_and(|value| value.is_integer() && value.abs() >= Decimal::ONE_THOUSAND)
    }

    /// Compares a quantity's unit with the wanted one.
    pub(crate) fn fit(&self, quantity: &Quantity) -> Fit {
        // A unit that is declared for all numbers around says nothing of those that count something else.
        let unit = match self.wanted {
            Wanted::Noun(_) | Wanted::Unit(Unit::Plain) => quantity.own_unit,
            _ => quantity.unit,
        };
        match (&self.wanted, unit) {
            (Wanted::Any, _) => Fit::Right,
            (Wanted::Unit(Unit::Plain), Unit::Plain) => Fit::Right,
            (Wanted::Unit(Unit::Percent), Unit::Percent) => Fit::Right,
            (Wanted::Unit(Unit::Money(wanted)), Unit::Money(found)) if wanted.agrees_with(&found) => Fit::Right,
            (Wanted::Noun(wanted), Unit::Plain) if quantity.phrase.iter().any(|word| noun::same(word, wanted)) => {
                Fit::Right
            }
            (Wanted::Noun(_) | Wanted::Unit(Unit::Percent | Unit::Money(_)), Unit::Plain)
                if quantity.phrase.iter().any(|word| noun::is_unit(word)) =>
            {
                Fit::Wrong
            }
            // "472.2 million" is not a percentage.
            (Wanted::Unit(Unit::Percent), Unit::Plain) if quantity.scaled => Fit::Wrong,
            (Wanted::Noun(_) | Wanted::Unit(_), Unit::Plain) => Fit::Bare,
            _ => Fit::Wrong,
        }
    }
}

/// The fit of a number's unit with the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It says the right unit.
    Right,
    /// It says no unit.
    Bare,
    /// It says another unit.
    Wrong,
}

fn agree(unit: &Currency, currency: &Currency) -> Result<(), TargetError> {
    if unit.agrees_with(currency) {
        return Ok(());
    }
    Err(TargetError::Conflict { unit: unit.code(), currency: currency.code() })
}

/// The unit that a data set names.
struct ReadUnit {
    wanted: Wanted,
    /// The worth of one in base units, without the scale: 0.01 of cents and of basis points.
    factor: Decimal,
    /// The scale: a million.
    scale: Decimal,
}

impl ReadUnit {
    fn unscaled(unit: Unit, factor: Decimal) -> Self {
        Self { wanted: Wanted::Unit(unit), factor, scale: Decimal::ONE }
    }
}

fn read_unit(unit: &str) -> Result<ReadUnit, TargetError> {
    let unit = unit.trim();
    let lower = unit.to_lowercase();
    match lower.as_str() {
        "number" | "count" | "integer" | "plain" | "none" | "ratio" => {
            return Ok(ReadUnit::unscaled(Unit::Plain, Decimal::ONE));
        }
        "fraction" => return Ok(ReadUnit::unscaled(Unit::Percent, Decimal::ONE_HUNDRED)),
        _ => {}
    }
    if let Some((mark, _)) = unit::after(&lower).filter(|(mark, _)| mark.unit == Unit::Percent) {
        return Ok(ReadUnit::unscaled(Unit::Percent, mark.factor));
    }
    let counted = unit.split(" per ").next().unwrap_or(unit);
    let counted = counted.split(" of ").next().unwrap_or(counted);
    let counted = counted.split('/').next().unwrap_or(counted);
    let (mut money, mut noun, mut factor, mut scale) = (None, None, Decimal::ONE, Decimal::ONE);
    for word in counted.split([' ', '_', '(', ')']).filter(|w| !w.is_empty() && *w != "in") {
        if let Some(mark) = money_mark(word) {
            money = Some(mark.unit);
            factor = factor.checked_mul(mark.factor).unwrap_or(factor);
        } else if let Some(power) = scale_of(word) {
            scale = scale.checked_mul(power).unwrap_or(scale);
        } else if let Some((unit, power)) = currency_with_scale(word) {
            money = Some(unit);
            scale = scale.checked_mul(power).unwrap_or(scale);
        } else if is_like_a_scale(&word.to_lowercase()) {
            return Err(TargetError::Scale(word.to_owned()));
        } else {
            noun = Some(word.to_lowercase());
        }
    }
    let wanted = match (money, noun) {
        (Some(unit), _) => Wanted::Unit(unit),
        (None, Some(noun)) => Wanted::Noun(noun),
        (None, None) => Wanted::Any,
    };
    Ok(ReadUnit { wanted, factor, scale })
}

/// True if an unknown word is meant for a scale: "gazillion", "milion", "bilions".
fn is_like_a_scale(word: &str) -> bool {
    ["lion", "llon", "liard"].iter().any(|ending| word.trim_end_matches('s').ends_with(ending))
}

/// A currency by code, sign or name, or its cents.
fn money_mark(word: &str) -> Option<UnitMark> {
    let whole = |currency| UnitMark { unit: Unit::Money(currency), factor: Decimal::ONE };
    let cents = || {
        let (mark, length) = unit::after(word)?;
        (length == word.len() && mark.unit != Unit::Percent).then_some(mark)
    };
    Currency::from_name(word).map(whole).or_else(cents)
}

/// A scale by its word or letter alone.
fn scale_of(word: &str) -> Option<Decimal> {
    let (power, length) = scale::after(word, true)?;
    (length == word.len()).then(|| scale::factor(power)).flatten()
}

/// A currency and a scale in one word: "USDm", "$bn".
fn currency_with_scale(word: &str) -> Option<(Unit, Decimal)> {
    word.char_indices().skip(1).find_map(|(at, _)| {
        let currency = Currency::from_name(&word[..at])?;
        Some((Unit::Money(currency), scale_of(&word[at..])?))
    })
}

/// The decimal of a JSON number: with all its digits where it is not a float.
fn decimal_of(number: &Number) -> Result<Decimal, TargetError> {
    let text = number.as_str();
    let short = number
        .as_f64()
        .filter(|float| text.contains(['.', 'e', 'E']) && Number::from_f64(*float).as_ref() == Some(number));
    match short {
        Some(float) => decimal(float),
        None => {
            text.parse().or_else(|_| Decimal::from_scientific(text)).map_err(|_| TargetError::Range(text.to_owned()))
        }
    }
}

/// The decimal that a float stands for: its shortest form, of at most 15 digits.
pub(crate) fn decimal(value: f64) -> Result<Decimal, TargetError> {
    let shortest = format!("{value:e}");
    let digits = shortest.bytes().take_while(|b| *b != b'e').filter(u8::is_ascii_digit).count();
    let text = if digits > 15 { format!("{value:.14e}") } else { shortest };
    let parsed = Decimal::from_scientific(&text).map(|value| value.normalize());
    parsed.map_err(|_| TargetError::Range(value.to_string()))
}
