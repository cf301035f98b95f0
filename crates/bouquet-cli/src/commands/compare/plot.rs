//! The drawing: a point per kind, its name beside it.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Axis;
use super::measure::Measured;

type Failure = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (960, 640);
const SMALL: i32 = 13;
/// The width of a letter and the height of a line, in pixels, for finding room.
const LETTER: i32 = 7;
const LINE: i32 = 15;
const RADIUS: i32 = 4;

/// A colour for each family, apart from each other also for those who see red and green alike.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(120, 94, 240),
    RGBColor(148, 103, 20),
    RGBColor(86, 160, 210),
    RGBColor(90, 90, 90),
    RGBColor(160, 0, 40),
];

/// A kind in the drawing.
struct Point {
    name: &'static str,
    family: &'static str,
    at: (f64, f64),
}

/// Draws the kinds that have both numbers.
pub fn draw(measured: &[Measured], axis: Axis, items: u64, fpr: f64) -> Result<String, Failure> {
    let point = |row: &Measured| {
        let height = match axis {
            Axis::Bits => Some(row.bits_per_key),
            // No false positive among the queries has no place on a logarithmic axis.
            Axis::Rate => row.false_positives.measured.filter(|rate| *rate > 0.0),
        };
        let facts = row.kind.facts();
        Some(Point { name: facts.id, family: facts.family, at: (row.contains?, height?) })
    };
    let points: Vec<Point> = measured.iter().filter_map(point).collect();
    if points.is_empty() {
        return Err("no kind has both numbers to draw".into());
    }
    let left_out: Vec<_> = measured.iter().map(|row| row.kind.facts().id).collect();
    let left_out: Vec<_> = left_out.into_iter().filter(|id| !points.iter().any(|point| point.name == *id)).collect();
    let mut drawing = String::new();
    let caption = format!("{} keys in filters made for {} of false positives", grouped(items), percent(fpr));
    scatter(&mut drawing, &points, axis, &caption, &left_out)?;
    Ok(drawing)
}

/// The extremes of a coordinate with room around them.
fn range(values: impl Iterator<Item = f64> + Clone) -> std::ops::Range<f64> {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    low / 1.35..high * 1.35
}

/// 1, 2, 5, 10, 20, .. in a range; every whole step where that leaves too few.
fn marks(range: &std::ops::Range<f64>) -> Vec<f64> {
    let decades = (range.start.log10().floor() as i32)..=(range.end.log10().ceil() as i32);
    let steps = |steps: &[u32]| -> Vec<f64> {
        // Parsed, for 10^-3 computed is not 0.001.
        let all = decades.clone().flat_map(|decade| steps.iter().map(move |step| format!("{step}e{decade}")));
        all.filter_map(|text| text.parse().ok()).filter(|mark| range.contains(mark)).collect()
    };
    let few = steps(&[1, 2, 5]);
    if few.len() >= 3 { few } else { steps(&[1, 2, 3, 4, 5, 6, 7, 8, 9]) }
}

fn font(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).pos(Pos::new(HPos::Left, VPos::Center))
}

fn colour(families: &[&str], family: &str) -> RGBColor {
    COLOURS[families.iter().position(|other| *other == family).unwrap_or(0) % COLOURS.len()]
}

fn scatter(out: &mut String, points: &[Point], axis: Axis, caption: &str, left_out: &[&str]) -> Result<(), Failure> {
    let root = SVGBackend::with_string(out, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (times, heights) = (range(points.iter().map(|p| p.at.0)), range(points.iter().map(|p| p.at.1)));
    let mut families: Vec<&str> = Vec::new();
    points.iter().for_each(|point| {
        if !families.contains(&point.family) {
            families.push(point.family)
        }
    });

    let widest = families.iter().map(|family| family.len()).max().unwrap_or(0).max(6) as i32 * LETTER + 20;
    let legend = SIZE.0 as i32 - widest;
    let mut chart = ChartBuilder::on(&root)
        .caption(caption, ("sans-serif", 20))
        .margin(12)
        .margin_top(8)
        .margin_bottom(if left_out.is_empty() { 12 } else { 34 })
        .margin_right(widest + 24)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(
            times.clone().log_scale().with_key_points(marks(&times)),
            heights.clone().log_scale().with_key_points(marks(&heights)),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("nanoseconds per query (median; better to the left)")
        .y_desc(match axis {
            Axis::Bits => "bits per key (better below)",
            Axis::Rate => "measured false-positive rate (better below)",
        })
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", SMALL))
        .x_label_formatter(&|time| format!("{time}"))
        .y_label_formatter(&|height| match axis {
            Axis::Bits => format!("{height}"),
            Axis::Rate => percent(*height),
        })
        .draw()?;

    let spots: Vec<(i32, i32)> = points.iter().map(|point| chart.backend_coord(&point.at)).collect();
    let plane = chart.plotting_area().get_pixel_range();
    // The legend has the margin to itself: among the points its own would be taken for kinds.
    root.draw(&Text::new("family", (legend, plane.1.start + LINE), font(SMALL).color(&BLACK.mix(0.6))))?;
    for (row, family) in (2..).zip(&families) {
        let (x, y) = (legend + RADIUS, plane.1.start + row * LINE);
        root.draw(&Circle::new((x, y), RADIUS, colour(&families, family).filled()))?;
        root.draw(&Text::new(family.to_string(), (x + 10, y), font(SMALL).color(&BLACK.mix(0.8))))?;
    }
    names(&root, points, &spots, &families, (plane.0.start, legend - 4))?;
    if !left_out.is_empty() {
        let text = format!("not drawn, for no false positive was seen: {}", left_out.join(", "));
        root.draw(&Text::new(text, (84, SIZE.1 as i32 - 16), font(SMALL).color(&BLACK.mix(0.6))))?;
    }
    root.present()?;
    Ok(())
}

/// A rectangle of pixels.
#[derive(Clone, Copy)]
struct Room {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl Room {
    fn meets(&self, other: &Room) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn holds(&self, (x, y): (i32, i32)) -> bool {
        self.meets(&Room { left: x - RADIUS, top: y - RADIUS, right: x + RADIUS, bottom: y + RADIUS })
    }
}

/// Draws the points, and each name as near to its point as there is room for it; one that is not beside its point gets a line
/// to it.
fn names(
    root: &Area<'_>,
    points: &[Point],
    spots: &[(i32, i32)],
    families: &[&str],
    (left, right): (i32, i32),
) -> Result<(), Failure> {
    let mut taken: Vec<Room> = Vec::new();
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|&at| spots[at]);
    for at in order {
        let (x, y) = spots[at];
        let width = points[at].name.len() as i32 * LETTER + 2;
        let place = |dx: i32, dy: i32| {
            let left = if dx < 0 { x + dx - width } else { x + dx };
            Room { left, top: y + dy - LINE / 2, right: left + width, bottom: y + dy + LINE / 2 }
        };
        let free = |place: &Room| {
            let inside = place.left >= left && place.right <= right;
            let clear = !spots.iter().enumerate().any(|(other, spot)| other != at && place.holds(*spot));
            inside && clear && !taken.iter().any(|other| place.meets(other))
        };
        let rings = (0..20).flat_map(|ring| {
            let far = ring * 11;
            [(8 + far / 2, -far), (8 + far / 2, far), (-8 - far / 2, -far), (-8 - far / 2, far)]
        });
        let found = rings.map(|(dx, dy)| ((dx, dy), place(dx, dy))).find(|(_, place)| free(place));
        let ((dx, dy), spot) = found.unwrap_or_else(|| ((8, 0), place(8, 0)));
        let colour = colour(families, points[at].family);
        if dy != 0 {
            let end = if dx < 0 { spot.right } else { spot.left };
            root.draw(&PathElement::new(vec![(x, y), (end, y + dy)], colour.mix(0.5)))?;
        }
        root.draw(&Circle::new((x, y), RADIUS, colour.filled()))?;
        let (side, start) = if dx < 0 { (HPos::Right, spot.right) } else { (HPos::Left, spot.left) };
        let style = font(SMALL).color(&colour).pos(Pos::new(side, VPos::Center));
        root.draw(&Text::new(points[at].name, (start, y + dy), style))?;
        taken.push(spot);
    }
    Ok(())
}

/// A rate for people, without a tail of zeros.
fn percent(rate: f64) -> String {
    let digits = (-(100.0 * rate).log10()).ceil().max(0.0) as usize;
    format!("{:.*} %", digits, 100.0 * rate)
}

/// A whole number with commas between the thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([7, 1_000, 200_000, 1_234_567].map(grouped), ["7", "1,000", "200,000", "1,234,567"]);
        assert_eq!([0.01, 0.0005, 0.5].map(percent), ["1 %", "0.05 %", "50 %"]);
    }

    #[test]
    fn marks_are_round_and_several() {
        assert_eq!(marks(&(80.0..1_100.0)), [100.0, 200.0, 500.0, 1_000.0]);
        assert_eq!(marks(&(9.0..13.0)), [9.0, 10.0]);
        assert_eq!(marks(&(0.0008..0.012)), [0.001, 0.002, 0.005, 0.01]);
    }
}
