//! Numbering the distinct values of a long list.

/// Numbers distinct values in the order in which they first come.
///
/// An open-addressing table: a rating scale has few values, and one probe per rating is what makes
/// agreement of 100,000 items cheap.
#[derive(Default)]
pub(super) struct Codebook {
    /// The value of each code.
    pub(super) domain: Vec<f64>,
    /// Code + 1 of the value that lives in each slot, 0 for a free one; the length is a power of two.
    slots: Vec<u32>,
    /// 64 − log2 of the number of slots.
    shift: u32,
}

impl Codebook {
    /// The code of `value`, a new one if it is seen for the first time.
    #[inline]
    pub(super) fn code(&mut self, value: f64) -> u32 {
        if self.slots.len() < 4 * (self.domain.len() + 1) {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = self.home(value);
        loop {
            match self.slots[slot] {
                0 => {
                    self.domain.push(value);
                    self.slots[slot] = self.domain.len() as u32;
                    return self.domain.len() as u32 - 1;
                }
                taken if self.domain[taken as usize - 1].to_bits() == value.to_bits() => {
                    return taken - 1;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The code of `value`, if it was seen.
    pub(super) fn find(&self, value: f64) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = self.home(value);
        loop {
            let code = (self.slots[slot] as usize).checked_sub(1)?;
            if self.domain[code].to_bits() == value.to_bits() {
                return Some(code);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (4 * self.slots.len()).max(64);
        self.shift = 64 - size.trailing_zeros();
        self.slots = vec![0; size];
        for (code, value) in self.domain.iter().enumerate() {
            let mut slot = self.home(*value);
            while self.slots[slot] > 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = code as u32 + 1;
        }
    }

    /// Fibonacci hashing: the top bits of a product depend on all bits of the value.
    #[inline]
    fn home(&self, value: f64) -> usize {
        (value.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
}
