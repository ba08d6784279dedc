"""How the names of options, variables, keys and parameters read whose value is a secret.

A number or the place that it is for may follow (``HF_TOKEN2``, ``--api-key-prod``) or stand between
(``API_PROD_KEY``). A name whose last word says that the value is a file, a length or a name is none.

    >>> [is_secret_name(name) for name in ("--api-key-prod", "--api-key-file", "--tokenizer")]
    [True, False, False]
"""

import functools
import re

# A name in words of lower case, with "_" between: wandb_api_key_prod for WANDB-API-KEY-PROD, wandbApiKeyProd.
_NAME = re.compile(r"[\w.-]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
# Where a secret is for: the words that may follow one that is often none, such as token.
SERVICES = (
    r"wandb|openai|anthropic|claude|hf|huggingface|hugging_face|kaggle|comet|comet_ml|neptune|cohere|replicate|azure|"
    r"aws|gcp|google|github|gitlab|gh|slack|mlflow|clearml|pinecone|mistral|groq|together|deepseek|gemini|stripe|"
    r"twilio|sendgrid|datadog|sentry|tavily|serper|serpapi|openrouter|runpod|roboflow|langsmith|npm|pypi|cosmos|"
    r"backblaze|b2|dd|notion|elevenlabs|digitalocean|cloudflare|algolia|newrelic|honeycomb|mapbox|dropbox|discord|"
    r"telegram|databricks|snowflake|supabase|vercel|heroku|nvidia|ngc|fireworks|voyage|jina|ai21|xai|dashscope|"
    r"moonshot|zhipu|vast|vastai|paperspace"
)
_PLACE = (
    r"\d+|v\d+|prod|production|dev|devel|development|tests?|testing|stag(?:e|ing)|live|sandbox|qa|uat|ci|cd|local|"
    r"old|new|backup|bak|main|primary|secondary|default|read|write|readonly|ro|rw|admin|root|user|org|team|personal|"
    r"work|home|eu|us|uk|asia|emea|apac|replica|secret|value|pem|b64|base64|encoded|hash|[abc]|"
    rf"(?:for|from|of)(?:_[a-z0-9]+)+|{SERVICES}"
)
_PLACES = rf"(?:_?(?:prod|production|dev|test|staging|live))?(?:_(?:{_PLACE}))*"
# What follows a secret's name to say that the value is not the secret itself.
_HARMLESS = re.compile(
    r".*_(?:files?|filenames?|paths?|dirs?|directory|folders?|names?|env|vars?|variables?|len|lengths?|sizes?|counts?|"
    r"num|min|max|fields?|types?|columns?|prompts?|policy|policies|required|enabled?|disabled?|expiry|expires?|"
    r"expiration|ttl|days|seconds|minutes|hours|ur[il]s?|endpoints?|hosts?|managers?|providers?|stores?|backends?|"
    r"sources?|refs?|references?|modes?|index|headers?|help|formats?|versions?|algorithms?|arn|labels?|errors?|"
    r"invalid|missing|present|strength|retries|timeout|prefix|suffix|scopes?|audience|issuer|reset|scanner|scanning|"
    r"rotation|metadata|santa|frames?|used|limit|per_[a-z_]+|acc|accuracy|accuracies|loss(?:es)?|rewards?|returns?|"
    r"scores?|rates?|steps?|perplexity|ppl|entropy|precision|recall|f1|auc|error_rate|mean|std|bits)(?:_\d+)?"
)
_NO_INFIX = (
    r"(?!_(?:sort|version|log|embedding|hash|index|prefix|cache|group|column|lookup|map|frame|partition|"
    r"field)_)"
)
_ALWAYS = re.compile(
    r"(?:secrets?|passw(?:or)?ds?|passphrases?|passcodes?|pgpass|credentials?|creds|authori[sz]ation|bearer|jwt|"
    rf"(?:api|access|account|secret|private|signing|encryption|decryption|auth|deploy|subscription|session|hmac|fernet)(?:{_NO_INFIX}_[a-z0-9]+){{0,2}}"
    r"_?keys?(?:_?ids?)?|(?:shared|master|priv|licen[cs]e|serial|activation|storage|app|application|ingest(?:ion)?|webhook|write)_?keys?(?:_?ids?)?|auth(?:ori[sz]ation)?_?codes?|[th]?otp_?(?:seeds?|secrets?)|connection_?string|shared_?access_?signature|"
    rf"(?:api|access|auth|refresh|bearer|session|private|personal|bot|deploy|{SERVICES})_?tokens?)"
    r"(?:prod|production|dev|test|staging|live)?(?=_|$)"
)
# With nothing behind it but where it is for; those of the last line as words of their own: compass is none.
_AT_THE_END = re.compile(
    rf".*token{_PLACES}|(?:.*_)?(?:{SERVICES})_?(?:keys?|sk){_PLACES}|(?:.*_)?webhook(?:_ur[il])?{_PLACES}|"
    rf"(?:.*_)?(?:pass|pat|pwd|pw|o?auth|cookies?|otp|cred|psk|sas){_PLACES}"
)
#: "Password" in other languages; where a word has a second meaning, only the first is here.
WORDS_OF_OTHERS = (
    *("kennwort", "passwort", "contraseña", "contrasena", "mot_de_passe", "motdepasse", "senha"),
    *("wachtwoord", "lösenord", "salasana", "hasło", "heslo", "jelszó", "şifre", "mật_khẩu", "kata_sandi"),
    *("пароль", "كلمة_المرور", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"),
    *("पासवर्ड", "รหัสผ่าน"),
)
_OF_OTHERS = re.compile(rf"(?:.*[_.-])?(?:{'|'.join(WORDS_OF_OTHERS)})(?:en|s)?(?:[_.-]?(?:{_PLACE}))*")
# Language models have tokens too, and a shell has a working directory.
_NO_SECRET = re.compile(
    r"(?:.*_)?(?:pad|eos|bos|unk|sep|cls|end|mask|stop|start|image|audio|video|special|prefix|suffix|"
    rf"next|last|first|new|per|num|extra)_?token{_PLACES}|no_.*"
)
_MAYBE_PROSE = re.compile(rf"(?:.*_)?(?:pass|pat|[a-z]*tokens?){_PLACES}")


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether the value of an option, a variable or a key of this name is a secret."""
    bare, plain = name.strip("-+~\\\"'"), _in_words(name)
    if not _NAME.fullmatch(bare) or bare in {"PWD", "OLDPWD"} or _NO_SECRET.fullmatch(plain):
        return False
    if _AT_THE_END.fullmatch(plain) or _OF_OTHERS.fullmatch(bare.lower().replace("-", "_")):
        return True
    return bool(_ALWAYS.search(plain)) and not _HARMLESS.fullmatch(plain)


def may_be_prose(name: str) -> bool:
    """Whether a secret's name is one that logs and language models use for something else, with a number."""
    return bool(_MAYBE_PROSE.fullmatch(_in_words(name)))


def _in_words(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower()
