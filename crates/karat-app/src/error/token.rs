//! Tokens that cannot be created or found.

use super::errors;

errors! {
    /// A token that cannot be created or found.
    enum TokenError {
        NoName {} => "a token needs a name" hint "say where it is used, such as `--name ci`";
        NoRandom { source: getrandom::Error } => "creating a token: the system gives no random bytes ({source})";
        NoToken { id: String } => "there is no active token `{id}`" hint "`karat token ls` lists all";
    }
}
