//! The table at the end of a soak.

use std::fmt;

/// A rule that the service must keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoakCheck {
    /// Its name.
    pub name: &'static str,
    /// The figures, and what is wrong.
    pub found: String,
    /// True if it was kept.
    pub is_kept: bool,
}

/// The result of a soak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoakSummary {
    /// The sizes: hours, steps, faults.
    pub title: String,
    /// All rules.
    pub checks: Vec<SoakCheck>,
}

impl SoakSummary {
    /// Returns true if all rules were kept.
    pub fn is_kept(&self) -> bool {
        self.checks.iter().all(|check| check.is_kept)
    }
}

impl fmt::Display for SoakSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        for SoakCheck { name, found, is_kept } in &self.checks {
            let verdict = if *is_kept { "ok    " } else { "BROKEN" };
            writeln!(f, "{verdict}  {name:width$}  {found}")?;
        }
        Ok(())
    }
}
