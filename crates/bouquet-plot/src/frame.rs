//! The frame of a chart: where values stand between its axes, the grid, the marks and the labels.

use crate::axis::Axis;
use crate::picture::{Anchor, Colour, Picture, Place, Stroke, Text};

const SMALL: f64 = 12.0;
const LABEL: f64 = 13.0;

/// Two axes around a rectangle of a picture.
///
/// ```
/// use bouquet_plot::{Axis, Frame};
/// let (x, y) = (Axis::linear("x").range(0.0, 10.0), Axis::linear("y").range(0.0, 1.0));
/// let frame = Frame::new([50.0, 10.0, 150.0, 110.0], &x, &y, std::iter::empty());
/// assert_eq!(frame.at(5.0, 0.5), Some((100.0, 60.0)));
/// assert_eq!(frame.at(5.0, 1.5), None);
/// ```
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    x: &'a Axis,
    y: &'a Axis,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x_span: (f64, f64),
    y_span: (f64, f64),
}

impl<'a> Frame<'a> {
    /// A frame whose axes show the ranges that they were given, or else what these points need. The sides are left, top,
    /// right and bottom.
    ///
    /// ```
    /// use bouquet_plot::{Axis, Frame};
    /// let (x, y) = (Axis::linear("x"), Axis::log("y"));
    /// let points = [(1.0, 0.1), (9.0, 100.0)];
    /// let frame = Frame::new([0.0, 0.0, 300.0, 200.0], &x, &y, points.into_iter());
    /// assert!(points.iter().all(|(x, y)| frame.at(*x, *y).is_some()));
    /// ```
    #[must_use]
    pub fn new(sides: [f64; 4], x: &'a Axis, y: &'a Axis, points: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let [left, top, right, bottom] = sides;
        let x_span = x.span(points.clone().map(|point| point.0));
        let y_span = y.span(points.map(|point| point.1));
        Frame { x, y, left, top, right, bottom, x_span, y_span }
    }

    /// How much room the marks and the label of a vertical axis need at its left.
    pub(crate) fn room(y: &Axis, values: impl Iterator<Item = f64>) -> f64 {
        let names = y.marks(y.span(values));
        names.iter().map(|(_, name)| crate::text_width(name, SMALL)).fold(0.0, f64::max) + 34.0
    }

    /// Where a value stands; `None` outside the frame.
    ///
    /// ```
    /// use bouquet_plot::{Axis, Frame};
    /// let (x, y) = (Axis::log("x").range(1.0, 100.0), Axis::linear("y").range(0.0, 1.0));
    /// let frame = Frame::new([0.0, 0.0, 200.0, 100.0], &x, &y, std::iter::empty());
    /// assert_eq!(frame.at(10.0, 0.0), Some((100.0, 100.0)));
    /// assert_eq!(frame.at(0.0, 0.0), None);
    /// ```
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> Option<Place> {
        let place = self.anywhere(x, y)?;
        let room = 1e-6;
        let within = |v: f64, low: f64, high: f64| v >= low - room && v <= high + room;
        (within(place.0, self.left, self.right) && within(place.1, self.top, self.bottom)).then_some(place)
    }

    /// The height of a value, or of the end of the axis that it lies beyond.
    pub(crate) fn height(&self, y: f64) -> Option<f64> {
        let part = (self.y.place(y)? - self.y_span.0) / (self.y_span.1 - self.y_span.0);
        Some(self.bottom - part.clamp(0.0, 1.0) * (self.bottom - self.top))
    }

    /// Where a value stands or would stand; `None` where its axis has no place for it.
    fn anywhere(&self, x: f64, y: f64) -> Option<Place> {
        let part = |place: f64, span: (f64, f64)| (place - span.0) / (span.1 - span.0);
        let x = self.left + part(self.x.place(x)?, self.x_span) * (self.right - self.left);
        let y = self.bottom - part(self.y.place(y)?, self.y_span) * (self.bottom - self.top);
        Some((x, y))
    }

    /// The paths of a curve that lie within the frame: one that leaves it and comes back is two.
    ///
    /// ```
    /// use bouquet_plot::{Axis, Frame};
    /// let (x, y) = (Axis::linear("x").range(0.0, 10.0), Axis::linear("y").range(0.0, 10.0));
    /// let frame = Frame::new([0.0, 0.0, 100.0, 100.0], &x, &y, std::iter::empty());
    /// let curve = [(0.0, 5.0), (4.0, 15.0), (8.0, 5.0)];
    /// assert_eq!(frame.paths(curve), [vec![(0.0, 50.0), (20.0, 0.0)], vec![(60.0, 0.0), (80.0, 50.0)]]);
    /// ```
    #[must_use]
    pub fn paths(&self, curve: impl IntoIterator<Item = (f64, f64)>) -> Vec<Vec<Place>> {
        let mut paths: Vec<Vec<Place>> = Vec::new();
        let mut before: Option<Place> = None;
        // Whether the path so far ended inside, and so goes on.
        let mut open = false;
        for (x, y) in curve {
            let place = self.anywhere(x, y);
            if let (Some(from), Some(to)) = (before, place)
                && let Some((start, end)) = self.within(from, to)
            {
                match paths.last_mut().filter(|_| open && start == from) {
                    Some(path) => path.push(end),
                    None => paths.push(vec![start, end]),
                }
                open = end == to;
            } else {
                open = false;
            }
            before = place;
        }
        paths
    }

    /// The part of a line that lies within the frame (Liang and Barsky's way): the line is `from + t (to - from)`, and
    /// each side of the frame cuts off a range of `t`.
    fn within(&self, from: Place, to: Place) -> Option<(Place, Place)> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut first, mut last) = (0.0, 1.0);
        for (slope, room) in
            [(-dx, from.0 - self.left), (dx, self.right - from.0), (-dy, from.1 - self.top), (dy, self.bottom - from.1)]
        {
            if slope == 0.0 {
                // Parallel to this side: all of it or nothing. A line on the side itself is inside.
                if room < -1e-6 {
                    return None;
                }
            } else if slope < 0.0 {
                first = f64::max(first, room / slope);
            } else {
                last = f64::min(last, room / slope);
            }
        }
        let point = |t: f64| match t {
            0.0 => from,
            1.0 => to,
            t => (from.0 + t * dx, from.1 + t * dy),
        };
        (first <= last).then(|| (point(first), point(last)))
    }

    /// Draws the grid, the axes, their marks and their labels.
    ///
    /// ```
    /// use bouquet_plot::{Axis, Frame, Picture};
    /// let (x, y) = (Axis::linear("bits per key").range(0.0, 10.0), Axis::linear("ns").range(0.0, 1.0));
    /// let mut picture = Picture::new(200.0, 150.0);
    /// Frame::new([50.0, 10.0, 190.0, 110.0], &x, &y, std::iter::empty()).draw(&mut picture);
    /// assert!(picture.svg().contains("bits per key"));
    /// ```
    pub fn draw(&self, picture: &mut Picture) {
        let grid = Stroke::new(Colour::BLACK.faded(0.1), 1.0);
        let edge = Stroke::new(Colour::BLACK, 1.0);
        let (across, up) = (self.right - self.left, self.bottom - self.top);
        for (place, name) in self.x.marks(self.x_span) {
            let x = self.left + (place - self.x_span.0) / (self.x_span.1 - self.x_span.0) * across;
            picture.path(&[(x, self.top), (x, self.bottom)], grid);
            picture.path(&[(x, self.bottom), (x, self.bottom + 5.0)], edge);
            picture.text((x, self.bottom + 14.0), &name, Text::new(SMALL).anchored(Anchor::Middle));
        }
        let mut widest = 0.0;
        for (place, name) in self.y.marks(self.y_span) {
            let y = self.bottom - (place - self.y_span.0) / (self.y_span.1 - self.y_span.0) * up;
            picture.path(&[(self.left, y), (self.right, y)], grid);
            picture.path(&[(self.left - 5.0, y), (self.left, y)], edge);
            picture.text((self.left - 8.0, y), &name, Text::new(SMALL).anchored(Anchor::End));
            widest = f64::max(widest, crate::text_width(&name, SMALL));
        }
        picture.path(&[(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)], edge);
        let label = Text::new(LABEL).anchored(Anchor::Middle);
        picture.text((self.left + across / 2.0, self.bottom + 33.0), self.x.label(), label);
        let side = (self.left - widest - 20.0).max(LABEL / 2.0);
        picture.text((side, self.top + up / 2.0), self.y.label(), label.upwards());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_end_at_the_side_that_they_cross() {
        let (x, y) = (Axis::linear("x").range(0.0, 1.0), Axis::log("y").range(0.01, 1.0));
        let frame = Frame::new([0.0, 0.0, 100.0, 100.0], &x, &y, std::iter::empty());
        // From above the frame to below it, through its middle.
        assert_eq!(frame.paths([(0.0, 10.0), (1.0, 0.001)]), [vec![(25.0, 0.0), (75.0, 100.0)]]);
        // Beside it.
        assert!(frame.paths([(2.0, 0.1), (3.0, 0.1)]).is_empty());
        // Zero has no place on a logarithmic axis and breaks the curve.
        let broken = frame.paths([(0.0, 0.1), (0.2, 0.1), (0.4, 0.0), (0.6, 0.1), (0.8, 0.1)]);
        assert_eq!(broken.len(), 2);
        // Along a side it can be seen.
        assert_eq!(frame.paths([(0.0, 1.0), (1.0, 1.0)]), [vec![(0.0, 0.0), (100.0, 0.0)]]);
    }
}
