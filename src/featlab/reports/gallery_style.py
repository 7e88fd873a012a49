"""The gallery's own rules beside those of all pages. Pictures are drawn on white and keep it in the dark."""

from __future__ import annotations

GALLERY_STYLE = """
main, footer { max-width: 72rem; } main p, main ul, main table { max-width: 60rem; }
nav { padding-top: .5rem; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: .3rem; }
.claim { font-size: 1.1rem; }
.badge { display: inline-block; margin: .1rem 0 .5rem; padding: .1rem .6rem; border: 1px solid currentColor;
  border-radius: 1rem; font-size: .9rem; font-weight: 600; color: var(--soft); }
.counts { list-style: none; display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; padding: 0; }
.badge.reproduced, .counts .reproduced { color: var(--trivial); }
.badge.corrected, .counts .corrected { color: var(--link); }
.badge.open, .counts .open { color: var(--easy); } .badge.contradicted, .counts .contradicted { color: var(--hard); }
.claims td { white-space: nowrap; } .claims th { width: 70%; }
.checks { list-style: none; padding: 0; } .checks li { margin: 0 0 .9rem; }
.facts th { white-space: nowrap; color: var(--soft); }
article { border-top: 1px solid var(--line); padding: 0 0 1.2rem; }
pre { overflow-x: auto; font: .85em ui-monospace, monospace; }
@media (max-width: 40rem) { .wide { overflow-x: auto; } .wide img { max-width: none; width: 50rem; }
  .claims, .claims tbody, .claims tr, .claims th, .claims td { display: block; width: auto; }
  .claims thead { display: none; } .claims th { border-bottom: none; padding-bottom: 0; }
  .claims td { white-space: normal; } }
"""
