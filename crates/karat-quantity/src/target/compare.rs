//! Comparing an answer with the number that is expected.

use std::fmt;
use std::ops::Range;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::finance::periods;
use crate::numeral::digits::DecimalMark;
use crate::numeral::fraction;
use crate::quantity::{Fall, Quantity};
use crate::role::Role;
use crate::scan::{Context, Reading, scan};
use crate::target::tolerance::Tolerance;
use crate::target::{Fit, Pick, Target, Wanted};
use crate::unit::Unit;
use crate::unit::noun;
use crate::unit::scale::starts_with_word;

/// An exact match may be rounded only when it shows at least this many significant digits.
const DIGITS_FOR_ROUNDING: u32 = 3;

/// The outcome of comparing an answer with the expected number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A number matches.
    Matched,
    /// There are numbers of the right unit, none of which matches.
    Different,
    /// All numbers have another unit or currency.
    WrongUnit,
    /// There is no number.
    NoNumber,
}

/// The result of comparing an answer with a [`Target`]. Shown, it is a reason in words.
///
/// ```
/// use karat_quantity::{Outcome, Target};
///
/// let target = Target::parse("$5 million")?;
/// let compared = target.exact("It was $4.8 million.");
/// assert_eq!(compared.outcome, Outcome::Different);
/// assert_eq!(compared.to_string(), "the closest number is \"$4.8 million\" at byte 7");
/// assert_eq!(target.exact("It was €5 million.").outcome, Outcome::WrongUnit);
/// # Ok::<(), karat_quantity::TargetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The outcome.
    pub outcome: Outcome,
    /// The number that matched, else the closest of the candidates.
    pub number: Option<Quantity>,
    /// A number matched, and another of the same unit contradicts it.
    pub contested: bool,
    /// The numbers that were compared.
    pub candidates: Vec<Quantity>,
}

impl Comparison {
    /// True if a number matched.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Matched
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.outcome, &self.number) {
            (Outcome::Matched, Some(number)) => {
                write!(f, "{:?} at byte {} matches", number.text, number.span.start)?;
                let others = if self.contested { ", but other numbers contradict it" } else { "" };
                f.write_str(others)
            }
            (Outcome::Different, Some(number)) if number.negated => {
                write!(f, "the answer denies {:?} at byte {}", number.text, number.span.start)
            }
            (Outcome::Different, Some(number)) if number.is_bound() => {
                write!(f, "{:?} at byte {} is only a bound", number.text, number.span.start)
            }
            (Outcome::Different, Some(number)) => {
                write!(f, "the closest number is {:?} at byte {}", number.text, number.span.start)?;
                let fall = number.fall == Fall::Certain && number.value > Decimal::ZERO;
                f.write_str(if fall { ", said to be a loss or a fall" } else { "" })
            }
            (Outcome::WrongUnit, _) => f.write_str("no number has the right unit or currency"),
            _ => f.write_str("no number in the answer"),
        }
    }
}

impl Target {
    /// Compares exactly: a number equals the expected one after normalisation, or equals it rounded
    /// to the digits it shows, if it shows at least three significant ones.
    ///
    /// ```
    /// use karat_quantity::Target;
    ///
    /// let target = Target::parse("$1,234 million")?;
    /// assert!(target.exact("$1.23 billion").passed());
    /// assert!(!target.exact("$1.2 billion").passed());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    #[must_use]
    pub fn exact(&self, answer: &str) -> Comparison {
        self.compare(answer, &Tolerance::default())
    }

    /// Compares within a tolerance; exactly if that has no bound.
    ///
    /// ```
    /// use karat_quantity::{Target, Tolerance};
    ///
    /// let target = Target::parse("$5 million")?;
    /// assert!(target.within("$4.8 million", Tolerance::relative(0.05)?).passed());
    /// // An absolute bound is in the unit of the target: a quarter of a dollar.
    /// assert!(!target.within("$4.8 million", Tolerance::absolute(0.25)?).passed());
    /// # Ok::<(), karat_quantity::TargetError>(())
    /// ```
    #[must_use]
    pub fn within(&self, answer: &str, tolerance: Tolerance) -> Comparison {
        self.compare(answer, &tolerance)
    }

    fn compare(&self, answer: &str, tolerance: &Tolerance) -> Comparison {
        let compared = self.compare_by(answer, tolerance, self.mark);
        // Nobody has 5.321 employees: where things are counted, a lone group of three is thousands, whatever its mark.
        if compared.passed() || self.mark != DecimalMark::Auto || !self.is_count() {
            return compared;
        }
        let by_comma = self.compare_by(answer, tolerance, DecimalMark::Comma);
        if by_comma.passed() { by_comma } else { compared }
    }

    fn compare_by(&self, answer: &str, tolerance: &Tolerance, mark: DecimalMark) -> Comparison {
        let found = scan(answer, Reading { mark, context: self.context });
        let candidates = self.candidates(&found);
        let matches = |quantity: &&Quantity| self.matches(quantity, tolerance);
        let pair = self.matching_pair(answer, &candidates, tolerance);
        let fraction = self.matching_fraction(answer, &candidates, tolerance);
        let matched = candidates.iter().copied().find(matches).or(pair.map(|[first, _]| first)).or(fraction.as_ref());
        let contradicts = |quantity: &&Quantity| {
            !matches(quantity) && !pair.iter().flatten().any(|end| std::ptr::eq(*end, *quantity))
        };
        let contested = matched.is_some() && candidates.iter().any(contradicts);
        let matched = matched.or_else(|| self.calendar_match(&found)).or_else(|| self.ordinal_match(answer, &found));
        let outcome = match (matched, candidates.is_empty()) {
            (Some(_), _) => Outcome::Matched,
            (None, false) => Outcome::Different,
            (None, true) if found.iter().any(|q| q.role == Role::Quantity) => Outcome::WrongUnit,
            (None, true) => Outcome::NoNumber,
        };
        Comparison {
            outcome,
            number: matched.or_else(|| self.closest(&candidates)).cloned(),
            contested,
            candidates: candidates.into_iter().cloned().collect(),
        }
    }

    /// The numbers that may match. Beside numbers that say the right unit, a number without unit
    /// counts only when it has a scale: in "3 segments made $1.2 billion, 1.1 billion before" the 3
    /// does not.
    fn candidates<'a>(&self, found: &'a [Quantity]) -> Vec<&'a Quantity> {
        let counts = |quantity: &&Quantity| quantity.role == Role::Quantity || self.counts_time(quantity);
        let amounts = || found.iter().filter(counts);
        let said = amounts().any(|quantity| self.fit(quantity) == Fit::Right);
        let counts = |quantity: &&Quantity| match self.fit(quantity) {
            Fit::Right => true,
            Fit::Bare => !said || quantity.scaled && quantity.declared == Decimal::ONE,
            Fit::Wrong => false,
        };
        let mut candidates = amounts().filter(counts);
        match self.pick {
            Pick::Any => candidates.collect(),
            Pick::First => candidates.next().into_iter().collect(),
            Pick::Last => candidates.next_back().into_iter().collect(),
        }
    }

    /// True if it is the "12" of "a 12-month program", and months are expected.
    fn counts_time(&self, quantity: &Quantity) -> bool {
        let word = quantity.phrase.first().filter(|_| quantity.role == Role::Calendar);
        matches!((&self.wanted, word), (Wanted::Noun(wanted), Some(word)) if noun::same(word, wanted))
    }

    /// A year, where nothing says that an amount is expected.
    fn calendar_match<'a>(&self, found: &'a [Quantity]) -> Option<&'a Quantity> {
        let unitless = matches!(self.wanted, Wanted::Any | Wanted::Unit(Unit::Plain));
        let expected = self.value().filter(|_| unitless && self.pick == Pick::Any)?;
        let year = |q: &Quantity| q.role == Role::Calendar && q.significant == 4 && q.text.len() == 4;
        let equal = |q: &&Quantity| year(q) && !q.negated && q.value == expected;
        found.iter().find(equal)
    }

    /// A place such as "3rd", where nothing else matches and nothing says that an amount is expected; not the quarter or half
    /// of a year.
    fn ordinal_match<'a>(&self, answer: &str, found: &'a [Quantity]) -> Option<&'a Quantity> {
        let is_free =
            self.context == Context::General && matches!(self.wanted, Wanted::Any | Wanted::Unit(Unit::Plain));
        let expected = self.value().filter(|_| is_free)?;
        let is_ordinal = |quantity: &&Quantity| {
            let rest = &answer[quantity.span.end..];
            let suffix = ["st", "nd", "rd", "th"].iter().find_map(|suffix| rest.strip_prefix(suffix));
            let of_period = |rest: &str| ["quarter", "half"].iter().any(|period| starts_with_word(rest, period));
            suffix.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric) && !of_period(rest.trim_start()))
        };
        let mut places = found.iter().filter(is_ordinal);
        let equal = |quantity: &&Quantity| !quantity.negated && quantity.value == expected;
        match self.pick {
            Pick::Any => places.find(equal),
            Pick::First => places.next().filter(equal),
            Pick::Last => places.next_back().filter(equal),
        }
    }

    /// Two numbers with a stroke between them, read as a fraction: "9/7". It may be a date or a rating as well, so it is
    /// looked at where no number matches.
    fn matching_fraction(&self, answer: &str, candidates: &[&Quantity], tolerance: &Tolerance) -> Option<Quantity> {
        let is_free =
            self.context == Context::General && matches!(self.wanted, Wanted::Any | Wanted::Unit(Unit::Plain));
        if !is_free {
            return None;
        }
        let fractions = fraction::strokes(answer);
        let read = |(span, value): &(Range<usize>, Decimal)| {
            // The number before the stroke, with the value of both.
            let within = candidates.iter().find(|it| span.start <= it.span.start && it.span.start < span.end)?;
            let text = answer.get(span.clone())?.to_owned();
            let fraction = Quantity {
                value: *value,
                is_fraction: true,
                scaled: false,
                text,
                span: span.clone(),
                ..(*within).clone()
            };
            self.matches(&fraction, tolerance).then_some(fraction)
        };
        match self.pick {
            Pick::Any => fractions.iter().find_map(read),
            // A pick has left only one candidate, which is a part of the fraction.
            Pick::First => fractions.first().and_then(read),
            Pick::Last => fractions.last().and_then(read),
        }
    }

    fn matches(&self, quantity: &Quantity, tolerance: &Tolerance) -> bool {
        let Some(expected) = self.value().filter(|_| !quantity.negated && !quantity.is_bound()) else {
            return false;
        };
        match (self.high(), quantity.high) {
            (None, Some(high)) if self.context == Context::General && !self.is_of_money_or_percent() => {
                // Any number of an answer may match, so either end may; a pick takes the end that stands there. A range of
                // amounts of money is another answer.
                let near = |end: Decimal| self.are_near(quantity, &[end], [expected; 2], tolerance);
                self.pick != Pick::Last && near(quantity.value) || self.pick != Pick::First && near(high)
            }
            (None, high) => self.are_near(quantity, &ends(quantity.value, high), [expected; 2], tolerance),
            (Some(top), Some(high)) => self.are_near(quantity, &[quantity.value, high], [expected, top], tolerance),
            (Some(_), None) => false,
        }
    }

    /// The ends of an expected range as two numbers, one after the other: "from $5 million to $6 million", "at least 5 and
    /// at most 6"; not figures of two periods: "5 % in Q1 and 6 % in Q2".
    fn matching_pair<'a>(
        &self,
        answer: &str,
        candidates: &[&'a Quantity],
        tolerance: &Tolerance,
    ) -> Option<[&'a Quantity; 2]> {
        let (low, high) = self.value().zip(self.high())?;
        let is = |quantity: &Quantity, end: Decimal| {
            let whole = !quantity.negated && quantity.high.is_none();
            whole && self.are_near(quantity, &[quantity.value], [end; 2], tolerance)
        };
        let pair = candidates
            .windows(2)
            .filter(|pair| !self.tells_apart(answer, pair[0], pair[1]))
            .find(|pair| is(pair[0], low) && is(pair[1], high) || is(pair[0], high) && is(pair[1], low))?;
        Some([pair[0], pair[1]])
    }

    /// True if two numbers are figures of two periods.
    fn tells_apart(&self, answer: &str, first: &Quantity, second: &Quantity) -> bool {
        self.context == Context::Finance && periods::tells_apart(answer, &first.span, &second.span)
    }

    /// True if the ends of a quantity, low and high, are near what is expected of them, in any reading and with any sign
    /// that it may have.
    fn are_near(&self, quantity: &Quantity, ends: &[Decimal], expected: [Decimal; 2], tolerance: &Tolerance) -> bool {
        let fall = if quantity.value > Decimal::ZERO { quantity.fall } else { Fall::No };
        self.readings(quantity).any(|worth| {
            let near = |(value, expected): (Decimal, Decimal)| {
                let (Some(value), Some(step)) = (value.checked_mul(worth), quantity.step.checked_mul(worth)) else {
                    return false;
                };
                if tolerance.is_exact() && quantity.is_fraction {
                    equals_fraction(value, expected)
                } else if tolerance.is_exact() {
                    equals(value, expected, step, quantity.significant)
                } else {
                    tolerance.allows(value, expected, self.worth)
                }
            };
            // A loss of 5 to 6 is a result of −6 to −5.
            let rising = || ends.iter().copied().zip(expected).all(near);
            let falling = || ends.iter().rev().map(|end| -*end).zip(expected).all(near);
            fall < Fall::Certain && rising() || fall > Fall::No && falling()
        })
    }

    /// The possible values of one of a number: a bare number may stand in the unit of the target, as
    /// 1,200 for an expected 1,200 million; and a scale that is declared elsewhere may not be about
    /// a number of which no money is expected.
    fn readings(&self, quantity: &Quantity) -> impl Iterator<Item = Decimal> {
        let bare = quantity.unit == Unit::Plain && !quantity.names_scale;
        let own = (bare && self.worth != Decimal::ONE).then_some(self.worth);
        let of_unit = self.is_of_money_or_percent();
        let written = Decimal::ONE.checked_div(quantity.declared).filter(|_| !of_unit);
        let written = written.filter(|written| *written != Decimal::ONE);
        // A letter is a magnitude only where currency or reference say so.
        let is_general = self.context == Context::General && !of_unit;
        let as_unit = quantity.letter.filter(|_| is_general).and_then(|_| Decimal::ONE.checked_div(quantity.factor));
        let unit = quantity.phrase.first().and_then(|word| word.chars().next());
        let spelled = self.letter.filter(|(letter, _)| {
            is_general && !quantity.scaled && unit.is_some_and(|first| letter.to_lowercase().eq(first.to_lowercase()))
        });
        let spelled = spelled.map(|(_, worth)| worth);
        std::iter::once(Decimal::ONE).chain(own).chain(written).chain(as_unit).chain(spelled)
    }

    fn is_of_money_or_percent(&self) -> bool {
        matches!(self.wanted, Wanted::Unit(Unit::Money(_) | Unit::Percent))
    }

    fn closest<'a>(&self, candidates: &[&'a Quantity]) -> Option<&'a Quantity> {
        let expected = self.value()?;
        let distance = |q: &&&Quantity| match q.value.checked_sub(expected) {
            Some(difference) => difference.abs(),
            None => Decimal::MAX,
        };
        candidates.iter().min_by_key(distance).copied()
    }
}

fn ends(low: Decimal, high: Option<Decimal>) -> Vec<Decimal> {
    std::iter::once(low).chain(high).collect()
}

/// Equal, or equal once rounded to the digits of `expected`, if that shows enough: a fraction has no digits of its own.
fn equals_fraction(value: Decimal, expected: Decimal) -> bool {
    let rounded = value.round_dp_with_strategy(expected.scale(), RoundingStrategy::MidpointAwayFromZero);
    let shown = expected.mantissa().unsigned_abs().max(1).ilog10() + 1;
    value == expected || shown >= DIGITS_FOR_ROUNDING && rounded == expected
}

/// Equal, or equal to `expected` rounded (half away from zero) to multiples of `step`.
fn equals(value: Decimal, expected: Decimal, step: Decimal, significant: u32) -> bool {
    if value == expected {
        return true;
    }
    if significant < DIGITS_FOR_ROUNDING {
        return false;
    }
    let rounded = expected
        .checked_div(step)
        .map(|steps| steps.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero))
        .and_then(|steps| steps.checked_mul(step));
    rounded == Some(value)
}
