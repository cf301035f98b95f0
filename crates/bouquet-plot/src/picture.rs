//! A picture in SVG: paths, marks and text, in pixels from the upper left corner.

use std::fmt::Write;

/// A place in a picture: pixels from the left and from the top.
pub type Place = (f64, f64);

/// A colour: red, green, blue, and how opaque it is.
///
/// ```
/// use bouquet_plot::Colour;
/// assert_ne!(Colour::BLACK.faded(0.5), Colour::BLACK);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    rgb: (u8, u8, u8),
    opacity: f64,
}

impl Colour {
    /// Black.
    pub const BLACK: Colour = Colour::new(0, 0, 0);

    /// An opaque colour.
    ///
    /// ```
    /// use bouquet_plot::Colour;
    /// assert_eq!(Colour::new(0, 0, 0), Colour::BLACK);
    /// ```
    #[must_use]
    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Colour { rgb: (red, green, blue), opacity: 1.0 }
    }

    /// The same colour, only so opaque: 1 is as it was, 0 cannot be seen.
    ///
    /// ```
    /// use bouquet_plot::Colour;
    /// assert_eq!(Colour::BLACK.faded(1.0), Colour::BLACK);
    /// ```
    #[must_use]
    pub const fn faded(self, opacity: f64) -> Self {
        Colour { opacity, ..self }
    }

    /// The attribute `fill` or `stroke` of this colour.
    fn attribute(self, name: &str) -> String {
        let (red, green, blue) = self.rgb;
        let mut text = format!(" {name}=\"#{red:02x}{green:02x}{blue:02x}\"");
        if self.opacity < 1.0 {
            text += &format!(" {name}-opacity=\"{}\"", self.opacity);
        }
        text
    }
}

/// How a path is drawn.
///
/// ```
/// use bouquet_plot::{Colour, Stroke};
/// assert_ne!(Stroke::new(Colour::BLACK, 1.0).dashed(6.0, 4.0), Stroke::new(Colour::BLACK, 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    colour: Colour,
    width: f64,
    dashes: Option<(f64, f64)>,
}

impl Stroke {
    /// An unbroken stroke of this width in pixels.
    ///
    /// ```
    /// use bouquet_plot::{Colour, Stroke};
    /// assert_ne!(Stroke::new(Colour::BLACK, 1.0), Stroke::new(Colour::BLACK, 2.0));
    /// ```
    #[must_use]
    pub const fn new(colour: Colour, width: f64) -> Self {
        Stroke { colour, width, dashes: None }
    }

    /// Broken into dashes and gaps of these lengths.
    ///
    /// ```
    /// use bouquet_plot::{Colour, Stroke};
    /// let stroke = Stroke::new(Colour::BLACK, 1.0);
    /// assert_ne!(stroke.dashed(6.0, 4.0), stroke.dashed(3.0, 3.0));
    /// ```
    #[must_use]
    pub const fn dashed(self, dash: f64, gap: f64) -> Self {
        Stroke { dashes: Some((dash, gap)), ..self }
    }
}

/// The shape of a point, so that the colour is not all that tells series apart.
///
/// ```
/// use bouquet_plot::Mark;
/// assert_eq!(Mark::numbered(0), Mark::Disc);
/// assert_eq!(Mark::numbered(7), Mark::numbered(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A filled circle.
    Disc,
    /// A filled square.
    Square,
    /// A filled triangle.
    Triangle,
    /// A filled square on its corner.
    Diamond,
    /// Two crossing strokes.
    Cross,
    /// A circle.
    Ring,
}

impl Mark {
    /// Half the width of a mark, in pixels.
    pub const RADIUS: f64 = 4.0;

    /// The marks in turn.
    ///
    /// ```
    /// use bouquet_plot::Mark;
    /// assert_eq!(Mark::numbered(4), Mark::Cross);
    /// ```
    #[must_use]
    pub const fn numbered(at: usize) -> Self {
        [Mark::Disc, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Cross, Mark::Ring][at % 6]
    }
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How text is written: its middle, in height, stands at its place.
///
/// ```
/// use bouquet_plot::{Anchor, Text};
/// assert_ne!(Text::new(12.0).anchored(Anchor::Middle), Text::new(12.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text {
    size: f64,
    anchor: Anchor,
    colour: Colour,
    upwards: bool,
}

impl Text {
    /// Black text of this height, from its place to the right.
    ///
    /// ```
    /// assert_ne!(bouquet_plot::Text::new(12.0), bouquet_plot::Text::new(15.0));
    /// ```
    #[must_use]
    pub const fn new(size: f64) -> Self {
        Text { size, anchor: Anchor::Start, colour: Colour::BLACK, upwards: false }
    }

    /// With this part at its place.
    ///
    /// ```
    /// use bouquet_plot::{Anchor, Text};
    /// assert_eq!(Text::new(12.0).anchored(Anchor::Start), Text::new(12.0));
    /// ```
    #[must_use]
    pub const fn anchored(self, anchor: Anchor) -> Self {
        Text { anchor, ..self }
    }

    /// In this colour.
    ///
    /// ```
    /// use bouquet_plot::{Colour, Text};
    /// assert_eq!(Text::new(12.0).coloured(Colour::BLACK), Text::new(12.0));
    /// ```
    #[must_use]
    pub const fn coloured(self, colour: Colour) -> Self {
        Text { colour, ..self }
    }

    /// From below upwards.
    ///
    /// ```
    /// assert_ne!(bouquet_plot::Text::new(12.0).upwards(), bouquet_plot::Text::new(12.0));
    /// ```
    #[must_use]
    pub const fn upwards(self) -> Self {
        Text { upwards: true, ..self }
    }
}

/// About how wide a text will be, in pixels: readers have different fonts.
///
/// ```
/// assert!(bouquet_plot::text_width("bits per key", 12.0) > bouquet_plot::text_width("bits", 12.0));
/// ```
#[must_use]
pub fn text_width(text: &str, size: f64) -> f64 {
    /// The mean width of a letter, in parts of its height.
    const LETTER: f64 = 0.55;
    text.chars().count() as f64 * LETTER * size
}

/// A white picture that is drawn on from back to front.
///
/// ```
/// use bouquet_plot::{Colour, Mark, Picture, Text};
/// let mut picture = Picture::new(100.0, 50.0);
/// picture.mark((10.0, 10.0), Mark::Disc, Colour::BLACK);
/// picture.text((20.0, 10.0), "a < b", Text::new(12.0));
/// let svg = picture.svg();
/// assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("a &lt; b"));
/// ```
#[derive(Clone, Debug)]
pub struct Picture {
    size: (f64, f64),
    body: String,
}

impl Picture {
    /// An empty picture so wide and so high.
    ///
    /// ```
    /// assert!(bouquet_plot::Picture::new(100.0, 50.0).svg().contains("width=\"100\" height=\"50\""));
    /// ```
    #[must_use]
    pub fn new(width: f64, height: f64) -> Self {
        Picture { size: (width, height), body: String::new() }
    }

    /// A path from place to place. Of places less than half a pixel apart one is enough.
    ///
    /// ```
    /// use bouquet_plot::{Colour, Picture, Stroke};
    /// let mut picture = Picture::new(100.0, 50.0);
    /// picture.path(&[(1.0, 2.0), (1.1, 2.0), (3.0, 4.5)], Stroke::new(Colour::BLACK, 1.0));
    /// assert!(picture.svg().contains("points=\"1,2 3,4.5\""));
    /// ```
    pub fn path(&mut self, places: &[Place], stroke: Stroke) {
        let mut kept: Vec<Place> = Vec::new();
        for (at, place) in places.iter().enumerate() {
            let far = |from: &Place| (place.0 - from.0).abs().max((place.1 - from.1).abs()) >= 0.5;
            if kept.last().is_none_or(far) {
                kept.push(*place);
            } else if at + 1 == places.len() && kept.len() > 1 {
                kept.pop();
                kept.push(*place);
            }
        }
        if kept.len() < 2 {
            return;
        }
        let dashes = stroke.dashes.map_or(String::new(), |(dash, gap)| format!(" stroke-dasharray=\"{dash} {gap}\""));
        let colour = stroke.colour.attribute("stroke");
        self.tag(&format!(
            "polyline points=\"{}\" fill=\"none\"{colour} stroke-width=\"{}\"{dashes}",
            listed(&kept),
            stroke.width
        ));
    }

    /// A point.
    ///
    /// ```
    /// use bouquet_plot::{Colour, Mark, Picture};
    /// let mut picture = Picture::new(100.0, 50.0);
    /// picture.mark((10.0, 20.0), Mark::Disc, Colour::new(255, 0, 0));
    /// assert!(picture.svg().contains("<circle cx=\"10\" cy=\"20\" r=\"4\" fill=\"#ff0000\"/>"));
    /// ```
    pub fn mark(&mut self, (x, y): Place, mark: Mark, colour: Colour) {
        let r = Mark::RADIUS;
        let circle = format!("circle cx=\"{}\" cy=\"{}\"", pixel(x), pixel(y));
        match mark {
            Mark::Disc => self.tag(&format!("{circle} r=\"{r}\"{}", colour.attribute("fill"))),
            Mark::Ring => self.tag(&format!(
                "{circle} r=\"{}\" fill=\"none\"{} stroke-width=\"1.5\"",
                r - 0.5,
                colour.attribute("stroke")
            )),
            Mark::Square => {
                let r = 0.9 * r;
                self.shape(&[(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)], colour);
            }
            Mark::Triangle => self.shape(&[(x, y - 1.2 * r), (x + 1.2 * r, y + r), (x - 1.2 * r, y + r)], colour),
            Mark::Diamond => {
                let r = 1.3 * r;
                self.shape(&[(x, y - r), (x + r, y), (x, y + r), (x - r, y)], colour);
            }
            Mark::Cross => {
                let r = 0.9 * r;
                self.path(&[(x - r, y - r), (x + r, y + r)], Stroke::new(colour, 2.0));
                self.path(&[(x - r, y + r), (x + r, y - r)], Stroke::new(colour, 2.0));
            }
        }
    }

    fn shape(&mut self, corners: &[Place], colour: Colour) {
        self.tag(&format!("polygon points=\"{}\"{}", listed(corners), colour.attribute("fill")));
    }

    /// Text, whatever signs it has.
    ///
    /// ```
    /// use bouquet_plot::{Anchor, Picture, Text};
    /// let mut picture = Picture::new(100.0, 50.0);
    /// picture.text((50.0, 20.0), "x & y", Text::new(12.0).anchored(Anchor::Middle));
    /// assert!(picture.svg().contains("text-anchor=\"middle\"") && picture.svg().contains(">x &amp; y</text>"));
    /// ```
    pub fn text(&mut self, (x, y): Place, text: &str, how: Text) {
        /// From the middle of the small letters and the capitals to the line that they stand on, in parts of the size.
        const TO_BASE: f64 = 0.35;
        let shift = TO_BASE * how.size;
        let at = match how.upwards {
            false => format!("x=\"{}\" y=\"{}\"", pixel(x), pixel(y + shift)),
            true => format!("transform=\"translate({} {}) rotate(-90)\"", pixel(x + shift), pixel(y)),
        };
        let anchor = match how.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let colour = if how.colour == Colour::BLACK { String::new() } else { how.colour.attribute("fill") };
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "<text {at} font-size=\"{}\"{anchor}{colour}>{text}</text>", how.size);
    }

    fn tag(&mut self, tag: &str) {
        let _ = writeln!(self.body, "<{tag}/>");
    }

    /// The picture as an SVG document.
    ///
    /// ```
    /// assert!(bouquet_plot::Picture::new(9.0, 9.0).svg().contains("viewBox=\"0 0 9 9\""));
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        let [width, height] = [self.size.0, self.size.1].map(pixel);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A coordinate to a tenth of a pixel.
fn pixel(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

fn listed(places: &[Place]) -> String {
    places.iter().map(|(x, y)| format!("{},{}", pixel(*x), pixel(*y))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_where_its_last_place_is() {
        let mut picture = Picture::new(10.0, 10.0);
        picture.path(&[(0.0, 0.0), (5.0, 5.0), (5.2, 5.2)], Stroke::new(Colour::BLACK, 1.0));
        assert!(picture.svg().contains("points=\"0,0 5.2,5.2\""));
        let before = picture.svg();
        picture.path(&[(1.0, 1.0)], Stroke::new(Colour::BLACK, 1.0));
        assert_eq!(picture.svg(), before, "one place is no path");
    }

    #[test]
    fn every_mark_is_drawn_in_its_colour() {
        for at in 0..6 {
            let mut picture = Picture::new(10.0, 10.0);
            picture.mark((5.0, 5.0), Mark::numbered(at), Colour::new(1, 2, 3).faded(0.5));
            assert!(picture.svg().contains("#010203") && picture.svg().contains("opacity=\"0.5\""));
        }
    }
}
