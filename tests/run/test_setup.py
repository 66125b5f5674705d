#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `gputrace run` sets up: options, environment, output folder, and what it says when a program
cannot be traced."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import BUILD, CLI, LAUNCHER, LIBRARY, SCRIPT, RunTest, environment

INSPECT = BUILD / "tests" / "run" / "run_inspect"

needs_library = unittest.skipUnless(LIBRARY.exists(), f"{LIBRARY} is not built")


class TestOptions(RunTest):
    def test_switch_without_a_value(self):
        """It means yes, for the wrapper as for the library."""
        self.assertEqual(self.run_it("true", env=environment(GPUTRACE_QUIET="")).stderr, b"")

    def check_refused(self, *words, needle):
        done = self.run_it(*words, "--", "touch", "started")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.decode().count("\n"), 1, done.stderr)
        self.assertIn(needle, done.stderr.decode())
        self.assertFalse((self.scratch / "started").exists())
        self.assertFalse((self.scratch / "gputrace-out").exists())

    def test_wrong_options(self):
        self.check_refused("--stack=short", needle="--stacks")
        self.check_refused("--nonsense=1", needle="--nonsense")
        self.check_refused("--stacks=maybe", needle="maybe")
        self.check_refused("--max-size=12Q", needle="12Q")
        self.check_refused("--stack-depth=0", needle="1..256")
        self.check_refused("--output", needle="--output=DIR")
        self.check_refused("-x", needle="-x")
        self.check_refused("--output=~/traces", needle='--output="$HOME/traces"')
        self.check_refused("--output=~", needle='--output="$HOME"')

    def test_no_command(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(self.run_it("--quiet", "--").returncode, 2)

    def test_help(self):
        done = self.run_it("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--output=DIR", "--stacks=WHAT", "--quiet"):
            self.assertIn(option, done.stdout.decode())

    def test_options_become_variables(self):
        done = self.run_it("--stacks=off", "--sync", "--max-size=3G", f"--output={self.scratch}/out",
                           "--", "env")
        values = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)
        self.assertEqual(values["GPUTRACE_STACKS"], "off")
        self.assertEqual(values["GPUTRACE_SYNC"], "yes")
        self.assertEqual(values["GPUTRACE_MAX_SIZE"], "3G")
        self.assertEqual(values["GPUTRACE_OUTPUT"], f"{self.scratch}/out")


class TestEnvironment(RunTest):
    def variables(self, *options, script=SCRIPT, **changes):
        done = self.run_it("--quiet", *options, "--", "env", script=script,
                           env=environment(**changes))
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)

    @needs_library
    def test_both_ways_in(self):
        values = self.variables()
        self.assertEqual(values["LD_PRELOAD"], str(LIBRARY))
        self.assertEqual(values["CUDA_INJECTION64_PATH"], str(LIBRARY))

    def test_library_path_is_never_touched(self):
        self.assertEqual(self.variables().get("LD_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH"))
        self.assertEqual(self.variables(LD_LIBRARY_PATH="/opt/x")["LD_LIBRARY_PATH"], "/opt/x")

    @needs_library
    def test_a_preload_of_the_user_stays_first(self):
        other = shutil.copy(LIBRARY, self.scratch / "other.so")
        self.assertEqual(self.variables(LD_PRELOAD=other)["LD_PRELOAD"], f"{other}:{LIBRARY}")

    @needs_library
    def test_a_second_time_is_harmless(self):
        values = self.variables(LD_PRELOAD=LIBRARY, CUDA_INJECTION64_PATH=LIBRARY)
        self.assertEqual(values["LD_PRELOAD"], str(LIBRARY))
        self.assertEqual(values["CUDA_INJECTION64_PATH"], str(LIBRARY))

    @needs_library
    def test_injection_of_another_tool(self):
        other = "/opt/other/libtool.so"
        self.assertEqual(self.variables(CUDA_INJECTION64_PATH=other)["CUDA_INJECTION64_PATH"], other)
        for free in ("", "none"):
            values = self.variables(CUDA_INJECTION64_PATH=free)
            self.assertEqual(values["CUDA_INJECTION64_PATH"], str(LIBRARY))
        values = self.variables("--force-injection", CUDA_INJECTION64_PATH=other)
        self.assertEqual(values["CUDA_INJECTION64_PATH"], str(LIBRARY))
        for word, owner in (("off", other), ("False", other), ("nonsense", other), ("on", LIBRARY)):
            values = self.variables(CUDA_INJECTION64_PATH=other, GPUTRACE_FORCE_INJECTION=word)
            self.assertEqual(values["CUDA_INJECTION64_PATH"], str(owner), word)

    def install(self, name, library):
        """The three installed files under a prefix of the given name."""
        prefix = self.scratch / name
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib").mkdir()
        shutil.copy(LAUNCHER, prefix / "bin" / "gputrace")
        shutil.copy(CLI, prefix / "bin" / "gputrace-cli")
        if isinstance(library, bytes):
            (prefix / "lib" / "libgputrace.so").write_bytes(library)
        else:
            shutil.copy(library, prefix / "lib" / "libgputrace.so")
        return prefix / "bin" / "gputrace"

    @needs_library
    def test_installed_under_a_path_with_blanks_and_colons(self):
        script = self.install("a b:c", LIBRARY)
        value = self.variables(script=script)["LD_PRELOAD"]
        self.assertNotRegex(value, r"[\s:]")
        self.assertTrue(os.path.samefile(value, self.scratch / "a b:c" / "lib" / "libgputrace.so"))
        folder = pathlib.Path(value).parents[1]
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assertEqual(folder.stat().st_uid, os.getuid())

    def test_a_broken_library_does_not_end_the_program(self):
        script = self.install("broken", b"\x7fELF this is none")
        done = self.run_it("sh", "-c", "echo ran; exit 5", script=script)
        self.assertEqual((done.stdout, done.returncode), (b"ran\n", 5))
        self.assertIn(b"untraced", done.stderr)
        self.assertNotIn(b"ERROR: ld.so", done.stderr.split(b"untraced")[0])


    def test_a_command_that_cannot_start(self):
        """A container without its libraries: the program runs all the same."""
        script = self.install("image", b"")
        (script.parent / "gputrace-cli").write_text(
            "#!/bin/sh\necho 'gputrace-cli: libyajl.so.2: no such file' >&2\nexit 127\n", encoding="ascii")
        done = self.run_it("--stacks=full", "--sync", "--", "sh", "-c", "echo ran; exit 5", script=script)
        self.assertEqual((done.stdout, done.returncode), (b"ran\n", 5))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"untraced: gputrace-cli: libyajl.so.2", done.stderr)
        self.assertEqual(self.run_it("--sync", script=script).returncode, 2)
        done = self.run_it("echo", "ran", script=script, env=environment(LD_PRELOAD="/nowhere/lib.so"))
        self.assertIn(b"untraced: gputrace-cli: libyajl.so.2", done.stderr)  # not what the loader says of the other

    def test_a_command_that_is_missing(self):
        script = self.install("half", b"")
        (script.parent / "gputrace-cli").unlink()
        done = self.run_it("--sync", "--", "sh", "-c", "echo ran; exit 5", script=script)
        self.assertEqual((done.stdout, done.returncode), (b"ran\n", 5))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"untraced: ", done.stderr)
        self.assertIn(b"No such file", done.stderr)
        done = subprocess.run([str(script), "stats", "x"], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (1, b"", 1))

    def test_a_command_that_is_damaged(self):
        """The reason is given, and what is not a program is not started as a script."""
        script = self.install("damaged", b"")
        cli = script.parent / "gputrace-cli"
        whole = cli.read_bytes()
        for content, mode, reason in ((b"", 0o755, b"Exec format error"), (whole, 0o644, b"Permission denied"),
                                      (whole[:5000], 0o755, b"gputrace-cli"), (b"#!/bin/true", 0o755, b"does nothing"),
                                      (b"#!/bin/sh\nkill -SEGV $$", 0o755, b"Segmentation fault")):
            cli.unlink()
            cli.write_bytes(content)
            cli.chmod(mode)
            with self.subTest(reason):
                done = self.run_it("--sync", "--", "sh", "-c", "echo ran; exit 5", script=script)
                self.assertEqual((done.stdout, done.returncode), (b"ran\n", 5))
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertIn(b"the program runs untraced: ", done.stderr)
                self.assertIn(reason, done.stderr)
                self.assertNotIn(b"meson", done.stderr)
                for words in ((), ("--help",)):  # there is no program that would run
                    done = self.run_it(*words, script=script)
                    self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1))
                    self.assertNotIn(b"untraced", done.stderr)

    @needs_library
    def test_nothing_else_is_needed(self):
        """No other commands in PATH, few descriptors, no working folder; the program alone has its LD_PRELOAD."""
        source, other = self.scratch / "other.c", self.scratch / "other.so"
        source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void f(void) "
                          '{ if (write(2, "loaded\\n", 7) < 0) _exit(9); }\n', encoding="ascii")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(other), str(source)], check=True)
        script = self.install("whole", LIBRARY)
        for before in ("PATH=/nowhere", "ulimit -n 10", "mkdir gone; cd gone; rmdir ../gone"):
            with self.subTest(before):
                words = [script, "run", f"--output={self.scratch}/out", "--", "/bin/sh", "-c", 'echo "$LD_PRELOAD"; exit 5']
                done = subprocess.run(["bash", "-c", f'{before}; LD_PRELOAD={other} exec "$@"', "-", *words], check=False,
                                      capture_output=True, cwd=self.scratch, env=environment(), timeout=300)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertEqual(done.stdout.decode().split(":")[0], str(other))
                lines = [line for line in done.stderr.decode().splitlines() if "getcwd" not in line]
                self.assertEqual(lines[0], "loaded")
                self.assertEqual(len(lines), 2, lines)
                self.assertIn("gave the GPU no work", lines[1])

    def test_another_library(self):
        """What it prints is no reason."""
        source = self.scratch / "other.c"
        source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void f(void) "
                          '{ if (write(2, "loaded\\n", 7) < 0) _exit(9); }\n', encoding="ascii")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(self.scratch / "other.so"), str(source)], check=True)
        done = self.run_it("true", script=self.install("other", self.scratch / "other.so"))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertIn(b"libgputrace.so is not the tracer's library", done.stderr)

    @needs_library
    def test_a_library_that_ends_its_process(self):
        source = self.scratch / "bad.c"
        source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n",
                          encoding="ascii")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(self.scratch / "bad.so"), str(source)], check=True)
        done = self.run_it("sh", "-c", "echo ran; exit 5", script=self.install("bad", self.scratch / "bad.so"))
        self.assertEqual((done.stdout, done.returncode), (b"ran\n", 5))
        self.assertIn(b"untraced: ", done.stderr)

    @needs_library
    def test_what_the_loader_says_is_no_complaint_of_the_tracer(self):
        done = self.run_it("sh", "-c", 'echo "$LD_PRELOAD"', env=environment(LD_DEBUG="libs"))
        self.assertEqual(done.stdout.decode(), f"{LIBRARY}\n")
        self.assertNotIn(b"untraced", done.stderr)

    @needs_library
    def test_a_preload_that_is_not_there(self):
        """The loader says so of each process: neither a path of ours nor a reason."""
        temporary = self.scratch / "temporary"
        temporary.mkdir()
        done = self.run_it("--output=out", "true", env=environment(LD_PRELOAD="/nowhere/lib.so", TMPDIR=temporary))
        ours = [line for line in done.stderr.decode().splitlines() if "ERROR: ld.so" not in line]
        self.assertEqual(len(ours), 1, ours)
        self.assertIn("gave the GPU no work", ours[0])
        self.assertEqual(list(temporary.iterdir()), [])
        self.assertEqual(list(self.scratch.iterdir()), [temporary])


class TestOutput(RunTest):
    @needs_library
    def test_folder_is_closed_to_others(self):
        """The library refuses one that anybody may write into."""
        words = self.command("--output=above/out", "stat", "-c", "%a", "above", "above/out")
        done = subprocess.run(["sh", "-c", 'umask 0; exec "$@"', "sh", *words], check=False, timeout=300,
                              cwd=self.scratch, env=environment(), capture_output=True)
        self.assertEqual(done.stdout, b"775\n775\n")

    def test_unwritable_output(self):
        for folder in ("/dev/null/x", "/proc/nowhere"):
            done = self.run_it(f"--output={folder}", "sh", "-c", "echo ran; exit 6")
            self.assertEqual((done.stdout, done.returncode), (b"ran\n", 6))
            self.assertIn(folder.encode(), done.stderr)

    @needs_library
    def test_words_for_an_unusable_output(self):
        (self.scratch / "link").symlink_to("nowhere")
        (self.scratch / "file").touch()
        for name, words in (("link", "No such file"), ("link/x", "No such file"), ("file", "Not a directory"),
                            ("file/x", "Not a directory")):
            done = self.run_it(f"--output={name}", "true")
            self.assertIn(f"/{name}': {words}", done.stderr.decode())

    @needs_library
    @unittest.skipIf(os.geteuid(), "only root can make a link of somebody else's")
    def test_output_through_a_link_of_another_user(self):
        """By default, above the folder, and on the way: nothing is created where it leads."""
        (self.scratch / "target").mkdir()
        (self.scratch / "gputrace-out").symlink_to("target")
        os.lchown(self.scratch / "gputrace-out", 12345, 12345)
        for words in ([], ["--output=gputrace-out"], ["--output=gputrace-out/x"], ["--output=gputrace-out/x/y"],
                      ["--output=gputrace-out/../target/x"]):
            done = self.run_it(*words, "sh", "-c", "exit 5")
            self.assertEqual(done.returncode, 5)
            self.assertIn("has a symbolic link of another user", done.stderr.decode())
            self.assertEqual(list((self.scratch / "target").iterdir()), [])

    @needs_library
    def test_a_spool_that_cannot_be(self):
        for where, words in (("/nowhere", "is not there"), ("/proc", "is no tmpfs"), ("/proc/version", "is no tmpfs")):
            done = self.run_it(f"--spool={where}", "sh", "-c", "exit 5")
            self.assertEqual(done.returncode, 5)
            self.assertIn(f"there is no spool: '{where}' {words}", done.stderr.decode())
        for where in ("on", "off", "auto"):
            self.assertNotIn(b"no spool", self.run_it(f"--spool={where}", "true").stderr)

    def test_a_folder_that_stays_empty_goes(self):
        self.run_it("true")
        self.assertFalse((self.scratch / "gputrace-out").exists())
        kept = self.scratch / "kept"
        kept.mkdir()
        self.run_it(f"--output={kept}", "true")
        self.assertTrue(kept.exists())

    def folder_of(self, **changes):
        done = self.run_it("--quiet", "sh", "-c", 'echo "$GPUTRACE_OUTPUT"',
                           env=environment(**changes))
        return done.stdout.decode().strip()

    def test_name_of_the_folder(self):
        self.assertRegex(self.folder_of(),
                         re.escape(str(self.scratch)) + r"/gputrace-out/\d{8}-\d{6}-\d+$")
        self.assertEqual(self.folder_of(RANK=1, SLURM_JOB_ID="77"),
                         f"{self.scratch}/gputrace-out/77")
        self.assertEqual(self.folder_of(RANK=0, TORCHELASTIC_RUN_ID="../a b"),
                         f"{self.scratch}/gputrace-out/_._a_b")
        self.assertRegex(self.folder_of(RANK=0, TORCHELASTIC_RUN_ID="none"), r"/\d{8}-\d{6}-\d+$")
        for world, name in (("1", r"\d{8}-\d{6}-\d+"), ("2", "77")):
            self.assertRegex(self.folder_of(SLURM_PROCID=0, SLURM_NTASKS=world, SLURM_JOB_ID="77"),
                             f"/{name}$")
            self.assertRegex(self.folder_of(RANK=0, WORLD_SIZE=world, SLURM_PROCID=0, SLURM_NTASKS=3,
                                            SLURM_JOB_ID="77"), f"/{name}$")
        self.assertEqual(self.folder_of(GPUTRACE_OUTPUT="here"), f"{self.scratch}/here")
        self.assertEqual(self.folder_of(GPUTRACE_OUTPUT="a%%/%q{EVIL}", EVIL="../x"),
                         f"{self.scratch}/a%%/_x") # doubled: the library expands it once more

    @needs_library
    def test_only_rank_0_speaks(self):
        self.assertNotEqual(self.run_it("true", env=environment(RANK=0)).stderr, b"")
        for variable in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
            done = self.run_it("true", env=environment(**{variable: 1}))
            self.assertEqual(done.stderr, b"", variable)


@unittest.skipUnless(shutil.which("gcc"), "needs gcc")
class TestObstacles(RunTest):
    def compile(self, name, *options):
        source = self.scratch / "main.c"
        source.write_text("int main(void) { return 0; }\n", encoding="ascii")
        subprocess.run(["gcc", "-o", str(self.scratch / name), str(source), *options], check=True)
        return self.scratch / name

    def inspect(self, path):
        done = subprocess.run([str(INSPECT), str(path)], capture_output=True, text=True, check=False,
                              env=environment(PATH=f"{self.scratch}:/usr/bin:/bin"))
        self.assertIn(done.returncode, (0, 1))
        return done.stdout.split()

    def test_nothing_in_the_way(self):
        self.assertEqual(self.inspect(self.compile("plain")), [])
        self.assertEqual(self.inspect(self.compile("pie", "-fPIE", "-pie")), [])

    def test_static(self):
        path = self.compile("static", "-static")
        self.assertEqual(self.inspect(path), ["static"])
        if LIBRARY.exists():
            self.assertIn(b"statically linked", self.run_it(path).stderr)

    def test_scripts_are_followed(self):
        self.compile("static", "-static")
        script = self.scratch / "script"
        script.write_text(f"#!{self.scratch}/static -x\n", encoding="ascii")
        script.chmod(0o755)
        self.assertEqual(self.inspect(script), ["static"])
        script.write_text("#!/usr/bin/env -S A=1 static\n", encoding="ascii")
        self.assertEqual(self.inspect(script), ["static"])
        script.write_text(f"#!{script}\n", encoding="ascii")
        self.assertEqual(self.inspect(script), [])

    def test_musl_is_not_preloaded(self):
        path = self.compile("musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
        self.assertEqual(self.inspect(path), ["musl"])

    def test_other_processor(self):
        path = self.compile("foreign")
        image = bytearray(path.read_bytes())
        image[18] ^= 0x55
        path.write_bytes(image)
        self.assertIn("foreign", self.inspect(path))

    def test_sanitizer(self):
        path = self.compile("sanitized", "-fsanitize=address")
        self.assertEqual(self.inspect(path), ["sanitizer"])
        self.assertEqual(self.run_it(path).returncode, 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a file of another user setuid")
    def test_setuid(self):
        path = self.compile("setuid")
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        self.assertEqual(self.inspect(path), ["privileged"])

    def test_damaged_files(self):
        image = self.compile("plain").read_bytes()
        for cut in (4, 20, 63, 64, 100, 600, len(image) // 2):
            path = self.scratch / "cut"
            path.write_bytes(image[:cut])
            path.chmod(0o755)
            self.inspect(path)


if __name__ == "__main__":
    unittest.main()
