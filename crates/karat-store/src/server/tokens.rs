//! Tokens of the server: who may ask it. The store keeps a hash of each secret, never the secret.

use karat_types::Moment;

use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::sql::tables::TOKENS;
use crate::sql::{Connection, Row, SqlError, SqlResult, StoredRow, Transaction, params};
use crate::{Store, StoreError};

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// Its id: the public part of the token.
    pub id: String,
    /// Name that the user gave it.
    pub name: String,
    /// Name of its role.
    pub role: String,
    /// Hash of its secret.
    pub hash: [u8; 32],
    /// Time of its creation.
    pub created_at: Moment,
    /// Time from which it is refused.
    pub expires_at: Option<Moment>,
    /// Time of its last use.
    pub used_at: Option<Moment>,
    /// Time from which it is refused because it was revoked. It may be in the future.
    pub revoked_at: Option<Moment>,
}

impl Store {
    /// Adds a token.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_token(&self, token: &StoredToken) -> Result<(), StoreError> {
        let StoredToken { id, name, role, hash, created_at, expires_at, used_at, revoked_at } = token;
        let at = |moment: &Option<Moment>| moment.map(|moment| moment.0);
        let values = params![id, name, role, hash, created_at.0, at(expires_at), at(used_at), at(revoked_at)];
        self.write_tokens(|transaction| TOKENS.insert(transaction, "", values)).map(drop)
    }

    /// Revokes a token from a time on, unless it is revoked earlier. Returns `false` if there is no such token.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn revoke_token(&self, id: &str, from: Moment) -> Result<bool, StoreError> {
        let revoke = |row: &mut StoredRow| {
            let before = row.get::<Option<i64>>("revoked_at")?;
            row.set("revoked_at", &before.map_or(from.0, |before| before.min(from.0)));
            Ok(())
        };
        Ok(self.write_tokens(|transaction| TOKENS.change(transaction, "id = ?1", params![id], revoke))? > 0)
    }

    /// Stores the time of a token's last use.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn mark_token_used(&self, id: &str, at: Moment) -> Result<(), StoreError> {
        let use_at = |row: &mut StoredRow| {
            row.set("used_at", &at.0);
            Ok(())
        };
        self.write_tokens(|transaction| TOKENS.change(transaction, "id = ?1", params![id], use_at)).map(drop)
    }

    /// Returns all tokens, oldest first, also those that are revoked.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn tokens(&self) -> Result<Vec<StoredToken>, StoreError> {
        self.read("the tokens", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let select = format!("select {} from tokens order by created_at, id", TOKENS.select(connection, &[]));
            let mut statement = connection.prepare_cached(&select)?;
            let tokens = statement.query_map(params![], read_token)?;
            Ok(tokens.collect::<Result<_, _>>()?)
        })
    }

    fn write_tokens(&self, write: impl FnOnce(&Transaction<'_>) -> SqlResult<usize>) -> Result<usize, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing the tokens" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let written = write(&transaction).and_then(|rows| transaction.commit().map(|()| rows));
        written.map_err(|error| attempt.error(error))
    }
}

/// Returns whether the file has the table. An older file that is read-only has none.
fn has_table(connection: &Connection) -> Result<bool, ReadFailure> {
    Ok(connection.has_table("tokens")?)
}

fn read_token(row: &Row<'_>) -> SqlResult<StoredToken> {
    TOKENS.check(row, &[])?;
    let at = |column| Ok::<_, SqlError>(row.get::<Option<i64>>(column)?.map(Moment));
    Ok(StoredToken {
        id: row.get(0)?,
        name: row.get(1)?,
        role: row.get(2)?,
        hash: row.get(3)?,
        created_at: Moment(row.get(4)?),
        expires_at: at(5)?,
        used_at: at(6)?,
        revoked_at: at(7)?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    /// SV-08: tokens survive reopening the store; a later revocation does not replace an earlier one.
    #[test]
    pub(crate) fn tokens_are_kept_and_revoked_once() {
        let folder = tempfile::tempdir().unwrap();
        let url = url_in(folder.path());
        let token = StoredToken {
            id: "abcd1234".to_owned(),
            name: "ci".to_owned(),
            role: "run".to_owned(),
            hash: [7; 32],
            created_at: Moment(5),
            expires_at: Some(Moment(90)),
            used_at: None,
            revoked_at: None,
        };
        {
            let store = Store::open(&url).unwrap();
            assert_eq!(store.tokens().unwrap(), []);
            store.add_token(&token).unwrap();
            assert!(store.add_token(&token).is_err());
        }
        let store = Store::open(&url).unwrap();
        assert_eq!(store.tokens().unwrap(), std::slice::from_ref(&token));
        store.mark_token_used("abcd1234", Moment(60)).unwrap();
        assert!(store.revoke_token("abcd1234", Moment(70)).unwrap());
        assert!(store.revoke_token("abcd1234", Moment(80)).unwrap());
        assert!(!store.revoke_token("other", Moment(80)).unwrap());
        let changed = StoredToken { used_at: Some(Moment(60)), revoked_at: Some(Moment(70)), ..token };
        assert_eq!(store.tokens().unwrap(), [changed]);
    }
}
