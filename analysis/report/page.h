/* SPDX-License-Identifier: Apache-2.0
 *
 * The fixed text of the report's page: style and script.
 */
#ifndef GT_ANALYSIS_REPORT_PAGE_H
#define GT_ANALYSIS_REPORT_PAGE_H

/* CSS of the page. Wide things scroll by themselves, the page never does sideways. */
static const char report_style[] =
	":root{--bg:#fff;--fg:#222;--quiet:#5f6368;--line:#d8dade;--idle:#d9dce1;--pre:#f4f5f7}"
	"@media(prefers-color-scheme:dark){:root{--bg:#1b1c1e;--fg:#dcdee2;--quiet:#a6abb3;"
	"--line:#43464c;--idle:#3a3d43;--pre:#26282c}}"
	"*{box-sizing:border-box}"
	"body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1280px;"
	"padding:0 min(24px,4vw) 60px;color:var(--fg);background:var(--bg)}"
	"h1{font-size:22px;margin:24px 0 4px;overflow-wrap:break-word}"
	"h2{font-size:17px;margin:34px 0 8px;border-bottom:1px solid "
	"var(--line);padding-bottom:4px}"
	"h3{font-size:15px;margin:18px 0 4px}p{margin:6px 0}li{overflow-wrap:anywhere}"
	".quiet{color:var(--quiet)}"
	".scroll{overflow-x:auto;margin:6px 0}"
	"table{border-collapse:collapse;font-size:13px}"
	"th{cursor:pointer;text-align:right;border-bottom:2px solid var(--line);padding:3px 10px;"
	"font-weight:600;white-space:nowrap}"
	"td{text-align:right;padding:2px 10px;border-bottom:1px solid var(--line);"
	"font-variant-numeric:tabular-nums;white-space:nowrap}"
	"th.t,td.t{text-align:left}td.t{white-space:normal;overflow-wrap:break-word;"
	"min-width:7em;max-width:44em}"
	".cards{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0}"
	".card{border:1px solid var(--line);border-radius:8px;padding:8px 14px}"
	".card b{display:block;font-size:20px}"
	".key span{white-space:nowrap;margin-right:12px}"
	".key i{display:inline-block;width:11px;height:11px;margin-right:4px}"
	".dev{margin:8px 0 1px;font-size:12px}svg{width:100%;height:auto;display:block}"
	".grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke;fill:none}"
	".axis{position:relative;height:20px;font-size:12px;border-top:1px solid var(--line);"
	"color:var(--quiet)}"
	".axis span{position:absolute;transform:translateX(-50%);white-space:nowrap}"
	".axis span:first-child{transform:none}.axis .last{transform:translateX(-100%)}"
	".row{display:grid;grid-template-columns:minmax(7em,13em) 1fr;gap:8px;align-items:center;"
	"font-size:12px;margin:3px 0}"
	".bar{display:flex;height:18px;overflow:hidden}.bar i{display:block;flex:none}"
	".compute{background:#3a9d5d;fill:#3a9d5d}.comm{background:#e08a1e;fill:#e08a1e}"
	".copy{background:#3b7dd8;fill:#3b7dd8}.graph{background:#8a5fbf;fill:#8a5fbf}"
	".both{background:#a8b545}.idle{background:var(--idle)}"
	"svg.flame{min-width:900px}svg text{fill:var(--fg)}svg .box text{fill:#111}"
	"pre{background:var(--pre);padding:10px;overflow:auto}"
	"input,button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);"
	"border-radius:6px;padding:2px 8px;margin:2px 0}button{cursor:pointer}"
	":focus-visible{outline:2px solid #3b7dd8;outline-offset:1px}"
	"@media(max-width:560px){.row{grid-template-columns:1fr;gap:1px}"
	"td.t{max-width:15em}td,th{padding:2px 6px}.card{padding:6px 10px}"
	".card b{font-size:17px}}";

/* A click on a column's title, or Enter, sorts by it, numbers falling first. A table with many rows
 * gets a field to search in, and a button for the rows that are not shown. */
static const char report_script[] =
	"(function(){function each(list,f){Array.prototype.forEach.call(list,f);}"
	"each(document.querySelectorAll('th'),function(th){th.addEventListener('click',function(){"
	"var i=th.cellIndex,body=th.closest('table').tBodies[0],"
	"rows=Array.prototype.slice.call(body.rows);"
	"var down=th.dataset.down!=='1';th.dataset.down=down?'1':'';rows.sort(function(a,b){"
	"var x=a.cells[i].dataset.v,y=b.cells[i].dataset.v;var d=x===undefined||y===undefined?"
	"a.cells[i].textContent.localeCompare(b.cells[i].textContent):y-x;return down?d:-d;});"
	"rows.forEach(function(r){body.appendChild(r);});"
	"each(th.parentNode.querySelectorAll('th'),function(o){o.removeAttribute('aria-sort');});"
	"th.setAttribute('aria-sort',down?'descending':'ascending');});"
	"th.addEventListener('keydown',function(e){if(e.key==='Enter')th.click();});});"
	"each(document.querySelectorAll('.scroll'),function(box){"
	"var table=box.querySelector('table'),rest=box.nextElementSibling,all=false;"
	"if(!table||table.tBodies[0].rows.length<8)return;"
	"var rows=Array.prototype.slice.call(table.tBodies[0].rows),field=document.createElement("
	"'input');"
	"rows.forEach(function(r){r.dataset.more=r.hidden?'1':'';});"
	"function show(){var word=field.value.toLowerCase();rows.forEach(function(r){"
	"var text='';each(r.cells,function(c){text+=c.textContent+' '+c.title+' ';});"
	"r.hidden=word?text.toLowerCase().indexOf(word)<0:r.dataset.more==='1'&&!all;});}"
	"field.type='search';field.placeholder='search';"
	"field.setAttribute('aria-label','search in '+box.getAttribute('aria-label'));"
	"field.addEventListener('input',show);box.parentNode.insertBefore(field,box);"
	"if(!rest||!rest.classList.contains('rest'))return;"
	"var button=document.createElement('button');button.textContent='show';"
	"button.addEventListener('click',function(){all=!all;"
	"button.textContent=all?'hide':'show';show();});"
	"rest.appendChild(document.createTextNode(' '));rest.appendChild(button);});})();";

#endif
