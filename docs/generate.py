#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the man page and the bash completion from the output of gputrace-cli, so that the
option table in core/config.def and the command table in cli/main.c are the only lists.

usage: generate.py man|completion CLI VERSION DOCS TEMPLATE    DOCS: the folder that README.md is installed in"""
import re
import subprocess
import sys


def ask(cli, *words):
    return subprocess.run([cli, *words], capture_output=True, text=True, check=True).stdout


def commands(cli):
    """(name, arguments, help) of each listed command."""
    rows = []
    for line in ask(cli, "--help").splitlines():
        row = re.match(r"  (\S+) (.*?)  +(\S.*)$", line)
        if row:
            rows.append(row.groups())
    return rows


def roff(text):
    return text.replace("\\", "\\\\").replace("-", "\\-")


def man_commands(cli):
    return "".join(f".TP\n.B {roff(name)} {roff(arguments)}\n{roff(text)}\n"
                   for name, arguments, text in commands(cli))


def man_pages(cli):
    """References to the pages of single commands; run and doctor stand in this one."""
    names = sorted(name for name, _, _ in commands(cli) if name not in ("run", "doctor"))
    return ",\n".join(f".BR {roff('gputrace-' + name)} (1)" for name in names)


def completions(cli):
    """The words of each command, as an associative array of bash takes them."""
    words = {"run": ask(cli, "options", "--format=words") + "--help", "doctor": "--help"}
    for name, _, _ in commands(cli):
        if name not in words:
            words[name] = ask(cli, name, "--help=words")
    return "\n".join(f'[{name}]="{" ".join(text.split())}"' for name, text in words.items())


def main(kind, cli, version, docs, template):
    with open(template, encoding="utf-8") as page:
        text = page.read()
    if kind == "man":
        values = {"OPTIONS": ask(cli, "options", "--format=man").rstrip("\n"),
                  "COMMANDS": man_commands(cli).rstrip("\n"), "PAGES": man_pages(cli)}
    else:
        values = {"OPTIONS": completions(cli),
                  "COMMANDS": " ".join(name for name, _, _ in commands(cli))}
    values.update(VERSION=version, DOCS=roff(docs))
    sys.stdout.write(re.sub(r"@(OPTIONS|COMMANDS|PAGES|VERSION|DOCS)@", lambda m: values[m.group(1)], text))


if __name__ == "__main__":
    main(*sys.argv[1:])
