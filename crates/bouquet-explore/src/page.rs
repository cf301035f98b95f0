//! The files of the page: part of the program, so that nothing is loaded from anywhere else.

/// A file of the page.
pub struct File {
    /// Its name in the address.
    pub name: &'static str,
    /// What it is, for browsers.
    pub media: &'static str,
    /// Its content.
    pub content: &'static str,
}

macro_rules! files {
    ($($name:literal $media:literal;)*) => {
        /// All of them.
        pub const FILES: &[File] = &[$(File { name: $name, media: $media, content: include_str!(concat!("../page/", $name)) },)*];
    };
}

files! {
    "index.html" "text/html; charset=utf-8";
    "style.css" "text/css; charset=utf-8";
    "main.js" "text/javascript; charset=utf-8";
    "engine.js" "text/javascript; charset=utf-8";
    "parts.js" "text/javascript; charset=utf-8";
    "chart.js" "text/javascript; charset=utf-8";
    "choose.js" "text/javascript; charset=utf-8";
    "see.js" "text/javascript; charset=utf-8";
    "inspect.js" "text/javascript; charset=utf-8";
    "read.js" "text/javascript; charset=utf-8";
    "icon.svg" "image/svg+xml";
}

/// The file of this name; the page itself has none.
#[must_use]
pub fn find(name: &str) -> Option<&'static File> {
    let name = if name.is_empty() { "index.html" } else { name };
    FILES.iter().find(|file| file.name == name)
}
