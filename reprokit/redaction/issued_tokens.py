"""Tokens that say by their first letters whose they are, from their issuers' documentation.

>>> bool(ISSUED_TOKEN.search("hf_0123456789abcdefghij"))
True
"""

import re

# Letters and digits without "_": hf_dataset_name_or_path_to_load is a name in a program, and no token.
_BODY = r"(?=[a-z]*[A-Z\d]|[a-z]{26})[A-Za-z\d]{20,}\w*"
# In which "_" may stand, but never without capitals and digits.
_MIXED = r"(?=[a-z\d_-]{0,40}[A-Z])(?=[A-Za-z_-]{0,40}\d)[\w-]{20,}"
#: JSON web tokens begin alike everywhere.
ISSUED_TOKEN = re.compile(
    r"\b(?<!sha256[=:-])(?<!sha384[=:-])(?<!sha512[=:-])(?:"
    r"(?:gh[pousr]_|hf_(?:oauth_|jwt_)?|[sr]k_(?:live|test)_|npm_|gsk_|r8_|xai-|shp(?:at|ca|pa|ss)_|do[opr]_v1_|"
    r"whsec_|gl(?:sa|c)_|lin_api_|ntn_|sntry[su]_|pplx-|csk-|esecret_|KGAT_|fly_v1_|rpa_|jina_|nfp_|e2b_|api_org_|ph[xs]_|vc[pk]_|rnd_|fw_|rf_|(?:shippo|duffel)_(?:live|test)_|pcsk_(?:[A-Za-z\d]{1,8}_)?)"
    rf"{_BODY}|(?:tgp_v1_|wandb_v1_|vercel_blob_rw_|pscale_[a-z]{{2,5}}_|sb_secret_|cf[ua]t_|CFPAT-|HRKU-){_MIXED}|"
    r"github_pat_\w{20,}|gl(?:pat|rt|dt|cbt|oas|ft|ptt|agent|soat|imt)-[\w-]{16,}|"
    r"sk-lf-[0-9a-f]{8}-[0-9a-f-]{20,}|ABSK(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{40,}={0,2}|x(?:ox[abeposr]|app)-[\w-]{10,}|sk-(?:[a-z]+\d*-){0,2}(?=\w*\d)\w{16,}[\w-]*|"
    r"AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|"
    r"pypi-[\w-]{32,}|dckr_[po]at_[\w-]{16,}|nvapi-[\w-]{20,}|"
    r"dapi[0-9a-f]{32}|AGE-SECRET-KEY-1\w{20,}|"
    r"hv[bsr]\.[\w-]{20,}|tskey-[a-z]+-\w+-\w{16,}|ATATT3[\w-]{20,}|"
    r"figd_[\w-]{20,}|GOCSPX-[\w-]{20,}|pul-[0-9a-f]{40}|"
    r"rubygems_[0-9a-f]{40,}|PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}|tvly-[\w-]{24,}|"
    r"NRAK-[0-9A-Z]{24,}|sq0[a-z]{3}-[\w-]{20,}|key-[0-9a-f]{32}|LTAI\w{16,}|"
    r"sbp_[0-9a-f]{40}|f(?:m[12][ar]?|o1)_[A-Za-z0-9+/]{32}[\w+/=-]*|"
    r"lsv2_[a-z]{2}_[0-9a-f]{32}_\w{8,}|\d{8,10}:AA[\w-]{33}|"
    r"dp\.[a-z]{2,5}\.(?:[\w-]{1,20}\.)?[A-Za-z0-9]{40,}|ops_eyJ[\w-]{50,}|eyJhcGlfYWRkcmVzcyI6[\w+/=-]{20,}|"
    r"dt0[a-z]\d\d\.[A-Z\d]{24}\.[A-Z\d]{64}|pat-[a-z]{2}\d-[0-9a-f]{8}-[0-9a-f-]{27}|EAACEdEose0cBA\w{20,}|"
    r"EZ[AT]K(?=[A-Za-z]*\d)[A-Za-z\d]{54}|[A-Za-z\d]{14}\.atlasv1\.[\w-]{60,}|sk_[0-9a-f]{48}|"
    r"secret_(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])[A-Za-z\d]{43}|[0-9a-f]{32}-us\d{1,2}\b|"
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
        *("rpa_", "jina_", "nfp_", "e2b_", "vercel_blob_rw_", "absk", "api_org_", "phx_", "phs_", "vcp_"),
        *("vck_", "rnd_", "fw_", "rf_", "shippo_", "duffel_", "pscale_", "sb_secret_", "cfut_", "cfat_"),
        *("cfpat-", "hrku-", "dp.", "dt0", "pat-", "eaacedeose0cba", "ezak", "eztk", ".atlasv1.", "secret_"),
        "-us",
    ),
)
