//! HTTP/1.1 on the loopback interface, as little of it as the page needs.
//!
//! Whoever asks must know the token, which is part of every address; a page of another origin is refused whatever it knows, and so is a
//! request for another host, as one that reaches this machine by a name that was made to point here. Answers may not be framed, kept or
//! read by other origins, and the page may load nothing from anywhere else.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{Engine, Problem};
use crate::page;

/// The longest head of a request.
const HEAD: u64 = 16 << 10;

/// The largest body: a filter that is inspected.
const BODY: usize = 256 << 20;

/// How long a browser may take between bytes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests that are answered at the same time.
const AT_ONCE: usize = 16;

/// A server that has its port and waits for requests.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    engine: Arc<dyn Engine>,
}

impl Server {
    /// Takes a port, any free one for 0, and a token.
    pub fn new(port: u16, engine: Arc<dyn Engine>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let token = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Server { listener, address, token, engine })
    }

    /// The address of the page.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Answers requests for ever.
    pub fn run(self) -> io::Result<()> {
        let server = Arc::new(self);
        let busy = Arc::new(());
        for stream in server.listener.incoming() {
            let Ok(stream) = stream else { continue };
            // Each thread has a handle of it, and one is here.
            if Arc::strong_count(&busy) > AT_ONCE {
                let _ = respond(&stream, &Answer::refused(503, "too many requests at once; try again"));
                continue;
            }
            let (server, busy) = (server.clone(), busy.clone());
            std::thread::spawn(move || {
                let _ = server.serve(&stream);
                drop(busy);
            });
        }
        Ok(())
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(stream);
        let answer = match Request::read(&mut reader) {
            Ok(head) => match self.admit(&head) {
                Ok(path) => {
                    let path = path.to_string();
                    self.answer(&head, &path, &mut reader)
                }
                Err(answer) => answer,
            },
            Err(why) => Answer::refused(400, &why),
        };
        respond(stream, &answer)
    }

    /// The path behind the token, for those who may ask.
    fn admit<'a>(&self, request: &'a Request) -> Result<&'a str, Answer> {
        let hosts = [self.address.to_string(), format!("localhost:{}", self.address.port())];
        if !request.host.as_ref().is_some_and(|host| hosts.contains(host)) {
            return Err(Answer::refused(403, "this server answers on the loopback interface alone"));
        }
        let own = |origin: &String| hosts.iter().any(|host| *origin == format!("http://{host}"));
        if request.origin.as_ref().is_some_and(|origin| !own(origin)) {
            return Err(Answer::refused(403, "pages of another origin may not ask"));
        }
        let path = request.path.strip_prefix('/').unwrap_or(&request.path);
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        // The same time for every wrong token of the right length.
        let differs = token.bytes().zip(self.token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
        if token.len() != self.token.len() || differs != 0 {
            return Err(Answer::refused(403, "the address lacks the token that `bouquet explore` has printed"));
        }
        Ok(rest)
    }

    fn answer(&self, request: &Request, path: &str, reader: &mut impl Read) -> Answer {
        match (request.method.as_str(), path.strip_prefix("api/")) {
            ("POST", Some(question)) => {
                let Some(length) = request.length.filter(|length| *length <= BODY) else {
                    return Answer::refused(413, "the request has no length, or is larger than 256 MiB");
                };
                let mut body = Vec::new();
                match reader.take(length as u64).read_to_end(&mut body) {
                    Ok(read) if read == length => Answer::of(ask(&*self.engine, question, &body)),
                    _ => Answer::refused(400, "the request ended early"),
                }
            }
            ("GET", None) => match page::find(path) {
                Some(file) => Answer { status: 200, media: file.media, body: file.content.into() },
                None => Answer::refused(404, "there is no such page"),
            },
            _ => Answer::refused(405, "pages are fetched by GET, questions asked by POST"),
        }
    }
}

/// Asks an engine the question of this name: one endpoint for each.
pub fn ask(engine: &dyn Engine, question: &str, body: &[u8]) -> Result<Value, Problem> {
    if question == "inspect" {
        return engine.inspect(body);
    }
    let argument: Value = match body {
        [] => Value::Null,
        body => serde_json::from_slice(body).map_err(|error| Problem(format!("the question is no JSON: {error}")))?,
    };
    match question {
        "kinds" => engine.kinds(),
        "advise" => engine.advise(&argument),
        "curves" => engine.curves(&argument),
        "see" => engine.see(&argument),
        "text" => engine.text(&argument),
        "experiments" => engine.experiments(),
        "experiment" => engine.experiment(&argument),
        other => Err(Problem(format!("there is no question `{other}`"))),
    }
}

/// The head of a request, as far as it matters.
#[derive(Debug, Default)]
struct Request {
    method: String,
    path: String,
    host: Option<String>,
    origin: Option<String>,
    length: Option<usize>,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Result<Self, String> {
        let mut head = reader.take(HEAD);
        let mut line = || {
            let mut line = Vec::new();
            head.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
            let line = line.strip_suffix(b"\n").ok_or("the head of the request ended early or is too long")?;
            String::from_utf8(line.strip_suffix(b"\r").unwrap_or(line).to_vec()).map_err(|error| error.to_string())
        };
        let first = line()?;
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default().to_string(), words.next().unwrap_or_default());
        let path = path.split(['?', '#']).next().unwrap_or_default().to_string();
        let mut request = Request { method, path, ..Request::default() };
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(':') else {
                return if line.is_empty() { Ok(request) } else { Err("a header has no colon".into()) };
            };
            let value = value.trim();
            let twice = match name.to_ascii_lowercase().as_str() {
                "host" => request.host.replace(value.to_ascii_lowercase()).is_some(),
                "origin" => request.origin.replace(value.to_ascii_lowercase()).is_some(),
                "content-length" => {
                    let length = value.parse().map_err(|_| "the length of the body is no number".to_string())?;
                    request.length.replace(length).is_some()
                }
                "transfer-encoding" => return Err("the body must come in one piece".into()),
                _ => false,
            };
            if twice {
                return Err(format!("the header {name} is given twice"));
            }
        }
    }
}

/// What is sent back.
struct Answer {
    status: u16,
    media: &'static str,
    body: Vec<u8>,
}

impl Answer {
    fn refused(status: u16, why: &str) -> Self {
        Answer { status, ..Answer::json(&json!({ "error": why })) }
    }

    fn json(value: &Value) -> Self {
        Answer { status: 200, media: "application/json", body: value.to_string().into_bytes() }
    }

    fn of(answer: Result<Value, Problem>) -> Self {
        match answer {
            Ok(value) => Answer::json(&value),
            Err(Problem(why)) => Answer::refused(422, &why),
        }
    }
}

fn respond(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        _ => "Service Unavailable",
    };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n",
        answer.status,
        answer.media,
        answer.body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&answer.body)?;
    stream.flush()
}
