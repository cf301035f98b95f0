//! Drawing. The pixels are half the size of those of the picture: the backend rounds to whole ones.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, KeyPointWeight, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Form, Plot, Point, Series};
use crate::error::{Error, Result};

const SCALE: i32 = 2;
/// A chart, without its title and legend.
const CHART: (i32, i32) = (560 * SCALE, 370 * SCALE);
const MARGIN: i32 = 10 * SCALE;
const TITLE: i32 = 15 * SCALE;
const TEXT: i32 = 12 * SCALE;
const LINE_HEIGHT: i32 = 19 * SCALE;
const MARK: i32 = 4 * SCALE;
/// The sample of a series in the legend, with the room beside it.
const SAMPLE: i32 = 34 * SCALE;
/// The mean width of a letter, in parts of its height.
const LETTER: f64 = 0.52;
/// The same in a title, which has fewer signs and figures than a legend.
const TITLE_LETTER: f64 = 0.42;
/// Bars shorter than this hide behind their mark.
const SHORTEST_BAR: i32 = MARK;

/// The colours of Okabe and Ito, which colour-blind readers can tell apart, without the yellow.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
const GREY: RGBColor = RGBColor(110, 110, 110);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T> = std::result::Result<T, Box<dyn std::error::Error>>;
type Pixel = (i32, i32);

/// How a label looks: its colour and the number of its mark.
#[derive(Clone, Copy)]
struct Look {
    colour: RGBColor,
    mark: usize,
}

pub(super) fn svg(title: &str, plots: &[Plot]) -> Result<String> {
    let width = CHART.0 * plots.len().max(1) as i32;
    let heads: Vec<Head> = plots.iter().map(Head::of).collect();
    let head = heads.iter().map(Head::height).max().unwrap_or(0);
    let top = LINE_HEIGHT + MARGIN;
    let height = top + head + CHART.1;
    let mut text = String::new();
    let draw = |text: &mut String| -> Drawn<()> {
        let root = SVGBackend::with_string(text, (width as u32, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let size = title_size(title, width);
        root.draw(&Text::new(title.to_string(), (width / 2, MARGIN / 2 + LINE_HEIGHT / 2), centred(size)))?;
        let (_, below) = root.split_vertically(top);
        for ((area, plot), head_of) in below.split_evenly((1, plots.len().max(1))).iter().zip(plots).zip(&heads) {
            let (above, chart) = area.split_vertically(head);
            head_of.draw(&above, plot)?;
            draw_chart(&chart, plot)?;
        }
        root.present()?;
        Ok(())
    };
    draw(&mut text).map_err(|error| Error::Drawing(error.to_string()))?;
    // The picture is shown at half of its pixels; its own measure stays in the view box.
    let whole = format!("width=\"{width}\" height=\"{height}\"");
    let half = format!("width=\"{}\" height=\"{}\"", width / SCALE, height / SCALE);
    Ok(text.replacen(&whole, &half, 1))
}

/// A long title is written smaller, so that it fits.
fn title_size(title: &str, width: i32) -> i32 {
    let letters = title.chars().count().max(1) as f64;
    TITLE.min((f64::from(width - 2 * MARGIN) / (letters * TITLE_LETTER)) as i32)
}

/// What stands above a chart: its title and its legend, in rows that fit.
struct Head {
    titled: bool,
    rows: Vec<Vec<(String, i32)>>,
}

impl Head {
    fn of(plot: &Plot) -> Self {
        let room = CHART.0 - 4 * MARGIN;
        let mut rows: Vec<Vec<(String, i32)>> = Vec::new();
        let mut used = room;
        for label in plot.labels() {
            let width = SAMPLE + (label.chars().count() as f64 * LETTER * f64::from(TEXT)) as i32 + 2 * MARGIN;
            if used + width > room {
                rows.push(Vec::new());
                used = 0;
            }
            used += width;
            if let Some(row) = rows.last_mut() {
                row.push((label.into(), width));
            }
        }
        Head { titled: !plot.title.is_empty(), rows }
    }

    fn height(&self) -> i32 {
        LINE_HEIGHT * (self.rows.len() as i32 + i32::from(self.titled))
    }

    fn draw(&self, area: &Area<'_>, plot: &Plot) -> Drawn<()> {
        if self.titled {
            area.draw(&Text::new(plot.title.clone(), (CHART.0 / 2, LINE_HEIGHT / 2), centred(TEXT + SCALE)))?;
        }
        let first = LINE_HEIGHT / 2 + if self.titled { LINE_HEIGHT } else { 0 };
        for (y, row) in (0..).map(|i| first + i * LINE_HEIGHT).zip(&self.rows) {
            let used: i32 = row.iter().map(|(_, width)| width).sum();
            let mut x = (CHART.0 - used) / 2 + MARGIN;
            for (label, width) in row {
                let look = look(plot, label);
                for series in plot.series.iter().filter(|series| series.label == *label) {
                    let ends = [(x, y), (x + SAMPLE - 6 * SCALE, y)];
                    match series.form {
                        Form::Points => draw_mark(area, (x + (SAMPLE - 6 * SCALE) / 2, y), look)?,
                        form => draw_path(area, form, &ends, look)?,
                    }
                }
                let style = text(TEXT).pos(Pos::new(HPos::Left, VPos::Center));
                area.draw(&Text::new(label.clone(), (x + SAMPLE, y), style))?;
                x += width;
            }
        }
        Ok(())
    }
}

fn text(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&BLACK)
}

fn centred(size: i32) -> TextStyle<'static> {
    text(size).pos(Pos::new(HPos::Center, VPos::Center))
}

/// References are grey; the others take the colours in turn.
fn look(plot: &Plot, label: &str) -> Look {
    let is_reference = |label: &str| plot.series.iter().all(|s| s.label != label || s.form == Form::Reference);
    if is_reference(label) {
        return Look { colour: GREY, mark: 0 };
    }
    let at = plot.labels().into_iter().filter(|other| !is_reference(other)).position(|other| other == label);
    let mark = at.unwrap_or(0);
    Look { colour: COLOURS[mark % COLOURS.len()], mark }
}

/// The places of an axis and its marks.
struct Scale {
    span: (f64, f64),
    marks: Vec<(f64, String)>,
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, pixels: Pixel) -> i32 {
        let part = (place - self.span.0) / (self.span.1 - self.span.0);
        pixels.0 + (part * f64::from(pixels.1 - pixels.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight() {
            KeyPointWeight::Bold => self.marks.iter().map(|mark| mark.0).collect(),
            KeyPointWeight::Any => Vec::new(),
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.span.0..self.span.1
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, place: &f64) -> String {
        self.marks.iter().find(|mark| mark.0 == *place).map_or(String::new(), |mark| mark.1.clone())
    }
}

fn draw_chart(area: &Area<'_>, plot: &Plot) -> Drawn<()> {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let x_span = plot.x.span(points().map(|point| point.x));
    // Bars may end below the chart, which often begins at zero, but not above it.
    let y_span = plot.y.span(points().flat_map(|point| [point.y, point.y + 2.0 * point.error]));
    let (x_marks, y_marks) = (plot.x.marks(x_span), plot.y.marks(y_span));
    let widest = y_marks.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .margin_right(2 * MARGIN)
        .x_label_area_size(40 * SCALE)
        .y_label_area_size((widest * LETTER * f64::from(TEXT)) as i32 + 30 * SCALE)
        .build_cartesian_2d(Scale { span: x_span, marks: x_marks }, Scale { span: y_span, marks: y_marks })?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.13).stroke_width(SCALE as u32 / 2))
        .x_desc(plot.x.label.clone())
        .y_desc(plot.y.label.clone())
        .axis_desc_style(text(TEXT + SCALE))
        .label_style(text(TEXT))
        .draw()?;

    let inside = |point: &Point| -> Option<Pixel> {
        let (x, y) = (plot.x.place(point.x)?, plot.y.place(point.y)?);
        let room = |span: (f64, f64)| 1e-9 * (span.1 - span.0);
        let within = |v: f64, span: (f64, f64)| v >= span.0 - room(span) && v <= span.1 + room(span);
        (within(x, x_span) && within(y, y_span)).then(|| chart.backend_coord(&(x, y)))
    };
    let base = area.get_base_pixel();
    let local = |(x, y): Pixel| (x - base.0, y - base.1);
    for series in &plot.series {
        let look = look(plot, &series.label);
        if series.form == Form::Points {
            continue;
        }
        // A curve that leaves the chart and comes back is two.
        for run in series.points.iter().map(inside).collect::<Vec<_>>().split(Option::is_none) {
            let pixels: Vec<Pixel> = run.iter().flatten().copied().map(local).collect();
            draw_path(area, series.form, &thinned(&pixels), look)?;
        }
    }
    // Points above all lines.
    for series in plot.series.iter().filter(|series| series.form == Form::Points) {
        draw_points(area, plot, series, y_span, &|point| inside(point).map(local))?;
    }
    Ok(())
}

/// Leaves out pixels that a path visits twice in a row.
fn thinned(pixels: &[Pixel]) -> Vec<Pixel> {
    let mut kept = pixels.to_vec();
    kept.dedup();
    kept
}

fn draw_path(area: &Area<'_>, form: Form, pixels: &[Pixel], look: Look) -> Drawn<()> {
    let style = look.colour.stroke_width(if form == Form::Line { 2 } else { 1 } * SCALE as u32);
    match form {
        Form::Line => area.draw(&PathElement::new(pixels.to_vec(), style))?,
        _ if pixels.len() > 1 => area.draw(&DashedPathElement::new(pixels.to_vec(), 6 * SCALE, 4 * SCALE, style))?,
        _ => {}
    }
    Ok(())
}

fn draw_points(
    area: &Area<'_>,
    plot: &Plot,
    series: &Series,
    y_span: (f64, f64),
    pixel: &dyn Fn(&Point) -> Option<Pixel>,
) -> Drawn<()> {
    let look = look(plot, &series.label);
    for point in &series.points {
        let Some((x, y)) = pixel(point) else { continue };
        // Two standard errors, cut off where the chart ends.
        let end = |sign: f64| {
            let end = point.y + sign * 2.0 * point.error;
            // On a logarithmic axis a bar to zero has no end: a tenth of the value stands for it.
            let place = plot.y.place(end).or_else(|| plot.y.place(point.y / 10.0)).unwrap_or(y_span.0);
            pixel(&Point { y: plot.y.value(place.clamp(y_span.0, y_span.1)), ..*point })
        };
        if point.error > 0.0
            && let (Some((_, bottom)), Some((_, top))) = (end(-1.0), end(1.0))
            && bottom - top > 2 * SHORTEST_BAR
        {
            let style = look.colour.stroke_width(SCALE as u32);
            area.draw(&PathElement::new(vec![(x, bottom), (x, top)], style))?;
            for y in [bottom, top] {
                area.draw(&PathElement::new(vec![(x - MARK, y), (x + MARK, y)], style))?;
            }
        }
        draw_mark(area, (x, y), look)?;
    }
    Ok(())
}

/// A disc, square, triangle, diamond, cross or ring: the colour is not all that tells series apart.
fn draw_mark(area: &Area<'_>, (x, y): Pixel, look: Look) -> Drawn<()> {
    let r = MARK;
    let shape = |corners: &[Pixel]| {
        let moved: Vec<Pixel> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        Polygon::new(moved, look.colour.filled())
    };
    match look.mark % 6 {
        0 => area.draw(&Circle::new((x, y), r, look.colour.filled()))?,
        1 => area.draw(&shape(&[(-r, -r), (r, -r), (r, r), (-r, r)]))?,
        2 => area.draw(&shape(&[(0, -r - 2), (r + 2, r), (-r - 2, r)]))?,
        3 => area.draw(&shape(&[(0, -r - 3), (r + 3, 0), (0, r + 3), (-r - 3, 0)]))?,
        4 => area.draw(&Cross::new((x, y), r, look.colour.stroke_width(2 * SCALE as u32)))?,
        _ => area.draw(&Circle::new((x, y), r, look.colour.stroke_width(SCALE as u32)))?,
    }
    Ok(())
}
