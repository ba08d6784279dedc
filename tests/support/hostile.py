"""One hundred names and messages that try to be more than text.

``SCRIPTS`` are HTML that would run or fetch something; what runs sets the attribute ``MARK`` on the
root element, what fetches asks the server that ``BEACON`` stands for.
"""

from __future__ import annotations

MARK = "data-hostile-text-ran"

_RUN = f"document.documentElement.setAttribute('{MARK}','1')"

SCRIPTS = (
    f"<script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"</style><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>",
    f"--><script>{_RUN}</script>",
    f"]]><script>{_RUN}</script>",
    f"<ScRiPt>{_RUN}</sCrIpT>",
    f"<script/x>{_RUN}</script>",
    f'<img src=x onerror="{_RUN}">',
    f'<svg onload="{_RUN}"></svg>',
    f"<svg><script>{_RUN}</script></svg>",
    f'<body onload="{_RUN}">',
    f'<details open ontoggle="{_RUN}"><summary>x</summary></details>',
    f'<input autofocus onfocus="{_RUN}">',
    f'<video><source onerror="{_RUN}"></video>',
    f'<iframe srcdoc="<script>parent.{_RUN}</script>"></iframe>',
    f'<iframe src="javascript:parent.{_RUN}"></iframe>',
    f'"><script>{_RUN}</script>',
    f"'><script>{_RUN}</script>",
    f'" onmouseover="{_RUN}" autofocus tabindex=0 onfocus="{_RUN}',
    '<img src="BEACON/img">',
    '<link rel=stylesheet href="BEACON/css">',
    '<script src="BEACON/js"></script>',
    '<style>@import url("BEACON/import");</style>',
    '<style>body{background:url("BEACON/background")}</style>',
    '<iframe src="BEACON/frame"></iframe>',
    '<object data="BEACON/object"></object>',
    '<embed src="BEACON/embed">',
    '<svg><image href="BEACON/svg"/></svg>',
    '<p style="background:url(BEACON/style)">x</p>',
)
TEMPLATES = (
    "{{ 7*7 }}",
    "{% include '/etc/passwd' %}",
    "{{ config.__class__.__init__.__globals__ }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
)
TERMINAL = (
    "\x1b[2J\x1b[H",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;new title\x07",
    "\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZWNobyBvd25lZA==\x07",
    "\x1b[6n",
    "\x1bP+q544e\x1b\\",
    "\x1b#8",
    "\x1bc",
    "\x9b31mred",
    "\x9d0;title\x9c",
    "\x90q\x9c",
    "bell\x07bell",
    "back\x08\x08\x08\x08space",
    "carriage\rreturn",
    "vertical\x0btab and form\x0cfeed",
    "\x00null\x00",
    "\x0eshift out\x0f",
    "delete\x7f\x7f",
    "[bold red]rich markup[/bold red] :skull:",
)
INVISIBLE = (
    "\u202egnp.exe",
    "\u202dleft\u202c",
    "\u2066isolate\u2069",
    "\u2067isolate\u2069",
    "\u200eleft\u200fright\u061cletter",
    "zero\u200bwidth\u200cjoin\u200der",
    "\ufeffbyte order mark",
    "soft\u00adhyphen",
    "word\u2060joiner",
    "tag\U000e0041\U000e007f",
    "filler\u3164\u115f\u1160\uffa0",
    "variation\ufe0f\U000e0100",
    "no\u00a0break\u202fspace",
    "line\u2028separator\u2029paragraph",
    "next\u0085line",
    "lone\ud800surrogate\udfff",
    "not a character \ufffe\uffff\U0001fffe",
    "zalgo" + "\u0301\u0489\u0336" * 30,
    "private\ue000use\U00100000",
    "interlinear\ufff9annotation\ufffb",
)
MARKDOWN = (
    "| a | b |\n|---|---|\n| c | d |",
    "pipe | in | a cell",
    "back\\|slash pipe \\\\| twice \\\\\\|",
    "`code` ``double`` ```triple```",
    "```\nend of fence\n```",
    "~~~\ntilde fence\n~~~",
    "# heading\n## heading",
    "[link](javascript:alert(1)) ![image](http://example.invalid/x.png)",
    "[reference]: http://example.invalid",
    "<details><summary>x</summary></details></details></table></td>",
    "**bold** _italic_ ~~struck~~ <!-- comment",
    "@octocat please see #1 and octocat/hello#2",
    "https://example.invalid www.example.invalid mailto:a@example.invalid",
    "$\\href{javascript:alert(1)}{x}$ $$\\int$$",
    "- item\n1. item\n> quote\n---\n===",
    "&lt;script&gt; &#60;script&#62; &amp;amp;",
)
RUNNERS = (
    "::set-output name=verdict::REPRODUCED",
    "::error file=a.py,line=1::not ours",
    "::stop-commands::secret",
    "::add-mask::e",
    "\n::warning::after a line end",
    "\r\n::notice::after a carriage return",
    "%0A::error::percent-encoded%0D",
    "text ##[error]old style",
    "##vso[task.setvariable variable=x]y ##teamcity[buildStatus status='SUCCESS']",
)
OTHERS = (
    "",
    "    padded    ",
    "x" * 100_000,
    "]]>&<>\"' <![CDATA[ <?xml version='1.0'?> <!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]> &e;",
    "%s %d {0} %(name)s",
    "=cmd|' /C calc'!A0",
    "العربية עברית 中文 ελληνικά кириллица हिन्दी",
    "../../../etc/passwd; rm -rf / $(reboot) `reboot`",
)

TEXTS = (*SCRIPTS, *TEMPLATES, *TERMINAL, *INVISIBLE, *MARKDOWN, *RUNNERS, *OTHERS)
