"""The style sheets of the page and of the notebook display; colours follow the reader's light or dark setting."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #20242b; --paper: #ffffff; --soft: #5b6472; --line: #d9dde3; --link: #1f5fa8;
  --trivial: #1d7a55; --easy: #9a5b00; --hard: #b1302a; --undecided: #7b3fa0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaee; --paper: #16191d; --soft: #a3acb8; --line: #3a414b;
  --link: #8ab8f0; --trivial: #5fcf9f; --easy: #f0b45c; --hard: #ff8a80; --undecided: #d3a4f0; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main, footer { max-width: 52rem; margin: 0 auto; padding: 1rem 1.25rem; }
h1 { font-size: 1.35rem; margin: 1rem 0 .5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
code { font: .95em ui-monospace, monospace; overflow-wrap: anywhere; }
small, .small, figcaption, caption, footer { color: var(--soft); font-size: .875rem; font-weight: normal; }
a { color: var(--link); }
.verdict { font-size: 1.15rem; border-left: .35rem solid currentColor; padding: .4rem 0 .4rem .9rem; }
.verdict { border-color: var(--soft); } .verdict strong { letter-spacing: .03em; }
.trivial { border-color: var(--trivial); } .trivial strong { color: var(--trivial); }
.easy { border-color: var(--easy); } .easy strong { color: var(--easy); }
.hard { border-color: var(--hard); } .hard strong { color: var(--hard); }
.undecided { border-color: var(--undecided); } .undecided strong, .doubt strong { color: var(--undecided); }
.notice { border: 1px solid var(--line); border-radius: .3rem; padding: .5rem .8rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .925rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
tbody th { font-weight: normal; }
figure { margin: 0 0 1rem; } figure svg { max-width: 100%; height: auto; }
"""

FRAGMENT_STYLE = """
.featlab .target { font-size: 1.1em; margin: .2em 0; } .featlab .verdict { margin: .3em 0 .6em; }
.featlab table { border-collapse: collapse; margin: .4em 0 .8em; } .featlab caption { text-align: left; opacity: .75; }
.featlab th, .featlab td { text-align: left; vertical-align: top; padding: .15em .8em .15em 0; font-weight: normal; }
.featlab thead th { font-weight: 600; } .featlab .small { opacity: .75; font-size: .9em; }
"""
