//! Statements and rows.

use tokio_postgres::Row;

use super::super::{SqlResult, ToValue};
use super::session::{Fetch, Session};

/// Rows of the first page of a long answer. Pages grow while they are small.
const FIRST_PAGE: usize = 64;

/// The size of a page in bytes from which on pages do not grow.
const PAGE_BYTES: usize = 256 << 10;

/// Most rows of a page.
const LARGEST_PAGE: usize = 4_096;

/// A statement. The session prepares it when it is used for the first time.
pub(crate) struct ServerStatement<'c> {
    session: &'c Session,
    text: String,
    is_long: bool,
}

impl<'c> ServerStatement<'c> {
    pub fn new(session: &'c Session, text: &str) -> Self {
        Self { session, text: text.to_owned(), is_long: false }
    }

    /// Makes a statement whose answer is read in pages while a snapshot is open.
    pub fn long(session: &'c Session, text: &str) -> Self {
        Self { is_long: true, ..Self::new(session, text) }
    }

    pub fn execute(&self, values: &[&dyn ToValue]) -> SqlResult<usize> {
        self.session.execute(&self.text, values)
    }

    pub fn query(&self, values: &[&dyn ToValue]) -> SqlResult<ServerRows<'c>> {
        if self.is_long && self.session.is_in_transaction() {
            let cursor = self.session.next_cursor();
            self.session.declare(&cursor, &self.text, values)?;
            let pages = Pages::begin(self.session, cursor)?;
            return Ok(ServerRows { page: Vec::new().into_iter(), current: None, more: Some(pages) });
        }
        let rows = self.session.query(&self.text, values)?;
        Ok(ServerRows { page: rows.into_iter(), current: None, more: None })
    }
}

/// The rows of an answer.
pub(crate) struct ServerRows<'c> {
    page: std::vec::IntoIter<Row>,
    current: Option<Row>,
    /// The rest of a long answer.
    more: Option<Pages<'c>>,
}

/// The pages of a cursor. One is on its way while the one before it is read.
struct Pages<'c> {
    session: &'c Session,
    cursor: String,
    /// Rows of the page that is on its way.
    rows: usize,
    next: Option<Fetch>,
}

impl ServerRows<'_> {
    pub fn next(&mut self) -> SqlResult<Option<&Row>> {
        self.current = self.page.next();
        if self.current.is_none()
            && let Some(pages) = &mut self.more
        {
            self.page = pages.fetch()?.into_iter();
            if pages.next.is_none() {
                self.more = None;
            }
            self.current = self.page.next();
        }
        Ok(self.current.as_ref())
    }
}

impl<'c> Pages<'c> {
    fn begin(session: &'c Session, cursor: String) -> SqlResult<Self> {
        let next = Some(session.begin_fetch(&cursor, FIRST_PAGE)?);
        Ok(Self { session, cursor, rows: FIRST_PAGE, next })
    }

    /// Returns the next page. A page that is not full is the last one.
    fn fetch(&mut self) -> SqlResult<Vec<Row>> {
        let Some(next) = self.next.take() else { return Ok(Vec::new()) };
        let page = self.session.end_fetch(next)?;
        if page.len() < self.rows {
            return Ok(page);
        }
        let bytes: usize = page.iter().map(Row::raw_size_bytes).sum();
        if bytes < PAGE_BYTES {
            self.rows = (self.rows * 4).min(LARGEST_PAGE);
        } else if bytes > 4 * PAGE_BYTES {
            self.rows = (self.rows / 4).max(1);
        }
        self.next = Some(self.session.begin_fetch(&self.cursor, self.rows)?);
        Ok(page)
    }
}

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        self.session.close_cursor(&self.cursor);
    }
}
