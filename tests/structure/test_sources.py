# SPDX-License-Identifier: Apache-2.0
#
# Does sources.py see what it looks for? Each case is a tree of a few files with one fault, and the
# same tree without it.   test_sources.py SOURCE_ROOT
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKS = pathlib.Path(__file__).resolve().parent / "sources.py"
ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else CHECKS.parents[2]


class TestSources(unittest.TestCase):
    def complaints(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"docs/GLOSSARY.md": (ROOT / "docs/GLOSSARY.md").read_text(), **files}
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            run = subprocess.run([sys.executable, CHECKS, check, root], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.stderr, "")
            self.assertEqual(run.returncode, bool(run.stdout))
            return run.stdout.splitlines()

    def assert_seen(self, check, files, *where):
        found = self.complaints(check, files)
        self.assertEqual(len(found), len(where), found)
        for line, start in zip(found, where):
            self.assertTrue(line.startswith(start), line)

    def test_tags(self):
        other = "struct one {\n\tint a;\n};\n"
        for form in ("typedef struct one {\n\tint a;\n} one_t;\n",
                     "struct outer {\n\tstruct one {\n\t\tint a;\n\t} inner;\n};\n",
                     "struct __attribute__((packed)) one {\n\tint a;\n};\n",
                     "union one\n{\n\tint a;\n};\n",
                     "#define ONE(x) \\\n\tstruct one { \\\n\t\tint x; \\\n\t};\n"):
            for name in ("core/b.c", "core/b.h", "core/b.def"):
                with self.subTest(form=form, name=name):
                    self.assert_seen("tags", {"core/a.c": other, name: form}, "one is defined in")
        self.assert_seen("tags", {"core/a.c": other, "core/b.c": (
            "/* struct one { */\nstatic const struct one table[] = {{1}};\nstruct one;\n"
            "struct one *get(void)\n{\n\treturn &(struct one){1};\n}\n")})

    def test_phrases(self):
        for name, text, line in (
                ("core/a.c", "/* The caller is " "told. */\n", 1),
                ("core/a.c", "/* x */\n\n/* The caller is\n * told. */\n", 3),
                ("core/a.c", "\t/* which is\n\t * told */\n", 1),
                ("core/a.c", "/* ok */\n// the caller is\n// told\n", 2),
                ("core/a.c", '\tsay("the caller is "\n\t    "told");\n', 1),
                ("docs/a.md", "# Page\n\nThe caller is\ntold.\n", 3),
                ("docs/a.md", "- The caller is\n  told.\n", 1),
                ("docs/a.md", "> The caller is\n> told.\n", 1),
                ("tests/a.py", "# The caller is\n# told.\n", 1)):
            with self.subTest(text=text):
                self.assert_seen("phrases", {name: text}, f"{name}:{line}: 'is " "told'")
        self.assert_seen("phrases", {
            "docs/a.md": "That is\n\ntold by others.\n\n- it is\n- told by others\n\n| is |\n| told |\n",
            "core/a.c": "/* it is */\ntold();\n/* That is\n *\n * told by others. */\n"})

    def test_comments(self):
        guard = "/* SPDX */\n#ifndef A\n#define A\n\n"
        for text, line in (
                ("int get(void);\n", 5),
                ("/* One. */\nstruct one {\n\tint a;\n};\nint get(void);\n", 9),
                ("/* One. */\n#define ONE 1\nint get(void);\n", 7),
                ("/* One. */\n#define ONE \\\n\t1\nint get(void);\n", 8),
                ("/* One. */\nint one(void);\n\nint get(void);\n", 8),
                ("/* One. */\nint one(void);\n#ifdef B\nint get(void);\n#endif\n", 8),
                ("static inline int get(void)\n{\n\treturn 1;\n}\n", 5),
                ("static const char text[] =\n\t\"a\";\n", 5),
                ("ATTRIBUTE static inline int get(void)\n{\n\treturn 1;\n}\n", 5)):
            with self.subTest(text=text):
                self.assert_seen("comments", {"core/a.h": guard + text}, f"core/a.h:{line}: ")
        self.assert_seen("comments", {"core/a.h": guard + (
            "struct later;\n\n/* Both. */\nint one(void);\nint get(int a,\n\tint b);\n\n"
            "/* The same\n * in two lines. */\nstatic inline int two(void)\n{\n\treturn 1;\n}\n\n"
            "int three(void); /* here */\n")})

    def test_links(self):
        other = "# A *page*, 1\n\n```sh\n# no heading\n```\n<a name=\"here\"></a>\n"
        for link, line in (("b.md", 3), ("../a.md", 3), ("a.md#no-heading", 3), ("#a-page-1", 3)):
            with self.subTest(link=link):
                self.assert_seen("links", {"docs/a.md": other, "docs/c.md": f"# C\n\n[x]({link})\n"}, f"docs/c.md:{line}: {link}")
        self.assert_seen("links", {"docs/a.md": other, "docs/c.md": (
            "# C\n[x](a.md) [x](a.md#a-page-1) [x](a.md#here) [x](#c) [x](https://example.org/#y) [x](../docs)\n")})


unittest.main()
