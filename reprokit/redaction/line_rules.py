"""How secrets are written in one line, and of what words a line must hold one for each way."""

from __future__ import annotations

import re

from reprokit.redaction.credentials import MARK
from reprokit.redaction.issued_tokens import ISSUED_TOKEN, ISSUED_TOKEN_HINTS
from reprokit.redaction.secret_names import SERVICES, WORDS_OF_OTHERS

_QUOTE = (  # the first is how a shell quotes a quote, the last are those of HTML and of addresses
    r"(?:'\"'\"'|\\*(?:\"{3}|'{3})|(?:\\+\"){3}|\\*[\"']|&(?:quot|apos|#34|#39|#x27);|%2[27])"
)
_GAP = r"[ \t\u00a0\u202f\u3000]*"
VALUE = re.compile(
    r"(?P<before>![\w/!:.-]*[ \t]+|&[\w-]+[ \t]+|"
    r"(?:[|>][+-]?)?(?:\\+[nr])+[ \t]+(?:-[ \t]+)?(?![\w.-]+:)|"  # YAML within JSON
    rf"[bru]{{1,2}}(?={_QUOTE}))?(?P<value>{MARK}|(?P<quote>{_QUOTE})"
    r"(?:(?!(?P=quote))(?:\\.|[^\r\n]))*(?:(?P=quote)|$)"
    r"|\[[^\]\r\n]*\]|\{[^{}\r\n]*\}|[^\s&;,]+(?:,(?=[^\s,=:]+(?:[\s,]|$))[^\s&;,]+)*)",
    re.IGNORECASE | re.MULTILINE,
)
_TYPE = (  # between name and value
    r"(?:[A-Za-z_]+\.)?(?:&(?:'static[ ])?str|str|bytes|Secret(?:Str|Bytes)|Any(?:Str)?|Text|string|Final|"
    r"ClassVar|"
    rf"[A-Za-z]\w{{1,30}}\[[^\r\n]{{1,200}}?\])(?:{_GAP}\|{_GAP}(?:None|null|undefined))?"
)
_ENCODED_SIGN = r"%3[ADad]|\\+(?:u00|x)3[ADad]|&(?:#(?:58|61|[xX]3[ADad])|equals|colon);"
ASSIGNMENT = re.compile(
    rf"(?P<name>(?<![\w.-])[-+~]{{0,2}}[\w.-]++)"
    rf"(?P<sign>{_QUOTE}?\]?{_GAP}"
    rf"(?::{_GAP}{_TYPE}{_GAP}=(?!=)|=>|:{{1,3}}=|[?+]=|=(?!=)|={{2,3}}(?=[^\s=])|[:：＝]|{_ENCODED_SIGN}){_GAP})(?!\Z)"
)
SETTER = re.compile(  # of an object: set_api_key("…"), withToken("…")
    rf"(?P<name>\b(?:set|with|use|save|store|update)(?=[_A-Z])\w++)"
    rf"(?P<sign>\([ \t]*(?:\w+[ \t]*=[ \t]*)?)(?={_QUOTE})"
)
NAMED_VALUE = re.compile(  # <property name="password" value="…"/>, {"name": "HF_TOKEN", "value": "…"}
    rf"(?:<|\b(?:name|key|id|type|variable){_QUOTE}?[ \t]*[:=][ \t]*{_QUOTE}?)(?P<name>[\w.-]{{2,80}}+)"
    rf"(?P<sign>{_QUOTE}?,?[ \t]+{_QUOTE}?value{_QUOTE}?[ \t]*[:=][ \t]*)(?!\Z)",
    re.IGNORECASE,
)
SET = re.compile(
    r"(?:\bsetenv|\bset[ \t]+-g?x|%env|^[ \t]*ENV)[ \t]+(?P<name>[\w.-]++)(?P<sign>[ \t]+)(?=\S)"
)
OPTION = re.compile(  # also in a list of words, as programs print their arguments
    rf"(?P<name>(?<![\w.-])--?[\w.-]++)(?P<sign>[ \t]+(?!-|\.{{3}})|{_QUOTE},[ \t]*(?!{_QUOTE}-))(?!\Z)"
)
PAIR = (
    re.compile(  # ("HF_TOKEN", "…"), as a sorted dictionary is printed; an option of absl has help behind it
        rf"(?P<option>\bDEFINE_\w{{1,30}})?[(\[]{_QUOTE}(?P<name>[\w.-]++)"
        rf"(?P<sign>{_QUOTE},[ \t]*(?:default[ \t]*=[ \t]*)?)"
        rf"(?={_QUOTE}[^\"'\\\r\n]{{1,500}}{_QUOTE}[ \t]*(?:[)\]]|(?(option),|(?!))))"
    )
)
LOOSE = re.compile(  # in a table, a listing or a sentence, where what follows looks like made by chance
    rf"(?P<name>(?<![\w.-])[\w.-]++)"
    rf"(?P<sign>{_QUOTE}?(?:[ \t]*(?:->|<-|→|={{2,3}}|[|│┃])[ \t]*|[ \t]+\.{{3,}}[ \t]*|"
    r"(?:\*\*|__|</\w{1,10}>){1,3}[ \t]*[:=]?[ \t]*(?:<\w{1,10}(?:[ \t][^<>]{0,100})?>[ \t]*){0,3}|"
    r"[ \t]+(?:(?:is|was|set[ ]to|provided):?[ ]+)?))"
    r"(?=[\"'`]?(?P<value>[\w.+/=~-]{12,200})(?![\w+/=~-]))"
)
OR_ELSE = re.compile(  # os.environ.get("HF_TOKEN") or "…"
    rf"(?P<name>(?<![\w.-])[\w.-]++)(?P<sign>{_QUOTE}?[ \t]*[)\]]?[ \t]*(?:\bor\b|\|\||\?\?)[ \t]*)"
    rf"(?={_QUOTE}[^\s\"']{{0,200}}\d)"
)
_LOOKED_UP = r"[\w.]{1,80}(?:\([^()\r\n]{0,120}\)|\[[^\[\]\r\n]{0,120}\])?"
FALLBACK = re.compile(  # api_key = os.environ.get("KEY", "…"), api_key = args.api_key or "…"
    rf"(?P<name>(?<![\w.-])[\w.-]++)(?P<sign>{_QUOTE}?\]?{_GAP}[:=](?!=){_GAP}\(?"
    rf"(?:(?:[\w.]{{1,80}}\([ \t]*){{1,3}}[^()\r\n]{{0,120}}?,[ \t]*(?:default[ \t]*=[ \t]*)?|"
    rf"{_LOOKED_UP}[ \t]+(?:if[ \t]+{_LOOKED_UP}[ \t]+else|or|\|\||\?\?)[ \t]*))"
    rf"(?={_QUOTE}[^\s\"']{{0,200}}\d[^\s\"']{{0,200}}{_QUOTE})"
)
CELL = re.compile(  # of a table with a variable in each row
    r"(?P<name>(?<![\w.-])[A-Za-z]\w++)(?P<sign>[\"']?[,;][ \t]*)"
    r"(?=[\"']?(?P<value>[\w.+/=~-]{12,200})(?![\w+/=~-]))"
)
ELEMENT = re.compile(r"(?P<start><(?P<name>[\w.-]++)(?:\s[^<>]*)?>)[^<]+(?=</)")
_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie|\bx-(?:[a-z]+-){0,4}(?:key|token|auth|secret))"
    rf"(?P<sign>{_QUOTE}?[ \t]*[:=][ \t]*+{_QUOTE}?+)(?!{MARK})"
    r"(?:Digest [^\r\n]+|[^\r\n\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(  # "Basic training_step" is a sentence: base64 has no "_", and hardly ever no capitals
    r"\b(?P<kind>Bearer|Basic(?=\s+(?-i:[a-z\d+/=]*[A-Z])[A-Z\d+/=]+(?![\w-]))|ApiKey)\s+[A-Za-z0-9._~+/=-]{8,}",
    re.IGNORECASE,
)
_SCHEME_APART = re.compile(  # "Bearer " + "…"
    r"(?P<name>\bBearer[ ]?\\*[\"'][ \t]*\+[ \t]*[bf]?\\*[\"'])(?=[^\"'\\{]*\d)[^\s\"'\\{]{8,}", re.IGNORECASE
)

# A password may hold a slash: after "user:" everything up to the last "@" is taken for one.
USER_IN_URL = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}:/{1,3})"
    r"(?:[^\s/?#@:\"'<>]*:[^\s\"<>]{0,2000}@|[^\s/?#@]*(?:@[^\s/?#@]*)*@)",
    re.IGNORECASE,
)
_USER_AT_HOST = re.compile(  # but for "acc:0.95@5", "step:5@rank0"
    r"(?<![\w/.@:+-])(?!mailto:)[\w.+-]+:(?!\d{1,5}@|[+-]?\d*\.\d+(?:e[+-]?\d+)?@|\d+e[+-]?\d+@)[^\s@:/\"'<>{}]+@(?=(?!sha\d+:)[\w-]+(?:\.[\w-]+)*(?:[:/]|$|\s))"
)
_SIGNED_QUERY = re.compile(r"(?P<name>[?&](?:[\w.-]*[_.-])?(?:sig|signature|key)=)[^\s&]+", re.IGNORECASE)
_WEBHOOK_HINTS = ("hooks.", "webhook", "api.telegram.org/bot", "/hook/", "/hooks/", "maker.ifttt")
_WEBHOOK = re.compile(
    r"(?P<name>hooks\.slack\.com(?:/|%2F)(?:services|workflows|triggers)(?:/|%2F)|discord(?:app)?\.com/api/webhooks/|"
    r"hooks\.zapier\.com/hooks/|\bwebhook\.office\.com/|\boutlook\.office(?:365)?\.com/webhook/|"
    r"\bopen\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v\d/hook/|api\.telegram\.org/bot|"
    r"\bmaker\.ifttt\.com/(?:use/|trigger/[\w.-]+/(?:json/)?with/key/)|"
    r"(?<![\w.-])[\w.-]+(?::\d+)?/(?:[\w.-]+/)?hooks/"  # Mattermost, on any host
    r"(?=[a-z]*\d)(?=\d*[a-z])(?=[a-z0-9]{20,40}(?!\w)))[\w/:@%-]+"
)
_PGPASS_HINTS = (":*:", ":543", ":6432:", ":6543:")
_OF_A_CHANNEL = re.compile(  # of packages: conda.anaconda.org/t/tk-…/lab; a forum has topics below /t/
    r"(?P<name>(?<=/)[\w.-]+(?::\d+)?/t/)(?:[a-z]{2}-)?[0-9a-f]{8,}(?:-[0-9a-f]{4,}){0,4}(?=/)"
)
# What says of a key that it is one: the user next to it, as in kaggle.json, or the service that it is for.
_USER_AND_KEY = re.compile(
    r"(?P<name>\\*[\"']username\\*[\"'][ \t]*:[^{}\r\n]{1,200}?\\*[\"']key\\*[\"'][ \t]*:[ \t]*\\*[\"'])"
    r"[0-9a-f]{32,64}(?=\\*[\"'])"
)
_KEY_AND_USER = re.compile(
    r"(?P<name>\\*[\"']key\\*[\"'][ \t]*:[ \t]*\\*[\"'])[0-9a-f]{32,64}"
    r"(?=\\*[\"'][^{}\r\n]{1,200}?\\*[\"']username\\*[\"'])"
)
_KEY_OF_A_SERVICE = re.compile(
    rf"(?P<name>\b(?:{SERVICES})[\"']?[ \t]*[:=][ \t]*(?:\{{|dict\()[^{{}}()\r\n]{{0,200}}?"
    r"(?<![\w.-])[\"']?key[\"']?[ \t]*[:=][ \t]*"
    r"(?:[\"'](?=[A-Za-z+/=._-]*\d)(?=[\d+/=._-]*[A-Za-z])|(?=[0-9a-f]{32,64}[\s,}])))"
    r"[\w+/=.-]{16,200}(?=[\"'\s,}])",
    re.IGNORECASE,
)
_CLIENTS = ("twine", "mongo", "redis-cli")
_UP_TO_IT = r"(?:[^\s|;&]+[ \t]+){0,8}?"
_TAKES_A_PASSWORD = (  # which program, and how the option is written behind which its password stands
    (r"unzip|zip|sqlcmd|bcp|ipmitool|mosquitto_(?:pub|sub)", r"-P[ \t]*"),
    (r"7z[ahrz]?|unrar|rar", r"-h?p(?=[^\s-])"),
    (r"openssl", r"-(?:k[ \t]+|pass(?:in|out)?[ \t]+pass[:])"),
    (r"vault[ \t]+login", r"(?=[^\s=-]*\d)(?=[\w.]{8})"),
    (r"smb(?:client|get|map)|rpcclient", r"(?:-U[ \t]*|--user[= \t]+)(?:\\*[\"']){0,5}[^\s%\"']{1,80}%"),
    (r"ldap(?:search|modify|add|delete|passwd|whoami)", r"-w[ \t]*"),
    (r"keytool|jarsigner", r"-(?:store|key)pass[ \t]+"),
    (r"https?|xh", r"(?:-a[ \t]*|--auth[= \t]+)(?:\\*[\"']){0,5}[^\s:\"']{1,80}:"),
    (r"htpasswd", r"-[A-Za-z]*b[A-Za-z]*[ \t]+\S+[ \t]+\S+[ \t]+"),
    (r"lftp|ncftp\w*", r"-u[ \t]*(?:\\*[\"']){0,5}[^\s,\"']{1,80},"),
)
_OF_OTHER_PROGRAMS = "|".join(
    rf"\b(?:{programs})[ \t]+{_UP_TO_IT}{option}" for programs, option in _TAKES_A_PASSWORD
)
#: In lower case.
_OTHER_PROGRAMS = (
    *("zip ", "sqlcmd", "bcp ", "ipmitool", "mosquitto", "7z", "rar ", "openssl", "vault login", "smb"),
    *("rpcclient", "ldap", "keytool", "jarsigner", "http", "xh ", "htpasswd", "ftp "),
)
#: What must stand in a line with a password that is an argument by its place, and one that a program reads.
_CALLS, _FED = (".connect(", "ftp(", "ftp_tls("), ("stdin", "--with-token")
_OF_A_PROGRAM = re.compile(
    r"(?P<name>(?:(?<!\S)(?:-u|--(?:proxy-)?user)[ =]+(?!\d+:\d+(?!\S))[^\s:/]+:|"
    r"(?<=[\"'])(?:-u|--(?:proxy-)?user)\\*[\"'],[ \t]*\\*[\"'](?!\d+:\d+\\*[\"'])[^\s:/]+:|"
    r"\blogin[ \t]+\S+[ \t]+password[ \t]+|"
    r"\b(?:docker|podman|helm|az|oc)[ \t](?:[\w./=@:-]+[ \t]+){0,6}?login[ \t]"
    r"(?:[\w./=@:-]+[ \t]+){0,6}?-p[ \t=]*|"
    r"\b(?:mysql|mysqldump|mysqladmin|mariadb)[ \t](?:[\w./=@:-]+[ \t]+){0,6}?-p(?=[\w\\\"'])|"
    r"\b(?:twine[ \t]+upload|mongo(?:sh|dump|restore|import|export)?)[ \t]"
    r"(?:[\w./=@:-]+[ \t]+){0,6}?-p(?:[ \t=]+|(?=\w))|"
    r"\bredis-cli[ \t](?:[\w./=@:-]+[ \t]+){0,6}?-a[ \t]+|"
    r"\bsshpass[ \t]+-p[ \t]*|\bwandb[ \t]+login[ \t]+(?!-)|"
    r"\bwandb[ \t]+login[ \t]+(?:--?[\w-]+(?:[= ]https?://\S+)?[ \t]+){1,4}(?=\w{16})|"
    r"\bcurl\b[^\r\n|;]{0,200}?[ \t]-u(?=\w)[^\s:/\"']{1,80}:|"
    r"\blogin\\*[\"'],[ \t]*\\*[\"'](?:--?[\w-]+\\*[\"'],[ \t]*\\*[\"']){0,4}(?=[0-9a-f]{32})|"
    # printed for a program that reads its password, as by echo … | docker login --password-stdin
    r"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?(?:(?:\\*[\"']){0,5}%s(?:\\+n)?(?:\\*[\"']){0,5}[ \t]+)?"
    r"(?=[^|\r\n]{1,300}\|[^|\r\n]{1,200}?[ \t]--(?:[\w-]*stdin|with-token)(?=[\s\"'\\]|$))"
    r"(?!(?:\\*[\"']){0,5}\$)|"
    rf"{_OF_OTHER_PROGRAMS})"
    r"(?:\\*[\"']){0,5})(?!`)[^\s\"']+"
)
# Of PostgreSQL's file of passwords: host:port:base:user:password.
_PGPASS = re.compile(
    r"(?P<name>(?<![\w.*:/-])[\w.*-]+:(?:\*|543\d|6432|6543):[\w.*-]+:[\w.*@-]+:)"
    r"(?=[^\s:]*\d)(?=[^\s:]*[A-Za-z])[^\s:\"'`]{6,}(?=[\s\"'`]|$)"
)
_CALL = re.compile(  # of a function that takes a password, or a statement of a database
    r"(?P<name>(?:\b|(?<=\\n))login\((?:[^()\r\n]{0,80},)?[ \t]*key[ \t]*=[ \t]*\\*[\"']|"
    r"(?:\b|(?<=\\n))login\([ \t]*\\*[\"'](?:[^\"'\\\r\n]{0,80}\\*[\"'],[ \t]*\\*[\"'])?|"
    r"(?i:\b(?:user|host|dbname|port|uid|user id)=[^\s,;()\"']+(?:;|[ ])[ ]*"
    r"(?:[\w ]{1,20}=[^\s,;()\"']+(?:;|[ ])[ ]*){0,8}?(?:password|pwd)=)(?=[^\s,;()]+(?:[ ;\"']|$))|"
    r"\b(?:(?:MySQLdb|pymysql|pymssql|mariadb|mysql\.connector)\.connect|FTP(?:_TLS)?)"
    r"\([ \t]*(?:(?:\\*[\"']){1,5}[^\"'\\\r\n]{0,80}(?:\\*[\"']){1,5},[ \t]*){2}(?:\\*[\"']){1,5}|"
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
    (ISSUED_TOKEN, MARK, ISSUED_TOKEN_HINTS),
    (USER_IN_URL, rf"\g<scheme>{MARK}@", ("@",)),
    (_ENCODED_USER, rf"\g<scheme>{MARK}%40", ("%3a%2f%2f",)),
    (_KEY_VARIABLE, rf"\g<name>{MARK}", ("_key",)),
    (_USER_AND_KEY, rf"\g<name>{MARK}", ("username",)),
    (_KEY_AND_USER, rf"\g<name>{MARK}", ("username",)),
    (_KEY_OF_A_SERVICE, rf"\g<name>{MARK}", ('key"', "key'", "key=", "key =", "key:")),
    (_SCHEME_APART, rf"\g<name>{MARK}", ("bearer",)),
    (_CALL, rf"\g<name>{MARK}", ("login(", "password", "pwd=", "auth", "identified", *_CALLS)),
    (_HEADER, rf"\g<name>\g<sign>{MARK}", ("authorization", "cookie", "x-")),
    (_SCHEME, rf"\g<kind> {MARK}", ("bearer", "basic", "apikey")),
)
_CELL_HINTS = tuple(
    f"{word}{sign}"
    for word in ("key", "token", "secret", "pass", "password", "pat")
    for sign in (",", ";", '"', "'")
)
#: In their order; each with what one must stand in a line for it.
BY_NAME = (
    (
        FALLBACK,
        (",", " or", "||", "??", " else"),
    ),  # before ASSIGNMENT, which takes the call out, not its default
    (ASSIGNMENT, ("=", ":", "%3", "&", "\\")),
    (OPTION, ("-",)),
    (PAIR, ("(", "[")),
    (SET, ("set", "env")),
    (SETTER, ("(",)),
    (NAMED_VALUE, tuple(f"value{one}" for one in "=: \t\"'\\&%")),
    (OR_ELSE, (" or", "||", "??")),
    (CELL, _CELL_HINTS),
    (LOOSE, ("",)),
)
AFTER_NAMES: tuple[_Rule, ...] = (
    (_SIGNED_QUERY, rf"\g<name>{MARK}", ("sig=", "signature=", "key=")),
    (
        _WEBHOOK,
        rf"\g<name>{MARK}",
        _WEBHOOK_HINTS,
    ),
    (_OF_A_CHANNEL, rf"\g<name>{MARK}", ("/t/",)),
    (
        _OF_A_PROGRAM,
        rf"\g<name>{MARK}",
        ("-u", "user", "login", "mysql", "mariadb", "sshpass", *_FED, *_CLIENTS, *_OTHER_PROGRAMS),
    ),
    (_PGPASS, rf"\g<name>{MARK}", _PGPASS_HINTS),
    (_USER_AT_HOST, f"{MARK}@", ("@",)),
)
# Every name of a secret holds one of these.
NAME_HINTS = (
    *("secret", "pass", "pat", "otp", "pwd", "pw", "token", "key", "cred", "auth", "bearer", "jwt"),
    *("cookie", "connection", "signature", "webhook", "_sk", "psk", "sas"),
    *WORDS_OF_OTHERS,
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
        *_CALLS,
        *_FED,
        *_CLIENTS,
        *_OTHER_PROGRAMS,
        *_PGPASS_HINTS,
    ),
    *("telegram", "%3a%2f%2f", "/hook/", "/hooks/", "maker.ifttt"),
    *ISSUED_TOKEN_HINTS,
)


def holds_one_of(hints: tuple[str, ...], lowered: str | None) -> bool:
    """Whether one of some words stands in a text in lower case; None is a text in which each may stand."""
    if lowered is None:
        return True
    return any(hint in lowered for hint in hints)
