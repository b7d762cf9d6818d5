//! The primitives of every stored byte form: LEB128 numbers, length-prefixed bytes, little-endian floats.
//!
//! A form begins with a version byte ([`Unpacker::of_version`]). Its rule: a reader knows every version up to its own and
//! refuses a newer one; a form of a known version is read to its last byte ([`Unpacker::end`]). Forms that are not part of a
//! compressed section, which has a checksum, end with one of their own ([`Packer::seal`]).

use std::ops::RangeInclusive;

use karat_types::{Key, KeyBuilder, Moment, Money};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Damage;

fn ends_early() -> Damage {
    Damage("its bytes end early".to_owned())
}

/// Initial capacity in bytes: enough for a sample or a cell, the forms packed most often.
const USUAL_SIZE: usize = 192;

/// Largest number of items that a list reserves memory for before it is read.
const LIKELY_ITEMS: usize = 16;

/// Writes a byte form.
#[derive(Debug, Default)]
pub(crate) struct Packer(Vec<u8>);

impl Packer {
    /// Returns the bytes that `write` packs.
    pub fn pack(write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut packer = Self(Vec::with_capacity(USUAL_SIZE));
        write(&mut packer);
        packer.0
    }

    /// Reserves memory when the size is known beforehand.
    pub fn reserve(&mut self, size: usize) {
        self.0.reserve(size);
    }

    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends bytes without a length; the length is stored elsewhere.
    pub fn plain(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Ends a form that begins at `start` with the checksum of its bytes and of `place`, the columns beside it.
    pub fn seal(&mut self, start: usize, place: &[u64]) {
        let sum = checksum(self.0.get(start..).unwrap_or_default(), place);
        self.0.extend_from_slice(&sum);
    }

    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn number(&mut self, number: u64) {
        self.wide(u128::from(number));
    }

    fn wide(&mut self, mut number: u128) {
        while number > 0x7f {
            self.0.push((number as u8 & 0x7f) | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Appends a signed amount, zigzag-encoded, so that small amounts of either sign are short.
    pub fn money(&mut self, money: Money) {
        self.wide(((money.0 << 1) ^ (money.0 >> 127)) as u128);
    }

    pub fn moment(&mut self, moment: Moment) {
        self.money(Money(i128::from(moment.0)));
    }

    pub fn float(&mut self, float: f64) {
        self.0.extend_from_slice(&float.to_le_bytes());
    }

    pub fn key(&mut self, key: Key) {
        self.0.extend_from_slice(&key.0);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends a value as JSON, after the length.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        let bytes = Self::pack(|packer| packer.plain_json(value));
        self.bytes(&bytes);
    }

    /// Appends a value as JSON without a length. A value that JSON cannot represent, which no record type has, is
    /// written as `null`.
    pub fn plain_json<T: Serialize + ?Sized>(&mut self, value: &T) {
        let start = self.0.len();
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.truncate(start);
            self.plain(b"null");
        }
    }

    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            write(self, item);
        }
    }
}

/// Size of a checksum in bytes.
const CHECKSUM: usize = 4;

fn checksum(bytes: &[u8], place: &[u64]) -> [u8; CHECKSUM] {
    let key = KeyBuilder::new("karat/row-sum/1").bytes(bytes);
    let Key(hash) = place.iter().fold(key, |key, number| key.number(*number)).finish();
    hash.first_chunk().copied().unwrap_or_default()
}

/// Returns a form without its checksum, after comparing it. Only forms of these versions have one; others are known or
/// refused by their version.
pub(crate) fn unseal<'a>(bytes: &'a [u8], sealed: RangeInclusive<u8>, place: &[u64]) -> Result<&'a [u8], Damage> {
    if bytes.first().is_none_or(|version| !sealed.contains(version)) {
        return Ok(bytes);
    }
    let (form, sum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(ends_early)?;
    if checksum(form, place) == *sum {
        return Ok(form);
    }
    Err(Damage("its checksum does not match its bytes".to_owned()))
}

/// Reads a byte form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpacker<'a>(&'a [u8]);

impl<'a> Unpacker<'a> {
    /// Opens a form and checks that its version is a known one.
    pub fn of_version(bytes: &'a [u8], known: u8) -> Result<Self, Damage> {
        Self::with_version(bytes, known).map(|(unpacker, _)| unpacker)
    }

    /// Opens a form whose older versions have fewer fields, and returns its version.
    pub fn with_version(bytes: &'a [u8], known: u8) -> Result<(Self, u8), Damage> {
        let mut unpacker = Self(bytes);
        match unpacker.byte()? {
            0 => Err(Damage("its version byte is 0".to_owned())),
            version if version > known => Err(Damage(format!(
                "it has format version {version} and this Karat knows up to {known}: use a newer Karat"
            ))),
            version => Ok((unpacker, version)),
        }
    }

    /// Returns `true` at the end of the form. Fields that a later version added are absent then.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Opens bytes whose version is stored elsewhere.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Fails if bytes are left over.
    pub fn end(self) -> Result<(), Damage> {
        if self.0.is_empty() { Ok(()) } else { Err(Damage(format!("{} bytes are left over", self.0.len()))) }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bytes not read yet.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn byte(&mut self) -> Result<u8, Damage> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads a byte that must be 0 or 1.
    pub fn flag(&mut self) -> Result<bool, Damage> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Damage(format!("a flag is {other}"))),
        }
    }

    /// Reads a number and checks that it fits the wanted width.
    pub fn number<N: TryFrom<u128> + From<u8>>(&mut self) -> Result<N, Damage> {
        // Most numbers are lengths and counts of one byte.
        if let Some((&byte @ ..=0x7f, rest)) = self.0.split_first() {
            self.0 = rest;
            return Ok(byte.into());
        }
        let wide = self.wide()?;
        N::try_from(wide).map_err(|_| Damage(format!("{wide} is too large for its field")))
    }

    fn wide(&mut self) -> Result<u128, Damage> {
        let mut number = 0_u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damage("a number never ends".to_owned()))
    }

    pub fn money(&mut self) -> Result<Money, Damage> {
        let zigzag = self.wide()?;
        Ok(Money((zigzag >> 1) as i128 ^ -((zigzag & 1) as i128)))
    }

    pub fn moment(&mut self) -> Result<Moment, Damage> {
        let moment = self.money()?;
        i64::try_from(moment.0).map(Moment).map_err(|_| Damage("a moment is out of range".to_owned()))
    }

    pub fn float(&mut self) -> Result<f64, Damage> {
        self.array().map(f64::from_le_bytes)
    }

    pub fn key(&mut self) -> Result<Key, Damage> {
        self.array().map(Key)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let count = self.number::<usize>()?;
        self.take(count)
    }

    pub fn text(&mut self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damage("a text is not UTF-8".to_owned()))
    }

    pub fn json<T: DeserializeOwned>(&mut self) -> Result<T, Damage> {
        serde_json::from_slice(self.bytes()?).map_err(|error| Damage(format!("its JSON is not readable: {error}")))
    }

    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Damage>) -> Result<Option<T>, Damage> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    pub fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Damage>) -> Result<Vec<T>, Damage> {
        let count = self.number::<usize>()?;
        let mut items = Vec::with_capacity(count.min(LIKELY_ITEMS));
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Invariant 7, formats have versions: every packed value comes back, and the form is read to its last byte.
        #[test]
        fn primitives_round_trip(number: u64, amount: i128, float: f64, text: String, bytes: Vec<u8>, key: [u8; 16]) {
            let packed = Packer::pack(|packer| {
                packer.byte(1);
                packer.number(number);
                packer.money(Money(amount));
                packer.float(float);
                packer.option(Some(text.as_str()), Packer::text);
                packer.option(None::<&str>, Packer::text);
                packer.list(&[key, key], |packer, key| packer.key(Key(*key)));
                packer.bytes(&bytes);
            });

            let mut unpacker = Unpacker::of_version(&packed, 1).unwrap();
            prop_assert_eq!(unpacker.number::<u64>().unwrap(), number);
            prop_assert_eq!(unpacker.money().unwrap(), Money(amount));
            prop_assert_eq!(unpacker.float().unwrap().to_bits(), float.to_bits());
            prop_assert_eq!(unpacker.option(Unpacker::text).unwrap(), Some(text.as_str()));
            prop_assert_eq!(unpacker.option(Unpacker::text).unwrap(), None);
            prop_assert_eq!(unpacker.list(Unpacker::key).unwrap(), vec![Key(key); 2]);
            prop_assert_eq!(unpacker.bytes().unwrap(), bytes.as_slice());
            unpacker.end().unwrap();
        }

        /// Arbitrary bytes are read or refused without a panic and without reserving much memory.
        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes: Vec<u8>) {
            let mut unpacker = Unpacker(&bytes);
            while !unpacker.is_empty() {
                if unpacker.list(Unpacker::text).is_err() {
                    break;
                }
            }
        }
    }

    /// Invariant 7, formats have versions: a newer version is refused with a message and never misread.
    #[test]
    fn a_newer_version_is_refused() {
        let error = Unpacker::of_version(&[3, 0], 2).unwrap_err();
        assert!(error.0.contains("format version 3") && error.0.contains("newer Karat"), "{error}");
        assert!(Unpacker::of_version(&[], 2).is_err());
        assert!(Unpacker::of_version(&[0], 2).is_err());
    }
}
