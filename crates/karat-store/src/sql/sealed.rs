//! Checksums of rows: one rule for every table.
//!
//! A row has a checksum of the name of its table and of all its columns, its key among them, so that a changed bit shows
//! wherever it is, and so does a row in the place of another. Whoever reads a row checks it first ([`Table::check`]); whoever
//! writes one writes the checksum too ([`Table::insert`], [`Table::change`]). `tables.rs` lists the tables.
//!
//! ```text
//! checksum  = 8 bytes: of name, 0, columns, checksums of the long columns
//! sum       = checksum, then the 8 bytes of each long column, so that a row can be checked without reading these
//! bytes     of null: 0 · of a number: 1, 8 bytes · of a text: 2, length in 8 bytes, bytes · of bytes: 3, the same
//! ```
//! Numbers have the highest byte first. The 8 bytes are the first of SHA-256: a server writes blocks in a function of its own,
//! and has no other hash.

use std::sync::OnceLock;

use sha2::block_api::compress256;

use super::{Connection, Row, SqlError, SqlResult, Statement, ToValue, Transaction, Value};

/// Bytes of a checksum.
const SIZE: usize = 8;

/// The `sum` of rows in a file of an older version that is only read: they have none.
const NONE: &str = "none";

type Sum = [u8; SIZE];

/// A table of the store.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: &'static str,
    /// The column that numbers its rows.
    pub number: Option<&'static str>,
    /// The columns that name a row.
    pub key: &'static [&'static str],
    /// The columns that say, beside the key, where a row belongs; for messages.
    pub place: &'static [&'static str],
    /// The columns that are read with each row, those of the key among them.
    pub columns: &'static [&'static str],
    /// The columns that are read only where they are needed.
    pub long: &'static [&'static str],
    /// The table that holds the checksums, unless this one does. It has the columns `seq`, `run` and `sum`.
    pub sums: Option<&'static str>,
    /// The content of a row, for messages.
    pub holds: &'static str,
    /// The way to get it back.
    pub remedy: Remedy,
    /// The statements that insert a row and its checksum, once they are known.
    pub insert: OnceLock<(String, Option<String>)>,
}

/// The way to get a damaged row back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Nothing needs to be done: it is made again when it is needed.
    MadeAgain,
    /// `karat resume` makes the part of the run again.
    Resume,
    /// Only a copy of the store has it.
    Restore,
}

impl Remedy {
    /// The end of a message.
    pub fn advice(self) -> &'static str {
        match self {
            Self::MadeAgain => "it is made again when it is needed",
            Self::Resume => "`karat resume` makes it again",
            Self::Restore => "`karat store restore` brings back a copy of the store",
        }
    }
}

impl Table {
    /// The columns for a query: all that are read with each row, the long ones that are asked for, and the checksum.
    pub fn select(&self, connection: &Connection, long: &[&str]) -> String {
        let name = self.name;
        let mut text = String::with_capacity(16 * (self.columns.len() + long.len() + 1));
        for column in self.columns.iter().chain(long) {
            match (connection.is_sealed(), name, *column) {
                // Counted since rows have checksums.
                (false, "annotation_tasks", "items" | "events") => {
                    let count =
                        format!("(select count(*) from annotation_{column} where task = annotation_tasks.id), ");
                    text.push_str(&count);
                }
                _ => text.extend([name, ".", column, ", "]),
            }
        }
        match self.sums {
            _ if !connection.is_sealed() => text.extend(["'", NONE, "'"]),
            None => text.extend([name, ".sum"]),
            Some(sums) => {
                let own = format!("(select sum from {sums} as it where it.seq = {name}.seq and it.run = {name}.run)");
                text.push_str(&own);
            }
        }
        text
    }

    /// Checks a row that begins with the columns of [`Table::select`].
    ///
    /// # Errors
    /// [`SqlError::Damaged`] names the table and the row.
    pub fn check(&self, row: &Row<'_>, long: &[&str]) -> SqlResult<()> {
        self.check_from(0, row, long).map(drop)
    }

    /// Checks a row whose columns of [`Table::select`] begin at this one. Returns the column behind them.
    ///
    /// # Errors
    /// [`SqlError::Damaged`] names the table and the row.
    pub fn check_from(&self, first: usize, row: &Row<'_>, long: &[&str]) -> SqlResult<usize> {
        match self.is_sound(first, row, long) {
            Ok(true) => Ok(first + self.columns.len() + long.len() + 1),
            Ok(false) => Err(self.damage_of(first, row, "does not match its checksum")),
            Err(SqlError::Column(_)) => Err(self.damage_of(first, row, "holds a value of another kind")),
            Err(error) => Err(error),
        }
    }

    fn is_sound(&self, first: usize, row: &Row<'_>, long: &[&str]) -> SqlResult<bool> {
        let behind = first + self.columns.len();
        let sum = match row.value(behind + long.len())? {
            Value::Text(NONE) => return Ok(true),
            Value::Blob(sum) if sum.len() == SIZE * (1 + self.long.len()) => sum,
            _ => return Ok(false),
        };
        let (own, parts) = sum.as_chunks::<SIZE>().0.split_first().unwrap_or((&[0; SIZE], &[]));
        let mut values = [Value::Null; MOST_COLUMNS];
        let values = &mut values[..self.columns.len()];
        for (value, column) in values.iter_mut().zip(first..) {
            *value = row.value(column)?;
        }
        if self.sum_of(values, parts) != *own {
            return Ok(false);
        }
        for (column, name) in (behind..).zip(long) {
            let part = self.long.iter().position(|known| known == name).and_then(|place| parts.get(place));
            if part != Some(&sum_of_part(row.value(column)?)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The error of a damaged row: table and key, what is lost, and what to do.
    fn damage_of(&self, first: usize, row: &Row<'_>, why: &str) -> SqlError {
        let key = self.key.iter().chain(self.place).map(|name| {
            let place = self.columns.iter().position(|column| column == name).unwrap_or_default();
            format!("{name} {}", value_text(row.value(first + place).unwrap_or(Value::Null)))
        });
        let key: Vec<String> = key.collect();
        let row = if key.is_empty() { "the row".to_owned() } else { format!("the row {}", key.join(", ")) };
        SqlError::Damaged {
            what: self.holds.to_owned(),
            why: format!("{row} of the table `{}` {why}; {}", self.name, self.remedy.advice()),
        }
    }

    fn sum_of(&self, values: &[Value<'_>], parts: &[Sum]) -> Sum {
        let mut hash = Hash::new();
        hash.update(self.name.as_bytes());
        hash.update(&[0]);
        values.iter().for_each(|value| hash.add(*value));
        hash.update(parts.as_flattened());
        hash.finish()
    }

    /// The `sum` of a row, given all its columns.
    fn sum(&self, columns: &[Value<'_>], long: impl Iterator<Item = Sum>) -> Vec<u8> {
        let parts: Vec<Sum> = long.collect();
        let mut sum = self.sum_of(columns, &parts).to_vec();
        sum.extend_from_slice(parts.as_flattened());
        sum
    }

    /// The `sum` of a row, given all columns in the order of the table.
    pub fn sum_of_row(&self, values: &[&dyn ToValue]) -> Vec<u8> {
        let values: Vec<Value<'_>> = values.iter().map(|value| value.to_value()).collect();
        let (columns, long) = values.split_at(self.columns.len().min(values.len()));
        self.sum(columns, long.iter().map(|value| sum_of_part(*value)))
    }

    /// The part of a `sum` that is of the long columns.
    pub fn parts_of_row(&self, long: &[&dyn ToValue]) -> Vec<u8> {
        long.iter().flat_map(|value| sum_of_part(value.to_value())).collect()
    }

    /// The number of the next row.
    pub fn next_number(&self, connection: &Connection) -> SqlResult<i64> {
        let (name, number) = (self.name, self.number.unwrap_or("seq"));
        let sqlite = match self.remembers_numbers() {
            // A number is never given twice, whichever rows were removed.
            true => format!(
                "select max(coalesce((select max({number}) from {name}), 0),
                    coalesce((select seq from sqlite_sequence where name = '{name}'), 0)) + 1"
            ),
            false => format!("select coalesce(max({number}), 0) + 1 from {name}"),
        };
        let postgres = format!("select nextval(pg_get_serial_sequence('{name}', '{number}'))");
        connection.query_row(connection.dialect(&sqlite, &postgres), &[], |row| row.get(0))
    }

    /// Returns whether SQLite remembers the last number (`autoincrement`).
    fn remembers_numbers(&self) -> bool {
        ["queue", "annotation_events"].contains(&self.name)
    }

    /// Inserts a row with its checksum, given all columns in the order of the table. `conflict` is the end of the statement.
    pub fn insert(&'static self, connection: &Connection, conflict: &str, values: &[&dyn ToValue]) -> SqlResult<usize> {
        self.inserting(connection, conflict)?.execute(values)
    }

    /// Prepares to insert rows.
    pub fn inserting<'c>(&'static self, connection: &'c Connection, conflict: &str) -> SqlResult<Inserting<'c>> {
        let (text, sums) = self.insert.get_or_init(|| self.insert_texts());
        let sums = sums.as_deref().map(|text| connection.prepare_cached(text)).transpose()?;
        let insert = match conflict {
            "" => connection.prepare_cached(text)?,
            _ => connection.prepare_cached(&format!("{text} {conflict}"))?,
        };
        Ok(Inserting { table: self, insert, sums })
    }

    fn insert_texts(&self) -> (String, Option<String>) {
        let columns = self.columns.iter().chain(self.long).copied();
        let columns: Vec<&str> = columns.chain(self.sums.is_none().then_some("sum")).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        let (name, columns, places) = (self.name, columns.join(", "), places.join(", "));
        let sums = self.sums.map(|sums| format!("insert into {sums} (seq, run, sum) values (?1, ?2, ?3)"));
        (format!("insert into {name} ({columns}) values ({places})"), sums)
    }

    /// Changes the rows that a condition finds, and returns their number: each is checked, changed, and written with its new
    /// checksum. The condition may name parameters.
    pub fn change(
        &'static self,
        connection: &Connection,
        condition: &str,
        values: &[&dyn ToValue],
        mut change: impl FnMut(&mut StoredRow) -> SqlResult<()>,
    ) -> SqlResult<usize> {
        let select = format!("select {} from {} where {condition}", self.select(connection, &[]), self.name);
        let mut found = Vec::new();
        let mut statement = connection.prepare_cached(&select)?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            self.check(&row, &[])?;
            found.push(StoredRow::read(self, &row)?);
        }
        drop(rows);
        for row in &mut found {
            change(row)?;
            row.write(connection)?;
        }
        Ok(found.len())
    }

    /// Gives all rows their checksums, in a file that has none.
    pub fn seal(&'static self, transaction: &Transaction<'_>) -> SqlResult<()> {
        let columns: Vec<&str> = self.columns.iter().chain(self.long).copied().collect();
        let mut statement = transaction.prepare_cached(&format!("select {} from {}", columns.join(", "), self.name))?;
        let conditions: Vec<String> = self.key.iter().zip(2..).map(|(name, at)| format!("{name} = ?{at}")).collect();
        let condition = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" and ") };
        let write = match self.sums {
            None => format!("update {} set sum = ?1 where {condition}", self.name),
            Some(sums) => format!("insert into {sums} (sum, seq, run) values (?1, ?2, ?3)"),
        };
        let mut write = transaction.prepare_cached(&write)?;
        let mut rows = statement.query(&[])?;
        while let Some(row) = rows.next()? {
            let values = (0..columns.len()).map(|column| row.value(column)).collect::<SqlResult<Vec<_>>>()?;
            let (short, long) = values.split_at(self.columns.len());
            let sum = self.sum(short, long.iter().map(|value| sum_of_part(*value)));
            let mut parameters: Vec<&dyn ToValue> = vec![&sum];
            match self.sums {
                None => parameters.extend(self.key.iter().filter_map(|name| {
                    let at = self.columns.iter().position(|column| column == name)?;
                    Some(&short[at] as &dyn ToValue)
                })),
                Some(_) => parameters.extend([&short[0] as &dyn ToValue, &short[1]]),
            }
            write.execute(&parameters)?;
        }
        Ok(())
    }

    /// Deletes the rows that a condition finds, and returns their number. Damaged ones may be deleted too.
    pub fn delete(&self, connection: &Connection, condition: &str, values: &[&dyn ToValue]) -> SqlResult<usize> {
        connection.execute(&format!("delete from {} where {condition}", self.name), values)
    }
}

/// Columns of the widest table, without long ones.
const MOST_COLUMNS: usize = 16;

fn sum_of_part(value: Value<'_>) -> Sum {
    let mut hash = Hash::new();
    hash.add(value);
    hash.finish()
}

/// SHA-256 of many short parts: they are gathered, and given to the hash by several blocks at a time. Each row that is read
/// is hashed, so `sha2`'s buffer for each part would be a good part of the time of a report.
struct Hash {
    state: [u32; 8],
    /// Bytes that are not hashed yet, from the beginning.
    rest: [u8; Self::REST],
    /// Their number, less than all.
    len: usize,
    /// All bytes so far.
    total: u64,
}

impl Hash {
    const BLOCK: usize = 64;
    const REST: usize = 4 * Self::BLOCK;
    /// The state before the first block, as the standard (FIPS 180-4) gives it.
    const START: [u32; 8] =
        [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

    fn new() -> Self {
        Self { state: Self::START, rest: [0; Self::REST], len: 0, total: 0 }
    }

    fn add(&mut self, value: Value<'_>) {
        let mut head = [0; 1 + SIZE];
        let (tag, number, bytes) = match value {
            Value::Null => return self.update(&[0]),
            Value::Integer(number) => (1, number, &[][..]),
            Value::Text(text) => (2, text.len() as i64, text.as_bytes()),
            Value::Blob(bytes) => (3, bytes.len() as i64, bytes),
        };
        head[0] = tag;
        head[1..].copy_from_slice(&number.to_be_bytes());
        // Most values are numbers: their length is known to the compiler.
        match self.rest.get_mut(self.len..self.len + head.len()) {
            Some(place) if self.len + head.len() < Self::REST => {
                place.copy_from_slice(&head);
                self.len += head.len();
                self.total += head.len() as u64;
            }
            _ => self.update(&head),
        }
        self.update(bytes);
    }

    fn update(&mut self, mut bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.total += bytes.len() as u64;
        while self.len + bytes.len() >= Self::REST {
            let (now, later) = match self.len {
                // Long ones are hashed where they are.
                0 => bytes.split_at(bytes.len() - bytes.len() % Self::BLOCK),
                len => bytes.split_at(Self::REST - len),
            };
            if self.len == 0 {
                compress256(&mut self.state, now.as_chunks().0);
            } else {
                self.rest[self.len..].copy_from_slice(now);
                compress256(&mut self.state, self.rest.as_chunks().0);
                self.len = 0;
            }
            bytes = later;
        }
        self.rest[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn finish(mut self) -> Sum {
        // The end of the last block: a bit, zeros, the number of bits.
        let bits = (8 * self.total).to_be_bytes();
        let zeros = (2 * Self::BLOCK - 1 - bits.len() - self.len % Self::BLOCK) % Self::BLOCK;
        let mut end = [0; 2 * Self::BLOCK];
        end[0] = 0x80;
        end[1 + zeros..][..bits.len()].copy_from_slice(&bits);
        self.update(&end[..1 + zeros + bits.len()]);
        compress256(&mut self.state, self.rest[..self.len].as_chunks().0);
        let mut sum = Sum::default();
        sum[..4].copy_from_slice(&self.state[0].to_be_bytes());
        sum[4..].copy_from_slice(&self.state[1].to_be_bytes());
        sum
    }
}

/// A value of a key, for messages.
fn value_text(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Blob(bytes) => bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// A prepared insertion of rows with their checksums.
pub(crate) struct Inserting<'c> {
    table: &'static Table,
    insert: Statement<'c>,
    /// Inserts the checksum, where another table holds it.
    sums: Option<Statement<'c>>,
}

impl Inserting<'_> {
    /// Inserts a row, given all columns in the order of the table, and returns the number of rows that were inserted or
    /// replaced.
    pub fn execute(&mut self, values: &[&dyn ToValue]) -> SqlResult<usize> {
        let Self { table, insert, sums } = self;
        let mut columns = [Value::Null; MOST_COLUMNS + 1];
        for (column, value) in columns.iter_mut().zip(values) {
            *column = value.to_value();
        }
        let at = table.columns.len();
        let long = values.iter().skip(at).map(|value| sum_of_part(value.to_value()));
        let sum = table.sum(&columns[..at], long);
        if let Some(sums) = sums {
            sums.execute(&[&columns[0], &columns[1], &sum])?;
            return insert.execute(values);
        }
        let mut all: Vec<&dyn ToValue> = Vec::with_capacity(values.len() + 1);
        all.extend_from_slice(values);
        all.push(&sum);
        insert.execute(&all)
    }
}

/// A value that outlives its row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnedValue {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Blob(bytes) => Self::Blob(bytes.to_owned()),
        }
    }
}

impl ToValue for OwnedValue {
    fn to_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

/// A row that is being changed.
pub(crate) struct StoredRow {
    table: &'static Table,
    columns: Vec<OwnedValue>,
    /// Checksums of the long columns.
    parts: Vec<Sum>,
    /// The new values, by name.
    changed: Vec<(&'static str, OwnedValue)>,
}

impl StoredRow {
    fn read(table: &'static Table, row: &Row<'_>) -> SqlResult<Self> {
        let columns = (0..table.columns.len()).map(|column| Ok(row.value(column)?.into()));
        let columns = columns.collect::<SqlResult<_>>()?;
        let parts = row.blob(table.columns.len())?.as_chunks().0.iter().skip(1).copied().collect();
        Ok(Self { table, columns, parts, changed: Vec::new() })
    }

    /// A column that is not long.
    pub fn get<T: super::value::Column>(&self, name: &str) -> SqlResult<T> {
        let at = self.table.columns.iter().position(|column| *column == name).unwrap_or_default();
        super::value::convert(self.columns[at].to_value(), at)
    }

    /// Sets a column that is not part of the key.
    pub fn set(&mut self, name: &'static str, value: &dyn ToValue) {
        let value = OwnedValue::from(value.to_value());
        if let Some(at) = self.table.columns.iter().position(|column| *column == name) {
            self.columns[at] = value.clone();
        } else if let Some(at) = self.table.long.iter().position(|column| *column == name) {
            self.parts[at] = sum_of_part(value.to_value());
        }
        self.changed.retain(|(known, _)| *known != name);
        self.changed.push((name, value));
    }

    fn write(&self, connection: &Connection) -> SqlResult<()> {
        let Self { table, columns, parts, changed } = self;
        if changed.is_empty() {
            return Ok(());
        }
        let now: Vec<Value<'_>> = columns.iter().map(ToValue::to_value).collect();
        let sum = table.sum(&now, parts.iter().copied());
        let mut set: Vec<String> = changed.iter().zip(1..).map(|((name, _), at)| format!("{name} = ?{at}")).collect();
        let mut values: Vec<&dyn ToValue> = changed.iter().map(|(_, value)| value as &dyn ToValue).collect();
        match table.sums {
            None => {
                values.push(&sum);
                set.push(format!("sum = ?{}", values.len()));
            }
            Some(sums) => {
                let update = format!("update {sums} set sum = ?3 where seq = ?1 and run = ?2");
                connection.execute(&update, &[&columns[0], &columns[1], &sum])?;
            }
        }
        let mut conditions = Vec::with_capacity(table.key.len());
        for name in table.key {
            let at = table.columns.iter().position(|column| column == name).unwrap_or_default();
            values.push(&columns[at]);
            conditions.push(format!("{name} = ?{}", values.len()));
        }
        // A table without a key has one row.
        let condition = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" and ") };
        let update = format!("update {} set {} where {condition}", table.name, set.join(", "));
        connection.execute(&update, &values).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// X2: the hash is SHA-256, as the one of a server, however its parts are cut.
    #[test]
    fn the_hash_is_sha_256() {
        let bytes: Vec<u8> = (0..1_100_u32).map(|at| (at * 7 % 251) as u8).collect();
        for len in (0..600).chain([1_023, 1_024, 1_025, 1_100]) {
            for cut in [1, 9, 63, 64, 65, 255, 256, 257, 1_100] {
                let mut hash = Hash::new();
                bytes[..len].chunks(cut).for_each(|part| hash.update(part));
                assert_eq!(hash.finish(), Sha256::digest(&bytes[..len])[..SIZE], "{len} bytes by {cut}");
            }
        }
    }
}
