#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the man page and the completions of shells from the output of gputrace-cli, so that the
option table in core/config.def and the command table in cli/main.c are the only lists.

usage: generate.py man|bash|zsh|fish CLI VERSION DOCS TEMPLATE    DOCS: the folder that README.md is installed in"""
import re
import subprocess
import sys


def ask(cli, *words):
    return subprocess.run([cli, *words], capture_output=True, text=True, check=True).stdout


def commands(cli):
    """(name, arguments, help) of each listed command."""
    rows = []
    for line in re.sub(r"\n {20,}", " ", ask(cli, "--help")).splitlines():
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


def words(cli):
    """{command: [(word, meaning)]}: "--sync", "--top=" with a free value, "--format=csv"."""
    pages = {"run": ask(cli, "options", "--format=words"), "doctor": "--help\tprint the help"}
    for name, _, _ in commands(cli):
        if name not in pages:
            pages[name] = ask(cli, name, "--help=words")
    return {name: [tuple(line.split("\t", 1)) for line in page.splitlines()] for name, page in pages.items()}


def options(rows):
    """[(name, values, meaning)] of the words of a command; values: None for a switch, [] where it is free."""
    found = {}
    for word, meaning in rows:
        if not word.startswith("--"):
            continue
        name, equals, value = word.partition("=")
        values = found.setdefault(name[2:], ([] if equals else None, meaning))[0]
        if value:
            values.append(value)
    return [(name, values, meaning) for name, (values, meaning) in found.items()]


def letters(cli):
    """{option: letter}, as the help shows them."""
    pages = [ask(cli, "options")] + [ask(cli, name, "--help") for name, _, _ in commands(cli) if name not in ("run", "doctor")]
    return {name: letter for page in pages for letter, name in re.findall(r"^  -(.), --([a-z-]+)", page, re.M)}


def plain(rows):
    """The words of a command that are no options: "all", "stacks=off"."""
    return " ".join(word for word, _ in rows if not word.startswith("--"))


def of_processes(cli):
    """The commands that take processes, attach apart: those of the others are traced."""
    return [name for name, arguments, _ in commands(cli) if "PID" in arguments and name != "attach"]


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def for_bash(cli):
    """An associative array of bash: the words of each command."""
    return "\n".join(f'[{name}]="{" ".join(word for word, _ in rows)}"' for name, rows in words(cli).items())


def for_zsh(cli):
    """A branch for each command: what _arguments of zsh takes."""
    short, lines, traced = letters(cli), [], of_processes(cli)
    for name, rows in words(cli).items():
        specs = []
        for option, values, meaning in options(rows):
            meaning = re.sub(r"([\\\[\]:])", r"\\\1", meaning)
            action = "" if values is None else f":value:({' '.join(values)})" if values else ":value:_files"
            if name == "stats" and option == "report":
                action = f":value:_values -s , report {' '.join(values)}"
            equals = "" if values is None else "="
            specs.append(quote(f"--{option}{equals}[{meaning}]{action}"))
            if option in short:
                specs.append(quote(f"-{short[option]}{'' if values is None else '+'}[{meaning}]{action}"))
        rest = "'*:::program:_normal'" if name == "run" else "'*:trace:_files'"
        if plain(rows):
            rest = quote(f"*:argument:({plain(rows)})")
        if name == "attach":
            rest = "'*:process:_pids'"
        elif name in traced:
            rest = quote(f"*:process:_gputrace_pids {plain(rows)}")
        lines.append(f"\t{name}) _arguments -S {' '.join(specs)} {rest} ;;")
    return "\n".join(lines)


def for_fish(cli):
    """A line for each command and each of its options."""
    short, lines, traced = letters(cli), [], of_processes(cli)
    for name, _, text in commands(cli):
        lines.append(f"complete -c gputrace -n __fish_use_subcommand -f -a {name} -d {quote(text)}")
    for name, rows in words(cli).items():
        for option, values, meaning in options(rows):
            line = f"complete -c gputrace -n '__fish_seen_subcommand_from {name}' -l {option} -d {quote(meaning)}"
            line += f" -s {short[option]}" if option in short else ""
            told = " ".join(value + r"\t" for value in values or [])  # else each repeats what the option means
            lines.append(line + ("" if values is None else f" -x -a '{told}'" if values else " -r"))
        if plain(rows):
            lines.append(f"complete -c gputrace -n '__fish_seen_subcommand_from {name}' -f -a '{plain(rows)}'")
        if name == "attach" or name in traced:
            found = "__fish_complete_pids" if name == "attach" else "__gputrace_pids"
            lines.append(f"complete -c gputrace -n '__fish_seen_subcommand_from {name}' -f -a '({found})'")
    return "\n".join(lines).replace("'\\''", "\\'")


def command_rows(cli):
    """What _describe of zsh takes."""
    return " ".join(quote(f"{name}:{text}".replace("'", "")) for name, _, text in commands(cli))


COMPLETIONS = {"bash": for_bash, "zsh": for_zsh, "fish": for_fish}


def main(kind, cli, version, docs, template):
    with open(template, encoding="utf-8") as page:
        text = page.read()
    if kind == "man":
        values = {"OPTIONS": ask(cli, "options", "--format=man").rstrip("\n"),
                  "COMMANDS": man_commands(cli).rstrip("\n"), "PAGES": man_pages(cli)}
    else:
        rows = command_rows(cli) if kind == "zsh" else " ".join(name for name, _, _ in commands(cli))
        values = {"OPTIONS": COMPLETIONS[kind](cli), "COMMANDS": rows,
                  "TRACED": " ".join(of_processes(cli)),
                  "LETTERS": " ".join(f"[{letter}]={name}" for name, letter in sorted(letters(cli).items()))}
    values.update(VERSION=version, DOCS=roff(docs))
    sys.stdout.write(re.sub(r"@(OPTIONS|COMMANDS|LETTERS|TRACED|PAGES|VERSION|DOCS)@", lambda m: values[m.group(1)], text))


if __name__ == "__main__":
    main(*sys.argv[1:])
