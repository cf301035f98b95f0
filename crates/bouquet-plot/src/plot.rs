//! Whole charts: theory as lines, simulation as points with error bars.
//!
//! A label stands for a colour and a mark: the line and the points of one label belong together and share an entry in
//! the legend, which stands above the chart and so never hides data.

use crate::axis::Axis;
use crate::frame::Frame;
use crate::picture::{Anchor, Colour, Mark, Picture, Place, Stroke, Text, text_width};

/// A chart with two axes.
///
/// ```
/// use bouquet_plot::{Axis, Plot, svg};
/// let plot = Plot::new(Axis::linear("bits per key, m/n"), Axis::log("false-positive rate"))
///     .line("theory", (2..20).map(|bits| (f64::from(bits), 0.6185f64.powi(bits))));
/// let svg = svg("Rate", &[plot]);
/// assert!(svg.starts_with("<svg") && svg.contains("bits per key, m/n") && svg.contains("theory"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

/// Points under a label.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub label: String,
    /// How it is drawn.
    pub form: Form,
    /// Its points, in the order of a curve.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An unbroken line, for theory.
    Line,
    /// A dashed line, for a second theory.
    Dashed,
    /// A grey dashed line, for bounds and for what a paper has wrong.
    Reference,
    /// Marks, for what was simulated or measured.
    Points,
}

/// A value with its standard error, which is 0 for what is computed.
///
/// ```
/// use bouquet_plot::Value;
/// assert_eq!(Value::from(0.5), Value { value: 0.5, error: 0.0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value { value, error: 0.0 }
    }
}

/// A point of a series.
///
/// ```
/// use bouquet_plot::{Point, Value};
/// assert_eq!(Point::from((3.0, Value { value: 0.5, error: 0.1 })), Point { x: 3.0, y: 0.5, error: 0.1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it stands.
    pub x: f64,
    /// How high.
    pub y: f64,
    /// The standard error of its height.
    pub error: f64,
}

impl<V: Into<Value>> From<(f64, V)> for Point {
    fn from((x, y): (f64, V)) -> Self {
        let Value { value, error } = y.into();
        Point { x, y: value, error }
    }
}

impl Plot {
    /// An empty chart.
    ///
    /// ```
    /// use bouquet_plot::{Axis, Plot};
    /// assert!(Plot::new(Axis::linear("x"), Axis::linear("y")).series().is_empty());
    /// ```
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Plot { title: String::new(), x, y, series: Vec::new() }
    }

    /// A title for one of several charts, such as `(a) k₁ = 1`.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Plot, svg};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).titled("(a) small");
    /// assert!(svg("Both", &[plot]).contains("(a) small"));
    /// ```
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// A curve of theory.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Form, Plot};
    /// let squares = (0..9).map(|x| (f64::from(x), f64::from(x * x)));
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).line("square", squares);
    /// assert_eq!((plot.series()[0].form, plot.series()[0].points.len()), (Form::Line, 9));
    /// ```
    #[must_use]
    pub fn line<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Line, points)
    }

    /// A second curve of theory under the same label, dashed: an approximation beside what is exact.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Form, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).dashed("rough", [(0.0, 0.0), (1.0, 1.0)]);
    /// assert_eq!(plot.series()[0].form, Form::Dashed);
    /// ```
    #[must_use]
    pub fn dashed<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Dashed, points)
    }

    /// A grey dashed line: a bound, or what a paper has wrong.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Form, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).reference("bound", [(0.0, 1.0), (1.0, 1.0)]);
    /// assert_eq!(plot.series()[0].form, Form::Reference);
    /// ```
    #[must_use]
    pub fn reference<P: Into<Point>>(self, label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        self.with(label, Form::Reference, points)
    }

    /// Simulated points, with bars of two standard errors where these can be seen.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Plot, Value};
    /// let point = (1.0, Value { value: 0.5, error: 0.1 });
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).points("measured", [point]);
    /// assert_eq!(plot.series()[0].points[0].error, 0.1);
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

    /// The title, empty where there is none.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Plot};
    /// assert_eq!(Plot::new(Axis::linear("x"), Axis::linear("y")).titled("(a)").title(), "(a)");
    /// ```
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The series in the order in which they came.
    ///
    /// ```
    /// # use bouquet_plot::{Axis, Plot};
    /// let plot = Plot::new(Axis::linear("x"), Axis::linear("y")).line("a", [(0.0, 1.0)]);
    /// assert_eq!(plot.series()[0].label, "a");
    /// ```
    #[must_use]
    pub fn series(&self) -> &[Series] {
        &self.series
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

    /// References are grey; the others take the colours in turn.
    fn look(&self, label: &str) -> Look {
        let is_reference = |label: &str| self.series.iter().all(|s| s.label != label || s.form == Form::Reference);
        if is_reference(label) {
            return Look { colour: GREY, mark: Mark::Disc };
        }
        let at = self.labels().into_iter().filter(|other| !is_reference(other)).position(|other| other == label);
        let at = at.unwrap_or(0);
        Look { colour: COLOURS[at % COLOURS.len()], mark: Mark::numbered(at) }
    }
}

/// A chart, without its title and legend.
const CHART: (f64, f64) = (560.0, 370.0);
const MARGIN: f64 = 10.0;
const TITLE: f64 = 15.0;
const TEXT: f64 = 12.0;
const LINE_HEIGHT: f64 = 19.0;
/// The sample of a series in the legend, and the room from its left end to the text.
const SAMPLE: f64 = 28.0;
const TO_TEXT: f64 = 34.0;
/// Bars shorter than this hide behind their mark.
const SHORTEST_BAR: f64 = 2.0 * Mark::RADIUS;

/// The colours of Okabe and Ito, which colour-blind readers can tell apart, without the yellow.
const COLOURS: [Colour; 7] = [
    Colour::new(0, 114, 178),
    Colour::new(213, 94, 0),
    Colour::new(0, 158, 115),
    Colour::new(204, 121, 167),
    Colour::new(230, 159, 0),
    Colour::new(86, 180, 233),
    Colour::BLACK,
];
const GREY: Colour = Colour::new(110, 110, 110);

/// How a label looks.
#[derive(Clone, Copy)]
struct Look {
    colour: Colour,
    mark: Mark,
}

/// Charts side by side under one title, as SVG.
///
/// ```
/// assert!(bouquet_plot::svg("No chart", &[]).contains("No chart"));
/// ```
#[must_use]
pub fn svg(title: &str, plots: &[Plot]) -> String {
    let width = CHART.0 * plots.len().max(1) as f64;
    let heads: Vec<Head> = plots.iter().map(Head::of).collect();
    let head = heads.iter().map(Head::height).fold(0.0, f64::max);
    let top = LINE_HEIGHT + MARGIN;
    let mut picture = Picture::new(width, top + head + CHART.1);
    // A long title is written smaller, so that it fits.
    let size = TITLE.min(TITLE * (width - 2.0 * MARGIN) / text_width(title, TITLE).max(1.0));
    let style = Text::new((2.0 * size).floor() / 2.0).anchored(Anchor::Middle);
    picture.text((width / 2.0, (MARGIN + LINE_HEIGHT) / 2.0), title, style);
    for ((at, plot), head_of) in plots.iter().enumerate().zip(&heads) {
        let left = at as f64 * CHART.0;
        head_of.draw(&mut picture, (left, top), plot);
        draw_chart(&mut picture, (left, top + head), plot);
    }
    picture.svg()
}

/// What stands above a chart: its title and its legend, in rows that fit.
struct Head {
    titled: bool,
    rows: Vec<Vec<(String, f64)>>,
}

impl Head {
    fn of(plot: &Plot) -> Self {
        let room = CHART.0 - 4.0 * MARGIN;
        let mut rows: Vec<Vec<(String, f64)>> = Vec::new();
        let mut used = room;
        for label in plot.labels() {
            let width = TO_TEXT + text_width(label, TEXT) + 1.5 * MARGIN;
            if used + width > room {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += width;
            if let Some(row) = rows.last_mut() {
                row.push((label.into(), width));
            }
        }
        Head { titled: !plot.title.is_empty(), rows }
    }

    fn height(&self) -> f64 {
        LINE_HEIGHT * (self.rows.len() + usize::from(self.titled)) as f64
    }

    fn draw(&self, picture: &mut Picture, (left, top): Place, plot: &Plot) {
        let mut y = top + LINE_HEIGHT / 2.0;
        if self.titled {
            let style = Text::new(TEXT + 1.0).anchored(Anchor::Middle);
            picture.text((left + CHART.0 / 2.0, y), &plot.title, style);
            y += LINE_HEIGHT;
        }
        for row in &self.rows {
            let used: f64 = row.iter().map(|(_, width)| width).sum();
            let mut x = left + (CHART.0 - used) / 2.0 + MARGIN / 2.0;
            for (label, width) in row {
                let look = plot.look(label);
                for series in plot.series.iter().filter(|series| series.label == *label) {
                    match series.form {
                        Form::Points => picture.mark((x + SAMPLE / 2.0, y), look.mark, look.colour),
                        form => picture.path(&[(x, y), (x + SAMPLE, y)], stroke(form, look)),
                    }
                }
                picture.text((x + TO_TEXT, y), label, Text::new(TEXT));
                x += width;
            }
            y += LINE_HEIGHT;
        }
    }
}

fn stroke(form: Form, look: Look) -> Stroke {
    match form {
        Form::Line => Stroke::new(look.colour, 2.0),
        _ => Stroke::new(look.colour, 1.25).dashed(6.0, 4.0),
    }
}

fn draw_chart(picture: &mut Picture, (left, top): Place, plot: &Plot) {
    let points = plot.series.iter().flat_map(|series| &series.points);
    // Bars may end below the chart, which often begins at zero, but not above it.
    let shown = points.flat_map(|point| [(point.x, point.y), (point.x, point.y + 2.0 * point.error)]);
    let side = Frame::room(&plot.y, shown.clone().map(|point| point.1));
    let sides = [left + MARGIN + side, top + MARGIN, left + CHART.0 - 2.0 * MARGIN, top + CHART.1 - MARGIN - 40.0];
    let frame = Frame::new(sides, &plot.x, &plot.y, shown);
    frame.draw(picture);
    for series in plot.series.iter().filter(|series| series.form != Form::Points) {
        let stroke = stroke(series.form, plot.look(&series.label));
        for path in frame.paths(series.points.iter().map(|point| (point.x, point.y))) {
            picture.path(&path, stroke);
        }
    }
    // Points above all lines.
    for series in plot.series.iter().filter(|series| series.form == Form::Points) {
        let look = plot.look(&series.label);
        for point in &series.points {
            if let Some(at) = frame.at(point.x, point.y) {
                draw_bar(picture, &frame, point, at, look.colour);
                picture.mark(at, look.mark, look.colour);
            }
        }
    }
}

/// Two standard errors up and down, cut off where the chart ends.
fn draw_bar(picture: &mut Picture, frame: &Frame<'_>, point: &Point, (x, y): Place, colour: Colour) {
    let end = |sign: f64| {
        let height = frame.height(point.y + sign * 2.0 * point.error);
        // On a logarithmic axis a bar to zero has no end: a tenth of the value stands for it.
        height.or_else(|| frame.height(point.y / 10.0)).unwrap_or(y)
    };
    let (bottom, top) = (end(-1.0), end(1.0));
    if point.error > 0.0 && bottom - top > SHORTEST_BAR {
        let stroke = Stroke::new(colour, 1.0);
        picture.path(&[(x, bottom), (x, top)], stroke);
        for y in [bottom, top] {
            picture.path(&[(x - Mark::RADIUS, y), (x + Mark::RADIUS, y)], stroke);
        }
    }
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
        let text = svg("Title", &[plot]);
        assert_eq!(text.matches("k = 2").count(), 1);
    }

    #[test]
    fn what_an_axis_cannot_show_is_left_out() {
        let odd = [(1.0, 0.0), (2.0, f64::NAN), (3.0, -1.0), (f64::INFINITY, 1.0), (0.0, 0.1), (4.0, 0.5)];
        for axis in [Axis::log("x"), Axis::linear("x"), Axis::log("x").range(2.0, 2.0)] {
            let plot = Plot::new(axis, Axis::log("y")).line("a", odd).points("b", odd).reference("c", odd);
            let text = svg("Odd points", &[plot]);
            assert!(!text.contains("NaN") && !text.contains("inf"));
        }
    }

    #[test]
    fn bars_show_two_standard_errors() {
        let point = |error| (1.0, Value { value: 0.5, error });
        let plot = |error| {
            let (x, y) = (Axis::linear("x").range(0.0, 2.0), Axis::log("y").range(0.001, 1.0));
            svg("Bars", &[Plot::new(x, y).points("a", [point(error)])])
        };
        let strokes = |text: String| text.matches("<polyline").count();
        assert_eq!(strokes(plot(0.2)), strokes(plot(0.0)) + 3);
        assert_eq!(strokes(plot(0.3)), strokes(plot(0.0)) + 3, "to below zero");
        assert_eq!(strokes(plot(0.001)), strokes(plot(0.0)), "behind its mark");
    }

    #[test]
    fn markup_in_labels_is_text() {
        let plot = Plot::new(Axis::linear("a < b"), Axis::linear("y")).line("x & y", [(0.0, 1.0), (1.0, 2.0)]);
        let text = svg("<title>", &[plot]);
        assert!(text.contains("&lt;title&gt;") && text.contains("x &amp; y") && text.contains("a &lt; b"));
    }
}
