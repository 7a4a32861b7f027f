import { hash } from 'node:crypto';
import {
  clusterAnnotation,
  fieldErrorText,
  FieldPath,
  getOwn,
  isLogicalClusterName,
  type DeepReadonly,
  type FieldError,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerSource, Lister } from '@multiplane/client';
import { timeSlices, type Clock } from '@multiplane/component-base';
import {
  authenticationConfigurations,
  parseQualifiedType,
  typeAnnotation,
  type AuthenticationConfigurationObject,
  type LogicalCluster,
  type WorkspaceTypeLookup,
} from '@multiplane/controllers';
import {
  type AuthenticationResponse,
  BearerTokenAuthenticator,
  CachedTokenAuthenticator,
  type Exchange,
  expressionLimitError,
  type IssuerAuthenticator,
  type JwtConfiguration,
  makeOidcAuthenticator,
  type OidcModules,
  readJwtConfiguration,
  type RequestAuthenticator,
  type RequestInfo,
  type TokenAuthenticator,
  IssuerRoutingAuthenticator,
  validateJwt,
  workspaceIssuedIdentity,
} from '@multiplane/generic-server';

export interface WorkspaceAuthenticationOptions {
  /** Audiences of this server; a token needs one of them in addition to those of its issuer. */
  readonly audiences: readonly string[];
  /** Issuers of the server itself, which tenants cannot configure. */
  readonly disallowedIssuers: readonly string[];
  /** Capacity of the LRU cache of authenticators. Default: 4096. */
  readonly maxAuthenticators?: number | undefined;
}

export interface WorkspaceAuthenticationModules extends Omit<OidcModules, 'clock'> {
  readonly clock: Clock;
  /** Replicated kinds of all shards. */
  readonly globalInformers: InformerSource;
  readonly types: WorkspaceTypeLookup;
  readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<LogicalCluster> | undefined;
}

/** Limit on the issuers of one workspace type; further entries are ignored. */
const maxEntries = 64;
const successTtlMs = 10_000;

/**
 * Authenticates tokens of the issuers that the type of a workspace configures (kcp `pkg/authentication`; feature gate
 * WorkspaceAuthentication).
 *
 * Each request resolves logical cluster → type → WorkspaceAuthenticationConfigurations in the type's logical cluster →
 * authenticators. All but the last step read the shard's caches, so changes apply to the next request. Authenticators are
 * cached by the content of their configuration. Their expressions are compiled and their keys fetched on the first token of
 * their issuer: workspaces of one type share them, and a workspace whose type has none costs nothing. Invalid entries are
 * skipped; tokens of an issuer with expressions that are too many or do not compile fail with errors, which are logged.
 */
export class WorkspaceAuthentication implements RequestAuthenticator {
  readonly #options: WorkspaceAuthenticationOptions;
  readonly #modules: WorkspaceAuthenticationModules;
  readonly #configurations: Lister<AuthenticationConfigurationObject>;
  readonly #ended = new AbortController();
  /** By the hash of entry and logical cluster. */
  readonly #authenticators = new Map<string, IssuerAuthenticator>();
  /** By configuration object: decoded objects are immutable. */
  readonly #byObject = new WeakMap<object, readonly IssuerAuthenticator[]>();

  constructor(options: WorkspaceAuthenticationOptions, modules: WorkspaceAuthenticationModules) {
    this.#options = options;
    this.#modules = modules;
    this.#configurations =
      modules.globalInformers.informer<AuthenticationConfigurationObject>(authenticationConfigurations);
  }

  /** Returns undefined if the workspace has no issuers; throws for a token that none of them accepts. */
  async authenticate(exchange: Exchange, info: RequestInfo): Promise<AuthenticationResponse | undefined> {
    const { cluster } = info;
    const tokens = cluster === undefined || cluster === '*' ? undefined : this.tokensOf(cluster);
    if (tokens === undefined) return undefined;
    const bearer = new BearerTokenAuthenticator({ audiences: this.#options.audiences }, { tokens });
    return bearer.authenticate(exchange);
  }

  /** Authenticates the tokens of a workspace's issuers, as users of this workspace; undefined if it has none. */
  tokensOf(cluster: LogicalClusterName): TokenAuthenticator | undefined {
    const authenticators = this.#authenticatorsOf(cluster);
    if (authenticators.length === 0) return undefined;
    const tokens = new IssuerRoutingAuthenticator({ current: () => authenticators });
    return {
      authenticateToken: async (token, audiences) => {
        const response = await tokens.authenticateToken(token, audiences);
        if (response === undefined) return undefined;
        return { ...response, user: workspaceIssuedIdentity(response.user, cluster) };
      },
    };
  }

  close(): void {
    this.#ended.abort(new Error('the server stops'));
  }

  #authenticatorsOf(cluster: LogicalClusterName): readonly IssuerAuthenticator[] {
    const { logicalCluster, types } = this.#modules;
    const named = parseQualifiedType(logicalCluster(cluster)?.metadata.annotations?.[typeAnnotation] ?? '');
    const type = named === undefined ? undefined : types.byPathAndName(named.path, named.name);
    const names = type?.spec?.authenticationConfigurations ?? [];
    if (names.length === 0) return [];
    const home = type?.metadata.annotations?.[clusterAnnotation] ?? '';
    if (!isLogicalClusterName(home)) return [];
    return names
      .slice(0, maxEntries)
      .flatMap(({ name }) => {
        const object = this.#configurations.get({ cluster: home, namespace: '', name });
        return object === undefined ? [] : this.#ofConfiguration(home, object);
      })
      .slice(0, maxEntries);
  }

  #ofConfiguration(
    home: LogicalClusterName,
    object: DeepReadonly<AuthenticationConfigurationObject>,
  ): readonly IssuerAuthenticator[] {
    let known = this.#byObject.get(object);
    if (known === undefined) {
      const entries = getOwn(object.spec ?? {}, 'jwt');
      known = (Array.isArray(entries) ? entries : [])
        .slice(0, maxEntries)
        .map((entry: Json) => this.#ofEntry(home, entry));
      this.#byObject.set(object, known);
    }
    return known;
  }

  #ofEntry(home: LogicalClusterName, entry: Json): IssuerAuthenticator {
    const key = hash('sha256', JSON.stringify([home, entry]), 'base64');
    const made = this.#authenticators.get(key) ?? this.#make(home, entry);
    this.#authenticators.delete(key);
    this.#authenticators.set(key, made);
    if (this.#authenticators.size > (this.#options.maxAuthenticators ?? 4096))
      this.#authenticators.delete(this.#authenticators.keys().next().value as string);
    return made;
  }

  #make(home: LogicalClusterName, entry: Json): IssuerAuthenticator {
    const configuration = readJwtConfiguration(entry);
    let authenticator: Promise<TokenAuthenticator | undefined> | undefined;
    return {
      issuer: configuration.issuer.url,
      authenticator: {
        authenticateToken: async (token, audiences) => {
          authenticator ??= this.#compile(home, configuration);
          return (await authenticator)?.authenticateToken(token, audiences);
        },
      },
    };
  }

  /** Undefined for an invalid configuration. Each has a time slice of its own: one issuer may have many of them. */
  async #compile(home: LogicalClusterName, configuration: JwtConfiguration): Promise<TokenAuthenticator | undefined> {
    const { disallowedIssuers } = this.#options;
    const { expressions, clock } = this.#modules;
    await timeSlices(home).yield();
    const path = FieldPath.of('jwt');
    const excess = expressionLimitError(configuration, path);
    if (excess !== undefined) return failing(fieldErrorText(excess));
    const { errors, compiled } = validateJwt(configuration, path, { expressions, disallowedIssuers });
    // Tokens of disallowed issuers belong to other authenticators.
    if (errors.length > 0)
      return errors.every(isExpressionError) ? failing(errors.map(fieldErrorText).join(', ')) : undefined;
    const delegate = makeOidcAuthenticator(
      { configuration, compiled, tenant: home, signal: this.#ended.signal, checksAudiences: true },
      this.#modules,
    );
    return new CachedTokenAuthenticator({ successTtlMs, failureTtlMs: 0 }, { delegate, clock });
  }
}

const isExpressionError = ({ field, detail }: FieldError): boolean =>
  /[eE]xpression$/.test(field) && /^(?:compilation failed|must evaluate)/.test(detail);

function failing(reason: string): TokenAuthenticator {
  return {
    authenticateToken: () =>
      Promise.reject(new Error(`the authentication configuration of the workspace is invalid: ${reason}`)),
  };
}
