//! A table as a stream of batches, which one thread makes and another reads.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::batches::{Batches, Column, Field, RowError, schema};

/// Batches that wait to be read.
const WAITING: usize = 2;

/// Problem of a stream, as its reader is told.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// The end of a stream that is written.
pub struct StreamWriter {
    batches: Batches,
    out: SyncSender<Result<RecordBatch, Problem>>,
}

/// The error of a row for a stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// Nothing reads the stream any longer.
    #[error("nothing reads the table any longer")]
    Closed,
    /// The row does not fit.
    #[error(transparent)]
    Row(#[from] RowError),
}

/// The end of a stream that is read, batch by batch.
pub struct TableStream {
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch, Problem>>,
}

/// Both ends of a stream of a table. Its memory is bounded by a few batches: a writer waits for its reader.
pub fn table_stream(columns: Vec<Column>) -> (StreamWriter, TableStream) {
    let (out, batches) = sync_channel(WAITING);
    let stream = TableStream { schema: schema(&columns), batches };
    (StreamWriter { batches: Batches::new(columns), out }, stream)
}

impl StreamWriter {
    /// Adds a row: a value for each column, in order.
    ///
    /// # Errors
    /// A value that is not of its column's kind; a stream that nothing reads any longer.
    pub fn push(&mut self, row: Vec<Field>) -> Result<(), StreamError> {
        match self.batches.push(row)? {
            Some(batch) => self.out.send(Ok(batch)).map_err(|_| StreamError::Closed),
            None => Ok(()),
        }
    }

    /// Ends the stream with the rest of its rows.
    ///
    /// # Errors
    /// A stream that nothing reads any longer.
    pub fn finish(mut self) -> Result<(), StreamError> {
        let rest = self.batches.take()?;
        self.out.send(Ok(rest)).map_err(|_| StreamError::Closed)
    }

    /// Ends the stream with a problem, which its reader gets in the place of the next batch.
    pub fn fail(self, problem: impl Into<Problem>) {
        // A reader that is gone misses nothing.
        let _ = self.out.send(Err(problem.into()));
    }
}

impl Iterator for TableStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.batches.recv().ok()?.map_err(ArrowError::ExternalError))
    }
}

impl RecordBatchReader for TableStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The stream in Arrow's C interface, which every reader of Arrow in this process understands without a copy.
#[cfg(feature = "c-stream")]
impl From<TableStream> for arrow_array::ffi_stream::FFI_ArrowArrayStream {
    fn from(stream: TableStream) -> Self {
        Self::new(Box::new(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnKind;

    fn numbers() -> (StreamWriter, TableStream) {
        table_stream(vec![Column::new("n", ColumnKind::Integer)])
    }

    /// IO-12: the reader of a stream sees every row in its order, while at most a few batches are in memory.
    #[test]
    fn a_stream_gives_its_rows_in_order() {
        let (mut writer, stream) = numbers();
        assert_eq!(stream.schema().field(0).name(), "n");
        let rows = std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..10_000_i64 {
                    writer.push(vec![n.into()]).unwrap();
                }
                writer.finish().unwrap();
            });
            stream.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>()
        });
        assert_eq!(rows.iter().sum::<usize>(), 10_000);
        assert!(rows.iter().all(|rows| *rows <= 1024), "{rows:?}");
    }

    /// IO-12: a stream that cannot go on says why, and one that nothing reads ends its writer.
    #[test]
    fn a_stream_ends_with_its_reader_or_its_writer() {
        let (writer, mut stream) = numbers();
        writer.fail("the store is gone");
        assert!(stream.next().unwrap().unwrap_err().to_string().contains("the store is gone"));
        assert!(stream.next().is_none());
        let (mut writer, stream) = numbers();
        drop(stream);
        let full = (0..1024_i64).map(|n| writer.push(vec![n.into()])).last().unwrap();
        assert!(matches!(full, Err(StreamError::Closed)));
    }
}
