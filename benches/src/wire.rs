//! Servers that run as processes of their own, and what is said to them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::fault::{Fault, Outcome};

/// How an answer's head ends.
const END: &[u8] = b"\r\n\r\n";

/// A server that runs. It ends with this.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: String,
    /// Read to its end by nobody: what is said there is little.
    _said: BufReader<ChildStderr>,
}

impl Server {
    /// Starts a server in a folder, and waits until it says where it listens.
    ///
    /// # Errors
    /// Where it does not.
    pub fn start(program: &Path, arguments: &[&str], folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let said = child.stderr.take().ok_or_else(|| Fault::new("a process has no standard error"))?;
        let (mut said, mut line) = (BufReader::new(said), String::new());
        said.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening at ").ok_or_else(|| Fault::new(line.trim()))?;
        let address = address.strip_prefix("http://").unwrap_or(address).to_owned();
        Ok(Self { child, address, _said: said })
    }

    /// Bytes of memory that it has in use.
    ///
    /// # Errors
    /// Where the system does not say it.
    pub fn memory(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kilobytes =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
        let kilobytes: Option<u64> = kilobytes.and_then(|text| text.parse().ok());
        kilobytes
            .map(|kilobytes| kilobytes * 1024)
            .ok_or_else(|| Fault::new("the system does not say what is in use"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection.
pub struct Wire {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

trait Stream: Read + Write + Send {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl Wire {
    /// A connection to that address.
    ///
    /// # Errors
    /// Where there is none.
    pub fn connect(address: &str) -> Outcome<Self> {
        let stream: Box<dyn Stream> = match address.strip_prefix("unix:") {
            Some(path) => Box::new(UnixStream::connect(path)?),
            None => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        };
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends JSON, and gives the answer.
    ///
    /// # Errors
    /// Where it is not answered with a status of success.
    pub fn post(&mut self, path: &str, body: &str) -> Outcome<String> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(head.as_bytes())?;
        let (status, answer) = self.answer()?;
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        Err(Fault::new(format!("{path} was answered with {status}: {answer}")))
    }

    fn answer(&mut self) -> Outcome<(u16, String)> {
        let cut_off = || Fault::new("an answer was cut off");
        let mut chunk = [0_u8; 16 * 1024];
        self.buffer.clear();
        loop {
            if let Some(end) = self.buffer.windows(END.len()).position(|window| window == END) {
                let head = String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default()).into_owned();
                let status =
                    head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut_off)?;
                let length =
                    head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                let whole = end + END.len() + length.unwrap_or(0_usize);
                if self.buffer.len() >= whole {
                    let body = self.buffer.get(end + END.len()..whole).unwrap_or_default();
                    return Ok((status, String::from_utf8_lossy(body).into_owned()));
                }
            }
            match self.stream.read(&mut chunk)? {
                0 => return Err(cut_off()),
                read => self.buffer.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            }
        }
    }
}

/// The figure that so many hundredths of these are not above.
pub fn quantile(values: &mut [f64], hundredths: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get((values.len() * hundredths / 100).min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}
