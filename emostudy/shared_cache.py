"""The cache of all server processes in Redis, or of each process alone while Redis is away."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = logging.getLogger(__name__)

AWAY = (RedisError, OSError)
PATIENCE = 1.0  # seconds that a page waits for Redis
AGAIN = 5.0  # seconds between two tries whether it is back


class SharedCache(RedisCache):
    """A Redis cache that falls back to this process's own cache.

    Django's own raises while Redis is away, and no one can sign in. With this one, limits then hold for each process,
    and it says so once. It covers only what this project uses.
    """

    away_until = 0.0  # of the whole process, by its monotonic clock; 0 while Redis answers

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "socket_timeout": PATIENCE,
            "socket_connect_timeout": PATIENCE,
            "retry": Retry(NoBackoff(), 1),  # on a new connection, since the one at hand may have broken unused
            **params.get("OPTIONS", {}),
        }
        self.own = LocMemCache("while Redis is away", params)
        super().__init__(server, {**params, "OPTIONS": options})

    def add(self, *args: Any, **kwargs: Any) -> Any:
        return self.attempt(super().add, self.own.add, *args, **kwargs)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        return self.attempt(super().get, self.own.get, *args, **kwargs)

    def set(self, *args: Any, **kwargs: Any) -> Any:
        return self.attempt(super().set, self.own.set, *args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        return self.attempt(super().delete, self.own.delete, *args, **kwargs)

    def attempt(self, shared: Callable[..., Any], own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Ask Redis, or this process while it is away. Few calls wait for Redis, so pages stay quick."""
        if time.monotonic() < SharedCache.away_until:
            return own(*args, **kwargs)
        try:
            answer = shared(*args, **kwargs)
        except AWAY as error:
            if not SharedCache.away_until:
                log.warning("Redis is away (%s): limits to guessing hold for each process.", type(error).__name__)
            SharedCache.away_until = time.monotonic() + AGAIN
            return own(*args, **kwargs)
        if SharedCache.away_until:
            log.warning("Redis is back.")
            SharedCache.away_until = 0.0
        return answer
