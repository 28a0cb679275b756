"""Runs graphite-web over whisper files: graphite_web.py DIR WHISPER_DIR PORT.

DIR takes its database and logs. No carbon is asked, and no picture can be drawn.
"""
import importlib
import inspect
import os
import sys
import types
from unittest import mock

work, files, port = sys.argv[1:]

# graphite-web 1.1.10 asks for what Python 3.11 does not have any more.
if not hasattr(inspect, 'getargspec'):
    inspect.getargspec = lambda f: tuple(inspect.getfullargspec(f)[:4])
if not hasattr(inspect, 'formatargspec'):
    inspect.formatargspec = lambda *a, **k: '(...)'
sys.modules['cairocffi'] = mock.MagicMock()  # it needs a library of the system

settings = types.ModuleType('e2e_settings')
settings.__dict__.update(
    SECRET_KEY='e2e', ALLOWED_HOSTS=['*'], TIME_ZONE='UTC',
    CONF_DIR=work, STORAGE_DIR=work, LOG_DIR=work, STATIC_ROOT=work, LOG_ROTATION=False,
    INDEX_FILE=os.path.join(work, 'index'), WHISPER_DIR=files, STANDARD_DIRS=[files],
    CARBONLINK_HOSTS=[], DEFAULT_CACHE_DURATION=0, TAGDB_CACHE_DURATION=0, FIND_CACHE_DURATION=0,
    CACHES={'default': {'BACKEND': 'django.core.cache.backends.dummy.DummyCache'}},
    DATABASES={'default': {'NAME': os.path.join(work, 'graphite.db'), 'ENGINE': 'django.db.backends.sqlite3', 'OPTIONS': {'timeout': 30}}},
)
sys.modules['e2e_settings'] = settings
os.environ.update(GRAPHITE_SETTINGS_MODULE='e2e_settings', DJANGO_SETTINGS_MODULE='graphite.settings', TZ='UTC')

django = importlib.import_module('django')
django.setup()
management = importlib.import_module('django.core.management')
management.call_command('migrate', run_syncdb=True, verbosity=0)
management.call_command('runserver', '127.0.0.1:' + port, use_reloader=False)
