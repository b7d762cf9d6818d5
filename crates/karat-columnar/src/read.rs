//! Files of columns as JSON rows.

use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec::IntoIter;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};

use crate::arrow_stream;
use crate::class_labels::ClassLabels;
use crate::random_access::{RandomAccess, ReadSeek};
use crate::read_error::ReadError;
use crate::values::value;

/// Rows that are in memory at once.
const BATCH_ROWS: usize = 256;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Rows of a file, as objects by column. Absent values are null; times are ISO 8601 texts; integers are exact.
pub struct ColumnarRows {
    batches: Batches,
    rows: IntoIter<Map<String, Value>>,
    labels: ClassLabels,
    left_out: Vec<String>,
    is_over: bool,
}

impl ColumnarRows {
    /// The rows of a Parquet file: snappy, zstd, gzip, lz4 or plain.
    ///
    /// # Errors
    /// No valid file, or nothing but columns of bytes.
    pub fn of_parquet(file: Box<dyn ReadSeek>) -> Result<Self, ReadError> {
        let file = RandomAccess::new(file)?;
        let builder = guard(|| ParquetRecordBatchReaderBuilder::try_new(file).map_err(ReadError::from))?;
        Self::new(&builder.schema().clone(), Box::new(builder.with_batch_size(BATCH_ROWS).build()?))
    }

    /// The rows of an Arrow IPC stream, or of a file, which is Feather, too.
    ///
    /// # Errors
    /// Neither of them, or nothing but columns of bytes.
    pub fn of_arrow(mut file: Box<dyn ReadSeek>) -> Result<Self, ReadError> {
        if arrow_stream::is_file(&mut *file)? {
            arrow_stream::check_file(&mut *file)?;
            let reader = guard(|| FileReader::try_new(BufReader::new(file), None).map_err(ReadError::from))?;
            let schema = reader.schema();
            return Self::new(&schema, in_slices(reader));
        }
        arrow_stream::check(&mut *file)?;
        let reader = guard(|| StreamReader::try_new(BufReader::new(file), None).map_err(ReadError::from))?;
        let schema = reader.schema();
        Self::new(&schema, in_slices(reader))
    }

    fn new(schema: &Schema, batches: Batches) -> Result<Self, ReadError> {
        if let Some(name) = equal_names(schema.fields()) {
            return Err(ReadError::EqualNames(name));
        }
        let is_binary = |field: &Field| binary_column(field).is_some();
        let kept: Vec<usize> =
            schema.fields().iter().enumerate().filter(|(_, field)| !is_binary(field)).map(|(at, _)| at).collect();
        let left_out: Vec<String> =
            schema.fields().iter().filter(|field| is_binary(field)).map(|field| field.name().clone()).collect();
        let batches: Batches = match schema.fields().iter().find_map(|field| binary_column(field)) {
            Some(column) if kept.is_empty() => return Err(ReadError::Binary(column)),
            Some(_) => Box::new(batches.map(move |batch| batch.and_then(|batch| batch.project(&kept)))),
            None => batches,
        };
        let labels = ClassLabels::of_schema(schema.metadata());
        Ok(Self { batches, rows: Vec::new().into_iter(), labels, left_out, is_over: false })
    }

    /// Names of columns with bytes, which are not read.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The same rows, with names for labels that the file itself does not name.
    #[must_use]
    pub fn with_labels(mut self, labels: &ClassLabels) -> Self {
        self.labels = self.labels.or(labels);
        self
    }

    fn read_batch(&mut self) -> Option<Result<(), ReadError>> {
        let batches = &mut self.batches;
        let read = guard(|| batches.next().map(|batch| rows(&batch?)).transpose());
        Some(read.transpose()?.map(|rows| self.rows = rows.into_iter()))
    }
}

impl Iterator for ColumnarRows {
    type Item = Result<Map<String, Value>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            if let Some(mut row) = self.rows.next() {
                self.labels.apply(&mut row);
                return Some(Ok(row));
            }
            match self.read_batch() {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                None => self.is_over = true,
            }
        }
        None
    }
}

/// Runs a decoder. It checks little and asserts much: a damaged file makes it panic.
fn guard<T>(decode: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or(Err(ReadError::Damaged))
}

/// The batches of a reader in parts with a bounded number of rows.
fn in_slices(reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static) -> Batches {
    Box::new(reader.flat_map(|batch| -> Batches {
        match batch {
            Ok(batch) => Box::new(slices(batch)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }))
}

/// Parts of a batch with a bounded number of rows.
fn slices(batch: RecordBatch) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send {
    let count = batch.num_rows();
    (0..count).step_by(BATCH_ROWS).map(move |start| Ok(batch.slice(start, BATCH_ROWS.min(count - start))))
}

fn rows(batch: &RecordBatch) -> Result<Vec<Map<String, Value>>, ReadError> {
    let schema = batch.schema();
    let row = |at| {
        let columns = schema.fields().iter().zip(batch.columns());
        columns.map(|(field, column)| Ok((field.name().clone(), value(column, at)?))).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The path of the first field that has the name of one before it.
fn equal_names(fields: &Fields) -> Option<String> {
    fields.iter().enumerate().find_map(|(at, field)| {
        let is_second = fields.iter().take(at).any(|earlier| earlier.name() == field.name());
        let within = || equal_names_within(field.data_type()).map(|path| format!("{}.{path}", field.name()));
        if is_second { Some(field.name().clone()) } else { within() }
    })
}

fn equal_names_within(kind: &DataType) -> Option<String> {
    match kind {
        DataType::Struct(fields) => equal_names(fields),
        DataType::List(within)
        | DataType::LargeList(within)
        | DataType::ListView(within)
        | DataType::LargeListView(within)
        | DataType::FixedSizeList(within, _)
        | DataType::Map(within, _) => equal_names_within(within.data_type()),
        _ => None,
    }
}

/// The path of the first column with bytes, within a field.
fn binary_column(field: &Field) -> Option<String> {
    let inner = |within: &Field| binary_column(within).map(|path| format!("{}.{path}", field.name()));
    match field.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Some(field.name().clone())
        }
        DataType::Struct(fields) => fields.iter().find_map(|within| inner(within)),
        DataType::List(within)
        | DataType::LargeList(within)
        | DataType::ListView(within)
        | DataType::LargeListView(within)
        | DataType::FixedSizeList(within, _)
        | DataType::Map(within, _) => inner(within),
        DataType::Dictionary(_, values) => {
            binary_column(&Field::new(field.name(), values.as_ref().clone(), field.is_nullable()))
        }
        _ => None,
    }
}
