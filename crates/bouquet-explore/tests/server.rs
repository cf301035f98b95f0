//! The server: who may ask, and what is answered, over real connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use bouquet_explore::engine::Local;
use bouquet_explore::page::FILES;
use bouquet_explore::server::Server;
use serde_json::Value;

/// A server that runs until the tests end, and its address: host and token.
fn server() -> (String, String) {
    let server = Server::new(0, Arc::new(Local)).unwrap();
    let address = server.address();
    std::thread::spawn(|| server.run());
    let rest = address.strip_prefix("http://").unwrap();
    let (host, token) = rest.split_once('/').unwrap();
    (host.to_string(), token.trim_end_matches('/').to_string())
}

/// The status and the body of the answer to what is sent.
fn talk(host: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_string())
}

fn get(host: &str, path: &str, headers: &str) -> u16 {
    talk(host, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n")).0
}

#[test]
fn only_those_who_know_the_token_are_answered() {
    let (host, token) = server();
    assert_eq!(token.len(), 32);
    for file in FILES {
        assert_eq!(get(&host, &format!("/{token}/{}", file.name), ""), 200, "{}", file.name);
    }
    assert_eq!(get(&host, &format!("/{token}/"), ""), 200);
    let wrong = format!("{}{}", &token[..31], if token.ends_with('0') { '1' } else { '0' });
    for path in
        ["/", "/index.html", "//", &format!("/{wrong}/"), &format!("/{}/", &token[..31]), &format!("/{token}0/")]
    {
        assert_eq!(get(&host, path, ""), 403, "{path}");
    }
    assert_eq!(get(&host, &format!("/{token}/../secret"), ""), 404);
    let (other, _) = server();
    assert_eq!(get(&other, &format!("/{token}/"), ""), 403, "every server has a token of its own");
}

#[test]
fn other_origins_and_hosts_are_refused_whatever_they_know() {
    let (host, token) = server();
    let path = format!("/{token}/api/kinds");
    let post = |host_header: &str, headers: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host_header}\r\n{headers}Content-Length: 0\r\n\r\n");
        talk(&host, &head).0
    };
    assert_eq!(post(&host, ""), 200);
    assert_eq!(post(&host, &format!("Origin: http://{host}\r\n")), 200);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", &format!("https://{host}")] {
        assert_eq!(post(&host, &format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(post("evil.example", ""), 403, "a name that was made to point here");
    assert_eq!(talk(&host, &format!("POST {path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n")).0, 403, "no host");
}

#[test]
fn malformed_requests_are_refused() {
    let (host, token) = server();
    let line = format!("POST /{token}/api/kinds HTTP/1.1\r\nHost: {host}\r\n");
    assert_eq!(talk(&host, &format!("{line}\r\n")).0, 413, "no length");
    assert_eq!(talk(&host, &format!("{line}Content-Length: 99999999999\r\n\r\n")).0, 413);
    assert_eq!(talk(&host, &format!("{line}Content-Length: x\r\n\r\n")).0, 400);
    assert_eq!(talk(&host, &format!("{line}Content-Length: 0\r\nContent-Length: 1\r\n\r\n")).0, 400);
    assert_eq!(talk(&host, &format!("{line}Transfer-Encoding: chunked\r\n\r\n")).0, 400);
    assert_eq!(talk(&host, &format!("{line}nothing\r\n\r\n")).0, 400);
    assert_eq!(get(&host, &format!("/{token}/api/kinds"), ""), 405, "questions are asked by POST");
    let (status, body) = talk(&host, &format!("{line}Content-Length: 1\r\n\r\n{{"));
    let error: Value = serde_json::from_str(&body).unwrap();
    assert!(status == 422 && error["error"].as_str().unwrap().contains("JSON"), "{error}");
}

#[test]
fn nothing_of_the_page_is_loaded_from_elsewhere() {
    for file in FILES {
        for scheme in ["http://", "https://", "//cdn"] {
            let allowed = file.content.replace("http://www.w3.org/", "");
            assert!(!allowed.contains(scheme), "{} loads from {scheme}", file.name);
        }
    }
}
