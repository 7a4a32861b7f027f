import { fieldErrors, FieldPath, fieldErrorText, parseYaml, type FieldError } from '@multiplane/apimachinery';
import { ConfigurationDocument, ConfigurationError } from '@multiplane/component-base';
import {
  authenticationConfigurationSchema,
  type AuthenticationConfigurationDocument,
} from './authentication-configuration-schema.ts';
import { readJwtConfiguration, type JwtConfiguration } from './jwt-configuration.ts';
import type { JwtExpressionCompiler } from './jwt-expression-compiler.ts';
import { validateJwt, type CompiledJwt } from './validate-jwt.ts';

/** A validated AuthenticationConfiguration with its CEL expressions compiled. */
export interface AuthenticationConfiguration {
  readonly jwt: readonly { readonly configuration: JwtConfiguration; readonly compiled: CompiledJwt }[];
  /** Absent: the flag decides. */
  readonly anonymous?: { readonly enabled: boolean; readonly paths: readonly string[] } | undefined;
}

export interface JwtValidationModules {
  readonly expressions: JwtExpressionCompiler;
  /** Issuers of service account tokens, which another authenticator handles. */
  readonly disallowedIssuers: readonly string[];
}

const group = 'apiserver.config.k8s.io';
const versions = ['v1', 'v1beta1'].map((version) => `${group}/${version}`);
const maxAuthenticators = 64;

const document = new ConfigurationDocument<AuthenticationConfigurationDocument>(
  { schema: authenticationConfigurationSchema },
  { decode: parseYaml },
);

/** Reads the file of `--authentication-config`. Throws ConfigurationError; semantic problems have Kubernetes' texts. */
export function parseAuthenticationConfiguration(
  text: string,
  file: string,
  modules: JwtValidationModules,
): AuthenticationConfiguration {
  const { apiVersion = '', kind = '', jwt = [], ...rest } = document.parse(text, file);
  if (kind !== 'AuthenticationConfiguration' || !versions.includes(apiVersion))
    throw new ConfigurationError(file, [
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}; it must be AuthenticationConfiguration of ${versions.join(' or ')}`,
    ]);
  const anonymous = anonymousAccess(rest.anonymous);
  const { errors, entries } = validateAll(jwt.map(readJwtConfiguration), modules);
  if (anonymous !== undefined && !anonymous.enabled && anonymous.paths.length > 0)
    errors.push(
      fieldErrors.invalid(
        FieldPath.of('anonymous', 'conditions'),
        anonymous.paths.map((path) => ({ Path: path })),
        'enabled should be set to true when conditions are defined',
      ),
    );
  if (errors.length > 0) throw new ConfigurationError(file, errors.map(fieldErrorText));
  return { jwt: entries, anonymous };
}

/** Validates the one authenticator that the `--oidc-*` flags describe. Throws an Error with all field errors. */
export function validateFlagsJwt(
  configuration: JwtConfiguration,
  modules: JwtValidationModules,
): AuthenticationConfiguration {
  const { errors, entries } = validateAll([configuration], modules);
  const texts = errors.map(fieldErrorText);
  if (texts.length > 0) throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  return { jwt: entries };
}

function validateAll(
  jwt: readonly JwtConfiguration[],
  modules: JwtValidationModules,
): { readonly errors: FieldError[]; readonly entries: AuthenticationConfiguration['jwt'] } {
  const root = FieldPath.of('jwt');
  if (jwt.length > maxAuthenticators)
    return { errors: [fieldErrors.tooMany(root, jwt.length, maxAuthenticators)], entries: [] };
  const errors: FieldError[] = [];
  const seen = { url: new Set<string>(), discoveryURL: new Set<string>() };
  const entries = jwt.map((configuration, index) => {
    const validated = validateJwt(configuration, root.index(index), modules);
    errors.push(...validated.errors);
    for (const name of ['url', 'discoveryURL'] as const) {
      const url = configuration.issuer[name];
      if (url !== '' && seen[name].has(url))
        errors.push(fieldErrors.duplicate(root.index(index).child('issuer', name), url));
      seen[name].add(url);
    }
    return { configuration, compiled: validated.compiled };
  });
  return { errors, entries };
}

function anonymousAccess(
  anonymous: AuthenticationConfigurationDocument['anonymous'],
): AuthenticationConfiguration['anonymous'] {
  if (anonymous === undefined) return undefined;
  const { enabled = false, conditions = [] } = anonymous;
  return { enabled, paths: conditions.map(({ path = '' }) => path) };
}
