export * from './audit/audit-event.ts';
export * from './audit/audit-log-backend.ts';
export * from './audit/audit-options.ts';
export * from './audit/audit-policy.ts';
export * from './audit/audit-webhook.ts';
export * from './audit/batching-backend.ts';
export { type AuditOptions, auditFromOptions } from './audit/audit-from-options.ts';
export * from './authentication/authentication-options.ts';
export * from './authentication/authenticator.ts';
export * from './authentication/bearer-token.ts';
export { CachedTokenAuthenticator } from './authentication/cached-token-authenticator.ts';
export {
  certificateAuthenticators,
  exceptOfProxies,
  requestHeaderAuthenticator,
} from './authentication/certificate-authenticators.ts';
export * from './authentication/client-certificate.ts';
export { dispatchedAuthenticator } from './authentication/dispatched-authenticator.ts';
export { externalTokens } from './authentication/external-tokens.ts';
export * from './authentication/identity-headers.ts';
export { type JwtConfiguration, readJwtConfiguration } from './authentication/oidc/jwt-configuration.ts';
export {
  JwtExpressionError,
  noJwtExpressions,
  type JwtExpression,
  type JwtExpressionCompiler,
  type JwtVariables,
  type JwtBudget,
} from './authentication/oidc/jwt-expression-compiler.ts';
export { makeOidcAuthenticator, type OidcModules } from './authentication/oidc/make-oidc-authenticator.ts';
export {
  type IssuerAuthenticator,
  IssuerRoutingAuthenticator,
} from './authentication/oidc/issuer-routing-authenticator.ts';
export type { OidcAuthenticator } from './authentication/oidc/oidc-authenticator.ts';
export { expressionLimitError } from './authentication/oidc/expression-limits.ts';
export { validateJwt } from './authentication/oidc/validate-jwt.ts';
export { requestHeaderOptionTable } from './authentication/request-header-options.ts';
export * from './authentication/request-header.ts';
export {
  defaultServiceAccountLookupOptions,
  RemoteServiceAccountLookup,
} from './authentication/remote-service-account-lookup.ts';
export { clusterNameExtra, scopesExtra } from './authentication/service-account-claims.ts';
export * from './authentication/service-account-tokens.ts';
export * from './authentication/static-tokens.ts';
export * from './authentication/token-cluster.ts';
export { externalTokenOptionTable } from './authentication/external-token-options.ts';
export * from './authentication/union-authenticator.ts';
export * from './authentication/x509-authenticator.ts';
export {
  annotateDecision,
  AnonymizingAuthorizer,
  AuditLoggingAuthorizer,
} from './authorization/authorizer-decorators.ts';
export { alwaysAllowPathsOptionTable } from './authorization/always-allow-paths-options.ts';
export * from './authorization/authorizer.ts';
export { prefixUser } from './authorization/prefix-user.ts';
export * from './authorization/rbac-authorizer.ts';
export * from './authorization/rbac-rules.ts';
export * from './authorization/rbac-source.ts';
export * from './authorization/union-authorizer.ts';
export * from './authorization/warrants.ts';
export { WebhookAuthorizer } from './authorization/webhook-authorizer.ts';
export * from './flow-control/flow-control-configuration.ts';
export { FlowController, type FlowControllerOptions } from './flow-control/flow-controller.ts';
export * from './lifecycle/draining.ts';
export type { Precondition } from './lifecycle/precondition.ts';
export { defaultReauthorizerOptions, Reauthorizer } from './lifecycle/reauthorizer.ts';
export { logicalClusterUri } from './authentication/client-certificate.ts';
export { WorkspaceCertificateAuthenticator } from './authentication/workspace-certificates.ts';
export { workspaceIssuedIdentity } from './authentication/workspace-issued-identity.ts';
export { CredentialPrecondition } from './authentication/credential-precondition.ts';
export { reviewedUser } from './authentication/webhook/reviewed-user.ts';
export { SharedLookupCache } from './webhooks/shared-lookup-cache.ts';
export { ReviewUnavailableError } from './webhooks/review-unavailable-error.ts';
export * from './server/exchange.ts';
export type { AuditModules } from './filters/audit.ts';
export * from './filters/authentication.ts';
export * from './filters/authorization.ts';
export { respondToPreflight } from './filters/cors.ts';
export * from './filters/impersonation.ts';
export { requestLimitOptionTable } from './filters/request-limit-options.ts';
export * from './filters/shard-level-paths.ts';
export { mayContinueTrace } from './filters/tracing.ts';
export { withStartupGate } from './filters/startup-gate.ts';
export * from './handler-chain.ts';
export * from './request/mounted-path.ts';
export * from './response/negotiation.ts';
export * from './non-resource-endpoints.ts';
export * from './request/request-context.ts';
export * from './request/request-lifecycle.ts';
export * from './request/request-info-resolver.ts';
export * from './request/request-info.ts';
export * from './request/request-metrics.ts';
export * from './request/request-path.ts';
export * from './response/responses.ts';
export * from './request/server-request-context.ts';
export * from './server/base-exchange.ts';
export * from './server/buffered-exchange.ts';
export { isServer, type ConnectionNames } from './server/connection-names.ts';
export * from './server/connection-table.ts';
export * from './server/dispatched-exchange.ts';
export { CancellableExchange } from './server/cancellable-exchange.ts';
export { ProxiedExchange } from './server/proxied-exchange.ts';
export { expressHandler, type ExpressHandler } from './server/express-handler.ts';
export { ExchangeDecorator } from './server/exchange-decorator.ts';
export { shareChunk } from './server/shared-chunk.ts';
export * from './server/http-server.ts';
export * from './server/session-guard.ts';
export * from './server/serving-options.ts';
export * from './server/watch-serving-certificate.ts';
export { offeredProtocols, protocolsWithoutBearer } from './server/web-socket-protocols.ts';
export * from './request/served-resource.ts';
export * from './lifecycle/startup-gate.ts';
export { encodeProtobufStatus } from './response/status-protobuf.ts';
export { OutboundBufferLimiter, type PendingBytes, type PendingResponse } from './server/outbound-buffer-limiter.ts';
export * from './version-info.ts';
export * from './webhooks/address-policy.ts';
export * from './webhooks/address-policy-options.ts';
export * from './webhooks/policy-lookup.ts';
export { operatorWebhook } from './webhooks/operator-webhook.ts';
export * from './webhooks/webhook-client.ts';
export { webhookUrl } from './webhooks/webhook-url.ts';
