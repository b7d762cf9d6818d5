//! Pairwise preference: Bradley-Terry, Davidson ties, position bias.
