//! Development only: fake provider with faults, test context
