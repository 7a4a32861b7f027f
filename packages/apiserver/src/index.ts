export * from './exchange.ts';
export * from './request-info.ts';
export * from './request-context.ts';
export * from './authentication/authenticator.ts';
export * from './authorization/authorizer.ts';
export * from './admission/plugin.ts';
export * from './registry/resource-resolver.ts';
