//! Runs a process and all its descendants as one process group. The group is ended as a whole and
//! never outlives the runner.

use super::error::{At, Result};
use crate::os;

pub use crate::os::{describe, processor_time_of_children as processor_time};

use std::io::{BufRead, BufReader, ErrorKind, PipeReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Maximum number of bytes of a line; the rest of a longer line is dropped.
const LONGEST_LINE: usize = 16 << 10;

/// A running process group. Dropping it ends the group.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
    output: Option<PipeReader>,
    ended: Option<ExitStatus>,
}

impl ProcessGroup {
    /// Starts a command as the leader of a new group, with no input and one pipe for both outputs.
    /// A common pipe keeps the order of standard error and standard output.
    pub fn start(command: &mut Command) -> Result<Self> {
        let (output, writer) = std::io::pipe().at("pipe")?;
        command.stdout(writer.try_clone().at("pipe")?).stderr(writer);
        command.stdin(Stdio::null());
        os::lead_group(command);
        let leader = command.spawn().at(command.get_program());
        // The command holds the write end of the pipe. It is released here, or the pipe would never
        // close.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { leader: leader?, output: Some(output), ended: None })
    }

    /// Takes the output of the group; `None` if it was taken before.
    pub fn output(&mut self) -> Option<PipeReader> {
        self.output.take()
    }

    /// Returns the exit status of the leader, or `None` while it runs. When the leader has ended,
    /// the rest of its group is ended too.
    pub fn poll(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() && os::has_ended(&mut self.leader) {
            self.end();
        }
        self.ended
    }

    /// Waits for the leader to end by itself.
    pub fn wait(&mut self) -> Option<ExitStatus> {
        while self.poll().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.ended
    }

    /// Ends the whole group immediately.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            os::end_group(&mut self.leader);
            self.ended = self.leader.wait().ok();
        }
        self.ended
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// Calls `each` for every line of a stream, without the line end. Bytes that are not UTF-8 are
/// replaced. A long line is cut, so that endless output takes no memory.
pub fn lines(stream: impl Read, mut each: impl FnMut(&str)) {
    let mut stream = BufReader::with_capacity(LONGEST_LINE, stream);
    let mut line = Vec::new();
    loop {
        let bytes = match stream.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) | Ok([]) => break,
            Ok(bytes) => bytes,
        };
        let end = bytes.iter().position(|&b| b == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = LONGEST_LINE - line.len();
        line.extend_from_slice(&part[..part.len().min(room)]);
        let taken = part.len() + usize::from(end.is_some());
        stream.consume(taken);
        if end.is_some() {
            each(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            line.clear();
        }
    }
    if !line.is_empty() {
        each(&String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_group_ends() {
        // The grandchild holds the pipe open, so the pipe closes only when the grandchild ends.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & echo started; echo beside >&2; echo again; kill -SEGV $$"]);
        let mut group = ProcessGroup::start(&mut command).unwrap();
        let out = group.output();
        let reader = std::thread::spawn(move || {
            let mut seen = Vec::new();
            lines(out.unwrap(), |line| seen.push(line.to_string()));
            seen
        });
        assert_eq!(describe(group.wait().unwrap()), "signal 11 (SIGSEGV)");
        assert_eq!(reader.join().unwrap(), ["started", "beside", "again"]);
    }

    #[test]
    fn a_hanging_process_is_ended() {
        let mut group = ProcessGroup::start(Command::new("/bin/sleep").arg("1000")).unwrap();
        assert_eq!(group.poll(), None);
        assert_eq!(describe(group.end().unwrap()), "signal 9 (SIGKILL)");
        assert!(group.poll().is_some());
    }

    #[test]
    fn exit_codes_have_words() {
        let mut group = ProcessGroup::start(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap();
        assert_eq!(describe(group.wait().unwrap()), "exit code 3");
    }

    #[test]
    fn lines_are_bounded_and_always_text() {
        let mut input = b"one\r\n\xff\xfe\n".to_vec();
        input.extend(std::iter::repeat_n(b'x', 10 * LONGEST_LINE));
        input.extend(b"\nlast");
        let mut seen = Vec::new();
        lines(input.as_slice(), |line| seen.push(line.to_string()));
        assert_eq!((seen[0].as_str(), seen[1].as_str(), seen[3].as_str()), ("one", "\u{fffd}\u{fffd}", "last"));
        assert_eq!((seen[2].len(), seen.len()), (LONGEST_LINE, 4));
    }
}
