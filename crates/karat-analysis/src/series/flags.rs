//! The filters that a card passes.

/// A filter over cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardFilter {
    /// Every card.
    All,
    /// The composite breaks its gate.
    BelowGate,
    /// Any gate on single samples is broken.
    FailsGate,
    /// Worse than its baseline by more than allowed.
    Regressed,
    /// In the best quarter of the scale.
    High,
    /// A cap applied.
    Capped,
}

impl CardFilter {
    /// Every filter.
    pub const ALL: [Self; 6] = [Self::All, Self::BelowGate, Self::FailsGate, Self::Regressed, Self::High, Self::Capped];

    /// Its name in addresses.
    pub fn key(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::BelowGate => "below-gate",
            Self::FailsGate => "fails-gate",
            Self::Regressed => "regressed",
            Self::High => "high",
            Self::Capped => "capped",
        }
    }

    /// The filter of a name.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.key() == key)
    }
}

/// The filters that a card passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardFlags {
    /// The composite breaks its gate.
    pub below_gate: bool,
    /// Any gate on single samples is broken.
    pub fails_gate: bool,
    /// Worse than its baseline by more than allowed.
    pub regressed: bool,
    /// In the best quarter of the scale.
    pub high: bool,
    /// A cap applied.
    pub capped: bool,
}

impl CardFlags {
    /// Returns true if the card passes a filter.
    pub fn passes(self, filter: CardFilter) -> bool {
        match filter {
            CardFilter::All => true,
            CardFilter::BelowGate => self.below_gate,
            CardFilter::FailsGate => self.fails_gate,
            CardFilter::Regressed => self.regressed,
            CardFilter::High => self.high,
            CardFilter::Capped => self.capped,
        }
    }
}
