//! The share of the traces that is kept.
//!
//! A trace is kept by a hash of its id, so that all spans of a trace stay together, whoever sends them and whenever, and a
//! smaller share keeps a subset of what a larger one keeps. A row says the share by which it was kept, so that estimates
//! can weigh it by `1 / p`. When a day has more rows than its limit, the share is halved for the rest of the day; readers
//! take the smallest share of a day and leave out what it would not have kept, so every row that they see was drawn with
//! the same probability.

/// A share in (0, 1].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// All traces.
    pub const ALL: Self = Self(1.0);

    /// A share; `None` outside of (0, 1].
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self(share))
    }

    /// The probability with which a trace is kept.
    pub fn probability(self) -> f64 {
        self.0
    }

    /// Half of it: the next step when a day has too many rows.
    pub fn half(self) -> Self {
        Self(self.0 / 2.0)
    }

    /// Returns whether a trace belongs to the share.
    pub fn keeps(self, trace_id: &str) -> bool {
        share_of(trace_id) < self.0
    }
}

/// The place of a trace in [0, 1), uniform over ids: a share larger than it keeps the trace.
pub fn share_of(trace_id: &str) -> f64 {
    let hash = blake3::hash(trace_id.as_bytes());
    let [a, b, c, d, e, f, g, _, ..] = *hash.as_bytes();
    // 53 bits are what a double holds exactly.
    let bits = u64::from_be_bytes([0, a, b, c, d, e, f, g]) >> 3;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-22: a share of one in ten keeps about one in ten, and a smaller share keeps only what the larger one keeps.
    #[test]
    fn a_share_keeps_its_part_and_smaller_shares_are_subsets() {
        let tenth = Share::new(0.1).unwrap();
        let kept: Vec<_> = (0..10_000).map(|n| format!("{n:032x}")).filter(|id| tenth.keeps(id)).collect();
        assert!((900..1100).contains(&kept.len()), "{}", kept.len());
        let halved = kept.iter().filter(|id| tenth.half().keeps(id)).count();
        assert!((400..600).contains(&halved), "{halved}");
        for n in 0..10_000 {
            let id = format!("{n:032x}");
            assert!(!tenth.half().keeps(&id) || tenth.keeps(&id));
            assert!(Share::ALL.keeps(&id));
        }
        assert_eq!(Share::new(0.0), None);
        assert_eq!(Share::new(1.5), None);
        assert_eq!(Share::new(f64::NAN), None);
    }
}
