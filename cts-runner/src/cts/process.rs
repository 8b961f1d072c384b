//! A process and everything it starts: one process group, ended as a whole, and never outliving the runner. The only module of
//! the runner's CTS part with unsafe code: `libc` calls that std has no words for.

use super::error::{At, Result};
use std::io::{BufRead, BufReader, ErrorKind, PipeReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Longest line that is looked at; the rest of it is dropped.
const LONGEST_LINE: usize = 16 << 10;

/// A running process group. Dropping it ends the group.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    output: Option<PipeReader>,
    ended: Option<ExitStatus>,
}

impl Group {
    /// Starts a command as the leader of a group of its own, with no input and one pipe for both outputs: only so can what is printed to
    /// standard error be told from what comes before and after it on standard output.
    pub fn start(command: &mut Command) -> Result<Self> {
        let (output, writer) = std::io::pipe().at("pipe")?;
        command.stdout(writer.try_clone().at("pipe")?).stderr(writer);
        command.stdin(Stdio::null()).process_group(0);
        // SAFETY: prctl is async-signal-safe and the closure allocates nothing.
        unsafe {
            command.pre_exec(|| {
                // The kernel ends the child with the thread that started it: a killed runner leaves no deqp behind.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let leader = command.spawn().at(command.get_program());
        // The command holds the pipe's other end: the pipe would never close.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { leader: leader?, output: Some(output), ended: None })
    }

    /// What the group prints; given out once.
    pub fn output(&mut self) -> Option<PipeReader> {
        self.output.take()
    }

    /// How the leader ended, or none while it runs. When it has ended, what is left of its group is ended too.
    pub fn poll(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() && self.leader_is_done() {
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

    /// Ends the whole group now.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            if let Ok(group) = libc::pid_t::try_from(self.leader.id()) {
                // SAFETY: no memory is involved. The leader has not been waited for, so its number cannot be anyone else's.
                unsafe { libc::kill(-group, libc::SIGKILL) };
            }
            self.ended = self.leader.wait().ok();
        }
        self.ended
    }

    /// Whether the leader has ended, without taking its status: until then its number, the group's, stays reserved.
    fn leader_is_done(&self) -> bool {
        // SAFETY: an all-zero siginfo_t is a valid one; waitid writes only into it.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            libc::waitid(libc::P_PID, self.leader.id(), &raw mut info, options) == 0 && info.si_pid() != 0
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a process ended, for people.
pub fn describe(status: ExitStatus) -> String {
    const NAMES: [(i32, &str); 8] = [
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGTRAP, "SIGTRAP"),
    ];
    match (status.signal(), status.code()) {
        (Some(signal), _) => match NAMES.iter().find(|(number, _)| *number == signal) {
            Some((_, name)) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        (None, code) => format!("exit code {}", code.unwrap_or(-1)),
    }
}

/// Calls back for every line of a stream, without its end. Bytes that are not UTF-8 are replaced; of a long line only the
/// beginning comes, so that output without end takes no memory.
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
        // The grandchild holds the pipe open: the pipe ends only when it does.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & echo started; echo beside >&2; echo again; kill -SEGV $$"]);
        let mut group = Group::start(&mut command).unwrap();
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
        let mut group = Group::start(Command::new("/bin/sleep").arg("1000")).unwrap();
        assert_eq!(group.poll(), None);
        assert_eq!(describe(group.end().unwrap()), "signal 9 (SIGKILL)");
        assert!(group.poll().is_some());
    }

    #[test]
    fn exit_codes_have_words() {
        let mut group = Group::start(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap();
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
