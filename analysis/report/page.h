/* SPDX-License-Identifier: Apache-2.0
 *
 * The fixed text of the report's page: style and script.
 */
#ifndef GT_ANALYSIS_REPORT_PAGE_H
#define GT_ANALYSIS_REPORT_PAGE_H

/* CSS of the page. */
static const char report_style[] =
	"body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1280px;padding:0 24px "
	"60px;color:#222;"
	"background:#fff}h1{font-size:22px;margin:24px 0 4px}h2{font-size:17px;margin:34px 0 "
	"8px;border-bottom:"
	"1px solid #ddd;padding-bottom:4px}p{margin:6px "
	"0}table{border-collapse:collapse;margin:6px 0 18px;"
	"font-size:13px}th{cursor:pointer;text-align:right;border-bottom:2px solid "
	"#ccc;padding:3px 10px;"
	"font-weight:600;white-space:nowrap}td{text-align:right;padding:2px 10px;border-bottom:1px "
	"solid #eee;"
	"font-variant-numeric:tabular-nums;white-space:nowrap}.t{text-align:left;white-space:"
	"normal;"
	"overflow-wrap:anywhere}.cards{display:flex;flex-wrap:wrap;gap:12px;margin:14px "
	"0}.card{border:1px solid "
	"#ddd;border-radius:8px;padding:8px 16px}.card "
	"b{display:block;font-size:20px}.quiet{color:#777}svg{width:"
	"100%;height:auto;display:block}.key "
	"i{display:inline-block;width:11px;height:11px;margin:0 4px 0 14px}"
	"pre{background:#f6f6f6;padding:10px;overflow:auto}"
	"@media(prefers-color-scheme:dark){body{background:#1b1c1e;color:#ddd}h2,td,th,.card{"
	"border-color:#444}"
	"pre{background:#26272a}svg text{fill:#ddd}svg .box text{fill:#111}}";

/* A click on a column's title, or Enter, sorts by it, numbers falling first. */
static const char report_script[] =
	"document.querySelectorAll('th').forEach(function(th){th.addEventListener('click',function("
	"){"
	"var "
	"i=th.cellIndex,body=th.closest('table').tBodies[0],rows=Array.prototype.slice.call(body."
	"rows);"
	"var down=th.dataset.down!=='1';th.dataset.down=down?'1':'';rows.sort(function(a,b){"
	"var x=a.cells[i].dataset.v,y=b.cells[i].dataset.v;var d=x===undefined||y===undefined?"
	"a.cells[i].textContent.localeCompare(b.cells[i].textContent):y-x;return down?d:-d;});"
	"rows.forEach(function(r){body.appendChild(r);});"
	"th.parentNode.querySelectorAll('th').forEach(function(o){o.removeAttribute('aria-sort');})"
	";"
	"th.setAttribute('aria-sort',down?'descending':'ascending');});"
	"th.addEventListener('keydown',function(e){if(e.key==='Enter')th.click();});});";

#endif
