"""How secrets are written in one line, and of what words a line must hold one for each way."""

from __future__ import annotations

import re

from reprokit.redaction.credentials import MARK
from reprokit.redaction.issued_tokens import ISSUED_TOKEN, ISSUED_TOKEN_HINTS

_QUOTE = r"(?:'\"'\"'|\\*(?:\"{3}|'{3})|(?:\\+\"){3}|\\*[\"'])"  # the first is how a shell quotes a quote
VALUE = re.compile(
    rf"(?P<before>![\w/!:.-]*[ \t]+|[bru]{{1,2}}(?={_QUOTE}))?(?P<value>{MARK}|(?P<quote>{_QUOTE})"
    r"(?:(?!(?P=quote))(?:\\.|[^\r\n]))*(?:(?P=quote)|$)"
    r"|\[[^\]\r\n]*\]|\{[^{}\r\n]*\}|[^\s&;,]+(?:,(?=[^\s,=:]+(?:[\s,]|$))[^\s&;,]+)*)",
    re.IGNORECASE | re.MULTILINE,
)
_TYPE = (
    r"(?:Optional\[)?(?:str|bytes|SecretStr|Any|string)\]?(?:[ \t]*\|[ \t]*None)?"  # between name and value
)
ASSIGNMENT = re.compile(
    rf"(?P<name>(?<![\w.-])[-+~]{{0,2}}[\w.-]++)"
    rf"(?P<sign>{_QUOTE}?\]?[ \t]*(?::[ \t]*{_TYPE}[ \t]*=|=>|:=|[=:])[ \t]*)(?!\Z)"
)
SET = re.compile(r"(?:\bsetenv|\bset[ \t]+-g?x|%env)[ \t]+(?P<name>[\w.-]++)(?P<sign>[ \t]+)(?=\S)")
OPTION = re.compile(  # also in a list of words, as programs print their arguments
    rf"(?P<name>(?<![\w.-])--?[\w.-]++)(?P<sign>[ \t]+(?!-)|{_QUOTE},[ \t]*(?!{_QUOTE}-))(?!\Z)"
)
PAIR = re.compile(  # ("HF_TOKEN", "…"), as a sorted dictionary is printed
    rf"[(\[]{_QUOTE}(?P<name>[\w.-]++)"
    rf"(?P<sign>{_QUOTE},[ \t]*)(?={_QUOTE}[^\"'\\\r\n]{{1,500}}{_QUOTE}[ \t]*[)\]])"
)
LOOSE = re.compile(  # in a table, a listing or a sentence, where what follows looks like made by chance
    rf"(?P<name>(?<![\w.-])[\w.-]++)"
    rf"(?P<sign>{_QUOTE}?(?:[ \t]*(?:->|<-|→|==|[|│┃])[ \t]*|[ \t]+(?:(?:is|was|set[ ]to)[ ])?))"
    r"(?=[\"']?(?P<value>[\w.+/=~-]{12,200})(?![\w+/=~-]))"
)
ELEMENT = re.compile(r"(?P<start><(?P<name>[\w.-]++)(?:\s[^<>]*)?>)[^<]+(?=</)")
_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie|\bx-(?:[a-z]+-){0,4}(?:key|token|auth|secret))"
    rf"(?P<sign>{_QUOTE}?[ \t]*[:=][ \t]*+{_QUOTE}?+)(?!{MARK})"
    r"(?:Digest [^\r\n]+|[^\r\n\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(?P<kind>Bearer|Basic|ApiKey)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)

# A password may hold a slash: after "user:" everything up to the last "@" is taken for one.
USER_IN_URL = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}:/{1,3})"
    r"(?:[^\s/?#@:\"'<>]*:[^\s\"<>]{0,2000}@|[^\s/?#@]*(?:@[^\s/?#@]*)*@)",
    re.IGNORECASE,
)
_USER_AT_HOST = re.compile(
    r"(?<![\w/.@:+-])(?!mailto:)[\w.+-]+:[^\s@:/\"'<>{}]+@(?=(?!sha\d+:)[\w-]+(?:\.[\w-]+)*(?:[:/]|$|\s))"
)
_SIGNED_QUERY = re.compile(r"(?P<name>[?&](?:[\w.-]*[_.-])?(?:sig|signature|key)=)[^\s&]+", re.IGNORECASE)
_WEBHOOK = re.compile(
    r"(?P<name>hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/|"
    r"hooks\.zapier\.com/hooks/|\bwebhook\.office\.com/|api\.telegram\.org/bot)[\w/:@-]+"
)
_OF_A_PROGRAM = re.compile(
    r"(?P<name>(?<!\S)(?:-u|--(?:proxy-)?user)[ =]+(?!\d+:\d+(?!\S))[^\s:/]+:|"
    r"(?<=[\"'])(?:-u|--(?:proxy-)?user)\\*[\"'],[ \t]*\\*[\"'](?!\d+:\d+\\*[\"'])[^\s:/]+:|"
    r"\blogin[ \t]+\S+[ \t]+password[ \t]+|"
    r"\b(?:docker|podman|helm|az|oc)[ \t](?:[\w./=@:-]+[ \t]+){0,6}?login[ \t]"
    r"(?:[\w./=@:-]+[ \t]+){0,6}?-p[ \t=]*|"
    r"\b(?:mysql|mysqldump|mysqladmin|mariadb)[ \t](?:[\w./=@:-]+[ \t]+){0,6}?-p(?=\w)|"
    r"\bsshpass[ \t]+-p[ \t]*|\bwandb[ \t]+login[ \t]+(?!-)|"
    r"\blogin\\*[\"'],[ \t]*\\*[\"'](?=[0-9a-f]{32}))[^\s\"']+"
)
_CALL = re.compile(  # of a function that takes a password, or a statement of a database
    r"(?P<name>(?:\b|(?<=\\n))login\((?:[^()\r\n]{0,80},)?[ \t]*key[ \t]*=[ \t]*\\*[\"']|"
    r"(?:\b|(?<=\\n))login\([ \t]*\\*[\"'](?:[^\"'\\\r\n]{0,80}\\*[\"'],[ \t]*\\*[\"'])?|"
    r"(?i:\b(?:user|host|dbname|port|uid|user id)=[^\s,;()\"']+(?:;|[ ])[ ]*"
    r"(?:[\w ]{1,20}=[^\s,;()\"']+(?:;|[ ])[ ]*){0,8}?(?:password|pwd)=)(?=[^\s,;()]+(?:[ ;\"']|$))|"
    r"\b(?:auth[ \t]*=[ \t]*|\w*BasicAuth)\([ \t]*\\*[\"'][^\"'\\\r\n]{0,80}\\*[\"'],[ \t]*\\*[\"']|"
    r"\b(?:identified[ \t]+by|IDENTIFIED[ \t]+BY|password|PASSWORD)[ \t]+')[^\s\"'\\]+"
)

# A variable such as KAGGLE_KEY: what is long and has digits among its letters is no name of a column.
_KEY_VARIABLE = re.compile(
    r"\b(?P<name>[A-Z][A-Z0-9_]*_KEY(?:_?[A-Z0-9]{1,20}){0,2}=[\"']?)(?=\w*\d)(?=\w*[A-Za-z])\w{20,}"
)
# As a browser writes an address with user and password into another one.
_ENCODED_USER = re.compile(r"(?P<scheme>%3A%2F%2F)[^\s/@&=]{1,200}%3A[^\s/@&=]{1,200}%40", re.IGNORECASE)
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# What stands in place of what each pattern finds, before names are looked at and after it; and of what, in
# lower case, one must stand in a line for the pattern to find anything.
_Rule = tuple[re.Pattern[str], str, tuple[str, ...]]
BEFORE_NAMES: tuple[_Rule, ...] = (
    (ISSUED_TOKEN, MARK, ("",)),
    (USER_IN_URL, rf"\g<scheme>{MARK}@", ("@",)),
    (_ENCODED_USER, rf"\g<scheme>{MARK}%40", ("%3a%2f%2f",)),
    (_KEY_VARIABLE, rf"\g<name>{MARK}", ("_key",)),
    (_CALL, rf"\g<name>{MARK}", ("login(", "password", "pwd=", "auth", "identified")),
    (_HEADER, rf"\g<name>\g<sign>{MARK}", ("authorization", "cookie", "x-")),
    (_SCHEME, rf"\g<kind> {MARK}", ("bearer", "basic", "apikey")),
)
AFTER_NAMES: tuple[_Rule, ...] = (
    (_SIGNED_QUERY, rf"\g<name>{MARK}", ("sig=", "signature=", "key=")),
    (_WEBHOOK, rf"\g<name>{MARK}", ("hooks.", "webhook", "api.telegram.org/bot")),
    (_OF_A_PROGRAM, rf"\g<name>{MARK}", ("-u", "user", "login", "mysql", "mariadb", "sshpass")),
    (_USER_AT_HOST, f"{MARK}@", ("@",)),
)
# Every name of a secret holds one of these.
NAME_HINTS = (
    *("secret", "pass", "pat", "otp", "pwd", "pw", "token", "key", "cred", "auth", "bearer", "jwt"),
    *("cookie", "connection", "signature"),
)
# Where none of this stands there is nothing to look for: in most lines. In lower case.
HINTS = (
    *NAME_HINTS,
    *(
        "basic",
        "identified",
        "sig=",
        "://",
        "@",
        "hooks.",
        "-u",
        "user",
        "login",
        "discord",
        "mysql",
        "mariadb",
    ),
    *("webhook", "telegram", "%3a%2f%2f"),
    *ISSUED_TOKEN_HINTS,
)


def holds_one_of(hints: tuple[str, ...], lowered: str | None) -> bool:
    """Whether one of some words stands in a text in lower case; None is a text in which each may stand."""
    if lowered is None:
        return True
    return any(hint in lowered for hint in hints)
