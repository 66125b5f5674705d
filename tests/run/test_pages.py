#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is generated from the tables of options and commands: the README's table, the man page, the
bash completion."""
import re
import shutil
import subprocess
import unittest

from harness import BUILD, CLI, ROOT, environment


def ask(*words):
    return subprocess.run([str(CLI), *words], capture_output=True, text=True, check=True).stdout


def complete(line):
    """What the completion offers for a command line with the cursor at its end."""
    words = line.replace("=", " = ").split()
    if line.endswith((" ", "=")):
        words.append("")
    script = (f". '{BUILD}/docs/gputrace'\n"
              f"COMP_WORDS=({' '.join(repr(word) for word in words)})\n"
              f"COMP_CWORD={len(words) - 1}\nCOMP_LINE={line!r}\nCOMP_POINT={len(line)}\n"
              "compopt() { :; }\n_gputrace\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


class TestPages(unittest.TestCase):
    def test_readme_holds_the_options(self):
        table = ask("options", "--format=markdown")
        self.assertIn(table, (ROOT / "README.md").read_text(encoding="utf-8"),
                      "put the output of `gputrace-cli options --format=markdown` into README.md")

    def test_readme_holds_the_commands(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^  (\S+) ", ask("--help"), re.MULTILINE)
        self.assertGreater(len(rows), 5)
        for name in rows:
            self.assertIn(f"| `gputrace {name}", readme)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_page_has_no_warning(self):
        done = subprocess.run(["man", "--warnings", "-l", str(BUILD / "docs" / "gputrace.1")],
                              capture_output=True, text=True, check=False,
                              env={**environment(), "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("--stack-depth=N", "GPUTRACE_STACK_DEPTH", "stats"):
            self.assertIn(name, done.stdout)

    def test_man_pages_name_each_other(self):
        page = (BUILD / "docs" / "gputrace.1").read_text(encoding="utf-8")
        named = set(re.findall(r"^\.BR gputrace\\-(\w+) \(1\)", page, re.M))
        commands = set(re.findall(r"^  (\S+) ", ask("--help"), re.MULTILINE))
        self.assertEqual(named, commands - {"run", "doctor"})
        for name in named:
            page = (BUILD / "docs" / f"gputrace-{name}.1").read_text(encoding="utf-8")
            self.assertIn(f"\n.TH GPUTRACE\\-{name.upper()} 1 ", page)

    def test_man_page_tells_where_the_format_is_and_how_doctor_ends(self):
        page = (BUILD / "docs" / "gputrace.1").read_text(encoding="utf-8")
        self.assertRegex(page, r"\n\.I /\S*/doc/gputrace/docs/FORMAT\.md\n")
        status = page.partition(".SH EXIT STATUS")[2].partition(".SH ")[0]
        self.assertIn(".B doctor", status)
        self.assertNotRegex(page, r"@[A-Z]+@")

    def test_completion_of_options(self):
        self.assertIn("--stacks=off", complete("gputrace run --stacks"))
        self.assertEqual(sorted(complete("gputrace run --stacks=")), ["full", "off", "short"])
        self.assertEqual(complete("gputrace run --quiet --max-m"), ["--max-memory="])

    def test_completion_of_a_command_s_options(self):
        self.assertEqual(sorted(complete("gputrace stats --format=")), ["csv", "json", "markdown", "table"])
        self.assertEqual(complete("gputrace stats --format=c"), ["csv"])
        self.assertIn("--gate=", complete("gputrace diff a.json b.json --g"))
        self.assertEqual(complete("gputrace doctor --h"), ["--help"])
        for name in set(re.findall(r"^  (\S+) ", ask("--help"), re.MULTILINE)):
            offered = {word.partition("=")[0] for word in complete(f"gputrace {name} --")}
            told = set(re.findall(r"^  (?:-.,|   ) (--[\w-]+)", ask(*(("options",) if name == "run" else (name, "--help"))), re.M))
            self.assertEqual(offered, told | {"--help"})

    def test_completion_of_files(self):
        trace = str(ROOT / "examples" / "traces" / "train.json.gz")
        self.assertEqual(complete(f"gputrace stats {trace[:-6]}"), [trace])
        self.assertEqual(complete(f"gputrace export --sqlite={trace[:-6]}"), [trace])

    def test_it_is_whole_where_a_function_reads_it(self):
        """As bash-completion does."""
        script = f"read_it() {{ . '{BUILD}/docs/gputrace'; }}; read_it; printf '%s' \"${{_gputrace_options[stats]}}\""
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        self.assertIn("--format=csv", done.stdout)

    def test_completion_of_commands(self):
        self.assertIn("run", complete("gputrace r"))
        self.assertIn("stats", complete("gputrace st"))


if __name__ == "__main__":
    unittest.main()
