//! Isotonic regression by pooling adjacent violators.

use crate::numeric::input::{InputError, finite, finite_pairs, in_domain, same_length};

/// The direction of the fitted function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Never down.
    Increasing,
    /// Never up.
    Decreasing,
}

/// A monotone, piecewise linear function fitted by least squares.
#[derive(Debug, Clone, PartialEq)]
pub struct Isotonic {
    /// The smallest x with its fitted y.
    first: (f64, f64),
    /// The other distinct x, ascending, with their fitted y.
    rest: Vec<(f64, f64)>,
}

impl Isotonic {
    /// Fits y on x: equal x are averaged first, then adjacent violators are pooled (Barlow et al.
    /// 1972). `weights` default to 1. `None` without points.
    ///
    /// # Errors
    /// Slices of different length, values that are not finite, weights that are not positive.
    pub fn fit(
        x: &[f64],
        y: &[f64],
        weights: Option<&[f64]>,
        direction: Direction,
    ) -> Result<Option<Self>, InputError> {
        finite_pairs(("x", x), ("y", y))?;
        if let Some(weights) = weights {
            same_length("x", x.len(), "weights", weights.len())?;
            finite("weights", weights)?;
            for &weight in weights {
                in_domain("a weight", weight, "more than 0", weight > 0.0)?;
            }
        }
        let sign = match direction {
            Direction::Increasing => 1.0,
            Direction::Decreasing => -1.0,
        };
        let mut points: Vec<Point> = (0..x.len())
            .map(|i| Point { x: x[i], y: sign * y[i], weight: weights.map_or(1.0, |weights| weights[i]) })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let distinct: Vec<Point> = points.chunk_by(|a, b| a.x >= b.x).map(Point::merge_blocks).collect();
        let mut knots = pool(&distinct).into_iter().map(|(x, y)| (x, sign * y));
        Ok(knots.next().map(|first| Self { first, rest: knots.collect() }))
    }

    /// The fitted value at `x`: linear between the x of the data, constant outside them.
    pub fn predict(&self, x: f64) -> f64 {
        if x <= self.first.0 {
            return self.first.1;
        }
        let after = self.rest.partition_point(|knot| knot.0 < x);
        let (x0, y0) = if after == 0 { self.first } else { self.rest[after - 1] };
        match self.rest.get(after) {
            Some((x1, y1)) => y0 + (y1 - y0) * ((x - x0) / (x1 - x0)),
            None => y0,
        }
    }
}

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    weight: f64,
}

impl Point {
    fn merge_blocks(points: &[Self]) -> Self {
        let weight: f64 = points.iter().map(|point| point.weight).sum();
        let total: f64 = points.iter().map(|point| point.weight * point.y).sum();
        Self { x: points[0].x, y: total / weight, weight }
    }
}

/// Blocks of pooled points; the last two are merged while the order is violated.
fn pool(points: &[Point]) -> Vec<(f64, f64)> {
    let mut blocks: Vec<(Point, usize)> = Vec::with_capacity(points.len());
    for &point in points {
        let mut block = (point, 1);
        while let Some(&(last, size)) = blocks.last() {
            if last.y < block.0.y {
                break;
            }
            blocks.pop();
            block = (Point::merge_blocks(&[last, block.0]), size + block.1);
        }
        blocks.push(block);
    }
    let fitted = blocks.iter().flat_map(|(block, size)| std::iter::repeat_n(block.y, *size));
    points.iter().map(|point| point.x).zip(fitted).collect()
}
