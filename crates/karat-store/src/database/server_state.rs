//! The description of a server, for `karat doctor`.

use tokio::time::Instant;

use crate::{Store, StoreError};

impl Store {
    /// Describes the server of the store: its version, its durability, and the time of a round trip. `None` for a file.
    ///
    /// # Errors
    /// It does not answer.
    pub fn describe_server(&self) -> Result<Option<String>, StoreError> {
        if let Some((address, _)) = self.url().server() {
            return self.read("the server", |connection| {
                let settings = "select current_setting('server_version'), current_setting('fsync')";
                let (version, fsync): (String, String) =
                    connection.query_row(settings, crate::sql::params![], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let since = Instant::now();
                connection.query_row("select 1", crate::sql::params![], |_| Ok(()))?;
                let round_trip = since.elapsed().as_secs_f64() * 1e3;
                let encrypted = if address.is_encrypted() { "encrypted" } else { "not encrypted" };
                let schema = address.schema();
                Ok(Some(format!(
                    "PostgreSQL {version}, schema {schema}, fsync {fsync}, {encrypted}, {round_trip:.1} ms a round trip"
                )))
            });
        }
        Ok(None)
    }
}
