"""The settings. Values that differ between machines come from the environment; README.md lists them."""

import os
import secrets
import sys
from importlib.util import find_spec
from pathlib import Path

import dj_database_url
from django.utils.translation import gettext_lazy as _

from dialogue.languages import FIRST
from dialogue.languages import LANGUAGES as SPOKEN
from emostudy import env

BASE_DIR = Path(__file__).resolve().parent.parent
FIXTURES = BASE_DIR / "fixtures"
os.umask(0o077)  # people's texts and keys must not be readable by other accounts
VAR = env.envfolder("VAR_DIR", BASE_DIR / "var")
TESTING = "pytest" in sys.modules

DEBUG = env.envbool("DEBUG")
HOST = env.envtext("HOST", "127.0.0.1")
PORT = env.envint("PORT", 8000, minimum=1, maximum=65535)


def own_secret_key() -> str:
    """Return a key for this machine alone, created once. It suffices for loopback; anything more needs SECRET_KEY."""
    path = VAR / "secret_key"
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text()


SECRET_KEY = env.envtext("SECRET_KEY")
LOOPBACK_ONLY = DEBUG or not SECRET_KEY
SECRET_KEY = SECRET_KEY or own_secret_key()

# Contact data are encrypted by the first of these keys, and read by all of them (studies/payments/sealing.py).
CONTACT_KEYS = env.envkeys("CONTACT_KEY")
CONTACT_KEY_IS_DERIVED = LOOPBACK_ONLY and not CONTACT_KEYS
if CONTACT_KEY_IS_DERIVED:
    CONTACT_KEYS = [env.derive_key("contact data", SECRET_KEY)]

LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = env.envhosts("ALLOWED_HOSTS") or LOOPBACK_NAMES
if LOOPBACK_ONLY and set(ALLOWED_HOSTS) - set(LOOPBACK_NAMES):
    env.refuse("ALLOWED_HOSTS", "other hosts than this machine need a SECRET_KEY of your own, and DEBUG off")
CSRF_TRUSTED_ORIGINS = env.envorigins("TRUSTED_ORIGINS")


def own_address() -> str:
    """Return the address at which people reach this server, without a slash at its end; "" if none is known.

    Only what is sent away needs it: a page knows how it was asked for.
    """
    address = env.envurl("BASE_URL", ("http", "https")).rstrip("/")
    trusted = [origin for origin in CSRF_TRUSTED_ORIGINS if "*" not in origin]
    here = f"http://[{HOST}]:{PORT}" if ":" in HOST else f"http://{HOST}:{PORT}"
    return address or (trusted[0].rstrip("/") if trusted else here if LOOPBACK_ONLY else "")


BASE_URL = own_address()

INSTALLED_APPS = [
    # As an app it only lets `runserver` speak websockets, and would add 27 MB and 0.3 s to every other command.
    *(["daphne"] if "runserver" in sys.argv else []),
    "django.contrib.admin.apps.SimpleAdminConfig",  # emostudy.urls loads its pages: commands need none
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    # Not rest_framework and drf_spectacular: as apps they only bring pages for browsing the API, which has none, and
    # would be imported by every server (studies.api.urls).
    "dialogue",
    "studies",
]

MIDDLEWARE = [
    "emostudy.request_checks.clean_input",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "studies.participation.language.ParticipationLanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "studies.access.gate.Gate",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "studies.participation.language.quiet_headers",
    "studies.audit.recording.Recorder",  # the last: a transaction holds the page and its entry, and no more
]

ROOT_URLCONF = "emostudy.urls"
ASGI_APPLICATION = "emostudy.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "studies.participation.submissions.key_for_page",
            ],
            "builtins": ["dialogue.templatetags.languages"],
        },
    }
]

DATABASE_URL = env.envdatabase("DATABASE_URL")
DATABASES = {"default": dj_database_url.parse(DATABASE_URL or f"sqlite:///{VAR / 'emostudy.sqlite3'}")}
_database = DATABASES["default"]
if _database["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE and WAL: a transaction that will write waits for its turn instead of failing with "database is locked".
    # FULL: an `ack` is a promise, also in a power cut; NORMAL may lose what was committed last (docs/performance.md).
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;"
        # Erased data must not stay in the file's free pages.
        "PRAGMA secure_delete=ON",
    }
    # Threads are few and permanent. A new connection for every message cost more than its queries.
    _database["CONN_MAX_AGE"] = None
    _database["TEST"] = {"NAME": str(VAR / f"test_emostudy_{os.getpid()}.sqlite3")}
else:
    # A pool, since under ASGI each request may run in a thread of its own and connections kept per thread would leak.
    _database["CONN_MAX_AGE"] = 0
    _database["CONN_HEALTH_CHECKS"] = True
    _database["OPTIONS"] = {
        # A database that vanished is given up after about 15 s, not after the system's two hours.
        **{"connect_timeout": 5, "tcp_user_timeout": 15_000},
        **{"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2},
        **_database.get("OPTIONS", {}),
    }
    _database["OPTIONS"]["pool"] = {"min_size": 2, "max_size": 8, "timeout": 10, "max_lifetime": 1800}
    _database["TEST"] = {"NAME": f"test_emostudy_{os.getpid()}"}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.envurl("REDIS_URL", ("redis", "rediss", "unix"))
SINGLE_PROCESS = not REDIS_URL  # the in-process channel layer cannot reach another process
# It carries notices only, never text of a conversation: texts are in the database, and pieces go directly to sockets.
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 1000}}
    if SINGLE_PROCESS
    else {
        "BACKEND": "dialogue.chat.redis_layer.RedisLayer",
        "CONFIG": {"hosts": [REDIS_URL], "capacity": 1000, "prefix": env.envtext("REDIS_PREFIX", "emostudy")},
    }
}

# State that all processes share, such as the number of wrong passwords, is in Redis or in a table.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "emostudy_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
    if SINGLE_PROCESS
    else {
        "BACKEND": "emostudy.shared_cache.SharedCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": f"{env.envtext('REDIS_PREFIX', 'emostudy')}:cache",
    },
    # Results that each process may compute for itself.
    "own": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}
# How often programs have asked the API: a single process counts without writing to the database.
CACHES["requests"] = (
    {**CACHES["own"], "LOCATION": "requests", "OPTIONS": {"MAX_ENTRIES": 10_000}}
    if SINGLE_PROCESS
    else CACHES["default"]
)

for _name, _value in env.email_settings(env.envurl("EMAIL_URL", ("smtp", "smtps", "smtp+tls"))).items():
    globals()[_name] = _value

LANGUAGE_CODE = FIRST.django
LANGUAGES = [(language.django, _(language.english_name)) for language in SPOKEN]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
FILE_UPLOAD_PERMISSIONS = 0o600  # of collected files too; Django's own is 0644, whatever the umask
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if TESTING or DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Argon2 needs 100 MB for each guess, which graphics cards lack. PBKDF2 reads passwords of before, which are stored anew
# at the next sign-in.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_ADAPTER = "studies.workbench.signing_in.Adapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]  # of accounts in general: no one can sign up here
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
# studies.workbench.signing_in says why. "login" counts right passwords too.
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "5/5m/key,30/10m/ip",
    "login_failed_elsewhere": "60/h/key",
}
ACCOUNT_REAUTHENTICATION_TIMEOUT = 600  # seconds after which a page that asks for the password again asks again
MFA_ADAPTER = "studies.accounts.second_factor.SecondFactors"
MFA_FORMS = {
    "add_webauthn": "studies.accounts.forms.AddPasskey",
    "authenticate_webauthn": "studies.accounts.forms.SignInByPasskey",
    "reauthenticate_webauthn": "studies.accounts.forms.ConfirmByPasskey",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "emostudy"
MFA_TOTP_TOLERANCE = 1  # the code before and after: clocks of phones differ
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = LOOPBACK_ONLY
# Accounts that can do what the password is asked for again (studies.access.table) must have a second factor.
REQUIRE_MFA = env.envbool("REQUIRE_MFA")
LOGIN_URL = "research-sign-in"
LOGIN_REDIRECT_URL = "research-studies"
LOGOUT_REDIRECT_URL = "research-sign-in"

# Behind a proxy that speaks https, say so with HTTPS=1: cookies are then sent over https alone.
HTTPS = env.envbool("HTTPS")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
# The last address in the header is the one that the proxy saw; anyone can forge those before it.
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if HTTPS else 0
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # asked on this machine, past the proxy
# They ask to speak for all other hosts of the domain (HSTS includeSubDomains, preload), which may be others' servers.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_AGE = 60 * 24 * 3600  # people come back on another day
SESSION_COOKIE_NAME = "emostudy_session"
CSRF_COOKIE_NAME = "emostudy_csrf"
CSRF_FAILURE_VIEW = "studies.person.broken.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "studies.api.authentication.TokenAuthentication",  # the first says how to sign in: 401, not 403
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["studies.api.permissions.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["studies.api.throttles.CallerThrottle"],
    "DEFAULT_THROTTLE_RATES": {"address": "600/min", "caller": "300/min"},
    "NUM_PROXIES": 1 if HTTPS else 0,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "emostudy",
    "DESCRIPTION": "For programs of researchers. docs/api.md has recipes.",
    "VERSION": "1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "Status": "studies.models.participation.Status",
        "Track": "studies.models.participation.Participation.Track",
        "Stage": "studies.models.life.Stage",
        "TaskState": "studies.models.task.Task.State",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "studies.api.schema.add_refusals",
    ],
}

# Which variables a study may name as a key. Read by dialogue.providers.key_variables too, which knows no settings.
MODEL_KEYS = env.envlist("MODEL_KEYS")
for _name in MODEL_KEYS:
    if not _name.replace("_", "").isalnum() or not _name.isupper():
        env.refuse("MODEL_KEYS", "it must list names of variables, separated by commas")
if MODEL_KEYS:
    os.environ["MODEL_KEYS"] = ",".join(MODEL_KEYS)

METRICS_TOKEN = env.envtext("METRICS_TOKEN")

# dialogue knows nothing about studies. This function is called when a conversation shows a risk.
RISK_HANDLER = "studies.care.oncall.handle_risk"

# The classes that do the work, by kind of job.
JOB_HANDLERS = {
    "judge": "studies.judging.handler.JudgeHandler",
    "pairs": "studies.judging.comparisons.PairHandler",
    "profile": "studies.seeker_profiles.handler.ProfileHandler",
    "profile_expansion": "studies.seeker_profiles.expansion_handler.ExpansionHandler",
    "simulation": "studies.simulation.handler.SimulationHandler",
}
PRICES = env.envtext("PRICES", str(FIXTURES / "prices.toml"))
DAILY_BUDGET = env.envdecimal("DAILY_BUDGET")

# Without a broker, jobs are worked through by runners that look into the database; with one, by Celery's workers too.
CELERY_BROKER_URL = env.envurl("CELERY_BROKER_URL", ("redis", "rediss", "amqp", "amqps"))
if CELERY_BROKER_URL and find_spec("celery") is None:
    env.refuse("CELERY_BROKER_URL", "Celery is not installed; install requirements-prod.txt")
# Read by dialogue.providers.registry too, which knows no settings.
REPLAY = os.environ.get("REPLAY", "")
if REPLAY and not Path(REPLAY).is_file():
    env.refuse("REPLAY", f"{REPLAY} is no file")
if REPLAY and CELERY_BROKER_URL:
    env.refuse("REPLAY", "a worker elsewhere would ask models: leave CELERY_BROKER_URL out")
CELERY_TASK_DEFAULT_QUEUE = env.envtext("CELERY_QUEUE", "emostudy")
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
# A number that comes again after an hour finds its item done; what is urgent is sent again by us, after seconds.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
if CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"] = f"{env.envtext('REDIS_PREFIX', 'emostudy')}:"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "emostudy.discreet_log.Formatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "emostudy": {"level": "INFO"},
        "studies": {"level": "INFO"},
        "dialogue": {"level": "INFO"},
        # A form to be mended (422) and a page that is not there are no warnings; a mistyped personal link is a secret.
        "django.request": {"level": "ERROR"},
        # Not to the handlers of Django's own, which write everything as it is.
        "django": {"handlers": []},
        "django.server": {"handlers": ["console"], "propagate": False},
    },
}
