// The page's style sheet. Colours are those of Okabe and Ito ("Color Universal Design", 2008), told apart
// with any kind of colour vision; darker or lighter to keep a contrast of 4.5 to the ground.
#include "tuner/report/page_parts.h"

namespace lathe::report {

const char* const style_sheet = R"css(
:root{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--ink:#1b1f24;--dim:#59626e;--line:#d5d9df;--grid:#e6e9ed;
--raw:#b34700;--tuned:#0065a8;--floor:#6a6f77;--good:#00704f;--bad:#a3182b;--warn-ground:#fff3d6;--warn:#6b4700;--chip:#e3edf6}
@media (prefers-color-scheme:dark){:root{--ground:#14171b;--card:#1c2127;--ink:#e7eaee;--dim:#a2abb6;--line:#3a424c;--grid:#2a3038;
--raw:#ff9d5c;--tuned:#62b5f2;--floor:#a7aeb8;--good:#4fd1a5;--bad:#ff8b98;--warn-ground:#3b2e0d;--warn:#ffd87d;--chip:#1e3346}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
overflow-wrap:break-word}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 20px}
header{padding-top:28px}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}
h2{font-size:1.35rem;margin:2.6rem 0 .4rem;padding-top:1.2rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.8rem 0 .5rem}
p{margin:.4rem 0}
a{color:var(--tuned)}
code{font:.92em ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
.dim,.remark{color:var(--dim)}
.remark{font-size:.85rem}
.banner{background:var(--warn-ground);color:var(--warn);padding:.7rem 1rem;border-radius:8px;font-weight:600;margin:1rem 0}
.note{border-left:3px solid var(--line);padding-left:.7rem;color:var(--dim);font-size:.9rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:1rem 0;padding:0;list-style:none}
.cards li{background:var(--card);border-radius:10px;padding:.7rem .9rem}
.cards b{display:block;font-size:1.55rem;line-height:1.25;font-variant-numeric:tabular-nums}
.cards span{color:var(--dim);font-size:.85rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,345px),1fr));gap:16px}
figure{margin:0;background:var(--card);border-radius:10px;padding:.8rem .9rem;min-width:0}
figcaption{font-weight:600;margin-bottom:.2rem}
svg{display:block;width:100%;height:auto}
.legend{display:flex;flex-wrap:wrap;gap:.1rem .9rem;font-size:.83rem;color:var(--dim);margin:.1rem 0 .4rem}
.swatch{display:inline-block;width:.75em;height:.75em;border-radius:50%;margin-right:.35em}
.swatch.raw{background:var(--raw)}.swatch.tuned{background:var(--tuned)}.swatch.tried{background:var(--tuned);opacity:.4}
.swatch.floor{border-radius:0;height:0;border-top:2px dashed var(--floor);width:1.1em;vertical-align:.25em}
.swatch.band{border-radius:0;background:var(--grid);outline:1px solid var(--line)}
.swatch.fail{background:var(--bad)}
.tick{font-size:11px;fill:var(--dim);font-variant-numeric:tabular-nums}
.axis-title{font-size:11.5px;fill:var(--dim)}
.name{font-size:12px;fill:var(--ink)}
.inside{font-size:10px;fill:var(--ink)}
.grid{stroke:var(--grid)}.axis{stroke:var(--line)}
line.raw,path.raw{stroke:var(--raw);stroke-width:2;fill:none}
line.tuned,path.tuned{stroke:var(--tuned);stroke-width:2.2;fill:none;stroke-linejoin:round}
line.floor,path.floor{stroke:var(--floor);stroke-width:1.6;stroke-dasharray:5 4;fill:none}
line.one{stroke:var(--dim)}
line.link{stroke:var(--line)}
line.whisker{stroke:var(--tuned);stroke-width:2}
circle.raw,rect.raw{fill:var(--raw)}circle.tuned,rect.tuned{fill:var(--tuned)}circle.floor{fill:var(--floor)}
circle.none{fill:var(--ground);stroke:var(--dim);stroke-width:1.6}
rect.band{fill:var(--grid)}rect.cell{fill:var(--tuned)}rect.slow{fill:var(--raw)}rect.empty{fill:var(--grid)}
rect.pair{fill:var(--tuned);fill-opacity:.5}rect.rest{fill:var(--floor);fill-opacity:.5}
rect.best{fill:none;stroke:var(--ink);stroke-width:1.5}
path.dots{stroke:var(--tuned);stroke-opacity:.38;stroke-width:4;stroke-linecap:round;fill:none}
path.fails{stroke:var(--bad);stroke-width:1.6;fill:none}
.scroll{overflow-x:auto;max-width:100%}
.scroll:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--tuned);outline-offset:2px}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;width:100%}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{padding:.32rem .55rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:middle;white-space:nowrap}
th{font-weight:600}thead th{color:var(--dim);font-size:.8rem;vertical-align:bottom;white-space:normal}
tbody th,td.words,thead th:first-child{text-align:left}
td.words{white-space:normal;min-width:12rem}
table:has(.words) th,table:has(.words) td{text-align:left}
table:has(.words) th{white-space:normal;min-width:7rem}
td>.words,td>code{display:block;white-space:normal;min-width:14rem;text-align:left}
.problems td.strip{width:180px;min-width:130px}
.problems th,.problems td{padding-left:.4rem;padding-right:.4rem}
.problems a{text-decoration:none}.problems a:hover{text-decoration:underline}
.gain{color:var(--good);font-weight:600}.loss{color:var(--bad);font-weight:600}.even{color:var(--dim)}
details.problem{border:1px solid var(--line);border-radius:10px;margin:.6rem 0;padding:0 .9rem}
details.problem>summary{cursor:pointer;position:relative;padding:.65rem 0 .65rem 1.3rem;font-weight:600;display:flex;flex-wrap:wrap;gap:.1rem 1rem;align-items:baseline}
details.problem>summary::before{content:"▸";color:var(--dim);position:absolute;left:0}
details.problem[open]>summary::before{content:"▾"}
details.problem>summary::-webkit-details-marker{display:none}
details.problem>summary{list-style:none}
details.problem>summary span{font-weight:400;color:var(--dim);font-size:.9rem}
details.problem>.figures{margin-bottom:1rem;scroll-margin-top:4rem}
details.data{margin-top:.4rem;font-size:.85rem}details.data summary{cursor:pointer;color:var(--dim)}
.winner dl{display:grid;grid-template-columns:auto 1fr;gap:.15rem .9rem;margin:.5rem 0 0;font-size:.9rem}
.winner dt{color:var(--dim)}.winner dd{margin:0}
.winner .big{font-size:2rem;font-weight:700;line-height:1.1;font-variant-numeric:tabular-nums}
.chips{display:flex;flex-wrap:wrap;gap:.3rem;list-style:none;margin:.5rem 0;padding:0;font-size:.82rem}
.chips li{border:1px solid var(--line);border-radius:6px;padding:.05rem .45rem}
.chips li.changed{background:var(--chip);border-color:var(--tuned)}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;list-style:none}
footer{margin:3rem auto 2rem;border-top:1px solid var(--line);padding-top:1rem;color:var(--dim);font-size:.88rem}
@media (max-width:640px){main,header,footer{padding-left:14px;padding-right:14px}h1{font-size:1.4rem}
.cards{grid-template-columns:1fr 1fr}
.problems thead{display:none}.problems,.problems tbody{display:block}
.problems tr{display:grid;grid-template-columns:1fr auto;gap:0 .8rem;border-bottom:1px solid var(--line);padding:.5rem 0}
.problems th,.problems td{border:0;padding:.08rem 0;white-space:normal}
.problems th{grid-column:1/2}.problems td.ratio{grid-column:2/3;grid-row:1}.problems td.strip{grid-column:1/-1;width:auto}
.problems td.wide{grid-column:1/-1}
.problems td[data-name]{text-align:left;font-size:.83rem}.problems td[data-name]::before{content:attr(data-name) " ";color:var(--dim)}
details.problem{padding:0 .6rem}figure{padding:.6rem}}
@media print{details.problem{break-inside:avoid}}
)css";

} // namespace lathe::report
