//! Roles: what a token allows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything.
    Read,
    /// Reads, and starts, resumes and cancels runs.
    Run,
    /// Everything.
    Admin,
    /// Sends traces, and nothing else: it lies in applications.
    Ingest,
    /// Labels outputs, and nothing else.
    Annotate,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] = [Self::Read, Self::Run, Self::Admin, Self::Ingest, Self::Annotate];

    /// Returns whether a token of this role may do what `needed` may.
    pub fn allows(self, needed: Self) -> bool {
        match (self, needed) {
            (Self::Admin, _) | (Self::Run, Self::Run | Self::Read) | (Self::Read, Self::Read) => true,
            (Self::Ingest, needed) => needed == Self::Ingest,
            (Self::Annotate, needed) => needed == Self::Annotate,
            (Self::Run | Self::Read, _) => false,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
            Self::Ingest => "ingest",
            Self::Annotate => "annotate",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let role = Self::ALL.into_iter().find(|role| role.as_str() == name);
        role.ok_or_else(|| "must be read, run, admin, ingest or annotate".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Role::{Admin, Annotate, Ingest, Read, Run};

    /// SV-08: read is part of run, run of admin; ingest and annotate do one thing.
    #[test]
    fn roles_contain_each_other() {
        assert!(Read.allows(Read) && Run.allows(Read) && Admin.allows(Ingest) && Ingest.allows(Ingest));
        assert!(!Read.allows(Run) && !Run.allows(Admin) && !Run.allows(Ingest));
        assert!(!Ingest.allows(Read) && !Annotate.allows(Read) && Annotate.allows(Annotate));
    }
}
