/** TEST ONLY: HTTPS listeners with certificates of their own, clients of both protocols, a webhook server, an OpenID Connect issuer. */
export { OidcIssuer } from './oidc-issuer.ts';
export { echo, TlsFixture, type Answer } from './tls-fixture.ts';
export { WebhookServer, type ReceivedCall } from './webhook-server.ts';
