"""How pages look: at a desk they use the width, on a phone nothing is out of sight, and on paper they are A4."""

STYLE = """
@page { size: A4; margin: 12mm; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: #22303c; background: #fff;
       max-width: 1180px; margin: 1.5rem auto; padding: 0; overflow-wrap: break-word; }
h1 { margin: 0; line-height: 1.2; } p.sub { color: #4a5568; margin: .2rem 0 1rem; }
h2 { margin-top: 2.6rem; border-bottom: 2px solid #2b6cb0; padding-bottom: .2rem; }
h3 { margin: 1.8rem 0 .3rem; font-size: 1.05rem; } p { margin: .5rem 0; } li { margin: .25rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 1rem 0; } a { color: #2b6cb0; }
.advice { border-left: 5px solid #2b6cb0; background: #ebf4fb; padding: .7rem 1rem; margin: 1rem 0; }
.advice b { display: block; margin-bottom: .2rem; } .note { color: #4a5568; font-size: 13px; }
.wide { overflow-x: auto; margin: .2rem 0 1rem; background:
  linear-gradient(to right, #fff, #fff 12px, transparent 28px) local, linear-gradient(to left, #fff, #fff 12px, transparent 28px) local,
  linear-gradient(to right, #cbd5e0, transparent 14px), linear-gradient(to left, #cbd5e0, transparent 14px); }
.caption { margin: .6rem 0 0; }
table { border-collapse: collapse; font-size: 13px; min-width: 100%; }
th, td { padding: .28rem .4rem; border-bottom: 1px solid #e2e8f0; text-align: right; vertical-align: top; }
th { background: #f1f5f9; font-weight: 600; vertical-align: bottom; } .text { text-align: left; }
td.text { min-width: 5.5rem; overflow-wrap: anywhere; }
th:first-child, td:first-child { text-align: left; min-width: 10.5rem; } td.long { min-width: 12.5rem; }
code { font-size: .92em; } table.links th:first-child, table.links td:first-child { min-width: 5rem; }
tr.marked td { background: #ebf4fb; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; font-size: 14px; }
dt { color: #4a5568; } dd { margin: 0; } figure { margin: .4rem 0 1rem; }
p, h2 ~ ul { max-width: 50rem; } .caption, .sub, figure p { max-width: none; }
.chart { container-type: inline-size; } .chart svg { display: none; width: 100%; height: auto; font: 12px system-ui, sans-serif;
  fill: #22303c; } .chart .w600 { display: block; } .chart .ytitle, .chart .xtitle { fill: #4a5568; }
.chart .unfinished { fill: #4a5568; font-style: italic; } .chart .hint { fill: transparent; }
.chart .hint:hover { fill: rgb(43 108 176 / .12); }
@container (max-width: 459px) { .chart .w600 { display: none; } .chart .w360 { display: block; } }
@container (min-width: 880px) { .chart .w600 { display: none; } .chart .w1160 { display: block; } }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: 13px; margin: .2rem 0 .3rem; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; column-gap: 28px; align-items: start; } .pair > div { min-width: 0; }
.pair th:first-child, .pair td:first-child { min-width: 7rem; } .pair .caption { margin-top: .4rem; }
@media screen and (max-width: 1000px) { .pair { display: block; } }
footer { margin: 3rem 0 1rem; color: #4a5568; font-size: 13px; border-top: 1px solid #e2e8f0; padding-top: .6rem; }
@media screen and (max-width: 1228px) { body { padding: 0 24px; } }
@media screen and (max-width: 742px) { body { padding: 0 12px; margin-top: 1rem; } h1 { font-size: 1.5rem; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } ul { padding-left: 1.2rem; }
  th:first-child, td:first-child { min-width: 7.5rem; max-width: 10rem; overflow-wrap: anywhere; position: sticky;
    left: 0; background: #fff; }
  th:first-child { background: #f1f5f9; } tr.marked td:first-child { background: #ebf4fb; }
  table.cards, .cards tbody { display: block; } .cards thead, .cards td:empty { display: none; }
  .cards tr { display: grid; grid-template-columns: 1fr 1fr 1fr; border-bottom: 2px solid #cbd5e0; padding: .3rem 0; }
  .cards.four tr { grid-template-columns: 1fr 1fr 1fr 1fr; }
  .cards tr.marked { background: #ebf4fb; } .cards td { border: 0; text-align: left; min-width: 0; padding: .1rem .4rem; }
  .cards td:first-child, .cards td.text { grid-column: 1 / -1; position: static; max-width: none; }
  .cards td:first-child { font-weight: 600; } .cards td.number { order: 1; font-weight: 400; }
  .cards td[data-label]::before { content: attr(data-label); display: block; color: #4a5568; font: 11px/1.3 system-ui, sans-serif; }
  .cards td.text[data-label]::before { display: inline; } .cards td.text[data-label]::before { content: attr(data-label) ": "; } }
@media print { .pair { display: block; } body { margin: 0; max-width: none; padding: 0; font-size: 12px; } nav, .screen { display: none; }
  h2, h3, .caption { break-after: avoid; } figure, tr, .advice, li { break-inside: avoid; }
  .wide { overflow: visible; } table { font-size: 10px; } th, td { padding: .2rem .25rem; }
  td.text { min-width: 4.5rem; } th:first-child, td:first-child { min-width: 8rem; } td.long { min-width: 11rem; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
