"""From a server's settings to a connection: with its key, or with a signed-in person's tokens."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from nodwyn_tui.config.credentials import OAUTH, Credentials
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.schema import OAuthSettings, ServerSettings
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.providers.base import Endpoint, Timeouts
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.oauth import Grant, SignedIn
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.providers.routes import origin_of
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """Makes connections to the servers of one configuration. Every key it reads is held by the
    redactor before it is used.
    """

    loaded: Loaded
    environment: Environment
    credentials: Credentials
    clock: Clock
    redactor: Redactor

    async def provider(self, name: str, server: ServerSettings) -> Provider:
        """A server ready to be asked. `ConfigError` where its key cannot be had."""
        keys: SignedIn | None = None
        secret, scopes = "", tuple[str, ...]()
        if server.credential.startswith(OAUTH):
            keys = self._signed_in(name, server)
            scopes = (await keys.tokens()).scopes
        else:
            secret = await self.credentials.resolve(name, server)
            self.hold(secret)
        endpoint = Endpoint(
            server=name,
            provider=server.provider,
            base_url=server.base_url,
            secret=secret,
            scopes=scopes,
            auth=(not keys and server.auth) or "bearer",
            api_version=server.api_version,
            ca_file=self._authorities(server),
            insecure=server.insecure,
            timeouts=Timeouts(**server.timeouts.model_dump()),
        )
        return Provider(
            endpoint,
            clock=self.clock,
            proxies=self.environment.proxies,
            redact=self.redactor.text,
            keys=keys,
        )

    def hold(self, *secrets: str) -> None:
        """From now on these are known to be secret."""
        self.credentials.remember(*secrets)
        self.redactor.hold(*secrets)

    def grant(self, name: str, server: ServerSettings) -> Grant:
        """What a sign-in to a server asks for; `ConfigError` where its entry does not say."""
        oauth = server.oauth
        if oauth is None:
            raise ConfigError(
                f"server {name!r} has no sign-in: name authorize_url, token_url and client_id in"
                f" [servers.{name}.oauth], or keep a key: `nodwyn auth set {name}`"
            )
        return Grant(
            server=name,
            origin=origin_of(server.base_url),
            token_url=oauth.token_url,
            client_id=oauth.client_id,
            scopes=oauth.scopes,
            client=lambda: self._issuer(name, server, oauth),
        )

    def _signed_in(self, name: str, server: ServerSettings) -> SignedIn:
        place = server.credential.removeprefix(OAUTH).strip()
        return SignedIn(
            self.grant(name, server), self.credentials.keychain, place, self.clock, self.hold
        )

    def _issuer(self, name: str, server: ServerSettings, oauth: OAuthSettings) -> Client:
        """A connection to where tokens come from, which is sent no key."""
        endpoint = Endpoint(
            server=f"{name} ({urlsplit(oauth.token_url).hostname})",
            provider="oauth",
            base_url=oauth.token_url,
            ca_file=self._authorities(server),
        )
        proxies, redact = self.environment.proxies, self.redactor.text
        return Client(endpoint, clock=self.clock, proxies=proxies, redact=redact)

    def _authorities(self, server: ServerSettings) -> str:
        own = server.ca_file and str(self.loaded.beside(server.ca_file))
        return own or self.environment.ca_file
