//! The exit codes, in the one place that knows them.

/// The exit status of the process. When several apply, [`Exit::worst`] decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// 0: done, and every gate passed.
    Pass,
    /// 1: usage, configuration, I/O or provider error; too many errored cells; nothing ran; everything errored.
    HarnessError,
    /// 2: a gate failed, a regression was found.
    GateFailed,
    /// 3: a drift alert, where one was asked for.
    Drift,
    /// 4: undecided, where the policy says that this fails.
    Undecided,
    /// 5: a budget or a maximum number of calls stopped or refused the run.
    Budget,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The exit of a number; a harness error for one that stands for none.
    pub fn from_code(code: u8) -> Self {
        let all = [Self::Pass, Self::GateFailed, Self::Drift, Self::Undecided, Self::Budget, Self::Interrupted];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::HarnessError)
    }

    /// The number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::HarnessError => 1,
            Self::GateFailed => 2,
            Self::Drift => 3,
            Self::Undecided => 4,
            Self::Budget => 5,
            Self::Interrupted => 130,
        }
    }

    /// The one that is shown when both apply. Order: 130, 5, 1, 2, 4, 3, 0.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        if self.rank() >= other.rank() { self } else { other }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Drift => 1,
            Self::Undecided => 2,
            Self::GateFailed => 3,
            Self::HarnessError => 4,
            Self::Budget => 5,
            Self::Interrupted => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_that_of_the_contract() {
        let order =
            [Exit::Interrupted, Exit::Budget, Exit::HarnessError, Exit::GateFailed, Exit::Undecided, Exit::Drift];
        for pair in order.windows(2) {
            assert_eq!(pair[0].worst(pair[1]), pair[0]);
            assert_eq!(pair[1].worst(pair[0]), pair[0]);
        }
        assert_eq!(order.map(Exit::code), [130, 5, 1, 2, 4, 3]);
    }
}
