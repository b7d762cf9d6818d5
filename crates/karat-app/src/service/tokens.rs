//! Creates, lists, revokes and checks tokens.

use karat_store::StoredToken;
use karat_types::Moment;
use serde::Serialize;
use subtle::ConstantTimeEq;

use crate::error::{AnnotateError, TokenError};
use crate::service::Service;
use crate::service::role::Role;
use crate::service::token::TokenText;
use crate::tasks::people::refuse_twin;
use crate::{AppError, rfc3339};

/// Resolution of the time of last use.
const MINUTE_MS: i64 = 60_000;

/// A new token.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Its id.
    pub id: String,
    /// The whole token. It is stored nowhere and cannot be shown again.
    pub text: String,
}

/// A token in a list.
#[derive(Debug, Clone, Serialize)]
pub struct TokenLine {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// `active`, `expired` or `revoked`.
    pub status: &'static str,
    /// Time of its creation, RFC 3339.
    pub created_at: String,
    /// Time from which it is refused.
    pub expires_at: Option<String>,
    /// Time of its last use, to the minute.
    pub last_used_at: Option<String>,
}

/// A token that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Id of the token.
    pub token: String,
    /// Its role.
    pub role: Role,
}

impl Service<'_> {
    /// Creates a token that expires after a time.
    ///
    /// # Errors
    /// The name is empty, there are no random bytes, or the store cannot be written.
    pub fn create_token(&self, name: &str, role: Role, expires_ms: Option<u64>) -> Result<NewToken, AppError> {
        if name.trim().is_empty() {
            return Err(TokenError::NoName {}.into());
        }
        let mut bytes = [0; 40];
        getrandom::fill(&mut bytes).map_err(|source| TokenError::NoRandom { source })?;
        let token = TokenText::from_random(&bytes);
        let now = self.app.clock.now();
        self.app.open_store()?.add_token(&StoredToken {
            id: token.id.clone(),
            name: name.to_owned(),
            role: role.as_str().to_owned(),
            hash: token.hash(),
            created_at: now,
            expires_at: expires_ms.map(|after| later(now, after)),
            used_at: None,
            revoked_at: None,
        })?;
        Ok(NewToken { text: token.text(), id: token.id })
    }

    /// All tokens, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tokens(&self) -> Result<Vec<TokenLine>, AppError> {
        let now = self.app.clock.now();
        let line = |token: StoredToken| TokenLine {
            status: status(&token, now),
            id: token.id,
            name: token.name,
            role: token.role,
            created_at: rfc3339(token.created_at),
            expires_at: token.expires_at.map(rfc3339),
            last_used_at: token.used_at.map(rfc3339),
        };
        Ok(self.stored_tokens()?.into_iter().map(line).collect())
    }

    /// Revokes a token at once.
    ///
    /// # Errors
    /// There is no such token, or the store cannot be written.
    pub fn revoke_token(&self, id: &str) -> Result<(), AppError> {
        self.revoke_token_from(id, self.app.clock.now())
    }

    /// Replaces a token by a new one with the same name and role. The old one is refused after `grace_ms`.
    ///
    /// # Errors
    /// There is no such token, or it is refused already.
    pub fn rotate_token(&self, id: &str, grace_ms: u64) -> Result<NewToken, AppError> {
        let now = self.app.clock.now();
        let old = self.stored_tokens()?.into_iter().find(|token| token.id == id && status(token, now) == ACTIVE);
        let old = old.ok_or_else(|| TokenError::NoToken { id: id.to_owned() })?;
        let role = old.role.parse().map_err(|_| TokenError::NoToken { id: id.to_owned() })?;
        // The new one lives as long as the old one would have when it was new.
        let lives = old.expires_at.map(|end| (end.0 - old.created_at.0).unsigned_abs());
        let new = self.create_token(&old.name, role, lives)?;
        self.revoke_token_from(id, later(now, grace_ms))?;
        Ok(new)
    }

    /// Returns whether any token was ever created: then the server asks for one. Revoking the last does not open it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_tokens(&self) -> Result<bool, AppError> {
        Ok(!self.stored_tokens()?.is_empty())
    }

    /// Checks a token. Unknown ids take the same work as known ones.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn check_token(&self, text: &str) -> Result<Option<Access>, AppError> {
        let Some(given) = TokenText::parse(text) else { return Ok(None) };
        let now = self.app.clock.now();
        let stored = self.stored_tokens()?.into_iter().find(|token| token.id == given.id);
        let expected = stored.as_ref().map_or([0; 32], |token| token.hash);
        let is_right = bool::from(expected.ct_eq(&given.hash()));
        let Some(token) = stored.filter(|token| is_right && status(token, now) == ACTIVE) else { return Ok(None) };
        self.note_use(&token, now);
        Ok(access(&token))
    }

    /// Returns what a token that was checked before allows now.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn access_of(&self, id: &str) -> Result<Option<Access>, AppError> {
        let now = self.app.clock.now();
        let token = self.stored_tokens()?.into_iter().find(|token| token.id == id && status(token, now) == ACTIVE);
        Ok(token.as_ref().and_then(access))
    }

    fn stored_tokens(&self) -> Result<Vec<StoredToken>, AppError> {
        if !self.app.store.exists() {
            return Ok(Vec::new());
        }
        Ok(self.app.store_to_read()?.tokens()?)
    }

    fn revoke_token_from(&self, id: &str, from: Moment) -> Result<(), AppError> {
        match self.app.existing_store()?.revoke_token(id, from)? {
            true => Ok(()),
            false => Err(TokenError::NoToken { id: id.to_owned() }.into()),
        }
    }

    /// Stores the use of a token, to the minute. A store that cannot be written does not refuse the request.
    fn note_use(&self, token: &StoredToken, now: Moment) {
        let minute = Moment(now.0 - now.0.rem_euclid(MINUTE_MS));
        if token.used_at.is_none_or(|used| used < minute)
            && let Ok(store) = self.app.open_store()
        {
            drop(store.mark_token_used(&token.id, minute));
        }
    }
}

const ACTIVE: &str = "active";

fn status(token: &StoredToken, now: Moment) -> &'static str {
    let is_past = |moment: Option<Moment>| moment.is_some_and(|moment| moment <= now);
    match (is_past(token.revoked_at), is_past(token.expires_at)) {
        (true, _) => "revoked",
        (false, true) => "expired",
        (false, false) => ACTIVE,
    }
}

fn access(token: &StoredToken) -> Option<Access> {
    Some(Access { token: token.id.clone(), role: token.role.parse().ok()? })
}

fn later(now: Moment, ms: u64) -> Moment {
    Moment(now.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}

impl Service<'_> {
    /// Creates a token with which a person labels in one task, and nothing else.
    ///
    /// # Errors
    /// An unknown task, a person who may not label there; the store cannot be written.
    pub fn invite_annotator(&self, task: &str, person: &str, expires_ms: Option<u64>) -> Result<NewToken, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let person = task.check_person(person)?;
        let tokens = self.tokens()?;
        let invited = tokens.iter().filter(|token| token.role == Role::Annotate.as_str());
        let invited = invited.filter_map(|token| token.name.split_once('/'));
        let invited = invited.filter(|(name, _)| *name == task.stored.name).map(|(_, person)| person);
        refuse_twin(person, invited)?;
        self.app.stored().read_state(&task, |state| match state.closed {
            Some(_) => Err(AnnotateError::Closed { task: task.stored.name.clone() }.into()),
            None => refuse_twin(person, state.people()),
        })??;
        self.create_token(&format!("{}/{person}", task.stored.name), Role::Annotate, expires_ms)
    }

    /// The task and person of a token that [`Self::invite_annotator`] made.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn invited_person(&self, token: &str) -> Result<Option<(String, String)>, AppError> {
        let found = self.tokens()?.into_iter().find(|it| it.id == token && it.role == Role::Annotate.as_str());
        let parts = found.and_then(|it| it.name.split_once('/').map(|(task, name)| (task.to_owned(), name.to_owned())));
        Ok(parts)
    }
}
