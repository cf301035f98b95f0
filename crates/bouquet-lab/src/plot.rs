//! Plots as SVG: theory as lines, simulation as points with error bars, one look for all.
//!
//! A label stands for a colour and a mark: the line and the points of one label belong together and share an entry in
//! the legend, which stands above the chart and so never hides data.

mod axis;
mod draw;

pub use axis::Axis;

use crate::error::Result;
use crate::simulate::Mean;
use crate::table::Table;

/// A chart with two axes.
///
/// ```
/// use bouquet_lab::{Axis, Plot};
/// let plot = Plot::new(Axis::linear("bits per key, m/n"), Axis::log("false-positive rate"))
///     .line("theory", (2..20).map(|bits| (f64::from(bits), 0.6185f64.powi(bits))));
/// let svg = bouquet_lab::plot::svg("Rate", &[plot])?;
/// assert!(svg.starts_with("<svg") && svg.contains("bits per key, m/n") && svg.contains("theory"));
/// # Ok::<(), bouquet_lab::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    label: String,
    form: Form,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Line,
    Dashed,
    /// A grey dashed line, for bounds and for what a paper has wrong.
    Reference,
    Points,
}

impl Form {
    /// What it stands for, in the data.
    fn name(self) -> &'static str {
        match self {
            Form::Line | Form::Dashed => "theory",
            Form::Reference => "reference",
            Form::Points => "simulation",
        }
    }
}

/// A point of a series, with the standard error of a simulated one.
///
/// ```
/// use bouquet_lab::{Mean, plot::Point};
/// let mean = Mean { value: 0.5, error: 0.1, rounds: 9 };
/// assert_eq!(Point::from((3.0, mean)), Point { x: 3.0, y: 0.5, error: 0.1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it stands.
    pub x: f64,
    /// How high.
    pub y: f64,
    /// Its standard error; 0 for what is computed.
    pub error: f64,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Point { x, y, error: 0.0 }
    }
}

impl From<(f64, Mean)> for Point {
    fn from((x, mean): (f64, Mean)) -> Self {
        Point { x, y: mean.value, error: mean.error }
    }
}

impl Plot {
    /// An empty chart.
    ///
    /// ```
    /// use bouquet_lab::{Axis, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y"));
    /// assert!(bouquet_lab::plot::svg("Nothing", &[plot]).is_ok());
    /// ```
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Plot { title: String::new(), x, y, series: Vec::new() }
    }

    /// A title for one of several charts, such as `(a) k₁ = 1`.
    ///
    /// ```
    /// # use bouquet_lab::{Axis, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).titled("(a) small");
    /// assert!(bouquet_lab::plot::svg("Both", &[plot])?.contains("(a) small"));
    /// # Ok::<(), bouquet_lab::Error>(())
    /// ```
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// A curve of theory.
    ///
    /// ```
    /// # use bouquet_lab::{Axis, Plot};
    /// let squares = (0..9).map(|x| (f64::from(x), f64::from(x * x)));
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).line("square", squares);
    /// assert_eq!(bouquet_lab::plot::data(&[plot]).len(), 9);
    /// ```
    #[must_use]
    pub fn line<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Line, points)
    }

    /// A second curve of theory under the same label, dashed: an approximation beside what is exact.
    ///
    /// ```
    /// # use bouquet_lab::{Axis, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).dashed("rough", [(0.0, 0.0), (1.0, 1.0)]);
    /// assert!(bouquet_lab::plot::data(&[plot]).csv().contains("rough,theory"));
    /// ```
    #[must_use]
    pub fn dashed<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Dashed, points)
    }

    /// A grey dashed line: a bound, or what a paper has wrong.
    ///
    /// ```
    /// # use bouquet_lab::{Axis, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).reference("bound", [(0.0, 1.0), (1.0, 1.0)]);
    /// assert!(bouquet_lab::plot::data(&[plot]).csv().contains("bound,reference"));
    /// ```
    #[must_use]
    pub fn reference<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Reference, points)
    }

    /// Simulated points, with bars of two standard errors where these can be seen.
    ///
    /// ```
    /// # use bouquet_lab::{Axis, Mean, Plot};
    /// let point = (1.0, Mean { value: 0.5, error: 0.1, rounds: 9 });
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).points("measured", [point]);
    /// assert!(bouquet_lab::plot::data(&[plot]).csv().contains("measured,simulation,1,0.5,0.1"));
    /// ```
    #[must_use]
    pub fn points<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Points, points)
    }

    fn with<P: Into<Point>>(
        mut self,
        label: impl Into<String>,
        form: Form,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        self.series.push(Series { label: label.into(), form, points });
        self
    }

    /// The labels in the order in which they came.
    fn labels(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = Vec::new();
        for series in &self.series {
            if !labels.contains(&series.label.as_str()) {
                labels.push(&series.label);
            }
        }
        labels
    }
}

/// Charts side by side under one title, as SVG.
///
/// ```
/// assert!(bouquet_lab::plot::svg("No chart", &[]).is_ok());
/// ```
pub fn svg(title: &str, plots: &[Plot]) -> Result<String> {
    draw::svg(title, plots)
}

/// The points of all series in one table: chart, series, kind, x, y, standard error. A chart is known by its letter, where
/// its title has one.
///
/// ```
/// use bouquet_lab::{Axis, Plot};
/// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).titled("(a) one").line("theory", [(1.0, 2.0)]);
/// assert_eq!(bouquet_lab::plot::data(&[plot]).csv(), "chart,series,kind,x,y,error\n(a),theory,theory,1,2,0\n");
/// ```
#[must_use]
pub fn data(plots: &[Plot]) -> Table {
    let mut table = Table::new(["chart", "series", "kind", "x", "y", "error"]);
    for plot in plots {
        let letter = plot.title.split(' ').next().filter(|word| word.starts_with('(')).unwrap_or(&plot.title);
        for series in &plot.series {
            for point in &series.points {
                let [title, label] = [letter, &series.label].map(Into::into);
                table.row([
                    title,
                    label,
                    series.form.name().into(),
                    point.x.into(),
                    point.y.into(),
                    point.error.into(),
                ]);
            }
        }
    }
    table
}

/// So many values from low to high, evenly spaced.
///
/// ```
/// assert!(bouquet_lab::plot::even(0.0, 1.0, 5).eq([0.0, 0.25, 0.5, 0.75, 1.0]));
/// ```
pub fn even(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> + Clone {
    let steps = f64::from(count.saturating_sub(1).max(1));
    (0..count).map(move |i| low + (high - low) * f64::from(i) / steps)
}

/// So many values from low to high, each the same factor above the one before.
///
/// ```
/// let powers: Vec<f64> = bouquet_lab::plot::even_log(1.0, 8.0, 4).map(f64::round).collect();
/// assert_eq!(powers, [1.0, 2.0, 4.0, 8.0]);
/// ```
pub fn even_log(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> + Clone {
    even(low.ln(), high.ln(), count).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_and_the_points_of_a_label_share_an_entry() {
        let plot = Plot::new(Axis::linear("x"), Axis::linear("y"))
            .line("k = 2", [(0.0, 0.0), (1.0, 1.0)])
            .points("k = 2", [(0.5, 0.5)])
            .line("k = 3", [(0.0, 0.0), (1.0, 2.0)]);
        assert_eq!(plot.labels(), ["k = 2", "k = 3"]);
        let text = svg("Title", &[plot]).unwrap();
        assert_eq!(text.matches("k = 2").count(), 1);
    }

    #[test]
    fn what_an_axis_cannot_show_is_left_out() {
        let odd = [(1.0, 0.0), (2.0, f64::NAN), (3.0, -1.0), (f64::INFINITY, 1.0), (0.0, 0.1), (4.0, 0.5)];
        for axis in [Axis::log("x"), Axis::linear("x"), Axis::log("x").range(2.0, 2.0)] {
            let plot = Plot::new(axis, Axis::log("y")).line("a", odd).points("b", odd).reference("c", odd);
            let text = svg("Odd points", &[plot]).unwrap();
            assert!(!text.contains("NaN") && !text.contains("inf"));
        }
    }

    #[test]
    fn markup_in_labels_is_text() {
        let plot = Plot::new(Axis::linear("a < b"), Axis::linear("y")).line("x & y", [(0.0, 1.0), (1.0, 2.0)]);
        let text = svg("<title>", &[plot]).unwrap();
        assert!(text.contains("&lt;title&gt;") && text.contains("x &amp; y") && text.contains("a &lt; b"));
    }
}
