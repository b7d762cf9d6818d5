//! The judges of a page.

/// The judges whose grades are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum JudgeChoice {
    /// Every judge's own row: several a sample.
    All,
    /// One judge, by its registry id or by the model that judged.
    One(String),
    /// The merged grade of the judges of a run.
    #[default]
    Consensus,
}

impl JudgeChoice {
    /// Reads the choice from an address: `all`, `consensus` or the name of a judge.
    pub fn parse(text: &str) -> Self {
        match text {
            "all" => Self::All,
            "consensus" | "" => Self::Consensus,
            name => Self::One(name.to_owned()),
        }
    }

    /// The choice as an address has it.
    pub fn name(&self) -> &str {
        match self {
            Self::All => "all",
            Self::One(name) => name,
            Self::Consensus => "consensus",
        }
    }
}
