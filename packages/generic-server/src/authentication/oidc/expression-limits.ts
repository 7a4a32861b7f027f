import { fieldErrors, type FieldError, type FieldPath } from '@multiplane/apimachinery';
import type { JwtConfiguration } from './jwt-configuration.ts';

/** Expressions of one authenticator, as many as Kubernetes allows match conditions. */
const maxExpressions = 64;
/** Characters of all its expressions together: they are compiled within some tens of milliseconds, on the event loop. */
const maxCharacters = 16 * 1024;

/**
 * The error of an authenticator of a tenant with more expressions than may be compiled for one; to be asked before
 * `validateJwt`, which compiles them. Kubernetes and kcp have no limit; the operator's own authenticators have none here.
 */
export function expressionLimitError(jwt: JwtConfiguration, path: FieldPath): FieldError | undefined {
  const { claimMappings: mappings, claimValidationRules, userValidationRules } = jwt;
  const sources = [
    mappings.username.expression,
    mappings.groups.expression,
    mappings.uid.expression,
    ...mappings.extra.map(({ valueExpression }) => valueExpression),
    ...claimValidationRules.map(({ expression }) => expression),
    ...userValidationRules.map(({ expression }) => expression),
  ].filter((source) => source !== '');
  const characters = sources.reduce((sum, { length }) => sum + length, 0);
  if (sources.length <= maxExpressions && characters <= maxCharacters) return undefined;
  return fieldErrors.forbidden(
    path,
    `an authenticator may have ${maxExpressions} expressions with ${maxCharacters} characters together; it has ${sources.length} with ${characters}`,
  );
}
