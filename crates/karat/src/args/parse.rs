//! Parsers of flags, whose errors name the range.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};
use karat_types::{MOST_CONCURRENCY, MOST_TRIALS};

/// Parses a whole number of 0 or more.
pub fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "must be a whole number of 0 or more".to_owned())
}

/// Parses a whole number of 1 or more.
pub fn positive(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "must be a whole number of 1 or more".to_owned())
}

/// Parses a number of trials.
pub fn trials(text: &str) -> Result<u32, String> {
    up_to(MOST_TRIALS, text)
}

/// Parses a number of calls in flight.
pub fn concurrency(text: &str) -> Result<u32, String> {
    up_to(MOST_CONCURRENCY, text)
}

fn up_to(most: u32, text: &str) -> Result<u32, String> {
    positive(text)
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| format!("must be a whole number from 1 to {most}"))
}

/// Parses an amount in dollars of 0 or more.
pub fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "must be an amount in dollars of 0 or more, such as `2.50`".to_owned())
}

/// Parses a finite number.
pub fn number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| "must be a number".to_owned())
}

/// Parses the address of a website, without a query.
pub fn web_address(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_plain = |rest: &&str| !rest.is_empty() && !rest.contains(['?', '#', ' ', '@']) && !rest.starts_with('/');
    let address = rest.filter(is_plain).map(|_| text.trim_end_matches('/').to_owned());
    address.ok_or_else(|| "must be an address such as `https://karat.example`".to_owned())
}

/// Parses a word of a list. A word that earlier versions had is refused with the way out.
#[derive(Clone)]
pub struct Word<E> {
    /// Address of the suite's key with the same words.
    address: &'static str,
    word: PhantomData<E>,
}

/// A parser of the words that the suite's key at an address has, too.
pub fn word_of<E>(address: &'static str) -> Word<E> {
    Word { address, word: PhantomData }
}

impl<E: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for Word<E> {
    type Value = E;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<E, clap::Error> {
        match karat_app::removal(self.address, value.to_str()) {
            Some(sentence) => Err(command.clone().error(ErrorKind::ValueValidation, sentence)),
            None => EnumValueParser::<E>::new().parse_ref(command, arg, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(E::value_variants().iter().filter_map(E::to_possible_value)))
    }
}
