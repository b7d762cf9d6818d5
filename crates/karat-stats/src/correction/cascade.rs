//! The mean of a judge cascade: a cheap judge grades everything, an expensive one only part.

use std::collections::{BTreeMap, BTreeSet};

use crate::describe::is_constant;
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, is_usable};
use crate::numeric::sum::sum_of;

/// The part of a cell in a cascade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asked {
    /// The first judge was unsure: the expensive one was asked, whatever the draw.
    Unsure,
    /// The first judge was sure, and the cell was drawn: the expensive one was asked.
    Drawn,
    /// The first judge was sure, and the cell was not drawn.
    No,
}

/// A cell of one system with the scores of both judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CascadeCell {
    /// Its part.
    pub asked: Asked,
    /// f: the first judge's score; a sure cell has one.
    pub first: Option<f64>,
    /// y: the expensive judge's score; `None` where it was not asked or gave none.
    pub dear: Option<f64>,
    /// The cluster: the sample where it has several trials.
    pub cluster: u64,
}

/// The mean that a cascade measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CascadeBasis {
    /// That of the population behind the dataset: V.
    Population,
    /// The verdict of the expensive judge on exactly these cells: V_d.
    Dataset,
}

/// The line from the first judge's score to the expensive one's, from the drawn cells: g(f) = ȳ + β(f − f̄).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CascadeLine {
    /// ȳ.
    pub dear_mean: f64,
    /// f̄.
    pub first_mean: f64,
    /// β; 0 when the first judge says the same of all drawn cells.
    pub slope: f64,
    /// ρ of both scores over the drawn cells; `None` when one of them does not vary.
    pub correlation: Option<f64>,
}

impl CascadeLine {
    /// g(f).
    pub fn at(&self, first: f64) -> f64 {
        self.dear_mean + self.slope * (first - self.first_mean)
    }
}

/// The line of one system's cascade with the weight of a drawn cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CascadeFit {
    /// N_s: sure cells with a score of the first judge.
    pub sure: usize,
    /// n: the drawn ones among them with a score of the expensive judge.
    pub drawn: usize,
    /// g; `None` where all sure cells have the expensive judge's score, so that none needs it.
    pub line: Option<CascadeLine>,
}

/// The part of a cell in an estimate.
#[derive(Clone, Copy)]
enum Part {
    /// y.
    Unsure(f64),
    /// f and y.
    Drawn(f64, f64),
    /// f.
    Sure(f64),
}

impl CascadeCell {
    /// `None` where the cell has no score that counts.
    fn part(&self) -> Option<Part> {
        match (self.asked, self.first, self.dear) {
            (Asked::Unsure, _, Some(y)) => Some(Part::Unsure(y)),
            (Asked::Drawn, Some(f), Some(y)) => Some(Part::Drawn(f, y)),
            (Asked::Drawn | Asked::No, Some(f), _) => Some(Part::Sure(f)),
            _ => None,
        }
    }
}

impl CascadeFit {
    /// The fit of a system's cells: least squares of y on f over the drawn ones. `None` without cells, or if some need the
    /// line and none was drawn.
    ///
    /// # Errors
    /// Scores that are not finite.
    pub fn of(cells: &[CascadeCell]) -> Result<Option<Self>, InputError> {
        let usable = |score: Option<f64>| score.is_none_or(is_usable);
        if let Some(index) = cells.iter().position(|cell| !usable(cell.first) || !usable(cell.dear)) {
            return Err(InputError::NotFinite { name: "scores of a cascade", index });
        }
        let parts: Vec<Part> = cells.iter().filter_map(CascadeCell::part).collect();
        let sure = parts.iter().filter(|part| !matches!(part, Part::Unsure(_))).count();
        let drawn = drawn_pairs(&parts);
        let line = line(&drawn).filter(|_| drawn.len() < sure);
        let is_defined = !parts.is_empty() && (line.is_some() || drawn.len() == sure);
        Ok(is_defined.then_some(Self { sure, drawn: drawn.len(), line }))
    }

    /// The score that a cell shows: y, or else g(f); `None` where it has none.
    pub fn shown_score(&self, cell: &CascadeCell) -> Option<f64> {
        match cell.part()? {
            Part::Unsure(y) | Part::Drawn(_, y) => Some(y),
            Part::Sure(f) => self.line.map(|line| line.at(f)),
        }
    }

    /// a, the value that a cell enters the estimate with: y (unsure), g(f) + \[drawn\](y − g(f))·N_s/n (sure).
    pub fn value(&self, cell: &CascadeCell) -> Option<f64> {
        cell.part().map(|part| self.value_of(part))
    }

    fn value_of(&self, part: Part) -> f64 {
        match (part, self.line) {
            (Part::Unsure(y), _) | (Part::Drawn(_, y), None) => y,
            (Part::Drawn(f, y), Some(line)) => line.at(f) + (y - line.at(f)) * self.sure as f64 / self.drawn as f64,
            (Part::Sure(f), Some(line)) => line.at(f),
            // Without a line every sure cell was drawn.
            (Part::Sure(f), None) => f,
        }
    }

    /// The estimate over some or all of the cells of the fit.
    ///
    /// θ = mean a, V = s²(a)/N · n/(n − 2) or, with several cells in a cluster, CR1 of a times the same factor, and
    /// V_d = (N_s/N)²(1 − n/N_s)·Σ(y − g)²/(n(n − 2)), with N, N_s and n of these cells. t with n − 2 degrees of freedom,
    /// with clusters those that hold a drawn cell, less 2. Where all cells were asked it is their mean with t, without the
    /// factor. `None` without cells.
    pub fn mean(&self, cells: &[CascadeCell]) -> Option<CascadeMean> {
        let parts: Vec<(Part, u64)> = cells.iter().filter_map(|cell| Some((cell.part()?, cell.cluster))).collect();
        let only: Vec<Part> = parts.iter().map(|(part, _)| *part).collect();
        let values: Vec<f64> = only.iter().map(|part| self.value_of(*part)).collect();
        if values.is_empty() {
            return None;
        }
        let drawn = drawn_pairs(&only);
        let total = values.len() as f64;
        let (n, sure) = (drawn.len() as f64, only.iter().filter(|part| !matches!(part, Part::Unsure(_))).count());
        let estimate = sum_of(values.iter().copied()) / total;
        let is_exact = self.line.is_none() || sure == 0;
        let residuals = self.line.map_or(0.0, |line| sum_of(drawn.iter().map(|(f, y)| (y - line.at(*f)).powi(2))));
        let clusters = count_clusters(parts.iter().map(|(_, cluster)| *cluster));
        let with_drawn = parts.iter().filter(|(part, _)| matches!(part, Part::Drawn(..))).map(|(_, cluster)| *cluster);
        let drawn_clusters = if clusters < parts.len() { count_clusters(with_drawn) } else { drawn.len() };
        let (factor, df, dataset_variance, dataset_df) = if is_exact {
            (Some(1.0), clusters as f64 - 1.0, Some(0.0), None)
        } else if drawn.len() > 2 {
            let share = sure as f64 / total;
            let of_dataset = share * share * (1.0 - n / sure as f64) * residuals / (n * (n - 2.0));
            (Some(n / (n - 2.0)), drawn_clusters as f64 - 2.0, Some(of_dataset.max(0.0)), Some(n - 2.0))
        } else {
            (None, 0.0, None, None)
        };
        let variance = cluster_variance(&parts, &values, estimate, clusters).zip(factor).map(|(v, factor)| v * factor);
        let firsts: Vec<f64> = cells.iter().filter_map(|cell| cell.first).collect();
        Some(CascadeMean {
            n: values.len(),
            sure,
            drawn: drawn.len(),
            missing: cells.len() - values.len(),
            estimate,
            variance: variance.filter(|_| df > 0.0),
            dataset_variance,
            df: (df > 0.0).then_some(df),
            dataset_df,
            width_ratio: if is_exact { Some(1.0) } else { self.width_ratio(&only, estimate, residuals, n) },
            first_mean: (!firsts.is_empty()).then(|| sum_of(firsts.iter().copied()) / firsts.len() as f64),
        })
    }

    /// √(V/V_all): V_all = s²(y)/N with the spread of y estimated as that of the unsure cells' scores and, for the sure
    /// ones, of g(f) plus the drawn cells' residuals. Both without the clusters, which change them alike.
    fn width_ratio(&self, parts: &[Part], estimate: f64, residuals: f64, n: f64) -> Option<f64> {
        let line = self.line.filter(|_| n > 2.0)?;
        let between = sum_of(parts.iter().map(|part| match *part {
            Part::Unsure(y) => (y - estimate).powi(2),
            Part::Drawn(f, _) | Part::Sure(f) => (line.at(f) - estimate).powi(2),
        }));
        let sure = parts.iter().filter(|part| !matches!(part, Part::Unsure(_))).count() as f64;
        let noise = residuals / (n - 2.0);
        let (all, cascade) = (between + sure * noise, between + sure * sure / n * noise);
        (all > 0.0).then(|| (cascade / all).sqrt())
    }
}

fn drawn_pairs(parts: &[Part]) -> Vec<(f64, f64)> {
    let drawn = parts.iter().filter_map(|part| match part {
        Part::Drawn(f, y) => Some((*f, *y)),
        _ => None,
    });
    drawn.collect()
}

fn line(drawn: &[(f64, f64)]) -> Option<CascadeLine> {
    if drawn.is_empty() {
        return None;
    }
    let n = drawn.len() as f64;
    let first_mean = sum_of(drawn.iter().map(|(f, _)| *f)) / n;
    let dear_mean = sum_of(drawn.iter().map(|(_, y)| *y)) / n;
    let firsts: Vec<f64> = drawn.iter().map(|(f, _)| *f).collect();
    let spread = sum_of(firsts.iter().map(|f| (f - first_mean).powi(2)));
    let joint = sum_of(drawn.iter().map(|(f, y)| (f - first_mean) * (y - dear_mean)));
    let slope = if is_constant(&firsts) || spread <= 0.0 { 0.0 } else { joint / spread };
    let dears = sum_of(drawn.iter().map(|(_, y)| (y - dear_mean).powi(2)));
    let root = (spread * dears).sqrt();
    let correlation = (slope != 0.0 && root > 0.0).then(|| (joint / root).clamp(-1.0, 1.0));
    Some(CascadeLine { dear_mean, first_mean, slope, correlation })
}

fn count_clusters(clusters: impl Iterator<Item = u64>) -> usize {
    clusters.collect::<BTreeSet<_>>().len()
}

/// CR1 of the mean of `values`, squared: s²/N where each cluster holds one cell. `None` for fewer than two clusters.
fn cluster_variance(parts: &[(Part, u64)], values: &[f64], centre: f64, clusters: usize) -> Option<f64> {
    let mut sums = BTreeMap::<u64, f64>::new();
    for (value, (_, cluster)) in values.iter().zip(parts) {
        *sums.entry(*cluster).or_default() += value - centre;
    }
    let (n, g) = (values.len() as f64, clusters as f64);
    let squares = sum_of(sums.values().map(|sum| sum * sum));
    (clusters >= 2).then(|| squares / (n * n) * g / (g - 1.0))
}

/// The estimate of a cascade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CascadeMean {
    /// N: cells with a score, known or estimated.
    pub n: usize,
    /// N_s: the sure ones among them.
    pub sure: usize,
    /// n: the drawn ones with a score of the expensive judge.
    pub drawn: usize,
    /// Cells left out: unsure without a score of the expensive judge, sure without one of the first.
    pub missing: usize,
    /// θ, the estimated mean of the expensive judge.
    pub estimate: f64,
    /// V, the variance of θ about the population's mean; `None` where there are too few cells.
    pub variance: Option<f64>,
    /// V_d, that about the mean of the dataset; 0 where all cells were asked.
    pub dataset_variance: Option<f64>,
    /// Degrees of freedom of t with V.
    pub df: Option<f64>,
    /// The same with V_d; `None` where it is 0 or not defined.
    pub dataset_df: Option<f64>,
    /// √(V/V of the mean if all were asked): how much wider the interval is. `None` if that is not known.
    pub width_ratio: Option<f64>,
    /// Mean of the first judge.
    pub first_mean: Option<f64>,
}

impl CascadeMean {
    /// θ ± t·√V. `None` where the variance is not defined.
    pub fn interval(&self, basis: CascadeBasis, level: Level) -> Option<Interval> {
        let (variance, df) = match basis {
            CascadeBasis::Population => (self.variance?, self.df),
            CascadeBasis::Dataset => (self.dataset_variance?, self.dataset_df),
        };
        if variance <= 0.0 {
            return Some(Interval::around(self.estimate, 0.0, level, Method::Degenerate));
        }
        Some(Interval::around(self.estimate, level.t(df?)? * variance.sqrt(), level, Method::Cascade))
    }
}

/// The least answers of the expensive judge for sure cells with which a gate decides.
pub const MIN_DRAWN: usize = 50;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cascade_mean(cells: &[CascadeCell]) -> Result<Option<CascadeMean>, InputError> {
        Ok(CascadeFit::of(cells)?.and_then(|fit| fit.mean(cells)))
    }

    fn cell(asked: Asked, first: f64, dear: Option<f64>, cluster: u64) -> CascadeCell {
        CascadeCell { asked, first: Some(first), dear, cluster }
    }

    /// SL-21: the estimate of a few cells by hand.
    #[test]
    fn a_cascade_by_hand() {
        let cells = [
            cell(Asked::Unsure, 0.5, Some(1.0), 0),
            cell(Asked::Drawn, 0.2, Some(0.1), 1),
            cell(Asked::Drawn, 0.4, Some(0.5), 2),
            cell(Asked::Drawn, 0.6, Some(0.3), 3),
            cell(Asked::No, 0.9, None, 4),
            cell(Asked::No, 0.1, None, 5),
        ];
        let fit = CascadeFit::of(&cells).unwrap().unwrap();
        let line = fit.line.unwrap();
        // ȳ = .3, f̄ = .4, β = Σ(f−f̄)(y−ȳ)/Σ(f−f̄)² = .04/.08.
        assert!((line.dear_mean - 0.3).abs() < 1e-12 && (line.slope - 0.5).abs() < 1e-12);
        let g = [0.2, 0.3, 0.4, 0.55, 0.15];
        let found = fit.mean(&cells).unwrap();
        assert!((found.estimate - (1.0 + g.iter().sum::<f64>()) / 6.0).abs() < 1e-12);
        assert_eq!((found.n, found.sure, found.drawn, found.missing), (6, 5, 3, 0));
        let residuals = [0.1 - 0.2, 0.5 - 0.3, 0.3 - 0.4_f64];
        let squares: f64 = residuals.iter().map(|r| r * r).sum();
        let dataset = (5.0 / 6.0_f64).powi(2) * (1.0 - 3.0 / 5.0) * squares / 3.0;
        assert!((found.dataset_variance.unwrap() - dataset).abs() < 1e-12);
        let a = [1.0, 0.2 - 0.1 * 5.0 / 3.0, 0.3 + 0.2 * 5.0 / 3.0, 0.4 - 0.1 * 5.0 / 3.0, 0.55, 0.15];
        let mean = a.iter().sum::<f64>() / 6.0;
        let spread = a.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 5.0;
        assert!((found.variance.unwrap() - spread / 6.0 * 3.0).abs() < 1e-12 && found.df == Some(1.0));
        assert_eq!(fit.shown_score(&cells[2]), Some(0.5));
        assert!((fit.shown_score(&cells[4]).unwrap() - 0.55).abs() < 1e-12);
    }

    /// SL-21: where everything was asked the estimate is the plain mean with its t interval.
    #[test]
    fn all_asked_is_the_plain_mean() {
        let scores = [0.2, 0.9, 0.4, 0.7];
        let cells: Vec<_> = (0..4).map(|at| cell(Asked::Drawn, 0.5, Some(scores[at]), at as u64)).collect();
        let found = cascade_mean(&cells).unwrap().unwrap();
        let plain = crate::describe::mean_with_t_interval(&scores, Level::P95).interval.unwrap();
        let interval = found.interval(CascadeBasis::Population, Level::P95).unwrap();
        assert!((interval.lo - plain.lo).abs() < 1e-12 && (interval.hi - plain.hi).abs() < 1e-12);
        assert_eq!((found.dataset_variance, found.width_ratio), (Some(0.0), Some(1.0)));
    }

    /// SL-21: a first judge that says the same of everything is not help and no harm; too few answers have no interval, and
    /// none at all no estimate.
    #[test]
    fn few_answers_say_little() {
        let mut cells: Vec<_> = (0..6).map(|at| cell(Asked::No, 0.5, None, at)).collect();
        assert_eq!(cascade_mean(&cells).unwrap(), None);
        (cells[0], cells[1]) = (cell(Asked::Drawn, 0.5, Some(0.2), 0), cell(Asked::Drawn, 0.5, Some(0.4), 1));
        let found = cascade_mean(&cells).unwrap().unwrap();
        assert!((found.estimate - 0.3).abs() < 1e-12 && found.interval(CascadeBasis::Population, Level::P95).is_none());
        assert!(cascade_mean(&[]).unwrap().is_none());
        assert!(cascade_mean(&[cell(Asked::Unsure, f64::NAN, None, 0)]).is_err());
        // An unsure cell without an answer is left out; a drawn one counts as not drawn.
        cells.push(cell(Asked::Unsure, 0.5, None, 7));
        cells.push(cell(Asked::Drawn, 0.5, None, 8));
        let found = cascade_mean(&cells).unwrap().unwrap();
        assert_eq!((found.missing, found.n, found.drawn), (1, 7, 2));
    }

    proptest! {
        /// SL-21: the mean of what cells show is the estimate, because residuals of least squares sum to 0.
        #[test]
        fn the_shown_scores_have_the_estimated_mean(
            cells in prop::collection::vec((0..3_u8, 0.0..=1.0_f64, 0.0..=1.0_f64), 1..80),
        ) {
            let cells: Vec<CascadeCell> = cells.iter().enumerate().map(|(at, (asked, f, y))| match asked {
                0 => cell(Asked::Unsure, *f, Some(*y), at as u64),
                1 => cell(Asked::Drawn, *f, Some(*y), at as u64),
                _ => cell(Asked::No, *f, None, at as u64),
            }).collect();
            let Some(fit) = CascadeFit::of(&cells).unwrap() else { return Ok(()) };
            let found = fit.mean(&cells).unwrap();
            let shown: Vec<f64> = cells.iter().filter_map(|cell| fit.shown_score(cell)).collect();
            prop_assert_eq!(shown.len(), cells.len());
            prop_assert!((crate::describe::mean(&shown).unwrap() - found.estimate).abs() < 1e-9);
            prop_assert!(found.variance.is_none_or(|v| v >= 0.0) && found.dataset_variance.is_none_or(|v| v >= 0.0));
            prop_assert!(found.width_ratio.is_none_or(|ratio| ratio >= 1.0 - 1e-12));
        }
    }
}
