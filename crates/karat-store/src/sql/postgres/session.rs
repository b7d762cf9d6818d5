//! One connection with a server. A lost connection is made again when the next statement or transaction begins, for as
//! long as the store's patience lasts; inside of a transaction the loss is an error, because what the transaction has done
//! is gone.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Statement};

use super::super::{SqlError, SqlResult, ToValue};
use super::failure::ServerError;
use super::server::{Link, Server};
use super::wire::Parameter;

/// The pauses between two attempts to connect.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Statements that a connection keeps prepared.
const KEPT_STATEMENTS: usize = 256;

/// One connection, made again when it was lost.
pub(crate) struct Session {
    server: Arc<Server>,
    live: RefCell<Live>,
    is_in_transaction: Cell<bool>,
    cursors: Cell<u32>,
}

struct Live {
    link: Arc<Link>,
    statements: FxHashMap<String, Statement>,
}

/// Rows that are on their way.
pub(super) struct Fetch(JoinHandle<Result<Vec<Row>, tokio_postgres::Error>>);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects with a server.
    pub fn connect(server: &Arc<Server>) -> SqlResult<Self> {
        let live = Live { link: Arc::new(server.connect()?), statements: FxHashMap::default() };
        Ok(Self {
            server: Arc::clone(server),
            live: RefCell::new(live),
            is_in_transaction: Cell::new(false),
            cursors: Cell::new(0),
        })
    }

    /// Returns `false` if the connection is known to be lost.
    pub fn is_connected(&self) -> bool {
        !self.link().is_lost()
    }

    /// Returns `true` while a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.is_in_transaction.get()
    }

    /// Starts a transaction that reads the state of one moment.
    pub fn begin_snapshot(&self) -> SqlResult<()> {
        self.start("begin isolation level repeatable read read only")
    }

    /// Starts a transaction that writes, once it is this session's turn.
    pub fn begin(&self) -> SqlResult<()> {
        // The turn of a process that is cut off ends before others give up waiting for theirs.
        self.start(
            "begin; set local idle_in_transaction_session_timeout to '15s'; \
             select value from meta where key = 'turn' for update",
        )
    }

    fn start(&self, begin: &str) -> SqlResult<()> {
        self.again_if_lost(|link| self.server.answer(link, link.client.batch_execute(begin))).inspect_err(|error| {
            // It waited too long for its turn: the transaction is open, and of no use.
            if !error.is_lost_connection() {
                self.roll_back();
            }
        })?;
        self.is_in_transaction.set(true);
        Ok(())
    }

    /// Commits. Of a connection that is lost meanwhile it is unknown whether it has committed.
    pub fn commit(&self) -> SqlResult<()> {
        self.is_in_transaction.set(false);
        let link = self.link();
        self.server.answer(&link, link.client.batch_execute("commit"))
    }

    /// Rolls back. A lost connection has been rolled back by the server.
    pub fn roll_back(&self) {
        self.is_in_transaction.set(false);
        let link = self.link();
        let _ = self.server.answer(&link, link.client.batch_execute("rollback"));
    }

    /// Executes a statement and returns the number of changed rows.
    pub fn execute(&self, text: &str, values: &[&dyn ToValue]) -> SqlResult<usize> {
        let changed = self.with_parameters(text, values, |link, statement, parameters| {
            self.server.answer(link, link.client.execute(statement, parameters))
        })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Reads all rows of an answer.
    pub fn query(&self, text: &str, values: &[&dyn ToValue]) -> SqlResult<Vec<Row>> {
        self.with_parameters(text, values, |link, statement, parameters| {
            self.server.answer(link, link.client.query(statement, parameters))
        })
    }

    /// Executes statements without parameters.
    pub fn batch(&self, text: &str) -> SqlResult<()> {
        self.again_if_lost(|link| self.server.answer(link, link.client.batch_execute(text)))
    }

    /// Reads rows with parameters that may be lists.
    pub fn query_lists(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> SqlResult<Vec<Row>> {
        self.with_statement(text, |link, statement| self.server.answer(link, link.client.query(statement, values)))
    }

    /// Like [`Self::query_lists`], for a statement that must not run twice: after a loss it is unknown whether it has run.
    pub fn query_lists_once(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> SqlResult<Vec<Row>> {
        let statement = self.again_if_lost(|link| self.statement(link, text))?;
        let link = self.link();
        self.server.answer(&link, link.client.query(&statement, values))
    }

    /// Inserts rows into columns of a table until there are no more, as one stream, and returns their number.
    pub fn copy_in<V: ToValue>(
        &self,
        table: &str,
        columns: &str,
        mut next: impl FnMut() -> SqlResult<Option<Vec<V>>>,
    ) -> SqlResult<u64> {
        let (link, server) = (self.link(), &self.server);
        let types = server.answer(&link, link.client.prepare(&format!("select {columns} from {table}")))?;
        let types: Vec<Type> = types.columns().iter().map(|column| column.type_().clone()).collect();
        let copy = format!("copy {table} ({columns}) from stdin (format binary)");
        let sink = server.answer(&link, link.client.copy_in::<_, Bytes>(&copy))?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        while let Some(row) = next()? {
            let values: Vec<Parameter<'_>> = row.iter().map(|value| Parameter(value.to_value())).collect();
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            server.answer(&link, writer.as_mut().write(&values))?;
        }
        server.answer(&link, writer.finish())
    }

    /// Returns a name for a cursor.
    pub fn next_cursor(&self) -> String {
        self.cursors.set(self.cursors.get().wrapping_add(1));
        format!("karat_{}", self.cursors.get())
    }

    /// Opens a cursor, in one round trip: it is used once, so its statement is not prepared before.
    pub(super) fn declare(&self, cursor: &str, query: &str, values: &[&dyn ToValue]) -> SqlResult<()> {
        let text = format!("declare {cursor} no scroll cursor for {}", query.replace('?', "$"));
        let values: Vec<Parameter<'_>> = values.iter().map(|value| Parameter(value.to_value())).collect();
        let values: Vec<(&(dyn ToSql + Sync), Type)> =
            values.iter().map(|value| (value as &(dyn ToSql + Sync), value.kind())).collect();
        let link = self.link();
        self.server.answer(&link, link.client.execute_typed(&text, &values)).map(drop)
    }

    /// Asks for the next rows of a cursor. They are read whether or not someone waits for them: an answer that nobody reads
    /// would hold up those behind it.
    pub(super) fn begin_fetch(&self, cursor: &str, rows: usize) -> SqlResult<Fetch> {
        let link = self.link();
        let text = format!("fetch forward {rows} from {cursor}");
        // Prepared without a name: the cursor is used for some pages only.
        Ok(Fetch(self.server.begin(async move { link.client.query_typed(&text, &[]).await })?))
    }

    /// Waits for rows that are on their way.
    pub(super) fn end_fetch(&self, fetch: Fetch) -> SqlResult<Vec<Row>> {
        let lost = |error: JoinError| SqlError::Postgres(ServerError::of_connection(error.to_string()));
        self.server.answer(&self.link(), async { Ok::<_, SqlError>(fetch.0.await.map_err(lost)??) })
    }

    /// Closes a cursor. The end of its transaction would do so, too.
    pub fn close_cursor(&self, cursor: &str) {
        if self.is_in_transaction() {
            let link = self.link();
            let _ = self.server.answer(&link, link.client.batch_execute(&format!("close {cursor}")));
        }
    }

    fn with_parameters<T>(
        &self,
        text: &str,
        values: &[&dyn ToValue],
        run: impl Fn(&Link, &Statement, &[&(dyn ToSql + Sync)]) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let values: Vec<Parameter<'_>> = values.iter().map(|value| Parameter(value.to_value())).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.with_statement(text, |link, statement| run(link, statement, &parameters))
    }

    fn with_statement<T>(&self, text: &str, run: impl Fn(&Link, &Statement) -> SqlResult<T>) -> SqlResult<T> {
        self.again_if_lost(|link| {
            let statement = self.statement(link, text)?;
            run(link, &statement)
        })
    }

    /// Runs a statement, and once more on a new connection if the present one is lost and no transaction is open.
    fn again_if_lost<T>(&self, run: impl Fn(&Link) -> SqlResult<T>) -> SqlResult<T> {
        if self.is_in_transaction() {
            return run(&self.link());
        }
        if !self.is_connected() {
            self.reconnect()?;
        }
        match run(&self.link()) {
            Err(error) if error.is_lost_connection() => {
                self.reconnect()?;
                run(&self.link())
            }
            outcome => outcome,
        }
    }

    fn link(&self) -> Arc<Link> {
        Arc::clone(&self.live.borrow().link)
    }

    fn statement(&self, link: &Link, text: &str) -> SqlResult<Statement> {
        if let Some(statement) = self.live.borrow().statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.server.answer(link, link.client.prepare(&text.replace('?', "$")))?;
        let mut live = self.live.borrow_mut();
        if live.statements.len() >= KEPT_STATEMENTS {
            live.statements.clear();
        }
        live.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Connects anew, for as long as the store's patience lasts.
    fn reconnect(&self) -> SqlResult<()> {
        let since = Instant::now();
        let patience = &self.server.patience;
        let mut pause = PAUSES[0];
        let link = loop {
            match self.server.connect() {
                Ok(link) => break link,
                Err(error) if !error.is_lost_connection() => return Err(error),
                Err(error) => {
                    // Another connection may have been made meanwhile, as when the server has few places left.
                    patience.note_away(since);
                    if patience.is_over() {
                        return Err(error);
                    }
                    std::thread::sleep(pause);
                }
            }
            pause = (pause * 2).min(PAUSES[1]);
        };
        *self.live.borrow_mut() = Live { link: Arc::new(link), statements: FxHashMap::default() };
        Ok(())
    }
}
