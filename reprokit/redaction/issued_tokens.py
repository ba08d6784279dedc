"""Tokens that say by their first letters whose they are, from their issuers' documentation.

>>> bool(ISSUED_TOKEN.search("hf_0123456789abcdefghij"))
True
"""

import re

#: JSON web tokens begin alike everywhere.
ISSUED_TOKEN = re.compile(
    r"\b(?<!sha256[=:-])(?<!sha384[=:-])(?<!sha512[=:-])(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|gl(?:pat|rt|dt|cbt|oas|ft|ptt|agent|soat|imt)-[\w-]{16,}|hf_\w{20,}|"
    r"x(?:ox[abeposr]|app)-[\w-]{10,}|sk-(?:[a-z]+\d*-){0,2}(?=\w*\d)\w{16,}[\w-]*|[sr]k_(?:live|test)_\w{16,}|"
    r"AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|"
    r"pypi-[\w-]{32,}|npm_\w{20,}|dckr_[po]at_[\w-]{16,}|nvapi-[\w-]{20,}|gsk_\w{20,}|r8_\w{20,}|xai-\w{20,}|"
    r"dapi[0-9a-f]{32}|shp(?:at|ca|pa|ss)_\w{20,}|do[op]_v1_\w{20,}|AGE-SECRET-KEY-1\w{20,}|"
    r"whsec_\w{20,}|hv[bsr]\.[\w-]{20,}|tskey-[a-z]+-\w+-\w{16,}|gl(?:sa|c)_\w{24,}|ATATT3[\w-]{20,}|"
    r"figd_[\w-]{20,}|lin_api_\w{20,}|ntn_\w{24,}|GOCSPX-[\w-]{20,}|sntry[su]_\w{24,}|pul-[0-9a-f]{40}|"
    r"rubygems_[0-9a-f]{40,}|PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}|pplx-\w{32,}|tvly-[\w-]{24,}|csk-\w{32,}|"
    r"NRAK-[0-9A-Z]{24,}|sq0[a-z]{3}-[\w-]{20,}|key-[0-9a-f]{32}|LTAI\w{16,}|esecret_\w{20,}|tgp_v1_\w{32,}|"
    r"sbp_[0-9a-f]{40}|KGAT_\w{20,}|fly_v1_\w{20,}|f(?:m[12][ar]?|o1)_[A-Za-z0-9+/]{32}[\w+/=-]*|"
    r"lsv2_[a-z]{2}_[0-9a-f]{32}_\w{8,}|pcsk_\w{40,}|\d{8,10}:AA[\w-]{33}|"
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
#: Where none of these stands, in lower case, no such token does.
ISSUED_TOKEN_HINTS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *(f"gl{kind}-" for kind in ("pat", "rt", "dt", "cbt", "oas", "ft", "ptt", "agent", "soat", "imt")),
    *("glsa_", "glc_", "hf_", "xox", "xapp", "sk-", "sk_", "rk_", "akia", "asia", "aiza", "ya29"),
    *("sg.", "pypi-", "npm_", "dckr_", "nvapi", "gsk_", "r8_", "xai-", "dapi", "shp", "_v1_", "eyj"),
    *(
        "whsec_",
        "hvb.",
        "hvs.",
        "hvr.",
        "tskey-",
        "atatt3",
        "figd_",
        "lin_api_",
        "ntn_",
        "gocspx-",
        "sntry",
        "pul-",
    ),
    *(
        "rubygems_",
        "pmak-",
        "pplx-",
        "tvly-",
        "csk-",
        "nrak-",
        "sq0",
        "ltai",
        "tgp_v1_",
        "lsv2_",
        "pcsk_",
        "sbp_",
        "kgat_",
        "esecret_",
        "key-",
        "fm1",
        "fm2",
        "fo1_",
        ":aa",
    ),
)
