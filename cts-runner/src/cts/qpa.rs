//! Reads deqp's log file (`.qpa`), which consists of marker lines around one XML document per case.
//!
//! [`LogTail`] follows a log while deqp writes it and returns each case once, after the case has
//! ended. It limits its memory: the part of a case's log beyond [`LOG_LIMIT`] is dropped, but its
//! result is kept. [`document`] converts the log of a case into readable parts. Sample lists and
//! other parts that only deqp's performance tools read are shown as plain text.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Maximum number of bytes that are kept of one case's log.
pub const LOG_LIMIT: usize = 8 << 20;
const LINE_LIMIT: usize = 1 << 20;
const MESSAGE_LIMIT: usize = 4 << 10;

/// A case that has ended, as recorded in the log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogEntry {
    /// Full name of the case.
    pub name: String,
    /// Result code of deqp.
    pub code: String,
    /// Explanation that deqp gives for the result.
    pub message: String,
    /// Time that deqp measured, in seconds.
    pub seconds: Option<f64>,
    /// XML of the case, up to [`LOG_LIMIT`].
    pub log: Vec<u8>,
}

/// Reader that follows a growing log.
#[derive(Debug)]
pub struct LogTail {
    path: PathBuf,
    file: Option<File>,
    line: Vec<u8>,
    open: Option<LogEntry>,
    /// Text of the `Result` element while it is read, because it can span several lines.
    result: Option<String>,
    /// Name of the device in the header of the log.
    pub device: Option<String>,
    /// Release of the CTS in the header of the log.
    pub release: Option<String>,
}

impl LogTail {
    /// Creates a reader of the log at `path`, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None, line: Vec::new(), open: None, result: None, device: None, release: None }
    }

    /// Returns the cases that have ended since the last call.
    pub fn poll(&mut self) -> Vec<LogEntry> {
        let mut ended = Vec::new();
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(mut file) = self.file.take() else { return ended };
        let mut buffer = [0; 64 << 10];
        while let Ok(count @ 1..) = file.read(&mut buffer) {
            self.feed(&buffer[..count], &mut ended);
        }
        self.file = Some(file);
        ended
    }

    /// Returns the case that has begun and not ended. After the end of the process, this is the
    /// case that ended it.
    pub fn running(&self) -> Option<&str> {
        self.open.as_ref().map(|entry| entry.name.as_str())
    }

    /// Takes the case that has begun and not ended, with its log so far.
    pub fn take_running(&mut self) -> Option<LogEntry> {
        self.open.take()
    }

    fn feed(&mut self, mut bytes: &[u8], ended: &mut Vec<LogEntry>) {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|&b| b == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = LINE_LIMIT.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            bytes = &bytes[part.len() + usize::from(end.is_some())..];
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                ended.extend(self.read_line(&line));
                self.line = line;
                self.line.clear();
            }
        }
    }

    fn read_line(&mut self, line: &[u8]) -> Option<LogEntry> {
        if line.first() != Some(&b'#') {
            self.read_xml(line);
            return None;
        }
        let text = String::from_utf8_lossy(line);
        let (marker, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match (marker, self.open.is_some()) {
            ("#sessionInfo", false) => match rest.split_once(' ') {
                Some(("deviceName", name)) => self.device = Some(name.trim().into()),
                Some(("releaseName", name)) => self.release = Some(name.trim().into()),
                _ => {}
            },
            ("#beginTestCaseResult", _) => {
                self.open = Some(LogEntry { name: rest.trim().into(), ..LogEntry::default() });
                self.result = None;
            }
            ("#endTestCaseResult", _) => return self.open.take().filter(|entry| !entry.code.is_empty()),
            ("#terminateTestCaseResult", true) => {
                let ended =
                    |entry| LogEntry { code: rest.trim().into(), message: "ended by deqp itself".into(), ..entry };
                return self.open.take().map(ended);
            }
            (_, true) => self.read_xml(line),
            _ => {}
        }
        None
    }

    fn read_xml(&mut self, line: &[u8]) {
        let Some(entry) = &mut self.open else { return };
        if entry.log.len() + line.len() < LOG_LIMIT {
            entry.log.extend_from_slice(line);
            entry.log.push(b'\n');
        }
        let head = &line[..line.len().min(MESSAGE_LIMIT)];
        let text = String::from_utf8_lossy(head);
        if let Some((_, rest)) = text.split_once("<Number Name=\"TestDuration\"") {
            let micros = rest.split_once('>').and_then(|(_, number)| number.split_once('<'));
            entry.seconds =
                micros.and_then(|(number, _)| number.trim().parse::<f64>().ok()).map(|micros| micros * 1e-6);
        }
        if self.result.is_none() && text.contains("<Result StatusCode=\"") {
            self.result = Some(String::new());
        }
        let Some(result) = &mut self.result else { return };
        if result.len() < MESSAGE_LIMIT {
            result.push_str(&text);
            result.push('\n');
        }
        if text.contains("</Result>") || text.contains("/>") {
            let after = result.split_once("<Result StatusCode=\"").map_or("", |(_, after)| after);
            let (code, rest) = after.split_once('"').unwrap_or((after, ""));
            let message = rest.split_once('>').map_or("", |(_, message)| message);
            entry.code = unescape(code);
            entry.message = unescape(message.split_once("</Result>").map_or(message, |(message, _)| message));
            self.result = None;
        }
    }
}

/// A part of a case's log.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Title of a section or of a set of images.
    Title(String),
    /// Lines of text.
    Text(String),
    /// An image.
    Image(Image),
}

/// An image in a log.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// Description of the image.
    pub title: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Number of channels of an uncompressed image: 3 or 4.
    pub channels: u32,
    /// True if the data are a PNG file, false if they are rows of pixels.
    pub png: bool,
    /// Data in base64, without white space.
    pub base64: String,
}

/// Returns the readable parts of the log of one case. It never fails, because unknown elements are
/// treated as text.
pub fn document(xml: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = xml;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, after)) = after.split_once('>') else { break };
        let (content, _) = after.split_once('<').unwrap_or((after, ""));
        rest = after;
        let name = tag.split([' ', '/', '\n']).next().unwrap_or("");
        part(name, tag, content, &mut parts);
    }
    parts
}

fn part(name: &str, tag: &str, content: &str, parts: &mut Vec<Part>) {
    let described = || match (attribute(tag, "Name"), attribute(tag, "Description")) {
        (Some(name), Some(text)) if name != text => format!("{text} ({name})"),
        (name, text) => text.or(name).unwrap_or_default(),
    };
    match name {
        // The report shows the result in its own line, and the first element only repeats the name
        // of the case.
        "" | "?xml" | "TestCaseResult" | "Result" => {}
        "Section" | "ImageSet" | "CompileInfo" => parts.push(Part::Title(described())),
        "Image" => {
            let number = |key| attribute(tag, key).and_then(|text| text.parse().ok()).unwrap_or(0);
            parts.push(Part::Image(Image {
                title: described(),
                width: number("Width"),
                height: number("Height"),
                channels: if attribute(tag, "Format").as_deref() == Some("RGB888") { 3 } else { 4 },
                png: attribute(tag, "CompressionMode").as_deref() == Some("PNG"),
                base64: content.split_ascii_whitespace().collect(),
            }));
        }
        "Number" => {
            let unit = attribute(tag, "Unit").unwrap_or_default();
            parts.push(Part::Text(format!("{} = {} {unit}", described(), unescape(content.trim()))));
        }
        _ => {
            let text = unescape(content.trim_matches('\n'));
            if !text.trim().is_empty() {
                parts.push(Part::Text(text));
            }
        }
    }
}

fn attribute(tag: &str, key: &str) -> Option<String> {
    let (_, after) = tag.split_once(&format!(" {key}=\""))?;
    after.split_once('"').map(|(value, _)| unescape(value))
}

/// Reverts deqp's escapes (`qpXmlWriter`).
fn unescape(text: &str) -> String {
    const ESCAPES: [(&str, &str); 4] = [("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&quot;", "\"")];
    if !text.contains('&') {
        return text.into();
    }
    let text = ESCAPES.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "#sessionInfo releaseName vulkan-cts-1.4\n#sessionInfo deviceName Grus (2 threads)\n\n#beginSession\n\
\n#beginTestCaseResult g.pass\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TestCaseResult CasePath=\"g.pass\">\n\
 <Number Name=\"TestDuration\" Description=\"d\" Tag=\"Time\" Unit=\"us\">2500</Number>\n\
 <Result StatusCode=\"Pass\">fine</Result>\n</TestCaseResult>\n\n#endTestCaseResult\n\
\n#beginTestCaseResult g.fail\n<TestCaseResult CasePath=\"g.fail\">\n <Text>a &lt; b &amp;&amp; c\n#endish</Text>\n\
 <ImageSet Name=\"Set\" Description=\"Comparison\">\n  <Image Name=\"R\" Width=\"2\" Height=\"1\" Format=\"RGBA8888\" \
CompressionMode=\"PNG\" Description=\"Result\">\n   iVBO\n   Rw0=\n</Image>\n</ImageSet>\n\
 <Result StatusCode=\"Fail\">line 1\nline &quot;2&quot;</Result>\n</TestCaseResult>\n\n#endTestCaseResult\n\
\n#beginTestCaseResult g.dead\n<TestCaseResult CasePath=\"g.dead\">\n <Text>so far</Text>\n";

    fn follow(pieces: usize) -> (LogTail, Vec<LogEntry>) {
        let mut tail = LogTail::new(PathBuf::new());
        let mut ended = Vec::new();
        LOG.as_bytes().chunks(pieces).for_each(|bytes| tail.feed(bytes, &mut ended));
        (tail, ended)
    }

    #[test]
    fn cases_are_read_once_for_any_split_of_the_log() {
        for pieces in [1, 7, 64, 100_000] {
            let (mut tail, ended) = follow(pieces);
            assert_eq!(tail.device.as_deref(), Some("Grus (2 threads)"));
            assert_eq!(tail.release.as_deref(), Some("vulkan-cts-1.4"));
            let cases: Vec<_> = ended.iter().map(|e| (e.name.as_str(), e.code.as_str(), e.message.as_str())).collect();
            assert_eq!(cases, [("g.pass", "Pass", "fine"), ("g.fail", "Fail", "line 1\nline \"2\"")]);
            assert_eq!((ended[0].seconds, ended[1].seconds), (Some(0.0025), None));
            assert_eq!(tail.running(), Some("g.dead"));
            assert!(String::from_utf8(tail.take_running().unwrap().log).unwrap().contains("so far"));
        }
    }

    #[test]
    fn documents_have_text_and_images() {
        let (_, ended) = follow(64);
        let parts = document(std::str::from_utf8(&ended[1].log).unwrap());
        assert_eq!(parts[0], Part::Text("a < b && c\n#endish".into()));
        assert_eq!(parts[1], Part::Title("Comparison (Set)".into()));
        let Part::Image(image) = &parts[2] else { panic!("{parts:?}") };
        assert_eq!((image.title.as_str(), image.base64.as_str(), image.png), ("Result (R)", "iVBORw0=", true));
        assert_eq!(parts.len(), 3);
    }

    #[test]
    fn torn_and_endless_logs_are_harmless() {
        let mut tail = LogTail::new(PathBuf::new());
        let mut ended = Vec::new();
        tail.feed(b"#endTestCaseResult\n#beginTestCaseResult g.big\n<Text>", &mut ended);
        let filler = [b'x'; 1 << 16];
        for _ in 0..400 {
            tail.feed(&filler, &mut ended);
            tail.feed(b"\n", &mut ended);
        }
        tail.feed(
            b"</Text>\n <Result StatusCode=\"Pass\" />\n#endTestCaseResult\n#beginTestCaseResult g.x\n",
            &mut ended,
        );
        tail.feed(b"\n#terminateTestCaseResult Crash\n", &mut ended);
        assert_eq!(ended.len(), 2);
        assert_eq!((ended[0].code.as_str(), ended[1].code.as_str()), ("Pass", "Crash"));
        assert!(ended[0].log.len() <= LOG_LIMIT && ended[0].log.len() > LOG_LIMIT / 2);
        document("<Image Name=\"<\" <Text></</Text <<>> &amp");
    }
}
