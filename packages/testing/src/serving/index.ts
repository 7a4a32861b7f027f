/** TEST ONLY: HTTPS listeners with certificates of their own, clients of both protocols, a webhook server, an OpenID Connect issuer. */
export { OidcIssuer } from './oidc-issuer.ts';
export { sendHttp2Request, sendRequest, writeAndReadAll, type Answer } from './https-requests.ts';
export { echo, TlsFixture } from './tls-fixture.ts';
export { WebhookServer, type ReceivedCall } from './webhook-server.ts';
export { Http1Client } from './http1-client.ts';
